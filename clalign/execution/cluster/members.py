"""The workers of a cluster as home knows them: what each was sent, and what its devices have in hand."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

from clalign.execution.cluster import at_worker
from clalign.execution.cluster.connecting import Connection, WorkersGone
from clalign.execution.cluster.parcels import Reference, Register
from clalign.execution.cluster.rows import Spread, WorkersCutter
from clalign.execution.cluster.shards import Outline, digest_of_shard, packed_shard
from clalign.execution.units import Plan, Unit
from clalign.values.devices import Device
from clalign.values.sequences import SequenceDatabase

MOST_SEARCHES = 256
"""Queries that a worker keeps besides those that it has units of; home keeps as many of those that are done."""

SCATTER_SECONDS = 30
"""So long a shard may take to a worker."""

TASK_SECONDS = 0.4
"""Units are sent together, as many as take so long: a task costs home, scheduler and worker some milliseconds each."""

MOST_TOGETHER = 128
"""So many at most; fewer than the searches that a worker keeps."""

LARGE_BYTES = 2**20

SECONDS_OUT = 2.0
"""A device has tasks in hand for so long, as long as the last one took, so that it does not wait for home."""

LEAST_OUT, MOST_OUT = 2, 16

Answer = tuple["RemoteDevice", Any]
"""Whose, and the future of Dask."""

Asked = tuple[Unit[Any], Reference]
"""A unit that was sent, and the name of its search."""


class Parcels:
    """What travels to all workers of a job, packed once.

    Parameters
    ----------
    connection : Connection
    plan : Plan
        What a worker needs of it is sent.
    """

    def __init__(self, connection: Connection, plan: Plan[Any]) -> None:
        self.connection, self.client = connection, connection.client
        self.job = uuid.uuid4().hex
        self.register = Register()
        self.outlines: dict[int, Outline] = {}
        self.answers: SimpleQueue[Answer] = SimpleQueue()
        # By cache and digest, that a shard is there: who put it there, and the future of that while it lives.
        self.sources: dict[tuple[str, str], tuple[str, Any]] = {}
        self.lively: dict[str, Worker] = {}
        self._digests: dict[tuple[int, int], str] = {}
        self._searches: dict[int, tuple[Any, Reference]] = {}
        self._packed: dict[Reference, tuple[bytes, list[Reference]]] = {}
        self._needed = Counter[Reference]()
        self._done: dict[int, None] = {}
        self._count = itertools.count()
        at_home = {"search_of": _at_home, "concluded": _at_home, "is_needed": _at_home, "queries": ()}
        shown = Plan(**{name: getattr(plan, name) for name in plan.__struct_fields__} | at_home)
        self._packed["plan", 0] = self.register.packed(shown)
        self._needed.update(self._packed["plan", 0][1])

    def key(self, what: str) -> str:
        """Return a new name for a task."""
        return f"clalign-{what}-{self.job}-{next(self._count)}"

    def forget_worker(self, address: str) -> None:
        """Take note that a worker has gone; what it has put into a cache stays there."""
        for place, (worker, future) in list(self.sources.items()):
            if worker == address and future is not None:
                if future.status == "finished":
                    self.sources[place] = "", None
                else:
                    del self.sources[place]

    def source(self, place: tuple[str, str]) -> list[Any] | None:
        """Return what to wait for until a shard is in a cache; None if nobody has put it there, or is about to.

        For one that is there nothing: a worker that waited for the answer of another would hang with it.
        """
        if place not in self.sources:
            return None
        _, future = self.sources[place]
        if future is None or future.status == "finished":
            return []
        return [future] if future.status == "pending" else None

    def search_name(self, number: int, search: Any) -> Reference:
        """Return the name of the search of a query; one that was made anew has another."""
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
        """Forget the search of a query of which all rows are stored, when some others are done as well."""
        self._done[number] = None
        while len(self._done) > MOST_SEARCHES:
            oldest = next(iter(self._done))
            del self._done[oldest]
            self._forget_search(oldest)

    def _forget_search(self, number: int) -> None:
        """Forget a search, and what travelled for itself because of it alone."""
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
        """Return what is sent under a name, and what it refers to."""
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
        """Return by what a shard is found again."""
        if (number, shard) not in self._digests:
            found = digest_of_shard(self.database(number), self.outline(number), shard)
            self._digests[number, shard] = found
        return self._digests[number, shard]


def named(device: Device, worker: str) -> Device:
    """Return a device as it is called at home."""
    return replace(device, id=f"{worker}/{device.id}")


def _at_home(*_: object) -> Any:
    raise RuntimeError("that is done at home")


@dataclass(eq=False)
class Worker:
    """A worker, and what it was sent.

    Attributes
    ----------
    address, name : str
    look : Look
    parcels : Parcels
    devices : list of RemoteDevice
        Those that take part.
    """

    address: str
    name: str
    look: at_worker.Look
    parcels: Parcels
    devices: list[RemoteDevice] = field(default_factory=list)
    _sent: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _searches: dict[Reference, list[Reference]] = field(default_factory=dict)
    _serials: dict[Reference, int] = field(default_factory=dict)
    _count: Iterator[int] = field(default_factory=itertools.count)

    def submit(self, what: str, function: Callable[..., Any], *given: Any) -> Any:
        """Have a function called on this worker, and on no other; return the future."""
        key = self.parcels.key(what)
        return self.parcels.client.submit(
            function, *given, workers=[self.address], allow_other_workers=False, pure=False, key=key
        )

    def forget_all(self) -> None:
        """Send everything anew from now on."""
        self._sent.clear()
        self._searches.clear()

    def forget(self, statuses: Sequence[str]) -> bool:
        """Send anew, from now on, what has come to this; return whether there is any such."""
        lost = [name for name, future in self._sent.items() if future.status in statuses]
        for name in lost:
            self._sent.pop(name).release()
        return bool(lost)

    def send(self, *names: Reference) -> list[Any]:
        """Send what is known by some names with all that it refers to, unless it was sent.

        Returns
        -------
        list of Future
            What a task must wait for that uses it.
        """
        new = [name for name in dict.fromkeys(names) if name not in self._sent]
        if new:
            parcels = {name: self.parcels.packed(name) for name in new}
            needed = dict.fromkeys(one for _, others in parcels.values() for one in others)
            before = self.send(*needed) if needed else []
            small = [name for name in new if len(parcels[name][0]) < LARGE_BYTES]
            for together in ([small] if small else []) + [[name] for name in new if name not in small]:
                self._hold({name: parcels[name][0] for name in together}, before)
        for name in new:
            if name[0] == "database" and self.parcels.outline(name[1]).n_shards == 1:
                self.send_shards(name[1], [0])
        alone = [("shard", number, 0) for kind, number in names if kind == "database"]
        return list(dict.fromkeys(self._sent[name] for name in (*names, *alone) if name in self._sent))

    def _hold(self, parcels: Mapping[Reference, bytes], before: Sequence[Any]) -> None:
        """Have parcels kept there; a large one is not put into the task itself, which Dask would warn of."""
        self._serials.update({name: next(self._count) for name in parcels})
        given = [(name, self._serials[name]) for name in parcels]
        sent = [data if len(data) < LARGE_BYTES else self._scattered(data) for data in parcels.values()]
        task = self.submit("hold", at_worker.hold, self.parcels.job, given, *sent, *before)
        self._sent.update(dict.fromkeys(parcels, task))

    def send_shards(self, database: int, shards: Iterable[int], is_anew: bool = False) -> list[Any]:
        """Send shards of a database that this worker lacks."""
        found = []
        for shard in shards:
            place = "shard", database, shard
            if place not in self._sent or is_anew:
                self._sent[place] = self._send_shard(database, shard, is_anew)
            found.append(self._sent[place])
        return found

    def _send_shard(self, database: int, shard: int, is_anew: bool) -> Any:
        parcels, digest = self.parcels, self.parcels.digest(database, shard)
        place = self.look.cache, digest
        source: Any = None
        after, known = self.send(("database", database))[:1], parcels.source(place)
        if is_anew:
            source = self._from_home(database, shard)
        elif known is not None:
            after += known
        elif digest not in self.look.shards:
            source = self._from_another(digest) or self._from_home(database, shard)
        given = parcels.job, database, shard, digest, source, *after
        future = self.submit("shard", at_worker.hold_shard, *given)
        parcels.sources[place] = self.address, future
        return future

    def _from_another(self, digest: str) -> Any:
        """Return the future of a shard that another worker has, which Dask carries from one to the other."""
        for other in self.parcels.lively.values():
            _, future = self.parcels.sources.get((other.look.cache, digest), ("", None))
            is_there = digest in other.look.shards or (future is not None and future.status == "finished")
            if other is not self and is_there:
                return other.submit("read", at_worker.read_shard, digest)
        return None

    def _from_home(self, database: int, shard: int) -> Any:
        return self._scattered(packed_shard(self.parcels.database(database), self.parcels.outline(database), shard))

    def _scattered(self, data: bytes) -> Any:
        given = {"workers": [self.address], "hash": False, "timeout": SCATTER_SECONDS}
        try:
            connection, client = self.parcels.connection, self.parcels.client
            return connection.awaited_of([self.address], lambda: client.scatter(data, **given))
        except (KeyError, ValueError, TimeoutError, WorkersGone) as error:  # a scheduler says so that there is no such
            raise ConnectionError(f"{self.address} has gone") from error

    def drop_old(self, searches: Iterable[Reference]) -> list[tuple[Reference, int]]:
        """Take note that searches are used; return what this worker may forget, with the serial numbers that it has.

        That are searches used long ago, and what only they referred to.
        """
        for search in searches:
            self._searches.pop(search, None)
            self._searches[search] = self.parcels.packed(search)[1]
        busy = {name for device in self.devices for asked in device.out.values() for _, name in asked}
        old = [name for name in list(self._searches)[:-MOST_SEARCHES] if name not in busy]
        once = dict.fromkeys(one for name in old for one in self._searches.pop(name) if one[0] == "shared")
        for needed in (self.parcels.packed(("plan", 0))[1], *self._searches.values()) if once else ():
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
        As the worker knows it.
    cutter : WorkersCutter
    spread : Spread or None
        Of the shards, and the number of their database.
    """

    def __init__(
        self, worker: Worker, device: Device, cutter: WorkersCutter, spread: tuple[int, Spread] | None
    ) -> None:
        self.worker, self.device, self.cutter, self._spread = worker, device, cutter, spread
        self.n_failures = self.n_again = 0
        self.out: dict[Any, list[Asked]] = {}
        worker.devices.append(self)
        self._task_seconds = 0.0

    @property
    def wants_more(self) -> bool:
        """Whether it has not enough in hand."""
        n = SECONDS_OUT / self._task_seconds if self._task_seconds else LEAST_OUT
        return len(self.out) < min(max(n, LEAST_OUT), MOST_OUT)

    @property
    def units(self) -> list[Unit[Any]]:
        """What it has in hand."""
        return [unit for asked in self.out.values() for unit, _ in asked]

    def send(self, units: Sequence[Unit[Any]], again: Sequence[Any] = ()) -> None:
        """Send units in one task, with all that they need and the worker lacks."""
        worker, parcels = self.worker, self.worker.parcels
        names = [parcels.search_name(unit.query.number, unit.query.search) for unit in units]
        after = [*worker.send(("plan", 0)), *worker.send(*names), *again]
        if self._spread is not None:
            number, spread = self._spread
            shards = dict.fromkeys(one for unit in units for one in spread.outline.of_rows(unit.first, unit.last))
            after += worker.send_shards(number, shards)
            for shard in shards:
                spread.hold(shard, worker.address)
        drop = worker.drop_old(names)
        rows = [(name, unit.query.number, unit.first, unit.last) for unit, name in zip(units, names, strict=True)]
        future = worker.submit(
            "units", at_worker.compute, parcels.job, self.device.to_dict(), rows, drop, *dict.fromkeys(after)
        )  # fmt: skip
        self.out[future] = list(zip(units, names, strict=True))
        future.add_done_callback(lambda done: parcels.answers.put((self, done)))

    def take(self, future: Any) -> list[Unit[Any]]:
        """Return the units of a future, which are in hand no more; none if they were not any more."""
        return [unit for unit, _ in self.out.pop(future, ())]

    def measure(self, seconds: float) -> None:
        """Take note of how long a task took."""
        self._task_seconds = seconds

    def withdraw(self) -> list[Unit[Any]]:
        """Have nothing in hand any more; return what that was."""
        units = self.units
        for future in self.out:
            future.cancel()
        self.out.clear()
        return units
