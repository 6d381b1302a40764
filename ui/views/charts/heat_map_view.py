"""A heat map of targets and queries: scrolled by dragging, zoomed by the wheel, a cell chosen by a click."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QImage,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QWidget

from ... import formatting, theme
from ...models.charts.heat_map import HeatMap, ramp
from ..widgets.place_tips import PlaceTips

NAMES, EDGE = 130.0, 10.0
MIN_HEAD, MAX_HEAD = 64.0, 170.0
"""Pixels of the upright names of queries."""

HEAD_SHARE = 0.4
"""Largest share of the height for names."""

LETTER = 8.0
"""Approximate pixels of a letter of a name."""

LEGEND = 22.0
MAX_CELL = 40.0
MIN_TEXT = 9.0
"""Pixels of a cell from which on names stand beside it."""

PICTURE_CELL = 14.0
MAX_PICTURE = 2400.0


class Frame:
    """The visible part: its first row and column, and the pixels of a cell in both directions."""

    def __init__(self, n_rows: int, n_columns: int) -> None:
        self.n_rows, self.n_columns = max(1, n_rows), max(1, n_columns)
        self.row = self.column = 0.0
        self.cell_x = self.cell_y = 1.0

    def fit(self, width: float, height: float) -> None:
        """Show all of it."""
        self.row = self.column = 0.0
        self.cell_x = min(MAX_CELL, max(1.0, width) / self.n_columns)
        self.cell_y = min(MAX_CELL, max(1.0, height) / self.n_rows)

    def zoom(self, factor: float, at: QPointF, width: float, height: float) -> None:
        """Make cells larger or smaller around a place."""
        column, row = self.column + at.x() / self.cell_x, self.row + at.y() / self.cell_y
        least_x, least_y = width / self.n_columns, height / self.n_rows
        self.cell_x = min(MAX_CELL, max(min(least_x, MAX_CELL), self.cell_x * factor))
        self.cell_y = min(MAX_CELL, max(min(least_y, MAX_CELL), self.cell_y * factor))
        self.column, self.row = column - at.x() / self.cell_x, row - at.y() / self.cell_y
        self.keep_in(width, height)

    def keep_in(self, width: float, height: float) -> None:
        """Move the visible part into the map."""
        self.column = min(max(0.0, self.column), max(0.0, self.n_columns - width / self.cell_x))
        self.row = min(max(0.0, self.row), max(0.0, self.n_rows - height / self.cell_y))


def head_for(names: Sequence[str], height: float) -> float:
    """Return the pixels above the cells for the names of queries."""
    longest = max((len(formatting.short_name(name)) for name in names), default=0)
    return max(MIN_HEAD, min(LETTER * longest + 16, MAX_HEAD, HEAD_SHARE * height))


def paint_map(
    painter: QPainter, area: QRectF, heat: HeatMap, frame: Frame, names: Sequence[str], tokens: theme.Tokens,
    head: float,
) -> None:  # fmt: skip
    """Draw the cells of an area, with names of targets and of queries if they fit."""
    n_rows, n_columns = heat.matrix.shape
    width = min(area.width(), (n_columns - frame.column) * frame.cell_x)
    height = min(area.height(), (n_rows - frame.row) * frame.cell_y)
    size = max(1, math.ceil(width)), max(1, math.ceil(height))
    rows = frame.row, frame.row + size[1] / frame.cell_y
    columns = frame.column, frame.column + size[0] / frame.cell_x
    color = QColor(tokens.surface)
    levels = heat.picture(rows, columns, size)
    pixels = np.ascontiguousarray(ramp(tokens.name == "dark", (color.red(), color.green(), color.blue()))[levels])
    image = QImage(pixels.data, size[0], size[1], 3 * size[0], QImage.Format.Format_RGB888).copy()
    painter.drawImage(area.topLeft(), image)
    painter.setPen(QPen(QColor(tokens.border), 1))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(QRectF(area.left() - 0.5, area.top() - 0.5, size[0] + 1, size[1] + 1))
    _paint_names(painter, area, heat, frame, names, tokens, (width, height), head)


def _paint_names(
    painter: QPainter, area: QRectF, heat: HeatMap, frame: Frame, names: Sequence[str], tokens: theme.Tokens,
    room: tuple[float, float], head: float,
) -> None:  # fmt: skip
    # A line of letters is a little higher than its cell: what hangs below them, as in _, is not cut off.
    whole = Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextDontClip
    font = QFont(painter.font())
    painter.save()
    painter.setPen(QColor(tokens.text))
    if frame.cell_y >= MIN_TEXT:
        font.setPixelSize(int(min(12.0, frame.cell_y)))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        for row in range(
            math.floor(frame.row), min(heat.matrix.shape[0], math.ceil(frame.row + room[1] / frame.cell_y))
        ):
            y = area.top() + (row - frame.row) * frame.cell_y
            text = formatting.short_name(heat.matrix.names[row])
            text = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, NAMES - EDGE - 6)
            if y >= area.top() - 1:
                box = QRectF(area.left() - NAMES, y, NAMES - 6, frame.cell_y)
                painter.drawText(box, int(Qt.AlignmentFlag.AlignRight | whole), text)
    if frame.cell_x >= MIN_TEXT:
        font.setPixelSize(int(min(12.0, frame.cell_x)))
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        last = min(heat.matrix.shape[1], math.ceil(frame.column + room[0] / frame.cell_x))
        for column in range(math.floor(frame.column), last):
            x = area.left() + (column - frame.column) * frame.cell_x
            if x < area.left() - 1:
                continue
            painter.save()
            painter.translate(x + frame.cell_x / 2, area.top() - 4)
            painter.rotate(-90)
            text = metrics.elidedText(formatting.short_name(names[column]), Qt.TextElideMode.ElideMiddle, head - 10)
            box = QRectF(0, -frame.cell_x / 2, head - 8, frame.cell_x)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignLeft | whole), text)
            painter.restore()
    painter.restore()


def paint_legend(painter: QPainter, area: QRectF, heat: HeatMap, tokens: theme.Tokens) -> None:
    """Draw the meaning of the colors."""
    color = QColor(tokens.surface)
    colors = ramp(tokens.name == "dark", (color.red(), color.green(), color.blue()))[1:]
    pixels = np.ascontiguousarray(colors[None, :, :].repeat(10, axis=0))
    image = QImage(pixels.data, 256, 10, 3 * 256, QImage.Format.Format_RGB888).copy()
    painter.setPen(QColor(tokens.muted))
    left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
    painter.drawText(QRectF(area.left(), area.top(), 40, area.height()), left, "0")
    painter.drawImage(QRectF(area.left() + 14, area.center().y() - 5, 128, 10), image)
    words = f"{formatting.score(heat.most)} {heat.matrix.scale} · no color: no hit"
    painter.drawText(QRectF(area.left() + 150, area.top(), area.width() - 150, area.height()), left, words)


class HeatMapView(QWidget):
    """Shows a heat map. Keys: + and - zoom, arrows move, 0 shows all of it."""

    cell_chosen = Signal(int)
    """The id of a hit."""

    def __init__(self) -> None:
        super().__init__()
        PlaceTips(self, self.words_at)
        self.heat: HeatMap | None = None
        self.names: Sequence[str] = ()
        self.frame = Frame(1, 1)
        self.head = MIN_HEAD
        self._pressed: QPointF | None = None
        self._moved, self._fits = False, True
        self.setAccessibleName("Heat map of targets and queries")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(160, 120)

    def sizeHint(self) -> QSize:
        return QSize(600, 320)

    @property
    def area(self) -> QRectF:
        """The area of the cells; names have room where they are legible."""
        left = NAMES if self.frame.cell_y >= MIN_TEXT else 2 * EDGE
        top = self.head if self.frame.cell_x >= MIN_TEXT else EDGE
        width, height = self.width() - left - EDGE, self.height() - top - LEGEND - EDGE
        return QRectF(left, top, max(20.0, width), max(20.0, height))

    def show_map(self, heat: HeatMap, names: Sequence[str]) -> None:
        """Show another matrix with the names of its queries; the zoom stays for the same size."""
        is_same = self.heat is not None and self.heat.matrix.shape == heat.matrix.shape
        self.heat, self.names = heat, names
        self.head = head_for(names, self.height())
        if not is_same:
            self.frame = Frame(*heat.matrix.shape)
            self.fit()
        n_rows, n_columns = heat.matrix.shape
        self.setAccessibleDescription(f"{n_rows} targets, {n_columns} queries, {len(heat.matrix.hits)} hits")
        self.update()

    def fit(self) -> None:
        """Show all of it."""
        self._fits = True
        for _ in range(2):  # whether there is room for names decides how much there is for cells
            self.frame.fit(self.area.width(), self.area.height())
        self.update()

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        """Enlarge or reduce cells around a place of the widget, by default the center."""
        self._fits = False
        area = self.area
        place = (at or area.center()) - area.topLeft()
        self.frame.zoom(factor, place, area.width(), area.height())
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.head = head_for(self.names, self.height())
        if self._fits:
            self.fit()
        self.frame.keep_in(self.area.width(), self.area.height())
        super().resizeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens = QPainter(self), theme.current()
        painter.fillRect(self.rect(), QColor(tokens.surface))
        if self.heat is None or not len(self.heat.matrix.hits):
            return
        paint_map(painter, self.area, self.heat, self.frame, self.names, tokens, self.head)
        left = self.area.left()
        legend = QRectF(left, self.height() - LEGEND - 2, self.width() - left, LEGEND)
        paint_legend(painter, legend, self.heat, tokens)

    def cell_at(self, place: QPointF) -> tuple[int, int] | None:
        """Return row and column under a place."""
        if self.heat is None or not self.area.contains(place):
            return None
        inside = place - self.area.topLeft()
        row = math.floor(self.frame.row + inside.y() / self.frame.cell_y)
        column = math.floor(self.frame.column + inside.x() / self.frame.cell_x)
        return (row, column) if row < self.heat.matrix.shape[0] and column < self.heat.matrix.shape[1] else None

    def _hit_at(self, place: QPointF) -> int | None:
        cell = self.cell_at(place)
        if cell is None or self.heat is None:
            return None
        found = self.heat.hit_at(*cell)
        if found is None and self.frame.cell_x < 4:  # a pixel has many cells: the nearest one that is a hit
            near = [(cell[0] + down, cell[1] + across) for down in range(-3, 4) for across in range(-3, 4)]
            found = next((hit for one in near if (hit := self.heat.hit_at(*one)) is not None), None)
        return found

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed, self._moved = event.position(), False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        step = event.position() - self._pressed
        if self._moved or step.manhattanLength() > 4:
            self._moved, self._pressed = True, event.position()
            self._shift(-step.x(), -step.y())

    def _shift(self, x: float, y: float) -> None:
        self._fits = False
        self.frame.column += x / self.frame.cell_x
        self.frame.row += y / self.frame.cell_y
        self.frame.keep_in(self.area.width(), self.area.height())
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if not self._moved:
            found = self._hit_at(event.position())
            if found is not None and self.heat is not None:
                self.cell_chosen.emit(int(self.heat.matrix.hits[found]))
        self._pressed = None

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            turn = event.angleDelta()
            self._shift(-(turn.x() or turn.y()) / 2, 0)
        else:
            self.zoom(1.25 if event.angleDelta().y() > 0 else 0.8, event.position())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        ways = {Qt.Key.Key_Left: (-60, 0), Qt.Key.Key_Right: (60, 0), Qt.Key.Key_Up: (0, -60), Qt.Key.Key_Down: (0, 60)}
        if key in ways:
            self._shift(*ways[key])
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.zoom(0.8 if key == Qt.Key.Key_Minus else 1.25)
        elif key == Qt.Key.Key_0:
            self.fit()
        else:
            super().keyPressEvent(event)

    def words_at(self, place: QPointF) -> str:
        """Return the tooltip for a cell."""
        found, cell = self._hit_at(place), self.cell_at(place)
        if cell is None or self.heat is None:
            return ""
        matrix = self.heat.matrix
        row, column = cell if found is None else matrix.places[found].tolist()
        text = "no hit"
        if found is not None:
            text, evalue = formatting.score(float(matrix.scores[found])), float(matrix.evalues[found])
            text += " raw" if math.isnan(evalue) else f" bits · E {formatting.evalue(evalue)}"
        return f"{matrix.names[row]}\n{self.names[column]}\n{text}"


class HeatMapPicture:
    """The whole matrix as a picture, with names where they are legible."""

    def __init__(self, heat: HeatMap, names: Sequence[str], title: str) -> None:
        self.heat, self.names, self.title, self.n_rows = heat, names, title, 1
        self.frame = Frame(*heat.matrix.shape)
        n_rows, n_columns = heat.matrix.shape
        self.frame.cell_x = min(PICTURE_CELL, MAX_PICTURE / max(1, n_columns))
        self.frame.cell_y = min(PICTURE_CELL, MAX_PICTURE / max(1, n_rows))
        self.head = head_for(names, math.inf)
        self.width = NAMES + max(240.0, n_columns * self.frame.cell_x) + 2 * EDGE
        self._height = n_rows * self.frame.cell_y

    def height(self, n_rows: int) -> float:
        """Return the pixels of the picture."""
        return 24 + self.head + self._height + LEGEND + 3 * EDGE

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw it."""
        font = QFont(painter.font())
        font.setPixelSize(12)
        painter.setFont(font)
        painter.setPen(QColor(theme.LIGHT.text))
        painter.drawText(QRectF(EDGE, EDGE, self.width, 20), int(Qt.AlignmentFlag.AlignLeft), self.title)
        area = QRectF(NAMES, 24 + self.head, self.width - NAMES - EDGE, self._height)
        paint_map(painter, area, self.heat, self.frame, self.names, theme.LIGHT, self.head)
        paint_legend(painter, QRectF(NAMES, area.bottom() + EDGE, self.width, LEGEND), self.heat, theme.LIGHT)
