"""``--profile-run`` and ``-v`` from end to end: both processes, every kernel, one clock."""

from __future__ import annotations

import errno
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from clalign.cli import main
from clalign.cli.profiling import new_file, worker_profiled
from clalign.errors import ExitCode, OutputError
from clalign.jobs import Event, Job
from clalign.runs.run_file import open_run
from clalign.tracing import Span, Track
from clalign.tracing.files import read_trace, spans_of

GOLDEN = Path(__file__).parents[1] / "golden"
NEWER = str(Path(__file__).parents[2] / "resources" / "examples" / "rrm_1_hmmer3.hmm")
MOTIF, DNA = str(GOLDEN / "profiles" / "katdna_ls.hmm"), str(GOLDEN / "sequences" / "kat.fa")
PROTEINS = str(GOLDEN / "sequences" / "built.fa")

SLACK = 10**6
"""Clocks of host and device may seem to lie a millisecond apart where the machine is busy."""


@dataclass(frozen=True)
class Traced:
    """A run with its trace and what was told of it."""

    run: Path
    trace: Path
    errors: str

    @property
    def tracks(self) -> dict[Track, list[Span]]:
        return spans_of(read_trace(self.trace))

    def named(self, name: str) -> list[Span]:
        return [span for spans in self.tracks.values() for span in spans if span.name == name]


def clalign(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "clalign", *words], capture_output=True, text=True, check=True)


@pytest.fixture(scope="module", params=["hmmsearch", pytest.param("sw", marks=pytest.mark.thorough)])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("traced")
    run, trace = folder / "x.clalign", folder / "x.json"
    inputs = (NEWER, PROTEINS) if request.param == "hmmsearch" else (PROTEINS, PROTEINS)
    words = ("--device", "cpu", "-v", "--profile-run", str(trace), "--run", str(run), "-o", str(folder / "x.txt"))
    return Traced(run, trace, clalign(request.param, *words, *inputs).stderr)


def disorder(spans: Sequence[Span]) -> list[Span]:
    """Return the spans of a thread that overlap with another one without lying within it."""
    found, open_ends = [], list[int]()
    for span in sorted(spans, key=lambda span: (span.begin, -span.end)):
        while open_ends and open_ends[-1] <= span.begin:
            open_ends.pop()
        if open_ends and span.end > open_ends[-1] + 1:  # a nanosecond is lost in microseconds
            found.append(span)
        open_ends.append(span.end)
    return found


def test_what_overlaps_is_seen() -> None:
    given = [("a", 0, 10), ("b", 2, 5), ("c", 5, 10), ("d", 10, 12)]
    apart = [Span(name, "", begin * 1000, end * 1000, {}) for name, begin, end in given]
    assert not disorder(apart)
    assert disorder([*apart, Span("e", "", 9000, 11000, {})])


def test_it_is_in_the_format_of_the_viewers(traced: Traced) -> None:
    document = json.loads(traced.trace.read_text())
    assert {event["ph"] for event in document["traceEvents"]} == {"M", "X"}
    for event in document["traceEvents"]:
        assert {"name", "pid", "tid", "args"} <= event.keys()
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["ts"] >= 0


def test_spans_of_a_thread_nest(traced: Traced) -> None:
    for track, spans in traced.tracks.items():
        if track.kind == "host":
            assert not disorder(spans), track


def test_every_kernel_that_ran_is_in_it(traced: Traced) -> None:
    with open_run(traced.run) as run:
        counted = run.facts.finished["kernel_seconds"]
    found: Counter[str] = Counter()
    for spans in traced.tracks.values():
        for span in spans:
            if span.category == "kernels":
                found[span.facts["file"]] += span.end - span.begin
    assert found.keys() == counted.keys()
    for file, seconds in counted.items():
        assert found[file] * 1e-9 == pytest.approx(seconds, abs=1e-5)


def test_both_processes_and_the_device_are_on_one_clock(traced: Traced) -> None:
    (whole,) = traced.named("clalign")
    (worker,) = traced.named("start the worker")
    starts, ends = traced.named("start a batch"), traced.named("close the run")
    assert whole.begin - 2 * 10**7 <= worker.begin  # the system tells hundredths of a second
    assert worker.end <= min(span.begin for span in starts)
    kernels = [span for spans in traced.tracks.values() for span in spans if span.category == "kernels"]
    assert min(span.begin for span in kernels) >= min(span.begin for span in starts) - SLACK
    assert max(span.end for span in kernels) <= min(span.begin for span in ends) + SLACK
    assert all(whole.begin <= span.begin <= span.end <= whole.end for spans in traced.tracks.values() for span in spans)
    assert traced.named("write the outputs")[0].begin >= ends[0].end


def test_what_takes_time_is_named(traced: Traced) -> None:
    names = {span.name for spans in traced.tracks.values() for span in spans}
    assert {"open a device", "read the inputs", "checksum of the sequences", "prepare a query", "store batches",
            "make hits", "pack scores", "wait for results", "look among kept programs",
            "load modules"} <= names  # fmt: skip


def test_a_line_says_where_the_time_went(traced: Traced) -> None:
    line = next(line for line in traced.errors.splitlines() if line.startswith("clalign: Time: "))
    total, parts = re.fullmatch(r"clalign: Time: ([\d.]+) s: (.*)\.", line).groups()  # type: ignore[union-attr]
    seconds = [float(part.rpartition(" ")[2]) for part in parts.split(", ")]
    (whole,) = traced.named("clalign")
    assert float(total) == pytest.approx((whole.end - whole.begin) * 1e-9, abs=0.006)
    assert sum(seconds) == pytest.approx(float(total), abs=0.01 * len(seconds))


def test_a_run_that_goes_on_is_traced_and_an_older_trace_replaced(tmp_path: Path) -> None:
    run, trace = tmp_path / "x.clalign", tmp_path / "x.json"
    clalign("hmmsearch", "-q", "--device", "reference", "--run", str(run), "-o", str(tmp_path / "x.txt"), MOTIF, DNA)
    trace.write_text("what was there before")
    done = clalign("resume", "--profile-run", str(trace), "-o", str(tmp_path / "y.txt"), str(run))
    assert "Time:" not in done.stderr
    assert {track.owner for track in spans_of(read_trace(trace))} == {"clalign", "clalign worker"}


def test_a_link_that_the_user_names_leads_to_the_trace(tmp_path: Path) -> None:
    trace, link = tmp_path / "x.json", tmp_path / "link.json"
    link.symlink_to(trace)
    clalign("hmmsearch", "--device", "reference", "--profile-run", str(link), "-o", str(tmp_path / "x.txt"), MOTIF, DNA)
    assert link.is_symlink()
    assert {track.owner for track in spans_of(read_trace(trace))} == {"clalign", "clalign worker"}


@pytest.mark.parametrize("kind", ["file", "link", "link to nothing"])
def test_a_worker_writes_its_trace_over_nothing(tmp_path: Path, kind: str) -> None:
    other, place, events = tmp_path / "other", tmp_path / "x.trace.json", list[Event]()
    if kind != "link to nothing":
        other.write_text("of somebody else")
    if kind == "file":
        shutil.copy(other, place)
    else:
        place.symlink_to(other)
    with worker_profiled({"trace": {"path": str(place)}}, Job(events.append)):
        pass
    assert [event.kind for event in events] == ["warning"]
    assert place.is_symlink() == (kind != "file")
    assert place.exists() == (kind != "link to nothing")
    assert not place.exists() or place.read_text() == "of somebody else"


def test_a_trace_that_is_not_whole_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OutputError), new_file(str(tmp_path / "missing" / "x.json")):
        pass
    with pytest.raises(OutputError), new_file(str(tmp_path / "x.json")):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert not [*tmp_path.iterdir()]


def test_nothing_but_what_was_asked_for_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    done = clalign("hmmsearch", "-v", "--device", "reference", "-o", str(tmp_path / "x.txt"), MOTIF, DNA)
    assert "Time: " in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.txt"]


def test_a_failed_search_is_traced_as_far_as_it_came(tmp_path: Path) -> None:
    trace, bad = tmp_path / "x.json", tmp_path / "bad.fa"
    bad.write_text(">a\n123\n")
    words = ("hmmsearch", "--device", "reference", "--profile-run", str(trace), MOTIF, str(bad))
    done = subprocess.run([sys.executable, "-m", "clalign", *words], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.UNREADABLE
    assert "read the inputs" in {span.name for spans in spans_of(read_trace(trace)).values() for span in spans}


@pytest.mark.parametrize("given", ["-", "{folder}", "{folder}/missing/x.json", DNA, "{folder}/out.txt"])
def test_places_that_cannot_be_written(given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--profile-run", given.format(folder=tmp_path), "-o", str(tmp_path / "out.txt"), MOTIF, DNA]
    before = Path(DNA).read_bytes()
    assert main(["hmmsearch", "--device", "reference", *words]) in (ExitCode.INPUT, ExitCode.CANNOT_WRITE)
    assert capsys.readouterr().err
    assert Path(DNA).read_bytes() == before
    assert not [*tmp_path.iterdir()]
