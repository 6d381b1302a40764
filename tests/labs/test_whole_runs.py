"""Whole runs of the laboratory: alignments by rungs, real families beside HMMER2, and groups in time."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from clalign import tracing
from clalign.jobs import QuietContext
from clalign.labs import device_lines, real_families
from clalign.labs.device_lines import overlap_found
from clalign.labs.formulas import divergent_branches
from clalign.labs.measuring import PartOf
from clalign.labs.meeting_times import METHODS, meeting_times, step_names
from clalign.labs.memory_orders import orders_found, pair_memory_found
from clalign.labs.publications import Item
from clalign.labs.real_families import families_found, funnel_found
from clalign.labs.repeating import Request
from clalign.labs.whole_alignments import relatives, whole_alignments
from clalign.stages.memories import ProductStage
from clalign.stages.pairhmm.pair_hmm_ladder import OnePairStage
from clalign.stages.plan7.viterbi_ladder import ViterbiLadderStage
from clalign.values.devices import Device

ALIGNMENTS = Item(name="x", title="", kind="run", published={"sequential": 2.0, "states": 1.0}, quantity="run_minutes")
FAMILIES = Item(name="x", title="", kind="run", table="times", published={"RVP": {"HMMER2": 2.0, "basic": 1.0}})


def request_of(item: Item, device: Device, **more: Any) -> Request:
    return Request((item,), device.id, 1, 1, is_small=True, reports=False, **more)


def test_relatives_are_alike_and_the_same_again() -> None:
    text = relatives(4, 50, 1)
    assert text == relatives(4, 50, 1) != relatives(4, 50, 2)
    assert text.count(">") == 4


def test_rungs_align_alike(opencl_device: Device) -> None:
    found = whole_alignments(request_of(ALIGNMENTS, opencl_device), QuietContext())
    assert found.wrong == ()
    for row in found.tables["rows"].values():
        if row["status"] == "done":
            assert row["run_minutes"] > row["posteriors_minutes"] > 0
            assert row["merging_minutes"] > 0


def test_another_alignment_is_found(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    right, calls = OnePairStage.posteriors, list[int]()

    def wrong(self: OnePairStage, *given: Any) -> Any:
        found = right(self, *given)
        calls.append(1)
        if type(self).__name__ != "SequentialStage":
            found.values[:] *= 0.5
        return found

    monkeypatch.setattr(OnePairStage, "posteriors", wrong)
    found = whole_alignments(request_of(ALIGNMENTS, opencl_device), QuietContext())
    assert calls
    assert found.wrong == ("the alignment of states",)


@pytest.mark.thorough(wrong=[2])
@pytest.mark.parametrize(("names", "wrong"), [(None, 0), (["nobody"], 2)])
def test_hits_are_compared_with_those_of_hmmer2(
    opencl_device: Device, monkeypatch: pytest.MonkeyPatch, names: list[str] | None, wrong: int
) -> None:
    alone = families_found(
        request_of(Item(name="x", title="", kind="run", table="hits"), opencl_device), QuietContext()
    )
    assert len(alone.tables["hits"]) == real_families.SMALL[0]
    monkeypatch.setattr(real_families.shutil, "which", lambda name: name)
    hits = iter([int(row["hits"]) for row in alone.tables["hits"].values()])

    def peer(*given: Any) -> tuple[float, list[str]]:
        n = next(hits)
        return 1.0, names if names is not None else found_names.pop(0)[:n]

    found_names = [list(row) for row in _names(opencl_device)]
    monkeypatch.setattr(real_families, "_of_peer", peer)
    found = families_found(request_of(FAMILIES, opencl_device), QuietContext())
    assert len(found.wrong) == wrong
    for times in found.tables["times"].values():
        assert times["HMMER2"] == 1.0
        assert times["basic"] > 0


def _names(device: Device) -> list[list[str]]:
    """Return the names of the hits of the small set, family by family."""
    from clalign.formats.scratch import Scratch
    from clalign.labs.whole_runs import whole_run

    item, names = request_of(FAMILIES, device), []
    with Scratch() as folder:
        targets = real_families._targets(item, folder)
        for path in real_families._models(item, folder).values():
            with whole_run("hmmsearch", QuietContext(), profiles=path, targets=targets, device=device.id) as (run, _):
                names.append([hit.name for hit in run.hits()])
    return names


def test_all_come_before_anybody_leaves(opencl_device: Device) -> None:
    found = meeting_times(request_of(ALIGNMENTS, opencl_device), QuietContext())
    assert found.wrong == ()
    assert set(found.tables) == {*METHODS, "steps"}
    for table in found.tables.values():
        rows = [row for row in table.values() if "comes" in row]
        assert not rows or min(row["leaves"] for row in rows) >= max(row["comes"] for row in rows)


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_steps_of_a_meeting_have_the_names_of_the_source(levels: int) -> None:
    names = [name for name in step_names(levels) if name]
    assert names.count("ts") == 2 * levels - 3
    assert {name for name in names if name != "ts"} == {
        f"t{step}{level}" for level in range(1, levels) for step in ("SI", "CI", "SO", "CO")
    }
    if levels == 3:
        expected = ["tSI2", "tCI2", "ts", "tSI1", "tCI1", "ts", "tSO1", "tCO1", "ts", "tSO2", "tCO2"]
        assert names == expected


def test_steps_of_a_meeting_take_time(opencl_device: Device) -> None:
    found = meeting_times(request_of(ALIGNMENTS, opencl_device), QuietContext())
    steps = {name: row["microseconds"] for name, row in found.tables["steps"].items() if "microseconds" in row}
    if steps:  # a device with a clock that runs two groups at once
        assert {"tSI1", "tCI1", "tSO1", "tCO1", "ts"} <= set(steps)
        assert all(value >= 0 for value in steps.values())
        assert sum(steps.values()) > 0


def test_orders_of_words_are_checked(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    found = orders_found(request_of(ALIGNMENTS, opencl_device), QuietContext())
    assert found.wrong == ()
    assert {name: len(table) for name, table in found.tables.items()} == {"global": 6, "local": 8, "product": 2}
    for table in found.tables.values():
        assert all(row["seconds"] > 0 and row["GB/s"] > 0 for row in table.values())
    monkeypatch.setattr(ProductStage, "reference", lambda self, batch, *given: batch[0])
    found = orders_found(request_of(ALIGNMENTS, opencl_device), QuietContext())
    assert found.wrong == ("product memory, row in global memory", "product memory, row in local memory")


@pytest.mark.thorough
def test_a_pair_takes_its_tables_and_little_else(opencl_device: Device) -> None:
    item = Item(name="x", title="", kind="memory", rows=("cells", "states"))
    tables = pair_memory_found(request_of(item, opencl_device), QuietContext()).tables
    rows = tables["rows"]
    assert set(rows) == {"cells", "states"}
    for row in rows.values():
        assert row["tables"] == (2 * 24 * 10 * 9 + 4 * 9 * 8) / 2**20
        assert row["allocated"] == pytest.approx(row["tables"] / row["share"])
        assert row["allocated"] > row["tables"]
    assert "states, calls" not in tables
    shapes = tables["launches"]
    assert {name: (row["groups"], row["work_items"]) for name, row in shapes.items()} == {
        "cells": (1, min(512, opencl_device.max_work_group)), "states": (1, min(480, opencl_device.max_work_group)),
    }  # fmt: skip


def test_calls_of_a_pair(opencl_device: Device) -> None:
    item = Item(name="x", title="", kind="drawing", table="states, calls")
    calls = pair_memory_found(request_of(item, opencl_device), QuietContext()).tables["states, calls"]
    assert calls["launch"]["calls"] == calls["wait for device"]["calls"] > 3 * (9 + 8 + 1)
    assert sum(row["share"] for row in calls.values()) == pytest.approx(1)


def test_halves_are_computed_on_two_queues(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    found = overlap_found(request_of(ALIGNMENTS, opencl_device), QuietContext())
    assert found.wrong == ()
    kernels = {way: [name for name in rows if name.startswith("kernel")] for way, rows in found.tables.items()}
    assert kernels == {
        "without overlap": ["kernel 1, queue 1"],
        "with overlap": ["kernel 1, queue 1", "kernel 2, queue 2"],
    }
    for row in (row for rows in found.tables.values() for row in rows.values()):
        assert row["ends"] >= row["begins"] >= 0
    assert not tracing.is_on()
    monkeypatch.setattr(device_lines, "ViterbiLadderStage", partial(ViterbiLadderStage, SABOTAGE=1))
    wrong = overlap_found(request_of(ALIGNMENTS, opencl_device), QuietContext()).wrong
    assert wrong == ("scores without overlap", "scores with overlap")


def test_a_recording_under_way_goes_on(opencl_device: Device) -> None:
    recording = tracing.begin("run")
    try:
        found = overlap_found(request_of(ALIGNMENTS, opencl_device), QuietContext())
        assert tracing.recorded() is recording
    finally:
        tracing.end()
    assert [min(row["begins"] for row in rows.values()) for rows in found.tables.values()] == [0, 0]
    assert any(span.category == "kernels" for spans in recording.tracks().values() for span in spans)


def test_fewer_pass_each_filter(opencl_device: Device) -> None:
    rows = funnel_found(request_of(ALIGNMENTS, opencl_device), QuietContext()).tables["rows"]
    passed = [row["passed"] for row in rows.values()]
    assert passed[0] == 30
    assert passed == sorted(passed, reverse=True)
    assert list(rows)[1:5] == ["MSV filter", "Bias filter", "Viterbi filter", "Forward filter"]
    assert rows["Viterbi filter"]["by_chance"] == pytest.approx(0.001 * 30)


def test_branches_of_a_warp() -> None:
    assert divergent_branches(np.full(64, 5)) == 0
    assert divergent_branches(np.arange(64)) == 62
    assert divergent_branches(np.array([1, 2, 2])) == 1


def test_progress_of_a_part_is_that_of_the_whole() -> None:
    messages: list[tuple[float, float | None, str]] = []

    class Context(QuietContext):
        def progress(self, stage: str, done: float, total: float | None, unit: str, **facts: Any) -> None:
            messages.append((done, total, facts.get("now", "")))

    part = PartOf(PartOf(Context(), "a", 10, 20, 40), "b", 1, 1, 2)
    part.progress("lab", 1, 4, "rungs", now="c")
    part.progress("build", 1, 2, "programs")
    assert messages == [(10 + 20 * 0.625, 40, "a: b: c"), (1, 2, "")]
