"""A run that is only looked at: its inputs are read and its devices opened as for a run, but nothing is computed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from clalign import tracing
from clalign.compute.batching import RESIDENT_SHARE, RESIDUE_BYTES, SEQUENCE_BYTES
from clalign.compute.opening import Opening, Rehearse, opening_of
from clalign.compute.rehearsal import Rehearsal
from clalign.compute.sessions import Batch, Model, Result, Session, Stage
from clalign.errors import DeviceError
from clalign.execution.job import Summary, Targets, Task, Work, cautions_of, part_of, picks_of, plan_of_part
from clalign.execution.units import Plan
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device, cluster_of

UNITS_AT_ONCE = 2
"""While one is computed the next one is sent."""

MOST_LOOKED_AT = 256
"""Queries among which the longest one is sought: it takes the most memory."""

PROGRAM_BYTES = 100e6
"""Of the program and its libraries, where the system does not tell."""

COMPILING_BYTES = 350e6
"""Of the compiler of a processor's driver, beside them."""

BUILD_SECONDS = {"cpu": 1.5, "gpu": 0.2, "accelerator": 0.2}
"""Of a program, on average: PoCL on one core; NVIDIA's compiler, where all that a search of HMMER3 profiles needs (44
programs on an H200) took one thread 8.4 s. Shapes with barriers, which processors are not given, take PoCL minutes."""


class _Started(Exception):
    """A stage was started, and there is nothing to wait for."""


class _FirstLaunch(Rehearsal):
    """Sees what the first stage takes, of work that waits for one before it starts the next."""

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        """Start a stage, and leave the work there."""
        stage.start(self, batch, model)
        raise _Started


def foresee_run(task: Task[Any], load: Callable[[Task[Any]], Work]) -> Summary:
    """Check everything that a run checks before it computes, and return what it will take.

    Parameters
    ----------
    task : Task
        Of a new run, which is not to be kept.
    load : callable
        Reads the input.

    Returns
    -------
    dict
        ``queries`` (in words), ``n_sequences``, ``n_residues``, ``cells``, ``seconds`` (None if not known) and
        ``is_most``, ``build_seconds``, ``memory_bytes`` of the host, ``disk_bytes``, and ``devices``: of each ``id``,
        ``name``, ``kind``, ``gcups``, ``memory_bytes``, ``programs`` and how many of them are ``new``.

    Raises
    ------
    ClalignError
        What the run would raise.
    """
    rehearsals: list[Rehearse] = []
    _look_at_cluster(task)
    with ExitStack() as stack:
        openings = [stack.enter_context(opening_of(pick, task.context)) for pick in picks_of(task)]
        with tracing.span("read the inputs", "reading"):
            work = load(replace(task, foresee=rehearsals.append))
        task.run.set_facts(spec=task.spec.to_dict(), database=work.report.to_dict(), **work.store())
        sessions = [stack.enter_context(session) for session in _opened(openings, task)]
        for text in cautions_of(task.run, work, sessions[0].device if len(openings) == 1 else None):
            task.warn(text)
        part = part_of(task, work)
        plan = plan_of_part(work, part)
        devices = [_needs(session, plan, task.run, rehearsals, work) for session in sessions]
        found = work.estimate(plan.n_cells, [session.device for session in sessions])
    building = [BUILD_SECONDS.get(device["kind"], 0.0) * device["new"] for device in devices]
    searched: Targets = work.targets if part is None else part
    return {
        "queries": found.queries,
        "n_sequences": len(searched),
        "n_residues": searched.n_residues,
        "cells": plan.n_cells,
        "seconds": found.seconds,
        "is_most": found.is_most,
        "build_seconds": max(building),
        "memory_bytes": max(found.memory_bytes, _host_bytes(devices)),
        "disk_bytes": found.disk_bytes,
        "devices": devices,
    }


def _look_at_cluster(task: Task[Any]) -> None:
    """Connect to a cluster that is asked for, and tell that its workers were not asked for their devices.

    Those on this machine are not started for that.
    """
    cluster = cluster_of(task.spec.to_dict()["device"])
    if cluster is None:
        return
    workers = "The workers"
    if not cluster[1].startswith("local:"):
        from clalign.execution.cluster.connecting import Connection

        with Connection(cluster[1], task.context.check) as connection:
            workers = f"The workers that there are now ({len(connection.workers()):,})"
    task.warn(f"{workers} were not asked for their devices: time and memory are those of one device of this machine.")


def _opened(openings: list[Opening], task: Task[Any]) -> Iterator[Session]:
    """Yield the devices that can be opened; of others tell why they cannot, unless there are none at all."""
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


def _needs(session: Session, plan: Plan[Any], run: RunFile, rehearsals: list[Rehearse], work: Work) -> dict[str, Any]:
    """Return what a device needs: memory, and programs."""
    device, unit = session.device, Rehearsal(session.device)
    if device.kind != "reference" and plan.n_rows and plan.n_cells:
        unit = _first_unit(device, plan, run)
        for rehearse in rehearsals:
            ahead = Rehearsal(device)
            with _whatever_happens():
                rehearse(ahead)
            unit.programs.update(ahead.programs)
    targets = RESIDUE_BYTES * work.targets.n_residues + SEQUENCE_BYTES * len(work.targets)
    kept = min(targets, RESIDENT_SHARE * device.memory_bytes) if device.kind in ("gpu", "accelerator") else 0
    return {
        "id": device.id, "name": device.name, "kind": device.kind, "gcups": device.gcups,
        "memory_bytes": float(kept + UNITS_AT_ONCE * unit.n_bytes),
        "programs": len(unit.programs), "new": len(session.unbuilt(unit.programs)),
    }  # fmt: skip


def _first_unit(device: Device, plan: Plan[Any], run: RunFile) -> Rehearsal:
    """Return what the first units of few queries start on a device: the first, the last and the longest of some."""
    some = list(islice(plan.queries, MOST_LOOKED_AT))
    longest = max(some, key=lambda number: run.card(number).get("length", 0))
    most: Rehearsal = _FirstLaunch(device)
    for number in dict.fromkeys((longest, some[0], plan.queries[-1])):
        unit = _FirstLaunch(device)
        with _whatever_happens():
            cutter = plan.cutter_for(device)
            batch = cutter.batch(0, cutter.end(0, plan.n_rows))
            wait = plan.search_of(run, number).start_scoring(unit, batch)
            if not unit.programs:
                wait()
        unit.programs.update(most.programs)
        unit.n_bytes = max(unit.n_bytes, most.n_bytes)
        most = unit
    return most


def _whatever_happens() -> suppress:
    """Let work on a device that computes nothing end as it may: what it has asked for until then is known."""
    return suppress(Exception)


def _host_bytes(devices: list[dict[str, Any]]) -> float:
    """Return the memory of the host that inputs and program take, which are there now, and what comes upon that."""
    most = PROGRAM_BYTES
    if sys.platform != "win32":
        import resource

        most = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) * (1 if sys.platform == "darwin" else 1024)
    for device in devices:
        if device["kind"] == "cpu":
            most += device["memory_bytes"] + (COMPILING_BYTES if device["new"] else 0)
    return most
