"""From sequences to posteriors in one go, without a run: models are trained, and pairs compared with them."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.pairs import Pairs
from clalign.engines.msa.parameters import seed_of, training_of
from clalign.engines.msa.phases import batch_of
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.training import batch_rows, train
from clalign.jobs import JobContext, QuietContext
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.values.sparse_posteriors import SparsePosteriors


def inferred(
    session: Session, given: AlignmentInput, pairs: Pairs, spec: AlignmentSpec, context: JobContext | None = None
) -> SparsePosteriors:
    """Train models on pairs of sequences, and return the posteriors of these pairs.

    Parameters
    ----------
    session : Session
    given : AlignmentInput
    pairs : int32[P, 2]
        Numbers of two sequences each, the smaller one first, in rising order.
    spec : AlignmentSpec
        What models are trained.
    context : JobContext, optional
        Receives progress; stops the work.
    """
    context = context or QuietContext()
    batch, found = batch_of(given, pairs), []
    context.progress("training", 0, None, "pairs")
    trained = train(session, batch, seed_of(given, spec), given.lengths, training_of(spec, given.alphabet))
    for rows in batch_rows(batch, session.device, np.arange(len(batch))):
        context.check()
        part = replace(batch, query_rows=batch.query_rows[rows], target_rows=batch.target_rows[rows])
        posteriors = session.run(POSTERIORS, part, trained.models.select(rows))
        found += list(SparsePosteriors.of_pairs(given.lengths, pairs[rows], posteriors).each())
        context.progress("pairs", int(rows[-1]) + 1, len(batch), "pairs")
    return SparsePosteriors.joined(given.lengths, found)
