"""Posteriors and expected counts of pair HMMs on a device are those of the reference: every shape, odd models.

The bound is stated in `TOLERANCE`: single precision against double, over sequences of up to some hundreds of residues.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clalign.compute.sessions import Session
from clalign.errors import DeviceError
from clalign.stages.pairhmm import pair_hmm
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS, ExpectedCountsStage
from clalign.stages.pairhmm.posteriors import POSTERIORS, PosteriorsStage
from clalign.values.alphabets import AMINO, DNA, Alphabet
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import (
    MIN_POSTERIOR,
    SEED_GAPS,
    ExpectedCounts,
    GapParameters,
    PairEmissions,
    PairHmm,
    PairHmms,
    PosteriorBatch,
    fixed_emissions,
)
from clalign.values.sequences import SequenceBatch

TOLERANCE = 5e-6
"""Of a posterior, and of a count in the residues of its pair; twice that for thousands of residues."""

SHAPES: list[tuple[str, dict[str, int]]] = [("vector", {}), ("lanes", {}), ("lanes", {"ROWS": 2})]


def related(rng: np.random.Generator, text: str, letters: str) -> str:
    """Return an altered copy of a sequence."""
    kept = [letter for letter in text if rng.random() > 0.1]
    for place in np.flatnonzero(rng.random(len(kept)) < 0.3):
        kept[place] = "".join(rng.choice(list(letters), rng.integers(1, 4)))
    return "".join(kept) or letters[0]


def random_pairs(rng: np.random.Generator, lengths: list[int], letters: str) -> PairBatch:
    """Return pairs of sequences, of which the first has a given length; every other pair is related."""
    x = ["".join(rng.choice(list(letters), length)) for length in lengths]
    y = [related(rng, text, letters) if row % 2 else text[::-1] + letters[0] for row, text in enumerate(x)]
    return PairBatch.in_step(SequenceBatch.from_texts(x), SequenceBatch.from_texts(y))


def random_models(rng: np.random.Generator, n: int, n_sets: int, alphabet: Alphabet) -> PairHmms:
    """Return models, each with gap parameters of its own, and two kinds of emissions."""
    gaps = GapParameters.of(rng.uniform(0.001, 0.2, (n, n_sets)), rng.uniform(0.05, 0.998, (n, n_sets)))
    fixed = fixed_emissions(alphabet)
    pairs = fixed.pairs * rng.uniform(0.5, 2, fixed.pairs.shape)
    singles = 0.01 * fixed.singles + 0.99 * rng.dirichlet(20 * fixed.singles)
    other = PairEmissions.of(fixed.letters, singles, pairs / pairs.sum())
    return PairHmms(gaps, (fixed, other), rng.integers(0, 2, n).astype(np.int32))


def entries(found: PosteriorBatch, row: int) -> dict[tuple[int, int], float]:
    span = slice(found.offsets[row], found.offsets[row + 1])
    places = list(zip(found.x[span].tolist(), found.y[span].tolist(), strict=True))
    assert places == sorted(places)
    return dict(zip(places, found.values[span].tolist(), strict=True))


class Case(NamedTuple):
    """Pairs with their models, and what the reference finds."""

    batch: PairBatch
    models: PairHmms
    posteriors: PosteriorBatch
    counts: ExpectedCounts

    @classmethod
    def of(cls, batch: PairBatch, models: PairHmms) -> Case:
        return cls(batch, models, POSTERIORS.reference(batch, models), EXPECTED_COUNTS.reference(batch, models))

    def worst(self, session: Session, shape: str | None = None, **defines: int) -> tuple[float, float]:
        """Return the largest differences of posteriors and of counts from the reference."""
        given = self.batch, self.models
        posteriors = session.run(PosteriorsStage(shape, **defines), *given)
        counts = session.run(ExpectedCountsStage(shape, **defines), *given)
        return worst_of_posteriors(posteriors, self.posteriors), worst_of_counts(self.batch, counts, self.counts)


def worst_of_posteriors(found: PosteriorBatch, expected: PosteriorBatch) -> float:
    """Return the largest difference; what only one of both keeps counts from the limit on."""
    assert not any(np.isnan(getattr(found, name)).any() for name in PosteriorBatch.__slots__)
    worst = 0.0
    for row in range(len(expected)):
        a, b = entries(found, row), entries(expected, row)
        worst = max([worst, *(abs(a.get(place, MIN_POSTERIOR) - b.get(place, MIN_POSTERIOR)) for place in a | b)])
    for name in ("x_offsets", "y_offsets"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    if np.array_equal(found.offsets, expected.offsets):
        gaps = [np.abs(getattr(found, name) - getattr(expected, name)).max(initial=0) for name in ("x_gaps", "y_gaps")]
        worst = max(worst, *gaps)
    with np.errstate(invalid="ignore"):  # two infinite ones are equal
        likelihoods = np.nan_to_num(found.log_likelihoods - expected.log_likelihoods)
    return float(max(worst, np.abs(likelihoods).max(initial=0) / 10))


def worst_of_counts(batch: PairBatch, found: ExpectedCounts, expected: ExpectedCounts) -> float:
    """Return the largest difference by the residues of a pair."""
    assert not any(np.isnan(getattr(found, name)).any() for name in ExpectedCounts.__slots__)
    n_residues = batch.queries.lengths[batch.query_rows] + batch.targets.lengths[batch.target_rows]
    worst = np.zeros(len(batch))
    for name in ExpectedCounts.__slots__:
        with np.errstate(invalid="ignore"):
            different = np.abs(np.nan_to_num(getattr(found, name) - getattr(expected, name)))
        worst = np.maximum(worst, different.reshape(len(batch), -1).max(axis=1) / np.maximum(n_residues, 1))
    return float(worst.max(initial=0))


@pytest.mark.parametrize("n_sets", [1, 2])
def test_default_shape(session: Session, n_sets: int) -> None:
    rng = np.random.default_rng(n_sets)
    batch = random_pairs(rng, [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 64, 100], "ACDEFGHIKLMNPQRSTVWY")
    models = PairHmms.same(PairHmm(SEED_GAPS[False, n_sets], fixed_emissions(AMINO)), len(batch))
    assert max(Case.of(batch, models).worst(session)) < TOLERANCE


@cache
def random_cases(seed: int) -> list[Case]:
    """Return models of all kinds for proteins and nucleic acids."""
    rng, cases = np.random.default_rng(seed), []
    for alphabet, letters in ((AMINO, "ACDEFGHIKLMNPQRSTVWY"), (DNA, "ACGTU")):
        batch = random_pairs(rng, rng.integers(1, 90, 6).tolist(), letters)
        cases += [Case.of(batch, random_models(rng, len(batch), n_sets, alphabet)) for n_sets in (1, 2)]
    return cases


@pytest.mark.thorough(seed=[1])
@pytest.mark.exhaustive(seed=[1, 2, 3])
@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_every_shape(
    team_session: Session, shape: str, defines: dict[str, int], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut into many strips of few rows."""
    monkeypatch.setattr(pair_hmm, "STRIP_BYTES", 0)
    for case in random_cases(seed):
        assert max(case.worst(team_session, shape, **defines)) < TOLERANCE


def far_apart(rng: np.random.Generator) -> list[tuple[str, str]]:
    """Return pairs whose best paths pass cells that are far less probable than others as far from the corner."""
    one, two, rare = ("".join(rng.choice(list("ACDEFGHIKLMNPQRSTVWY"), 130)) for _ in range(3))
    return [
        (one + two, two + one), (one + two + one, two), (two, rare + one + two), (one * 3, one), ("W" * 90, "W" * 200),
        ("A", two * 5), (two * 5, "C"), ("WC" * 40 + one, one + "P" * 100 + "WC" * 40),
    ]  # fmt: skip


@cache
def far_cases(n_sets: int) -> list[Case]:
    x, y = zip(*far_apart(np.random.default_rng(5)), strict=True)
    batch = PairBatch.in_step(SequenceBatch.from_texts(x), SequenceBatch.from_texts(y))
    gaps = (SEED_GAPS[False, n_sets], GapParameters.of([0.001] * n_sets, [0.05, 0.2][:n_sets]))
    return [Case.of(batch, PairHmms.same(PairHmm(one, fixed_emissions(AMINO)), len(batch))) for one in gaps]


@pytest.mark.thorough
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@pytest.mark.parametrize("n_sets", [1, 2])
def test_far_cells_are_not_lost(team_session: Session, shape: str, defines: dict[str, int], n_sets: int) -> None:
    for case in far_cases(n_sets):
        assert max(case.worst(team_session, shape, **defines)) < 2 * TOLERANCE


@pytest.mark.parametrize(("shape", "defines"), SHAPES)
@pytest.mark.parametrize("room", [0, 1])
def test_too_little_room(team_session: Session, shape: str, defines: dict[str, int], room: int) -> None:
    """What does not fit is computed again, and nothing of the others is lost."""
    rng = np.random.default_rng(7)
    batch = random_pairs(rng, [30, 40, 3, 50, 20], "AC")
    models = random_models(rng, 5, 2, AMINO)
    stage = PosteriorsStage(shape, entries_per_residue=room, **defines)
    found = team_session.run(stage, batch, models)
    assert worst_of_posteriors(found, POSTERIORS.reference(batch, models)) < TOLERANCE


@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_empty_sequences_and_batches(team_session: Session, shape: str, defines: dict[str, int]) -> None:
    texts = SequenceBatch.from_texts(["", "MKV", "MKVL", "", "X*B-UO"])
    batch = PairBatch(texts, texts, np.int32([0, 1, 1, 3, 4, 2]), np.int32([1, 2, 3, 0, 2, 2]))
    models = PairHmms.same(PairHmm(SEED_GAPS[False, 2], fixed_emissions(AMINO)), len(batch))
    assert max(Case.of(batch, models).worst(team_session, shape, **defines)) < TOLERANCE
    stages: tuple[Any, Any] = PosteriorsStage(shape, **defines), ExpectedCountsStage(shape, **defines)
    for rows in ([0], []):
        few = PairBatch(texts, texts, np.array(rows, np.int32), np.array(rows, np.int32))
        of_few = PairHmms.same(models[0], len(rows))
        found = team_session.run(stages[0], few, of_few)
        assert len(found) == len(rows) == len(found.offsets) - 1
        assert len(found.values) == 0
        assert (team_session.run(stages[1], few, of_few).matches == 0).all()


@given(seed=st.integers(0, 2**32 - 1), n_sets=st.sampled_from([1, 2]))
@example(seed=100719, n_sets=1)  # the first pair is impossible
@example(seed=82304443, n_sets=1)  # floats do not hold one
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_odd_models(session: Session, seed: int, n_sets: int) -> None:
    """Gaps that nearly never open, or nearly always go on; pairs of residues that never match."""
    rng = np.random.default_rng(seed)
    batch = random_pairs(rng, rng.integers(1, 60, 5).tolist(), "ACGT")
    gaps = tuple(
        GapParameters.of(rng.choice([0.001, 0.01, 0.4], n_sets), rng.choice([0.05, 0.5, 0.998], n_sets))
        for _ in range(5)
    )
    pairs = fixed_emissions(DNA).pairs * (rng.random((4, 4)) > 0.2)
    emissions = PairEmissions.of("ACGT", rng.dirichlet(np.ones(4)), pairs / max(pairs.sum(), 1e-9))
    models = PairHmms.each(gaps, emissions)
    assert max(Case.of(batch, models).worst(session)) < TOLERANCE


@pytest.mark.thorough(seed=[9])
@pytest.mark.parametrize("least", [0.0, 1e-46, 1e-60])
@pytest.mark.parametrize("seed", [9, 129, 131, 153])
def test_likelihoods_that_floats_do_not_hold(session: Session, seed: int, least: float) -> None:
    """Most pairs of residues never match, or nearly so, and sequences differ in length: totals underflow."""
    rng = np.random.default_rng(seed)
    x, y = (["".join(rng.choice(list("ACGT"), rng.integers(1, 150))) for _ in range(8)] for _ in "xy")
    batch, n_sets = PairBatch.in_step(SequenceBatch.from_texts(x), SequenceBatch.from_texts(y)), int(rng.integers(1, 3))
    gaps = tuple(
        GapParameters.of(rng.choice([0.001, 0.01, 0.4], n_sets), rng.choice([0.05, 0.5, 0.998], n_sets))
        for _ in range(8)
    )
    pairs = fixed_emissions(DNA).pairs
    pairs = np.where(rng.random((4, 4)) > rng.choice([0.2, 0.4, 0.7]), pairs, least)
    emissions = PairEmissions.of("ACGT", rng.dirichlet(np.ones(4)), pairs / pairs.sum())
    models = PairHmms.each(gaps, emissions)
    assert max(Case.of(batch, models).worst(session)) < TOLERANCE


@pytest.mark.thorough
@pytest.mark.exhaustive(n_sets=[2])
@pytest.mark.parametrize("n_sets", [1, 2])
def test_long_sequences(session: Session, n_sets: int) -> None:
    rng = np.random.default_rng(11)
    batch = random_pairs(rng, [700, 601], "ACDEFGHIKLMNPQRSTVWY")
    models = PairHmms.same(PairHmm(SEED_GAPS[False, n_sets], fixed_emissions(AMINO)), len(batch))
    assert max(Case.of(batch, models).worst(session)) < 2 * TOLERANCE


@pytest.mark.thorough(shape=["vector"])
@pytest.mark.parametrize(("shape", "defines"), SHAPES)
def test_planted_fault_is_noticed(team_session: Session, shape: str, defines: dict[str, int]) -> None:
    rng = np.random.default_rng(9)
    batch = random_pairs(rng, [30, 41], "ACDEFGHIKLMNPQRSTVWY")
    models = PairHmms.same(PairHmm(SEED_GAPS[False, 2], fixed_emissions(AMINO)), len(batch))
    for stage in (PosteriorsStage(shape, SABOTAGE=1, **defines), ExpectedCountsStage(shape, SABOTAGE=1, **defines)):
        with pytest.raises(DeviceError, match="Forward and Backward"):
            team_session.run(stage, batch, models)
    # Gaps that go on with a chance that is off by a thousandth, forwards and backwards.
    assert min(Case.of(batch, models).worst(team_session, shape, SABOTAGE=2, **defines)) > 10 * TOLERANCE
