"""Trees made up for tests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.values.trees import Tree


def random_tree(seed: int, n: int) -> Tree:
    """Return a tree that is made by joining random nodes, its root one of three branches."""
    rng = np.random.default_rng(seed)
    if n < 3:
        parents = [n] * n + [-1] if n == 2 else [-1]
        return Tree(
            tuple(map(str, range(n))),
            np.array(parents, np.int32),
            np.array([*rng.random(n), 0][: len(parents)]) * (n > 1),
        )
    parents, lengths, left = np.full(2 * n - 2, -1, np.int32), rng.uniform(0.01, 1, 2 * n - 2), list(range(n))
    for node in range(n, 2 * n - 3):
        for _ in range(2):
            parents[left.pop(int(rng.integers(len(left))))] = node
        left.append(node)
    parents[left] = 2 * n - 3
    return Tree(tuple(map(str, range(n))), parents, lengths)


def leaf_distances(tree: Tree) -> npt.NDArray[np.float64]:
    """Return the distances between all leaves along the tree."""
    n = len(tree.names)
    return np.array([tree.distances_from(leaf)[:n] for leaf in range(n)])
