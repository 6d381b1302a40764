"""An order of the rows and columns of a sparse table that puts similar ones side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MAX_CLUSTERED = 3000
"""Limit of the columns that are clustered, which takes the square of their number; more are ordered by their best
rows."""

N_FOLDED = 256
"""Number of values that a column is folded to before columns are compared."""


def order_alike(
    rows: Integers, columns: Integers, weights: Floats, shape: tuple[int, int], check: Callable[[], None] = lambda: None
) -> tuple[Integers, Integers]:
    """Return the columns and the rows of a table in such orders (int64[n_columns], int64[n_rows]).

    Columns are joined by average linkage of their cosines and stand as the leaves of that tree; of very many columns
    those with the same best row stand together. Rows stand by the column of their highest weight, then by the next.

    Parameters
    ----------
    rows, columns : int64[n]
        Where the weights are.
    weights : float64[n]
        Finite, not negative.
    shape : tuple of int
    check : callable
        Called from time to time; may raise to stop.
    """
    n_rows, n_columns = shape
    if not len(rows):
        return np.arange(n_columns), np.arange(n_rows)
    if n_columns <= MAX_CLUSTERED:
        by_column = _leaves(_cosines(rows, columns, weights, shape), check)
    else:
        by_column = np.lexsort((-_best(columns, weights, n_columns), _best_partner(columns, rows, weights, n_columns)))
    places = np.argsort(by_column)
    first = _best_partner(rows, places[columns], weights, n_rows)
    others = places[columns] != first[rows]
    second = _best_partner(rows[others], places[columns][others], weights[others], n_rows)
    return by_column, np.lexsort((-_best(rows, weights, n_rows), second, first))


def _best(of: Integers, weights: Floats, n: int) -> Floats:
    best = np.full(n, -1.0)
    np.maximum.at(best, of, weights)
    return best


def _best_partner(of: Integers, partners: Integers, weights: Floats, n: int) -> Integers:
    """Return for each the partner of its highest weight; -1 for none."""
    found = np.full(n, -1, np.int64)
    order = np.argsort(weights, kind="stable")
    found[of[order]] = partners[order]
    return found


def _cosines(rows: Integers, columns: Integers, weights: Floats, shape: tuple[int, int]) -> npt.NDArray[np.float32]:
    """Return the cosines of the columns (float32[n, n]); many rows are folded together, with random signs."""
    n_rows, n_columns = shape
    if n_rows > N_FOLDED:
        random = np.random.default_rng(1)
        folds, signs = random.integers(0, N_FOLDED, n_rows), random.choice(np.array([-1.0, 1.0]), n_rows)
        rows, weights, n_rows = folds[rows], weights * signs[rows], N_FOLDED
    table = np.zeros((n_columns, n_rows), np.float32)
    np.add.at(table, (columns, rows), weights.astype(np.float32))
    lengths = np.sqrt((table * table).sum(axis=1, keepdims=True))
    table /= np.where(lengths > 0, lengths, 1)
    return np.asarray(table @ table.T, np.float32)


def _leaves(alike: npt.NDArray[np.float32], check: Callable[[], None]) -> Integers:
    """Return the leaves of the tree of average linkage from left to right; `alike` is used up.

    Neighbors are joined as chains of nearest neighbors find them, so that the time grows with the square.
    """
    n = len(alike)
    np.fill_diagonal(alike, -np.inf)
    members: list[list[int]] = [[place] for place in range(n)]
    alive = np.ones(n, bool)
    chain: list[int] = []
    for step in range(n - 1):
        if step % 64 == 0:
            check()
        if not chain:
            chain.append(int(np.argmax(alive)))
        while True:
            top = chain[-1]
            nearest = int(np.argmax(alike[top]))
            if len(chain) > 1 and alike[top, chain[-2]] >= alike[top, nearest]:
                break
            chain.append(nearest)
        one, other = chain.pop(), chain.pop()
        kept, gone = min(one, other), max(one, other)
        sizes = len(members[kept]), len(members[gone])
        joined = (alike[kept] * sizes[0] + alike[gone] * sizes[1]) / (sizes[0] + sizes[1])
        joined[~alive] = -np.inf
        joined[[kept, gone]] = -np.inf
        alike[kept], alike[:, kept] = joined, joined
        alike[gone], alike[:, gone] = -np.inf, -np.inf
        alive[gone] = False
        members[kept] += members[gone]
        members[gone] = []
    return np.array(members[int(np.argmax(alive))], np.int64)
