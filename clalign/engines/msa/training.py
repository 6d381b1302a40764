"""Estimation of the parameters of pair HMMs from the sequences that are to be aligned (Baum-Welch).

First a model is trained on all pairs together (proteins), which learns what matches and gaps emit; then one on each
pair, which begins with it. Pseudocounts are those of the model before anything was learned.

Rounds, pseudocounts and limits are those of fsa 1.15.9. It adds counts up over all cells in single precision, which
loses small ones, the more the more pairs there are and the longer they are: what it learns of the 15 pairs of six
proteins of 1,400 residues is off by 6e-4, where what is learned here is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.portions import portions_of
from clalign.compute.sessions import Check, Session, no_check
from clalign.engines.msa.spec import MAX_ROUNDS
from clalign.engines.msa.splitting import expected_counts, selected
from clalign.values.devices import Device
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import TO_END, ExpectedCounts, GapParameters, Numbers, PairEmissions, PairHmm, PairHmms

COUNT_OFFSET = 0.001
"""Added to every count of a step."""

CPU_CELLS, GPU_CELLS = 100_000_000, 4_000_000_000
"""Cells of the matrices that go to a device together: a CPU takes some tenths of a second, and a
GPU needs many pairs."""


WINDOW_PAIRS = 1 << 16
"""Pairs that are prepared between two looks at whether to stop."""

BLOCK_PAIRS, BLOCK_CELLS = 32, 200_000_000
"""Pairs, and cells of their matrices, of a block: what it comes to does not depend on devices."""


class TrainingOptions(Struct, frozen=True):
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
        Mean length of the sequences of a pair above which there is enough to learn from it; gaps are learned wherever
        emissions are.
    least_total_gap_data, least_total_emission_data : int
        Mean length of all sequences, times all pairs of them, above which anything is learned at all; -1 for no limit.
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
    least_total_gap_data: int = -1
    least_total_emission_data: int = -1
    least_increase: float = 0.1
    most_rounds: int = MAX_ROUNDS


PROTEIN_TRAINING = TrainingOptions(True, "all", 210.0, 1596, least_total_gap_data=60, least_total_emission_data=1596)
NUCLEIC_TRAINING = TrainingOptions(True, "pair", 10.0, 60)


class TrainingRound(Struct, frozen=True):
    """What a round of training came to.

    Attributes
    ----------
    number : int
        Counted from 1.
    log_likelihood : float
        Of the sequences under the model before the round; that of all pairs is a sum over the pairs' likelihoods.
    model : PairHmm
        The model after it.
    goes_on : bool
        Whether another round follows.
    """

    number: int
    log_likelihood: float
    model: PairHmm
    goes_on: bool


class Trained(Struct, frozen=True, eq=False):
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


def train(
    session: Session, batch: PairBatch, seed: PairHmm, lengths: npt.NDArray[np.int64], options: TrainingOptions
) -> Trained:
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
    """
    learns_gaps, learns_emissions = what_to_learn(lengths, options)
    rounds: tuple[TrainingRound, ...] = ()
    if learns_emissions and options.emissions == "all":
        rounds = tuple(train_together(session, batch, seed, options, learns_gaps))
    common = rounds[-1].model if rounds else seed
    return Trained(train_pairs(session, batch, common, seed, lengths, options), common, rounds)


def what_to_learn(lengths: npt.NDArray[np.int64], options: TrainingOptions) -> tuple[bool, bool]:
    """Return whether gaps, and whether emissions, are to be learned of sequences of these lengths."""
    n = len(lengths)
    data = n * (n - 1) // 2 * (int(lengths.sum()) // n)
    learns_emissions = options.emissions != "none" and data > options.least_total_emission_data
    return options.gaps and data > options.least_total_gap_data, learns_emissions


def train_together(
    session: Session, batch: PairBatch, seed: PairHmm, options: TrainingOptions, learns_gaps: bool
) -> Iterator[TrainingRound]:
    """Train one model on all pairs, with its emissions; yield what each round came to."""
    last: TrainingRound | None = None
    while last is None or last.goes_on:
        model = last.model if last else seed
        sums = total_counts(summed_counts(session, batch, model, blocks_of(batch))[0].values())
        if sums is None:  # there is nothing but empty sequences
            return
        last = next_round(sums, last, seed, len(batch), options, learns_gaps)
        yield last


def blocks_of(batch: PairBatch, check: Check = no_check) -> npt.NDArray[np.int64]:
    """Return where the blocks of pairs end whose counts are added up first (int64[n_blocks]).

    Parameters
    ----------
    batch : PairBatch
    check : callable, optional
        Called at least some times a second.
    """
    ends, first, n = [np.empty(0, np.int64)], 0, len(batch)
    while first < n:
        check()
        cells = np.cumsum(cells_of(batch, slice(first, first + WINDOW_PAIRS)))
        found, done, before = [], 0, 0
        while done + BLOCK_PAIRS <= len(cells) or (done < len(cells) and first + len(cells) == n):
            inside = cells[done : done + BLOCK_PAIRS]
            done += max(1, int(np.searchsorted(inside, before + BLOCK_CELLS, side="right")))
            before = int(cells[done - 1])
            found.append(first + done)
        ends.append(np.array(found, np.int64))
        first += done
    return np.concatenate(ends)


def cells_of(batch: PairBatch, rows: slice = slice(None)) -> npt.NDArray[np.int64]:
    """Return the cells of the matrix of each pair, or of some (int64[n])."""
    cells: npt.NDArray[np.int64] = batch.queries.lengths.astype(np.int64)[batch.query_rows[rows]]
    return cells * batch.targets.lengths[batch.target_rows[rows]]


def summed_counts(
    session: Session, batch: PairBatch, model: PairHmm, ends: npt.NDArray[np.int64]
) -> tuple[dict[int, ExpectedCounts], Numbers]:
    """Return the sums of the expected counts of blocks of pairs under one model, by the number of the block.

    With them come the logarithms of the likelihoods of all pairs (float64[n]).

    Pairs are added in their order, however they are cut into batches; blocks of empty sequences are left out.

    Parameters
    ----------
    session : Session
    batch : PairBatch
    model : PairHmm
    ends : int64[n_blocks]
        Where each block ends.
    """
    sums: dict[int, ExpectedCounts] = {}
    likelihoods = np.full(len(batch), -np.inf)
    for rows in batch_rows(batch, session.device, np.flatnonzero(_filled(batch))):
        found = expected_counts(session, selected(batch, rows), PairHmms.same(model, len(rows)))
        likelihoods[rows] = found.log_likelihoods
        blocks = np.searchsorted(ends, rows, side="right")
        for block in np.unique(blocks).tolist():
            inside = blocks == block
            parts = ExpectedCounts(*(getattr(found, name)[inside] for name in ExpectedCounts.__struct_fields__))
            sums[block] = _added(sums.get(block), parts)
    return sums, likelihoods


def total_counts(sums: Iterable[ExpectedCounts]) -> ExpectedCounts | None:
    """Return the sum of sums in their order; None if there are none."""
    total: ExpectedCounts | None = None
    for one in sums:
        total = _added(total, one)
    return total


def next_round(
    sums: ExpectedCounts, last: TrainingRound | None, seed: PairHmm, n: int, options: TrainingOptions, learns_gaps: bool
) -> TrainingRound:
    """Return the outcome of a round, from the sums of the expected counts of n pairs under the model before it."""
    number, before = (last.number + 1, last.log_likelihood) if last else (1, -np.inf)
    gaps = (last.model if last else seed).gaps
    if learns_gaps:
        learned = maximized_gaps(sums, seed.gaps, n, options)
        gaps = GapParameters.of(learned.opens.reshape(-1), learned.extends.reshape(-1))
    model = PairHmm(gaps, maximized_emissions(sums, 0, seed.emissions, n, options))
    goes_on = bool(_go_on(number, sums.log_likelihoods, np.array([before]), options)[0])
    return TrainingRound(number, float(sums.log_likelihoods[0]), model, goes_on)


def train_pairs(
    session: Session, batch: PairBatch, common: PairHmm, seed: PairHmm, lengths: npt.NDArray[np.int64],
    options: TrainingOptions,
) -> PairHmms:  # fmt: skip
    """Train the model of each pair, as far as there is enough to learn from; see `train`."""
    learns_gaps, learns_emissions = what_to_learn(lengths, options)
    is_emission = learns_emissions and options.emissions == "pair"
    if not (learns_gaps or is_emission):
        return PairHmms.same(common, len(batch))
    sizes = batch.queries.lengths[batch.query_rows] / 2 + batch.targets.lengths[batch.target_rows] / 2
    has_emissions = is_emission & (sizes > options.least_emission_data)
    has_gaps = learns_gaps & ((sizes > options.least_gap_data) | has_emissions)
    return train_each(session, batch, common, seed, options, has_gaps, has_emissions)


def train_each(
    session: Session, batch: PairBatch, begin: PairHmm, seed: PairHmm, options: TrainingOptions,
    learns_gaps: npt.NDArray[np.bool_], learns_emissions: npt.NDArray[np.bool_],
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
        number, left = number + 1, []
        for rows in batch_rows(batch, session.device, going_on):
            found = expected_counts(session, selected(batch, rows), models.select(rows))
            gaps = maximized_gaps(found, seed.gaps, 1, options)
            is_gap = learns_gaps[rows, None]
            opens[rows] = np.where(is_gap, gaps.opens, opens[rows])
            extends[rows] = np.where(is_gap, gaps.extends, extends[rows])
            for place in np.flatnonzero(learns_emissions[rows]).tolist():
                emission_rows[rows[place]] = len(emissions)
                emissions.append(maximized_emissions(found, place, seed.emissions, 1, options))
            left.append(rows[_go_on(number, found.log_likelihoods, before[rows], options)])
            before[rows] = found.log_likelihoods
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
    return is_better & (number < min(options.most_rounds, MAX_ROUNDS))


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
    """Return some rows of a batch, in their order, cut to what goes to a device together."""
    cells = CPU_CELLS if device.kind in ("cpu", "reference") else GPU_CELLS
    lengths = batch.queries.lengths.astype(np.int64)[batch.query_rows[rows]]
    return (rows[part] for part in portions_of(lengths * batch.targets.lengths[batch.target_rows[rows]], cells))


def _filled(batch: PairBatch) -> npt.NDArray[np.bool_]:
    """Return of which pairs both sequences have residues (bool[n])."""
    is_filled: npt.NDArray[np.bool_] = batch.queries.lengths[batch.query_rows] > 0
    return is_filled & (batch.targets.lengths[batch.target_rows] > 0)


def _added(sums: ExpectedCounts | None, counts: ExpectedCounts) -> ExpectedCounts:
    """Return sums over pairs, one after the other so that they do not depend on how pairs are cut into batches."""
    parts: list[Numbers] = []
    for name in ExpectedCounts.__struct_fields__:
        numbers = getattr(counts, name)
        if sums is not None:
            numbers = np.concatenate([getattr(sums, name), numbers])
        add = np.logaddexp if name == "log_likelihoods" else np.add
        parts.append(add.accumulate(numbers)[-1:])
    return ExpectedCounts(*parts)
