"""What a worker of a cluster does: it keeps what a job needs, and computes units as an executor at home does.

Its functions are called by tasks of Dask. A job is known by a word that home makes up.
"""

from __future__ import annotations

import pickle
import platform
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from operator import call
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from clalign.compute import opening
from clalign.compute.opening import LISTEN_SECONDS
from clalign.compute.sessions import ProgramChoice, nobody_told
from clalign.databases.cache import keep_to_limit, kept_shards, shard_folder
from clalign.errors import Cancelled, DeviceError
from clalign.execution.cluster import shards
from clalign.execution.cluster.parcels import Reference, unpacked
from clalign.execution.executor import Executor
from clalign.execution.failures import Failure
from clalign.execution.host import Host
from clalign.execution.units import Cutter, Finished, Plan, Query, Storing, Unit
from clalign.runs.batches import BatchResult
from clalign.values.devices import Device
from clalign.values.hits import Hit, Scores

IDLE_SECONDS = 600.0
"""After so long without a unit a worker forgets a job: home is gone without a word."""


Rows = tuple[Reference, int, int, int]
"""A unit: the name of a search, the number of its query, the first row and the last."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a worker finds when it is asked to take part.

    Attributes
    ----------
    host, cache : str
        Names of the machine and of the folder of shards, which workers of a machine share.
    devices : list of dict
    texts : list of str
        What is to be said of its devices.
    shards : list of str
        Digests of those that it has.
    problem : (str, str) or None
        Why it has no device, and what to do.
    """

    host: str
    cache: str
    devices: list[dict[str, Any]]
    texts: list[str]
    shards: list[str]
    problem: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a worker found in a unit; what the scores were packed into says them all."""

    result: BatchResult
    hits_of: Sequence[tuple[int, Hit]]
    warnings: list[str]


def look(words: str) -> Look:
    """Return the devices that words mean here, and what is here already."""
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


def unbuilt(device: dict[str, Any], choices: Sequence[ProgramChoice]) -> list[ProgramChoice]:
    """Return those programs that a device here has to compile when they are needed."""
    with opening.open_session(Device.from_dict(device)) as session:
        return session.unbuilt(choices)


def hold(job: str, given: Sequence[tuple[Reference, int]], *parcels_and_after: Any) -> bool:
    """Keep what a job needs; return False if something is missing that it refers to, and so is not kept.

    Parameters
    ----------
    job : str
    given : sequence of (Reference, int)
        Names, and a serial number for each time that something is sent.
    *parcels_and_after
        A parcel for each name; then what this had to wait for.
    """
    here, is_whole = _here(job), True
    for (name, serial), data in zip(given, parcels_and_after, strict=False):
        try:
            thing = unpacked(data, here.found)
        except LookupError:  # dropped or lost meanwhile; who asks for it is told, and home sends it anew
            is_whole = False
            continue
        here.held[name], here.serials[name] = thing, serial
    return is_whole


def hold_shard(job: str, database: int, number: int, digest: str, data: bytes | None, *_after: object) -> bool:
    """Keep a shard of a database, which was sent or is in the cache; return whether that is so."""
    if data is not None:
        shards.keep_shard(digest, data)
    found = shards.opened_shard(digest)
    if found is not None:
        _here(job).shards_of(database).held[number] = found
    return found is not None


def read_shard(digest: str) -> bytes | None:
    """Return a shard for another worker."""
    return shards.read_shard(digest)


def compute(
    job: str, device: dict[str, Any], rows: Sequence[Rows], drop: Sequence[tuple[Reference, int]], *_after: object
) -> bytes:
    """Compute units; forget what is to be dropped, unless it was sent once more since.

    Returns
    -------
    bytes
        The parcel of a list of what was found in each, `Found` or `Failure`.
    """
    import distributed

    here = _here(job)
    for name, serial in drop:
        if here.serials.get(name) == serial:
            here.held.pop(name, None)
    if ("plan", 0) not in here.held or any(search not in here.held for search, *_ in rows):
        return pickle.dumps([Failure("forgotten")] * len(rows))
    waiting = [here.put(Device.from_dict(device), here.held[search], *unit) for search, *unit in rows]
    leave: Any = distributed.secede
    leave()  # others of this worker can be begun meanwhile
    return pickle.dumps([one.result() for one in waiting])  # here, and not by the loop of Dask


def end(job: str) -> tuple[list[str], dict[str, float]]:
    """Forget a job for good; return the names of processors that helped cards, and seconds by kernel."""
    with _LOCK:
        _ENDED.append(job)
    return _forget(job)


def _forget(job: str) -> tuple[list[str], dict[str, float]]:
    with _LOCK:
        here = _HERE.pop(job, None)
    if here is None:
        return [], {}
    here.end()
    with _LOCK:
        is_last = not _HERE
    if is_last:
        keep_to_limit(Path())
    return list(here.hosts), dict(here.seconds)


_LOCK = threading.Lock()
_HERE: dict[str, _Here] = {}
_ENDED: deque[str] = deque(maxlen=1000)
"""Jobs that home has ended: what still comes for them is not kept."""


def _here(job: str) -> _Here:
    with _LOCK:
        return _Here(job) if job in _ENDED else _HERE.setdefault(job, _Here(job))


class _Here:
    """A job, as far as it is known to this worker."""

    def __init__(self, job: str) -> None:
        self.job = job
        self.held: dict[Reference, Any] = {}
        self.serials: dict[Reference, int] = {}
        self.hosts: dict[str, None] = {}
        self.seconds: dict[str, float] = {}
        self.is_over = threading.Event()
        self._databases: dict[int, shards.Shards] = {}
        self._computers: dict[str, _Computer] = {}
        self._changing = threading.Lock()

    def found(self, reference: Reference) -> Any:
        """Return what travelled for itself."""
        return self.shards_of(reference[1]).database if reference[0] == "database" else self.held[reference]

    def shards_of(self, number: int) -> shards.Shards:
        """Return the shards of a database of which the outline came before."""
        with self._changing:
            if number not in self._databases:
                self._databases[number] = shards.Shards(number, self.held["database", number])
            return self._databases[number]

    def put(self, device: Device, search: Any, number: int, first: int, last: int) -> Future[Found | Failure]:
        """Have a unit computed on a device, which is opened first."""
        with self._changing:
            computer = self._computers.get(device.id)
            if computer is None or computer.is_closed:
                computer = self._computers[device.id] = _Computer(self, device)
            return computer.put(search, number, first, last)

    def check(self) -> None:
        """Raise `Cancelled` when the job is over."""
        if self.is_over.is_set():
            raise Cancelled

    def end(self) -> None:
        """Stop what is being computed."""
        self.is_over.set()
        for computer in self._computers.values():
            computer.thread.join(2.0)

    def take_note(self, host: str | None, seconds: Mapping[str, float]) -> None:
        """Take note of what a device did."""
        with self._changing:
            if host is not None:
                self.hosts[host] = None
            for kernel, value in seconds.items():
                self.seconds[kernel] = self.seconds.get(kernel, 0.0) + value


@dataclass(slots=True)
class _Waiting:
    """A unit that was asked for."""

    answer: Future[Found | Failure] = field(default_factory=Future)
    warnings: list[str] = field(default_factory=list)


class _Computer:
    """Computes on a device, in a thread of its own; gives the executor its units and takes its results."""

    def __init__(self, here: _Here, device: Device) -> None:
        self._here, self._device = here, device
        plan: Plan[Any] = here.held["plan", 0]
        self.plan = replace(plan, cutter_for=lambda device: _Rows(plan.cutter_for(device), self))
        self.planner = self
        self.is_closed = self._goes_on = False
        self.rows_too_many = 0  # of the batch that memory was too short for
        self._units: deque[Unit[Any]] = deque()
        self._waiting: dict[Unit[Any], _Waiting] = {}
        self._changed = threading.Condition()
        self.thread = threading.Thread(target=self._run, name=f"computes on {device.id}", daemon=True)
        self.thread.start()

    def put(self, search: Any, number: int, first: int, last: int) -> Future[Found | Failure]:
        """Take a unit that came from home."""
        query = Query[Any](number, [], None, 0, 0, None)
        query.search, query.lacks_search = search, False
        unit, waiting = Unit(query, first, last), _Waiting()
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

        check, has_host = self._here.check, self.plan.has_host
        with (
            opening.open_session(self._device, check, nobody_told) as session,
            Host(session, pick_device, check, has_host) as host,
        ):
            try:
                is_own = has_host and session.device.kind == "cpu"
                # It reads no run: what would need one is done at home.
                Executor(session, host, None, self, call, is_own).compute()  # type: ignore[arg-type]
            finally:
                name = host.session.device.name if host.session else None
                self._here.take_note(name, host.seconds_by_kernel())

    def join(self, cutter: Cutter[Any], gives_way: bool) -> None:
        """Do nothing."""

    def lend(self, n: int, cutter: Cutter[Any]) -> None:
        """Do nothing."""

    def take(self, run: object, cutter: Cutter[Any]) -> Unit[Any] | None:
        """Return the next unit."""
        with self._changed:
            return self._units.popleft() if self._units else None

    def wait(self) -> bool:
        """Wait until there is a unit; return False if none will come."""
        until = time.monotonic() + IDLE_SECONDS
        while not self._here.is_over.is_set():
            with self._changed:
                if self._units:
                    return True
                if time.monotonic() > until:
                    self.is_closed = True
                    threading.Thread(target=_forget, args=(self._here.job,), daemon=True).start()
                    return False
                self._changed.wait(LISTEN_SECONDS)
        return False

    def delivered(self, unit: Unit[Any], cutter: Cutter[Any], cells: float) -> None:
        """Do nothing: `store` follows."""

    def give_back(self, units: Iterable[Unit[Any]], cutter: Cutter[Any]) -> None:
        """Do nothing: `forget` follows."""

    def caution(self, text: str) -> None:
        """Take note that the executor goes on with less at a time."""
        self._goes_on = True

    def forget(self, units: Iterable[Unit[Any]]) -> None:
        """Tell home of units that are too large, or do them again; where the executor ends `_run` tells why."""
        goes_on, self._goes_on = self._goes_on, False
        with self._changed:
            for unit in reversed(list(units) if goes_on else []):
                if not self.rows_too_many or unit.last - unit.first < self.rows_too_many:
                    self._units.appendleft(unit)
                elif unit in self._waiting:
                    self._waiting.pop(unit).answer.set_result(Failure("memory"))
            self.rows_too_many = 0 if goes_on else self.rows_too_many

    def warn(self, text: str) -> None:
        """Tell home with the next unit."""
        with self._changed:
            for waiting in list(self._waiting.values())[:1]:
                waiting.warnings.append(text)

    def tell(self, unit: Unit[Any], cells: float, seconds: float) -> None:
        """Do nothing: home hears of a unit when it is done."""

    def keep(self, unit: Unit[Any], cells: float, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Do nothing: tasks return units that are done, so that one that is not begins anew elsewhere."""

    def kept(self, run: object, unit: Unit[Any], table: str) -> list[tuple[Any, ...]]:
        """Return nothing."""
        return []

    def store(self, found: Sequence[Finished[Any]], device: Device) -> None:
        """Send results home."""
        nothing = Scores(np.empty(0, np.int64), np.empty(0, np.int32))
        for one in found:
            with self._changed:
                waiting = self._waiting.pop(one.unit, None)
            if waiting is not None:
                waiting.answer.set_result(Found(replace(one.result, scores=nothing), one.hits_of, waiting.warnings))

    def conclude(self, unit: Unit[Any], storing: Storing) -> None:
        """Never called: ends of queries are computed at home."""


class _Rows:
    """Makes the batches of a device, which are cut at home."""

    def __init__(self, cutter: Cutter[Any], computer: _Computer) -> None:
        self._cutter, self._computer = cutter, computer

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return the last row: home has cut it."""
        return last

    def batch(self, first: int, last: int) -> Any:
        """Return the rows of a unit."""
        return self._cutter.batch(first, last)

    def measure(self, cells: float, seconds: float) -> None:
        """Do nothing: home measures."""

    def shrink(self, batch: Any) -> bool:
        """Let home cut less."""
        self._computer.rows_too_many = max(1, len(batch))
        return True
