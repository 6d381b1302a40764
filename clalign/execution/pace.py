"""The size of batches: as much of a database as takes a device a certain time, by its measured speed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from clalign.compute.batching import (
    BATCH_SECONDS,
    MIN_CELLS,
    BatchCutter,
    batch_end,
    fits,
    residue_limit,
    typical_length,
)
from clalign.values.devices import Device
from clalign.values.sequences import SequenceBatch, SequenceDatabase

FIRST_RATE = 2e8
"""Rate for which the first batch is sized if the device was never measured (cells / s)."""

REFERENCE_RATE = 2e6
"""The same for the reference (cells / s)."""

RELEASE_RESIDUES = 2**26
"""Size of a database from which on its pages are released while it is read (residues)."""


@dataclass
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
    _measured: tuple[float, float] = field(default=(0.0, 0.0), init=False)

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
