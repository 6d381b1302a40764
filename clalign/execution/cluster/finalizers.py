"""The ends of queries of a job on a cluster: computed by the main process, in a thread, while workers go on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from clalign.compute.opening import opening_of
from clalign.compute.sessions import ReferenceSession, Session
from clalign.errors import Cancelled
from clalign.execution.units import Cutter, Plan, Query, Storing, Unit, compute_no_end
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile, open_connection
from clalign.values.devices import REFERENCE, Device


class Finalizers(ExitStack):
    """A context manager that computes the ends of queries, whose rows are all stored.

    Parameters
    ----------
    plan : Plan
    path : Path
        Path of the run, which the thread opens for itself.
    pick : callable
        Returns a device of this machine; it is opened when it is first needed.
    context : JobContext
    """

    def __init__(self, plan: Plan, path: Path, pick: Callable[[], Device], context: JobContext) -> None:
        super().__init__()
        self._plan, self._path, self._pick, self._context = plan, path, pick, context
        self._run: RunFile | None = None
        self._session: Session | None = None
        self._is_over = threading.Event()
        self._begun: dict[Unit, tuple[Future[Storing], list[Cutter]]] = {}
        self._pool = ThreadPoolExecutor(1, "computes ends of queries")
        self._opened = self.enter_context(ExitStack())
        self.callback(self._stop)  # before what the thread has opened is closed

    def __len__(self) -> int:
        return len(self._begun)

    def begin(self, unit: Unit, cutter: Cutter) -> None:
        """Begin with the end of a query; the planner may assign it to several devices of workers."""
        if unit not in self._begun:
            self._begun[unit] = self._pool.submit(self._compute, unit.query), []
        self._begun[unit][1].append(cutter)

    def done(self) -> Iterator[tuple[Unit, list[Cutter], Storing]]:
        """Yield computed ends, each with the cutters that it was assigned to, and what stores it."""
        for unit, (future, cutters) in list(self._begun.items()):
            if future.done():
                del self._begun[unit]
                yield unit, cutters, future.result()

    def _compute(self, query: Query) -> Storing:
        if self._run is None:
            self._run = self._opened.enter_context(RunFile(self._path, open_connection(self._path)))
            if self._plan.compute_end is compute_no_end:
                self._session = ReferenceSession(REFERENCE, self._check)
            else:
                opening = self._opened.enter_context(opening_of(self._pick, self._context, self._check))
                self._session = self._opened.enter_context(opening.result(self._check))
        assert self._session is not None
        return self._plan.compute_end(self._run, query.number, query.search, self._session)

    def _check(self) -> None:
        if self._is_over.is_set():
            raise Cancelled
        self._context.check()

    def _stop(self) -> None:
        self._is_over.set()
        self._pool.shutdown(cancel_futures=True)
