"""Outlines of letters that fill their box, for logos."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QPainter, QPainterPath, QTransform

NARROW = {"I": 0.45, "J": 0.75}
"""Width of letters that would look like bars if they filled their cell."""


@cache
def letter_path(letter: str, family: str) -> QPainterPath:
    """Return the outline of a letter, filling the unit square."""
    font = QFont(family)
    font.setPixelSize(200)
    font.setWeight(QFont.Weight.Bold)
    path = QPainterPath()
    path.addText(0, 0, font, letter)
    bounds = path.boundingRect()
    if bounds.isEmpty():
        path.addRect(0, 0, 1, 1)
        return path
    fit = QTransform.fromScale(1 / bounds.width(), 1 / bounds.height())
    fit.translate(-bounds.left(), -bounds.top())
    return fit.map(path)


def paint_letter(painter: QPainter, box: QRectF, letter: str, color: QColor, width: float) -> None:
    """Draw a letter of a logo in the middle of a box, as high as that and of a width if it is not narrow."""
    width *= NARROW.get(letter, 1.0)
    place = QTransform.fromTranslate(box.center().x() - width / 2, box.top())
    place.scale(width, box.height() - min(0.5, 0.05 * box.height()))
    painter.fillPath(place.map(letter_path(letter, painter.font().family())), color)
