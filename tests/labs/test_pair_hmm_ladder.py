"""The laboratory of the pair HMM on every device: what it compares, what it measures, what it says of the rest."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from clalign.errors import Cancelled, OptionError
from clalign.jobs import Job
from clalign.labs import ladder
from clalign.labs import pair_hmm_ladder as lab
from clalign.labs.ladder_tables import PAIR_HMM_COLUMNS, experiment_text, pair_hmm_heading, text_line
from clalign.labs.pair_hmm_ladder import TOLERANCE, PairHmmLadderSpec, random_pairs, run_pair_hmm_ladder
from clalign.labs.pair_hmm_rungs import PAIR_HMM_RUNGS, PUBLISHED, PairHmmRung, chosen_hmm_rungs
from clalign.stages.pairhmm.pair_hmm_ladder import SequentialStage
from clalign.values.devices import Device

SWEEPS = ("forward_seconds", "backward_seconds", "baum_welch_seconds")


def spec(device: Device, *variants: str, **more: Any) -> PairHmmLadderSpec:
    small = {"x": 30, "y": 25, "pairs": 5, "runs": 2, "reports": False}
    return PairHmmLadderSpec(device.id, variants or None, **{**small, **more})


def measured(given: PairHmmLadderSpec) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[Any] = []
    document = run_pair_hmm_ladder(given, Job(events.append))
    return document, [event.value["row"] for event in events if event.kind == "partial"]


@pytest.mark.thorough
def test_every_rung(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "SIZES", ((12, 9), (1417, 3)))
    document, told = measured(spec(opencl_device))
    assert told == document["rows"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert [row["name"] for row in told] == [rung.name for rung in PAIR_HMM_RUNGS]
    other_shape = "vector" if opencl_device.kind == "gpu" else "lanes"
    for row in told:
        assert row["published"] == PUBLISHED.get(row["name"])
        if row["name"] == other_shape:
            assert row["reason"].startswith("This shape is made for")
            continue
        assert row["equal"], row
        assert row["total_seconds"] >= row["kernel_seconds"] > 0
        expected = row["posteriors_seconds"] + 4 * row["counts_seconds"]
        assert row["total_seconds"] == pytest.approx(expected)
        if row["choices"] or row["name"] == "sequential":
            assert row["posteriors_seconds"] == pytest.approx(row["forward_seconds"] + row["backward_seconds"])
            assert row["sweep_gcups"] == pytest.approx([30 * 25 / row[key] / 1e9 for key in SWEEPS])
    assert told[0]["speedup"] == 1.0
    sizes = document["experiments"]["sizes"]
    assert [(row["name"], row["equal"], len(row["speedups"])) for row in sizes] == [
        ("12 x 9", True, 3),
        ("1,417 x 3", True, 3),
    ]
    assert "1,417 x 3" in experiment_text(document)


def test_tables_show_the_published_times(opencl_device: Device) -> None:
    document, told = measured(spec(opencl_device, "states"))
    lines = [text_line(row, PAIR_HMM_COLUMNS) for row in told]
    assert lines[0].split()[:2] == ["sequential", "equal"]
    assert lines[1].endswith("395 ms / 400 ms / 326 ms; 57.8 min; 2.23 times")
    said = pair_hmm_heading(document)
    assert said.startswith(f"{opencl_device.name}: a pair of 30 x 25 random residues, seed 1, three states")
    assert f"on one core of {told[0]['device']}" in said


def test_the_pairs_come_from_the_seed() -> None:
    one, same, other = (random_pairs(3, 20, 15, seed) for seed in (1, 1, 2))
    assert (one.targets.codes == same.targets.codes).all()
    assert (one.targets.codes != other.targets.codes).any()
    assert one.n_cells == 3 * 20 * 15
    assert one.query_rows.tolist() == one.target_rows.tolist() == [0, 1, 0]
    assert (one.queries.residues(0) != one.queries.residues(1)).any()


def planted(monkeypatch: pytest.MonkeyPatch, name: str, fault: int = 1) -> None:
    """Plant a fault into the kernels of one rung."""
    usual = PairHmmRung.stage

    def faulty(rung: PairHmmRung, device: Device, lap: Any) -> Any:
        stage = usual(rung, device, lap)
        stage.defines = {"SABOTAGE": fault * int(rung.name == name)}
        return stage

    monkeypatch.setattr(PairHmmRung, "stage", faulty)


@pytest.mark.parametrize(("name", "fault"), [("cells", 1), ("states", 1), ("local", 2)])
def test_planted_fault_is_noticed(
    opencl_device: Device, name: str, fault: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, name, fault)
    document, _ = measured(spec(opencl_device, name))
    right, wrong = document["rows"]
    assert right["equal"]
    assert not wrong["equal"]
    assert wrong["total_seconds"] is wrong["speedup"] is wrong["forward_seconds"] is None
    if fault == 1:
        assert wrong["status"] == "done"
        assert "differs by" in wrong["reason"]
    else:
        assert "wrong result: Forward and Backward" in wrong["reason"]


def test_a_fault_is_told_with_its_size(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "SIZES", ((12, 9),))
    planted(monkeypatch, "sequential")
    document, _ = measured(spec(opencl_device, "sizes"))
    (size,) = document["experiments"]["sizes"]
    assert (size["status"], size["equal"], size["speedups"]) == ("done", False, None)


def test_every_difference_is_seen() -> None:
    """One posterior, one entry more or less, one count of any kind, and what is no number; of any pair."""
    known = lab._Ladder(PairHmmLadderSpec(x=30, y=25, pairs=3), Job(lambda event: None))
    batch, models = known.of_first(3)
    found = SequentialStage().reference(batch, models)
    assert known.difference(found) == 0
    p, last = found.posteriors, len(found.posteriors.values) - 1
    for value in (np.float32(0.5), np.float32(np.nan)):
        values = p.values.copy()
        values[last] = value
        assert not known.difference(replace(found, posteriors=replace(p, values=values))) <= TOLERANCE
    moved = p.y.copy()
    moved[last] += 1
    assert known.difference(replace(found, posteriors=replace(p, y=moved))) > TOLERANCE
    fewer = replace(p, offsets=np.append(p.offsets[:-1], last), x=p.x[:last], y=p.y[:last], values=p.values[:last])
    assert known.difference(replace(found, posteriors=fewer)) > TOLERANCE
    for name in type(found.counts).__slots__:
        changed = getattr(found.counts, name).copy()
        changed.flat[-1] += 0.1
        assert known.difference(replace(found, counts=replace(found.counts, **{name: changed}))) > TOLERANCE


def test_without_a_processor_the_others_are_measured(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab, "device_for", lambda rung, device: None if rung.on_one_core else device)
    monkeypatch.setattr(lab, "SIZES", ((12, 9),))
    document, _ = measured(spec(opencl_device, "states", "sizes"))
    one, other = document["rows"]
    assert (one["status"], one["device"], one["reason"]) == ("not run", None, ladder.NO_PROCESSOR)
    assert other["equal"]
    assert other["speedup"] is None
    (size,) = document["experiments"]["sizes"]
    assert size["equal"]
    assert size["speedups"] is None


def test_cancelled_between_rungs(opencl_device: Device) -> None:
    rows = []

    def listen(event: Any) -> None:
        if event.kind == "partial":
            rows.append(event.value["row"])
            job.cancel()

    job = Job(listen)
    with pytest.raises(Cancelled):
        run_pair_hmm_ladder(spec(opencl_device), job)
    assert [row["name"] for row in rows] == ["sequential"]


def test_rungs_are_chosen_by_name() -> None:
    rungs, experiments = chosen_hmm_rungs(["states", "sizes"])
    assert [rung.name for rung in rungs] == ["sequential", "states"]
    assert experiments == ["sizes"]
    assert chosen_hmm_rungs(None) == (list(PAIR_HMM_RUNGS), ["sizes"])
    with pytest.raises(OptionError, match="no variant texture"):
        chosen_hmm_rungs(["texture"])


def test_requests_leave_out_what_is_usual() -> None:
    request = {"job": "pair_hmm_ladder", "device": "0:0", "variants": ["local"], "runs": None, "x": 5}
    assert PairHmmLadderSpec.from_dict(request) == PairHmmLadderSpec("0:0", variants=("local",), x=5)
