"""Relative weights of the rows of an alignment, so that many alike do not outweigh the others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.building.random64 import sample
from clalign.building.rows import DigitalRows
from clalign.values.sums import compensated_sum

Weights = npt.NDArray[np.float64]
Columns = npt.NDArray[np.int64]

FRAGMENT, CONSENSUS = np.float32(0.5), np.float32(0.5)
"""Share of the columns that a row spans unless it is a fragment, and share of gaps below which a column counts."""

MANY_ROWS, SAMPLED_ROWS, MAX_FRAGMENTS = 50_000, 10_000, 5_000
"""From more rows on a sample of them shows which columns count, unless it has more fragments."""

SAMPLE_SEED = 42


def position_based(rows: DigitalRows, reference: npt.NDArray[np.bool_] | None = None) -> Weights:
    """Return weights by how rare each residue is in its column.

    Parameters
    ----------
    rows : DigitalRows
    reference : bool[n_columns], optional
        The columns that count; found by the share of gaps where it is not given.

    Returns
    -------
    float64[n_rows]
        They sum to the number of rows, like those of the other functions.

    References
    ----------
    Henikoff and Henikoff, J. Mol. Biol. 243, 574-578 (1994).
    """
    n_rows, n_columns = rows.codes.shape
    if n_rows == 1:
        return np.ones(1)
    first, end = rows.spans()
    whole = end - first >= math.ceil(FRAGMENT * np.float32(n_columns))
    first, end = np.where(whole, 0, first), np.where(whole, n_columns, end)
    columns = None if reference is None else np.flatnonzero(reference)
    if columns is None and n_rows > MANY_ROWS:
        columns = _columns_of_sample(rows, first, end, whole)
    counts = _counts(rows, first, end)
    if columns is None or not len(columns):
        columns = _consensus(counts, rows.gap)
    if not len(columns):
        columns = np.arange(n_columns)
    weights, lengths = np.zeros(n_rows), np.zeros(n_rows)
    for column in columns.tolist():
        residues = counts[column, : rows.gap]
        with np.errstate(divide="ignore"):
            shares = np.append(1.0 / (np.count_nonzero(residues) * residues), 0.0)
        codes = np.minimum(rows.codes[:, column], rows.gap)
        weights += shares[codes]
        lengths += codes < rows.gap
    return _scaled(np.divide(weights, lengths, out=weights, where=lengths > 0))


def _counts(rows: DigitalRows, first: Columns, end: Columns) -> npt.NDArray[np.int64]:
    """Return how often each code is in each column within the spans of the rows (int64[n_columns, n_codes])."""
    n_columns, n_codes = rows.codes.shape[1], rows.missing + 1
    places = np.arange(n_columns)
    counts = np.zeros(n_columns * n_codes, np.int64)
    for begin in range(0, len(rows.codes), 4096):
        part = slice(begin, begin + 4096)
        inside = (places >= first[part, None]) & (places < end[part, None])
        keys = places * n_codes + rows.codes[part]
        counts += np.bincount(keys[inside], minlength=len(counts))
    return counts.reshape(n_columns, n_codes)


def _consensus(counts: npt.NDArray[np.int64], gap: int) -> Columns:
    """Return the columns in which less than half are gaps."""
    with np.errstate(invalid="ignore"):
        share = counts[:, gap].astype(np.float32) / counts[:, :-2].sum(axis=1).astype(np.float32)
    return np.flatnonzero(share < CONSENSUS)


def _columns_of_sample(rows: DigitalRows, first: Columns, end: Columns, whole: npt.NDArray[np.bool_]) -> Columns | None:
    """Return the columns that count by a sample of the rows; None if too many of these are fragments."""
    chosen = sample(SAMPLE_SEED, SAMPLED_ROWS, len(rows.codes))
    if np.count_nonzero(~whole[chosen]) > MAX_FRAGMENTS:
        return None
    some = DigitalRows(rows.alphabet, rows.codes[chosen])
    return _consensus(_counts(some, first[chosen], end[chosen]), rows.gap)


def identities(rows: DigitalRows, row: int, others: npt.NDArray[np.int64]) -> Weights:
    """Return the share of identical residues of a row and each other, of the shorter of the two (float64[n])."""
    canonical = rows.is_canonical
    same = ((rows.codes[others] == rows.codes[row]) & canonical[row]).sum(axis=1)
    shorter = np.minimum(canonical[others].sum(axis=1), canonical[row].sum())
    shares: Weights = np.divide(same, shorter, out=np.zeros(len(others)), where=shorter > 0)
    return shares


def clusters(rows: DigitalRows, share: float, check: Callable[[], None] = lambda: None) -> npt.NDArray[np.int64]:
    """Return the number of each row's cluster by single linkage of rows with a share of identical residues or more."""
    n = len(rows.codes)
    found, n_clusters = np.full(n, -1, np.int64), 0
    while (left := np.flatnonzero(found < 0)).size:
        waiting = [int(left[0])]
        found[waiting] = n_clusters
        while waiting:
            check()
            row = waiting.pop()
            others = np.flatnonzero(found < 0)
            linked = others[identities(rows, row, others) >= share]
            found[linked] = n_clusters
            waiting += linked.tolist()
        n_clusters += 1
    return found


def by_clusters(rows: DigitalRows, share: float, check: Callable[[], None] = lambda: None) -> Weights:
    """Return one weight for each cluster of similar rows, divided among its rows (float64[n_rows]).

    References
    ----------
    Henikoff and Henikoff, Proc. Natl. Acad. Sci. USA 89, 10915-10919 (1992).
    """
    if len(rows.codes) == 1:
        return np.ones(1)
    found = clusters(rows, share, check)
    return _scaled(1.0 / np.bincount(found)[found])


def by_tree(rows: DigitalRows, check: Callable[[], None] = lambda: None) -> Weights:
    """Return weights by the branches of a tree of the rows (float64[n_rows]).

    Parameters
    ----------
    rows : DigitalRows
    check : callable
        May end a long computation: the tree takes a time that grows with the third power of the number of rows.

    References
    ----------
    Gerstein, Sonnhammer and Chothia, J. Mol. Biol. 236, 1067-1078 (1994).
    """
    n = len(rows.codes)
    if n == 1:
        return np.ones(1)
    everyone = np.arange(n)
    distances = 1.0 - np.stack([identities(rows, row, everyone) for row in range(n)])
    sides, lengths = _average_linkage(distances, check)
    below, sizes = np.zeros(n - 1), np.zeros(n - 1)
    for node in range(n - 2, -1, -1):
        below[node] = lengths[node][0] + lengths[node][1]
        for child in sides[node]:
            sizes[node] += sizes[child] if child > 0 else 1
            below[node] += below[child] if child > 0 else 0.0
    below[0] = 0.0
    weights = np.zeros(n)
    for node in range(n - 1):
        sums = [
            length + (below[child] if child > 0 else 0.0)
            for child, length in zip(sides[node], lengths[node], strict=True)
        ]
        for child, length, own in zip(sides[node], lengths[node], sums, strict=True):
            if sums[0] + sums[1] == 0.0:
                part = below[node] * (sizes[child] / sizes[node]) if child > 0 else below[node] / sizes[node]
            else:
                part = below[node] * own / (sums[0] + sums[1])
            if child > 0:
                below[child] = part + length
            else:
                weights[-child] = part + length
    return _scaled(weights)


def _average_linkage(
    distances: Weights, check: Callable[[], None]
) -> tuple[list[tuple[int, int]], list[tuple[float, float]]]:
    """Return for each node of the tree its children and the lengths of the branches to them; the root is node 0.

    A positive child is a node, another one a row with its sign turned. Where distances are equal, the order in which
    clusters are moved decides, so it is that of HMMER: the two that merge go to the end of those that are left.
    """
    d = distances.copy()
    n = len(d)
    np.fill_diagonal(d, np.inf)
    ids, sizes, heights = [-row for row in range(n)], [1] * n, [0.0] * n
    sides, lengths = [(0, 0)] * (n - 1), [(0.0, 0.0)] * (n - 1)
    for left in range(n, 1, -1):
        check()
        i, j = divmod(int(np.argmin(d[:left, :left])), left)
        node, height = left - 2, d[i, j] / 2.0
        heights[node] = height
        sides[node] = ids[i], ids[j]
        lengths[node] = (
            max(0.0, height - heights[ids[i]]) if ids[i] > 0 else height,
            max(0.0, height - heights[ids[j]]) if ids[j] > 0 else height,
        )
        for place, end in ((j, left - 1), (i, left - 2)):
            if place != end:
                d[:left, [place, end]] = d[:left, [end, place]]
                d[[place, end], :left] = d[[end, place], :left]
                ids[place], ids[end] = ids[end], ids[place]
                sizes[place], sizes[end] = sizes[end], sizes[place]
        a, b = left - 2, left - 1
        merged = (sizes[a] * d[a, :left] + sizes[b] * d[b, :left]) / (sizes[a] + sizes[b])
        d[a, :left] = d[:left, a] = merged
        d[a, a] = np.inf
        sizes[a] += sizes[b]
        ids[a] = node
    return sides, lengths


def _scaled(weights: Weights) -> Weights:
    """Return weights that sum to their number."""
    total = float(compensated_sum(weights))
    return (weights / total if total else np.full(len(weights), 1.0 / len(weights))) * float(len(weights))
