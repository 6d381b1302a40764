"""Expected counts of steps and of emitted residues in the paths of pairs of sequences, on any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.stages.pairhmm.pair_hmm import (
    CLOSES,
    END_MATCH,
    ENDS,
    EXTENDS,
    MANTISSA,
    N_RESULTS,
    STARTS,
    Pairs,
    Rows,
    held_by_floats,
    start_kernel,
)
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import ExpectedCounts, Numbers, PairHmms


class ExpectedCountsStage(Stage[PairBatch, PairHmms, ExpectedCounts]):
    """The expected counts of every pair of a batch; 0 for pairs that are impossible, or with an empty sequence.

    Counts are those of the reference but for some 1e-5 of what they count in.
    """

    name = "pair_hmm"

    def reference(self, batch: PairBatch, model: PairHmms, check: Check = no_check) -> ExpectedCounts:
        found = no_counts(model)
        _set_plainly(found, Pairs.of(batch, model).rows, batch, model, check)
        return found

    def start(self, session: KernelSession, batch: PairBatch, model: PairHmms) -> Callable[[], ExpectedCounts]:
        pairs, counts = Pairs.of(batch, model), no_counts(model)
        if not len(pairs):
            return lambda: counts
        n, n_letters = len(pairs), len(model.emissions[0].letters)
        results, matches = session.results(4 * N_RESULTS * n), session.results(4 * n * n_letters**2)
        start_kernel(self, session, pairs, True, np.zeros(n, np.int64), results, matches)
        fetch_results = session.fetch(results, (n, N_RESULTS), np.float32)
        fetch_matches = session.fetch(matches, (n, n_letters, n_letters), np.float32)

        def collect() -> ExpectedCounts:
            found = fetch_results()
            is_held = held_by_floats(session, pairs, found)
            counts.log_likelihoods[pairs.rows] = pairs.log_likelihoods(found)
            _set_steps(counts, pairs, found.astype(np.float64), fetch_matches().astype(np.float64))
            _set_plainly(counts, pairs.rows[~is_held], batch, model, session.check)
            return counts

        return collect


def no_counts(models: PairHmms) -> ExpectedCounts:
    """Return counts of 0 of pairs that are impossible."""
    n, n_sets, n_letters = len(models), models.gaps.n_sets, len(models.emissions[0].letters)
    shapes = ((n,), *[(n, n_sets)] * 3, (n, n_letters, n_letters), *[(n, n_letters)] * 2, (n,))
    counts = ExpectedCounts(*(np.zeros(shape) for shape in shapes))
    counts.log_likelihoods[:] = -np.inf
    return counts


def _set_plainly(counts: ExpectedCounts, rows: Rows, batch: PairBatch, model: PairHmms, check: Check) -> None:
    """Set the counts of some pairs by the plain reference."""
    from clalign.reference.pair_hmm import expected_counts

    for row in rows.tolist():
        codes = batch.queries.residues(batch.query_rows[row]), batch.targets.residues(batch.target_rows[row])
        of_pair = expected_counts(*codes, model[row], check)
        for name in ExpectedCounts.__struct_fields__:
            getattr(counts, name)[row] = getattr(of_pair, name)[0]


def _set_steps(counts: ExpectedCounts, pairs: Pairs, found: Numbers, matches: Numbers) -> None:
    """Set the counts of pairs from what the kernel has summed up.

    As often as a path comes to a state it leaves it, and each residue is emitted once: some counts follow from others.
    """
    rows, n_sets = pairs.rows, counts.opens.shape[1]
    extends, closes, ends, starts = (found[:, first : first + n_sets] for first in (EXTENDS, CLOSES, ENDS, STARTS))
    counts.extends[rows], counts.closes[rows] = extends, closes
    counts.opens[rows] = counts.closes[rows] + ends - starts
    set_emitted(counts, pairs, found, matches)
    opened = counts.opens[rows].sum(axis=1)
    counts.match_match[rows] = np.maximum(matches.sum(axis=(1, 2)) - opened - found[:, END_MATCH], 0)


def set_emitted(counts: ExpectedCounts, pairs: Pairs, found: Numbers, matches: Numbers) -> None:
    """Set how often letters of pairs match; each residue that is not matched is emitted in a gap."""
    is_possible = found[:, MANTISSA, None] > 0
    of_x, of_y = (composition * is_possible for composition in pairs.compositions())
    counts.matches[pairs.rows] = matches
    counts.inserts[pairs.rows] = np.maximum(of_x - matches.sum(axis=2), 0)
    counts.deletes[pairs.rows] = np.maximum(of_y - matches.sum(axis=1), 0)


EXPECTED_COUNTS = ExpectedCountsStage()
