"""The planner: what a run lacks is cut into units when an executor asks for one, and handed out again if it fails.

In the end the units are smaller, and who has nothing to do is given what another one is late with as well: the first
result is stored.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic

from clalign import tracing
from clalign.compute.batching import gaps
from clalign.compute.opening import LISTEN_SECONDS
from clalign.execution.hands import END_SECONDS, Hand, Hands
from clalign.execution.units import ALL, Batch, Cutter, Plan, Query, Unit, chooses
from clalign.runs.run_file import RunFile
from clalign.values.profiles import IMPOSSIBLE

MOST_OUT = 64
"""Units for each executor that are not stored yet: more would only fill the memory."""

MOST_SMALL_OUT, MOST_ROWS_OUT = 512, 2**20
"""Of units that can be started together, so that many are, there may be so many if they have no more rows than these;
when they were too many there are none before half of them are stored."""

MOST_OPEN = 64
"""Queries, or two for each executor, that may lack rows because nobody is free who has them at hand."""

SMALLEST_SHARE = 0.25
"""In the end units are made smaller, down to this share of what they were."""

LOOK_SECONDS, LOOKS = 0.02, 2000
"""Who has nothing to do looks this often whether another one is late; all together at most so often a second."""


class OpenQueries(Generic[Batch]):
    """Queries of which nobody has some rows, found by who goes on with them, however many there are.

    Attributes
    ----------
    n_rows : int
        The rows that nobody has, of all of them.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._all: dict[Query[Batch], None] = {}  # in the order in which they were opened
        self._of: dict[int, dict[Query[Batch], None]] = {}

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Query[Batch]]:
        return iter(self._all)

    @property
    def first(self) -> Query[Batch] | None:
        """The first one, whoever is at it."""
        return next(iter(self._all), None)

    def of(self, owner: Cutter[Batch] | None) -> Query[Batch] | None:
        """Return the first one of an executor, or of nobody."""
        return next(iter(self._of.get(id(owner), ())), None)

    def add(self, query: Query[Batch]) -> None:
        """Add a query, if it is not there."""
        self._all.setdefault(query)
        self._of.setdefault(id(query.owner), {}).setdefault(query)

    def give(self, query: Query[Batch], owner: Cutter[Batch] | None) -> None:
        """Take note of who goes on with a query, or that it came back."""
        if query.owner is not owner:
            self._drop(query)
            query.owner = owner
            self._of.setdefault(id(owner), {}).setdefault(query)

    def remove(self, query: Query[Batch]) -> None:
        """Take note that all of its rows are in someone's hands."""
        del self._all[query]
        self._drop(query)

    def _drop(self, query: Query[Batch]) -> None:
        found = self._of[id(query.owner)]
        found.pop(query, None)
        if not found:
            del self._of[id(query.owner)]


class Unopened:
    """The queries that nobody has begun, group by group: an executor stays with one, so that it alone prepares it.

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
        self._free = deque(range(len(self._left)))  # groups that no executor is at
        self._group_of: dict[int, int] = {}

    def __len__(self) -> int:
        return self._n_left

    def take(self, cutter: object = None) -> int | None:
        """Return the next query, the first of all if it is for nobody; None if there is none."""
        if not self._n_left:
            return None
        group = self._group_of.get(id(cutter))
        if group is None or not self._left[group]:
            group = self._next_group(cutter)
        number = self._numbers[self._left[group][0]]
        self._left[group] = self._left[group][1:]
        self._n_left -= 1
        return number

    def _next_group(self, cutter: object) -> int:
        while self._free and not self._left[self._free[0]]:
            self._free.popleft()
        if cutter is None:
            return next(group for group, left in enumerate(self._left) if left)
        if self._free:
            group = self._free.popleft()
        else:  # where those that are at it have most to do
            n_at = Counter(self._group_of.values())
            group = max(range(len(self._left)), key=lambda group: len(self._left[group]) / max(1, n_at[group]))
        self._group_of[id(cutter)] = group
        return group

    def leave(self, cutter: object) -> None:
        """Take note that an executor begins anew, or not at all."""
        group = self._group_of.pop(id(cutter), None)
        if group is not None and group not in self._group_of.values():
            self._free.appendleft(group)


class Planner(Generic[Batch]):
    """Hands out the units of a plan; called by the writer and, in their threads, by all executors.

    Parameters
    ----------
    plan : Plan
    n_executors : int
        May change while they come and go.
    clock : callable
        Returns the time in seconds.
    """

    def __init__(self, plan: Plan[Batch], n_executors: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self.plan, self.n_executors = plan, n_executors
        self._n_resting = 0
        self._unopened = Unopened(plan.queries, plan.groups)
        self._open = OpenQueries[Batch]()
        self._ends: deque[Query[Batch]] = deque()
        self._hands = Hands(clock)
        self._ended = 0.0
        self._is_through = False  # all queries were opened
        self._is_full = False  # nothing is given until some of what is out is stored
        few = MOST_ROWS_OUT // max(1, plan.n_rows - plan.first_row)
        self._most_out = MOST_OUT if plan.start_many is None else min(MOST_SMALL_OUT, max(MOST_OUT, few))
        self._changed = threading.Condition()

    def join(self, cutter: Cutter[Batch], gives_way: bool) -> None:
        """Take note of an executor, and whether it waits while others have lent themselves its device."""
        with self._changed:
            self._hands.of(cutter).gives_way = gives_way

    def rest(self, n: int) -> None:
        """Take note that more, or fewer, executors only stand by: for them nothing is cut smaller or left."""
        with self._changed:
            self._n_resting += n

    @property
    def _n_at_work(self) -> int:
        return max(1, self.n_executors - self._n_resting)

    def lend(self, n: int, cutter: Cutter[Batch]) -> None:
        """Take note that something more, or less, is computed with the processor for an executor that has a card."""
        with self._changed:
            self._hands.lend(self._hands.of(cutter), n)
            self._changed.notify_all()

    def take(self, run: RunFile, cutter: Cutter[Batch], prepares: bool = True) -> Unit[Batch] | None:
        """Return the next unit for an executor; None if there is none just now.

        Parameters
        ----------
        run : RunFile
            Tells what is finished of a query that nobody had before.
        cutter : Cutter
            The executor's.
        prepares : bool
            Whether the search of its query is to be made; one that computes elsewhere makes it there, until the end.
        """
        with self._changed:
            unit = self._unit(run, cutter)
        return self._prepared(unit, run, cutter) if prepares or (unit is not None and unit.is_end) else unit

    def take_end(self, run: RunFile, cutter: Cutter[Batch]) -> Unit[Batch] | None:
        """Return what is left at the end of a query, for one that computes no rows; begin with the next query."""
        with self._changed:
            if not self._ends and not self._open:
                self._next(run)
            unit = Unit(self._ends.popleft()) if self._ends else None
            if unit is not None:
                self._hands.give(unit, self._hands.of(cutter))
        return self._prepared(unit, run, cutter)

    def _prepared(self, unit: Unit[Batch] | None, run: RunFile, cutter: Cutter[Batch]) -> Unit[Batch] | None:
        """Make the search of the query of a unit; nobody has the unit if that cannot be."""
        if unit is not None:
            try:
                self._prepare(unit.query, run)
            except BaseException:
                with self._changed:
                    self._take_back([unit], self._hands.of(cutter))
                raise
        return unit

    def take_several(self, run: RunFile, cutter: Cutter[Batch], seconds: float, most: int) -> list[Unit[Batch]]:
        """Return units for an executor that is sent several at a time, as many as take it so long; maybe none.

        Near the end of the job they are half of what is due to it, or a single one.
        """
        with self._changed:
            hand = self._hands.of(cutter)
            n = min(most, max(1, int(seconds / hand.unit_seconds))) if hand.unit_seconds else 1
            due = self._n_rows_left * self._hands.share(hand) / 2 if self._n_at_work > 1 else math.inf
        units: list[Unit[Batch]] = []
        while len(units) < n and (not units or sum(unit.last - unit.first for unit in units) < due):
            unit = self.take(run, cutter)
            if unit is None:
                break
            units.append(unit)
        return units

    @property
    def _n_rows_left(self) -> int:
        """Rows that nobody has, of all queries that may be begun."""
        n_unopened = len(self._unopened) if self.plan.phases is None else 0
        return self._open.n_rows + n_unopened * (self.plan.n_rows - self.plan.first_row)

    def _unit(self, run: RunFile, cutter: Cutter[Batch]) -> Unit[Batch] | None:
        hand = self._hands.of(cutter)
        if hand.gives_way and self._hands.is_lent():
            return None
        unit = self._end(hand) or self._cut(run, cutter, hand)
        if unit is None and not hand.units:
            unit = self._overdue(run, cutter, hand)
        if unit is not None:
            self._hands.give(unit, hand)
        return unit

    def _overdue(self, run: RunFile, cutter: Cutter[Batch], hand: Hand) -> Unit[Batch] | None:
        def fits(unit: Unit[Batch]) -> bool:
            return unit.is_end or cutter.end(unit.first, unit.last) == unit.last

        unit = self._hands.overdue(hand, fits)
        if unit is None or fits(unit):
            return unit
        self._hands.take_away(unit)
        self._reopen(unit)
        return self._cut(run, cutter, hand)

    def _end(self, hand: Hand) -> Unit[Batch] | None:
        if not self._ends:
            return None
        if self._hands.leaves_ends(hand) and self._hands.clock() - self._ended < END_SECONDS:
            return None
        return Unit(self._ends.popleft())

    def _cut(self, run: RunFile, cutter: Cutter[Batch], hand: Hand) -> Unit[Batch] | None:
        query = None if self._is_too_much() else self._chosen(run, cutter)
        if query is None:
            return self._end(hand)  # that may have come to light by looking for a query
        self._open.give(query, cutter)
        first, last = cutter.choose(query.ranges) if chooses(cutter) else query.ranges[0]
        end = cutter.end(first, last)
        share = self._share(hand, end - first)
        end = end if share == 1.0 else cutter.end(first, last, share)
        query.ranges = list(_without(query.ranges, first, end))
        self._open.n_rows -= end - first
        if not query.ranges:
            self._open.remove(query)
        return Unit(query, first, end)

    def _is_too_much(self) -> bool:
        """Return whether so much is not stored that nothing is to be given."""
        n_out, most = len(self._hands), self._most_out * self._n_at_work
        self._is_full = n_out >= (most // 2 if self._is_full and self.plan.start_many is not None else most)
        return self._is_full

    def _share(self, hand: Hand, n_rows: int) -> float:
        """Return what share of so many rows is enough: near the end half of what is due to an executor."""
        if self._n_at_work == 1 or not self._is_through:
            return 1.0
        return min(1.0, max(SMALLEST_SHARE, self._open.n_rows * self._hands.share(hand) / 2 / n_rows))

    def _prepare(self, query: Query[Batch], run: RunFile) -> None:
        """Make the search of a query if it has none; that takes a while, in which others take units all the same."""
        with query.making:
            if query.lacks_search:
                query.lacks_search = False  # rows may come back in the meantime
                try:
                    with tracing.span("prepare a query", "preparing", query=query.number):
                        query.search = self.plan.search_of(run, query.number)
                except BaseException:
                    query.lacks_search = True
                    raise

    def _chosen(self, run: RunFile, cutter: Cutter[Batch]) -> Query[Batch] | None:
        """Return what came back, or what this executor is at, so that it keeps its rows; then a new one, then any.

        One that has some of the rows looks for a query that lacks them; all such go through the queries together.
        """
        if chooses(cutter) and not cutter.has_all():
            suiting = next((query for query in self._open if cutter.has_some_of(query)), None)
            if suiting is not None or len(self._open) > max(2 * self._n_at_work, MOST_OPEN):
                return suiting or self._open.first
            return self._next(run) or self._open.first
        return self._open.of(None) or self._open.of(cutter) or self._next(run, cutter) or self._open.first

    def _next(self, run: RunFile, cutter: Cutter[Batch] | None = None) -> Query[Batch] | None:
        """Open the next query that lacks rows; return None if there is none, or one that lacks only its end.

        One that needs those before it is not opened while anything of them is to be stored, their ends included.
        """
        first_row, n_rows = self.plan.first_row, self.plan.n_rows
        if self.plan.phases is not None and (self._hands or self._open or self._ends):
            return None
        while (number := self._unopened.take(cutter)) is not None:
            ranges = list(gaps(run.finished(number), n_rows, first_row))
            if (not ranges and run.best(number) is not None) or not self.plan.is_needed(run, number):
                continue
            n_left = sum(end - first for first, end in ranges)
            is_new = n_left == n_rows - first_row > 0
            n_hits = 0 if is_new else run.n_hits(None if number == ALL else number)
            query = Query[Batch](number, ranges, None, n_left, n_hits, (IMPOSSIBLE, 0) if is_new else None)
            if not ranges:
                self._add_end(query)
                return None
            self._open.add(query)
            self._open.n_rows += n_left
            return query
        self._is_through = True
        return None

    def wait(self) -> bool:
        """Wait a little for what others may leave; return False if everything is stored.

        To be called by an executor that has nothing in hand and was given nothing.
        """
        with self._changed:
            is_left, n_out = self._is_left, len(self._hands)
            if not is_left and not n_out:
                return False
            is_between = self.plan.phases is not None and n_out > 0
            if not is_left or self._ends or self._is_too_much() or is_between or self._hands.is_lent():
                looks = max(LOOK_SECONDS, self._n_at_work / LOOKS)
                self._changed.wait(LISTEN_SECONDS if self._n_at_work == 1 else looks)
            return True

    @property
    def _is_left(self) -> bool:
        """Whether there is something that nobody has."""
        return bool(self._ends or self._open or not self._is_through)

    @property
    def is_over(self) -> bool:
        """Whether everything is stored; known when an executor was given nothing."""
        with self._changed:
            return not self._is_left and not len(self._hands)

    def delivered(self, unit: Unit[Batch], cutter: Cutter[Batch], cells: float) -> None:
        """Take note that an executor has computed a unit, which will be stored unless it is already."""
        with self._changed:
            self._hands.deliver(unit, self._hands.of(cutter), cells)

    def delivered_together(self, found: Sequence[tuple[Unit[Batch], float]], cutter: Cutter[Batch]) -> None:
        """Take note of units, each with its cells, that an executor has computed and that came at the same time."""
        with self._changed:
            self._hands.deliver_together(found, self._hands.of(cutter))

    def is_wanted(self, unit: Unit[Batch]) -> bool:
        """Return whether a unit is still to be stored: another executor may have been faster."""
        with self._changed:
            return unit in self._hands

    def stored(self, unit: Unit[Batch]) -> None:
        """Take note that a unit is stored, and see to the end of its query after the last one."""
        query = unit.query
        with self._changed:
            was_full = self._is_full
            self._hands.remove(unit)
            query.n_left -= unit.last - unit.first
            if not query.n_left and not unit.is_end:
                self._add_end(query)
            if was_full or self._ends or not self._hands:  # else nobody can do more than before
                self._changed.notify_all()

    def _add_end(self, query: Query[Batch]) -> None:
        self._ends.append(query)
        self._ended = self._hands.clock()

    def give_back(self, units: Iterable[Unit[Batch]], cutter: Cutter[Batch]) -> None:
        """Take back units that an executor has not computed; it begins anew, or not at all."""
        with self._changed:
            hand = self._hands.of(cutter)
            self._take_back(units, hand)
            self._hands.forget(hand)
            self._unopened.leave(cutter)

    def _take_back(self, units: Iterable[Unit[Batch]], hand: Hand) -> None:
        for unit in self._hands.let_go(units, hand):
            self._reopen(unit)
        self._changed.notify_all()

    def _reopen(self, unit: Unit[Batch]) -> None:
        query = unit.query
        if unit.is_end:
            self._ends.appendleft(query)
            return
        query.lacks_search = True
        query.n_back += 1
        query.ranges = sorted([*query.ranges, (unit.first, unit.last)])
        self._open.n_rows += unit.last - unit.first
        self._open.add(query)
        self._open.give(query, None)


def _without(ranges: Iterable[tuple[int, int]], first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows without those from `first` up to `end`, which are within one of them."""
    for start, last in ranges:
        if start <= first and end <= last:
            yield from ((a, b) for a, b in ((start, first), (end, last)) if a < b)
        else:
            yield start, last
