"""Starting a worker: for a run as the first thing that a command does, before it has loaded what it needs itself."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys

from clalign.system.processes import own_command

NEW_PROCESS_GROUP = 0x200
"""Windows' flag for a new process group, so that Ctrl-C does not reach the worker."""


def worker_command(engine: str = "", device: str = "") -> list[str]:
    """Return the command that starts a worker.

    Parameters
    ----------
    engine : str
        Of the run that its job will be; while it waits for that it loads what it needs.
    device : str
        The user's words for the device of the run, which it also looks up and opens in advance.
    """
    return own_command("worker", *([engine] if engine else []), *(["--device", device] if device else []))


def started(command: list[str]) -> subprocess.Popen[str]:
    """Start a worker that waits for its job."""
    # A session of its own keeps the terminal's Ctrl-C away: what it means is decided here.
    on_windows = sys.platform == "win32"
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=not on_windows,
        creationflags=NEW_PROCESS_GROUP if on_windows else 0,
    )


class WorkerAhead(contextlib.AbstractContextManager["WorkerAhead"]):
    """A worker for a run of an engine, started at once: it loads what it needs while this process looks at its inputs.

    A context manager that ends the worker unless it was taken. Where the system lets none start now, one is started
    when it is needed.

    Parameters
    ----------
    engine : str
        Name of the engine; empty for no worker.
    device : str
        The user's words for the device.
    """

    def __init__(self, engine: str, device: str = "") -> None:
        self._process: subprocess.Popen[str] | None = None
        with contextlib.suppress(OSError):
            self._process = started(worker_command(engine, device)) if engine else None

    def take(self) -> subprocess.Popen[str] | None:
        """Return the worker, which is the caller's from now on; None if it was taken, or did not start."""
        taken, self._process = self._process, None
        return taken

    def __exit__(self, *_: object) -> None:
        unused = self.take()
        if unused is None:
            return
        unused.kill()
        unused.wait()
        for stream in (unused.stdin, unused.stdout, unused.stderr):
            if stream is not None:  # what it has started may still have the other end
                stream.close()
        forget_mark(unused.pid)


def forget_mark(process: int) -> None:
    """Remove the crash mark of a worker that is ended on purpose, so that its drivers are not blamed."""
    from clalign.databases.cache_root import cache_root
    from clalign.system import driver_marks

    driver_marks.forget(cache_root(), process)


def device_in(words: list[str]) -> str:
    """Return the user's words for a device, as far as they are seen at a glance; a wrong guess only costs time."""
    found = ""
    for word, following in itertools.pairwise([*words, ""]):
        if word == "--device":
            found = following
        elif word.startswith("--device="):
            found = word.removeprefix("--device=")
    return found or os.environ.get("CLALIGN_DEVICE") or "auto"
