"""Estimation of the parameters of pair HMMs from the sequences that are to be aligned (Baum-Welch).

First a model is trained on all pairs together (proteins), which learns what matches and gaps emit; then one on each
pair, which begins with it. Pseudocounts are those of the model before anything was learned.
"""

from __future__ import annotations

import math
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
    return Trained(_joined(models), common, rounds)


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
    model = seed
    progress = _Progress(options)
    while progress.goes_on:
        sums: ExpectedCounts | None = None
        n_done, number = 0, progress.n_rounds + 1
        for rows in batch_rows(batch, session.device, np.flatnonzero(_filled(batch))):
            part = _selected(batch, rows)
            found = session.run(EXPECTED_COUNTS, part, PairHmms.same(model, len(part)))
            sums = _added(sums, found)
            n_done += len(part)
            tell(number, n_done, len(batch))
        if sums is None:  # there is nothing but empty sequences
            return
        model = maximized(model, sums, seed, len(batch), options, learns_gaps, True)
        likelihood = float(sums.log_likelihoods[0])
        progress.judge(likelihood)
        yield TrainingRound(number, likelihood, model)


def train_each(
    session: Session, batch: PairBatch, begin: PairHmm, seed: PairHmm, options: TrainingOptions,
    learns_gaps: npt.NDArray[np.bool_], learns_emissions: npt.NDArray[np.bool_], tell: Told = nobody_told,
) -> list[PairHmm]:  # fmt: skip
    """Train a model on each pair that learns anything (bool[n] each); all begin with the same."""
    models = [begin] * len(batch)
    progress = [_Progress(options) for _ in models]
    going_on = np.flatnonzero((learns_gaps | learns_emissions) & _filled(batch))
    number = 0
    while len(going_on):
        number, n_done = number + 1, 0
        for rows in batch_rows(batch, session.device, going_on):
            part = _selected(batch, rows)
            found = session.run(EXPECTED_COUNTS, part, _joined([models[row] for row in rows]))
            for place, row in enumerate(rows.tolist()):
                counts = _of_pair(found, place)
                learned = bool(learns_gaps[row]), bool(learns_emissions[row])
                models[row] = maximized(models[row], counts, seed, 1, options, *learned)
                progress[row].judge(float(counts.log_likelihoods[0]))
            n_done += len(rows)
            tell(number, n_done, len(going_on))
        going_on = going_on[[progress[row].goes_on for row in going_on]]
    return models


class _Progress:
    """Whether the rounds of a training go on."""

    def __init__(self, options: TrainingOptions) -> None:
        self.options = options
        self.n_rounds = 0
        self.goes_on = True
        self._before = -math.inf

    def judge(self, log_likelihood: float) -> None:
        """Take the logarithm of the likelihood of a round, after which parameters have changed in any case."""
        before, self._before = self._before, log_likelihood
        self.n_rounds += 1
        increase = 1.0
        if self.n_rounds > 1:
            increase = abs(log_likelihood / (before if abs(before) >= 0.001 else 1.0) - 1.0)
        is_better = log_likelihood > before and increase >= self.options.least_increase
        self.goes_on = is_better and self.n_rounds < min(self.options.most_rounds, MOST_ROUNDS)


def maximized(
    model: PairHmm, counts: ExpectedCounts, seed: PairHmm, n: int, options: TrainingOptions, learns_gaps: bool,
    learns_emissions: bool,
) -> PairHmm:  # fmt: skip
    """Return the model that makes counts, of the first row, over so many pairs most probable."""
    gaps = _gaps(counts, seed.gaps, n * options.gap_scale * options.regularize) if learns_gaps else model.gaps
    weight = n * options.emission_scale * options.regularize
    emissions = _emissions(counts, seed.emissions, weight) if learns_emissions else model.emissions
    return PairHmm(gaps, emissions)


def _gaps(counts: ExpectedCounts, seed: GapParameters, weight: float) -> GapParameters:
    """Return gap parameters; pseudocounts are added to opening and extending, but to nothing else that could be."""
    opened, extended = counts.opens[0] + COUNT_OFFSET, counts.extends[0] + COUNT_OFFSET
    n_absent = 2 - seed.n_sets  # a second set that is not there counts as if it were hardly ever opened
    from_match = counts.match_match[0] + opened.sum() + COUNT_OFFSET * (n_absent + 1) + weight * seed.opens.sum()
    from_gap = counts.extends[0] + counts.closes[0] + COUNT_OFFSET + weight * seed.extends
    least, most = TO_END, 1 - TO_END
    opens = np.clip((opened + weight * seed.opens) / from_match, least, most)
    extends = np.clip((extended + weight * seed.extends) / from_gap, least, most)
    extends = np.where(1 - extends - TO_END < least, extends - TO_END, extends)
    if 1 - opens.sum() - least * n_absent - TO_END < 0:
        opens = opens - TO_END / 2
    return GapParameters.of(opens, extends)


def _emissions(counts: ExpectedCounts, seed: PairEmissions, weight: float) -> PairEmissions:
    """Return emissions; those of gaps are the same for both sequences, those of matches are not symmetric."""
    singles = counts.inserts[0] + counts.deletes[0] + 2 * weight * seed.singles
    pairs = counts.matches[0] + weight * seed.pairs
    alone = (counts.inserts[0] + counts.deletes[0]).sum() + 2 * weight
    return PairEmissions.of(seed.letters, singles / alone, pairs / (counts.matches[0].sum() + weight))


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


def _of_pair(counts: ExpectedCounts, row: int) -> ExpectedCounts:
    return ExpectedCounts(*(getattr(counts, name)[row : row + 1] for name in ExpectedCounts.__slots__))


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


def _joined(models: list[PairHmm]) -> PairHmms:
    """Return models as those of a batch; emissions that are the same object are shared."""
    kinds = {id(model.emissions): model.emissions for model in models}
    numbers = {key: number for number, key in enumerate(kinds)}
    rows = np.array([numbers[id(model.emissions)] for model in models], np.int32)
    return PairHmms(tuple(model.gaps for model in models), tuple(kinds.values()), rows)
