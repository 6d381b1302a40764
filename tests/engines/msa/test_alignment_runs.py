"""Runs of alignments: stopped anywhere and continued, on several devices, verified, explained, damaged."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import clalign
from clalign.cli import main
from clalign.compute.opencl.choice import pick_device
from clalign.compute.sessions import Session
from clalign.engines.engine import engine_named
from clalign.engines.export_source import Choice
from clalign.engines.msa import phases, training
from clalign.engines.msa.estimate import caution_before_merging, caution_of, estimate
from clalign.engines.msa.parameters import pairs_of, seed_of
from clalign.engines.msa.phases import batch_of
from clalign.engines.msa.reading import given_of, rounds_of
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.splitting import expected_counts, posteriors
from clalign.errors import Cancelled, ClalignError, DamagedRun, ExitCode, InputError, OutOfDeviceMemory
from clalign.execution.job import Task
from clalign.execution.speed import PROGRAM_BYTES
from clalign.jobs import QuietContext
from clalign.runs.run_file import create_run, open_run
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.values.devices import REFERENCE, Device
from clalign.values.pair_hmm import PairHmms
from tests.engines.test_training import KIN
from tests.posterior_cases import random_posteriors

ENGINE = engine_named("msa")


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a unit be a block of few pairs."""
    monkeypatch.setattr(training, "BLOCK_PAIRS", 5)
    monkeypatch.setattr(phases, "CPU_CELLS", 1)


@pytest.fixture(scope="module")
def kin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight proteins, from all pairs of which there is enough to learn."""
    path = tmp_path_factory.mktemp("kin") / "kin.fa"
    path.write_text("".join(f">k{number} some words\n{text}\n" for number, text in enumerate(KIN)))
    return path


def exports(path: Path) -> dict[str, str]:
    """Return everything that can be written of a run."""
    found = {}
    with open_run(path) as run:
        for one in ENGINE.exports:
            stream = io.StringIO()
            one.writer(ENGINE.source(run, Choice(), QuietContext()), stream)
            found[one.name] = stream.getvalue()
    return found


def compute(path: Path, spec: AlignmentSpec, context: Any = None, beside: tuple[str, ...] = ()) -> dict[str, Any]:
    if path.exists():
        run = open_run(path, writable=True)
    else:
        run = create_run(path, engine="msa", spec=spec.to_dict(), state="new")
    with run:
        return ENGINE.compute(Task(run, spec, pick_device, context or QuietContext(), beside=beside))


class StopsAfter(QuietContext):
    """Is told of so many things, then stops the job."""

    def __init__(self, most: int) -> None:
        self.most, self.stages = most, list[str]()

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: Any) -> None:
        assert total is None or 0 <= done <= total
        self.stages += [stage] if stage not in ("read", "encode", "build") else []
        if len(self.stages) >= self.most:
            raise Cancelled


@pytest.fixture(scope="module")
def whole(kin: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What comes of it where nobody interferes."""
    path = tmp_path_factory.mktemp("whole") / "whole.clalign"
    compute(path, AlignmentSpec((str(kin),), device="cpu"))
    return exports(path)


@pytest.mark.thorough
@pytest.mark.usefixtures("small_units")
def test_stopped_in_every_phase_it_ends_the_same(kin: Path, whole: dict[str, str], tmp_path: Path) -> None:
    path, spec, stages = tmp_path / "run.clalign", AlignmentSpec((str(kin),), device="cpu"), set[str]()
    # The first event says what is expected, before anything is done; annealing and refinement begin anew each time.
    for most in (*[2] * 24, *range(2, 10), 10**6):
        context = StopsAfter(most)
        try:
            compute(path, spec, context)
            break
        except Cancelled:
            stages.add(context.stages[-1])
            with open_run(path) as run:
                assert run.state == "stopped"
    names = {"training round 1 of at most 3", "training round 2 of at most 3", "pairs", "annealing", "refinement"}
    assert names <= stages
    assert exports(path) == whole
    with open_run(path) as run:
        assert run.state == "done"
        assert len(rounds_of(run, given_of(run))) == 2
        assert [card["name"] for card in run.cards()] == ["Round 1", "Round 2", "Round 3", "Pairs"]


@pytest.mark.thorough(n_devices=[2])
@pytest.mark.usefixtures("small_units")
@pytest.mark.parametrize("n_devices", [2, 3])
def test_several_devices_make_the_same(kin: Path, whole: dict[str, str], tmp_path: Path, n_devices: int) -> None:
    path = tmp_path / "run.clalign"
    compute(path, AlignmentSpec((str(kin),), device="cpu"), beside=("cpu",) * (n_devices - 1))
    assert exports(path) == whole


def test_a_finished_run_needs_its_files_no_more(kin: Path, whole: dict[str, str], tmp_path: Path) -> None:
    copy, path = Path(shutil.copy(kin, tmp_path)), tmp_path / "run.clalign"
    with pytest.raises(Cancelled):
        compute(path, AlignmentSpec((str(copy),), device="cpu"), StopsAfter(2))
    copy.unlink()
    compute(path, AlignmentSpec((str(copy),), device="cpu"))
    assert exports(path) == whole


@pytest.mark.usefixtures("worker_here")
def test_a_stopped_command_says_how_to_go_on(
    kin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from clalign.jobs import Job

    messages: Callable[..., None] = Job.progress

    def stops(self: Job, stage: str, *values: Any, **facts: Any) -> None:
        messages(self, stage, *values, **facts)
        if stage == "pairs":
            self.cancel()

    path = tmp_path / "run.clalign"
    with monkeypatch.context() as patched:
        patched.setattr(Job, "progress", stops)
        code = main(["align", "--device", "cpu", "--progress", "none", "--run", str(path), str(kin)])
    shown = capsys.readouterr()
    assert code == ExitCode.INTERRUPTED
    assert shown.out == ""
    assert f"Continue with: clalign resume --fasta - {path}" in shown.err
    assert main(["export", str(path)]) == ExitCode.UNREADABLE
    assert str(path) in capsys.readouterr().err
    assert main(["resume", "-q", str(path), "-o", str(tmp_path / "x.afa")]) == ExitCode.DONE
    assert (tmp_path / "x.afa").read_text().startswith(">k0 some words\n")


@pytest.mark.usefixtures("worker_here")
def test_pairs_are_verified_and_explained(kin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.clalign"
    compute(path, AlignmentSpec((str(kin),), device="cpu"))
    assert main(["verify", "-q", "--sample", "3", str(path)]) == ExitCode.DONE
    assert re.search(r"\b3 pairs", capsys.readouterr().out)
    assert main(["explain", "-q", "--json", "--query", "k1", str(path), "k0"]) == ExitCode.DONE
    value = json.loads(capsys.readouterr().out)
    assert (value["first"], value["second"], value["is_compared"]) == ("k0", "k1", True)
    assert value["n_posteriors"] == value["n_kept"] > value["n_aligned"] * 0.9
    assert 0 < value["expected"] < value["n_aligned"]
    assert value["rounds"][-1]["opens"] == pytest.approx([0.0561866, 0.00905604], rel=1e-4)
    assert main(["explain", "-q", "--query", "k1", str(path), "k0"]) == ExitCode.DONE
    for wrong in ("k1", "nobody"):
        assert main(["explain", "-q", "--query", "k1", str(path), wrong]) != ExitCode.DONE


def changed(path: Path, statement: str, *values: Any) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.usefixtures("worker_here")
def test_what_was_changed_is_noticed(kin: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.clalign"
    compute(path, AlignmentSpec((str(kin),), device="cpu"))
    with open_run(path) as run:
        (_, blob), *_ = run.engine_rows_of_pieces("msa_posteriors", run.n_queries() - 1, ["likelihoods"])
    likelihoods = np.frombuffer(zlib.decompress(blob)) - 1
    changed(path, "UPDATE msa_posteriors SET likelihoods = ? WHERE number = 0", zlib.compress(likelihoods.tobytes()))
    changed(path, "UPDATE alignment_rows SET text = substr(text, 2) || '-' WHERE number = 0 AND text LIKE '-%'")
    changed(path, "UPDATE queries SET card = json_set(card, '$.outcome.opens[0]', 0.02) WHERE id = 1")
    assert main(["verify", "-q", "--sample", "2", "--device", "cpu", str(path)]) == ExitCode.DIFFERENT
    messages = capsys.readouterr().out
    assert "k0 and k1: " in messages, "whose likelihood is another"
    assert "posteriors" in messages, "those of the two pairs that are computed again"
    assert "Round 2 " in messages


DAMAGES = {
    "no blocks": "UPDATE msa_pairs SET block_ends = x'789c030000000001'",
    "pairs of others": "UPDATE msa_pairs SET pairs = block_ends",
    "short entries": "UPDATE msa_posteriors SET n_entries = n_entries + 1",
    "many entries": "UPDATE msa_posteriors SET n_entries = 9007199254740991",
    "no entries": "UPDATE msa_posteriors SET entries = x'00'",
    "other blocks": "UPDATE msa_posteriors SET number = number + 1",
    "merges": "UPDATE msa_annealing SET merges = final_columns",
    "moves": "UPDATE msa_annealing SET moves = merges",
    "order": "UPDATE msa_annealing SET final_columns = weights",
    "rows": "UPDATE alignment_rows SET text = replace(text, 'A', 'C')",
    "sequence": "UPDATE msa_sequences SET residues = 'MKV' WHERE number = 1",
    "one sequence": "DELETE FROM msa_sequences WHERE number > 1",
    "no round": "UPDATE queries SET card = json_set(card, '$.outcome.opens', json('[1, 2, 3]')) WHERE id = 0",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_runs_are_refused_in_words(kin_run: Path, tmp_path: Path, damage: str) -> None:
    path = Path(shutil.copy(kin_run, tmp_path))
    changed(path, DAMAGES[damage])
    with pytest.raises((DamagedRun, InputError)), open_run(path) as run:  # noqa: PT012 - any of it may notice
        rounds_of(run, given_of(run))
        for one in ENGINE.exports:
            one.writer(ENGINE.source(run, Choice(), QuietContext()), io.StringIO())


@pytest.fixture(scope="module")
def kin_run(kin: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kin_run") / "run.clalign"
    compute(path, AlignmentSpec((str(kin),), device="cpu"))
    return path


def test_the_library_aligns(kin: Path, whole: dict[str, str], tmp_path: Path) -> None:
    texts = kin.read_text().split(">k4")
    for name, text in zip("ab", (texts[0], ">k4" + texts[1]), strict=True):
        (tmp_path / name).write_text(text)
    for given in (kin, [tmp_path / "a", str(tmp_path / "b")], [
        clalign.Sequence.from_text(f"k{number}", text, "some words") for number, text in enumerate(KIN)
    ]):  # fmt: skip
        with clalign.align_many(given, device="cpu") as found:
            assert f"{len(found.alignment())} rows" == "8 rows"
            found.export("stockholm", tmp_path / "x.sto")
            assert (tmp_path / "x.sto").read_text() == whole["stockholm"]
    with pytest.raises(ClalignError, match="gapfactor"):
        clalign.align_many(kin, gapfactor=2)


class Small:
    """A session of a device without memory for much."""

    def __init__(self, session: Session, most_cells: int) -> None:
        self.session, self.most_cells, self.device, self.check = session, most_cells, session.device, session.check

    def run(self, stage: Any, batch: Any, model: Any) -> Any:
        if batch.n_cells > self.most_cells:
            raise OutOfDeviceMemory("It is small.", "")
        return self.session.run(stage, batch, model)


def test_pairs_that_are_too_large_for_a_device_are_left_out(kin: Path) -> None:
    from clalign.compute.opening import open_session
    from clalign.engines.msa.inputs import read_input

    given = read_input([str(kin)])
    spec = AlignmentSpec((str(kin),))
    batch = batch_of(given, pairs_of(given, spec)[:4])
    models = PairHmms.same(seed_of(given, spec), 4)
    largest = int(phases.cells_of(batch).max())
    with open_session(REFERENCE) as session:
        every = session.run(POSTERIORS, batch, models)
        same = posteriors(Small(session, largest), POSTERIORS, batch, models)
        fewer = posteriors(Small(session, largest - 1), POSTERIORS, batch, models)
        counts = expected_counts(Small(session, largest - 1), batch, models)
    for name in ("offsets", "x", "y", "values", "x_gaps", "log_likelihoods"):
        assert getattr(same, name).tolist() == getattr(every, name).tolist()
    lost = ~np.isfinite(fewer.log_likelihoods)
    assert np.diff(fewer.offsets)[lost].tolist() == [0, 0, 0]  # of the same lengths
    assert np.isfinite(counts.log_likelihoods).tolist() == (~lost).tolist()
    assert counts.matches[lost].sum() == 0


def test_what_an_alignment_takes_is_estimated_and_kept(
    kin_run: Path, kin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(kin_run) as run:
        given = given_of(run)
        n_entries = sum(n for _, n in run.engine_rows_of_pieces("msa_posteriors", run.n_queries() - 1, ["n_entries"]))
    few = estimate(given.lengths, AlignmentSpec((str(kin),)))
    assert few.n_pairs == 28
    most = estimate(given.lengths, AlignmentSpec((str(kin),)), is_most=True)
    assert most.memory_bytes > PROGRAM_BYTES + 60 * n_entries
    assert PROGRAM_BYTES < few.memory_bytes < most.memory_bytes
    assert few.disk_bytes > 5 * n_entries
    lengths = np.full(1000, 300)
    many, fast = (estimate(lengths, AlignmentSpec(("x",), is_fast=is_fast)) for is_fast in (False, True))
    assert fast.n_pairs == 18977
    assert many.seconds > 20 * fast.seconds
    assert 10 < many.memory_bytes / fast.memory_bytes < 30
    assert list(caution_of(given.lengths, np.zeros((28, 2), np.int32), AlignmentSpec((str(kin),)))) == []
    (text,) = caution_of(np.full(100_000, 1000), np.zeros((10**6, 2), np.int32), AlignmentSpec(("x",)))
    assert text
    # Once posteriors are known, it is told how much they take.
    known = random_posteriors(1, [30] * 8)
    assert list(caution_before_merging(known, AlignmentSpec((str(kin),)))) == []
    monkeypatch.setattr("clalign.engines.msa.estimate.physical_memory", lambda: 1e6)
    (text,) = caution_before_merging(known, AlignmentSpec((str(kin),)))
    assert f"{len(known.columns):,} " in text


def test_weights_of_pairs_are_read(tmp_path: Path, fast_device: Device) -> None:
    from clalign.engines.msa.tree_weights import read_weights

    path = tmp_path / "weights"
    path.write_text("a b 2\nb c 1\n\nc a 0.5\n")
    weights = read_weights(str(path), ("a", "b", "c"))
    assert weights[0, 1] == pytest.approx(2 / 3.5 * 3)
    assert (weights == weights.T).all()
    assert weights[np.triu_indices(3, 1)].mean() == pytest.approx(1)
    for text, line in (("a b\n", 1), ("a x 1\n", 1), ("a b -1\n", 1), ("\n", None)):
        path.write_text(text)
        with pytest.raises(InputError) as refused:
            read_weights(str(path), ("a", "b", "c"))
        assert refused.value.line == line


TRNAS = """>a
GCUCAUGUAGCUCAGUUGGUAGAGCACACCCUUGGUAAGGGUGAGGUCAGCGGUUCAAAUCCGCUCAUGAGCU
>b
GCGGUUGUGGCGAAGUGGUUAACGCACCAGAUUGUGGCUCUGGCACUCGUGGGUUCGAUUCCCAUCAAUCGCC
>c
GCUUUAAAAGCUUUGCUGAAGCAACGGCCUUGUAAGUCGUAGAAAACUAUACGUUUUAAAGCU
"""


@pytest.mark.parametrize(
    ("weights", "row"),
    [("", "GCUUUAAAAGCUUUGCUGAAG-----------CAACGGCCUUGUAAGUCGUAGAAAACUAUACGUUUUAAAGCU"),
     ("a b 2\nb c 1\na c 0.5\n", "GCUUUAAAAGCUUUGCUGAA-----------GCAACGGCCUUGUAAGUCGUAGAAAACUAUACGUUUUAAAGCU"),
     ("a b 2\nb c 1\n", "GCUUUAAAAGCUUUGCUGAA-----------GCAACGGCCUUGUAAGUCGUAGAAAACUAUACGUUUUAAAGCU")],
)  # fmt: skip
def test_weights_of_pairs_count(tmp_path: Path, weights: str, row: str) -> None:
    """The rows are those of FSA; what it says of the accuracy with weights is not, for it scales only half of them."""
    (tmp_path / "x.fa").write_text(TRNAS)
    (tmp_path / "w").write_text(weights)
    options = {"tree_weights": str(tmp_path / "w")} if weights else {}
    with clalign.align_many(tmp_path / "x.fa", device="cpu", **options) as found:
        assert found.alignment()[2].text == row


def test_sequences_of_a_run_come_back(kin_run: Path) -> None:
    with open_run(kin_run) as run:
        given = given_of(run)
        assert given.names == tuple(f"k{number}" for number in range(8))
        assert [text.decode() for text in given.letters] == KIN
        assert given.descriptions[0] == "some words"
