"""Computing results of a pairwise run again on another device, normally the reference, and comparing every number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.devices import Device
from clalign.hits import Domain, Hit
from clalign.jobs import JobContext
from clalign.karlin_altschul import Statistics
from clalign.pair_batches import PairBatch
from clalign.pairwise_specs import PairwiseSpec
from clalign.reference.smith_waterman_rows import alignment_by_rows, cells_by_rows
from clalign.runs import RunFile
from clalign.scoring import PairwiseQuery
from clalign.search.pairwise_hits import domain_of
from clalign.search.pairwise_inputs import PairwiseInputs, load_inputs, scores_of
from clalign.search.pairwise_query import stored_search
from clalign.search.verify import SEED, Findings, judge, sample_of_hits
from clalign.sequences import SequenceBatch
from clalign.sessions import Session
from clalign.stages.smith_waterman import SMITH_WATERMAN
from clalign.stages.smith_waterman_trace import SMITH_WATERMAN_TRACE

LIKE_ROUNDING = 1e-9
"""Logarithms and powers differ in their last digits from one computer to another by no larger share."""

Rows = npt.NDArray[np.int64]
Residues = npt.NDArray[np.uint8]


class Told:
    """Tells how much of the cells to compute is done, and listens whether to stop.

    Parameters
    ----------
    total : int
        Cells.
    context : JobContext
    """

    def __init__(self, total: int, context: JobContext) -> None:
        self._total, self._context, self._done = total, context, 0

    def __call__(self, cells: int) -> None:
        """Count some more cells."""
        self._context.check()
        self._done += cells
        self._context.progress("verify", min(self._done, self._total), self._total, "cells")


def verify_pairwise(
    run: RunFile, hits: list[int] | None, sample: int, device: Device, context: JobContext
) -> dict[str, Any]:
    """Compute alignments, and scores of as many other pairs, again on a device; see `verify.verify_run`."""
    spec = run.spec(PairwiseSpec)
    inputs = load_inputs(run, spec, context)
    chosen = sample_of_hits(run, sample) if hits is None else hits
    searched = range(len(inputs.query_rows)) if hits is None and not spec.is_pairs else range(0)
    query_of, n_cells = _queries_of(run, inputs, chosen, context)
    lengths, others = np.diff(inputs.targets.offsets), dict[int, Rows]()
    for number in searched:
        context.check()
        others[number] = _drawn(run, number, sample)
        n_cells += _length(inputs, number) * len(inputs.strands) * int(lengths[others[number]].sum())
    tell = Told(n_cells, context)

    def compute(found: Findings, session: Session) -> None:
        for key in chosen:
            number = query_of[key]
            found.add_hit(key, _difference(run, number, run.hit(key), inputs, session, tell))
        for number, rows in others.items():
            _check_scores(run, number, rows, inputs, session, found, tell)

    return judge(run, device, context, compute)


def _queries_of(
    run: RunFile, inputs: PairwiseInputs, hits: list[int], context: JobContext
) -> tuple[dict[int, int], int]:
    """Return the number of the query of each hit, and how many cells are computed for all hits."""
    words = "SELECT profile, length, n_domains FROM hits WHERE id = ?"
    found, total = {}, 0
    for key in hits:
        context.check()
        number, length, n_alignments = run.connection.execute(words, (key,)).fetchone()
        found[key] = int(number)
        total += n_alignments * cells_by_rows(_length(inputs, number), length)
    return found, total


def _length(inputs: PairwiseInputs, number: int) -> int:
    return inputs.queries.length(int(inputs.query_rows[number]))


def _difference(run: RunFile, number: int, hit: Hit, inputs: PairwiseInputs, session: Session, tell: Told) -> str:
    """Return in words what differs, or nothing."""
    search = stored_search(run, inputs, number)
    (statistics,) = search.statistics_of(np.array([hit.row], np.int64))
    queries = dict(zip(inputs.strands, inputs.stranded(number), strict=True))
    target = inputs.targets.residues(hit.row)
    for domain in hit.domains:
        assert domain.pair is not None
        strand = domain.pair.strand
        again = _again(session, queries[strand], target, strand, statistics, tell)
        if again.raw != domain.raw:
            return f"{hit.name}: score {domain.raw}, computed again {again.raw}."
        if not _equal(domain, again):
            return f"{hit.name}: the alignment or its numbers differ when computed again."
    return ""


def _again(
    session: Session, query: PairwiseQuery, target: Residues, strand: int, statistics: Statistics | None, tell: Told
) -> Domain:
    if session.device.kind == "reference":  # it takes long enough for one pair to be told of its progress
        alignment = alignment_by_rows(query, target, tell)
    else:
        batch = PairBatch.of_query(query.sequence.codes, SequenceBatch.from_texts([target]))
        alignment = session.run(SMITH_WATERMAN_TRACE, batch, query.scoring)[0]
        tell(cells_by_rows(query.length, len(target)))
    return domain_of(alignment, query, target, strand, statistics)


def _equal(domain: Domain, again: Domain) -> bool:
    same = ("profile_range", "target_range", "states", "text", "pair")
    if any(getattr(domain, name) != getattr(again, name) for name in same):
        return False
    both = ((domain.score, again.score), (domain.evalue, again.evalue))
    return all(math.isclose(a, b, rel_tol=LIKE_ROUNDING) or (math.isnan(a) and math.isnan(b)) for a, b in both)


def _drawn(run: RunFile, number: int, sample: int) -> Rows:
    """Return some of the rows that a query was compared with, drawn at random."""
    finished = [np.arange(first, last) for first, last in run.finished(number)]
    scored = np.concatenate([np.empty(0, np.int64), *finished])
    return np.sort(np.random.default_rng(SEED).permutation(scored)[:sample]).astype(np.int64)


def _check_scores(
    run: RunFile,
    number: int,
    rows: Rows,
    inputs: PairwiseInputs,
    session: Session,
    found: Findings,
    tell: Told,
) -> None:
    """Compute the scores of some targets again."""
    database, queries = inputs.targets, inputs.stranded(number)
    kept, name = scores_of(run, number, len(database)), inputs.query(number).name
    at_once = 1 if session.device.kind == "reference" else max(1, len(rows))
    for start in range(0, len(rows), at_once):
        some = rows[start : start + at_once]
        batch = database.select(some)
        again = np.stack([session.run(SMITH_WATERMAN, batch, query).scores.values for query in queries]).max(axis=0)
        texts = [
            f"{name} and {database.header(int(some[w]))[0]}: score {kept[some[w]]}, computed again {again[w]}."
            for w in np.flatnonzero(again != kept[some])
        ]
        found.add_others(len(some), texts)
        tell(queries[0].length * len(queries) * len(batch.codes))
