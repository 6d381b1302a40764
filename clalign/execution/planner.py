"""The planner: what a run lacks is cut into units when an executor asks for one, and handed out again if it fails."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from typing import Generic

from clalign import tracing
from clalign.compute.batching import gaps
from clalign.compute.opening import LISTEN_SECONDS
from clalign.execution.units import ALL, Batch, Cutter, Plan, Query, Unit
from clalign.runs.run_file import RunFile
from clalign.values.profiles import IMPOSSIBLE

MOST_OUT = 8
"""Units for each executor that are not stored yet: more would only fill the memory."""


class Planner(Generic[Batch]):
    """Hands out the units of a plan; called by the writer and, in their threads, by all executors.

    Parameters
    ----------
    plan : Plan
    n_executors : int
    """

    def __init__(self, plan: Plan[Batch], n_executors: int = 1) -> None:
        self.plan = plan
        self._numbers = iter(plan.queries)
        self._open: list[Query[Batch]] = []  # of which nobody has some rows
        self._ends: deque[Query[Batch]] = deque()
        self._n_out, self._most_out = 0, MOST_OUT * n_executors
        self._is_through = False  # all queries were opened
        self._changed = threading.Condition()

    def take(self, run: RunFile, cutter: Cutter[Batch]) -> Unit[Batch] | None:
        """Return the next unit for an executor; None if there is none just now.

        Parameters
        ----------
        run : RunFile
            Tells what is finished of a query that nobody had before.
        cutter : Cutter
            The executor's.
        """
        with self._changed:
            unit = self._unit(run, cutter)
        if unit is not None:
            try:
                self._prepare(unit.query, run)
            except BaseException:
                self.give_back([unit])
                raise
        return unit

    def _unit(self, run: RunFile, cutter: Cutter[Batch]) -> Unit[Batch] | None:
        query = self._chosen(run, cutter) if not self._ends and self._n_out < self._most_out else None
        if self._ends:
            self._n_out += 1
            return Unit(self._ends.popleft())
        if query is None:
            return None
        query.owner = cutter
        first, last = query.ranges[0]
        end = cutter.end(first, last)
        query.ranges[:1] = [(end, last)] if end < last else []
        if not query.ranges:
            self._open.remove(query)
        self._n_out += 1
        return Unit(query, first, end)

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
        """Return what came back, or what this executor is at, so that it keeps its rows; then a new one, then any."""
        for owner in (None, cutter):
            for query in self._open:
                if query.owner is owner:
                    return query
        return self._next(run) or (self._open[0] if self._open else None)

    def _next(self, run: RunFile) -> Query[Batch] | None:
        """Open the next query that lacks rows; return None if there is none, or one that lacks only its end.

        One that needs those before it is not opened while anything of them is to be stored.
        """
        n_rows = self.plan.n_rows
        if self.plan.phases is not None and (self._n_out or self._open):
            return None
        for number in self._numbers:
            ranges = list(gaps(run.finished(number), n_rows))
            if (not ranges and run.best(number) is not None) or not self.plan.is_needed(run, number):
                continue
            n_left = sum(end - first for first, end in ranges)
            is_new = n_left == n_rows > 0
            n_hits = 0 if is_new else run.n_hits(None if number == ALL else number)
            query = Query[Batch](number, ranges, None, n_left, n_hits, (IMPOSSIBLE, 0) if is_new else None)
            if not ranges:
                self._ends.append(query)
                return None
            self._open.append(query)
            return query
        self._is_through = True
        return None

    def wait(self) -> bool:
        """Wait a little for what others may leave; return False if everything is stored.

        To be called by an executor that has nothing in hand and was given nothing.
        """
        with self._changed:
            is_left = bool(self._ends or self._open or not self._is_through)
            if not is_left and not self._n_out:
                return False
            if not is_left or self._n_out >= self._most_out or (self.plan.phases is not None and self._n_out):
                self._changed.wait(LISTEN_SECONDS)
            return True

    def stored(self, unit: Unit[Batch]) -> None:
        """Take note that a unit is stored, and see to the end of its query after the last one."""
        query = unit.query
        with self._changed:
            self._n_out -= 1
            query.n_left -= unit.last - unit.first
            if not query.n_left and not unit.is_end:
                self._ends.append(query)
            self._changed.notify_all()

    def give_back(self, units: Iterable[Unit[Batch]]) -> None:
        """Take back units that were not computed."""
        with self._changed:
            for unit in units:
                self._n_out -= 1
                query = unit.query
                if unit.is_end:
                    self._ends.appendleft(query)
                    continue
                query.owner, query.lacks_search = None, True
                query.ranges = sorted([*query.ranges, (unit.first, unit.last)])
                if query not in self._open:
                    self._open.append(query)
            self._changed.notify_all()
