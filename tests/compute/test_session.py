"""An opened device: work that overlaps, what stays on it, what it tells of its kernels."""

from __future__ import annotations

import logging
import mmap
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from clalign.compute.opencl import session as opencl_session
from clalign.compute.opencl import transfers
from clalign.compute.opencl.build_reports import parse_log
from clalign.compute.opencl.choice import all_devices
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.opencl.transfers import SMALL_BYTES
from clalign.compute.opening import open_session
from clalign.errors import DeviceError, OutOfDeviceMemory
from clalign.stages.plan7.viterbi import VITERBI
from clalign.stages.plan7.viterbi_trace import VITERBI_TRACE
from clalign.values.devices import REFERENCE, Device
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_batch, random_profile


@pytest.fixture(scope="module")
def opened() -> Device:
    usable = [device for device in all_devices() if device.kind != "reference" and device.is_usable]
    if not usable:
        pytest.fail("this test needs an OpenCL device; the CPU driver is part of the installation")
    return usable[0]


@pytest.fixture(params=["as it is", "as a GPU"])
def session(opened: Device, request: pytest.FixtureRequest) -> Iterator[OpenCLSession]:
    """A session as it is, and one that copies, pools and chooses kernels as a GPU's does, whatever the device."""
    device = opened if request.param == "as it is" else replace(opened, kind="gpu", vendor="nobody")
    with OpenCLSession(device) as session:
        yield session


@pytest.mark.thorough(session=["as it is"])
def test_results_in_any_order_of_collecting(session: OpenCLSession) -> None:
    rng = np.random.default_rng(1)
    profile = random_profile(rng, 25)
    batches = [random_batch(rng, profile, 9, 60) for _ in range(4)]
    waiting = [session.start(VITERBI, batch, profile) for batch in batches]
    tracing = [session.second_queue().start(VITERBI_TRACE, batch, profile) for batch in batches]
    for batch, wait, paths in reversed(list(zip(batches, waiting, tracing, strict=True))):
        assert (wait().values == VITERBI.reference(batch, profile).values).all()
        assert paths() == VITERBI_TRACE.reference(batch, profile)


def test_what_may_be_a_fault_of_our_own_leaves_its_traceback_in_the_log(
    opened: Device, caplog: pytest.LogCaptureFixture
) -> None:
    class Faulty:
        name = "a stage"

        def start(self, *about: object) -> Any:
            return lambda: [][3]

    with (
        OpenCLSession(opened) as session,
        caplog.at_level(logging.DEBUG, "clalign"),
        pytest.raises(DeviceError, match=r"a stage .*IndexError"),
    ):
        session.start(Faulty(), None, None)()  # type: ignore[arg-type]
    assert "Traceback" in caplog.text
    assert "lambda: [][3]" in caplog.text


def test_the_reference_computes_when_it_is_asked() -> None:
    rng = np.random.default_rng(2)
    profile = random_profile(rng, 5)
    batch = random_batch(rng, profile, 3, 20)
    asked: list[int] = []
    with open_session(REFERENCE, lambda: asked.append(1)) as session:
        wait = session.start(VITERBI, batch, profile)
        assert not asked
        assert wait().values.tolist() == VITERBI.reference(batch, profile).values.tolist()
        assert asked
        assert session.kernel_seconds > 0
        assert session.second_queue() is session


def test_large_arrays_arrive_whole(session: OpenCLSession) -> None:
    rng = np.random.default_rng(3)
    for n in (1, SMALL_BYTES, SMALL_BYTES + 1, 5 * SMALL_BYTES):
        given = rng.integers(0, 255, n).astype(np.uint8)
        shared = given.copy()
        waits = [session.fetch(session.upload(given), n, np.uint8), session.fetch(session.share(shared), n, np.uint8)]
        session._transfers._queue.finish()
        session.finish()
        assert all((wait() == given).all() for wait in waits[::-1])
    for send in (session.upload, session.share, session.loaded):
        assert len(session.download(send(np.empty(0, np.uint8)), 0, np.uint8)) == 0
    assert (session.download(session.zeros(12), (3, 1), np.int32) == 0).all()


@pytest.mark.thorough(session=["as it is"])
def test_read_only_mapped_residues(session: OpenCLSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    profile = random_profile(rng, 12)
    batch = random_batch(rng, profile, 40, 300)
    path = tmp_path / "codes"
    path.write_bytes(b"\0" * 3 + batch.codes.tobytes())
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    codes = np.frombuffer(mapped, np.uint8)[3:]
    assert not codes.flags.writeable
    same = SequenceBatch(codes, batch.offsets, batch.targets)
    for _ in range(2):
        assert (session.run(VITERBI, same, profile).values == VITERBI.reference(batch, profile).values).all()


def test_a_cpu_reads_residues_where_they_are(opened: Device) -> None:
    if opened.kind != "cpu":
        pytest.skip("only a CPU can")
    codes = np.arange(100_000).astype(np.uint8)
    with OpenCLSession(opened) as session:
        shared = session.share(codes)
        assert shared.flags & cl.mem_flags.USE_HOST_PTR
        session.cached("codes", codes, lambda: shared)
        assert session._cache.n_bytes == 0


@pytest.mark.parametrize("direct", [transfers.DIRECT_PLATFORMS, ()], ids=["direct", "mapped"])
def test_a_cpu_computes_where_the_host_reads(
    opened: Device, monkeypatch: pytest.MonkeyPatch, direct: tuple[str, ...]
) -> None:
    """Nothing is copied to or from it, whether its driver wants memory to be mapped or not."""
    if opened.kind != "cpu":
        pytest.skip("only a CPU can")
    rng = np.random.default_rng(6)
    profile = random_profile(rng, 30)
    batch = random_batch(rng, profile, 30, 200)
    monkeypatch.setattr(transfers, "DIRECT_PLATFORMS", direct)
    monkeypatch.setattr(cl, "enqueue_copy", lambda *_, **more: pytest.fail("a copy"))
    with OpenCLSession(opened) as session:
        for _ in range(2):
            assert (session.run(VITERBI, batch, profile).values == VITERBI.reference(batch, profile).values).all()
        given = rng.integers(0, 255, 77).astype(np.uint8)
        there = session.upload(given)
        given += 1
        assert (session.download(there, 77, np.uint8) == given - 1).all(), "what was uploaded is a copy"


@pytest.mark.thorough(session=["as it is"])
def test_short_memory_waits_for_what_runs_beside(session: OpenCLSession) -> None:
    """A session beside this one may be left alone then, and its buffers be given to others."""
    rng = np.random.default_rng(10)
    profile = random_profile(rng, 60)
    beside = session.cached("beside", profile, session.second_queue)
    beside.start(VITERBI, random_batch(rng, profile, 500, 400, same_length=True), profile)
    (event, *_), *_ = beside._launched
    with pytest.raises(OutOfDeviceMemory), session._translated():
        raise driver_error(cl.status_code.OUT_OF_RESOURCES)
    assert event.command_execution_status == cl.command_execution_status.COMPLETE


BUSY = """
__kernel void busy(__global uint *out, const uint n)
{
    uint x = 1;
    for (uint i = 0; i < n; i++) x = x * 69069u + (x >> 16);
    out[0] = x;
}
"""

STEPS = (50_000_000, 500_000_000, 4_000_000_000)
"""Steps of one work-item, each of which needs the one before: a tenth of a second on an idle machine, then more."""


def test_marks_do_not_overwrite_what_another_queue_writes(session: OpenCLSession, opened: Device) -> None:
    """Queues may share results, and the one that they were made in may still be busy with something else.

    Cards may let one queue wait for another.
    """
    beside = session.second_queue()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)  # some compilers tell that all is well
        busy = cl.Program(session._context, BUSY).build().busy
    for steps in STEPS:
        holding = busy(session._queue.handle, (1,), (1,), session.allocate(4), np.uint32(steps))
        session._queue.flush()
        shared = session.results(40)
        waits = session._transfers.pending() or None
        cl.enqueue_fill_buffer(beside._queue.handle, shared, np.array([7], np.int32), 0, 40, wait_for=waits)
        beside.finish()
        was_busy = holding.command_execution_status != cl.command_execution_status.COMPLETE
        session.finish()
        assert session.download(shared, 10, np.int32).tolist() == [7] * 10
        if was_busy:  # until the other queue was done
            return
    assert opened.kind != "cpu", "the queue was never busy so long"


def test_what_was_found_out_is_kept_for_a_device_and_its_driver(
    opened: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(opencl_session, "counts_path", lambda: tmp_path / "counts.json")
    asked: list[int] = []

    def measure(value: int) -> int:
        asked.append(value)
        return value

    def measured(device: Device, name: str, value: int) -> int:
        with open_session(opened) as session:
            session.device = device  # the same card with another driver, say
            return session.measured(name, partial(measure, value))

    assert [measured(opened, "groups", 3), measured(opened, "groups", 4), measured(opened, "others", 5)] == [3, 3, 5]
    assert measured(replace(opened, driver="new"), "groups", 6) == 6
    assert measured(opened, "groups", 7) == 3
    (tmp_path / "counts.json").write_text("damaged")
    assert measured(opened, "groups", 8) == 8
    monkeypatch.setattr(opencl_session, "counts_path", lambda: tmp_path / "counts.json" / "no folder")
    assert measured(opened, "groups", 9) == 9
    assert asked == [3, 5, 6, 8, 9]


def test_another_object_at_the_same_address_is_another_key(session: OpenCLSession) -> None:
    values = [session.cached("number", object(), lambda i=i: i) for i in range(50)]
    assert values == list(range(50))
    batches = (SequenceBatch.from_texts(["A" * (i + 1)]) for i in range(50))
    assert [session.cached("length", b, lambda b=b: int(b.offsets[-1])) for b in batches] == list(range(1, 51))


def test_too_large_a_buffer(session: OpenCLSession) -> None:
    class Greedy:
        name = "greedy"

        def start(self, session: Any, batch: Any, model: Any) -> Any:
            return session.fetch(session.allocate(session.device.max_buffer_bytes + 1), 4, np.uint8)

    with pytest.raises(OutOfDeviceMemory, match="at most"):
        session.start(Greedy(), None, None)


@pytest.mark.parametrize(
    ("code", "kind"),
    [(cl.status_code.OUT_OF_RESOURCES, OutOfDeviceMemory), (cl.status_code.INVALID_EVENT, DeviceError)],
)
def test_errors_of_the_driver_when_collecting(
    session: OpenCLSession, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception]
) -> None:
    rng = np.random.default_rng(6)
    profile = random_profile(rng, 5)

    def refuse(*arguments: Any, **more: Any) -> Any:
        def wait() -> Any:
            raise driver_error(code)

        return wait

    session.cached("kept", profile, lambda: 1)
    monkeypatch.setattr(session._transfers, "download", refuse)
    wait = session.start(VITERBI, random_batch(rng, profile, 3, 10), profile)
    with pytest.raises(kind, match="clWaitForEvents"):
        wait()
    assert (len(session._cache) == 0) == (kind is OutOfDeviceMemory), "room is made for another try"


def test_memory_that_only_the_kernel_missed(session: OpenCLSession) -> None:
    """What reads the result is told no more than that something before it failed."""

    class Event:
        command_execution_status = cl.status_code.OUT_OF_RESOURCES

    waited_for = driver_error(cl.status_code.EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)
    with pytest.raises(DeviceError), session._translated():
        raise waited_for
    session._launched.append((Event(), "kernel", ()))
    with pytest.raises(OutOfDeviceMemory), session._translated():
        raise waited_for
    session._launched.clear()


def driver_error(code: int) -> cl.Error:
    """Return an error as the driver's binding raises it."""

    class Record:
        def code(self) -> int:
            return code

        def routine(self) -> str:
            return "clWaitForEvents"

        def what(self) -> str:
            return ""

        def is_out_of_memory(self) -> bool:
            return code == cl.status_code.OUT_OF_RESOURCES

    return cl.RuntimeError(Record())


@pytest.mark.thorough(session=["as it is"])
def test_times_are_counted(session: OpenCLSession) -> None:
    rng = np.random.default_rng(7)
    profile = random_profile(rng, 40)
    batch = random_batch(rng, profile, 50, 400)
    assert session.kernel_seconds == 0
    for _ in range(2):
        session.run(VITERBI, batch, profile)
    after = session.kernel_seconds
    assert 0 < after < 60
    with session.second_queue() as beside:
        beside.run(VITERBI_TRACE, batch, profile)
        assert beside.kernel_seconds > 0
    assert session.kernel_seconds == after
    assert (session.copy_seconds > 0) == opencl_session.has_own_memory(session.device)


def test_offset_of_the_first_item(session: OpenCLSession, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "__kernel void mark(__global uchar *out) { out[get_global_id(0)] = 1; }"
    monkeypatch.setattr("clalign.compute.opencl.kernels.assemble", lambda name: text)
    out = session.zeros(8)
    session.launch("mark", "mark", {}, 3, 1, out, offset=4)
    assert session.download(out, 8, np.uint8).tolist() == [0, 0, 0, 0, 1, 1, 1, 0]


def test_build_report(session: OpenCLSession) -> None:
    report = session.build_report("viterbi_trace_item", "viterbi_trace", {})
    assert report["max_group"]
    assert report["multiple"]
    assert set(report) == {"registers", "spill_bytes", "private_bytes", "local_bytes", "max_group", "multiple"}
    if "NVIDIA" not in session.device.vendor:
        assert report["registers"] is None
    rng = np.random.default_rng(8)
    profile = random_profile(rng, 6)
    batch = random_batch(rng, profile, 4, 20)
    assert session.run(VITERBI_TRACE, batch, profile) == VITERBI_TRACE.reference(batch, profile)


LOG = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'other' for 'sm_90'
ptxas info    : Function properties for other
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, 380 bytes cmem[0]
ptxas info    : Compiling entry function 'viterbi_score' for 'sm_90'
ptxas info    : Function properties for viterbi_score
    64 bytes stack frame, 72 bytes spill stores, 80 bytes spill loads
ptxas info    : Used 168 registers, 512 bytes smem, 388 bytes cmem[0]
"""


def test_log_of_a_compiler() -> None:
    assert parse_log(LOG, "viterbi_score") == {"registers": 168, "spill_bytes": 72}
    assert parse_log(LOG, "other") == {"registers": 12, "spill_bytes": 0}
    assert parse_log(LOG, "missing") == parse_log("", "other") == {"registers": None, "spill_bytes": None}


def test_a_device_that_is_not_there(opened: Device) -> None:
    from clalign.errors import DeviceNotFound

    with pytest.raises(DeviceNotFound):
        OpenCLSession(replace(opened, id="9:9"))
