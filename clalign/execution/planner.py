"""The planner cuts what a run lacks into units when an executor asks for one, and hands units out again that fail.

At the end of a job units are smaller, and an idle executor gets units that another one is late with as well: the first
result is stored.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct, field

from clalign import tracing
from clalign.compute.batching import BATCH_SECONDS, gaps
from clalign.compute.opening import CHECK_SECONDS
from clalign.execution.units import ALL, Choosing, Cutter, Plan, Query, Unit
from clalign.runs.run_file import RunFile
from clalign.values.profiles import IMPOSSIBLE

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


class ExecutorStats(Struct, eq=False):
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

    def gain(self, unit: Unit, other: ExecutorStats, now: float) -> float:
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
        self._stats: dict[int, ExecutorStats] = {}
        self._holders: dict[Unit, list[ExecutorStats]] = {}  # of each unit that is not stored

    def __len__(self) -> int:
        return len(self._holders)

    def __contains__(self, unit: Unit) -> bool:
        return unit in self._holders

    def of(self, cutter: object) -> ExecutorStats:
        """Return the units and the speed of an executor."""
        found = self._stats.get(id(cutter))
        if found is None:
            found = self._stats[id(cutter)] = ExecutorStats()
        return found

    def assign(self, unit: Unit, stats: ExecutorStats) -> None:
        """Assign a unit, which another executor may have as well."""
        stats.take(unit, self.clock())
        self._holders.setdefault(unit, []).append(stats)

    def take_back(self, units: Iterable[Unit], stats: ExecutorStats) -> list[Unit]:
        """Take units back from an executor; return those that no executor has now and that are not stored."""
        left = []
        for unit in units:
            if unit not in stats.units:  # it was taken away
                continue
            stats.units.remove(unit)
            holders = self._holders.get(unit, [])
            if stats in holders:
                holders.remove(stats)
                if not holders:
                    del self._holders[unit]
                    left.append(unit)
        return left

    def revoke(self, unit: Unit) -> None:
        """Take a unit away from all executors that have it."""
        for stats in self._holders.pop(unit):
            if unit in stats.units:
                stats.units.remove(unit)

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
            for one in self._stats.values()
        )

    def share(self, stats: ExecutorStats) -> float:
        """Return the share of an executor in the speed of all that were measured; 1 if it was not."""
        return stats.rate / sum(one.rate for one in self._stats.values()) if stats.rate else 1.0

    def leaves_ends(self, stats: ExecutorStats) -> bool:
        """Return whether a much faster executor is at work, which had better compute the ends of queries."""
        limit, now = stats.rate * MUCH_SLOWER, self.clock()
        return limit > 0 and any(one.rate > limit and not one.is_late(now) for one in self._stats.values())

    def overdue(self, stats: ExecutorStats, fits: Callable[[Unit], bool]) -> Unit | None:
        """Return the unit that an idle executor may deliver earlier than its holder, by the largest gain of time.

        A unit that does not fit the executor is returned only if its holder is late.
        """
        now, found, most = self.clock(), None, 0.0
        for holder in self._stats.values():
            for unit in holder.units if holder is not stats else ():
                gain = holder.gain(unit, stats, now) if self._may_be_copied(unit, now) else 0.0
                if gain > most and (holder.is_late(now) or fits(unit)):
                    found, most = unit, gain
        return found

    def _may_be_copied(self, unit: Unit, now: float) -> bool:
        """Return whether a unit is not stored, and one executor alone has it, or several that all seem to hang."""
        holders = self._holders.get(unit, [])
        return len(holders) == 1 or (bool(holders) and all(unit in one.units and one.is_lost(now) for one in holders))


MAX_OUT = 64
"""Units for each executor that are not stored yet: more would only fill the memory."""

MAX_SMALL_OUT, MAX_ROWS_OUT = 512, 2**20
"""Units for each executor that are not stored yet where units are started together, which takes many of them, and their
rows; once the limit is reached nothing is handed out before half of them are stored."""

MAX_OPEN = 128
"""Queries that may lack rows because no idle executor has these at hand."""

MIN_SHARE = 0.25
"""Smallest share of its usual size that a unit has near the end of a job."""

LOOK_SECONDS = 0.02
"""Interval at which an idle executor looks whether another one is late (s)."""


class QueryGroups:
    """The queries that are not begun, by groups: an executor stays with a group, so that it alone prepares its tables.

    Parameters
    ----------
    numbers : sequence of int
        Of all queries.
    firsts : sequence of int
        Places where groups begin.
    """

    def __init__(self, numbers: Sequence[int], firsts: Sequence[int]) -> None:
        self._numbers, self._n_left = numbers, len(numbers)
        ends = [*firsts[1:], len(numbers)]
        self._left = [range(first, end) for first, end in zip(firsts, ends, strict=True)]
        self._group_of: dict[int, int] = {}  # by the id of the cutter of an executor

    def __len__(self) -> int:
        return self._n_left

    def take(self, cutter: object, is_known: Callable[[int], bool]) -> int | None:
        """Return the next query for an executor, or the first one of all without an executor.

        None if there is none, or if it `is_known` later whether there is.
        """
        if not self._n_left:
            return None
        group = self._group_of.get(id(cutter))
        if group is None or not self._left[group]:
            group = self._next_group(cutter)
        number = self._numbers[self._left[group][0]]
        if not is_known(number):
            return None
        self._left[group] = self._left[group][1:]
        self._n_left -= 1
        return number

    def _next_group(self, cutter: object) -> int:
        """Return the first group that no executor is at, else the one with most queries for each of its executors."""
        left = [group for group, places in enumerate(self._left) if places]
        if cutter is None:
            return left[0]
        n_at = Counter(self._group_of.values())
        free = next((group for group in left if not n_at[group]), None)
        group = max(left, key=lambda group: len(self._left[group]) / n_at[group]) if free is None else free
        self._group_of[id(cutter)] = group
        return group

    def leave(self, cutter: object) -> None:
        """Remove an executor from its group."""
        self._group_of.pop(id(cutter), None)


class Planner:
    """Hands out the units of a plan; called by the writer and, in their threads, by all executors.

    Parameters
    ----------
    plan : Plan
    n_executors : int
        May change while they come and go.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, plan: Plan, n_executors: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self.plan, self.n_executors = plan, n_executors
        self._n_resting = 0
        self._unopened = QueryGroups(plan.queries, plan.groups)
        self._open: dict[Query, None] = {}  # queries with rows that no executor has, in order of opening
        self._ends: deque[Query] = deque()
        self._assignments = Assignments(clock)
        self._ended = 0.0
        self._begun: set[int] | None = None  # queries of which an earlier job has stored something
        self._all_opened = False  # no query is left unopened
        self._is_full = False  # nothing is given until some of what is out is stored
        few = MAX_ROWS_OUT // max(1, plan.n_rows - plan.first_row)
        self._max_out = MAX_OUT if plan.start_many is None else min(MAX_SMALL_OUT, max(MAX_OUT, few))
        self._changed = threading.Condition()

    def yield_while_helping(self, cutter: Cutter) -> None:
        """Let an executor wait from now on while its device helps others."""
        with self._changed:
            self._assignments.of(cutter).gives_way = True

    def rest(self, n: int) -> None:
        """Count more, or fewer, executors that only stand by: nothing is cut smaller for them."""
        with self._changed:
            self._n_resting += n

    @property
    def _n_at_work(self) -> int:
        return max(1, self.n_executors - self._n_resting)

    def lend(self, n: int, cutter: Cutter) -> None:
        """Count more, or fewer, tasks that the processor computes for an executor with a graphics card."""
        with self._changed:
            self._assignments.of(cutter).n_lent += n
            self._changed.notify_all()

    def take(self, run: RunFile, cutter: Cutter, prepares: bool = True) -> Unit | None:
        """Return the next unit for an executor; None if there is none just now.

        Parameters
        ----------
        run : RunFile
            Read for what is finished of a query that is begun.
        cutter : Cutter
            The executor's.
        prepares : bool
            Whether to prepare the query of the unit; another process prepares it for itself, except for its end.
        """
        with self._changed:
            unit = self._unit(run, cutter)
        return self._prepared(unit, run, cutter) if prepares or (unit is not None and unit.is_end) else unit

    def take_end(self, run: RunFile, cutter: Cutter) -> Unit | None:
        """Return the end of a query, for an executor that computes no rows; begin with the next query."""
        with self._changed:
            if not self._ends and not self._open:
                self._next(run)
            unit = Unit(self._ends.popleft()) if self._ends else None
            if unit is not None:
                self._assignments.assign(unit, self._assignments.of(cutter))
        return self._prepared(unit, run, cutter)

    def _prepared(self, unit: Unit | None, run: RunFile, cutter: Cutter) -> Unit | None:
        """Prepare the query of a unit and return the unit; take the unit back if that fails."""
        if unit is not None:
            try:
                self.prepare(unit.query, run)
            except BaseException:
                with self._changed:
                    self._take_back([unit], self._assignments.of(cutter))
                raise
        return unit

    def take_several(self, run: RunFile, cutter: Cutter, seconds: float, most: int) -> list[Unit]:
        """Return at most `most` units, which take an executor about `seconds` together; maybe none.

        Near the end of the job they are half of what is due to it, or a single one.
        """
        with self._changed:
            stats = self._assignments.of(cutter)
            n = min(most, max(1, int(seconds / stats.unit_seconds))) if stats.unit_seconds else 1
            due = self._n_rows_left * self._assignments.share(stats) / 2 if self._n_at_work > 1 else math.inf
        units: list[Unit] = []
        while len(units) < n and (not units or sum(unit.last - unit.first for unit in units) < due):
            unit = self.take(run, cutter)
            if unit is None:
                break
            units.append(unit)
        return units

    @property
    def _n_rows_left(self) -> int:
        """Rows that no executor has, of all queries that may be begun."""
        n_unopened = len(self._unopened) if self.plan.phases is None else 0
        return self._n_open_rows + n_unopened * (self.plan.n_rows - self.plan.first_row)

    @property
    def _n_open_rows(self) -> int:
        return sum(end - first for query in self._open for first, end in query.ranges)

    def _unit(self, run: RunFile, cutter: Cutter) -> Unit | None:
        stats = self._assignments.of(cutter)
        if stats.gives_way and self._assignments.is_lent():
            return None
        unit = self._end(stats) or self._cut(run, cutter, stats)
        if unit is None and not stats.units:
            unit = self._overdue(run, cutter, stats)
        if unit is not None:
            self._assignments.assign(unit, stats)
        return unit

    def _overdue(self, run: RunFile, cutter: Cutter, stats: ExecutorStats) -> Unit | None:
        def fits(unit: Unit) -> bool:
            return unit.is_end or cutter.end(unit.first, unit.last) == unit.last

        unit = self._assignments.overdue(stats, fits)
        if unit is None or fits(unit):
            return unit
        self._assignments.revoke(unit)
        self._reopen(unit)
        return self._cut(run, cutter, stats)

    def _end(self, stats: ExecutorStats) -> Unit | None:
        if not self._ends:
            return None
        if self._assignments.leaves_ends(stats) and self._assignments.clock() - self._ended < END_SECONDS:
            return None
        return Unit(self._ends.popleft())

    def _cut(self, run: RunFile, cutter: Cutter, stats: ExecutorStats) -> Unit | None:
        query = None if self._is_too_much() else self._chosen(run, cutter)
        if query is None:
            return self._end(stats)  # looking for a query may have found one
        query.owner = cutter
        first, last = cutter.choose(query.ranges) if isinstance(cutter, Choosing) else query.ranges[0]
        end = cutter.end(first, last)
        share = self._share(stats, end - first)
        end = end if share == 1.0 else cutter.end(first, last, share)
        query.ranges = list(_without(query.ranges, first, end))
        if not query.ranges:
            del self._open[query]
        return Unit(query, first, end)

    def _is_too_much(self) -> bool:
        """Return whether so many units are not stored that no more are handed out."""
        n_out, most = len(self._assignments), self._max_out * self._n_at_work
        self._is_full = n_out >= (most // 2 if self._is_full and self.plan.start_many is not None else most)
        return self._is_full

    def _share(self, stats: ExecutorStats, n_rows: int) -> float:
        """Return the share of a unit of `n_rows` that an executor gets: near the end half of what is due to it."""
        if self._n_at_work == 1 or not self._all_opened:
            return 1.0
        return min(1.0, max(MIN_SHARE, self._n_open_rows * self._assignments.share(stats) / 2 / n_rows))

    def prepare(self, query: Query, run: RunFile) -> None:
        """Prepare a query unless it is prepared; other executors take units meanwhile."""
        with query.making:
            if query.lacks_search:
                query.lacks_search = False  # rows may come back in the meantime
                try:
                    with tracing.span("prepare a query", "preparing", query=query.number):
                        query.search = self.plan.search_of(run, query.number)
                except BaseException:
                    query.lacks_search = True
                    raise

    def _chosen(self, run: RunFile, cutter: Cutter) -> Query | None:
        """Return a query of which rows came back, or the one that this executor is at; then a new one, then any.

        An executor that has some of the rows at hand gets a query that lacks these.
        """
        first = next(iter(self._open), None)
        if isinstance(cutter, Choosing) and not cutter.has_all():
            suiting = next((query for query in self._open if cutter.has_some_of(query)), None)
            if suiting is not None or len(self._open) > MAX_OPEN:
                return suiting or first
            return self._next(run) or first
        return self._open_query(None) or self._open_query(cutter) or self._next(run, cutter) or first

    def _open_query(self, owner: Cutter | None) -> Query | None:
        return next((query for query in self._open if query.owner is owner), None)

    def _next(self, run: RunFile, cutter: Cutter | None = None) -> Query | None:
        """Open the next query that lacks rows; return None if there is none, or one that lacks only its end.

        Where queries depend on those before them, none is opened before everything of these is stored.
        """
        first_row, n_rows = self.plan.first_row, self.plan.n_rows
        is_busy = bool(self._assignments or self._open or self._ends)
        if self.plan.phases is not None and is_busy:
            return None

        def is_known(number: int) -> bool:
            return not is_busy or self.plan.is_known(run, number)

        while (number := self._unopened.take(cutter, is_known)) is not None:
            if self._begun is None:  # before any of its queries is opened
                self._begun = run.begun()
            ranges = list(gaps(run.finished(number) if number in self._begun else [], n_rows, first_row))
            if (not ranges and run.best(number) is not None) or not self.plan.is_needed(run, number):
                continue
            n_left = sum(end - first for first, end in ranges)
            is_new = n_left == n_rows - first_row > 0
            n_hits = 0 if is_new else run.n_hits(None if number == ALL else number)
            query = Query(number, ranges, None, n_left, n_hits, (IMPOSSIBLE, 0) if is_new else None)
            if not ranges:
                self._add_end(query)
                return None
            self._open[query] = None
            return query
        self._all_opened = not self._unopened
        return None

    def wait(self) -> bool:
        """Wait a little for units of other executors; return False if everything is stored.

        Called by an executor that has no unit and got none.
        """
        with self._changed:
            is_left, n_out = self._is_left, len(self._assignments)
            if not is_left and not n_out:
                return False
            is_between = n_out > 0 and not self._open and not self._all_opened
            if not is_left or self._ends or self._is_too_much() or is_between or self._assignments.is_lent():
                self._changed.wait(CHECK_SECONDS if self._n_at_work == 1 else LOOK_SECONDS)
            return True

    @property
    def _is_left(self) -> bool:
        """Whether there is something that no executor has."""
        return bool(self._ends or self._open or not self._all_opened)

    @property
    def is_over(self) -> bool:
        """Whether everything is stored; known once an executor got no unit."""
        with self._changed:
            return not self._is_left and not self._assignments

    def delivered(self, found: Sequence[tuple[Unit, float]], cutter: Cutter) -> None:
        """Record that an executor has computed units at the same time, each given with its cells."""
        with self._changed:
            self._assignments.of(cutter).deliver(found, self._assignments.clock())

    def has_units(self, cutter: Cutter) -> bool:
        """Return whether an executor computes units, also such as another one was faster with."""
        with self._changed:
            return bool(self._assignments.of(cutter).units)

    def is_wanted(self, unit: Unit) -> bool:
        """Return whether a unit is not stored yet: another executor may have been faster."""
        with self._changed:
            return unit in self._assignments

    def stored(self, unit: Unit, has_end: bool = True) -> None:
        """Record that a unit is stored; after the last one of a query that `has_end` its end is to be computed."""
        query = unit.query
        with self._changed:
            was_full = self._is_full
            self._assignments.remove(unit)
            query.n_left -= unit.last - unit.first
            if not query.n_left and not unit.is_end and has_end:
                self._add_end(query)
            if was_full or self._ends or not self._assignments:  # otherwise no executor can do more than before
                self._changed.notify_all()

    def _add_end(self, query: Query) -> None:
        self._ends.append(query)
        self._ended = self._assignments.clock()

    def give_back(self, units: Iterable[Unit], cutter: Cutter) -> None:
        """Take back units that an executor has not computed; its measured speed is forgotten."""
        with self._changed:
            stats = self._assignments.of(cutter)
            self._take_back(units, stats)
            stats.reset()
            self._unopened.leave(cutter)

    def _take_back(self, units: Iterable[Unit], stats: ExecutorStats) -> None:
        for unit in self._assignments.take_back(units, stats):
            self._reopen(unit)
        self._changed.notify_all()

    def _reopen(self, unit: Unit) -> None:
        query = unit.query
        if unit.is_end:
            self._ends.appendleft(query)
            return
        query.lacks_search = True
        query.n_back += 1
        query.ranges = sorted([*query.ranges, (unit.first, unit.last)])
        query.owner = None
        self._open[query] = None


def _without(ranges: Iterable[tuple[int, int]], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows without those from `first` up to `end`, which are within one of them."""
    for start, last in ranges:
        if start <= first and end <= last:
            yield from ((a, b) for a, b in ((start, first), (end, last)) if a < b)
        else:
            yield start, last
