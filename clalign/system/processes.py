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
import time
from collections.abc import Callable

from clalign.errors import ClalignError, ExitCode

INNER_COMMANDS = ("worker", "probe", "builder", "executor", "packer")
"""Commands of clalign's own child processes."""

GRACE_SECONDS = 10.0
"""Time for a process whose parent has gone to end its work (s)."""

CHECK_SECONDS = 0.1
"""How often is asked whether to wait on for a child (s)."""

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


def ask(
    command: list[str], seconds: float, what: str = "another Python", check: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a child to its end and return its output; it ends with this process.

    Parameters
    ----------
    command : list of str
    seconds : float
        That it may take.
    what : str
        The child, in words.
    check : callable, optional
        Called every `CHECK_SECONDS`; if it raises, the child is killed.

    Raises
    ------
    subprocess.TimeoutExpired
        If it took longer than `seconds`; it was killed then.
    ProcessNotStarted
        If the system did not start it.
    """
    given, held = os.pipe()
    try:
        process = subprocess.Popen(
            command, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
    except OSError as error:
        os.close(held)
        raise ProcessNotStarted(what, error) from error
    finally:
        os.close(given)
    with process:
        try:
            output, errors = _answer(process, seconds, check)
        except BaseException:
            process.kill()
            raise
        finally:
            os.close(held)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _answer(process: subprocess.Popen[str], seconds: float, check: Callable[[], None] | None) -> tuple[str, str]:
    """Return the output of a child until its end, asking now and then whether to go on."""
    ends = time.monotonic() + seconds
    while True:
        left = max(0.0, ends - time.monotonic())
        try:
            return process.communicate(timeout=left if check is None else min(left, CHECK_SECONDS))
        except subprocess.TimeoutExpired:
            if check is not None:
                check()
            if time.monotonic() >= ends:
                raise subprocess.TimeoutExpired(process.args, seconds) from None


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
