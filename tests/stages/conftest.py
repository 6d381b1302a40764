"""An open session on each device, and those that a test of a kernel's shape can use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pytest

from clalign.compute.opencl.transfers import Transfers
from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.values.devices import Device


@pytest.fixture(autouse=True)
def uploads_stay(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Demand that no kernel writes what was uploaded: a card's copy of it would be called damaged, a CPU's is not."""
    sent: list[tuple[cl.Buffer, npt.NDArray[Any]]] = []
    upload = Transfers.upload

    def noted(transfers: Transfers, array: npt.NDArray[Any], *more: int) -> cl.Buffer:
        buffer = upload(transfers, array, *more)
        sent.append((buffer, array.copy()))
        return buffer

    monkeypatch.setattr(Transfers, "upload", noted)
    yield
    for buffer, array in sent:
        there = np.empty_like(array)
        cl.enqueue_copy(cl.CommandQueue(buffer.get_info(cl.mem_info.CONTEXT)), there, buffer)
        assert there.tobytes() == array.tobytes()


@pytest.fixture(scope="module")
def session(opencl_device: Device) -> Iterator[Session]:
    """For what is compared with the reference, on everything else than that."""
    with open_session(opencl_device) as opened:
        yield opened


@pytest.fixture(scope="module")
def any_session(device: Device) -> Iterator[Session]:
    """For what is compared with something else than the reference."""
    with open_session(device) as opened:
        yield opened


@pytest.fixture
def shaped_session(session: Session, shape: str) -> Session:
    """Left out for vectors on a GPU: they are the shape for CPUs and do not build for every GPU."""
    return session


@pytest.fixture
def team_session(shaped_session: Session, shape: str) -> Session:
    """For kernels whose lanes meet many times within conditions and loops: CPU drivers compile those for minutes.

    The simulator of `test_data_races` runs them on every machine."""
    return shaped_session
