"""What ladders of kernels share: rungs that are checked first, then timed, row after row, in one document.

A document is plain data: a row for each rung, what was published, and what it was measured on. Everything that shows or
keeps a ladder reads that document.
"""

from __future__ import annotations

import datetime
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec import Struct

import clalign
from clalign.compute.opencl.choice import all_devices, pick_device
from clalign.errors import DeviceNotFound, OptionError
from clalign.jobs import JobContext
from clalign.labs.measuring import Bench, Entry, Row, not_run
from clalign.values.checked import check_as
from clalign.values.devices import Device

RUNS = 5

NO_PROCESSOR = "It needs one core of a processor, and no driver for processors is installed."

SpecKind = TypeVar("SpecKind", bound="LadderSpec")


class Named(Protocol):
    """A rung, or whatever is asked for by its name."""

    @property
    def name(self) -> str:
        """As it is asked for."""


class RungOfPairs(Struct, frozen=True):
    """A rung of a ladder of pairs of sequences, of which the first needs one core of a processor.

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

    @property
    def on_one_core(self) -> bool:
        """Whether it runs on one core of a processor, whatever device is measured."""
        return self.name == "sequential"


RungKind = TypeVar("RungKind", bound=Named)


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
    """

    device: str = "auto"
    variants: tuple[str, ...] | None = None
    runs: int = RUNS
    seed: int = 1
    reports: bool = True

    @classmethod
    def from_dict(cls: type[SpecKind], request: Row) -> SpecKind:
        """Return the spec that a job's request describes; what it leaves out is as usual."""
        return check_as(cls, {name: value for name, value in request.items() if value is not None})


def chosen_of(
    rungs: Sequence[RungKind], experiments: Sequence[str], variants: Sequence[str] | None
) -> tuple[list[RungKind], list[str]]:
    """Return the rungs and the experiments that are asked for; all of them by default.

    The first rung always comes first, because the others are compared with it.

    Raises
    ------
    OptionError
        If one is not known.
    """
    if variants is None:
        return list(rungs), list(experiments)
    known = [*(rung.name for rung in rungs), *experiments]
    for name in variants:
        if name not in known:
            raise OptionError(f"The ladder has no variant {name}.", f"There are: {', '.join(known)}.")
    asked = [rung for rung in rungs if rung.name in variants or rung is rungs[0]]
    return asked, [name for name in experiments if name in variants]


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
    """Return the row of a rung on its device, with what `measure` finds there; what cannot run says why."""
    if device is None:
        found = not_run(NO_PROCESSOR)
    else:
        bench = Bench(device, context, entries, spec.runs, spec.reports)
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


def new_document(kind: str, spec: LadderSpec, device: Device, **facts: Any) -> Row:
    """Return a document without rows."""
    return {
        "kind": kind,
        "device": {**device.to_dict(), "extensions": list(device.extensions)},
        **facts,
        "runs": spec.runs,
        "seed": spec.seed,
        "rows": [],
        "versions": {"clalign": clalign.__version__, "python": platform.python_version(), "numpy": np.__version__},
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def climb(
    document: Row,
    rungs: Sequence[RungKind],
    row_of: Callable[[RungKind], Row],
    seconds_of: Callable[[Row], str],
    context: JobContext,
    n_more: int = 0,
) -> None:
    """Fill in a row for each rung; each is told as a ``partial`` event as soon as it is done.

    Parameters
    ----------
    document : dict
    rungs : sequence
    row_of : callable
        Checks and times a rung.
    seconds_of : callable
        Returns by which times a row is compared with the first one.
    context : JobContext
    n_more : int
        Steps of the progress that come after the rungs.
    """
    rows, total = document["rows"], len(rungs) + n_more
    context.progress("ladder", 0, total, "rungs")
    for rung in rungs:
        row = row_of(rung)
        first = rows[0] if rows else row
        if row["equal"] and first["equal"]:
            which = seconds_of(row)
            row["speedup"] = first[which] / max(row[which], 1e-9)
        rows.append(row)
        context.partial(row=row)
        context.progress("ladder", len(rows), total, "rungs")


class Ladder(Struct, frozen=True):
    """A ladder as the command line and the worker know it.

    Attributes
    ----------
    job : str
        What its job and its documents are called.
    options : tuple of str
        Fields of its spec beside those of all.
    at : mapping of str to str
        Where its parts are, as ``module:name``: ``spec`` (a `LadderSpec`), ``run``, ``chosen`` (rungs and experiments
        by their names), ``columns`` of its rows and ``heading`` of a document.
    """

    job: str
    options: tuple[str, ...]
    at: Mapping[str, str]

    def part(self, name: str) -> Any:
        """Return one of its parts."""
        module, _, attribute = self.at[name].partition(":")
        return getattr(import_module(module, __package__), attribute)


LADDERS = {
    "viterbi": Ladder(
        "ladder",
        ("hmm", "db", "sequences", "nodes"),
        {
            "spec": ".viterbi_ladder:ViterbiLadderSpec",
            "run": ".viterbi_ladder:run_ladder",
            "chosen": ".ladder_rungs:chosen",
            "columns": ".ladder_tables:RUNG_COLUMNS",
            "heading": ".ladder_tables:heading",
        },
    ),
    "sw": Ladder(
        "smith_waterman_ladder",
        ("pairs", "length"),
        {
            "spec": ".smith_waterman_ladder:PairLadderSpec",
            "run": ".smith_waterman_ladder:run_pair_ladder",
            "chosen": ".smith_waterman_rungs:chosen_rungs",
            "columns": ".ladder_tables:PAIR_COLUMNS",
            "heading": ".ladder_tables:pair_heading",
        },
    ),
    "pairhmm": Ladder(
        "pair_hmm_ladder",
        ("x", "y", "pairs"),
        {
            "spec": ".pair_hmm_ladder:PairHmmLadderSpec",
            "run": ".pair_hmm_ladder:run_pair_hmm_ladder",
            "chosen": ".pair_hmm_rungs:chosen_hmm_rungs",
            "columns": ".ladder_tables:PAIR_HMM_COLUMNS",
            "heading": ".ladder_tables:pair_hmm_heading",
        },
    ),
}
"""By the name that is asked for."""
