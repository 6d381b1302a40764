"""How far an alignment can be trusted, judged by posteriors: any alignment of the sequences that they are of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.sparse_posteriors import SparsePosteriors

Floats = npt.NDArray[np.float64]
Singles = npt.NDArray[np.float32]

MEASURES = ("accuracy", "sensitivity", "specificity", "certainty", "consistency")
ACCURACY, SENSITIVITY, SPECIFICITY, CERTAINTY, CONSISTENCY = range(5)

SAME = 1e-4
"""Posteriors that differ by no more are taken for the same, denominators no larger for 0."""

FALLBACK = 0.01
"""Stands for what is left out of the posteriors, where it has to be something."""

MAX_CERTAIN = 5.0
"""An alignment this many times as likely as the next best one is certain."""


class Reliability(Struct, frozen=True, eq=False):
    """Numerators and denominators of the measures, for each character of an alignment; gaps are characters, too.

    Attributes
    ----------
    over, under : float64[5, N, n_columns]
        In the order of `MEASURES`.
    is_residue : bool[N, n_columns]
    is_paired : bool[N, n_columns]
        Whether it is a residue with another one in its column.
    """

    over: Floats
    under: Floats
    is_residue: npt.NDArray[np.bool_]
    is_paired: npt.NDArray[np.bool_]

    def characters(self, measure: str) -> Floats:
        """Return a measure of each character, from 0 to 1, nan where it has none (float64[N, n_columns])."""
        number = MEASURES.index(measure)
        defined = self.is_paired if number in (SENSITIVITY, SPECIFICITY) else np.ones_like(self.is_paired)
        return _shares(number, self.over[number], np.where(defined, self.under[number], 0))

    def columns(self, measure: str) -> Floats:
        """Return a measure of each column, nan where it has none (float64[n_columns])."""
        number = MEASURES.index(measure)
        over, under = self._counted(number)
        return _shares(number, over.sum(axis=0), under.sum(axis=0))

    def whole(self, measure: str) -> float:
        """Return a measure of the whole alignment, nan if it has none."""
        number = MEASURES.index(measure)
        over, under = self._counted(number)
        return float(_shares(number, over.sum(), under.sum()))

    def _counted(self, number: int) -> tuple[Floats, Floats]:
        counted = self.is_residue if number == CERTAINTY else np.ones_like(self.is_residue)
        return np.where(counted, self.over[number], 0), np.where(counted, self.under[number], 0)


def _shares(number: int, over: npt.ArrayLike, under: npt.ArrayLike) -> Floats:
    over, under = np.asarray(over, np.float64), np.asarray(under, np.float64)
    ratio = np.where(under > SAME, over / np.where(under > SAME, under, 1), np.nan)
    if number == CERTAINTY:
        ratio = np.log(np.clip(ratio, 1, MAX_CERTAIN)) / np.log(MAX_CERTAIN)
    return ratio


def reliability(posteriors: SparsePosteriors, alignment: MultipleAlignment) -> Reliability:
    """Return the numbers that the measures of an alignment are made of."""
    positions = alignment.positions()
    over, under = np.zeros((2, len(MEASURES), *positions.shape))
    for i, j, pair in posteriors.each():
        x, y = positions[i], positions[j]
        both = (x >= 0) & (y >= 0)
        sides = [
            _facts(places, pair.probabilities, gaps)
            for places, gaps in ((pair.rows, pair.x_gaps), (pair.columns, pair.y_gaps))
        ]
        p = np.where(x >= 0, _taken(pair.x_gaps, x), _taken(pair.y_gaps, y))
        p = np.where(both, pair.at(x, y), p).astype(np.float64)
        m = (x >= 0).astype(np.float64) + (y >= 0)
        for row, own, other, facts, others in ((i, x, y, *sides), (j, y, x, *sides[::-1])):
            first, second, matched = (
                np.where(own >= 0, _taken(fact, own), _taken(partner, other))
                for fact, partner in zip(facts, others, strict=True)
            )
            over[[ACCURACY, CERTAINTY, CONSISTENCY], row] += m * p
            under[ACCURACY, row] += m
            under[CERTAINTY, row] += m * np.where(np.abs(p - first) <= SAME, second, first)
            under[CONSISTENCY, row] += m * first
            over[[SENSITIVITY, SPECIFICITY], row] += np.where(both, [p, 2 * p], 0)
            under[SENSITIVITY, row] += np.where(own >= 0, matched, 0)
            under[SPECIFICITY, row] += np.where(both, m, 0)
    is_residue = positions >= 0
    return Reliability(over, under, is_residue, is_residue & (is_residue.sum(axis=0) > 1))


def expected_accuracy(
    posteriors: SparsePosteriors, alignment: MultipleAlignment, check: Callable[[], None] = lambda: None
) -> tuple[Singles, np.float32]:
    """Return the expected accuracy of each column (float32[n_columns]), and that of all of them.

    It is the measure of that name in single precision, summed up as FSA does it: so the digits are the same.

    Parameters
    ----------
    posteriors : SparsePosteriors
    alignment : MultipleAlignment
    check : callable
        Called for each pair; it may raise `Cancelled`.
    """
    positions, numbers, pairs = alignment.positions(), posteriors.pair_numbers(), list(posteriors.each())
    matched, gapped, under = np.zeros((3, alignment.n_columns), np.float32)
    for i, j in np.argwhere(numbers >= 0).tolist():
        check()
        x, y, pair = positions[i], positions[j], pairs[numbers[i, j]][2]
        both, alone = (x >= 0) & (y >= 0), (x >= 0) & (y < 0)
        gapped[alone] += (pair.x_gaps if i < j else pair.y_gaps)[x[alone]]
        if i < j:
            matched[both] += pair.at(x[both], y[both])
        under += x >= 0  # of a pair of residues, once for each
    over = np.float32(2) * matched + gapped
    columns = np.divide(over, under, out=np.zeros_like(over), where=under > 0)
    sums = [np.add.accumulate(terms)[-1] if len(terms) else np.float32(0) for terms in (over, under)]
    return columns, sums[0] / sums[1] if sums[1] else np.float32(0)


def _taken(values: npt.NDArray[np.floating], places: npt.NDArray[np.int32]) -> Floats:
    """Return values at places, 0 for the place -1."""
    return np.append(values, 0)[places].astype(np.float64)


def _facts(places: npt.NDArray[np.int32], p: npt.NDArray[np.float32], gaps: npt.NDArray[np.float32]) -> Floats:
    """Return the largest and second posterior of each residue, and the sum of the matches (float64[3, n])."""
    owners = np.concatenate([places, np.arange(len(gaps), dtype=np.int32)])
    values = np.concatenate([p, gaps]).astype(np.float64)
    order = np.lexsort((-values, owners))
    begin = np.searchsorted(owners[order], np.arange(len(gaps)))
    ordered = np.append(values[order], 0)
    several = np.bincount(owners, minlength=len(gaps)) > 1
    second = np.where(several, ordered[begin + 1] if len(gaps) else 0, FALLBACK)
    sums = np.bincount(places, weights=p, minlength=len(gaps))
    return np.array([ordered[begin], second, np.where(several, sums, FALLBACK)])
