"""The kernel of iterative refinement makes the moves of the reference, step by step."""

from __future__ import annotations

import pytest

from clalign.compute.sessions import Session
from clalign.stages.pairhmm import refinement
from clalign.stages.pairhmm.refinement import REFINEMENT, RefinementChoice, RefinementStage
from clalign.values.multiple_alignments import ResidueMoves
from tests.posterior_cases import random_alignment, random_posteriors

SETS = ([0, 0], [5, 0, 7], [1, 1], [3, 20], [30, 28, 33, 12, 30], [9] * 14)


def same(one: ResidueMoves, other: ResidueMoves) -> bool:
    parts = ("sequences", "positions", "sources", "targets", "ends", "scores")
    return all(getattr(one, part).tolist() == getattr(other, part).tolist() for part in parts)


@pytest.mark.parametrize(("factor", "most"), [(1.0, -1), (0.0, -1), (2.0, 1), (1.0, 0)])
@pytest.mark.parametrize("lengths", SETS, ids=str)
def test_equals_reference(session: Session, lengths: list[int], factor: float, most: int) -> None:
    for seed, share in ((1, 1.0), (2, 0.6)):
        posteriors = random_posteriors(seed, lengths, share)
        choice = RefinementChoice(random_alignment(seed, lengths), factor, most)
        assert same(session.run(REFINEMENT, posteriors, choice), REFINEMENT.reference(posteriors, choice))


@pytest.mark.parametrize("n_kept", [1, 3, 5])
def test_kept_sequences_stay(session: Session, n_kept: int) -> None:
    n_moved, lengths = 0, [14, 12, 0, 15, 13]
    for seed in range(4):
        posteriors = random_posteriors(seed, lengths)
        choice = RefinementChoice(random_alignment(seed, lengths), n_kept=n_kept)
        found = session.run(REFINEMENT, posteriors, choice)
        assert same(found, REFINEMENT.reference(posteriors, choice))
        assert (found.sequences >= n_kept).all()
        n_moved += len(found.sequences)
    assert (n_moved > 0) == (n_kept < 5)


def test_launches_follow_each_other(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refinement, "COLUMNS_PER_LAUNCH", 3)
    monkeypatch.setattr(refinement, "WISHES_PER_LAUNCH", 2)
    lengths, messages = [20, 22, 19, 24], []
    choice = RefinementChoice(random_alignment(3, lengths), report=lambda *facts: messages.append(facts))
    posteriors = random_posteriors(3, lengths)
    found = session.run(REFINEMENT, posteriors, choice)
    assert same(found, REFINEMENT.reference(posteriors, choice))
    assert [sweep for sweep, _ in messages] == list(range(1, len(found.ends) + 1))


def test_an_alignment_of_other_sequences_is_refused(session: Session) -> None:
    with pytest.raises(ValueError, match="other sequences"):
        session.run(REFINEMENT, random_posteriors(1, [5, 6]), RefinementChoice(random_alignment(1, [5, 7])))


def test_planted_fault_is_noticed(session: Session) -> None:
    lengths = [25] * 6
    posteriors, choice = random_posteriors(6, lengths), RefinementChoice(random_alignment(6, lengths))
    found = session.run(RefinementStage(SABOTAGE=1), posteriors, choice)
    assert not same(found, REFINEMENT.reference(posteriors, choice))
