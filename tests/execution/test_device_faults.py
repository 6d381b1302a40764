"""Devices that break, freeze or get lost at random moments: those that are left end the job with the same run."""

from __future__ import annotations

import random
import sys
import threading
from pathlib import Path

import pytest

from clalign.errors import DeviceError
from clalign.execution import planner

sys.path.insert(0, str(Path(__file__).parent))
from device_runs import (
    EVERY_ENGINE,
    WAIT,
    Counting,
    Devices,
    Expected,
    computed,
    content,
    exports,
    small_units,
    spec_of,
)

LAST_MOMENT = 12


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> None:
    small_units(monkeypatch)
    monkeypatch.setattr(planner, "LOST_SECONDS", 0.5)


@pytest.mark.thorough(seed=[0], engine=["sw"])
@pytest.mark.exhaustive(seed=[0])
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("engine", EVERY_ENGINE)
def test_faults_at_random_moments(
    engine: str, seed: int, expected: Expected, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{engine} {seed}")
    faults = [
        f"{chance.choice(['breaking', 'freezing', 'lost'])} at {chance.randint(1, LAST_MOMENT)}" for _ in range(2)
    ]
    # The last digits of Forward scores, and of what is learned from pairs, are not the same on the reference.
    words = [*faults, "third" if engine in ("hmmer3", "align") else "reference"]
    chance.shuffle(words)
    devices, context, path = Devices(monkeypatch), Counting(), tmp_path / "run.clalign"
    before = set(threading.enumerate())
    try:
        computed(spec_of(engine, folder), path, devices, tuple(words), context)
    finally:
        devices.is_released.set()
        for thread in set(threading.enumerate()) - before:
            thread.join(WAIT)
    assert content(path) == expected(engine)[0], words
    assert exports(path, tmp_path / "exports") == expected(engine)[1], words
    assert len(context.texts) <= 2 * len(faults), "that it is tried again, and that others go on"


@pytest.mark.parametrize("engine", ["sw", "align"])
def test_a_device_that_cannot_be_opened_is_reported_and_the_others_go_on(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices, context = Devices(monkeypatch), Counting()
    devices.opened += ["lost at 1", "lost at 1"]
    done = computed(spec_of(engine, tmp_path), tmp_path / "run.clalign", devices, ("lost at 1", "two"), context)
    assert done["device"] == "A device"
    assert [part["id"] for part in done["devices"]] == ["two"]
    assert sum("fallen off" in text for text in context.texts) == 2, "that it is tried again, and that others go on"


def test_without_any_device_that_can_be_opened_the_job_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    devices = Devices(monkeypatch)
    devices.opened += ["lost at 1", "lost at 2"]
    with pytest.raises(DeviceError, match="fallen off"):
        computed(spec_of("sw", tmp_path), tmp_path / "run.clalign", devices, ("lost at 1", "lost at 2"))
