"""What tests of devices share: a cache in which the verdicts on all of them are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from clalign.compute.opencl import discover
from clalign.compute.opencl.discover import discover_devices
from clalign.values.devices import Device


@pytest.fixture(scope="session")
def listed_devices() -> list[Device]:
    """All devices of this machine, the reference last."""
    return discover_devices()


@pytest.fixture
def home_of_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, listed_devices: list[Device]) -> Path:
    """A cache of its own, with the verdicts that are known."""
    monkeypatch.setattr(discover, "verdicts_path", lambda: tmp_path / "devices.json")
    discover._write_verdicts({discover.device_key(one): discover._verdict(one) for one in listed_devices[:-1]})
    return tmp_path
