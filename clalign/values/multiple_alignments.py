"""Alignments of many sequences, and how they came to be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Integers = npt.NDArray[np.int32]
Offsets = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

GAPS = b"-._~"
"""Characters that stand for a gap in the rows of a file."""


class MultipleAlignment(Struct, frozen=True, eq=False):
    """Which residues stand in the same column.

    Attributes
    ----------
    offsets : int64[N + 1]
        Where the residues of each sequence begin.
    columns : int32[n_residues]
        The column of each residue, sequence after sequence.
    n_columns : int
    """

    offsets: Offsets
    columns: Integers
    n_columns: int

    @classmethod
    def from_rows(cls, rows: Sequence[bytes]) -> MultipleAlignment:
        """Return the alignment of rows of equal length with gap characters."""
        places = [np.flatnonzero(~np.isin(np.frombuffer(row, np.uint8), list(GAPS))) for row in rows]
        columns = np.concatenate([np.empty(0, np.int64), *places]).astype(np.int32)
        return cls(offsets_of([len(place) for place in places]), columns, len(rows[0]) if rows else 0)

    def __len__(self) -> int:
        """Return the number of sequences."""
        return len(self.offsets) - 1

    def positions(self) -> Integers:
        """Return the residue of each sequence in each column, counted from 0, or -1 (int32[N, n_columns])."""
        table = np.full((len(self), self.n_columns), -1, np.int32)
        lengths = np.diff(self.offsets)
        sequences = np.repeat(np.arange(len(self)), lengths)
        table[sequences, self.columns] = np.arange(len(self.columns)) - np.repeat(self.offsets[:-1], lengths)
        return table

    def rows(self, residues: Sequence[bytes]) -> list[bytes]:
        """Return sequences of residues with ``-`` for gaps."""
        rows = []
        for number, text in enumerate(residues):
            row = np.full(self.n_columns, ord("-"), np.uint8)
            row[self.columns[self.offsets[number] : self.offsets[number + 1]]] = np.frombuffer(text, np.uint8)
            rows.append(row.tobytes())
        return rows


def offsets_of(lengths: Sequence[int] | Offsets) -> Offsets:
    """Return where parts of these lengths begin when they stand one after the other (int64[n + 1])."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def creation_numbers(lengths: Offsets) -> Integers:
    """Return the number of the column that each residue begins as (int32[n_residues], sequence after sequence).

    First come the first residues of all sequences, then the second ones, and so on: an order in which
    the residues of each sequence rise.
    """
    offsets = offsets_of(lengths)
    positions = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    numbers = np.empty(offsets[-1], np.int32)
    numbers[np.argsort(positions, kind="stable")] = np.arange(offsets[-1])
    return numbers


class ColumnMerges(Struct, frozen=True, eq=False):
    """How columns of one residue became those of an alignment; columns have their creation number for a name.

    Attributes
    ----------
    lengths : int64[N]
        Residues of each sequence.
    survivors, victims : int32[n]
        Two columns of each merge, of which the first has the residues of both from then on.
    weights : float32[n]
        What each merge was worth: the gap factor that it stands up to.
    order : int32[n_columns]
        The columns that are left, from first to last.
    """

    lengths: Offsets
    survivors: Integers
    victims: Integers
    weights: npt.NDArray[np.float32]
    order: Integers

    @classmethod
    def into(cls, alignment: MultipleAlignment) -> ColumnMerges:
        """Return the merges that make a given alignment at once; they stand up to any gap factor."""
        lengths, numbers = np.diff(alignment.offsets), creation_numbers(np.diff(alignment.offsets))
        order = np.argsort(alignment.columns, kind="stable")
        is_first = np.ones(len(order), bool)
        is_first[1:] = np.diff(alignment.columns[order]) != 0
        survivors = numbers[order[is_first]][np.cumsum(is_first) - 1]
        merged = survivors[~is_first]
        return cls(
            lengths, merged, numbers[order[~is_first]], np.full(len(merged), np.inf, np.float32), survivors[is_first]
        )

    def __len__(self) -> int:
        """Return the number of merges."""
        return len(self.survivors)

    def alignment_after(self, n: int | None = None) -> MultipleAlignment:
        """Return the alignment after the first merges, by default after all of them.

        The order of the last columns is one of all those before, too: nothing is merged across it.
        """
        size = int(self.lengths.sum())
        last, ranks = self._columns_after(len(self)), np.zeros(size, np.int64)
        ranks[self.order] = np.arange(len(self.order))
        names = self._columns_after(len(self) if n is None else n)
        left = np.flatnonzero(names == np.arange(size))
        ordered = left[np.lexsort((left, ranks[last[left]]))]
        columns = np.empty(size, np.int32)
        columns[ordered] = np.arange(len(ordered), dtype=np.int32)
        residues = creation_numbers(self.lengths)
        return MultipleAlignment(offsets_of(self.lengths), columns[names[residues]], len(ordered))

    def merges_at(self, gap_factor: float) -> int:
        """Return how many merges come before the first that is worth less than a gap factor."""
        below = np.flatnonzero(self.weights < np.float32(gap_factor))
        return int(below[0]) if len(below) else len(self)

    def _columns_after(self, n: int) -> Integers:
        """Return the column that each column has become part of after n merges."""
        names = np.arange(int(self.lengths.sum()), dtype=np.int32)
        names[self.victims[:n]] = self.survivors[:n]
        while (names != names[names]).any():
            names = names[names]
        return names


class ResidueMoves(Struct, frozen=True, eq=False):
    """Residues that were moved to other columns of an alignment, sweep after sweep.

    Attributes
    ----------
    sequences, positions : int32[n]
        The residue of each move.
    sources, targets : int32[n]
        Its column before and after; columns are renumbered after each sweep, without the empty ones.
    ends : int64[n_sweeps]
        How many moves there were by the end of each sweep.
    scores : float32[n_sweeps + 1]
        Expected score of the alignment before the first sweep, and after each.
    """

    sequences: Integers
    positions: Integers
    sources: Integers
    targets: Integers
    ends: Offsets
    scores: npt.NDArray[np.float32]

    def alignment_after(self, alignment: MultipleAlignment, n_sweeps: int) -> MultipleAlignment:
        """Return the alignment after the first sweeps, given the one before them."""
        begin = 0
        for end in self.ends[:n_sweeps].tolist():
            columns = alignment.columns.copy()
            residues = alignment.offsets[self.sequences[begin:end]] + self.positions[begin:end]
            for residue, target in zip(residues.tolist(), self.targets[begin:end].tolist(), strict=True):
                columns[residue] = target
            alignment, begin = without_empty_columns(alignment.offsets, columns), end
        return alignment


def without_empty_columns(offsets: Offsets, columns: Integers) -> MultipleAlignment:
    """Return an alignment with renumbered columns, without those that hold nothing."""
    used, renumbered = np.unique(columns, return_inverse=True)
    return MultipleAlignment(offsets, renumbered.astype(np.int32), len(used))
