"""An opened OpenCL device: its queue, kernels and buffers."""

from __future__ import annotations

import contextlib
import copy
import itertools
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl
from msgspec import Struct, field
from pyopencl.tools import ImmediateAllocator, MemoryPool

from clalign import tracing
from clalign.compute.opencl.build_reports import build_report
from clalign.compute.opencl.builder_process import BuilderProcess
from clalign.compute.opencl.busy_time import MAX_STRETCHES, BusyTime, Span
from clalign.compute.opencl.device_cache import DeviceCache
from clalign.compute.opencl.device_clock import DeviceClock
from clalign.compute.opencl.discover import check_process, device_key, driver_device
from clalign.compute.opencl.driver_errors import Translated, is_out_of_memory
from clalign.compute.opencl.programs import Programs
from clalign.compute.opencl.queues import Queue, is_over, span_of
from clalign.compute.opencl.transfers import ALIGNMENT, DamagedCopy, Record, Transfers, marked_size, new_buffer
from clalign.compute.opencl.tunings import counts_path, keep_tuning, read_tunings
from clalign.compute.sessions import (
    AllTables,
    Batch,
    Buffer,
    Building,
    Check,
    Kept,
    LocalMemory,
    MakeTables,
    Model,
    Number,
    ProgramChoice,
    Result,
    Session,
    Shape,
    Stage,
    no_build_report,
    no_check,
)
from clalign.errors import DeviceError, OutOfDeviceMemory, OutputError
from clalign.values.devices import Device
from clalign.values.sequences import SequenceBatch

log = logging.getLogger(__name__)

ZEROED_BYTES = 2**15
"""Bytes of the buffer that small buffers of zeros are parts of."""

CACHE_SHARE = 0.5
"""Share of the device's memory for tables and residues that stay there."""


def has_own_memory(device: Device) -> bool:
    """Return whether a device computes in memory of its own rather than in the host's."""
    return device.kind != "cpu"


class OpenDevice(Struct, frozen=True):
    """A context of a device, and what was built in it. It belongs to one session at a time.

    Attributes
    ----------
    context : pyopencl.Context
    programs : dict
        Those that were built.
    kernels : dict
        Those that were taken from them, by program and name.
    """

    context: cl.Context
    programs: dict[ProgramChoice, cl.Program] = field(default_factory=dict)
    kernels: dict[tuple[ProgramChoice, str], cl.Kernel] = field(default_factory=dict)


Leave = Callable[[OpenDevice, Callable[[], None]], bool]
"""Takes an open device from a session that ends, and what ends the children that build for it; returns False if the
session is to close the device."""


def opened(device: Device) -> OpenDevice:
    """Return a device with a new context."""
    return OpenDevice(cl.Context([driver_device(device)]))


class OpenCLSession:
    """A session on an OpenCL device: a `KernelSession`. Owned by one thread, used as a context manager.

    Parameters
    ----------
    device, check, building
        As of `clalign.compute.opening.open_session`.
    left : OpenDevice, optional
        The device as another session has left it; by default a context is made.
    leave : callable, optional
        Takes the open device at the end of the session; by default it is closed.
    """

    def __init__(
        self,
        device: Device,
        check: Check = no_check,
        building: Building = no_build_report,
        left: OpenDevice | None = None,
        leave: Leave | None = None,
    ) -> None:
        check_process()
        self.device = device
        self.check = check
        self._building = building
        self._cache = DeviceCache(int(device.memory_bytes * CACHE_SHARE), self._size_of)
        self._launched: list[tuple[cl.Event, str, str]] = []  # whose time is not counted yet
        self._seconds_of: dict[str, float] = {}
        self._spans: deque[Span] = deque(maxlen=MAX_STRETCHES)  # of kernels that a second queue still has to report
        self._busy = BusyTime()
        self._is_owner = True
        self._helper: Session | None = None
        self._busy_queues: set[Queue] = set()
        self._pool: MemoryPool | None = None
        self._zeroed: list[cl.Buffer] = []  # small buffers of zeros that this queue has filled
        self._queue_name, self._n_queues = "queue 1", itertools.count(2)
        with self._translated():
            with tracing.span("make a context", "start"):
                left = left or opened(device)
            self._leave = leave
            self._context, self._kernels = left.context, left.kernels
            self._known_kernels: dict[tuple[object, ...], tuple[cl.Kernel, int]] = {}  # as launches ask for them
            child_for = partial(BuilderProcess, device)
            apart = has_own_memory(device)
            self._programs = Programs(self._context, device.name, child_for, apart, left.programs)
            self._queue = Queue(self._context, self._busy_queues)
            self._pool = MemoryPool(ImmediateAllocator(self._queue.handle)) if apart else None
            self._clock = DeviceClock(self._context, device) if tracing.is_on() else None
            self._transfers = Transfers(self._context, self._pool, not apart, self._busy_queues, *self._recorder())

    def run(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Result:
        """Run a stage's kernel on a batch.

        Raises
        ------
        OutOfDeviceMemory
            If the batch does not fit; a smaller one may.
        DeviceError
            If the driver reports anything else.
        """
        return self.start(stage, batch, model)()

    def start(self, stage: Stage[Batch, Model, Result], batch: Batch, model: Model) -> Callable[[], Result]:
        """Enqueue a stage's kernels and return a callable that waits for the result; both raise as `run` does."""
        if self._helper is not None and not stage.suits(self.device):
            return self._helper.start(stage, batch, model)
        with tracing.span(f"start {stage.name}", "launching"):
            collect = stage.start(self, batch, model)
            with self._translated():
                self._queue.flush()

        def result() -> Result:
            try:
                with tracing.span(f"take {stage.name}"):
                    value = collect()
            except (ArithmeticError, LookupError, TypeError, ValueError) as error:
                log.debug("a result of %s could not be read", stage.name, exc_info=True)  # it may be our fault
                raise self.wrong(f"{stage.name} cannot be read ({type(error).__name__}: {error})") from error
            self._count_kernels()
            return value

        return result

    def wrong(self, what: str) -> DeviceError:
        """Return the error for an impossible result of a device, described by `what`."""
        return DeviceError(
            f"{self.device.name} ({self.device.id}) gave a wrong result: {what}.",
            "Its memory, its driver or its connection may be faulty: try `clalign selftest`, or another device.",
        )

    def demand(self, is_so: bool | np.bool_, what: str) -> None:
        if not is_so:
            raise self.wrong(what)

    def reached(self) -> Callable[[], bool]:
        last, helped = self._queue.last, None if self._helper is None else self._helper.reached()

        def is_reached() -> bool:
            with self._translated():
                return (last is None or is_over(last)) and (helped is None or helped())

        return is_reached

    def helped_by(self, processor: Session) -> OpenCLSession:
        """Return this session, which shares all it has, with that of a processor for what does not suit this card."""
        other = copy.copy(self)
        other._helper = processor
        return other

    def second_queue(self) -> OpenCLSession:
        """Open a second command queue on the same device, which is to be closed first."""
        other = copy.copy(self)
        with self._translated():
            other._queue = Queue(self._context, self._busy_queues)
        other._zeroed = []
        other._launched, other._seconds_of, other._is_owner = [], {}, False
        other._queue_name, other._spans, other._busy = (
            f"queue {next(self._n_queues)}",
            deque(maxlen=MAX_STRETCHES),
            BusyTime(),
        )
        return other

    def join(self, other: OpenCLSession) -> None:
        """Count the time of those kernels of a second queue that are done; wait for none."""
        other._count_kernels()
        for source, seconds in other._seconds_of.items():
            self._seconds_of[source] = self._seconds_of.get(source, 0.0) + seconds
        self._busy.add(other._spans)
        other._seconds_of.clear()
        other._spans.clear()

    def _recorder(self) -> tuple[Record, ...]:
        """Return the function that records copies, if anything is recorded."""
        clock = self._clock
        if clock is None:
            return ()
        return (lambda event, name, queue: clock.record(event, name, "copying", queue),)

    def upload(self, array: npt.NDArray[np.generic]) -> cl.Buffer:
        """Return a buffer with a copy of an array; an empty array gets one byte.

        The copy may go on while the host does something else: do not change the array after this.
        """
        if not array.nbytes:
            return self.allocate(1)
        with self._translated():
            return self._transfers.upload(np.ascontiguousarray(array))

    def loaded(self, array: npt.NDArray[np.generic]) -> cl.Buffer:
        """Return a buffer with a copy of an array, which kernels may write; the copy is made at once."""
        if not array.nbytes:
            return self.allocate(1)
        array = np.ascontiguousarray(array)
        buffer, there = self.allocate(array.nbytes), np.empty_like(array)
        with self._translated():
            self._queue.send(buffer, array)
            self._queue.read(there, buffer)
        self.demand(np.array_equal(there, array), "a copy differs from the original")
        return buffer

    def share(self, array: npt.NDArray[np.generic]) -> cl.Buffer:
        """Return a buffer with the content of an array that never changes; a CPU reads it where it is.

        Kernels only read it, and know of its alignment no more than that of one element.
        """
        if not array.nbytes:
            return self.allocate(1)
        with self._translated():
            return self._transfers.share(np.ascontiguousarray(array))

    def tables(self, name: str, key: object, make: MakeTables) -> AllTables:
        def sent() -> AllTables:
            models = make()
            with self._translated():
                return self._transfers.tables(models)

        return self.cached(name, key, sent)

    def residues(self, batch: SequenceBatch) -> tuple[cl.Buffer, cl.Buffer]:
        return self.cached("residues", batch, lambda: (self.share(batch.codes), self.share(batch.offsets)))

    def allocate(self, n_bytes: int) -> cl.Buffer:
        self._refuse_large(n_bytes)
        with self._translated():
            return new_buffer(self._context, self._pool, max(1, n_bytes))

    def _refuse_large(self, n_bytes: int) -> None:
        if self.device.max_buffer_bytes and n_bytes > self.device.max_buffer_bytes:
            raise OutOfDeviceMemory(
                f"A buffer of {n_bytes:,} bytes is needed, but {self.device.name} allows at most"
                f" {self.device.max_buffer_bytes:,} at once.",
                "Choose a device with more memory.",
            )

    def results(self, n_bytes: int) -> cl.Buffer:
        """Return a buffer for results that `fetch` returns, marked so that losses are noticed."""
        self._refuse_large(marked_size(n_bytes))
        with self._translated():
            return self._transfers.results(n_bytes)

    def scratch(self, name: str, n_bytes: int) -> cl.Buffer:
        size = 1 << max(10, (n_bytes - 1).bit_length())
        size = n_bytes if 0 < self.device.max_buffer_bytes < size else size
        return self.cached(f"scratch {name} of {size}", self, lambda: self.allocate(size))

    def zeros(self, n_bytes: int) -> cl.Buffer:
        if self._transfers.in_place:
            self._refuse_large(n_bytes)
            with self._translated():
                return self._transfers.zeros(n_bytes)
        if n_bytes <= ALIGNMENT:
            if not self._zeroed:
                whole = self._filled(ZEROED_BYTES)
                with self._translated():
                    self._zeroed = self._transfers.parts(whole, ALIGNMENT)
            return self._zeroed.pop()
        return self._filled(n_bytes)

    def _filled(self, n_bytes: int) -> cl.Buffer:
        buffer = self.allocate(n_bytes)
        with self._translated():
            self._queue.fill(buffer, np.uint8(0), buffer.size)
        return buffer

    def download(self, buffer: Buffer, shape: Shape, dtype: type[Number]) -> npt.NDArray[Number]:
        return self.fetch(buffer, shape, dtype)()

    def fetch(
        self, buffer: Buffer, shape: Shape | Callable[[], Shape], dtype: type[Number]
    ) -> Callable[[], npt.NDArray[Number]]:
        """Return a callable that waits for all previous launches and returns the content of a buffer.

        A shape that the host does not know yet is given as a function, which is called then.
        """
        with self._translated():
            wait = self._transfers.download(self._queue, buffer, shape, dtype)

        def fetched() -> npt.NDArray[Number]:
            with self._translated():
                return wait()

        return fetched

    def launch(
        self,
        source: str,
        entry: str,
        defines: Mapping[str, object],
        n_items: int,
        group: int | None,
        *arguments: Any,
        offset: int = 0,
    ) -> None:
        kernel, n_arguments = self._kernel(source, entry, defines)
        if len(arguments) != n_arguments:
            raise TypeError(f"{entry} takes {n_arguments} arguments, not {len(arguments)}")
        if not n_items:  # some drivers divide by it
            return
        with self._translated():
            self._transfers.compare_small_ones()
            for place, argument in enumerate(arguments):
                if isinstance(argument, LocalMemory):
                    kernel.set_arg(place, cl.LocalMemory(argument.n_bytes))  # type: ignore[arg-type]  # by its stubs
                else:
                    kernel.set_arg(place, argument)
            event = self._queue.launch(kernel, n_items, group, offset, arguments, self._transfers.pending())
        self._launched.append((event, source, entry))
        if not self._is_owner:
            # Some drivers hold commands back until somebody waits; then it would not run at the same time as anything.
            with self._translated():
                self._queue.flush()

    def _kernel(self, source: str, entry: str, defines: Mapping[str, object]) -> tuple[cl.Kernel, int]:
        """Return a kernel, and how many arguments it takes."""
        place = source, entry, *defines.items()
        if (known := self._known_kernels.get(place)) is not None:
            return known
        choice = ProgramChoice.of(source, defines)
        kernel = self._kernels.get((choice, entry))
        if kernel is None:
            with (
                self._translated(),
                self._programs.reported(choice, self._building),
                tracing.span(f"need {source}", "building", **defines),
            ):
                kernel = self._kernels[choice, entry] = cl.Kernel(self._programs.get(choice), entry)
        with self._translated():
            self._known_kernels[place] = known = kernel, kernel.num_args
        return known

    def build_ahead(self, choices: Iterable[ProgramChoice], can_wait: bool = False) -> None:
        """Begin to build programs that will be needed, in this order, in the background.

        Those that can wait come after all others.
        """
        self._programs.build_ahead(choices, can_wait)

    def foresee(self, choices: Iterable[ProgramChoice]) -> None:
        self._programs.foresee(choices)

    def unbuilt(self, choices: Iterable[ProgramChoice]) -> list[ProgramChoice]:
        """Return the programs that have to be compiled, or that a child or another thread is compiling.

        A program is in the cache before the child has finished it, when it must not be used.
        """
        with self._translated():
            return [choice for choice in choices if self._programs.is_far(choice)]

    def build_report(self, source: str, entry: str, defines: Mapping[str, object]) -> dict[str, int | None]:
        """Return the compiler's report on a kernel, see `clalign.compute.opencl.build_reports.build_report`."""
        with self._translated():
            return build_report(self._context, self.device, source, entry, defines)

    def finish(self) -> None:
        with self._translated(), tracing.span("wait", "waiting"):
            self._queue.finish()
        self._count_kernels()

    @property
    def kernel_seconds(self) -> float:
        """Seconds in which kernels of the collected results ran, by the device's clock."""
        return self._busy.seconds

    @property
    def seconds_by_kernel(self) -> dict[str, float]:
        """Seconds of the kernels by their file; several may run at a time."""
        return dict(self._seconds_of)

    @property
    def copy_seconds(self) -> float:
        """Seconds of the finished copies, without small ones and those that a CPU need not make."""
        with self._translated():
            return self._transfers.seconds

    def _count_kernels(self) -> None:
        """Count the time of the finished kernels and release their memory."""
        with self._translated():
            if self._clock is not None:
                self._clock.settle()
            for queue in list(self._busy_queues):
                queue.release_finished()
            left, spans = [], []
            for event, source, entry in self._launched:
                if not is_over(event):
                    left.append((event, source, entry))
                    continue
                begin, end = span_of(event)
                spans.append((begin, end))
                self._seconds_of[source] = self._seconds_of.get(source, 0.0) + (end - begin) * 1e-9
                if self._clock is not None:
                    self._clock.record(event, entry, "kernels", self._queue_name, file=source)
        self._launched[:] = left
        self._busy.add(spans)
        if not self._is_owner:
            self._spans += spans

    def cached(self, name: str, key: object, make: Callable[[], Kept]) -> Kept:
        """Return the result of `make` for this key object, made again only if it was dropped.

        The key is kept as long as the result; the least recently used result is dropped first.
        """
        return self._cache.find(name, key, make)

    def measured(self, name: str, measure: Callable[[], int]) -> int:
        """Return a number measured once for this device, its driver and the kernels; measured now if it is missing."""
        key = device_key(self.device)
        known = read_tunings(counts_path()).get(key, {})
        if name not in known:
            known[name] = measure()
            with contextlib.suppress(OutputError):
                keep_tuning(key, known, counts_path())
        return known[name]

    def _size_of(self, leaf: object) -> int:
        if not isinstance(leaf, cl.MemoryObjectHolder) or getattr(leaf, "is_shared", False):
            return 0
        with self._translated():
            return int(leaf.size)

    def _translated(self) -> Translated:
        return Translated(self._translate)

    def _translate(self, error: BaseException) -> None:
        """Raise, for an error of the driver, one that a user can act on."""
        if isinstance(error, DamagedCopy):
            raise self.wrong(str(error)) from error
        if isinstance(error, cl.Error | MemoryError):  # MemoryError if buffers are in the host's memory
            name = self.device.name
            if is_out_of_memory(error, [event for event, *_ in self._launched]):
                for queue in list(self._busy_queues):
                    queue.end()
                self._cache.shrink()
                if hasattr(self, "_transfers"):  # not while the device is being opened
                    self._transfers.shrink()
                if self._pool is not None:
                    self._pool.free_held()
                raise OutOfDeviceMemory(
                    f"{name} has too little free memory for this batch ({error}).",
                    "Close other programs that use it, or choose another device.",
                ) from error
            raise DeviceError(
                f"The driver of {name} reported an error ({error}).",
                "Continue on another device, or update this driver.",
            ) from error

    def _left(self) -> bool:
        """Leave the device open; return False if nobody takes it."""
        assert self._leave is not None
        left = OpenDevice(self._context, self._programs.left(), dict(self._kernels))
        return self._leave(left, self._programs.close)

    def __enter__(self) -> OpenCLSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with tracing.span("close the device"):
            for queue in list(self._busy_queues) if self._is_owner else [self._queue]:
                queue.end()
            if self._clock is not None:
                with contextlib.suppress(DeviceError):
                    self._count_kernels()
            self._launched.clear()
            if self._is_owner:
                with tracing.span("give back memory"):
                    self._cache.clear()
                is_left = error is None and self._leave is not None and self._left()
                if not is_left:
                    self._programs.close()
                self._kernels.clear()
                if self._pool is not None and (error is not None or is_left):
                    with contextlib.suppress(cl.Error):
                        self._pool.stop_holding()  # the device may be opened once more while this session is known
