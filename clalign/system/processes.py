"""Child processes of this program: how they are started, and how they end with their parent.

The standard input of each is a pipe whose other end only its parent has: it closes when the parent has gone, however
it ended, on every system.
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
"""Commands of clalign's own child processes."""

GRACE_SECONDS = 10.0
"""Time for a process whose parent has gone to end its work (s)."""

_PR_SET_PDEATHSIG = 1


def own_command(*words: str) -> list[str]:
    """Return the command that starts this program with other arguments, frozen or not.

    ``-P`` keeps Python from importing modules of the current folder, such as a ``numpy.py`` beside the data;
    ``PYTHONPATH`` still counts.
    """
    program = sys.executable or ""  # Python does not always know its path
    if getattr(sys, "frozen", False):
        return [program, *words]
    return [program, "-P", "-m", "clalign", *words]


class ProcessNotStarted(ClalignError):
    """A child process that the system did not start.

    Parameters
    ----------
    what : str
        The process, in words.
    error : OSError
        The error of the system.
    """

    def __init__(self, what: str, error: OSError) -> None:
        hint = "Close other programs, or allow more processes (ulimit -u); then try again."
        if isinstance(error, PermissionError | FileNotFoundError):
            hint = (
                f"Let this user execute {sys.executable or 'Python'}, or install clalign where this user may read it."
            )
        super().__init__(f"The system could not start {what} ({error.strerror}).", hint)


def ask(command: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a child to its end and return its output; it ends with this process.

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
    """Keep children of this child from importing modules of the current folder, and have it end with its parent.

    A driver that hangs with the interpreter's lock keeps every thread of Python from seeing that the parent has gone.
    On Linux the kernel then sends a signal whose handler is alarm(2) itself: called with the number of the signal, it
    ends the process that many seconds later.
    """
    os.environ["PYTHONSAFEPATH"] = "1"
    if sys.platform == "linux":
        system = ctypes.CDLL(None)
        system.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        system.signal(int(signal.SIGUSR1), ctypes.cast(system.alarm, ctypes.c_void_p))
        system.prctl(_PR_SET_PDEATHSIG, int(signal.SIGUSR1))


def end_when_left() -> None:
    """End this process as soon as its parent has gone; for processes without work to finish."""
    if stat.S_ISFIFO(os.fstat(0).st_mode):  # otherwise a person has started it
        threading.Thread(target=_wait_to_be_left, daemon=True).start()


def _wait_to_be_left() -> None:
    while os.read(0, 1):
        pass
    os._exit(ExitCode.STOPPED)
