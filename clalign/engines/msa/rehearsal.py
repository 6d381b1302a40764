"""Which programs an alignment will need, from the training to the refinement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clalign.compute.rehearsal import Rehearsal
from clalign.engines.msa.parameters import training_of
from clalign.engines.msa.splitting import selected
from clalign.engines.msa.training import cells_of, what_to_learn
from clalign.stages.pairhmm.annealing import ANNEALING
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS
from clalign.stages.pairhmm.posteriors import PosteriorsStage
from clalign.stages.pairhmm.refinement import REFINEMENT
from clalign.values.pair_hmm import PairHmms

if TYPE_CHECKING:
    from clalign.engines.msa.work import AlignmentWork


def rehearse(work: AlignmentWork, session: Rehearsal) -> None:
    """Start on a session that computes nothing what an alignment will start, with one pair for all.

    A card leaves the end of it to the processor, see `rehearse_merging`.
    """
    filled = np.flatnonzero(np.diff(work.block_cells))
    if work.known is None and len(filled):
        first, last = work.blocks.span(int(filled[0]))
        rows = first + np.flatnonzero(cells_of(work.batch, slice(first, last)))
        pair, model = selected(work.batch, rows[:1]), PairHmms.same(work.seed, 1)
        if any(what_to_learn(work.given.lengths, training_of(work.task.spec, work.given.alphabet))):
            EXPECTED_COUNTS.start(session, pair, model)
        PosteriorsStage().start(session, pair, model)
    rehearse_merging(session)


def rehearse_merging(session: Rehearsal) -> None:
    """Take note of what a processor needs to make an alignment of posteriors."""
    if session.device.kind == "cpu":
        session.build_ahead([*ANNEALING.programs(), *REFINEMENT.programs()])
