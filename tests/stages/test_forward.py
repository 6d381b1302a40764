"""HMMER3's Forward score on a device is that of the reference to 1e-4 bits: every shape, odd models, odd input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.forward import FORWARD, ForwardStage
from clalign.values.local_profiles import LocalProfile, to_local_profile
from clalign.values.profiles import DD, DM, MD, MI, MM
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_hmm, random_local_profile

TOLERANCE = 1e-4 * math.log(2)

SHAPES = [
    ("vector", {}),
    ("vector", {"SEQUENCES": 3}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 32}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 16, "LOCAL_TRANSITIONS": 0}),
]


def largest_difference(stage: ForwardStage, session: Session, batch: SequenceBatch, profile: LocalProfile) -> float:
    found, expected = session.run(stage, batch, profile), FORWARD.reference(batch, profile)
    assert (np.isnan(found) == (batch.lengths == 0)).all()
    assert (np.isneginf(found) == np.isneginf(expected)).all()
    finite = np.isfinite(expected)
    # A float of 1000 nats is not exact to more than 6e-5.
    allowed = np.maximum(1, np.abs(expected[finite]) / 200)
    return float((np.abs(found[finite] - expected[finite]) / allowed).max(initial=0))


@pytest.mark.parametrize("n_nodes", [1, 2, 7, 8, 9, 100, 700])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    assert largest_difference(FORWARD, session, random_batch(rng, profile, 9, 60), profile) < TOLERANCE


@pytest.mark.thorough(defines=[{}, SHAPES[2][1]])
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 8, 45]))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    stage = ForwardStage(shape, **defines)
    assert largest_difference(stage, shaped_session, random_batch(rng, profile, 7, 50), profile) < TOLERANCE


@pytest.mark.thorough(defines=[{}])
@pytest.mark.parametrize(("shape", "defines"), [(None, {}), *SHAPES])
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([2, 3, 20, 45]))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_models(
    shaped_session: Session, shape: str | None, defines: dict[str, int], seed: int, n_nodes: int
) -> None:
    """Any step may be impossible, residues may not match at all, and deletes may run through half the model."""
    rng = np.random.default_rng(seed)
    hmm = random_local_hmm(rng, n_nodes)
    inner = hmm.transitions[1:n_nodes]
    if seed % 2:
        inner[rng.random(inner.shape) < 0.2] = 0
        hmm.match[1:][rng.random((n_nodes, 20)) < 0.2] = 0
    else:
        inner[:, [MM, MI, MD]] = [0.4, 0.01, 0.59]
        inner[:, [DM, DD]] = [0.02, 0.98]
    profile = to_local_profile(hmm)
    stage = ForwardStage(shape, **defines)
    assert largest_difference(stage, shaped_session, random_batch(rng, profile, 5, 40), profile) < TOLERANCE


def test_many_domains(session: Session) -> None:
    """The rows are scaled again and again."""
    rng = np.random.default_rng(3)
    profile = random_local_profile(rng, 40)
    batch = SequenceBatch.from_texts([profile.hmm.consensus * 20, random_codes(rng, 3000)])
    assert FORWARD.reference(batch, profile)[0] > 500
    assert largest_difference(FORWARD, session, batch, profile) < TOLERANCE


def test_nasty_sequences(session: Session) -> None:
    rng = np.random.default_rng(6)
    profile = random_local_profile(rng, 20)
    nasty = ["", "A", "X" * 50, "*", "-" * 9, "J", "UOBZ", "~._", "Q" * 300, "*A*", profile.hmm.consensus * 3]
    assert largest_difference(FORWARD, session, SequenceBatch.from_texts(nasty), profile) < TOLERANCE
    assert len(session.run(FORWARD, SequenceBatch.from_texts([]), profile)) == 0


@pytest.mark.parametrize("shape", ["vector", "lanes"])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(9)
    profile = random_local_profile(rng, 30)
    batch = random_batch(rng, profile, 8, 40)
    stage = ForwardStage(shape, SABOTAGE=1)
    assert largest_difference(stage, shaped_session, batch, profile) > 1000 * TOLERANCE
