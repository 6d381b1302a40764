"""Smith-Waterman on a device: the best score of a query and every sequence of a batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.stages.pairwise.smith_waterman_gpu import start_gpu
from clalign.stages.pairwise.smith_waterman_trace_plan import chosen_pairs, scores_fit
from clalign.stages.pairwise.smith_waterman_vector import start_vector
from clalign.values.hits import PairScores, Scores
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import PairwiseQuery
from clalign.values.sequences import SequenceBatch

SCORE_BITS = 29
"""Bits of the widest scores besides the sign; NO_SCORE in ``common/affine_rows.h`` is below all of them."""


class SmithWatermanStage(Stage[SequenceBatch, PairwiseQuery, PairScores]):
    """The best score of a query and every sequence of a batch, in any mode; exact on every device."""

    name = "smith_waterman"
    gpu_shape = "item"

    def reference(self, batch: SequenceBatch, model: PairwiseQuery, check: Check = no_check) -> PairScores:
        from clalign.reference.smith_waterman import pair_score

        values = np.empty(len(batch), np.int32)
        for row in range(len(batch)):
            check()
            values[row] = pair_score(model, batch.residues(row))
        return PairScores(Scores(batch.targets, values))

    def start(self, session: KernelSession, batch: SequenceBatch, model: PairwiseQuery) -> Callable[[], PairScores]:
        """Start scoring the batch.

        Raises
        ------
        OptionError
            If scores may not fit 32 bits.
        """
        shape = self.shape_on(session.device)
        if batch.n_cells(model.length) == 0:
            scores = [model.scoring.unpaired(model.length + n) for n in batch.lengths.tolist()]
            return lambda: PairScores(Scores(batch.targets, np.array(scores, np.int32)))
        if not model.scoring.is_local:
            pairs = PairBatch.of_query(model.sequence.codes, batch)
            scores_fit(chosen_pairs(pairs, np.array([batch.lengths.argmax()])), model.scoring, SCORE_BITS)
        if shape == "vector":
            return start_vector(session, batch, model, self.defines)
        return start_gpu(session, batch, model, shape, self.defines)


SMITH_WATERMAN = SmithWatermanStage()
