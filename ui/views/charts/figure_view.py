"""A chart on the screen."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QSize, QSizeF
from PySide6.QtGui import QColor, QFontInfo, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from clalign.engines.pictures.charts import chart_drawing, chart_height
from clalign.values.charts import Chart
from clalign.values.drawings import TEXT, Drawing

from ... import theme
from ..widgets.place_tips import PlaceTips
from .drawing_painter import DrawingPicture, paint_shapes

PICTURE = QSizeF(960, 540)
"""Least size of an exported picture."""


def chart_picture(chart: Chart) -> DrawingPicture:
    """Return a chart as a picture for files."""
    return DrawingPicture(chart_drawing(chart, PICTURE.width(), PICTURE.height()))


class FigureView(QWidget):
    """Draws a chart with tooltips."""

    def __init__(self, name: str) -> None:
        super().__init__()
        PlaceTips(self, self.tip_at)
        self.chart: Chart | None = None
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    @property
    def _scale(self) -> float:
        """The ratio of the letters of this window and those of drawings."""
        return QFontInfo(self.font()).pixelSize() / TEXT

    def _height(self) -> int:
        return int(chart_height(self.chart) * self._scale) + 1 if self.chart is not None else 0

    def show_chart(self, chart: Chart | None) -> None:
        """Show another chart, or none."""
        if chart == self.chart:
            return
        self.chart = chart
        self.setMinimumHeight(self._height())
        self.setAccessibleDescription(chart.title if chart is not None else "")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(480, self._height() or 220)

    def _drawing(self, chart: Chart) -> Drawing:
        return chart_drawing(chart, self.width() / self._scale, self.height() / self._scale)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.chart is not None:
            painter, tokens = QPainter(self), theme.current()
            painter.fillRect(self.rect(), QColor(tokens.surface))
            painter.scale(self._scale, self._scale)
            paint_shapes(painter, self._drawing(self.chart).shapes, tokens)

    def tip_at(self, place: QPointF) -> str:
        """Return the tooltip for a place."""
        if self.chart is None:
            return ""
        picks = self._drawing(self.chart).picks
        part = picks.at(place.x() / self._scale, place.y() / self._scale)
        return "" if part is None else picks.tip(part)
