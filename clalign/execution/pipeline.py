"""Batches on their way through a device: one is scored while another is traced and a third is stored."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from clalign.compute.batching import BATCH_SECONDS, MIN_CELLS, BatchCutter, gaps
from clalign.compute.sessions import Session
from clalign.errors import OutOfDeviceMemory
from clalign.execution.protocol import ProfileSearch, Scored
from clalign.jobs import JobContext
from clalign.runs.run_file import BatchResult, PackedScores, RunFile, pack_scores
from clalign.values.hits import Hit, Scores
from clalign.values.profiles import IMPOSSIBLE
from clalign.values.sequences import SequenceBatch

Search = TypeVar("Search", bound=ProfileSearch)

RELEASE_RESIDUES = 2**26
"""From this size on the pages of a database are given back while it is read."""

IN_FLIGHT = 2
"""Batches that the device has to do at any time, so that it never waits for the host."""

PACKERS = 4
"""Threads that compress what was found: on fast devices that takes longer than to compute it."""


@dataclass
class Pace:
    """What is known of a running search: the measured rate and how much is done.

    Attributes
    ----------
    rate : float
        Cells a second of the scoring kernel.
    residue_limit : int
        Residues of a batch at most.
    model_length : int
        Nodes that batches are sized for.
    total_cells, done_cells, device_seconds : float
        Of the whole run, earlier workers included.
    patience : float
        How many times `BATCH_SECONDS` a batch may take.
    remembered : float
        What share of all that was measured before still counts after another batch.
    """

    rate: float
    residue_limit: int
    model_length: int
    total_cells: float
    done_cells: float = 0.0
    device_seconds: float = 0.0
    patience: float = 1.0
    remembered: float = 1.0
    _measured: list[float] = field(default_factory=lambda: [0.0, 0.0], init=False)

    @property
    def residues(self) -> int:
        """Residues of a batch that takes `BATCH_SECONDS`, or as long as there is patience for."""
        cells = max(self.rate * BATCH_SECONDS * self.patience, MIN_CELLS)
        return max(1, min(int(cells / self.model_length), self.residue_limit))

    def measure(self, cells: float, seconds: float) -> None:
        """Take note of a batch that this session has computed."""
        self._measured = [self.remembered * self._measured[0] + cells, self.remembered * self._measured[1] + seconds]
        if self._measured[0] >= MIN_CELLS / 4:
            self.rate = self._measured[0] / max(self._measured[1], 1e-6)

    def store(self, result: BatchResult) -> None:
        """Take note of a batch that is in the run file."""
        self.done_cells += result.cells
        self.device_seconds += result.seconds

    @property
    def gcups(self) -> float:
        """10^9 cells a second, over the whole run."""
        return self.done_cells / max(self.device_seconds, 1e-9) / 1e9


@dataclass(frozen=True, slots=True)
class _Scoring(Generic[Search]):
    number: int
    search: Search
    batch: SequenceBatch
    wait: Callable[[], Scored]


@dataclass(frozen=True, slots=True)
class _Tracing(Generic[Search]):
    number: int
    search: Search
    batch: SequenceBatch
    scored: Scored
    cells: float
    seconds: float
    packed: Future[PackedScores]
    wait: Callable[[], tuple[Hit, ...]]


class Pipeline(Generic[Search]):
    """The searches of all profiles on one device, batch after batch into a run file.

    Parameters
    ----------
    run : RunFile
        Finished batches in it are not computed again.
    search_of : callable
        Returns the search of a profile by its number.
    numbers : sequence of int
        Of the profiles, in the order in which they are searched.
    cutter : BatchCutter
    session : Session
    pace : Pace
    context : JobContext
    ended : callable, optional
        Called with number, search and a session when all scores of a profile are in the run file.
    """

    def __init__(
        self,
        run: RunFile,
        search_of: Callable[[int], Search],
        numbers: Sequence[int],
        cutter: BatchCutter,
        session: Session,
        pace: Pace,
        context: JobContext,
        ended: Callable[[int, Search, Session], None] = lambda number, search, session: None,
    ) -> None:
        self.run = run
        self.search_of = search_of
        self.numbers = numbers
        self.cutter = cutter
        self.session = session
        self.pace = pace
        self.context = context
        self.ended = ended
        self._rows_left: dict[int, int] = {}
        self._n_hits: dict[int, int] = {}
        self._best: dict[int, tuple[int, int] | None] = {}
        self._waited_since = 0.0
        self._in_hand = SequenceBatch.from_texts([])

    def compute(self) -> None:
        """Search until everything is in the run file; with smaller batches if the device's memory is short."""
        with self.session.second_queue() as self._tracer, ThreadPoolExecutor(PACKERS) as self._packer:
            while True:
                try:
                    self._compute(self._tracer)
                    self.session.join(self._tracer)
                    return
                except OutOfDeviceMemory:
                    if len(self._in_hand) <= 1:
                        raise
                    name = self.session.device.name
                    self.context.warn(f"{name} has too little free memory; going on with smaller batches.")
                    self.pace.residue_limit = max(1, self._in_hand.n_cells(1) // 2)
                    self.cutter.resize(self.pace.residue_limit, exactly=True)

    def _compute(self, tracer: Session) -> None:
        """Go through what the run file lacks; what was under way before counts for nothing."""
        scoring: deque[_Scoring[Search]] = deque()
        tracing: deque[_Tracing[Search]] = deque()
        self._waited_since = time.perf_counter()
        for number, search, batch in self._missing():
            self.context.check()
            self._in_hand = batch
            scoring.append(_Scoring(number, search, batch, search.start_scoring(self.session, batch)))
            if len(scoring) >= IN_FLIGHT:
                tracing.append(self._scored(scoring.popleft(), tracer))
            if len(tracing) >= IN_FLIGHT:
                self._store(tracing.popleft())
        while scoring:
            self.context.check()
            tracing.append(self._scored(scoring.popleft(), tracer))
        while tracing:
            self._store(tracing.popleft())

    def _missing(self) -> Iterator[tuple[int, Search, SequenceBatch]]:
        """Yield number, search and batch of whatever is to be done, cut when it is asked for."""
        n_rows = len(self.cutter.database)
        for number in self.numbers:
            ranges = list(gaps(self.run.finished(number), n_rows))
            if not ranges:
                if self.run.best(number) is None:
                    self._end(number, self.search_of(number))
                continue
            search = self.search_of(number)
            self._rows_left[number] = sum(end - first for first, end in ranges)
            is_new = self._rows_left[number] == n_rows
            self._n_hits[number] = 0 if is_new else self.run.n_hits(number)
            # What earlier workers scored is looked through at the end.
            self._best[number] = (IMPOSSIBLE, 0) if is_new else None
            for first, end in ranges:
                while first < end:
                    self.cutter.resize(self.pace.residues)
                    batch = self.cutter.cut(first, end)
                    first += len(batch)
                    yield number, search, batch

    def _scored(self, job: _Scoring[Search], tracer: Session) -> _Tracing[Search]:
        """Wait for the scores of a batch and start tracing what they make candidates."""
        self._in_hand = job.batch
        before = self.session.kernel_seconds
        scored = job.wait()
        now = time.perf_counter()
        # A driver that keeps no times gives none; then the time between two results has to do. Where there
        # are times, that of a batch is 0 if it was done, and so counted, together with the one before.
        spent = self.session.kernel_seconds
        seconds = spent - before if spent else now - self._waited_since
        self._waited_since = now
        cells = float(job.batch.n_cells(job.search.length))
        self.pace.measure(cells, seconds)
        packed = self._packer.submit(pack_scores, scored.scores.values, scored.survivors, scored.bin_width)
        hits = job.search.start_hits(tracer, scored, self.context)
        return _Tracing(job.number, job.search, job.batch, scored, cells, seconds, packed, hits)

    def _store(self, job: _Tracing[Search]) -> None:
        self._in_hand = job.batch
        hits = job.wait()
        number, scores = job.number, job.scored.scores
        rows = scores.targets
        first, last = int(rows[0]), int(rows[-1]) + 1
        device = self.session.device.name
        result = BatchResult(
            number, first, last, scores, hits, job.cells, job.seconds, device, job.packed.result(),
            n_wider=job.scored.n_wider,
        )  # fmt: skip
        self.run.add_batch(result)
        self.pace.store(result)
        self._n_hits[number] += len(hits)
        self._rows_left[number] -= last - first
        self._note_best(number, first, scores)
        database = self.cutter.database
        if database.n_residues > RELEASE_RESIDUES:
            database.release()
        pace = self.pace
        self.context.progress("search", pace.done_cells, pace.total_cells, "cells", gcups=pace.gcups, profile=number)
        self.context.partial(profile=number, n_hits=self._n_hits[number], n_scored=last)
        if not self._rows_left[number]:
            self._end(number, job.search)

    def _note_best(self, number: int, first: int, scores: Scores) -> None:
        best = self._best[number]
        row = int(scores.values.argmax())
        if best is not None and scores.values[row] > best[0]:
            self._best[number] = int(scores.values[row]), first + row

    def _end(self, number: int, search: Search) -> None:
        """Do what is left at the end of a profile; keep its best target, for one that reports nothing."""
        best = self._best.get(number)
        if best is None:
            best = IMPOSSIBLE, 0
            for first, _, values in self.run.scores(number):
                row = int(values.argmax())
                best = max(best, (int(values[row]), first + row), key=lambda found: found[0])
        self.ended(number, search, self._tracer)
        if best[0] > IMPOSSIBLE:
            self.run.set_best(number, search.described(*best))
