"""Times of the commands of a device on the clock of the host, for traces."""

from __future__ import annotations

import time

import numpy as np
import pyopencl as cl

from clalign import tracing
from clalign.compute.opencl.queues import Queue, is_over
from clalign.values.devices import Device

N_COMPARISONS = 5
"""Number of comparisons of the clocks when a device is opened, of which the closest counts."""

RECOMPARE_NANOSECONDS = 10**9
"""Time between later comparisons, since clocks drift."""

SMALL_BYTES = 16


class DeviceClock:
    """A recorder of the commands of a device.

    A driver records when a command was enqueued on the clock of its device; the host records the times before and after
    its call: the same moment lies between these.

    Parameters
    ----------
    context : pyopencl.Context
    device : Device
    """

    def __init__(self, context: cl.Context, device: Device) -> None:
        self._owner, self._kind = f"{device.name} ({device.id})", device.kind
        self._queue = Queue(context, set())
        self._buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE, SMALL_BYTES)
        self._compared: tuple[cl.Event, int, int] | None = None
        self._offset, self._slack, self._since = 0, 1 << 62, 0
        best = 1 << 62
        for _ in range(N_COMPARISONS):
            self._compare()
            self._queue.finish()
            self._take()
            if self._slack < best:
                best, offset = self._slack, self._offset
        self._offset, self._slack = offset, best

    def _compare(self) -> None:
        before = time.perf_counter_ns()
        event = self._queue.fill(self._buffer, np.uint8(0), SMALL_BYTES)
        self._compared = event, before, time.perf_counter_ns()

    def _take(self) -> None:
        """Evaluate a finished comparison."""
        if self._compared is not None and is_over(self._compared[0]):
            event, before, after = self._compared
            self._offset, self._slack = (before + after) // 2 - event.profile.queued, after - before
            self._compared, self._since = None, after

    def settle(self) -> None:
        """Compare the clocks if that is due, without waiting."""
        self._take()
        if self._compared is None and time.perf_counter_ns() - self._since > RECOMPARE_NANOSECONDS:
            self._compare()
            self._queue.flush()

    def record(self, event: cl.Event, name: str, category: tracing.Category, queue: str, **facts: object) -> None:
        """Record a finished command."""
        if event.command_execution_status != cl.command_execution_status.COMPLETE:
            return
        try:
            profile = event.profile
            queued, begin, end = profile.queued, profile.start, profile.end
        except cl.RuntimeError:  # some drivers have no times for commands that did nothing
            return
        track = tracing.Track(self._owner, queue, self._kind)
        waited = round((begin - queued) / 1000, 3)
        tracing.add(name, category, begin + self._offset, end + self._offset, track, queued_us=waited, **facts)
