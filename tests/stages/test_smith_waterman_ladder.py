"""The ladder's kernels align as the reference does, whatever is chosen on their axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.stages.pairwise import smith_waterman_ladder
from clalign.stages.pairwise.smith_waterman_ladder import PairLadderChoices, PairLadderStage, SequentialLadderStage
from clalign.values.alphabets import encode
from clalign.values.pair_alignments import path_score
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, Scoring, SubstitutionMatrix
from clalign.values.sequences import SequenceBatch

GROUP = 32
"""Kept small here, so that a work-item has several cells of a diagonal."""

CHOICES = (
    {},
    {"maximum": "device"},
    {"maximum": "device", "path": "device"},
    {"maximum": "device", "scores": "local"},
    {"maximum": "device", "scores": "local", "path": "device"},
)
"""All that can be combined."""

SCORING = Scoring(SubstitutionMatrix.match_mismatch(1, -1), GapCosts(2, 2))
NUCLEOTIDES = encode("ACGT")


EACH = (CHOICES[0], CHOICES[-1])
"""Those of them that have each choice of each axis once."""


def stages(choices: Iterable[Mapping[str, str]] = CHOICES, **defines: int) -> list[Any]:
    parallel = [PairLadderStage(PairLadderChoices(**choice, group=GROUP), **defines) for choice in choices]
    return [SequentialLadderStage(**defines), *parallel]


def random_pairs(rng: np.random.Generator, n: int, longest: int, letters: int = 4) -> PairBatch:
    """Return pairs with much in common, of all lengths from 0; sequences are in several pairs."""
    common = NUCLEOTIDES[rng.integers(0, letters, longest)]
    texts = []
    for _ in range(2 * n):
        text = np.where(rng.random(longest) < 0.7, common, NUCLEOTIDES[rng.integers(0, letters, longest)])
        texts.append(np.delete(text, rng.integers(0, longest, longest // 9))[: rng.integers(0, longest + 1)])
    queries, targets = SequenceBatch.from_texts(texts[:n]), SequenceBatch.from_texts(texts[n:])
    rows = [rng.integers(0, n, n).astype(np.int32) for _ in range(2)]
    return PairBatch(queries, targets, *rows)


def check_all(
    session: Session, batch: PairBatch, scoring: Scoring = SCORING, choices: Iterable[Mapping[str, str]] = CHOICES
) -> None:
    """Compare every stage with the reference; every path must be worth its score."""
    expected = SequentialLadderStage().reference(batch, scoring)
    for alignment, query, target in zip(expected, batch.query_rows, batch.target_rows, strict=True):
        pair = batch.queries.residues(int(query)), batch.targets.residues(int(target))
        assert path_score(alignment, *pair, scoring) == alignment.score
    for stage in stages(choices):
        assert session.run(stage, batch, scoring) == expected, getattr(stage, "choices", "sequential")


@pytest.mark.thorough
@given(
    seed=st.integers(0, 2**32 - 1),
    longest=st.sampled_from([1, 2, 31, 32, 33, 64]),
    letters=st.integers(1, 4),
    scores=st.sampled_from([(1, -1, 2), (2, -3, 5), (5, -4, 1), (1, -1, 1), (3, 0, 0)]),
)
@settings(max_examples=12, deadline=None)
def test_random_pairs(session: Session, seed: int, longest: int, letters: int, scores: tuple[int, int, int]) -> None:
    match, mismatch, gap = scores
    scoring = Scoring(SubstitutionMatrix.match_mismatch(match, mismatch), GapCosts(gap, gap))
    check_all(session, random_pairs(np.random.default_rng(seed), 5, longest, letters), scoring)


def test_nasty_pairs(session: Session) -> None:
    queries = ["", "A", "C", "ACGT" * 16, "A" * 50, "ACACAC", "GATTACA", ""]
    targets = ["ACGT", "A", "G", "ACGT" * 16, "A" * 49, "CACACA", "GCATGCT", ""]
    texts = (SequenceBatch.from_texts(given) for given in (queries, targets))
    check_all(session, PairBatch.in_step(*texts), choices=EACH)
    nothing = SequenceBatch.from_texts([])
    for stage in stages(EACH):
        assert session.run(stage, PairBatch.in_step(nothing, nothing), SCORING) == []


def test_little_memory(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the matrices of all pairs do not fit, they are aligned part by part."""
    monkeypatch.setattr(session, "device", replace(session.device, max_buffer_bytes=4 * 31 * 31 * 4))
    monkeypatch.setattr(smith_waterman_ladder, "CELLS_PER_LAUNCH", 2000)
    check_all(session, random_pairs(np.random.default_rng(2), 7, 30), choices=EACH)


def test_planted_fault_is_noticed(session: Session) -> None:
    batch = random_pairs(np.random.default_rng(5), 12, 60)
    expected = SequentialLadderStage().reference(batch, SCORING)
    for stage in stages(EACH, SABOTAGE=1):
        assert session.run(stage, batch, SCORING) != expected
