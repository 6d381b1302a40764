"""From sequences to posteriors in one go: models are trained, and pairs compared with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from clalign.compute.sessions import Session
from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.training import (
    NUCLEIC_TRAINING,
    PROTEIN_TRAINING,
    TrainingOptions,
    batch_rows,
    train,
)
from clalign.jobs import JobContext, QuietContext
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.values.alphabets import encode
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import SEED_GAPS, PairHmm, seed_emissions
from clalign.values.sequences import SequenceBatch
from clalign.values.sparse_posteriors import SparsePosteriors


def seed_model(given: AlignmentInput, n_sets: int = 2) -> PairHmm:
    """Return the model with which training begins: that of FSA, with the composition of the sequences."""
    counts = np.bincount(np.concatenate(given.residues), minlength=len(given.alphabet.canonical))
    return PairHmm(SEED_GAPS[given.alphabet.is_nucleic, n_sets], seed_emissions(given.alphabet, counts))


def inferred(
    session: Session, given: AlignmentInput, pairs: npt.NDArray[np.int32], n_sets: int = 2,
    options: TrainingOptions | None = None, context: JobContext | None = None,
) -> SparsePosteriors:  # fmt: skip
    """Train models on pairs of sequences, and return the posteriors of these pairs.

    Parameters
    ----------
    session : Session
    given : AlignmentInput
    pairs : int32[P, 2]
        Numbers of two sequences each, the smaller one first, in rising order.
    n_sets : int
        Sets of gap states.
    options : TrainingOptions, optional
        By default those of FSA for the alphabet.
    context : JobContext, optional
        Told of the progress, and asked whether to stop.
    """
    context = context or QuietContext()
    options = options or (NUCLEIC_TRAINING if given.alphabet.is_nucleic else PROTEIN_TRAINING)
    codes = encode(given.alphabet.canonical)
    sequences = SequenceBatch.from_texts([codes[residues] for residues in given.residues])
    batch = PairBatch(sequences, sequences, pairs[:, 0].copy(), pairs[:, 1].copy())
    context.progress("training", 0, None, "pairs")
    models = train(session, batch, seed_model(given, n_sets), given.lengths, options).models
    found, n = [], len(batch)
    for rows in batch_rows(batch, session.device, np.arange(n)):
        context.check()
        part = replace(batch, query_rows=batch.query_rows[rows], target_rows=batch.target_rows[rows])
        posteriors = SparsePosteriors.of_pairs(
            given.lengths, pairs[rows], session.run(POSTERIORS, part, models.select(rows))
        )
        found += list(posteriors.each())
        context.progress("pairs", int(rows[-1]) + 1, n, "pairs")
    return SparsePosteriors.joined(given.lengths, found)
