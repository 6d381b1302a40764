"""Draws logos, on the screen and in PNG, SVG and PDF files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from clalign.values.axes import linear_ticks

from ... import theme
from ...residue_colors import background_of
from ...views.charts.letter_paths import paint_letter
from .logo_figure import FigureRow, LogoFigure

MARGIN = 104.0
"""Pixels for the axis and the names of the rows."""

RULER, LINE, ROW = 18.0, 17.0, 18.0
"""Heights of the numbers, of a row of letters and of a row of cells."""

GAP = 3.0
"""Pixels between letters and cells."""

MIN_LETTER = 1.2
"""Pixels of height below which a letter is drawn as a bar."""

MIN_LETTER_CELL = 7.0
"""Pixels of width below which all letters are bars, and small ones are omitted."""

TEXT_WIDTH = 21.0
"""Pixels of width from which on cells show their numbers."""

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTER = Qt.AlignmentFlag.AlignCenter


@dataclass(frozen=True, slots=True)
class LogoStyle:
    """Colors and sizes of a logo.

    Attributes
    ----------
    colors : Tokens
    scheme : str
        Of the residues.
    cell : float
        Width of a node in pixels.
    with_rows : bool
        Whether occupancy and insertions are drawn.
    """

    colors: theme.Tokens
    scheme: str = "clustal"
    cell: float = 22.0
    with_rows: bool = True


def extra_height(figure: LogoFigure, with_rows: bool) -> float:
    """Return the pixels of a block beside those of its letters."""
    annotations = LINE * (2 if figure.structure else 1)
    return RULER + annotations + (GAP + ROW * len(figure.rows) if with_rows else 0)


def paint_block(
    painter: QPainter, area: QRectF, figure: LogoFigure, nodes: range, style: LogoStyle, shift: float = 0.0,
    chosen: int | None = None,
) -> None:  # fmt: skip
    """Draw consecutive nodes.

    Parameters
    ----------
    area : QRectF
        With the margin at its left.
    nodes : range
        Counted from 0.
    shift : float
        Pixels by which the first node is hidden behind the margin.
    chosen : int, optional
        A node that is marked.
    """
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    letters = area.adjusted(MARGIN, RULER, 0, RULER - extra_height(figure, style.with_rows))
    painter.save()
    painter.setClipRect(area.adjusted(MARGIN, 0, 0, 0))
    left = letters.left() - shift
    if chosen is not None and chosen in nodes:
        mark = QRectF(left + (chosen - nodes.start) * style.cell, area.top(), style.cell, area.height())
        painter.fillRect(mark, QColor(style.colors.selected))
    _paint_guides(painter, letters, figure, style)
    for place, node in enumerate(nodes):
        column = QRectF(left + place * style.cell, letters.top(), style.cell, letters.height())
        _paint_stack(painter, column, figure, node, style)
    _paint_ruler(painter, area.top(), left, nodes, style)
    _paint_texts(painter, letters.bottom(), left, figure, nodes, style)
    painter.restore()
    _paint_axis(painter, letters, figure, style)
    painter.restore()


def _level(area: QRectF, figure: LogoFigure, bits: float) -> float:
    return area.bottom() - (bits - figure.bottom) / (figure.top - figure.bottom) * area.height()


def _paint_guides(painter: QPainter, area: QRectF, figure: LogoFigure, style: LogoStyle) -> None:
    for bits in (figure.bottom, 0.0):
        painter.setPen(QPen(QColor(style.colors.border), 1))
        level = _level(area, figure, bits)
        painter.drawLine(QPointF(area.left(), level), QPointF(area.right(), level))


def _paint_axis(painter: QPainter, area: QRectF, figure: LogoFigure, style: LogoStyle) -> None:
    colors = style.colors
    painter.setPen(QPen(QColor(colors.border), 1))
    painter.drawLine(QPointF(area.left(), area.top()), QPointF(area.left(), area.bottom()))
    height = QFontMetricsF(painter.font(), painter.device()).height()
    for bits in linear_ticks(figure.bottom, figure.top, max(2, int(area.height() / (2.2 * height)))):
        level = _level(area, figure, bits)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(area.left() - 4, level), QPointF(area.left(), level))
        painter.setPen(QColor(colors.muted))
        text = f"{bits:g}".replace("-", "−")
        painter.drawText(QRectF(area.left() - 48, level - height / 2, 40, height), int(RIGHT), text)
    painter.save()
    painter.translate(area.left() - MARGIN + 14, area.center().y())
    painter.rotate(-90)
    painter.drawText(QRectF(-100, -height / 2, 200, height), int(CENTER), figure.axis)
    painter.restore()
    names = ["", *(["structure"] if figure.structure else [])]
    y = area.bottom() + LINE * len(names)
    if figure.structure:
        painter.drawText(QRectF(area.left() - MARGIN, y - LINE, MARGIN - 8, LINE), int(RIGHT), "structure")
    if style.with_rows:
        painter.setFont(_font_for([row.name for row in figure.rows], MARGIN - 8, painter))
        for place, row in enumerate(figure.rows):
            cell = QRectF(area.left() - MARGIN, y + GAP + place * ROW, MARGIN - 8, ROW)
            painter.drawText(cell, int(RIGHT), row.name)


def _font_for(texts: list[str], width: float, painter: QPainter) -> QFont:
    """Return the painter's font, made smaller so that the longest of some texts fits a width."""
    font, metrics = QFont(painter.font()), QFontMetricsF(painter.font(), painter.device())
    widest = max(map(metrics.horizontalAdvance, texts), default=0.0)
    if widest > width:
        font.setPointSizeF(font.pointSizeF() * width / widest)
    return font


def _paint_stack(painter: QPainter, column: QRectF, figure: LogoFigure, node: int, style: LogoStyle) -> None:
    unit = column.height() / (figure.top - figure.bottom)
    zero = _level(column, figure, 0.0)
    for side, entries in zip((-1, 1), figure.stack(node), strict=True):
        y = zero
        for letter, bits in entries:
            height = abs(bits) * unit
            top = y - height if side < 0 else y
            _paint_letter(painter, QRectF(column.left(), top, column.width(), height), letter, figure, style)
            y += side * height


def _paint_letter(painter: QPainter, box: QRectF, letter: str, figure: LogoFigure, style: LogoStyle) -> None:
    color = letter_color(letter, style, figure.nucleic)
    width = box.width() - min(2.0, 0.1 * box.width())
    if box.height() < MIN_LETTER or box.width() < MIN_LETTER_CELL:
        if box.height() >= (0.25 if box.width() >= MIN_LETTER_CELL else 0.8):
            painter.fillRect(QRectF(box.left() + 0.5, box.top(), max(width, 0.8), box.height()), color)
        return
    paint_letter(painter, box, letter, color, width)


@cache
def letter_color(letter: str, style: LogoStyle, nucleic: bool) -> QColor:
    """Return the color of a letter: that of the scheme, with enough contrast."""
    found = background_of(letter, style.scheme, nucleic)
    if found is None:
        return QColor(style.colors.text)
    return theme.strong(found, style.colors)


def _paint_ruler(painter: QPainter, top: float, left: float, nodes: range, style: LogoStyle) -> None:
    widest = QFontMetricsF(painter.font(), painter.device()).horizontalAdvance(str(nodes.stop)) + 10
    step = next(step for step in (1, 5, 10, 20, 50, 100, 500, 10**9) if step * style.cell >= widest)
    painter.setPen(QColor(style.colors.muted))
    for place, node in enumerate(nodes):
        if (node + 1) % step == 0 or (node == 0 and step < 5):
            middle = left + (place + 0.5) * style.cell
            painter.drawText(QRectF(middle - 40, top, 80, RULER - 2), int(CENTER), str(node + 1))


def _paint_texts(
    painter: QPainter, top: float, left: float, figure: LogoFigure, nodes: range, style: LogoStyle
) -> None:
    """Draw consensus and structure, and the rows of cells."""
    y = top
    for text in (figure.consensus, figure.structure):
        if not text:
            continue
        painter.setPen(QColor(style.colors.text if text is figure.consensus else style.colors.muted))
        if style.cell >= 7:
            for place, node in enumerate(nodes):
                painter.drawText(QRectF(left + place * style.cell, y, style.cell, LINE), int(CENTER), text[node])
        y += LINE
    if style.with_rows:
        small = QFont(painter.font())
        small.setPointSizeF(max(6.0, 0.8 * painter.font().pointSizeF()))
        painter.setFont(small)
        for place, row in enumerate(figure.rows):
            _paint_cells(painter, y + GAP + place * ROW, left, row, nodes, style)


def _paint_cells(painter: QPainter, y: float, left: float, row: FigureRow, nodes: range, style: LogoStyle) -> None:
    colors, metrics = style.colors, QFontMetricsF(painter.font(), painter.device())
    for place, node in enumerate(nodes):
        cell = QRectF(left + place * style.cell, y, style.cell, ROW).adjusted(0.5, 1, -0.5, -1)
        shade = QColor(colors.accent)
        shade.setAlphaF(0.06 + 0.6 * min(1.0, max(0.0, float(row.shades[node]))))
        painter.fillRect(cell, shade)
        if style.cell >= TEXT_WIDTH:
            painter.setPen(QColor(colors.text))
            painter.drawText(cell, int(CENTER), fitting(row.text(node), cell.width(), metrics))


def fitting(text: str, width: float, metrics: QFontMetricsF) -> str:
    """Return a number if it fits its cell, else a dot."""
    return text if metrics.horizontalAdvance(text) <= width else "·"
