"""Iterative refinement: single residues are moved to the columns where the expected score is highest.

The expected score of an alignment is twice the posteriors of its aligned pairs, and the gap posteriors,
times the gap factor, of its residues that are aligned to nothing of another sequence. A residue may move to
any column up to the next ones that hold residues of its own sequence. All sums are in single precision, in
the order of the sequences.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable

import numpy as np

from clalign.values.multiple_alignments import MultipleAlignment, ResidueMoves, without_empty_columns
from clalign.values.sparse_posteriors import SparsePosteriors

_TWO, _ZERO = np.float32(2), np.float32(0)

Move = tuple[int, int, int, int]


class _Scores:
    """What alignments are worth, and what single residues are in their columns."""

    def __init__(self, posteriors: SparsePosteriors, gap_factor: float) -> None:
        self.n = len(posteriors.lengths)
        self.factor = np.float32(gap_factor)
        self.entries: dict[tuple[int, int], dict[tuple[int, int], np.float32]] = {}
        """Posteriors of each ordered pair of sequences, by their residues."""
        self.gaps: dict[tuple[int, int], list[np.float32]] = {}
        """Probabilities of gaps of the residues of the first of each ordered pair of sequences."""
        for x, y, pair in posteriors.each():
            places = list(zip(pair.rows.tolist(), pair.columns.tolist(), strict=True))
            self.entries[x, y] = dict(zip(places, pair.probabilities, strict=True))
            self.entries[y, x] = {(b, a): p for (a, b), p in self.entries[x, y].items()}
            self.gaps[x, y], self.gaps[y, x] = list(pair.x_gaps), list(pair.y_gaps)
        self.partners = [[j for j in range(self.n) if (i, j) in self.gaps] for i in range(self.n)]

    def of_residue(self, i: int, a: int, column: dict[int, int]) -> np.float32:
        """Return the part of residue a of sequence i in the score of an alignment, in a column with other residues."""
        worth = _ZERO
        for j in self.partners[i]:
            if j in column:
                matched = self.entries[i, j].get((a, column[j]), _ZERO)
                worth += _TWO * matched - self.factor * self.gaps[j, i][column[j]]
            else:
                worth += self.factor * self.gaps[i, j][a]
        return worth

    def of_alignment(self, columns: list[dict[int, int]]) -> np.float32:
        """Return the expected score of an alignment."""
        score = _ZERO
        for column in columns:
            matched = gapped = _ZERO
            for i, a in column.items():
                for j in self.partners[i]:
                    if j not in column:
                        gapped += self.gaps[i, j][a]
                    elif i < j:
                        matched += self.entries[i, j].get((a, column[j]), _ZERO)
            score += _TWO * matched + self.factor * gapped
        return score


def _best(scores: _Scores, columns: list[dict[int, int]], i: int, a: int, own: int) -> tuple[np.float32, int]:
    """Return the most that a residue adds in the columns that it may move to, and the first of these."""
    best, where = scores.of_residue(i, a, columns[own]), own
    for step in (1, -1):
        c = own + step
        while 0 <= c < len(columns) and i not in columns[c]:
            worth = scores.of_residue(i, a, columns[c])
            if worth > best:
                best, where = worth, c
            c += step
    return best, where


def _sweep(scores: _Scores, columns: list[dict[int, int]], check: Callable[[], None], n_kept: int) -> list[Move]:
    """Move residues, those first that gain the highest score; return sequence, position, and the two columns of each.

    Those of the first sequences stay. Where a residue belongs is looked for from the column that it was in before.
    """
    heap: list[tuple[float, int, int, int, int]] = []  # negated: the smallest comes first
    for c, column in enumerate(columns):
        check()
        for i, a in column.items():
            worth, best = _best(scores, columns, i, a, c) if i >= n_kept else (_ZERO, c)
            if best != c:
                heap.append((-float(worth), -i, -a, -c, -best))
    heapq.heapify(heap)
    moves = []
    while heap:
        check()
        _, i, a, own, _ = (-int(number) if k else 0 for k, number in enumerate(heapq.heappop(heap)))
        worth, best = _best(scores, columns, i, a, own)
        if heap and -float(worth) > heap[0][0]:
            heapq.heappush(heap, (-float(worth), -i, -a, -own, -best))
        elif best != own:
            del columns[own][i]
            columns[best][i] = a
            moves.append((i, a, own, best))
    return moves


def refine(
    posteriors: SparsePosteriors,
    alignment: MultipleAlignment,
    gap_factor: float = 1.0,
    most_sweeps: int = -1,
    check: Callable[[], None] = lambda: None,
    n_kept: int = 0,
) -> ResidueMoves:
    """Return the moves of an alignment's residues until a sweep over all of them no longer raises the score.

    Parameters
    ----------
    posteriors : SparsePosteriors
    alignment : MultipleAlignment
    gap_factor : float
    most_sweeps : int
        The last sweep that is made; negative for as many as it takes.
    check : callable
        Called often; may raise an exception.
    n_kept : int
        The first sequences, whose residues are not moved.
    """
    scores = _Scores(posteriors, gap_factor)
    moves: list[Move] = []
    ends: list[int] = []
    reached: list[np.float32] = []
    current = alignment
    while True:
        columns: list[dict[int, int]] = [
            {i: a for i, a in enumerate(column) if a >= 0} for column in current.positions().T.tolist()
        ]
        reached.append(scores.of_alignment(columns))
        if len(ends) == most_sweeps or (len(reached) > 1 and reached[-1] <= reached[-2]):
            break
        made = _sweep(scores, columns, check, n_kept)
        moves += made
        ends.append(len(moves))
        current = _with_moves(current, made)
    i, a, sources, targets = np.array(moves, np.int32).reshape(-1, 4).T
    return ResidueMoves(i, a, sources, targets, np.array(ends, np.int64), np.array(reached, np.float32))


def _with_moves(alignment: MultipleAlignment, moves: list[Move]) -> MultipleAlignment:
    columns = alignment.columns.copy()
    for i, a, _, target in moves:
        columns[alignment.offsets[i] + a] = target
    return without_empty_columns(alignment.offsets, columns)
