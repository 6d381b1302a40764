"""What a run file says twice and in two ways: counters, tables and scores must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.runs.batches import BIN, unpack_scores, unpack_survivors
from clalign.runs.connection import RunConnection
from clalign.runs.funnel import FILTERS, Card, limit_of, pvalues_of, was_run
from clalign.values.hits import Survivors
from clalign.values.profiles import IMPOSSIBLE

SCORE_SLACK = np.float32(0.002)
"""Bits within which a score that was rounded may lie on the other side of a limit."""

Columns = tuple[int, int, bytes, bytes | None, int | None, int | None, int | None, int | None]


def contradictions(
    connection: RunConnection, profile: int, card: Card, n_rows: int, is_done: bool, check: Callable[[], None]
) -> list[str]:
    """Return in words what a run says of a profile, or query, that contradicts something else that it says.

    Parameters
    ----------
    connection : RunConnection
        Of the run file.
    profile : int
        Its number.
    card : dict
        Its card.
    n_rows : int
        Targets of the run.
    is_done : bool
        Whether all of them have to be there.
    check : callable
        Called before each batch; raises `Cancelled` if the job was asked to stop.
    """
    batches = connection.execute(
        "SELECT first, last, scores, survivors, n_msv, n_bias, n_viterbi, n_forward FROM batches"
        " WHERE profile = ? ORDER BY first",
        (profile,),
    ).fetchall()
    hits = dict(connection.execute("SELECT row, raw FROM hits WHERE profile = ?", (profile,)).fetchall())
    n_hits = connection.execute("SELECT count(*) FROM hits WHERE profile = ?", (profile,)).fetchone()[0]
    texts = [*_of_ranges(batches, n_rows, is_done), *_of_histogram(connection, profile, card, batches, check)]
    if n_hits != len(hits):
        texts.append(f"{n_hits - len(hits):,} targets are hits twice")
    n_known = 0
    for batch in batches:
        check()
        first, last = batch[:2]
        values = unpack_scores(batch[2], first, last, connection.path)
        inside = {row: raw for row, raw in hits.items() if first <= row < last}
        n_known += len(inside)
        texts += _of_hits(values, first, inside)
        if card.get("origin") == "hmmer3":
            texts += _of_filters(batch, values, inside, card, connection.path)
    if n_known != len(hits):
        texts.append(f"{len(hits) - n_known:,} hits lie outside of what was searched")
    return [f"{card['name']}: {text}." for text in texts]


def _of_ranges(batches: list[Columns], n_rows: int, is_done: bool) -> Iterator[str]:
    ranges = [(first, last) for first, last, *_ in batches]
    n_searched = sum(last - first for first, last in ranges)
    if any(not 0 <= first < last <= n_rows for first, last in ranges) or any(a[1] > b[0] for a, b in pairwise(ranges)):
        yield "its batches overlap, or lie beyond the sequences that there are"
    elif is_done and n_searched != n_rows:
        yield f"{n_searched:,} of {n_rows:,} sequences were searched, but it counts as complete"


def _of_histogram(
    connection: RunConnection, profile: int, card: Card, batches: list[Columns], check: Callable[[], None]
) -> Iterator[str]:
    rows = connection.execute("SELECT bin, count FROM histogram WHERE profile = ?", (profile,)).fetchall()
    width = int(card.get("histogram_bin") or BIN)
    counted: dict[int, int] = {}
    for first, last, blob, *_ in batches:
        check()
        values = unpack_scores(blob, first, last, connection.path)
        if len(values) != last - first:
            yield f"there are {len(values):,} scores of {last - first:,} sequences"
        bins, counts = np.unique(values[values > IMPOSSIBLE] // width, return_counts=True)
        for number, count in zip(bins.tolist(), counts.tolist(), strict=True):
            counted[number] = counted.get(number, 0) + count
    if counted != {number: count for number, count in rows if count}:
        yield "the histogram counts other scores than there are"


def _of_hits(values: npt.NDArray[np.int32], first: int, hits: dict[int, int]) -> Iterator[str]:
    wrong = [row for row, raw in hits.items() if row - first >= len(values) or int(values[row - first]) != raw]
    if wrong:
        yield f"{len(wrong):,} hits have another score than their sequence"


def _of_filters(
    batch: Columns, values: npt.NDArray[np.int32], hits: dict[int, int], card: Card, path: Path
) -> Iterator[str]:
    first, last, _, blob, *counts = batch
    passed = unpack_survivors(blob, first, last, path) if blob is not None else None
    if passed is None:
        yield "what passed the filters is missing"
        return
    found = [int(np.count_nonzero(passed.reached >= level)) for level in (1, 2, 3, 4)]
    if found != counts or any(a < b for a, b in pairwise([len(values), *found])):
        yield f"its filters passed {counts}, but there are {found} such sequences"
    rows = passed.rows
    if len(rows) and (rows[0] < first or rows[-1] >= last or (np.diff(rows) <= 0).any()):
        yield "what passed the filters is listed twice, or was not searched"
        return
    yield from _of_msv(passed, values, first, card)
    yield from _of_later_filters(passed, card)
    lost = set(hits) - set(rows[passed.reached == len(FILTERS)].tolist())
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
