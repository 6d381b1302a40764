"""An alignment as a picture: blocks of columns with names, ruler, tracks and the legend of its colors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter

from ... import formatting, theme
from ...models.alignment.rows_view import RowsView, Selection
from .rows_overview import legend_height, paint_legend
from .rows_painter import EDGE, LEFT, RULER, RowsStyle, paint_names, paint_rows, paint_ruler, shown_name, span
from .rows_tracks import height_of, paint_track_names, paint_tracks, tracks_above, tracks_below

HEAD, BETWEEN = 26.0, 16.0

POINTS = 11
"""Pixels of the letters of names and numbers."""


@dataclass(frozen=True, slots=True)
class RowsChoices:
    """The drawn part of an alignment.

    Attributes
    ----------
    part : Selection
        Rows as they are shown, and columns.
    per_block : int
        Columns beside each other.
    cell, height : float
        Size of the cells in pixels.
    tracks : tuple of str
    with_names, with_ruler, with_notes, with_legend : bool
        Whether they are drawn; the notes are the annotation of the file.
    is_vector : bool
        Whether letters are letters.
    millimeters : float
        How wide it is.
    """

    part: Selection
    per_block: int
    cell: float = 9.0
    height: float = 14.0
    tracks: tuple[str, ...] = ()
    with_names: bool = True
    with_ruler: bool = True
    with_notes: bool = True
    with_legend: bool = True
    is_vector: bool = True
    millimeters: float = 180.0


class RowsPicture:
    """An alignment in blocks; a long one fills several pages of a PDF.

    Parameters
    ----------
    view : RowsView
        Its present state; later changes do not matter.
    choices : RowsChoices
    title : str
    """

    def __init__(self, view: RowsView, choices: RowsChoices, title: str) -> None:
        self.view, self.choices, self.title = view.frozen(), choices, title
        columns, per = choices.part.columns, max(1, choices.per_block)
        self.blocks = [columns[begin : begin + per] for begin in range(0, len(columns), per)]
        self.n_rows = len(self.blocks)
        names = self._names_width() if choices.with_names else 0.0
        self.style = RowsStyle(theme.LIGHT, choices.cell, choices.height, names, scale=2.0, is_vector=choices.is_vector)
        self.above = tracks_above(self.view) if choices.with_notes else []
        self.below = tracks_below(choices.tracks)
        self.width = names + min(per, len(columns)) * choices.cell + 2 * EDGE
        self._legend = self._legend_height() if choices.with_legend else 0.0

    def _font(self, font: QFont | None = None) -> QFont:
        made = QFont(font or QFont())
        made.setPixelSize(POINTS)
        return made

    def _names_width(self) -> float:
        metrics = QFontMetricsF(self._font())
        rows = self.choices.part.rows
        names = (shown_name(self.view, self.view.row_at(place)) for place in rows[:5000])
        tracks = [track.name for track in (*tracks_above(self.view), *tracks_below(self.choices.tracks))]
        longest = max((metrics.horizontalAdvance(name) for name in (*names, *tracks)), default=0.0)
        return min(320.0, longest + EDGE + 12)

    def _legend_height(self) -> float:
        legend = self.view.coloring.legend
        return legend_height(QFontMetricsF(self._font()), legend, self.width - 2 * EDGE) + 8 if legend else 0.0

    @property
    def block_height(self) -> float:
        """Pixels of a block."""
        head = RULER if self.choices.with_ruler else 0.0
        rows = len(self.choices.part.rows) * self.choices.height
        return head + height_of(self.above) + rows + height_of(self.below)

    def height(self, n_rows: int) -> float:
        """Return the pixels that blocks need, title and legend included."""
        return EDGE + HEAD + n_rows * (self.block_height + BETWEEN) - BETWEEN + self._legend + 2 * EDGE

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw some blocks below the title, and the legend below them."""
        painter.setFont(self._font(painter.font()))
        painter.setPen(QColor(theme.LIGHT.text))
        painter.drawText(QRectF(EDGE, EDGE, self.width - 2 * EDGE, HEAD - 8), int(LEFT), self.title)
        y = EDGE + HEAD
        shown = self.blocks[first : first + n_rows]
        for columns in shown:
            self._paint_block(painter, y, columns)
            y += self.block_height + BETWEEN
        if self._legend:
            area = QRectF(EDGE, y - BETWEEN + 8, self.width - 2 * EDGE, self._legend)
            paint_legend(painter, area, self.view.coloring.legend, theme.LIGHT)

    def _paint_block(self, painter: QPainter, y: float, chosen: range) -> None:
        view, style, rows = self.view, self.style, self.choices.part.rows
        left = EDGE / 2 + style.names
        columns = span(chosen.start * style.cell, len(chosen) * style.cell - 0.01, style.cell, chosen.stop)
        shown = span(rows.start * style.height, len(rows) * style.height - 0.01, style.height, rows.stop)
        width, height = len(chosen) * style.cell, math.ceil(len(rows) * style.height)
        if self.choices.with_ruler:
            paint_ruler(painter, QRectF(left, y, width, RULER), columns, style, view.n_columns)
            y += RULER
        paint_tracks(painter, QRectF(left, y, width, 0), view, self.above, columns, style)
        below = y + height_of(self.above) + len(rows) * style.height
        area = QRectF(left, y + height_of(self.above), width, height)
        paint_rows(painter, area, view, shown, columns, style)
        paint_tracks(painter, QRectF(left, below, width, 0), view, self.below, columns, style)
        if style.names:
            paint_names(painter, QRectF(0, area.top(), style.names, height), view, shown, style)
            paint_track_names(painter, QRectF(0, y, style.names, 0), self.above, style)
            paint_track_names(painter, QRectF(0, below, style.names, 0), self.below, style)


def picture_title(name: str, view: RowsView, part: Selection) -> str:
    """Return the title of a picture: the alignment, and its drawn part."""
    rows, columns = formatting.plural(len(part.rows), "row"), formatting.plural(len(part.columns), "column")
    whole = len(part.columns) == view.n_columns
    where = "" if whole else f" ({part.columns.start + 1} to {part.columns.stop})"
    return f"{name} – {rows}, {columns}{where}, colors: {view.coloring.name}"
