"""The time in which a device computes, where several queues compute at a time."""

from __future__ import annotations

import bisect
from collections.abc import Iterable

Span = tuple[int, int]
"""Begin and end in nanoseconds of the device's clock."""

KEPT = 256
"""Stretches of time that later spans may still join; what lies before them counts as known."""


class BusyTime:
    """How long at least one of some commands ran; what runs beside something else counts once."""

    def __init__(self) -> None:
        self._stretches: list[Span] = []
        self._in_stretches = 0
        self._closed = 0
        self._closed_until = 0

    def add(self, spans: Iterable[Span]) -> None:
        """Take note of commands, in any order."""
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
        closed = self._stretches[:-KEPT]
        if closed:
            self._closed += _length(closed)
            self._in_stretches -= _length(closed)
            self._closed_until = closed[-1][1]
            del self._stretches[:-KEPT]

    @property
    def seconds(self) -> float:
        """The time so far."""
        return (self._closed + self._in_stretches) * 1e-9


def _length(spans: Iterable[Span]) -> int:
    return sum(end - begin for begin, end in spans)
