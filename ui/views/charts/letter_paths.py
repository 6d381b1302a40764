"""Outlines of letters that fill their box, for logos."""

from __future__ import annotations

from functools import cache

from PySide6.QtGui import QFont, QPainterPath, QTransform


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
