"""The geometry of an alignment of many rows on the screen: its visible part, scrolling and zooming."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractScrollArea

from ... import theme
from ...models.alignment.rows_view import RowsView, Selection
from .rows_painter import (
    EDGE,
    MIN_LETTER,
    RULER,
    RowsStyle,
    Span,
    paint_names,
    paint_rows,
    paint_ruler,
    paint_selection,
    shown_name,
    span,
)
from .rows_tracks import TRACKS, Track, height_of, paint_track_names, paint_tracks, track_at, tracks_above, tracks_below

CELL, HEIGHT = 11.0, 18.0

CELLS = (0.125, 0.25, 0.5, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20, 24, 32)
HEIGHTS = (0.125, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 18, 22, 26, 32, 40)
"""Steps of the zoom; the smallest ones fit a whole alignment in."""

BLOCK_GAP = 22.0
"""Pixels between the blocks of a wrapped alignment."""

LEADING_COLUMNS = 2
"""Visible columns before the one where an alignment begins."""

MIN_ROWS = 6
"""Rows that are visible above the tracks, if there are as many."""

MAX_PIXELS = 2**30
"""Range of a scroll bar."""

MIN_NAMES, MAX_NAMES = 60.0, 600.0
GRIP = 5.0
"""Pixels beside the edge of the names where it can be dragged."""


class Place(NamedTuple):
    """A place under the pointer: `part` is ``cells``, ``names``, ``ruler``, ``edge``, ``track`` or empty."""

    part: str
    row: int = 0
    column: int = 0
    track: Track | None = None


class Block(NamedTuple):
    """Some columns with all rows as they are laid out; pixels from the top of the viewport."""

    top: float
    first: int
    n_columns: int
    rows_top: float
    rows_height: float
    row_offset: float


class RowsArea(QAbstractScrollArea):
    """Shows the visible part of a `RowsView`."""

    view_moved = Signal()
    described = Signal(str)

    def __init__(self, view: RowsView) -> None:
        super().__init__()
        self.view = view
        self.cell, self.height_ = CELL, HEIGHT
        self.names = 0.0
        self.tracks: tuple[str, ...] = tuple(TRACKS)
        self.beside: tuple[str, ...] = ()
        self.wrapped = self.is_whole = False
        self._before: tuple[float, float, int, int] = (CELL, HEIGHT, 0, 0)  # sizes and place
        self._dragged = ""
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.viewport().setMouseTracking(True)
        self.setAccessibleName("Alignment")
        self.setAccessibleDescription(view.summary())
        self.setMinimumSize(240, 100)
        for bar in (self.horizontalScrollBar(), self.verticalScrollBar()):
            bar.valueChanged.connect(lambda _: self.view_moved.emit())
        view.changed.connect(self.viewport().update)
        view.measured.connect(self.viewport().update)
        view.order_changed.connect(self.arrange)
        view.found_changed.connect(self.viewport().update)
        view.moved.connect(self._follow_cursor)
        self.fit_names()

    def sizeHint(self) -> QSize:
        return QSize(800, 500)

    # --- layout ---

    @property
    def style_(self) -> RowsStyle:
        """The present style."""
        return RowsStyle(theme.current(), self.cell, self.height_, self.names, self.beside, self.devicePixelRatioF())

    def fit_names(self) -> None:
        """Fit the width of the names to the longest of the first ones, within limits."""
        metrics = self.fontMetrics()
        names = (shown_name(self.view, row) for row in range(min(500, self.view.n_rows)))
        longest = max(map(metrics.horizontalAdvance, names), default=0)
        self.names = min(260.0, max(110.0, longest + EDGE + 10.0)) + 52.0 * len(self.beside)
        self.arrange()

    @property
    def room(self) -> QRectF:
        """The area of the cells."""
        size = self.viewport().size()
        top, bottom = self.head, self.foot
        free = max(20.0, size.height() - top - bottom)
        used = min(free, self.view.n_rows * self.height_)
        return QRectF(self.names, top, max(20.0, size.width() - self.names), used)

    @property
    def head(self) -> float:
        """Pixels above the rows."""
        return RULER + height_of(tracks_above(self.view))

    @property
    def fitting(self) -> tuple[str, ...]:
        """The tracks that fit below a few rows; blocks of a wrapped alignment are scrolled instead."""
        shown = self.tracks
        room = self.viewport().height() - self.head - min(self.view.n_rows, MIN_ROWS) * self.height_
        while shown and not self.wrapped and height_of(tracks_below(shown)) + 4.0 > room:
            shown = tuple(key for key in TRACKS if key in shown)[:-1]
        return shown

    @property
    def foot(self) -> float:
        """Pixels below the rows."""
        shown = self.fitting
        return height_of(tracks_below(shown)) + 4.0 if shown else 0.0

    @property
    def per_block(self) -> int:
        """Columns of each block of a wrapped alignment."""
        fitting = int((self.viewport().width() - self.names - EDGE) // max(self.cell, 0.1))
        return max(10, fitting // 10 * 10 if fitting >= 20 else fitting)

    @property
    def block_height(self) -> float:
        """Pixels of a block and the gap below it."""
        return self.head + self.view.n_rows * self.height_ + self.foot + BLOCK_GAP

    @property
    def n_blocks(self) -> int:
        """Blocks of a wrapped alignment."""
        return max(1, math.ceil(self.view.n_columns / self.per_block))

    def wrapping_obstacle(self) -> str:
        """Return why it cannot be wrapped; empty if it can."""
        too_high = self.n_blocks * self.block_height > MAX_PIXELS
        return "Wrapped at this size it is too long to be scrolled. Make columns narrower first." if too_high else ""

    def arrange(self) -> None:
        """Fit the scroll bars to what is shown."""
        across, down = self.horizontalScrollBar(), self.verticalScrollBar()
        if self.is_whole:
            self._take_fitting_sizes()
        room = self.room
        if self.wrapped and self.wrapping_obstacle():
            self.wrapped = False
        if self.wrapped:
            across.setRange(0, 0)
            height = self.viewport().height()
            down.setRange(0, max(0, math.ceil(self.n_blocks * self.block_height - BLOCK_GAP - height)))
            down.setPageStep(max(1, height))
        else:
            across.setRange(0, max(0, math.ceil(self.view.n_columns * self.cell - room.width())))
            across.setPageStep(max(1, int(room.width())))
            down.setRange(0, max(0, math.ceil(self.view.n_rows * self.height_ - room.height())))
            down.setPageStep(max(1, int(room.height())))
        across.setSingleStep(max(1, round(self.cell)))
        down.setSingleStep(max(1, round(self.height_)))
        self.viewport().update()
        self.view_moved.emit()

    def blocks(self) -> list[Block]:
        """Return the visible blocks; without wrapping the only one."""
        view, height = self.view, self.viewport().height()
        if not self.wrapped:
            room = self.room
            first = int(self.horizontalScrollBar().value() / self.cell)
            return [
                Block(0.0, first, view.n_columns, room.top(), room.height(), float(self.verticalScrollBar().value()))
            ]
        made, per, high = [], self.per_block, self.block_height
        offset = self.verticalScrollBar().value()
        for number in range(int(offset // high), self.n_blocks):
            top = number * high - offset
            if top > height:
                break
            n_columns = min(per, view.n_columns - number * per)
            made.append(Block(top, number * per, n_columns, top + self.head, view.n_rows * self.height_, 0.0))
        return made

    def _columns(self, block: Block) -> tuple[Span, float]:
        """Return the columns of a visible block, and the pixel of the first of all columns."""
        if not self.wrapped:
            offset = float(self.horizontalScrollBar().value())
            return span(offset, self.room.width(), self.cell, self.view.n_columns), offset
        offset = block.first * self.cell
        return span(offset, block.n_columns * self.cell - 0.5, self.cell, block.first + block.n_columns), offset

    # --- painting ---

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        colors = theme.current()
        painter.fillRect(self.viewport().rect(), QColor(colors.surface))
        for block in self.blocks():
            self._paint_block(painter, block)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(self.names - 0.5, 0), QPointF(self.names - 0.5, self.viewport().height()))
        if self.hasFocus():
            painter.setPen(QPen(QColor(colors.accent), 1))
            painter.drawRect(self.viewport().rect().adjusted(0, 0, -1, -1))

    def _paint_block(self, painter: QPainter, block: Block) -> None:
        view, style, size = self.view, self.style_, self.viewport().size()
        columns, offset = self._columns(block)
        bottom = min(block.rows_top + block.rows_height, size.height())
        visible = QRectF(self.names, max(block.rows_top, 0.0), size.width() - self.names, 0.0)
        visible.setBottom(bottom)
        hidden = block.row_offset + visible.top() - block.rows_top
        rows = span(hidden, visible.height(), self.height_, view.n_rows)
        above, below = tracks_above(view), tracks_below(self.fitting)
        painter.save()
        painter.setClipRect(QRectF(self.names, 0, size.width() - self.names, size.height()))
        head = QRectF(self.names, block.top, visible.width(), RULER)
        paint_ruler(painter, head, columns, style, view.n_columns)
        paint_tracks(painter, head.translated(0, RULER), view, above, columns, style)
        foot = QRectF(self.names, block.rows_top + block.rows_height, visible.width(), self.foot)
        paint_tracks(painter, foot, view, below, columns, style)
        painter.setClipRect(visible)
        paint_rows(painter, visible, view, rows, columns, style)
        self._paint_marks(painter, visible, (hidden, self.height_), (offset, self.cell))
        painter.restore()
        painter.save()
        painter.setClipRect(QRectF(0, visible.top(), self.names, visible.height()))
        paint_names(painter, QRectF(0, visible.top(), self.names, visible.height()), view, rows, style)
        painter.restore()
        paint_track_names(painter, QRectF(0, block.top + RULER, self.names, 0), above, style)
        paint_track_names(painter, QRectF(0, foot.top(), self.names, 0), below, style)

    def _paint_marks(
        self, painter: QPainter, area: QRectF, rows: tuple[float, float], columns: tuple[float, float]
    ) -> None:
        view, style = self.view, self.style_
        self._paint_linked(painter, area, rows, columns)
        if view.selection is not None:
            paint_selection(painter, area, view.selection, rows, columns, style)
        now = view.found_now()
        if now is not None and now[2] > now[1]:
            here = Selection(range(now[0], now[0] + 1), range(now[1], now[2]))
            paint_selection(painter, area, here, rows, columns, style, is_filled=False)
        if self.hasFocus():
            row, column = view.cursor
            x, y = area.left() + column * columns[1] - columns[0], area.top() + row * rows[1] - rows[0]
            painter.setPen(QPen(QColor(style.colors.text), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(QRectF(x, y, max(2.0, columns[1]), max(2.0, rows[1])))

    def _paint_linked(
        self, painter: QPainter, area: QRectF, rows: tuple[float, float], columns: tuple[float, float]
    ) -> None:
        """Frame cells that correspond to cells elsewhere."""
        numbers, places = self.view.linked
        if not len(numbers):
            return
        at = np.empty(self.view.alignment.n_rows, np.int64)
        at[self.view.order] = np.arange(len(self.view.order))
        x, y = area.left() + places * columns[1] - columns[0], area.top() + at[numbers] * rows[1] - rows[0]
        seen = (x > area.left() - columns[1]) & (x < area.right()) & (y > area.top() - rows[1]) & (y < area.bottom())
        size = max(2.0, columns[1]), max(2.0, rows[1])
        painter.setPen(QPen(QColor(self.style_.colors.stop), 1.5))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRects([QRectF(a, b, *size) for a, b in zip(x[seen].tolist(), y[seen].tolist(), strict=True)])

    # --- where things are ---

    def place_at(self, at: QPointF) -> Place:
        """Return the place at a point of the viewport."""
        view = self.view
        if abs(at.x() - self.names) <= GRIP:
            return Place("edge")
        for block in self.blocks():
            if at.y() < block.top or at.y() >= block.rows_top + block.rows_height + self.foot:
                continue
            _, offset = self._columns(block)
            column = int((at.x() - self.names + offset) // self.cell)
            is_inside = at.x() >= self.names and column < (
                block.first + block.n_columns if self.wrapped else view.n_columns
            )
            column = min(max(column, 0), view.n_columns - 1)
            if at.y() < block.top + RULER:
                return Place("ruler" if is_inside else "", 0, column)
            if at.y() < block.rows_top:
                return Place("track", 0, column, track_at(tracks_above(view), at.y() - block.top - RULER))
            bottom = block.rows_top + block.rows_height
            if at.y() >= bottom:
                return Place("track", 0, column, track_at(tracks_below(self.fitting), at.y() - bottom))
            row = min(view.n_rows - 1, int((at.y() - block.rows_top + block.row_offset) // self.height_))
            part = "names" if at.x() < self.names else "cells" if is_inside else ""
            return Place(part, row, column)
        return Place("")

    def shown_columns(self) -> range:
        """Return the visible columns."""
        if self.wrapped:
            blocks = self.blocks()
            return range(blocks[0].first, blocks[-1].first + blocks[-1].n_columns)
        offset, room = self.horizontalScrollBar().value(), self.room.width()
        return range(int(offset // self.cell), min(self.view.n_columns, math.ceil((offset + room) / self.cell)))

    def shown_rows(self) -> range:
        """Return the visible rows."""
        if self.wrapped:
            return range(self.view.n_rows)
        offset, room = self.verticalScrollBar().value(), self.room.height()
        first = int(offset // self.height_)
        return range(first, min(self.view.n_rows, math.ceil((offset + room) / self.height_)))

    def show_middle(self, column: float, row: float) -> None:
        """Center a place, given as shares of columns and rows."""
        room = self.room
        if self.wrapped:
            block = int(column * self.view.n_columns / self.per_block)
            self.verticalScrollBar().setValue(int(block * self.block_height))
            return
        self.horizontalScrollBar().setValue(int(column * self.view.n_columns * self.cell - room.width() / 2))
        self.verticalScrollBar().setValue(int(row * self.view.n_rows * self.height_ - room.height() / 2))

    def begin_at(self, column: int) -> None:
        """Scroll to a column, with a few columns before it."""
        self.horizontalScrollBar().setValue(int((column - LEADING_COLUMNS) * self.cell))

    def _follow_cursor(self) -> None:
        """Scroll to the cursor."""
        row, column = self.view.cursor
        now = self.view.found_now()
        room, across, down = self.room, self.horizontalScrollBar(), self.verticalScrollBar()
        if self.wrapped:
            top = column // self.per_block * self.block_height + self.head + row * self.height_
            if not down.value() <= top <= down.value() + self.viewport().height() - self.height_:
                down.setValue(int(top - self.viewport().height() / 3))
        else:
            end = now[2] if now is not None and now[0] == row and now[1] == column else column + 1
            x, width = column * self.cell, (end - column) * self.cell
            if not across.value() <= x <= across.value() + room.width() - min(width, room.width() / 2):
                far = abs(x - across.value()) > 2 * room.width() or width > 2 * self.cell
                left, right = x, x + self.cell - room.width()
                across.setValue(int(x - room.width() / 3 if far else left if x < across.value() else math.ceil(right)))
            y = row * self.height_
            if y < down.value():
                down.setValue(int(y))
            elif y + self.height_ > down.value() + room.height():
                down.setValue(math.ceil(y + self.height_ - room.height()))
        self.described.emit(" · ".join(self.view.describe(row, column)))
        self.viewport().update()

    # --- zoom ---

    def zoom(self, steps: int, at: QPointF | None = None) -> None:
        """Widen or narrow columns around a place, by default the center; 0 restores all sizes."""
        self.is_whole = False
        if steps == 0:
            self.height_ = HEIGHT
        self._resize_columns(stepped(CELLS, self.cell, steps) if steps else CELL, at)

    def zoom_rows(self, steps: int, at: QPointF | None = None) -> None:
        """Raise or lower the height of rows around a place, by default the center."""
        self.is_whole = False
        room, bar = self.room, self.verticalScrollBar()
        y = min(max((at.y() if at is not None else room.center().y()) - room.top(), 0.0), room.height())
        row = (bar.value() + y) / self.height_
        self.height_ = stepped(HEIGHTS, self.height_, steps)
        self.arrange()
        if not self.wrapped:
            bar.setValue(round(row * self.height_ - y))

    def _resize_columns(self, size: float, at: QPointF | None) -> None:
        room, bar = self.room, self.horizontalScrollBar()
        x = min(max((at.x() if at is not None else room.center().x()) - room.left(), 0.0), room.width())
        column = (bar.value() + x) / self.cell
        self.cell = size
        self.arrange()
        bar.setValue(round(column * self.cell - x))

    def fit(self) -> None:
        """Show the whole alignment, and keep it whole when it or its room changes, until sizes are chosen."""
        if not self.is_whole:
            self._before = self.cell, self.height_, self.horizontalScrollBar().value(), self.verticalScrollBar().value()
        self.wrapped, self.is_whole = False, True
        self.arrange()

    def leave_whole(self) -> None:
        """Show what was in view before the whole alignment."""
        self.cell, self.height_, right, down = self._before
        self.is_whole = False
        self.arrange()
        self.horizontalScrollBar().setValue(right)
        self.verticalScrollBar().setValue(down)

    def _take_fitting_sizes(self) -> None:
        """Give columns and rows the sizes with which all of them are seen."""
        room = self.viewport().size()
        width, height = max(40.0, room.width() - self.names - 2), max(40.0, room.height() - self.head - self.foot)
        self.cell = _fitting(width / self.view.n_columns)
        self.height_ = min(_fitting(height / self.view.n_rows), HEIGHT)

    def set_wrapped(self, wrapped: bool) -> None:
        """Show blocks of columns below each other, or a single one."""
        first = self.shown_columns().start
        self.wrapped, self.is_whole = wrapped, False
        self.arrange()
        self.show_middle(first / max(1, self.view.n_columns), 0.0)
        if not self.wrapped:
            self.horizontalScrollBar().setValue(round(first * self.cell))

    def set_tracks(self, tracks: tuple[str, ...]) -> None:
        """Choose the tracks below the rows."""
        self.tracks = tracks
        self.arrange()

    def set_beside(self, beside: tuple[str, ...]) -> None:
        """Choose the facts beside the names."""
        self.names = min(MAX_NAMES, max(MIN_NAMES, self.names + 52.0 * (len(beside) - len(self.beside))))
        self.beside = beside
        self.arrange()


def stepped(sizes: tuple[float, ...], size: float, steps: int) -> float:
    """Return the size some steps above or below a size."""
    if steps > 0:
        return next((other for other in sizes if other > size * 1.001), max(size, sizes[-1]))
    return next((other for other in reversed(sizes) if other < size * 0.999), min(size, sizes[0]))


def _fitting(size: float) -> float:
    """Return a size of whole pixels, unless it is too small for letters."""
    return float(min(int(size), 32)) if size >= MIN_LETTER[0] else size
