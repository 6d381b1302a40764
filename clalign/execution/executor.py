"""An executor computes units on a device: one is scored while another is traced and a third is stored."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic

from clalign import tracing
from clalign.compute.sessions import Session
from clalign.errors import OutOfDeviceMemory
from clalign.execution.host import Host
from clalign.execution.units import Batch, Scored, Unit
from clalign.execution.writer import Writer
from clalign.runs.batches import BatchResult, Kept, PackedScores, pack_scores
from clalign.runs.run_file import RunFile
from clalign.values.hits import Hit

IN_FLIGHT = 2
"""Units that the device has to do at any time, so that it never waits for the host."""

PACKERS = 4
"""Threads that compress what was found: on fast devices that takes longer than to compute it."""

Told = Callable[[Callable[[], None]], None]
"""Has something done by the thread of the writer, in the order of the calls."""


@dataclass(frozen=True, slots=True)
class _Scoring(Generic[Batch]):
    unit: Unit[Batch]
    batch: Batch
    wait: Callable[[], Scored[Any]]
    midway: _Midway


@dataclass(frozen=True, slots=True)
class _Tracing(Generic[Batch]):
    unit: Unit[Batch]
    batch: Batch
    scored: Scored[Any]
    cells: float
    seconds: float
    packed: Future[tuple[PackedScores, Kept]]
    wait: Callable[[], tuple[Hit, ...]]
    is_hosted: bool


class Executor(Generic[Batch]):
    """Computes the units that a planner gives it until all are stored.

    Parameters
    ----------
    session : Session
    host : Host
        What is beside the device.
    run : RunFile
        To be read in this thread.
    writer : Writer
        Called by way of `tell` only; its planner gives the units.
    tell : callable
    gives_way : bool
        Whether it waits while others have the processor, which is its device, do something for them.
    """

    def __init__(
        self, session: Session, host: Host, run: RunFile, writer: Writer[Batch], tell: Told, gives_way: bool = False
    ) -> None:
        self.session = session
        self.host = host
        self.run = run
        self.planner = writer.planner
        self.writer = writer
        self.tell = tell
        self.cutter = self.planner.plan.cutter_for(session.device)
        self.planner.join(self.cutter, gives_way)
        self._n_lent = 0
        self._held: list[Unit[Batch]] = []
        self._in_hand: Batch | None = None
        self._waited_since = 0.0

    def compute(self) -> None:
        """Compute until everything is in the run file; smaller units if the device's memory is short."""
        with self.session.second_queue() as tracer, ThreadPoolExecutor(PACKERS, "packer") as packer:
            while True:
                try:
                    self._compute(tracer, packer)
                    self.session.join(tracer)
                    return
                except OutOfDeviceMemory:
                    if self._in_hand is None or not self.cutter.shrink(self._in_hand):
                        raise
                    name = self.session.device.name
                    text = f"{name} has too little free memory; going on with smaller batches."
                    self.tell(partial(self.writer.context.warn, text))
                finally:
                    self.planner.lend(-self._n_lent)
                    self._n_lent = 0
                    self.planner.give_back(self._held, self.cutter)
                    self.tell(partial(self.writer.forget, tuple(self._held)))
                    self._held = []

    def _compute(self, tracer: Session, packer: ThreadPoolExecutor) -> None:
        scoring: deque[_Scoring[Batch]] = deque()
        tracing: deque[_Tracing[Batch]] = deque()
        self._waited_since = time.perf_counter()
        while True:
            self.session.check()
            unit = self.planner.take(self.run, self.cutter)
            if unit is not None:
                self._held.append(unit)
                if unit.is_end:
                    self._conclude(unit, tracer)
                    continue
                scoring.append(self._started(unit))
            elif not scoring and not tracing:
                if not self.planner.wait():
                    return
                continue
            if scoring and (unit is None or len(scoring) >= IN_FLIGHT):
                tracing.append(self._scored(scoring.popleft(), tracer, packer))
            # Nothing is to be waited for where the hits are known; what took long is stored before the next is begun.
            if tracing and (not scoring or len(tracing) >= IN_FLIGHT or tracing[0].scored.hits_of):
                self._deliver(tracing.popleft())

    def _started(self, unit: Unit[Batch]) -> _Scoring[Batch]:
        self._in_hand = batch = self.cutter.batch(unit.first, unit.last)
        midway = _Midway(self, unit)
        with tracing.span("start a batch", "launching", query=unit.query.number, rows=unit.last - unit.first):
            wait = self.planner.plan.start(unit.query.search, self.session, batch, midway)
        return _Scoring(unit, batch, wait, midway)

    def _scored(self, job: _Scoring[Batch], tracer: Session, packer: ThreadPoolExecutor) -> _Tracing[Batch]:
        """Wait for the scores of a unit and start tracing what they make candidates."""
        self._in_hand = job.batch
        before = self.session.kernel_seconds
        with tracing.span("take scores", query=job.unit.query.number):
            scored = job.wait()
        now = time.perf_counter()
        # A driver that keeps no times gives none; then the time between two results has to do. Where there
        # are times, that of a batch is 0 if it was done, and so counted, together with the one before.
        spent = self.session.kernel_seconds
        seconds = job.midway.seconds_before + (spent - before if spent else now - self._waited_since)
        self._waited_since = now
        search = job.unit.query.search
        cells = float(job.batch.n_cells(search.length))
        self.cutter.measure(cells, seconds)
        packed = packer.submit(_packed, scored)
        with tracing.span("start hits", "launching", query=job.unit.query.number):
            session = self.host.session_for(tracer) if scored.suits_host else tracer
            self._lend(session is not tracer)
            hits = search.start_hits(session, scored)
        return _Tracing(job.unit, job.batch, scored, cells, seconds, packed, hits, session is not tracer)

    def _lend(self, n: int) -> None:
        if n:
            self._n_lent += n
            self.planner.lend(n)

    def _deliver(self, job: _Tracing[Batch]) -> None:
        """Wait for the hits of a unit and have everything stored."""
        self._in_hand = job.batch
        unit, scored = job.unit, job.scored
        with tracing.span("make hits", "hits", query=unit.query.number):
            hits = job.wait()
        self._lend(-job.is_hosted)
        result = BatchResult(
            unit.query.number, unit.first, unit.last, scored.scores, hits, job.cells, job.seconds,
            self.session.device.name, *job.packed.result(),
        )  # fmt: skip
        self._held.remove(unit)
        self.planner.delivered(unit, self.cutter, job.cells)
        self.tell(partial(self.writer.store, unit, scored, result, self.session.device))

    def _conclude(self, unit: Unit[Batch], tracer: Session) -> None:
        self._in_hand = None
        query, plan = unit.query, self.planner.plan
        session = tracer if plan.phases is None else self.host.session_for(tracer)
        self._lend(session is not tracer)
        with tracing.span("conclude", "hits", query=query.number):
            storing = plan.concluded(self.run, query.number, query.search, session)
        self._lend(-(session is not tracer))
        self._held.remove(unit)
        self.planner.delivered(unit, self.cutter, 0.0)
        self.tell(partial(self.writer.conclude, unit, storing))


class _Midway:
    """Passes on what a unit says before it is done."""

    def __init__(self, executor: Executor[Any], unit: Unit[Any]) -> None:
        self._executor, self._unit = executor, unit
        self._began = 0.0, 0.0
        self.seconds_before = 0.0

    def begin(self, seconds: float) -> None:
        self.seconds_before = seconds
        self._began = time.perf_counter(), self._executor.session.kernel_seconds

    @property
    def seconds(self) -> float:
        now, spent = time.perf_counter() - self._began[0], self._executor.session.kernel_seconds - self._began[1]
        return self.seconds_before + (spent or now)

    def tell(self, cells: float) -> None:
        self._executor.tell(partial(self._executor.writer.tell, self._unit, cells, self.seconds))

    def warn(self, text: str) -> None:
        self._executor.tell(partial(self._executor.writer.warn, text))

    def keep(self, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        self._executor.tell(partial(self._executor.writer.keep, self._unit, table, rows))

    def kept(self, table: str) -> list[tuple[Any, ...]]:
        return self._executor.run.unfinished.kept(table, self._unit.query.number, self._unit.first)


def _packed(scored: Scored[Any]) -> tuple[PackedScores, Kept]:
    with tracing.span("pack scores", "storing"):
        return pack_scores(scored.scores.values, scored.bin_width), scored.kept()
