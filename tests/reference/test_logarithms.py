"""Alignments with logarithms: as those with odds where both can be computed, and where odds overflow."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.reference.envelope import posterior_of, rescore
from clalign.reference.logarithms import aligned_by_logarithms, log_sum
from clalign.values.alphabets import encode
from clalign.values.local_profiles import striped_odds
from clalign.values.synthetic import random_batch, random_local_profile


def test_sums_are_those_of_the_table() -> None:
    a, b = np.array([0, -3, -np.inf, -20, 5], np.float32), np.array([0, -3.5, -np.inf, 1, -np.inf], np.float32)
    found = log_sum(a, b)
    assert np.array_equal(found, log_sum(b, a))
    assert found[2] == -np.inf
    assert found[3] == 1  # what is much smaller adds nothing
    assert found[4] == 5
    assert np.allclose(found[:2], np.logaddexp(a[:2], b[:2]), atol=1e-3)


@pytest.mark.thorough
def test_aligns_as_odds_do() -> None:
    rng = np.random.default_rng(12)
    profile = random_local_profile(rng, 40)
    batch, odds = random_batch(rng, profile, 6, 90), striped_odds(profile)
    for row in np.flatnonzero(batch.lengths > 2).tolist():
        codes = batch.residues(row)
        one = rescore(codes, 0, len(codes), profile, odds, is_whole=True)
        other = aligned_by_logarithms(codes, 0, len(codes), profile)
        assert one is not None
        assert other is not None
        assert one.certainty is not None
        assert other.certainty is not None
        assert abs(one.score - other.score) < 0.02
        assert abs(one.expected_correct - other.expected_correct) < 0.05 * len(codes)
        if one.path == other.path:
            assert np.abs(one.certainty - other.certainty).max() < 0.02


@pytest.mark.thorough
def test_takes_over_where_odds_overflow() -> None:
    profile = random_local_profile(np.random.default_rng(1), 120)
    codes = np.concatenate([encode(profile.hmm.consensus)] * 3)
    assert posterior_of(codes, len(codes), striped_odds(profile))[1] is None
    found = rescore(codes, 0, len(codes), profile, striped_odds(profile), is_whole=True)
    assert found is not None
    assert found.certainty is not None
    assert 100 < len(found.path.states) <= 120
    assert len(found.certainty) == 360
    assert rescore(codes, 0, len(codes), profile, striped_odds(profile)) is None
