"""The best alignments of pairs of sequences with their paths, on any device."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clalign.compute.sessions import Check, KernelSession, Stage, no_check
from clalign.stages.pairwise.smith_waterman_pieces import cut_pairs
from clalign.stages.pairwise.smith_waterman_trace_lanes import start_lanes
from clalign.stages.pairwise.smith_waterman_trace_plan import Traces, chosen_pairs, without_pairs
from clalign.stages.pairwise.smith_waterman_trace_vector import start_vector
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import PairwiseQuery, Scoring
from clalign.values.sequences import Sequence

Alignments = list[PairAlignment]


class SmithWatermanTraceStage(Stage[PairBatch, Scoring, Alignments]):
    """The best alignment of every pair of a batch, in any mode, with the reference's order of ties."""

    name = "smith_waterman_trace"

    def reference(self, batch: PairBatch, model: Scoring, check: Check = no_check) -> Alignments:
        from clalign.reference.long_pair import alignment_by_rows

        found = []
        for query_row, target_row in zip(batch.query_rows, batch.target_rows, strict=True):
            check()
            query = PairwiseQuery(Sequence("", "", batch.queries.residues(query_row)), model)
            found.append(alignment_by_rows(query, batch.targets.residues(target_row), lambda cells: check()))
        return found

    def start(self, session: KernelSession, batch: PairBatch, model: Scoring) -> Callable[[], Alignments]:
        lengths = batch.queries.lengths[batch.query_rows], batch.targets.lengths[batch.target_rows]
        filled = np.flatnonzero((lengths[0] > 0) & (lengths[1] > 0))
        shape = self.shape_on(session.device)
        start_shape = {"vector": start_vector, "lanes": start_lanes}[shape]
        pairs = chosen_pairs(batch, filled)
        pieces = cut_pairs(pairs, model)
        of_all = pieces.pairs if pieces else pairs
        fetch = start_shape(session, of_all, model, self.defines) if len(filled) else Traces.none

        def collect() -> Alignments:
            traces = pieces.best(fetch()) if pieces else fetch()
            alignments = traces.alignments()
            if len(filled) == len(batch):
                return alignments
            complete = [without_pairs(int(m), int(n), model) for m, n in zip(*lengths, strict=True)]
            for row, alignment in zip(filled.tolist(), alignments, strict=True):
                complete[row] = alignment
            return complete

        return collect


SMITH_WATERMAN_TRACE = SmithWatermanTraceStage()
