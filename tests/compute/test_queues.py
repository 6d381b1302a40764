"""Memory of commands in flight: nobody else is given it before the command is over."""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

import clalign
from clalign.compute.opencl import discover
from clalign.compute.opencl.queues import Queue
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opencl.transfers import SMALL_BYTES
from clalign.errors import DeviceError
from clalign.values.devices import Device

N_BYTES = 4096

WRITER = """
__kernel void write(__global uchar *out) { out[get_global_id(0)] = 7; }
"""


class Refused(cl.RuntimeError):
    """An error of the driver."""

    def __init__(self) -> None:
        super().__init__(cl._cl._ErrorRecord(msg="refused", code=cl.status_code.INVALID_VALUE, routine="a call"))


@pytest.fixture
def session(cpu_device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenCLSession]:
    """A session whose buffers come from a pool, as those of a card do, which gives memory out again at once."""
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: WRITER)
    with OpenCLSession(replace(cpu_device, kind="gpu", vendor="nobody")) as session:
        session.launch("writer", "write", {}, 1, 1, session.allocate(1))
        session.finish()
        yield session


@contextlib.contextmanager
def waiting(*queues: Queue) -> Iterator[None]:
    """Let queues begin with nothing that they are given meanwhile."""
    gate = cl.UserEvent(queues[0].handle.context)
    for queue in queues:
        cl.enqueue_marker(queue.handle, wait_for=[gate])
        queue.flush()
    try:
        yield
    finally:
        gate.set_status(cl.command_execution_status.COMPLETE)


def write(session: OpenCLSession, buffer: Any) -> None:
    session.launch("writer", "write", {}, N_BYTES, 1, buffer)


def launch(session: OpenCLSession) -> None:
    write(session, session.allocate(N_BYTES))


def launch_in_vain(session: OpenCLSession) -> None:
    """Launch a kernel with what was just filled, and fail."""
    with pytest.raises(TypeError):
        session.launch("writer", "write", {}, N_BYTES, 1, session.zeros(N_BYTES), session.results(N_BYTES - 16))


def launch_in_lost_queue(session: OpenCLSession) -> None:
    """Launch a kernel in a queue that nobody knows any more, as when it goes from the cache."""
    beside = session.second_queue()
    gate_after(session, beside._queue)
    launch(beside)
    del beside
    gc.collect()


def launch_without_flush(session: OpenCLSession) -> None:
    """Launch a kernel in a queue whose driver fails right after that."""
    beside = session.second_queue()
    gate_after(session, beside._queue)

    def refuse() -> None:
        raise Refused

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(beside._queue, "flush", refuse)
        with pytest.raises(DeviceError):
            launch(beside)


def read_in_vain(session: OpenCLSession) -> None:
    """Read results twice, where the driver refuses the second time."""
    buffer = session.allocate(N_BYTES)
    write(session, buffer)
    read, calls = Queue.read, [0]

    def refused(queue: Queue, *given: Any, **more: Any) -> cl.Event:
        calls[0] += 1
        if calls[0] == 2:
            raise Refused
        return read(queue, *given, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Queue, "read", refused)
        with pytest.raises(DeviceError):
            session.download(buffer, N_BYTES, np.uint8)


def gate_after(session: OpenCLSession, queue: Queue) -> None:
    """Let a queue wait for what the session's own queue waits for."""
    cl.enqueue_marker(queue.handle, wait_for=[cl.enqueue_marker(session._queue.handle)])


def small_zeros(session: OpenCLSession) -> None:
    """Have a small buffer made, and lose it with those that were made with it."""
    session.zeros(4)
    session._zeroed.clear()


CASES: dict[str, Callable[[OpenCLSession], Any]] = {
    "zeros": lambda session: session.zeros(N_BYTES),
    "small zeros": small_zeros,
    "results": lambda session: session.results(N_BYTES - 16),
    "kernel": launch,
    "launch in vain": launch_in_vain,
    "lost queue": launch_in_lost_queue,
    "failed flush": launch_without_flush,
    "failed read": read_in_vain,
}


@pytest.mark.parametrize("name", CASES)
def test_memory_of_a_waiting_command_is_not_given_out(session: OpenCLSession, name: str) -> None:
    apart = cl.CommandQueue(session._context)
    expected = np.random.default_rng(1).integers(0, 256, N_BYTES, np.uint8)
    pool = session._pool
    assert pool is not None
    with waiting(session._queue, session._transfers._queue):
        CASES[name](session)
        assert pool.active_blocks > 0, "the command holds its memory"
        sizes = (N_BYTES, N_BYTES, N_BYTES, 1 << 15)  # as many as any of these may have dropped
        given = [session.allocate(size) for size in sizes]
        for buffer in given:
            cl.enqueue_copy(apart, buffer, expected)
    session._transfers._queue.finish()
    session.finish()
    for queue in list(session._busy_queues):
        queue.finish()
    for buffer in given:
        found = np.empty_like(expected)
        cl.enqueue_copy(apart, found, buffer)
        assert np.array_equal(found, expected)
    given.clear()
    del buffer
    assert pool.active_blocks == 0, "nothing is held after the command"
    assert not session._busy_queues


def test_a_long_upload_holds_its_memory(session: OpenCLSession) -> None:
    """Also if its batch was given up because memory was short."""
    array = np.arange(SMALL_BYTES, dtype=np.uint16)
    transfers, pool = session._transfers, session._pool
    assert pool is not None
    held = weakref.ref(array)
    with waiting(transfers._queue):
        session.upload(array)
        transfers.shrink()
        del array
        assert pool.active_blocks == 1
        assert held() is not None
    transfers._queue.finish()
    transfers.pending()
    assert pool.active_blocks == 0
    assert held() is None


def test_the_host_s_memory_stays_for_a_waiting_kernel(cpu_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: WRITER)
    with OpenCLSession(cpu_device) as session:
        with waiting(session._queue):
            buffer: Any = session.zeros(N_BYTES)
            held = weakref.ref(buffer.hostbuf.base)
            write(session, buffer)
            del buffer
            assert held() is not None
        session.finish()
        assert held() is None


def test_a_session_ends_after_its_commands_though_its_driver_fails(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of its other queues, too."""
    beside = session.second_queue()
    with session:
        for opened in (session, beside):
            launch(opened)
        events = [opened._queue.last for opened in (session, beside)]

        class Failing:
            def finish(self) -> None:
                raise Refused

        for opened in (session, beside):
            monkeypatch.setattr(opened._queue, "handle", Failing())
    for event in events:
        assert event is not None
        assert event.command_execution_status == cl.command_execution_status.COMPLETE
    assert not session._busy_queues


class Silent:
    """A driver's object that answers no question."""

    def __getattr__(self, name: str) -> Any:
        raise Refused


def test_a_question_that_the_driver_refuses_is_an_error_of_the_device(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(buffer: Any) -> int:
        raise Refused

    lost = type("Sizeless", (cl.Buffer,), {"size": property(refuse)})(session._context, cl.mem_flags.READ_WRITE, 8)
    with pytest.raises(DeviceError):
        session.cached("lost", key := object(), lambda: lost)
    assert session.cached("lost", key, lambda: 3) == 3
    monkeypatch.setattr(cl, "Kernel", lambda program, entry: Silent())
    session._known_kernels.clear()
    session._kernels.clear()
    with pytest.raises(DeviceError):
        launch(session)
    session._kernels.clear()


def test_devices_whose_driver_answers_nothing_are_left_out(cpu_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    class Platform:
        name = discover.POCL

        def get_devices(self) -> list[Any]:
            return [Silent()]

    monkeypatch.setattr(cl, "get_platforms", lambda: [Platform()])
    assert discover.described_devices() == []
    monkeypatch.setattr(discover, "driver_devices", lambda: iter([(cpu_device.id, Silent())]))
    with pytest.raises(DeviceError):
        discover.driver_device(cpu_device)


def test_commands_are_enqueued_in_one_place() -> None:
    """Anywhere else nobody would hold their memory."""
    root = Path(clalign.__file__).parent
    assert [path.name for path in root.rglob("*.py") if "cl.enqueue_" in path.read_text("utf-8")] == ["queues.py"]
