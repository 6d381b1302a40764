"""What follows from the measured speed of devices: the size of batches, and estimates of time and memory."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

from clalign.compute.batching import (
    BATCH_SECONDS,
    MIN_CELLS,
    BatchCutter,
    batch_end,
    fits,
    residue_limit,
    typical_length,
)
from clalign.compute.sessions import MAX_BUILDERS, MAX_COMPILERS, MIN_NEW_PROGRAMS
from clalign.system.bounds import n_cores
from clalign.values.devices import Device
from clalign.values.sequences import SequenceBatch, SequenceDatabase

FIRST_RATE = 2e8
"""Rate for which the first batch is sized if the device was never measured (cells / s)."""

REFERENCE_RATE = 2e6
"""Rate for which the first batch of the reference is sized (cells / s)."""

RELEASE_RESIDUES = 2**26
"""Size of a database from which on its pages are released while it is read (residues)."""


@dataclasses.dataclass
class Pace:
    """Cuts the batches of one device.

    Attributes
    ----------
    database : SequenceDatabase
    rate : float
        Rate of the scoring kernel (cells / s).
    residue_limit : int
        Largest batch (residues).
    model_length : int
        Length of a model for which batches are sized (nodes).
    keep : bool
        Whether the same batches are used again for other queries.
    patience : float
        Time that a batch may take, in units of `BATCH_SECONDS`.
    remembered : float
        Share of all earlier measurements that still counts after one more batch.
    """

    database: SequenceDatabase
    rate: float
    residue_limit: int
    model_length: int
    keep: bool = False
    patience: float = 1.0
    remembered: float = 1.0
    _measured: tuple[float, float] = dataclasses.field(default=(0.0, 0.0), init=False)

    def __post_init__(self) -> None:
        self._cutter = BatchCutter(self.database, self.residues, self.keep)

    @classmethod
    def of(
        cls, device: Device, database: SequenceDatabase, lengths: Sequence[int], factor: float = 1.0,
        patience: float = 1.0, remembered: float = 1.0,
    ) -> Pace:  # fmt: skip
        """Return the pace of a device for queries of some lengths; at first `factor` times its known rate."""
        rate = factor * device.gcups * 1e9 or (REFERENCE_RATE if device.kind == "reference" else FIRST_RATE)
        keep = len(lengths) > 1 and fits(database, device)
        length = max(1, typical_length(lengths))
        return cls(database, rate, residue_limit(device), length, keep, patience, remembered)

    @property
    def residues(self) -> int:
        """Residues of a batch that takes `BATCH_SECONDS`, times `patience`."""
        cells = max(self.rate * BATCH_SECONDS * self.patience, MIN_CELLS)
        return max(1, min(int(cells / self.model_length), self.residue_limit))

    def end(self, first: int, last: int, share: float = 1.0) -> int:
        """Return where a batch ends that begins at row `first`; `share` is relative to its usual size."""
        self._cutter.resize(self.residues)
        return batch_end(self.database, first, last, max(1, int(share * self._cutter.n_residues)))

    def batch(self, first: int, last: int) -> SequenceBatch:
        """Return the rows of a unit, which may have been cut for another device."""
        if self.database.n_residues > RELEASE_RESIDUES:
            self.database.release()
        return self._cutter.given(first, last)

    def measure(self, cells: float, seconds: float) -> None:
        """Update the rate by the time that a batch took."""
        before = self._measured
        self._measured = self.remembered * before[0] + cells, self.remembered * before[1] + seconds
        if self._measured[0] >= MIN_CELLS / 4:
            self.rate = self._measured[0] / max(self._measured[1], 1e-6)

    def shrink(self, first: int, last: int) -> bool:
        """Halve the largest batch, relative to these rows; return False if they are a single sequence."""
        if last - first <= 1:
            return False
        self.residue_limit = max(1, self.batch(first, last).n_cells(1) // 2)
        self._cutter.resize(self.residue_limit, exactly=True)
        return True


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
    """Return how many programs are compiled at a time for a device of a kind, of this many new ones."""
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
