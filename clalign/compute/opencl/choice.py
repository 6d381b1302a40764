"""Which devices there are, also on a machine without OpenCL or without pyopencl."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache

from clalign import tracing
from clalign.compute.opencl import driver_warmup
from clalign.databases.cache_root import cache_root
from clalign.errors import ClalignError, DeviceNotFound
from clalign.values.devices import REFERENCE, Device, choose_device, choose_devices, names_several, needs_drivers


def say_nothing(text: str) -> None:
    """Tell nobody."""


def all_devices(refresh: bool = False, tell: Callable[[str], None] = say_nothing) -> list[Device]:
    """Return every device, each judged, the reference last; only that one if pyopencl is missing.

    `tell` is told in words of a driver whose test takes long.
    """
    try:
        from clalign.compute.opencl.discover import discover_devices
    except ImportError:
        return [REFERENCE]
    return discover_devices(refresh, tell)


_ahead: Future[list[Device]] | None = None
"""The devices that `look_ahead` finds."""

_looking: threading.Thread | None = None
"""The thread that looks for them."""


def wake_ahead(wish: str = "") -> None:
    """Wake the drivers in the background; for a process that has just begun.

    Parameters
    ----------
    wish : str
        The user's words for the device that will be opened; where they mean the same as last time, a context of it is
        made.
    """
    driver_warmup.wake_ahead(driver_warmup.verdicts_path(cache_root()), wish)


def look_ahead(wish: str = "") -> None:
    """Look for the devices in the background, and load what opens one, for whoever picks one after this.

    Parameters
    ----------
    wish : str
        The user's words for the device that will be opened; a context of it is made as well.
    """
    global _ahead, _looking
    _ahead = found = Future[list[Device]]()

    def look() -> None:
        try:
            with tracing.span("load the drivers", "start"):
                from clalign.compute.opencl import contexts, session  # noqa: F401
                from clalign.compute.opencl.discover import familiar_devices

            with tracing.span("look for devices", "start"):
                devices = familiar_devices()
        except BaseException as error:  # told to whoever picks a device
            found.set_exception(error)
            return
        device = _one_of(devices, wish)
        make_context = None if device is None or contexts.is_kept(device) else contexts.announced(device)
        found.set_result(devices)
        if make_context is not None:
            make_context()
        contexts.let_go_of_untaken()
        if device is not None:
            driver_warmup.remember_meant(cache_root(), wish, device.id, device.name)

    _looking = threading.Thread(target=look, name="looks for devices", daemon=True)
    _looking.start()


def wait_for_look() -> None:
    """Wait until nothing that `look_ahead` has begun is going on."""
    if _looking is not None:
        _looking.join()


is_keeping = False
"""Whether sessions leave the contexts of their devices, and what was built in them, to the next ones."""


def keep_devices() -> None:
    """Let sessions leave their devices open for the next ones, or until the process ends; for a worker."""
    global is_keeping
    is_keeping = True


def end_builders() -> None:
    """End children that still build for devices that were left open, once nobody waits for this process any more."""
    if (contexts := sys.modules.get("clalign.compute.opencl.contexts")) is not None:
        contexts.end_builders()


def rest() -> None:
    """Forget which devices there are, and let go of those that several jobs in a row have left alone.

    For a process that waits for its next job: what it knows may be otherwise by then.
    """
    global _ahead
    _ahead = None
    if (contexts := sys.modules.get("clalign.compute.opencl.contexts")) is not None:
        contexts.let_go_of_unused()


def _one_of(devices: list[Device], wish: str) -> Device | None:
    """Return the device that words mean, if they mean one that is usable and has a driver."""
    if not devices or not wish:
        return None
    try:
        device = None if names_several(wish) else choose_device(wish, devices)
    except ClalignError:  # told when it is picked
        return None
    return None if device is None or device.kind == "reference" else device


def _familiar() -> list[Device]:
    """Return what `look_ahead` has found, else look now."""
    from clalign.compute.opencl.discover import familiar_devices

    return familiar_devices() if _ahead is None else _ahead.result()


def pick_device(wish: str, tell: Callable[[str], None] = say_nothing) -> Device:
    """Return the device that a user's words mean (see `clalign.values.devices.choose_device`).

    Where all drivers and devices are known from before they are listed in this process, which is a
    worker that may be lost; otherwise in a child process.
    """
    if not needs_drivers(wish):
        return REFERENCE
    listed = _listed(tell)
    device = choose_device(wish, listed)
    if device.kind == "reference":
        tell(_why_none(listed))
    return device


def _why_none(devices: list[Device]) -> str:
    """Return why the reference is taken."""
    problems = [f"{device.name} ({device.id}): {device.problem}" for device in devices if device.kind != "reference"]
    return f"No OpenCL device can be used. {' '.join(problems) or 'No driver shows one; clalign doctor tells more.'}"


def pick_devices(wish: str, tell: Callable[[str], None] = say_nothing) -> tuple[list[Device], list[str]]:
    """Return the devices that a user's words mean, and what is to be said of others.

    See `clalign.values.devices.choose_devices`.
    """
    if not needs_drivers(wish):
        return [REFERENCE], []
    listed = _listed(tell)
    devices, remarks = choose_devices(wish, listed)
    if all(device.kind == "reference" for device in devices):
        remarks = [*remarks, _why_none(listed)]
    return devices, remarks


@cache
def _first_process() -> int:
    """Return the process that was the first to use drivers; a fork of it inherits the answer."""
    return os.getpid()


def check_process() -> None:
    """Refuse to use drivers in a fork of a process that has used them: their threads are not in it, and it would hang.

    Raises
    ------
    DeviceNotFound
    """
    if _first_process() != os.getpid():
        raise DeviceNotFound(
            "This process was forked from one that has used OpenCL devices already, whose drivers do not work in it.",
            'Start processes with multiprocessing.get_context("spawn"), or fork before a device is used; the device'
            ' "reference" works everywhere.',
        )


def _listed(tell: Callable[[str], None]) -> list[Device]:
    check_process()
    try:
        familiar = _familiar()
    except ImportError:
        return [REFERENCE]
    return familiar or all_devices(tell=tell)
