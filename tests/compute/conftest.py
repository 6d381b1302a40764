"""What tests of devices share: a cache in which the verdicts on all of them are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from clalign.compute.opencl import discover
from clalign.compute.opencl.discover import discover_devices


@pytest.fixture
def home_of_verdicts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of its own, with the verdicts that are known."""
    known = discover_devices()
    monkeypatch.setattr(discover, "verdicts_path", lambda: tmp_path / "devices.json")
    discover._write_verdicts({discover.device_key(device): discover._verdict(device) for device in known[:-1]})
    return tmp_path
