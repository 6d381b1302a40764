"""Neighbor joining: additive distances give their tree back, others what the definition says."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest

from clalign.tools import neighbor_joining as module
from clalign.tools.neighbor_joining import neighbor_joining
from clalign.values.trees import Tree
from tests.tree_cases import leaf_distances, random_tree


def splits(tree: Tree) -> set[frozenset[int]]:
    """Return for each branch the leaves on the side of it that is without the first leaf."""
    n = len(tree.names)
    below: list[set[int]] = [{node} if node < n else set() for node in range(len(tree.parents))]
    for node in reversed(tree.from_the_root()):
        if tree.parents[node] >= 0:
            below[tree.parents[node]] |= below[node]
    return {frozenset(side if 0 not in side else set(range(n)) - side) for side in below} - {frozenset()}


@pytest.mark.thorough(n=[2, 3, 4, 5, 12, 50])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 12, 50, 300])
def test_additive_distances_give_their_tree(n: int) -> None:
    for seed in range(3 if n < 100 else 1):
        tree = random_tree(seed, n)
        distances = leaf_distances(tree)
        before = distances.copy()
        found = neighbor_joining(distances, tree.names)
        assert leaf_distances(found) == pytest.approx(distances, abs=1e-9)
        assert splits(found) == splits(tree)
        assert np.array_equal(distances, before), "what was given is left alone"


def by_definition(distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the distances along the tree, joined pair by pair."""
    n = len(distances)
    d = {frozenset(pair): float(distances[pair]) for pair in itertools.combinations(range(n), 2)}
    nodes, edges = list(range(n)), []
    while len(nodes) > 3:
        sums = {i: sum(d[frozenset((i, k))] for k in nodes if k != i) / (len(nodes) - 2) for i in nodes}
        worth = {(i, j): d[frozenset((i, j))] - sums[i] - sums[j] for i, j in itertools.combinations(nodes, 2)}
        least = min(worth.values())
        i, j = min(pair for pair in worth if worth[pair] <= least + 1e-11)  # the last four come as two equal pairs
        between, node = d[frozenset((i, j))], n + len(edges)
        one = min(max((between + sums[i] - sums[j]) / 2, 0), between)
        edges += [(i, node, one), (j, node, between - one)]
        nodes = [k for k in nodes if k not in (i, j)]
        for k in nodes:
            d[frozenset((node, k))] = (d[frozenset((i, k))] + d[frozenset((j, k))] - between) / 2
        nodes.append(node)
    center = n + len(edges)
    for k in nodes:
        a, b = (other for other in nodes if other != k)
        length = (d[frozenset((k, a))] + d[frozenset((k, b))] - d[frozenset((a, b))]) / 2
        edges.append((k, center, max(length, 0)))
    known = np.full((center + 1, center + 1), np.inf)
    np.fill_diagonal(known, 0)
    for one, other, length in edges:
        known[one, other] = known[other, one] = length
    for k in range(len(known)):
        known = np.minimum(known, known[:, k, None] + known[k])
    return known[:n, :n]


@pytest.mark.parametrize("n", [4, 7, 20, 40])
@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_any_distances_are_joined_by_the_definition(n: int, chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", chunk)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        distances = np.triu(rng.uniform(0.5, 2, (n, n)), 1)
        distances += distances.T
        found = neighbor_joining(distances, tuple(map(str, range(n))))
        assert (found.lengths >= 0).all()
        assert leaf_distances(found) == pytest.approx(by_definition(distances))


def test_equal_distances_give_a_star() -> None:
    found = neighbor_joining(1 - np.eye(9), tuple("abcdefghi"))
    assert leaf_distances(found) == pytest.approx(1 - np.eye(9))
    assert leaf_distances(neighbor_joining(np.zeros((6, 6)), tuple("abcdef"))).max() == 0


def test_one_leaf_is_a_tree() -> None:
    found = neighbor_joining(np.zeros((1, 1)), ("a",))
    assert (found.parents.tolist(), found.root) == ([-1], 0)
