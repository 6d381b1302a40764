"""What becomes of memory when there is too little of it, and when a device fails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from clalign.compute.opencl import transfers
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.session import OpenCLSession
from clalign.errors import DeviceError, OutOfDeviceMemory
from clalign.values.devices import Device


@pytest.fixture(scope="module")
def opened() -> Device:
    return pick_device("auto")


def test_too_little_memory_of_the_host_is_that_of_a_device_that_computes_there(
    opened: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Smaller batches may fit."""
    with OpenCLSession(replace(opened, kind="cpu")) as session:
        monkeypatch.setattr(transfers, "in_host_memory", lambda n_bytes: np.empty(2**62, np.uint8))
        for make in (session.results, session.zeros, lambda n: session.upload(np.zeros(n, np.uint8))):
            with pytest.raises(OutOfDeviceMemory):
                make(100)
        monkeypatch.undo()
        assert not session.download(session.zeros(100), 100, np.uint8).any()


def test_a_failed_session_gives_memory_back(opened: Device) -> None:
    """The device is opened once more, and has to have room."""
    session = OpenCLSession(replace(opened, kind="gpu", vendor="nobody"))
    assert session._pool is not None
    kept = [session.allocate(1 << 16) for _ in range(3)]
    assert session._pool.active_blocks == 3
    kept.pop()
    error = DeviceError("The cable is loose.", "Fasten it.")
    session.__exit__(DeviceError, error, None)
    assert session._pool.held_blocks == 0
    kept.clear()
    assert session._pool.held_blocks == 0
    assert session._pool.active_blocks == 0
