"""Draws an alignment of many rows: cells as one image from a table of colors and stored letters, names, ruler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QPainter, QPen

from clalign.common.escapes import escaped
from clalign.values.row_alignments import Bytes

from ... import formatting, theme
from ...models.alignment.row_colors import FOUND, FOUND_COLOR, PLAIN, Coloring
from ...models.alignment.rows_view import Cells, RowsView, Selection
from ...residue_colors import letter_on

LEVELS = 16
"""Shades between the ground of a cell and its letter."""

MIN_LETTER = (6.0, 9.0)
"""Width and height of cells from which on they show letters."""

MIN_NAME = 8.0
"""Height of rows from which on they show names."""

RULER = 20.0
EDGE = 8.0

AGREES = "·"

RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
CENTER = Qt.AlignmentFlag.AlignCenter

Integers = npt.NDArray[np.int64]
Pixels = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class RowsStyle:
    """Sizes and colors of an alignment.

    Attributes
    ----------
    colors : Tokens
    cell, height : float
        Width of a column and height of a row in pixels; several columns or rows may share one.
    names : float
        Width of the names with the facts beside them.
    beside : tuple of str
        Facts beside the names: ``identity``, ``length``, or the name of scores.
    scale : float
        Pixels of the device for one.
    is_vector : bool
        Whether letters are drawn as letters.
    """

    colors: theme.Tokens
    cell: float = 11.0
    height: float = 18.0
    names: float = 160.0
    beside: tuple[str, ...] = ()
    scale: float = 1.0
    is_vector: bool = False

    @property
    def shows_letters(self) -> bool:
        """Whether cells are large enough for letters."""
        return self.cell >= MIN_LETTER[0] and self.height >= MIN_LETTER[1]


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """Visible columns, or rows, along an axis.

    Attributes
    ----------
    items : int64[n]
        Which; each once, or one or two for each pixel where several share one.
    begin : float
        Pixel at which the first begins, from the left edge of the area.
    unit : float
        Pixels of each.
    """

    items: Integers
    begin: float
    unit: float

    @property
    def length(self) -> float:
        """Pixels of all of them."""
        return self.unit * len(self.items)


def span(offset: float, room: float, size: float, n: int) -> Span:
    """Return the visible ones of n items of a size, with an offset from the first item."""
    if size >= 1:
        first = max(0, int(offset // size))
        last = min(n, int((offset + room) // size) + 1)
        return Span(np.arange(first, max(first, last)), first * size - offset, size)
    share = 2 if size <= 0.5 else 1
    shown = share * max(0, min(int(room), int(np.ceil(n * size - offset))))
    places = ((offset + (np.arange(shown) + 0.5) / share) / size).astype(np.int64)
    return Span(np.minimum(places, n - 1), 0.0, 1.0 / share)


@lru_cache(maxsize=32)
def color_table(palette: tuple[str, ...], colors: theme.Tokens) -> Pixels:
    """Return the pixel of each palette entry and each shade of a letter on it (uint32[n * LEVELS])."""
    is_faded = [len(color) > len(FOUND_COLOR) for color in palette]
    mixes = (theme.blend(color, colors.surface, QColor(color).alphaF()).name() for color in palette)
    grounds, quiet = (
        [colors.surface, colors.surface, FOUND_COLOR, *mixes],
        theme.blend(colors.muted, colors.surface, 0.7),
    )
    inks = [colors.text, quiet.name(), letter_on(FOUND_COLOR)]
    inks += [colors.muted if one else letter_on(ground) for one, ground in zip(is_faded, grounds[3:], strict=True)]
    pairs = np.array([[_rgb(ground), _rgb(ink)] for ground, ink in zip(grounds, inks, strict=True)], np.float64)
    share = np.linspace(0, 1, LEVELS)[None, :, None]
    mixed = np.round(pairs[:, None, 0] * (1 - share) + pairs[:, None, 1] * share).astype(np.uint32)
    return np.asarray((0xFF << 24 | mixed[..., 0] << 16 | mixed[..., 1] << 8 | mixed[..., 2]).ravel().astype(np.uint32))


def ground_table(coloring: Coloring, colors: theme.Tokens) -> Pixels:
    """Return the pixel of each palette entry in cells without letters: uncolored residues are gray."""
    table: Pixels = color_table(coloring.palette, colors)[::LEVELS].copy()
    table[PLAIN] = theme.blend(colors.muted, colors.surface, 0.25).rgb()
    return table


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def cell_font(width: float, height: float) -> QFont:
    """Return a font that fits cells."""
    font = QFont(theme.mono_font())
    font.setPixelSize(max(5, int(min(0.8 * height, width / 0.62))))
    return font


@lru_cache(maxsize=16)
def letter_store(width: int, height: int, family: str) -> Bytes:
    """Return the shades of each letter in a cell of a size (uint8[256, height, width], below LEVELS)."""
    font = cell_font(width, height)
    store = np.zeros((256, height, width), np.uint8)
    image = QImage(width, height, QImage.Format.Format_Grayscale8)
    for byte in (0, *range(33, 256)):
        image.fill(0)
        painter = QPainter(image)
        painter.setFont(font)
        painter.setPen(QColor("#FFFFFF"))
        painter.drawText(QRectF(0, 0, width, height), int(CENTER), _shown(byte))
        painter.end()
        rows = np.frombuffer(image.constBits(), np.uint8).reshape(height, image.bytesPerLine())
        store[byte] = np.round(rows[:, :width] / 255 * (LEVELS - 1))
    return store


def _shown(byte: int) -> str:
    """Return the displayed character of a byte of an alignment; non-ASCII is a question mark."""
    return AGREES if byte == 0 else chr(byte) if byte < 127 else "?"


def image_of(pixels: Pixels) -> QImage:
    """Return an image of pixels (uint32[height, width]), which must outlive it."""
    height, width = pixels.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_RGB32)


def paint_cells(
    painter: QPainter, at: QPointF, cells: Cells, unit: tuple[float, float], style: RowsStyle, coloring: Coloring
) -> None:
    """Draw cells of `unit` pixels, with their letters if these fit."""
    n_rows, n_columns = cells.places.shape
    if not n_rows or not n_columns:
        return
    width, height = unit
    with_letters = width >= MIN_LETTER[0] and height >= MIN_LETTER[1]
    table = color_table(coloring.palette, style.colors) if with_letters else ground_table(coloring, style.colors)
    if style.is_vector:
        _paint_vector(painter, at, cells, unit, table, with_letters)
        return
    target = QRectF(at.x(), at.y(), n_columns * width, n_rows * height)
    if not with_letters:
        pixels = table[cells.places.astype(np.intp)]
        for axis, size in enumerate((height, width) if min(unit) < 1 else ()):  # smooth only along the one that shrinks
            pixels = np.repeat(pixels, max(1, round(size * style.scale)), axis)
    else:
        wide, high = max(1, round(width * style.scale)), max(1, round(height * style.scale))
        shades = letter_store(wide, high, theme.mono_font().family())[cells.letters].transpose(0, 2, 1, 3)
        places = (cells.places.astype(np.uint16) * LEVELS)[:, None, :, None] + shades
        pixels = table[places].reshape(n_rows * high, n_columns * wide)
    pixels = np.ascontiguousarray(pixels)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, min(unit) < 1)
    painter.drawImage(target, image_of(pixels))


def _paint_vector(
    painter: QPainter, at: QPointF, cells: Cells, unit: tuple[float, float], table: Pixels, letters: bool
) -> None:
    """Draw runs of cells of one color as rectangles, and letters as text."""
    width, height = unit
    painter.setFont(cell_font(width, height))
    levels = LEVELS if letters else 1
    ground = QColor(theme.LIGHT.surface).rgb()
    for row, places in enumerate(cells.places):
        y = at.y() + row * height
        edges = np.flatnonzero(np.diff(places)) + 1
        for begin, end in zip([0, *edges.tolist()], [*edges.tolist(), len(places)], strict=True):
            color = int(table[int(places[begin]) * levels])
            if color != ground:
                painter.fillRect(QRectF(at.x() + begin * width, y, (end - begin) * width, height), QColor(color))
        if not letters:
            continue
        for column, byte in enumerate(cells.letters[row].tolist()):
            painter.setPen(QColor(int(table[int(places[column]) * LEVELS + LEVELS - 1])))
            painter.drawText(QRectF(at.x() + column * width, y, width, height), int(CENTER), _shown(byte))


def dimmed(color: str) -> str:
    """Return a color of the palette at a third of its strength, so that the matches of a search stand out."""
    faint = QColor(color)
    faint.setAlphaF(faint.alphaF() / 3)
    return faint.name(QColor.NameFormat.HexArgb)


def mark_found(view: RowsView, cells: Cells, rows: Integers, columns: Integers) -> None:
    """Color the matches of a search."""
    for line, row in enumerate(view.order[rows].tolist()):
        for begin, end in view.found.in_row(row):
            low, high = np.searchsorted(columns, [begin, end])
            part = cells.places[line, low:high]
            part[(cells.letters[line, low:high] != ord("-")) & (cells.letters[line, low:high] != ord("."))] = FOUND


def paint_rows(painter: QPainter, area: QRectF, view: RowsView, rows: Span, columns: Span, style: RowsStyle) -> None:
    """Draw the cells of rows and columns in an area."""
    if not len(rows.items) or not len(columns.items):
        return
    cells = view.cells(rows.items, columns.items)
    cells = Cells(cells.letters, np.array(cells.places))
    coloring = view.coloring
    if len(view.found):
        mark_found(view, cells, rows.items, columns.items)
        coloring = replace(coloring, palette=tuple(map(dimmed, coloring.palette)))
    at = QPointF(area.left() + columns.begin, area.top() + rows.begin)
    paint_cells(painter, at, cells, (columns.unit, rows.unit), style, coloring)


def paint_ruler(painter: QPainter, area: QRectF, columns: Span, style: RowsStyle, n_columns: int) -> None:
    """Draw the numbers of columns."""
    metrics = QFontMetricsF(painter.font(), painter.device())
    widest = metrics.horizontalAdvance(str(n_columns)) + 14
    step = next(s for k in range(12) for s in (10**k, 2 * 10**k, 5 * 10**k) if s * style.cell >= widest)
    if not len(columns.items):
        return
    offset = columns.items[0] * style.cell - columns.begin if style.cell >= 1 else None
    first, last = int(columns.items[0]), int(columns.items[-1])
    painter.setPen(QColor(style.colors.muted))
    numbers = [1] if first == 0 and step > 2 else []
    begin = first + 1 if columns.begin == 0 else first  # what is hidden in part keeps its number
    numbers += list(range(max(step, -(-begin // step) * step), last + 2, step))
    for number in numbers:
        if offset is None:
            x = area.left() + columns.unit * float(np.searchsorted(columns.items, number - 1))
        else:
            x = area.left() + (number - 0.5) * style.cell - offset
        box = QRectF(x - widest / 2, area.top(), widest, area.height() - 5)
        if number == 1 and box.left() < area.left():
            box = QRectF(max(area.left(), x - metrics.horizontalAdvance("1") / 2), area.top(), widest, box.height())
            painter.drawText(box, int(LEFT), "1")
        else:
            painter.drawText(box, int(CENTER), str(number))
        painter.drawLine(QPointF(x, area.bottom() - 4), QPointF(x, area.bottom() - 1))


BESIDE_WIDTH = 52.0

MAX_NAME_LETTERS = 200
"""Displayed letters of a name: some have thousands."""


def shown_name(view: RowsView, row: int) -> str:
    """Return the displayed name of a row of the file."""
    name = view.shown_name(row)
    return escaped(name if len(name) <= MAX_NAME_LETTERS else f"{name[: MAX_NAME_LETTERS - 1]}…")


def beside_text(view: RowsView, row: int, what: str) -> str:
    """Return the facts beside the name of a row of the file."""
    if what == "length":
        return formatting.count(int(view.measures.lengths[row])) if view.is_measured else ""
    if what == "identity":
        return f"{100 * float(view.identity[row]):.0f} %" if view.identity is not None else ""
    value = float(view.scores[what][row])
    return "" if np.isnan(value) else f"{value:.4g}"


def paint_names(painter: QPainter, area: QRectF, view: RowsView, rows: Span, style: RowsStyle) -> None:
    """Draw the names of rows, and the facts beside them."""
    if rows.unit < MIN_NAME or not len(rows.items):
        return
    colors, metrics = style.colors, QFontMetricsF(painter.font(), painter.device())
    room = area.width() - EDGE - 6 - BESIDE_WIDTH * len(style.beside)
    matched = {row for row in view.order[rows.items].tolist() if any(b == e for b, e in view.found.in_row(row))}
    for line, place in enumerate(rows.items.tolist()):
        box = QRectF(area.left() + EDGE, area.top() + rows.begin + line * rows.unit, max(0.0, room), rows.unit)
        row = view.row_at(place)
        name = metrics.elidedText(shown_name(view, row), Qt.TextElideMode.ElideMiddle, box.width())
        if row in matched:
            painter.fillRect(box.adjusted(-4, 1, 2, -1), QColor(FOUND_COLOR))
        selected = view.selection is not None and place in view.selection.rows
        ink = "#000000" if row in matched else colors.text if selected or place == view.cursor[0] else colors.muted
        painter.setPen(QColor(colors.accent if row == view.reference else ink))
        painter.drawText(box, int(LEFT), name)
        painter.setPen(QColor(colors.muted))
        for number, what in enumerate(style.beside):
            left = box.right() + number * BESIDE_WIDTH
            painter.drawText(
                QRectF(left, box.top(), BESIDE_WIDTH - 4, box.height()), int(RIGHT), beside_text(view, row, what)
            )


def paint_selection(
    painter: QPainter, area: QRectF, selection: Selection, rows: tuple[float, float], columns: tuple[float, float],
    style: RowsStyle, is_filled: bool = True,
) -> None:  # fmt: skip
    """Frame the selection.

    Parameters
    ----------
    rows, columns : tuple of float
        Offset and size of the items along each axis.
    """
    left = area.left() + selection.columns.start * columns[1] - columns[0]
    top = area.top() + selection.rows.start * rows[1] - rows[0]
    width, height = len(selection.columns) * columns[1], len(selection.rows) * rows[1]
    box = QRectF(left, top, max(2.0, width), max(2.0, height)).intersected(area.adjusted(-2, -2, 2, 2))
    if box.isEmpty():
        return
    shade = QColor(style.colors.accent)
    shade.setAlphaF(0.22)
    if is_filled:
        painter.fillRect(box, shade)
    painter.setPen(QPen(QColor(style.colors.accent), 1.5))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(box)
