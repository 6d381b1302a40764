"""Trees and distances as text and pictures."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pytest
from Bio import Phylo

from clalign.formats.distances import write_phylip, write_tsv
from clalign.formats.drawing_svg import drawing_svg
from clalign.formats.newick import write_newick
from clalign.formats.tree_drawings import scale_length, tree_drawing
from clalign.values.trees import Tree
from tests.tree_cases import leaf_distances, random_tree

DISTANCES = np.array([[0, 0.25, 1 / 3], [0.25, 0, 2], [1 / 3, 2, 0]])


def text_of(write: Any, *values: Any) -> str:
    stream = io.StringIO()
    write(*values, stream)
    return stream.getvalue()


def test_newick() -> None:
    names = ("a", "b c", "d'e", "f(1):2")
    tree = Tree(names, np.array([4, 4, 5, 5, 5, -1], np.int32), np.array([1.0, 2, 1 / 3, 0, 0.5, 0]))
    assert text_of(write_newick, tree) == "('d''e':0.333333,'f(1):2':0,(a:1,'b c':2):0.5);\n"
    assert text_of(write_newick, Tree(("a",), np.array([-1], np.int32), np.zeros(1))) == "a;\n"


@pytest.mark.parametrize("n", [2, 3, 20])
def test_newick_is_read_by_others(n: int) -> None:
    tree = random_tree(1, n)
    read = Phylo.read(io.StringIO(text_of(write_newick, tree)), "newick")
    distances = leaf_distances(tree)
    for i in range(n):
        for j in range(i):
            assert read.distance(str(i), str(j)) == pytest.approx(distances[i, j], abs=1e-5)


def test_a_tree_of_many_levels_is_written() -> None:
    n = 3000
    parents = np.array([n, *range(n, 2 * n - 1), *range(n + 1, 2 * n - 1), -1], np.int32)
    tree = Tree(tuple(map(str, range(n))), parents, np.ones(2 * n - 1))
    text = text_of(write_newick, tree)
    assert (text.count("("), text.count(")"), text.count(",")) == (n - 1, n - 1, n - 1)
    assert drawing_svg(tree_drawing(tree)).count("<text") == n + 1


def test_distances() -> None:
    names = ("a", "b c", "a_long_name_of_15")
    assert text_of(write_phylip, names, DISTANCES) == (
        "    3\n"
        "a                 0.000000 0.250000 0.333333\n"
        "b_c               0.250000 0.000000 2.000000\n"
        "a_long_name_of_15 0.333333 2.000000 0.000000\n"
    )
    assert text_of(write_tsv, ("a", "b\tc", "d"), DISTANCES) == (
        "name\ta\tb c\td\na\t0\t0.25\t0.333333\nb c\t0.25\t0\t2\nd\t0.333333\t2\t0\n"
    )


def test_a_drawing() -> None:
    """Leaves stand as far to the right as they are from the root, inner nodes in the middle of theirs."""
    tree = Tree(("a<b", "c\x1b", "d"), np.array([3, 3, 4, 4, -1], np.int32), np.array([1.0, 2, 1, 2, 0]))
    root = ElementTree.fromstring(drawing_svg(tree_drawing(tree)))
    texts = [
        (each.text, float(each.get("x")), float(each.get("y"))) for each in root.iter() if each.tag.endswith("text")
    ]
    assert [text for text, _, _ in texts] == ["a<b", r"c\x1b", "d", "0.5"]
    left = 18
    assert [x - left for _, x, _ in texts[:3]] == pytest.approx([360, 480, 120])
    assert [y - texts[2][2] for _, _, y in texts[:3]] == pytest.approx([16, 32, 0])
    branches = [each.get("points") for each in root.iter() if each.tag.endswith("polyline")]
    assert "12.00,44.00 252.00,44.00" in branches
    assert "252.00,36.00 252.00,52.00" in branches


@pytest.mark.parametrize(("longest", "step"), [(1.0, 0.2), (4.9, 0.5), (30, 5), (0.011, 0.002)])
def test_scales_are_round(longest: float, step: float) -> None:
    assert scale_length(longest) == pytest.approx(step)


def test_a_drawing_without_lengths() -> None:
    tree = Tree(("a", "b"), np.array([2, 2, -1], np.int32), np.zeros(3))
    assert drawing_svg(tree_drawing(tree)).count("<text") == 2
