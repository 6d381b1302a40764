"""SSV on a device equals the reference: every shape, long sequences in pieces, rare letters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.hmmer3.ssv import SSV, SsvStage, pieces_of
from clalign.values.local_profiles import LocalProfile, byte_scores
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_codes, random_local_hmm, random_local_profile

SHAPES = [
    ("vector", {}),
    ("vector", {"LANES": 16, "SEQUENCES": 1}),
    ("vector", {"LANES": 16, "SEQUENCES": 2}),
    ("vector", {"LANES": 32, "SEQUENCES": 1}),
    ("vector", {"LANES": 32, "SEQUENCES": 3}),
    ("vector", {"LANES": 64, "SEQUENCES": 1}),
    ("item", {}),
    ("item", {"NODES": 6, "GROUP": 32}),
    ("item", {"NODES": 40, "GROUP": 32}),
]


def n_differing(stage: SsvStage, session: Session, batch: SequenceBatch, profile: LocalProfile) -> int:
    """Rows that a shape leaves out, because of rare letters, are 0; they must be few."""
    found, expected = session.run(stage, batch, profile), SSV.reference(batch, profile)
    scored = found > 0
    rare = [any(letter in "BJZ" for letter in text(batch, row)) for row in range(len(batch))]
    assert (scored | rare | (batch.lengths == 0)).all()
    return int((found != expected)[scored].sum())


def text(batch: SequenceBatch, row: int) -> str:
    from clalign.values.alphabets import decode

    return decode(batch.residues(row))


@pytest.mark.parametrize("n_nodes", [1, 31, 33, 48, 49, 128, 129, 200, 513])
def test_default_shape(session: Session, n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    profile = random_local_profile(rng, n_nodes)
    assert n_differing(SSV, session, random_batch(rng, profile, 15, 80), profile) == 0


@pytest.mark.thorough(defines=[{}])
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.sampled_from([1, 2, 16, 41, 90]))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int], seed: int, n_nodes: int) -> None:
    rng = np.random.default_rng(seed)
    profile = random_local_profile(rng, n_nodes)
    assert n_differing(SsvStage(shape, **defines), shaped_session, random_batch(rng, profile, 9, 70), profile) == 0


@pytest.mark.parametrize("shape", ["vector", "item"])
def test_large_model_and_long_sequences(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(3)
    profile = random_local_profile(rng, 700)
    texts = [random_codes(rng, 9000), random_codes(rng, 4097), random_codes(rng, 4096), random_codes(rng, 20)]
    texts[0][5000:5700] = [ord(letter.upper()) - ord("A") for letter in profile.hmm.consensus]
    batch = SequenceBatch.from_texts(texts)
    assert n_differing(SsvStage(shape), shaped_session, batch, profile) == 0


@pytest.mark.parametrize("shape", ["vector", "item"])
def test_best_alignment_across_every_cut(shaped_session: Session, shape: str) -> None:
    """Wherever the consensus lies in a long sequence, a piece holds all of it."""
    rng = np.random.default_rng(4)
    profile = random_local_profile(rng, 250)
    consensus = np.array([ord(letter.upper()) - ord("A") for letter in profile.hmm.consensus], np.uint8)
    texts = []
    for place in range(600, 1200, 40):
        codes = random_codes(rng, 2000)
        codes[place : place + 250] = consensus
        texts.append(codes)
    assert n_differing(SsvStage(shape), shaped_session, SequenceBatch.from_texts(texts), profile) == 0


def test_pieces_cover_every_window() -> None:
    offsets = np.array([0, 0, 5, 1029, 2054, 9054], np.int32)
    starts, lengths, targets = pieces_of(offsets, 256, 1024)
    assert (lengths[:-1] >= lengths[1:]).all()
    for row in range(1, 5):
        mine = targets == row
        pieces = sorted(zip((starts[mine] - offsets[row]).tolist(), lengths[mine].tolist(), strict=True))
        total = int(offsets[row + 1] - offsets[row])
        for begin in range(0, max(1, total - 256 + 1)):
            end = min(begin + 256, total)
            assert any(start <= begin and start + length >= end for start, length in pieces)


def test_impossible_emissions(session: Session) -> None:
    rng = np.random.default_rng(5)
    hmm = random_local_hmm(rng, 20)
    hmm.match[3:9, :12] = 0
    from clalign.values.local_profiles import to_local_profile

    profile = to_local_profile(hmm)
    assert (byte_scores(profile).costs == 255).any()
    assert n_differing(SSV, session, random_batch(rng, profile, 12, 60), profile) == 0


def test_nothing(session: Session) -> None:
    profile = random_local_profile(np.random.default_rng(6), 12)
    assert len(session.run(SSV, SequenceBatch.from_texts([]), profile)) == 0
    assert n_differing(SSV, session, SequenceBatch.from_texts(["", "A", "*", "X" * 40, "B"]), profile) == 0


@pytest.mark.parametrize("shape", ["vector", "item"])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str) -> None:
    rng = np.random.default_rng(7)
    profile = random_local_profile(rng, 30)
    assert n_differing(SsvStage(shape, SABOTAGE=1), shaped_session, random_batch(rng, profile, 8, 40), profile) > 0
