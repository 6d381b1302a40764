"""Descriptions of compute devices. Plain data: no driver is touched here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Literal

from clalign.errors import DeviceNotFound
from clalign.values.checked import check_as
from clalign.values.documents import DeviceFields

DeviceKind = Literal["gpu", "cpu", "accelerator", "reference"]
Health = Literal["ready", "not tested", "needs linker", "self-test failed", "not usable"]


AVX512_PROCESSORS = (
    "skylake-avx512", "cascadelake", "cooperlake", "cannonlake", "icelake-client", "icelake-server", "tigerlake",
    "rocketlake", "sapphirerapids", "emeraldrapids", "graniterapids", "graniterapids-d", "diamondrapids",
)  # fmt: skip
"""Intel's processors with vectors of 512 bits, as LLVM calls them. AMD's, which have them as well, differ in speed."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its driver describes it, and what the self-test found.

    Attributes
    ----------
    id : str
        ``platform:device`` by ordinal, as in ``0:1``; ``reference`` for the reference.
    name, vendor, driver, platform, opencl_version : str
        As the driver says, a processor's name as it is sold; a device is never identified by its name.
    kind : str
        ``gpu``, ``cpu``, ``accelerator`` or ``reference``.
    bus : str
        PCI address where the driver gives it, else empty.
    compute_capability : int
        NVIDIA's, as in 90 for 9.0; 0 elsewhere.
    n_compute_units, clock_mhz : int
    memory_bytes, max_buffer_bytes, local_bytes : int
        The first two do not count when devices are compared: some drivers report what is free at the moment.
    max_work_group : int
    extensions : tuple of str
    health : str
        ``ready``, ``not tested``, ``needs linker``, ``self-test failed`` or ``not usable``.
    problem : str
        Why it is not ready and what to do, in words.
    gcups : float
        Speed measured by the self-test, in 10^9 cells a second; 0 if unknown.
    tuning : dict
        What ``clalign tune`` found for this device and driver, by name.
    """

    id: str
    name: str
    kind: DeviceKind
    vendor: str = ""
    driver: str = ""
    platform: str = ""
    platform_version: str = ""
    opencl_version: str = ""
    bus: str = ""
    compute_capability: int = 0
    n_compute_units: int = 1
    clock_mhz: int = 0
    memory_bytes: int = field(default=0, compare=False)
    max_buffer_bytes: int = field(default=0, compare=False)
    local_bytes: int = 0
    max_work_group: int = 1
    extensions: tuple[str, ...] = ()
    health: Health = "not tested"
    problem: str = ""
    gcups: float = 0.0
    tuning: dict[str, int] = field(default_factory=dict, hash=False)

    @property
    def is_usable(self) -> bool:
        """Whether a job may run on it."""
        return self.health == "ready"

    @property
    def maker(self) -> str:
        """``nvidia``, ``amd`` or ``intel``, by the vendor's name; empty for others."""
        vendor = self.vendor.lower().replace("advanced micro", "amd")
        return next((maker for maker in ("nvidia", "amd", "intel") if maker in vendor), "")

    @property
    def family(self) -> str:
        """The key of choices for speed: the maker; for a processor ``avx512`` if it is one of `AVX512_PROCESSORS`."""
        if self.kind != "cpu":
            return self.maker
        return "avx512" if self.opencl_version.endswith(tuple(f"-{name}" for name in AVX512_PROCESSORS)) else ""

    def to_dict(self) -> DeviceFields:
        """Return the device as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: DeviceFields) -> Device:
        """Return the device that `to_dict` described."""
        return check_as(cls, data)

    def judged(self, health: Health, problem: str = "", gcups: float = 0.0) -> Device:
        """Return the device with the verdict of a self-test."""
        return replace(self, health=health, problem=problem, gcups=gcups)


REFERENCE = Device(
    id="reference",
    name="Reference (NumPy)",
    kind="reference",
    vendor="clalign",
    health="ready",
    problem="Slow: for checking results, and for machines without OpenCL.",
)

SLOW_TEXT = "Running on the NumPy reference, which is slow and meant for checking."
"""The caution of a run on the reference."""


GROUPS: dict[str, tuple[str, tuple[DeviceKind, ...]]] = {
    "gpus": ("graphics card", ("gpu", "accelerator")),
    "all": ("OpenCL device", ("gpu", "accelerator", "cpu")),
}
"""Words for several devices: a name for one of them, and its kinds."""


_CLUSTER = re.compile(r"(?:tcp|tls|ucx|wss?|inproc)://\S+|local:\d+|.+\.json", re.DOTALL)


def cluster_of(choice: str) -> tuple[str, str] | None:
    """Return the devices of each worker and the address of a cluster from a user's choice; None without a cluster.

    They are written ``gpus@tcp://host:8786``, or the address alone: of a scheduler of Dask, the ``.json`` file that one
    has written, or ``local:4`` for this many workers on this machine.
    """
    words, _, address = choice.strip().rpartition("@")
    return (words or "auto", address) if _CLUSTER.fullmatch(address) else None


def without_cluster(choice: str) -> str:
    """Return a user's choice of devices without the cluster that it names."""
    found = cluster_of(choice)
    if found is None:
        return choice
    return found[0] if cluster_of(found[0]) is None else "auto"


def needs_drivers(choice: str) -> bool:
    """Return whether a user's choice may include a device with a driver: any but the reference."""
    words = [word for word in map(str.strip, without_cluster(choice).split(",")) if word]
    return not words or any(word != REFERENCE.id for word in words)


def names_several(choice: str) -> bool:
    """Return whether a user's choice may include several devices."""
    return "," in without_cluster(choice) or without_cluster(choice).strip() in GROUPS


def distinct_names(devices: Sequence[Device]) -> list[str]:
    """Return the names of devices, with the ids of those that have the same one."""
    names = Counter(device.name for device in devices)
    return [f"{one.name} ({one.id})" if names[one.name] > 1 else one.name for one in devices]


def choose_devices(choice: str, devices: list[Device]) -> tuple[list[Device], list[str]]:
    """Return the devices that a user chose, and a sentence for each of them that cannot be used.

    Parameters
    ----------
    choice : str
        Words for one device (see `choose_device`), several of these with commas between them, ``gpus`` or ``all``,
        which the reference is no part of.
    devices : list of Device
        All devices, judged.

        All devices, judged.
    -------
    list of Device
        Each once, in the order in which they are named, or the fastest first.
    list of str

    Raises
    ------
    DeviceNotFound
        If a word fits no device or several, or if none of the chosen devices can be used.
    """
    choice = without_cluster(choice)
    if not names_several(choice):
        return [choose_device(choice, devices)], []
    found: dict[str, Device] = {}
    for word in filter(None, map(str.strip, choice.split(","))):
        found.update({device.id: device for device in _devices_of(word, devices)})
    usable = [device for device in found.values() if device.is_usable]
    if not usable:
        hints = [f"{device.name} ({device.id}): {device.problem or device.health}." for device in found.values()]
        raise DeviceNotFound(
            f'No device that "{choice}" stands for can be used.', " ".join([*hints, "See: clalign devices"])
        )
    lost = [f"{one.name} ({one.id}) is left out: {one.health}." for one in found.values() if not one.is_usable]
    return usable, lost


def _devices_of(word: str, devices: list[Device]) -> list[Device]:
    if word not in GROUPS:
        return [_fitting(word, devices)]
    what, kinds = GROUPS[word]
    found: dict[str, Device] = {}
    for device in _ranked(devices):
        if device.kind in kinds:  # several drivers may offer the same card, or the processor: it counts once
            found.setdefault("processor" if device.kind == "cpu" else device.bus or device.id, device)
    if not found:
        raise DeviceNotFound(f"There is no {what}.", f"There are: {_names(devices)}. See: clalign devices")
    return list(found.values())


def choose_device(choice: str, devices: list[Device]) -> Device:
    """Return the device that a user chose; the first one of several.

    Parameters
    ----------
    choice : str
        ``auto`` (the fastest that is ready), an id, ``gpu``, ``cpu``, ``reference``, or a part of a
        name, vendor, platform (with its version), driver or bus address. What follows the ``@``
        of a cluster does not count.
    devices : list of Device
        All devices, judged.

    Raises
    ------
    DeviceNotFound
        If none fits, if what fits is not usable, or if a name fits several.
    """
    choice = without_cluster(choice)
    if names_several(choice):
        return choose_devices(choice, devices)[0][0]
    found = _fitting(choice, devices)
    return found if choice in ("auto", "") else _usable(found)


def _ranked(devices: list[Device]) -> list[Device]:
    return sorted(devices, key=lambda d: (d.is_usable, _RANK[d.kind], d.gcups), reverse=True)


def _fitting(choice: str, devices: list[Device]) -> Device:
    """Return the device that a choice fits, usable or not."""
    ranked = _ranked(devices)
    if choice in ("auto", ""):
        return ranked[0]
    exact = [device for device in devices if device.id == choice]
    if exact:
        return exact[0]
    if choice in _RANK:
        matching = [device for device in ranked if device.kind == choice]
    else:
        matching = _named(choice, ranked)
    if not matching:
        raise DeviceNotFound(f'No device fits "{choice}".', f"There are: {_names(devices)}. See: clalign devices")
    return matching[0]


_RANK = {"gpu": 3, "accelerator": 2, "cpu": 1, "reference": 0}


def _named(choice: str, ranked: list[Device]) -> list[Device]:
    word = choice.lower()
    found = [d for d in ranked if word in "\n".join(_words_of(d)).lower()]
    usable = [device for device in found if device.is_usable]
    if len(usable) > 1:
        raise DeviceNotFound(f'"{choice}" fits several devices: {_names(usable)}.', "Give the id instead of the name.")
    return usable or found


def _words_of(device: Device) -> tuple[str, ...]:
    return device.name, device.vendor, device.platform, device.platform_version, device.driver, device.bus


def _usable(device: Device) -> Device:
    if device.is_usable:
        return device
    raise DeviceNotFound(f"{device.name} ({device.id}) cannot be used: {device.health}.", device.problem)


def _names(devices: list[Device]) -> str:
    return ", ".join(f"{device.name} ({device.id})" for device in devices)
