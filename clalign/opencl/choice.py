"""Which devices there are, also on a machine without OpenCL or without pyopencl."""

from __future__ import annotations

from clalign.devices import REFERENCE, Device, choose_device


def all_devices(refresh: bool = False) -> list[Device]:
    """Return every device, each judged, the reference last; only that one if pyopencl is missing."""
    try:
        from clalign.opencl.discover import discover_devices
    except ImportError:
        return [REFERENCE]
    return discover_devices(refresh)


def pick_device(wish: str) -> Device:
    """Return the device that a user's words mean (see `clalign.devices.choose_device`)."""
    return REFERENCE if wish == "reference" else choose_device(wish, all_devices())
