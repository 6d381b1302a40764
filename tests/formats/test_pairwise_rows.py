"""Numbers of the table of alignments are written as BLAST writes them."""

from __future__ import annotations

import math

import pytest

from clalign.engines.pairwise.sam import unmapped
from clalign.formats.pairwise_rows import bits_text, evalue_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"), (9e-181, "0.0"), (1.234e-150, "1.23e-150"), (0.000899, "8.99e-04"), (0.00095, "0.001"),
        (0.0997, "0.100"), (0.2, "0.20"), (0.997, "1.00"), (5.04, "5.0"), (9.96, "10.0"), (38.4, "38"),
        (math.nan, "NA"),
    ],
)  # fmt: skip
def test_evalues(value: float, text: str) -> None:
    assert evalue_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(10.34, "10.3"), (99.9, "99.9"), (99.96, "99"), (484.97, "484"), (18294.7, "18294"), (1e5, "1.000e+05")],
)
def test_bits(value: float, text: str) -> None:
    assert bits_text(value) == text


@pytest.mark.parametrize(("alphabet", "shown"), [("amino", "MKXV"), ("dna", "MKNV")])
def test_sam_writes_what_is_no_residue_as_an_unknown_one(alphabet: str, shown: str) -> None:
    assert unmapped({"alphabet": alphabet}, "q", "MK*V").split("\t")[9] == shown
