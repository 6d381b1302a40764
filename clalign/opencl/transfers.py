"""Copies between host and device that do not hold up the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyopencl as cl
from pyopencl.tools import MemoryPool

from clalign.opencl.busy_time import Span

Shape = int | tuple[int, ...]

SMALL_BYTES = 2**16
"""Up to this size a copy is made at once: cheaper than waiting for it later."""

MOST_POOLED_BYTES = 2**26
"""Larger buffers are few, and rounding up their sizes would cost much memory."""


def new_buffer(context: cl.Context, pool: MemoryPool | None, n_bytes: int) -> cl.Buffer:
    """Return a buffer with undefined content, from the pool if there is one.

    Drivers of GPUs wait for all kernels when memory is given back to them, so it is kept for the next
    buffer. Whoever lets a buffer go must know that nothing enqueued uses it any more.
    """
    if pool is None or n_bytes > MOST_POOLED_BYTES:
        return cl.Buffer(context, cl.mem_flags.READ_WRITE, n_bytes)
    return cast("cl.Buffer", pool.allocate(n_bytes))


class Transfers:
    """The copies of one session, on queues of their own, so that they overlap with kernels.

    Parameters
    ----------
    context : pyopencl.Context
    pool : pyopencl.tools.MemoryPool or None
        Where buffers come from.
    in_place : bool
        The device computes in the host's memory, as a CPU does: what is large is not copied at all.
    """

    def __init__(self, context: cl.Context, pool: MemoryPool | None, in_place: bool) -> None:
        self._context = context
        self._pool = pool
        self.in_place = in_place
        timed = cl.command_queue_properties.PROFILING_ENABLE
        self._queue = cl.CommandQueue(context, properties=timed)
        self._downloads = cl.CommandQueue(context, properties=timed)
        self._uploads: list[cl.Event] = []
        self._seconds = 0.0

    def upload(self, array: npt.NDArray[Any]) -> cl.Buffer:
        """Return a buffer that gets a copy of a contiguous array; kernels wait for `pending` first."""
        if self.in_place:
            flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
            return cl.Buffer(self._context, flags, hostbuf=array)
        buffer = new_buffer(self._context, self._pool, array.nbytes)
        if array.nbytes <= SMALL_BYTES:
            cl.enqueue_copy(self._queue, buffer, array)
            return buffer
        # The event holds the array until the copy is done.
        self._uploads.append(cl.enqueue_copy(self._queue, buffer, array, is_blocking=False))
        self._queue.flush()
        return buffer

    def share(self, array: npt.NDArray[Any]) -> cl.Buffer:
        """Return a buffer with the content of a contiguous array that nobody will change."""
        if not self.in_place:
            return self.upload(array)
        return cl.Buffer(self._context, cl.mem_flags.READ_ONLY | cl.mem_flags.USE_HOST_PTR, hostbuf=array)

    def pending(self) -> list[cl.Event]:
        """Return the uploads that are not known to be done."""
        self._uploads = self._left(self._uploads)
        return list(self._uploads)

    def download(
        self, queue: cl.CommandQueue, buffer: cl.Buffer, shape: Shape | Callable[[], Shape], dtype: npt.DTypeLike
    ) -> Callable[[], npt.NDArray[Any]]:
        """Return what copies a buffer to the host and returns it, after all that is in `queue` now.

        The copy is made when it is asked for, on a queue of its own, so it neither waits for what is
        launched later nor holds up the host before; some drivers of GPUs make small copies at once. Nor
        need the shape be known before it is asked for.
        """
        computed = cl.enqueue_marker(queue)

        def fetched() -> npt.NDArray[Any]:
            array = np.empty(shape() if callable(shape) else shape, dtype)
            if not array.nbytes:
                return array
            queue.flush()  # or another queue could wait for it forever
            copied = cl.enqueue_copy(self._downloads, array, buffer, is_blocking=True, wait_for=[computed])
            self._seconds += seconds_of(copied)
            return array

        return fetched

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
            else:
                left.append(event)
        return left


def is_over(event: cl.Event) -> bool:
    """Return whether a command is done or has ended with an error."""
    return bool(event.command_execution_status <= cl.command_execution_status.COMPLETE)


def span_of(event: cl.Event) -> Span:
    """Return when a finished command ran on its device; an empty span if it ended with an error."""
    if event.command_execution_status != cl.command_execution_status.COMPLETE:
        return 0, 0
    try:
        return event.profile.start, event.profile.end
    except cl.RuntimeError:  # some drivers keep no times of commands that did nothing
        return 0, 0


def seconds_of(event: cl.Event) -> float:
    """Return the time that a finished command took on its device; 0 if it ended with an error."""
    begin, end = span_of(event)
    return (end - begin) * 1e-9
