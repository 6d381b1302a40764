"""The stored form of a batch: compressed scores, its part of the histogram, rows of its engine's tables.

What is kept of a batch that is not finished are rows of tables that come and go.
"""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.errors import DamagedRun
from clalign.runs.connection import RunConnection, unwritable
from clalign.runs.tables import EngineTable, SqlRow
from clalign.values.hits import Hit, Scores
from clalign.values.profiles import IMPOSSIBLE

BIN = 250
"""Width of a bin of the histogram (1/1000 bit), unless the card of the query has another unit."""

NO_SCORE = -1e5
"""Score below which sequences have no residues; pictures of scores leave them out."""

MAX_BINS = 2**20
"""Range of bins up to which they are counted in an array."""

Kept = Mapping[str, SqlRow | list[SqlRow]]

MAX_ROWS = 2**28
"""Sequences of a batch at most: none has more residues (`clalign.compute.batching.MAX_RESIDUES`)."""

MAX_UNPACKED, MAX_RATIO = 2**26, 200
"""Size of unpacked numbers at most: this number of bytes or, if that is more, this number of times the packed size,
which is about half of the unpacked one."""

try:  # several times as fast, and what it writes zlib reads
    from isal.isal_zlib import compress as compress
except ImportError:
    from zlib import compress as compress

SHORT_IMPOSSIBLE = -(2**15)
"""`IMPOSSIBLE` among scores that fit 16 bits."""


class PackedScores(Struct, frozen=True):
    """The scores of a batch as they are stored.

    Attributes
    ----------
    blob : bytes
        All scores, compressed.
    bins : bytes
        Filled bins of the histogram, each with its count (int32[n, 2]).
    best : (int, int)
        The highest score and its place, the first of equal ones.
    """

    blob: bytes
    bins: bytes
    best: tuple[int, int]


def pack_scores(scores: npt.NDArray[np.int32], bin_width: int = BIN) -> PackedScores:
    """Return the scores of a batch in their stored form; other threads can run meanwhile."""
    return pack_many(scores[None], bin_width)[0]


def pack_many(scores: npt.NDArray[np.int32], bin_width: int) -> list[PackedScores]:
    """Return the scores of a batch with some queries (int32[k, n]) in their stored form.

    Of a library there are thousands, so all that is not compressing is done for many of them together.
    """
    if not scores.shape[1]:
        return [PackedScores(compress(b"", 1), b"", (IMPOSSIBLE, 0)) for _ in scores]
    counted = scores > IMPOSSIBLE
    scored = None if counted.all() else counted
    highest, places = scores.max(axis=1), scores.argmax(axis=1)
    least = (scores if scored is None else np.where(scored, scores, highest[:, None])).min(axis=1)
    fits = (least > SHORT_IMPOSSIBLE) & (highest < -SHORT_IMPOSSIBLE)
    short = (scores if scored is None else np.where(scored, scores, SHORT_IMPOSSIBLE)).astype("<i2")
    packed = []
    for k, bins in enumerate(_binned(scores, scored, (int(least.min()), int(highest.max())), bin_width)):
        blob = compress((short[k] if fits[k] or highest[k] == IMPOSSIBLE else scores[k].astype("<i4")).tobytes(), 1)
        packed.append(PackedScores(blob, bins.astype("<i4").tobytes(), (int(highest[k]), int(places[k]))))
    return packed


def summed_bins(blobs: Iterable[bytes], path: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the filled bins of the histogram of some batches, in rising order, and their counts (int64[n]).

    Raises
    ------
    DamagedRun
        If a blob holds something else; `path` is its run file.
    """
    data = b"".join(blob if isinstance(blob, bytes) and len(blob) % 8 == 0 else b"?" for blob in blobs)
    if len(data) % 8:
        raise DamagedRun(path, "counts of scores that are none")
    table = np.frombuffer(data, "<i4").reshape(-1, 2).astype(np.int64)
    if (table[:, 1] <= 0).any():
        raise DamagedRun(path, "counts of scores that are not positive")
    bins, places = np.unique(table[:, 0], return_inverse=True)
    return bins, np.bincount(places, table[:, 1], len(bins)).astype(np.int64)


def joined_bins(
    left: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], width: float, most: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return bounds (float64[n + 1]) and counts (int64[n]) of a limited number of bars, empty ones included.

    Parameters
    ----------
    left : float64[k]
        Left bounds of filled bins of this width, rising.
    counts : int64[k]
    width : float
        Bars are this wide, or twice as wide as often as is needed.
    most : int
        Bars at most.
    """
    if not len(left):
        return np.zeros(1), np.zeros(0, np.int64)
    while (left[-1] - left[0]) / width >= most - 2:
        width *= 2
    places = np.floor(left / width + 1e-9).astype(np.int64)
    n_bars = int(places[-1] - places[0]) + 1
    sums = np.bincount(places - places[0], counts, n_bars).astype(np.int64)
    return (places[0] + np.arange(n_bars + 1)) * width, sums


def unpacked(blob: bytes, most: int, path: Path) -> bytes:
    """Return the content of a blob, which has at most `most` bytes; raise `DamagedRun` if it has more."""
    if not isinstance(blob, bytes):  # SQLite keeps whatever was put into a column
        raise DamagedRun(path, "packed numbers that are none")
    most, unpacking = min(most, max(MAX_UNPACKED, MAX_RATIO * len(blob))), zlib.decompressobj()
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
        If the blob holds something else; `path` is its run file.
    """
    n = n_rows_of(first, last, path)
    data = unpacked(blob, 4 * n, path)
    if len(data) == 4 * n:
        return np.frombuffer(data, "<i4")
    if len(data) != 2 * n:
        raise DamagedRun(path, f"{len(data)} bytes of scores for {n} sequences")
    short = np.frombuffer(data, "<i2").astype(np.int32)
    return np.where(short == SHORT_IMPOSSIBLE, np.int32(IMPOSSIBLE), short)


def n_rows_of(first: int, last: int, path: Path) -> int:
    """Return the number of rows of a batch; raise `DamagedRun` if that is impossible."""
    if not 0 <= last - first <= MAX_ROWS:
        raise DamagedRun(path, f"a batch of {last - first} sequences")
    return last - first


class BatchResult(Struct, frozen=True):
    """The results of a finished batch.

    Attributes
    ----------
    query : int
        Number of the query, from 0.
    first, last : int
        The database rows searched.
    scores : Scores
        Integer score of every row; `IMPOSSIBLE` where there are no residues.
    hits : collection of Hit
    cells, seconds : float
        Work and time of the device.
    device : str
        Name of the device.
    packed : PackedScores, optional
        The scores as they are stored, where they were packed before.
    kept : mapping of str to tuple or list of tuple
        Rows of the engine's tables of batches, without their keys, by the names of the tables; for tables of pieces a
        list of the rows of all pieces, each with its number first.
    """

    query: int
    first: int
    last: int
    scores: Scores
    hits: Collection[Hit]
    cells: float
    seconds: float
    device: str
    packed: PackedScores | None = None
    kept: Kept = field(default_factory=dict)


def rows_of(results: Iterable[BatchResult]) -> dict[str, list[SqlRow]]:
    """Return the rows of finished batches by their tables."""
    rows = dict[str, list[SqlRow]]()
    for result in results:
        packed, key = result.packed or pack_scores(result.scores.values), (result.query, result.first)
        batch = *key, result.last, result.cells, result.seconds, result.device, packed.blob, packed.bins
        rows.setdefault("batches", []).append(batch)
        for table, values in result.kept.items():
            several = isinstance(values, list)
            own = [(result.query, *piece) for piece in values] if several else [(*key, *values)]
            rows.setdefault(table, []).extend(own)
    return rows


def _binned(
    scores: npt.NDArray[np.int32], scored: npt.NDArray[np.bool_] | None, bounds: tuple[int, int], width: int
) -> list[npt.NDArray[np.int64]]:
    """Return the filled bins of the histogram of each query with their counts (int64[m, 2]).

    `scored` says which scores count, None for all; `bounds` are the least and the highest one.
    """
    n_queries, first, n_bins = len(scores), bounds[0] // width, bounds[1] // width - bounds[0] // width + 1
    bins, offsets = scores // np.int32(width), np.arange(n_queries) * n_bins - first
    if n_bins * n_queries <= MAX_BINS:
        bins += offsets.astype(np.int32)[:, None]
        counts = np.bincount(bins.ravel() if scored is None else bins[scored], minlength=n_bins * n_queries)
        filled = np.flatnonzero(counts)
        counts = counts[filled]
    else:
        wide = bins + offsets[:, None]
        filled, counts = np.unique(wide if scored is None else wide[scored], return_counts=True)
    table = np.stack([filled % n_bins + first, counts], axis=1)
    return np.split(table, np.searchsorted(filled // n_bins, np.arange(1, n_queries)))


OF_BATCH = "query = ? AND first = ?"


class Unfinished:
    """The rows of a run's unfinished batches, in those of the engine's tables that are for them.

    Parameters
    ----------
    connection : RunConnection
    """

    def __init__(self, connection: RunConnection) -> None:
        self._connection = connection

    def _tables(self) -> Iterator[EngineTable]:
        """Yield the tables that are there."""
        for table in self._connection.declared.of("unfinished"):
            question = "SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name = ?"
            if self._connection.execute(question, (table.name,)).fetchone()[0]:
                yield table

    @property
    def has_any(self) -> bool:
        """Whether anything is kept."""
        count = "SELECT count(*) FROM {}"
        return any(self._connection.execute(count.format(own.name)).fetchone()[0] for own in self._tables())

    def keep(self, name: str, query: int, first: int, rows: Sequence[SqlRow]) -> None:
        """Write rows, without their keys, of a batch in place of those that are there.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        (own,) = (table for table in self._connection.declared.of("unfinished") if table.name == name)
        try:
            with self._connection:
                if own not in self._tables():
                    self._connection.execute(own.sql)
                self._connection.execute(f"DELETE FROM {own.name} WHERE {OF_BATCH}", (query, first))
                self._connection.insert(own.name, [(query, first, number, *row) for number, row in enumerate(rows)])
        except sqlite3.OperationalError as error:
            raise unwritable(self._connection.path, error) from error

    def kept(self, name: str, query: int, first: int) -> list[SqlRow]:
        """Return the rows of a batch, without their keys."""
        for own in self._tables():
            if own.name == name:
                question = f"SELECT {', '.join(own.names)} FROM {own.name} WHERE {OF_BATCH} ORDER BY number"
                return self._connection.execute(question, (query, first)).fetchall()
        return []

    def forget(self, batches: Sequence[tuple[int, int]]) -> None:
        """Remove the rows of batches, given by query and first row; the caller has opened a transaction."""
        for own in self._tables():
            self._connection.executemany(f"DELETE FROM {own.name} WHERE {OF_BATCH}", batches)

    def drop(self) -> None:
        """Remove everything, now that all is finished, and give back the room that it took."""
        tables = list(self._tables())
        if not tables:
            return
        with self._connection:
            for own in tables:
                self._connection.execute(f"DROP TABLE {own.name}")
        with contextlib.suppress(sqlite3.OperationalError):  # without room for a copy, or while others read
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
            self._connection.execute("VACUUM")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
