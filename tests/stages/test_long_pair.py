"""One long pair on a device: the alignments of the reference, ties included, however the matrix is cut."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clalign.compute import meetings
from clalign.compute.meetings import Rounds
from clalign.compute.sessions import Session
from clalign.errors import OptionError
from clalign.stages.pairwise import long_pair_regions
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice, LongPairStage
from clalign.stages.pairwise.long_pair_regions import fill
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import MODES, GapCosts, Mode, Scoring, SubstitutionMatrix
from clalign.values.sequences import SequenceBatch

AMINO = "ACDEFGHIKLMNPQRSTVWY"

SHAPES: list[tuple[str, dict[str, int]]] = [("vector", {}), ("lanes", {"LANE_BACKEND": 0, "LANES": 4})]

GAPS = [GapCosts(5, 2), GapCosts(2, 2), GapCosts(0, 0), GapCosts(11, 1)]

DNA = SubstitutionMatrix.match_mismatch(2, -3)


def pair(x: str, y: str) -> PairBatch:
    return PairBatch.in_step(SequenceBatch.from_texts([x]), SequenceBatch.from_texts([y]))


def related(rng: np.random.Generator, length: int, letters: str) -> tuple[str, str]:
    """Return a sequence, and an altered copy of a part of it with something else before."""
    x = "".join(rng.choice(list(letters), length))
    kept = [letter for letter in x[length // 5 :] if rng.random() > 0.05]
    for place in np.flatnonzero(rng.random(len(kept)) < 0.1):
        kept[place] = "".join(rng.choice(list(letters), rng.integers(1, 6)))
    return x, "".join(rng.choice(list(letters), length // 3)) + "".join(kept)


def any_matrix(rng: np.random.Generator) -> SubstitutionMatrix:
    table = rng.integers(-6, 5, (20, 20))
    table[0, 0] = 5
    return SubstitutionMatrix.from_table("any", AMINO, table, False)


def assert_same(session: Session, stage: LongPairStage, batch: PairBatch, scoring: Scoring) -> PairAlignment:
    found: PairAlignment = session.run(stage, batch, LongPairChoice(scoring))
    assert found == LONG_PAIR.reference(batch, LongPairChoice(scoring))
    return found


@pytest.fixture(params=["at once", "in parts", "in parts of parts"])
def cut(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let only so much be kept that the way back is filled at once, again, or again and again."""
    monkeypatch.setattr(
        long_pair_regions, "KEPT_BYTES", {"at once": 2**28, "in parts": 2**15}.get(request.param, 2**12)
    )
    monkeypatch.setattr(long_pair_regions, "EDGES_EACH_WAY", 2)
    monkeypatch.setattr(long_pair_regions, "FILLED_ROWS", 8)


@pytest.mark.thorough(gaps=[GAPS[0]])
@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@pytest.mark.usefixtures("cut")
def test_alignment_is_the_reference_s(
    team_session: Session, shape: str, defines: dict[str, int], mode: Mode, gaps: GapCosts
) -> None:
    rng = np.random.default_rng(MODES.index(mode) + 4 * GAPS.index(gaps))
    stage = LongPairStage(shape, **defines)
    for letters, matrix in (("ACGTN", DNA), (AMINO, any_matrix(rng))):
        found = assert_same(team_session, stage, pair(*related(rng, 400, letters)), Scoring(matrix, gaps, mode))
        assert found.path
    for x, y in (("A", "A"), ("ACGT", "G"), ("A" * 300, "A" * 70), ("AC", "TG" * 90)):
        assert_same(team_session, stage, pair(x, y), Scoring(DNA, gaps, mode))


@given(seed=st.integers(0, 2**32 - 1), x=st.integers(1, 260), mode=st.sampled_from(MODES), gaps=st.sampled_from(GAPS))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_pair(session: Session, seed: int, x: int, mode: Mode, gaps: GapCosts) -> None:
    """Few letters, so that many alignments are equally good."""
    rng = np.random.default_rng(seed)
    assert_same(session, LONG_PAIR, pair(*related(rng, x, "AC")), Scoring(DNA, gaps, mode))


@pytest.mark.parametrize("mode", MODES)
def test_empty_sequences(session: Session, mode: Mode) -> None:
    for x, y in (("", ""), ("ACG", ""), ("", "AC")):
        assert_same(session, LONG_PAIR, pair(x, y), Scoring(DNA, GAPS[0], mode))


def test_nothing_alike(session: Session) -> None:
    assert assert_same(session, LONG_PAIR, pair("A" * 200, "C" * 90), Scoring(DNA, GAPS[0])).score == 0


def test_scores_beyond_the_numbers_of_a_device_are_refused(session: Session) -> None:
    batch, scoring = pair("A" * 300_000, "C" * 300_000), Scoring(DNA, GapCosts(1000, 1000), "global")
    with pytest.raises(OptionError, match="may lie between"):
        session.run(LONG_PAIR, batch, LongPairChoice(scoring))


def test_progress_counts_all_cells_once_or_more(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair_regions, "CPU_CELLS", 1000)
    monkeypatch.setattr(long_pair_regions, "GPU_CELLS", 1000)
    told: list[int] = []
    x, y = related(np.random.default_rng(3), 500, "ACGT")
    session.run(LONG_PAIR, pair(x, y), LongPairChoice(Scoring(DNA, GAPS[0]), told.append))
    assert len(told) > 1
    assert sum(told) >= len(x) * len(y)


def test_groups_that_do_not_run_at_once(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a group does not come, what the others left is not gone on with: anti-diagonals are launched one by one."""
    methods: list[str] = []
    finish = Rounds.finish

    def told(rounds: Rounds) -> int:
        methods.append(rounds.how.method)
        return finish(rounds)

    monkeypatch.setattr(Rounds, "finish", told)
    monkeypatch.setattr(long_pair_regions, "most_together", lambda *given: 2)
    monkeypatch.setattr(meetings, "PATIENCE", dict.fromkeys(meetings.PATIENCE, 0))  # none waits for another
    batch = pair(*related(np.random.default_rng(5), 3000, "ACGT"))
    scoring = Scoring(DNA, GAPS[0])
    found: PairAlignment = session.run(LONG_PAIR, batch, LongPairChoice(scoring))
    assert methods == [long_pair_regions.METHOD, "launch"]
    assert found == session.run(SMITH_WATERMAN_TRACE, batch, scoring)[0]


@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_planted_fault_is_noticed(team_session: Session, shape: str, defines: dict[str, int]) -> None:
    batch = pair(*related(np.random.default_rng(9), 300, "ACGT"))
    choice = LongPairChoice(Scoring(DNA, GAPS[0]))
    found: Any = team_session.run(LongPairStage(shape, SABOTAGE=1, **defines), batch, choice)
    assert found != LONG_PAIR.reference(batch, choice)


class _Alive:
    """Lives as long as the buffer that it belongs to."""

    def __init__(self, count: list[int], n_bytes: int) -> None:
        self._count, self._n_bytes = count, n_bytes
        count[0] += n_bytes
        count[1] = max(count)

    def __del__(self) -> None:
        self._count[0] -= self._n_bytes


def test_parts_give_their_memory_back(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_pair_regions, "KEPT_BYTES", kept := 1 << 14)
    count, allocate = [0, 0], session.allocate

    def counted(n_bytes: int) -> Any:
        buffer = allocate(n_bytes)
        cast(Any, buffer).alive = _Alive(count, n_bytes)
        return buffer

    monkeypatch.setattr(session, "allocate", counted)
    x, y = related(np.random.default_rng(3), 3000, "ACGT")
    scoring = Scoring(DNA, GapCosts(5, 2))
    region = LONG_PAIR.matrix(session, *(SequenceBatch.from_texts([t]).residues(0) for t in (x, y)), scoring)
    fill(region, lambda cells: None)
    of_whole, count[1] = count[1], 0
    session.run(LONG_PAIR, pair(x, y), LongPairChoice(scoring))
    assert count[1] < of_whole + 4 * kept
