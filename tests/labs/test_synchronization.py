"""The laboratory of waiting groups: what it measures, checks, refuses and concludes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from clalign.compute.group_barriers import METHODS, GroupBarrier, Rounds
from clalign.errors import GroupsNotConcurrent, OptionError
from clalign.jobs import Job, QuietContext
from clalign.labs import synchronization
from clalign.labs.measuring import NOT_REACHED
from clalign.labs.meeting_costs import COSTS, Measured, deviation, fitted, predicted, steps
from clalign.labs.published_synchronization import BANDS
from clalign.labs.synchronization import (
    SynchronizationSpec,
    conclusions,
    how_of,
    numbers_of_groups,
    run_synchronization,
    wrong_cells,
)
from clalign.labs.synchronization_results import below, row_text
from clalign.stages.sync.bitonic_sort import BITONIC_SORT, BitonicSortStage
from clalign.values.devices import Device

TRUE = {"ta": 3e-7, "tc": 5e-7, "ts": 2e-7, "tw": 6e-7, "tl": 4e-6, "w": 1e-3}


def measured(methods: tuple[str, ...] = tuple(METHODS), noise: float = 0.0) -> list[Measured]:
    """Return rounds that take exactly what the costs say, or nearly so."""
    rng = np.random.default_rng(1)
    hows = [how_of(way, n, 32, 6) for way in methods for n in range(7, 61)]
    return [
        Measured(how, predicted(TRUE, how) * (1 + noise * rng.standard_normal()))
        for how in hows
        if isinstance(how, GroupBarrier)
    ]


def document(**changes: Any) -> dict[str, Any]:
    """Return a document of what the costs say, a hundred rounds each."""
    made: dict[str, Any] = {
        "program": "sort", "group_size": 32, "sets": 6, "methods": ["lbs", "ilbs", "lfs", "ulfs"], "rows": [],
        "size": 9, "unit": "keys", "device": {"name": "Card"}, "experiments": {"sets": []},
        "published": {"device": "GTX 1070", "sets": 6}, **changes,
    }  # fmt: skip
    for n in range(7, 61):
        cells = {}
        for way in made["methods"]:
            how = how_of(way, n, 32, 6)
            seconds = 100 * predicted(TRUE, how) if isinstance(how, GroupBarrier) else None
            status, reason = ("done", None) if seconds else ("not run", how)
            cells[way] = {"status": status, "reason": reason, "seconds": seconds, "rounds": 100, "found": None,
                          "equal": status == "done"}  # fmt: skip
        made["rows"].append({"n_groups": n, "cells": cells})
    return {**made, **conclusions(made)}


def test_steps_by_hand() -> None:
    named = {way: dict(zip(COSTS, steps(how_of(way, 33, 32, 6)), strict=True)) for way in ("lbs", "ilbs", "ulfs")}  # type: ignore[arg-type]
    assert (named["lbs"]["ta"], named["lbs"]["tc"], named["lbs"]["ts"]) == (33, 1, 1)
    assert (named["ilbs"]["ta"], named["ilbs"]["tc"]) == (6 + 6, 2)
    assert (named["ulfs"]["tw"], named["ulfs"]["ts"]) == (8, 3)
    assert dict(zip(COSTS, steps(GroupBarrier(32, 32, "ulfs")), strict=True))["tw"] == 4
    assert np.array_equal(steps(GroupBarrier(32, 32, "ulfs")), steps(GroupBarrier(32, 32, "lfs")))


def test_the_costs_of_a_model_are_found() -> None:
    found = fitted(measured())
    assert found is not None
    assert found == pytest.approx(TRUE, rel=1e-6)
    assert deviation(found, measured()) < 1e-6


def test_nearly_so_with_noise() -> None:
    points = measured(noise=0.01)
    found = fitted(points)
    assert found is not None
    assert all(value >= 0 for value in found.values())
    assert found["tl"] == pytest.approx(TRUE["tl"], rel=0.1)
    assert found["w"] == pytest.approx(TRUE["w"], rel=0.1)
    assert 0.005 < deviation(found, points) < 0.02


def test_no_cost_is_below_nothing() -> None:
    falling = [Measured(GroupBarrier(n, 32, "lbs"), 1.0 / n) for n in range(1, 40)]
    found = fitted(falling)
    assert found is not None
    assert found["w"] == pytest.approx(1)
    assert found["ta"] == pytest.approx(0, abs=1e-6)
    assert fitted(falling[:2]) is None
    assert fitted([]) is None


def test_conclusions_by_hand() -> None:
    made = document()
    assert made["model"]["costs"] == pytest.approx({name: TRUE[name] for name in ("ta", "tc", "ts", "tw", "w")})
    cells = {row["n_groups"]: row["cells"] for row in made["rows"]}
    band = made["bands"][0]
    means = [np.mean([cells[n][way]["seconds"] for n in range(7, 16)]) for way in ("lbs", "ilbs")]
    assert (band["first"], band["last"], band["ratio"]) == (7, 15, pytest.approx(means[0] / means[1]))
    assert band["published"]["ilbs"] == 0.245
    (jump,) = made["levels"]
    assert (jump["n_groups"], jump["levels"], jump["published"]) == (33, 3, 0.34)
    assert jump["growth"] == pytest.approx(cells[33]["ulfs"]["seconds"] / cells[32]["ulfs"]["seconds"] - 1)
    assert cells[33]["lfs"]["seconds"] is None
    assert "LFS allows no more groups" in cells[33]["lfs"]["reason"]


def test_the_text_says_all_of_it() -> None:
    made = document()
    made["experiments"]["sets"] = [{"n_groups": 9, "seconds": [3e-3, 2e-3, 1e-3], "best": 3, "root": 3.0}]
    messages = below(made)
    assert "all 188 results are right" in messages
    assert "LFS of 33 to 60 groups: LFS" in messages
    assert "52 to 60" in messages
    assert "1.83 s" in messages
    assert "9 groups: ILBS is fastest with 3 sets (1 ms); the root of their number is 3.0 (1 ms)." in messages
    assert "33 groups: ULFS has 3 levels" in messages
    assert "+34.0%" in messages
    assert "an addition to a counter" in messages
    assert row_text(None, ["lbs"]).split() == ["Groups", "At", "once", "LBS"]
    assert row_text(made["rows"][0], ["lbs"]).split()[0] == "7"


def test_published_ratios_are_those_of_the_times() -> None:
    for bands in BANDS.values():
        assert [(band["first"], band["last"]) for band in bands] == [(n, n + 8) for n in range(7, 60, 9)]
        for band in bands:
            assert band["lbs"] / band["ilbs"] == pytest.approx(band["ratio"], abs=0.01)
        assert all(a["lbs"] < b["lbs"] for a, b in itertools.pairwise(bands))


@pytest.mark.parametrize(
    ("text", "numbers"), [("7-9", [7, 8, 9]), ("5", [5]), ("9,1-3, 2", [1, 2, 3, 9]), ("4096", [4096])]
)
def test_numbers_of_groups(text: str, numbers: list[int]) -> None:
    assert numbers_of_groups(text) == numbers


@pytest.mark.parametrize("text", ["", "0-3", "3-2", "a", "4097", "1,,2", "-4", "1-2-3"])
def test_no_numbers_of_groups(text: str) -> None:
    with pytest.raises(OptionError):
        numbers_of_groups(text)


def run(device: Device, **changes: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    messages: list[dict[str, Any]] = []
    request = {"device": device.id, "runs": 1, "group_size": 4, **changes}
    job = Job(lambda event: messages.append(event.value["row"]) if event.kind == "partial" else None)
    return run_synchronization(SynchronizationSpec.from_dict(request), job), messages


@pytest.mark.parametrize(("program", "size"), [("sort", 700), ("sw", 90), ("relay", 20)])
def test_every_program_on_a_device(opencl_device: Device, program: str, size: int) -> None:
    found, messages = run(opencl_device, program=program, size=size, groups="1-2", methods=["launch", "lbs", "ulfs"])
    assert messages == found["rows"]
    for row in found["rows"]:
        for way, cell in row["cells"].items():
            assert (cell["status"], cell["equal"], cell["runs"]) == ("done", True, 1)
            assert cell["seconds"] > 0
            assert cell["found"] == (None if way == "launch" else row["n_groups"])
    assert wrong_cells(found) == []


def test_more_than_run_at_once_are_not_left_to_wait(opencl_device: Device) -> None:
    n = opencl_device.n_compute_units * (1 if opencl_device.kind == "cpu" else 256) + 1
    found, _ = run(opencl_device, groups=str(n), methods=["lbs", "discovered", "launch"], size=2000)
    cells = found["rows"][0]["cells"]
    assert (cells["lbs"]["status"], cells["lbs"]["seconds"]) == ("not run", None)
    assert 1 <= cells["lbs"]["found"] < n
    assert cells["discovered"]["equal"]
    assert 1 <= cells["discovered"]["took_part"] < n
    assert cells["launch"]["equal"]
    assert f"LBS of {n:,} groups: the device ran {cells['lbs']['found']:,} of them at once" in below(found)


def test_a_wrong_result_has_no_time(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    right = BITONIC_SORT.reference
    monkeypatch.setattr(BitonicSortStage, "reference", lambda self, *given: right(*given)[::-1])
    found, _ = run(opencl_device, groups="1", methods=["launch", "lbs"], size=50)
    assert wrong_cells(found) == [(1, "launch"), (1, "lbs")]
    assert "2 of 2 results differ" in below(found)


def test_groups_that_part_while_they_are_measured(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*given: Any) -> int:
        raise GroupsNotConcurrent("They parted.", "Ask for fewer.")

    monkeypatch.setattr(Rounds, "finish", leave)
    found, _ = run(opencl_device, groups="1", methods=["lbs"], size=50)
    assert found["rows"][0]["cells"]["lbs"]["reason"] == "They parted."


def test_every_number_of_sets_is_tried(opencl_device: Device) -> None:
    found, _ = run(opencl_device, groups="1-2", methods=["ilbs"], size=20, program="relay")
    (row,) = found["experiments"]["sets"]
    assert (row["n_groups"], len(row["seconds"]), row["equal"]) == (2, 2, True)
    assert row["best"] in (1, 2)


def test_ways_that_would_begin_too_late_are_left_out(opencl_device: Device) -> None:
    given = SynchronizationSpec(opencl_device.id, program="relay", groups="1", size=2, ends=0.0)
    (row,) = run_synchronization(given, QuietContext())["rows"]
    assert {cell["reason"] for cell in row["cells"].values()} == {NOT_REACHED}


def test_sets_that_would_begin_too_late_are_not_wrong() -> None:
    nothing: Any = None
    bench = synchronization._Bench(nothing, nothing, SynchronizationSpec(ends=0.0), QuietContext())
    row = bench.sets(4)
    assert (row["best"], row["status"], row["equal"], row["reason"]) == (None, "not run", None, NOT_REACHED)


def test_groups_that_are_too_large(opencl_device: Device) -> None:
    with pytest.raises(OptionError, match="1,000,000"):
        run(opencl_device, group_size=1_000_000)
