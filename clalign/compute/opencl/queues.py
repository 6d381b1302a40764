"""Command queues that keep the memory of their commands until these are finished."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from clalign.compute.opencl.busy_time import Span

Array = npt.NDArray[np.generic]
Arguments = Sequence[object]
Events = Sequence[cl.Event]


class Queue:
    """An in-order command queue; every command of a session is enqueued here.

    A pool reuses memory as soon as nobody refers to it, and the host's memory is freed then, though a command that uses
    it may still be waiting. So each command keeps a reference to its memory until it is finished.

    Parameters
    ----------
    context : pyopencl.Context
    busy : set of Queue
        The queues of a device that have commands in flight; this one is in it as long as it has any.
    """

    def __init__(self, context: cl.Context, busy: set[Queue]) -> None:
        self.handle = cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.last: cl.Event | None = None
        """The last kernel or filling; copies to and from the host are waited for where they are made."""
        self._busy = busy
        self._commands: deque[tuple[cl.Event, object]] = deque()

    def launch(
        self, kernel: cl.Kernel, n_items: int, group: int | None, offset: int, arguments: Arguments, after: Events
    ) -> cl.Event:
        """Enqueue a kernel, which waits for `after`; its parameters must be set to the arguments."""
        self.last = cl.enqueue_nd_range_kernel(
            self.handle, kernel, (n_items,), None if group is None else (group,),
            (offset,) if offset else None, after or None,
        )  # fmt: skip
        return self._holding(self.last, arguments)

    def fill(self, buffer: cl.Buffer, value: np.generic, n_bytes: int) -> cl.Event:
        """Enqueue the filling of the first bytes of a buffer with a value."""
        self.last = cl.enqueue_fill_buffer(self.handle, buffer, np.array([value]), 0, n_bytes)
        return self._holding(self.last, buffer)

    def send(self, buffer: cl.Buffer, array: Array, is_blocking: bool = True) -> cl.Event:
        """Copy an array to a buffer."""
        event = cl.enqueue_copy(self.handle, buffer, array, is_blocking=is_blocking)
        return self._holding(event, (buffer, array))

    def read(
        self, array: Array, buffer: cl.Buffer, start: int = 0, is_blocking: bool = True, after: Events = ()
    ) -> cl.Event:
        """Copy the content of a buffer from a byte on to an array, after other commands."""
        event = cl.enqueue_copy(
            self.handle, array, buffer, src_offset=start, is_blocking=is_blocking, wait_for=after or None
        )
        return self._holding(event, (buffer, array))

    def mapped(self, buffer: cl.Buffer, n_bytes: int) -> npt.NDArray[np.uint8]:
        """Return a copy of the first bytes of a buffer in the host's memory, by mapping it."""
        enqueue_map: Any = cl.enqueue_map_buffer
        array, event = enqueue_map(self.handle, buffer, cl.map_flags.READ, 0, (n_bytes,), np.uint8, is_blocking=True)
        self._holding(event, buffer)
        try:
            found: npt.NDArray[np.uint8] = array.copy()
            return found
        finally:
            self._holding(array.base.release(self.handle), buffer)

    def flush(self) -> None:
        """Make the driver begin with the enqueued commands."""
        self.handle.flush()

    def finish(self) -> None:
        """Wait for all commands."""
        self.handle.finish()
        self.release_finished()

    def end(self) -> None:
        """Wait for all commands, whatever fails."""
        with contextlib.suppress(cl.Error):
            self.handle.finish()
        for event, _ in self._commands:
            with contextlib.suppress(cl.Error):
                event.wait()
        with contextlib.suppress(cl.Error):
            self.release_finished()

    def release_finished(self) -> None:
        """Release the memory of finished commands."""
        commands = self._commands
        while commands and is_over(commands[0][0]):
            commands.popleft()
        if not commands:
            self._busy.discard(self)

    def _holding(self, event: cl.Event, memory: object) -> cl.Event:
        """Keep the memory of a command that was just enqueued, and return its event."""
        self._commands.append((event, memory))
        self._busy.add(self)
        self.release_finished()
        return event


def is_over(event: cl.Event) -> bool:
    """Return whether a command is done or has ended with an error."""
    return bool(event.command_execution_status <= cl.command_execution_status.COMPLETE)


def span_of(event: cl.Event) -> Span:
    """Return the span in which a finished command ran on its device; an empty one if it ended with an error."""
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
