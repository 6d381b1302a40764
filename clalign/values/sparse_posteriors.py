"""Posterior probabilities that residues of pairs of sequences are aligned, of which the small ones are left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import astuple

from clalign.values.multiple_alignments import offsets_of
from clalign.values.pair_hmm import PosteriorBatch, gap_posteriors

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]

MAX_POSTERIOR_SUM = 1.001
"""Limit of the sum of the match posteriors of a residue, 1 with room for rounding."""


class ExcessPosterior(ValueError):
    """Raised where match posteriors of a residue add up to more than 1."""


class PosteriorMatrix(Struct, frozen=True):
    """The posteriors of one pair of sequences x and y, row by row of x.

    Attributes
    ----------
    starts : int64[length of x + 1]
        Where the entries of each residue of x begin, counted from the first of the pair.
    columns : int32[n]
        The residue of y of each entry, rising within a row.
    probabilities : float32[n]
    x_gaps, y_gaps : float32[length]
        Probability that each residue is aligned to nothing.
    """

    starts: Offsets
    columns: Integers
    probabilities: Floats
    x_gaps: Floats
    y_gaps: Floats

    @classmethod
    def from_entries(
        cls, lengths: tuple[int, int], rows: Integers, columns: Integers, probabilities: Floats
    ) -> PosteriorMatrix:
        """Return the posteriors of entries (int32[n], int32[n], float32[n]) in rising order of row and column.

        Raises
        ------
        ExcessPosterior
            If those of a residue add up to more than 1.
        """
        x, y = lengths
        starts = np.searchsorted(rows, np.arange(x + 1)).astype(np.int64)
        gaps = gaps_left(rows, probabilities, x), gaps_left(columns, probabilities, y)
        return cls(starts, columns.astype(np.int32), probabilities.astype(np.float32), *gaps)

    @property
    def rows(self) -> Integers:
        """The residue of x of each entry (int32[n])."""
        return np.repeat(np.arange(len(self.x_gaps), dtype=np.int32), np.diff(self.starts))

    def at(self, x: npt.NDArray[np.integer], y: npt.NDArray[np.integer]) -> Floats:
        """Return the posteriors of residues of x and y (int[k] both), 0 where they are left out (float32[k])."""
        if not len(self.columns):
            return np.zeros(len(x), np.float32)
        width = len(self.y_gaps)
        keys = self.rows.astype(np.int64) * width + self.columns
        wanted = x.astype(np.int64) * width + y
        places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[places] == wanted, self.probabilities[places], np.float32(0))


def gaps_left(places: npt.NDArray[np.integer], probabilities: Floats, length: int) -> Floats:
    """Return the gap posteriors of the residues of a sequence."""
    if len(places) and np.bincount(places, weights=probabilities).max() > MAX_POSTERIOR_SUM:
        raise ExcessPosterior
    return gap_posteriors(places, probabilities.astype(np.float32), length)


class SparsePosteriors(Struct, frozen=True, eq=False, weakref=True):
    """The posteriors of many pairs among some sequences, in arrays that may as well be mapped from files.

    The rows of a pair are the residues of its first sequence; the rows of all pairs stand one after the other.

    Attributes
    ----------
    lengths : int64[N]
        Residues of each sequence.
    pairs : int32[P, 2]
        Numbers of two sequences each, the smaller one first, in rising order.
    starts : int64[n_rows + 1]
        Where the entries of each row begin.
    columns : int32[n]
        The residue of the second sequence of each entry.
    probabilities : float32[n]
    x_gaps : float32[n_rows]
        Gap posteriors of the residues of the first sequence of each pair.
    y_gaps : float32[n_others]
        Those of the second one.
    """

    lengths: Offsets
    pairs: Integers
    starts: Offsets
    columns: Integers
    probabilities: Floats
    x_gaps: Floats
    y_gaps: Floats

    @classmethod
    def joined(
        cls, lengths: Sequence[int] | Offsets, found: Sequence[tuple[int, int, PosteriorMatrix]]
    ) -> SparsePosteriors:
        """Return the posteriors of pairs together, which are given as `each` yields them."""
        parts = [part for _, _, part in found]
        sizes = np.concatenate([[0], np.cumsum([len(part.columns) for part in parts])]).astype(np.int64)
        starts = [part.starts[:-1] + size for part, size in zip(parts, sizes, strict=False)]
        floats, integers = np.empty(0, np.float32), np.empty(0, np.int32)
        return cls(
            np.asarray(lengths, np.int64),
            np.array([pair for *pair, _ in found], np.int32).reshape(-1, 2),
            np.concatenate([*starts, sizes[-1:]]).astype(np.int64),
            np.concatenate([integers, *(part.columns for part in parts)]),
            np.concatenate([floats, *(part.probabilities for part in parts)]),
            np.concatenate([floats, *(part.x_gaps for part in parts)]),
            np.concatenate([floats, *(part.y_gaps for part in parts)]),
        )

    @classmethod
    def of_pairs(cls, lengths: Sequence[int] | Offsets, pairs: Integers, found: PosteriorBatch) -> SparsePosteriors:
        """Return the posteriors that were found for pairs (int32[P, 2]) in rising order.

        Pairs with an empty sequence are left out: nothing is known of them.
        """
        x_lengths, y_lengths = np.diff(found.x_offsets), np.diff(found.y_offsets)
        filled = (x_lengths > 0) & (y_lengths > 0)
        firsts = offsets_of(x_lengths[filled])
        rows = np.repeat(firsts[:-1], np.diff(found.offsets)[filled]) + found.x
        return cls(
            np.asarray(lengths, np.int64),
            pairs[filled],
            np.searchsorted(rows, np.arange(firsts[-1] + 1)).astype(np.int64),
            found.y,
            found.values,
            found.x_gaps[np.repeat(filled, x_lengths)],
            found.y_gaps[np.repeat(filled, y_lengths)],
        )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    @property
    def n_bytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in astuple(self))

    @property
    def row_offsets(self) -> Offsets:
        """Where the rows of each pair begin (int64[P + 1]), which is where its `x_gaps` do."""
        return np.concatenate([[0], np.cumsum(self.lengths[self.pairs[:, 0]])]).astype(np.int64)

    @property
    def y_offsets(self) -> Offsets:
        """Where the `y_gaps` of each pair begin (int64[P + 1])."""
        return np.concatenate([[0], np.cumsum(self.lengths[self.pairs[:, 1]])]).astype(np.int64)

    def check(self) -> None:
        """Check that the arrays fit together; with others kernels would read outside of their buffers.

        Raises
        ------
        ValueError
            If they do not.
        """
        x, y = self.lengths[self.pairs].T if len(self) else (self.lengths[:0],) * 2
        sizes = np.diff(self.starts)
        most = np.repeat(np.repeat(y, x), np.maximum(0, sizes)) if len(sizes) == x.sum() else y[:0]
        if not (
            (self.pairs[:, 0] < self.pairs[:, 1]).all()
            and len(self.x_gaps) == len(sizes) == x.sum()
            and len(self.y_gaps) == y.sum()
            and (sizes >= 0).all()
            and (int(self.starts[0]), int(self.starts[-1])) == (0, len(self.columns))
            and len(self.probabilities) == len(self.columns) == len(most)
            and ((self.columns >= 0) & (self.columns < most)).all()
        ):
            raise ValueError("the arrays of posteriors do not fit together")

    def pair_numbers(self) -> Integers:
        """Return the number of the pair of each two sequences in either order, -1 where there is none (int32[N, N])."""
        n = len(self.lengths)
        numbers = np.full((n, n), -1, np.int32)
        x, y = self.pairs.T
        numbers[x, y] = numbers[y, x] = np.arange(len(self), dtype=np.int32)
        return numbers

    def each(self) -> Iterator[tuple[int, int, PosteriorMatrix]]:
        """Yield the two sequences of each pair and its posteriors."""
        rows, others = self.row_offsets.tolist(), self.y_offsets.tolist()
        for k, (x, y) in enumerate(self.pairs.tolist()):
            yield x, y, self._part(slice(rows[k], rows[k + 1]), slice(others[k], others[k + 1]))

    def of(self, i: int, j: int) -> PosteriorMatrix | None:
        """Return the posteriors of two sequences, in either order; None if they are not among the pairs."""
        found = np.flatnonzero((self.pairs == (min(i, j), max(i, j))).all(axis=1))
        if not len(found):
            return None
        k, rows, others = int(found[0]), self.row_offsets, self.y_offsets
        return self._part(slice(rows[k], rows[k + 1]), slice(others[k], others[k + 1]))

    def _part(self, rows: slice, others: slice) -> PosteriorMatrix:
        starts = self.starts[rows.start : rows.stop + 1]
        entries = slice(int(starts[0]), int(starts[-1]))
        return PosteriorMatrix(
            starts - entries.start,
            self.columns[entries],
            self.probabilities[entries],
            self.x_gaps[rows],
            self.y_gaps[others],
        )
