"""Random numbers are those of the GNU C library."""

from __future__ import annotations

import pytest

from clalign.engines.msa.draws import Draws

FIRST = [1804289383, 846930886, 1681692777, 1714636915, 1957747793]


def test_known_numbers() -> None:
    draws = Draws()
    assert [draws.below(2**31) for _ in FIRST] == FIRST
    assert draws.n_drawn == 5


@pytest.mark.parametrize("n", range(5))
def test_numbers_before_are_left_out(n: int) -> None:
    draws = Draws(1, n)
    assert draws.below(2**31) == FIRST[n]
    assert draws.n_drawn == n + 1


def test_seeds_differ() -> None:
    found = {seed: [Draws(seed).below(1000) for _ in range(2)] for seed in range(20)}
    assert all(a == b for a, b in found.values())
    assert len({numbers[0] for numbers in found.values()}) > 15
    assert found[0] == found[1]
