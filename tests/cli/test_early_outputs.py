"""What is written of a run while it is computed is what is written of it afterwards."""

from __future__ import annotations

import io
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from clalign.cli import main
from clalign.cli.early_outputs import EarlyOutputs
from clalign.cli.outputs import Outputs
from clalign.engines.export import export
from clalign.engines.lazy_imports import LazyImport
from clalign.engines.plan7.exports.register import EXPORTS, OUTPUTS_OF_ROUNDS, SEQUENCES
from clalign.engines.plan7.exports.source import ProfileRunSource, Query
from clalign.errors import OutputError
from clalign.runs.queries import HitKey, HitQueries
from clalign.runs.run_file import RunFile, open_run

EXAMPLES = Path(__file__).resolve().parents[2] / "resources" / "examples"
BY_QUERY = [one for one in EXPORTS if one.by_query]
TARGETS = str(EXAMPLES / "swissprot_sample.fasta.gz")
BUILT = EXAMPLES.parents[1] / "tests" / "golden" / "sequences" / "built.fa"


def search(folder: Path, command: str, profiles: tuple[str, ...], *outputs: str, targets: str = TARGETS) -> Path:
    """Keep the run of a search with some example profiles."""
    library, run = folder / "library.hmm", folder / "kept.clalign"
    library.write_text("".join((EXAMPLES / f"{name}.hmm").read_text() for name in profiles))
    words = [command, "-q", "--device", "cpu", "--run", str(run), *outputs, str(library), targets]
    assert main(words) == 0
    return run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Profiles with few and with many hits, with all that can be written of them early."""
    folder = tmp_path_factory.mktemp("run")
    outputs = [word for one in BY_QUERY for word in (one.flag, str(folder / one.name))]
    return search(folder, "hmmsearch", ("globins4", "rrm_1_hmmer3", "globins4"), *outputs)


def all_of(run: Path) -> EarlyOutputs:
    """Return what writes a run early, with all that can be written so and something that cannot."""
    return EarlyOutputs(run, Outputs(tuple((one, one.name) for one in (*BY_QUERY, *SEQUENCES))))


def early_outputs(run: Path, n_queries: int = 3, when_begun: Callable[[], None] = lambda: None) -> EarlyOutputs:
    """Return what has written early when this number of queries is written, and the thread has looked again."""
    found = all_of(run)
    found.begin()
    until(lambda: n_queries == 0 or ((begun := found.begun("tblout")) is not None and begun.n_queries >= n_queries))
    when_begun()
    time.sleep(0.3)
    found.end()
    return found


def until(is_so: Callable[[], bool]) -> None:
    """Wait for the thread that writes."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def texts(run: Path, folder: Path, early: EarlyOutputs | None = None) -> dict[str, str]:
    """Export what can be written by query, with what was written early."""
    found = {}
    for one in BY_QUERY:
        path = folder / f"out.{one.name}"
        export(run, one.name, path, begun=early.begun(one.name) if early else None)
        found[one.name] = path.read_text()
    return found


def test_a_command_writes_what_an_export_of_its_run_does(run: Path, tmp_path: Path) -> None:
    assert {one.name: (run.parent / one.name).read_text() for one in BY_QUERY} == texts(run, tmp_path)
    assert not list(run.parent.glob("kept.clalign-*")), "a run is one file in the end"


@pytest.mark.parametrize("n_queries", [0, 1, 3])
def test_the_rest_follows_what_is_early_outputs(run: Path, tmp_path: Path, n_queries: int) -> None:
    whole, path = texts(run, tmp_path), Path(shutil.copy(run, tmp_path / "growing.clalign"))
    with open_run(path, writable=True) as opened:
        bests = {number: opened.best(number) for number in range(n_queries, 3)}
        opened.set_bests([(number, None) for number in bests])
    with closing(early_outputs(path, n_queries)) as early:
        begun = {one.name: early.begun(one.name) for one in EXPORTS}
        known = {name: one.n_queries for name, one in begun.items() if one is not None}
        assert known == ({one.name: n_queries for one in BY_QUERY} if n_queries else {})
        with open_run(path, writable=True) as opened:
            opened.set_bests(bests.items())
        assert texts(path, tmp_path, early) == whole


def test_a_query_of_any_size_holds_up_no_stop(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_writing, write = threading.Event(), next(one.by_query for one in BY_QUERY if one.name == "tblout").get()

    def write_for_ever(source: ProfileRunSource, stream: TextIO, query: Query, is_first: bool) -> int:
        while query.keys:
            write(source, io.StringIO(), query, is_first)
            is_writing.set()
        return 0

    get, by_query = LazyImport.get, [one.by_query for one in EXPORTS]
    monkeypatch.setattr(LazyImport, "get", lambda part: write_for_ever if part in by_query else get(part))
    before = set(threading.enumerate())
    with closing(all_of(run)) as early:
        early.begin()
        assert is_writing.wait(60)
        began = time.monotonic()
    assert time.monotonic() - began < 10
    assert early.begun("tblout") is None
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("is_over", [True, False])
def test_a_device_that_comes_later_is_named_with_every_query(run: Path, tmp_path: Path, is_over: bool) -> None:
    path = Path(shutil.copy(run, tmp_path / "growing.clalign"))

    def add_device() -> None:
        with open_run(path, writable=True) as opened:
            opened.set_facts(device=replace(opened.facts.device, name="A card"))

    with closing(early_outputs(path, 3, (lambda: None) if is_over else add_device)) as early:
        if is_over:
            add_device()
        else:
            assert early.begun("text").n_queries == 3
            assert early.begun("text").provenance.device == "A card"
        found = texts(path, tmp_path, early)
    assert found == texts(path, tmp_path)
    assert found["text"].count("on A card") == 3


def test_what_cannot_be_written_ahead_is_written_afterwards(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(all_of(tmp_path / "nothing.clalign")) as early:
        early.begin()
        early.end()
        assert early.begun("text") is None
    is_full = threading.Event()

    def write(source: object, stream: TextIO, query: object, is_first: bool) -> int:
        if is_first:
            return stream.write("half of it")
        is_full.set()
        raise OutputError("The disk is full.", "Make room.")

    get, by_query = LazyImport.get, [one.by_query for one in EXPORTS]
    monkeypatch.setattr(LazyImport, "get", lambda part: write if part in by_query else get(part))
    with closing(all_of(run)) as early:
        early.begin()
        assert is_full.wait(60)
        early.end()
        assert texts(run, tmp_path, early) == texts(run, tmp_path)


@pytest.mark.parametrize(
    ("command", "profile", "targets"),
    [("hmmsearch", "rrm_1", TARGETS), ("hmmscan", "globins4", str(EXAMPLES / "three_proteins.fasta"))],
)
def test_scans_and_profiles_of_hmmer2_wait_for_the_end(
    tmp_path: Path, command: str, profile: str, targets: str
) -> None:
    run = search(tmp_path, command, (profile,), "-o", str(tmp_path / "text"), targets=targets)
    with closing(all_of(run)) as early:
        early.begin()
        until(lambda: early.has_looked)
        early.end()
        assert early.begun("text") is None


def test_a_query_that_ends_meanwhile_is_written_with_all_its_hits(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, path = texts(run, tmp_path), Path(shutil.copy(run, tmp_path / "growing.clalign"))
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        (late,) = writer.execute("SELECT max(id) FROM hits WHERE query = 1").fetchone()
        (best,) = writer.execute("SELECT best FROM queries WHERE id = 1").fetchone()

        def store(query: int, best: str) -> None:
            writer.execute("UPDATE hits SET query = ? WHERE id = ?", (query, late))
            writer.execute("UPDATE queries SET best = ? WHERE id = 1", (best,))

        def list_then_store(keys: HitQueries, number: int) -> list[HitKey]:
            found = of_query(keys, number)
            if number == 1:
                store(1, best)
            return found

        store(2, "null")
        of_query = HitQueries.of_query
        with monkeypatch.context() as patched:
            patched.setattr(HitQueries, "of_query", list_then_store)
            early = early_outputs(path, 1)
        store(1, best)
        with closing(early):
            assert texts(path, tmp_path, early) == whole


def test_an_error_of_the_database_is_left_to_the_end(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_asked = threading.Event()

    def fail(*question: object) -> None:
        is_asked.set()
        raise sqlite3.OperationalError("disk I/O error")

    with closing(all_of(run)) as early:
        monkeypatch.setattr(HitQueries, "of_query", fail)
        early.begin()
        assert is_asked.wait(60)
        early.end()
        assert early.begun("text") is None


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three queries that end after different numbers of rounds, with all that can be written of them early."""
    folder = tmp_path_factory.mktemp("rounds")
    queries, run = folder / "queries.fasta", folder / "rounds.clalign"
    records = {record.split()[0]: record for record in BUILT.read_text().split(">")[1:]}
    chosen = "".join(f">{records[name]}" for name in ("globin1_cut", "rrm2_pair"))
    queries.write_text(f"{chosen}>lonely of no family\nWWCCHHWWPPCCWWHHMMCCWW\n")
    outputs = [word for one in BY_QUERY if one in OUTPUTS_OF_ROUNDS for word in (one.flag, str(folder / one.name))]
    words = ["jackhmmer", "-q", "-N", "4", "--device", "cpu", "--run", str(run), *outputs, str(queries), str(BUILT)]
    assert main(words) == 0
    return run


def test_rounds_are_written_as_afterwards(rounds: Path, tmp_path: Path) -> None:
    whole = texts(rounds, tmp_path)
    written = {path.name: path.read_text() for path in rounds.parent.iterdir() if path.name in whole}
    assert {"text", "tblout"} <= written.keys()
    assert written == {name: whole[name] for name in written}
    with closing(early_outputs(rounds)) as early:
        assert texts(rounds, tmp_path, early) == whole


def test_a_round_that_comes_meanwhile_is_waited_for(
    rounds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = texts(rounds, tmp_path)
    with open_run(rounds) as opened:
        n, before = opened.n_queries(), opened.card(opened.n_queries() - 1)["before"]
        assert 3 <= before < n - 1, "a later round of a query"
    has_ended, n_queries, best = threading.Event(), RunFile.n_queries, RunFile.best

    def best_of(run: RunFile, number: int) -> object:
        if number == before:
            has_ended.set()  # and the next round is stored with the end of this one
        return best(run, number) if number < n - 1 or has_ended.is_set() else None

    monkeypatch.setattr(RunFile, "n_queries", lambda run: n_queries(run) - (not has_ended.is_set()))
    monkeypatch.setattr(RunFile, "best", best_of)
    with closing(early_outputs(rounds)) as early:
        assert has_ended.is_set()
        assert early.begun("text").n_queries == 3
        assert texts(rounds, tmp_path, early) == whole
