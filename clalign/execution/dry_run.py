"""A dry run: inputs are read and devices opened as for a run, but nothing is computed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from clalign import tracing
from clalign.compute.batching import RESIDENT_SHARE, RESIDUE_BYTES, SEQUENCE_BYTES
from clalign.compute.opening import Opening, Rehearse, opening_of
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import Batch, Model, Result, Session, Stage
from clalign.errors import DeviceError
from clalign.execution.executor import MAX_ROWS_TOGETHER, MAX_TOGETHER
from clalign.execution.job import Targets, Task, Work, cautions_of, part_of, picks_of, plan_of_part, store_facts
from clalign.execution.speed import COMPILING_BYTES, PROGRAM_BYTES, build_seconds, n_compilers
from clalign.execution.units import Plan
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device, cluster_of
from clalign.values.documents import DeviceFields, JobResult
from clalign.values.specs import Spec

if TYPE_CHECKING:
    from clalign.execution.cluster.device_query import Unbuilt

UNITS_AT_ONCE = 2
"""Units in the memory of a device: one is computed while the next one is sent."""

MAX_ASKED_AT_ONCE = 32
"""Devices of workers that are asked at a time; each of them has to be opened."""

MAX_LOOKED_AT = 256
"""Queries among which the longest one is sought, which takes the most memory."""

LAST_SECONDS = {"gpu": 1.5, "accelerator": 1.5}
"""Time of the longest build, which ends after most others are done (s)."""


class _Started(Exception):
    """A stage was started, and there is nothing to wait for."""


class _FirstLaunch(Rehearsal):
    """Sees what the first stage takes, of work that waits for one before it starts the next."""

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        """Start a stage, and leave the work there."""
        stage.start(self, batch, model)
        raise _Started


def dry_run(task: Task[Spec], load: Callable[[Task[Spec]], Work]) -> JobResult:
    """Check everything that a run checks before it computes, and return the time and memory that it will take.

    Parameters
    ----------
    task : Task
        Of a new run, which is not to be kept, or of one that was begun, into which nothing is written.
    load : callable
        Reads the input.

    Returns
    -------
    dict
        ``queries`` (in words), ``n_sequences``, ``n_residues``, ``cells`` that are left, ``done`` (the share of those
        that are not), ``seconds`` (None if not known), ``build_seconds``, ``memory_bytes`` of the host,
        ``disk_bytes``, and ``devices``: of each ``id``, ``name``, ``kind``, ``gcups``, ``memory_bytes``, ``programs``
        and how many of them are ``new``, and ``seconds`` and ``build_seconds`` if it computed alone;
        ``are_workers`` is whether they are those of a cluster, and the memory that of the worker.

    Raises
    ------
    ClalignError
        What the run would raise.
    """
    rehearsals: list[Rehearse] = []
    with ExitStack() as stack:
        far, n_here = _at_workers(task, stack)
        picks = [] if far else picks_of(task)[0]
        openings = [stack.enter_context(opening_of(pick, task.context, open_it=task.open_session)) for pick in picks]
        with tracing.span("read the inputs", "reading"):
            work = load(replace(task, build_ahead=rehearsals.append))
        part = part_of(task, work)
        if task.run.facts.database is None:
            store_facts(task, work, part)
        sessions = [stack.enter_context(session) for session in _opened(openings, task)]
        known = far or [(session.device, session.unbuilt) for session in sessions]
        plan = plan_of_part(work, part).among(len(known))
        for text in cautions_of(task.run, work, known[0][0] if len(known) == 1 else None):
            task.warn(text)
        units = [_unit(device, plan, task.run, rehearsals) for device, _ in known]
        devices = _needs(known, units, work)
        for device in devices if far else ():
            device["memory_bytes"] += PROGRAM_BYTES + _compiling_bytes(device)  # of the worker
        left = max(0.0, plan.n_cells - task.run.work_done()[0])
        found = work.estimate(left, [device for device, _ in known])
        for device, (one, _) in zip(devices, known, strict=True):
            alone = work.estimate(left, [one])
            device |= {"seconds": alone.seconds, "later_seconds": alone.later_seconds}
            device["build_seconds"] = _build_seconds(device)
    searched: Targets = work.targets if part is None else part
    return {
        "queries": found.queries,
        "n_sequences": len(searched),
        "n_residues": searched.n_residues,
        "cells": left,
        "done": 1.0 - left / plan.n_cells if plan.n_cells else 0.0,
        "seconds": found.seconds,
        "build_seconds": max(device["build_seconds"] for device in devices),
        "memory_bytes": max(found.memory_bytes, _host_bytes([] if far else devices, n_here)),
        "disk_bytes": found.disk_bytes,
        "devices": devices,
        "are_workers": bool(far),
    }


def _at_workers(task: Task[Spec], stack: ExitStack) -> tuple[list[tuple[Device, Unbuilt]], int]:
    """Return the devices of workers of a cluster, if it is asked for and has any, and the workers on this machine.

    The latter are not started: they have its devices.
    """
    cluster = cluster_of(task.spec.to_dict()["device"])
    if cluster is None:
        return [], 0
    from clalign.execution.cluster.connection import Connection, loaded, n_local
    from clalign.execution.cluster.device_query import devices_of

    words, address = cluster
    n = n_local(address)
    if n is not None:
        loaded()
        task.warn(f"{n} workers on this machine share its devices: the time is that of one process.")
        return [], n
    connection = stack.enter_context(Connection(address, task.context.check, task.context.warn))
    found = devices_of(connection, words, task.warn)
    if not found:
        task.warn("The cluster has no worker now: time and memory are those of one device of this machine.")
    return found, 0


def _opened(openings: list[Opening[Session]], task: Task[Spec]) -> Iterator[Session]:
    """Yield the devices that can be opened, and warn of others; raise the error of the last one if there are none."""
    n_opened, last = 0, None
    for opening in openings:
        try:
            session = opening.result(task.context.check)
        except DeviceError as error:
            last = error
            if len(openings) > 1:
                task.warn(error.message)
            continue
        n_opened += 1
        yield session
    if last is not None and not n_opened:
        raise last


def _unit(device: Device, plan: Plan, run: RunFile, rehearsals: list[Rehearse]) -> Rehearsal:
    """Return the memory and the programs that a device is asked for."""
    if device.kind == "reference" or not plan.n_rows or not plan.n_cells:
        return Rehearsal(device)
    unit = _first_unit(device, plan, run)
    for rehearse in rehearsals:
        ahead = Rehearsal(device, counts=False)
        with _whatever_happens():
            rehearse(ahead)
        unit.programs.update(ahead.programs)
    return unit


def _needs(known: list[tuple[Device, Unbuilt]], units: list[Rehearsal], work: Work) -> list[DeviceFields]:
    """Return the needs of devices; those of workers are asked at the same time which programs they have."""
    targets = RESIDUE_BYTES * work.targets.n_residues + SEQUENCE_BYTES * len(work.targets)
    found = []
    with ThreadPoolExecutor(MAX_ASKED_AT_ONCE, "asks devices") as pool:
        new = pool.map(lambda unbuilt, unit: len(unbuilt(list(unit.programs))), (one for _, one in known), units)
        for (device, _), unit, n_new in zip(known, units, new, strict=True):
            kept = min(targets, RESIDENT_SHARE * device.memory_bytes) if device.kind in ("gpu", "accelerator") else 0
            found.append({
                "id": device.id, "name": device.name, "kind": device.kind, "gcups": device.gcups,
                "memory_bytes": float(kept + UNITS_AT_ONCE * unit.n_bytes),
                "programs": len(unit.programs), "new": n_new,
            })  # fmt: skip
    return found


def _first_unit(device: Device, plan: Plan, run: RunFile) -> Rehearsal:
    """Return the work that the first units start on a device: of the first, the last and the longest of some queries.

    And of the first ones together, where they are started so.
    """
    some = list(islice(plan.queries, MAX_LOOKED_AT))
    longest = max(some, key=lambda number: run.card(number).get("length", 0))
    most: Rehearsal = _FirstLaunch(device)
    alone = [[number] for number in dict.fromkeys((longest, some[0], plan.queries[-1]))]
    for numbers in (*alone, some[:MAX_TOGETHER]):
        unit = _FirstLaunch(device)
        with _whatever_happens():
            cutter = plan.cutter_for(device)
            batch = cutter.batch(0, cutter.end(0, plan.n_rows))
            n = min(len(numbers), MAX_ROWS_TOGETHER // max(1, len(batch)))
            if n > 1 and plan.start_many is not None:
                plan.start_many([plan.search_of(run, number) for number in numbers[:n]], unit, batch)
            else:
                wait = plan.search_of(run, numbers[0]).start_scoring(unit, batch)
                if not unit.programs:
                    wait()
        unit.programs.update(most.programs)
        unit.n_bytes = max(unit.n_bytes, most.n_bytes)
        most = unit
    return most


def _whatever_happens() -> suppress:
    """Let work on a device that computes nothing end as it may: what it has asked for until then is known."""
    return suppress(Exception)


def _host_bytes(devices: list[DeviceFields], n_workers: int) -> float:
    """Return the memory of the host that inputs and program take, which are there now, and what comes upon that."""
    n_times = max(1, n_workers)
    most = PROGRAM_BYTES
    if sys.platform != "win32":
        import resource

        most = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
    for device in devices:
        if device["kind"] == "cpu":
            most += n_times * (device["memory_bytes"] + _compiling_bytes(device))
    return most + n_workers * PROGRAM_BYTES


def _build_seconds(device: DeviceFields) -> float:
    kind, n_new = str(device["kind"]), int(device["new"])
    if not n_new:
        return 0.0
    return LAST_SECONDS.get(kind, 0.0) + build_seconds(kind) * n_new / n_compilers(kind, n_new)


def _compiling_bytes(device: DeviceFields) -> float:
    return (
        COMPILING_BYTES * n_compilers(str(device["kind"]), int(device["new"]))
        if device["kind"] == "cpu" and device["new"]
        else 0.0
    )
