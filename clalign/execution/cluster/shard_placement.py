"""Which worker has which shards, and which rows suit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clalign.execution.cluster.shards import Outline
from clalign.execution.units import Choosing, Cutter, Query, Rows

UNIT_PATIENCE = 4.0
"""Size of a unit for a worker, in units of the size for a device of this machine: it is sent over the network."""

MAX_REMEMBERED = 4096
"""Queries of which it is remembered that a worker has none of the rows that are left."""


@dataclass
class ShardPlacement:
    """The shards of the database that is searched, and the workers that have them, or will.

    Attributes
    ----------
    database : int
        Number of the database in payloads.
    outline : Outline
    holders : list of set of str
        Addresses of the workers that have each shard.
    n_held : Counter of str
        Number of shards of each worker.
    """

    database: int
    outline: Outline
    holders: list[set[str]] = field(default_factory=list)
    n_held: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.holders = [set() for _ in range(self.outline.n_shards)]

    def hold(self, shard: int, worker: str) -> None:
        """Record that a worker has a shard, or will."""
        if worker not in self.holders[shard]:
            self.holders[shard].add(worker)
            self.n_held[worker] += 1

    def forget(self, worker: str) -> None:
        """Remove a worker."""
        self.n_held.pop(worker, None)
        for holders in self.holders:
            holders.discard(worker)

    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """Yield ranges of rows, cut where shards end, each with its shard."""
        for first, last in ranges:
            for shard in self.outline.of_rows(first, last):
                start, end = self.outline.rows[shard : shard + 2].tolist()
                yield max(first, start), min(last, end), shard


class WorkersCutter(Choosing):
    """Cuts rows for a device of a worker: first those of shards that it has, then of shards that no worker has.

    Parameters
    ----------
    cutter : Cutter
        Cutter of the device.
    worker : str
    placement : ShardPlacement or None
        None where rows are not those of a database.
    """

    def __init__(self, cutter: Cutter, worker: str, placement: ShardPlacement | None) -> None:
        self._cutter, self._worker, self._placement = cutter, worker, placement
        self._lacking: dict[int, tuple[int, int]] = {}

    def has_all(self) -> bool:
        """Return whether there is one shard, which every worker gets, or none."""
        return self._placement is None or self._placement.outline.n_shards < 2

    def choose(self, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return rows that suit the worker best, within one of some ranges."""
        if self._placement is None:
            return ranges[0]
        best, least = ranges[0], float("inf")
        for first, last, shard in self._placement.pieces(ranges):
            holders = self._placement.holders[shard]
            n = -1.0 if self._worker in holders else float(len(holders))
            if n < least:
                best, least = (first, last), n
            if n < 0:
                break
        return best

    def has_some_of(self, query: Query) -> bool:
        """Return whether the worker has some of the rows that are left of a query; not sought twice in vain."""
        placement = self._placement
        if placement is None:
            return True
        state = query.n_back, placement.n_held[self._worker]
        if self._lacking.get(query.number) == state:
            return False
        if any(self._worker in placement.holders[shard] for _, _, shard in placement.pieces(query.ranges)):
            return True
        if len(self._lacking) >= MAX_REMEMBERED:
            self._lacking.clear()
        self._lacking[query.number] = state
        return False

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a unit ends that begins at row `first`."""
        if self._placement is not None:
            last = next(self._placement.pieces([(first, last)]))[1]
        return self._cutter.end(first, last, share)

    def batch(self, first: int, last: int) -> Rows:
        """Return the rows of a unit."""
        return self._cutter.batch(first, last)

    def measure(self, cells: float, seconds: float) -> None:
        """Use a measured time for the size of later units."""
        self._cutter.measure(cells, seconds)

    def shrink(self, first: int, last: int) -> bool:
        """Cut less than these rows from now on."""
        return self._cutter.shrink(first, last)
