"""Orders of many numbers that are found without sorting all of them: the same as if they were sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clalign.engines.pairwise.query import best_of
from clalign.values.sequences import longest_first


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("most", [5, 65_535, 65_536, 200_000_000])
def test_longest_first_keeps_equal_ones_in_order(most: int, kind: Any) -> None:
    lengths = np.random.default_rng(3).integers(0, most + 1, 2000).astype(kind)
    lengths[[7, 1000]] = most
    order = longest_first(lengths)
    assert order.dtype == np.int64
    assert order.tolist() == sorted(range(2000), key=lambda place: -int(lengths[place]))


def test_longest_first_of_none() -> None:
    assert longest_first(np.empty(0, np.int32)).tolist() == []


@given(st.lists(st.integers(-3, 4), max_size=40), st.integers(1, 45), st.integers(0, 2**32 - 1), st.booleans())
def test_best_of_takes_equal_ones_in_their_order(values: list[int], n: int, seed: int, are_floats: bool) -> None:
    given_values = np.array(values, np.float64 if are_floats else np.int32)
    order = np.random.default_rng(seed).permutation(len(values)).astype(np.int64)
    expected = np.lexsort([order, -given_values.astype(np.float64)])[:n]
    assert sorted(best_of(given_values, order, n).tolist()) == sorted(expected.tolist())
