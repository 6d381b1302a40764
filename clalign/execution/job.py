"""The job of a run: a device opens while the input is read, what the run lacks is computed, and the run keeps what
becomes of it.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

import clalign
from clalign import tracing
from clalign.compute.opening import LISTEN_SECONDS, Opening, Rehearse, opening_of
from clalign.compute.sessions import Session
from clalign.databases.packed import VERSION as PACKING
from clalign.databases.reports import InputReport
from clalign.errors import ClalignError, RunBusy
from clalign.execution.apart.starting import end_ahead, end_all, remember
from clalign.execution.crew import Crew
from clalign.execution.estimate import Estimate
from clalign.execution.executor import Executor, Told
from clalign.execution.host import Host
from clalign.execution.planner import Planner
from clalign.execution.units import Plan
from clalign.execution.writer import Writer
from clalign.jobs import JobContext
from clalign.runs.ownership import owned
from clalign.runs.run_file import RunFile
from clalign.sizes import rate_of_run
from clalign.values.devices import Device, cluster_of, names_several, told_apart
from clalign.values.sequences import Column
from clalign.values.shards import ShardRows, shard_of
from clalign.values.specs import Spec

if TYPE_CHECKING:
    from clalign.execution.apart.home import DeviceApart

CHANGED_TEXT = "The sequence file has changed since it was opened; what it holds now is searched."

SLOW_TEXT = "Running on the NumPy reference, which is slow and meant for checking."

MANY = 2
"""Devices of a cluster, of which the number is not known before."""

MOST_NAMED = 64
"""So many devices a run names."""

APART = ("gpu", "accelerator")
"""Kinds of devices of which several compute in a process each, where the engine has them do so."""

Summary = dict[str, Any]
SpecOf = TypeVar("SpecOf", bound=Spec)


class Task(Struct, Generic[SpecOf], frozen=True):
    """A run, and what is asked of it.

    Attributes
    ----------
    run : RunFile
        New, or left by an earlier worker; finished batches are not computed again.
    spec : SpecOf
    pick_device : callable
        Returns the device for the user's words.
    context : JobContext
        Told of the progress, and asked whether to stop.
    given : mapping of str to list
        Inputs that are in memory already, by the field of the spec, which is ``-`` then.
    pick_devices : callable, optional
        Returns the devices for words that mean several, and what is to be said of others.
    beside : tuple of str
        Words for further devices, which compute at the same time.
    foresee : callable
        Told what will be started on every device as soon as that is known (see `Opening.foresee`), so that programs
        are built while the rest of the input is read.
    foresee_help : callable
        Told likewise what the processor that helps a card will start.
    is_only_foreseen : bool
        Whether nothing is computed, and nothing written into the run.
    """

    run: RunFile
    spec: SpecOf
    pick_device: Callable[[str], Device]
    context: JobContext
    given: Mapping[str, list[Any]] = field(default_factory=dict)
    pick_devices: Callable[[str], tuple[list[Device], list[str]]] | None = None
    beside: tuple[str, ...] = ()
    foresee: Callable[[Rehearse], None] = lambda rehearse: None
    foresee_help: Callable[[Rehearse], None] = lambda rehearse: None
    is_only_foreseen: bool = False

    def warn(self, text: str) -> None:
        """Tell something the user must know, and keep it with the run."""
        if not self.is_only_foreseen:
            self.run.add_message("warning", text)
        self.context.warn(text)


class Targets(Protocol):
    """Sequences, as far as they are counted."""

    def __len__(self) -> int: ...

    @property
    def n_residues(self) -> int:
        """Residues of all."""


class Parted(Targets, Protocol):
    """Sequences of a database, of which a part can be searched."""

    @property
    def offsets(self) -> Column:
        """Where each begins among the residues of all (int64[n + 1])."""


class Work(Protocol):
    """What an engine computes, once its input is read."""

    @property
    def targets(self) -> Targets:
        """The sequences that the summary counts."""

    @property
    def report(self) -> InputReport:
        """Of the targets."""

    def store(self) -> dict[str, Any]:
        """Store the cards of the queries, if they are not there, and return the facts of the input."""

    def cautions(self) -> Iterable[str]:
        """Return what the user should know before it begins."""

    def plan(self) -> Plan[Any]:
        """Return what is to be computed."""

    def estimate(self, n_cells: float, devices: Sequence[Device]) -> Estimate:
        """Return what so many cells, those of the plan, will take devices together."""

    def summary(self) -> dict[str, Any]:
        """Return what the summary has besides."""


def compute_run(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], is_apart: bool = False) -> Summary:
    """Compute until everything is in the run file.

    Parameters
    ----------
    task : Task
    load : callable
        Reads the input, while the device is being opened.
    is_apart : bool
        Whether several cards compute in a process each, which reads the input again.

    Returns
    -------
    dict
        The summary that the job ends with (``n_hits``, ``n_sequences``, ``cells``, ``seconds`` ...).

    Raises
    ------
    ClalignError
        What the user can act on; the state of the run is then ``failed``.
    Cancelled
        The state is then ``stopped``, and what is finished stays.
    """
    try:
        with owned(task.run.path):
            return _owned(task, load, is_apart)
    except RunBusy:
        raise  # its state is the other worker's business
    except ClalignError as error:
        task.run.set_facts(state="failed", error={"message": error.message, "hint": error.hint})
        raise


def _owned(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], is_apart: bool) -> Summary:
    run = task.run
    run.set_facts(state="running", error=None)
    try:
        summary = _computed(task, load, is_apart)
    except ClalignError:
        raise
    except BaseException:
        # Cancelled, or nobody listens any more, or a fault: what is finished can be continued.
        run.set_facts(state="stopped")
        raise
    with tracing.span("close the run", "storing"):
        run.unfinished.drop()
        run.set_facts(state="done", finished=summary)
        run.seal()
    return summary


def _computed(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], is_apart: bool) -> Summary:
    started, run = time.monotonic(), task.run
    cluster = cluster_of(task.spec.to_dict()["device"])
    work, shift = _by_devices(task, load, is_apart) if cluster is None else _by_workers(task, load, *cluster)
    searched: Targets = work.targets if shift.part is None else shift.part
    seconds = time.monotonic() - started
    return {
        "run": str(run.path),
        "n_hits": run.n_hits(),
        "n_sequences": len(searched),
        "n_residues": searched.n_residues,
        "seconds": seconds,
        **shift.summary(seconds),
        **work.summary(),
    }


def _by_devices(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], is_apart: bool) -> tuple[Work, _Shift]:
    """Compute on devices of this machine."""
    crew = Crew(task.run, task.context, task.warn)
    picks, helps = picks_of(task), list[Rehearse]()
    devices = [pick.device for pick in picks if isinstance(pick, Given)]
    is_known = len(devices) == len(picks) > 1 and all(device.kind in APART for device in devices)
    is_apart = is_apart and is_known and _has_files(task)
    with ExitStack() as stack:
        stack.callback(end_all)
        if is_apart:
            openings: list[Opening[Any]] = _apart(task, devices, crew)
        else:
            end_ahead()
            openings = [opening_of(pick, task.context, crew.check) for pick in picks]
        for opening in openings:
            stack.enter_context(opening)
        with tracing.span("read the inputs", "reading"):
            foreseen = [] if is_apart else openings
            work = load(replace(task, foresee=partial(_foresee, foreseen), foresee_help=helps.append))
        shift = _Shift(task, work, crew, len(openings), helps)
        crew.work(openings, shift.serve_apart if is_apart else shift.serve, shift.has_begun_units)
    return work, shift


def _by_workers(
    task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], words: str, address: str
) -> tuple[Work, _Shift]:
    """Compute on the workers of a cluster, which are looked at before anything is read."""
    from clalign.execution.cluster.connecting import Connection
    from clalign.execution.cluster.home import Home

    with (
        tracing.span("connect to the cluster", "start"),
        Connection(address, task.context.check, task.context.warn) as connection,
    ):
        home = Home(connection, words, task.context, task.warn, task.pick_device)
        connection.check_versions()
        with tracing.span("read the inputs", "reading"):
            work = load(task)
        shift = _Shift(task, work, Crew(task.run, task.context, task.warn), MANY, are_workers=True)
        try:
            home.work(shift.begin)
        finally:
            hosts, seconds = home.end()
        shift.end(None, seconds)
        for host in hosts:
            shift.end(host, {})
    return work, shift


def picks_of(task: Task[Any]) -> list[Callable[[], Device]]:
    """Return what picks each of the devices that are asked for."""
    words = task.spec.to_dict()["device"]
    if task.pick_devices is None or not names_several(words):
        return [partial(task.pick_device, word) for word in (words, *task.beside)]
    pool = ThreadPoolExecutor(1, "picks devices")  # drivers may take their time
    picking = pool.submit(task.pick_devices, words)
    pool.shutdown(wait=False)
    while not wait([picking], LISTEN_SECONDS).done:
        task.context.check()
    found, texts = picking.result()
    for text in texts:
        task.warn(text)
    return [Given(device) for device in found]


class Given(Struct, frozen=True):
    """Picks a device that is known already."""

    device: Device

    def __call__(self) -> Device:
        """Return it."""
        return self.device


def _apart(task: Task[Any], devices: Sequence[Device], crew: Crew) -> list[Opening[DeviceApart]]:
    """Return what opens devices each in a process of its own."""
    from clalign.execution.apart.home import DeviceApart

    spec, engine = task.spec.to_dict(), task.run.facts.engine
    remember(engine, spec["device"], [device.id for device in devices])
    given = task.run.path, spec, len(devices), crew.check
    return [Opening(partial(DeviceApart, engine, device, *given)) for device in devices]


def _has_files(task: Task[Any]) -> bool:
    """Return whether another process can read the input, too; a pipe is read once."""
    return not task.given and not any(
        path == "-" or (os.path.exists(path) and not os.path.isfile(path)) for path in task.spec.paths
    )


def _foresee(openings: Sequence[Opening[Session]], rehearse: Rehearse) -> None:
    for opening in openings:
        opening.foresee(rehearse, but_for=() if len(openings) == 1 else ("cpu",))


HELP_SECONDS = 5.0
"""What cards do in less a processor does not take part in: the programs that it needs first would take as long."""


def stand_by(device: Device, writer: Writer[Any], n_devices: int, rest: Callable[[float], None]) -> None:
    """Let a processor wait beside cards, whose domains it defines, too: compilers of its driver take turns.

    Parameters
    ----------
    device : Device
    writer : Writer
        Knows the devices that have begun, this one among them.
    n_devices : int
        How many were asked for.
    rest : callable
        Waits for so many seconds; raises `Cancelled` as soon as the job has ended.
    """
    if device.kind != "cpu" or n_devices == 1:
        return
    until = time.monotonic() + HELP_SECONDS
    writer.planner.rest(1)
    try:
        while time.monotonic() < until:
            kinds = [share.device.kind for share in tuple(writer.shares.values())]
            if len(kinds) == n_devices and not {"gpu", "accelerator"}.intersection(kinds):
                return
            rest(LISTEN_SECONDS)
    finally:
        writer.planner.rest(-1)


class _Shift:
    """What the executors of a job share: it begins when the first device is there."""

    def __init__(
        self, task: Task[Any], work: Work, crew: Crew, n_devices: int, helps: Sequence[Rehearse] = (),
        are_workers: bool = False,
    ) -> None:  # fmt: skip
        self._task, self._work, self._crew, self._n_devices = task, work, crew, n_devices
        self._helps, self._are_workers = helps, are_workers
        self._writer: Writer[Any] | None = None
        self._beginning = threading.Event()
        self._hosts: dict[str, None] = {}
        self._seconds: Counter[str] = Counter()
        self.part = part_of(task, work)

    def serve(self, session: Session, run: RunFile, tell: Told) -> None:
        """Compute with one device until everything is stored."""
        writer = self._writer_for(session.device, tell)
        stand_by(session.device, writer, self._n_devices, self._crew.rest)
        has_host = writer.planner.plan.has_host
        with Host(session, self._task.pick_device, self._crew.check, has_host, self._helps) as host:
            try:
                Executor(session, host, run, writer, tell, has_host and session.device.kind == "cpu").compute()
            finally:
                name = host.session.device.name if host.session else None
                tell(partial(self.end, name, host.seconds_by_kernel()))

    def serve_apart(self, device: DeviceApart, run: RunFile, tell: Told) -> None:
        """Let another process compute with a device until everything is stored."""
        host, seconds = device.compute(run, self._writer_for(device.device, tell), tell)
        tell(partial(self.end, host, seconds))

    def has_begun_units(self) -> bool:
        """Return whether a unit is computed of which something may be kept when the job is stopped."""
        return self._writer is not None and self._writer.has_begun_units

    def _writer_for(self, device: Device, tell: Told) -> Writer[Any]:
        """Have it noted that a device takes part, and wait for the writer."""
        tell(partial(self.begin, device))
        while not self._beginning.wait(LISTEN_SECONDS):
            self._crew.check()
        assert self._writer is not None
        return self._writer

    def begin(self, device: Device) -> Writer[Any]:
        """Take note of a device that takes part; return the writer."""
        if self._writer is None:
            self._writer = self._begun(device)
        shares = self._writer.shares
        if device.id not in shares:
            self._writer.share_of(device)
            devices = [share.device for share in shares.values()]
            if len(devices) <= MOST_NAMED:
                drivers = ", ".join(dict.fromkeys(one.driver for one in devices if one.driver))
                all_ = {"name": ", ".join(told_apart(devices)), "id": ",".join(shares), "driver": drivers}
                self._task.run.set_facts(device={**devices[0].to_dict(), **all_})
        self._beginning.set()
        return self._writer

    def _begun(self, device: Device) -> Writer[Any]:
        """Store what is known before anything is computed."""
        task, work, run = self._task, self._work, self._task.run
        store_facts(task, work, self.part)
        for text in cautions_of(run, work, device if self._n_devices == 1 else None):
            task.warn(text)
        plan = plan_of_part(work, self.part)
        if not self._are_workers:
            plan = plan.among(self._n_devices)
        return Writer(run, Planner(plan, self._n_devices), task.context)

    def end(self, host: str | None, seconds: Mapping[str, float]) -> None:
        """Take note of what a device, or the processor that helped it, has done."""
        if host is not None:
            self._hosts[host] = None
        self._seconds.update(seconds)

    def summary(self, seconds: float) -> Summary:
        """Return what is known of the speed of a run that took so long."""
        writer = self._writer
        assert writer is not None
        parts = writer.parts()
        at_work = [part["name"] for part in parts if part["cells"]] or [part["name"] for part in parts]
        return {
            "cells": writer.done_cells,
            "device_seconds": writer.device_seconds,
            "new_cells": writer.new_cells,
            "gcups": rate_of_run(writer.new_cells, seconds),
            "device": ", ".join(at_work),
            "kernel_seconds": {name: round(value, 6) for name, value in self._seconds.items()},
            "domain_device": ", ".join(self._hosts) or None,
            **({"devices": parts} if self._n_devices > 1 else {}),
        }


def store_facts(task: Task[Any], work: Work, part: ShardRows | None) -> None:
    """Store what a run says of itself from the moment on that its computation begins."""
    with tracing.span("describe the queries", "preparing"):
        facts = work.store()
    task.run.set_facts(
        spec=task.spec.to_dict(), database=work.report, packing=PACKING, versions=versions(), **facts,
        **({"shard": part} if part is not None else {}),
    )  # fmt: skip


def part_of(task: Task[Any], work: Work) -> ShardRows | None:
    """Return which part of the targets is asked for; None for all."""
    asked = shard_of(task.spec.to_dict())
    return asked.of_database(cast(Parted, work.targets).offsets) if asked is not None else None


def plan_of_part(work: Work, part: ShardRows | None) -> Plan[Any]:
    """Return the plan of a part of the targets; that of all if there is none."""
    plan = work.plan()
    if part is None:
        return plan
    n_cells = plan.n_cells * part.n_residues / max(1, work.targets.n_residues)
    return replace(plan, first_row=part.first, n_rows=part.last, n_cells=n_cells)


def cautions_of(run: RunFile, work: Work, device: Device | None) -> Iterator[str]:
    """Yield what the user should know before a run begins."""
    if run.facts.seen_digest not in (None, work.report.digest):
        yield CHANGED_TEXT
    yield from work.cautions()
    if device is not None and device.kind == "reference":
        yield SLOW_TEXT


def versions() -> dict[str, str]:
    """Return the versions of the program and of what it computes with."""
    found = {"clalign": clalign.__version__, "python": platform.python_version(), "platform": sys.platform}
    for package, name in (("numpy", "__version__"), ("pyopencl", "VERSION_TEXT")):
        if package in sys.modules:  # reading it from the installed files takes as long as all of the start
            found[package] = str(getattr(sys.modules[package], name))
    return found
