"""Pairs of sequences that go to a device together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.sequences import SequenceBatch


class PairBatch(Struct, frozen=True, eq=False, weakref=True):
    """Pairs of a query and a target; a sequence may be in many pairs.

    Attributes
    ----------
    queries, targets : SequenceBatch
        The sequences, each held once.
    query_rows, target_rows : int32[n]
        Row of each pair's query in `queries`, and of its target in `targets`.
    """

    queries: SequenceBatch
    targets: SequenceBatch
    query_rows: npt.NDArray[np.int32]
    target_rows: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.query_rows)

    @property
    def n_cells(self) -> int:
        """Number of cells of the dynamic programming matrices."""
        lengths = self.queries.lengths.astype(np.int64)[self.query_rows]
        return int((lengths * self.targets.lengths[self.target_rows]).sum())

    @classmethod
    def in_step(cls, queries: SequenceBatch, targets: SequenceBatch) -> PairBatch:
        """Return the pairs of the first query and target, the second ones, and so on."""
        rows = np.arange(len(queries), dtype=np.int32)
        return cls(queries, targets, rows, rows)

    @classmethod
    def of_query(cls, query: npt.NDArray[np.uint8], targets: SequenceBatch) -> PairBatch:
        """Return the pairs of one query (uint8[length], letter codes) and each target."""
        rows = np.arange(len(targets), dtype=np.int32)
        return cls(SequenceBatch.from_texts([query]), targets, np.zeros_like(rows), rows)
