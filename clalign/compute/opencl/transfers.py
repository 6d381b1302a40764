"""Copies between host and device that do not hold up the host."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyopencl as cl
from pyopencl import Buffer as PlainBuffer
from pyopencl.tools import MemoryPool

from clalign import tracing
from clalign.compute.opencl.queues import Queue, is_over, seconds_of
from clalign.compute.sessions import AllTables, Buffer, Number, Shape, Tables

MARK = np.uint32(0x7FE5A5A5)
"""What results hold before a kernel writes them: as a float no number, as an integer above every score and index."""

MARKED_BYTES = 16
"""So many bytes behind results keep that."""

SAMPLED_BYTES = 4096
"""Of a long copy to a device so much of its begin, its middle and its end is read again."""

_MARKS = np.full(2**16, MARK)

UPLOADS = "copies to the device"

SMALL_BYTES = 2**16
"""Up to this size a copy is made at once: cheaper than waiting for it later."""

MAX_POOLED_BYTES = 2**26
"""Larger buffers are few, and rounding up their sizes would cost much memory."""

ALIGNMENT = 128
"""Bytes at a multiple of which a buffer in the host's memory begins, and each table of a model: the widest vector of
OpenCL C."""

DIRECT_PLATFORMS = ("Portable Computing Language",)
"""Drivers whose kernels are known to write into the host's memory itself, so that nothing has to be mapped."""


def new_buffer(context: cl.Context, pool: MemoryPool | None, n_bytes: int) -> cl.Buffer:
    """Return a buffer with undefined content, from the pool if there is one.

    Drivers of GPUs wait for all kernels when memory is given back to them, so it is kept for the next
    buffer. What is enqueued holds its buffers itself (`clalign.compute.opencl.queues`).
    """
    if pool is None or n_bytes > MAX_POOLED_BYTES:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE, n_bytes)
    return cast("cl.Buffer", pool.allocate(n_bytes))


Record = Callable[[cl.Event, str, str], None]


def record_nothing(event: cl.Event, name: str, queue: str) -> None:
    """Take no note of a copy."""


def part_of(whole: cl.Buffer, start: int, n_bytes: int) -> cl.Buffer:
    """Return a part of a buffer, which it holds."""
    plain = whole if isinstance(whole, PlainBuffer) else PlainBuffer.from_int_ptr(whole.int_ptr, retain=True)
    part = plain.get_sub_region(start, n_bytes)
    cast(Any, part).whole = whole  # or the pool would give its memory to another buffer
    return part


class DamagedCopy(Exception):
    """What came from a device, or went there, is not what was sent."""


class Transfers:
    """The copies of one session, on queues of their own, so that they overlap with kernels.

    What is copied is read twice and compared, and results have marks behind them: a damaged or emptied copy must
    not be taken for an answer.

    A device that computes in the host's memory, as a CPU does, gets its buffers there. Nothing is copied then, and
    above all there is no command that would have to wait until a core is done with its part of a kernel.

    Parameters
    ----------
    context : pyopencl.Context
    pool : pyopencl.tools.MemoryPool or None
        Where buffers come from.
    in_place : bool
        The device computes in the host's memory.
    busy : set of Queue
        The queues of the device that have commands in flight.
    record : callable
        Told of each copy that is done, what it was and its queue.
    """

    def __init__(
        self,
        context: cl.Context,
        pool: MemoryPool | None,
        in_place: bool,
        busy: set[Queue],
        record: Record = record_nothing,
    ) -> None:
        self._context = context
        self._pool = pool
        self._record = record
        self.in_place = in_place
        self._step = max(ALIGNMENT, context.devices[0].mem_base_addr_align // 8)  # parts of buffers begin there
        self._is_direct = context.devices[0].platform.name in DIRECT_PLATFORMS
        self._queue, self._downloads = Queue(context, busy), Queue(context, busy)
        self._uploads: list[cl.Event] = []
        self._fills: list[cl.Event] = []  # the last one, if it may be going on
        self._unread: list[tuple[cl.Buffer, npt.NDArray[Any], int]] = []
        self._seconds = 0.0

    def upload(self, array: npt.NDArray[Any], n_sampled: int = SAMPLED_BYTES) -> cl.Buffer:
        """Return a buffer that gets a copy of a contiguous array; kernels wait for `pending` first.

        Of a long one so many bytes are read again at each of three places.
        """
        if self.in_place:
            there = in_host_memory(array.nbytes)
            there[: array.nbytes] = _bytes_of(array)
            return self._at(there, cl.mem_flags.READ_ONLY)
        buffer = new_buffer(self._context, self._pool, array.nbytes)
        if array.nbytes <= SMALL_BYTES:
            self._record(self._queue.send(buffer, array), "copy to the device", UPLOADS)
            self._compare(buffer, _bytes_of(array))
            return buffer
        self._unread.append((buffer, array, min(n_sampled, array.nbytes)))
        self._uploads.append(self._queue.send(buffer, array, is_blocking=False))
        self._queue.flush()
        return buffer

    def share(self, array: npt.NDArray[Any]) -> cl.Buffer:
        """Return a buffer with the content of a contiguous array that nobody will change."""
        if not self.in_place:
            return self.upload(array)
        buffer = self._at(array, cl.mem_flags.READ_ONLY)
        cast(Any, buffer).is_shared = True  # it takes no memory of its own
        return buffer

    def zeros(self, n_bytes: int) -> cl.Buffer:
        """Return a buffer of zeros in the host's memory, which kernels may write."""
        there = in_host_memory(n_bytes)
        there.fill(0)
        return self._at(there, cl.mem_flags.READ_WRITE)

    def _at(self, array: npt.NDArray[Any], access: int) -> cl.Buffer:
        """Return a buffer that is an array of the host, which it holds."""
        return cl.Buffer(self._context, access | cl.mem_flags.USE_HOST_PTR, hostbuf=array)

    def tables(self, models: Sequence[Tables]) -> AllTables:
        """Return a buffer with copies of the tables of some models, of each as many."""
        sizes = np.array([[array.nbytes for array in tables] for tables in models], np.int64)
        steps = -(-sizes // self._step) * self._step
        starts = np.cumsum(steps).reshape(sizes.shape) - steps
        memory = in_host_memory(int(steps.sum()))
        for start, array in zip(starts.ravel().tolist(), itertools.chain.from_iterable(models), strict=True):
            memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)[...] = array
        if self.in_place:
            return AllTables(self._at(memory, cl.mem_flags.READ_ONLY), starts.astype(np.uint32))
        whole = self.upload(memory, -(-len(memory) // 3))  # all of it: many models hang on it
        return AllTables(whole, starts.astype(np.uint32))

    def parts(self, whole: cl.Buffer, n_bytes: int) -> list[cl.Buffer]:
        """Return as many parts of at least so many bytes as a buffer has room for."""
        step = -(-n_bytes // self._step) * self._step
        return [part_of(whole, start, step) for start in range(0, whole.size - step + 1, step)]

    def _compare(self, buffer: cl.Buffer, sent: npt.NDArray[np.uint8], start: int = 0) -> None:
        """Raise `DamagedCopy` if a buffer does not hold from `start` on what was sent there."""
        there = np.zeros_like(sent)
        self._record(self._queue.read(there, buffer, start), "compare", UPLOADS)
        if not np.array_equal(there, sent):
            raise DamagedCopy(f"what was copied to it ({sent.nbytes:,} bytes) arrived damaged")

    def _compare_long_ones(self) -> None:
        """Look at samples of what was copied without waiting for it, now that its kernels are done."""
        unread, self._unread = self._unread, []
        for buffer, array, n_bytes in unread:
            sent = _bytes_of(array)
            for start in (0, (len(sent) - n_bytes) // 2, len(sent) - n_bytes):
                self._compare(buffer, sent[start : start + n_bytes], start)

    def give_way(self) -> None:
        """Let go what was copied and nobody has looked at yet, because memory was short: its batch comes again."""
        self._unread.clear()

    def results(self, n_bytes: int) -> cl.Buffer:
        """Return a buffer for results of so many bytes, all of it and some bytes behind filled with `MARK`.

        Kernels of several queues may write it, so it is filled like an upload: each of them waits for `pending` first.
        """
        size = marked_size(n_bytes)
        if self.in_place:
            there = in_host_memory(size)
            there.view(np.uint32).fill(MARK)
            buffer = self._at(there, cl.mem_flags.READ_WRITE)
        else:
            buffer = new_buffer(self._context, self._pool, size)
            self._fills = [self._queue.fill(buffer, MARK, size)]
            self._queue.flush()
        cast(Any, buffer).is_marked = True
        return buffer

    def pending(self) -> list[cl.Event]:
        """Return the last upload and the last filling of results, if they are not known to be done.

        Their queue does one thing after the other, so that what waits for these waits for all.
        """
        self._uploads = self._left(self._uploads)
        self._fills = [event for event in self._fills if not is_over(event)]
        return [*self._uploads[-1:], *self._fills]

    def download(
        self, queue: Queue, buffer: Buffer, shape: Shape | Callable[[], Shape], dtype: type[Number]
    ) -> Callable[[], npt.NDArray[Number]]:
        """Return what copies a buffer to the host and returns it, after all that is in `queue` now.

        The copy is made when it is asked for, on a queue of its own, so it neither waits for what is
        launched later nor holds up the host before; some drivers of GPUs make small copies at once. Nor
        need the shape be known before it is asked for.
        """
        self._fills = [event for event in self._fills if not is_over(event)]
        computed = [*self._fills]  # what no kernel writes is to be marked all the same
        if queue.last is not None:
            computed.append(queue.last)

        def fetched() -> npt.NDArray[Number]:
            wanted = shape() if callable(shape) else shape
            n_bytes = int(np.prod(wanted, dtype=np.int64)) * np.dtype(dtype).itemsize
            if not n_bytes:
                return np.empty(wanted, dtype)
            n_behind = MARKED_BYTES if getattr(buffer, "is_marked", False) else 0
            if n_bytes + n_behind > buffer.size:
                raise DamagedCopy(f"it counts {n_bytes:,} bytes of results, but there is room for {buffer.size:,}")
            queue.flush()  # or another queue could wait for it forever
            if self._is_here(buffer):
                found = again = self._read_here(queue, cast("cl.Buffer", buffer), n_bytes + n_behind, computed)
            else:
                found, again = self._read_twice(cast("cl.Buffer", buffer), n_bytes + n_behind, computed)
            if found is not again and not np.array_equal(found, again):
                raise DamagedCopy(f"its results ({n_bytes:,} bytes) are others each time that they are copied")
            if not np.array_equal(found[n_bytes:], _bytes_of(_MARKS[:16])[n_bytes % 4 :][:n_behind]):
                raise DamagedCopy(f"its results ({n_bytes:,} bytes) are overwritten")
            self._compare_long_ones()
            return found[:n_bytes].view(dtype).reshape(wanted)

        return fetched

    def _is_here(self, buffer: Buffer) -> bool:
        """Return whether a buffer is in the host's memory."""
        return self.in_place and bool(cast("cl.Buffer", buffer).flags & cl.mem_flags.USE_HOST_PTR)

    def _read_here(self, queue: Queue, buffer: cl.Buffer, n_bytes: int, after: list[cl.Event]) -> npt.NDArray[np.uint8]:
        """Return the first bytes of a buffer in the host's memory, without a command where the driver needs none."""
        if after:
            with tracing.span("wait for results", "waiting"):
                cl.wait_for_events(after)
        if not self._is_direct:
            return queue.mapped(buffer, n_bytes)
        return _bytes_of(cast(Any, buffer).hostbuf)[:n_bytes].copy()

    def _read_twice(self, buffer: cl.Buffer, n_bytes: int, after: list[cl.Event]) -> list[npt.NDArray[np.uint8]]:
        """Return the first bytes of a buffer twice; copies that leave some out differ there.

        Both are enqueued before either is waited for, so that no later kernel comes between them.
        """
        found = [np.full(n_bytes, filling, np.uint8) for filling in (0x00, 0xFF)]
        copies = [self._downloads.read(into, buffer, is_blocking=False, after=after) for into in found]
        with tracing.span("wait for results", "waiting"):
            cl.wait_for_events(copies)
        self._downloads.let_go()
        for copied in copies:
            self._seconds += seconds_of(copied)
            self._record(copied, "copy to the host", "copies to the host")
        return found

    @property
    def seconds(self) -> float:
        """Time of the copies that are done."""
        self._uploads = self._left(self._uploads)
        return self._seconds

    def _left(self, events: list[cl.Event]) -> list[cl.Event]:
        """Count the time of the copies that are done, and return the others."""
        left = []
        for event in events:
            if is_over(event):
                self._seconds += seconds_of(event)
                self._record(event, "copy to the device", UPLOADS)
            else:
                left.append(event)
        return left


def marked_size(n_bytes: int) -> int:
    """Return the size of a buffer for results of so many bytes and the marks behind them."""
    return -(-n_bytes // 4) * 4 + MARKED_BYTES


def in_host_memory(n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return so many bytes, and some more, in the host's memory where a device may use them as a buffer."""
    size = max(ALIGNMENT, _aligned(n_bytes))
    whole = np.empty(size + ALIGNMENT, np.uint8)
    start = -whole.__array_interface__["data"][0] % ALIGNMENT
    return whole[start : start + size]


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def _bytes_of(array: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
