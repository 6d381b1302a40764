"""Device comparisons: the job, the verdicts, the break-even, documents of other machines."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.errors import Cancelled, InputError, OptionError
from clalign.jobs import Event, Job, QuietContext
from clalign.labs import device_comparison
from clalign.labs.comparison_documents import (
    break_even,
    judged,
    line_of,
    merge_comparisons,
    read_comparison,
    row_names,
)
from clalign.labs.comparison_results import COMPARISON, comparison_text
from clalign.labs.device_comparison import BenchSpec, bench_job, compare_devices, random_database, thinned
from clalign.labs.engine_rates import KERNELS, limit_of
from clalign.stages.peak import PeakStage
from clalign.stages.plan7.viterbi import VITERBI, ViterbiStage
from clalign.values.devices import REFERENCE, Device
from clalign.values.hits import Scores

pytestmark = pytest.mark.thorough

SMALL = BenchSpec(nodes=20, residues=40_000)


def row(name: str, start: float = 1.0, rate: float = 1e-6, **more: Any) -> dict[str, Any]:
    sizes = (1e4, 1e5, 1e6, 1e7)
    curve = [{"residues": size, "seconds": start + rate * size} for size in sizes]
    device = {"id": "0:0", "name": name, "kind": "gpu"}
    numbers = dict.fromkeys(("gcups", "kernel_seconds", "copy_seconds", "start_seconds", "peak_gops"), 1.0)
    return {"device": device, **numbers, "share_of_peak": 0.5, "scores_digest": "aa", "sample_equal": True,
            "identical": True, "error": None, "curve": curve, **more}  # fmt: skip


def document(*rows: dict[str, Any], **job: Any) -> dict[str, Any]:
    facts = {"nodes": 20, "n_sequences": 9, "n_residues": 900, "cells": 18e3, "seed": 1, "operations_per_cell": 17}
    return {"kind": "comparison", "job": {**facts, "data_digest": "dd", **job}, "devices": list(rows),
            "break_even": break_even(list(rows))}  # fmt: skip


def test_job_depends_on_the_spec_alone() -> None:
    first, again = (bench_job(SMALL, QuietContext()) for _ in range(2))
    assert first.facts() == again.facts()
    assert first.facts()["n_residues"] == 40_000
    assert first.facts() != bench_job(replace(SMALL, seed=2), QuietContext()).facts()
    assert np.array_equal(first.expected, VITERBI.reference(first.database.select(first.sample), first.model).values)


@pytest.mark.parametrize("n_residues", [1, 2, 353, 100_000])
def test_database_has_the_residues_asked_for(n_residues: int) -> None:
    database = random_database(np.random.default_rng(3), n_residues)
    lengths = np.diff(database.offsets)
    assert database.n_residues == n_residues == len(database.codes)
    assert lengths.min() >= 1
    assert (np.diff(lengths) <= 0).all()
    half = thinned(database, 2)
    assert np.array_equal(np.diff(half.offsets), lengths[::2])
    assert np.array_equal(half.residues(len(half) - 1), database.residues(2 * (len(half) - 1)))


def test_document_of_all_devices(opencl_device: Device) -> None:
    events: list[Event] = []
    devices = [opencl_device, REFERENCE]
    found = compare_devices(devices, SMALL, Job(events.append))
    json.dumps(found)
    assert [r["device"]["id"] for r in found["devices"]] == [d.id for d in devices]
    assert all(r["identical"] is True and r["error"] is None for r in found["devices"])
    messages = [event.value["device"] for event in events if event.kind == "partial"]
    assert list({row["device"]["id"]: row for row in messages}.values()) == found["devices"]
    assert "identical" in comparison_text(found)
    done = [event.value["done"] for event in events if event.kind == "progress"]
    assert done == sorted(done)
    assert done[-1] == events[-1].value["total"] > 0


def test_measurements_fit_each_other(opencl_device: Device) -> None:
    (found,) = compare_devices([opencl_device], SMALL, QuietContext())["devices"]
    job = bench_job(SMALL, QuietContext())
    expected = job.cells / found["kernel_seconds"] / 1e9
    assert found["gcups"] == pytest.approx(expected)
    assert found["share_of_peak"] == pytest.approx(17 * expected / found["peak_gops"])
    assert found["start_seconds"] > 0
    sizes = [point["residues"] for point in found["curve"]]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 40_000
    assert all(point["seconds"] > found["start_seconds"] for point in found["curve"])


class FaultyStage(ViterbiStage):
    """Adds a thousandth of a bit to the score of one sequence."""

    def start(self, session: Any, batch: Any, model: Any) -> Callable[[], Scores]:
        collect = super().start(session, batch, model)

        def wrong() -> Scores:
            scores = collect()
            return Scores(scores.targets, scores.values + (scores.targets == len(scores.targets) - 1))

        return wrong


def test_a_planted_fault_is_found(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_comparison, "VITERBI", FaultyStage())
    (found,) = compare_devices([opencl_device], SMALL, QuietContext())["devices"]
    assert found["identical"] is False
    assert "differs" in comparison_text(document(found))


def test_a_wrong_peak_is_an_error_of_the_device(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    class Idle(PeakStage):
        def start(self, session: Any, batch: Any, model: object) -> Any:
            return lambda: np.zeros(batch.n_lanes, np.int32)

    monkeypatch.setattr(device_comparison, "PEAK", Idle())
    (found,) = compare_devices([opencl_device], SMALL, QuietContext())["devices"]
    assert "other than the reference" in found["error"]
    assert found["identical"] is None


def test_a_device_that_is_gone_has_a_row_with_the_reason() -> None:
    gone = dataclasses.replace(REFERENCE, id="9:9", name="Gone", kind="gpu")
    found = compare_devices([gone, REFERENCE], SMALL, QuietContext())
    assert "is not there any more" in found["devices"][0]["error"]
    assert found["devices"][1]["identical"] is True
    assert found["break_even"] == []
    assert "was not run: " in comparison_text(found)


def test_a_stop_ends_the_comparison(opencl_device: Device) -> None:
    job = Job(lambda event: job.cancel() if event.kind == "progress" else None)
    with pytest.raises(Cancelled):
        compare_devices([opencl_device], SMALL, job)


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"nodes": 6000}, {"residues": 0}, {"residues": 10**10}, {"seed": -1}])
def test_impossible_jobs(wrong: dict[str, int]) -> None:
    with pytest.raises(OptionError):
        BenchSpec(**wrong)
    with pytest.raises(OptionError):
        compare_devices([], SMALL, QuietContext())


def test_break_even_is_where_the_lines_cross() -> None:
    slow, fast = row("slow", 0.1, 1e-6), row("fast", 0.5, 2e-7)
    assert line_of(slow) == pytest.approx((0.1, 1e-6))
    (pair,) = break_even([fast, slow])
    assert (pair["slow"], pair["fast"]) == ("slow", "fast")
    assert pair["residues"] == pytest.approx(0.4 / 8e-7)
    (pair,) = break_even([row("slow", 0.5, 1e-6), row("fast", 0.1, 2e-7)])
    assert pair["residues"] is None
    assert break_even([row("slow"), row("same")])[0]["residues"] is None
    assert break_even([row("slow"), row("short", curve=[])]) == []
    assert len(break_even([row("a"), row("b"), row("c")])) == 3


def test_verdicts() -> None:
    other, failed = row("b", scores_digest="bb"), row("c", error="x", scores_digest=None)
    sample = row("d", scores_digest=None)
    wrong = row("e", sample_equal=False)
    assert [r["identical"] for r in judged([row("a"), other, failed, sample, wrong])] == [
        True,
        False,
        None,
        True,
        False,
    ]


def test_files_of_other_machines_are_merged(tmp_path: Path) -> None:
    for name, digest in (("here", "aa"), ("there", "aa"), ("odd", "bb")):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document(row("card", scores_digest=digest), row(name, scores_digest=digest))))
    here, there, odd = (read_comparison(str(tmp_path / f"{name}.json")) for name in ("here", "there", "odd"))
    both = merge_comparisons([here, there])
    assert row_names(both["devices"]) == ["card (here)", "here (here)", "card (there)", "there (there)"]
    assert all(r["identical"] for r in both["devices"])
    assert len(both["break_even"]) == 6
    assert [r["identical"] for r in merge_comparisons([here, odd])["devices"]] == [True, True, False, False]
    again = tmp_path / "both.json"
    again.write_text(json.dumps(both))
    assert row_names(read_comparison(str(again))["devices"])[0] == "card (here)"


def test_other_jobs_are_not_merged() -> None:
    with pytest.raises(OptionError, match=r"20 and 30.*dd and ee"):
        merge_comparisons([document(row("a")), document(row("a"), nodes=30, data_digest="ee")])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a JSON file"),
        ("[1]", "not a device comparison"),
        ("[" * 100_000, "nested too deeply"),
        ('{"kind": "ladder"}', "not a device comparison"),
        ('{"kind": "comparison", "devices": []}', "not whole"),
        (json.dumps({**document(), "devices": []}), "not whole"),
        (json.dumps({**document(row("a")), "job": {"nodes": 3}}), "n_sequences"),
        (json.dumps({**document(row("a")), "job": {**document()["job"], "seed": "one"}}), "seed of the job is no"),
        (json.dumps({**document(), "devices": [row("a"), {"device": 3}]}), "its device 2 is not one"),
        (json.dumps(document(row("a", gcups="fast"))), "its device 1 is not one"),
        (json.dumps({**document(), "devices": [{**row("a"), "curve": [1]}]}), "its device 1 is not one"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_comparison(str(path))
    with pytest.raises(InputError, match="not readable"):
        read_comparison(str(tmp_path / "none.json"))
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a JSON file"):
        read_comparison(str(path))
    with pytest.raises(InputError, match="not readable"):
        read_comparison("/dev/zero")


@pytest.mark.parametrize(
    ("shares", "begin"),
    [({"int32": 0.6, "memory": 0.1}, "Arithmetic"), ({"float": 0.2, "memory": 0.7}, "Memory"),
     ({"bytes": 0.2, "memory": 0.1}, "Neither")],
)  # fmt: skip
def test_what_limits_a_kernel(shares: dict[str, float], begin: str) -> None:
    assert limit_of(shares).startswith(begin)


def test_kernels_of_all_engines_are_compared(opencl_device: Device) -> None:
    messages: list[dict[str, Any]] = []
    job = Job(lambda event: messages.append(event.value["device"]) if event.kind == "partial" else None)
    found = compare_devices([opencl_device], SMALL, job)
    (row,) = found["devices"]
    assert [len(one["engines"]) for one in messages] == [*range(1, len(KERNELS) + 1), len(KERNELS)]
    for one, kernel in zip(row["engines"], KERNELS, strict=True):
        assert (one["name"], one["error"], one["equal"]) == (kernel.name, None, True)
        assert one["gcups"] > 0
        assert set(one["shares"]) == {kernel.numbers, "memory"}
        assert one["limit"] == limit_of(one["shares"])
    assert COMPARISON.experiments[-1].chart(found, COMPARISON.experiments[-1].rows_of(found))
