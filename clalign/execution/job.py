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
from contextlib import ExitStack, contextmanager
from functools import partial
from operator import call
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import replace

import clalign
from clalign import tracing
from clalign.compute.opening import CHECK_SECONDS, Opening, OpenSession, Rehearse, opening_of
from clalign.compute.sessions import Session
from clalign.databases.packed import VERSION as PACKING
from clalign.databases.reports import InputReport
from clalign.errors import ClalignError, RunBusy
from clalign.execution.executor import CpuHelper, Executor
from clalign.execution.local_executors import LocalExecutors, Serve
from clalign.execution.planner import Planner
from clalign.execution.remote.processes import MAX_SHARE_OF_MEMORY, Processes, n_processes
from clalign.execution.speed import MANY_PROGRAMS, START_SECONDS, Estimate, build_seconds, n_compilers
from clalign.execution.units import Plan
from clalign.execution.writer import Forecast, Post, RunAccess, Writer
from clalign.jobs import BuildReports, JobContext
from clalign.runs.connection import owned
from clalign.runs.run_file import RunFile
from clalign.values.devices import SLOW_TEXT, Device, cluster_of, distinct_names, names_several
from clalign.values.documents import BegunFacts, JobResult
from clalign.values.profiles import Hmm
from clalign.values.sequences import Column
from clalign.values.shards import ShardRows, shard_of
from clalign.values.specs import Spec

if TYPE_CHECKING:
    from clalign.execution.remote.client import DeviceProcess

CHANGED_TEXT = "The sequence file has changed since it was opened; what it holds now is searched."

MANY = 2
"""Stands for the number of devices of a cluster, which is not known before."""

IN_PROCESSES = ("gpu", "accelerator")
"""Kinds of devices of which several compute in a process each, for engines that allow it."""

SpecOf = TypeVar("SpecOf", bound=Spec, covariant=True)


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
        Gets the progress, and says whether to stop.
    given : mapping of str to list
        Inputs that are in memory already, by the field of the spec, which is ``-`` then.
    pick_devices : callable, optional
        Returns the devices for words that mean several, and what is to be said of others.
    open_session : callable, optional
        Opens a device; by default `clalign.compute.opening.open_session`.
    beside : tuple of str
        Words for further devices, which compute at the same time.
    build_ahead : callable
        Called with what will be started on every device, as soon as that is known, so that programs are built while
        the rest of the input is read; see `Opening.build_ahead`.
    build_ahead_for_helper : callable
        The same for the processor that helps a card.
    is_dry_run : bool
        Whether nothing is computed, and nothing written into the run.
    """

    run: RunFile
    spec: SpecOf
    pick_device: Callable[[str], Device]
    context: JobContext
    given: Mapping[str, list[Hmm]] = field(default_factory=dict)
    pick_devices: Callable[[str], tuple[list[Device], list[str]]] | None = None
    open_session: OpenSession | None = None
    beside: tuple[str, ...] = ()
    build_ahead: Callable[[Rehearse], None] = lambda rehearse: None
    build_ahead_for_helper: Callable[[Rehearse], None] = lambda rehearse: None
    is_dry_run: bool = False

    def warn(self, text: str) -> None:
        """Warn the user, and keep the warning with the run."""
        if not self.is_dry_run:
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
        """The report on the targets."""

    def store(self) -> BegunFacts:
        """Store the cards of the queries, if they are not there, and return the facts of the input."""

    def cautions(self) -> Iterable[str]:
        """Return the sentences that the user should read before it begins."""

    def plan(self) -> Plan:
        """Return the plan of the work."""

    def estimate(self, n_cells: float, devices: Sequence[Device]) -> Estimate:
        """Return the time and memory of the cells of the plan on devices together."""

    def summary(self) -> JobResult:
        """Return the further fields of the summary."""


def compute_run(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], in_processes: bool = False) -> JobResult:
    """Compute until everything is in the run file.

    Parameters
    ----------
    task : Task
    load : callable
        Reads the input, while the device is being opened.
    in_processes : bool
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
    run = task.run
    try:
        with owned(run.path):
            run.set_facts(state="running", error=None)
            try:
                summary = _compute(task, load, in_processes)
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
    except RunBusy:
        raise  # its state is the other worker's business
    except ClalignError as error:
        run.set_facts(state="failed", error={"message": error.message, "hint": error.hint})
        raise


def _compute(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], in_processes: bool) -> JobResult:
    started, run = time.monotonic(), task.run
    cluster = cluster_of(task.spec.to_dict()["device"])
    work, running = _by_devices(task, load, in_processes) if cluster is None else _by_workers(task, load, *cluster)
    searched: Targets = work.targets if running.part is None else running.part
    seconds = time.monotonic() - started
    return {
        "run": str(run.path),
        "n_hits": run.n_final_hits(),
        "n_sequences": len(searched),
        "n_residues": searched.n_residues,
        "seconds": seconds,
        **running.summary(seconds),
        **work.summary(),
    }


def _by_devices(
    task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], in_processes: bool
) -> tuple[Work, RunningJob]:
    """Compute on devices of this machine."""
    executors = LocalExecutors(task.run, task.context, task.warn)
    (picks, devices), rehearsals, builds = picks_of(task), list[Rehearse](), BuildReports(task.context)
    is_known = len(devices) > 1 and all(device.kind in IN_PROCESSES for device in devices)
    may_use_processes = in_processes and _has_files(task) and not task.spec.needs_ends
    in_processes = may_use_processes and is_known
    with ExitStack() as stack:
        processes = stack.enter_context(Processes())
        if in_processes:
            openings: list[Opening[Any]] = _processes(task, devices, len(devices), executors, processes)
        else:
            openings = [opening_of(pick, task.context, executors.check, task.open_session, builds) for pick in picks]
        for opening in openings:
            stack.enter_context(opening)
        with tracing.span("read the inputs", "reading"):
            opened_here = [] if in_processes else openings
            work = load(
                replace(task, build_ahead=partial(_build_ahead, opened_here), build_ahead_for_helper=rehearsals.append)
            )
        running = RunningJob(task, work, executors, len(openings), rehearsals, builds=builds)
        serve = running.serve_process if in_processes else running.serve
        served: list[tuple[Opening[Any], Serve[Any]]] = [(opening, serve) for opening in openings]
        if may_use_processes and len(openings) == 1:
            more = _processes_beside(openings[0], task, running, executors, processes)
            served += [(stack.enter_context(opening), running.serve_process) for opening in more]
            running.n_executors = len(served)
        if len(served) == 1:  # it computes in this thread, which is also the writer's: what it posts is called at once
            openings[0].work(lambda session: running.serve(session, task.run, call), executors.check, task.warn)
        else:
            executors.work(served, running.has_begun_units, running.is_reporting)
    return work, running


def _by_workers(
    task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work], words: str, address: str
) -> tuple[Work, RunningJob]:
    """Compute on the workers of a cluster, which are looked at before anything is read."""
    from clalign.execution.cluster.connection import Connection
    from clalign.execution.cluster.job import ClusterJob

    with (
        tracing.span("connect to the cluster", "start"),
        Connection(address, task.context.check, task.context.warn) as connection,
    ):
        job = ClusterJob(connection, words, task.context, task.warn, task.pick_device)
        connection.check_versions()
        with tracing.span("read the inputs", "reading"):
            work = load(task)
        executors = LocalExecutors(task.run, task.context, task.warn)
        running = RunningJob(task, work, executors, MANY, builds=BuildReports(task.context), are_workers=True)
        try:
            job.work(running.begin)
        finally:
            helpers, seconds = job.end()
        running.end(None, seconds)
        for helper in helpers:
            running.end(helper, {})
    return work, running


def picks_of(task: Task[Spec]) -> tuple[list[Callable[[], Device]], list[Device]]:
    """Return a callable that picks it for each device that is asked for, and the devices if they are known already."""
    words = task.spec.to_dict()["device"]
    if task.pick_devices is None or not names_several(words):
        return [partial(task.pick_device, word) for word in (words, *task.beside)], []
    pool = ThreadPoolExecutor(1, "picks devices")  # drivers may take their time
    picking = pool.submit(task.pick_devices, words)
    pool.shutdown(wait=False)
    while not wait([picking], CHECK_SECONDS).done:
        task.context.check()
    found, texts = picking.result()
    for text in texts:
        task.warn(text)
    return [partial(_known, device) for device in found], found


def _known(device: Device) -> Device:
    return device


def _processes(
    task: Task[Spec], devices: Sequence[Device], n_executors: int, executors: LocalExecutors, processes: Processes
) -> list[Opening[DeviceProcess]]:
    """Start opening each device in a process of its own, for one of the executors of the job."""
    from clalign.execution.remote.client import DeviceProcess

    spec, engine = task.spec.to_dict(), task.run.facts.engine
    given = task.run.path, spec, n_executors, executors.check
    return [Opening(partial(DeviceProcess, processes, engine, device, *given)) for device in devices]


def _processes_beside(
    opening: Opening[Session], task: Task[Spec], running: RunningJob, executors: LocalExecutors, processes: Processes
) -> list[Opening[DeviceProcess]]:
    """Start the processes that compute with a card besides this one, which alone would keep it waiting."""
    session = opening.opened(executors.check)
    if session is None or session.device.kind not in IN_PROCESSES:
        return []
    plan, device = running.plan, session.device
    n_cells = max(0.0, plan.n_cells - task.run.work_done()[0])
    n = n_processes(len(plan.queries) * n_cells / max(1.0, plan.n_cells), n_cells)
    n = max(1, min(n, int(MAX_SHARE_OF_MEMORY * device.memory_bytes / max(1, running.n_residues))))
    return _processes(task, [device] * (n - 1), n, executors, processes)


def _has_files(task: Task[Spec]) -> bool:
    """Return whether another process can read the input, too; a pipe is read once."""
    return not task.given and not any(
        path == "-" or (os.path.exists(path) and not os.path.isfile(path)) for path in task.spec.paths
    )


def _build_ahead(openings: Sequence[Opening[Session]], rehearse: Rehearse) -> None:
    for opening in openings:
        opening.build_ahead(rehearse, except_kinds=() if len(openings) == 1 else ("cpu",))


HELP_SECONDS = 5.0
"""Time before a processor takes part beside cards (s): compiling its programs would take as long."""


def stand_by(device: Device, writer: Writer, n_devices: int, rest: Callable[[float], None]) -> None:
    """Let a processor start late beside cards: it also defines their domains, and compiling for both would compete.

    Parameters
    ----------
    device : Device
    writer : Writer
        Knows the devices that have begun, this one among them.
    n_devices : int
        How many were asked for.
    rest : callable
        Waits for this many seconds; raises `Cancelled` as soon as the job has ended.
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
            rest(CHECK_SECONDS)
    finally:
        writer.planner.rest(-1)


class RunningJob:
    """What the executors of a job share: writer, devices, times. It begins with the first device that is opened."""

    def __init__(
        self, task: Task[Spec], work: Work, executors: LocalExecutors, n_devices: int,
        rehearsals: Sequence[Rehearse] = (), *, builds: BuildReports, are_workers: bool = False,
    ) -> None:  # fmt: skip
        self._task, self._work, self._executors, self._n_devices = task, work, executors, n_devices
        self.n_executors = n_devices
        self._rehearsals, self._builds, self._are_workers = rehearsals, builds, are_workers
        self._writer: Writer | None = None
        self._at_work: list[RunAccess] = []
        self._beginning = threading.Event()
        self._helpers: dict[str, None] = {}
        self._seconds: Counter[str] = Counter()
        self.part = part_of(task, work)
        self.plan = plan_of_part(work, self.part)

    @property
    def n_residues(self) -> int:
        """Residues that are searched."""
        return self._work.targets.n_residues if self.part is None else self.part.n_residues

    def serve(self, session: Session, run: RunFile, post: Post) -> None:
        """Compute with a device until everything is stored."""
        device, writer = session.device, self._writer_for(session.device, post)
        stand_by(device, writer, self._n_devices, self._executors.rest)
        plan, task = writer.planner.plan, self._task
        with (
            CpuHelper(
                session, task.pick_device, self._executors.check, plan.may_suit_cpu, self._rehearsals, task.open_session
            ) as helper,
            self._access(device, run, post) as access,
        ):
            if plan.may_suit_cpu and device.kind == "cpu":
                writer.planner.yield_while_helping(access.cutter)
            try:
                Executor(session, helper, plan, access.cutter, access).compute()
            finally:
                post(partial(self.end, *helper.report()))

    def serve_process(self, process: DeviceProcess, run: RunFile, post: Post) -> None:
        """Let another process compute with a device until everything is stored."""
        with self._access(process.device, run, post) as access:
            helper, seconds = process.compute(access, self._builds.of_device())
            post(partial(self.end, helper, seconds))

    @contextmanager
    def _access(self, device: Device, run: RunFile, post: Post) -> Iterator[RunAccess]:
        """Yield the access of an executor, which has reported its times at the end of the block."""
        access = RunAccess(self._writer_for(device, post), run, device, post)
        self._at_work.append(access)
        try:
            yield access
        finally:
            self._at_work.remove(access)

    def is_reporting(self) -> bool:
        """Return whether executors that compute nothing any more will report, or any that will with spans."""
        return any(one.has_stored and (tracing.is_on() or not one.has_units) for one in tuple(self._at_work))

    def has_begun_units(self) -> bool:
        """Return whether there are unfinished units of which something may be kept when the job is stopped."""
        return self._writer is not None and self._writer.has_begun_units

    def _writer_for(self, device: Device, post: Post) -> Writer:
        """Add a device, and wait for the writer."""
        post(partial(self.begin, device))
        while not self._beginning.wait(CHECK_SECONDS):
            self._executors.check()
        assert self._writer is not None
        return self._writer

    def begin(self, device: Device) -> Writer:
        """Add a device; return the writer."""
        if self._writer is None:
            self._writer = self._begin_run(device)
        shares = self._writer.shares
        if device.id not in shares:
            self._writer.share_of(device)
            devices = [share.device for share in shares.values()]
            drivers = ", ".join(dict.fromkeys(one.driver for one in devices if one.driver))
            all_ = {"name": ", ".join(distinct_names(devices)), "id": ",".join(shares), "driver": drivers}
            self._task.run.set_facts(device={**devices[0].to_dict(), **all_})
        self._beginning.set()
        return self._writer

    def _begin_run(self, device: Device) -> Writer:
        """Store what is known before anything is computed."""
        task, work, run = self._task, self._work, self._task.run
        store_facts(task, work, self.part)
        for text in cautions_of(run, work, device if self._n_devices == 1 else None):
            task.warn(text)
        plan = self.plan if self._are_workers else self.plan.among(self.n_executors)
        devices = [device] if self._n_devices == 1 else []  # of several one knows only the first so early
        writer = Writer(run, Planner(plan, self.n_executors), task.context, forecast_of(run, work, plan, devices))
        writer.announce()
        return writer

    def end(self, helper: str | None, seconds: Mapping[str, float]) -> None:
        """Add the name of a processor that helped a device, and the seconds by kernel."""
        if helper is not None:
            self._helpers[helper] = None
        self._seconds.update(seconds)

    def summary(self, seconds: float) -> JobResult:
        """Return the speed of a run that took this time (s)."""
        writer = self._writer
        assert writer is not None
        parts = writer.parts()
        at_work = [part["name"] for part in parts if part["cells"]] or [part["name"] for part in parts]
        return {
            "cells": writer.done_cells,
            "device_seconds": writer.device_seconds,
            "new_cells": writer.new_cells,
            "gcups": writer.rate_in(seconds),
            "device": ", ".join(at_work),
            "kernel_seconds": {name: round(value, 6) for name, value in self._seconds.items()},
            "domain_device": ", ".join(self._helpers) or None,
            **({"devices": parts} if self._n_devices > 1 else {}),
        }


def store_facts(task: Task[Spec], work: Work, part: ShardRows | None) -> None:
    """Store what a run says of itself from the moment on that its computation begins."""
    with tracing.span("describe the queries", "preparing"):
        facts = work.store()
    task.run.set_facts(
        spec=task.spec.to_dict(), database=work.report, packing=PACKING, versions=versions(), **facts,
        **({"shard": part} if part is not None else {}),
    )  # fmt: skip


def forecast_of(run: RunFile, work: Work, plan: Plan, devices: Sequence[Device]) -> Forecast:
    """Return the forecast of a run before anything is measured."""
    left = max(0.0, plan.n_cells - run.work_done()[0])
    found = work.estimate(left, devices)
    forecast: Forecast = {"seconds": dict(found.later)}
    if found.seconds is not None and devices:
        at_cells = found.seconds - found.later_seconds - START_SECONDS
        kind = devices[0].kind
        forecast["rate"] = left / max(at_cells, 1e-3)
        forecast["kernel_seconds"] = build_seconds(kind) / n_compilers(kind, MANY_PROGRAMS)
    return forecast


def part_of(task: Task[Spec], work: Work) -> ShardRows | None:
    """Return which part of the targets is asked for; None for all."""
    asked = shard_of(task.spec.to_dict())
    return asked.of_database(cast(Parted, work.targets).offsets) if asked is not None else None


def plan_of_part(work: Work, part: ShardRows | None) -> Plan:
    """Return the plan of a part of the targets; that of all if there is none."""
    plan = work.plan()
    if part is None:
        return plan
    n_cells = plan.n_cells * part.n_residues / max(1, work.targets.n_residues)
    return replace(plan, first_row=part.first, n_rows=part.last, n_cells=n_cells)


def cautions_of(run: RunFile, work: Work, device: Device | None) -> Iterator[str]:
    """Yield the sentences that the user should read before a run begins."""
    if run.facts.seen_digest not in (None, work.report.digest):
        yield CHANGED_TEXT
    yield from work.cautions()
    if device is not None and device.kind == "reference":
        yield SLOW_TEXT


def versions() -> dict[str, str]:
    """Return the versions of the program and of what it computes with."""
    found = {"clalign": clalign.__version__, "python": platform.python_version(), "platform": sys.platform}
    for package, name in (("numpy", "__version__"), ("pyopencl", "VERSION_TEXT")):
        # Reading it from the files takes as long as all of the start. Another thread may be loading the module.
        if (version := getattr(sys.modules.get(package), name, None)) is not None:
            found[package] = str(version)
    return found
