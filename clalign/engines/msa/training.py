"""Estimation of the parameters of pair HMMs from the sequences that are to be aligned (Baum-Welch).

First a model is trained on all pairs together (proteins), which learns what matches and gaps emit; then one on each
pair, which begins with it. Pseudocounts are those of the model before anything was learned.

Rounds, pseudocounts and limits are those of fsa 1.15.9. It adds counts up over all pairs in single precision, which
loses small ones, the more the more pairs there are and the longer they are: what it learns of the 15 pairs of six
proteins of 1,400 residues is off by 6e-4, where what is learned here is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Session
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS
from clalign.values.devices import Device
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import (
    TO_END,
    ExpectedCounts,
    GapParameters,
    Numbers,
    PairEmissions,
    PairHmm,
    PairHmms,
)

COUNT_OFFSET = 0.001
"""Added to every count of a step."""

MOST_ROUNDS = 3

CPU_CELLS, GPU_CELLS = 100_000_000, 4_000_000_000
"""Cells of the matrices that go to a device together: a CPU takes some tenths of a second, and a
GPU needs many pairs."""


@dataclass(frozen=True, slots=True)
class TrainingOptions:
    """What is learned, and how.

    Attributes
    ----------
    gaps : bool
        Learn how gaps open and go on.
    emissions : str
        Learn what states emit: ``all``, from all pairs together; ``pair``, from each pair; or ``none``.
    regularize : bool
        Add pseudocounts.
    gap_scale, emission_scale : float
        Weight of the pseudocounts.
    least_gap_data, least_emission_data : int
        Residues of a sequence, over all pairs, above which there is enough to learn from.
    least_increase : float
        Rounds end when the logarithm of the likelihood changes by a smaller share than this.
    most_rounds : int
        Of each training; 3 at most.
    """

    gaps: bool
    emissions: Literal["all", "pair", "none"]
    emission_scale: float
    least_emission_data: int
    regularize: bool = True
    gap_scale: float = 3.0
    least_gap_data: int = 60
    least_increase: float = 0.1
    most_rounds: int = MOST_ROUNDS


PROTEIN_TRAINING = TrainingOptions(True, "all", 210.0, 1596)
NUCLEIC_TRAINING = TrainingOptions(True, "pair", 10.0, 60)


@dataclass(frozen=True, slots=True)
class TrainingRound:
    """What a round of training came to.

    Attributes
    ----------
    number : int
        Counted from 1.
    log_likelihood : float
        Of the sequences under the model before the round; that of all pairs is a sum over the pairs' likelihoods.
    model : PairHmm
        The model after it.
    """

    number: int
    log_likelihood: float
    model: PairHmm


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """What training found.

    Attributes
    ----------
    models : PairHmms
        Of the pairs.
    common : PairHmm
        The model trained on all pairs together, with which those of the pairs began.
    common_rounds : tuple of TrainingRound
        How it came about; none if there was too little to learn from.
    """

    models: PairHmms
    common: PairHmm
    common_rounds: tuple[TrainingRound, ...]


Told = Callable[[int, int, int], None]
"""Told of progress: the number of the round, and how many of its pairs are computed."""


def nobody_told(number: int, n_done: int, n: int) -> None:
    """Train in silence."""


def train(
    session: Session, batch: PairBatch, seed: PairHmm, lengths: npt.NDArray[np.int64], options: TrainingOptions,
    tell: Told = nobody_told,
) -> Trained:  # fmt: skip
    """Train the models of the chosen pairs.

    Parameters
    ----------
    session : Session
        What computes the expected counts.
    batch : PairBatch
        The pairs.
    seed : PairHmm
        The model to begin with.
    lengths : int64[n]
        Residues of all sequences, of which not all pairs need be chosen.
    options : TrainingOptions
    tell : callable
        Told of progress.
    """
    learns_gaps, learns_emissions = what_to_learn(lengths, options)
    common = seed
    rounds: tuple[TrainingRound, ...] = ()
    if learns_emissions and options.emissions == "all":
        rounds = tuple(train_together(session, batch, seed, options, learns_gaps, tell))
        common = rounds[-1].model if rounds else seed
    is_emission = learns_emissions and options.emissions == "pair"
    if not (learns_gaps or is_emission):
        return Trained(PairHmms.same(common, len(batch)), common, rounds)
    sizes = batch.queries.lengths[batch.query_rows] / 2 + batch.targets.lengths[batch.target_rows] / 2
    has_gaps = learns_gaps & (sizes > options.least_gap_data)
    has_emissions = is_emission & (sizes > options.least_emission_data)
    models = train_each(session, batch, common, seed, options, has_gaps, has_emissions, tell)
    return Trained(models, common, rounds)


def what_to_learn(lengths: npt.NDArray[np.int64], options: TrainingOptions) -> tuple[bool, bool]:
    """Return whether gaps, and whether emissions, are to be learned of sequences of these lengths."""
    n = len(lengths)
    data = n * (n - 1) // 2 * (int(lengths.sum()) // n)
    learns_emissions = options.emissions != "none" and data > options.least_emission_data
    return options.gaps and data > options.least_gap_data, learns_emissions


def train_together(
    session: Session, batch: PairBatch, seed: PairHmm, options: TrainingOptions, learns_gaps: bool,
    tell: Told = nobody_told,
) -> Iterator[TrainingRound]:  # fmt: skip
    """Train one model on all pairs, with its emissions; yield what each round came to."""
    model, before, goes_on, number = seed, np.array([-np.inf]), True, 0
    while goes_on:
        sums: ExpectedCounts | None = None
        number, n_done = number + 1, 0
        for rows in batch_rows(batch, session.device, np.flatnonzero(_filled(batch))):
            part = _selected(batch, rows)
            sums = _added(sums, session.run(EXPECTED_COUNTS, part, PairHmms.same(model, len(part))))
            n_done += len(part)
            tell(number, n_done, len(batch))
        if sums is None:  # there is nothing but empty sequences
            return
        gaps = maximized_gaps(sums, seed.gaps, len(batch), options) if learns_gaps else model.gaps
        gaps = GapParameters.of(gaps.opens.reshape(-1), gaps.extends.reshape(-1))
        model = PairHmm(gaps, maximized_emissions(sums, 0, seed.emissions, len(batch), options))
        goes_on = bool(_go_on(number, sums.log_likelihoods, before, options)[0])
        before = sums.log_likelihoods
        yield TrainingRound(number, float(before[0]), model)


def train_each(
    session: Session, batch: PairBatch, begin: PairHmm, seed: PairHmm, options: TrainingOptions,
    learns_gaps: npt.NDArray[np.bool_], learns_emissions: npt.NDArray[np.bool_], tell: Told = nobody_told,
) -> PairHmms:  # fmt: skip
    """Train a model on each pair that learns anything (bool[n] each); all begin with the same."""
    models, before = PairHmms.same(begin, len(batch)), np.full(len(batch), -np.inf)
    going_on = np.flatnonzero((learns_gaps | learns_emissions) & _filled(batch))
    number = 0
    while len(going_on):
        opens, extends, emission_rows = (
            models.gaps.opens.copy(),
            models.gaps.extends.copy(),
            models.emission_rows.copy(),
        )
        emissions = list(models.emissions)
        number, n_done, left = number + 1, 0, []
        for rows in batch_rows(batch, session.device, going_on):
            found = session.run(EXPECTED_COUNTS, _selected(batch, rows), models.select(rows))
            gaps = maximized_gaps(found, seed.gaps, 1, options)
            is_gap = learns_gaps[rows, None]
            opens[rows] = np.where(is_gap, gaps.opens, opens[rows])
            extends[rows] = np.where(is_gap, gaps.extends, extends[rows])
            for place in np.flatnonzero(learns_emissions[rows]).tolist():
                emission_rows[rows[place]] = len(emissions)
                emissions.append(maximized_emissions(found, place, seed.emissions, 1, options))
            left.append(rows[_go_on(number, found.log_likelihoods, before[rows], options)])
            before[rows] = found.log_likelihoods
            n_done += len(rows)
            tell(number, n_done, len(going_on))
        going_on = np.concatenate(left)
        models = PairHmms(GapParameters.of(opens, extends), tuple(emissions), emission_rows)
    return models.select(np.arange(len(batch)))


def _go_on(number: int, likelihoods: Numbers, before: Numbers, options: TrainingOptions) -> npt.NDArray[np.bool_]:
    """Return where training goes on after a round, given the logarithms of the likelihoods of this and the last one.

    Parameters have changed in any case.
    """
    if number == 1:
        is_better = np.isfinite(likelihoods)
    else:
        increase = np.abs(likelihoods / np.where(np.abs(before) < 0.001, 1.0, before) - 1.0)
        is_better = (likelihoods > before) & (increase >= options.least_increase)
    return is_better & (number < min(options.most_rounds, MOST_ROUNDS))


def maximized_gaps(counts: ExpectedCounts, seed: GapParameters, n: int, options: TrainingOptions) -> GapParameters:
    """Return the gap parameters that make each row of counts, over n pairs, most probable (float64[rows, n_sets]).

    Pseudocounts are added to opening and extending, but to nothing else that could be.
    """
    weight = n * options.gap_scale * options.regularize
    opened, extended = counts.opens + COUNT_OFFSET, counts.extends + COUNT_OFFSET
    n_absent = 2 - seed.n_sets  # a second set that is not there counts as if it were hardly ever opened
    from_match = counts.match_match + opened.sum(axis=1) + COUNT_OFFSET * (n_absent + 1) + weight * seed.opens.sum()
    from_gap = counts.extends + counts.closes + COUNT_OFFSET + weight * seed.extends
    least, most = TO_END, 1 - TO_END
    opens = np.clip((opened + weight * seed.opens) / from_match[:, None], least, most)
    extends = np.clip((extended + weight * seed.extends) / from_gap, least, most)
    extends = np.where(1 - extends - TO_END < least, extends - TO_END, extends)
    is_too_much = 1 - opens.sum(axis=1) - least * n_absent - TO_END < 0
    return GapParameters.of(opens - is_too_much[:, None] * TO_END / 2, extends)


def maximized_emissions(
    counts: ExpectedCounts, row: int, seed: PairEmissions, n: int, options: TrainingOptions
) -> PairEmissions:
    """Return the emissions that make a row of counts, over n pairs, most probable.

    Those of gaps are the same for both sequences; those of matches are not symmetric.
    """
    weight = n * options.emission_scale * options.regularize
    alone = counts.inserts[row] + counts.deletes[row]
    singles = (alone + 2 * weight * seed.singles) / (alone.sum() + 2 * weight)
    pairs = (counts.matches[row] + weight * seed.pairs) / (counts.matches[row].sum() + weight)
    return PairEmissions.of(seed.letters, singles, pairs)


def batch_rows(batch: PairBatch, device: Device, rows: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """Yield some rows of a batch, in their order, cut to what goes to a device together."""
    cells = CPU_CELLS if device.kind in ("cpu", "reference") else GPU_CELLS
    lengths = batch.queries.lengths.astype(np.int64)[batch.query_rows[rows]]
    ends = np.cumsum(lengths * batch.targets.lengths[batch.target_rows[rows]])
    first = 0
    while first < len(rows):
        done = ends[first - 1] if first else 0
        end = max(first + 1, int(np.searchsorted(ends, done + cells, side="right")))
        yield rows[first:end]
        first = end


def _selected(batch: PairBatch, rows: npt.NDArray[np.int64]) -> PairBatch:
    return replace(batch, query_rows=batch.query_rows[rows], target_rows=batch.target_rows[rows])


def _filled(batch: PairBatch) -> npt.NDArray[np.bool_]:
    """Return of which pairs both sequences have residues (bool[n])."""
    is_filled: npt.NDArray[np.bool_] = batch.queries.lengths[batch.query_rows] > 0
    return is_filled & (batch.targets.lengths[batch.target_rows] > 0)


def _added(sums: ExpectedCounts | None, counts: ExpectedCounts) -> ExpectedCounts:
    """Return sums over pairs, one after the other so that they do not depend on how pairs are cut into batches."""
    parts: list[Numbers] = []
    for name in ExpectedCounts.__slots__:
        numbers = getattr(counts, name)
        if sums is not None:
            numbers = np.concatenate([getattr(sums, name), numbers])
        add = np.logaddexp if name == "log_likelihoods" else np.add
        parts.append(add.accumulate(numbers)[-1:])
    return ExpectedCounts(*parts)
