"""The tracing kernel gives the reference's paths, ties included, on every device."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.formats.profiles import load_profiles
from clalign.stages.plan7 import viterbi_trace
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE, ViterbiTraceStage
from clalign.values.profiles import IntegerProfile, to_integer_profile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_hmm, random_profile


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


@pytest.mark.parametrize(
    "stage", [VITERBI_TRACE, ViterbiTraceStage("item"), ViterbiTraceStage("lanes", LANE_BACKEND=0, LANES=4)]
)
def test_ties_are_broken_as_in_hmmer(session: Session, stage: ViterbiTraceStage) -> None:
    """Repeats of one letter against a model of equal nodes: almost everything ties."""
    rng = np.random.default_rng(3)
    profile = random_profile(rng, 8)
    profile.match[:, 1:] = 100
    profile.insert[:, 1:8] = 100
    profile.transitions[:, 1:8] = -1
    batch = SequenceBatch.from_texts(["A" * n for n in (1, 2, 5, 8, 9, 30)])
    assert differing(stage, session, batch, profile) == 0


MINI = """HMMER2.0
NAME  mini
LENG  3
ALPH  Amino
XT    -8455 -4 -1000 -1000 -8455 -4 -8455 -4
NULT  -4 -8455
NULE  0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
HMM   A C D E F G H I K L M N P Q R S T V W Y
 m->m
 0 * *
1 0 1000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
- 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
- -10 -7000 * -1000 -1000 -1000 -1000 0 *
2 0 0 1000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
- 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
- -10 -7000 * -1000 -1000 -1000 -1000 * *
3 0 0 0 1000 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
- * * * * * * * * * * * * * * * * * * * *
- * * * * * * * * 0
//
"""


def test_paths_through_impossible_transitions_are_none(any_session: Session, tmp_path: Path) -> None:
    """A glocal model without deletes has no path for a sequence shorter than itself; HMMER reports none."""
    path = tmp_path / "mini.hmm"
    path.write_text(MINI)
    profile = to_integer_profile(load_profiles(str(path))[0])
    batch = SequenceBatch.from_texts(["DE", "ACDEFAA", "D", "CDE"])
    paths = any_session.run(VITERBI_TRACE, batch, profile)
    assert [path and [domain.states for domain in path] for path in paths] == [None, ["MMM"], None, ["MMM"]]
    assert differing(VITERBI_TRACE, any_session, batch, profile) == 0


@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(2, 7))
@settings(max_examples=40, deadline=None)
def test_zero_probabilities(session: Session, seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    hmm = random_hmm(rng, n_nodes, local=False)
    hmm.transitions[1:n_nodes, 1:][rng.random((n_nodes - 1, 6)) < 0.5] = 0
    hmm.match[1:][rng.random((n_nodes, 20)) < 0.2] = 0
    profile = to_integer_profile(hmm)
    assert differing(VITERBI_TRACE, session, random_batch(rng, profile, 6, 12), profile) == 0


def test_little_memory(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where directions do not fit, batches are cut, down to the reference for single sequences."""
    rng = np.random.default_rng(4)
    profile = random_profile(rng, 30)
    batch = random_batch(rng, profile, 9, 100)
    monkeypatch.setattr(viterbi_trace, "MEMORY_SHARE", 1.0)
    for limit in (20_000, 2_000):
        monkeypatch.setattr(session, "device", replace(session.device, max_buffer_bytes=limit))
        assert differing(VITERBI_TRACE, session, batch, profile) == 0


SHAPES = [
    ("item", {}), ("vector", {}), ("vector", {"LANES": 16}), ("lanes", {"LANE_BACKEND": 0}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 16}), ("lanes", {"LANE_BACKEND": 0, "LANES": 4}),
]  # fmt: skip


@pytest.mark.thorough(defines=[{}, {"LANE_BACKEND": 0}])
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int]) -> None:
    rng = np.random.default_rng(6)
    for n_nodes in (1, 8, 17, 50):
        for local in (True, False):
            profile = random_profile(rng, n_nodes, local)
            batch = random_batch(rng, profile, 9, 60)
            assert differing(ViterbiTraceStage(shape, **defines), shaped_session, batch, profile) == 0


def test_many_nodes_a_lane(session: Session) -> None:
    rng = np.random.default_rng(8)
    profile = random_profile(rng, 300)
    stage = ViterbiTraceStage("lanes", LANE_BACKEND=0, LANES=4)
    assert differing(stage, session, random_batch(rng, profile, 3, 40), profile) == 0


@pytest.mark.thorough
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(1, 40), lanes=st.sampled_from([4, 32]))
@settings(max_examples=25, deadline=None)
def test_lanes_at_random(session: Session, seed: int, n_nodes: int, lanes: int) -> None:
    rng = np.random.default_rng(seed)
    hmm = random_hmm(rng, n_nodes, local=bool(seed % 2))
    hmm.transitions[1:n_nodes, 1:][rng.random((n_nodes - 1, 6)) < 0.1] = 0
    profile = to_integer_profile(hmm)
    stage = ViterbiTraceStage("lanes", LANE_BACKEND=0, LANES=lanes)
    assert differing(stage, session, random_batch(rng, profile, 5, 50), profile) == 0


@pytest.mark.parametrize("shape", ["lanes", "item", "vector"])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(5)
    profile = random_profile(rng, 10)
    assert (
        differing(ViterbiTraceStage(shape, SABOTAGE=1), shaped_session, random_batch(rng, profile, 10, 60), profile) > 0
    )
