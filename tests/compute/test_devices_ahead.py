"""Devices that are listed and opened before the job that uses them comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clalign.compute.opencl import choice, session
from clalign.compute.opencl.choice import Devices, pick_device
from clalign.compute.sessions import no_build_report, no_check
from clalign.errors import DeviceError
from clalign.values.devices import REFERENCE, Device, needs_drivers


def looked(wish: str) -> Devices:
    devices = Devices()
    devices.look_ahead(wish)
    devices.settle()
    return devices


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[list[Device]]:
    """What each listing of the devices in this process has found."""
    found, familiar = list[list[Device]](), choice.familiar_devices

    def noted() -> list[Device]:
        found.append(familiar())
        return found[-1]

    monkeypatch.setattr(choice, "familiar_devices", noted)
    return found


@pytest.mark.usefixtures("home_of_verdicts")
def test_devices_are_listed_once_and_the_one_that_is_meant_is_opened(listings: list[list[Device]]) -> None:
    devices = looked("cpu")
    assert len(listings) == 1
    cpu = devices.pick("cpu")
    assert cpu in devices.pick_several("all")[0]
    assert len(listings) == 1
    assert devices.is_open(cpu)
    with devices.open(cpu, no_check, no_build_report) as first:
        assert not devices.is_open(cpu), "it belongs to one session at a time"
        with devices.open(cpu, no_check, no_build_report) as second:
            assert first._context != second._context  # type: ignore[attr-defined]
    devices.rest()
    assert devices.pick("cpu") == cpu
    assert len(listings) == 2, "they may have changed since the last job"


@pytest.mark.usefixtures("home_of_verdicts")
@pytest.mark.parametrize("wish", ["reference", "99:0", "no such card", "cpu,reference", ""])
def test_no_device_is_opened_for_other_words(wish: str) -> None:
    assert not looked(wish).is_open(pick_device("cpu"))


@pytest.mark.usefixtures("home_of_verdicts")
def test_a_device_that_cannot_be_opened_ahead_is_opened_by_its_session(monkeypatch: pytest.MonkeyPatch) -> None:
    opened, n_failed = session.opened, 0

    def fails(device: Device) -> Any:
        nonlocal n_failed
        n_failed += 1
        raise DeviceError("The driver is busy.", "Wait.")

    monkeypatch.setattr(session, "opened", fails)
    devices = looked("cpu")
    monkeypatch.setattr(session, "opened", opened)
    cpu = devices.pick("cpu")
    assert n_failed == 1
    assert not devices.is_open(cpu)
    with devices.open(cpu, no_check, no_build_report) as found:
        assert found.device == cpu


def test_what_fails_while_devices_are_listed_is_raised_where_one_is_picked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> list[Device]:
        raise DeviceError("The driver is gone.", "Look for it.")

    monkeypatch.setattr(choice, "familiar_devices", fails)
    devices = looked("cpu")
    with pytest.raises(DeviceError):
        devices.pick("cpu")
    assert devices.pick("reference") is REFERENCE


def test_devices_that_nobody_knows_yet_are_listed_by_a_child(
    monkeypatch: pytest.MonkeyPatch, home_of_verdicts: Path
) -> None:
    (home_of_verdicts / "devices.json").unlink()
    asked = list[bool]()

    def listed(refresh: bool = False, notify: object = None) -> list[Device]:
        asked.append(refresh)
        return [REFERENCE]

    monkeypatch.setattr(choice, "all_devices", listed)
    assert looked("auto").pick("auto") is REFERENCE
    assert asked == [False]


@pytest.mark.parametrize(
    ("words", "are_needed"),
    [("auto", True), ("", True), ("reference", False), ("reference, reference", False), ("reference,cpu", True),
     ("reference@local:2", False), ("auto@local:2", True), ("auto@/reference/here.json", True)],
)  # fmt: skip
def test_words_need_drivers_unless_they_mean_the_reference_alone(words: str, are_needed: bool) -> None:
    assert needs_drivers(words) == are_needed
