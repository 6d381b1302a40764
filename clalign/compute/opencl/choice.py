"""Which devices there are, also on a machine without OpenCL or without pyopencl, and which are open in a worker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING

from clalign import tracing
from clalign.errors import ClalignError
from clalign.values.devices import REFERENCE, Device, choose_device, choose_devices, names_several, needs_drivers

if TYPE_CHECKING:
    from clalign.compute.opencl.session import OpenDevice
    from clalign.compute.sessions import Building, Check, Session

log = logging.getLogger(__name__)


def ignore(text: str) -> None:
    """Do nothing."""


def all_devices(refresh: bool = False, notify: Callable[[str], None] = ignore) -> list[Device]:
    """Return every device, each judged, the reference last; only that one if pyopencl is missing.

    `notify` gets a message for a driver whose test takes long.
    """
    try:
        from clalign.compute.opencl.discover import discover_devices
    except ImportError:
        return [REFERENCE]
    return discover_devices(refresh, notify)


def familiar_devices() -> list[Device]:
    """Return every device, listed in this process where all drivers and devices are known from before; else nothing.

    Raises
    ------
    DeviceNotFound
        In a fork of a process that has used drivers.
    """
    try:
        from clalign.compute.opencl import discover
    except ImportError:
        return []
    discover.check_process()
    return discover.familiar_devices()


def pick_device(
    words: str, notify: Callable[[str], None] = ignore, familiar: Callable[[], list[Device]] | None = None
) -> Device:
    """Return the device that a user's words mean (see `clalign.values.devices.choose_device`).

    Parameters
    ----------
    words : str
    notify : callable
        Called with what the user should know.
    familiar : callable, optional
        Returns the devices in place of `familiar_devices`; where there are none, a child process lists them.
    """
    if not needs_drivers(words):
        return REFERENCE
    listed = (familiar or familiar_devices)() or all_devices(notify=notify)
    device = choose_device(words, listed)
    if device.kind == "reference":
        notify(_why_none(listed))
    return device


def _why_none(devices: list[Device]) -> str:
    """Return why the reference is taken."""
    problems = [f"{device.name} ({device.id}): {device.problem}" for device in devices if device.kind != "reference"]
    return f"No OpenCL device can be used. {' '.join(problems) or 'No driver shows one; clalign doctor shows more.'}"


def pick_devices(
    words: str, notify: Callable[[str], None] = ignore, familiar: Callable[[], list[Device]] | None = None
) -> tuple[list[Device], list[str]]:
    """Return the devices that a user's words mean, and what is to be said of others.

    See `pick_device` and `clalign.values.devices.choose_devices`.
    """
    if not needs_drivers(words):
        return [REFERENCE], []
    listed = (familiar or familiar_devices)() or all_devices(notify=notify)
    devices, remarks = choose_devices(words, listed)
    if all(device.kind == "reference" for device in devices):
        remarks = [*remarks, _why_none(listed)]
    return devices, remarks


MAX_PROGRAMS = 256
"""Programs of a device that is left open."""

MAX_JOBS_UNUSED = 3
"""Jobs in a row that may leave an open device alone before it is closed: hits are exported between two searches."""

_Key = tuple[str, ...]
"""A device and its driver."""


def _key(device: Device) -> _Key:
    return device.id, device.name, device.platform_version, device.driver


class Devices:
    """The devices of a worker: listed and opened ahead of its job, and left open for the next one."""

    def __init__(self) -> None:
        self._ahead: Future[list[Device]] | None = None
        self._looking: threading.Thread | None = None
        self._opening: _Key | None = None
        self._open: dict[_Key, tuple[OpenDevice, int]] = {}  # and the jobs that have ended since it was left
        self._ends: list[Callable[[], None]] = []  # each ends the children that build for a device that was left
        self._changing = threading.Lock()

    def look_ahead(self, words: str) -> None:
        """List the devices in the background, and make a context of the one that the user's words mean."""
        self._ahead = found = Future[list[Device]]()
        before = self._looking

        def look() -> None:
            if before is not None:
                before.join()
            try:
                with tracing.span("look for devices", "start"):
                    devices = familiar_devices()
                device = _one_of(devices, words)
            except BaseException as error:  # raised where a device is picked
                found.set_exception(error)
                return
            self._opening = None if device is None else _key(device)
            found.set_result(devices)
            if device is not None and not self.is_open(device):
                self._open_ahead(device)

        self._looking = threading.Thread(target=look, name="looks for devices", daemon=True)
        self._looking.start()

    def _open_ahead(self, device: Device) -> None:
        try:
            with tracing.span("load the drivers", "start"):
                from clalign.compute.opencl.session import opened
            with tracing.span("make a context ahead", "start"):
                left = opened(device)
        except Exception:  # the session that wants it says why
            log.debug("no context of %s could be made ahead", device.name, exc_info=True)
            return
        with self._changing:
            self._open[_key(device)] = left, 0

    def settle(self) -> None:
        """Wait until nothing is done ahead any more."""
        if self._looking is not None:
            self._looking.join()

    def familiar(self) -> list[Device]:
        """Return the devices that `look_ahead` has found; else list them now."""
        return familiar_devices() if self._ahead is None else self._ahead.result()

    def pick(self, words: str, notify: Callable[[str], None] = ignore) -> Device:
        """Return the device that a user's words mean; see `pick_device`."""
        return pick_device(words, notify, self.familiar)

    def pick_several(self, words: str, notify: Callable[[str], None] = ignore) -> tuple[list[Device], list[str]]:
        """Return the devices that a user's words mean, and what is to be said of others; see `pick_devices`."""
        return pick_devices(words, notify, self.familiar)

    def open(self, device: Device, check: Check, building: Building) -> Session:
        """Open a device as an earlier session has left it; see `clalign.compute.opening.open_session`."""
        if device.kind == "reference":
            from clalign.compute.sessions import ReferenceSession

            return ReferenceSession(device, check)
        self.end_builders()
        if self._opening == _key(device):
            self.settle()
        with self._changing:
            left, _ = self._open.pop(_key(device), (None, 0))
        with tracing.span("load the drivers", "start"):
            from clalign.compute.opencl.session import OpenCLSession

        return OpenCLSession(device, check, building, left, partial(self._leave, device))

    def _leave(self, device: Device, left: OpenDevice, end_builders: Callable[[], None]) -> bool:
        """Take an open device from the session that ends; return False if it has too many programs."""
        if len(left.programs) > MAX_PROGRAMS:
            return False
        with self._changing:
            self._open[_key(device)] = left, 0
            self._ends.append(end_builders)
        return True

    def is_open(self, device: Device) -> bool:
        """Return whether a device is open and nobody uses it."""
        return _key(device) in self._open

    def end_builders(self) -> None:
        """End children that still build for devices that were left.

        To be called when nobody waits for the results of the job any more: processes that use a card die slowly.
        """
        with self._changing:
            ends, self._ends = self._ends, []
        for end in ends:
            end()

    def rest(self) -> None:
        """Forget the list of devices, which may change until the next job, and close those that jobs leave alone."""
        self._ahead = None
        with self._changing:
            # The first end of a job that is counted is that of the job that used the device.
            self._open = {key: (left, n + 1) for key, (left, n) in self._open.items() if n < MAX_JOBS_UNUSED}


def _one_of(devices: list[Device], words: str) -> Device | None:
    """Return the device that words mean, if they mean one that is usable and has a driver."""
    if not devices or not words or names_several(words):
        return None
    try:
        device = choose_device(words, devices)
    except ClalignError:  # reported when it is picked
        return None
    return None if device.kind == "reference" else device
