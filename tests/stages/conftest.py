"""An open session on each device, and those that a test of a kernel's shape can use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
import pyopencl as cl
import pytest
from pyopencl.tools import MemoryPool

from clalign.compute.opencl import session as opencl_session
from clalign.compute.opencl import transfers
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
        context: Any = buffer.get_info(cl.mem_info.CONTEXT)
        cl.enqueue_copy(cl.CommandQueue(context), there, buffer)
        assert there.tobytes() == array.tobytes()


GUARD_BYTES, GUARD, SPOILED = 4096, 0xB7, 0xD5
"""Bytes before and behind a buffer, and what these and a buffer that was given back hold."""


class Given(NamedTuple):
    """Memory that was given out: the buffer and the parts of it that others hold, and all of it, guards included."""

    buffer: cl.Buffer
    parts: list[cl.Buffer]
    whole: Any
    plain: cl.Buffer
    queue: cl.CommandQueue
    n_bytes: int

    @property
    def is_held(self) -> bool:
        """Whether anybody but this list of what was given out holds the buffer or a part of it.

        References are counted, as attributes and finalizers of pyopencl's buffers have ended processes.
        """
        own = 2  # of this tuple or its list, and of the call
        return sys.getrefcount(self.buffer) > own or any(
            sys.getrefcount(self.parts[i]) > own for i in range(len(self.parts))
        )

    def damages(self) -> Iterator[str]:
        """Yield what was written beside the buffer, and spoil all of it."""
        for side, start in (("before", 0), ("behind", GUARD_BYTES + self.n_bytes)):
            found = np.zeros(GUARD_BYTES, np.uint8)
            cl.enqueue_copy(self.queue, found, self.plain, src_offset=start)
            if (found != GUARD).any():
                yield f"{(found != GUARD).sum()} bytes {side} a buffer of {self.n_bytes}"
        cl.enqueue_fill_buffer(self.queue, self.plain, np.array([SPOILED], np.uint8), 0, self.whole.size)
        self.queue.finish()


class GuardedPool:
    """A pool whose buffers have guards around them, and are spoiled before they are given out again.

    A command that is still to use one then finds that; what it writes beside one is noticed.
    """

    given: ClassVar[dict[int, Given]] = {}
    """By the driver's handle of the buffer."""

    damages: ClassVar[list[str]] = []

    def __init__(self, allocator: Any) -> None:
        self._pool = usual_pool(allocator)

    @classmethod
    def take_back(cls) -> None:
        """Check the guards of the buffers that nobody holds any more, spoil these, and let their pools have them."""
        for handle in [handle for handle, memory in cls.given.items() if not memory.is_held]:
            cls.damages.extend(cls.given.pop(handle).damages())

    def allocate(self, n_bytes: int) -> Any:
        self.take_back()
        whole = self._pool.allocate(n_bytes + 2 * GUARD_BYTES)
        plain: Any = cl.Buffer.from_int_ptr(whole.int_ptr, retain=True)
        queue = cl.CommandQueue(plain.get_info(cl.mem_info.CONTEXT))
        cl.enqueue_fill_buffer(queue, plain, np.array([GUARD], np.uint8), 0, whole.size)
        queue.finish()
        buffer: Any = plain.get_sub_region(GUARD_BYTES, n_bytes)
        self.given[buffer.int_ptr] = Given(buffer, [], whole, plain, queue, n_bytes)
        return buffer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)


usual_pool: Callable[[Any], Any] = MemoryPool

usual_part = transfers.part_of


def part_of_guarded(whole: Any, start: int, n_bytes: int) -> Any:
    """Return a part of a buffer that is itself one, of which drivers make none."""
    memory = GuardedPool.given.get(whole.int_ptr)
    if memory is None:
        return usual_part(whole, start, n_bytes)
    part = memory.plain.get_sub_region(GUARD_BYTES + start, n_bytes)
    memory.parts.append(part)
    return part


@pytest.fixture(scope="session", autouse=True)
def guarded_pool(pytestconfig: pytest.Config) -> Iterator[None]:
    """Guard the buffers of cards."""
    with pytest.MonkeyPatch.context() as patched:
        if pytestconfig.getoption("--guards"):
            patched.setattr(opencl_session, "MemoryPool", GuardedPool)
            patched.setattr(transfers, "part_of", part_of_guarded)
        yield


@pytest.fixture(autouse=True)
def guards_stay() -> Iterator[None]:
    """Demand that nothing was written beside a buffer."""
    yield
    GuardedPool.take_back()
    damages = GuardedPool.damages[:]
    GuardedPool.damages.clear()
    assert not damages


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
