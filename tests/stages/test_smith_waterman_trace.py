"""The tracing kernels give the reference's alignments, ties included, on every device and in every mode."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.errors import OptionError
from clalign.reference.smith_waterman_trace import _matrices, pair_alignment
from clalign.stages.pairwise import smith_waterman_trace_lanes, smith_waterman_trace_vector
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE, SmithWatermanTraceStage
from clalign.stages.pairwise.smith_waterman_trace_plan import chosen_pairs, least_scores, scores_fit
from clalign.values.pair_alignments import path_score
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import MODES, GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

AMINO = "ACDEFGHIKLMNPQRSTVWY"
SMALL_LANES = {"LANE_BACKEND": 0, "LANES": 4, "ROWS": 2, "COLUMNS": 16}
"""Blocks so small that short sequences have many."""

SHAPES = [
    ("vector", {}), ("vector", {"WIDTH": 32, "LANES": 4, "BLOCK": 16}),
    ("lanes", SMALL_LANES), ("lanes", {"LANE_BACKEND": 0, "LANES": 16, "ROWS": 9}),
]  # fmt: skip

DNA = SubstitutionMatrix.match_mismatch(1, -1)


def asymmetric_matrix(seed: int, letters: str = AMINO + "X*") -> SubstitutionMatrix:
    table = np.random.default_rng(seed).integers(-6, 7, (len(letters), len(letters)))
    table[0, 0] = 5
    return SubstitutionMatrix.from_table("asymmetric", letters, table, False)


def random_texts(rng: np.random.Generator, n: int, shortest: int, longest: int, letters: str) -> list[str]:
    lengths = rng.integers(shortest, longest + 1, n)
    return ["".join(rng.choice(list(letters), length)) for length in lengths]


def random_pairs(rng: np.random.Generator, n: int, longest: int, letters: str, shortest: int = 0) -> PairBatch:
    """Return random pairs; every third target is an altered copy of its query."""
    queries, targets = (random_texts(rng, n, shortest, longest, letters) for _ in range(2))
    for row in range(0, n, 3):
        copy = [letter for letter in queries[row] if rng.random() > 0.1]
        for place in np.flatnonzero(rng.random(len(copy)) < 0.15):
            copy[place] = str(rng.choice(list(letters))) * int(rng.integers(1, 4))
        targets[row] = "".join(copy)[: max(longest, 1)] or letters[0]
    return PairBatch.in_step(SequenceBatch.from_texts(queries), SequenceBatch.from_texts(targets))


def differing(stage: Any, session: Session, batch: PairBatch, scoring: Scoring) -> int:
    found, expected = session.run(stage, batch, scoring), SMITH_WATERMAN_TRACE.reference(batch, scoring)
    assert len(found) == len(expected) == len(batch)
    return sum(a != b for a, b in zip(found, expected, strict=True))


def rescored(found: list[Any], batch: PairBatch, scoring: Scoring) -> bool:
    """Return whether every path is worth its score, lies in its ranges and ends where it can."""
    return all(
        path_score(alignment, batch.queries.residues(q), batch.targets.residues(t), scoring) == alignment.score
        and alignment.query_range[1] - alignment.query_range[0] == len(alignment.path) - alignment.path.count("D")
        and alignment.target_range[1] - alignment.target_range[0] == len(alignment.path) - alignment.path.count("I")
        for alignment, q, t in zip(found, batch.query_rows, batch.target_rows, strict=True)
    )


@pytest.mark.thorough(mode=["local"], defines=[{}, SMALL_LANES])
@pytest.mark.exhaustive(mode=["local", "semiglobal"])
@pytest.mark.exhaustive(defines=[{}, SMALL_LANES])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_every_shape(shaped_session: Session, shape: str, defines: dict[str, int], mode: Mode) -> None:
    rng = np.random.default_rng(1)
    stage = SmithWatermanTraceStage(shape, **defines)
    for matrix, letters, gaps in (
        (DNA, "ACGTN", GapCosts(2, 2)),
        (SubstitutionMatrix.match_mismatch(5, -4), "ACG", GapCosts(10, 1)),
        (asymmetric_matrix(1), AMINO + "UX*-", GapCosts(4, 1)),
    ):
        batch, scoring = random_pairs(rng, 9, 70, letters), Scoring(matrix, gaps, mode)
        assert differing(stage, shaped_session, batch, scoring) == 0
        assert rescored(shaped_session.run(stage, batch, scoring), batch, scoring)


MATRICES = st.one_of(
    st.sampled_from([(1, -1), (5, -4), (2, 1), (1, 0), (127, -127)]).map(
        lambda scores: (SubstitutionMatrix.match_mismatch(*scores), "ACN")
    ),
    st.integers(0, 9).map(lambda seed: (asymmetric_matrix(seed), AMINO + "*BZ-")),
)
GAPS = st.sampled_from([(0, 0), (1, 0), (2, 2), (3, 1), (12, 1), (200, 100), (1000, 1000)])


@pytest.mark.thorough
@given(seed=st.integers(0, 2**32 - 1), matrix=MATRICES, gaps=GAPS, mode=st.sampled_from(MODES))
@settings(max_examples=40, deadline=None)
def test_random_pairs(session: Session, seed: int, matrix: Any, gaps: tuple[int, int], mode: Mode) -> None:
    batch = random_pairs(np.random.default_rng(seed), 1 + seed % 37, (6, 40, 90)[seed % 3], matrix[1])
    assert differing(SMITH_WATERMAN_TRACE, session, batch, Scoring(matrix[0], GapCosts(*gaps), mode)) == 0


@pytest.mark.thorough
@given(seed=st.integers(0, 2**32 - 1), matrix=MATRICES, gaps=GAPS, mode=st.sampled_from(MODES))
@settings(max_examples=25, deadline=None)
def test_lanes_at_random(session: Session, seed: int, matrix: Any, gaps: tuple[int, int], mode: Mode) -> None:
    stage = SmithWatermanTraceStage("lanes", **SMALL_LANES)
    batch = random_pairs(np.random.default_rng(seed), 1 + seed % 7, (6, 40, 90)[seed % 3], matrix[1])
    assert differing(stage, session, batch, Scoring(matrix[0], GapCosts(*gaps), mode)) == 0


@pytest.mark.thorough(mode=["local"], defines=[{}, SMALL_LANES])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_ties(shaped_session: Session, shape: str, defines: dict[str, int], mode: Mode) -> None:
    """Repeats of one letter and gaps that cost nothing: almost everything ties, across the borders of blocks, too."""
    texts = ["A" * n for n in (1, 31, 32, 33, 66)] + ["AC" * 20]
    sequences = SequenceBatch.from_texts(texts)
    rows = np.indices((len(texts), len(texts))).reshape(2, -1).astype(np.int32)
    batch = PairBatch(sequences, sequences, rows[0], rows[1])
    for gaps in (GapCosts(0, 0), GapCosts(1, 0)):
        stage = SmithWatermanTraceStage(shape, **defines)
        assert differing(stage, shaped_session, batch, Scoring(DNA, gaps, mode)) == 0


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", MODES)
def test_nothing_to_align(session: Session, mode: Mode) -> None:
    scoring = Scoring(DNA, GapCosts(2, 1), mode)
    texts = ["", "A", "CC", "", "GGGG"]
    batch = PairBatch.in_step(SequenceBatch.from_texts(texts), SequenceBatch.from_texts(["T", "T", "GGG", "", ""]))
    assert differing(SMITH_WATERMAN_TRACE, session, batch, scoring) == 0
    none = SequenceBatch.from_texts([])
    assert session.run(SMITH_WATERMAN_TRACE, PairBatch.in_step(none, none), scoring) == []


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize(("shape", "defines"), [("vector", {}), ("lanes", SMALL_LANES)])
@pytest.mark.parametrize("mode", MODES)
def test_high_scores(shaped_session: Session, shape: str, defines: dict[str, int], mode: Mode) -> None:
    """Where 8 bits, then 16, are too few for a score; beside pairs for which they do."""
    texts = random_texts(np.random.default_rng(2), 4, 130, 140, "ACGT")
    others = [texts[0] + texts[1], texts[1][:40], "A", "T" * 50]
    batch = PairBatch.in_step(SequenceBatch.from_texts(texts), SequenceBatch.from_texts(others))
    stage = SmithWatermanTraceStage(shape, **defines)
    for scores in (2, -3), (127, -100):
        scoring = Scoring(SubstitutionMatrix.match_mismatch(*scores), GapCosts(300, 20), mode)
        assert differing(stage, shaped_session, batch, scoring) == 0


@pytest.mark.parametrize(("shape", "defines"), [("vector", {}), ("lanes", SMALL_LANES)])
def test_scores_beyond_16_bits(shaped_session: Session, shape: str, defines: dict[str, int]) -> None:
    texts = random_texts(np.random.default_rng(3), 2, 540, 550, "ACGT")
    batch = PairBatch.in_step(SequenceBatch.from_texts(texts), SequenceBatch.from_texts([texts[0], texts[1][:200]]))
    scoring = Scoring(SubstitutionMatrix.match_mismatch(127, -100), GapCosts(30, 2))
    stage = SmithWatermanTraceStage(shape, **defines)
    assert differing(stage, shaped_session, batch, scoring) == 0
    found = shaped_session.run(stage, batch, scoring)
    assert found[0].score == 127 * len(texts[0]) > 2**16
    assert found[1].score == 127 * 200


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", ["local", "global", "semiglobal"])
def test_very_different_lengths(session: Session, mode: Mode) -> None:
    rng = np.random.default_rng(3)
    texts = random_texts(rng, 6, 1, 4, "ACGT") + random_texts(rng, 2, 290, 300, "ACGT")
    sequences = SequenceBatch.from_texts(texts)
    rows = np.indices((8, 8)).reshape(2, -1)[:, rng.permutation(64)[:30]].astype(np.int32)
    batch = PairBatch(sequences, sequences, rows[0], rows[1])
    assert differing(SMITH_WATERMAN_TRACE, session, batch, Scoring(DNA, GapCosts(2, 1), mode)) == 0


def test_many_pairs_of_one_query(session: Session) -> None:
    rng = np.random.default_rng(4)
    query = SequenceBatch.from_texts(random_texts(rng, 1, 60, 60, AMINO)).residues(0)
    targets = SequenceBatch.from_texts(random_texts(rng, 700, 0, 60, AMINO))
    scoring = Scoring(asymmetric_matrix(4), GapCosts(8, 2))
    batch = PairBatch.of_query(query, targets)
    found = session.run(SMITH_WATERMAN_TRACE, batch, scoring)
    assert rescored(found, batch, scoring)
    pairwise = PairwiseQuery(Sequence("", "", query), scoring)
    for row in range(0, len(batch), 23):
        assert found[row] == pair_alignment(pairwise, targets.residues(row))


@pytest.mark.thorough(mode=["global"])
@pytest.mark.parametrize("mode", MODES)
def test_portions(session: Session, monkeypatch: pytest.MonkeyPatch, mode: Mode) -> None:
    """What does not fit the memory at once is done in portions, pairs of one block and of several apart."""
    batch = random_pairs(np.random.default_rng(5), 20, 60, "ACGT")
    monkeypatch.setattr(smith_waterman_trace_lanes, "MAX_SCRATCH", 4000)
    stage = SmithWatermanTraceStage("lanes", **SMALL_LANES)
    assert differing(stage, session, batch, Scoring(DNA, GapCosts(2, 1), mode)) == 0


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", MODES)
def test_pairs_one_by_one(session: Session, monkeypatch: pytest.MonkeyPatch, mode: Mode) -> None:
    """On a CPU long pairs are done by themselves."""
    rng = np.random.default_rng(8)
    if session.device.kind == "gpu":
        pytest.skip("explicit vectors are the shape for CPUs and do not build for every GPU")
    stage = SmithWatermanTraceStage("vector")
    for matrix, letters in ((DNA, "ACGT"), (asymmetric_matrix(8), AMINO)):
        batch, scoring = random_pairs(rng, 3, 150, letters, shortest=1), Scoring(matrix, GapCosts(3, 1), mode)
        monkeypatch.setattr(smith_waterman_trace_vector, "MAX_GROUP_BYTES", 0)
        assert differing(stage, session, batch, scoring) == 0


LONG_CUTS = [
    ("vector", {}, {}),
    ("lanes", {"LANE_BACKEND": 0, "LANES": 16, "ROWS": 9}, {"LANE_BACKEND": 0, "LANES": 16, "ROWS": 9, "COLUMNS": 300}),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("shape", "defines", "others"), LONG_CUTS)
@pytest.mark.parametrize("mode", ["local", "global"])
def test_long_pair(
    shaped_session: Session,
    shape: str,
    defines: dict[str, int],
    others: dict[str, int],
    mode: Mode,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More than is held at once; other cuts into blocks, or lanes that might hold others, give the same path."""
    rng = np.random.default_rng(9)
    query = rng.choice(np.array([0, 2, 6, 19], np.uint8), 4500)
    target = np.delete(query, rng.integers(0, len(query), 300))
    target = np.where(rng.random(len(target)) < 0.2, rng.choice(query, len(target)), target)
    batch = PairBatch.in_step(SequenceBatch.from_texts([query]), SequenceBatch.from_texts([target]))
    scoring = Scoring(DNA, GapCosts(3, 1), mode)
    found = shaped_session.run(SmithWatermanTraceStage(shape, **defines), batch, scoring)
    assert rescored(found, batch, scoring)
    monkeypatch.setattr(smith_waterman_trace_vector, "MAX_GROUP_BYTES", 2**40)
    assert found == shaped_session.run(SmithWatermanTraceStage(shape, **others), batch, scoring)


def test_scores_that_fit_no_number(session: Session) -> None:
    batch = random_pairs(np.random.default_rng(6), 1, 10, "ACGT", shortest=9)
    long = replace(batch.queries, offsets=np.array([0, 2**30], np.int32))
    too_long = PairBatch.in_step(long, long)
    with pytest.raises(OptionError):
        session.run(SMITH_WATERMAN_TRACE, too_long, Scoring(DNA, GapCosts(1000, 1000), "global"))


def test_a_long_overhang_costs_nothing() -> None:
    """In 2**25 numbers there is no room for gaps all along the target, but then the alignment need not have them."""
    short = SequenceBatch.from_texts(["ACGTACGT"])
    long = replace(short, offsets=np.array([0, 2**29], np.int32))
    pairs = chosen_pairs(PairBatch.in_step(short, long), np.array([0]))
    scores_fit(pairs, Scoring(DNA, GapCosts(9, 8), "semiglobal"), 25)
    with pytest.raises(OptionError):
        scores_fit(pairs, Scoring(DNA, GapCosts(9, 8), "global"), 25)


@pytest.mark.parametrize("mode", ["global", "semiglobal"])
def test_no_score_is_below_the_least(mode: Mode) -> None:
    """Nothing matches; of both modes the worst cell is reached, but for what is added for the next one."""
    texts = ["A" * n for n in (1, 2, 5, 9)]
    mismatching = SubstitutionMatrix.match_mismatch(1, -127)
    scoring = Scoring(mismatching, GapCosts(7, 3), mode)
    for query, target in product(texts, texts):
        batch = PairBatch.in_step(*(SequenceBatch.from_texts([text]) for text in (query, target.replace("A", "C"))))
        least = least_scores(chosen_pairs(batch, np.array([0])), scoring)
        score, *_ = _matrices(PairwiseQuery(Sequence("", "", batch.queries.codes), scoring), batch.targets.codes)
        assert least == score.min() - 2 * 7 - 127


@pytest.mark.thorough(shape=["vector"])
@pytest.mark.parametrize("shape", ["vector", "lanes"])
def test_planted_fault_is_noticed(shaped_session: Session, shape: str) -> None:
    batch = random_pairs(np.random.default_rng(7), 6, 50, "ACGT", shortest=20)
    defines = SMALL_LANES if shape == "lanes" else {}
    stage = SmithWatermanTraceStage(shape, SABOTAGE=1, **defines)
    assert differing(stage, shaped_session, batch, Scoring(DNA, GapCosts(2, 2))) > 0
