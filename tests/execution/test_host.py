"""Beside a graphics card the processor defines domains; without a driver for it the card does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clalign.compute.sessions import ReferenceSession, nothing_to_check
from clalign.errors import DeviceError
from clalign.execution.host import Host
from clalign.values.devices import REFERENCE, Device

CARD = replace(REFERENCE, kind="gpu", name="A card")


def host_of(device: Device, wishes: list[str], is_needed: bool = True) -> Host:
    def pick(wish: str) -> Device:
        wishes.append(wish)
        return REFERENCE

    return Host(device, pick, nothing_to_check, is_needed)


def test_the_processor_is_opened_beside_a_card() -> None:
    wishes: list[str] = []
    with host_of(CARD, wishes) as host:
        beside = ReferenceSession(CARD)
        found = host.session_for(beside)
        assert found is not beside
        assert host.session_for(beside) is found
        assert host.session is found
        assert found.device == REFERENCE
    assert wishes == ["cpu"]


@pytest.mark.parametrize(("own", "is_needed"), [(REFERENCE, True), (CARD, False)])
def test_nothing_is_opened_where_it_is_of_no_use(own: Device, is_needed: bool) -> None:
    wishes: list[str] = []
    with host_of(own, wishes, is_needed) as host:
        beside = ReferenceSession(own)
        assert host.session_for(beside) is beside
    assert wishes == []
    assert host.session is None


def test_without_a_driver_for_the_processor_the_card_does_it() -> None:
    def pick(wish: str) -> Device:
        raise DeviceError("There is no such device.", "Install one.")

    with Host(CARD, pick, nothing_to_check) as host:
        beside = ReferenceSession(CARD)
        assert host.session_for(beside) is beside
        assert host.session is None
