"""Arrays as the run file of an alignment keeps them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Check, no_check
from clalign.errors import DamagedRun
from clalign.runs.batches import compress, unpacked
from clalign.values.pair_hmm import ExpectedCounts, Numbers, PosteriorBatch

NUMBERS_A_CHECK = 1 << 20

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]


def pack_array(array: npt.NDArray[np.number], kind: str, check: Check = no_check) -> bytes:
    """Return numbers of a kind, such as ``<i4``, compressed; `check` is called at least some times a second."""
    flat = array.reshape(-1)
    if len(flat) <= NUMBERS_A_CHECK:
        packed: bytes = compress(flat.astype(kind).tobytes(), 1)
        return packed
    packing, parts = zlib.compressobj(1), []
    for first in range(0, len(flat), NUMBERS_A_CHECK):
        check()
        parts.append(packing.compress(flat[first : first + NUMBERS_A_CHECK].astype(kind).tobytes()))
    return b"".join([*parts, packing.flush()])


def unpack_array(blob: bytes, kind: str, n: int, path: Path) -> npt.NDArray[Any]:
    """Return the n numbers that `pack_array` packed.

    Raises
    ------
    DamagedRun
        If the blob holds something else; `path` is the file that it comes from.
    """
    size = np.dtype(kind).itemsize
    data = unpacked(blob, size * n, path)
    if len(data) != size * n:
        raise DamagedRun(path, f"{len(data):,} bytes of {n:,} packed numbers")
    return np.frombuffer(data, kind)


def unpack_some(blob: bytes, kind: str, most: int, path: Path) -> npt.NDArray[Any]:
    """Return the numbers that `pack_array` packed, at most this many."""
    size = np.dtype(kind).itemsize
    data = unpacked(blob, size * most, path)
    return unpack_array(blob, kind, len(data) // size, path)


def pack_counts(sums: ExpectedCounts) -> bytes:
    """Return sums of expected counts (one row), compressed."""
    return pack_array(np.concatenate([getattr(sums, name).ravel() for name in ExpectedCounts.__struct_fields__]), "<f8")


def unpack_counts(blob: bytes, n_sets: int, n_letters: int, path: Path) -> ExpectedCounts:
    """Return the counts that `pack_counts` packed."""
    shapes = ((1,), *[(1, n_sets)] * 3, (1, n_letters, n_letters), *[(1, n_letters)] * 2, (1,))
    sizes = [int(np.prod(shape)) for shape in shapes]
    numbers: Numbers = unpack_array(blob, "<f8", sum(sizes), path)
    parts = np.split(numbers, np.cumsum(sizes)[:-1])
    return ExpectedCounts(*(part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)))


def pack_entries(found: PosteriorBatch, first: int, last: int) -> tuple[int, bytes]:
    """Return how many posteriors some pairs have, and them, compressed: how many each residue has, where, how large.

    Places are kept as steps, and the bytes of numbers apart by their weight: so they become half as long.
    """
    begin, end = int(found.offsets[first]), int(found.offsets[last])
    rows = found.x_offsets[first:last] - found.x_offsets[first]
    owners = np.repeat(rows, np.diff(found.offsets[first : last + 1])) + found.x[begin:end]
    n_rows = int(found.x_offsets[last] - found.x_offsets[first])
    sizes = np.bincount(owners, minlength=n_rows)
    values = np.ascontiguousarray(found.values[begin:end].astype("<f4"))
    parts = (sizes.astype("<i4"), np.diff(found.y[begin:end], prepend=0).astype("<i4"), values)
    return end - begin, compress(b"".join(_apart(part) for part in parts), 1)


def _apart(array: npt.NDArray[np.number]) -> bytes:
    return array.view(np.uint8).reshape(-1, 4).T.tobytes()


def unpack_entries(blob: bytes, n_rows: int, n_entries: int, path: Path) -> tuple[Integers, Integers, Floats]:
    """Return how many posteriors each row has (int32[n_rows]), their columns and they.

    Raises
    ------
    DamagedRun
        If the blob holds something else.
    """
    every = unpack_array(blob, "u1", 4 * (n_rows + 2 * n_entries), path)
    parts = np.split(every, [4 * n_rows, 4 * (n_rows + n_entries)])
    kinds = ("<i4", "<i4", "<f4")
    sizes, steps, values = (
        np.ascontiguousarray(part.reshape(4, -1).T).view(kind).ravel() for part, kind in zip(parts, kinds, strict=True)
    )
    if (sizes < 0).any() or int(sizes.sum(dtype=np.int64)) != n_entries or not ((values >= 0) & (values <= 1)).all():
        raise DamagedRun(path, "posteriors of a block that are none")
    return sizes, np.cumsum(steps, dtype=np.int64).astype(np.int32), values
