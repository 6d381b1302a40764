"""An executor computes units on a device: one is scored while another is traced and a third is stored.

A processor helps a card: a hit's domains are one long chain of sums, of which a card can do little at once, while each
core of the processor runs through it at full speed, and meanwhile the card filters the next batch.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial

import numpy as np
from msgspec import Struct

from clalign import tracing
from clalign.compute.opening import CHECK_SECONDS, Opening, OpenSession, Rehearse, open_session
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import AnyStage, Check, ProgramChoice, Session, Steps, no_build_report
from clalign.errors import DeviceError, OutOfDeviceMemory
from clalign.execution.access import Access
from clalign.execution.units import Cutter, Finished, Plan, Rows, Scored, Unit, trace_alone
from clalign.runs.batches import BatchResult, Kept, PackedScores, pack_many
from clalign.runs.tables import SqlRow
from clalign.system.bounds import n_cores
from clalign.values.devices import Device
from clalign.values.hits import Hit

log = logging.getLogger(__name__)

SMALL_JOB_SECONDS = 1.0
"""Time before the processor's programs are compiled (s): jobs that are over by then did well without."""

MIN_IN_FLIGHT = 2
"""Units in flight on the device, so that it never waits for the host."""

SECONDS_IN_FLIGHT, MAX_IN_FLIGHT = 0.1, 16
"""More small units are started: as many as take the device this time (s) at the speed of the last one, but at most this
number."""

MAX_TOGETHER, MAX_ROWS_TOGETHER = 128, 2**18
"""Units with the same rows are started together where an engine can do that: at most this number, of this number of
rows in all, and as many as take the device `SECONDS_IN_FLIGHT`, or `FIRST_CELLS` before its speed is known."""

FIRST_CELLS = 2.0**26

GATHER_SECONDS = 0.2
"""Time for which candidates for hits wait for those of other units, to be traced together (s)."""

MAX_GATHERED_CELLS, MAX_GATHERED_ROWS, MAX_GATHERED_RESIDUES = 2.0**28, 2**24, 2**28
"""Candidates no longer wait when they have this number of cells, or more where `Plan.card_cells` says so, or when the
units that they are in hold this number of rows or residues in memory. Units with the same rows and other queries share
their residues."""

MAX_GROUPS = 2
"""Groups of units that are traced at a time: the device computes one while the host works on the other."""

STEP_SECONDS = 0.02
"""Time for which the host works on traced groups before it looks after the scoring again (s)."""

PACKERS = 4
"""Most threads that compress scores: on fast devices compressing takes longer than computing."""


class CpuHelper(ExitStack):
    """A context manager that opens the processor when a card needs it.

    Parameters
    ----------
    card : Session
        Session of the device that may be helped.
    pick_device : callable
        Returns the device for words of the user.
    check : callable
        Called by the session now and then; it may raise `Cancelled`.
    is_needed : bool
        Whether there may be something that suits it.
    rehearsals : sequence of callable
        Each starts what the processor may have to do on a session that computes nothing. While programs for that are
        not built, the card does the work: compilers for processors need many seconds for them. A processor without a
        card compiles them after all others.
    open_it : callable, optional
        Opens the processor; by default `clalign.compute.opening.open_session`.

    Attributes
    ----------
    session : Session or None
        Session of the processor, once it was used.
    """

    def __init__(
        self,
        card: Session,
        pick_device: Callable[[str], Device],
        check: Check,
        is_needed: bool = True,
        rehearsals: Sequence[Rehearse] = (),
        open_it: OpenSession | None = None,
    ) -> None:
        super().__init__()
        self.session: Session | None = None
        self._card, self._check, self._rehearsals = card, check, rehearsals
        self._opening: Opening[Session] | None = None
        self._processor: Session | None = None
        self._unbuilt: list[ProgramChoice] = []
        self._programs_known, self._ended = threading.Event(), threading.Event()
        prepare: Callable[[], None] | None = None
        if is_needed and card.device.kind in ("gpu", "accelerator"):
            self._opening = self.enter_context(
                Opening(lambda: (open_it or open_session)(pick_device("cpu"), check, no_build_report))
            )
            prepare = partial(self._prepare, self._opening)
        else:
            self._programs_known.set()
            if is_needed and rehearsals:
                prepare = self._prepare_itself
        if prepare is not None:
            self.callback(self._ended.set)
            threading.Thread(target=prepare, name="prepares the processor", daemon=True).start()

    def _prepare_itself(self) -> None:
        """Build what a processor without a card lacks, after the programs that are needed sooner."""
        with suppress(DeviceError):
            programs = self._programs(self._card.device)
            self._card.foresee(programs)
            if not self._ended.wait(SMALL_JOB_SECONDS):
                self._card.build_ahead(self._card.unbuilt(programs), can_wait=True)

    def _prepare(self, opening: Opening[Session]) -> None:
        """Find the programs that the processor lacks; build those of the card, then these."""
        try:
            self._processor = processor = opening.opened()
            if processor is not None:
                wanted = self._programs(processor.device, lambda stage: not stage.suits(self._card.device))
                self._unbuilt = processor.unbuilt(wanted)
            self._programs_known.set()
            if not self._ended.is_set():
                is_alone = processor is None or bool(self._unbuilt)
                wanted = self._programs(self._card.device, lambda stage: is_alone or stage.suits(self._card.device))
                self._card.build_ahead(wanted, can_wait=True)
            if processor is not None and self._unbuilt and not self._ended.wait(SMALL_JOB_SECONDS):
                processor.build_ahead(self._unbuilt)
        except DeviceError:
            log.debug("what programs a processor needs could not be foreseen", exc_info=True)
        finally:
            self._programs_known.set()

    def _programs(
        self, device: Device, is_wanted: Callable[[AnyStage], bool] = lambda stage: True
    ) -> list[ProgramChoice]:
        rehearsal = Rehearsal(device, counts=False, is_wanted=is_wanted)
        for rehearse in self._rehearsals:
            rehearse(rehearsal)
        return list(rehearsal.programs)

    def report(self) -> tuple[str | None, dict[str, float]]:
        """Return the name of the processor if it was used, and the time of each kernel on both devices together (s)."""
        seconds = Counter(self._card.seconds_by_kernel)
        if self.session is None:
            return None, dict(seconds)
        seconds.update(self.session.seconds_by_kernel)
        return self.session.device.name, dict(seconds)

    def session_or(self, fallback: Session) -> Session:
        """Return the processor's session, or `fallback`, a session of the card, where there is no processor."""
        if self._opening is not None:
            opening, self._opening = self._opening, None
            with suppress(DeviceError):  # without a driver for the processor the card does it
                self.session = self.enter_context(opening.result(self._check))
        return self.session or fallback

    def built_session_or(self, fallback: Session) -> Session:
        """Return the result of `session_or`, or `fallback` while programs of the processor are not compiled."""
        while not self._programs_known.wait(CHECK_SECONDS):
            self._check()
        if self._unbuilt and self._processor is not None:
            self._unbuilt = self._processor.unbuilt(self._unbuilt)
        return fallback if self._unbuilt else self.session_or(fallback)


class _InFlight(Struct, frozen=True):
    units: list[Unit]
    batch: Rows
    wait: Callable[[], Sequence[Scored[object]]]
    progress: _UnitProgress
    cells: float


class _ScoredUnit(Struct, frozen=True):
    unit: Unit
    batch: Rows
    scored: Scored[object]
    cells: float
    seconds: float
    packed: Future[list[tuple[PackedScores, Kept]]]
    place: int


class _Tracing(Struct):
    items: list[_ScoredUnit]
    steps: Steps[Sequence[Collection[Hit]]]
    is_ready: Callable[[], bool]
    is_helped: bool
    hits: Sequence[Collection[Hit]] | None = None

    @property
    def queries(self) -> list[int]:
        return [item.unit.query.number for item in self.items]


class _Gathered:
    """Units whose candidates wait for more, in the order in which they were scored."""

    def __init__(self, max_cells: float) -> None:
        self.max_cells = max_cells
        self.items: list[_ScoredUnit] = []
        self._cells, self._rows, self._since = 0.0, 0, 0.0

    def __len__(self) -> int:
        return len(self.items)

    def add(self, item: _ScoredUnit) -> None:
        if not self.items:
            self._since = time.perf_counter()
        self.items.append(item)
        self._cells += item.scored.candidate_cells or 0.0
        self._rows += len(item.batch)

    @property
    def is_much(self) -> bool:
        held = {id(item.batch): item.batch.n_cells(1) for item in self.items}
        return (
            self._cells >= self.max_cells
            or self._rows >= MAX_GATHERED_ROWS
            or sum(held.values()) >= MAX_GATHERED_RESIDUES
        )

    @property
    def is_due(self) -> bool:
        return bool(self.items) and (self.is_much or time.perf_counter() - self._since >= GATHER_SECONDS)

    def take(self) -> list[_ScoredUnit]:
        """Take units out, as many as have not too many cells, and at least one."""
        cells, n = 0.0, 0
        while n < len(self.items):
            cells += self.items[n].scored.candidate_cells or 0.0
            if n and cells > self.max_cells:
                break
            n += 1
        taken, self.items = self.items[:n], self.items[n:]
        self._cells -= sum(item.scored.candidate_cells or 0.0 for item in taken)
        self._rows -= sum(len(item.batch) for item in taken)
        return taken


class Executor:
    """Computes units until no more come.

    Parameters
    ----------
    session : Session
    helper : CpuHelper
        The processor beside the device.
    plan : Plan
    cutter : Cutter
        Makes the batches of units.
    access : Access
    """

    def __init__(self, session: Session, helper: CpuHelper, plan: Plan, cutter: Cutter, access: Access) -> None:
        self.session = session
        self.helper = helper
        self.plan = plan
        self.cutter = cutter
        self.access = access
        self._n_lent = 0
        self._held: list[Unit] = []
        self._current: Sequence[Unit] = ()  # what is computed if memory runs short
        self._waited_since = 0.0
        self._seconds_per_cell = 0.0
        self._max_cells = max(MAX_GATHERED_CELLS, plan.card_cells(session.device))
        self._max_together = MAX_TOGETHER if plan.start_many is not None else 1
        self._unit_aside: Unit | None = None

    def compute(self) -> None:
        """Compute until no units come any more; with smaller units where the device's memory is short."""
        with self.session.second_queue() as tracer, ThreadPoolExecutor(min(PACKERS, n_cores()), "packer") as packer:
            while True:
                try:
                    self._compute(tracer, packer)
                    self.session.join(tracer)
                    return
                except OutOfDeviceMemory:
                    if not self._shrink():
                        raise
                    name = self.session.device.name
                    self.access.warn(
                        f"{name} has too little free memory; going on with smaller batches.", is_kept=False
                    )
                finally:
                    self._lend(-self._n_lent)
                    self.access.give_back(self._held)
                    self._held, self._unit_aside = [], None

    def _shrink(self) -> bool:
        """Compute less at a time than now; return False if that cannot be."""
        if len(self._current) > 1:
            self._max_cells /= 4
            return True
        if self._max_together > 1:
            self._max_together //= 2
            return True
        return bool(self._current) and self.access.shrink(self._current[0])

    def _compute(self, tracer: Session, packer: ThreadPoolExecutor) -> None:
        scoring: deque[_InFlight] = deque()
        groups: deque[_Tracing] = deque()
        gathered = _Gathered(self._max_cells)
        self._waited_since = time.perf_counter()
        while True:
            self.session.check()
            unit = self._take()
            if unit is not None:
                if unit.is_end:
                    self._compute_end(unit, tracer)
                    continue
                scoring.append(self._start_scoring(self._group_units(unit, tracer)))
            elif not scoring and not groups and not gathered:
                if not self.access.wait():
                    return
                continue
            if scoring and (unit is None or self._is_enough(scoring)):
                for item in self._collect_scores(scoring.popleft(), packer):
                    self._gather_or_trace(item, gathered, groups, tracer)
            if gathered and ((unit is None and not scoring) or (gathered.is_due and len(groups) < MAX_GROUPS)):
                groups.append(self._start_tracing(gathered.take(), tracer))
            # Never block on tracing while something can be scored; store a large group before gathering more.
            self._advance(groups, is_pressing=(unit is None and not scoring) or gathered.is_much)

    def _is_enough(self, scoring: Sequence[_InFlight]) -> bool:
        """Return whether the device has enough to do."""
        n = len(scoring)
        if n < MIN_IN_FLIGHT:
            return False
        if n >= MAX_IN_FLIGHT or not self._seconds_per_cell:
            return True
        return sum(flight.cells for flight in scoring) * self._seconds_per_cell >= SECONDS_IN_FLIGHT

    def _take(self) -> Unit | None:
        """Return the next unit: one that was taken before and did not fit others, or one of the access."""
        unit, self._unit_aside = self._unit_aside, None
        if unit is None:
            unit = self.access.take()
            if unit is not None:
                self._held.append(unit)
        return unit

    def _group_units(self, unit: Unit, tracer: Session) -> list[Unit]:
        """Return a unit with others of the same rows that can be started together with it; compute what ends first."""
        units, rows = [unit], unit.last - unit.first
        most = min(self._max_together, MAX_ROWS_TOGETHER // max(1, rows))
        if most <= 1:
            return units
        batch = self.cutter.batch(unit.first, unit.last)
        left = SECONDS_IN_FLIGHT / self._seconds_per_cell if self._seconds_per_cell else FIRST_CELLS
        left -= self._cells(unit, batch)
        while left > 0 and len(units) < most and (other := self._take()) is not None:
            if other.is_end:
                self._compute_end(other, tracer)
                continue
            left -= self._cells(other, batch)
            if (other.first, other.last) != (unit.first, unit.last) or left < 0:
                self._unit_aside = other
                break
            units.append(other)
        return units

    @staticmethod
    def _cells(unit: Unit, batch: Rows) -> float:
        return float(batch.n_cells(unit.query.search.length))

    def _start_scoring(self, units: list[Unit]) -> _InFlight:
        unit, plan = units[0], self.plan
        batch = self.cutter.batch(unit.first, unit.last)
        self._current = (unit,)
        progress = _UnitProgress(self, unit)
        with tracing.span("start a batch", "launching", query=unit.query.number, rows=unit.last - unit.first):
            if len(units) > 1 and plan.start_many is not None:
                wait = plan.start_many([one.query.search for one in units], self.session, batch)
            elif plan.start is None:
                wait = _of_one(unit.query.search.start_scoring(self.session, batch))
            else:
                wait = _of_one(plan.start(unit.query.search, self.session, batch, progress))
        return _InFlight(units, batch, wait, progress, sum(self._cells(one, batch) for one in units))

    def _collect_scores(self, flight: _InFlight, packer: ThreadPoolExecutor) -> list[_ScoredUnit]:
        """Wait for the scores of units that were started together."""
        self._current = (flight.units[0],)
        before = self.session.kernel_seconds
        with tracing.span("take scores", query=flight.units[0].query.number):
            scores = flight.wait()
        now = time.perf_counter()
        # A driver that keeps no times gives none; then the time between two results has to do. Where there
        # are times, that of a batch is 0 if it was done, and so counted, together with the one before.
        spent = self.session.kernel_seconds
        seconds = flight.progress.seconds_before + (spent - before if spent else now - self._waited_since)
        self._waited_since = now
        self.access.measure(flight.cells, seconds)
        if seconds and flight.cells:
            self._seconds_per_cell = seconds / flight.cells
        items, packed = [], packer.submit(_pack, scores)
        for place, (unit, scored) in enumerate(zip(flight.units, scores, strict=True)):
            cells = self._cells(unit, flight.batch)
            part = seconds * cells / flight.cells if len(flight.units) > 1 and flight.cells else seconds
            items.append(_ScoredUnit(unit, flight.batch, scored, cells, part, packed, place))
        return items

    def _lend(self, n: int) -> None:
        if n:
            self._n_lent += n
            self.access.lend(n)

    def _gather_or_trace(
        self, item: _ScoredUnit, gathered: _Gathered, groups: deque[_Tracing], tracer: Session
    ) -> None:
        """Let what may be a hit in a unit wait for more, or have it traced alone; results keep their order."""
        if item.scored.candidate_cells == 0 and not gathered and not groups:
            self._deliver([item], [()])
            return
        if item.scored.candidate_cells is not None:
            gathered.add(item)
            return
        if gathered:
            groups.append(self._start_tracing(gathered.take(), tracer))
        groups.append(self._start_tracing([item], tracer))

    def _start_tracing(self, items: list[_ScoredUnit], tracer: Session) -> _Tracing:
        """Start tracing what may be a hit in some units."""
        self._set_current(items)
        processor = self.helper.built_session_or(tracer) if any(item.scored.suits_cpu for item in items) else tracer
        is_helped = processor is not tracer
        if is_helped:
            self._lend(1)
        session = tracer.helped_by(processor) if is_helped else tracer
        trace = trace_alone if items[0].scored.candidate_cells is None else self.plan.trace
        steps = trace(session, [(item.unit.query.search, item.scored) for item in items])
        group = _Tracing(items, steps, lambda: True, is_helped)
        self._step(group)
        return group

    def _set_current(self, items: Sequence[_ScoredUnit]) -> None:
        self._current = [item.unit for item in items if item.scored.candidate_cells != 0]

    def _step(self, group: _Tracing) -> None:
        """Take the next step with a group of units."""
        self._set_current(group.items)
        try:
            with tracing.span("make hits", "hits", queries=group.queries):
                group.is_ready = next(group.steps)
        except StopIteration as end:
            group.hits = end.value

    def _advance(self, groups: deque[_Tracing], is_pressing: bool) -> None:
        """Take steps with each group that need not wait, and with the first if it must; store what is done."""
        until = time.perf_counter() + STEP_SECONDS
        for group in groups:
            while group.hits is None and (group.is_ready() or self._must_step(group, groups, is_pressing)):
                self._step(group)
                if time.perf_counter() > until:
                    break
        while groups and groups[0].hits is not None:
            group = groups.popleft()
            if group.is_helped:
                self._lend(-1)
            self._deliver(group.items, group.hits or [])

    @staticmethod
    def _must_step(group: _Tracing, groups: deque[_Tracing], is_pressing: bool) -> bool:
        """Return whether the host is to wait for a group: what is traced alone is stored before more is begun."""
        item = group.items[0]
        is_alone = item.scored.candidate_cells is None
        return group is groups[0] and (
            is_pressing or (is_alone and (len(groups) >= MIN_IN_FLIGHT or bool(item.scored.hits_of)))
        )

    def _deliver(self, items: Sequence[_ScoredUnit], hits_of: Sequence[Collection[Hit]]) -> None:
        """Have units stored together, each with its hits."""
        results: list[Finished] = []
        for item, hits in zip(items, hits_of, strict=True):
            unit, scored = item.unit, item.scored
            packed = item.packed.result()[item.place]  # the scores are made there; raises what packing raised
            result = BatchResult(
                unit.query.number, unit.first, unit.last, scored.scores, hits, item.cells, item.seconds,
                self.session.device.name, *packed,
            )  # fmt: skip
            self._held.remove(unit)
            results.append(Finished(unit, result, scored.hits_of))
        self.access.store(results)

    def _compute_end(self, unit: Unit, tracer: Session) -> None:
        """Compute the end of a query."""
        self._current = ()
        session = tracer if self.plan.phases is None else self.helper.session_or(tracer)
        is_helped = session is not tracer
        self._lend(is_helped)  # until it is stored: others would take what seems too late
        with tracing.span("conclude", "hits", query=unit.query.number):
            storing = self.access.compute_end(unit, session)
        self._held.remove(unit)
        self.access.store_end(unit, storing)
        self._lend(-is_helped)


def _of_one(wait: Callable[[], Scored[object]]) -> Callable[[], Sequence[Scored[object]]]:
    """Return a callable that waits for the scores of a single unit and returns them in a list."""
    return lambda: [wait()]


class _UnitProgress:
    """Reports the progress of one unit, and keeps what is needed to continue it; see `UnitProgress`."""

    def __init__(self, executor: Executor, unit: Unit) -> None:
        self._executor, self._unit = executor, unit
        self._began = 0.0, 0.0
        self._cells = 0.0
        self.seconds_before = 0.0

    def begin(self, seconds: float) -> None:
        self.seconds_before = seconds
        self._began = time.perf_counter(), self._executor.session.kernel_seconds

    @property
    def seconds(self) -> float:
        now, spent = time.perf_counter() - self._began[0], self._executor.session.kernel_seconds - self._began[1]
        return self.seconds_before + (spent or now)

    def report(self, cells: float) -> None:
        self._cells = cells
        self._executor.access.progress(self._unit, cells, self.seconds)

    def warn(self, text: str) -> None:
        self._executor.access.warn(text, is_kept=True)

    def keep(self, table: str, rows: Sequence[SqlRow]) -> None:
        self._executor.access.keep(self._unit, self._cells, table, rows)

    def kept(self, table: str) -> list[SqlRow]:
        return self._executor.access.kept(self._unit, table)


def _pack(scored: Sequence[Scored[object]]) -> list[tuple[PackedScores, Kept]]:
    """Return the scores of units that were started together as they are stored, and what the engine keeps of them."""
    packed: list[PackedScores] = []
    with tracing.span("pack scores", "storing"):
        found = [(one.scores.values, one.bin_width) for one in scored]
        for (_, width), some in itertools.groupby(found, lambda one: (len(one[0]), one[1])):
            packed += pack_many(np.stack([values for values, _ in some]), width)
        return [(scores, one.kept()) for scores, one in zip(packed, scored, strict=True)]
