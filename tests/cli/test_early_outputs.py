"""What is written of a run while it is computed is what is written of it afterwards."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

from clalign.cli import main
from clalign.cli.early_outputs import MAX_HITS, EarlyOutputs
from clalign.cli.outputs import Outputs
from clalign.engines.export import export
from clalign.engines.lazy_imports import LazyImport
from clalign.engines.plan7.exports.register import EXPORTS, SEQUENCES
from clalign.errors import OutputError
from clalign.runs.queries import HitKey, HitQueries
from clalign.runs.run_file import open_run

EXAMPLES = Path(__file__).resolve().parents[2] / "resources" / "examples"
BY_QUERY = [one for one in EXPORTS if one.by_query]
TARGETS = str(EXAMPLES / "swissprot_sample.fasta.gz")


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


@pytest.fixture
def early(run: Path) -> Iterator[EarlyOutputs]:
    with closing(early_outputs(run)) as found:
        yield found


def early_outputs(run: Path, max_hits: int = MAX_HITS) -> EarlyOutputs:
    """Return what is written early in several steps."""
    found = EarlyOutputs(run, Outputs(tuple((one, one.name) for one in (*BY_QUERY, *SEQUENCES))), max_hits)
    for _ in range(20):
        found.write()
    return found


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


@pytest.mark.parametrize(("max_hits", "n_queries"), [(MAX_HITS, 3), (1, 1), (-1, 0)])
def test_the_rest_follows_what_is_early_outputs(run: Path, tmp_path: Path, max_hits: int, n_queries: int) -> None:
    with closing(early_outputs(run, max_hits)) as early:
        begun = {one.name: early.begun(one.name) for one in EXPORTS}
        known = {name: one.n_queries for name, one in begun.items() if one is not None}
        assert known == ({one.name: n_queries for one in BY_QUERY} if n_queries else {})
        assert texts(run, tmp_path, early) == texts(run, tmp_path)


def test_a_device_that_comes_later_is_named_with_every_query(run: Path, tmp_path: Path, early: EarlyOutputs) -> None:
    with open_run(run, writable=True) as opened:
        device = opened.facts.device
        opened.set_facts(device=replace(device, name="A card"))
    found = texts(run, tmp_path, early)
    assert found == texts(run, tmp_path)
    assert found["text"].count("on A card") == 3
    with open_run(run, writable=True) as opened:
        opened.set_facts(device=device)


def test_what_cannot_be_written_ahead_is_written_afterwards(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(early_outputs(tmp_path / "nothing.clalign")) as early:
        assert early.begun("text") is None

    def write(source: object, stream: TextIO, query: object, is_first: bool) -> int:
        if is_first:
            return stream.write("half of it")
        raise OutputError("The disk is full.", "Make room.")

    get, by_query = LazyImport.get, [one.by_query for one in EXPORTS]
    monkeypatch.setattr(LazyImport, "get", lambda part: write if part in by_query else get(part))
    with closing(early_outputs(run)) as early:
        assert texts(run, tmp_path, early) == texts(run, tmp_path)


@pytest.mark.parametrize(
    ("command", "profile", "targets"),
    [("hmmsearch", "rrm_1", TARGETS), ("hmmscan", "globins4", str(EXAMPLES / "three_proteins.fasta"))],
)
def test_scans_and_profiles_of_hmmer2_wait_for_the_end(
    tmp_path: Path, command: str, profile: str, targets: str
) -> None:
    run = search(tmp_path, command, (profile,), "-o", str(tmp_path / "text"), targets=targets)
    with closing(early_outputs(run)) as early:
        assert early.has_looked
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
            early = early_outputs(path)
        store(1, best)
        with closing(early):
            assert texts(path, tmp_path, early) == whole


def test_an_error_of_the_database_is_left_to_the_end(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*question: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with closing(EarlyOutputs(run, Outputs(tuple((one, one.name) for one in BY_QUERY)))) as early:
        monkeypatch.setattr(HitQueries, "of_query", fail)
        early.write()
        assert early.begun("text") is None
