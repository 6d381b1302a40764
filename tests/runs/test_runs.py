"""The run file: whole at every moment, and refused plainly when it is something else."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.databases.cache import lock_folder
from clalign.engines.pairwise import tables as pairwise
from clalign.engines.plan7.hmmer3.thresholds import DomainLimits
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.plan7.tables import BATCHES, Survivors, pack_survivors, unpack_survivors
from clalign.errors import ClalignError, DamagedRun, ExitCode, InputError, OutputError, RunBusy
from clalign.runs.alignments import StoredAlignment, StoredRow
from clalign.runs.batches import BatchResult, pack_many, pack_scores, summed_bins, unpack_scores
from clalign.runs.connection import owned
from clalign.runs.hit_rows import HITS_AT_ONCE
from clalign.runs.pages import HitPages, HitQuery
from clalign.runs.run_file import RunFile, create_run, open_connection, open_run, write_note
from clalign.runs.tables import SCHEMA_VERSION
from clalign.values.alignments import AlignmentText
from clalign.values.checked import plain
from clalign.values.hits import Domain, DomainEstimates, Hit, PairFacts, Scores
from clalign.values.profiles import IMPOSSIBLE

TEXT = AlignmentText("acg", "a g", "ATG")
DOMAIN = Domain(1, 12.5, 0.01, 1e-5, (0, 3), (4, 7), (4, 7), 12510, "MMM", TEXT)


SPEC = SearchSpec("p.hmm", "s.fasta").to_dict()

CARD = {
    "name": "p", "accession": "", "description": "", "length": 3, "alphabet": "amino", "origin": "hmmer2",
    "consensus": "acg", "reference": "", "structure": "", "cutoffs": {}, "calibration": None, "facts": {},
}  # fmt: skip


def hit(row: int, score: float, input_index: int) -> Hit:
    return Hit(row, input_index, f"s{row}", "", "a test", 30, score, 0.01, 10 - score, int(score * 1000), (DOMAIN,), 1)


def batch(first: int, values: list[int], hits: tuple[Hit, ...] = ()) -> BatchResult:
    rows = np.arange(first, first + len(values), dtype=np.int64)
    scores = Scores(rows, np.array(values, np.int32))
    return BatchResult(0, first, first + len(values), scores, hits, 100.0, 0.5, "device")


@pytest.fixture
def run(tmp_path: Path) -> RunFile:
    with create_run(tmp_path / "a run.clalign", engine="plan7", spec=SPEC, state="new") as opened:
        opened.set_cards([CARD])
        yield opened


def test_round_trip(run: RunFile) -> None:
    hits = (hit(0, 5.0, 9), hit(1, 7.0, 3), hit(2, 5.0, 2))
    run.add_batch(batch(0, [5000, 7000, 5000, IMPOSSIBLE], hits))
    run.add_batch(batch(4, [-1250]))
    with open_run(run.path) as again:
        assert list(again.hits()) == [hits[1], hits[2], hits[0]], "by score, then by place in the input"
        assert again.finished(0) == [(0, 4), (4, 5)]
        assert again.work_done() == (200.0, 1.0)
        assert again.n_hits() == again.n_hits(0) == 3
        assert [values.tolist() for _, _, values in again.scores(0)] == [[5000, 7000, 5000, IMPOSSIBLE], [-1250]]
        edges, counts = again.histogram(0)
        assert dict(zip(edges.tolist(), counts.tolist(), strict=True)) == {-1.25: 1, 5.0: 2, 7.0: 1}
        assert again.facts.spec == SPEC
        assert again.cards()[0]["name"] == "p"


def test_many_hits_are_read_in_the_order_of_their_ids_or_any_other(run: RunFile) -> None:
    n = 2 * HITS_AT_ONCE + 1
    found = [replace(hit(row, 5.0, row), domains=(DOMAIN,) * (row % 2)) for row in range(n)]
    run.add_batch(batch(0, [5000] * n, tuple(found)))
    ids = [number for (number,) in run.connection.execute("SELECT id FROM hits ORDER BY row")]
    assert list(run.hits_at(ids)) == found
    assert list(run.hits_at(ids[::-1])) == found[::-1]
    assert run.hit(ids[HITS_AT_ONCE]) == found[HITS_AT_ONCE]
    assert list(run.hits_at([])) == []


def test_hits_that_the_search_replaces_while_they_are_read(run: RunFile) -> None:
    run.add_batch(batch(0, [5000] * 3, tuple(hit(row, 5.0, row) for row in range(3))))
    run.connection.execute("DELETE FROM hits WHERE row = 1")
    with pytest.raises(RunBusy, match="replaced"):
        list(run.hits_at([1, 2, 3]))


def test_a_batch_is_stored_whole_or_not_at_all(run: RunFile) -> None:
    twice = hit(0, 5.0, 0)
    with pytest.raises(OutputError):
        run.add_batch(batch(0, [5000, 5000], (twice, twice)))
    assert run.finished(0) == []
    assert run.n_hits() == 0
    assert run.histogram(0)[1].sum() == 0
    run.add_batch(batch(0, [5000], (twice,)))
    with pytest.raises(OutputError):
        run.add_batch(batch(0, [5000], (replace(twice, row=8),)))
    assert run.n_hits() == 1


def test_a_sealed_run_is_one_file(run: RunFile) -> None:
    run.add_batch(batch(0, [5000], (hit(0, 5.0, 0),)))
    run.seal()
    assert [path.name for path in run.path.parent.iterdir()] == [run.path.name]
    run.add_message("note", "It can still be written to.")
    with open_run(run.path) as again:
        assert again.n_hits() == 1
        assert len(again.messages()) == 1


def test_messages_and_verifications(run: RunFile) -> None:
    run.add_batch(batch(0, [5000, 7000], (hit(0, 5.0, 0), hit(1, 7.0, 1))))
    run.add_message("warning", "Careful.")
    run.add_verification("reference", {1: True, 2: False}, ["s1 differs."])
    assert [(kind, text) for _, kind, text in run.messages()] == [("warning", "Careful.")]
    assert run.verifications()[0][1:] == ("reference", 2, 1, ["s1 differs."])
    verdicts = run.connection.execute("SELECT verified FROM hits ORDER BY id").fetchall()
    assert verdicts == [("equal",), ("differs",)]


def test_damage_is_reported_plainly(run: RunFile) -> None:
    for first in range(0, 2000, 100):
        run.add_batch(batch(first, [5000] * 100, tuple(hit(first + i, 5.0, first + i) for i in range(100))))
    run.seal()
    run.close()
    content = bytearray(run.path.read_bytes())
    content[8192:] = b"\x55" * (len(content) - 8192)
    run.path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"), open_run(run.path) as again:
        list(again.hits())


def test_one_worker_at_a_time(run: RunFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLALIGN_CACHE_DIR", str(tmp_path / "cache"))
    with open_run(run.path, writable=True) as other:
        with owned(run.path), pytest.raises(RunBusy), owned(other.path):
            pytest.fail("two workers own one run")
        with owned(other.path):
            assert len(list(lock_folder().iterdir())) == 1
    assert list(lock_folder().iterdir()) == []


def test_refusals(tmp_path: Path, run: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OutputError, match=run.path.name):
        create_run(run.path, engine="plan7")
    with pytest.raises(OutputError, match=r"missing.x\.clalign"):
        create_run(tmp_path / "missing" / "x.clalign", engine="plan7")
    with pytest.raises(InputError, match=r"missing\.clalign") as missing:
        open_run(tmp_path / "missing.clalign")
    assert missing.value.exit_code == ExitCode.UNREADABLE
    with pytest.raises(InputError, match=tmp_path.name):
        open_run(tmp_path)
    text = tmp_path / "text.clalign"
    text.write_text("not a database, but long enough to be looked at as one" * 30)
    with pytest.raises(InputError, match=text.name):
        open_run(text)
    other = tmp_path / "other.clalign"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(InputError, match=other.name):
        open_run(other)
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 30, 1))
    for refused in (lambda: open_run(run.path), lambda: create_run(tmp_path / "new.clalign", engine="plan7")):
        with pytest.raises(ClalignError, match=r"SQLite 3\.31") as too_old:
            refused()
        assert too_old.value.exit_code == ExitCode.ENGINE
    assert not (tmp_path / "new.clalign").exists()


OPENINGS: dict[str, Callable[[Path], Any]] = {
    "read": open_run,
    "written": lambda path: open_run(path, writable=True),
    "shared": open_connection,
    "note": lambda path: write_note(path, 0, 1, "a note"),
}


@pytest.mark.parametrize("opening", OPENINGS)
@pytest.mark.parametrize("version", [-1, 0, SCHEMA_VERSION + 1, SCHEMA_VERSION + 4])
def test_another_version_is_refused_and_left_alone(run: RunFile, version: int, opening: str) -> None:
    run.connection.execute(f"PRAGMA user_version = {version}")
    run.seal()
    run.close()
    before = run.path.read_bytes()
    with pytest.raises(InputError, match=run.path.name) as refused:
        OPENINGS[opening](run.path)
    assert not isinstance(refused.value, DamagedRun)
    assert refused.value.exit_code == ExitCode.UNREADABLE
    assert run.path.read_bytes() == before


def test_a_temporary_run_is_read_like_others(tmp_path: Path) -> None:
    path = tmp_path / "temporary.clalign"
    with create_run(path, engine="plan7", spec=SPEC, state="new") as run:
        run.make_temporary()
        assert run.connection.execute("PRAGMA synchronous").fetchone()[0] == 0
        run.set_cards([CARD])
        run.add_batch(batch(0, [1, 2, 3], (hit(0, 5.0, 9),)))
        with open_run(path) as reader:
            assert reader.n_hits() == 1, "while it is written"
        run.seal()
        assert run.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    with open_run(path) as again:
        assert [values.tolist() for _, _, values in again.scores(0)] == [[1, 2, 3]]


def test_alignments_of_pairs_come_back(tmp_path: Path) -> None:
    pair = PairFacts(-1, 2, 3, 1, 4)
    text = AlignmentText("acg--", "a g  ", "AT-GG")
    ends = {"query_range": (0, 4), "target_range": (2, 5), "envelope": (2, 5)}
    part = replace(DOMAIN, states="MMIDD", text=text, evalue=math.nan, pair=pair, **ends)
    aligned = replace(hit(2, 9.0, 2), evalue=math.nan, domains=(part,))
    with create_run(tmp_path / "pairs.clalign", engine="pairwise", state="new") as run:
        card = {name: CARD[name] for name in ("name", "accession", "description", "length", "alphabet")}
        known = {"origin": "pairwise", "strands": ["plus", "minus"], "statistics_words": "", "cells_per_residue": 8}
        run.set_cards([card | {"length": 4} | known])
        run.add_batch(replace(batch(2, [9000], (aligned,)), kept={pairwise.BATCHES.name: (3, 1)}))
        found = next(run.hits())
        assert found.domains[0].pair == pair
        assert found.domains[0].cigar == "2M1D2I"
        assert math.isnan(found.evalue)
        assert pairwise.n_wider(run) == (3, 1)


def test_alignments_of_many_rows_come_back(run: RunFile) -> None:
    rows = [StoredRow("a", 3, 6, "A-CG"), StoredRow("b", 0, 4, "ACCG"), StoredRow("a", 9, 10, "--C-")]
    first = run.add_alignment("globins", {"score": 1.5, "method": "annealed"}, rows)
    second = run.add_alignment("nothing", {}, [])
    with open_run(run.path) as again:
        assert again.alignments() == [
            StoredAlignment(first, "globins", {"score": 1.5, "method": "annealed"}),
            StoredAlignment(second, "nothing", {}),
        ]
        assert again.alignment_rows(first) == rows
        assert again.alignment_rows(second) == []


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM alignment_rows WHERE number = 0", "UPDATE alignment_rows SET text = 'A' WHERE number = 1",
     "UPDATE alignment_rows SET start = 7", "UPDATE alignment_rows SET name = NULL"],
)  # fmt: skip
def test_a_damaged_alignment_of_many_rows_is_reported(run: RunFile, damage: str) -> None:
    number = run.add_alignment("two", {}, [StoredRow("a", 0, 2, "AC"), StoredRow("b", 1, 3, "CA")])
    run.connection.execute(damage)
    with pytest.raises(DamagedRun):
        run.alignment_rows(number)


def test_targets_are_kept_once_and_go_with_their_last_hit(run: RunFile) -> None:
    run.set_cards([CARD, CARD])
    run.add_batch(batch(0, [5000, 7000], (hit(0, 5.0, 9), hit(1, 7.0, 3))), [(1, hit(1, 6.0, 3))])
    question = "SELECT row, name FROM targets ORDER BY row"
    assert run.connection.execute(question).fetchall() == [(0, "s0"), (1, "s1")]
    run.keep_best(0, 0)
    assert run.connection.execute(question).fetchall() == [(1, "s1")]
    assert [found.name for found in run.hits()] == ["s1"]


def test_the_first_hits_are_kept_and_others_take_their_place(run: RunFile) -> None:
    run.add_batch(batch(0, [5000, 7000, 6000], (hit(0, 5.0, 9), hit(1, 7.0, 3), hit(2, 7.0, 1))))
    run.keep_best(0, 2)
    assert [found.name for found in run.hits()] == ["s2", "s1"]
    run.set_hits(0, (hit(0, 5.0, 9),))
    assert list(run.hits()) == [hit(0, 5.0, 9)]
    assert run.connection.execute("SELECT count(*) FROM parts").fetchone()[0] == 1


NAMES = ("sp|P69905|HBA_HUMAN", "zeta", "sp|P68871|hbb_human", "gi|12|ref|NP_1.1|", "Alpha", "é|È", "a b|", "||", "")


def names_sorted(path: Path, descending: bool = False) -> list[str]:
    pages = HitPages(HitQuery(path, 0, sort="name", descending=descending))
    found = [one.hit.name for one in pages.listed(0, 100)]
    pages.close()
    return found


def test_names_are_sorted_by_what_tables_show(run: RunFile) -> None:
    run.add_batch(batch(0, [5000] * 9, tuple(replace(hit(row, 5.0, row), name=NAMES[row]) for row in range(8))))
    run.close()
    shown = [name.rstrip("| ").rpartition("|")[2] for name in names_sorted(run.path)]
    assert shown == ["", "a b", "Alpha", "HBA_HUMAN", "hbb_human", "NP_1.1", "zeta", "È"]
    assert names_sorted(run.path, descending=True)[0] == names_sorted(run.path)[-1]


def test_equal_hits_of_hmmer3_are_in_its_order(run: RunFile) -> None:
    """By name, then where the first domain begins; one of a single residue counts as on the other strand."""
    limits = DomainLimits(10.0, None, 0.01, None, None, sorts_by_score=False)
    gumbel = {"mu": -8.0, "lambda": 0.7}
    run.set_card(0, CARD | {
        "origin": "hmmer3", "domain_limits": plain(limits),
        "filter_limits": {"f1": 0.02, "f2": 0.001, "f3": 1e-5, "bias": True},
        "calibration3": {"msv": gumbel, "viterbi": gumbel, "forward": {"tau": -4.0, "lambda": 0.7}},
    })  # fmt: skip
    unaligned = replace(DOMAIN, states="", text=AlignmentText("", "", ""), accuracy=0.9)
    places = [("x", (90, 99)), ("xy", (1, 2)), ("x", (7, 8)), ("x", (100, 110)), ("w", (20, 30)), ("x", (5, 30))]
    found = tuple(
        replace(hit(row, 5.0, row), name=name, length=200, log_pvalue=-9.0, estimates=DomainEstimates(1.0, 1, 0, 0, 1),
                domains=(replace(unaligned, target_range=place, log_pvalue=-9.0),))
        for row, (name, place) in enumerate(places)
    )  # fmt: skip
    run.add_batch(batch(0, [5000] * 6, found))
    assert [entry.row for entry in run.hits()] == [4, 5, 0, 3, 2, 1]


def test_a_card_may_count_in_other_units(run: RunFile) -> None:
    run.set_card(0, run.card(0) | {"histogram_bin": 1, "histogram_unit": 1.0})
    run.add_batch(replace(batch(0, [5, 7, 5]), packed=pack_scores(np.array([5, 7, 5], np.int32), 1)))
    edges, counts = run.histogram(0)
    assert (edges.tolist(), counts.tolist()) == ([5.0, 7.0], [2, 1])


@pytest.mark.parametrize("extra", [[], [IMPOSSIBLE], [40_000, IMPOSSIBLE], [-2_000_000]])
def test_scores_of_any_size_come_back(run: RunFile, extra: list[int]) -> None:
    values = [0, 32767, -32767, 5, *extra]
    run.add_batch(batch(0, values))
    assert [scores.tolist() for _, _, scores in run.scores(0)] == [values]
    assert run.histogram(0)[1].sum() == sum(value > IMPOSSIBLE for value in values)


def test_survivors_come_back(run: RunFile) -> None:
    some = np.array([1.5, -2.0, np.inf], np.float32)
    holes = np.array([np.nan, 3.0, -np.inf], np.float32)
    kept = Survivors(
        np.array([7, 2**27, 2**28 - 1], np.int64), some, -some, holes, some + 1, np.array([1, 4, 2], np.uint8)
    )
    run.add_batch(replace(batch(0, [1, 2, 3]), kept={BATCHES.name: pack_survivors(kept)}))
    blob, *counts = run.connection.execute(
        "SELECT survivors, n_msv, n_bias, n_viterbi, n_forward FROM plan7_batches"
    ).fetchone()
    again = unpack_survivors(blob, 0, 2**28, run.path)
    for name in ("rows", "msv", "bias", "viterbi", "forward", "reached"):
        np.testing.assert_array_equal(getattr(again, name), getattr(kept, name))
    assert counts == [3, 2, 1, 1]


@pytest.mark.parametrize(
    ("code", "is_damage"),
    [(sqlite3.SQLITE_CORRUPT, True), (sqlite3.SQLITE_IOERR_READ, False), (sqlite3.SQLITE_CANTOPEN, False)],
)
def test_a_disk_that_fails_is_not_called_damage(tmp_path: Path, code: int, is_damage: bool) -> None:
    path = tmp_path / "a.clalign"
    error = sqlite3.OperationalError("something long\n  in two lines")
    error.sqlite_errorcode = code
    with pytest.raises(InputError, match="long in two") as caught, create_run(path, engine="plan7"):
        raise error
    assert isinstance(caught.value, DamagedRun) == is_damage
    assert str(caught.value).count(str(path)) == 1
    assert caught.value.hint


@pytest.mark.parametrize("width", [1, 250])
@pytest.mark.parametrize("scale", [1e2, 1e4, 1e8])
def test_scores_of_many_queries_are_packed_together(scale: float, width: int) -> None:
    rng, path = np.random.default_rng(4), Path("run.clalign")
    scores = np.clip(rng.normal(0, scale, (5, 40)), -9e8, 2e9).astype(np.int32)
    scores[1, ::3], scores[2] = IMPOSSIBLE, IMPOSSIBLE
    for values, packed in zip(scores, pack_many(scores, width), strict=True):
        assert unpack_scores(packed.blob, 0, 40, path).tolist() == values.tolist()
        assert packed.best == (values.max(), values.argmax())
        bins, counts = np.unique(values[values > IMPOSSIBLE] // width, return_counts=True)
        assert [each.tolist() for each in summed_bins([packed.bins], path)] == [bins.tolist(), counts.tolist()]
