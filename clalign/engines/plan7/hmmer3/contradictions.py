"""What a run says twice of HMMER3's filters: counters, tables and scores must agree."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clalign.engines.plan7.hmmer3.funnel import FILTERS, limit_of, pvalues_of, was_run
from clalign.engines.plan7.tables import BATCHES, Survivors, unpack_survivors
from clalign.runs.contradictions import Judgment, nothing_more
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card
from clalign.values.profiles import IMPOSSIBLE

SCORE_SLACK = np.float32(0.002)
"""Bits within which a score that was rounded may lie on the other side of a limit."""


def of_filters(run: RunFile, number: int) -> Judgment:
    """Return a callable that checks whether a profile's filters let pass what has such scores; see `contradictions`."""
    card = run.card(number)
    if card.get("origin") != "hmmer3":
        return nothing_more
    stored = {first: found for first, _, *found in run.engine_rows_of_batches(BATCHES.name, number)}

    def judge(first: int, last: int, values: npt.NDArray[np.int32], hits: set[int]) -> Iterator[str]:
        if first not in stored:
            yield "what passed the filters is missing"
            return
        blob, *counts = stored[first]
        yield from _of_batch(unpack_survivors(blob, first, last, run.path), counts, (first, last), values, hits, card)

    return judge


def _of_batch(
    passed: Survivors,
    counts: list[int],
    span: tuple[int, int],
    values: npt.NDArray[np.int32],
    hits: set[int],
    card: Card,
) -> Iterator[str]:
    first, last = span
    found = [int(np.count_nonzero(passed.reached >= level)) for level in (1, 2, 3, 4)]
    if found != counts or any(a < b for a, b in pairwise([len(values), *found])):
        yield f"its filters passed {counts}, but there are {found} such sequences"
    rows = passed.rows
    if len(rows) and (rows[0] < first or rows[-1] >= last or (np.diff(rows) <= 0).any()):
        yield "what passed the filters is listed twice, or was not searched"
        return
    yield from _of_msv(passed, values, first, card)
    yield from _of_later_filters(passed, card)
    lost = hits - set(rows[passed.reached == len(FILTERS)].tolist())
    if lost:
        yield f"{len(lost):,} hits did not pass all filters"


def _of_msv(passed: Survivors, values: npt.NDArray[np.int32], first: int, card: Card) -> Iterator[str]:
    """Look whether what passed the MSV filter is what has such a score."""
    scores = (values / 1000.0).astype(np.float32)
    is_in = np.zeros(len(values), bool)
    is_in[passed.rows - first] = True
    limit, scored = limit_of(card, "msv"), values > IMPOSSIBLE
    sure = scored & (pvalues_of(card, "msv", scores - SCORE_SLACK) <= limit)
    possible = scored & (pvalues_of(card, "msv", scores + SCORE_SLACK) <= limit)
    finite = np.isfinite(passed.msv)
    over = passed.rows[np.isposinf(passed.msv)] - first
    possible[over] = True  # its P-value is 0, while the highest finite score is kept of it
    lost, gained = int((sure & ~is_in).sum()), int((is_in & ~possible).sum())
    if lost or gained:
        yield f"by their scores {lost:,} more and {gained:,} fewer sequences pass the MSV filter"
    far = np.abs(passed.msv[finite] - scores[passed.rows[finite] - first]) > SCORE_SLACK
    if far.any():
        yield f"{int(far.sum()):,} sequences have two different MSV scores"


def _of_later_filters(passed: Survivors, card: Card) -> Iterator[str]:
    """Look whether each filter was passed by what has such a score in it."""
    for level, stage in enumerate(FILTERS[1:], 1):
        scores = getattr(passed, stage)
        came = passed.reached >= level
        has_score = ~np.isnan(scores)
        if stage == "viterbi":
            came &= has_score  # it may be left out for those that pass for sure
        elif not np.array_equal(came, has_score):
            yield f"other sequences have a score in the {stage} filter than came to it"
        if not was_run(card, stage):
            continue
        limit, through = limit_of(card, stage), passed.reached > level
        sure = came & (pvalues_of(card, stage, scores - SCORE_SLACK) <= limit)
        possible = came & (pvalues_of(card, stage, scores + SCORE_SLACK) <= limit)
        wrong = int((sure & ~through).sum() + (came & through & ~possible).sum())
        if wrong:
            yield f"by their scores {wrong:,} sequences are on the wrong side of the {stage} filter"
