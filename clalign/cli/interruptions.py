"""Ctrl-C, termination and a terminal that is closed: counted while a worker can be told of it, else they unwind all."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Any

from clalign.errors import ExitCode, WorkerLost

if TYPE_CHECKING:
    from clalign.cli.processes import WorkerProcess
    from clalign.jobs import Event

STOP_SECONDS = 8.0
"""Who terminates a program waits 10 s or more before it is killed; in this time the worker may end its batch."""

ENDINGS = {
    getattr(signal, name): code
    for name, code in (("SIGTERM", ExitCode.TERMINATED), ("SIGHUP", ExitCode.HUNG_UP))
    if hasattr(signal, name)
}
"""Signals that want the program to end soon, and what it ends with then."""


class Ended(BaseException):
    """The system wants the program to end. Not an error: it leaves nothing half-written, and ends."""

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@contextlib.contextmanager
def _handled(numbers: list[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle signals while the block runs. Only a main thread can; what nohup has switched off stays so."""
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in numbers:
            if number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def endings_raised() -> contextlib.AbstractContextManager[None]:
    """Let the signals that want an end unwind the block as Ctrl-C does; a second one ends the program at once."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise Ended(ENDINGS[signal.Signals(number)])

    return _handled(list(ENDINGS), end)


class Interruptions:
    """Wishes to stop, counted instead of raised.

    Attributes
    ----------
    n : int
        How often a stop was asked for.
    exit_code : ExitCode
        What the program ends with because of it.
    """

    def __init__(self) -> None:
        self.n = 0
        self.exit_code = ExitCode.INTERRUPTED
        self._latest: float | None = None

    def _count(self, number: int, frame: FrameType | None) -> None:
        self.n += 1
        if number in ENDINGS:
            self.exit_code = ENDINGS[signal.Signals(number)]
            self._latest = self._latest or time.monotonic() + STOP_SECONDS

    def counted(self) -> contextlib.AbstractContextManager[None]:
        """Count signals while the block runs."""
        return _handled([signal.SIGINT, *ENDINGS], self._count)

    @property
    def is_urgent(self) -> bool:
        """Whether the end of a batch is not to be waited for (any longer)."""
        return self.n >= 2 or (self._latest is not None and time.monotonic() > self._latest)

    @property
    def words(self) -> str:
        """What to add when it is said that the worker has been told."""
        if self._latest is not None:
            return f"It is ended in {STOP_SECONDS:.0f} s."
        return "Press Ctrl-C again to stop at once."

    def obeyed(self, worker: WorkerProcess, say: Callable[[str], None]) -> Iterator[Event | None]:
        """Yield a worker's events and tell it of the first wish; without a last event if it had to be stopped."""
        told = False
        try:
            for event in worker.events():
                if self.is_urgent:
                    worker.stop()
                    return
                if self.n and not told:
                    told = True
                    worker.send("cancel")
                    say(self.words)
                yield event
        except WorkerLost:
            if not self.n:  # else it was terminated, too: batch systems do so to every process of a job
                raise
