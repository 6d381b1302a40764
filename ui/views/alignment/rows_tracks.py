"""Tracks along the columns of an alignment: annotation, consensus, conservation, occupancy, a logo."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from clalign.values.column_statistics import logo_letters, max_information
from clalign.values.row_alignments import Bytes

from ... import theme
from ...models.alignment.row_colors import CODES, FIRST_COLOR, FIRST_LETTER, PLAIN, QUIET, Composition
from ...models.alignment.row_colors import GAP as GAP_CODE
from ...models.alignment.rows_view import Cells, RowsView
from ..charts.letter_paths import paint_letter
from .rows_painter import EDGE, LEFT, MIN_LETTER, RowsStyle, Span, image_of, paint_cells

LINE = 18.0
"""Height of a track of letters."""

TRACKS = {
    "consensus": (
        "Consensus",
        LINE,
        "The commonest residue; upper case where at least half of the rows have it, + where several are as common; "
        "gray where fewer than half have any residue",
    ),
    "conservation": (
        "Conservation",
        32.0,
        "How much the residues of a column differ from those of any protein or gene (Jensen-Shannon divergence, "
        "Capra and Singh 2007), times the share of rows that have one",
    ),
    "occupancy": ("Occupancy", 24.0, "The share of the rows that have a residue"),
    "logo": (
        "Logo",
        60.0,
        "Information content times occupancy, shared among the residues of a column; nothing where fewer than half of "
        "the rows have one",
    ),
}
"""Titles, heights in pixels, and meanings."""

Shares = npt.NDArray[np.float32]

OCCUPANCY = {"light": "#8C96A3", "dark": "#7A8592"}

GAP = 4.0
"""Pixels above a track."""

MIN_LOGO = 7.0
"""Width of columns below which the letters of a logo are bars."""

MIN_PIXELS = 1.5

HALF = 0.5
"""Share of the rows that have a residue below which a column has no logo, and a gray consensus."""

FEW_ROWS = 4
"""Rows up to which uniform columns may be chance; a text replaces the logo."""


@dataclass(frozen=True, slots=True)
class Track:
    """A track, and how high it is.

    Attributes
    ----------
    key : str
        One of `TRACKS`, or the tag of an annotation of the columns.
    name : str
    height : float
    tip : str
    """

    key: str
    name: str
    height: float
    tip: str


def tracks_above(view: RowsView) -> list[Track]:
    """Return the tracks of annotations."""
    return [Track(tag, tag, LINE, words) for tag, (_, words) in view.column_notes().items()]


def tracks_below(shown: tuple[str, ...]) -> list[Track]:
    """Return the computed tracks."""
    return [Track(key, *TRACKS[key]) for key in TRACKS if key in shown]


def height_of(tracks: list[Track]) -> float:
    """Return the pixels of tracks."""
    return sum(track.height + GAP for track in tracks)


def paint_track_names(painter: QPainter, area: QRectF, tracks: list[Track], style: RowsStyle) -> None:
    """Draw the names of tracks below each other."""
    y = area.top()
    metrics = QFontMetricsF(painter.font(), painter.device())
    painter.setPen(QColor(style.colors.muted))
    for track in tracks:
        box = QRectF(area.left() + EDGE, y + GAP, area.width() - EDGE - 6, track.height)
        painter.drawText(box, int(LEFT), metrics.elidedText(track.name, Qt.TextElideMode.ElideRight, box.width()))
        y += track.height + GAP


def paint_tracks(
    painter: QPainter, area: QRectF, view: RowsView, tracks: list[Track], columns: Span, style: RowsStyle
) -> None:
    """Draw tracks below each other."""
    y = area.top()
    for track in tracks:
        box = QRectF(area.left() + columns.begin, y + GAP, columns.length, track.height)
        y += track.height + GAP
        if not len(columns.items):
            continue
        known = view.measures.tracks
        if track.key == "consensus":
            _paint_letters(painter, box, view, known.consensus[columns.items], columns, style, True)
        elif track.key in ("conservation", "occupancy"):
            color = style.colors.accent if track.key == "conservation" else OCCUPANCY[style.colors.name]
            _paint_bars(painter, box, getattr(known, track.key)[columns.items], columns, style, color)
        elif track.key == "logo":
            _paint_logo(painter, box, view, columns, style)
        else:
            text = np.frombuffer(view.column_notes()[track.key][0], np.uint8)[columns.items]
            _paint_letters(painter, box, view, text, columns, style, False)


def _paint_letters(
    painter: QPainter, box: QRectF, view: RowsView, letters: Bytes, columns: Span, style: RowsStyle, colored: bool
) -> None:
    chosen = view.coloring
    places = np.full((1, len(letters)), PLAIN, np.uint8)
    if colored and chosen.table is not None:
        known = Composition(view.measures.counts[columns.items], view.n_rows)
        places = np.array(chosen.places(CODES[letters][None, :], np.empty(0, np.int64), columns.items, known))
    else:
        places[:, CODES[letters] == GAP_CODE] = QUIET
    if colored:
        places[:, view.measures.tracks.occupancy[columns.items] < HALF] = QUIET
    letters = np.where(letters == 0, np.uint8(32), letters)
    if not style.shows_letters and not colored:
        digits = (letters.astype(np.float32) - np.float32(48)) / np.float32(9)
        if ((digits >= 0) & (digits <= 1)).all():
            _paint_bars(painter, box, digits, columns, style, style.colors.muted)
            return
    unit = (columns.unit, min(LINE, max(style.height, MIN_LETTER[1])))
    box = box.adjusted(0, (box.height() - unit[1]) / 2, 0, 0)
    paint_cells(painter, box.topLeft(), Cells(letters[None, :], places), unit, style, chosen)


def _paint_bars(painter: QPainter, box: QRectF, shares: Shares, columns: Span, style: RowsStyle, color: str) -> None:
    """Draw a bar for each column, darker if higher."""
    painter.setPen(QPen(QColor(style.colors.border), 1))
    painter.drawLine(box.bottomLeft(), QPointF(box.left() + columns.length, box.bottom()))
    gap = 1.0 if columns.unit >= 4 else 0.0
    if style.is_vector:
        for place, share in enumerate(shares.tolist()):
            high = box.height() * min(1.0, max(0.0, share))
            bar = QRectF(box.left() + place * columns.unit, box.bottom() - high, columns.unit - gap, high)
            painter.fillRect(bar, theme.blend(color, style.colors.surface, 0.35 + 0.65 * share))
        return
    high, wide = max(1, round(box.height() * style.scale)), max(1, round(columns.unit * style.scale))
    levels = np.clip(np.nan_to_num(shares), 0, 1)
    shades = np.array(
        [int(theme.blend(color, style.colors.surface, 0.35 + 0.65 * step / 32).rgb()) for step in range(33)], np.uint32
    )
    ground = np.uint32(QColor(style.colors.surface).rgb())
    filled = np.arange(high)[::-1, None] < np.round(levels * high)[None, :]
    pixels = np.where(filled, shades[np.round(levels * 32).astype(np.intp)][None, :], ground).astype(np.uint32)
    if wide > 1:
        pixels = np.repeat(pixels, wide, axis=1)
        if gap:
            pixels[:, wide - 1 :: wide] = ground
    pixels = np.ascontiguousarray(pixels)
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, columns.unit < 1)
    painter.drawImage(box, image_of(pixels))


def _paint_logo(painter: QPainter, box: QRectF, view: RowsView, columns: Span, style: RowsStyle) -> None:
    colors = style.colors
    painter.setPen(QPen(QColor(colors.border), 1))
    painter.drawLine(box.bottomLeft(), box.bottomRight())
    information: Shares = view.measures.tracks.information[columns.items] / np.float32(max_information(view.nucleic))
    counts, letters = view.measures.counts[columns.items], logo_letters(view.nucleic)
    occupancy = counts[:, letters].sum(axis=1) / view.n_rows
    information *= np.where(occupancy < HALF, 0.0, occupancy)  # where hardly a row has a residue it says little
    if not information.any() and view.n_rows <= FEW_ROWS:
        painter.setPen(QColor(colors.muted))
        painter.drawText(box.adjusted(8, 0, 0, 0), int(LEFT), "Too few rows to differ from chance")
        return
    if columns.unit < MIN_LOGO:
        _paint_bars(painter, box, information, columns, style, colors.good)
        return
    chosen = view.coloring
    table = chosen.table(Composition(counts, view.n_rows)) if chosen.table is not None else None
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    for place, bits in enumerate(information.tolist()):
        found = counts[place, letters]
        total = int(found.sum())
        if not total or bits * box.height() < MIN_PIXELS:
            continue
        y, left = box.bottom(), box.left() + place * columns.unit
        for number in np.argsort(found).tolist():
            high = bits * box.height() * int(found[number]) / total
            if high < MIN_PIXELS:
                y -= high
                continue
            letter = letters[number]
            ink = _ink(chosen.palette, table, place, letter, colors)
            wide = columns.unit - min(1.5, 0.1 * columns.unit)
            paint_letter(painter, QRectF(left, y - high, columns.unit, high), chr(65 + letter), ink, wide)
            y -= high
    painter.restore()


def _ink(palette: tuple[str, ...], table: Bytes | None, place: int, letter: int, colors: theme.Tokens) -> QColor:
    """Return the color of a letter of a column: that of its cells, with enough contrast."""
    found = PLAIN if table is None else int(table[place if len(table) > 1 else 0, FIRST_LETTER + letter])
    if found < FIRST_COLOR:
        return theme.blend(colors.text, colors.surface, 0.55)
    return theme.strong(palette[found - FIRST_COLOR], colors)


def track_at(tracks: list[Track], y: float) -> Track | None:
    """Return the track at a height below the first one's top."""
    for track in tracks:
        if y < track.height + GAP:
            return track
        y -= track.height + GAP
    return None


def track_words(view: RowsView, track: Track, column: int) -> str:
    """Return the value of a track at a column as text."""
    tracks = view.measures.tracks
    known = column < view.n_known
    if track.key in TRACKS and not known:
        return f"{track.name}: not known yet"
    values = {
        "consensus": lambda: (
            f"{chr(tracks.consensus[column])}, {100 * float(tracks.share[column]):.0f} % of its residues"
        ),
        "conservation": lambda: f"{tracks.conservation[column]:.3f}",
        "occupancy": lambda: f"{100 * float(tracks.occupancy[column]):.1f} %",
        "logo": lambda: f"{tracks.information[column]:.2f} of {max_information(view.nucleic):.2f} bits",
    }
    if track.key in values:
        return f"{track.name} of column {column + 1}: {values[track.key]()}\n{track.tip}"
    return f"{track.name} of column {column + 1}: {chr(view.column_notes()[track.key][0][column])}\n{track.tip}"
