"""The time in which a device computes for at least one of several queues."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

Span = tuple[int, int]
"""Begin and end in nanoseconds on the device's clock."""

MAX_STRETCHES = 256
"""Limit of the stretches of time that later spans may still join; earlier ones are only counted."""


class BusyTime:
    """The total time during which at least one command ran."""

    def __init__(self) -> None:
        self._stretches: list[Span] = []
        self._in_stretches = 0
        self._closed = 0
        self._closed_until = 0

    def add(self, spans: Iterable[Span]) -> None:
        """Add the spans of commands, in any order."""
        late = [(max(begin, self._closed_until), end) for begin, end in spans if end > self._closed_until]
        if not late:
            return
        untouched = max(0, bisect.bisect_left(self._stretches, min(late)) - 1)
        touched, joined = self._stretches[untouched:], list[Span]()
        for begin, end in sorted([*touched, *late]):
            if joined and begin <= joined[-1][1]:
                joined[-1] = joined[-1][0], max(joined[-1][1], end)
            else:
                joined.append((begin, end))
        self._stretches[untouched:] = joined
        self._in_stretches += _length(joined) - _length(touched)
        closed = self._stretches[:-MAX_STRETCHES]
        if closed:
            self._closed += _length(closed)
            self._in_stretches -= _length(closed)
            self._closed_until = closed[-1][1]
            del self._stretches[:-MAX_STRETCHES]

    @property
    def seconds(self) -> float:
        """The time so far in seconds."""
        return (self._closed + self._in_stretches) * 1e-9


def _length(spans: Iterable[Span]) -> int:
    return sum(end - begin for begin, end in spans)
