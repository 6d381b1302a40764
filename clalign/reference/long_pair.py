"""The best alignment of two sequences, a row of cells at a time, for sequences too long to go cell by cell.

The recurrences and the order of ties are those of `clalign.reference.smith_waterman_trace`, which shows them plainly.
Here a first pass keeps some rows; on the way back the rows between them are computed again, and of each cell only
what decides where to go next is kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clalign.reference.smith_waterman import NEVER
from clalign.values.pair_alignments import PairAlignment
from clalign.values.scoring import PairwiseQuery

Cells = npt.NDArray[np.int64]

BLOCK_CELLS = 1 << 26
"""Cells whose directions are held at a time, a byte each; of very long sequences more.

Directions of r rows and every r-th of m rows, kept in 8 bytes a cell (16 where scores need it), take the least when
they take the same, r being the root of 8 m: for 2,000 times 5 million residues 0.6 GB each.
"""

MAX_IN_32_BITS = 1 << 30
"""Scores that cannot get further from 0 are kept in 32 bits; what never occurs is below them by as much again."""

CELLS_BETWEEN_WORDS = 1 << 21

PAIRED, DELETED, DELETION_OPENS, INSERTION_OPENS, BEGINS = (1 << bit for bit in range(5))
"""Flags of a cell: whether two residues, or a residue of the target alone, gave its score; whether a gap of
either kind that ends in it began there; whether a local alignment begins after it."""

ReportCells = Callable[[int], None]
"""Called with the number of cells computed since the last call; it may raise to end a long computation."""


class Row(NamedTuple):
    """The cells of a residue of the query: the best scores that end there in anything, and in it alone."""

    score: Cells
    inserted: Cells


def nobody(cells: int) -> None:
    """Do nothing."""


def alignment_by_rows(
    query: PairwiseQuery, target: npt.NDArray[np.uint8], report: ReportCells = nobody
) -> PairAlignment:
    """Return the result of `clalign.reference.smith_waterman_trace.pair_alignment`.

    Parameters
    ----------
    query : PairwiseQuery
    target : uint8[n]
        Letter codes.
    report : callable
        Called with the cells that are done, `cells_by_rows` in all at most.
    """
    return _Pair(query, target, report).alignment()


def cells_by_rows(m: int, n: int) -> int:
    """Return how many cells are computed for two sequences at most: each twice."""
    return 2 * m * n


class _Pair:
    """Two sequences with what every row needs."""

    def __init__(self, query: PairwiseQuery, target: npt.NDArray[np.uint8], report: ReportCells) -> None:
        self.query, self.target, self.scoring, self._report = query, target, query.scoring, report
        self.m, self.n = query.length, len(target)
        self._scores, gaps = query.scoring.matrix.scores.astype(np.int64), query.scoring.gaps
        self._slope = gaps.next * np.arange(self.n + 1, dtype=np.int64)
        self._closing = gaps.next - gaps.first - self._slope[1:]
        self._unreported = 0
        farthest = (self.m + self.n) * max(int(np.abs(self._scores).max()), gaps.first, gaps.next)
        self._kept_type = np.dtype(np.int32 if farthest < MAX_IN_32_BITS else np.int64)
        kept_bytes = len(Row._fields) * self._kept_type.itemsize
        self.n_rows = max(math.isqrt(kept_bytes * self.m), BLOCK_CELLS // (self.n + 1), 1)

    def alignment(self) -> PairAlignment:
        """Find the end, then go back from it."""
        starts, best, (end_i, end_j) = self._forward()
        is_local, is_global = self.scoring.is_local, self.scoring.mode == "global"
        if is_local and best <= 0:
            return PairAlignment(0, (0, 0), (0, 0), "")
        i, j, state = end_i, end_j, "M"
        path: list[str] = []
        first, directions = self.m + 1, np.empty((0, 0), np.uint8)
        while (i or j if is_global else i and j) or state != "M":
            if i <= first != 0:  # a block knows no way on from the row above its own
                block = max(i - 1, 0) // self.n_rows
                first = block * self.n_rows
                del directions  # before there is another block
                directions = self._directions(first, (i, j), starts[block])
            cell = int(directions[i - first, j])
            if state == "M":
                if is_local and cell & BEGINS:
                    break
                if cell & PAIRED:
                    path.append("M")
                    i, j = i - 1, j - 1
                else:
                    state = "D" if cell & DELETED else "I"
            elif state == "D":
                path.append("D")
                state, j = "M" if cell & DELETION_OPENS else "D", j - 1
            else:
                path.append("I")
                state, i = "M" if cell & INSERTION_OPENS else "I", i - 1
        return PairAlignment(best, (i, end_i), (j, end_j), "".join(reversed(path)))

    def _forward(self) -> tuple[list[Row], int, tuple[int, int]]:
        """Return every `n_rows`-th row, the best score and the cell in which it ends."""
        starts: list[Row] = []
        best, end = NEVER, (0, 0)
        for i, (row, _) in enumerate(self._rows(0, (self.m, self.n), self._border())):
            if i % self.n_rows == 0:
                least = -(1 << 8 * self._kept_type.itemsize - 1)
                starts.append(Row(*(np.maximum(cells, least).astype(self._kept_type) for cells in row)))
            for j in self._ends(i, row.score):
                score = int(row.score[j])
                if score > best or (score == best and i + j < sum(end)):
                    best, end = score, (i, j)
        return starts, (0 if end == (0, 0) and self.scoring.mode != "global" else best), end

    def _ends(self, i: int, score: Cells) -> tuple[int, ...]:
        """Return the columns of a row in which the best alignment may end."""
        m, n = self.m, self.n
        if self.scoring.mode == "global":
            return (n,) if i == m else ()
        if i == 0 or n == 0:
            return ()
        if self.scoring.is_local or i == m:
            return (1 + int(score[1:].argmax()),)
        return (n,)

    def _border(self) -> Row:
        """Return the row before the first residue of the query."""
        score = np.zeros(self.n + 1, np.int64)
        if self.scoring.mode == "global":
            score[1:] = -self.scoring.gaps.first - self._slope[:-1]
        return Row(score, np.full(self.n + 1, NEVER, np.int64))

    def _rows(self, first: int, last: tuple[int, int], start: Row) -> Iterator[tuple[Row, Cells]]:
        """Yield rows from `first`, which is `start`, each with what its pairs of residues score.

        The last cell of the last row is `last`: what lies behind its column decides nothing before it.
        """
        gaps, mode, codes = self.scoring.gaps, self.scoring.mode, self.query.sequence.codes
        last_i, n = last
        row, never = Row(*(cells[: n + 1].astype(np.int64) for cells in start)), np.full(n + 1, NEVER, np.int64)
        yield row, never
        for i in range(first + 1, last_i + 1):
            paired, inserted = np.empty_like(never), never
            paired[0], paired[1:] = NEVER, row.score[:-1] + self._scores[codes[i - 1]][self.target[:n]]
            if mode != "ungapped":
                inserted = np.maximum(row.inserted - gaps.next, row.score - gaps.first)
                inserted[0] = -gaps.of(i) if mode == "global" else NEVER
            score = np.maximum(paired, inserted)
            score[0] = -gaps.of(i) if mode == "global" else 0
            if self.scoring.is_local:
                np.maximum(score, 0, out=score)
            if mode != "ungapped":
                np.maximum(score, self._deleted(score), out=score)
            row = Row(score, inserted)
            self._count(n)
            yield row, paired

    def _deleted(self, score: Cells) -> Cells:
        """Return the best scores that end in a residue of the target alone, from the scores of a row.

        It makes no difference whether these hold such ends already: going on with a gap costs no more than opening
        another one behind it.
        """
        n, deleted = len(score), np.empty_like(score)
        deleted[0] = NEVER
        np.add(np.maximum.accumulate(score + self._slope[:n])[:-1], self._closing[: n - 1], out=deleted[1:])
        return deleted

    def _directions(self, first: int, last: tuple[int, int], start: Row) -> npt.NDArray[np.uint8]:
        """Return the decisions at the cells from row `first` to the cell `last`.

        Of row `first`, unless it is 0, not all is known.

        Returns
        -------
        uint8[last[0] - first + 1, last[1] + 1]
        """
        gaps = self.scoring.gaps
        found = np.zeros((last[0] - first + 1, last[1] + 1), np.uint8)
        before: Row | None = None
        for place, (row, paired) in enumerate(self._rows(first, last, start)):
            score, cells = row.score, found[place]
            deleted = self._deleted(score)
            cells |= (score == paired) * np.uint8(PAIRED)
            cells |= (score == deleted) * np.uint8(DELETED)
            cells[1:] |= (deleted[1:] == score[:-1] - gaps.first) * np.uint8(DELETION_OPENS)
            if before is not None:
                cells |= (row.inserted == before.score - gaps.first) * np.uint8(INSERTION_OPENS)
            cells |= (score <= 0) * np.uint8(BEGINS)
            before = row
        return found

    def _count(self, cells: int) -> None:
        self._unreported += cells
        if self._unreported >= CELLS_BETWEEN_WORDS:
            self._report(self._unreported)
            self._unreported = 0
