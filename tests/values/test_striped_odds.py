"""Striped odds hold at each place what the plain odds have at its node."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.values.local_profiles import LANES, exponential, n_vectors, odds, striped_odds
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM
from clalign.values.synthetic import random_local_profile

NEAR = 1e-6


def test_exponential_is_near_that_of_numpy() -> None:
    values = np.linspace(-87, 88, 5000, dtype=np.float32)
    np.testing.assert_allclose(exponential(values), np.exp(values.astype(np.float64)), rtol=NEAR)
    beyond = exponential(np.array([-np.inf, -100, 0, 100, np.inf], np.float32))
    assert beyond.tolist() == [0, 0, 1, np.inf, np.inf]


@pytest.mark.parametrize("n_nodes", [1, 4, 9, 60])
def test_every_node_is_at_its_place(n_nodes: int) -> None:
    profile = random_local_profile(np.random.default_rng(n_nodes), n_nodes)
    striped, plain, q_lanes = striped_odds(profile), odds(profile), n_vectors(n_nodes)
    assert striped.begin.shape == (q_lanes, LANES)
    entering = {"mm": MM, "im": IM, "dm": DM}
    leaving = {"md": MD, "mi": MI, "ii": II, "dd": DD}
    for node in range(1, n_nodes + 1):
        at = (node - 1) % q_lanes, (node - 1) // q_lanes
        found = [striped.begin[at], *(getattr(striped, name)[at] for name in (*entering, *leaving))]
        expected = [
            plain.begin[node],
            *(plain.transitions[step, node - 1] for step in entering.values()),
            *(plain.transitions[step, node] for step in leaving.values()),
        ]
        np.testing.assert_allclose(found, expected, rtol=NEAR)
        np.testing.assert_allclose(striped.emissions[:, *at], plain.match[:, node], rtol=NEAR)


def test_beyond_the_last_node_there_is_nothing() -> None:
    striped = striped_odds(random_local_profile(np.random.default_rng(1), 5))
    for table in (striped.begin, striped.mm, striped.dd, *striped.emissions):
        assert not table.T.ravel()[5:].any()
