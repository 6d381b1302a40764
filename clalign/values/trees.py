"""Trees of sequences, with lengths of branches."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Integers = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


class Tree(Struct, frozen=True, eq=False):
    """A tree whose first nodes are its leaves.

    Attributes
    ----------
    names : tuple of str
        Names of the leaves.
    parents : int32[n_nodes]
        The node that each one hangs on, -1 for the root.
    lengths : float64[n_nodes]
        Length of the branch to the parent, 0 for the root.
    """

    names: tuple[str, ...]
    parents: Integers
    lengths: Floats

    @property
    def root(self) -> int:
        """The node that hangs on none."""
        return int(np.flatnonzero(self.parents < 0)[0])

    def children(self) -> list[list[int]]:
        """Return the nodes that hang on each node, in rising order."""
        found: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                found[parent].append(node)
        return found

    def from_the_root(self) -> list[int]:
        """Return all nodes, each after the one that it hangs on and before what hangs on later nodes of that."""
        children, order, stack = self.children(), [], [self.root]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(reversed(children[node]))
        return order

    def places(self) -> tuple[Floats, Floats]:
        """Return where each node stands in a drawing (float64[n_nodes] each).

        Across it is as far as its way from the root is long; down leaves stand on lines 0, 1 and so on, inner nodes in
        the middle of what hangs on them.
        """
        order, children = self.from_the_root(), self.children()
        leaves = [node for node in order if not children[node]]
        lines = np.zeros(len(order))
        lines[leaves] = np.arange(len(leaves))
        for node in reversed(order):
            if children[node]:
                lines[node] = (lines[children[node][0]] + lines[children[node][-1]]) / 2
        return self.distances_from(self.root), lines

    def distances_from(self, start: int) -> Floats:
        """Return how far each node is from one (float64[n_nodes])."""
        neighbors, distances, stack = self._neighbors(), np.full(len(self.parents), np.nan), [start]
        distances[start] = 0
        while stack:
            node = stack.pop()
            for other, length in neighbors[node]:
                if np.isnan(distances[other]):
                    distances[other] = distances[node] + length
                    stack.append(other)
        return distances

    def rooted_in_the_middle(self) -> Tree:
        """Return the tree with its root in the middle of the longest path between two leaves.

        It must have three branches at its root, as neighbor joining makes it, or only two leaves.
        """
        n = len(self.names)
        if n < 3:
            return Tree(self.names, self.parents, np.where(self.parents < 0, 0.0, self.lengths.sum() / 2))
        end = int(np.argmax(self.distances_from(self.root)[:n]))
        distances = self.distances_from(end)
        if distances[:n].max() == 0:
            return self
        path = self._path(int(np.argmax(distances[:n])), end)
        half = distances[path[0]] / 2
        one, other = next(ends for ends in itertools.pairwise(path) if distances[ends[1]] <= half)
        return self._rooted(one, other, distances[one] - half)

    def _neighbors(self) -> list[list[tuple[int, float]]]:
        neighbors: list[list[tuple[int, float]]] = [[] for _ in self.parents]
        for node, (parent, length) in enumerate(zip(self.parents.tolist(), self.lengths.tolist(), strict=True)):
            if parent >= 0:
                neighbors[node].append((parent, length))
                neighbors[parent].append((node, length))
        return neighbors

    def _ancestors(self, node: int) -> list[int]:
        found = [node]
        while self.parents[found[-1]] >= 0:
            found.append(int(self.parents[found[-1]]))
        return found

    def _path(self, one: int, other: int) -> list[int]:
        """Return the nodes from one to another."""
        up, down = self._ancestors(one), self._ancestors(other)
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return up + down[-2::-1]

    def _rooted(self, one: int, other: int, length: float) -> Tree:
        """Return the tree with a new root between two neighbors, so far from the first one."""
        lower, upper = (one, other) if self.parents[one] == other else (other, one)
        below = length if lower == one else self.lengths[lower] - length
        root = len(self.parents)
        parents, lengths = np.append(self.parents, np.int32(-1)), np.append(self.lengths, 0.0)
        for node, parent in itertools.pairwise(self._ancestors(upper)):
            parents[parent], lengths[parent] = node, self.lengths[node]
        parents[[lower, upper]] = root
        lengths[[lower, upper]] = below, self.lengths[lower] - below
        return Tree(self.names, parents.astype(np.int32), lengths)
