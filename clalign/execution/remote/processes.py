"""The processes that compute for a job."""

from __future__ import annotations

import subprocess
import threading
from contextlib import AbstractContextManager, suppress
from types import TracebackType

from clalign.databases.cache_root import cache_root
from clalign.system import driver_marks
from clalign.system.processes import own_command

END_SECONDS = 5.0
"""Timeout for the end of a killed process, whose driver may hang (s)."""


class Processes(AbstractContextManager["Processes"]):
    """The processes of a job, each with a device; a context manager that ends those that are left."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, engine: str, device: str) -> subprocess.Popen[bytes]:
        """Start a process that opens a device, given by its id, and waits for its order."""
        command = own_command("executor", engine, device)
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._running.append(process)
        return process

    def let_go(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process that has done everything, without waiting for its end: drivers may take a while."""
        with suppress(ValueError):
            self._running.remove(process)
        process.kill()
        threading.Thread(target=self.end, args=(process,), name="waits for a process", daemon=True).start()

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process and wait for its end."""
        with suppress(ValueError):  # another thread has ended it
            self._running.remove(process)
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        driver_marks.forget(cache_root(), process.pid)
        with suppress(OSError):  # a message that it did not read any more
            assert process.stdin is not None
            process.stdin.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left = list(self._running)
        for process in left:
            process.kill()  # all at once, so that they go together
        for process in left:
            self.end(process)
