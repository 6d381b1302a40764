"""Which worker has which shards, and which rows suit it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from clalign.execution.cluster.shards import Outline
from clalign.execution.units import Cutter, Query

UNIT_PATIENCE = 4.0
"""A unit for a worker takes so many times as long as one at home: it travels."""


MOST_REMEMBERED = 4096
"""Queries of which a worker is known to have no rows that nobody has."""


@dataclass
class Spread:
    """The shards of the database whose rows are computed, and the workers that have them, or will.

    Attributes
    ----------
    outline : Outline
    holders : list of set of str
        Of each shard, by their addresses.
    n_held : Counter of str
        How many shards each worker has.
    """

    outline: Outline
    holders: list[set[str]] = field(default_factory=list)
    n_held: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.holders = [set() for _ in range(self.outline.n_shards)]

    def hold(self, shard: int, worker: str) -> None:
        """Take note that a worker has a shard, or will."""
        if worker not in self.holders[shard]:
            self.holders[shard].add(worker)
            self.n_held[worker] += 1

    def forget(self, worker: str) -> None:
        """Take note that a worker has gone."""
        self.n_held.pop(worker, None)
        for holders in self.holders:
            holders.discard(worker)

    def pieces(self, ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """Yield ranges of rows, parted where shards end, each with its shard."""
        for first, last in ranges:
            for shard in self.outline.of_rows(first, last):
                start, end = self.outline.rows[shard : shard + 2].tolist()
                yield max(first, start), min(last, end), shard


class WorkersCutter:
    """Cuts rows for a device of a worker: at first those of shards that it has, then of those that nobody has.

    Parameters
    ----------
    cutter : Cutter
        Of the device.
    worker : str
    spread : Spread or None
        None where rows are not those of a database.
    """

    def __init__(self, cutter: Cutter[Any], worker: str, spread: Spread | None) -> None:
        self._cutter, self._worker, self._spread = cutter, worker, spread
        self._lacking: dict[int, tuple[int, int]] = {}

    def has_all(self) -> bool:
        """Whether there is one shard, which every worker gets, or none."""
        return self._spread is None or self._spread.outline.n_shards < 2

    def choose(self, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return rows that suit the worker best, within one of some ranges."""
        if self._spread is None:
            return ranges[0]
        best, least = ranges[0], float("inf")
        for first, last, shard in self._spread.pieces(ranges):
            holders = self._spread.holders[shard]
            n = -1.0 if self._worker in holders else float(len(holders))
            if n < least:
                best, least = (first, last), n
            if n < 0:
                break
        return best

    def has_some_of(self, query: Query[Any]) -> bool:
        """Return whether the worker has rows of a query that nobody has; they are not looked for twice in vain."""
        spread = self._spread
        if spread is None:
            return True
        state = query.n_back, spread.n_held[self._worker]
        if self._lacking.get(query.number) == state:
            return False
        if any(self._worker in spread.holders[shard] for _, _, shard in spread.pieces(query.ranges)):
            return True
        if len(self._lacking) >= MOST_REMEMBERED:
            self._lacking.clear()
        self._lacking[query.number] = state
        return False

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a unit ends that begins at row `first`."""
        if self._spread is not None:
            last = next(self._spread.pieces([(first, last)]))[1]
        return self._cutter.end(first, last, share)

    def batch(self, first: int, last: int) -> Any:
        """Return the rows of a unit."""
        return self._cutter.batch(first, last)

    def measure(self, cells: float, seconds: float) -> None:
        """Take note of the time that a unit took."""
        self._cutter.measure(cells, seconds)

    def shrink(self, batch: Any) -> bool:
        """Cut less than this batch from now on."""
        return self._cutter.shrink(batch)
