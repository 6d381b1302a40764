"""Neighbor joining: a tree of distances (Saitou and Nei 1987, Mol. Biol. Evol. 4, 406)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.jobs import JobContext, QuietContext
from clalign.values.trees import Tree

Floats = npt.NDArray[np.float64]

TIE = 1e-12
"""Share of the largest mean distance up to which candidates for the next join differ only by rounding."""

CHUNK = 64
"""Rows of distances that are searched together."""

SHRINK = 0.7
"""Share of rows in use from which on the table is copied without the others."""


class _Table(Struct):
    """Distances of the nodes that are left to be joined.

    Attributes
    ----------
    distances : float64[m, m]
        Infinite on the diagonal and in rows that are not in use.
    nodes : int32[m]
        Node of each row; -1 if it is not in use.
    sums : float64[m]
        Sum of each row.
    least : float64[m]
        Lower bound of the distances of each row.
    """

    distances: Floats
    nodes: npt.NDArray[np.int32]
    sums: Floats
    least: Floats

    @classmethod
    def of(cls, distances: Floats, nodes: npt.NDArray[np.int32]) -> _Table:
        sums = np.where(np.isfinite(distances), distances, 0).sum(axis=1)
        return cls(distances, nodes, sums, distances.min(axis=1))

    def shrunk(self) -> _Table:
        used = np.flatnonzero(self.nodes >= 0)
        return (
            self if len(used) > SHRINK * len(self.nodes) else _Table.of(self.distances[used][:, used], self.nodes[used])
        )

    def nearest(self, means: Floats) -> tuple[int, int]:
        """Return the rows of the two nodes that are joined next.

        Only rows that may have a better pair are searched (Simonsen, Mailund and Pedersen 2008). Among pairs that
        differ only by rounding, as the two halves of the last four nodes do, the one with the older nodes is taken.
        """
        bounds = self.least - means - means[self.nodes >= 0].max()
        order = np.argsort(bounds)
        tie = TIE * float(means[self.nodes >= 0].max())
        best, first = np.inf, 0
        found: list[tuple[float, list[int], tuple[int, int]]] = []
        while first < len(order) and not bounds[order[first]] > best + tie:
            rows = order[first : first + (CHUNK if first else 1)]
            worth = self.distances[rows] - means - means[rows, None]
            best = min(best, float(worth.min()))
            of_rows, columns = np.nonzero(worth <= best + tie)
            if len(columns):
                nodes = np.sort([self.nodes[rows[of_rows]], self.nodes[columns]], axis=0)
                k = np.lexsort(nodes[::-1])[0]
                pair = int(rows[of_rows[k]]), int(columns[k])
                found.append((float(worth[of_rows[k], columns[k]]), nodes[:, k].tolist(), pair))
            first += len(rows)
        pair = min((nodes, pair) for value, nodes, pair in found if value <= best + tie)[1]
        return min(pair), max(pair)

    def join(self, i: int, j: int, node: int) -> None:
        """Replace the nodes of two rows by a new node."""
        d = self.distances
        new = (d[i] + d[j] - d[i, j]) / 2
        others = self.nodes >= 0
        others[[i, j]] = False
        new[~others] = np.inf
        self.sums[others] += new[others] - d[i, others] - d[j, others]
        self.sums[i], self.sums[j] = new[others].sum(), 0
        self.least = np.minimum(self.least, new)
        self.least[i], self.least[j] = new.min(), np.inf
        d[i], d[:, i] = new, new
        d[j], d[:, j] = np.inf, np.inf
        self.nodes[i], self.nodes[j] = node, -1


def neighbor_joining(
    distances: npt.NDArray[np.floating], names: tuple[str, ...], context: JobContext | None = None
) -> Tree:
    """Return the tree of distances by neighbor joining; its root is the last node that is made.

    A branch of negative length gets length 0, and its sibling the whole distance (Kuhner and Felsenstein 1994).

    Parameters
    ----------
    distances : float[n, n]
        Symmetric.
    names : tuple of str
        At least one.
    context : JobContext, optional
        Gets the progress, and raises `Cancelled` if the job is to stop.
    """
    context, n = context or QuietContext(), len(names)
    if n < 3:
        parents = np.full(n + (n == 2), n, np.int32)
        parents[-1] = -1
        lengths = np.array([distances[0, 1] / 2] * 2 + [0]) if n == 2 else np.zeros(n)
        return Tree(names, parents, lengths.astype(np.float64))
    parents, lengths = np.full(2 * n - 2, -1, np.int32), np.zeros(2 * n - 2)
    start = distances.astype(np.float64)
    np.fill_diagonal(start, np.inf)
    table = _Table.of(start, np.arange(n, dtype=np.int32))
    for node in range(n, 2 * n - 3):
        context.check()
        context.progress("tree", node - n, n - 3, "nodes")
        table = table.shrunk()
        means = table.sums / (2 * n - 2 - node)
        i, j = table.nearest(means)
        between = float(table.distances[i, j])
        one = min(max(0.0, (between + means[i] - means[j]) / 2), max(0.0, between))
        ends = table.nodes[[i, j]]
        parents[ends], lengths[ends] = node, (one, max(0.0, between) - one)
        table.join(i, j, node)
    rows = np.flatnonzero(table.nodes >= 0)
    sides = table.distances[np.ix_(rows, rows)]
    for k, row in enumerate(rows.tolist()):
        a, b = (other for other in range(3) if other != k)
        parents[table.nodes[row]] = 2 * n - 3
        lengths[table.nodes[row]] = max(0.0, (sides[k, a] + sides[k, b] - sides[a, b]) / 2)
    return Tree(names, parents, lengths)
