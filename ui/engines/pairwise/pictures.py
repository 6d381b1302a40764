"""The alignment of two sequences, and their dot plot, as pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QPainter

from clalign.compute.sessions import no_check
from clalign.values.documents import Card
from clalign.values.hits import Hit

from ... import formatting, theme
from ...models.alignment.alignment_layout import Line
from ...views.alignment.alignment_view import LinePainter
from .dot_painter import DotStyle, axes_room, dot_image, frame_of, is_coarse, paint_dots, part_around, shrinking, whole
from .dot_plot import DotPlot
from .layout import PairLines

EDGE, HEAD = 16.0, 24.0

PICTURE_COLUMNS = 60
NAME_LETTERS = 24
LETTER_POINTS = 9

DOT_PLOT_SIDE = 620.0

MAX_COLUMNS = 20_000
"""Columns of an alignment in a picture without pages; viewers fail on larger ones."""


def too_long(hit: Hit, path: str) -> str:
    """Return why the alignments of a hit are too long for a kind of picture; empty if they are not."""
    n_columns = sum(len(domain.states) for domain in hit.domains)
    kind = Path(path).suffix.lower().removeprefix(".")
    if n_columns <= MAX_COLUMNS or kind == "pdf":
        return ""
    return (
        f"{formatting.count(n_columns)} columns are too many for a picture without pages: viewers could not open it."
        " Save it as PDF, which has pages, or copy the alignment as text."
    )


def blocks_of(lines: Iterable[Line]) -> list[list[Line]]:
    """Return lines in blocks: the titles, then each wrapped part."""
    blocks: list[list[Line]] = [[]]
    for line in lines:
        begins = line.kind == "ruler" or (line.kind == "title" and (not blocks[-1] or blocks[-1][-1].kind != "title"))
        if begins and blocks[-1]:
            blocks.append([])
        blocks[-1].append(line)
    return [block for block in blocks if block]


class AlignmentPicture:
    """All alignments of a hit, wrapped."""

    def __init__(self, hit: Hit, card: Card, nucleic: bool, scheme: str) -> None:
        self.title = f"{card['name']} and {hit.name}"
        self._lines = LinePainter(theme.mono_font(LETTER_POINTS), QFont())
        self._lines.scheme, self._lines.nucleic, self._lines.colors = scheme, nucleic, theme.LIGHT
        longest = max(int(card["length"]), hit.length)
        self._lines.make_room([str(card["name"]), hit.name], NAME_LETTERS, longest)
        self._blocks = blocks_of(PairLines(hit, card, PICTURE_COLUMNS))
        self.n_rows = len(self._blocks)
        self._row = max(map(self._lines.height_of, self._blocks))
        self.width = self._lines.margin + (PICTURE_COLUMNS + self._lines.after) * self._lines.cell + 2 * EDGE

    def height(self, n_rows: int) -> float:
        """Return the pixels that blocks need, title included."""
        return EDGE + HEAD + n_rows * self._row + EDGE

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw some blocks."""
        font = QFont(painter.font())
        painter.setPen(QColor(theme.LIGHT.text))
        painter.drawText(QPointF(EDGE, EDGE + 12), self.title)
        for place, block in enumerate(self._blocks[first : first + n_rows]):
            for number, line in enumerate(block):
                y = EDGE + HEAD + place * self._row + self._lines.height_of(block[:number])
                self._lines.paint(painter, line, EDGE, y)
        painter.setFont(font)


class DotPicture:
    """The visible part of a dot plot."""

    n_rows = 1

    def __init__(self, plot: DotPlot, least: int, shown: QRectF | None = None) -> None:
        self.title = f"{plot.query_name} and {plot.target_name}"
        self.width = DOT_PLOT_SIDE + 2 * EDGE
        self._plot, self._shown, self._style = plot, shown or whole(plot), DotStyle(theme.LIGHT, least)
        self._frame = frame_of(QRectF(0, 0, DOT_PLOT_SIDE, DOT_PLOT_SIDE), self._shown)

    def height(self, n_rows: int) -> float:
        """Return the pixels of the plot, title included."""
        room = axes_room()
        return EDGE + HEAD + room.top() + self._frame.height() + room.bottom() + EDGE

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw the plot."""
        painter.setPen(QColor(theme.LIGHT.text))
        painter.drawText(QPointF(EDGE, EDGE + 12), self.title)
        area = QRectF(EDGE, EDGE + HEAD, DOT_PLOT_SIDE, DOT_PLOT_SIDE)
        plots = [self._plot]
        if self._plot.closer is not None and is_coarse(self._plot, self._frame, self._shown):
            plots.append(self._plot.closer(*part_around(self._plot, self._shown), no_check))
        images = [dot_image(plot, self._style, shrinking(plot, self._frame, self._shown)) for plot in plots]
        paint_dots(painter, area, self._plot, images, self._shown, self._style)
