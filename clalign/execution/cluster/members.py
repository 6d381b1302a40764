"""The workers of a cluster as home knows them: what each was sent, and what its devices have in hand."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

from clalign.execution.cluster import at_worker
from clalign.execution.cluster.connecting import Connection
from clalign.execution.cluster.parcels import Reference, Register
from clalign.execution.cluster.rows import Spread, WorkersCutter
from clalign.execution.cluster.shards import Outline, digest_of_shard, packed_shard
from clalign.execution.units import Plan, Unit
from clalign.values.devices import Device
from clalign.values.sequences import SequenceDatabase

MOST_SEARCHES = 32
"""Queries that a worker keeps; more than it has units in hand."""

SCATTER_SECONDS = 30
"""So long a shard may take to a worker."""

SECONDS_OUT = 2.0
"""A device has units in hand for so long, as long as the last one took, so that it does not wait for home."""

LEAST_OUT, MOST_OUT = 2, 16

Answer = tuple["RemoteDevice", Any]
"""Whose, and the future of Dask."""


class Parcels:
    """What travels to all workers of a job, packed once.

    Parameters
    ----------
    connection : Connection
    plan : Plan
        What a worker needs of it is sent.
    """

    def __init__(self, connection: Connection, plan: Plan[Any]) -> None:
        self.client = connection.client
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
        self._count = itertools.count()
        at_home = {"search_of": _at_home, "concluded": _at_home, "is_needed": _at_home, "queries": ()}
        shown = Plan(**{name: getattr(plan, name) for name in plan.__dataclass_fields__} | at_home)
        self._packed["plan", 0] = self.register.packed(shown)

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
        """Return what to wait for until a shard is in a cache; None if nobody has put it there, or is about to."""
        if place not in self.sources:
            return None
        _, future = self.sources[place]
        if future is None:
            return []
        return [future] if future.status in ("pending", "finished") else None

    def search_name(self, number: int, search: Any) -> Reference:
        """Return the name of the search of a query; one that was made anew has another."""
        known = self._searches.get(number)
        if known is None or known[0] is not search:
            if known is not None:
                self._packed.pop(known[1], None)
            known = self._searches[number] = search, ("search", next(self._count))
        return known[1]

    def forget_searches(self, is_wanted: Callable[[int], bool]) -> None:
        """Forget searches of queries that are done."""
        for number in [number for number in self._searches if not is_wanted(number)]:
            self._packed.pop(self._searches.pop(number)[1], None)

    def packed(self, name: Reference, thing: Any = None) -> tuple[bytes, list[Reference]]:
        """Return what is sent under a name, and what it refers to."""
        if name not in self._packed:
            if name[0] == "database":
                thing = self.outline(name[1])
            elif name[0] == "shared":
                thing = self.register.found[name]
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
    """

    address: str
    name: str
    look: at_worker.Look
    parcels: Parcels
    _sent: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    _searches: dict[Reference, int] = field(default_factory=dict)
    _drop: list[Reference] = field(default_factory=list)

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
        self._drop.clear()

    def forget(self, statuses: Sequence[str]) -> bool:
        """Send anew, from now on, what has come to this; return whether there is any such."""
        lost = [name for name, future in self._sent.items() if future.status in statuses]
        for name in lost:
            self._sent.pop(name).release()
        return bool(lost)

    def send(self, name: Reference, thing: Any = None) -> list[Any]:
        """Send something with all that it refers to, unless it was sent; return what a task must wait for."""
        if name in self._sent:
            return [self._sent[name]]
        data, needed = self.parcels.packed(name, thing)
        before = [future for one in needed for future in self.send(one)]
        self._sent[name] = self.submit("hold", at_worker.hold, self.parcels.job, name, data, *before)
        found = [self._sent[name]]
        if name[0] == "database" and self.parcels.outline(name[1]).n_shards == 1:
            found += self.send_shards(name[1], [0])
        return found

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
        data = packed_shard(self.parcels.database(database), self.parcels.outline(database), shard)
        try:
            return self.parcels.client.scatter(data, workers=[self.address], hash=False, timeout=SCATTER_SECONDS)
        except (KeyError, ValueError, TimeoutError) as error:  # so a scheduler says that there is no such worker
            raise ConnectionError(f"{self.address} has gone") from error

    def drop_old(self, search: Reference, in_hand: Iterable[Reference]) -> list[Reference]:
        """Take note that a search is used; return those that this worker may forget."""
        self._searches.pop(search, None)
        self._searches[search] = 1
        busy = set(in_hand)
        old = [name for name in list(self._searches)[:-MOST_SEARCHES] if name not in busy]
        for name in old:
            del self._searches[name]
            self._sent.pop(name, None)
        return old


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
        self.out: dict[Any, tuple[Unit[Any], Reference]] = {}
        self._unit_seconds = 0.0

    @property
    def wants_more(self) -> bool:
        """Whether it has not enough in hand."""
        n = SECONDS_OUT / self._unit_seconds if self._unit_seconds else LEAST_OUT
        return len(self.out) < min(max(n, LEAST_OUT), MOST_OUT)

    @property
    def units(self) -> list[Unit[Any]]:
        """What it has in hand."""
        return [unit for unit, _ in self.out.values()]

    def send(self, unit: Unit[Any], again: Sequence[Any] = ()) -> None:
        """Send a unit, with all that it needs and the worker lacks."""
        worker, parcels, query = self.worker, self.worker.parcels, unit.query
        search = parcels.search_name(query.number, query.search)
        after = [*worker.send(("plan", 0)), *worker.send(search, query.search), *again]
        if self._spread is not None:
            number, spread = self._spread
            shards = spread.outline.of_rows(unit.first, unit.last)
            after += worker.send_shards(number, shards)
            for shard in shards:
                spread.hold(shard, worker.address)
        drop = worker.drop_old(search, [name for _, name in self.out.values()])
        rows = query.number, unit.first, unit.last
        future = worker.submit(
            "unit", at_worker.compute, parcels.job, self.device.to_dict(), search, rows, drop, *after
        )  # fmt: skip
        self.out[future] = unit, search
        future.add_done_callback(lambda done: parcels.answers.put((self, done)))

    def take(self, future: Any) -> Unit[Any] | None:
        """Return the unit of a future, which is in hand no more; None if it was not any more."""
        found = self.out.pop(future, None)
        return None if found is None else found[0]

    def measure(self, cells: float, seconds: float) -> None:
        """Take note of how long a unit took."""
        self._unit_seconds = seconds
        self.cutter.measure(cells, seconds)

    def withdraw(self) -> list[Unit[Any]]:
        """Have nothing in hand any more; return what that was."""
        units = self.units
        for future in self.out:
            future.cancel()
        self.out.clear()
        return units
