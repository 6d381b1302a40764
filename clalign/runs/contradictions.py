"""What a run file says twice and in two ways: counters, tables and scores must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from clalign.runs.batches import BIN, summed_bins, unpack_scores
from clalign.runs.connection import RunConnection
from clalign.values.documents import Card
from clalign.values.profiles import IMPOSSIBLE

Batch = tuple[int, int, bytes]

Judgment = Callable[[int, int, npt.NDArray[np.int32], set[int]], Iterator[str]]
"""Takes first and last row of a batch, its scores and the rows of its hits; yields what else contradicts them."""


def nothing_more(*_: object) -> Iterator[str]:
    """Find no other contradiction."""
    yield from ()


def contradictions(
    connection: RunConnection,
    query: int,
    card: Card,
    n_rows: int,
    is_done: bool,
    check: Callable[[], None],
    judgment: Judgment = nothing_more,
) -> list[str]:
    """Return in words what a run says of a query that contradicts something else that it says.

    Parameters
    ----------
    connection : RunConnection
        Of the run file.
    query : int
        Its number.
    card : dict
        Its card.
    n_rows : int
        Targets of the run.
    is_done : bool
        Whether all of them have to be there.
    check : callable
        Called before each batch; raises `Cancelled` if the job was asked to stop.
    judgment : callable
        What the engine knows of a batch.
    """
    batches = connection.execute(
        "SELECT first, last, scores FROM batches WHERE query = ? ORDER BY first", (query,)
    ).fetchall()
    hits = dict(connection.execute("SELECT row, raw FROM hits WHERE query = ?", (query,)).fetchall())
    n_hits = connection.execute("SELECT count(*) FROM hits WHERE query = ?", (query,)).fetchone()[0]
    part = connection.facts.shard
    n_due = n_rows if part is None else len(part)
    texts = [
        *_of_ranges(batches, n_rows, n_due if is_done else None),
        *_of_histogram(connection, query, card, batches, check),
    ]
    if n_hits != len(hits):
        texts.append(f"{n_hits - len(hits):,} targets are hits twice")
    n_known = 0
    for first, last, blob in batches:
        check()
        values = unpack_scores(blob, first, last, connection.path)
        inside = {row: raw for row, raw in hits.items() if first <= row < last}
        n_known += len(inside)
        texts += _of_hits(values, first, inside)
        texts += judgment(first, last, values, set(inside))
    if n_known != len(hits):
        texts.append(f"{len(hits) - n_known:,} hits lie outside of what was searched")
    return [f"{card['name']}: {text}." for text in texts]


def _of_ranges(batches: list[Batch], n_rows: int, n_due: int | None) -> Iterator[str]:
    ranges = [(first, last) for first, last, _ in batches]
    n_searched = sum(last - first for first, last in ranges)
    if any(not 0 <= first < last <= n_rows for first, last in ranges) or any(a[1] > b[0] for a, b in pairwise(ranges)):
        yield "its batches overlap, or lie beyond the sequences that there are"
    elif n_due is not None and n_searched != n_due:
        yield f"{n_searched:,} of {n_due:,} sequences were searched, but it counts as complete"


def _of_histogram(
    connection: RunConnection, query: int, card: Card, batches: list[Batch], check: Callable[[], None]
) -> Iterator[str]:
    found = connection.execute("SELECT bins FROM batches WHERE query = ?", (query,))
    stored = summed_bins((blob for (blob,) in found), connection.path)
    width = int(card.get("histogram_bin") or BIN)
    counted: dict[int, int] = {}
    for first, last, blob in batches:
        check()
        values = unpack_scores(blob, first, last, connection.path)
        if len(values) != last - first:
            yield f"there are {len(values):,} scores of {last - first:,} sequences"
        bins, counts = np.unique(values[values > IMPOSSIBLE] // width, return_counts=True)
        for number, count in zip(bins.tolist(), counts.tolist(), strict=True):
            counted[number] = counted.get(number, 0) + count
    if counted != dict(zip(*(column.tolist() for column in stored), strict=True)):
        yield "the histogram counts other scores than there are"


def _of_hits(values: npt.NDArray[np.int32], first: int, hits: dict[int, int]) -> Iterator[str]:
    wrong = [row for row, raw in hits.items() if row - first >= len(values) or int(values[row - first]) != raw]
    if wrong:
        yield f"{len(wrong):,} hits have another score than their sequence"
