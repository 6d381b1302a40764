"""Envelopes on a device equal the reference: scores, alignments and digits in every bit."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.hmmer3 import local_tables
from clalign.stages.hmmer3.envelope import ENVELOPE, WHOLE, EnvelopeStage
from clalign.values.envelopes import Parts, Rescored, RowProfiles
from clalign.values.local_profiles import LocalProfile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_local_profile

SHAPES = [
    ("vector", {"LANES": 4}), ("vector", {"LANES": 8}), ("vector", {"LANES": 16}), ("vector", {"LANES": 32}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 32}), ("lanes", {"LANE_BACKEND": 0, "LANES": 8}),
    pytest.param("lanes", {"LANE_BACKEND": 0, "LANES": 8, "ROWS_IN_GLOBAL": 1}, marks=pytest.mark.thorough),
    pytest.param("lanes", {"LANE_BACKEND": 0, "LANES": 16}, marks=pytest.mark.thorough),
]  # fmt: skip
SHORT = [{}, {"LANES": 4}, {"LANE_BACKEND": 0, "LANES": 32}]
"""What a plain run has of them, beside the width that a device is given."""


def parts_of(rng: np.random.Generator, batch: SequenceBatch) -> Parts:
    """Return two parts of each sequence: all of it, and some stretch."""
    rows = np.repeat(np.flatnonzero(batch.lengths > 0), 2).astype(np.int32)
    lengths = batch.lengths[rows]
    first = np.where(np.arange(len(rows)) % 2, rng.integers(0, lengths), 0).astype(np.int32)
    last = np.where(np.arange(len(rows)) % 2, rng.integers(first + 1, lengths + 1), lengths).astype(np.int32)
    return Parts(batch, rows, first, last)


def is_same(a: Rescored | None, b: Rescored | None) -> bool:
    if a is None or b is None:
        return a is b
    same = np.array_equal(a.ratios, b.ratios) and np.array_equal(a.certainty, b.certainty)  # type: ignore[arg-type]
    return same and msgspec.structs.replace(a, ratios=b.ratios, certainty=b.certainty) == b


def differing(stage: EnvelopeStage, session: Session, parts: Parts, profiles: LocalProfile | RowProfiles) -> int:
    if isinstance(profiles, LocalProfile):
        profiles = RowProfiles.alone(profiles, len(parts.batch))
    found, expected = session.run(stage, parts, profiles), stage.reference(parts, profiles)
    assert len(found) == len(expected) == len(parts)
    return sum(not is_same(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("n_nodes", [1, 2, 9, 60, 131])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    assert differing(ENVELOPE, session, parts_of(rng, random_batch(rng, profile, 9, 80)), profile) == 0


@pytest.mark.thorough(defines=SHORT)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 5, 40]))
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_shape(team_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    parts = parts_of(rng, random_batch(rng, profile, 4, 60))
    assert differing(EnvelopeStage(shape, **defines), team_session, parts, profile) == 0


@pytest.mark.thorough(defines=SHORT)
@pytest.mark.parametrize(("shape", "defines"), [(None, {}), *SHAPES])
def test_many_profiles_at_a_time(team_session: Session, shape: str | None, defines: dict[str, int]) -> None:
    rng = np.random.default_rng(15)
    profiles = tuple(random_local_profile(rng, n_nodes) for n_nodes in (30, 2, 17))
    batch = random_batch(rng, profiles[0], 12, 60)
    of_row = rng.integers(0, 3, len(batch)).astype(np.int32)
    parts = parts_of(rng, batch)
    assert differing(EnvelopeStage(shape, **defines), team_session, parts, RowProfiles(profiles, of_row)) == 0


def test_a_domain_is_aligned_whole(any_session: Session) -> None:
    profile = random_local_profile(np.random.default_rng(2), 40)
    domain = profile.hmm.consensus
    batch = SequenceBatch.from_texts(["GGGG" + domain[:20] + domain[24:] + "GGGG"])
    parts = Parts(batch, *(np.array([value], np.int32) for value in (0, 0, int(batch.lengths[0]))))
    (found,) = any_session.run(ENVELOPE, parts, RowProfiles.alone(profile, 1))
    assert found is not None
    assert found.path.states.count("D") == 4
    assert found.path.query_range == (0, 40)
    assert found.path.target_range == (4, 40)
    assert len(found.posterior) == len(found.path.states)
    assert found.posterior.count(".") == 4
    assert "*" in found.posterior


def test_what_is_less_than_normal_numbers_is_nothing(session: Session) -> None:
    """HMMER 3.3.2 counts it as 0, which shows where a domain follows on another that scores high; hmmalign does not."""
    profile = random_local_profile(np.random.default_rng(1), 60)
    domain = profile.hmm.consensus
    batch = SequenceBatch.from_texts([domain[15:] + domain[:45]])
    parts = Parts(batch, *(np.array([value], np.int32) for value in (0, 0, int(batch.lengths[0]))))
    assert differing(ENVELOPE, session, parts, profile) == 0
    (found,) = session.run(ENVELOPE, parts, RowProfiles.alone(profile, 1))
    assert differing(WHOLE, session, parts, profile) == 0
    (other,) = session.run(WHOLE, parts, RowProfiles.alone(profile, 1))
    assert found is not None
    assert other is not None
    assert other.score - found.score > 1e-3


@pytest.mark.thorough(defines=SHORT)
@pytest.mark.parametrize(("shape", "defines"), [(None, {}), *SHAPES])
def test_whole_sequences(team_session: Session, shape: str | None, defines: dict[str, int]) -> None:
    """The certainty of each residue is that of the reference, and single steps have the digits of envelopes."""
    rng = np.random.default_rng(31)
    profile = random_local_profile(rng, 33)
    parts = parts_of(rng, random_batch(rng, profile, 9, 80))
    stage = EnvelopeStage(shape, **defines, **WHOLE.defines)
    assert differing(stage, team_session, parts, profile) == 0
    profiles = RowProfiles.alone(profile, len(parts.batch))
    digits = []
    for n, (whole, envelope) in enumerate(
        zip(team_session.run(stage, parts, profiles), team_session.run(ENVELOPE, parts, profiles), strict=True)
    ):
        assert whole is not None
        assert envelope is not None
        assert whole.certainty is not None
        assert whole.path == envelope.path
        assert len(whole.certainty) == parts.lengths[n]
        start = whole.path.residue_start - int(parts.first[n])
        steps = iter(whole.certainty[start:].tolist())
        digits.append("".join("." if state == "D" else digit_of(next(steps)) for state in whole.path.states))
        assert digits[-1] == envelope.posterior
    assert "5" in "".join(digits)


def digit_of(posterior: float) -> str:
    return "*" if posterior + 0.05 >= 1 else str(int((posterior + 0.05) * 10))


def test_unusual_letters(session: Session) -> None:
    rng = np.random.default_rng(7)
    profile = random_local_profile(rng, 20)
    domain = profile.hmm.consensus
    batch = SequenceBatch.from_texts(["*" + domain + "*", domain[:9] + "X*-.BZJ" + domain[9:], "UOXX" + domain, "X"])
    assert differing(ENVELOPE, session, parts_of(rng, batch), profile) == 0


def test_little_memory(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """What does not fit at once is cut, down to the reference for single envelopes."""
    rng = np.random.default_rng(4)
    profile = random_local_profile(rng, 30)
    parts = parts_of(rng, random_batch(rng, profile, 6, 100))
    monkeypatch.setattr(local_tables, "MEMORY_SHARE", 1.0)
    for limit in (200_000, 20_000):
        monkeypatch.setattr(session, "device", replace(session.device, max_buffer_bytes=limit))
        assert differing(ENVELOPE, session, parts, profile) == 0


@pytest.mark.thorough(shape=["vector"])
@pytest.mark.parametrize("shape", ["vector", "lanes"])
def test_planted_fault_is_noticed(team_session: Session, shape: str) -> None:
    rng = np.random.default_rng(5)
    profile = random_local_profile(rng, 30)
    parts = parts_of(rng, random_batch(rng, profile, 4, 60))
    assert differing(EnvelopeStage(shape, SABOTAGE=1), team_session, parts, profile) > 0
