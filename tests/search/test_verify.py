"""Verification finds what differs, and refuses what cannot be compared."""

from __future__ import annotations

from pathlib import Path

import pytest

import clalign
from clalign.devices import REFERENCE
from clalign.errors import InputError
from clalign.formats.examples import load_examples
from clalign.jobs import QuietContext
from clalign.runs import RunFile, create_run, open_run
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
