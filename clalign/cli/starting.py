"""Starting a worker: for a run as the first thing that a command does, before it has loaded what it needs itself."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from clalign.jobs.processes import own_command

NEW_PROCESS_GROUP = 0x200
"""Windows' flag for the same."""


def worker_command(engine: str = "", device: str = "") -> list[str]:
    """Return the command that starts a worker.

    Parameters
    ----------
    engine : str
        Of the run that its job will be; while it waits for that it loads what it needs.
    device : str
        The user's words for the device of the run, with which it makes itself familiar as well.
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


_ahead: subprocess.Popen[str] | None = None
"""A worker that was started before its job is known."""


@contextlib.contextmanager
def worker_ahead(engine: str, device: str = "") -> Iterator[None]:
    """Start a worker for a run of an engine at once: it loads what it needs while this process looks at its inputs.

    The first `WorkerProcess` within the block gets it; if there is none, it is ended. Within another such block there
    is nothing to do. Where the system lets none start now, one is started when it is needed.
    """
    global _ahead
    if _ahead is not None:
        yield
        return
    with contextlib.suppress(OSError):
        _ahead = started(worker_command(engine, device))
    try:
        yield
    finally:
        if (unused := taken_ahead()) is not None:
            unused.kill()
            unused.wait()
            for stream in (unused.stdin, unused.stdout, unused.stderr):
                if stream is not None:  # what it has started may still have the other end
                    stream.close()
            forget_marks(unused.pid)


def taken_ahead() -> subprocess.Popen[str] | None:
    """Return the worker that was started ahead, unless another has it already; it is the caller's from now on."""
    global _ahead
    taken, _ahead = _ahead, None
    return taken


def wake_drivers(device: str) -> None:
    """Wake the drivers as the first thing that a worker does, unless the words for its device mean the reference."""
    from clalign.values.devices import needs_drivers

    if not needs_drivers(device):
        return
    from clalign.compute.opencl import driver_warmup
    from clalign.databases.cache_root import cache_root

    with contextlib.suppress(OSError):
        driver_warmup.wake_ahead(driver_warmup.verdicts_path(cache_root()), device)


def forget_marks(process: int) -> None:
    """Let nobody distrust the drivers because of a worker that is ended on purpose."""
    from clalign.compute.opencl import driver_warmup
    from clalign.databases.cache_root import cache_root

    with contextlib.suppress(OSError):
        driver_warmup.forget_marks(cache_root(), process)


def device_in(words: list[str]) -> str:
    """Return the user's words for a device, as far as they are seen at a glance; a wrong guess only costs time."""
    found = ""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word == "--device":
            found = following
        elif word.startswith("--device="):
            found = word.removeprefix("--device=")
    return found or os.environ.get("CLALIGN_DEVICE") or "auto"
