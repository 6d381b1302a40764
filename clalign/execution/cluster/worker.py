"""What a worker of a cluster does: it keeps what a job needs and computes units; its functions are tasks of Dask.

A job has a name that the main process makes up.
"""

from __future__ import annotations

import pickle
import platform
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clalign.compute import opening
from clalign.compute.opening import CHECK_SECONDS
from clalign.compute.sessions import ProgramChoice, no_build_report
from clalign.databases.cache import kept_shards, shard_folder, shrink_to_limit
from clalign.errors import Cancelled, DeviceError
from clalign.execution.access import Access
from clalign.execution.cluster import shards
from clalign.execution.cluster.payloads import Reference, unpacked
from clalign.execution.executor import CpuHelper, Executor
from clalign.execution.failures import Failure
from clalign.execution.units import AnySearch, Finished, Plan, Query, Unit
from clalign.runs.batches import BatchResult
from clalign.values.devices import Device
from clalign.values.documents import DeviceFields
from clalign.values.hits import Hit

END_SECONDS = 2.0
"""Timeout for threads when a job ends (s)."""

IDLE_SECONDS = 600.0
"""Time without a unit after which a worker forgets a job (s): the main process is gone."""

MAX_ENDED = 1000
"""Jobs that have ended of which what still comes is not kept."""

Rows = tuple[Reference, int, int, int]
"""A unit: name of a search, number of its query, first and last row."""


@dataclass(frozen=True, slots=True)
class Look:
    """The devices and shards of a worker.

    Attributes
    ----------
    host, cache : str
        Names of the machine and of the folder of shards, which workers of a machine share.
    devices : list of dict
    texts : list of str
        Warnings about its devices.
    shards : list of str
        Digests of the shards that it has.
    problem : (str, str) or None
        Why it has no device, and what to do.
    """

    host: str
    cache: str
    devices: list[DeviceFields]
    texts: list[str]
    shards: list[str]
    problem: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a unit, with packed scores only."""

    result: BatchResult
    hits_of: Sequence[tuple[int, Hit]]
    warnings: list[str]


def look(words: str) -> Look:
    """Return the devices of this worker that words mean, and the shards that it has."""
    from clalign.compute.opencl.choice import pick_devices

    devices: list[Device] = []
    texts: list[str] = []
    problem = None
    try:
        devices, texts = pick_devices(words)
    except DeviceError as error:
        problem = error.message, error.hint
    found = [device.to_dict() for device in devices]
    have = [path.name for path in kept_shards()]
    return Look(platform.node(), str(shard_folder()), found, texts, have, problem)


def unbuilt(device: DeviceFields, choices: Sequence[ProgramChoice]) -> list[ProgramChoice]:
    """Return those programs that a device of this worker has not compiled yet."""
    with opening.open_session(Device.from_dict(device)) as session:
        return session.unbuilt(choices)


def hold(job: str, given: Sequence[tuple[Reference, int]], *payloads_and_after: Any) -> bool:
    """Keep payloads of a job; return False if one refers to something that is missing, and so is not kept.

    Parameters
    ----------
    job : str
    given : sequence of (Reference, int)
        Names, and a serial number for each time that a payload is sent.
    *payloads_and_after
        A payload for each name; then what this task had to wait for.
    """
    state, is_whole = jobs_of_worker().job(job), True
    for (name, serial), data in zip(given, payloads_and_after, strict=False):
        try:
            thing = unpacked(data, state.found)
        except LookupError:  # dropped or lost meanwhile; the main process sends it again
            is_whole = False
            continue
        state.held[name], state.serials[name] = thing, serial
    return is_whole


def hold_shard(job: str, database: int, number: int, digest: str, data: bytes | None, *_after: object) -> bool:
    """Keep a shard of a database, which was sent or is in the cache; return False if it is in neither."""
    if data is not None:
        shards.keep_shard(digest, data)
    found = shards.opened_shard(digest)
    if found is not None:
        jobs_of_worker().job(job).shards_of(database).held[number] = found
    return found is not None


def compute(
    job: str, device: DeviceFields, rows: Sequence[Rows], drop: Sequence[tuple[Reference, int]], *_after: object
) -> bytes:
    """Compute units; drop payloads that are not needed any more, unless they were sent once more since.

    Returns
    -------
    bytes
        A pickled list with a `Found` or `Failure` for each unit.
    """
    import distributed

    state = jobs_of_worker().job(job)
    for name, serial in drop:
        if state.serials.get(name) == serial:
            state.held.pop(name, None)
    if ("plan", 0) not in state.held or any(search not in state.held for search, *_ in rows):
        return pickle.dumps([Failure("forgotten")] * len(rows))
    waiting = [state.put(Device.from_dict(device), state.held[search], *unit) for search, *unit in rows]
    distributed.secede()  # the worker can begin other tasks meanwhile
    return pickle.dumps([one.result() for one in waiting])  # in this thread, and not in the loop of Dask


def end(job: str) -> tuple[list[str], dict[str, float]]:
    """End a job; return the names of processors that helped cards, and seconds by kernel."""
    return jobs_of_worker().end(job)


class Jobs:
    """The jobs of a worker."""

    def __init__(self) -> None:
        self.running: dict[str, _Job] = {}
        self._ended: deque[str] = deque(maxlen=MAX_ENDED)
        self._changing = threading.Lock()

    def job(self, name: str) -> _Job:
        """Return a job; one that is not kept if it has ended."""
        with self._changing:
            return _Job(name, self) if name in self._ended else self.running.setdefault(name, _Job(name, self))

    def end(self, name: str) -> tuple[list[str], dict[str, float]]:
        """End a job; return the names of processors that helped cards, and seconds by kernel."""
        with self._changing:
            self._ended.append(name)
        return self.forget(name)

    def forget(self, name: str) -> tuple[list[str], dict[str, float]]:
        """Stop a job, which begins again if something comes for it; return the result of `end`."""
        with self._changing:
            state = self.running.pop(name, None)
            is_last = not self.running
        if state is None:
            return [], {}
        state.end()
        if is_last:
            shrink_to_limit(Path())
        return list(state.helpers), dict(state.seconds)


def jobs_of_worker() -> Jobs:
    """Return the jobs of the worker of Dask that this task runs on; they are an attribute of it."""
    import distributed

    attributes = vars(distributed.get_worker())
    jobs: Jobs = attributes.setdefault("clalign_jobs", Jobs())
    return jobs


class _Job:
    """What this worker has of a job."""

    def __init__(self, name: str, jobs: Jobs) -> None:
        self.name, self.jobs = name, jobs
        self.held: dict[Reference, Any] = {}
        self.serials: dict[Reference, int] = {}
        self.helpers: dict[str, None] = {}
        self.seconds: dict[str, float] = {}
        self.is_over = threading.Event()
        self._databases: dict[int, shards.Shards] = {}
        self._threads: dict[str, _DeviceThread] = {}
        self._changing = threading.Lock()

    def found(self, reference: Reference) -> object:
        """Return an object that was sent on its own."""
        return self.shards_of(reference[1]).database if reference[0] == "database" else self.held[reference]

    def shards_of(self, number: int) -> shards.Shards:
        """Return the shards of a database, whose outline was sent before."""
        with self._changing:
            if number not in self._databases:
                self._databases[number] = shards.Shards(number, self.held["database", number])
            return self._databases[number]

    def put(self, device: Device, search: AnySearch, number: int, first: int, last: int) -> Future[Found | Failure]:
        """Compute a unit with a device, which is opened first."""
        with self._changing:
            thread = self._threads.get(device.id)
            if thread is None or thread.is_closed:
                thread = self._threads[device.id] = _DeviceThread(self, device)
            return thread.put(search, number, first, last)

    def check(self) -> None:
        """Raise `Cancelled` when the job is over."""
        if self.is_over.is_set():
            raise Cancelled

    def end(self) -> None:
        """Stop computing."""
        self.is_over.set()
        for thread in self._threads.values():
            thread.thread.join(END_SECONDS)

    def add_times(self, helper: str | None, seconds: Mapping[str, float]) -> None:
        """Add the name of a processor that helped a device, and the seconds by kernel."""
        with self._changing:
            if helper is not None:
                self.helpers[helper] = None
            for kernel, value in seconds.items():
                self.seconds[kernel] = self.seconds.get(kernel, 0.0) + value


@dataclass(slots=True)
class _Waiting:
    """A unit that is to be answered."""

    answer: Future[Found | Failure] = field(default_factory=Future)
    warnings: list[str] = field(default_factory=list)


class _DeviceThread(Access):
    """Computes with a device, in a thread of its own; the access of its executor."""

    def __init__(self, job: _Job, device: Device) -> None:
        self._job, self._device = job, device
        self._plan: Plan = job.held["plan", 0]
        self.is_closed = False
        self._max_rows = 0  # of a unit, once memory was too short for one
        self._units: deque[Unit] = deque()
        self._waiting: dict[Unit, _Waiting] = {}
        self._changed = threading.Condition()
        self.thread = threading.Thread(target=self._run, name=f"computes on {device.id}", daemon=True)
        self.thread.start()

    def put(self, search: AnySearch, number: int, first: int, last: int) -> Future[Found | Failure]:
        """Add a unit; return the future of its result."""
        unit, waiting = Unit(Query.prepared(number, search), first, last), _Waiting()
        with self._changed:
            if self.is_closed:
                waiting.answer.set_result(Failure("again"))
                return waiting.answer
            self._waiting[unit] = waiting
            self._units.append(unit)
            self._changed.notify()
        return waiting.answer

    def _run(self) -> None:
        failure = Failure("again")
        try:
            self._work()
        except shards.MissingShards as missing:
            failure = Failure("shards", shards=(missing.database, missing.shards))
        except BaseException as error:
            failure = Failure.of(error)
        with self._changed:
            self.is_closed = True
            left, self._waiting = self._waiting, {}
        for waiting in left.values():
            waiting.answer.set_result(failure)

    def _work(self) -> None:
        from clalign.compute.opencl.choice import pick_device

        check, plan = self._job.check, self._plan
        with (
            opening.open_session(self._device, check, no_build_report) as session,
            CpuHelper(session, pick_device, check, plan.may_suit_cpu) as helper,
        ):
            try:
                Executor(session, helper, plan, plan.cutter_for(self._device), self).compute()
            finally:
                self._job.add_times(*helper.report())

    def take(self) -> Unit | None:
        """Return the next unit."""
        with self._changed:
            return self._units.popleft() if self._units else None

    def wait(self) -> bool:
        """Wait until there is a unit; return False if none will come."""
        until = time.monotonic() + IDLE_SECONDS
        while not self._job.is_over.is_set():
            with self._changed:
                if self._units:
                    return True
                if time.monotonic() > until:
                    self.is_closed = True
                    threading.Thread(target=self._job.jobs.forget, args=(self._job.name,), daemon=True).start()
                    return False
                self._changed.wait(CHECK_SECONDS)
        return False

    def measure(self, cells: float, seconds: float) -> None:
        """Do nothing: the time of a unit is in its result."""

    def shrink(self, unit: Unit) -> bool:
        """Let the main process cut units smaller than this one."""
        self._max_rows = max(1, unit.last - unit.first)
        return True

    def give_back(self, units: Sequence[Unit]) -> None:
        """Compute units again, except those that are too large for the memory, which are answered so."""
        with self._changed:
            for unit in reversed(units):
                if not self._max_rows or unit.last - unit.first < self._max_rows:
                    self._units.appendleft(unit)
                elif unit in self._waiting:
                    self._waiting.pop(unit).answer.set_result(Failure("memory"))
            self._max_rows = 0

    def store(self, found: Sequence[Finished]) -> None:
        """Answer units with their results."""
        for one in found:
            with self._changed:
                waiting = self._waiting.pop(one.unit, None)
            if waiting is not None:
                waiting.answer.set_result(Found(one.packed_result(), one.hits_of, waiting.warnings))

    def warn(self, text: str, is_kept: bool) -> None:
        """Send a warning with the next result; the main process itself warns of units that are cut smaller."""
        with self._changed:
            for waiting in list(self._waiting.values())[:1] if is_kept else ():
                waiting.warnings.append(text)
