"""The process that computes with a device; units come from the process that writes the run, and results go there."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from clalign import tracing
from clalign.compute.opening import Opening, OpenSession, Rehearse, open_session
from clalign.compute.sessions import no_check
from clalign.execution.access import Access
from clalign.execution.executor import CpuHelper, Executor
from clalign.execution.failures import Failure
from clalign.execution.job import Task, Work, part_of, plan_of_part
from clalign.execution.units import Finished, Plan, Query, Unit
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, open_connection
from clalign.values.devices import Device
from clalign.values.specs import Spec

MAX_QUERIES = 64
"""Prepared queries that are kept besides those of which units are computed."""


class Pipe:
    """Messages from and to the process that writes the run; any thread may send.

    Parameters
    ----------
    given, answers : binary streams
        From that process, and to it.
    leave : callable
        Ends this process, whatever its drivers do; called when that process has ended.
    """

    def __init__(self, given: BinaryIO, answers: BinaryIO, leave: Callable[[], object]) -> None:
        self._given, self._answers, self._leave = given, answers, leave
        self._sending = threading.Lock()
        self._received: SimpleQueue[object] = SimpleQueue()
        threading.Thread(target=self._read, name="reads messages", daemon=True).start()

    def _read(self) -> None:
        with suppress(Exception), self._given as stream:  # a message that is cut off is none
            while True:
                self._received.put(pickle.load(stream))
        self._leave()

    def receive(self) -> Any:
        """Wait for the next message."""
        return self._received.get()

    def send(self, *message: object) -> None:
        """Send a message."""
        with self._sending:
            pickle.dump(message, self._answers, pickle.HIGHEST_PROTOCOL)
            self._answers.flush()

    def ask(self, *message: object) -> Any:
        """Send a message and wait for the answer."""
        self.send(*message)
        return self.receive()


class _Quiet(Task[Spec], frozen=True):
    """A run that another process writes, which gives the warnings about the input as well."""

    def warn(self, text: str) -> None:
        """Say nothing."""


def serve(
    pipe: Pipe, device: Device, n_devices: int, path: Path, spec: Spec, load: Callable[[Task[Spec]], Work],
    pick_device: Callable[[str], Device], open_it: OpenSession | None = None,
) -> None:  # fmt: skip
    """Compute with a device until everything is stored.

    Parameters
    ----------
    pipe : Pipe
    device : Device
    n_devices : int
        Number of devices of the job.
    path : Path
        Path of the run, which is read while the other process writes it.
    spec : Spec
        Spec of the run.
    load : callable
        Reads the input.
    pick_device : callable
        Returns the processor that helps a card.
    open_it : callable, optional
        Opens a device; by default `clalign.compute.opening.open_session`.
    """
    rehearsals = list[Rehearse]()
    try:
        opening = Opening(lambda: (open_it or open_session)(device, no_check, partial(pipe.send, "building")))
        # The other process ends this one when its job ends: there is nothing to check meanwhile.
        with opening, opening.result(no_check) as session:
            pipe.ask("open")  # the run says what is needed now
            with RunFile(path, open_connection(path)) as file:
                task = _Quiet(
                    file,
                    spec,
                    pick_device,
                    QuietContext(),
                    build_ahead=opening.build_ahead,
                    build_ahead_for_helper=rehearsals.append,
                )
                work = load(task)
                plan = plan_of_part(work, part_of(task, work)).among(n_devices)
                with CpuHelper(session, pick_device, no_check, plan.may_suit_cpu, rehearsals, open_it) as helper:
                    parent = _Parent(pipe, plan, file)
                    Executor(session, helper, plan, plan.cutter_for(device), parent).compute()
                    recording = tracing.recorded()
                    spans = {} if recording is None else recording.tracks()
                    file.close()  # the other process closes the run and must not wait: closing a device takes time
                    pipe.send("done", *helper.report(), spans)
    except BaseException as error:
        pipe.send("failed", Failure.of(error))


class _Parent(Access):
    """The process that writes the run, as the access of an executor."""

    def __init__(self, pipe: Pipe, plan: Plan, run: RunFile) -> None:
        self._pipe, self._plan, self._run = pipe, plan, run
        self._queries: dict[int, Query] = {}

    def take(self) -> Unit | None:
        """Return the next unit; None if there is none now."""
        answer = self._pipe.ask("take")
        if answer is None:
            return None
        (number, first, last), n_back = answer
        return Unit(self._query(number, n_back), first, last)

    def _query(self, number: int, n_back: int) -> Query:
        """Return a query, prepared again if rows came back: its search may have taken their scores into account."""
        query = self._queries.pop(number, None)
        if query is None or query.n_back != n_back:
            with tracing.span("prepare a query", "preparing", query=number):
                query = Query.prepared(number, self._plan.search_of(self._run, number), n_back)
        self._queries[number] = query
        if len(self._queries) > MAX_QUERIES:
            del self._queries[next(iter(self._queries))]
        return query

    def wait(self) -> bool:
        """Wait for units; return False if none will come."""
        return bool(self._pipe.ask("wait"))

    def give_back(self, units: Sequence[Unit]) -> None:
        """Give back units that were not computed."""
        self._pipe.send("give back", [unit.key for unit in units])

    def measure(self, cells: float, seconds: float) -> None:
        """Use a measured time for the size of later units."""
        self._pipe.send("measure", cells, seconds)

    def shrink(self, unit: Unit) -> bool:
        """Make later units smaller than this one; return False if that cannot be."""
        return bool(self._pipe.ask("shrink", unit.key))

    def store(self, found: Sequence[Finished]) -> None:
        """Send results."""
        self._pipe.send("store", [(one.unit.key, one.packed_result(), one.hits_of) for one in found])

    def warn(self, text: str, is_kept: bool) -> None:
        """Warn the user."""
        self._pipe.send("warn", text, is_kept)
