"""The laboratory of Smith-Waterman on every device: what it compares, what it measures, what it says of the rest."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from clalign.errors import Cancelled, DeviceNotFound, OptionError
from clalign.jobs import Job
from clalign.labs import ladder
from clalign.labs import smith_waterman_ladder as lab
from clalign.labs.ladder_tables import PAIR_COLUMNS, pair_heading, text_line
from clalign.labs.smith_waterman_ladder import PairLadderSpec, random_pairs, run_pair_ladder
from clalign.labs.smith_waterman_rungs import PAIR_RUNGS, PUBLISHED, SCORING, PairRung, chosen_rungs
from clalign.values.alphabets import decode
from clalign.values.devices import Device

TIMES = ("kernel_seconds", "copy_seconds", "host_seconds", "total_seconds", "gcups", "speedup")


def spec(device: Device, *variants: str, **more: Any) -> PairLadderSpec:
    small = {"pairs": 12, "length": 40, "runs": 2, "reports": False}
    return PairLadderSpec(device.id, variants or None, **{**small, **more})


def measured(given: PairLadderSpec) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[Any] = []
    document = run_pair_ladder(given, Job(events.append))
    return document, [event.value["row"] for event in events if event.kind == "partial"]


@pytest.mark.thorough
def test_every_rung(opencl_device: Device) -> None:
    document, told = measured(spec(opencl_device))
    assert told == document["rows"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [row["name"] for row in told] == [rung.name for rung in PAIR_RUNGS]
    for row in told:
        assert row["equal"], row
        assert min(row[name] for name in TIMES) >= 0
        assert row["total_seconds"] >= row["kernel_seconds"] > 0
        assert row["published"] == PUBLISHED.get(row["name"])
    assert told[0]["speedup"] == 1.0
    assert document["device"]["id"] == opencl_device.id


def test_tables_show_the_published_times(opencl_device: Device) -> None:
    document, told = measured(spec(opencl_device, "local"))
    lines = [text_line(row, PAIR_COLUMNS) for row in told]
    assert lines[0].endswith("3.27 s; 1.00 times")
    assert lines[1].split()[:2] == ["local", "equal"]
    assert lines[1].endswith("600 ms (kernel 66.4 ms); 5.45 times")
    said = pair_heading(document)
    assert said.startswith(f"{opencl_device.name}: 12 pairs of 40 x 40 random nucleotides, seed 1, +1/-1, gap -2.")
    assert f"on one core of {told[0]['device']}" in said


def test_the_pairs_come_from_the_seed() -> None:
    one, same, other = (random_pairs(3, 20, seed) for seed in (1, 1, 2))
    for batch in (one, same, other):
        assert set(decode(batch.queries.codes)) <= set("ACGT")
        assert batch.n_cells == 3 * 20 * 20
    assert (one.targets.codes == same.targets.codes).all()
    assert (one.targets.codes != other.targets.codes).any()
    assert (one.queries.codes != one.targets.codes).any()


def planted(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Plant a fault into the kernel of one rung."""
    usual = PairRung.stage

    def faulty(rung: PairRung, device: Device) -> Any:
        stage = usual(rung, device)
        stage.defines = {"SABOTAGE": int(rung.name == name)}
        return stage

    monkeypatch.setattr(PairRung, "stage", faulty)


def test_planted_fault_is_noticed(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "global")
    document, _ = measured(spec(opencl_device, "global"))
    right, wrong = document["rows"]
    assert right["equal"]
    assert (wrong["status"], wrong["equal"]) == ("done", False)
    assert wrong["reason"].endswith("of 12 pairs differ.")
    assert wrong["total_seconds"] is wrong["speedup"] is wrong["host_seconds"] is None


def test_a_wrong_first_rung_does_not_count_for_the_others(
    opencl_device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, "sequential")
    document, _ = measured(spec(opencl_device, "global"))
    assert [row["equal"] for row in document["rows"]] == [False, True]
    assert [row["speedup"] for row in document["rows"]] == [None, None]


def test_one_difference_beyond_the_reference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "REFERENCE_CELLS", 3 * 400)
    batch = random_pairs(5, 20, 1)
    known = lab._Ladder(batch, Job(lambda event: None))
    assert len(known._expected) == 3
    right = lab.SMITH_WATERMAN_TRACE.reference(batch, SCORING)
    wrong = [*right[:4], right[4]._replace(path="M")]
    assert known.n_differing(right) == 0
    assert known.n_differing(wrong) == 1


def test_without_a_processor_the_others_are_measured(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "device_for", lambda rung, device: None if rung.on_one_core else device)
    document, _ = measured(spec(opencl_device, "global"))
    one, other = document["rows"]
    assert (one["status"], one["device"], one["reason"]) == ("not run", None, ladder.NO_PROCESSOR)
    assert other["equal"]
    assert other["speedup"] is None


def test_the_sequential_rung_is_for_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Device("0:0", "card", "gpu", health="ready")
    core = Device("1:0", "core", "cpu", health="ready")
    broken = replace(core, id="2:0", health="not usable")
    sequential, parallel = PAIR_RUNGS[:2]
    monkeypatch.setattr(ladder, "all_devices", lambda: [card, broken, core])
    assert ladder.device_for(sequential, card) is core
    assert ladder.device_for(sequential, broken) is broken
    assert ladder.device_for(parallel, card) is card
    monkeypatch.setattr(ladder, "all_devices", lambda: [card, broken])
    assert ladder.device_for(sequential, card) is None


def test_cancelled_between_rungs(opencl_device: Device) -> None:
    rows = []

    def listen(event: Any) -> None:
        if event.kind == "partial":
            rows.append(event.value["row"])
            job.cancel()

    job = Job(listen)
    with pytest.raises(Cancelled):
        run_pair_ladder(spec(opencl_device), job)
    assert [row["name"] for row in rows] == ["sequential"]


def test_the_reference_is_no_device_to_measure() -> None:
    with pytest.raises(DeviceNotFound, match="OpenCL devices"):
        run_pair_ladder(PairLadderSpec("reference"), Job(lambda event: None))


def test_rungs_are_chosen_by_name() -> None:
    assert [rung.name for rung in chosen_rungs(["path"])[0]] == ["sequential", "path"]
    assert chosen_rungs(None) == (list(PAIR_RUNGS), [])
    with pytest.raises(OptionError, match="no variant texture"):
        chosen_rungs(["texture"])


def test_requests_leave_out_what_is_usual() -> None:
    request = {"job": "smith_waterman_ladder", "device": "0:0", "variants": ["local"], "runs": None, "pairs": 5}
    assert PairLadderSpec.from_dict(request) == PairLadderSpec("0:0", variants=("local",), pairs=5)
