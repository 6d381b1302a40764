"""Recording of what threads of the host and queues of devices do, for a viewer of traces.

It is off until `begin` is called: a span then costs reading one variable. Times are nanoseconds of
`time.perf_counter_ns`, which all processes of a machine share; times of a device are converted before they are added.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, NamedTuple

from clalign.common.plain_data import Json

Category = Literal[
    "start", "reading", "building", "preparing", "launching", "kernels", "copying", "waiting", "hits", "storing",
    "writing",
]  # fmt: skip
"""Kinds of work. ``kernels`` and ``copying`` are commands of a device, the others are work of the host."""

MAX_SPANS = 1_000_000
"""Spans of a process that are recorded at most: a viewer would not open more."""

HOST = "host"

_LOADED = time.perf_counter_ns()

_SILENT: AbstractContextManager[None] = nullcontext()


class Span(NamedTuple):
    """Something that took time, without its track.

    Attributes
    ----------
    name : str
    category : str
        One of `Category`; empty for a span that only frames others.
    begin, end : int
        Nanoseconds of the host's clock.
    facts : dict
        Plain data that a viewer shows.
    """

    name: str
    category: str
    begin: int
    end: int
    facts: Json


class Track(NamedTuple):
    """A line of a viewer: a thread of a process, or a queue of a device.

    Attributes
    ----------
    owner : str
        The process or the device.
    name : str
    kind : str
        ``host`` for a thread, else the device's (``gpu``, ``cpu``, ``accelerator``).
    """

    owner: str
    name: str
    kind: str = HOST


_Thread = tuple[int, str]
"""Number and name of a thread: a number is used again when its thread has ended."""


class Recording:
    """The recording of a process; threads may add to it at the same time.

    Parameters
    ----------
    process : str
        Name of the process.
    since : int, optional
        When the run began, on the host's clock; by default now.
    """

    def __init__(self, process: str, since: int | None = None) -> None:
        self.process = process
        self.since = time.perf_counter_ns() if since is None else since
        self.spans: list[tuple[Track | _Thread, Span]] = []
        self.n_left_out = 0

    def add(self, track: Track | None, span: Span) -> None:
        """Add a span of a track, by default of the calling thread."""
        if len(self.spans) >= MAX_SPANS:
            self.n_left_out += 1
            return
        self.spans.append((track or (threading.get_ident(), threading.current_thread().name), span))

    def tracks(self) -> dict[Track, list[Span]]:
        """Return the spans of each track, in the order in which they began; of equal ones the longest first."""
        found: dict[Track, list[Span]] = {}
        spans_so_far = list(self.spans)
        names = _distinct_names(dict.fromkeys(place for place, _ in spans_so_far if not isinstance(place, Track)))
        for place, span in spans_so_far:
            track = place if isinstance(place, Track) else Track(self.process, names[place])
            found.setdefault(track, []).append(span)
        for spans in found.values():
            spans.sort(key=lambda span: (span.begin, -span.end))
        return found


def _distinct_names(threads: Iterable[_Thread]) -> dict[_Thread, str]:
    """Return distinct names of threads."""
    counts: dict[str, int] = {}
    names = {}
    for thread in threads:
        counts[thread[1]] = n = counts.get(thread[1], 0) + 1
        names[thread] = thread[1] if n == 1 else f"{thread[1]} ({n})"
    return names


_recording: Recording | None = None


class _Timed:
    """A span being timed."""

    __slots__ = ("_begin", "_category", "_facts", "_name", "_recording")

    def __init__(self, recording: Recording, name: str, category: str, facts: Json) -> None:
        self._recording, self._name, self._category, self._facts = recording, name, category, facts

    def __enter__(self) -> None:
        self._begin = time.perf_counter_ns()

    def __exit__(self, *_: object) -> None:
        end = time.perf_counter_ns()
        self._recording.add(None, Span(self._name, self._category, self._begin, end, self._facts))


def now() -> int:
    """Return the time of the host's clock in nanoseconds."""
    return time.perf_counter_ns()


def begin(process: str, since: int | None = None) -> Recording:
    """Begin to record, and return the recording; its times count from `since`, by default from now."""
    global _recording
    _recording = Recording(process, since)
    return _recording


def end() -> None:
    """Stop recording."""
    global _recording
    _recording = None


def is_on() -> bool:
    """Return whether this process records."""
    return _recording is not None


def recorded() -> Recording | None:
    """Return the recording of this process; None if it does not record."""
    return _recording


def add_all(tracks: Mapping[Track, Iterable[Span]]) -> None:
    """Add the spans that another process of this machine has recorded."""
    if _recording is not None:
        for track, spans in tracks.items():
            for one in spans:
                _recording.add(track, one)


def span(name: str, category: Category | Literal[""] = "", **facts: object) -> AbstractContextManager[None]:
    """Return a context manager that records how long its block takes, in the thread that runs it."""
    return _SILENT if _recording is None else _Timed(_recording, name, category, facts)


def add(
    name: str, category: Category | Literal[""], begin: int, end: int, track: Track | None = None, **facts: object
) -> None:
    """Record a span with known times: a command of a device, or work of the calling thread.

    Parameters
    ----------
    name : str
    category : str
    begin, end : int
        Nanoseconds of the host's clock.
    track : Track, optional
        By default the calling thread.
    **facts
        Plain data that a viewer shows.
    """
    if _recording is not None:
        _recording.add(track, Span(name, category, begin, end, facts))


def process_began() -> int:
    """Return when this process was started, by the host's clock (ns), to a hundredth of a second.

    Where the system does not provide it, it is the time at which this module was loaded.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return _LOADED
    return min(_LOADED, time.perf_counter_ns() - round(age * 1e9))
