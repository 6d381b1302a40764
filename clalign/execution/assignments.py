"""Which executor has which units and how fast each executor is, so that no one waits long for a slow or hanging one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from clalign.compute.batching import BATCH_SECONDS
from clalign.execution.units import Unit

REMEMBERED = 0.8
"""Share of all earlier measurements that still counts after one more unit."""

MUCH_SLOWER = 4.0
"""An executor that is slower than another one by this factor leaves the end of a query to it."""

END_SECONDS = 1.0
"""Time for which a slow executor leaves the end of a query to a faster one (s)."""

LOST_SECONDS = 10.0
"""Timeout for the end of a query, after which one more executor gets it (s): it may be faster, or not hang."""

LATE = 8.0
"""An executor is late when it needs this many times as long as it did before."""


class WorkerStats(Struct, eq=False):
    """The units and the measured speed of one executor.

    Attributes
    ----------
    gives_way : bool
        Whether it waits while its device, the processor, helps other executors.
    n_lent : int
        Number of tasks that the processor computes for this executor at the moment.
    n_together : int
        Number of units in its last delivery.
    units : list of Unit
        Units that it has not delivered yet, in the order in which it got them.
    since : float
        Time of its last delivery, or of its first unit (s).
    """

    gives_way: bool = False
    n_lent: int = 0
    n_together: int = 1
    units: list[Unit] = field(default_factory=list)
    since: float = 0.0
    _cells: float = 0.0
    _seconds: float = 0.0
    _count: float = 0.0

    @property
    def rate(self) -> float:
        """Cells a second, overhead included; 0 before the first delivery."""
        return self._cells / self._seconds if self._seconds else 0.0

    @property
    def unit_seconds(self) -> float:
        """Time from one unit to the next (s); 0 before the first delivery."""
        return self._seconds / self._count if self._count else 0.0

    def take(self, unit: Unit, now: float) -> None:
        """Add a unit."""
        if not self.units:
            self.since = now
        self.units.append(unit)

    def deliver(self, found: Sequence[tuple[Unit, float]], now: float) -> None:
        """Remove delivered units, given with their cells; each of them counts for an equal part of the time."""
        seconds = max((now - self.since) / max(1, len(found)), 1e-6)
        for unit, cells in found:
            if unit in self.units:  # otherwise it was taken away
                self.units.remove(unit)
            if not unit.is_end:
                self._cells = REMEMBERED * self._cells + cells
                self._seconds = REMEMBERED * self._seconds + seconds
                self._count = REMEMBERED * self._count + 1.0
        self.since, self.n_together = now, max(1, len(found))

    def reset(self) -> None:
        """Forget the measured speed."""
        self._cells = self._seconds = self._count = 0.0

    def is_late(self, now: float) -> bool:
        """Return whether its next delivery takes far longer than earlier ones."""
        return bool(self.units) and now - self.since > LATE * max(self.unit_seconds * self.n_together, BATCH_SECONDS)

    def is_lost(self, now: float) -> bool:
        """Return whether it seems to hang, with units or without."""
        return now - self.since > max(LOST_SECONDS, LATE * self.unit_seconds)

    def gain(self, unit: Unit, other: WorkerStats, now: float) -> float:
        """Return the seconds by which another, idle executor would deliver one of this executor's units earlier."""
        waited = now - self.since
        if unit.is_end:  # the processor may be at it for a card: it would have to do the same twice
            return 0.0 if self.n_lent else waited - LOST_SECONDS
        if not self._count:
            return waited - max(other.unit_seconds, BATCH_SECONDS)
        place = self.units.index(unit) // self.n_together * self.n_together  # units come in groups of this size
        due = min(place + self.n_together, len(self.units)) * self.unit_seconds - waited
        faster = other.rate / self.rate if other.rate else 1.0
        # One that is late will likely need as long again.
        return (due if due > 0 else -due) - self.unit_seconds / faster


class Assignments:
    """The units of all executors; an executor is identified by its cutter.

    Parameters
    ----------
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._workers: dict[int, WorkerStats] = {}
        self._holders: dict[Unit, list[WorkerStats]] = {}  # of each unit that is not stored

    def __len__(self) -> int:
        return len(self._holders)

    def __contains__(self, unit: Unit) -> bool:
        return unit in self._holders

    def of(self, cutter: object) -> WorkerStats:
        """Return the units and the speed of an executor."""
        found = self._workers.get(id(cutter))
        if found is None:
            found = self._workers[id(cutter)] = WorkerStats()
        return found

    def assign(self, unit: Unit, worker: WorkerStats) -> None:
        """Assign a unit, which another executor may have as well."""
        worker.take(unit, self.clock())
        self._holders.setdefault(unit, []).append(worker)

    def take_back(self, units: Iterable[Unit], worker: WorkerStats) -> list[Unit]:
        """Take units back from an executor; return those that no executor has now and that are not stored."""
        left = []
        for unit in units:
            if unit not in worker.units:  # it was taken away
                continue
            worker.units.remove(unit)
            holders = self._holders.get(unit, [])
            if worker in holders:
                holders.remove(worker)
                if not holders:
                    del self._holders[unit]
                    left.append(unit)
        return left

    def revoke(self, unit: Unit) -> None:
        """Take a unit away from all executors that have it."""
        for worker in self._holders.pop(unit):
            if unit in worker.units:
                worker.units.remove(unit)

    def remove(self, unit: Unit) -> None:
        """Remove a unit that is stored; who computes it as well finds out when it delivers it."""
        del self._holders[unit]

    def is_lent(self) -> bool:
        """Return whether the processor computes for other executors.

        One that seems to hang does not count, except at the end of a query, which may take the processor long.
        """
        now = self.clock()
        return any(
            one.n_lent and (any(unit.is_end for unit in one.units) or not one.is_lost(now))
            for one in self._workers.values()
        )

    def share(self, worker: WorkerStats) -> float:
        """Return the share of an executor in the speed of all that were measured; 1 if it was not."""
        return worker.rate / sum(one.rate for one in self._workers.values()) if worker.rate else 1.0

    def leaves_ends(self, worker: WorkerStats) -> bool:
        """Return whether a much faster executor is at work, which had better compute the ends of queries."""
        limit, now = worker.rate * MUCH_SLOWER, self.clock()
        return limit > 0 and any(one.rate > limit and not one.is_late(now) for one in self._workers.values())

    def overdue(self, worker: WorkerStats, fits: Callable[[Unit], bool]) -> Unit | None:
        """Return the unit that an idle executor may deliver earlier than its holder, by the largest gain of time.

        A unit that does not fit the executor is returned only if its holder is late.
        """
        now, found, most = self.clock(), None, 0.0
        for holder in self._workers.values():
            for unit in holder.units if holder is not worker else ():
                gain = holder.gain(unit, worker, now) if self._may_be_copied(unit, now) else 0.0
                if gain > most and (holder.is_late(now) or fits(unit)):
                    found, most = unit, gain
        return found

    def _may_be_copied(self, unit: Unit, now: float) -> bool:
        """Return whether a unit is not stored, and one executor alone has it, or several that all seem to hang."""
        holders = self._holders.get(unit, [])
        return len(holders) == 1 or (bool(holders) and all(unit in one.units and one.is_lost(now) for one in holders))
