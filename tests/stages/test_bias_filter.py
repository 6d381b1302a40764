"""HMMER3's bias filter on a device equals the reference but for rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.bias_filter import BIAS_FILTER, BiasFilterStage
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_profile

TOLERANCE = 1e-4


def largest_difference(stage: BiasFilterStage, session: Session, batch: SequenceBatch, profile: LocalProfile) -> float:
    found, expected = session.run(stage, batch, profile), BIAS_FILTER.reference(batch, profile)
    assert (np.isnan(found) == (batch.lengths == 0)).all()
    return float(np.abs(found - expected)[batch.lengths > 0].max())


@pytest.mark.parametrize("defines", [{}, {"BLOCK": 3}])
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 8, 45, 900]))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_cases(session: Session, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    batch = random_batch(rng, profile, 11, 70)
    assert largest_difference(BiasFilterStage(**defines), session, batch, profile) < TOLERANCE


def composed_of(profile: LocalProfile, composition: npt.NDArray[np.float32]) -> LocalProfile:
    return to_local_profile(replace(profile.hmm, settings=replace(profile.settings, composition=composition)))


def test_long_stretches_of_one_letter(any_session: Session) -> None:
    """The sums grow, or shrink, by far more than a float holds; some letters do not occur in the model at all."""
    rng = np.random.default_rng(1)
    composition = np.full(20, 0.01, np.float32)
    composition[18], composition[:3] = 0.9, 0
    profile = composed_of(random_local_profile(rng, 300), composition)
    texts = ["W" * 3000, "A" * 3000, "AW" * 700, "*" * 50, "", "X", "ACDW", random_codes(rng, 20_000)]
    batch = SequenceBatch.from_texts(texts)
    scores = BIAS_FILTER.reference(batch, profile)
    assert scores[0] > 10_000
    found = any_session.run(BIAS_FILTER, batch, profile)
    assert np.allclose(found, scores, rtol=1e-6, atol=TOLERANCE, equal_nan=True)
    assert len(any_session.run(BIAS_FILTER, SequenceBatch.from_texts([]), profile)) == 0


def test_planted_fault_is_noticed(session: Session) -> None:
    rng = np.random.default_rng(9)
    profile = random_local_profile(rng, 30)
    batch = random_batch(rng, profile, 8, 40)
    assert largest_difference(BiasFilterStage(SABOTAGE=1), session, batch, profile) > 1000 * TOLERANCE
