"""Logarithms and sums of null2 scores are those of HMMER in every bit."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.values.null2 import FEW, compensated_sums, null2_scores

LOGARITHMS = [
    (0x3F22F67B, 0xBEE73F61), (0x3F7D17BD, 0xBC3B214A), (0x3F81B2CE, 0x3C57F8FD), (0x3F7B869D, 0xBC907073),
    (0x3FDADF06, 0x3F0954FE), (0x3F7ACFA3, 0xBCA7C055), (0x3F842FDA, 0x3D03D638), (0x4014B9ED, 0x3F57DD8E),
    (0x3F3B6E3C, 0xBE9FA029), (0x3FCA79DD, 0x3EEACC79), (0x3F823B92, 0x3C8DA921), (0x3F800000, 0x00000000),
]  # fmt: skip
"""Bits of numbers and of what glibc 2.36 says is their logarithm; of nearly all another number is nearer."""


def test_logarithms_are_those_of_the_c_library() -> None:
    numbers, expected = np.array(LOGARITHMS, np.uint32).T.copy()
    assert null2_scores(numbers.view(np.float32)).view(np.uint32).tolist() == expected.tolist()


def test_logarithms_over_the_whole_range() -> None:
    numbers = (2.0 ** np.linspace(-125.9, 127.9, 200_000)).astype(np.float32).reshape(2, -1)
    nearest = np.log(numbers.astype(np.float64)).astype(np.float32)
    found = null2_scores(numbers)
    assert (np.abs(found.view(np.int32) - nearest.view(np.int32)) <= 1).all()
    assert 0 < np.count_nonzero(found != nearest) < numbers.size / 50
    special = null2_scores(np.array([0, np.inf, 1e-42, np.nan, -1], np.float32))
    np.testing.assert_array_equal(special, np.array([-np.inf, np.inf, np.log(np.float32(1e-42)), np.nan, np.nan], "f4"))


def kahan(values: list[np.float32]) -> float:
    total = lost = np.float32(0)
    for value in values:
        added = value - lost
        after = total + added
        lost = (after - total) - added
        total = after
    return float(total)


@pytest.mark.parametrize("n_rows", [0, 1, FEW, 3 * FEW])
def test_sums_are_compensated(n_rows: int) -> None:
    """Rows of all lengths, with stretches of zeros, which are passed over."""
    rng = np.random.default_rng(n_rows)
    rows = [np.repeat(rng.random(40) < 0.5, 9)[: 1 + 300 * n // max(1, n_rows)] for n in range(n_rows)]
    rows = [np.where(kept, rng.normal(0.1, 1, len(kept)), 0).astype(np.float32) for kept in rows]
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    found = compensated_sums(np.concatenate([np.empty(0, np.float32), *rows]), bounds)
    assert found.dtype == np.float32
    assert found.tolist() == [kahan(list(row)) for row in rows]


def test_sums_that_differ_from_plain_ones() -> None:
    values = np.array([1e8, 1, 0, 0, 0, 0, 3, 1, -2, 1] * 50 + [0], np.float32)
    bounds = np.array([0, len(values), len(values)])
    assert compensated_sums(values, bounds).tolist() == [kahan(list(values)), 0]
