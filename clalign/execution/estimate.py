"""Estimates of time and memory before a run begins, by the measured speed of devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from clalign.execution.pace import REFERENCE_RATE
from clalign.values.devices import Device

START_SECONDS = 0.5
"""Time before the first unit: two processes, a driver, inputs that are prepared (s)."""

PROGRAM_BYTES = 100e6
"""Memory of the program and its libraries, where the system gives no number."""

COMPILING_BYTES = 350e6
"""Memory of a compiler of a processor's driver, besides."""


class Estimate(Struct, frozen=True):
    """What a run will take, without programs that have to be compiled.

    Attributes
    ----------
    queries : str
        What is searched or compared, in words, as in ``2 profiles of 221 nodes``.
    seconds : float or None
        None where the speed of a device is not known.
    memory_bytes : float
        Of the host at most, as far as that is known before the inputs are worked on; 0 where it is little more than
        they take.
    disk_bytes : float
        Of the run and of temporary files; 0 where that is little.
    """

    queries: str
    seconds: float | None
    memory_bytes: float = 0.0
    disk_bytes: float = 0.0


Speeds = Mapping[str, float]
"""Speed of a recurrence relative to the one of HMMER2, by the kinds of devices; 1 for other kinds."""

AS_MEASURED: Speeds = {}


def rate_of(devices: Iterable[Device], speeds: Speeds = AS_MEASURED) -> float:
    """Return the rate of devices together (cells / s); 0 if one was never measured.

    It is measured with the recurrence of HMMER2; `speeds` are those of another one.
    """
    rates = [
        speeds.get(device.kind, 1.0) * (device.gcups * 1e9 or (REFERENCE_RATE if device.kind == "reference" else 0.0))
        for device in devices
    ]
    return sum(rates) if all(rates) else 0.0


def seconds_of(n_cells: float, devices: Iterable[Device], speeds: Speeds = AS_MEASURED) -> float | None:
    """Return the time of some cells on devices together (s); None if one was never measured."""
    rate = rate_of(devices, speeds)
    return n_cells / rate if rate else None


def counted(n: int, one: str, several: str = "") -> str:
    """Return a number with its noun, as in ``1 profile`` or ``1,204 profiles``."""
    return f"{n:,} {one if n == 1 else several or f'{one}s'}"
