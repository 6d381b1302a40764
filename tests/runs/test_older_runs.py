"""Run files that earlier versions wrote: read as they are, brought up to date, continued; see ``older/README.md``."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.cli import main
from clalign.engines.engine import engine_of
from clalign.engines.export import export
from clalign.engines.pairwise.tables import n_wider
from clalign.engines.plan7.funnel import funnel_of, survivors_at
from clalign.errors import OutputError
from clalign.runs import older
from clalign.runs.pages import VALUES, HitQuery
from clalign.runs.run_file import SCHEMA_VERSION, RunFile, open_run, write_note
from clalign.runs.schema import ORDER
from clalign.ui.models.hit_filter import parse_filter
from clalign.ui.models.hit_pages import ALL_PROFILES, HitPages

ARCHIVES = sorted(path.stem for path in Path(__file__).with_name("older").glob("*.zip"))

OLDER = [(name, 3) for name in ARCHIVES] + [("hmmsearch", 2), ("hmmscan", 2), ("hmm2search", 2), ("hmm2search", 1)]
"""Each kind of run, and versions that lack some columns."""

QUICK = (("hmm2search", 1), ("hmmsearch", 3), ("sw_dna", 3))


SEARCHES = {
    "hmm2search": "hmmsearch -E 50 hmmer2.hmm proteins.fa",
    "hmmsearch": "hmmsearch -E 1000 --F1 0.9 --F2 0.9 --F3 0.9 hmmer3.hmm proteins.fa",
    "hmmscan": "hmmscan -E 1000 --F1 0.5 --F2 0.5 --F3 0.1 hmmer3.hmm proteins.fa",
    "sw_protein": "sw -E 100 queries.fa proteins.fa",
    "sw_dna": "sw -E 1000 --top 5 dna_queries.fa dna.fa",
}
"""The searches of ``older/make.py``."""


@pytest.fixture
def unpacked(older_run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what unpacks the files of a kind of run, as of a version, into the current folder."""
    monkeypatch.chdir(tmp_path)
    return older_run


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    connection.close()
    return found


NEWER = re.compile(
    rb"(?m)^((# )?SHA-256: .*|#=GF CC (?!partial).*|@CO\t(device|date|SHA-256): .*|# (command|date): .*"
    rb"|(Command:  |Date:     )\S.*)\n"
)
"""Lines that exports have had only since then."""

NEWER_KEYS = re.compile(
    rb'"profile_coverage": [^,]+, "sequence_coverage": [^,]+, "identity": [^,]+,'
    rb' ("columns": \d+, "cigar": "[^"]*", )?'
)
"""What JSON lines of profiles have had only since then."""


def check_exports(path: Path, folder: Path, fresh: Path | None = None) -> None:
    """Export all that there is, and compare it with what was exported then.

    A line of a run that was continued may be that of a fresh one: biases have other roundings since (README.md).
    """
    expected = sorted((folder / "exports").iterdir())
    with open_run(path) as run:
        assert {one.name for one in expected} <= engine_of(run).writers.keys()
    for one in expected:
        before, now = one.read_bytes(), exported(path, one.name)
        if fresh is None:
            assert now == before, one.name
        else:
            texts = (now, before, exported(fresh, one.name))
            lines = [re.sub(rb"(?m)^(# )?(Time|Mc/sec|Date): .*$", b"", text).splitlines() for text in texts]
            assert not [line for line, *known in zip(*lines, strict=True) if line not in known], one.name


def exported(path: Path, writer: str) -> bytes:
    """Return what is exported of a run, but for what exports have had only since the earlier version."""
    export(path, writer, path.with_suffix(".out"))
    found = NEWER_KEYS.sub(b"", NEWER.sub(b"", path.with_suffix(".out").read_bytes()))
    return found.replace(b" --compute_compo", b"")


def content(path: Path) -> dict[str, Any]:
    """Return all that a run file and the window's table say of a run."""
    with open_run(path) as run:
        queries, keys = range(run.n_profiles()), [*VALUES, *run.connection.declared.values]
        said = {
            "cards": run.profiles(), "hits": list(run.hits()), "state": run.state, "messages": run.messages(),
            "checks": run.verifications(), "notes": run.notes(), "work": run.work_done(),
            "best": [run.best(number) for number in queries], "ranges": [run.finished(number) for number in queries],
             "spec": run.fact("spec"),
            "counts": [np.stack(run.histogram(number)).tolist() for number in queries],
            "scores": [[scores.tolist() for _, _, scores in run.scores(number)] for number in queries],
        }  # fmt: skip
        if engine_of(run).name == "pairwise":
            said["wider"] = n_wider(run)
        else:
            said["funnel"] = [funnel_of(run, number) for number in queries]
            said["survivors"] = [survivors_at(run, number, "viterbi") for number in queries]
    conditions = parse_filter("len>100 -kinase").conditions
    for query in (ALL_PROFILES, 0):
        for sort in (None, *keys):
            pages = HitPages(HitQuery(path, query, conditions, sort=sort))
            said[f"{query} by {sort}"] = pages.rows(0, 1000)
            pages.close()
    return said


@pytest.mark.parametrize(("name", "version"), OLDER)
def test_what_an_older_version_wrote_is_read_and_exported(unpacked: Any, name: str, version: int) -> None:
    folder = unpacked(name, version)
    before = (folder / "done.clalign").read_bytes()
    check_exports(folder / "done.clalign", folder)
    assert (folder / "done.clalign").read_bytes() == before, "reading leaves it alone"


@pytest.mark.parametrize(("name", "version"), OLDER)
def test_it_says_the_same_when_it_is_brought_up_to_date(unpacked: Any, name: str, version: int) -> None:
    folder = unpacked(name, version)
    path = folder / "done.clalign"
    with open_run(path) as run:
        first = next(run.hits(0))
    write_note(path, 0, first.row, "from before")
    before = content(path)
    assert before["notes"] == {(0, first.row): "from before"}
    open_run(path, writable=True).close()
    assert version_of(path) == SCHEMA_VERSION
    assert content(path) == before
    write_note(path, 0, first.row, "")
    check_exports(path, folder)


@pytest.mark.parametrize(("name", "version"), [("hmm2search", 1), ("hmmscan", 3), ("sw_protein", 3)])
def test_who_reads_it_meanwhile_reads_on(unpacked: Any, name: str, version: int) -> None:
    path = unpacked(name, version) / "done.clalign"

    def said(run: RunFile, pages: HitPages) -> dict[str, Any]:
        return {
            "facts": [run.fact(name) for name in ("spec", "state", "database", "engine")], "rows": pages.rows(0, 50),
            "hits": list(run.hits()), "cards": run.profiles(), "notes": run.notes(), "messages": run.messages(),
            "scores": [(first, last, scores.tolist()) for first, last, scores in run.scores(0)],
            "alignments": run.alignments(), "counts": [part.tolist() for part in run.histogram(0)],
        }  # fmt: skip

    with open_run(path) as run:
        pages = HitPages(HitQuery(path, ALL_PROFILES))
        before = said(run, pages)
        open_run(path, writable=True).close()
        assert version_of(path) == SCHEMA_VERSION
        assert said(run, pages) == before
        pages.close()


@pytest.mark.parametrize(("name", "version", "sorts"), [("hmm2search", 1, False), ("hmm2search", 3, False),
                                                        ("hmmsearch", 3, True), ("sw_protein", 3, True)])  # fmt: skip
def test_hits_in_the_order_of_scores_are_found_by_an_index(unpacked: Any, name: str, version: int, sorts: bool) -> None:
    with open_run(unpacked(name, version) / "done.clalign") as run:
        question = f"EXPLAIN QUERY PLAN SELECT id FROM hits WHERE query = 0 ORDER BY {ORDER}"
        plan = [row[3] for row in run.connection.execute(question)]
    assert ("USE TEMP B-TREE FOR ORDER BY" in plan) == sorts
    assert ("hits_by_score" in plan[0]) != sorts


def test_what_is_brought_up_to_date_has_no_empty_pages(unpacked: Any) -> None:
    path = unpacked("sw_protein", 3) / "done.clalign"
    with open_run(path, writable=True) as run:
        assert run.connection.execute("PRAGMA freelist_count").fetchone() == (0,)
        with pytest.raises(sqlite3.OperationalError, match="attached"):
            run.connection.execute("ATTACH ':memory:' AS other")


@pytest.mark.parametrize("version", [1, 3])
def test_what_cannot_be_brought_up_to_date_stays_as_it_is(
    unpacked: Any, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unpacked("hmm2search", version)
    path = folder / "done.clalign"
    monkeypatch.setitem(older.SAID, "notes", "SELECT text FROM nowhere")  # the last of all
    with pytest.raises(OutputError, match="no such table: nowhere"):
        open_run(path, writable=True)
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert version_of(path) == version
    check_exports(path, folder)


@pytest.mark.parametrize(
    ("name", "version"),
    [case if case in QUICK else pytest.param(*case, marks=pytest.mark.thorough) for case in OLDER],
)
def test_it_goes_on(unpacked: Any, name: str, version: int) -> None:
    folder = unpacked(name, version)
    path = folder / "half.clalign"
    export(path, "text", folder / "half")
    fresh, quietly = folder / "fresh.clalign", ["-q", "--device", "reference", "-o", str(folder / "text")]
    assert main([*SEARCHES[name].split(), *quietly, "--run", str(fresh)]) == 0
    assert main(["resume", *quietly, str(path)]) == 0
    check_exports(path, folder, fresh)
    assert main(["verify", "-q", "--sample", "3", str(path)]) == 0
