"""Long pairs: the same alignments as ever, told of midway, stopped in the middle and gone on with."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clalign.cli.run_places import has_results
from clalign.engines.export import export
from clalign.engines.pairwise import hits as pairwise_hits
from clalign.engines.pairwise import long_pairs
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import Cancelled, InputError
from clalign.jobs import QuietContext
from clalign.runs.run_file import open_run
from clalign.stages.pairwise import long_pair_regions
from clalign.values.devices import REFERENCE, Device
from clalign.values.hits import Hit
from clalign.values.pair_alignments import path_of
from tests.computing import compute_search
from tests.long_runs import long_run, made_pair

sys.path.insert(0, str(Path(__file__).parent))
from pairwise_cases import changed, fasta, random_text, search

Inputs = tuple[Path, Path]


def made_pairs(tmp_path: Path) -> Inputs:
    """Return three pairs, one of them related on the other strand."""
    rng = np.random.default_rng(12)
    queries = [random_text(rng, "dna", n) for n in (700, 420, 60)]
    targets = [changed(rng, "dna", text) for text in queries]
    targets[1] = targets[1].translate(str.maketrans("ACGT", "TGCA"))[::-1]
    return (
        fasta(tmp_path / "q.fa", [(f"q{i}", text) for i, text in enumerate(queries)]),
        fasta(tmp_path / "t.fa", [(f"t{i}", text) for i, text in enumerate(targets)]),
    )


@pytest.fixture
def pairs(tmp_path: Path) -> Inputs:
    """Three pairs; see `made_pairs`."""
    return made_pairs(tmp_path)


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a device be asked after some tiles, and few edges be kept, so that the way back is filled again."""
    for name, value in (("CPU_CELLS", 20_000), ("GPU_CELLS", 20_000), ("LAUNCH_SECONDS", 0.0), ("KEPT_BYTES", 2**14),
                        ("MIN_COLUMNS", 16), ("VECTOR_COLUMNS", 16), ("FILLED_ROWS", 4),
                        ("EDGES_EACH_WAY", 3)):  # fmt: skip
        monkeypatch.setattr(long_pair_regions, name, value)


def found(path: Path) -> list[Hit]:
    with open_run(path) as run:
        return list(run.hits())


def kernels(path: Path) -> set[str]:
    with open_run(path) as run:
        return set(run.facts.finished["kernel_seconds"])


@pytest.mark.thorough(options=[{}])
@pytest.mark.exhaustive(options=[{}])
@pytest.mark.exhaustive(device=["gpu", "cpu"])
@pytest.mark.parametrize(
    "options",
    [{}, {"mode": "global", "gap_first": 3, "gap_next": 3}, {"mode": "semiglobal"}, {"mode": "ungapped"}],
    ids=str,
)
def test_long_pairs_are_aligned_as_others_are(
    pairs: Inputs, options: dict[str, Any], device: Device, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.clalign", tmp_path / "other.clalign"
    search(pairs, one, device, long=True, strand="both", **options).close()
    search(pairs, other, REFERENCE, in_step=True, strand="both", **options).close()
    assert repr(found(one)) == repr(found(other)), "E-values that are not known are no numbers"
    assert [hit.domains[0].pair.strand for hit in found(one) if hit.domains[0].pair] == [1, -1, 1]
    assert any(name.startswith("long_pair") for name in kernels(one))


def test_one_sequence_with_each(pairs: Inputs, tmp_path: Path) -> None:
    with search((pairs[0], fasta(tmp_path / "one.fa", [("one", "ACGTACGTAC")])), tmp_path / "a", long=True) as run:
        asked = "SELECT query, hits.row, input_index FROM hits ORDER BY input_index"
        assert run.connection.execute(asked).fetchall() == [(0, 0, 0), (1, 0, 1), (2, 0, 2)]
    with search((fasta(tmp_path / "one.fa", [("one", "ACGTACGTAC")]), pairs[1]), tmp_path / "b", long=True) as run:
        assert [hit.name for hit in run.hits()] == ["t0", "t1", "t2"]


def test_files_that_are_not_in_step_are_refused(pairs: Inputs, tmp_path: Path) -> None:
    two = fasta(tmp_path / "two.fa", [("a", "ACGT"), ("b", "ACGT")])
    with pytest.raises(InputError, match=r"two\.fa: .*\b2\b"):
        search((pairs[0], two), tmp_path / "a.clalign", long=True)
    with pytest.raises(InputError, match=r"two\.fa: .*\b1\b"):
        search((pairs[0], fasta(two, [("a", "ACGT")])), tmp_path / "b.clalign", long=True, in_step=True)


def test_long_ones_of_given_pairs_are_taken_by_themselves(
    pairs: Inputs, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in pairwise_hits.TRACE_CELLS:
        monkeypatch.setitem(pairwise_hits.TRACE_CELLS, kind, 1e5)
    listed = tmp_path / "pairs.tsv"
    listed.write_text("q0\tt0\nq2\tt2\nq1\tt1\n")
    scores = dict[Path, dict[str, int]]()
    for options in ({"in_step": True}, {"pair_list": str(listed)}):
        path = tmp_path / f"{len(options)}{next(iter(options))}.clalign"
        with search(pairs, path, device, **options) as run:
            assert len(run.finished(-1)) == 3
            scores[path] = {hit.name: hit.raw for hit in run.hits()}
        assert {name.split("_")[0] for name in kernels(path)} == {"long", "smith"}
    monkeypatch.undo()
    with search(pairs, tmp_path / "short.clalign", REFERENCE, in_step=True) as run:
        assert all(found == {hit.name: hit.raw for hit in run.hits()} for found in scores.values())


class Progress(QuietContext):
    """Notes how far a job says it is, and stops it after so much."""

    def __init__(self, share: float = 2.0) -> None:
        self.share, self.messages, self.texts = share, list[tuple[float, float, float]](), list[str]()

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: Any) -> None:
        if stage == "search":
            self.messages.append((done, total or 0.0, facts["gcups"]))

    def warn(self, text: str) -> None:
        self.texts.append(text)

    def check(self) -> None:
        if self.messages and self.messages[-1][0] >= self.share * self.messages[-1][1]:
            raise Cancelled

    @property
    def first(self) -> float:
        """The share that was done when it was told of the first time."""
        return self.messages[0][0] / self.messages[0][1]


@pytest.mark.usefixtures("small_steps")
def test_progress_is_reported_within_a_pair(pairs: Inputs, opencl_device: Device, tmp_path: Path) -> None:
    context = Progress()
    search(pairs, tmp_path / "a.clalign", opencl_device, context, long=True, strand="both").close()
    done, total, gcups = np.array(context.messages).T
    assert (np.diff(done) >= 0).all()
    assert len(set(done)) > 10
    assert (total == total[0]).all()
    assert done[-1] == total[0]
    assert (done <= total).all()
    assert (gcups[done > 0] > 0).all()


def stopped(inputs: Inputs, path: Path, device: Device, share: float, **options: Any) -> None:
    with pytest.raises(Cancelled):
        search(inputs, path, device, Progress(share), long=True, **options)


def resumed(path: Path, device: Device) -> Progress:
    context = Progress()
    with open_run(path, writable=True) as run:
        compute_search(run, run.spec(PairwiseSpec), lambda words: device, context)
        assert run.state == "done"
    return context


def checkpoints(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        there = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'pairwise_checkpoints'")
        if not there.fetchone()[0]:
            return 0
        return int(connection.execute("SELECT count(*) FROM pairwise_checkpoints").fetchone()[0])


def content(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows that tell of results."""
    with closing(sqlite3.connect(path)) as connection:
        tables = ("hits", "parts", "targets", "pairwise_alignments")
        found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
        found["batches"] = connection.execute("SELECT query, first, last, cells, scores, bins FROM batches").fetchall()
        return found


@pytest.mark.thorough(share=[0.3], mode=["local"])
@pytest.mark.exhaustive(share=[0.1, 0.3, 0.97])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.8, 0.97])
@pytest.mark.parametrize("mode", ["local", "global"])
@pytest.mark.usefixtures("small_steps")
def test_a_pair_that_was_stopped_goes_on(
    pairs: Inputs, share: float, mode: str, opencl_device: Device, tmp_path: Path
) -> None:
    """On two strands, so that one of a pair may be done."""
    whole, halted = tmp_path / "whole.clalign", tmp_path / "halted.clalign"
    search(pairs, whole, opencl_device, long=True, strand="both", mode=mode).close()
    stopped(pairs, halted, opencl_device, share, strand="both", mode=mode)
    assert checkpoints(halted) > 1
    with open_run(halted) as run:
        assert run.state == "stopped"
    context = resumed(halted, opencl_device)
    assert context.first > 0.8 * share
    assert not context.texts
    assert content(halted) == content(whole)
    assert checkpoints(halted) == 0
    assert halted.stat().st_size <= 1.3 * whole.stat().st_size


@pytest.mark.usefixtures("small_steps")
def test_a_pair_is_stopped_again_and_again(pairs: Inputs, opencl_device: Device, tmp_path: Path) -> None:
    whole, halted = tmp_path / "whole.clalign", tmp_path / "halted.clalign"
    search(pairs, whole, opencl_device, long=True).close()
    stopped(pairs, halted, opencl_device, 0.1)
    with open_run(halted) as run:
        assert not run.finished(-1)
    assert has_results(halted)  # the command does not remove it
    for share in (0.2, 0.3, 0.4, 0.6, 0.9):
        context = Progress(share)
        with open_run(halted, writable=True) as run, pytest.raises(Cancelled):
            compute_search(run, run.spec(PairwiseSpec), lambda words: opencl_device, context)
    resumed(halted, opencl_device)
    assert content(halted) == content(whole)


@pytest.mark.usefixtures("small_steps")
def test_what_is_needed_is_kept_now_and_then(
    pairs: Inputs, opencl_device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is killed, or that has too much to keep in its end, goes on from there."""
    monkeypatch.setattr(long_pairs, "KEPT_EVERY", 0.0)
    monkeypatch.setattr(long_pairs, "MAX_OF_TIME", 1e9)
    monkeypatch.setattr(long_pairs, "BYTES_A_SECOND", 0)
    stopped(pairs, tmp_path / "a.clalign", opencl_device, 0.5)
    assert resumed(tmp_path / "a.clalign", opencl_device).first > 0.4


def damage(path: Path, how: Callable[[sqlite3.Connection], None]) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        how(connection)


def flip(connection: sqlite3.Connection) -> None:
    for place, part, data in connection.execute("SELECT rowid, part, packed FROM pairwise_checkpoints").fetchall():
        if part == "left 0":
            other = bytes([*data[:-9], data[-9] ^ 1, *data[-8:]])
            connection.execute("UPDATE pairwise_checkpoints SET packed = ? WHERE rowid = ?", (other, place))


def change_head(**facts: Any) -> Callable[[sqlite3.Connection], None]:
    def change(connection: sqlite3.Connection) -> None:
        (data,) = connection.execute("SELECT packed FROM pairwise_checkpoints WHERE part = 'head'").fetchone()
        head = json.dumps(json.loads(data) | facts).encode("ascii")
        connection.execute("UPDATE pairwise_checkpoints SET packed = ? WHERE part = 'head'", (head,))

    return change


def drop(part: str) -> Callable[[sqlite3.Connection], None]:
    return lambda connection: (connection.execute("DELETE FROM pairwise_checkpoints WHERE part = ?", (part,)), None)[1]


def lie(connection: sqlite3.Connection) -> None:
    """Drop a part, and sign what is left."""
    drop("kept_rows 0")(connection)
    rows = connection.execute("SELECT part, packed FROM pairwise_checkpoints WHERE part <> 'head' ORDER BY number")
    change_head(digest=long_pairs._digest(rows.fetchall()))(connection)


Halted = tuple[Path, dict[str, list[tuple[Any, ...]]]]


@pytest.fixture(scope="module")
def halted_on(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Device], Halted]:
    """Return what gives a run that a device was stopped in, to be copied, and the content of the whole one."""

    @cache
    def made(device: Device) -> Halted:
        folder = tmp_path_factory.mktemp("halted")
        inputs, whole, halted = made_pairs(folder), folder / "whole.clalign", folder / "halted.clalign"
        search(inputs, whole, device, long=True).close()
        stopped(inputs, halted, device, 0.4)
        return halted, content(whole)

    return made


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (flip, "damaged"),
        (drop("top 0"), "damaged"),
        (drop("head"), "used"),
        (change_head(key="another"), "another pair"),
        (change_head(format=99), "another pair"),
        (change_head(found=[1]), "used"),
        (lie, "used"),
    ],
    ids=["bit", "part", "head", "pair", "format", "found", "signed"],
)
@pytest.mark.usefixtures("small_steps")
def test_what_is_damaged_is_computed_anew(
    halted_on: Callable[[Device], Halted], how: Callable[[sqlite3.Connection], None], words: str,
    opencl_device: Device, tmp_path: Path,
) -> None:  # fmt: skip
    (source, whole), halted = halted_on(opencl_device), tmp_path / "halted.clalign"
    shutil.copy(source, halted)
    damage(halted, how)
    context = resumed(halted, opencl_device)
    assert [words in text for text in context.texts] == [True]
    assert context.first == 0
    assert content(halted) == whole


@pytest.mark.usefixtures("small_steps")
def test_another_kind_of_device_begins_anew(
    pairs: Inputs, opencl_device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halted = tmp_path / "halted.clalign"
    stopped(pairs, halted, opencl_device, 0.4)
    monkeypatch.setattr(long_pair_regions, "FILLED_ROWS", 8)
    monkeypatch.setattr(long_pair_regions, "VECTOR_COLUMNS", 32)
    context = resumed(halted, opencl_device)
    assert "device" in context.texts[0]
    with search(pairs, tmp_path / "whole.clalign", REFERENCE, in_step=True) as run:
        assert repr(found(halted)) == repr(list(run.hits()))


def test_a_long_alignment_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query, target, path = made_pair(40_000)
    run = long_run(tmp_path, 40_000, monkeypatch)
    out = {what: tmp_path / what for what in ("outfmt", "sam", "text", "fasta_matched", "stockholm")}
    for what, place in out.items():
        export(run, what, place, columns="6 btop cigar" if what == "outfmt" else None)
    btop, cigar = out["outfmt"].read_text().split()
    assert path_of(cigar) == path
    read = {"query": "", "target": ""}
    texts = {"query": query, "target": target}
    for count, pair in re.findall(r"(\d+)|(\D\D)", btop):
        for which, name in enumerate(read):
            read[name] += texts[name][len(read[name].replace("-", "")) :][: int(count)] if count else pair[which]
    assert read["query"].replace("-", "") == query
    assert read["target"].replace("-", "") == target
    assert out["sam"].read_text().splitlines()[-1].split("\t")[5] == cigar
    assert out["fasta_matched"].read_text().split("\n", 1)[1].replace("\n", "") == target
    shown = [line.split()[2] for line in out["text"].read_text().splitlines() if line.startswith("  Query  ")]
    assert "".join(shown) == read["query"]


@pytest.mark.usefixtures("small_steps")
def test_a_pair_that_is_done_is_stored_before_the_next_is_begun(
    pairs: Inputs, opencl_device: Device, tmp_path: Path
) -> None:
    path = tmp_path / "a.clalign"
    stopped(pairs, path, opencl_device, 0.85)
    with open_run(path) as run:
        assert run.finished(-1) == [(0, 1)]
        assert [hit.name for hit in run.hits()] == ["t0"]


def test_the_reference_stops_within_a_pair(pairs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from clalign.reference import long_pair

    monkeypatch.setattr(long_pair, "CELLS_BETWEEN_WORDS", 1000)
    stopped(pairs, tmp_path / "a.clalign", REFERENCE, 0.3)
    resumed(tmp_path / "a.clalign", REFERENCE)
    assert len(found(tmp_path / "a.clalign")) == 3
