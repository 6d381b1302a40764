"""The writer stores results in whatever order they come and reports the progress of the run; how executors reach it."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypedDict

from msgspec import Struct

from clalign import tracing
from clalign.common.amounts import rate_of_run
from clalign.compute.sessions import Session
from clalign.execution.access import Access
from clalign.execution.planner import Planner
from clalign.execution.units import Cutter, Finished, Phase, Plan, Query, Storing, Unit
from clalign.jobs import JobContext
from clalign.runs.batches import BatchResult, pack_scores
from clalign.runs.run_file import RunFile
from clalign.runs.tables import SqlRow
from clalign.values.devices import Device, distinct_names
from clalign.values.documents import TargetFacts
from clalign.values.profiles import IMPOSSIBLE

SPEEDS_SECONDS = 0.1
"""Interval at which speeds and shares of several devices are computed again (s); for small units they cost as much time
as storing."""

MAX_UNITS_AT_ONCE = 64
"""Units that are stored in one transaction: readers wait for its end, and so does a job that is to stop."""


class Share(Struct):
    """What a device has computed of a job, as far as it is stored."""

    device: Device
    cells: float = 0.0

    def gcups(self, seconds: float) -> float:
        """Return its part of the rate of a run that has taken this time (s), in 10^9 cells a second."""
        return rate_of_run(self.cells, seconds)


class DevicePart(TypedDict):
    """What a device has done: its name and id, GCUPS, cells, and their share of all."""

    name: str
    id: str
    gcups: float
    cells: float
    share: float


class Forecast(TypedDict, total=False):
    """What is to be expected of a run: cells a second, seconds for each kernel that has to be compiled, and seconds of
    the stages that follow the cells; with `later` in an event, the cells of the stages after the present one."""

    rate: float
    kernel_seconds: float
    seconds: dict[str, float]
    later: dict[str, float]


class Writer:
    """Stores what executors have computed, in the thread that opened the run.

    Of a unit that two executors have computed the first result is stored.

    Parameters
    ----------
    run : RunFile
    planner : Planner
    context : JobContext
        Gets the progress.
    forecast : Forecast
        Goes with the first event of each stage.

    Attributes
    ----------
    done_cells, device_seconds : float
        Of the whole run, earlier jobs included.
    shares : dict of str to Share
        Of the devices of this job, by their ids.
    """

    def __init__(self, run: RunFile, planner: Planner, context: JobContext, forecast: Forecast | None = None) -> None:
        self.run = run
        self.planner = planner
        self.context = context
        self._forecast: Forecast = forecast or {}
        self._last_stage = ""
        self.done_cells, self.device_seconds = run.work_done()
        self._cells_before, self._began = self.done_cells, time.monotonic()
        self._cells_of = {number: run.work_done(number)[0] for number in planner.plan.phases or ()}
        self.shares: dict[str, Share] = {}
        self._midway: dict[Unit, tuple[float, float]] = {}
        self._kept_cells: dict[tuple[int, int], float] = {}
        self._speeds: dict[str, object] = {}
        self._looked = -math.inf

    @property
    def new_cells(self) -> float:
        """Cells that this job has computed."""
        return self.done_cells - self._cells_before

    @property
    def seconds(self) -> float:
        """Time since the devices began, waiting included (s)."""
        return time.monotonic() - self._began

    def rate_in(self, seconds: float) -> float:
        """Return the rate of this job if it took this time (s), in 10^9 cells a second."""
        return rate_of_run(self.new_cells, seconds)

    @property
    def gcups(self) -> float:
        """10^9 cells a second since the devices began, unfinished units included."""
        return rate_of_run(self.new_cells + self._begun_cells, self.seconds)

    @property
    def _begun_cells(self) -> float:
        """Computed cells of unfinished units."""
        return sum(cells for cells, _ in self._midway.values())

    @property
    def has_begun_units(self) -> bool:
        """Whether executors have reported progress of unfinished units."""
        return bool(self._midway)

    def announce(self) -> None:
        """Report how far the run is before anything is computed, and what is to be expected.

        How far units are that were begun is known later.
        """
        queries, phases = self.planner.plan.queries, self.planner.plan.phases
        left = (number for number in queries if phases is None or self._cells_of[number] < phases[number].n_cells)
        number = next(left, None)
        if number is not None and not self.run.unfinished.has_any:
            self._report(number)

    def _report(self, number: int) -> None:
        plan, done = self.planner.plan, self._begun_cells
        if plan.phases is None:
            phase, before = Phase("search", plan.n_cells, {"query": number}), self.done_cells
        else:
            phase, before = plan.phases[number], self._cells_of[number]
        facts, done = dict(phase.facts), done + before
        if phase.stage != self._last_stage:
            self._last_stage = phase.stage
            facts["forecast"] = {**self._forecast, "later": self._later(number)}
        speed = self._speed(done >= phase.n_cells)
        self.context.progress(phase.stage, done, phase.n_cells, "cells", **speed, **facts)

    def _later(self, number: int) -> dict[str, float]:
        """Return the cells of the stages that are likely to follow a query, and none for those of the host."""
        phases = self.planner.plan.phases or {}
        likely = {phase.stage: phase.n_cells for n, phase in phases.items() if n > number and phase.is_likely}
        return {**likely, **dict.fromkeys(self._forecast.get("seconds", ()), 0.0)}

    def share_of(self, device: Device) -> Share:
        """Return the share of a device, which is added if it is new."""
        return self.shares.setdefault(device.id, Share(device))

    def parts(self) -> list[DevicePart]:
        """Return ``name``, ``id``, ``gcups``, ``cells`` and ``share`` of all cells for each device."""
        known, seconds = [share for _, share in sorted(self.shares.items())], self.seconds
        total = sum(one.cells for one in known) or 1.0
        return [
            {
                "name": name,
                "id": one.device.id,
                "gcups": one.gcups(seconds),
                "cells": one.cells,
                "share": one.cells / total,
            }
            for name, one in zip(distinct_names([one.device for one in known]), known, strict=True)
        ]

    def _speed(self, is_last: bool) -> dict[str, object]:
        """Return speeds and shares, those of several devices as they were a moment ago."""
        if self.planner.n_executors == 1:
            return {"gcups": self.gcups}
        now = time.monotonic()
        if is_last or now - self._looked >= SPEEDS_SECONDS:
            self._speeds, self._looked = {"gcups": self.gcups, "devices": self.parts()}, now
        return self._speeds

    def progress(self, unit: Unit, cells: float, seconds: float) -> None:
        """Record the cells and seconds of an unfinished unit, unless another executor is further with it."""
        if not self.planner.is_wanted(unit) or cells < self._midway.get(unit, (0.0, 0.0))[0]:
            return
        self._midway[unit] = cells, seconds
        self._report(unit.query.number)

    def warn(self, text: str, is_kept: bool) -> None:
        """Warn the user; keep the warning with the run if it matters later on."""
        if is_kept:
            self.run.add_message("warning", text)
        self.context.warn(text)

    def keep(self, unit: Unit, cells: float, table: str, rows: Sequence[SqlRow]) -> None:
        """Keep what is needed to continue a unit after this number of its cells, unless more is kept of it.

        Its executor may have given it back since, and another one may have stored it.
        """
        number, place = unit.query.number, (unit.query.number, unit.first)
        is_stored = any(first < unit.last and unit.first < last for first, last in self.run.finished(number))
        if not is_stored and cells >= self._kept_cells.get(place, 0.0):
            self.run.unfinished.keep(table, *place, rows)
            self._kept_cells[place] = cells

    def forget(self, units: Iterable[Unit]) -> None:
        """Drop the progress of units that are not computed any more."""
        for unit in units:
            self._midway.pop(unit, None)

    def store(self, found: Sequence[Finished], device: Device) -> None:
        """Store what a device found in some units, unless another one was faster; each unit wholly or not at all."""
        wanted = [one for one in found if self.planner.is_wanted(one.unit)]
        for first in range(0, len(wanted), MAX_UNITS_AT_ONCE):
            some = wanted[first : first + MAX_UNITS_AT_ONCE]
            n_hits = sum(len(one.result.hits) for one in some)
            span = tracing.span("store batches", "storing", query=some[0].unit.query.number, hits=n_hits)
            with span, self.run.transaction():
                self.run.add_batches([(one.result, one.hits_of) for one in some])
                self._store_bests(some)
            for one in some:
                self._count(one, device)
            self._report(some[-1].number)
            n_all = self.planner.plan.n_rows - self.planner.plan.first_row
            for one in {one.number: one for one in some if one is some[-1] or one.result.hits or one.hits_of}.values():
                query = one.unit.query
                self.context.partial(query=one.number, n_hits=query.n_hits, n_scored=n_all - query.n_left)

    def _store_bests(self, some: Sequence[Finished]) -> None:
        """Store the best targets of the queries that end with some units, unless something is computed at their end."""
        n_rows = Counter[Query]()
        for one in some:
            query = one.unit.query
            n_rows[query] += one.unit.last - one.unit.first
            if query.best is not None:
                query.best = _better(query.best, one.result)
        if not self.planner.plan.has_ends:
            ended = [query for query, n in n_rows.items() if n == query.n_left]
            bests = [(query.number, self._described_best(query)) for query in ended]
            self.run.set_bests([(number, best) for number, best in bests if best is not None])

    def _described_best(self, query: Query) -> TargetFacts | None:
        """Return the best target of a query whose rows are all stored; None if none has a score."""
        best = query.best or self.run.best_score(query.number)  # an earlier job stored some
        if best[0] <= IMPOSSIBLE:
            return None
        if query.lacks_search and self.planner.plan.described is not None:  # another process has computed it
            return self.planner.plan.described(query.number, *best)
        self.planner.prepare(query, self.run)
        return query.search.described(*best)

    def _count(self, found: Finished, device: Device) -> None:
        """Count a unit that is stored."""
        unit, result = found.unit, found.result
        self.forget([unit])
        self.done_cells += result.cells
        self.device_seconds += result.seconds
        self.share_of(device).cells += result.cells
        plan = self.planner.plan
        unit.query.n_hits += len(result.hits) + len(found.hits_of)
        self.planner.stored(unit, plan.has_ends)
        if plan.phases is not None:
            self._cells_of[found.number] += result.cells

    def store_end(self, unit: Unit, storing: Storing) -> None:
        """Store the end of a query, and its best target, for queries without hits."""
        query = unit.query
        if not self.planner.is_wanted(unit):
            return
        with tracing.span("store the end of a query", "storing", query=query.number):
            best = self._described_best(query)
            with self.run.transaction():
                storing(self.run)
                if best is not None:
                    self.run.set_bests([(query.number, best)])
        self.planner.stored(unit)


def _better(best: tuple[int, int], result: BatchResult) -> tuple[int, int]:
    """Return the higher one of a score and those of a batch; of equal ones that of the first row."""
    score, place = (result.packed or pack_scores(result.scores.values)).best
    return max(best, (score, result.first + place), key=lambda found: (found[0], -found[1]))


Post = Callable[[Callable[[], object]], object]
"""Has a function called in the thread of the writer, in the order of the calls."""


class RunAccess(Access):
    """The access of an executor in the process that writes the run.

    Parameters
    ----------
    writer : Writer
    run : RunFile
        Read in the thread of the executor.
    device : Device
    post : callable

    Attributes
    ----------
    has_stored : bool
        Whether there are results of the executor.
    """

    def __init__(self, writer: Writer, run: RunFile, device: Device, post: Post) -> None:
        self.plan: Plan = writer.planner.plan
        self.cutter: Cutter = self.plan.cutter_for(device)
        self._writer, self._planner, self._post = writer, writer.planner, post
        self._run, self._device = run, device
        self.has_stored = False

    @property
    def has_units(self) -> bool:
        """Whether the executor computes units."""
        return self._planner.has_units(self.cutter)

    def take(self, prepares: bool = True) -> Unit | None:
        """Return the next unit, by default with its query prepared; None if there is none now."""
        return self._planner.take(self._run, self.cutter, prepares)

    def wait(self) -> bool:
        """Wait for units; return False if none will come."""
        return self._planner.wait()

    def give_back(self, units: Sequence[Unit]) -> None:
        """Give back units that were not computed."""
        self._planner.give_back(units, self.cutter)
        self._post(partial(self._writer.forget, units))

    def measure(self, cells: float, seconds: float) -> None:
        """Use a measured time for the size of later units."""
        self.cutter.measure(cells, seconds)

    def shrink(self, unit: Unit) -> bool:
        """Make later units smaller than this one; return False if that cannot be."""
        return self.cutter.shrink(unit.first, unit.last)

    def store(self, found: Sequence[Finished]) -> None:
        """Store the results of units."""
        self.has_stored = True
        self._planner.delivered([(one.unit, one.result.cells) for one in found], self.cutter)
        self._post(partial(self._writer.store, found, self._device))

    def warn(self, text: str, is_kept: bool) -> None:
        """Warn the user; keep the warning with the run if it matters later on."""
        self._post(partial(self._writer.warn, text, is_kept))

    def lend(self, n: int) -> None:
        """Count more, or fewer, tasks that the processor computes for this executor."""
        self._planner.lend(n, self.cutter)

    def compute_end(self, unit: Unit, session: Session) -> Storing:
        """Compute the end of a query; return a callable that stores it."""
        return self.plan.compute_end(self._run, unit.query.number, unit.query.search, session)

    def store_end(self, unit: Unit, storing: Storing) -> None:
        """Have the end of a query stored."""
        self._planner.delivered([(unit, 0.0)], self.cutter)
        self._post(partial(self._writer.store_end, unit, storing))

    def progress(self, unit: Unit, cells: float, seconds: float) -> None:
        """Report how many cells of a unit are computed, and the time that they took (s)."""
        self._post(partial(self._writer.progress, unit, cells, seconds))

    def keep(self, unit: Unit, cells: float, table: str, rows: Sequence[SqlRow]) -> None:
        """Keep what is needed to continue a unit after this number of its cells."""
        self._post(partial(self._writer.keep, unit, cells, table, rows))

    def kept(self, unit: Unit, table: str) -> list[SqlRow]:
        """Return the rows that an earlier job kept of a unit."""
        return self._run.unfinished.kept(table, unit.query.number, unit.first)
