"""Contexts of devices: made while other threads of the process go on, and ahead of the session that will want one."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future

import pyopencl as cl

from clalign.compute.opencl.discover import driver_device
from clalign.values.devices import Device

_ahead: dict[str, Future[cl.Context | None]] = {}
"""Contexts that are made, or on their way, by the ids of their devices."""

_taking = threading.Lock()


def announced(device: Device) -> Callable[[], None]:
    """Tell that a context of a device is about to be made, for which whoever wants one waits; return what makes it.

    Where that fails, the session that wants one will say why.
    """
    promised = Future[cl.Context | None]()  # it may be taken, and waited for, before it is made
    with _taking:
        _ahead[device.id] = promised

    def make() -> None:
        try:
            promised.set_result(_made(driver_device(device)))
        except BaseException:
            promised.set_result(None)

    return make


def context_of(device: Device, handle: cl.Device) -> cl.Context:
    """Return a context of a device that nobody else has, which may have been made ahead."""
    with _taking:
        promised = _ahead.pop(device.id, None)
    return (promised.result() if promised is not None else None) or _made(handle) or cl.Context([handle])


def _made(handle: cl.Device) -> cl.Context | None:
    """Return a context that is made without the interpreter's lock; None if that cannot be.

    Drivers of graphics cards take some tenths of a second for it, in which pyopencl would let no other thread go on.
    """
    try:
        library = ctypes.CDLL(cl._cl.__file__)
        create = library.clCreateContext
    except (OSError, AttributeError):
        return None
    create.restype = ctypes.c_void_p
    create.argtypes = (
        ctypes.c_void_p, ctypes.c_uint, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p, ctypes.c_void_p,
        ctypes.POINTER(ctypes.c_int),
    )  # fmt: skip
    code, one = ctypes.c_int(0), ctypes.c_void_p(handle.int_ptr)
    made = create(None, 1, ctypes.byref(one), None, None, ctypes.byref(code))
    return cl.Context.from_int_ptr(made, retain=False) if made and code.value == 0 else None
