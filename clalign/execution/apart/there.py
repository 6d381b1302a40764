"""The process that computes with a device for another one, which gives it units and stores what it finds."""

from __future__ import annotations

import pickle
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from operator import call
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

import numpy as np
from msgspec.structs import replace

from clalign import tracing
from clalign.compute.opening import Opening, Rehearse, open_session
from clalign.compute.sessions import nothing_to_check
from clalign.execution.executor import Executor
from clalign.execution.failures import Failure
from clalign.execution.host import Host
from clalign.execution.job import Task, Work, part_of, plan_of_part
from clalign.execution.units import Cutter, Finished, Plan, Query, Storing, Unit
from clalign.jobs import QuietContext
from clalign.runs.run_file import RunFile, open_connection
from clalign.values.devices import Device
from clalign.values.hits import Scores
from clalign.values.specs import Spec

MOST_QUERIES = 64
"""So many queries are kept prepared besides those of which units are being computed."""

MOST_BATCHES = 64
"""Of so many batches it is known which rows they have."""


class Link:
    """The way home; any thread may tell something.

    Parameters
    ----------
    given, answers : binary streams
        From home, and to it.
    leave : callable
        Ends this process, whatever its drivers are at; called when nobody is at home any more.
    """

    def __init__(self, given: BinaryIO, answers: BinaryIO, leave: Callable[[], object]) -> None:
        self._given, self._answers, self._leave = given, answers, leave
        self._telling = threading.Lock()
        self._heard: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=self._read, name="hears home", daemon=True).start()

    def _read(self) -> None:
        with suppress(Exception), self._given as stream:  # a word that is cut off is none
            while True:
                self._heard.put(pickle.load(stream))
        self._leave()

    def hear(self) -> Any:
        """Wait for the next word from home."""
        return self._heard.get()

    def say(self, *message: Any) -> None:
        """Tell home."""
        with self._telling:
            pickle.dump(message, self._answers, pickle.HIGHEST_PROTOCOL)
            self._answers.flush()

    def ask(self, *message: Any) -> Any:
        """Tell home, and wait for the answer."""
        self.say(*message)
        return self.hear()


class _Quiet(Task[Any], frozen=True):
    """A run that home writes: what is to be said of its input is said there."""

    def warn(self, text: str) -> None:
        """Say nothing."""


def serve(
    link: Link, device: Device, n_devices: int, path: Path, spec: Spec, load: Callable[[Task[Any]], Work],
    pick_device: Callable[[str], Device],
) -> None:  # fmt: skip
    """Compute with a device until everything is stored at home.

    Parameters
    ----------
    link : Link
    device : Device
    n_devices : int
        Of the job.
    path : Path
        Of the run, which is read beside who writes it.
    spec : Spec
        What is asked of it.
    load : callable
        Reads the input.
    pick_device : callable
        Returns the processor that helps a card.
    """
    helps = list[Rehearse]()
    try:
        opening = Opening(lambda: open_session(device, nothing_to_check, partial(link.say, "building")))
        # Home ends this process when its job ends: there is nothing to ask meanwhile.
        with opening, opening.result(nothing_to_check) as session:
            link.ask("open")  # the run says what is needed now
            with RunFile(path, open_connection(path)) as file:
                task = _Quiet(
                    file, spec, pick_device, QuietContext(), foresee=opening.foresee, foresee_help=helps.append
                )
                work = load(task)
                plan = plan_of_part(work, part_of(task, work)).among(n_devices)
                with Host(session, pick_device, nothing_to_check, plan.has_host, helps) as host:
                    planner = _Planner(link, plan)
                    Executor(session, host, file, _Writer(link, planner), call).compute()
                    name = host.session.device.name if host.session else None
                    recording = tracing.recorded()
                    spans = {} if recording is None else recording.tracks()
                    file.close()  # home will close the run, and wait for nothing here: to close a device takes time
                    link.say("done", name, host.seconds_by_kernel(), spans)
    except BaseException as error:
        link.say("failed", Failure.of(error))


class _Planner:
    """Asks home for units."""

    def __init__(self, link: Link, plan: Plan[Any]) -> None:
        self.link = link
        self.plan = replace(plan, cutter_for=lambda device: _Cutter(plan.cutter_for(device), link))
        self._queries: dict[int, Query[Any]] = {}
        self._numbers: dict[Unit[Any], int] = {}

    def join(self, cutter: Cutter[Any], gives_way: bool) -> None:
        """Do nothing: home has taken note of the device."""

    def lend(self, n: int, cutter: Cutter[Any]) -> None:
        """Do nothing: no processor takes part beside cards that compute apart."""

    def take(self, run: RunFile, cutter: Cutter[Any]) -> Unit[Any] | None:
        """Return the next unit; None if there is none just now."""
        answer = self.link.ask("take")
        if answer is None:
            return None
        number, query, first, last, n_back = answer
        unit = Unit(self._query(run, query, n_back), first, last)
        self._numbers[unit] = number
        return unit

    def _query(self, run: RunFile, number: int, n_back: int) -> Query[Any]:
        """Return a query with its search, which is made anew if rows came back of which it may have taken note."""
        query = self._queries.pop(number, None)
        if query is None or query.n_back != n_back:
            query = Query[Any](number, [], None, 0, 0, None, n_back=n_back)
            with tracing.span("prepare a query", "preparing", query=number):
                query.search, query.lacks_search = self.plan.search_of(run, number), False
        self._queries[number] = query
        if len(self._queries) > MOST_QUERIES:
            del self._queries[next(iter(self._queries))]
        return query

    def wait(self) -> bool:
        """Wait a little for units; return False if none will come."""
        return bool(self.link.ask("wait"))

    def delivered(self, unit: Unit[Any], cutter: Cutter[Any], cells: float) -> None:
        """Do nothing: `_Writer.store` follows."""

    def give_back(self, units: Iterable[Unit[Any]], cutter: Cutter[Any]) -> None:
        """Give back units that were not computed."""
        self.link.say("give back", [self.number_of(unit) for unit in units])

    def number_of(self, unit: Unit[Any]) -> int:
        """Return how home calls a unit that is not in hand any more."""
        return self._numbers.pop(unit)


class _Writer:
    """Sends home what was computed."""

    def __init__(self, link: Link, planner: _Planner) -> None:
        self._link, self.planner = link, planner

    def caution(self, text: str) -> None:
        """Tell something that is of no use later on."""
        self._link.say("caution", text)

    def warn(self, text: str) -> None:
        """Tell something the user must know."""
        self._link.say("warn", text)

    def tell(self, unit: Unit[Any], cells: float, seconds: float) -> None:
        """Do nothing: no unit takes long that is computed apart."""

    def keep(self, unit: Unit[Any], cells: float, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Do nothing, likewise."""

    def kept(self, run: RunFile, unit: Unit[Any], table: str) -> list[tuple[Any, ...]]:
        """Return nothing."""
        return []

    def forget(self, units: Iterable[Unit[Any]]) -> None:
        """Do nothing: they were given back."""

    def store(self, found: Sequence[Finished[Any]], device: Device) -> None:
        """Send results; what their scores were packed into says them all."""
        nothing = Scores(np.empty(0, np.int64), np.empty(0, np.int32))
        results = [
            (self.planner.number_of(one.unit), replace(one.result, scores=nothing), one.hits_of) for one in found
        ]
        self._link.say("store", results)

    def conclude(self, unit: Unit[Any], storing: Storing) -> None:
        """Never called: home gives no ends of queries."""


class _Cutter:
    """Makes the batches of the device, which are cut at home."""

    def __init__(self, cutter: Cutter[Any], link: Link) -> None:
        self._cutter, self._link = cutter, link
        self._rows: deque[tuple[weakref.ref[Any], int, int]] = deque(maxlen=MOST_BATCHES)

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return the last row: home has cut it."""
        return last

    def batch(self, first: int, last: int) -> Any:
        """Return the rows of a unit."""
        batch = self._cutter.batch(first, last)
        self._rows.append((weakref.ref(batch), first, last))
        return batch

    def measure(self, cells: float, seconds: float) -> None:
        """Let home take note of the time that a batch took."""
        self._link.say("measure", cells, seconds)

    def shrink(self, batch: Any) -> bool:
        """Let home cut less than this batch from now on."""
        rows = next(((first, last) for one, first, last in reversed(self._rows) if one() is batch), None)
        return rows is not None and bool(self._link.ask("shrink", *rows))
