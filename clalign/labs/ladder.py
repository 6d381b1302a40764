"""What ladders of kernels share: rungs that are checked first, then timed, row after row, in one document.

A document is plain data: a row for each rung, what was published, and what it was measured on. Everything that shows or
keeps a ladder reads that document.
"""

from __future__ import annotations

import datetime
import math
import os
import platform
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
from msgspec import Struct

import clalign
from clalign.compute.opencl.choice import all_devices, pick_device
from clalign.errors import DeviceNotFound, OptionError
from clalign.jobs import JobContext
from clalign.labs.laboratory import DONE, INEXACT, NOT_YET, Document, Experiment, Laboratory, Verdict
from clalign.labs.measuring import Bench, Entry, PartOf, Row, not_run
from clalign.labs.rung_columns import rung_tip
from clalign.values.checked import check_as
from clalign.values.devices import Device

RUNS = 5

NO_PROCESSOR = "It needs one core of a processor, and no driver for processors is installed."

SpecKind = TypeVar("SpecKind", bound="LadderSpec")
RungKind = TypeVar("RungKind", bound="Rung")


class Rung(Struct, frozen=True):
    """A row of a ladder.

    Attributes
    ----------
    name : str
        As it is asked for.
    text : str
        What it is, in words.
    choices : object or None
        Those of its stage; None for one core, and for the program's own kernel.
    """

    name: str
    text: str
    choices: Any = None


class RungOfPairs(Rung, frozen=True):
    """A rung of a ladder of pairs of sequences, of which the first needs one core of a processor."""

    @property
    def on_one_core(self) -> bool:
        """Whether it runs on one core of a processor, whatever device is measured."""
        return self.name == "sequential"


class LadderSpec(Struct, frozen=True):
    """What to measure.

    Attributes
    ----------
    device : str
        In a user's words.
    variants : tuple of str or None
        Names of rungs and experiments; None for all.
    runs : int
        How often each rung is timed.
    seed : int
        Of what is random.
    reports : bool
        Whether to ask the driver for registers and memory, which compiles every kernel twice.
    ends : float
        On the clock `time.monotonic`: what would begin later is left out.
    """

    device: str = "auto"
    variants: tuple[str, ...] | None = None
    runs: int = RUNS
    seed: int = 1
    reports: bool = True
    ends: float = math.inf

    @classmethod
    def from_dict(cls: type[SpecKind], request: Row) -> SpecKind:
        """Return the spec that a job's request describes; what it leaves out is as usual."""
        return check_as(cls, {name: value for name, value in request.items() if value is not None})


class FileField(Struct, frozen=True):
    """A file that a ladder may be measured on; without one it makes its data up.

    Attributes
    ----------
    key, name : str
        Of the field of the spec, and for people.
    kind : str
    takes : callable
        Returns whether a file will do, given the facts of its profiles or sequences.
    """

    key: str
    name: str
    kind: Literal["profiles", "sequences"]
    takes: Callable[[Sequence[Row]], bool] = lambda cards: True


class NumberField(Struct, frozen=True):
    """A number that a ladder is measured with.

    Attributes
    ----------
    key, name : str
        Of the field of the spec, and for people.
    usual, most : int
    """

    key: str
    name: str
    usual: int
    most: int
    tip: str = ""


class RungExperiment(Experiment, frozen=True):
    """An experiment with a row for each rung."""

    def facts(self, row: Row) -> list[tuple[str, str]]:
        """Return what is known of a rung beside its name and words."""
        why = "What differs" if row.get("status") in (DONE, INEXACT) else "Why it was not run"
        choices = (row.get("choices") or {}).items()
        return [
            *([(why, str(row["reason"]))] if row.get("reason") else []),
            *Experiment.facts(self, row),
            *((axis.replace("_", " ").capitalize(), str(choice)) for axis, choice in choices),
        ]

    def tip(self, row: Row) -> str:
        """Return the words, choices and published speed-up of a rung."""
        return rung_tip(row)


class Ladder(Laboratory, frozen=True, kw_only=True):
    """A ladder of kernels; its first experiment are the rungs.

    Attributes
    ----------
    name : str
        As it is asked for on the command line.
    results : str
        What is compared of each rung, in the plural.
    rungs : tuple of Rung
        The others are compared with the first.
    fields : tuple
        Files and numbers that it may be measured with in the window.
    options : tuple of str
        Fields of its spec beside those of all ladders.
    spec : type
    run : callable
        Measures, given a spec and a `JobContext`, and returns the document.
    job_text : callable
        Returns what a document was measured on.
    note : callable
        Returns what must be known of the times of a document.
    """

    name: str
    results: str
    rungs: tuple[Any, ...]
    fields: tuple[FileField | NumberField, ...]
    options: tuple[str, ...]
    spec: type[LadderSpec]
    run: Callable[[Any, JobContext], Row]
    job_text: Callable[[Row], str]
    note: Callable[[Row], str] = lambda document: ""

    @property
    def experiment_names(self) -> list[str]:
        """By which experiments are asked for beside the rungs."""
        return [one.key.replace("_", "-") for one in self.experiments[1:] if one.is_checked]

    def chosen(self, variants: Sequence[str] | None) -> tuple[list[Any], list[str]]:
        """Return the rungs and the experiments that are asked for; all of them by default, the first rung always.

        Raises
        ------
        OptionError
            If one is not known.
        """
        experiments = self.experiment_names
        if variants is None:
            return list(self.rungs), experiments
        known = [*(rung.name for rung in self.rungs), *experiments]
        for name in variants:
            if name not in known:
                raise OptionError(f"The ladder has no variant {name}.", f"There are: {', '.join(known)}.")
        chosen = [rung for rung in self.rungs if rung.name in variants or rung is self.rungs[0]]
        return chosen, [name for name in experiments if name in variants]

    def wrong(self, document: Document) -> list[str]:
        """Return what computed other results than expected: rungs, and parts of experiments.

        Rungs that try an option of the compiler are not among them: their results show what it does.
        """
        return [
            f"{one.title} {one.columns[0].text(row)}" if place else row["name"]
            for place, one in enumerate(self.experiments)
            for row in one.rows_of(document)
            if one.is_checked and row.get("status") == DONE and not row.get("equal")
        ]

    def summary(self, document: Document) -> str:
        """Return on what device, how many results differ, and of what job, in a line."""
        n, tried = len(self.wrong(document)), [row["name"] for row in document["rows"] if row.get("status") == INEXACT]
        verdict = (
            f"{n:,} measurement{'s' * (n > 1)} with other {self.results}" if n else f"all {self.results} are equal"
        )
        verdict += f", but for {' and '.join(tried)}" if tried else ""
        if not any(row.get("status") == DONE for row in document["rows"]):
            verdict = "nothing was run"
        return f"{document['device']['name']} · {verdict} · {self.job_text(document)}"

    def verdicts(self, document: Document) -> list[Verdict]:
        """Return which measurements gave other results."""
        wrong = ", ".join(self.wrong(document))
        return [("stop", f"{wrong}: other {self.results} than expected. Please report this.")] if wrong else []

    def described(self, document: Document) -> str:
        """Return in some sentences what was measured on what."""
        times = f"Times are medians of up to {document['runs']} runs."
        return f"{self.summary(document)}. {times} {self.note(document)}".rstrip()


def known_rows(rungs: Sequence[Rung], published: Callable[[str], Row | None]) -> tuple[Row, ...]:
    """Return the rows of rungs before anything was measured."""
    return tuple(
        {"name": rung.name, "text": rung.text, "status": NOT_YET, "published": published(rung.name)} for rung in rungs
    )


def measurable_device(words: str) -> Device:
    """Return the device for a user's words.

    Raises
    ------
    DeviceNotFound
        If it runs no OpenCL.
    """
    device = pick_device(words)
    if device.kind == "reference":
        raise DeviceNotFound("The ladder is measured on OpenCL devices.", "See: clalign devices")
    return device


def device_for(rung: RungOfPairs, device: Device) -> Device | None:
    """Return the device that a rung runs on, or None if there is none."""
    if not rung.on_one_core or device.kind == "cpu":
        return device
    return next((other for other in all_devices() if other.kind == "cpu" and other.is_usable), None)


def measured_row(
    rung: RungOfPairs, device: Device | None, entries: Entry, spec: LadderSpec, context: JobContext,
    measure: Callable[[Bench], Row],
) -> Row:  # fmt: skip
    """Return the row of a rung on its device, with what `measure` finds there; what cannot run says why.

    The context is that of the rung.
    """
    if device is None:
        found = not_run(NO_PROCESSOR)
    else:
        bench = Bench(device, context, entries, spec.runs, spec.reports, spec.ends)
        bench.part = context
        try:
            found = bench.attempt(lambda: measure(bench))
        finally:
            bench.close()
    return {
        "name": rung.name,
        "text": rung.text,
        "choices": rung.choices.changed() if rung.choices else {},
        "device": device.name if device else None,
        **found,
    }


def new_document(kind: str, spec: LadderSpec, device: Device, **facts: object) -> Row:
    """Return a document without rows."""
    return {
        "kind": kind,
        "device": {**device.to_dict(), "extensions": list(device.extensions)},
        **facts,
        "runs": spec.runs,
        "seed": spec.seed,
        "rows": [],
        "versions": {"clalign": clalign.__version__, "python": platform.python_version(), "numpy": np.__version__},
        "host": f"{platform.system()} on {os.cpu_count()} processors ({platform.machine()})",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def climb(
    document: Row,
    rungs: Sequence[RungKind],
    row_of: Callable[[RungKind, JobContext], Row],
    seconds_of: Callable[[Row], str],
    context: JobContext,
    n_more: int = 0,
) -> None:
    """Fill in a row for each rung; each is sent as a ``partial`` event as soon as it is done.

    Parameters
    ----------
    document : dict
    rungs : sequence
    row_of : callable
        Checks and times a rung, and reports its progress as a whole.
    seconds_of : callable
        Returns by which times a row is compared with the first one.
    context : JobContext
    n_more : int
        Steps of the progress that come after the rungs.
    """
    rows, total = document["rows"], len(rungs) + n_more
    for rung in rungs:
        part = PartOf(context, rung.name, len(rows), 1, total)
        part.progress("lab", 0, 1, "runs")
        row = row_of(rung, part)
        first = rows[0] if rows else row
        if row["equal"] and first["equal"]:
            which = seconds_of(row)
            row["speedup"] = first[which] / max(row[which], 1e-9)
        rows.append(row)
        context.partial(row=row)
        context.progress("lab", len(rows), total, "parts")
