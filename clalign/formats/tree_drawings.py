"""Trees as drawings: a line for each leaf, branches to scale, and a scale bar."""

from __future__ import annotations

import math

from clalign.values.drawings import Drawing, Line, Shape, Words, text_width
from clalign.values.trees import Tree

LINE = 16.0
"""Pixels between leaves."""

MARGIN, BRANCHES = 12.0, 480.0
"""Pixels of the margin, and of the longest path from the root."""

SCALE_SHARE = 0.2
"""Length of the scale bar as a share of the longest path."""


def tree_drawing(tree: Tree) -> Drawing:
    """Return a tree from its root, on the left, to its leaves."""
    depths, lines = tree.places()
    longest = float(depths.max())
    x, y = MARGIN + BRANCHES * depths / (longest or 1.0), MARGIN + LINE * (lines + 0.5)
    shapes: list[Shape] = []
    for node, children in enumerate(tree.children()):
        parent = int(tree.parents[node])
        if parent >= 0:
            shapes.append(Line(((x[parent], y[node]), (x[node], y[node])), "text"))
        if children:
            ends = y[children]
            shapes.append(Line(((x[node], ends.min()), (x[node], ends.max())), "text"))
    shapes += [Words(x[node] + 6, y[node], name) for node, name in enumerate(tree.names)]
    width = 2 * MARGIN + BRANCHES + 8 + max(map(text_width, tree.names), default=0.0)
    height = 2 * MARGIN + LINE * (len(tree.names) + 2)
    if longest > 0:
        step = scale_length(longest)
        end, line = MARGIN + BRANCHES * step / longest, height - MARGIN - LINE / 2
        shapes += [Line(((MARGIN, line), (end, line)), "text"), Words(end + 6, line, f"{step:g}")]
    return Drawing("Tree", width, height, shapes)


def scale_length(longest: float) -> float:
    """Return a round length for the scale bar: 1, 2 or 5 times a power of ten."""
    wanted = longest * SCALE_SHARE
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(step * power for step in (1, 2, 5) if step * power <= wanted)
