"""An open session on each device, and those that a test of a kernel's shape can use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clalign.compute.sessions import Session, open_session
from clalign.values.devices import Device


@pytest.fixture(scope="module")
def session(device: Device) -> Iterator[Session]:
    with open_session(device) as opened:
        yield opened


@pytest.fixture
def opencl_session(session: Session) -> Session:
    """For what builds kernels; tests with it are left out for the reference."""
    return session


@pytest.fixture
def shaped_session(session: Session, shape: str) -> Session:
    """Left out for vectors on a GPU: they are the shape for CPUs and do not build for every GPU."""
    return session


@pytest.fixture
def team_session(shaped_session: Session, shape: str) -> Session:
    """For kernels whose lanes meet many times within conditions and loops: CPU drivers compile those for minutes."""
    return shaped_session
