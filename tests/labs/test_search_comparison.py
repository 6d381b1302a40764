"""A search of the user on several devices: the same hits to the last digit, and what is told if they are not."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from clalign.cli import worker
from clalign.compute.opencl.choice import Devices
from clalign.databases.examples import load_examples
from clalign.engines.engine import engine_named
from clalign.errors import Cancelled, DeviceError, OptionError
from clalign.jobs import Event, Job, JobContext, QuietContext
from clalign.labs.search_comparison import SEARCHES, STOPPED, TIMES, compare_searches, merged
from clalign.values.devices import REFERENCE, Device
from clalign.values.documents import JobResult

MOTIF = next(example for example in load_examples() if example.id == "motif")
OTHER = Device("9:9", "Other card", "gpu", health="ready")


def compare(devices: list[str], listener: Any = lambda event: None) -> dict[str, Any]:
    """Do the job of the window in this process."""
    spec = {"profiles": str(MOTIF.profiles), "targets": str(MOTIF.targets)}
    request = {
        "job": "compare_searches",
        "of": "search",
        "spec": spec,
        "devices": devices,
        "command": "clalign hmmsearch",
    }
    found = worker._job_named("compare_searches", Devices())(request, Job(listener))
    document: dict[str, Any] = found[SEARCHES.kind]
    return document


def test_devices_find_the_same(cpu_device: Device) -> None:
    messages: list[Event] = []
    document = compare([cpu_device.id, REFERENCE.id], messages.append)
    rows = document["devices"]
    assert [row["device"]["id"] for row in rows] == [cpu_device.id, REFERENCE.id]
    assert [row["identical"] for row in rows] == [True, True]
    assert rows[0]["n_hits"] == rows[1]["n_hits"] > 0
    assert all(row["n_different"] == 0 and row["seconds"] > 0 and row["error"] is None for row in rows)
    assert document["job"]["n_sequences"] == 8
    assert SEARCHES.verdicts(document)[0][0] == "good"
    live = [event.value["device"] for event in messages if event.kind == "partial"]
    assert [row["status"] for row in live[:2]] == ["waits", "waits"]
    assert len({TIMES.row_key(row) for row in live}) == 2
    done = [event.value["done"] for event in messages if event.kind == "progress"]
    assert done == sorted(done)
    assert done[-1] == 1.0


def searched(device: Device, path: Path, context: JobContext, score: float = 0.0) -> JobResult:
    """Search on the reference, and add something to the score of the best hit."""
    spec = {"profiles": str(MOTIF.profiles), "targets": str(MOTIF.targets), "device": REFERENCE.id}
    found = worker._compute(engine_named("plan7"), {"spec": spec, "run": str(path)}, context, Devices())
    with sqlite3.connect(path) as run:
        run.execute("UPDATE hits SET score = score + ? WHERE id = (SELECT min(id) FROM hits)", (score,))
    run.close()
    return found


@pytest.mark.thorough
def test_one_other_digit_is_seen(tmp_path: Path) -> None:
    def compute(device: Device, path: Path, context: JobContext) -> JobResult:
        return searched(device, path, context, 1e-9 if device is OTHER else 0.0)

    document = compare_searches([REFERENCE, OTHER], "search", compute, tmp_path, QuietContext())
    assert [(row["identical"], row["n_different"]) for row in document["devices"]] == [(True, 0), (False, 1)]
    severity, words = SEARCHES.verdicts(document)[0]
    assert severity == "stop"
    assert "Other card" in words


@pytest.mark.thorough
def test_what_a_device_could_not_do_is_reported_and_others_are_compared(tmp_path: Path) -> None:
    def compute(device: Device, path: Path, context: JobContext) -> JobResult:
        if device is OTHER:
            raise DeviceError("The cable is loose.", "Fasten it.")
        return searched(device, path, context)

    document = compare_searches([OTHER, REFERENCE], "search", compute, tmp_path, QuietContext())
    assert [row["error"] for row in document["devices"]] == ["The cable is loose.", None]
    assert [row["identical"] for row in document["devices"]] == [None, None], "there is nothing to compare with"
    assert SEARCHES.verdicts(document)[0][0] == "caution"


@pytest.mark.thorough
def test_devices_of_another_machine_are_added_if_they_did_the_same() -> None:
    here = compare([REFERENCE.id])
    together = merged(here, here, "laptop")
    assert [row["identical"] for row in together["devices"]] == [True, True]
    assert len({TIMES.row_key(row) for row in together["devices"]}) == 2
    with pytest.raises(OptionError, match="two searches"):
        merged(here, {**here, "job": {**here["job"], "cells": 1.0}}, "laptop")


def test_nothing_is_compared_without_devices_or_after_it_was_stopped(tmp_path: Path) -> None:
    with pytest.raises(OptionError):
        compare([])

    class Stopped(QuietContext):
        def check(self) -> None:
            raise Cancelled

        def partial(self, **facts: Any) -> None:
            told.append(facts["device"])

    told: list[dict[str, Any]] = []
    with pytest.raises(Cancelled):
        compare_searches([REFERENCE], "search", searched, tmp_path, Stopped())
    assert (told[-1]["status"], told[-1]["seconds"]) == (STOPPED, None), "what it had done is no result"
