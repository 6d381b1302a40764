"""Decoding on a device equals the reference in every bit, in every shape."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.decoding import DECODING, N_ROWS, DecodingStage
from clalign.stages.hmmer3.local_tables import Problems, portions, programs_of
from clalign.values.devices import Device
from clalign.values.envelopes import Decoded, RowProfiles
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_profile

SHAPES = [
    ("vector", {"LANES": 4}), ("vector", {"LANES": 8}), ("vector", {"LANES": 16}), ("vector", {"LANES": 32}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 32}), ("lanes", {"LANE_BACKEND": 0, "LANES": 8}),
    pytest.param("lanes", {"LANE_BACKEND": 0, "LANES": 8, "ROWS_IN_GLOBAL": 1}, marks=pytest.mark.thorough),
    pytest.param("lanes", {"LANE_BACKEND": 0, "LANES": 16}, marks=pytest.mark.thorough),
]  # fmt: skip
SHORT = [{}, {"LANES": 4}, {"LANE_BACKEND": 0, "LANES": 32}]
"""What a plain run has of them, beside the width that a device is given."""


def differing(
    stage: DecodingStage,
    session: Session,
    batch: SequenceBatch,
    profiles: LocalProfile | RowProfiles,
    expected: Sequence[Decoded] = (),
) -> int:
    """Return how many targets differ; texts, since no number equals no number."""
    if isinstance(profiles, LocalProfile):
        profiles = RowProfiles.alone(profiles, len(batch))
    found, expected = session.run(stage, batch, profiles), expected or DECODING.reference(batch, profiles)
    assert len(found) == len(expected) == len(batch)
    return sum(repr(a) != repr(b) for a, b in zip(found, expected, strict=True))


def repeats(rng: np.random.Generator, profile: LocalProfile, n: int) -> SequenceBatch:
    """Return targets with up to three whole or broken domains each, among other residues."""
    domain = profile.hmm.consensus
    texts = []
    for row in range(n):
        parts = []
        for _ in range(row % 4):
            first = rng.integers(0, 1 + len(domain) // 3)
            parts += [SequenceBatch.from_texts([domain[first:]]).codes, random_codes(rng, int(rng.integers(0, 30)))]
        texts.append(np.concatenate([random_codes(rng, int(rng.integers(1, 30))), *parts]))
    return SequenceBatch.from_texts(texts)


@pytest.mark.parametrize("n_nodes", [1, 2, 7, 60, 131])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    batch = repeats(rng, profile, 9)
    expected = DECODING.reference(batch, RowProfiles.alone(profile, 9))
    assert differing(DECODING, session, batch, profile, expected) == 0
    regions = [region for target in expected for region in target.regions]
    assert n_nodes < 60 or len({region.is_multiple for region in regions}) == 2, "both kinds must occur"


@pytest.mark.thorough(defines=SHORT)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 5, 40]))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_shape(team_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    assert differing(DecodingStage(shape, **defines), team_session, repeats(rng, profile, 7), profile) == 0


@pytest.mark.thorough(defines=SHORT)
@pytest.mark.parametrize(("shape", "defines"), [(None, {}), *SHAPES])
def test_many_profiles_at_a_time(team_session: Session, shape: str | None, defines: dict[str, int]) -> None:
    """Targets of each stand beside each other, whatever their order and however many they are."""
    rng = np.random.default_rng(17)
    lengths = (40, 1, 9, 25)
    profiles = tuple(random_local_profile(rng, n_nodes) for n_nodes in lengths)
    of_row = np.array([0, 1, 0, 3, 0, 3, 0, 0, 1, 0], np.int32)  # none goes with the third
    batches = [repeats(rng, profile, 10) for profile in profiles]
    batch = SequenceBatch.from_texts([*(batches[of_row[row]].residues(row) for row in range(9)), ""])
    assert differing(DecodingStage(shape, **defines), team_session, batch, RowProfiles(profiles, of_row)) == 0


def test_nothing_to_match(any_session: Session) -> None:
    """Empty targets have no score, and those that no node matches minus infinity; neither has a region."""
    profile = random_local_profile(np.random.default_rng(1), 12)
    batch = SequenceBatch.from_texts(["", "***", "A", profile.hmm.consensus * 2])
    found = any_session.run(DECODING, batch, RowProfiles.alone(profile, 4))
    assert math.isnan(found[0].forward)
    assert found[0].expected == 0
    assert found[1].forward == -math.inf
    assert not found[1].regions
    assert differing(DECODING, any_session, batch, profile) == 0
    assert any_session.run(DECODING, SequenceBatch.from_texts([]), RowProfiles.alone(profile, 0)) == []


def test_score_is_forwards(any_session: Session) -> None:
    """The sums in HMMER's order come near to those in double precision."""
    from clalign.reference.forward import forward_score

    rng = np.random.default_rng(4)
    profile = random_local_profile(rng, 50)
    batch = random_batch(rng, profile, 6, 90)
    scores = [target.forward for target in any_session.run(DECODING, batch, RowProfiles.alone(profile, 6))]
    assert scores == pytest.approx([forward_score(batch.residues(row), profile) for row in range(6)], abs=1e-4)


@pytest.mark.thorough(shape=["vector"])
@pytest.mark.parametrize("shape", ["vector", "lanes"])
def test_planted_fault_is_noticed(team_session: Session, shape: str) -> None:
    rng = np.random.default_rng(5)
    profile = random_local_profile(rng, 30)
    assert differing(DecodingStage(shape, SABOTAGE=1), team_session, repeats(rng, profile, 8), profile) > 0


@pytest.mark.parametrize(
    ("version", "of_each", "width"),
    [
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-sapphirerapids", (32, 32), 32),
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-sapphirerapids", (4,) * 8, 16),
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-sapphirerapids", (3,), 4),
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-haswell", (32, 32), 16),
        ("OpenCL 3.0 PoCL HSTR: pthread-x86_64-pc-linux-gnu-haswell", (4, 4), 8),
    ],
)
def test_vectors_are_as_wide_as_they_are_filled(version: str, of_each: tuple[int, ...], width: int) -> None:
    device = Device("0:0", "a processor", "cpu", opencl_version=version, n_compute_units=2, max_buffer_bytes=2**30)
    model_of = np.repeat(np.arange(len(of_each)), of_each)
    sizes = np.full(len(model_of), 100)
    problems = Problems(sizes, model_of.astype(np.int32), sizes // 4, sizes)
    found, left = portions(DECODING, device, problems, N_ROWS, lambda p, slots: (slots,))
    assert [portion.defines["LANES"] for portion in found] == [width]
    assert not len(left)
    assert found[0].defines in [choice.defines for choice in programs_of(DECODING, device)]


def test_rows_that_exceed_local_memory_are_in_global() -> None:
    card = Device("0:0", "a card", "gpu", n_compute_units=2, max_buffer_bytes=2**30, local_bytes=2**15)
    vectors = np.array([10, 400, 20], np.int64)
    problems = Problems(np.full(3, 100), np.arange(3, dtype=np.int32), vectors, 4 * vectors)
    found, left = portions(DECODING, card, problems, N_ROWS, lambda p, slots: (slots,))
    assert [(portion.order.tolist(), portion.defines.get("ROWS_IN_GLOBAL", 0)) for portion in found] == [
        ([1], 1), ([2, 0], 0),
    ]  # fmt: skip
    assert [portion.row_room for portion in found] == [7 * 400, 7 * 20]
    assert not len(left)
