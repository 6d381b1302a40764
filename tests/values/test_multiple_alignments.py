"""Alignments of many sequences: their rows, and the steps that lead to them."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers
from tests.posterior_cases import random_alignment

ROWS = [b"AC-GT-", b"-C-G-A", b"------", b"A.~GT_"]


def test_rows_are_the_same_again() -> None:
    alignment = MultipleAlignment.from_rows(ROWS)
    assert len(alignment) == 4
    assert alignment.n_columns == 6
    assert alignment.rows([b"ACGT", b"CGA", b"", b"AGT"]) == [*ROWS[:3], b"A--GT-"]
    assert alignment.positions().tolist()[1] == [-1, 0, -1, 1, -1, 2]


def test_random_rows_are_the_same_again() -> None:
    lengths = [7, 0, 12, 9]
    alignment = random_alignment(1, lengths)
    letters = [bytes(range(65, 65 + length)) for length in lengths]
    again = MultipleAlignment.from_rows(alignment.rows(letters))
    assert np.array_equal(again.columns, alignment.columns)
    assert np.array_equal(again.offsets, alignment.offsets)


def test_no_rows() -> None:
    assert MultipleAlignment.from_rows([]).positions().shape == (0, 0)


def test_columns_are_numbered_position_after_position() -> None:
    assert creation_numbers(np.array([3, 0, 1, 2])).tolist() == [0, 3, 5, 1, 2, 4]


@pytest.mark.parametrize("seed", range(5))
def test_an_alignment_is_made_by_its_merges(seed: int) -> None:
    alignment = random_alignment(seed, [[7, 0, 12, 9], [0, 0], [], [3]][seed % 4])
    merges = ColumnMerges.into(alignment)
    assert len(merges) == len(alignment.columns) - alignment.n_columns
    made = merges.alignment_after()
    assert made.columns.tolist() == alignment.columns.tolist()
    assert merges.merges_at(1e30) == len(merges)
    assert merges.alignment_after(0).n_columns == len(alignment.columns)


def test_merges_are_replayed() -> None:
    """Of AB and CD, whose columns are A 0, C 1, B 2, D 3."""
    merges = ColumnMerges(
        np.array([2, 2]), np.array([2], np.int32), np.array([1], np.int32), np.array([3.0], np.float32),
        np.array([0, 2, 3], np.int32),
    )  # fmt: skip
    rows = [merges.alignment_after(n).rows([b"AB", b"CD"]) for n in (0, 1)]
    assert rows == [[b"A-B-", b"-C-D"], [b"AB-", b"-CD"]]
    assert [merges.merges_at(factor) for factor in (0.0, 3.0, 3.1)] == [1, 1, 0]
