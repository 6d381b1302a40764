"""Trees as pictures: SVG, a leaf a line, branches as long as they are, and a scale."""

from __future__ import annotations

import math
from typing import TextIO
from xml.sax.saxutils import escape

import numpy as np

from clalign.control_characters import escaped
from clalign.values.trees import Tree

LINE = 16
"""Pixels from leaf to leaf."""

MARGIN, BRANCHES, LETTER = 12, 480, 7.2
"""Pixels around the picture, of the longest path from the root, and of a letter's width."""

SCALE_SHARE = 0.2
"""Of the longest path, that the bar of the scale is about as long as."""


def write_svg(tree: Tree, stream: TextIO) -> None:
    """Draw a tree from its root, on the left, to its leaves."""
    x, y = _places(tree)
    n = len(tree.names)
    widest = max((len(name) for name in tree.names), default=0)
    width, height = 2 * MARGIN + BRANCHES + 8 + LETTER * widest, 2 * MARGIN + LINE * (n + 2)
    stream.write(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}"'
        f' viewBox="0 0 {width:.0f} {height}" font-family="DejaVu Sans Mono, monospace" font-size="12">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n<path fill="none" stroke="black" d="'
    )
    for node, children in enumerate(tree.children()):
        parent = int(tree.parents[node])
        if parent >= 0:
            stream.write(f"M{x[parent]:.2f} {y[node]:.2f}H{x[node]:.2f}")
        if children:
            ends = y[children]
            stream.write(f"M{x[node]:.2f} {ends.min():.2f}V{ends.max():.2f}")
    stream.write('"/>\n')
    for node, name in enumerate(tree.names):
        stream.write(f'<text x="{x[node] + 6:.2f}" y="{y[node] + 4:.2f}">{escape(escaped(name))}</text>\n')
    longest = float(tree.distances_from(tree.root).max())
    if longest > 0:
        step = scale_length(longest)
        end, line = MARGIN + BRANCHES * step / longest, height - MARGIN - LINE / 2
        stream.write(
            f'<path stroke="black" d="M{MARGIN} {line}H{end:.2f}"/>\n'
            f'<text x="{end + 6:.2f}" y="{line + 4}">{step:g}</text>\n'
        )
    stream.write("</svg>\n")


def _places(tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels of each node (float64[n_nodes] each)."""
    depths, lines = tree.places()
    return MARGIN + BRANCHES * depths / (depths.max() or 1.0), MARGIN + LINE * (lines + 0.5)


def scale_length(longest: float) -> float:
    """Return a round length for the bar of the scale: 1, 2 or 5 times a power of ten."""
    wanted = longest * SCALE_SHARE
    power = 10.0 ** math.floor(math.log10(wanted))
    return max(step * power for step in (1, 2, 5) if step * power <= wanted)
