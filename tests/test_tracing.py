"""Recording what threads and devices do, and adding up where the time went."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from clalign import tracing
from clalign.errors import InputError
from clalign.tracing import Span, Track
from clalign.tracing.files import read_trace, spans_of, trace_of, write_trace
from clalign.tracing.shares import innermost, joined, sentence, shares

MAIN, CARD, HELPER = Track("run", "main"), Track("Card", "queue 1", "gpu"), Track("Processor", "queue 1", "cpu")


@pytest.fixture
def recording() -> Iterator[tracing.Recording]:
    yield tracing.begin("run", since=0)
    tracing.end()


def spans(*given: tuple[str, str, int, int]) -> list[Span]:
    return [Span(name, category, begin * 10**9, end * 10**9, {}) for name, category, begin, end in given]


def test_nothing_is_recorded_unless_it_is_asked_for() -> None:
    assert not tracing.is_on()
    assert tracing.span("a", "reading") is tracing.span("b", "hits", n=1)
    with tracing.span("a"):
        tracing.add("b", "kernels", 0, 1, CARD)
    assert not tracing.begin("run").spans
    tracing.end()


def test_spans_of_threads_and_devices(recording: tracing.Recording) -> None:
    def work() -> None:
        with tracing.span("inner", "hits"):
            pass

    with tracing.span("outer", "reading", n=3), tracing.span("inner"):
        tracing.add("kernel", "kernels", 5, 9, CARD, file="x")
    for _ in range(2):  # the second may get the number of the first
        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
    other = threading.Thread(target=work, name="other")
    other.start()
    other.join()
    tracks = recording.tracks()
    assert [span.name for span in tracks[Track("run", threading.current_thread().name)]] == ["outer", "inner"]
    assert tracks[CARD] == [Span("kernel", "kernels", 5, 9, {"file": "x"})]
    assert sum(len(found) for track, found in tracks.items() if track.name.startswith("helper")) == 2
    assert len(tracks[Track("run", "other")]) == 1


def test_a_span_is_recorded_when_its_block_fails(recording: tracing.Recording) -> None:
    with pytest.raises(KeyError), tracing.span("a", "hits"):
        raise KeyError
    assert [span.name for _, span in recording.spans] == ["a"]


def test_beyond_a_limit_spans_are_counted_alone(recording: tracing.Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MAX_SPANS", 3)
    for _ in range(5):
        with tracing.span("a"):
            pass
    assert len(recording.spans) == 3
    assert trace_of(recording)["otherData"]["spans_left_out"] == 2


def test_a_trace_is_read_as_it_was_written(recording: tracing.Recording, tmp_path: Path) -> None:
    with tracing.span("a", "reading", file="x"), tracing.span("b"):
        tracing.add("kernel", "kernels", 7_000_123, 9_000_456, CARD)
        tracing.add("kernel", "kernels", 8_000_001, 8_000_002, HELPER)
    path = tmp_path / "t.json"
    with path.open("w") as stream:
        write_trace(trace_of(recording), stream)
    assert spans_of(read_trace(path)) == recording.tracks()
    front = tracing.begin("front", since=0)
    tracing.add("c", "writing", 1, 2)
    both = trace_of(front, read_trace(path))
    assert len(spans_of(both)) == len(recording.tracks()) + 1
    assert json.loads(json.dumps(both)) == both


def test_files_that_are_no_traces(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    for text in ("", "{", "[]", "{}", '{"traceEvents": []}'):
        path.write_text(text)
        with pytest.raises(InputError):
            read_trace(path)


def test_the_innermost_span_with_a_category_counts() -> None:
    given = spans(
        ("a", "reading", 0, 10), ("b", "hits", 2, 6), ("c", "", 3, 5), ("d", "waiting", 5, 6), ("e", "", 12, 13)
    )
    seconds = [(category, begin // 10**9, end // 10**9) for category, begin, end in innermost(given)]
    assert seconds == [("reading", 0, 2), ("hits", 2, 3), ("hits", 3, 5), ("waiting", 5, 6), ("reading", 6, 10)]


def test_stretches_are_joined() -> None:
    assert joined([(5, 6), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 6)]


def test_each_moment_counts_once() -> None:
    tracks = {
        MAIN: spans(("a", "", 0, 20), ("b", "start", 0, 4), ("c", "building", 5, 9), ("d", "waiting", 9, 15)),
        Track("run", "other"): spans(("e", "storing", 7, 12), ("f", "writing", 16, 18)),
        CARD: spans(("k", "kernels", 8, 10), ("l", "kernels", 9, 11)),
        HELPER: spans(("k", "kernels", 10, 14)),
    }
    found = {name: round(value, 6) for name, value in shares(tracks).items() if value}
    assert found == {
        "kernels on Card": 3, "kernels on Processor": 3, "building": 3, "writing": 2, "waiting": 1, "start": 4,
        "other": 4,
    }  # fmt: skip
    assert sentence({"kernels": 1.5, "building": 0.25, "hits": 0.001}) == "1.75 s: kernels 1.50, building kernels 0.25."
    assert set(shares({CARD: tracks[CARD]})) >= {"kernels"}


def test_the_begin_of_this_process_is_before_now() -> None:
    began = tracing.process_began()
    assert tracing.now() - began > 0
    assert began <= tracing.process_began() + 10**8
