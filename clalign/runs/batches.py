"""A finished batch as it is stored: its scores and survivors compressed, its part of the histogram."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.errors import DamagedRun
from clalign.values.hits import Hit, Scores, Survivors
from clalign.values.profiles import IMPOSSIBLE

BIN = 250
"""Width of a histogram bin in 1/1000 bit; cards of queries that are counted in other units say so."""

MOST_BINS = 2**20

MOST_ROWS = 2**28
"""Sequences of a batch: none has more residues (`clalign.compute.batching.MAX_RESIDUES`)."""

LEAST_UNPACKED, MOST_RATIO = 2**26, 200
"""Packed numbers may take so many bytes in any case, and so many times their size: real scores are packed 2:1."""

SURVIVOR_BYTES = 8 + 4 * 4 + 1
"""Of what is kept of a sequence that passed a filter."""

try:  # several times as fast, and what it writes zlib reads
    from isal.isal_zlib import compress as _compress
except ImportError:
    from zlib import compress as _compress

SHORT_IMPOSSIBLE = -(2**15)
"""`IMPOSSIBLE` among scores that fit 16 bits."""

_COLUMNS = (("msv", "<f4"), ("bias", "<f4"), ("viterbi", "<f4"), ("forward", "<f4"), ("reached", "u1"))


@dataclass(frozen=True, slots=True)
class PackedScores:
    """The scores of a batch as they are stored.

    Attributes
    ----------
    blob : bytes
        All of them, compressed.
    bins : list of (int, int)
        Filled bins of the histogram and their counts.
    survivors : bytes or None
        What passed the first filter, compressed.
    n_passed : tuple of int
        How many passed each filter; empty for a profile without filters.
    """

    blob: bytes
    bins: list[tuple[int, int]]
    survivors: bytes | None = None
    n_passed: tuple[int, ...] = ()


def pack_scores(
    scores: npt.NDArray[np.int32], survivors: Survivors | None = None, bin_width: int = BIN
) -> PackedScores:
    """Return scores, and what passed the filters, as they are stored; most of this runs beside other threads."""
    scored = scores > IMPOSSIBLE
    some = scores if scored.all() else scores[scored]
    bins, counts = _binned(some, bin_width)
    fits = not len(some) or (some.min() > SHORT_IMPOSSIBLE and some.max() < -SHORT_IMPOSSIBLE)
    blob = _compress(_short(scores, scored) if fits else scores.astype("<i4").tobytes(), 1)
    filled = list(zip(bins.tolist(), counts.tolist(), strict=True))
    if survivors is None:
        return PackedScores(blob, filled)
    columns = [np.diff(survivors.rows, prepend=0).astype("<i8").tobytes()]
    columns += [getattr(survivors, name).astype(kind).tobytes() for name, kind in _COLUMNS]
    passed = tuple(int(np.count_nonzero(survivors.reached >= stage)) for stage in (1, 2, 3, 4))
    return PackedScores(blob, filled, _compress(b"".join(columns), 1), passed)


def _short(scores: npt.NDArray[np.int32], scored: npt.NDArray[np.bool_]) -> bytes:
    return np.where(scored, scores, SHORT_IMPOSSIBLE).astype("<i2").tobytes()


def _unpacked(blob: bytes, most: int, path: Path) -> bytes:
    """Return what a blob holds: at most so many bytes, and not a thousand times its own size."""
    most, unpacking = min(most, max(LEAST_UNPACKED, MOST_RATIO * len(blob))), zlib.decompressobj()
    try:
        data = unpacking.decompress(blob, most + 1)
    except zlib.error as error:
        raise DamagedRun(path, f"packed numbers: {error}") from error
    if len(data) > most or not unpacking.eof:
        raise DamagedRun(path, "packed numbers of another size than they should have")
    return data


def unpack_scores(blob: bytes, first: int, last: int, path: Path) -> npt.NDArray[np.int32]:
    """Return the scores of a batch, of the rows from `first` up to `last`.

    Raises
    ------
    DamagedRun
        If the blob holds something else; `path` is the file that it comes from.
    """
    n = _n_rows(first, last, path)
    data = _unpacked(blob, 4 * n, path)
    if len(data) == 4 * n:
        return np.frombuffer(data, "<i4")
    if len(data) != 2 * n:
        raise DamagedRun(path, f"{len(data)} bytes of scores for {n} sequences")
    short = np.frombuffer(data, "<i2").astype(np.int32)
    return np.where(short == SHORT_IMPOSSIBLE, np.int32(IMPOSSIBLE), short)


def _n_rows(first: int, last: int, path: Path) -> int:
    if not 0 <= last - first <= MOST_ROWS:
        raise DamagedRun(path, f"a batch of {last - first} sequences")
    return last - first


def unpack_survivors(blob: bytes, first: int, last: int, path: Path) -> Survivors:
    """Return what passed the first filter in a batch, as `unpack_scores`."""
    data = _unpacked(blob, SURVIVOR_BYTES * _n_rows(first, last, path), path)
    n, rest = divmod(len(data), SURVIVOR_BYTES)
    rows = np.cumsum(np.frombuffer(data, "<i8", n))
    columns, start = [rows], 8 * n
    for _, kind in _COLUMNS:
        columns.append(np.frombuffer(data, kind, n, start))
        start += columns[-1].nbytes
    in_order = not n or (rows[0] >= first and rows[-1] < last and bool((np.diff(rows) > 0).all()))
    if rest or not in_order or columns[-1].max(initial=0) > 4:
        raise DamagedRun(path, "sequences that passed filters are not those of their batch")
    return Survivors(*columns)


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a finished batch adds to a run.

    Attributes
    ----------
    profile : int
        Number of the profile, from 0.
    first, last : int
        The database rows searched.
    scores : Scores
        Integer score of every row; `IMPOSSIBLE` where there are no residues.
    hits : tuple of Hit
    cells, seconds : float
        Work and time of the device.
    device : str
        Name of the device.
    packed : PackedScores, optional
        The scores as they are stored, where they were packed before.
    survivors : Survivors, optional
        What passed the first of HMMER3's filters.
    n_wider : tuple of int
        Sequences that were computed again with 16 and with 32 bits.
    """

    profile: int
    first: int
    last: int
    scores: Scores
    hits: tuple[Hit, ...]
    cells: float
    seconds: float
    device: str
    packed: PackedScores | None = None
    survivors: Survivors | None = None
    n_wider: tuple[int, int] = (0, 0)


def _binned(scores: npt.NDArray[np.int32], width: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the filled bins of the histogram and their counts."""
    bins = scores // np.int32(width)
    if not len(bins):
        return bins.astype(np.int64), bins.astype(np.int64)
    least = int(bins.min())
    if int(bins.max()) - least > MOST_BINS:
        found, n = np.unique(bins, return_counts=True)
        return found.astype(np.int64), n.astype(np.int64)
    counts = np.bincount(bins - np.int32(least))
    filled = np.flatnonzero(counts)
    return (filled + least).astype(np.int64), counts[filled].astype(np.int64)
