"""The ladder's laboratory on every device: what it checks, what it measures, what it says of the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clalign.compute.opening import open_session
from clalign.errors import Cancelled, DeviceError, DeviceNotFound
from clalign.jobs import Job
from clalign.labs import viterbi_ladder as lab
from clalign.labs.ladder_tables import experiment_text, heading, markdown_tables, text_line
from clalign.labs.measuring import Witness
from clalign.labs.viterbi_ladder import ViterbiLadderSpec, run_ladder
from clalign.stages.plan7.viterbi_ladder import ENTRY, LadderChoices, ViterbiLadderStage
from clalign.values.devices import Device
from clalign.values.synthetic import random_batch, random_profile

ROW = {
    "name", "group", "text", "choices", "status", "reason", "equal", "kernel_seconds", "copy_seconds", "gcups",
    "speedup", "registers", "local_bytes", "private_bytes", "occupancy", "published",
}  # fmt: skip


@pytest.fixture
def measurable(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device, and jobs small enough for a test."""
    monkeypatch.setattr(lab, "GPU_LAUNCHES", 60)
    monkeypatch.setattr(lab, "OTHER_LAUNCHES", 60)
    monkeypatch.setattr(lab, "WORK_GROUPS", (32, 100, 2**20))
    return opencl_device


def spec(device: Device, *variants: str, **more: Any) -> ViterbiLadderSpec:
    return ViterbiLadderSpec(
        device.id, variants=variants or None, **{"sequences": 40, "nodes": 12, "runs": 2, "seconds": 0.005, **more}
    )


def measured(given: ViterbiLadderSpec) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[Any] = []
    document = run_ladder(given, Job(events.append))
    return document, [event.value["row"] for event in events if event.kind == "partial"]


@pytest.mark.thorough
def test_every_rung(measurable: Device) -> None:
    document, told = measured(spec(measurable))
    assert told == document["rows"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    for row in document["rows"]:
        assert row.keys() >= ROW
        assert row["equal"] or row["reason"], row["name"]
        if row["group"] != "program":
            assert row["equal"], row
            assert min(row["kernel_seconds"], row["gcups"], row["speedup"]) > 0
    assert sum(row["equal"] for row in document["rows"] if row["group"] == "program") >= 1
    assert document["rows"][0]["speedup"] == 1.0
    assert set(document["experiments"]) == {"granularity", "divergence", "work_group", "copies"}
    assert document["device"]["id"] == measurable.id


def test_experiments(measurable: Device) -> None:
    document, _ = measured(spec(measurable, "granularity", "divergence", "work-group"))
    found = document["experiments"]
    assert [row["published_speedup"] for row in found["granularity"] if row["published_speedup"]] == [
        52.77,
        18.11,
        14.03,
    ]
    assert all(row["equal"] for row in found["granularity"] + found["divergence"])
    assert found["granularity"][-1]["kernel_seconds"] >= found["granularity"][-1]["busy_seconds"] > 0
    assert [row["relative"] for row in found["divergence"]][::2] == [1.0, 1.0]
    assert [row["status"] for row in found["work_group"]] == ["done", "done", "not run"]
    assert "work-items" in found["work_group"][2]["reason"]


def test_tables_show_every_rung(measurable: Device) -> None:
    document, told = measured(spec(measurable, "1", "vector", "granularity"))
    assert len({len(text_line(row).split("\n")[0].split()[0]) for row in told}) > 1
    text = markdown_tables(document)
    for row in told:
        assert f"| {row['name']} |" in text
    assert heading(document).startswith(measurable.name)
    assert "fine, 1 node" in experiment_text(document)


def test_a_rung_that_cannot_run_says_why(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "measurable_device", lambda wish: replace(measurable, local_bytes=16))
    document, _ = measured(spec(measurable, "local-emissions", "local-specials"))
    basic, local, emissions = document["rows"]
    assert basic["equal"]
    for row in (local, emissions):
        assert (row["status"], row["equal"], row["speedup"]) == ("not run", False, None)
        assert row["reason"].startswith("A work-group needs")


def test_planted_fault_is_noticed(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(choices: Any) -> ViterbiLadderStage:
        return ViterbiLadderStage(choices, SABOTAGE=int(choices.rows == "private"))

    monkeypatch.setattr(lab, "ViterbiLadderStage", faulty)
    monkeypatch.setattr(faulty, "name", ViterbiLadderStage.name, raising=False)
    document, _ = measured(spec(measurable, "private-rows", "padded-rows"))
    assert [row["equal"] for row in document["rows"]] == [True, True, False]
    wrong = document["rows"][2]
    assert wrong["status"] == "done"
    assert wrong["reason"] == "The scores of 40 of 40 sequences differ."
    assert wrong["kernel_seconds"] is wrong["speedup"] is None


def test_nothing_is_measured_where_the_own_kernel_is_wrong(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "viterbi_score", lambda *_: 0)
    with pytest.raises(DeviceError, match="other scores than the reference"):
        measured(spec(measurable, "basic"))


def test_kernels_on_a_second_queue_count(measurable: Device) -> None:
    rng = np.random.default_rng(1)
    model = random_profile(rng, 9)
    with open_session(measurable) as session:
        witness = Witness(session, ENTRY)
        batch = random_batch(rng, model, 50, 40)
        witness.run(ViterbiLadderStage(LadderChoices(copies="overlapped")), batch, model)
        assert witness.kernel_seconds > session.kernel_seconds > 0
        assert list(witness.launched) == ["viterbi_ladder_item"]


def test_cancelled_between_rungs(measurable: Device) -> None:
    rows = []

    def listen(event: Any) -> None:
        if event.kind == "partial":
            rows.append(event.value["row"])
            job.cancel()

    job = Job(listen)
    with pytest.raises(Cancelled):
        run_ladder(spec(measurable), job)
    assert [row["name"] for row in rows] == ["basic"]


def test_the_reference_is_no_device_to_measure() -> None:
    with pytest.raises(DeviceNotFound, match="OpenCL devices"):
        run_ladder(ViterbiLadderSpec("reference"), Job(lambda event: None))


def test_requests_leave_out_what_is_usual() -> None:
    request = {"job": "ladder", "device": "0:0", "hmm": None, "db": None, "variants": ["basic"], "runs": None}
    assert ViterbiLadderSpec.from_dict(request) == ViterbiLadderSpec("0:0", variants=("basic",))
