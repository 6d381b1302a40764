"""A chart on the screen, and the same as a picture file."""

from __future__ import annotations

from PySide6.QtCore import QBuffer, QEvent, QIODevice, QPointF, QRectF, QSize
from PySide6.QtGui import QFont, QHelpEvent, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from clalign.formats.writers import replaced_file

from .. import theme
from ..models.figures import Chart
from .figure_painter import chart_height, paint_chart
from .pictures import png, readable_svg

PICTURE = QSize(960, 540)
"""Least size of an exported picture; a PNG has twice as many pixels."""


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


def save_picture(chart: Chart, path: str, font: QFont) -> None:
    """Write a chart as SVG or PNG, in the light colors.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    size = QSize(PICTURE.width(), max(PICTURE.height(), chart_height(chart)))
    if path.lower().endswith(".svg"):
        _save_svg(chart, path, font, size)
        return
    image = QImage(size * 2, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(2)
    painter = QPainter(image)
    _paint(painter, chart, font, size)
    content = png(image)
    with replaced_file(path) as file:
        file.buffer.write(content)


def _save_svg(chart: Chart, path: str, font: QFont, size: QSize) -> None:
    from PySide6.QtSvg import QSvgGenerator

    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    generator = QSvgGenerator()
    generator.setOutputDevice(buffer)
    generator.setSize(size)
    generator.setViewBox(QRectF(0, 0, size.width(), size.height()))
    generator.setTitle(chart.title)
    generator.setDescription("Made by clalign")
    _paint(QPainter(generator), chart, font, size)
    with replaced_file(path) as file:
        file.buffer.write(readable_svg(bytes(buffer.data().data())))


def _paint(painter: QPainter, chart: Chart, font: QFont, size: QSize) -> None:
    painter.setFont(font)
    paint_chart(painter, QRectF(0, 0, size.width(), size.height()), chart, theme.LIGHT)
    painter.end()
