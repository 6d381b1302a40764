"""The sequences of a run with their domains: scrolled, zoomed, domains chosen by clicks."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea

from clalign.values.architectures import Architecture, PlacedDomain

from ... import formatting, theme
from ...models.charts.architectures import Bars
from ..widgets.place_tips import PlaceTips
from .architecture_painter import EDGE, LENGTHS, NAMES, ROW, RULER, BarStyle, paint_bar, paint_ruler, span_of

MAX_ZOOM = 50.0


class ArchitectureCanvas(QAbstractScrollArea):
    """Bars of sequences. Keys: up and down choose a sequence, + and - zoom, 0 shows all of the longest."""

    domain_chosen = Signal(object)
    described = Signal(str)

    part = "domain"
    """The noun for a block."""

    def __init__(self) -> None:
        super().__init__()
        PlaceTips(self.viewport(), self.words_at)
        self.shown: list[Architecture] = []
        self.colors: dict[str, str] = {}
        self.zoom, self.place = 1.0, -1
        self._longest = self._usual = 1
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Domains on their sequences")
        self.setMinimumSize(160, 120)
        self.viewport().setMouseTracking(True)

    def sizeHint(self) -> QSize:
        return QSize(620, 400)

    def show_bars(self, bars: Bars, colors: dict[str, str]) -> None:
        """Show other sequences."""
        self.shown, self._longest, self._usual = bars
        self.colors, self.place, self.zoom = colors, -1, 1.0
        self.setAccessibleDescription(formatting.plural(len(self.shown), "sequence"))
        self.verticalScrollBar().setValue(0)
        self.arrange()

    @property
    def style_(self) -> BarStyle:
        """The present style."""
        room = max(60.0, self.viewport().width() - NAMES - LENGTHS - 2 * EDGE)
        return BarStyle(theme.current(), self.colors, self.zoom * room / self._usual)

    def arrange(self) -> None:
        """Fit the scroll bars to what is shown."""
        down, across, view = self.verticalScrollBar(), self.horizontalScrollBar(), self.viewport()
        down.setRange(0, max(0, math.ceil(len(self.shown) * ROW + RULER + EDGE - view.height())))
        down.setPageStep(max(1, view.height() - int(RULER)))
        down.setSingleStep(int(ROW))
        width = NAMES + self._longest * self.style_.scale + LENGTHS + 2 * EDGE
        across.setRange(0, max(0, math.floor(width - view.width())))
        across.setPageStep(max(1, view.width()))
        view.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.arrange()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, tokens, style = QPainter(self.viewport()), theme.current(), self.style_
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.viewport().rect(), QColor(tokens.surface))
        painter.setFont(self.font())
        width, across = float(self.viewport().width()), float(self.horizontalScrollBar().value())
        first = int(max(0.0, self.verticalScrollBar().value() - 4) // ROW)
        for place in range(first, min(len(self.shown), first + int(self.viewport().height() // ROW) + 2)):
            area = QRectF(-across, self._top(place), width + across, ROW)
            paint_bar(painter, area, self.shown[place], style, place == self.place)
        painter.fillRect(QRectF(0, 0, width, RULER), QColor(tokens.surface))
        paint_ruler(painter, QRectF(NAMES - across, 0, width - NAMES + across, RULER), self._longest, style)

    def _top(self, place: int) -> float:
        return RULER + 4 + place * ROW - self.verticalScrollBar().value()

    def row_at(self, y: float) -> int:
        """Return the sequence at a height; -1 if there is none."""
        place = math.floor((y - self._top(0)) / ROW)
        return place if y > RULER and 0 <= place < len(self.shown) else -1

    def words_at(self, place: QPointF) -> str:
        """Return the tooltip for a place."""
        domain, row = self.domain_at(place), self.row_at(place.y())
        if domain is not None:
            return domain_words(domain)
        return "" if row < 0 else sequence_words(self.shown[row], self.part)

    def domain_at(self, point: QPointF) -> PlacedDomain | None:
        """Return the domain under a place."""
        place = self.row_at(point.y())
        if place < 0:
            return None
        left, scale = NAMES - self.horizontalScrollBar().value(), self.style_.scale
        for domain in reversed(self.shown[place].domains):
            x, width = span_of(domain, left, scale)
            if x - 1 <= point.x() <= x + width + 1:
                return domain
        return None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._choose(self.row_at(event.position().y()))
        domain = self.domain_at(event.position())
        if domain is not None:
            self.domain_chosen.emit(domain)

    def _choose(self, place: int) -> None:
        if place < 0:
            return
        self.place = place
        top, bar = place * ROW, self.verticalScrollBar()
        if top < bar.value():
            bar.setValue(int(top))
        elif top + ROW + RULER + 4 > bar.value() + self.viewport().height():
            bar.setValue(math.ceil(top + ROW + RULER + 4 - self.viewport().height()))
        self.described.emit(sequence_words(self.shown[place], self.part))
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = -1 if key == Qt.Key.Key_Up else 1
            self._choose(min(max(0, self.place + step), len(self.shown) - 1))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and 0 <= self.place < len(self.shown):
            self.domain_chosen.emit(self.shown[self.place].domains[0])
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus):
            self.widen(1 / 1.25 if key == Qt.Key.Key_Minus else 1.25)
        elif key == Qt.Key.Key_0:
            self.zoom = self._usual / self._longest
            self.arrange()
        else:
            super().keyPressEvent(event)

    def widen(self, factor: float, x: float | None = None) -> None:
        """Lengthen or shorten sequences around a place."""
        at = self.viewport().width() / 2 if x is None else x
        before = (at - NAMES + self.horizontalScrollBar().value()) / self.style_.scale
        self.zoom = min(MAX_ZOOM, max(self._usual / self._longest, self.zoom * factor))
        self.arrange()
        self.horizontalScrollBar().setValue(round(before * self.style_.scale - at + NAMES))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.widen(1.25 if event.angleDelta().y() > 0 else 0.8, event.position().x())
            event.accept()
        else:
            super().wheelEvent(event)


def domain_words(domain: PlacedDomain) -> str:
    """Return the description of a domain."""
    (start, end), (first, last) = domain.target_range, domain.family_range
    return "\n".join(
        (
            f"{domain.family} {'' if domain.accession == '-' else domain.accession}".strip(),
            f"residues {start + 1}–{end} · {first + 1}–{last} of its {domain.family_length}",
            f"E {formatting.evalue(domain.evalue)} · {formatting.score(domain.score)} bits",
        )
    )


def sequence_words(one: Architecture, part: str) -> str:
    """Return the description of a sequence; `part` is the noun for its blocks."""
    left_out = one.n_found - len(one.domains)
    words = f"{one.name} {one.description}".strip()
    more = f", {left_out} left out" if left_out else ""
    return f"{words}\n{formatting.plural(one.length, 'residue')} · {formatting.plural(len(one.domains), part)}{more}"
