"""The rungs of the pair HMM's ladder find what the reference does, whatever is chosen on their axes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from clalign.compute.sessions import Session
from clalign.errors import DeviceError
from clalign.stages.pairhmm import pair_hmm_ladder
from clalign.stages.pairhmm.pair_hmm_ladder import (
    AllPairsStage,
    PairHmmLadderBase,
    PairHmmLadderChoices,
    PairHmmLadderStage,
    SequentialStage,
)
from clalign.values.alphabets import AMINO, DNA
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, GapParameters, PairHmm, PairHmms, fixed_emissions
from clalign.values.sequences import SequenceBatch
from tests.stages.test_pair_hmm import (
    TOLERANCE,
    far_apart,
    random_models,
    random_pairs,
    worst_of_counts,
    worst_of_posteriors,
)

GROUP = 24
"""Kept small here, so that a diagonal takes several work-groups."""

CHOICES: list[dict[str, str]] = [{}, {"cell": "local"}, {"item": "state"}, {"cell": "local", "item": "state"}]
"""All that can be combined."""

ALL = [PairHmmLadderChoices(**choice, group=GROUP) for choice in CHOICES]

AMINO_LETTERS = "ACDEFGHIKLMNPQRSTVWY"
MODEL = PairHmm(SEED_GAPS[False, 1], fixed_emissions(AMINO))


EACH = [PairHmmLadderChoices(**choice, group=480) for choice in (CHOICES[0], CHOICES[-1])]
"""Those of them that have each choice of each axis once, in the work-group of the laboratory."""


def stages(choices: Sequence[PairHmmLadderChoices] = ALL, **defines: int) -> list[PairHmmLadderBase]:
    return [SequentialStage(**defines), *(PairHmmLadderStage(choice, **defines) for choice in choices)]


def check_all(
    session: Session,
    batch: PairBatch,
    models: PairHmms,
    tolerance: float = TOLERANCE,
    choices: Sequence[PairHmmLadderChoices] = ALL,
) -> None:
    """Compare every stage with the reference."""
    expected = SequentialStage().reference(batch, models)
    for stage in stages(choices):
        found = session.run(stage, batch, models)
        assert worst_of_posteriors(found.posteriors, expected.posteriors) < tolerance, vars(stage)
        assert worst_of_counts(batch, found.counts, expected.counts) < tolerance, vars(stage)


@pytest.mark.thorough
def test_small_and_odd_sizes(session: Session) -> None:
    rng = np.random.default_rng(1)
    sizes = [(1, 1), (1, 2), (2, 1), (1, 40), (40, 1), (7, 8), (8, 8), (9, 31), (47, 23), (48, 49)]
    x, y = (["".join(rng.choice(list(AMINO_LETTERS), n)) for n in lengths] for lengths in zip(*sizes, strict=True))
    batch = PairBatch.in_step(SequenceBatch.from_texts(x), SequenceBatch.from_texts(y))
    check_all(session, batch, PairHmms.same(MODEL, len(batch)))


@pytest.mark.thorough
@pytest.mark.exhaustive(seed=[1])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_models_of_all_kinds(session: Session, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Related pairs, proteins and nucleic acids, each pair with a model of its own; rows in several launches."""
    monkeypatch.setattr(pair_hmm_ladder, "CELLS_PER_LAUNCH", 200)
    monkeypatch.setattr(pair_hmm_ladder, "LAUNCHES_BETWEEN_WAITS", 7)
    rng = np.random.default_rng(seed)
    for alphabet, letters in ((AMINO, AMINO_LETTERS), (DNA, "ACGTU")):
        batch = random_pairs(rng, rng.integers(1, 70, 4).tolist(), letters)
        check_all(session, batch, random_models(rng, len(batch), 1, alphabet))


@pytest.mark.thorough
def test_nothing_overflows(session: Session) -> None:
    """Paths through cells that are far less probable than others, and probabilities far below single precision."""
    x, y = zip(*far_apart(np.random.default_rng(5)), strict=True)
    batch = PairBatch.in_step(SequenceBatch.from_texts(x), SequenceBatch.from_texts(y))
    for gaps in (SEED_GAPS[False, 1], GapParameters.of([0.001], [0.05])):
        models = PairHmms.same(PairHmm(gaps, fixed_emissions(AMINO)), len(batch))
        check_all(session, batch, models, 2 * TOLERANCE)


@pytest.mark.thorough
def test_the_sizes_of_the_ladder(session: Session) -> None:
    batch = random_pairs(np.random.default_rng(11), [700], AMINO_LETTERS)
    check_all(session, batch, PairHmms.same(MODEL, 1), 2 * TOLERANCE)


def test_empty_sequences_and_batches(session: Session) -> None:
    texts = SequenceBatch.from_texts(["", "MKV", "X*B-UO"])
    batch = PairBatch(texts, texts, np.int32([0, 1, 1, 2]), np.int32([1, 0, 1, 1]))
    check_all(session, batch, PairHmms.same(MODEL, len(batch)), choices=EACH)
    nothing = PairBatch(texts, texts, np.zeros(0, np.int32), np.zeros(0, np.int32))
    for stage in stages(EACH):
        found = session.run(stage, nothing, PairHmms.same(MODEL, 0))
        assert len(found.posteriors) == len(found.counts.matches) == 0


def test_an_impossible_pair(session: Session) -> None:
    """Two residues that never match, and gaps that cannot follow each other: there is no path."""
    pairs = fixed_emissions(AMINO).pairs.copy()
    pairs[0] = 0
    batch = PairBatch.in_step(SequenceBatch.from_texts(["A", "C"]), SequenceBatch.from_texts(["C", "C"]))
    models = PairHmms.same(PairHmm(MODEL.gaps, msgspec.structs.replace(MODEL.emissions, pairs=pairs)), 2)
    assert SequentialStage().reference(batch, models).posteriors.log_likelihoods[0] == -np.inf
    check_all(session, batch, models, choices=EACH)


def test_all_pairs_at_once(session: Session) -> None:
    """The program's own kernel, in the shape that a device has, finds the same."""
    batch = random_pairs(np.random.default_rng(2), [30, 41, 1], AMINO_LETTERS)
    models, laps = PairHmms.same(MODEL, len(batch)), list[str]()
    stage = AllPairsStage("vector", laps.append)
    found, expected = session.run(stage, batch, models), stage.reference(batch, models)
    assert worst_of_posteriors(found.posteriors, expected.posteriors) < TOLERANCE
    assert worst_of_counts(batch, found.counts, expected.counts) < TOLERANCE
    assert laps == ["preparing", "posteriors", "counts"]


def test_each_part_is_reported(session: Session) -> None:
    batch = random_pairs(np.random.default_rng(2), [5], AMINO_LETTERS)
    for make in (SequentialStage, lambda lap: PairHmmLadderStage(EACH[0], lap)):
        laps: list[str] = []
        session.run(make(laps.append), batch, PairHmms.same(MODEL, 1))
        assert laps == ["preparing", "forward", "backward", "posteriors", "baum_welch"]


@pytest.mark.thorough(number=[0])
@pytest.mark.parametrize("number", range(len(CHOICES) + 1))
def test_planted_fault_is_noticed(session: Session, number: int) -> None:
    """Gaps that go on with a chance that is off by a thousandth, forwards and backwards."""
    batch = random_pairs(np.random.default_rng(9), [30, 41], AMINO_LETTERS)
    models = PairHmms.same(MODEL, len(batch))
    expected = SequentialStage().reference(batch, models)
    found = session.run(stages(SABOTAGE=1)[number], batch, models)
    assert worst_of_posteriors(found.posteriors, expected.posteriors) > 10 * TOLERANCE
    assert worst_of_counts(batch, found.counts, expected.counts) > 10 * TOLERANCE
    with pytest.raises(DeviceError, match="Forward and Backward"):
        session.run(stages(SABOTAGE=2)[number], batch, models)
