"""Copies between host and device that do not block the host."""

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
"""Initial content of results: NaN as a float, above every score and index as an integer."""

MARKED_BYTES = 16
"""Bytes behind results that keep the mark."""

SAMPLED_BYTES = 4096
"""Bytes at the beginning, the middle and the end of a long copy to a device that are read back."""

_MARKS = np.full(2**16, MARK)

UPLOADS = "copies to the device"

SMALL_BYTES = 2**16
"""Up to this size a copy is read back whole, before a kernel uses it: a damaged list of places would have the kernel
write anywhere."""

MAX_POOLED_BYTES = 2**26
"""Limit of the size of pooled buffers; rounding up larger ones would cost much memory."""

ALIGNMENT = 128
"""Alignment in bytes of buffers in the host's memory and of tables of models: the widest vector of
OpenCL C."""

DIRECT_PLATFORMS = ("Portable Computing Language",)
"""Platforms whose kernels write directly into the host's memory, so that nothing has to be mapped."""


def new_buffer(context: cl.Context, pool: MemoryPool | None, n_bytes: int) -> cl.Buffer:
    """Return a buffer with undefined content, from the pool if there is one.

    Drivers of GPUs wait for all kernels when memory is freed, so it is kept for the next
    buffer. Enqueued commands keep their buffers (`clalign.compute.opencl.queues`).
    """
    if pool is None or n_bytes > MAX_POOLED_BYTES:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE, n_bytes)
    return cast("cl.Buffer", pool.allocate(n_bytes))


Record = Callable[[cl.Event, str, str], None]


def record_nothing(event: cl.Event, name: str, queue: str) -> None:
    """Do not record a copy."""


def part_of(whole: cl.Buffer, start: int, n_bytes: int) -> cl.Buffer:
    """Return a part of a buffer, which keeps the whole buffer."""
    plain = whole if isinstance(whole, PlainBuffer) else PlainBuffer.from_int_ptr(whole.int_ptr, retain=True)
    part = plain.get_sub_region(start, n_bytes)
    cast(Any, part).whole = whole  # or the pool would give its memory to another buffer
    return part


class DamagedCopy(Exception):
    """Raised where a copy from or to a device differs from the original."""


class Transfers:
    """The copies of one session, on queues of their own, so that they overlap with kernels.

    Copies are read twice and compared, and results have marks behind them, so that a damaged or emptied copy is not
    taken for a result.

    A device that computes in the host's memory, as a CPU does, has its buffers there. Then nothing is copied, and no
    command has to wait until a core has finished its part of a kernel.

    Parameters
    ----------
    context : pyopencl.Context
    pool : pyopencl.tools.MemoryPool or None
        Pool of buffers.
    in_place : bool
        Whether the device computes in the host's memory.
    busy : set of Queue
        The queues of the device that have commands in flight.
    record : callable
        Called for each finished copy with its event, its name and its queue.
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
        self._small: list[tuple[cl.Event, cl.Buffer, npt.NDArray[np.generic]]] = []
        self._unread: list[tuple[cl.Buffer, npt.NDArray[np.generic], int]] = []
        self._seconds = 0.0

    def upload(self, array: npt.NDArray[np.generic], n_sampled: int = SAMPLED_BYTES) -> cl.Buffer:
        """Return a buffer that gets a copy of a contiguous array.

        Before a kernel uses it, `compare_small_ones` is called, and the kernel waits for `pending`.
        Of a long array `n_sampled` bytes are read back at each of three places.
        """
        if self.in_place:
            there = in_host_memory(array.nbytes)
            there[: array.nbytes] = _bytes_of(array)
            return self._at(there, cl.mem_flags.READ_ONLY)
        buffer = new_buffer(self._context, self._pool, array.nbytes)
        event = self._queue.send(buffer, array, is_blocking=False)
        self._queue.flush()
        if array.nbytes <= SMALL_BYTES:
            self._small.append((event, buffer, array))
        else:
            self._unread.append((buffer, array, min(n_sampled, array.nbytes)))
            self._uploads.append(event)
        return buffer

    def share(self, array: npt.NDArray[np.generic]) -> cl.Buffer:
        """Return a buffer with the content of a contiguous array that never changes."""
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

    def _at(self, array: npt.NDArray[np.generic], access: int) -> cl.Buffer:
        """Return a buffer in the memory of an array, which it keeps."""
        return cl.Buffer(self._context, access | cl.mem_flags.USE_HOST_PTR, hostbuf=array)

    def tables(self, models: Sequence[Tables]) -> AllTables:
        """Return a buffer with copies of the tables of models, which have equal numbers of tables."""
        sizes = np.array([[array.nbytes for array in tables] for tables in models], np.int64)
        steps = -(-sizes // self._step) * self._step
        starts = np.cumsum(steps).reshape(sizes.shape) - steps
        memory = in_host_memory(int(steps.sum()))
        for start, array in zip(starts.ravel().tolist(), itertools.chain.from_iterable(models), strict=True):
            memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)[...] = array
        if self.in_place:
            return AllTables(self._at(memory, cl.mem_flags.READ_ONLY), starts.astype(np.uint32))
        whole = self.upload(memory, -(-len(memory) // 3))  # all of it is read back, since many models depend on it
        return AllTables(whole, starts.astype(np.uint32))

    def parts(self, whole: cl.Buffer, n_bytes: int) -> list[cl.Buffer]:
        """Return the parts of a buffer, each of at least `n_bytes` bytes."""
        step = -(-n_bytes // self._step) * self._step
        return [part_of(whole, start, step) for start in range(0, whole.size - step + 1, step)]

    def _compare(self, parts: Sequence[tuple[cl.Buffer, npt.NDArray[np.uint8], int]]) -> None:
        """Raise `DamagedCopy` if the content of a buffer from a byte on differs from what was sent.

        All parts are read back before the first is waited for: a wait may take as long as a kernel of another process.
        """
        if not parts:
            return
        there = [np.zeros_like(sent) for _, sent, _ in parts]
        reads = [
            self._queue.read(into, buffer, start, is_blocking=False)
            for into, (buffer, _, start) in zip(there, parts, strict=True)
        ]
        cl.wait_for_events(reads)
        self._queue.release_finished()
        for found, (_, sent, _), event in zip(there, parts, reads, strict=True):
            self._record(event, "compare", UPLOADS)
            if not np.array_equal(found, sent):
                raise DamagedCopy(f"what was copied to it ({sent.nbytes:,} bytes) arrived damaged")

    def compare_small_ones(self) -> None:
        """Compare the small copies to the device that no kernel has used yet.

        Raises
        ------
        DamagedCopy
            If one arrived damaged.
        """
        small, self._small = self._small, []
        self._compare([(buffer, _bytes_of(array), 0) for _, buffer, array in small])
        for event, _, _ in small:
            self._record(event, "copy to the device", UPLOADS)

    def _compare_long_ones(self) -> None:
        """Compare samples of the copies that were not waited for, now that their kernels are finished."""
        unread, self._unread = self._unread, []
        parts = []
        for buffer, array, n_bytes in unread:
            sent = _bytes_of(array)
            places = (0, (len(sent) - n_bytes) // 2, len(sent) - n_bytes)
            parts += [(buffer, sent[start : start + n_bytes], start) for start in places]
        self._compare(parts)

    def shrink(self) -> None:
        """Drop the copies that were not compared yet, because memory was short; their batch will be repeated."""
        self._small.clear()
        self._unread.clear()

    def results(self, n_bytes: int) -> cl.Buffer:
        """Return a buffer for results, filled with `MARK` including some bytes behind them.

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
        """Return the last upload and the last filling of results, if they may not be finished.

        Their queue is in order, so that waiting for these waits for all.
        """
        if self._uploads and is_over(self._uploads[-1]):
            self._uploads = self._left(self._uploads)
        self._fills = [event for event in self._fills if not is_over(event)]
        return [*self._uploads[-1:], *self._fills]

    def download(
        self, queue: Queue, buffer: Buffer, shape: Shape | Callable[[], Shape], dtype: type[Number]
    ) -> Callable[[], npt.NDArray[Number]]:
        """Return a callable that copies a buffer to the host and returns it, after all commands in `queue`.

        The copy is made when the callable is called, on a queue of its own: it waits for no later launches and does
        not block the host before. The shape need not be known earlier.
        """
        self._fills = [event for event in self._fills if not is_over(event)]
        computed = [*self._fills]  # results that no kernel writes must be marked, too
        if queue.last is not None:
            computed.append(queue.last)

        def fetched() -> npt.NDArray[Number]:
            wanted = shape() if callable(shape) else shape
            n_bytes = int(np.prod(wanted, dtype=np.int64)) * np.dtype(dtype).itemsize
            if not n_bytes:
                return np.empty(wanted, dtype)
            n_behind = MARKED_BYTES if getattr(buffer, "is_marked", False) else 0
            if n_bytes + n_behind > buffer.size:
                raise DamagedCopy(f"it reports {n_bytes:,} bytes of results in a buffer of {buffer.size:,}")
            queue.flush()  # or another queue could wait for it forever
            if self.in_place and bool(cast("cl.Buffer", buffer).flags & cl.mem_flags.USE_HOST_PTR):
                found = second = self._read_here(queue, cast("cl.Buffer", buffer), n_bytes + n_behind, computed)
            else:
                found, second = self._read_twice(cast("cl.Buffer", buffer), n_bytes + n_behind, computed)
            if found is not second and not np.array_equal(found, second):
                raise DamagedCopy(f"its results ({n_bytes:,} bytes) differ between two copies")
            if not np.array_equal(found[n_bytes:], _bytes_of(_MARKS[:16])[n_bytes % 4 :][:n_behind]):
                raise DamagedCopy(f"its results ({n_bytes:,} bytes) are overwritten")
            self.compare_small_ones()  # which no kernel has used
            self._compare_long_ones()
            return found[:n_bytes].view(dtype).reshape(wanted)

        return fetched

    def _read_here(self, queue: Queue, buffer: cl.Buffer, n_bytes: int, after: list[cl.Event]) -> npt.NDArray[np.uint8]:
        """Return the first bytes of a buffer in the host's memory, without a command if the driver needs none."""
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
        self._downloads.release_finished()
        for copied in copies:
            self._seconds += seconds_of(copied)
            self._record(copied, "copy to the host", "copies to the host")
        return found

    @property
    def seconds(self) -> float:
        """Seconds of the finished copies."""
        self._uploads = self._left(self._uploads)
        return self._seconds

    def _left(self, events: list[cl.Event]) -> list[cl.Event]:
        """Count the time of the finished copies and return the others."""
        left = []
        for event in events:
            if is_over(event):
                self._seconds += seconds_of(event)
                self._record(event, "copy to the device", UPLOADS)
            else:
                left.append(event)
        return left


def marked_size(n_bytes: int) -> int:
    """Return the size of a buffer for results of this many bytes and the marks behind them."""
    return -(-n_bytes // 4) * 4 + MARKED_BYTES


def in_host_memory(n_bytes: int) -> npt.NDArray[np.uint8]:
    """Return aligned memory of the host, of at least `n_bytes` bytes, for use as a buffer."""
    size = max(ALIGNMENT, _aligned(n_bytes))
    whole = np.empty(size + ALIGNMENT, np.uint8)
    start = -whole.__array_interface__["data"][0] % ALIGNMENT
    return whole[start : start + size]


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


def _bytes_of(array: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)
