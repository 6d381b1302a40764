"""Progress of a job on standard error: a bar, plain lines, JSON or nothing."""

from __future__ import annotations

import shutil
import time
from typing import ClassVar

from clalign.cli.options import ProgressMode
from clalign.cli.streams import write_stderr
from clalign.common.amounts import rate_text
from clalign.jobs import Event
from clalign.jobs.course import Course

PLAIN_SECONDS, BAR_SECONDS = 10.0, 0.1
"""Interval of lines, and of drawing the bar (s)."""

BAR_WIDTH = 30
"""Characters of the bar without its brackets."""


def progress_display(mode: ProgressMode) -> Progress:
    """Return a display of progress for a mode."""
    displays = {"bar": Bar, "plain": PlainLines, "json": JsonLines, "none": Warnings, "quiet": Progress}
    return displays[mode]()


class Progress:
    """Shows sentences about the job alone; base of what shows more."""

    def show(self, event: Event) -> None:
        """Show an event, or nothing of it."""

    def message(self, text: str) -> None:
        """Print a sentence about the job."""
        write_stderr(f"clalign: {text}")

    def close(self) -> None:
        """Clear what stands on the terminal."""


class Warnings(Progress):
    """Shows warnings, too, but no progress."""

    def show(self, event: Event) -> None:
        """Print a warning."""
        if event.kind == "warning":
            self.message(event.value["text"])


class JsonLines(Progress):
    """Shows every event as a line of JSON."""

    def show(self, event: Event) -> None:
        """Print the event."""
        write_stderr(event.to_json())

    def message(self, text: str) -> None:
        """Print a sentence as a warning."""
        self.show(Event("warning", {"text": text}))


class PlainLines(Warnings):
    """Shows a line every ten seconds, for log files."""

    interval_seconds: ClassVar[float] = PLAIN_SECONDS

    def __init__(self) -> None:
        super().__init__()
        self._course = Course()
        self._shown_at = time.monotonic()

    def show(self, event: Event) -> None:
        """Show progress if the interval has passed."""
        super().show(event)
        if event.kind != "progress":
            return
        self._course.take(event.value, time.monotonic())
        if time.monotonic() - self._shown_at >= self.interval_seconds:
            self._shown_at = time.monotonic()
            self._draw(sentence(self._course))

    def _draw(self, words: str) -> None:
        write_stderr(words)


class Bar(PlainLines):
    """Shows a bar that stays on one line of the terminal; it uses no colors."""

    interval_seconds = BAR_SECONDS

    def __init__(self) -> None:
        super().__init__()
        self._shown_at = 0.0
        self._width = 0

    def _draw(self, words: str) -> None:
        filled = int(BAR_WIDTH * self._course.fraction)
        columns = shutil.get_terminal_size().columns - 1
        line = f"[{'=' * filled}{' ' * (BAR_WIDTH - filled)}] {words}"[:columns]
        write_stderr(f"{line:<{self._width}s}", end="", begin="\r")
        self._width = len(line)

    def message(self, text: str) -> None:
        """Print a sentence on a line of its own."""
        self.close()
        super().message(text)

    def close(self) -> None:
        """Erase the bar."""
        if self._width:
            write_stderr(" " * self._width, end="\r", begin="\r")
            self._width = 0


def sentence(course: Course) -> str:
    """Return progress in words, as in ``Searching: 71 %, 94.2 GCUPS, about 12 s left``."""
    parts = []
    if course.fraction and course.kernels is None:
        parts.append(f"{int(100 * course.fraction)} %")
    elif course.is_working and not course.total:
        parts.append(f"{course.done:,.0f} {course.unit}")
    if course.detail:
        parts.append(course.detail)
    if course.rate:
        parts.append(rate_text(course.rate / 1e9))
    if course.seconds_left is not None:
        parts.append(f"about {duration(max(1.0, course.seconds_left), 0)} left")
    return f"{course.words}: {', '.join(parts)}" if parts else course.words


def duration(seconds: float, digits: int = 1) -> str:
    """Return a time in words, as in ``0.3 s``, ``12 s``, ``3 min 20 s`` or ``2 h 5 min``."""
    if seconds < 9.95:
        return f"{max(seconds, 0.1):.{digits}f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
