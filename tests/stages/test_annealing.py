"""The kernel of sequence annealing makes the merges of the reference, step by step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.errors import Cancelled
from clalign.stages.pairhmm import annealing
from clalign.stages.pairhmm.annealing import ANNEALING, AnnealingChoice, AnnealingStage
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers, offsets_of
from clalign.values.sparse_posteriors import SparsePosteriors
from tests.posterior_cases import is_alignment, random_alignment, random_posteriors

SETS = ([], [0, 0], [5, 0, 7], [1, 1], [3, 40], [30, 28, 33, 12, 30], [9] * 14)


def same(one: ColumnMerges, other: ColumnMerges) -> bool:
    parts = ("survivors", "victims", "weights", "order")
    return all(getattr(one, part).tolist() == getattr(other, part).tolist() for part in parts)


@pytest.mark.parametrize("choice", [AnnealingChoice(), AnnealingChoice(0.0), AnnealingChoice(2.5, is_dynamic=False)])
@pytest.mark.parametrize("is_coarse", [False, True])
@pytest.mark.parametrize("lengths", SETS, ids=str)
def test_equals_reference(session: Session, lengths: list[int], is_coarse: bool, choice: AnnealingChoice) -> None:
    for seed, share in ((1, 1.0), (2, 0.6)):
        posteriors = random_posteriors(seed, lengths, share, is_coarse)
        assert same(session.run(ANNEALING, posteriors, choice), ANNEALING.reference(posteriors, choice))


@pytest.mark.thorough
def test_equals_reference_for_many(session: Session) -> None:
    for seed in range(60):
        posteriors = random_posteriors(seed, [25 + seed % 7] * (4 + seed % 9), 0.8, seed % 2 == 0)
        choice = AnnealingChoice(seed % 5 / 2)
        assert same(session.run(ANNEALING, posteriors, choice), ANNEALING.reference(posteriors, choice))


def begun(seed: int, lengths: list[int]) -> tuple[SparsePosteriors, MultipleAlignment]:
    """Return posteriors, and an alignment to begin with: of all sequences but three, the last of which has a residue in
    each of its columns and is compared with none.
    """
    posteriors = random_posteriors(seed, lengths, 0.9, is_coarse=seed % 2 == 0)
    old = random_alignment(seed, lengths[:-2])
    new, every = old.n_columns + np.arange(sum(lengths[-2:])), [*lengths, old.n_columns]
    columns = np.concatenate([old.columns, new, np.arange(old.n_columns)]).astype(np.int32)
    begin = MultipleAlignment(offsets_of(every), columns, old.n_columns + len(new))
    return replace(posteriors, lengths=np.array(every)), begin


@pytest.mark.parametrize("choice", [AnnealingChoice(), AnnealingChoice(0.0), AnnealingChoice(1.5, is_dynamic=False)])
@pytest.mark.parametrize("lengths", [[8, 9, 8, 7, 9], [12, 0, 9, 11, 10, 0], [3, 30, 28, 31], [0, 0, 4, 5]], ids=str)
def test_columns_that_are_given_stay_as_they_are(session: Session, lengths: list[int], choice: AnnealingChoice) -> None:
    n_merged = 0
    for seed in range(4):
        posteriors, begin = begun(seed, lengths)
        chosen = replace(choice, begin=begin)
        found = session.run(ANNEALING, posteriors, chosen)
        assert same(found, ANNEALING.reference(posteriors, chosen))
        n_given = int(np.isinf(found.weights).sum())
        assert n_given == sum(posteriors.lengths) - begin.n_columns
        n_merged += len(found) - n_given
        alignment = found.alignment_after()
        assert is_alignment(alignment)
        old, new = (each.positions()[[*range(len(lengths) - 2), len(lengths)]] for each in (begin, alignment))
        assert new[:, new[-1] >= 0].tolist() == old[:, old[-1] >= 0].tolist()
        assert (new[:, new[-1] < 0] < 0).all(), "no residue left its column"
    assert n_merged > 0


def test_single_residues_are_where_it_begins_of_itself(session: Session) -> None:
    posteriors = random_posteriors(8, [9, 12, 0, 11])
    numbers = creation_numbers(posteriors.lengths)
    begin = MultipleAlignment(offsets_of(posteriors.lengths), numbers, len(numbers))
    found = session.run(ANNEALING, posteriors, AnnealingChoice(begin=begin))
    assert same(found, session.run(ANNEALING, posteriors, AnnealingChoice()))


@pytest.mark.parametrize("change", ["crossed", "other", "empty", "outside"])
def test_what_is_no_alignment_is_refused(session: Session, change: str) -> None:
    posteriors = random_posteriors(8, [3, 4])
    columns = {"crossed": [1, 0, 2, 0, 1, 2, 3], "empty": [0, 1, 4, 0, 1, 2, 4], "outside": [0, 1, 2, 0, 1, 2, 9]}
    offsets = offsets_of([4, 3] if change == "other" else [3, 4])
    begin = MultipleAlignment(offsets, np.array(columns.get(change, [0, 1, 2, 3, 0, 1, 2]), np.int32), 4)
    with pytest.raises(ValueError, match="alignment"):
        session.run(ANNEALING, posteriors, AnnealingChoice(begin=begin))


def test_known_edges_find_room(session: Session) -> None:
    posteriors, choice = random_posteriors(3, [20] * 10, is_coarse=True), AnnealingChoice(0.0)
    found = session.run(AnnealingStage(capacity=16), posteriors, choice)
    assert same(found, ANNEALING.reference(posteriors, choice))


def test_posteriors_may_lie_in_files(session: Session, tmp_path: Path) -> None:
    posteriors, choice = random_posteriors(7, [20] * 4), AnnealingChoice()
    arrays = {}
    for name in ("lengths", "pairs", "starts", "columns", "probabilities", "x_gaps", "y_gaps"):
        np.save(tmp_path / f"{name}.npy", getattr(posteriors, name))
        arrays[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
    found = session.run(ANNEALING, SparsePosteriors(**arrays), choice)
    assert same(found, ANNEALING.reference(SparsePosteriors(**arrays), choice))
    assert same(found, ANNEALING.reference(posteriors, choice))


def test_launches_follow_each_other(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(annealing, "EDGES_PER_LAUNCH", 7)
    posteriors, messages, watched = random_posteriors(4, [12] * 6), [], []

    def listen(made: int, left: int, merges: Callable[[], ColumnMerges]) -> None:
        messages.append((made, left))
        watched.append(merges())

    found = session.run(ANNEALING, posteriors, AnnealingChoice(report=listen))
    assert same(found, ANNEALING.reference(posteriors, AnnealingChoice()))
    assert len(messages) > 10
    assert messages[-1][0] == len(found)
    for (made, _), merges in zip(messages, watched, strict=True):
        assert merges.victims.tolist() == found.victims[:made].tolist()
        assert is_alignment(merges.alignment_after())


def test_it_can_be_stopped(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop() -> None:
        raise Cancelled

    monkeypatch.setattr(session, "check", stop)
    with pytest.raises(Cancelled):
        session.run(ANNEALING, random_posteriors(5, [9, 9]), AnnealingChoice())


def test_planted_fault_is_noticed(session: Session) -> None:
    posteriors = random_posteriors(6, [20] * 6)
    found = session.run(AnnealingStage(SABOTAGE=1), posteriors, AnnealingChoice())
    assert not same(found, ANNEALING.reference(posteriors, AnnealingChoice()))
