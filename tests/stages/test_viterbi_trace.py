"""The tracing kernel gives the reference's paths, ties included, on every device."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.devices import Device
from clalign.profiles import IntegerProfile
from clalign.reference.cases import random_batch, random_profile
from clalign.sequences import SequenceBatch
from clalign.sessions import Session, open_session
from clalign.stages import viterbi_trace
from clalign.stages.viterbi_trace import VITERBI_TRACE, ViterbiTraceStage


@pytest.fixture(scope="module")
def session(device: Device) -> Iterator[Session]:
    with open_session(device) as opened:
        yield opened


@pytest.fixture
def opencl_session(session: Session) -> Session:
    if session.device.kind == "reference":
        pytest.skip("the reference builds no kernel")
    return session


@pytest.fixture
def shaped_session(session: Session, shape: str) -> Session:
    if shape == "vector" and session.device.kind == "gpu":
        pytest.skip("explicit vectors are the shape for CPUs and do not build for every GPU")
    return session


def differing(stage: ViterbiTraceStage, session: Session, batch: SequenceBatch, profile: IntegerProfile) -> int:
    found, expected = session.run(stage, batch, profile), VITERBI_TRACE.reference(batch, profile)
    assert len(found) == len(expected) == len(batch)
    return sum(a != b for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("n_nodes", [1, 2, 9, 60])
@pytest.mark.parametrize("local", [True, False])
def test_paths(session: Session, n_nodes: int, local: bool) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_profile(rng, n_nodes, local)
    batch = random_batch(rng, profile, 12, 80)
    assert differing(VITERBI_TRACE, session, batch, profile) == 0
    paths = VITERBI_TRACE.reference(batch, profile)
    several = max(len(path) for path in paths if path) > 1
    assert several or n_nodes < 9, "the cases must hold sequences with several domains"


@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(1, 15), local=st.booleans())
@settings(max_examples=25, deadline=None)
def test_random_paths(session: Session, seed: int, n_nodes: int, local: bool) -> None:
    rng = np.random.default_rng(seed)
    profile = random_profile(rng, n_nodes, local)
    assert differing(VITERBI_TRACE, session, random_batch(rng, profile, 5, 40), profile) == 0


def test_ties_are_broken_as_in_hmmer(session: Session) -> None:
    """Repeats of one letter against a model of equal nodes: almost everything ties."""
    rng = np.random.default_rng(3)
    profile = random_profile(rng, 8)
    profile.match[:, 1:] = 100
    profile.insert[:, 1:8] = 100
    profile.transitions[:, 1:8] = -1
    batch = SequenceBatch.from_texts(["A" * n for n in (1, 2, 5, 8, 9, 30)])
    assert differing(VITERBI_TRACE, session, batch, profile) == 0


def test_little_memory(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where directions do not fit, batches are cut, down to the reference for single sequences."""
    rng = np.random.default_rng(4)
    profile = random_profile(rng, 30)
    batch = random_batch(rng, profile, 9, 100)
    for limit in (20_000, 2_000):
        share = limit / (session.device.max_buffer_bytes or 1)
        monkeypatch.setattr(viterbi_trace, "MEMORY_SHARE", share)
        assert differing(VITERBI_TRACE, session, batch, profile) == 0


@pytest.mark.parametrize(("shape", "defines"), [("item", {}), ("vector", {}), ("vector", {"LANES": 16})])
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int]) -> None:
    rng = np.random.default_rng(6)
    for n_nodes in (1, 8, 17, 50):
        for local in (True, False):
            profile = random_profile(rng, n_nodes, local)
            batch = random_batch(rng, profile, 9, 60)
            assert differing(ViterbiTraceStage(shape, **defines), shaped_session, batch, profile) == 0


@pytest.mark.parametrize("shape", ["item", "vector"])
def test_planted_fault_is_noticed(opencl_session: Session, shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(5)
    profile = random_profile(rng, 10)
    assert (
        differing(ViterbiTraceStage(shape, SABOTAGE=1), shaped_session, random_batch(rng, profile, 10, 60), profile) > 0
    )
