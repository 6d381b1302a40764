"""The ladders on every device: what they check, what they measure, what they say of the rest."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from clalign.compute.opening import open_session
from clalign.errors import Cancelled, DeviceError, DeviceNotFound, OptionError
from clalign.jobs import Job, QuietContext
from clalign.labs import ladder as ladders
from clalign.labs import pair_hmm_ladder, smith_waterman_ladder, viterbi_ladder
from clalign.labs.laboratory import DONE, INEXACT
from clalign.labs.ladder import Ladder, LadderSpec
from clalign.labs.ladder_rungs import PROGRAM_SHAPES
from clalign.labs.measuring import NOT_REACHED, Witness
from clalign.labs.pair_hmm_ladder import TOLERANCE, PairHmmLadderSpec
from clalign.labs.pair_hmm_rungs import PairHmmRung
from clalign.labs.register import LADDERS
from clalign.labs.rung_columns import why_no_bar
from clalign.labs.smith_waterman_rungs import PAIR_RUNGS, SCORING, PairRung
from clalign.stages.pairhmm.pair_hmm_ladder import SequentialStage
from clalign.stages.plan7.viterbi_ladder import ENTRY, LadderChoices, ViterbiLadderStage
from clalign.values.alphabets import decode
from clalign.values.devices import Device
from clalign.values.synthetic import random_batch, random_profile

VITERBI, PAIRS, PAIR_HMM = LADDERS.values()

SMALL = {
    "viterbi": {"sequences": 40, "nodes": 12, "seconds": 0.005, "launches": 60},
    "sw": {"pairs": 12, "length": 40, "reports": False},
    "pairhmm": {"x": 30, "y": 25, "pairs": 5, "sizes": ((12, 9),), "reports": False},
}

SWEEPS = ("forward_seconds", "backward_seconds", "baum_welch_seconds")


@pytest.fixture(params=LADDERS.values(), ids=list(LADDERS))
def ladder(request: pytest.FixtureRequest) -> Ladder:
    """Each ladder."""
    found: Ladder = request.param
    return found


@pytest.fixture
def measurable(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A device, and experiments small enough for a test."""
    monkeypatch.setattr(viterbi_ladder, "WORK_GROUPS", (32, 100, 2**20))
    return opencl_device


def spec(ladder: Ladder, device: Device, *variants: str) -> LadderSpec:
    return ladder.spec(device.id, variants=variants or None, **{"runs": 2, **SMALL[ladder.name]})


def measured(ladder: Ladder, device: Device, *variants: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    events: list[Any] = []
    document = ladder.run(spec(ladder, device, *variants), Job(events.append))
    return document, [event.value["row"] for event in events if event.kind == "partial"]


def printed(ladder: Ladder, row: dict[str, Any]) -> dict[str, str]:
    """Return what a table says of a rung, by the titles of its columns."""
    return {column.title: column.printed(row) for column in ladder.experiments[0].columns}


@pytest.mark.thorough
def test_every_rung(ladder: Ladder, measurable: Device) -> None:
    document, rows = measured(ladder, measurable)
    assert rows == document["rows"]
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document.keys() >= set(ladder.needed)
    assert (document["kind"], document["device"]["id"]) == (ladder.kind, measurable.id)
    assert [row["name"] for row in rows] == [rung.name for rung in ladder.rungs]
    for row, known in zip(rows, ladder.known, strict=True):
        assert row["published"] == known["published"]
        assert row.keys() >= {"text", "choices", "status", "reason", "copy_seconds", "registers", "occupancy"}
        assert row["equal"] or (row["name"] in PROGRAM_SHAPES and row["reason"].startswith("This shape")), row
        assert all(value >= 0 for key, value in row.items() if key.endswith("_seconds") and value is not None)
        if row["equal"]:
            assert min(row["kernel_seconds"], row["total_seconds"], row["gcups"], row["speedup"]) > 0
            assert row["total_seconds"] >= row["kernel_seconds"] or ladder is VITERBI
    shapes = [row["equal"] for row in rows if row["name"] in PROGRAM_SHAPES]
    assert any(shapes) or not shapes
    assert rows[0]["speedup"] == 1.0
    assert ladder.wrong(document) == []
    for one in ladder.experiments[1:]:
        assert one.rows_of(document)
        assert one.text(document)


@pytest.mark.parametrize("ladder", [PAIRS], ids=["sw"])
def test_progress_moves_while_a_rung_is_measured(
    ladder: Ladder, measurable: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clalign.jobs.PROGRESS_SECONDS", 0.0)
    events: list[Any] = []
    ladder.run(spec(ladder, measurable, "global"), Job(events.append))
    steps = [event.value for event in events if event.kind == "progress" and event.value["stage"] == "lab"]
    done = [step["done"] / step["total"] for step in steps]
    assert done == sorted(done)
    assert done[-1] == 1.0
    within = [step["done"] for step in steps if step.get("now") == "global"]
    assert within == pytest.approx([1, 1 + 1 / 3, 1 + 2 / 3])


@pytest.mark.thorough
def test_a_pair_takes_posteriors_once_and_counts_four_times(measurable: Device) -> None:
    document, rows = measured(PAIR_HMM, measurable)
    other_shape = "vector" if measurable.kind == "gpu" else "lanes"
    assert [row["name"] for row in rows if not row["equal"]] == [other_shape]
    for row in rows:
        if not row["equal"]:
            continue
        assert row["total_seconds"] == pytest.approx(row["posteriors_seconds"] + 4 * row["counts_seconds"])
        if row["choices"] or row["name"] == "sequential":
            assert row["posteriors_seconds"] == pytest.approx(row["forward_seconds"] + row["backward_seconds"])
            assert row["sweep_gcups"] == pytest.approx([30 * 25 / row[key] / 1e9 for key in SWEEPS])
    (size,) = document["experiments"]["sizes"]
    assert (size["name"], size["equal"], len(size["speedups"])) == ("12 x 9", True, 3)


@pytest.mark.thorough
def test_experiments_of_viterbi(measurable: Device) -> None:
    found = measured(VITERBI, measurable, "granularity", "divergence", "work-group")[0]["experiments"]
    published = [row["published_speedup"] for row in found["granularity"] if row["published_speedup"]]
    assert published == [52.77, 18.11, 14.03]
    assert all(row["equal"] for row in found["granularity"] + found["divergence"])
    assert found["granularity"][-1]["kernel_seconds"] >= found["granularity"][-1]["busy_seconds"] > 0
    assert [row["relative"] for row in found["divergence"]][::2] == [1.0, 1.0]
    assert [row["status"] for row in found["work_group"]] == ["done", "done", "not run"]
    assert "work-items" in found["work_group"][2]["reason"]


@pytest.mark.parametrize(
    ("ladder", "rung", "published"),
    [
        (VITERBI, "private-rows", {"Published": "21.5×", "Published (s)": "6.70"}),
        (PAIRS, "local", {"Published": "5.45×", "Published whole": "600 ms", "Published kernel": "66.4 ms"}),
        (PAIR_HMM, "states", {"Published": "2.23×", "Published Forward": "395 ms", "Published run": "57.8 min"}),
    ],
    ids=list(LADDERS),
)
def test_tables_show_what_was_measured_and_published(
    measurable: Device, ladder: Ladder, rung: str, published: dict[str, str]
) -> None:
    document, rows = measured(ladder, measurable, rung)
    shown = printed(ladder, rows[1])
    assert (shown["Rung"], shown["Check"]) == (rung, "equal")
    assert shown.items() >= published.items()
    described = ladder.described(document)
    assert measurable.name in described
    if ladder is not VITERBI:
        assert f"on one core of {rows[0]['device']}" in described


def test_the_pairs_come_from_the_seed() -> None:
    one, same, other = (smith_waterman_ladder.random_pairs(3, 20, seed) for seed in (1, 1, 2))
    for batch in (one, same, other):
        assert set(decode(batch.queries.codes)) <= set("ACGT")
        assert batch.n_cells == 3 * 20 * 20
    assert (one.targets.codes == same.targets.codes).all()
    assert (one.targets.codes != other.targets.codes).any()
    assert (one.queries.codes != one.targets.codes).any()
    one, same, other = (pair_hmm_ladder.random_pairs(3, 20, 15, seed) for seed in (1, 1, 2))
    assert (one.targets.codes == same.targets.codes).all()
    assert (one.targets.codes != other.targets.codes).any()
    assert one.n_cells == 3 * 20 * 15
    assert one.query_rows.tolist() == one.target_rows.tolist() == [0, 1, 0]
    assert (one.queries.residues(0) != one.queries.residues(1)).any()


def test_a_rung_that_cannot_run_says_why(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viterbi_ladder, "measurable_device", lambda wish: replace(measurable, local_bytes=16))
    document, _ = measured(VITERBI, measurable, "local-emissions", "local-specials")
    basic, local, emissions = document["rows"]
    assert basic["equal"]
    for row in (local, emissions):
        assert (row["status"], row["equal"], row["speedup"]) == ("not run", False, None)
        assert row["reason"].startswith("A work-group needs")


def plant(monkeypatch: pytest.MonkeyPatch, ladder: Ladder, name: str, fault: int = 1) -> None:
    """Plant a fault into the kernels of one rung."""
    if ladder is VITERBI:

        def faulty_stage(choices: Any) -> ViterbiLadderStage:
            return ViterbiLadderStage(choices, **({"SABOTAGE": fault} if choices.rows == "private" else {}))

        monkeypatch.setattr(faulty_stage, "name", ViterbiLadderStage.name, raising=False)
        monkeypatch.setattr(viterbi_ladder, "ViterbiLadderStage", faulty_stage)
        return
    kind = PairRung if ladder is PAIRS else PairHmmRung
    usual: Callable[..., Any] = kind.stage

    def faulty(rung: Any, *given: Any) -> Any:
        stage = usual(rung, *given)
        if rung.name == name:
            stage.defines = {"SABOTAGE": fault}
        return stage

    monkeypatch.setattr(kind, "stage", faulty)


@pytest.mark.thorough(name=["private-rows", "global"])
@pytest.mark.parametrize(
    ("ladder", "name", "fault", "reason"),
    [
        (VITERBI, "private-rows", 1, "The scores of 40 of 40 sequences differ."),
        (PAIRS, "global", 1, "of 12 pairs differ."),
        (PAIR_HMM, "cells", 1, "differs by"),
        (PAIR_HMM, "states", 1, "differs by"),
        (PAIR_HMM, "local", 2, "Forward and Backward"),
    ],
    ids=lambda value: value.name if isinstance(value, Ladder) else None,
)
def test_planted_fault_is_noticed(
    measurable: Device, monkeypatch: pytest.MonkeyPatch, ladder: Ladder, name: str, fault: int, reason: str
) -> None:
    plant(monkeypatch, ladder, name, fault)
    document, _ = measured(ladder, measurable, name)
    right, wrong = document["rows"]
    assert right["equal"]
    assert not wrong["equal"]
    assert reason in wrong["reason"]
    assert wrong["total_seconds"] is wrong["kernel_seconds"] is wrong["speedup"] is wrong["gcups"] is None
    if fault == 1:
        assert (wrong["status"], printed(ladder, wrong)["Check"]) == ("done", "differs")
        assert ladder.wrong(document) == [name]
        assert [severity for severity, _ in ladder.verdicts(document)] == ["stop"]


@pytest.mark.thorough(difference=[0.5])
@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        (0.5, "a posterior or a count differs by 0.5, more than 1e-05."),
        (math.nan, "a posterior or a count is not a number."),
    ],
    ids=["differs", "nan"],
)
def test_what_an_option_of_the_compiler_makes_wrong_is_its_result(
    measurable: Device, monkeypatch: pytest.MonkeyPatch, difference: float, reason: str
) -> None:
    monkeypatch.setattr(pair_hmm_ladder._Ladder, "difference", lambda self, found: difference)
    document, _ = measured(PAIR_HMM, measurable, "states", "states+relaxed")
    _, states, relaxed = document["rows"]
    assert (states["status"], states["reason"]) == (DONE, reason.capitalize())
    assert relaxed["status"] == printed(PAIR_HMM, relaxed)["Check"] == INEXACT
    assert relaxed["reason"] == f"With -cl-fast-relaxed-math on this device, {reason}"
    assert relaxed["total_seconds"] is relaxed["speedup"] is None
    assert PAIR_HMM.wrong(document) == ["sequential", "states"]
    assert "but for states+relaxed" in PAIR_HMM.summary(document)
    assert "inexact" in why_no_bar(relaxed)


@pytest.mark.thorough
def test_a_wrong_size_of_pairs_is_noticed(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, PAIR_HMM, "sequential")
    document, _ = measured(PAIR_HMM, measurable, "sizes")
    (size,) = document["experiments"]["sizes"]
    assert (size["status"], size["equal"], size["speedups"]) == ("done", False, None)
    assert PAIR_HMM.wrong(document) == ["sequential", "Sizes 12 x 9"]


def test_a_wrong_first_rung_does_not_count_for_the_others(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, PAIRS, "sequential")
    document, _ = measured(PAIRS, measurable, "global")
    assert [row["equal"] for row in document["rows"]] == [False, True]
    assert [row["speedup"] for row in document["rows"]] == [None, None]


def test_one_difference_beyond_the_reference_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smith_waterman_ladder, "REFERENCE_CELLS", 3 * 400)
    batch = smith_waterman_ladder.random_pairs(5, 20, 1)
    known = smith_waterman_ladder._Ladder(batch, Job(lambda event: None))
    assert len(known._expected) == 3
    right = smith_waterman_ladder.SMITH_WATERMAN_TRACE.reference(batch, SCORING)
    wrong = [*right[:4], right[4]._replace(path="M")]
    assert known.n_differing(right) == 0
    assert known.n_differing(wrong) == 1


def test_every_difference_is_seen() -> None:
    """One posterior, one entry more or less, one count of any kind, and what is no number; of any pair."""
    known = pair_hmm_ladder._Ladder(PairHmmLadderSpec(x=30, y=25, pairs=3), Job(lambda event: None))
    batch, models = known.of_first(3)
    found = SequentialStage().reference(batch, models)
    assert known.difference(found) == 0
    p, last = found.posteriors, len(found.posteriors.values) - 1
    for value in (np.float32(0.5), np.float32(np.nan)):
        values = p.values.copy()
        values[last] = value
        assert not known.difference(structs.replace(found, posteriors=structs.replace(p, values=values))) <= TOLERANCE
    moved = p.y.copy()
    moved[last] += 1
    assert known.difference(structs.replace(found, posteriors=structs.replace(p, y=moved))) > TOLERANCE
    fewer = structs.replace(
        p, offsets=np.append(p.offsets[:-1], last), x=p.x[:last], y=p.y[:last], values=p.values[:last]
    )
    assert known.difference(structs.replace(found, posteriors=fewer)) > TOLERANCE
    for name in type(found.counts).__slots__:
        changed = getattr(found.counts, name).copy()
        changed.flat[-1] += 0.1
        assert (
            known.difference(structs.replace(found, counts=structs.replace(found.counts, **{name: changed})))
            > TOLERANCE
        )


def test_nothing_is_measured_where_the_own_kernel_is_wrong(measurable: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viterbi_ladder, "viterbi_score", lambda *_: 0)
    with pytest.raises(DeviceError):
        measured(VITERBI, measurable, "basic")


def test_kernels_on_a_second_queue_count(measurable: Device) -> None:
    rng = np.random.default_rng(1)
    model = random_profile(rng, 9)
    with open_session(measurable) as session:
        witness = Witness(session, ENTRY)
        batch = random_batch(rng, model, 50, 40)
        witness.run(ViterbiLadderStage(LadderChoices(copies="overlapped")), batch, model)
        assert witness.kernel_seconds > session.kernel_seconds > 0
        assert list(witness.launched) == ["viterbi_ladder_item"]


def test_the_sequential_rung_is_for_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Device("0:0", "card", "gpu", health="ready")
    core = Device("1:0", "core", "cpu", health="ready")
    broken = replace(core, id="2:0", health="not usable")
    sequential, parallel = PAIR_RUNGS[:2]
    monkeypatch.setattr(ladders, "all_devices", lambda: [card, broken, core])
    assert ladders.device_for(sequential, card) is core
    assert ladders.device_for(sequential, broken) is broken
    assert ladders.device_for(parallel, card) is card
    monkeypatch.setattr(ladders, "all_devices", lambda: [card, broken])
    assert ladders.device_for(sequential, card) is None


@pytest.mark.parametrize(("ladder", "rung"), [(PAIRS, "global"), (PAIR_HMM, "states")], ids=["sw", "pairhmm"])
def test_without_a_processor_the_others_are_measured(
    measurable: Device, monkeypatch: pytest.MonkeyPatch, ladder: Ladder, rung: str
) -> None:
    for module in (smith_waterman_ladder, pair_hmm_ladder):
        monkeypatch.setattr(module, "device_for", lambda rung, device: None if rung.on_one_core else device)
    document, _ = measured(ladder, measurable, rung, *ladder.experiment_names)
    one, other = document["rows"]
    assert (one["status"], one["device"], one["reason"]) == ("not run", None, ladders.NO_PROCESSOR)
    assert other["equal"]
    assert other["speedup"] is None
    for size in document.get("experiments", {}).get("sizes", ()):
        assert (size["equal"], size["speedups"]) == (True, None)


def test_what_would_begin_too_late_is_left_out(ladder: Ladder, measurable: Device) -> None:
    rows = ladder.run(structs.replace(spec(ladder, measurable), ends=0.0), QuietContext())["rows"]
    assert [row["status"] for row in rows] == ["not run"] * len(ladder.rungs)
    assert NOT_REACHED in {row["reason"] for row in rows}


def test_fast_rungs_come_first_where_time_is_short(measurable: Device) -> None:
    given = spec(VITERBI, measurable, "unroll-2", "1", "item")
    rows = VITERBI.run(structs.replace(given, runs=1, ends=time.monotonic() + 600), QuietContext())["rows"]
    assert [row["name"] for row in rows] == ["basic", "1", "item", "unroll-2"]
    assert all(row["equal"] for row in rows)


def test_cancelled_between_rungs(ladder: Ladder, measurable: Device) -> None:
    rows = []

    def listen(event: Any) -> None:
        if event.kind == "partial":
            rows.append(event.value["row"])
            job.cancel()

    job = Job(listen)
    with pytest.raises(Cancelled):
        ladder.run(spec(ladder, measurable), job)
    assert [row["name"] for row in rows] == [ladder.rungs[0].name]


def test_the_reference_is_no_device_to_measure(ladder: Ladder) -> None:
    with pytest.raises(DeviceNotFound):
        ladder.run(ladder.spec("reference"), Job(lambda event: None))


def test_rungs_are_chosen_by_name_after_the_first(ladder: Ladder) -> None:
    first, *_, last = ladder.rungs
    names = ladder.experiment_names
    assert ladder.chosen([last.name, *names]) == ([first, last], names)
    assert ladder.chosen(None) == (list(ladder.rungs), names)
    with pytest.raises(OptionError, match="texture"):
        ladder.chosen(["texture"])


def test_requests_leave_out_what_is_usual(ladder: Ladder) -> None:
    option = ladder.options[-1]
    request = {"job": ladder.job, "device": "0:0", "variants": ["local"], "runs": None, option: 5}
    assert ladder.spec.from_dict(request) == ladder.spec("0:0", variants=("local",), **{option: 5})
