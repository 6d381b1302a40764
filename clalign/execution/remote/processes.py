"""The processes that compute for a job."""

from __future__ import annotations

import subprocess
import threading
from contextlib import AbstractContextManager, suppress

from clalign.databases.cache_root import cache_root
from clalign.system import driver_marks
from clalign.system.bounds import n_cores
from clalign.system.processes import own_command

MAX_PROCESSES = 4
"""Processes that compute with one card at most: more would share the bus and the host's memory for little."""

CORES_EACH = 4
"""Cores of the host for each of them: a driver, packers and the processor that helps have threads, too."""

QUERY_SECONDS, CELL_SECONDS = 2e-3, 7e-13
"""What the host does beside a card, mostly in one thread at a time (s): for a query, and for a cell, which is its share
of launches and hits. Measured with a card of NVIDIA, which defines the domains."""

SECONDS_EACH = 1.0
"""Work of the host for which one more process is started (s): to start takes it about as long."""

MAX_SHARE_OF_MEMORY = 0.2
"""Share of a card's memory that the sequences take at most when each process has them there."""

END_SECONDS = 5.0
"""Timeout for the end of a killed process, whose driver may hang (s)."""


def n_processes(n_queries: float, n_cells: float) -> int:
    """Return how many processes should compute with one card, that which writes the run included.

    Parameters
    ----------
    n_queries, n_cells : float
        What is left to compute.
    """
    seconds = QUERY_SECONDS * n_queries + CELL_SECONDS * n_cells
    return max(1, min(MAX_PROCESSES, n_cores() // CORES_EACH, int(seconds / SECONDS_EACH)))


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

    def __exit__(self, *_: object) -> None:
        left = list(self._running)
        for process in left:
            process.kill()  # all at once, so that they go together
        for process in left:
            self.end(process)
