"""The scoring kernels equal the reference: every shape, every device, odd geometries, odd input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.plan7.viterbi import VITERBI, ViterbiStage
from clalign.values.profiles import IMPOSSIBLE, Hmmer2Settings, IntegerProfile, to_integer_profile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_hmm, random_profile

GEOMETRIES = [
    ("vector", {}),
    ("vector", {"LANES": 16}),
    ("vector", {"SEQUENCES": 1}),
    ("vector", {"SEQUENCES": 3, "LANES": 16}),
    ("vector", {"PLAIN": 1}),
    ("vector", {"PLAIN": 1, "LANES": 16}),
    ("item", {}),
    ("item", {"NODES": 5, "GROUP": 33}),
    ("item", {"NODES": 8, "GROUP": 1}),
    ("item", {"NODES": 24, "GROUP": 7}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 32}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 16, "GROUP": 16, "LOCAL_EMISSIONS": 0}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 8, "GROUP": 8, "BLOCK": 4}),
    ("lanes", {"PLAIN": 1, "LANE_BACKEND": 0, "LANES": 32, "SEQUENCES": 1}),
    ("lanes", {"PLAIN": 1, "LANE_BACKEND": 0, "LANES": 16, "GROUP": 16, "SEQUENCES": 3}),
    ("lanes", {"PLAIN": 1, "LANE_BACKEND": 0, "LANES": 4, "GROUP": 4, "LOCAL_TRANSITIONS": 0}),
]


def differing(stage: ViterbiStage, session: Session, batch: SequenceBatch, profile: IntegerProfile) -> int:
    return int((session.run(stage, batch, profile).values != VITERBI.reference(batch, profile).values).sum())


@pytest.mark.parametrize("n_nodes", [1, 7, 8, 9, 33, 100])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    for local in (True, False):
        profile = random_profile(rng, n_nodes, local)
        assert differing(VITERBI, session, random_batch(rng, profile, 13, 70), profile) == 0


@pytest.mark.thorough(defines=[{}])
@pytest.mark.parametrize(("shape", "defines"), GEOMETRIES)
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int]) -> None:
    rng = np.random.default_rng(5)
    for n_nodes in (1, 17, 70):
        profile = random_profile(rng, n_nodes)
        batch = random_batch(rng, profile, 11, 60)
        assert differing(ViterbiStage(shape, **defines), shaped_session, batch, profile) == 0


@pytest.mark.thorough
def test_large_model(session: Session) -> None:
    rng = np.random.default_rng(8)
    profile = random_profile(rng, 5000)
    assert differing(VITERBI, session, random_batch(rng, profile, 3, 20), profile) == 0


@pytest.mark.thorough
def test_long_sequence(session: Session) -> None:
    """Some drivers end every loop after 65,535 rounds."""
    rng = np.random.default_rng(9)
    profile = random_profile(rng, 3)
    long = np.tile(random_batch(rng, profile, 5, 200).codes, 400)[:70_000]
    assert differing(VITERBI, session, SequenceBatch.from_texts([long, "", "M"]), profile) == 0


def test_nasty_sequences(session: Session) -> None:
    rng = np.random.default_rng(11)
    profile = random_profile(rng, 20)
    nasty = ["", "A", "X" * 50, "*", "-" * 9, "J", "UOBZ", "~._", "Q" * 300, profile.hmm.consensus * 30]
    assert differing(VITERBI, session, SequenceBatch.from_texts(nasty), profile) == 0
    assert len(session.run(VITERBI, SequenceBatch.from_texts([]), profile).values) == 0


def test_impossible_emissions(session: Session) -> None:
    """A node that cannot emit a residue at all must not wrap around 32 bits."""
    rng = np.random.default_rng(12)
    hmm = random_hmm(rng, 6, local=False)
    hmm.match[2:5, :10] = 0
    hmm.transitions[3, 1:3] = 0
    profile = to_integer_profile(hmm)
    assert differing(VITERBI, session, random_batch(rng, profile, 20, 12), profile) == 0


SHAPES = [
    ("vector", {}),
    ("vector", {"PLAIN": 1}),
    ("item", {"NODES": 8, "GROUP": 5}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 8, "GROUP": 8, "BLOCK": 2}),
    ("lanes", {"PLAIN": 1, "LANE_BACKEND": 0, "LANES": 8, "GROUP": 8}),
]


@pytest.mark.thorough(defines=[{}])
@pytest.mark.parametrize(("shape", "defines"), [(None, {}), *SHAPES])
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 5, 8, 24, 41]), local=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_cases(
    shaped_session: Session, shape: str | None, defines: dict[str, int], seed: int, n_nodes: int, local: bool
) -> None:
    rng = np.random.default_rng(seed)
    profile = random_profile(rng, n_nodes, local)
    assert differing(ViterbiStage(shape, **defines), shaped_session, random_batch(rng, profile, 6, 50), profile) == 0


@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([2, 8, 24]), local=st.booleans())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_impossible_steps(
    shaped_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int, local: bool
) -> None:
    """Any step may be impossible, begins and ways out too, and J may be out of reach or cost nothing.

    Then some sequences have no path at all. Their scores are sums with minus infinity, of which only
    that they are impossible has a meaning.
    """
    rng = np.random.default_rng(seed)
    hmm = random_hmm(rng, n_nodes, local)
    assert isinstance(hmm.settings, Hmmer2Settings)
    hmm.transitions[1:, 1:][rng.random((n_nodes, 6)) < 0.2] = 0
    hmm.settings.end[1:n_nodes][rng.random(n_nodes - 1) < 0.3] = 0
    if rng.random() < 0.3:
        hmm.settings.begin[2:][rng.random(n_nodes - 1) < 0.3] = 0
    kind = rng.integers(0, 4)
    if kind == 1:
        hmm.settings.special[1] = [1, 0]  # single hit
    elif kind == 2:
        hmm.settings.special[3] = [0.5, 0.5]  # a costly J loop
    elif kind == 3:
        hmm.settings.special[1] = [0.01, 0.99]  # J rather than C
    profile = to_integer_profile(hmm)
    batch = random_batch(rng, profile, 6, 40)
    found = shaped_session.run(ViterbiStage(shape, **defines), batch, profile).values
    expected = VITERBI.reference(batch, profile).values
    impossible = expected < IMPOSSIBLE // 2
    assert (found[~impossible] == expected[~impossible]).all()
    assert (found[impossible] < IMPOSSIBLE // 2).all()


def test_order_and_company_change_nothing(any_session: Session) -> None:
    rng = np.random.default_rng(13)
    profile = random_profile(rng, 30)
    batch = random_batch(rng, profile, 9, 80)
    texts = [batch.codes[a:b] for a, b in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)]
    forward = any_session.run(VITERBI, SequenceBatch.from_texts(texts), profile).values
    backward = any_session.run(VITERBI, SequenceBatch.from_texts(texts[::-1]), profile).values
    alone = [int(any_session.run(VITERBI, SequenceBatch.from_texts([text]), profile).values[0]) for text in texts]
    assert forward.tolist() == backward[::-1].tolist() == alone


@pytest.mark.parametrize("shape", ["vector", "lanes", "item"])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(14)
    profile = random_profile(rng, 12)
    assert differing(ViterbiStage(shape, SABOTAGE=1), shaped_session, random_batch(rng, profile, 8, 40), profile) > 0
