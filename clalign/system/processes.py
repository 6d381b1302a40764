"""The processes of its own that this program starts: the one way to start them, and how they end with who started them.

Each has a pipe as standard input, whose other end only its parent has: that it closes means that the parent has gone,
however it went, on every system.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import subprocess
import sys
import threading

from clalign.errors import ClalignError, ExitCode

INNER_COMMANDS = ("worker", "probe", "builder", "executor")
"""Commands by which clalign starts itself."""

GRACE_SECONDS = 10.0
"""A process that nobody listens to any more has this long to bring its work to an end."""

_PR_SET_PDEATHSIG = 1


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def own_command(*words: str) -> list[str]:
    """Return the command that starts this program again with other arguments, frozen or not.

    Python would look for modules in the current folder first, where a ``numpy.py`` may lie beside the data, or another
    ``clalign``. What the user has put into ``PYTHONPATH`` counts.
    """
    program = sys.executable or ""  # Python does not always know where it lies
    if getattr(sys, "frozen", False):
        return [program, *words]
    return [program, "-P", "-m", "clalign", *words]


class ProcessNotStarted(ClalignError):
    """A process of the program's own that the system did not start.

    Parameters
    ----------
    what : str
        What it was to be.
    error : OSError
        What the system said.
    """

    def __init__(self, what: str, error: OSError) -> None:
        hint = "Close other programs, or allow more processes (ulimit -u); then try again."
        if isinstance(error, PermissionError | FileNotFoundError):
            hint = (
                f"Let this user execute {sys.executable or 'Python'}, or install clalign where this user may read it."
            )
        super().__init__(f"The system could not start {what} ({error.strerror}).", hint)


def ask(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a child to its end and return what it printed; it ends with this process.

    Raises
    ------
    subprocess.TimeoutExpired
        If it took longer than `seconds`; it was killed then.
    ProcessNotStarted
        If the system did not start it.
    """
    given, held = os.pipe()
    try:
        return subprocess.run(
            command, stdin=given, capture_output=True, timeout=seconds, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        raise ProcessNotStarted("another Python", error) from error
    finally:
        os.close(given)
        os.close(held)


def settle_child() -> None:
    """Keep what this child starts from the current folder; let it end with its parent where only Linux can see to that.

    A driver that hangs with the interpreter's lock lets no thread of Python see that the parent has gone. The kernel
    then sends a signal whose handler is alarm(2) itself: called with its own number, it ends the process so many
    seconds later, unless the work is done by then.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        system.signal(int(signal.SIGUSR1), ctypes.cast(system.alarm, ctypes.c_void_p))
        system.prctl(_PR_SET_PDEATHSIG, int(signal.SIGUSR1))


def end_when_left() -> None:
    """Let this process end as soon as its parent has gone; for one that has nothing to bring to an end."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):  # else a person has started it
        threading.Thread(target=_wait_to_be_left, daemon=True).start()


def _wait_to_be_left() -> None:
    while os.read(0, 1):
        pass
    os._exit(ExitCode.STOPPED)
