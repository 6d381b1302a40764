"""The job protocol: how an algorithm reports progress, results and warnings, and the events that are made of them.

An algorithm gets a `JobContext`, whose calls become `Event` objects, one JSON object a line, which the command line
prints and the window turns into signals.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from threading import Event as Flag
from threading import RLock
from typing import Literal, NamedTuple, Protocol

from clalign.common.plain_data import Json
from clalign.errors import Cancelled

EventKind = Literal["started", "progress", "partial", "warning", "finished", "cancelled", "failed"]

LAST: tuple[EventKind, ...] = ("finished", "cancelled", "failed")
"""Kinds of a job's last event."""

BUILD = "build"
"""Stage in which a driver compiles a kernel; the job does not respond meanwhile."""

TEST = "test"
"""Stage in which a device is tested before its first use; its progress is unknown."""

PREPARING = frozenset((BUILD, TEST, "read", "encode", "rows", "profiles"))
"""Stages before the work of a run. A job that only reads shows them as well."""

PROGRESS_SECONDS = 0.1
"""Least interval of events of progress (s)."""


class Event(NamedTuple):
    """One thing that happened in a job.

    Attributes
    ----------
    kind : str
        ``started``, ``progress``, ``partial``, ``warning``, ``finished``, ``cancelled`` or ``failed``.
    value : dict
        Plain data, described at the call that sends it.
    """

    kind: EventKind
    value: Json

    def to_json(self) -> str:
        """Return the event as one line of JSON."""
        return json.dumps({"kind": self.kind, "value": self.value}, separators=(",", ":"))

    @classmethod
    def from_json(cls, line: str) -> Event:
        """Return the event that `to_json` wrote."""
        data = json.loads(line)
        return cls(data["kind"], data["value"])


class JobContext(Protocol):
    """How an algorithm reports to its caller."""

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        """Report how much of a stage is done, in `unit` (``cells`` wherever dynamic programming runs).

        `clalign.jobs.course` has the words of stages.
        """

    def partial(self, **facts: object) -> None:
        """Report that results were added."""

    def warn(self, text: str) -> None:
        """Report what the user must know."""

    def check(self) -> None:
        """Raise `Cancelled` if the job was asked to stop; wait while it is paused."""


class BuildReports:
    """Reports what the drivers of all devices of a job compile, in one count."""

    def __init__(self, context: JobContext) -> None:
        self._context, self._counts = context, dict[int, tuple[int, int, bool]]()

    def of_device(self) -> Callable[[int, int, bool], None]:
        """Return a callable that reports the programs of one more device.

        It takes how many are built, of how many, and whether one is waited for now.
        """
        number = len(self._counts)
        self._counts[number] = 0, 0, False

        def report(done: int, total: int, is_now: bool) -> None:
            self._counts[number] = done, total, is_now
            done, total, n_now = (sum(numbers) for numbers in zip(*self._counts.values(), strict=True))
            self._context.progress(BUILD, done, total, "programs", waits=n_now > 0)

        return report


class QuietContext:
    """A context for callers that do not watch."""

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        """Ignore the progress."""

    def partial(self, **facts: object) -> None:
        """Ignore the results."""

    def warn(self, text: str) -> None:
        """Ignore the warning."""

    def check(self) -> None:
        """Never stop."""


class WarningContext(QuietContext):
    """A context for callers that want only warnings.

    Parameters
    ----------
    notify : callable
        Called with each warning.
    """

    def __init__(self, notify: Callable[[str], object]) -> None:
        self._notify = notify

    def warn(self, text: str) -> None:
        """Pass the warning on."""
        self._notify(text)


class Job:
    """A running job: it sends events to one listener and can be cancelled and paused from any thread.

    Parameters
    ----------
    listener : callable
        Called with each `Event`, in the thread that runs the job.
    """

    def __init__(self, listener: Callable[[Event], None]) -> None:
        self._listener = listener
        self._cancelled = Flag()
        self._running = Flag()
        self._running.set()
        self._sent_at = 0.0
        self._stage = ""
        self._is_building = self._is_over = False
        self._sending = RLock()

    def is_building(self) -> bool:
        """Return whether a driver compiles a kernel, so that the job does not respond."""
        return self._is_building

    @property
    def is_over(self) -> bool:
        """Whether its last event was sent."""
        return self._is_over

    @property
    def is_cancelled(self) -> bool:
        """Whether the job was asked to stop."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Ask the job to stop at the end of its batch."""
        self._cancelled.set()
        self._running.set()

    def pause(self) -> None:
        """Ask the job to wait at the end of its batch."""
        self._running.clear()

    def resume(self) -> None:
        """Let a paused job go on."""
        self._running.set()

    def send(self, kind: EventKind, /, **value: object) -> bool:
        """Send an event to the listener; return False if the job's last event was sent before, and send nothing."""
        with self._sending:
            if self._is_over:
                return False
            self._is_over = kind in LAST
            self._listener(Event(kind, value))
        return True

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        """Send progress, unless the last was sent less than `PROGRESS_SECONDS` ago.

        The first and the last message of a stage always pass.
        """
        was_building, self._is_building = self._is_building, stage == BUILD and bool(facts.get("waits", True))
        is_last = done == total or was_building != self._is_building
        now = time.monotonic()
        if stage == self._stage and now - self._sent_at < PROGRESS_SECONDS and not is_last:
            return
        self._stage, self._sent_at = stage, now
        self.send("progress", stage=stage, done=done, total=total, unit=unit, **facts)

    def partial(self, **facts: object) -> None:
        """Send an event about results that were added."""
        self.send("partial", **facts)

    def warn(self, text: str) -> None:
        """Send a warning."""
        self.send("warning", text=text)

    def check(self) -> None:
        """Raise `Cancelled` if the job was asked to stop; wait while it is paused."""
        self._running.wait()
        if self._cancelled.is_set():
            raise Cancelled
