"""Draws the shapes of drawings, on the screen and in files."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen, QPolygonF

from clalign.common.escapes import escaped
from clalign.values.drawings import PALETTES, Box, Dot, Drawing, Line, Shape, Words

from ... import theme

SIDES = {"start": 0.0, "middle": 0.5, "end": 1.0}


def color_of(name: str, tokens: theme.Tokens) -> QColor:
    """Return a color by its meaning in a theme, or by its code."""
    return QColor(PALETTES[tokens.name].get(name, name))


def paint_shapes(painter: QPainter, shapes: Iterable[Shape], tokens: theme.Tokens, seen: QRectF | None = None) -> None:
    """Draw shapes except those above or below the `seen` part."""
    top, bottom = (seen.top(), seen.bottom()) if seen is not None else (-1e9, 1e9)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    colors: dict[tuple[str, float], QColor] = {}
    for shape in shapes:
        if isinstance(shape, Words):
            if top - 20 <= shape.y <= bottom + 20:
                _paint_words(painter, shape, tokens)
            continue
        if isinstance(shape, Line):
            _paint_line(painter, shape, tokens, (top, bottom))
            continue
        low, high = (shape.y, shape.y + shape.height) if isinstance(shape, Box) else (shape.y - 9, shape.y + 9)
        if high < top or low > bottom:
            continue
        key = shape.color, shape.opacity
        if key not in colors:
            colors[key] = color_of(shape.color, tokens)
            colors[key].setAlphaF(shape.opacity)
        _paint_filled(painter, shape, colors[key])
    painter.restore()


def _paint_filled(painter: QPainter, shape: Box | Dot, color: QColor) -> None:
    if isinstance(shape, Dot):
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawEllipse(QPointF(shape.x, shape.y), shape.radius, shape.radius)
    elif shape.radius:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(color)
        painter.drawRoundedRect(QRectF(*shape[:4]), shape.radius, shape.radius)
    else:
        painter.fillRect(QRectF(*shape[:4]), color)


def _paint_line(painter: QPainter, shape: Line, tokens: theme.Tokens, seen: tuple[float, float]) -> None:
    ys = [y for _, y in shape.points]
    if max(ys) < seen[0] or min(ys) > seen[1]:
        return
    style = Qt.PenStyle.DashLine if shape.dashed else Qt.PenStyle.SolidLine
    painter.setPen(QPen(color_of(shape.color, tokens), shape.width, style) if shape.width else Qt.PenStyle.NoPen)
    painter.setBrush(color_of(shape.fill, tokens) if shape.fill else Qt.BrushStyle.NoBrush)
    corners = QPolygonF([QPointF(x, y) for x, y in shape.points])
    (painter.drawPolygon if shape.fill else painter.drawPolyline)(corners)


def _paint_words(painter: QPainter, shape: Words, tokens: theme.Tokens) -> None:
    font = QFont(painter.font())
    font.setPixelSize(round(shape.size))
    font.setBold(shape.bold)
    painter.save()
    painter.setFont(font)
    painter.setPen(color_of(shape.color, tokens))
    metrics = QFontMetricsF(font, painter.device())
    text = escaped(shape.text)
    if shape.room:
        text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, shape.room)
    left = shape.x - SIDES[shape.anchor] * metrics.horizontalAdvance(text)
    painter.drawText(QPointF(left, shape.y + (metrics.ascent() - metrics.descent()) / 2), text)
    painter.restore()


class DrawingPicture:
    """A drawing as a picture for files, in the colors for paper."""

    n_rows = 1

    def __init__(self, drawing: Drawing) -> None:
        self.drawing, self.title, self.width = drawing, drawing.title, drawing.width

    def height(self, n_rows: int) -> float:
        """Return the pixels of the picture."""
        return self.drawing.height

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw it."""
        paint_shapes(painter, (*self.drawing.shapes, *self.drawing.head), theme.LIGHT)
