"""An opened OpenCL device: its queue, kernels and buffers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from clalign.devices import Device
from clalign.errors import DeviceError, OutOfDeviceMemory
from clalign.opencl.discover import driver_device
from clalign.opencl.kernels import build
from clalign.sessions import Check, Result, Stage, nothing_to_check

_OUT_OF_MEMORY = {
    cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    cl.status_code.OUT_OF_RESOURCES,
    cl.status_code.OUT_OF_HOST_MEMORY,
    cl.status_code.INVALID_BUFFER_SIZE,
}

Resident = TypeVar("Resident")


class OpenCLSession:
    """A session on an OpenCL device. Owned by one thread, used as a context manager.

    Stages call `upload`, `allocate`, `launch` and `download`; nothing outside this room sees a
    driver's object but as something to hand back.
    """

    def __init__(self, device: Device, check: Check = nothing_to_check) -> None:
        self.device = device
        self.check = check
        with self._translated():
            handle = driver_device(device)
            self._context = cl.Context([handle])
            self._queue = cl.CommandQueue(self._context)
        self._kernels: dict[tuple[Any, ...], cl.Kernel] = {}
        self._residents: dict[str, tuple[object, Any]] = {}

    def run(self, stage: Stage[Result], batch: Any, model: Any) -> Result:
        """Run a stage's kernel on a batch.

        Raises
        ------
        OutOfDeviceMemory
            If the batch does not fit; a smaller one may.
        DeviceError
            If the driver reports anything else.
        """
        with self._translated():
            return stage.launch(self, batch, model)

    def upload(self, array: npt.NDArray[Any]) -> cl.Buffer:
        """Return a buffer holding a copy of an array; an empty array gets one byte."""
        data = np.ascontiguousarray(array)
        if data.nbytes == 0:
            return self.allocate(1)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self._context, flags, hostbuf=data)

    def allocate(self, n_bytes: int) -> cl.Buffer:
        """Return a buffer with undefined content."""
        if self.device.max_buffer_bytes and n_bytes > self.device.max_buffer_bytes:
            raise OutOfDeviceMemory(
                f"A buffer of {n_bytes:,} bytes is needed, but {self.device.name} gives at most"
                f" {self.device.max_buffer_bytes:,} at once.",
                "Choose a device with more memory.",
            )
        return cl.Buffer(self._context, cl.mem_flags.READ_WRITE, max(1, n_bytes))

    def download(self, buffer: cl.Buffer, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return the content of a buffer, after everything launched before."""
        array = np.empty(shape, dtype)
        if array.nbytes:
            cl.enqueue_copy(self._queue, array, buffer)
        return array

    def launch(
        self,
        source: str,
        entry: str,
        defines: Mapping[str, object],
        n_items: int,
        group: int | None,
        *arguments: Any,
    ) -> None:
        """Enqueue a kernel.

        Parameters
        ----------
        source : str
            Name of the file without ``.cl``.
        entry : str
            Name of the kernel in it.
        defines : dict
            Compile-time choices.
        n_items, group : int
            Work-items, a multiple of the work-group's size.
        *arguments
            Buffers and numpy scalars, in the kernel's order.
        """
        key = (source, entry, *sorted(defines.items()))
        kernel = self._kernels.get(key)
        if kernel is None:
            program = build(self._context, self.device.name, source, defines)
            kernel = self._kernels[key] = cl.Kernel(program, entry)
        kernel(self._queue, (n_items,), None if group is None else (group,), *arguments)

    def finish(self) -> None:
        """Wait for everything launched."""
        self._queue.finish()

    def resident(self, name: str, model: object, make: Callable[[], Resident]) -> Resident:
        """Return what `make` built for this model, building it again only for another model."""
        held = self._residents.get(name)
        if held is None or held[0] is not model:
            held = self._residents[name] = (model, make())
        resident: Resident = held[1]
        return resident

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn the driver's errors into ones that a user can act on."""
        try:
            yield
        except cl.Error as error:
            name = self.device.name
            if isinstance(error, cl.MemoryError) or error.code in _OUT_OF_MEMORY:
                raise OutOfDeviceMemory(
                    f"{name} has too little free memory for this batch ({error}).",
                    "Close other programs that use it, or choose another device.",
                ) from error
            raise DeviceError(
                f"The driver of {name} reported an error ({error}).",
                "Continue on another device, or update this driver.",
            ) from error

    def __enter__(self) -> OpenCLSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._residents.clear()
        self._kernels.clear()
