"""Verification finds what differs, and refuses what cannot be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

import clalign
from clalign.cli import main, watch
from clalign.devices import REFERENCE
from clalign.errors import Cancelled, ExitCode, InputError
from clalign.formats.examples import load_examples
from clalign.jobs import QuietContext
from clalign.reference import smith_waterman_rows
from clalign.runs import RunFile, create_run, open_run
from clalign.search import pairwise_verify
from clalign.search.pairwise_inputs import load_inputs
from clalign.search.pairwise_search import pairwise_search
from clalign.search.pairwise_verify import verify_pairwise
from clalign.search.verify import verify_run


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
    assert (result["checked"], result["differing"]) == (16, 0), "eight hits, and the scores of eight sequences"


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE hits SET raw = raw + 1 WHERE id = 1",
        "UPDATE hits SET score = score + 0.001 WHERE id = 1",
        "UPDATE domains SET ali_end = ali_end - 1 WHERE hit = 1",
        "UPDATE domains SET states = 'I' || states WHERE hit = 1",
    ],
)
def test_a_planted_difference_is_found(run: RunFile, damage: str) -> None:
    run.connection.execute(damage)
    run.connection.commit()
    result = verify_run(run, None, 50, REFERENCE, QuietContext())
    assert result["differing"] == 1
    assert run.connection.execute("SELECT verified FROM hits WHERE id = 1").fetchone() == ("differs",)


def test_other_profiles_are_refused(run: RunFile, files: tuple[Path, Path]) -> None:
    files[0].write_text(files[0].read_text().replace("NAME  ", "NAME  x"))
    with pytest.raises(InputError, match="profiles have changed"):
        verify_run(run, None, 50, REFERENCE, QuietContext())


def test_other_sequences_are_refused(run: RunFile, files: tuple[Path, Path]) -> None:
    files[1].write_text(">a\nACGT\n")
    with pytest.raises(InputError, match="sequences have changed"):
        verify_run(run, None, 50, REFERENCE, QuietContext())


def test_a_run_without_results_is_refused(run: RunFile, tmp_path: Path) -> None:
    early = create_run(tmp_path / "early.clalign", spec=run.fact("spec"), state="failed")
    with early, pytest.raises(InputError, match="no results"):
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
        self.told: list[float] = []

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        super().progress(stage, done, total, unit)
        self.told += [done / total] if stage == "verify" and total else []


def test_one_long_pair_is_told_of_and_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smith_waterman_rows, "CELLS_BETWEEN_WORDS", 10_000)
    text = "ACGGTCATTA" * 30
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(f">{name}\n{text}\n")
    with pairwise_search(tmp_path / "a.fa", tmp_path / "b.fa", tmp_path / "run", device="cpu", in_step=True) as run:
        listener = Listening(10**9)
        assert verify_pairwise(run, None, 50, REFERENCE, listener)["differing"] == 0
        assert len(listener.told) > 10
        assert listener.told == sorted(listener.told)
        with pytest.raises(Cancelled):
            verify_pairwise(run, None, 50, REFERENCE, StopAfter(50_000))


class AskedOften(QuietContext):
    """A user who stops the third time that they are asked after the files are read."""

    def __init__(self) -> None:
        self.left = 3

    def check(self) -> None:
        self.left -= 1
        if not self.left:
            raise Cancelled


def test_drawing_of_many_queries_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f">{number}\n{'ACGGTCATTA' * 6}\n" for number in range(5)]
    (tmp_path / "a.fa").write_text("".join(rows))
    drawn: list[int] = []
    monkeypatch.setattr(pairwise_verify, "load_inputs", lambda run, spec, _: load_inputs(run, spec, QuietContext()))
    monkeypatch.setattr(pairwise_verify, "_drawn", lambda run, number, sample: drawn.append(number) or [])
    files = tmp_path / "a.fa", tmp_path / "a.fa"
    with pairwise_search(*files, tmp_path / "run", device="cpu", score=10_000) as run:
        assert run.n_hits() == 0
        with pytest.raises(Cancelled):
            verify_pairwise(run, None, 50, REFERENCE, AskedOften())
    assert drawn == [0, 1]


def test_the_command_says_that_the_user_stopped_it(
    run: RunFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    value = {"checked": 3, "differing": 0, "details": [], "complete": False}
    monkeypatch.setattr(watch, "watch_job", lambda *words: value)
    assert main(["verify", str(run.path)]) == ExitCode.INTERRUPTED
    assert capsys.readouterr().out.startswith("Checked 3 results: all equal. The others were not checked")
