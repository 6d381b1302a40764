"""The run file: whole at every moment, and refused plainly when it is something else."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clalign.alignments import AlignmentText
from clalign.errors import ExitCode, InputError, OutputError, RunBusy
from clalign.hits import Domain, Hit, Scores
from clalign.profiles import IMPOSSIBLE
from clalign.runs import SCHEMA_VERSION, BatchResult, RunFile, create_run, open_run

TEXT = AlignmentText("acg", "a g", "ATG")
DOMAIN = Domain(1, 12.5, 0.01, 1e-5, (0, 3), (4, 7), (4, 7), 12510, "MMM", TEXT)


def hit(row: int, score: float, input_index: int) -> Hit:
    return Hit(row, input_index, f"s{row}", "", "a test", 30, score, 0.01, 10 - score, int(score * 1000), (DOMAIN,), 1)


def batch(first: int, values: list[int], hits: tuple[Hit, ...] = ()) -> BatchResult:
    rows = np.arange(first, first + len(values), dtype=np.int64)
    scores = Scores(rows, np.array(values, np.int32))
    return BatchResult(0, first, first + len(values), scores, hits, 100.0, 0.5, "device")


@pytest.fixture
def run(tmp_path: Path) -> RunFile:
    with create_run(tmp_path / "a run.clalign", spec={"evalue": 10.0}, state="new") as opened:
        opened.set_profiles([{"name": "p", "accession": "", "description": "", "length": 3}])
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
        assert again.fact("spec") == {"evalue": 10.0}
        assert again.fact("nothing", 3) == 3
        assert again.profiles()[0]["name"] == "p"


def test_a_batch_is_stored_whole_or_not_at_all(run: RunFile) -> None:
    twice = hit(0, 5.0, 0)
    with pytest.raises(OutputError, match="Another worker"):
        run.add_batch(batch(0, [5000, 5000], (twice, twice)))
    assert run.finished(0) == []
    assert run.n_hits() == 0
    assert run.histogram(0)[1].sum() == 0
    run.add_batch(batch(0, [5000], (twice,)))
    with pytest.raises(OutputError, match="Another worker"):
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


def test_damage_is_told_plainly(run: RunFile) -> None:
    for first in range(0, 2000, 100):
        run.add_batch(batch(first, [5000] * 100, tuple(hit(first + i, 5.0, first + i) for i in range(100))))
    run.seal()
    run.close()
    content = bytearray(run.path.read_bytes())
    content[8192:] = b"\x55" * (len(content) - 8192)
    run.path.write_bytes(content)
    with pytest.raises(InputError, match="damaged"), open_run(run.path) as again:
        list(again.hits())


def test_one_worker_at_a_time(run: RunFile) -> None:
    with open_run(run.path, writable=True) as other:
        with run.owned(), pytest.raises(RunBusy), other.owned():
            pytest.fail("two workers own one run")
        with other.owned():
            pass


def test_refusals(tmp_path: Path, run: RunFile) -> None:
    with pytest.raises(OutputError, match="exists already"):
        create_run(run.path)
    with pytest.raises(OutputError, match="could not be made"):
        create_run(tmp_path / "missing" / "x.clalign")
    with pytest.raises(InputError, match="does not exist") as missing:
        open_run(tmp_path / "missing.clalign")
    assert missing.value.exit_code == ExitCode.UNREADABLE
    with pytest.raises(InputError, match="a folder"):
        open_run(tmp_path)
    text = tmp_path / "text.clalign"
    text.write_text("not a database, but long enough to be looked at as one" * 30)
    with pytest.raises(InputError, match="not a readable run file"):
        open_run(text)
    other = tmp_path / "other.clalign"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(InputError, match="not a clalign run file"):
        open_run(other)
    run.connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(InputError, match="newer version"):
        open_run(run.path)


def test_a_temporary_run_is_read_like_others(tmp_path: Path) -> None:
    path = tmp_path / "temporary.clalign"
    with create_run(path, spec={}, state="new") as run:
        run.make_temporary()
        assert run.connection.execute("PRAGMA synchronous").fetchone()[0] == 0
        run.set_profiles([{"name": "p", "accession": "", "description": "", "length": 3}])
        run.add_batch(batch(0, [1, 2, 3], (hit(0, 5.0, 9),)))
        with open_run(path) as reader:
            assert reader.n_hits() == 1, "while it is written"
        run.seal()
        assert run.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    with open_run(path) as again:
        assert [values.tolist() for _, _, values in again.scores(0)] == [[1, 2, 3]]
