"""What FSA makes of posteriors: the same merges, rows and digits, byte for byte."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from clalign.compute.sessions import Session
from clalign.engines.msa.aligning import aligned
from clalign.engines.msa.inputs import read_input
from clalign.engines.msa.reliability import expected_accuracy
from clalign.engines.msa.writers import write_fasta, write_merges, write_stockholm
from clalign.formats.posteriors import read_posteriors, write_posteriors

FOLDER = Path(__file__).resolve().parents[2] / "golden" / "fsa"

CHOICES = {
    "default": {},
    "unrefined": {"most_sweeps": 0},
    "twice_refined": {"most_sweeps": 2},
    "maxsn": {"gap_factor": 0.0},
    "gapfactor": {"gap_factor": 3.0},
    "static": {"is_dynamic": False},
}

CASES = [tuple(path.name.split(".")[:2]) for path in sorted(FOLDER.glob("*.sto"))]


def text_of(write: object, *values: object) -> str:
    stream = io.StringIO()
    write(*values, stream)
    return stream.getvalue()


def test_there_are_cases() -> None:
    assert len(CASES) == 13


@pytest.mark.parametrize(("name", "choice"), CASES)
def test_alignment_and_merges_are_those_of_fsa(session: Session, name: str, choice: str) -> None:
    given = read_input([str(FOLDER / f"{name}.fa")])
    posteriors = read_posteriors(str(FOLDER / f"{name}.probs"), given.lengths.tolist())
    found = aligned(session, posteriors, **CHOICES[choice])
    alignment = found.alignment_after()
    accuracy = expected_accuracy(posteriors, alignment)
    assert text_of(write_merges, found.merges) == (FOLDER / f"{name}.{choice}.gui").read_text()
    assert text_of(write_stockholm, given, alignment, accuracy) == (FOLDER / f"{name}.{choice}.sto").read_text()
    if choice == "default":
        assert text_of(write_fasta, given, alignment) == (FOLDER / f"{name}.default.afa").read_text()


@pytest.mark.parametrize("name", sorted({name for name, _ in CASES}))
def test_posteriors_are_written_as_they_were_read(name: str) -> None:
    path = FOLDER / f"{name}.probs"
    lengths = read_input([str(FOLDER / f"{name}.fa")]).lengths.tolist()
    assert text_of(write_posteriors, read_posteriors(str(path), lengths)) == path.read_text()


def test_merges_for_another_gap_factor_are_the_first_ones(session: Session) -> None:
    """So the alignment for a larger gap factor need not be annealed anew, but for the order of equal weights."""
    lengths = read_input([str(FOLDER / "kin.fa")]).lengths.tolist()
    posteriors = read_posteriors(str(FOLDER / "kin.probs"), lengths)
    every, few = (aligned(session, posteriors, factor, most_sweeps=0).merges for factor in (0.0, 3.0))
    n = every.merges_at(3.0)
    assert 0 < n == len(few) < len(every)
    assert every.survivors[:n].tolist() == few.survivors.tolist()
    assert every.victims[:n].tolist() == few.victims.tolist()
