"""What the score of two sequences is made of: the columns of their alignment, then bits and E-value."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from clalign.compute.opening import opening_of
from clalign.compute.sessions import Session
from clalign.engines.pairwise.hits import aligned_alone, checked
from clalign.engines.pairwise.inputs import STRANDS, PairwiseInputs, load_inputs
from clalign.engines.pairwise.query import stored_search
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import begun_facts
from clalign.errors import DamagedRun, OptionError
from clalign.jobs import JobContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.alphabets import DECODE
from clalign.values.devices import Device
from clalign.values.documents import Explanation
from clalign.values.karlin_altschul import Statistics
from clalign.values.pair_alignments import AlignedColumns, PairAlignment, aligned_columns
from clalign.values.scoring import PairwiseQuery

MAX_COLUMNS = 10_000
"""Columns that are shown one by one; more are taken together."""

STRETCHES = 500
"""In this many parts at most."""

Numbers = npt.NDArray[np.int64]


class ExplainedColumn(TypedDict):
    """A column of an alignment: places counted from 1, residues, what it scores, and the sum so far."""

    query_at: int | None
    query: str
    target_at: int | None
    target: str
    score: int
    sum: int


class ExplainedStretch(TypedDict):
    """Columns taken together: the first and the last, where they end, pairs, equal ones, score, and the sum so far."""

    first: int
    last: int
    query_at: int
    target_at: int
    n_pairs: int
    n_identical: int
    score: int
    sum: int


def explain_pair(
    run: RunFile, number: int, target: int | str, pick_device: Callable[[str], Device], context: JobContext
) -> Explanation:
    """Align a query and a target of a run again, and take their score to pieces.

    Parameters
    ----------
    run : RunFile
        Its sequences must not have changed.
    number : int
        Of the query, from 0.
    target : int or str
        Database row, or name.
    pick_device : callable
        Returns the device for the user's words.
    context : JobContext

    Returns
    -------
    dict
        ``query``, ``query_length``, ``target``, ``length``, ``strand``, ``mode``, ``matrix``, ``gap_first`` and
        ``gap_next``; ``columns``, each with ``query_at`` and ``target_at`` (from 1, None in a gap), ``query`` and
        ``target`` (letters or ``-``), ``score`` and ``sum``; of more than `MAX_COLUMNS` there is none but
        ``stretches``, each with ``first`` and ``last`` (columns from 1), ``query_at`` and ``target_at`` (where the
        last one is), ``n_pairs``, ``n_identical``, ``score`` and ``sum``; ``n_columns``, ``n_pairs``,
        ``pairs_score`` and ``gaps_cost`` of all; ``score``, ``statistics`` (as in the query's card, with
        the lambda of this pair, or None), ``statistics_words``, ``factor`` (what its composition multiplies lambda
        by, or None), ``bits`` and ``evalue`` (None without statistics), ``n_residues`` and
        ``n_sequences`` of the database, and ``verdict``.
    """
    begun_facts(run)
    spec = run.spec(PairwiseSpec)
    inputs = load_inputs(run, spec, context)
    if not 0 <= number < len(inputs.query_rows):
        raise OptionError(f"There is no query {number + 1}.", f"The run has {len(inputs.query_rows)}.")
    if not run.card(number):
        raise DamagedRun(run.path, f"its query {number + 1} is missing")
    row = inputs.targets.row_named(target, context.warn) if isinstance(target, str) else target
    name, residues = inputs.targets.header(row)[0], inputs.targets.residues(row)

    def aligned_on(session: Session) -> list[PairAlignment]:
        return [_aligned(session, query, residues, name) for query in inputs.stranded(number)]

    with opening_of(lambda: pick_device(spec.device), context) as opening:
        found = opening.work(aligned_on, context.check, context.warn)
    strand, query, alignment = max(
        zip(inputs.strands, inputs.stranded(number), found, strict=True), key=lambda one: one[2].score
    )
    card, scoring, raw = run.card(number), inputs.chosen.scoring, alignment.score
    search, rows = stored_search(run, inputs, number), np.array([row], np.int64)
    (statistics,), factor = search.statistics_of(rows), float(search.factors(rows)[0])
    return {
        "query": card["name"], "query_length": card["length"], "target": name, "length": len(residues),
        "strand": STRANDS[strand], "mode": scoring.mode, "matrix": scoring.matrix.name,
        "gap_first": scoring.gaps.first, "gap_next": scoring.gaps.next,
        **_columns(alignment, query, residues, strand), "score": raw,
        "statistics": statistics.to_dict() if statistics else None, "statistics_words": card["statistics_words"],
        "factor": factor if search.is_adjusted else None,
        "bits": statistics.bits(raw) if statistics else None,
        "evalue": statistics.evalue(raw) if statistics else None,
        "n_residues": inputs.targets.n_residues, "n_sequences": len(inputs.targets) - inputs.targets.n_empty,
        "verdict": f"{name} {_verdict(run, spec, inputs, (number, row), raw, statistics)}",
    }  # fmt: skip


def _aligned(session: Session, query: PairwiseQuery, target: npt.NDArray[np.uint8], name: str) -> PairAlignment:
    alignment = aligned_alone(session, query, target)
    checked(alignment, alignment.score, query, target, (query.sequence.name, name))
    return alignment


def _columns(
    alignment: PairAlignment, query: PairwiseQuery, target: npt.NDArray[np.uint8], strand: int
) -> dict[str, object]:
    """Return the scores of the columns; on the minus strand letters are those of the reverse complement."""
    codes, scoring = query.sequence.codes, query.scoring
    aligned = aligned_columns(alignment, codes, target)
    pairs = aligned.pairs
    follows = np.concatenate([[False], aligned.kinds[1:] == aligned.kinds[:-1]])[: len(pairs)]
    costs = np.where(follows, scoring.gaps.next, scoring.gaps.first)
    scores = np.where(pairs, scoring.matrix.scores[aligned.query, aligned.target].astype(np.int64), -costs)
    query_at = alignment.query_range[0] + np.cumsum(aligned.kinds != ord("D"))
    if strand < 0:
        query_at = len(codes) + 1 - query_at
    target_at = alignment.target_range[0] + np.cumsum(aligned.kinds != ord("I"))
    taken = aligned, scores, query_at, target_at
    is_short = len(pairs) <= MAX_COLUMNS
    return {
        "columns": _each_column(*taken) if is_short else [],
        "stretches": [] if is_short else _stretches(aligned.identical(scoring), *taken),
        "n_columns": len(pairs), "n_pairs": int(pairs.sum()), "pairs_score": int(scores[pairs].sum()),
        "gaps_cost": -int(scores[~pairs].sum()),
    }  # fmt: skip


def _each_column(
    aligned: AlignedColumns, scores: Numbers, query_at: Numbers, target_at: Numbers
) -> list[ExplainedColumn]:
    rows = zip(
        aligned.kinds.tolist(), query_at.tolist(), DECODE[aligned.query].tolist(), target_at.tolist(),
        DECODE[aligned.target].tolist(), scores.tolist(), scores.cumsum().tolist(), strict=True,
    )  # fmt: skip
    return [
        {
            "query_at": None if kind == ord("D") else at, "query": "-" if kind == ord("D") else chr(letter),
            "target_at": None if kind == ord("I") else other_at, "target": "-" if kind == ord("I") else chr(other),
            "score": score, "sum": total,
        }
        for kind, at, letter, other_at, other, score, total in rows
    ]  # fmt: skip


def _stretches(
    identical: npt.NDArray[np.bool_], aligned: AlignedColumns, scores: Numbers, query_at: Numbers, target_at: Numbers
) -> list[ExplainedStretch]:
    """Return columns taken together, as many each time."""
    step = -(-len(scores) // STRETCHES)
    begins = np.arange(0, len(scores), step)
    ends = np.append(begins[1:], len(scores)) - 1
    sums = [np.add.reduceat(what.astype(np.int64), begins) for what in (scores, aligned.pairs, identical)]
    rows = zip(begins, ends, *sums, scores.cumsum()[ends], strict=True)
    return [
        {
            "first": int(first) + 1, "last": int(last) + 1, "query_at": int(query_at[last]),
            "target_at": int(target_at[last]), "n_pairs": int(n_pairs), "n_identical": int(n_identical),
            "score": int(score), "sum": int(total),
        }
        for first, last, score, n_pairs, n_identical, total in rows
    ]  # fmt: skip


def _verdict(
    run: RunFile,
    spec: PairwiseSpec,
    inputs: PairwiseInputs,
    pair: tuple[int, int],
    raw: int,
    statistics: Statistics | None,
) -> str:
    """Return in words whether the run reports a pair (number of the query, row), and why not."""
    number, row = pair
    if row in HitQueries(run.connection).rows(number):
        return "is aligned, as asked." if spec.is_pairs else "is reported."
    if spec.is_pairs:
        return "and this query are none of the pairs that the run has aligned."
    if not any(first <= row < last for first, last in run.finished(number)):
        return "has not been searched yet."
    if spec.score is not None and raw < spec.score:
        return f"is not reported: its score of {raw} lies below -T {spec.score}."
    if inputs.chosen.scoring.is_local and raw < 1:
        return "is not reported: no part of it is like the query."
    if statistics is not None and statistics.evalue(raw) > spec.evalue:
        least = statistics.least_raw(spec.evalue)
        return f"is not reported: a score of {least} is needed for an E-value of {spec.evalue:g}."
    if run.state != "done":
        return "may be reported at the end; the search is not complete."
    return f"is not reported: as many targets as --top {spec.top} allows are listed before it."
