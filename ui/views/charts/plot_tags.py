"""Tags in a lane above a plot, which cover neither the plot nor each other."""

from __future__ import annotations

from dataclasses import dataclass

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, QTimer
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QGraphicsLayout

from ... import theme

TAG_GAP = 5.0
"""Pixels between a tag and its line."""

EDGE, BESIDE = 3.0, 10.0
"""Pixels above and below the tags, and between two of them."""

MAX_LANE_SHARE = 0.5
"""Largest share of the lane in its height and that of the view; lines of tags that do not fit have no text."""

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


@dataclass(frozen=True, slots=True)
class Tag:
    """A text at a place of an axis.

    Attributes
    ----------
    x : float
        In the units of the axis.
    text : str
        Of one line or several.
    color : str
        The name of a color of the theme, for words and line.
    """

    x: float
    text: str
    color: str = "text"


class TagLane(pg.GraphicsWidget):  # type: ignore[misc]
    """The lane above a view; each tag stands beside the line that goes up from its place.

    Parameters
    ----------
    view : pg.ViewBox
        With the same right edge.
    """

    def __init__(self, view: pg.ViewBox) -> None:
        super().__init__()
        self._view = view
        self._tags: list[Tag] = []
        self._stays = False
        self.placed: list[tuple[Tag, float, QRectF]] = []
        self._room(1)

    def _room(self, n_lines: int) -> None:
        height = n_lines * self._height + 2 * EDGE
        if height != self.maximumHeight():
            self.setFixedHeight(height)
            # While the plot is being laid out its layout takes no note of another height.
            QTimer.singleShot(0, self, self._settle)

    def _settle(self) -> None:
        """Lay the lane out in its new height."""
        layout = self.parentLayoutItem()
        if isinstance(layout, QGraphicsLayout) and self.size().height() != self.maximumHeight():
            layout.invalidate()
            layout.activate()

    @property
    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self.font())

    @property
    def _height(self) -> float:
        return self._metrics.height()

    def show_tags(self, tags: list[Tag], stays: bool = False) -> None:
        """Show other tags; the lane may have to stay as high as it is, while a line is dragged."""
        self._tags, self._stays = tags, stays
        self.place()

    def place(self) -> None:
        """Place each tag beside its line, as low as possible, the first ones first."""
        # The lane may have its height still to get, but the view ends where it does.
        room = self.maximumHeight() - 2 * EDGE if self._stays else MAX_LANE_SHARE * self._view.geometry().bottom()
        metrics, left, right = self._metrics, self._view.pos().x(), self._view.pos().x() + self._view.width()
        taken: list[QRectF] = []
        self.placed = []
        for tag in self._tags:
            x = left + self._view.mapFromView(QPointF(tag.x, 0)).x()
            if not left <= x <= right:
                continue
            lines = tag.text.split("\n")
            wide, high = max(map(metrics.horizontalAdvance, lines)) + 2, len(lines) * self._height
            sides = [x + TAG_GAP, x - TAG_GAP - wide]
            fitting = [side for side in sides if side >= 0 and side + wide <= right] or [max(0.0, right - wide)]
            rows = range(max(1, int((room - high) / self._height) + 1))
            boxes = (QRectF(side, -row * self._height - high, wide, high) for row in rows for side in fitting)
            box = next((box for box in boxes if not any(box.intersects(other) for other in taken)), None)
            if box is None:
                continue
            taken.append(box.adjusted(-BESIDE, 0, BESIDE, 0))
            self.placed.append((tag, x, box))
        if not self._stays:
            self._room(max(1, round(max((-box.top() for box in taken), default=0.0) / self._height)))
        self.update()

    def paint(self, painter: QPainter, *rest: object) -> None:
        colors, bottom = theme.current(), self.size().height()
        painter.translate(0, bottom - EDGE)
        for tag, x, box in self.placed:
            painter.setPen(QPen(QColor(getattr(colors, tag.color)), 1))
            painter.drawLine(QPointF(x, box.top()), QPointF(x, EDGE))
        for tag, _, box in self.placed:
            painter.fillRect(box, QColor(colors.surface))
            painter.setPen(QColor(getattr(colors, tag.color)))
            painter.drawText(box, int(LEFT), tag.text)
