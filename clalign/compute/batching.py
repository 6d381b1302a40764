"""Division of a database into batches that keep a device busy for about 100 ms each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clalign.values.devices import Device
from clalign.values.sequences import SequenceBatch, SequenceDatabase

BATCH_SECONDS = 0.1
"""Intended time of a batch: a job can be cancelled at its end, and watchdogs of desktops do not interfere."""

MAX_TIME_FACTOR = 4
"""Limit of the factor by which the longest of several profiles may exceed that time."""

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that the residues of a batch may take."""

RESIDENT_SHARE = 0.4
"""Share of the device's memory that a database may take if it stays there for several profiles."""

MAX_RESIDUES = 2**28
"""Limit of the residues of a batch, so that the copy of a large database to the device overlaps with the search."""

MIN_CELLS = 200_000.0

RESIDUE_BYTES = 2
"""Bytes for each residue: as in the database, and in the form that some kernels read."""

SEQUENCE_BYTES = 12
"""Bytes for each sequence of a batch besides its residues."""


def residue_limit(device: Device) -> int:
    """Return how many residues a batch may hold in the memory of a device."""
    limit = int(device.max_buffer_bytes * MEMORY_SHARE) if device.max_buffer_bytes else 2**26
    return max(1, min(limit, MAX_RESIDUES))


def fits(database: SequenceDatabase, device: Device) -> bool:
    """Return whether a whole database may stay in the memory of a device."""
    n_bytes = RESIDUE_BYTES * database.n_residues + SEQUENCE_BYTES * len(database)
    return n_bytes <= device.memory_bytes * RESIDENT_SHARE


def typical_length(model_lengths: Sequence[int]) -> int:
    """Return the length of a model that the size of batches for several models is based on."""
    ordered = sorted(model_lengths)
    return max(ordered[len(ordered) // 2], -(-ordered[-1] // MAX_TIME_FACTOR))


def batch_end(database: SequenceDatabase, first: int, last: int, n_residues: int) -> int:
    """Return the end of the batch that begins at row `first`.

    It has at most `n_residues` residues, but at least one row, and does not go beyond `last`.
    """
    start = int(database.offsets[first])
    end = int(database.offsets[first : last + 1].searchsorted(start + n_residues, side="right")) + first - 1
    return min(max(end, first + 1), last)


class BatchCutter:
    """A divider of a database into batches, which returns the same object for the same rows if it keeps batches.

    A session then finds the residues of a batch on its device.

    Parameters
    ----------
    database : SequenceDatabase
    n_residues : int
        Residues of a batch.
    keep : bool
        Whether batches are kept, to be used repeatedly.
    """

    def __init__(self, database: SequenceDatabase, n_residues: int, keep: bool) -> None:
        self.database = database
        self.n_residues = n_residues
        self.keep = keep
        self._kept: dict[tuple[int, int], SequenceBatch] = {}

    def resize(self, n_residues: int, exactly: bool = False) -> None:
        """Change the size of batches; unless `exactly`, only by a factor of more than 2."""
        if exactly or not self.n_residues // 2 <= n_residues <= self.n_residues * 2:
            self.n_residues = n_residues
            self._kept.clear()

    def cut(self, first: int, end: int) -> SequenceBatch:
        """Return the batch that begins at row `first`; it ends at row `end` or before."""
        return self.given(first, batch_end(self.database, first, end, self.n_residues))

    def given(self, first: int, last: int) -> SequenceBatch:
        """Return the batch of exactly these rows."""
        if not self.keep:
            return self.database.batch(first, last)
        if (first, last) not in self._kept:
            self._kept[first, last] = self.database.batch(first, last)
        return self._kept[first, last]


def gaps(finished: list[tuple[int, int]], n_rows: int, first_row: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the row ranges that are not finished; `finished` is sorted and free of overlaps."""
    position = first_row
    for first, last in finished:
        if first > position:
            yield position, first
        position = last
    if position < n_rows:
        yield position, n_rows
