"""Work-groups that wait for each other, measured on a user's device: every way, for each number of groups.

Before each measurement it is found out how many of the groups the device runs at once; if not all of them, they are not
started to wait. Each result is compared, and the times begin when all buffers are there.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
import time
from collections.abc import Iterable, Sequence
from typing import cast

from msgspec.structs import force_setattr

from clalign.compute.group_barriers import METHODS, BarrierKernel, GroupBarrier, count_concurrent_groups
from clalign.compute.opening import open_session
from clalign.compute.sessions import KernelSession
from clalign.errors import GroupsNotConcurrent, OptionError
from clalign.jobs import JobContext
from clalign.labs.ladder import LadderSpec, measurable_device, new_document
from clalign.labs.measuring import NOT_REACHED, Row
from clalign.labs.meeting_costs import COSTS, Measured, deviation, fitted, predicted
from clalign.labs.meeting_programs import PROGRAMS, Prepare
from clalign.labs.published_synchronization import BANDS, GROUPS, LEVEL_COST, PUBLISHED_DEVICE, SETS, SIZE
from clalign.values.devices import Device

WAYS = {
    **{method: (method, False) for method in METHODS},
    "discovered": ("lbs", True),
    **{f"discovered-{method}": (method, True) for method in ("ilbs", "lfs", "ulfs")},
}
"""What may be measured: the method, and whether the groups are discovered first."""

USUAL_WAYS = (*METHODS, "discovered")

MAX_GROUPS = 4096

CELL_SECONDS = {"cpu": 1.0, "gpu": 10.0, "accelerator": 10.0}
"""A measurement is not repeated once it took this long: on a processor, groups that are not there take the longest."""

USUAL_SECONDS = {"cpu": 0.3, "gpu": 0.1, "accelerator": 0.1}
BUILD_SECONDS = {"cpu": 5.0, "gpu": 0.5, "accelerator": 0.5}
"""What a measurement and a kernel that is new to the driver take, to say before the start how long all will take."""


class SynchronizationSpec(LadderSpec, frozen=True):
    """What to measure.

    Attributes
    ----------
    program : str
        One of `PROGRAMS`.
    groups : str
        Numbers of groups, as in ``7-60`` or ``1,2,8-12``; those of the source by default, on a processor up to
        twice its cores.
    group_size : int
        Work-items of a group.
    methods : tuple of str or None
        Of `WAYS`.
    sets : int
        Of ILBS.
    size : int or None
        What the program works on, in its unit.
    """

    program: str = "sort"
    groups: str = ""
    group_size: int = SIZE
    methods: tuple[str, ...] | None = None
    sets: int = SETS
    size: int | None = None

    def __post_init__(self) -> None:
        if self.methods is not None:
            force_setattr(self, "methods", tuple(self.methods))
        for name in self.methods or ():
            if name not in WAYS:
                raise OptionError(f"There is no method {name}.", f"There are: {', '.join(WAYS)}.")
        if self.program not in PROGRAMS:
            raise OptionError(f"There is no program {self.program}.", f"There are: {', '.join(PROGRAMS)}.")
        most = PROGRAMS[self.program].most
        if self.size is not None and not 1 <= self.size <= most:
            raise OptionError(f"The size is {self.size:,}.", f"Give 1 to {most:,} {PROGRAMS[self.program].unit}.")
        if self.groups:
            numbers_of_groups(self.groups)


def numbers_of_groups(text: str) -> list[int]:
    """Return the numbers that a text such as ``7-60`` or ``1,2,8-12`` means, rising.

    Raises
    ------
    OptionError
        If it means none, or one that is too large.
    """
    found: set[int] = set()
    for part in text.split(","):
        words = re.fullmatch(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", part)
        first, last = (int(words[1]), int(words[2] or words[1])) if words else (1, 0)
        if not 1 <= first <= last <= MAX_GROUPS:
            raise OptionError(
                f'"{text[:40]}" are no numbers of groups.',
                f"Give 1 to {MAX_GROUPS:,} of them, as in 7-60 or 1,2,8-12.",
            )
        found.update(range(first, last + 1))
    return sorted(found)


def usual_groups(device: Device) -> str:
    """Return the numbers of groups that are measured unless others are asked for."""
    first, last = GROUPS
    return f"1-{min(last, 2 * device.n_compute_units)}" if device.kind == "cpu" else f"{first}-{last}"


def run_synchronization(spec: SynchronizationSpec, context: JobContext) -> Row:
    """Measure, and return the document; each number of groups is sent as a ``partial`` event.

    Raises
    ------
    DeviceNotFound
        If the device runs no OpenCL.
    """
    device = measurable_device(spec.device)
    if spec.group_size > device.max_work_group:
        raise OptionError(
            f"{device.name} has no groups of {spec.group_size:,} work-items.",
            f"Ask for {device.max_work_group:,} at most.",
        )
    program = PROGRAMS[spec.program]
    size = spec.size or program.sizes[device.kind]
    numbers = numbers_of_groups(spec.groups or usual_groups(device))
    document = new_document(
        "synchronization", spec, device, program=spec.program, size=size, unit=program.unit, groups=numbers,
        group_size=spec.group_size, methods=list(spec.methods or USUAL_WAYS), sets=spec.sets, experiments={"sets": []},
        published={"device": PUBLISHED_DEVICE, "group_size": SIZE, "sets": SETS},
    )  # fmt: skip
    with open_session(device, context.check) as session:
        bench = _Bench(cast("KernelSession", session), program.work(size, spec.seed, context.check), spec, context)
        ways = document["methods"]
        total, estimate = len(numbers) * len(ways), estimated_seconds(device, numbers, ways)

        def measured(way: str, n: int) -> Row:
            done = len(ways) * len(document["rows"]) + ways.index(way)
            context.progress("lab", done, total, "measurements", now=f"{n:,} groups, {way}", seconds=estimate)
            return bench.cell(way, n)

        for n in numbers:
            row = {"n_groups": n, "cells": {way: measured(way, n) for way in ways}}
            document["rows"].append(row)
            context.partial(row=row)
        for n in _searched(document["rows"]):
            context.progress("lab", total, total, "measurements", now=f"{n:,} groups, sets of ilbs")
            document["experiments"]["sets"].append(bench.sets(n))
        context.progress("lab", total, total, "measurements")
    return {**document, **conclusions(document)}


def estimated_seconds(device: Device, numbers: Sequence[int], ways: Sequence[str]) -> float:
    """Return about how long a measurement takes."""
    programs = {METHODS[WAYS[way][0]] for way in ways}
    return len(programs) * BUILD_SECONDS[device.kind] + len(numbers) * len(ways) * USUAL_SECONDS[device.kind]


def _searched(rows: Sequence[Row]) -> list[int]:
    """Return for which numbers of groups every number of sets is tried: the squares among them, else the greatest."""
    numbers = [row["n_groups"] for row in rows if row["cells"].get("ilbs", {}).get("seconds")]
    return [n for n in numbers if n > 3 and math.isqrt(n) ** 2 == n] or numbers[-1:]


class _Bench:
    """An open device and what the program works on there."""

    def __init__(
        self, session: KernelSession, prepare: Prepare, spec: SynchronizationSpec, context: JobContext
    ) -> None:
        self._session, self._prepare, self._spec, self._context = session, prepare, spec, context
        self._most: dict[str, int] = {}

    def cell(self, way: str, n: int) -> Row:
        """Return what came of a way for a number of groups."""
        return self._measured(how_of(way, n, self._spec.group_size, self._spec.sets))

    def sets(self, n: int) -> Row:
        """Return the time of ILBS for every number of sets of this many groups."""
        cells = [self._measured(GroupBarrier(n, self._spec.group_size, "ilbs", sets=sets)) for sets in range(1, n + 1)]
        seconds = [cell["seconds"] for cell in cells]
        known = {sets: value for sets, value in enumerate(seconds, 1) if value is not None}
        done = [cell["equal"] for cell in cells if cell["status"] == "done"]
        return {
            "n_groups": n,
            "seconds": seconds,
            "reason": next((cell["reason"] for cell in cells if cell["reason"]), None),
            "status": "done" if done else "not run",
            "equal": all(done) if done else None,
            "best": min(known, key=lambda sets: known[sets]) if known else None,
            "root": n**0.5,
        }

    def _measured(self, how: GroupBarrier | str) -> Row:
        if isinstance(how, str):
            return _not_run(how)
        if time.monotonic() > self._spec.ends:
            return _not_run(NOT_REACHED)
        self._context.check()
        found = None
        try:
            if how.method != "launch":
                rounds, _ = self._prepare(self._session, how)
                found = self._found(how, rounds.kernel)
                if found < how.n_groups and not how.discovered:
                    return _not_run(f"this device ran {found:,} of {how.n_groups:,} groups at once", found)
            return self._timed(how, found)
        except GroupsNotConcurrent as error:
            return _not_run(error.message, found)

    def _found(self, how: GroupBarrier, kernel: BarrierKernel) -> int:
        """Return how many of the groups run at once; of more groups than some that did not all run no more do."""
        most = self._most.get(how.method)
        if most is not None and most < how.n_groups:
            return most
        found = count_concurrent_groups(self._session, how, kernel)
        if found < how.n_groups:
            self._most[how.method] = found
        return found

    def _timed(self, how: GroupBarrier, found: int | None) -> Row:
        seconds: list[float] = []
        took_part, equal, n_rounds = how.n_groups, True, 0
        n_first = int(how.method == "launch")  # the other ways built their kernel when their groups were counted
        limit = CELL_SECONDS[self._session.device.kind]
        while len(seconds) < self._spec.runs + 1 and sum(seconds[n_first:]) < limit:
            self._context.check()
            rounds, is_right = self._prepare(self._session, how)
            self._session.finish()
            began = time.perf_counter()
            rounds.start()
            self._session.finish()
            seconds.append(time.perf_counter() - began)
            took_part, n_rounds = rounds.finish(), rounds.n_rounds
            equal = equal and is_right(took_part)
        timed = seconds[1:] or seconds  # the first one is for warming up
        return {
            "status": "done", "reason": None if equal else "its results differ", "found": found, "equal": equal,
            "runs": len(timed), "rounds": n_rounds, "took_part": took_part,
            "seconds": statistics.mean(timed) if equal else None, "each": timed,
        }  # fmt: skip


def how_of(way: str, n: int, size: int, sets: int) -> GroupBarrier | str:
    """Return how groups meet, or in words why they cannot."""
    method, discovered = WAYS[way]
    try:
        return GroupBarrier(n, size, method, min(sets, n), discovered)
    except OptionError as error:
        return error.message


def _not_run(reason: str, found: int | None = None) -> Row:
    return {
        "status": "not run", "reason": reason, "found": found, "equal": False, "runs": 0, "rounds": 0, "took_part": 0,
        "seconds": None, "each": [],
    }  # fmt: skip


def conclusions(document: Row) -> Row:
    """Return what follows from the rows: the fitted model, the published tables beside them, and levels of ULFS."""
    measured = list(_measured_rounds(document))
    costs = fitted(point for _, point in measured)
    model = None
    if costs is not None:
        model = {
            "costs": costs,
            "meanings": {name: COSTS[name] for name in costs},
            "deviation": deviation(costs, [point for _, point in measured]),
            "curves": {
                way: [[point.how.n_groups, predicted(costs, point.how) * rounds]
                      for (name, rounds), point in measured if name == way]
                for way in document["methods"] if not WAYS[way][1]
            },
        }  # fmt: skip
    return {"model": model, "bands": _bands(document), "levels": _levels(document)}


def _measured_rounds(document: Row) -> Iterable[tuple[tuple[str, int], Measured]]:
    """Yield what one round took, with its way and how many there were; discovering groups takes time of its own."""
    for row in document["rows"]:
        for way, cell in row["cells"].items():
            how = how_of(way, row["n_groups"], document["group_size"], document["sets"])
            if cell["seconds"] and cell["rounds"] and isinstance(how, GroupBarrier) and not how.discovered:
                yield (way, cell["rounds"]), Measured(how, cell["seconds"] / cell["rounds"])


def _bands(document: Row) -> list[Row]:
    """Return the published lines, each with the means measured for its numbers of groups."""
    found = []
    for band in BANDS.get(document["program"], BANDS["sort"]):
        inside = [row["cells"] for row in document["rows"] if band["first"] <= row["n_groups"] <= band["last"]]
        both = [cells for cells in inside if all(cells.get(way, {}).get("seconds") for way in ("lbs", "ilbs"))]
        lbs, ilbs = (
            statistics.mean(cells[way]["seconds"] for cells in both) if both else None for way in ("lbs", "ilbs")
        )
        found.append({
            "first": band["first"], "last": band["last"], "lbs": lbs, "ilbs": ilbs,
            "ratio": lbs / ilbs if lbs and ilbs else None, "published": band if document["program"] in BANDS else None,
        })  # fmt: skip
    return found


def _levels(document: Row) -> list[Row]:
    """Return for each measured number of groups that needs another level of ULFS how much longer that takes."""
    found = []
    for before, row in itertools.pairwise(document["rows"]):
        seconds = [one["cells"].get("ulfs", {}).get("seconds") for one in (before, row)]
        levels = [GroupBarrier(one["n_groups"], document["group_size"]).levels for one in (before, row)]
        if all(seconds) and levels[1] > levels[0] > 1:
            found.append({
                "n_groups": row["n_groups"], "levels": levels[1], "growth": seconds[1] / seconds[0] - 1,
                "published": LEVEL_COST.get(document["program"]),
            })  # fmt: skip
    return found


def wrong_cells(document: Row) -> list[tuple[int, str]]:
    """Return the numbers of groups and the ways whose results differ."""
    return [
        (row["n_groups"], way)
        for row in document["rows"]
        for way, cell in row["cells"].items()
        if cell["status"] == "done" and not cell["equal"]
    ]
