"""A chart on the screen, and the same as a picture file."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, QSizeF
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from clalign.values.charts import Chart

from .. import theme
from .figure_painter import chart_height, paint_chart

PICTURE = QSizeF(960, 540)
"""Least size of an exported picture."""


class FigureView(QWidget):
    """Draws a chart; resting on a part of it says more."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.chart: Chart | None = None
        self._tips: list[tuple[QRectF, str]] = []
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_chart(self, chart: Chart | None) -> None:
        """Show a chart, or nothing."""
        if chart == self.chart:
            return
        self.chart = chart
        self.setMinimumHeight(chart_height(chart) if chart is not None else 0)
        self.setAccessibleDescription(chart.title if chart is not None else "")
        self.update()

    def sizeHint(self) -> QSize:
        """Return a size for a page."""
        return QSize(480, chart_height(self.chart) if self.chart is not None else 220)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the chart."""
        if self.chart is not None:
            painter = QPainter(self)
            self._tips = paint_chart(painter, QRectF(self.rect()), self.chart, theme.current())

    def tip_at(self, place: QPointF) -> str:
        """Return what is said about a place."""
        return next((text for area, text in reversed(self._tips) if area.contains(place)), "")

    def event(self, event: QEvent) -> bool:
        """Say more about what the pointer rests on."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos().toPointF()), self)
            return True
        return super().event(event)


class ChartPicture:
    """A chart as a picture, in the light colors.

    Parameters
    ----------
    chart : Chart
    """

    n_rows = 1

    def __init__(self, chart: Chart) -> None:
        self.title, self.width, self._chart = chart.title, PICTURE.width(), chart

    def height(self, n_rows: int) -> float:
        """Return the pixels that it needs."""
        return max(PICTURE.height(), chart_height(self._chart))

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw it."""
        paint_chart(painter, QRectF(0, 0, self.width, self.height(1)), self._chart, theme.LIGHT)
