"""Traces in files: the Trace Event format, which the viewers of Chrome (chrome://tracing) and Perfetto open.

In them each track is a thread of its process, and the queues of a device are threads of a process with the device's
name. The processes of a run write the file one after another, and each keeps what is there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from clalign.common.plain_data import Json
from clalign.errors import InputError
from clalign.tracing import HOST, Recording, Span, Track

DEVICE_NUMBERS = 1 << 22
"""Number from which on devices are numbered, above those of processes."""

Event = Json
Document = Json

_HEAD: Document = {"displayTimeUnit": "ms", "otherData": {"program": "clalign", "spans_left_out": 0}}


def trace_of(recording: Recording, beside: Document | None = None) -> Document:
    """Return the recording of a process as a document, added to that of another process of the run."""
    document = beside or {**_HEAD, "traceEvents": []}
    left_out = document["otherData"]["spans_left_out"] + recording.n_left_out
    events = [*document["traceEvents"], *_events(recording)]
    return {**document, "otherData": {**document["otherData"], "spans_left_out": left_out}, "traceEvents": events}


def write_trace(document: Document, stream: TextIO) -> None:
    """Write a trace, one event a line, so that people can read it as well."""
    head = {name: value for name, value in document.items() if name != "traceEvents"}
    stream.write(f'{json.dumps(head)[:-1]}, "traceEvents": [\n')
    stream.write(",\n".join(json.dumps(event, separators=(",", ":")) for event in document["traceEvents"]))
    stream.write("\n]}\n")


def read_trace(path: Path) -> Document:
    """Return the document in the file of a trace.

    Raises
    ------
    InputError
        If this program has not written it.
    """
    try:
        document: Document = json.loads(path.read_text("utf-8"))
        document["traceEvents"], document["otherData"]["spans_left_out"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(path, "this is not a trace of a run.", "Choose another file for the trace.") from None
    return document


def _events(recording: Recording) -> Iterator[Event]:
    """Yield the events of a recording: names of processes and threads, then the spans, in microseconds."""
    tracks, own = recording.tracks(), os.getpid()
    kinds = {recording.process: HOST} | {track.owner: track.kind for track in tracks}
    numbers = {owner: own + DEVICE_NUMBERS * n for n, owner in enumerate(kinds)}
    for order, (owner, number) in enumerate(numbers.items()):
        yield _named("process_name", number, 0, name=owner)
        yield _named("process_labels", number, 0, labels=kinds[owner])
        yield _named("process_sort_index", number, 0, sort_index=order)
    for thread, (track, spans) in enumerate(tracks.items()):
        process, place = numbers[track.owner], own * 1000 + thread
        yield _named("thread_name", process, place, name=track.name)
        yield from _complete(spans, process, place, recording.since)


def _named(what: str, process: int, thread: int, **facts: object) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": facts}


def _complete(spans: Iterable[Span], process: int, thread: int, since: int) -> Iterator[Event]:
    for span in spans:
        yield {
            "ph": "X", "name": span.name, "cat": span.category, "ts": (span.begin - since) / 1000,
            "dur": (span.end - span.begin) / 1000, "pid": process, "tid": thread, "args": span.facts,
        }  # fmt: skip


def spans_of(document: Document) -> dict[Track, list[Span]]:
    """Return the spans of a trace by their tracks, in the order of the file; times count from the start of the run."""
    known: dict[tuple[str, int, int], Event] = {}
    found: dict[Track, list[Span]] = {}
    for event in document["traceEvents"]:
        process, thread = event["pid"], event["tid"]
        if event["ph"] == "M":
            known[event["name"], process, thread] = event["args"]
            continue
        track = Track(
            known["process_name", process, 0]["name"], known["thread_name", process, thread]["name"],
            known["process_labels", process, 0]["labels"],
        )  # fmt: skip
        begin = round(event["ts"] * 1000)
        span = Span(event["name"], event["cat"], begin, begin + round(event["dur"] * 1000), event["args"])
        found.setdefault(track, []).append(span)
    return found
