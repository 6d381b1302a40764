"""Smith-Waterman on a device: the best score of a query and every sequence of a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clalign.hits import PairScores, Scores
from clalign.reference.smith_waterman import pair_score
from clalign.scoring import PairwiseQuery
from clalign.sequences import SequenceBatch
from clalign.sessions import Check, nothing_to_check
from clalign.stages.smith_waterman_gpu import start_gpu
from clalign.stages.smith_waterman_vector import start_vector


class SmithWatermanStage:
    """The best score of a query and every sequence of a batch, in any mode; exact on every device.

    Parameters
    ----------
    shape : str, optional
        ``vector``, for CPUs, or ``item``; by default what suits the device.
    defines : dict, optional
        Compile-time choices that replace the default ones.
    """

    name = "smith_waterman"

    def __init__(self, shape: str | None = None, **defines: int) -> None:
        self.shape = shape
        self.defines = defines

    def reference(self, batch: SequenceBatch, model: PairwiseQuery, check: Check = nothing_to_check) -> PairScores:
        """Score the batch with the plain reference."""
        values = np.empty(len(batch), np.int32)
        for row in range(len(batch)):
            check()
            values[row] = pair_score(model, batch.residues(row))
        return PairScores(Scores(batch.targets, values))

    def start(self, session: Any, batch: SequenceBatch, model: PairwiseQuery) -> Callable[[], PairScores]:
        """Start scoring the batch."""
        shape = self.shape or ("vector" if session.device.kind == "cpu" else "item")
        n_cells = batch.n_cells(model.length)
        if n_cells == 0:
            return lambda: self.reference(batch, model, session.check)
        if shape == "vector":
            return start_vector(session, batch, model, self.defines)
        return start_gpu(session, batch, model, shape, self.defines)


SMITH_WATERMAN = SmithWatermanStage()
