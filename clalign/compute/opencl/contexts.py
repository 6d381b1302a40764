"""Contexts of devices: made while other threads of the process go on, and ahead of the session that will want one.

Where a process does one job after the other a session leaves its context, and what was built in it, to the next one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

import pyopencl as cl
from msgspec import Struct, field

from clalign.compute.opencl import choice, driver_warmup
from clalign.compute.opencl.discover import driver_device
from clalign.compute.sessions import ProgramChoice
from clalign.values.devices import Device

_ahead: dict[str, Future[cl.Context | None]] = {}
"""Contexts that are made, or on their way, by the ids of their devices."""

_taking = threading.Lock()


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


MAX_PROGRAMS = 256
"""So many programs are left to the next session."""

_Key = tuple[str, ...]

_kept: dict[_Key, tuple[OpenDevice, int]] = {}
"""What sessions have left, by the devices and their drivers, and how often `let_go_of_unused` was called since."""

_building: list[Callable[[], None]] = []
"""What ends the builders of those sessions: processes that use a card die slowly, and who waits for hits need not."""

MAX_JOBS_UNUSED = 3
"""So many jobs in a row may leave a device alone before it is let go of: hits are exported between two searches."""


def _key(device: Device) -> _Key:
    return device.id, device.name, device.platform_version, device.driver


def opened(device: Device, handle: cl.Device) -> OpenDevice:
    """Return a device that nobody else has, as an earlier session has left it, or with a fresh context."""
    end_builders()
    with _taking:
        left = _kept.pop(_key(device), None)
    return left[0] if left is not None else OpenDevice(context_of(device, handle))


def is_kept(device: Device) -> bool:
    """Return whether a session has left a context of a device for the next one."""
    return _key(device) in _kept


def leave(device: Device, opened: OpenDevice, end_builders: Callable[[], None]) -> bool:
    """Leave a device to the next session, if this process keeps devices; return whether that is so.

    Its builders end then with the job.
    """
    if not choice.is_keeping or len(opened.programs) > MAX_PROGRAMS:
        return False
    with _taking:
        _kept[_key(device)] = opened, 0
        _building.append(end_builders)
    return True


def end_builders() -> None:
    """End the builders of sessions that have left their devices."""
    with _taking:
        ends, _building[:] = _building[:], []
    for end in ends:
        end()


def let_go_of_unused() -> None:
    """Let go of the devices that the last `MAX_JOBS_UNUSED` jobs have left alone; called at the end of each job."""
    with _taking:
        for key, (opened, n_ends) in list(_kept.items()):
            if n_ends < MAX_JOBS_UNUSED:  # the first end is that of the job that used it
                _kept[key] = opened, n_ends + 1
            else:
                del _kept[key]
        _ahead.clear()


def announced(device: Device) -> Callable[[], None]:
    """Tell that a context of a device is about to be made, for which whoever wants one waits; return what makes it.

    It is the one that was made when the drivers were woken, if that is of this device. Where it fails, the session
    that wants one will say why.
    """
    promised = Future[cl.Context | None]()  # it may be taken, and waited for, before it is made
    with _taking:
        _ahead[device.id] = promised

    def make() -> None:
        try:
            handle = driver_device(device)
            woken = _held(driver_warmup.taken_context(device.id))
            is_of_it = woken is not None and woken.devices == [handle]
            promised.set_result(woken if is_of_it else _made(handle))
        except BaseException:
            promised.set_result(None)

    return make


def let_go_of_untaken() -> None:
    """Let go of contexts that were made when the drivers were woken, of what the user's words do not mean any more."""
    for number in driver_warmup.untaken_contexts():
        _held(driver_warmup.taken_context(number))


def context_of(device: Device, handle: cl.Device) -> cl.Context:
    """Return a context of a device that nobody else has, which may have been made ahead."""
    with _taking:
        promised = _ahead.pop(device.id, None)
    return (promised.result() if promised is not None else None) or _made(handle) or cl.Context([handle])


def _made(handle: cl.Device) -> cl.Context | None:
    """Return a context that is made without the interpreter's lock; None if that cannot be."""
    return _held(driver_warmup.made_context(cl._cl.__file__, handle.int_ptr))


def _held(address: int | None) -> cl.Context | None:
    """Return the context that is at an address; it goes with the last that refers to it."""
    return None if address is None else cl.Context.from_int_ptr(address, retain=False)
