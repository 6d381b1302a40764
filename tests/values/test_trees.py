"""Trees: paths along them, and roots in their middle."""

from __future__ import annotations

import numpy as np
import pytest

from clalign.values.trees import Tree
from tests.tree_cases import leaf_distances, random_tree


def test_of_four_leaves() -> None:
    """((a:1,b:2):3,c:4,d:5): the longest path is from b to d, 10 long."""
    tree = Tree(tuple("abcd"), np.array([4, 4, 5, 5, 5, -1], np.int32), np.array([1.0, 2, 4, 5, 3, 0]))
    assert tree.root == 5
    assert tree.children() == [[], [], [], [], [0, 1], [2, 3, 4]]
    assert tree.from_the_root() == [5, 2, 3, 4, 0, 1]
    assert tree.distances_from(1).tolist() == [3, 0, 9, 10, 2, 5]
    middle = tree.rooted_in_the_middle()
    assert middle.distances_from(middle.root)[:4].tolist() == [4, 5, 4, 5]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 17, 60])
def test_another_root_changes_no_distance(n: int) -> None:
    for seed in range(5):
        tree = random_tree(seed, n)
        middle = tree.rooted_in_the_middle()
        distances = leaf_distances(tree)
        assert leaf_distances(middle) == pytest.approx(distances)
        assert (middle.lengths >= 0).all()
        assert sorted(middle.from_the_root()) == list(range(len(middle.parents)))
        if n > 2:
            assert [len(children) for children in middle.children()] == [0] * n + [2] * (n - 1)
        deepest = np.sort(middle.distances_from(middle.root)[:n])[-2:]
        assert deepest == pytest.approx([distances.max() / 2] * min(n, 2))


def test_branches_without_length() -> None:
    tree = Tree(tuple("abc"), np.array([3, 3, 3, -1], np.int32), np.zeros(4))
    assert leaf_distances(tree.rooted_in_the_middle()).max() == 0


def test_a_tree_of_many_levels() -> None:
    """Deeper than Python calls may be."""
    n = 3000
    parents = np.array([n, n, *range(n, 2 * n - 3), 2 * n - 3, *range(n + 1, 2 * n - 2), -1][: 2 * n - 2], np.int32)
    parents[-1] = -1
    tree = Tree(tuple(map(str, range(n))), parents, np.ones(2 * n - 2))
    middle = tree.rooted_in_the_middle()
    assert middle.distances_from(middle.root).max() == pytest.approx(tree.distances_from(0)[:n].max() / 2, abs=1)
