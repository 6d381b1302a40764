"""Draws the posterior probabilities of two sequences, with the path of the alignment."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QLineF, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from clalign.common.escapes import escaped
from clalign.values.sparse_posteriors import PosteriorMatrix

from ... import formatting, theme
from ...views.alignment.rows_painter import image_of

LEFT, TOP, EDGE = 62.0, 46.0, 14.0

SHADES = 64

TICK_PIXELS = 60.0
"""Least distance between two numbers along an edge."""


@dataclass(frozen=True, slots=True, eq=False)
class PairShown:
    """Two sequences and the probabilities of their pairs of residues.

    Attributes
    ----------
    found : PosteriorMatrix or None
        None if they were not compared.
    path : int64[n, 2]
        Their residues that share a column.
    names : tuple of str
        Of the one down, and the one across.
    letters : tuple of bytes
    """

    found: PosteriorMatrix | None = None
    path: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty((0, 2), np.int64))
    names: tuple[str, str] = ("", "")
    letters: tuple[bytes, bytes] = (b"", b"")


def area_of(room: QRectF, shown: PairShown) -> QRectF:
    """Return the area of the matrix, with sides in the ratio of the lengths of the sequences."""
    room = room.adjusted(LEFT, TOP, -EDGE, -EDGE)
    high, wide = (max(1, len(text)) for text in shown.letters)
    unit = min(room.width() / wide, room.height() / high)
    return QRectF(room.left(), room.top(), max(1.0, unit * wide), max(1.0, unit * high))


def paint_pair(
    painter: QPainter, room: QRectF, shown: PairShown, colors: theme.Tokens, scale: float, with_path: bool = True
) -> None:
    """Draw the matrix, its edges, and the path through it.

    Parameters
    ----------
    room : QRectF
    scale : float
        Pixels of the device for one: a pixel has the largest of the pairs of residues in it.
    """
    area = area_of(room, shown)
    painter.setPen(QColor(colors.text))
    metrics = QFontMetricsF(painter.font(), painter.device())
    sizes = max(area.height(), 160.0), max(area.width(), room.right() - area.left())
    first, second = (
        metrics.elidedText(f"{escaped(name)}, {formatting.count(len(text))}", Qt.TextElideMode.ElideMiddle, size)
        for name, text, size in zip(shown.names, shown.letters, sizes, strict=True)
    )
    if any(shown.names):
        across = QRectF(area.left(), room.top() + 2, room.right() - area.left(), 18)
        painter.drawText(across, int(Qt.AlignmentFlag.AlignVCenter), f"{second} →")
        painter.save()
        painter.translate(room.left() + 2, area.top())
        painter.rotate(-90)
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        length = max(area.height(), 160.0)
        painter.drawText(QRectF(-length, 0, length, 18), int(side), f"← {first}")
        painter.restore()
    if shown.found is None:
        painter.setPen(QColor(colors.muted))
        words = "These two were not compared." if all(shown.names) else ""
        painter.drawText(room, int(Qt.AlignmentFlag.AlignCenter), words)
        return
    pixels = _pixels(shown, area, colors, scale)
    painter.drawImage(area, image_of(pixels))
    if with_path:
        _paint_path(painter, area, shown, colors)
    _paint_ticks(painter, area, shown, colors)
    painter.setPen(QPen(QColor(colors.border), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(area)


def color_steps(colors: theme.Tokens) -> npt.NDArray[np.uint32]:
    """Return the colors of probabilities from 0 to 1 (uint32[SHADES + 1]); small ones differ from zero."""
    shares = [0.0, *(math.sqrt((step + 1) / SHADES) for step in range(SHADES))]
    return np.array([theme.blend(colors.accent, colors.surface, share).rgb() for share in shares], np.uint32)


def _pixels(shown: PairShown, area: QRectF, colors: theme.Tokens, scale: float) -> npt.NDArray[np.uint32]:
    assert shown.found is not None
    found, (first, second) = shown.found, shown.letters
    high = max(1, min(len(first), int(area.height() * scale)))
    wide = max(1, min(len(second), int(area.width() * scale)))
    rows = found.rows.astype(np.int64) * high // max(1, len(first))
    columns = found.columns.astype(np.int64) * wide // max(1, len(second))
    greatest = np.zeros((high, wide), np.float32)
    np.maximum.at(greatest, (rows, columns), found.probabilities)
    return np.ascontiguousarray(color_steps(colors)[np.ceil(greatest * SHADES).astype(np.intp)])


def _paint_path(painter: QPainter, area: QRectF, shown: PairShown, colors: theme.Tokens) -> None:
    """Draw the aligned pairs of residues, run by run."""
    if not len(shown.path):
        return
    path, (first, second) = shown.path, shown.letters
    down, across = area.height() / max(1, len(first)), area.width() / max(1, len(second))
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(colors.stop), 1))
    breaks = np.flatnonzero((np.diff(path, axis=0) != 1).any(axis=1)) + 1
    for run in np.split(path, breaks):
        begin = QPointF(area.left() + run[0, 1] * across, area.top() + run[0, 0] * down)
        end = QPointF(area.left() + (run[-1, 1] + 1) * across, area.top() + (run[-1, 0] + 1) * down)
        painter.drawLine(begin, end)
    painter.restore()


def _paint_ticks(painter: QPainter, area: QRectF, shown: PairShown, colors: theme.Tokens) -> None:
    """Draw numbers of residues along the upper and the left edge."""
    painter.setPen(QColor(colors.muted))
    center, right = Qt.AlignmentFlag.AlignCenter, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    for text, length, is_across in zip(shown.letters, (area.height(), area.width()), (False, True), strict=True):
        unit = length / max(1, len(text))
        step = next(s for k in range(10) for s in (10**k, 2 * 10**k, 5 * 10**k) if s * unit >= TICK_PIXELS)
        for number in range(step, len(text) + 1, step):
            place = (number - 0.5) * unit
            if is_across:
                x = area.left() + place
                painter.drawLine(QLineF(x, area.top() - 4, x, area.top()))
                painter.drawText(QRectF(x - 40, area.top() - 22, 80, 18), int(center), formatting.count(number))
            else:
                y = area.top() + place
                painter.drawLine(QLineF(area.left() - 4, y, area.left(), y))
                painter.drawText(QRectF(area.left() - 46, y - 9, 40, 18), int(right), formatting.count(number))


class PairPicture:
    """The probabilities of two sequences with a legend."""

    n_rows = 1
    SIDE, MARGIN, LEGEND = 640.0, 16.0, 40.0

    def __init__(self, shown: PairShown, with_path: bool) -> None:
        self.title = f"{shown.names[0]} and {shown.names[1]}"
        self._shown, self._with_path = shown, with_path
        side = self.SIDE
        self._area = area_of(QRectF(0, 0, side + LEFT + EDGE, side + TOP + EDGE), shown)
        self.width = max(self._area.right() + EDGE, 420.0) + 2 * self.MARGIN

    def height(self, n_rows: int) -> float:
        """Return the pixels of the matrix, legend included."""
        return self._area.bottom() + EDGE + self.LEGEND + 2 * self.MARGIN

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw the matrix and the legend."""
        margin, colors = self.MARGIN, theme.LIGHT
        room = QRectF(margin, margin, self._area.right() + EDGE, self._area.bottom() + EDGE)
        paint_pair(painter, room, self._shown, colors, 4.0, self._with_path)
        left, top = margin + LEFT, room.bottom() + 14
        steps = color_steps(colors)
        for place, color in enumerate(steps.tolist()):
            painter.fillRect(QRectF(left + 2 * place, top, 2.2, 12), QColor(color))
        painter.setPen(QColor(colors.text))
        words = "posterior probability, 0 to 1" + ("; line: the alignment" if self._with_path else "")
        beside = QRectF(left + 2 * len(steps) + 8, top - 3, 400, 18)
        painter.drawText(beside, int(Qt.AlignmentFlag.AlignVCenter), words)
