"""Pieces of long targets: the best of them is the best of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.reference.smith_waterman import pair_score
from clalign.stages.pairwise import smith_waterman_pieces
from clalign.stages.pairwise.smith_waterman import SmithWatermanStage
from clalign.stages.pairwise.smith_waterman_pieces import Pieces, cut, cut_pairs, longest_reach, pieces_of
from clalign.stages.pairwise.smith_waterman_trace import SmithWatermanTraceStage
from clalign.stages.pairwise.smith_waterman_trace_plan import chosen_pairs
from clalign.values.alphabets import encode
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import GapCosts, Mode, PairwiseQuery, Scoring, SubstitutionMatrix
from clalign.values.sequences import Sequence, SequenceBatch

EQUAL = SubstitutionMatrix.match_mismatch(5, -4)


def query_of(text: str, gaps: GapCosts, mode: Mode = "local") -> PairwiseQuery:
    return PairwiseQuery(Sequence("query", "", encode(text)), Scoring(EQUAL, gaps, mode))


def best_of_pieces(batch: SequenceBatch, query: PairwiseQuery, most: int, reach: int) -> list[int]:
    pieces = cut(batch, np.arange(len(batch), dtype=np.int32), most, reach)
    assert pieces.batch.lengths.max() <= most
    scores = [pair_score(query, pieces.batch.residues(row)) for row in range(len(pieces.batch))]
    return pieces.best(np.array(scores, np.int32)).tolist()


@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.integers(1, 12),
    room=st.integers(0, 40),
    mode=st.sampled_from(["local", "ungapped"]),
)
@settings(max_examples=60, deadline=None)
def test_best_of_pieces_is_that_of_the_whole(seed: int, length: int, room: int, mode: Mode):
    rng = np.random.default_rng(seed)
    next_cost = int(rng.integers(1, 6))
    query = query_of(
        "".join(rng.choice(list("ACGT"), length)), GapCosts(next_cost + int(rng.integers(0, 6)), next_cost), mode
    )
    batch = SequenceBatch.from_texts(["".join(rng.choice(list("ACGT"), n)) for n in rng.integers(0, 150, 6)])
    reach = longest_reach(query.sequence.codes, query.scoring)
    assert reach is not None
    expected = [pair_score(query, batch.residues(row)) for row in range(len(batch))]
    assert best_of_pieces(batch, query, reach + room, reach) == expected


def test_no_alignment_reaches_further_and_one_reaches_as_far():
    """Ten residues gain 50; a gap of 47 costs 3 + 46, so that 1 is left."""
    query = query_of("A" * 10, GapCosts(3, 1))
    reach = longest_reach(query.sequence.codes, query.scoring)
    assert reach == 10 + 47
    # Without a residue of the target that is aligned with neither half, the two would score less by themselves.
    whole = query_of("A" * 6 + "C" * 6, GapCosts(2, 1))
    target = "A" * 6 + "G" * 25 + "C" * 6
    batch = SequenceBatch.from_texts([target])
    assert pair_score(whole, batch.residues(0)) == 60 - 26 > 30
    assert best_of_pieces(batch, whole, len(target), len(target)) == [34]
    assert best_of_pieces(batch, whole, len(target) - 1, len(target) - 1) == [30], "pieces that share too little"


@pytest.mark.parametrize(
    ("gaps", "mode", "expected"),
    [
        (GapCosts(3, 0), "local", None),
        (GapCosts(3, 1), "global", None),
        (GapCosts(3, 1), "semiglobal", None),
        (GapCosts(3, 0), "ungapped", 4),
        (GapCosts(20, 0), "local", 4),
        (GapCosts(19, 1), "local", 5),
    ],
)
def test_reach_is_limited_by_what_gaps_cost(gaps: GapCosts, mode: Mode, expected: int | None):
    query = query_of("ACGT", gaps, mode)
    assert longest_reach(query.sequence.codes, query.scoring) == expected


def test_targets_that_are_short_stay_whole():
    batch = SequenceBatch.from_texts(["ACGT" * 5, "", "A"])
    pieces = cut(batch, np.array([0, 2], np.int32), 20, 8)
    assert pieces.firsts.tolist() == [0, 1]
    assert pieces.batch.codes.tolist() == encode("ACGT" * 5 + "A").tolist()
    assert pieces.batch.targets.tolist() == [0, 2]


@pytest.mark.parametrize(("wanted", "expected"), [(1.0, 12), (20.0, 28), (92.0, None)])
def test_pieces_have_residues_of_their_own(wanted: float, expected: int | None, session: Session):
    query = query_of("ACGTACG", GapCosts(30, 30), "ungapped")  # spans 7 residues; pieces share 8
    batch = SequenceBatch.from_texts(["ACGT" * 25, "ACGTA"])
    pieces = pieces_of(session, batch, np.array([0], np.int32), query, wanted)
    assert (pieces and pieces.most) == expected


@pytest.mark.thorough(mode=["local"])
@pytest.mark.parametrize("mode", ["local", "ungapped"])
@pytest.mark.parametrize("shape", ["vector", "item", "lanes"])
def test_devices_score_targets_in_pieces(
    shaped_session: Session, shape: str, mode: Mode, monkeypatch: pytest.MonkeyPatch
):
    """One target is as long as all others together and holds the query several times, with gaps."""
    rng = np.random.default_rng(7)
    query = query_of("".join(rng.choice(list("ACGT"), 40)), GapCosts(6, 2), mode)
    codes = query.sequence.codes
    long = [rng.choice(codes, n) for n in (700, 900, 30, 1500)]
    long[1:1] = [codes[:15], rng.choice(codes, 9), codes[15:]]
    batch = SequenceBatch.from_texts([rng.choice(codes, 50), np.concatenate(long), "", *rng.choice(codes, (40, 60))])
    were_cut: list[int] = []

    def noting(*arguments: Any) -> Pieces:
        were_cut.append(int(arguments[0].lengths[arguments[1]].max()))
        return cut(*arguments)

    monkeypatch.setattr(smith_waterman_pieces, "cut", noting)
    stage = SmithWatermanStage(shape)
    found = shaped_session.run(stage, batch, query)
    assert were_cut == [len(batch.residues(1))]
    assert found.scores.targets.tolist() == batch.targets.tolist()
    assert found.scores.values.tolist() == stage.reference(batch, query).scores.values.tolist()


@pytest.mark.thorough
def test_shapes_that_cut_other_targets_of_a_batch(session: Session):
    """`lanes` has all targets cut, `item` the longest ones; each keeps its pieces for the next query."""
    rng = np.random.default_rng(8)
    query = query_of("ACGTTGCA", GapCosts(30, 30))
    codes = query.sequence.codes
    batch = SequenceBatch.from_texts([rng.choice(codes, 40), *(rng.choice(codes, n) for n in (900, 5, 0, 12, 700))])
    cpu_shapes = [] if session.device.kind == "gpu" else ["vector"]
    for shape in [*cpu_shapes, "lanes", "item", "lanes", *cpu_shapes]:
        stage = SmithWatermanStage(shape)
        found = session.run(stage, batch, query).scores.values
        assert found.tolist() == stage.reference(batch, query).scores.values.tolist()


@pytest.mark.parametrize("shape", ["vector", "lanes"])
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 9), mode=st.sampled_from(["local", "ungapped"]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_alignments_in_pieces_are_those_of_the_whole(
    shaped_session: Session, shape: str, seed: int, length: int, mode: Mode
):
    """Few letters and equal parts make ties, also from piece to piece."""
    rng = np.random.default_rng(seed)
    letters = list("ACGT")[: int(rng.integers(1, 5))]
    gaps = GapCosts(int(rng.integers(4, 7)), int(rng.integers(2, 5)))
    queries = SequenceBatch.from_texts(["".join(rng.choice(letters, length)) for _ in range(4)])
    targets = SequenceBatch.from_texts(["".join(rng.choice(letters, n)) for n in (400, 1, 300, 0)])
    batch = PairBatch.in_step(queries, targets)
    scoring = Scoring(EQUAL, gaps, mode)
    stage = SmithWatermanTraceStage(shape)
    assert cut_pairs(chosen_pairs(batch, np.array([0, 2])), scoring) is not None
    assert shaped_session.run(stage, batch, scoring) == stage.reference(batch, scoring)
