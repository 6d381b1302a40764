"""Verification finds what differs, and refuses what cannot be compared."""

from __future__ import annotations

import gzip
import multiprocessing
import os
import re
import shutil
import sqlite3
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import clalign
from clalign.cli import main, watch
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import no_check
from clalign.databases.examples import load_examples
from clalign.databases.loading import load_database
from clalign.databases.rereading import reread_rows
from clalign.engines import recomputing
from clalign.engines.engine import engine_of
from clalign.engines.pairwise import verify as pairwise_verify
from clalign.engines.pairwise.inputs import PairwiseInputs, load_inputs
from clalign.engines.pairwise.verify import verify_pairwise
from clalign.engines.plan7 import verify
from clalign.engines.plan7.hmmer3 import agreement
from clalign.engines.plan7.tables import Survivors, pack_survivors
from clalign.engines.plan7.verify import verify_run
from clalign.engines.verification import Findings, Item, spread
from clalign.errors import Cancelled, ClalignError, ExitCode, InputError, WorkerLost
from clalign.jobs import JobContext, QuietContext
from clalign.reference import long_pair
from clalign.runs.batches import pack_scores
from clalign.runs.run_file import RunFile, create_run, open_run
from clalign.values.devices import REFERENCE, Device
from clalign.values.profiles import IMPOSSIBLE


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    example = next(example for example in load_examples() if example.id == "motif")
    profile, targets = tmp_path / "motif.hmm", tmp_path / "targets.fasta"
    profile.write_bytes(example.profiles.read_bytes())
    targets.write_bytes(example.targets.read_bytes() if example.targets else b"")
    return profile, targets


@pytest.fixture
def run(files: tuple[Path, Path], tmp_path: Path) -> RunFile:
    clalign.hmmsearch(*files, tmp_path / "run.clalign", device="cpu").close()
    with open_run(tmp_path / "run.clalign", writable=True) as opened:
        yield opened


def test_everything_equal(run: RunFile) -> None:
    result = verify_run(run, None, 50, REFERENCE, QuietContext())
    assert (result["hits"], result["others"], result["differing"]) == (8, 0, 0), "every sequence is a hit"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE hits SET raw = raw + 1 WHERE id = 1",
        "UPDATE hits SET score = score + 0.001 WHERE id = 1",
        "UPDATE parts SET target_end = target_end - 1 WHERE hit = 1",
        "UPDATE parts SET states = 'I' || states WHERE hit = 1",
    ],
)
def test_a_planted_difference_is_found(run: RunFile, damage: str) -> None:
    run.connection.execute(damage)
    run.connection.commit()
    result = verify_run(run, None, 50, REFERENCE, QuietContext())
    assert result["differing"] >= 1
    assert run.connection.execute("SELECT verified FROM hits WHERE id = 1").fetchone() == ("differs",)


@pytest.mark.parametrize(
    ("numbers", "close"),
    [((20.0, 20.004), True), ((20.0, 20.006), False), ((35_000.0, 35_000.6), True), ((35_000.0, 35_004.0), False),
     ((1.5, 2.0, 35_000.0), True), ((1.5, 1.51, 20.0), False), ((np.inf, np.inf), True), ((np.inf, 20.0), False),
     ((20.0, np.inf), False)],
)  # fmt: skip
def test_scores_of_long_targets_may_differ_by_a_share_of_them(numbers: tuple[float, ...], close: bool) -> None:
    assert agreement.close(*numbers) is close


def test_other_profiles_are_refused(run: RunFile, files: tuple[Path, Path]) -> None:
    files[0].write_text(files[0].read_text().replace("NAME  ", "NAME  x"))
    with pytest.raises(InputError, match=files[0].name):
        verify_run(run, None, 50, REFERENCE, QuietContext())


def test_other_sequences_are_refused(run: RunFile, files: tuple[Path, Path]) -> None:
    files[1].write_text(">a\nACGT\n")
    with pytest.raises(InputError, match=files[1].name):
        verify_run(run, None, 50, REFERENCE, QuietContext())


def test_a_run_without_results_is_refused(run: RunFile, tmp_path: Path) -> None:
    early = create_run(tmp_path / "early.clalign", engine="plan7", spec=run.facts.spec, state="failed")
    with early, pytest.raises(InputError, match=r"early\.clalign"):
        verify_run(early, None, 50, REFERENCE, QuietContext())


class StopAfter(QuietContext):
    """A user who stops a verification when so many hits are checked."""

    def __init__(self, n: int) -> None:
        self._n, self._done = n, 0.0

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        self._done = done if stage == "verify" else 0.0

    def check(self) -> None:
        if self._done >= self._n:
            raise Cancelled


def test_what_was_checked_before_the_user_stopped_it_is_kept(run: RunFile) -> None:
    result = verify_run(run, None, 50, REFERENCE, StopAfter(3))
    assert (result["checked"], result["complete"]) == (3, False)
    assert run.connection.execute("SELECT count(*) FROM hits WHERE verified = 'equal'").fetchone() == (3,)
    with pytest.raises(Cancelled):
        verify_run(run, None, 50, REFERENCE, StopAfter(0))


class Listening(StopAfter):
    """Also remembers the shares that it was told."""

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.messages: list[float] = []

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        super().progress(stage, done, total, unit)
        self.messages += [done / total] if stage == "verify" and total else []


@pytest.mark.thorough
def test_one_long_pair_is_reported_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair, "CELLS_BETWEEN_WORDS", 10_000)
    text = "ACGGTCATTA" * 30
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(f">{name}\n{text}\n")
    with clalign.sw(tmp_path / "a.fa", tmp_path / "b.fa", tmp_path / "run", device="cpu", in_step=True) as found:
        run = found.run
        listener = Listening(10**9)
        assert verify_pairwise(run, None, 50, REFERENCE, listener)["differing"] == 0
        assert len(listener.messages) > 10
        assert listener.messages == sorted(listener.messages)
        with pytest.raises(Cancelled):
            verify_pairwise(run, None, 50, REFERENCE, StopAfter(50_000))


def test_the_command_says_that_the_user_stopped_it(
    run: RunFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"checked": 3, "hits": 2, "others": 1, "differing": 0, "details": [], "complete": False, "things": []}
    monkeypatch.setattr(watch, "watch_job", lambda *words, **more: value)
    assert main(["verify", str(run.path)]) == ExitCode.INTERRUPTED
    assert re.search(r"\b2 hits .*\b1 other", capsys.readouterr().out)


def test_nothing_checked_is_no_success(
    run: RunFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for table in ("hits", "parts", "batches"):
        run.connection.execute(f"DELETE FROM {table}")
    run.set_facts(state="stopped")
    value = verify_run(run, None, 50, REFERENCE, QuietContext())
    assert (value["checked"], value["differing"], run.verifications()) == (0, 0, [])
    monkeypatch.setattr(watch, "watch_job", lambda *words, **more: value)
    assert main(["verify", str(run.path)]) == ExitCode.DIFFERENT


@pytest.fixture(scope="module")
def wide_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search with a HMMER3 profile among sequences of which few are hits."""
    folder = tmp_path_factory.mktemp("wide")
    example = next(example for example in load_examples() if example.id == "rrm_1_hmmer3")
    names = {hit.target for hit in example.hits[:3]}
    records = gzip.decompress(Path(str(example.targets)).read_bytes()).decode().split(">")[1:]
    some = [record for place, record in enumerate(records) if record.split(None, 1)[0] in names or place % 40 == 0]
    (folder / "targets.fa").write_text("".join(f">{record}" for record in some))
    path = folder / "run.clalign"
    clalign.hmmsearch(example.profiles, folder / "targets.fa", path, device="cpu").close()
    return path


@pytest.fixture
def copied(wide_run: Path, tmp_path: Path) -> RunFile:
    shutil.copy(wide_run, tmp_path / "run.clalign")
    with open_run(tmp_path / "run.clalign", writable=True) as opened:
        yield opened


@pytest.mark.thorough
def test_a_whole_search_is_equal(copied: RunFile) -> None:
    result = verify_run(copied, None, 10**6, REFERENCE, QuietContext())
    assert result["details"] == []
    assert result["hits"] == copied.n_hits() > 0
    assert result["checked"] == len(next(copied.scores(0))[2])


@pytest.fixture(scope="module")
def cpu() -> Device:
    """Faster than the reference, where it is not a matter of what computes."""
    return pick_device("cpu")


LOSSES = {
    "a hit": ("DELETE FROM hits WHERE id = 1", "DELETE FROM parts WHERE hit = 1"),
    "all hits": ("DELETE FROM hits", "DELETE FROM parts"),
    "a counter": ("UPDATE plan7_batches SET n_forward = n_forward - 1",),
    "the histogram": ("UPDATE batches SET bins = x'0000000001000000' WHERE rowid = 1",),
    "a name": ("UPDATE targets SET name = 'other' WHERE row = (SELECT row FROM hits WHERE id = 2)",),
    "an E-value": ("UPDATE hits SET evalue = evalue * 2 WHERE id = 2",),
    "a path": ("UPDATE parts SET states = 'I' || states WHERE hit = 2",),
}


@pytest.mark.parametrize("lost", LOSSES)
def test_what_is_lost_is_found(copied: RunFile, cpu: Device, lost: str) -> None:
    for command in LOSSES[lost]:
        copied.connection.execute(command)
    copied.connection.commit()
    assert verify_run(copied, None, 10, cpu, QuietContext())["differing"] > 0


def stored(values: Any, survivors: Survivors) -> tuple[Any, ...]:
    return pack_scores(values).blob, *pack_survivors(survivors)


@pytest.mark.parametrize("what", ["survivors", "survivors and scores"])
def test_lost_survivors_are_found(copied: RunFile, cpu: Device, what: str) -> None:
    """As if the list of what passed the first filter had come back empty: hits, counters and all fit together."""
    _, _, values = next(copied.scores(0))
    values = np.where(values > IMPOSSIBLE, np.minimum(values, -5000), values) if "scores" in what else values
    none = Survivors(np.empty(0, np.int64), *[np.empty(0, np.float32)] * 4, np.empty(0, np.uint8))
    scores, *passed = stored(values, none)
    copied.connection.execute("UPDATE batches SET scores = ?, bins = ?", (scores, pack_scores(values).bins))
    copied.connection.execute(
        "UPDATE plan7_batches SET survivors = ?, n_msv = ?, n_bias = ?, n_viterbi = ?, n_forward = ?", passed
    )
    for table in ("hits", "parts"):
        copied.connection.execute(f"DELETE FROM {table}")
    copied.connection.commit()
    assert verify_run(copied, None, 6, cpu, QuietContext())["differing"] > 0


def test_the_file_is_read_and_not_what_was_prepared_of_it(
    copied: RunFile, cpu: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*words: Any, **more: Any) -> Any:
        database, report = load_database(*words, **more)
        return replace(database, codes=np.zeros_like(database.codes), text=np.full_like(database.text, 9)), report

    monkeypatch.setattr(verify, "load_database", damaged)
    assert verify_run(copied, None, 4, cpu, QuietContext())["differing"] == 0

    def shifted(*words: Any, **more: Any) -> Any:
        database, report = load_database(*words, **more)
        return replace(database, order=database.order[::-1].copy()), report

    monkeypatch.setattr(verify, "load_database", shifted)
    assert verify_run(copied, None, 4, cpu, QuietContext())["differing"] > 0


def test_names_of_pairs_are_read_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.fa").write_text(">a one\nACGGTCATTAACGGTC\n")

    def damaged(*words: Any) -> PairwiseInputs:
        found = load_inputs(*words)
        targets = replace(found.targets, text=np.full_like(found.targets.text, 9))
        return msgspec.structs.replace(found, targets=targets)

    with clalign.sw(tmp_path / "a.fa", tmp_path / "a.fa", tmp_path / "run", device="reference", score=1) as found:
        monkeypatch.setattr(pairwise_verify, "load_inputs", damaged)
        details = verify_pairwise(found.run, None, 4, REFERENCE, QuietContext())["details"]
        assert not [text for text in details if text.startswith("a:") and "name" in text]


PLANTED = {
    "hmmer2": ("UPDATE hits SET raw = raw + 1 WHERE id = 2", "UPDATE parts SET states = 'I' || states WHERE hit = 3"),
    "sw": ("UPDATE parts SET raw = raw + 1 WHERE hit = 3", "UPDATE parts SET query_end = query_end - 1 WHERE hit = 5"),
    "align": ("UPDATE msa_posteriors SET likelihoods = other(likelihoods)",),
}


@pytest.fixture
def some_run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run with something planted of one kind."""
    path, rng = tmp_path / "some.clalign", np.random.default_rng(3)
    if request.param == "hmmer2":
        example = next(example for example in load_examples() if example.id == "motif")
        clalign.hmmsearch(example.profiles, example.targets, path, device="reference").close()
    else:
        texts = ["".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 25)) for _ in range(6)]
        (tmp_path / "a.fa").write_text("".join(f">t{number}\n{text}\n" for number, text in enumerate(texts)))
        if request.param == "sw":
            clalign.sw(tmp_path / "a.fa", tmp_path / "a.fa", path, device="reference", score=20).close()
        else:
            clalign.align_many(tmp_path / "a.fa", path, device="reference").close()
    connection = sqlite3.connect(path)
    connection.create_function("other", 1, lambda data: zlib.compress(zlib.decompress(data)[:-1] + b"\x41"))
    for command in PLANTED[request.param]:
        assert connection.execute(command).rowcount > 0
    connection.commit()
    connection.close()
    return path


class Counting(QuietContext):
    """Remembers how much was done of what was to do, and what was expected."""

    def __init__(self) -> None:
        self.done, self.expected = list[float](), list[float]()

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: Any) -> None:
        self.done += [done / total] if stage == "verify" and total else []
        self.expected += [facts["seconds"]] if "seconds" in facts else []


@pytest.mark.thorough(some_run=["sw"])
@pytest.mark.parametrize("some_run", PLANTED, indirect=True)
def test_several_processes_find_what_one_finds(some_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, expected = [], []
    for n in (1, 2):
        monkeypatch.setattr(recomputing, "n_cores", lambda n=n: n)
        monkeypatch.setattr(recomputing, "SECONDS_PER_PROCESS", 1e-9)
        path, counting = some_run.with_suffix(f".{n}"), Counting()
        shutil.copy(some_run, path)
        with open_run(path, writable=True) as opened:
            found.append(engine_of(opened).verify(opened, None, 20, REFERENCE, counting))
            found[-1]["kept"] = opened.connection.execute("SELECT details FROM verifications").fetchall()
            found[-1]["verified"] = opened.connection.execute("SELECT id, verified FROM hits").fetchall()
        assert counting.done == sorted(counting.done)
        assert counting.done[-1] == 1 or n == 1, "one process counts nothing of an alignment after a difference"
        expected += counting.expected
    assert found[0]["differing"] > 0
    assert found[0] == found[1]
    assert expected[1] == expected[0] / 2
    assert multiprocessing.active_children() == []


@pytest.mark.thorough
@pytest.mark.parametrize("some_run", ["sw"], indirect=True)
def test_processes_end_when_the_user_stops_them_or_the_file_has_changed(
    some_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recomputing, "n_cores", lambda: 2)
    monkeypatch.setattr(recomputing, "SECONDS_PER_PROCESS", 1e-9)
    with open_run(some_run, writable=True) as opened:
        value = verify_pairwise(opened, None, 6, REFERENCE, StopAfter(1))
        assert not value["complete"]
        assert multiprocessing.active_children() == []
        job = recomputing.Pieces(["no piece"] * 2, [1, 1], 1e9, verify_pairwise, unprepared)
        with pytest.raises(ClalignError) as caught, open_session(REFERENCE, no_check) as session:
            recomputing.recompute(opened, "pairwise", job, session, QuietContext(), "cells", Findings())
        assert caught.value.exit_code == ExitCode.UNREADABLE
        job = recomputing.Pieces(["no piece"] * 2, [1, 1], 1e9, verify_pairwise, ended)
        with pytest.raises(WorkerLost), open_session(REFERENCE, no_check) as session:
            recomputing.recompute(opened, "pairwise", job, session, QuietContext(), "cells", Findings())
        assert multiprocessing.active_children() == []


def unprepared(run: RunFile, context: JobContext) -> Any:
    raise InputError(str(run.path), "it has changed.", "")


def ended(run: RunFile, context: JobContext) -> Any:
    os._exit(1)


@pytest.mark.parametrize("rows", [[0], [3, 1], []])
def test_rows_are_read_again_from_every_format(tmp_path: Path, rows: list[int]) -> None:
    texts = {
        "a.fa": ">x one\nACGT\nAC\n>y\n>z two\nACGTACGTAC\n>w\nGG\n",
        "a.fq": "@x one\nACGTAC\n+\nIIIIII\n@y\nA\n+\nI\n@z\nACG\n+\nIII\n@w\nGG\n+\nII\n",
        "b.fa": ">x\nAC-GT\n>y\nACGT-\n>z\n--AAA\n>w\nACGTA\n",
        "a.a3m": ">x one\nAC-GT\n>y two\nACaGT-\n>x\n--A.AA\n>w four\nACGTA\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        database, report = load_database(str(tmp_path / name))
        again = reread_rows(str(tmp_path / name), database, report, np.array(rows, np.int64), QuietContext())
        assert again.lengths[database.order].tolist() == np.diff(database.offsets).tolist()
        for row in range(4):
            expected = database.residues(row).tolist() if row in rows else []
            assert again.database.residues(row).tolist() == expected
        assert [again.database.header(row) for row in rows] == [database.header(row) for row in rows]


def test_pairs_that_are_lost_are_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    texts = ["".join(rng.choice(list("ACGT"), 60)) for _ in range(12)]
    (tmp_path / "q.fa").write_text(f">q\n{texts[0]}\n")
    (tmp_path / "t.fa").write_text("".join(f">t{number}\n{text}\n" for number, text in enumerate(texts)))
    with clalign.sw(tmp_path / "q.fa", tmp_path / "t.fa", tmp_path / "run", device="cpu", score=20) as found:
        run = found.run
        assert run.n_hits() > 0
        result = verify_pairwise(run, None, 50, REFERENCE, QuietContext())
        assert (result["details"], result["checked"]) == ([], 12)
        run.connection.execute("DELETE FROM hits WHERE id = 1")
        run.connection.commit()
        details = verify_pairwise(run, None, 4, REFERENCE, QuietContext())["details"]
        assert any("score" in text for text in details)


def test_what_is_computed_again_is_bounded_and_spread() -> None:
    hits = [Item(number, row, 1000 * number + row, 100.0) for number in range(54) for row in range(number % 3)]
    others = [Item(number, row, None, 50.0) for number in range(54) for row in range(2)]
    every = spread(hits, others, None)
    assert sorted(map(repr, every)) == sorted(map(repr, [*hits, *others]))
    some = spread(hits, others, 3000.0)
    assert 2900 <= sum(item.cells for item in some) <= 3000
    assert some == [item for item in every if item in some], "the same order"
    assert some == spread(hits, others, 3000.0), "the same each time"
    assert len({item.query for item in some}) > len(some) / 2
    for n in (10, 20, 40):  # each beginning is like the whole
        share = sum(item.key is not None for item in every[:n]) / n
        assert abs(share - len(hits) / len(every)) < 0.1
    large = spread([Item(0, 0, 1, 1e12)], [Item(0, 1, None, 1e12)], 1.0)
    assert len(large) == 2, "one of each in any case"


def test_verification_is_bounded_unless_a_number_is_asked_for(run: RunFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(verify.MAX_CELLS, "plan7", 1.0)
    assert verify_run(run, None, None, REFERENCE, QuietContext())["hits"] == 1
    assert verify_run(run, None, 50, REFERENCE, QuietContext())["hits"] == 8
    assert verify_run(run, [1, 2], None, REFERENCE, QuietContext())["hits"] == 2
