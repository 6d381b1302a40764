"""The kernel of the measured peak does all of its work, and the reference's."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.stages.peak import FLOAT_PEAK, PEAK, PeakLoad, peak_load, peak_loads


def test_one_chain_by_hand() -> None:
    """Two chains over three rounds, lane 0: (5, 0), then (6, 4), (7, 5), (8, 6) with steps 1 and -2."""
    load = PeakLoad(1, 1, 3, np.array([5, 0], np.int32), np.array([1, -2], np.int32))
    x, y = 5, 0
    for _ in range(3):
        x = max(x + 1, y)
        y = max(y - 2, x)
    assert PEAK.reference(load, None).tolist() == [x ^ y]


@pytest.mark.thorough(width=[1, 4])
@pytest.mark.parametrize("width", [1, 2, 4, 8, 16])
@pytest.mark.parametrize(("n_items", "rounds"), [(1, 0), (5, 1), (130, 77), (256, 1000)])
def test_equals_reference(session: Session, width: int, n_items: int, rounds: int) -> None:
    load = peak_load(n_items, width, rounds)
    for stage in (PEAK, FLOAT_PEAK):
        assert np.array_equal(session.run(stage, load, None), PEAK.reference(load, None))


@pytest.mark.parametrize("seed", range(5))
def test_other_steps(session: Session, seed: int) -> None:
    load = peak_load(70, 4, 50, seed)
    assert np.array_equal(session.run(PEAK, load, None), PEAK.reference(load, None))


def test_every_round_counts() -> None:
    """Results of one round more or less differ, so a kernel that left one out would be noticed."""
    found = [PEAK.reference(peak_load(61, rounds=rounds), None) for rounds in range(4000, 4004)]
    assert all((a != b).any() for a, b in itertools.pairwise(found))


def test_measured_loads_equal_the_reference(session: Session) -> None:
    for load in peak_loads(session.device):
        assert load.operations == 2 * load.n_lanes * 8 * load.rounds
        assert np.array_equal(session.run(PEAK, load, None), PEAK.reference(load, None))
