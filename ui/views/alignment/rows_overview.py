"""The whole alignment as a strip with the visible part marked, and the legend of its colors."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from ... import theme
from ...models.alignment.row_colors import Swatch
from ...models.alignment.rows_view import RowsView
from .rows_canvas import RowsCanvas
from .rows_painter import EDGE, ground_table, image_of

HEIGHT = 46

MIN_MARK = 6.0
"""Pixels of the mark of the visible part."""


class RowsOverview(QWidget):
    """All rows and columns, scaled down; a click or a drag moves the visible part."""

    def __init__(self, view: RowsView, canvas: RowsCanvas) -> None:
        super().__init__()
        self._view, self._canvas = view, canvas
        self._pixels: npt.NDArray[np.uint32] | None = None
        self._drawn: tuple[object, ...] = ()
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName("Overview of the whole alignment")
        self.setToolTip("The whole alignment; click or drag to go to a place")
        canvas.view_moved.connect(self.update)
        view.changed.connect(self._draw_anew)
        view.order_changed.connect(self._draw_anew)
        view.measured.connect(self._draw_once_measured)

    def _draw_anew(self) -> None:
        self._drawn = ()
        self.update()

    def _draw_once_measured(self) -> None:
        if self._view.is_measured:
            self._draw_anew()

    def area(self) -> QRectF:
        """Return the area of the alignment."""
        left = self._canvas.names  # as the columns below
        return QRectF(left, 4, max(10.0, self.width() - left - EDGE), self.height() - 8)

    def shown(self) -> QRectF:
        """Return the visible part."""
        area, view = self.area(), self._view
        columns, rows = self._canvas.shown_columns(), self._canvas.shown_rows()
        left = area.left() + columns.start / view.n_columns * area.width()
        top = area.top() + rows.start / view.n_rows * area.height()
        width = max(MIN_MARK, len(columns) / view.n_columns * area.width())
        height = max(MIN_MARK, len(rows) / view.n_rows * area.height())
        return QRectF(min(left, area.right() - width), min(top, area.bottom() - height), width, height)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colors, area = QPainter(self), theme.current(), self.area()
        wide, high = int(area.width()), int(area.height())
        key = (wide, high, colors.name)
        if self._drawn != key:
            self._pixels, self._drawn = self._image(wide, high), key
        assert self._pixels is not None
        painter.drawImage(area, image_of(self._pixels))
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawRect(area)
        shown = self.shown()
        shade = QColor(colors.surface)
        shade.setAlphaF(0.45)
        for part in (
            QRectF(area.left(), area.top(), shown.left() - area.left(), area.height()),
            QRectF(shown.right(), area.top(), area.right() - shown.right(), area.height()),
            QRectF(shown.left(), area.top(), shown.width(), shown.top() - area.top()),
            QRectF(shown.left(), shown.bottom(), shown.width(), area.bottom() - shown.bottom()),
        ):
            painter.fillRect(part, shade)
        painter.setPen(QPen(QColor(colors.accent), 2))
        painter.drawRect(shown)

    def _image(self, wide: int, high: int) -> npt.NDArray[np.uint32]:
        view = self._view
        columns = np.unique(((np.arange(wide) + 0.5) * view.n_columns / wide).astype(np.int64))
        rows = np.unique(((np.arange(high) + 0.5) * view.n_rows / high).astype(np.int64))
        places = view.cells(rows, columns).places.astype(np.intp)
        return np.ascontiguousarray(ground_table(view.coloring, theme.current())[places])

    def mousePressEvent(self, event: QMouseEvent) -> None:
        area = self.area()
        column = (event.position().x() - area.left()) / area.width()
        row = (event.position().y() - area.top()) / area.height()
        self._canvas.show_middle(min(1.0, max(0.0, column)), min(1.0, max(0.0, row)))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self.mousePressEvent(event)


SWATCH = 12.0


def _legend_places(
    metrics: QFontMetricsF, legend: tuple[Swatch, ...], room: float
) -> tuple[list[tuple[float, float]], float]:
    """Return the place of each entry, and the height of a line; colors without text flow into the next."""
    line, x, y, places = max(18.0, metrics.height() + 4), 0.0, 0.0, []
    for swatch in legend:
        width = SWATCH + 5 + metrics.horizontalAdvance(swatch[1]) + 14 if swatch[1] else SWATCH
        if x + width > room + 14 and x > 0:
            x, y = 0.0, y + line
        places.append((x, y))
        x += width
    return places, line


def legend_height(metrics: QFontMetricsF, legend: tuple[Swatch, ...], room: float) -> float:
    """Return the pixels of a legend of a width."""
    places, line = _legend_places(metrics, legend, room)
    return (places[-1][1] if places else 0.0) + line


def paint_legend(painter: QPainter, area: QRectF, legend: tuple[Swatch, ...], colors: theme.Tokens) -> None:
    """Draw a legend in as many lines as it needs."""
    places, line = _legend_places(QFontMetricsF(painter.font(), painter.device()), legend, area.width())
    for (color, words), (x, y) in zip(legend, places, strict=True):
        box = QRectF(area.left() + x, area.top() + y + (line - SWATCH) / 2, SWATCH, SWATCH)
        painter.fillRect(box, QColor(color))
        painter.setPen(QColor(colors.muted))
        place = QRectF(box.right() + 5, area.top() + y, area.width(), line)
        painter.drawText(place, int(Qt.AlignmentFlag.AlignVCenter), words)


class RowsLegend(QWidget):
    """The meaning of the colors of the cells."""

    def __init__(self, view: RowsView) -> None:
        super().__init__()
        self._view = view
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        view.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        words = ", ".join(words for _, words in self._view.coloring.legend if words)
        self.setAccessibleName(f"Legend of the colors: {words or 'none'}")
        if self.parentWidget() is not None:
            self.setVisible(bool(self._view.coloring.legend))
        self._fit()
        self.update()

    def _fit(self) -> None:
        legend = self._view.coloring.legend
        self.setFixedHeight(int(legend_height(QFontMetricsF(self.font()), legend, self.width() - 2 * EDGE) + 6))

    def sizeHint(self) -> QSize:
        return QSize(200, self.height())

    def resizeEvent(self, event: object) -> None:
        self._fit()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self.font())
        area = QRectF(EDGE, 3, self.width() - 2 * EDGE, self.height() - 6)
        legend, colors = self._view.coloring.legend, theme.current()
        paint_legend(painter, area, legend, colors)
