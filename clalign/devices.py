"""Descriptions of compute devices. Plain data: no driver is touched here."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

DeviceKind = Literal["gpu", "cpu", "accelerator", "reference"]
Health = Literal["ready", "not tested", "needs linker", "self-test failed", "not usable"]


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its driver describes it, and what the self-test found.

    Attributes
    ----------
    id : str
        ``platform:device`` by ordinal, as in ``0:1``; ``reference`` for the reference.
    name, vendor, driver, platform, opencl_version : str
        As the driver says; a device is never identified by its name.
    kind : str
        ``gpu``, ``cpu``, ``accelerator`` or ``reference``.
    bus : str
        PCI address where the driver tells it, else empty.
    n_compute_units, clock_mhz : int
    memory_bytes, max_buffer_bytes, local_bytes : int
    max_work_group : int
    extensions : tuple of str
    health : str
        ``ready``, ``not tested``, ``needs linker``, ``self-test failed`` or ``not usable``.
    problem : str
        Why it is not ready and what to do, in words.
    gcups : float
        Speed measured by the self-test, in 10^9 cells a second; 0 if unknown.
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
    n_compute_units: int = 1
    clock_mhz: int = 0
    memory_bytes: int = 0
    max_buffer_bytes: int = 0
    local_bytes: int = 0
    max_work_group: int = 1
    extensions: tuple[str, ...] = ()
    health: Health = "not tested"
    problem: str = ""
    gcups: float = 0.0

    @property
    def is_usable(self) -> bool:
        """Whether a job may run on it."""
        return self.health == "ready"

    def to_dict(self) -> dict[str, Any]:
        """Return the device as plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Device:
        """Return the device that `to_dict` described."""
        return cls(**{**data, "extensions": tuple(data["extensions"])})

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
