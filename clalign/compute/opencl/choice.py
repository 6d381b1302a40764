"""Which devices there are, also on a machine without OpenCL or without pyopencl."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from clalign.values.devices import REFERENCE, Device, at_home, choose_device, choose_devices


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


def look_ahead() -> None:
    """Look for the devices in the background, and load what opens one, for whoever picks one after this."""
    global _ahead
    _ahead = found = Future[list[Device]]()

    def look() -> None:
        try:
            from clalign.compute.opencl import session  # noqa: F401
            from clalign.compute.opencl.discover import familiar_devices

            found.set_result(familiar_devices())
        except BaseException as error:  # told to whoever picks a device
            found.set_exception(error)

    threading.Thread(target=look, name="looks for devices", daemon=True).start()


def _familiar() -> list[Device]:
    """Return what `look_ahead` has found, else look now."""
    from clalign.compute.opencl.discover import familiar_devices

    return familiar_devices() if _ahead is None else _ahead.result()


def pick_device(wish: str, tell: Callable[[str], None] = say_nothing) -> Device:
    """Return the device that a user's words mean (see `clalign.values.devices.choose_device`).

    Where all drivers and devices are known from before they are listed in this process, which is a
    worker that may be lost; otherwise in a child process.
    """
    return REFERENCE if at_home(wish) == "reference" else choose_device(wish, _listed(tell))


def pick_devices(wish: str, tell: Callable[[str], None] = say_nothing) -> tuple[list[Device], list[str]]:
    """Return the devices that a user's words mean, and what is to be said of others.

    See `clalign.values.devices.choose_devices`.
    """
    return ([REFERENCE], []) if at_home(wish) == "reference" else choose_devices(wish, _listed(tell))


def _listed(tell: Callable[[str], None]) -> list[Device]:
    try:
        familiar = _familiar()
    except ImportError:
        return [REFERENCE]
    return familiar or all_devices(tell=tell)
