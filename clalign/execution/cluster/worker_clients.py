"""The workers of a cluster, seen from the main process: what each was sent, and the units of its devices."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, NoReturn

from clalign.execution.cluster import worker as tasks
from clalign.execution.cluster.connection import Connection, WorkersGone
from clalign.execution.cluster.payloads import Reference, Register
from clalign.execution.cluster.shard_placement import ShardPlacement, WorkersCutter
from clalign.execution.cluster.shards import Outline, digest_of_shard, packed_shard, read_shard
from clalign.execution.units import AnySearch, Plan, Unit
from clalign.values.devices import Device
from clalign.values.sequences import SequenceDatabase

if TYPE_CHECKING:
    from clalign.execution.cluster.connection import Task


MAX_SEARCHES = 256
"""Queries that a worker keeps besides those of its units; the main process keeps as many of those that are done."""

SCATTER_SECONDS = 30
"""Timeout for sending a shard to a worker (s)."""

TASK_SECONDS = 0.4
"""Computing time of the units of a task (s): a task costs main process, scheduler and worker some milliseconds each."""

MAX_TOGETHER = 128
"""Units of a task at most; fewer than `MAX_SEARCHES`."""

LARGE_BYTES = 2**20

SECONDS_OUT = 2.0
"""Computing time of the tasks that a device has at a time, by the last one (s), so that it never waits for more."""

MIN_OUT, MAX_OUT = 2, 16
"""Tasks that a device has at a time."""

Answer = tuple["RemoteDevice", "Task"]
"""A device and the future of its task."""

Asked = tuple[Unit, Reference]
"""A unit that was sent, and the name of its search."""


class Payloads:
    """What is sent to the workers of a job, pickled once.

    Parameters
    ----------
    connection : Connection
    plan : Plan
        Sent as far as a worker needs it.
    """

    def __init__(self, connection: Connection, plan: Plan) -> None:
        self.connection, self.client = connection, connection.client
        self.job = uuid.uuid4().hex
        self.register = Register()
        self.outlines: dict[int, Outline] = {}
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        # Which worker put a shard into a cache, by cache and digest, and the future of that while the worker is there.
        self.sources: dict[tuple[str, str], tuple[str, Task | None]] = {}
        self.workers: dict[str, Worker] = {}
        self._digests: dict[tuple[int, int], str] = {}
        self._searches: dict[int, tuple[AnySearch, Reference]] = {}
        self._packed: dict[Reference, tuple[bytes, list[Reference]]] = {}
        self._needed = Counter[Reference]()
        self._done: dict[int, None] = {}
        self._count = itertools.count()
        of_this_process = ("search_of", "compute_end", "is_needed", "is_known")
        not_here: dict[str, object] = {**dict.fromkeys(of_this_process, _not_here), "queries": (), "described": None}
        shown = Plan(**{name: getattr(plan, name) for name in plan.__struct_fields__} | not_here)
        self._packed["plan", 0] = self.register.packed(shown)
        self._needed.update(self._packed["plan", 0][1])

    def key(self, what: str) -> str:
        """Return a new name for a task."""
        return f"clalign-{what}-{self.job}-{next(self._count)}"

    def forget_worker(self, address: str) -> None:
        """Remove a worker that has gone; what it has put into a cache stays there."""
        for place, (worker, future) in list(self.sources.items()):
            if worker == address and future is not None:
                if future.status == "finished":
                    self.sources[place] = "", None
                else:
                    del self.sources[place]

    def source(self, place: tuple[str, str]) -> list[Task] | None:
        """Return the futures to wait for until a shard is in a cache; None if no worker has put it there, or will.

        There is none for a shard that is there: a worker that waited for the future of another would hang with it.
        """
        if place not in self.sources:
            return None
        _, future = self.sources[place]
        if future is None or future.status == "finished":
            return []
        return [future] if future.status == "pending" else None

    def search_name(self, number: int, search: AnySearch) -> Reference:
        """Return the name of the search of a query; one that is prepared again gets another name."""
        self._done.pop(number, None)
        known = self._searches.get(number)
        if known is None or known[0] is not search:
            name = "search", next(self._count)
            self._packed[name] = self.register.packed(search)
            self._needed.update(self._packed[name][1])  # before the former one lets go of what both refer to
            self._forget_search(number)
            known = self._searches[number] = search, name
        return known[1]

    def done_with(self, number: int) -> None:
        """Forget the search of a query whose rows are all stored, once `MAX_SEARCHES` others are done as well."""
        self._done[number] = None
        while len(self._done) > MAX_SEARCHES:
            oldest = next(iter(self._done))
            del self._done[oldest]
            self._forget_search(oldest)

    def _forget_search(self, number: int) -> None:
        """Forget a search, and what was sent on its own because of it alone."""
        if number not in self._searches:
            return
        _, needed = self._packed.pop(self._searches.pop(number)[1])
        for reference in needed:
            self._needed[reference] -= 1
            if not self._needed[reference] and reference[0] == "shared":
                del self._needed[reference]
                self._packed.pop(reference, None)
                self.register.forget(reference)

    def packed(self, name: Reference) -> tuple[bytes, list[Reference]]:
        """Return the payload with a name, and what it refers to."""
        if name not in self._packed:
            thing = self.outline(name[1]) if name[0] == "database" else self.register.found[name]
            self._packed[name] = self.register.packed(thing)
        return self._packed[name]

    def database(self, number: int) -> SequenceDatabase:
        """Return a database by its number."""
        found: SequenceDatabase = self.register.found["database", number]
        return found

    def outline(self, number: int) -> Outline:
        """Return how a database is cut."""
        if number not in self.outlines:
            self.outlines[number] = Outline.of(self.database(number))
        return self.outlines[number]

    def digest(self, number: int, shard: int) -> str:
        """Return the digest of a shard, by which it is found again."""
        if (number, shard) not in self._digests:
            found = digest_of_shard(self.database(number), self.outline(number), shard)
            self._digests[number, shard] = found
        return self._digests[number, shard]


def named(device: Device, worker: str) -> Device:
    """Return a device with its name in the run, which includes the worker."""
    return replace(device, id=f"{worker}/{device.id}")


def _not_here(*_: object) -> NoReturn:
    raise RuntimeError("only the main process does that")


@dataclass(eq=False)
class Worker:
    """A worker, and what it was sent.

    Attributes
    ----------
    address, name : str
    look : Look
    payloads : Payloads
    devices : list of RemoteDevice
        Its devices that take part.
    """

    address: str
    name: str
    look: tasks.Look
    payloads: Payloads
    devices: list[RemoteDevice] = field(default_factory=list)
    _sent: dict[tuple[object, ...], Task] = field(default_factory=dict)
    _searches: dict[Reference, list[Reference]] = field(default_factory=dict)
    _serials: dict[Reference, int] = field(default_factory=dict)
    _count: Iterator[int] = field(default_factory=itertools.count)

    def submit(self, what: str, function: Callable[..., object], *given: object) -> Task:
        """Call a function on this worker, and on no other; return the future."""
        key = self.payloads.key(what)
        return self.payloads.client.submit(
            function, *given, workers=[self.address], allow_other_workers=False, pure=False, key=key
        )

    def forget_all(self) -> None:
        """Send everything again from now on."""
        self._sent.clear()
        self._searches.clear()

    def forget(self, statuses: Sequence[str]) -> bool:
        """Send again, from now on, everything whose future has such a status; return whether there is any."""
        lost = [name for name, future in self._sent.items() if future.status in statuses]
        for name in lost:
            self._sent.pop(name).release()
        return bool(lost)

    def send(self, *names: Reference) -> list[Task]:
        """Send payloads with all that they refer to, unless they were sent.

        Returns
        -------
        list of Task
            What a task that uses them must wait for.
        """
        new = [name for name in dict.fromkeys(names) if name not in self._sent]
        if new:
            payloads = {name: self.payloads.packed(name) for name in new}
            needed = dict.fromkeys(one for _, others in payloads.values() for one in others)
            before = self.send(*needed) if needed else []
            small = [name for name in new if len(payloads[name][0]) < LARGE_BYTES]
            for together in ([small] if small else []) + [[name] for name in new if name not in small]:
                self._hold({name: payloads[name][0] for name in together}, before)
        for name in new:
            if name[0] == "database" and self.payloads.outline(name[1]).n_shards == 1:
                self.send_shards(name[1], [0])
        alone = [("shard", number, 0) for kind, number in names if kind == "database"]
        return list(dict.fromkeys(self._sent[name] for name in (*names, *alone) if name in self._sent))

    def _hold(self, payloads: Mapping[Reference, bytes], before: Sequence[Task]) -> None:
        """Have the worker keep payloads; a large one is not part of the task, which Dask would warn of."""
        self._serials.update({name: next(self._count) for name in payloads})
        given = [(name, self._serials[name]) for name in payloads]
        sent = [data if len(data) < LARGE_BYTES else self._scattered(data) for data in payloads.values()]
        task = self.submit("hold", tasks.hold, self.payloads.job, given, *sent, *before)
        self._sent.update(dict.fromkeys(payloads, task))

    def send_shards(self, database: int, shards: Iterable[int], is_anew: bool = False) -> list[Task]:
        """Send shards of a database that this worker lacks."""
        found = []
        for shard in shards:
            place = "shard", database, shard
            if place not in self._sent or is_anew:
                self._sent[place] = self._send_shard(database, shard, is_anew)
            found.append(self._sent[place])
        return found

    def _send_shard(self, database: int, shard: int, is_anew: bool) -> Task:
        payloads, digest = self.payloads, self.payloads.digest(database, shard)
        place = self.look.cache, digest
        source: Task | None = None
        after, known = self.send(("database", database))[:1], payloads.source(place)
        if is_anew:
            source = self._from_here(database, shard)
        elif known is not None:
            after += known
        elif digest not in self.look.shards:
            source = self._from_another(digest) or self._from_here(database, shard)
        given = payloads.job, database, shard, digest, source, *after
        future = self.submit("shard", tasks.hold_shard, *given)
        payloads.sources[place] = self.address, future
        return future

    def _from_another(self, digest: str) -> Task | None:
        """Return the future of a shard that another worker has; Dask sends it from one to the other."""
        for other in self.payloads.workers.values():
            _, future = self.payloads.sources.get((other.look.cache, digest), ("", None))
            is_there = digest in other.look.shards or (future is not None and future.status == "finished")
            if other is not self and is_there:
                return other.submit("read", read_shard, digest)
        return None

    def _from_here(self, database: int, shard: int) -> Task:
        return self._scattered(packed_shard(self.payloads.database(database), self.payloads.outline(database), shard))

    def _scattered(self, data: bytes) -> Task:
        given = {"workers": [self.address], "hash": False, "timeout": SCATTER_SECONDS}
        try:
            connection, client = self.payloads.connection, self.payloads.client
            return connection.awaited_of([self.address], lambda: client.scatter(data, **given))
        except (KeyError, ValueError, TimeoutError, WorkersGone) as error:  # the scheduler does not know the worker
            raise ConnectionError(f"{self.address} has gone") from error

    def drop_old(self, searches: Iterable[Reference]) -> list[tuple[Reference, int]]:
        """Record that searches are used; return the names that the worker may drop, with the serial numbers.

        These are searches that were used long ago, and what only they referred to.
        """
        for search in searches:
            self._searches.pop(search, None)
            self._searches[search] = self.payloads.packed(search)[1]
        busy = {name for device in self.devices for asked in device.out.values() for _, name in asked}
        old = [name for name in list(self._searches)[:-MAX_SEARCHES] if name not in busy]
        once = dict.fromkeys(one for name in old for one in self._searches.pop(name) if one[0] == "shared")
        for needed in (self.payloads.packed(("plan", 0))[1], *self._searches.values()) if once else ():
            for name in needed:
                once.pop(name, None)
        gone = [name for name in (*old, *once) if self._sent.pop(name, None) is not None]
        return [(name, self._serials.pop(name)) for name in gone]


class RemoteDevice:
    """A device of a worker, to which units are sent.

    Parameters
    ----------
    worker : Worker
    device : Device
        With the names of the worker.
    cutter : WorkersCutter
    placement : ShardPlacement or None
        None where rows are not those of a database.
    """

    def __init__(self, worker: Worker, device: Device, cutter: WorkersCutter, placement: ShardPlacement | None) -> None:
        self.worker, self.device, self.cutter, self._placement = worker, device, cutter, placement
        self.n_failures = self.n_retries = 0
        self.out: dict[Task, list[Asked]] = {}
        worker.devices.append(self)
        self._task_seconds = 0.0

    @property
    def wants_more(self) -> bool:
        """Whether it has too few tasks."""
        n = SECONDS_OUT / self._task_seconds if self._task_seconds else MIN_OUT
        return len(self.out) < min(max(n, MIN_OUT), MAX_OUT)

    @property
    def units(self) -> list[Unit]:
        """Units of its tasks."""
        return [unit for asked in self.out.values() for unit, _ in asked]

    def send(self, units: Sequence[Unit], again: Sequence[Task] = ()) -> None:
        """Send units in one task, with everything that the worker lacks for them."""
        worker, payloads = self.worker, self.worker.payloads
        names = [payloads.search_name(unit.query.number, unit.query.search) for unit in units]
        after = [*worker.send(("plan", 0)), *worker.send(*names), *again]
        placement = self._placement
        if placement is not None:
            shards = dict.fromkeys(one for unit in units for one in placement.outline.of_rows(unit.first, unit.last))
            after += worker.send_shards(placement.database, shards)
            for shard in shards:
                placement.hold(shard, worker.address)
        drop = worker.drop_old(names)
        rows = [(name, unit.query.number, unit.first, unit.last) for unit, name in zip(units, names, strict=True)]
        future = worker.submit(
            "units", tasks.compute, payloads.job, self.device.to_dict(), rows, drop, *dict.fromkeys(after)
        )
        self.out[future] = list(zip(units, names, strict=True))
        future.add_done_callback(lambda done: payloads.answers.put((self, done)))

    def take(self, future: Task) -> list[Unit]:
        """Remove a task and return its units; none if it was removed before."""
        return [unit for unit, _ in self.out.pop(future, ())]

    def measure(self, seconds: float) -> None:
        """Set the computing time of a task (s)."""
        self._task_seconds = seconds

    def withdraw(self) -> list[Unit]:
        """Cancel all tasks and return their units."""
        units = self.units
        for future in self.out:
            future.cancel()
        self.out.clear()
        return units
