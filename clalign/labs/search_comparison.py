"""A search of the user's own on several devices, one after the other: the same hits, time, speed."""

from __future__ import annotations

import datetime
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

import clalign
from clalign.common.amounts import THIN, counted, seconds_text
from clalign.common.plain_data import Json
from clalign.engines.engine import engine_of
from clalign.errors import Cancelled, ClalignError, DeviceError, OptionError
from clalign.execution.speed import rate_of
from clalign.jobs import JobContext
from clalign.jobs.course import Course
from clalign.labs.laboratory import DONE, Document, Experiment, Laboratory, Verdict, number, seconds, text_of
from clalign.runs.queries import named_hits
from clalign.runs.run_file import open_run
from clalign.values.charts import Bar, BarChart, Chart
from clalign.values.checked import plain
from clalign.values.devices import Device, distinct_names
from clalign.values.documents import JobResult
from clalign.values.text_columns import Row, TextColumn

REPORT_SECONDS = 0.25
"""Time between two reports of a device that computes (s)."""

WAITS, STOPPED = "waits", "stopped"
"""Status of a device that others are before, and of one that has not come to its end."""

Compute = Callable[[Device, Path, JobContext], JobResult]
"""Searches with a device, writes the run to a path, and returns what the job of a search does."""

Hits = Counter[tuple[str, str, str, str]]


class _Watch:
    """Reports the progress of the search of a device, as a row of the comparison, and of the whole comparison.

    Parameters
    ----------
    context : JobContext
    row : dict
        What is known of the device.
    before, share : float
        Share of the whole time that earlier devices took, and the expected one of this device.
    """

    def __init__(self, context: JobContext, row: Row, before: float, share: float) -> None:
        self._context, self._row, self._before, self._share = context, row, before, share
        self._course = Course()
        self._began = self._last = time.monotonic()
        self._reported_at = 0.0
        self.build_seconds = 0.0

    def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: object) -> None:
        """Take the progress of the search."""
        now, course = time.monotonic(), self._course
        if course.kernels is not None and not course.rate:
            self.build_seconds += now - self._last
        self._last = now
        course.take({"stage": stage, "done": done, "total": total, "unit": unit, **facts}, now)
        if now - self._reported_at >= REPORT_SECONDS:
            self._reported_at = now
            known = {"status": course.words, "share": course.fraction, "gcups": course.rate / 1e9 or None,
                     "seconds": now - self._began, "build_seconds": self.build_seconds}  # fmt: skip
            self._context.partial(device={**self._row, **known})
            done = self._before + self._share * course.fraction
            self._context.progress("bench", done, 1.0, "share", now=self._row["device"]["name"])

    def partial(self, **facts: object) -> None:
        """Ignore the results, which are counted in the end."""

    def warn(self, text: str) -> None:
        """Pass a warning on."""
        self._context.warn(text)

    def check(self) -> None:
        """Stop, or wait, if that was asked for."""
        self._context.check()


def compare_searches(
    devices: Sequence[Device], command: str, compute: Compute, folder: Path, context: JobContext
) -> Document:
    """Search with each device and return the document of the comparison.

    Parameters
    ----------
    devices : sequence of Device
        The hits of each are compared with those of the first that has some.
    command : str
        The search in words.
    compute : callable
    folder : Path
        For the runs, which nobody needs afterwards.
    context : JobContext
        Receives each device's row (``partial``: ``device``); stops the work.

    Raises
    ------
    OptionError
        If there is no device.
    """
    if not devices:
        raise OptionError("There is no device to compare.", "See: clalign devices")
    names = distinct_names(devices)
    for device, name in zip(devices, names, strict=True):
        context.partial(device={**_new_row(device, name), "status": WAITS})
    rows: list[Row] = []
    first: Hits | None = None
    job: Json = {"command": command, "n_sequences": None, "digest": None, "cells": 0.0}
    shares = _shares_of_time(devices)
    for place, (device, name) in enumerate(zip(devices, names, strict=True)):
        row, path = _new_row(device, name), folder / f"{place}.clalign"
        watch = _Watch(context, row, sum(shares[:place]), shares[place])
        try:
            result = compute(device, path, watch)
        except Cancelled:
            for unfinished, its_name in list(zip(devices, names, strict=True))[place:]:
                context.partial(device={**_new_row(unfinished, its_name), "status": STOPPED})
            raise
        except (DeviceError, MemoryError) as error:
            row["error"] = error.message if isinstance(error, ClalignError) else "There is too little memory."
        else:
            database, found = read(path)
            first = found if first is None else first
            job |= {key: database.get(key) for key in ("n_sequences", "digest", "queries", "options")}
            job["cells"] = result["cells"]
            computing = max(result["seconds"] - watch.build_seconds, 1e-3)
            row |= {
                "seconds": result["seconds"], "build_seconds": watch.build_seconds, "share": 1.0,
                "gcups": result["cells"] / computing / 1e9 if result.get("cells") else None,
                "n_hits": result["n_hits"], "hits_digest": digest(found), "n_different": n_different(first, found),
            }  # fmt: skip
        before, rows = rows, judged([*rows, {**row, "status": DONE}])
        for judged_row in rows:
            if judged_row not in before:  # the verdict on the first device comes with the second
                context.partial(device=judged_row)
    context.progress("bench", 1.0, 1.0, "share")
    return {
        "kind": SEARCHES.kind, "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {"clalign": clalign.__version__}, "job": job, "devices": rows,
    }  # fmt: skip


def _shares_of_time(devices: Sequence[Device]) -> list[float]:
    """Return the share of the whole time that each device is expected to take; equal ones if a rate is unknown."""
    rates = [rate_of([device]) for device in devices]
    seconds = [1.0 / rate if all(rates) else 1.0 for rate in rates]
    return [one / sum(seconds) for one in seconds]


ROW_KEYS = ("seconds", "build_seconds", "share", "gcups", "n_hits", "hits_digest", "n_different", "identical", "error")


def _new_row(device: Device, name: str) -> Row:
    return {"device": device.to_dict(), "name": name, **dict.fromkeys(ROW_KEYS)}


def read(path: Path) -> tuple[Json, Hits]:
    """Return what a run says of its sequences, and its hits with every digit, each as often as it is there.

    What it says has digests of its queries and of its options, too.
    """
    with open_run(path) as run:
        hits = Counter((query, target, repr(score), repr(e)) for query, target, score, e in named_hits(run.connection))
        facts = plain(run.facts)
        kind = engine_of(run).spec
        options = {name: value for name, value in facts["spec"].items() if name not in (*kind.inputs, "device")}
        digests = {"queries": _digest_of(run.cards()), "options": _digest_of(options)}
        return {**(facts["database"] or {}), **digests}, hits


def _digest_of(facts: object) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=plain).encode()).hexdigest()[:16]


def digest(hits: Hits) -> str:
    """Return what only the same hits have in common."""
    return hashlib.sha256(json.dumps(sorted(hits.items())).encode()).hexdigest()[:16]


def n_different(first: Hits, other: Hits) -> int:
    """Return how many hits only one of two runs has, or has with another score or E-value."""
    alone, beside = (first - other).total(), (other - first).total()
    return max(alone, beside)


def judged(rows: list[Row]) -> list[Row]:
    """Return rows with the verdict whether their hits are those of the first device; None while it is the only one."""
    digests = [row["hits_digest"] for row in rows if row["hits_digest"]]
    are_several = len(digests) > 1
    return [
        {**row, "identical": row["hits_digest"] == digests[0] if row["hits_digest"] and are_several else None}
        for row in rows
    ]


def merged(first: Document, other: Document, machine: str) -> Document:
    """Return a comparison with the devices of another machine that did the same search.

    Raises
    ------
    OptionError
        If it was another search.
    """
    for key, what in (
        ("digest", "sequences"),
        ("queries", "queries"),
        ("options", "options"),
        ("cells", "amounts of work"),
    ):
        if first["job"].get(key) != other["job"].get(key):
            raise OptionError(
                f"These are two searches: they have different {what}.",
                "Compare with the same files and options on both machines.",
            )
    more = [{**row, "name": f"{row['name']} ({machine})", "machine": machine} for row in other["devices"]]
    return {**first, "devices": judged([*first["devices"], *more])}


def _state(row: Row) -> str:
    if row.get("error"):
        return "not run"
    share = f" {int(100 * row['share'])}{THIN}%" if row.get("share") and row["status"] != DONE else ""
    return f"{row['status']}{share}"


def _hits(row: Row) -> str:
    if row.get("identical") is None:
        return ""
    return "the same" if row["identical"] else f"{row['n_different']:,} differ" if row.get("n_different") else "differ"


def _judgment(row: Row) -> str:
    return {True: "good", False: "stop", None: ""}[row.get("identical")]


def _bar(row: Row, key: str, text: str) -> Bar:
    """Return the bar of a device, which is one of a result only once its search has ended."""
    status, value = row.get("status", DONE), row.get(key)
    grows = status != DONE and value is not None
    return Bar(row["name"], value, text=f"{text}…" if grows else text, grows=grows,
               note=row.get("error") or (status if status != DONE else ""))  # fmt: skip


def _times(_: Document, rows: list[Row]) -> Chart:
    bars = tuple(_bar(row, "seconds", seconds("seconds")(row)) for row in rows)
    return BarChart("Time of the search", "seconds, compiling included", bars)


def _speeds(_: Document, rows: list[Row]) -> Chart:
    bars = tuple(_bar(row, "gcups", number("gcups")(row)) for row in rows)
    return BarChart("Speed", "GCUPS (10⁹ cells a second), without compiling", bars)


COLUMNS = (
    TextColumn("Device", "As its driver calls it", text_of("name"), width=180, stretch=True),
    TextColumn("State", "What it does, and how far it is", _state, width=250),
    TextColumn("Hits", "That the search found with it", number("n_hits", ",d"), True, 70),
    TextColumn("Scores and E-values", "Whether every digit of every hit is that of the first device", _hits, width=150,
               mark=_judgment),
    TextColumn("Time", "Of the whole search", seconds("seconds"), True, 80),
    TextColumn("Compiling", "Of it, the time in which nothing but kernels was compiled", seconds("build_seconds"),
               True, 86),
    TextColumn("GCUPS", "10⁹ cells a second, without the time of compiling", number("gcups"), True, 76),
)  # fmt: skip


class _Searches(Experiment, frozen=True):
    """An experiment with a row for each device."""

    def row_key(self, row: Row) -> Hashable:
        """Return the id of the device, and the machine that it is in."""
        return row["device"]["id"], row.get("machine")


class SearchComparison(Laboratory, frozen=True, kw_only=True):
    """The same search on several devices."""

    def summary(self, document: Document) -> str:
        """Return the search."""
        job = document["job"]
        size = f"{counted(job['n_sequences'] or 0, 'sequence')}, {job['cells'] / 1e9:.3g} billion cells"
        return f"{job['command']}: {size}"

    def verdicts(self, document: Document) -> list[Verdict]:
        """Return what was not run, whether all found the same, and which device was the fastest."""
        rows = [row for row in document["devices"] if row.get("status", DONE) == DONE]
        done = [row for row in rows if row.get("seconds") and not row.get("error")]
        found = [("caution", f"{row['name']} was not run: {row['error']}") for row in rows if row.get("error")]
        wrong = [row["name"] for row in done if row["identical"] is False]
        if wrong:
            found.append(("stop", f"Other hits than {done[0]['name']} has: {', '.join(wrong)}. Please report this."))
        elif len(done) > 1:
            which = "Both" if len(done) == 2 else f"All {len(done)}"
            what = f"{which} devices found the same {counted(done[0]['n_hits'], 'hit')}, to the last digit."
            found.append(("good", what))
        ranked = sorted(done, key=lambda row: row["seconds"])
        if len(ranked) > 1:
            factor = ranked[-1]["seconds"] / max(ranked[0]["seconds"], 1e-3)
            words = f"{ranked[0]['name']} was done first, in {seconds_text(ranked[0]['seconds'], THIN)}"
            found.append(("note", f"{words}; {ranked[-1]['name']} took {factor:.1f} times as long."))
        return found


TIMES = _Searches("devices", "Time", "the same search on each device", COLUMNS, _times)

SEARCHES = SearchComparison(
    kind="search_comparison",
    job="compare_searches",
    title="Your search on each device",
    promise="The search of the run or form in view on each device: the same hits, time, speed",
    noun="device",
    nouns="devices",
    needed=("job", "devices"),
    experiments=(TIMES, _Searches("speed", "Speed", "", COLUMNS, _speeds, lambda document: document["devices"])),
)
