"""The job of a run: a device opens while the input is read, what the run lacks is computed, and the run keeps what
becomes of it.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import clalign
from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.databases.packed import VERSION as PACKING
from clalign.databases.reports import InputReport
from clalign.errors import ClalignError, RunBusy
from clalign.execution.pipeline import Pace
from clalign.jobs import JobContext
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device
from clalign.values.sequences import SequenceDatabase
from clalign.values.specs import Spec

FIRST_RATE = 2e8
"""Cells a second that the first batch is sized for if the device was never measured."""

REFERENCE_RATE = 2e6
"""The same for the reference."""

CHANGED_TEXT = "The sequence file has changed since it was opened; what it holds now is searched."

SLOW_TEXT = "Running on the NumPy reference, which is slow and meant for checking."

Summary = dict[str, Any]
SpecOf = TypeVar("SpecOf", bound=Spec)


@dataclass(frozen=True)
class Task(Generic[SpecOf]):
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
    """

    run: RunFile
    spec: SpecOf
    pick_device: Callable[[str], Device]
    context: JobContext
    given: Mapping[str, list[Any]] = field(default_factory=dict)

    def warn(self, text: str) -> None:
        """Tell something the user must know, and keep it with the run."""
        self.run.add_message("warning", text)
        self.context.warn(text)


class Work(Protocol):
    """What an engine computes, once its input is read."""

    @property
    def targets(self) -> SequenceDatabase:
        """The sequences that the summary counts."""

    @property
    def report(self) -> InputReport:
        """Of the targets."""

    def store(self, device: Device) -> dict[str, Any]:
        """Store the cards of the queries, if they are not there, and return the facts of the input."""

    def cautions(self, device: Device) -> Iterable[str]:
        """Return what the user should know before it begins."""

    def compute(self, session: Session) -> tuple[Pace, dict[str, Any]]:
        """Compute what the run lacks; return what became known of the speed, and what the summary has besides."""

    def summary(self) -> dict[str, Any]:
        """Return what the summary has besides of the whole run."""


def compute_run(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work]) -> Summary:
    """Compute until everything is in the run file.

    Parameters
    ----------
    task : Task
    load : callable
        Reads the input, while the device is being opened.

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
        with task.run.owned():
            return _owned(task, load)
    except RunBusy:
        raise  # its state is the other worker's business
    except ClalignError as error:
        task.run.set_facts(state="failed", error={"message": error.message, "hint": error.hint})
        raise


def _owned(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work]) -> Summary:
    run = task.run
    run.set_facts(state="running", error=None)
    try:
        summary = _computed(task, load)
    except ClalignError:
        raise
    except BaseException:
        # Cancelled, or nobody listens any more, or a fault: what is finished can be continued.
        run.set_facts(state="stopped")
        raise
    run.set_facts(state="done", finished=summary)
    run.seal()
    return summary


def _computed(task: Task[SpecOf], load: Callable[[Task[SpecOf]], Work]) -> Summary:
    started, run = time.monotonic(), task.run
    told: list[str] = []
    device_words = task.spec.to_dict()["device"]
    with opening_of(lambda: task.pick_device(device_words), task.context) as opening:
        work = load(task)

        def compute(session: Session) -> Summary:
            device = session.device
            facts = work.store(device)
            run.set_facts(
                spec=task.spec.to_dict(), database=work.report.to_dict(), device=device.to_dict(), packing=PACKING,
                versions=versions(), **facts,
            )  # fmt: skip
            for text in [] if told else _cautions(run, work, device):
                told.append(text)
                task.warn(text)
            pace, more = work.compute(session)
            seconds = {name: round(value, 6) for name, value in session.seconds_by_kernel.items()}
            return {
                "cells": pace.done_cells, "device_seconds": pace.device_seconds, "gcups": pace.gcups,
                "device": device.name, **more, "kernel_seconds": {**seconds, **more.get("kernel_seconds", {})},
            }  # fmt: skip

        summary = opening.work(compute, task.context.check, task.warn)
    return {
        "run": str(run.path),
        "n_hits": run.n_hits(),
        "n_sequences": len(work.targets),
        "n_residues": work.targets.n_residues,
        "seconds": time.monotonic() - started,
        **summary,
        **work.summary(),
    }


def _cautions(run: RunFile, work: Work, device: Device) -> Iterator[str]:
    if run.fact("seen_digest") not in (None, work.report.digest):
        yield CHANGED_TEXT
    yield from work.cautions(device)
    if device.kind == "reference":
        yield SLOW_TEXT


def first_rate(device: Device, factor: float = 1.0) -> float:
    """Return the cells a second that the first batch is sized for: `factor` times what was measured of the device."""
    return factor * device.gcups * 1e9 or (REFERENCE_RATE if device.kind == "reference" else FIRST_RATE)


def versions() -> dict[str, str]:
    """Return the versions of the program and of what it computes with."""
    found = {"clalign": clalign.__version__, "python": platform.python_version(), "platform": sys.platform}
    for package, name in (("numpy", "__version__"), ("pyopencl", "VERSION_TEXT")):
        if package in sys.modules:  # reading it from the installed files takes as long as all of the start
            found[package] = str(getattr(sys.modules[package], name))
    return found
