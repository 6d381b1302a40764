"""MSV on a device equals the reference, in every shape."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.reference.msv import OVERFLOW
from clalign.stages.hmmer3.msv import MSV, MsvStage
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_profile

SHAPES = [("vector", {}), ("lanes", {"LANE_BACKEND": 0, "LANES": 32}), ("lanes", {"LANE_BACKEND": 0, "LANES": 8})]


def n_differing(stage: MsvStage, session: Session, batch: SequenceBatch, profile: LocalProfile) -> int:
    return int((session.run(stage, batch, profile) != MSV.reference(batch, profile)).sum())


@pytest.mark.parametrize("n_nodes", [1, 16, 17, 130, 1200])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    assert n_differing(MSV, session, random_batch(rng, profile, 9, 60), profile) == 0


@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 8, 40]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    assert n_differing(MsvStage(shape, **defines), shaped_session, random_batch(rng, profile, 7, 50), profile) == 0


def test_feedback_and_overflow(session: Session) -> None:
    """Several segments lead through J, and many of them overflow the bytes."""
    rng = np.random.default_rng(2)
    profile = random_local_profile(rng, 12)
    domain = profile.hmm.consensus
    parts = [(domain[:k] + "GGGG") * 3 for k in range(2, 12)]
    batch = SequenceBatch.from_texts([*parts, domain * 60, "", random_codes(rng, 3000)])
    expected = MSV.reference(batch, profile)
    assert OVERFLOW in expected
    assert ((expected > 190) & (expected < OVERFLOW)).any()
    assert n_differing(MSV, session, batch, profile) == 0


@pytest.mark.parametrize("shape", ["vector", "lanes"])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(3)
    profile = random_local_profile(rng, 30)
    assert n_differing(MsvStage(shape, SABOTAGE=1), shaped_session, random_batch(rng, profile, 8, 40), profile) > 0
