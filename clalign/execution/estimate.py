"""Estimates of time and memory before a run begins, by the measured speed of devices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from msgspec import Struct, field

from clalign.compute.sessions import MAX_BUILDERS, MAX_COMPILERS, MIN_NEW_PROGRAMS
from clalign.execution.pace import REFERENCE_RATE
from clalign.system.bounds import n_cores
from clalign.values.devices import Device

START_SECONDS = 0.5
"""Time before the first unit: two processes, a driver, inputs that are prepared (s)."""

PROGRAM_BYTES = 100e6
"""Memory of the program and its libraries, where the system gives no number."""

COMPILING_BYTES = 350e6
"""Memory of a compiler of a processor's driver, besides."""


BUILD_SECONDS = {"cpu": 0.9, "gpu": 0.8, "accelerator": 0.8}
"""Mean time of a program on one core (s): PoCL; NVIDIA's compiler on an H200. Shapes with barriers, which processors
are not given, take PoCL minutes."""


MANY_PROGRAMS = 20
"""New programs of a usual search, where their number is not known."""


def build_seconds(kind: str) -> float:
    """Return the mean time of a program for a device of a kind (s), on a machine as busy as in the last minute.

    Where more programs run than it has cores, a compiler gets its share of them.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return BUILD_SECONDS.get(kind, 0.0) * max(1.0, load / (os.cpu_count() or 1))


def n_compilers(kind: str, n_new: int) -> int:
    """Return how many programs are compiled at a time for a device of a kind, of so many new ones."""
    most = MAX_COMPILERS if kind == "cpu" else MAX_BUILDERS
    return max(1, min(most, n_cores(), n_new - MIN_NEW_PROGRAMS))


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
    later : mapping of str to float
        What of the time is not that of the cells, by stages that follow them (s).
    """

    queries: str
    seconds: float | None
    memory_bytes: float = 0.0
    disk_bytes: float = 0.0
    later: Mapping[str, float] = field(default_factory=dict)

    @property
    def later_seconds(self) -> float:
        """The time of the stages that follow the cells (s)."""
        return sum(self.later.values())


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
