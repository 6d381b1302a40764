"""Cutting a database into batches that keep a device busy for about 100 ms each."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.devices import Device
from clalign.sequences import SequenceDatabase

BATCH_SECONDS = 0.1
"""Aim for the time of a batch: a stop is answered at its end, and desktop watchdogs stay quiet."""

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that the residues of a batch may take."""

MAX_RESIDUES = 2**30
"""Offsets within a batch are 32-bit integers."""

MIN_CELLS = 200_000.0


def residue_limit(device: Device) -> int:
    """Return how many residues a batch may hold in the memory of a device."""
    limit = int(device.max_buffer_bytes * MEMORY_SHARE) if device.max_buffer_bytes else 2**26
    return max(1, min(limit, MAX_RESIDUES))


def batch_end(database: SequenceDatabase, first: int, last: int, n_residues: int) -> int:
    """Return the end of the batch that begins at row `first`.

    At most `n_residues` residues, but at least one row; never past `last`.
    """
    start = int(database.offsets[first])
    end = int(database.offsets[first : last + 1].searchsorted(start + n_residues, side="right")) + first - 1
    return min(max(end, first + 1), last)


def gaps(finished: list[tuple[int, int]], n_rows: int) -> Iterator[tuple[int, int]]:
    """Yield the row ranges that are not finished; `finished` is sorted and free of overlaps."""
    position = 0
    for first, last in finished:
        if first > position:
            yield position, first
        position = last
    if position < n_rows:
        yield position, n_rows
