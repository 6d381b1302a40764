"""Given pairs of sequences, aligned in batches of bounded size: in step, or from a list of names."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.compute.batching import gaps, residue_limit
from clalign.compute.sessions import Session
from clalign.engines.pairwise.hits import checked, domain_of, portions
from clalign.engines.pairwise.inputs import PairwiseInputs
from clalign.engines.pairwise.query import hit_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.errors import InputError
from clalign.execution.pipeline import Pace
from clalign.jobs import JobContext
from clalign.runs.batches import BatchResult, pack_scores
from clalign.runs.run_file import RunFile
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.hits import Domain, Scores
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.sequences import SequenceBatch, SequenceDatabase

ALL_PAIRS = -1
"""In the table of batches pairs are counted through, whatever their query is."""

PORTION = 4096
"""Pairs that are stored together at most."""

Pairs = npt.NDArray[np.int64]
"""Number of the query and row of the target of each pair (int64[n, 2])."""


def align_pairs(
    run: RunFile, spec: PairwiseSpec, inputs: PairwiseInputs, session: Session, context: JobContext
) -> Pace:
    """Align the pairs that the run lacks; return what became known of the speed."""
    pairs, repeated = pairs_of(spec, inputs)
    for text in repeated:
        run.add_message("warning", text)
        context.warn(text)
    query_lengths = np.diff(inputs.queries.offsets)[inputs.query_rows[pairs[:, 0]]]
    cells = query_lengths * np.diff(inputs.targets.offsets)[pairs[:, 1]] * len(inputs.strands)
    pace = Pace(0.0, residue_limit(session.device), 1, float(cells.sum()), *run.work_done())
    for first, end in gaps(run.finished(ALL_PAIRS), len(pairs)):
        for start in range(first, end, PORTION):
            last = min(start + PORTION, end)
            for a, b in portions(cells[start:last], session):
                context.check()
                _align_some(run, inputs, pairs, (start + a, start + b), float(cells[start + a : start + b].sum()),
                            session, pace)  # fmt: skip
                context.progress("search", pace.done_cells, pace.total_cells, "cells", gcups=pace.gcups)
                context.partial(profile=int(pairs[start + b - 1, 0]), n_hits=start + b, n_scored=start + b)
    return pace


def _align_some(
    run: RunFile,
    inputs: PairwiseInputs,
    pairs: Pairs,
    span: tuple[int, int],
    cells: float,
    session: Session,
    pace: Pace,
) -> None:
    """Align pairs that follow each other on every strand, and store the better alignments."""
    began, before = time.perf_counter(), session.kernel_seconds
    chosen = pairs[span[0] : span[1]]
    targets = [inputs.targets.residues(int(row)) for row in chosen[:, 1]]
    names = [inputs.targets.header(int(row))[0] for row in chosen[:, 1]]
    best: list[tuple[Domain, PairAlignment] | None] = [None] * len(chosen)
    stranded = {int(number): inputs.stranded(int(number)) for number in np.unique(chosen[:, 0])}
    for which, strand in enumerate(inputs.strands):
        queries = [stranded[int(number)][which] for number in chosen[:, 0]]
        batch = PairBatch.in_step(_batch([q.sequence.codes for q in queries]), _batch(targets))
        alignments = session.run(SMITH_WATERMAN_TRACE, batch, inputs.chosen.scoring)
        for place, (alignment, query) in enumerate(zip(alignments, queries, strict=True)):
            session.check()
            checked(alignment, alignment.score, query, targets[place], (query.sequence.name, names[place]))
            kept = best[place]
            if kept is None or alignment.score > kept[1].score:
                best[place] = domain_of(alignment, query, targets[place], strand, None), alignment
    spent = session.kernel_seconds
    seconds = spent - before if spent else time.perf_counter() - began
    hits = [
        (int(number), hit_of(inputs.targets, int(row), span[0] + place, [found[0]]))
        for place, ((number, row), found) in enumerate(zip(chosen, best, strict=True))
        if found is not None
    ]
    scores = np.array([hit.raw for _, hit in hits], np.int32)
    packed = pack_scores(scores, bin_width=1)
    places = Scores(np.arange(*span, dtype=np.int64), scores)
    result = BatchResult(ALL_PAIRS, *span, places, (), cells, seconds, session.device.name, packed)
    run.add_batch(result, hits)
    pace.store(result)


def _batch(codes: list[npt.NDArray[np.uint8]]) -> SequenceBatch:
    return SequenceBatch.from_texts(codes)


def pairs_of(spec: PairwiseSpec, inputs: PairwiseInputs) -> tuple[Pairs, list[str]]:
    """Return the pairs, each once, in their order, and what to say about those that come again.

    Raises
    ------
    InputError
        If the two files are not in step, or the list names a sequence that is not there.
    """
    if spec.pair_list is None:
        n_queries, n_targets = len(inputs.queries), len(inputs.targets)
        if n_queries != n_targets:
            raise InputError(
                spec.targets,
                f"it holds {n_targets:,} sequences, but {spec.queries} holds {n_queries:,}.",
                "Files in step hold as many, in the same order; or name the pairs with --pair-list.",
            )
        return np.stack([np.arange(n_queries), np.argsort(inputs.targets.order)], 1).astype(np.int64), []
    rows = np.array(list(_listed(spec.pair_list, spec, inputs)), np.int64).reshape(-1, 2)
    if not len(rows):
        raise InputError(spec.pair_list, "there are no pairs in this file.", "Give lines of query, tabulator, target.")
    _, first = np.unique(rows, axis=0, return_index=True)
    n_again = len(rows) - len(first)
    texts = [f"Pairs that are listed more than once are aligned once: {n_again:,}."] if n_again else []
    return rows[np.sort(first)], texts


def _listed(path: str, spec: PairwiseSpec, inputs: PairwiseInputs) -> Iterator[tuple[int, int]]:
    queries = {row: number for number, row in enumerate(inputs.query_rows.tolist())}
    query_rows, target_rows = _rows_by_name(inputs.queries), _rows_by_name(inputs.targets)
    try:
        text = Path(path).read_text("utf-8", errors="replace")
    except OSError as error:
        raise InputError(path, f"the file could not be read ({error.strerror}).", "Check the name.") from error
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        names = line.split("\t") if "\t" in line else line.split()
        if len(names) < 2:
            raise InputError(path, "two names were expected.", "Write query, tabulator, target.", number)
        query = _row_of(query_rows, names[0].strip(), (path, number, spec.queries))
        yield queries[query], _row_of(target_rows, names[1].strip(), (path, number, spec.targets))


def _rows_by_name(database: SequenceDatabase) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row in range(len(database)):
        rows.setdefault(database.header(row)[0], []).append(row)
    return rows


def _row_of(rows: dict[str, list[int]], name: str, place: tuple[str, int, str]) -> int:
    path, number, where = place
    found = rows.get(name, [])
    if not found:
        raise InputError(path, f'there is no sequence named "{name}" in {where}.', "Correct the name.", number)
    if len(found) > 1:
        raise InputError(path, f'{len(found)} sequences in {where} are named "{name}".', "Rename all but one.", number)
    return found[0]
