"""Paints sequences as lines with their domains as blocks to scale, on the screen and in files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from clalign.common.escapes import escaped
from clalign.values.architectures import Architecture, PlacedDomain
from clalign.values.axes import linear_ticks

from ... import formatting, theme

ROW = 30.0
BLOCK = 18.0
EDGE = 12.0
RULER = 24.0
NAMES = 150.0
LENGTHS = 54.0
HEAD = 28.0
SWATCH = 12.0

LEFT, RIGHT = (
    Qt.AlignmentFlag.AlignVCenter | side for side in (Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight)
)

MAX_TICKS = 400
"""Numbers of a ruler: sequences of tens of thousands of residues exist."""

LIGHT_FROM = 0.25
"""Luminance above which a color gets dark letters."""


def letters_on(color: str) -> str:
    """Return a readable color of letters on a color."""
    return "#1A1E23" if theme.luminance(color) > LIGHT_FROM else "#FFFFFF"


@dataclass(frozen=True, slots=True)
class BarStyle:
    """Colors of the theme and of the families, pixels of a residue and of the names."""

    tokens: theme.Tokens
    colors: Mapping[str, str]
    scale: float
    names: float = NAMES


def span_of(domain: PlacedDomain, left: float, scale: float) -> tuple[float, float]:
    """Return left end and width of a domain; the smallest remains visible."""
    start, end = domain.target_range
    return left + start * scale, max(3.0, (end - start) * scale)


def paint_bar(painter: QPainter, area: QRectF, one: Architecture, style: BarStyle, is_chosen: bool = False) -> None:
    """Draw a sequence: its name, its line, its domains, its length."""
    tokens, metrics = style.tokens, QFontMetricsF(painter.font())
    if is_chosen:
        painter.fillRect(area, QColor(tokens.selected))
    name = formatting.short_name(one.name)
    shown = metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, style.names - EDGE - 8)
    painter.setPen(QColor(tokens.text))
    painter.drawText(QRectF(area.left() + EDGE, area.top(), style.names - EDGE, area.height()), int(LEFT), shown)
    left, middle = area.left() + style.names, area.center().y()
    end = left + one.length * style.scale
    painter.setPen(QPen(QColor(tokens.muted), 2))
    painter.drawLine(QPointF(left, middle), QPointF(end, middle))
    for domain in one.domains:
        paint_block(painter, left, middle, domain, style)
    painter.setPen(QColor(tokens.muted))
    painter.drawText(QRectF(end + 8, area.top(), LENGTHS, area.height()), int(LEFT), formatting.count(one.length))


def paint_block(painter: QPainter, left: float, middle: float, domain: PlacedDomain, style: BarStyle) -> None:
    """Draw a domain: the aligned part, the paler envelope around it, and the family if it fits."""
    color = QColor(style.colors.get(domain.family, style.tokens.muted))
    x, width = span_of(domain, left, style.scale)
    first, last = domain.envelope
    pale = QColor(color)
    pale.setAlphaF(0.3)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(pale)
    painter.drawRoundedRect(QRectF(left + first * style.scale, middle - 6, (last - first) * style.scale, 12), 3, 3)
    painter.setBrush(color)
    painter.setPen(QPen(QColor(style.tokens.surface), 1))
    block = QRectF(x, middle - BLOCK / 2, width, BLOCK)
    painter.drawRoundedRect(block, 4, 4)
    room, metrics = width - 8, QFontMetricsF(painter.font())
    family = formatting.short_name(domain.family)
    text = metrics.elidedText(family, Qt.TextElideMode.ElideRight, room) if room > 20 else ""
    if len(text) > 2 or text == family:
        painter.setPen(QColor(letters_on(color.name())))
        painter.drawText(block, int(Qt.AlignmentFlag.AlignCenter), text)


def paint_ruler(painter: QPainter, area: QRectF, longest: int, style: BarStyle) -> None:
    """Draw positions on the sequences, which begin at the left of `area`."""
    painter.setPen(QColor(style.tokens.muted))
    most = min(MAX_TICKS, max(2, int(longest * style.scale / 90)))
    for tick in linear_ticks(0, longest, most):
        x = area.left() + tick * style.scale
        painter.drawLine(QPointF(x, area.bottom() - 4), QPointF(x, area.bottom()))
        words = QRectF(x - 40, area.top(), 80, area.height() - 5)
        painter.drawText(
            words, int(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignBottom), formatting.count(tick)
        )


class ArchitecturePicture:
    """Sequences with their domains, a ruler above and a legend below; many fill several pages of a PDF.

    Parameters
    ----------
    found : sequence of Architecture
    colors : mapping of str to str
        Of the families.
    title : str
    width : float
        Pixels of the longest sequence.
    """

    def __init__(
        self, found: Sequence[Architecture], colors: Mapping[str, str], title: str, width: float = 700.0
    ) -> None:
        self.found, self.title, self.n_rows = found, title, len(found)
        self._longest = max((one.length for one in found), default=1)
        self.style = BarStyle(theme.LIGHT, colors, width / self._longest)
        self.width = NAMES + width + LENGTHS + 2 * EDGE
        self._families = sorted({domain.family for one in found for domain in one.domains})

    def _legend(self, metrics: QFontMetricsF) -> list[tuple[float, float, str]]:
        """Return the places of the entries of the legend."""
        x, y, entries = EDGE, 0.0, []
        for name in self._families:
            needed = SWATCH + 6 + metrics.horizontalAdvance(escaped(name)) + 18
            if x + needed > self.width - EDGE and x > EDGE:
                x, y = EDGE, y + 18
            entries.append((x, y, name))
            x += needed
        return entries

    def _legend_height(self) -> float:
        entries = self._legend(QFontMetricsF(_font(QFont())))
        return entries[-1][1] + 18 + EDGE if entries else 0.0

    def height(self, n_rows: int) -> float:
        """Return the pixels that some sequences need, title and legend included."""
        return math.ceil(EDGE + HEAD + RULER + n_rows * ROW + EDGE + self._legend_height() + EDGE)

    def paint(self, painter: QPainter, first: int, n_rows: int) -> None:
        """Draw some sequences below the title, and the legend."""
        painter.setFont(_font(painter.font()))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QColor(theme.LIGHT.text))
        painter.drawText(QRectF(EDGE, EDGE, self.width - 2 * EDGE, HEAD), int(LEFT), self.title)
        y = EDGE + HEAD
        ruler = QRectF(NAMES, y, self.width - NAMES, RULER)
        paint_ruler(painter, ruler, self._longest, self.style)
        y += RULER
        for one in self.found[first : first + n_rows]:
            paint_bar(painter, QRectF(0, y, self.width, ROW), one, self.style)
            y += ROW
        y += EDGE
        for x, below, name in self._legend(QFontMetricsF(painter.font())):
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self.style.colors.get(name, theme.LIGHT.muted)))
            painter.drawRoundedRect(QRectF(x, y + below + 2, SWATCH, SWATCH), 3, 3)
            painter.setPen(QColor(theme.LIGHT.text))
            painter.drawText(QRectF(x + SWATCH + 6, y + below, self.width, 16), int(LEFT), escaped(name))


def _font(font: QFont) -> QFont:
    made = QFont(font)
    made.setPixelSize(12)
    return made
