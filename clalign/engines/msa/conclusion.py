"""The end of an alignment: what all posteriors together make of the sequences, and its place in the run."""

from __future__ import annotations

import numpy as np

from clalign.compute.sessions import Session
from clalign.engines.msa.aligning import AlignedSequences, aligned
from clalign.engines.msa.annealing_progress import MergeReports
from clalign.engines.msa.estimate import caution_before_merging
from clalign.engines.msa.inputs import AlignmentInput
from clalign.engines.msa.packing import pack_array, unpack_some
from clalign.engines.msa.reading import MAX_PAIRS, Blocks, pairs_phase, posteriors_of
from clalign.engines.msa.reliability import Singles, expected_accuracy
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.tables import ANNEALING, POSTERIORS
from clalign.engines.msa.tree_weights import read_weights, weighted
from clalign.errors import InputError
from clalign.execution.job import Task
from clalign.execution.units import Storing
from clalign.runs.alignments import StoredRow
from clalign.runs.run_file import RunFile
from clalign.runs.tables import SqlRow
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.sparse_posteriors import SparsePosteriors


def align_run(
    run: RunFile, given: AlignmentInput, blocks: Blocks, session: Session, task: Task[AlignmentSpec]
) -> Storing:
    """Align the sequences by the posteriors of a run; return a callable that stores the alignment.

    Raises
    ------
    InputError
        If two sequences have nothing in common, and that is not allowed.
    """
    spec, posteriors = task.spec, posteriors_of(run, given)
    if spec.requires_homology:
        _demand_homology(run, given, posteriors)
    cautions = list(caution_before_merging(posteriors, spec))
    for text in cautions:
        task.context.warn(text)
    worth = posteriors
    if spec.tree_weights is not None:
        worth = weighted(posteriors, read_weights(spec.tree_weights, given.names))
    is_dynamic = not spec.without_dynamic_weights
    watcher = MergeReports(task.context, given.n_residues)
    found = aligned(session, worth, spec.used_gap_factor, is_dynamic, spec.refinement, task.context, watcher)
    alignment = found.alignment_after()
    columns, whole = expected_accuracy(posteriors, alignment, session.check)
    row = _row_of(found, columns)
    facts = {
        "gap_factor": spec.used_gap_factor, "accuracy": float(whole), "n_columns": alignment.n_columns,
        "n_merges": len(found.merges), "n_sweeps": len(found.moves.ends),
    }  # fmt: skip
    n_left_out = _left_out(run, given, blocks)

    def store(run: RunFile) -> None:
        for text in cautions:
            run.add_message("warning", text)
        if n_left_out:
            task.warn(f"Pairs that were too large for the memory of the device were not compared: {n_left_out:,}.")
        if not run.engine_rows(ANNEALING.name):
            run.add_engine_rows(ANNEALING.name, [row])
        if not run.alignments():
            run.add_alignment("alignment", facts, _rows(given, alignment))

    return store


def _rows(given: AlignmentInput, alignment: MultipleAlignment) -> list[StoredRow]:
    texts = alignment.rows(given.letters)
    return [
        StoredRow(name, 0, len(letters), text.decode("latin-1"))
        for name, letters, text in zip(given.names, given.letters, texts, strict=True)
    ]


def _row_of(found: AlignedSequences, columns: Singles) -> SqlRow:
    """Return how an alignment came about as the table has it."""
    merges, moves = found.merges, found.moves
    return (
        pack_array(np.stack([merges.survivors, merges.victims]), "<i4"), pack_array(merges.weights, "<f4"),
        pack_array(merges.order, "<i4"),
        pack_array(np.stack([moves.sequences, moves.positions, moves.sources, moves.targets]), "<i4"),
        pack_array(moves.ends, "<i8"), pack_array(moves.scores, "<f4"), pack_array(columns, "<f4"),
    )  # fmt: skip


def _demand_homology(run: RunFile, given: AlignmentInput, posteriors: SparsePosteriors) -> None:
    for i, j, pair in posteriors.each():
        if not len(pair.columns):
            raise InputError(
                run.path,
                f"{given.names[i]} and {given.names[j]} have nothing in common.",
                "Leave one of them out, or align without --require-homology.",
            )


def _left_out(run: RunFile, given: AlignmentInput, blocks: Blocks) -> int:
    """Return how many pairs of sequences with residues have no likelihood."""
    if run.spec(AlignmentSpec).load_posteriors is not None:
        return 0
    filled, found = np.asarray((given.lengths[blocks.pairs] > 0).all(axis=1)), 0
    for number, blob in run.engine_rows_of_pieces(POSTERIORS.name, pairs_phase(run), ["likelihoods"]):
        first, last = blocks.span(number)
        likelihoods = unpack_some(blob, "<f8", MAX_PAIRS, run.path)
        found += int((filled[first:last] & ~np.isfinite(likelihoods)).sum())
    return found
