"""Draws trees: branches to scale, names, and a scale bar."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from clalign.common.escapes import escaped
from clalign.formats.tree_drawings import scale_length

from ... import theme
from ...models.alignment.tree_layout import TreeLayout

EDGE, HEAD, SCALE = 12.0, 24.0, 26.0

MIN_NAME = 8.0
"""Height of lines from which on they show names."""

MAX_NAME_LETTERS = 60
"""Drawn letters of a name."""

SIDE = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


def name_of(layout: TreeLayout, leaf: int) -> str:
    """Return the drawn name of a leaf."""
    name = escaped(layout.tree.names[leaf])
    return name if len(name) <= MAX_NAME_LETTERS else f"{name[: MAX_NAME_LETTERS - 1]}…"


@dataclass(frozen=True, slots=True)
class TreeStyle:
    """Sizes and colors of a tree.

    Attributes
    ----------
    colors : Tokens
    branches : float
        Pixels from the root to the farthest leaf.
    line : float
        Pixels from leaf to leaf.
    chosen : int
        The node of the marked clade; -1 for none.
    marked : range
        Further lines with marked names.
    """

    colors: theme.Tokens
    branches: float
    line: float
    chosen: int = -1
    marked: range = range(0)

    def across(self, layout: TreeLayout) -> float:
        """Return the pixels of a unit of distance."""
        return self.branches / (layout.depth or 1.0)


def paint_tree(painter: QPainter, at: QPointF, layout: TreeLayout, style: TreeStyle, lines: range) -> None:
    """Draw the part of a tree on some lines.

    Parameters
    ----------
    at : QPointF
        Where the root's column and the upper edge of the first of all lines are.
    """
    across, x, y = style.across(layout), layout.x, layout.y
    left, top = at.x() + x * across, at.y() + (y + 0.5) * style.line
    parents = layout.tree.parents
    inside = np.zeros(len(parents), bool)
    chosen = layout.lines(style.chosen) if style.chosen >= 0 else range(0)
    inside[(layout.firsts >= chosen.start) & (layout.lasts < chosen.stop)] = bool(len(chosen))
    near = (y >= lines.start - 1) & (y <= lines.stop)
    forks, ends = layout.forks, layout.ends
    for is_chosen, color, width in ((False, style.colors.text, 1.0), (True, style.colors.accent, 2.0)):
        side = inside == is_chosen
        branches = np.flatnonzero(near & side & (parents >= 0)).tolist()
        drawn = [QLineF(left[parents[node]], top[node], left[node], top[node]) for node in branches]
        crossing = (forks <= lines.stop) & (ends >= lines.start - 1) & side
        for node in np.flatnonzero(crossing).tolist():
            low, high = (at.y() + (place + 0.5) * style.line for place in (forks[node], ends[node]))
            drawn.append(QLineF(left[node], low, left[node], high))
        pen = QPen(QColor(color), width)
        pen.setCapStyle(Qt.PenCapStyle.SquareCap)
        painter.setPen(pen)
        painter.drawLines(drawn)
    _paint_names(painter, left, top, layout, style, lines, chosen)


def _paint_names(
    painter: QPainter, left: npt.NDArray[np.float64], top: npt.NDArray[np.float64], layout: TreeLayout,
    style: TreeStyle, lines: range, chosen: range,
) -> None:  # fmt: skip
    if style.line < MIN_NAME:
        return
    painter.save()
    font = QFont(painter.font())
    font.setPixelSize(max(7, min(12, int(style.line * 0.8))))
    painter.setFont(font)
    for leaf in layout.order[lines.start : lines.stop].tolist():
        line = int(layout.firsts[leaf])
        painter.setPen(QColor(style.colors.accent if line in chosen or line in style.marked else style.colors.text))
        box = QRectF(left[leaf] + 6, top[leaf] - style.line / 2, 2000, style.line)
        painter.drawText(box, int(SIDE), name_of(layout, leaf))
    painter.restore()


def names_width(font: QFont, layout: TreeLayout, line: float) -> float:
    """Return the pixels of the widest name."""
    if line < MIN_NAME:
        return 0.0
    font = QFont(font)
    font.setPixelSize(max(7, min(12, int(line * 0.8))))
    longest = sorted(range(layout.n_leaves), key=lambda leaf: -len(layout.tree.names[leaf]))[:50]
    metrics = QFontMetricsF(font)
    return 10.0 + max(metrics.horizontalAdvance(name_of(layout, leaf)) for leaf in longest)


def paint_scale(painter: QPainter, at: QPointF, layout: TreeLayout, style: TreeStyle) -> None:
    """Draw the scale bar."""
    if layout.depth <= 0:
        return
    step = scale_length(layout.depth)
    painter.setPen(QPen(QColor(style.colors.text), 1.5))
    end = at + QPointF(step * style.across(layout), 0)
    painter.drawLine(at, end)
    painter.setPen(QColor(style.colors.muted))
    painter.drawText(QRectF(end.x() + 6, at.y() - 10, 200, 20), int(SIDE), f"{step:g}")


class TreePicture:
    """A tree as a picture; a long one fills several pages of a PDF."""

    def __init__(self, layout: TreeLayout, title: str, chosen: int = -1, line: float = 16.0) -> None:
        self.title, self.n_rows = title, layout.n_leaves
        self._layout, self._style = layout, TreeStyle(theme.LIGHT, 480.0, line, chosen)
        self.width = 2 * EDGE + self._style.branches + names_width(QFont(), layout, line) + 12

    def height(self, n_rows: int) -> float:
        """Return the pixels that leaves need, title and scale included."""
        return 2 * EDGE + HEAD + n_rows * self._style.line + SCALE

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw some leaves."""
        style, rows = self._style, range(first, min(first + n_rows, self.n_rows))
        painter.setPen(QColor(style.colors.text))
        painter.drawText(QRectF(EDGE, EDGE - 4, self.width - 2 * EDGE, HEAD), int(SIDE), self.title)
        top = EDGE + HEAD
        painter.save()
        if len(rows) < self.n_rows:
            painter.setClipRect(QRectF(0, top, self.width, len(rows) * style.line))
        paint_tree(painter, QPointF(EDGE, top - first * style.line), self._layout, style, rows)
        painter.restore()
        paint_scale(painter, QPointF(EDGE, top + len(rows) * style.line + SCALE / 2), self._layout, style)
