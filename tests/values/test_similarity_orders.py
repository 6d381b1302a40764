"""Alike rows and columns stand beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.values import similarity_orders
from clalign.values.similarity_orders import order_alike


@pytest.mark.parametrize("most", [0, 3000])
@pytest.mark.parametrize("n_rows", [40, 4000])
def test_blocks_are_found(most: int, n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity_orders, "MAX_CLUSTERED", most)
    random = np.random.default_rng(3)
    block_of_row, block_of_column = random.integers(0, 4, n_rows), random.permutation(np.arange(24) % 4)
    rows, columns = np.nonzero(block_of_row[:, None] == block_of_column[None, :])
    by_column, by_row = order_alike(rows, columns, random.uniform(50, 60, len(rows)), (n_rows, 24))
    assert sorted(by_column.tolist()) == list(range(24))
    assert sorted(by_row.tolist()) == list(range(n_rows))
    assert np.count_nonzero(np.diff(block_of_row[by_row])) == 3 or not most
    if most:
        assert np.count_nonzero(np.diff(block_of_column[by_column])) == 3


def test_a_table_without_hits_has_an_order() -> None:
    none = np.empty(0, np.int64)
    by_column, by_row = order_alike(none, none, np.empty(0), (0, 3))
    assert (by_column.tolist(), by_row.tolist()) == ([0, 1, 2], [])
