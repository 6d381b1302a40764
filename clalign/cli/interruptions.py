"""Ctrl-C, termination and a closed terminal: counted while a worker runs, which can end in order; raised otherwise."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from clalign.errors import ExitCode, WorkerLost

if TYPE_CHECKING:
    from clalign.cli.processes import WorkerProcess
    from clalign.jobs import Event

STOP_SECONDS = 8.0
"""Time for the worker to end its batch after a termination (s): systems wait 10 s or more before they kill."""

ENDINGS = {
    getattr(signal, name): code
    for name, code in (("SIGTERM", ExitCode.TERMINATED), ("SIGHUP", ExitCode.HUNG_UP))
    if hasattr(signal, name)
}
"""Signals that ask the program to end soon, and its exit codes then."""


class Ended(BaseException):
    """The system asks the program to end; not an error."""

    def __init__(self, exit_code: ExitCode) -> None:
        super().__init__(exit_code)
        self.exit_code = exit_code


@contextlib.contextmanager
def _handled(numbers: list[signal.Signals], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle signals while the block runs, in the main thread only; signals that nohup ignores are still ignored."""
    is_main = threading.current_thread() is threading.main_thread()
    before = {
        number: signal.signal(number, handler)
        for number in numbers
        if is_main and (number == signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN)
    }
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def endings_raised() -> contextlib.AbstractContextManager[None]:
    """Raise `Ended` in the block when a signal asks for the end; a second one ends the program at once."""

    def end(number: int, frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_DFL)
        raise Ended(ENDINGS[signal.Signals(number)])

    return _handled(list(ENDINGS), end)


class Interruptions:
    """Requests to stop, counted instead of raised.

    Attributes
    ----------
    n : int
        Number of requests.
    exit_code : ExitCode
        Exit code of the program because of them.
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
        """Whether the program is not to wait (any longer) for the end of a batch."""
        return self.n >= 2 or (self._latest is not None and time.monotonic() > self._latest)

    @property
    def words(self) -> str:
        """A sentence for the user about what happens next."""
        if self._latest is not None:
            return f"It ends in {STOP_SECONDS:.0f} s at the latest."
        return "Press Ctrl-C again to stop at once."

    def events_of(self, worker: WorkerProcess, notify: Callable[[str], None]) -> Iterator[Event | None]:
        """Yield the events of a worker, and pass the first request on to it; no last event comes if it was killed."""
        is_sent = False
        try:
            for event in worker.events():
                if self.is_urgent:
                    worker.stop()
                    return
                if self.n and not is_sent:
                    is_sent = True
                    worker.send("cancel")
                    notify(self.words)
                yield event
        except WorkerLost:
            if not self.n:  # otherwise it was terminated as well: batch systems do so to every process of a job
                raise
