"""One node of a profile: emission and transition probabilities."""

from __future__ import annotations

import math

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from ... import formatting, theme
from ...views.widgets.facts import facts_grid
from ...views.widgets.parts import ScrolledCard, Surface, clear_layout, label, row
from ...views.widgets.place_tips import PlaceTips
from .logo_figure import percents
from .logo_painter import LogoStyle, letter_color
from .profile_nodes import ShownProfile, emissions, lane_sentences, lane_steps, node_facts, node_title, statistics_words

CENTER = Qt.AlignmentFlag.AlignCenter

CAPTION = "Residues; the line is the background"


class EmissionBars(QWidget):
    """The probability of each residue as a bar, with its background as a line."""

    def __init__(self) -> None:
        super().__init__()
        PlaceTips(self, self.tip_at)
        self._rows: list[tuple[str, float, float, float]] = []
        self._nucleic = False
        self.scheme = "clustal"
        self.setAccessibleName("Residues of the node against the background")
        self._line = self.fontMetrics().height()
        self.setMinimumSize(220, 80 + 2 * self._line)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_rows(self, rows: list[tuple[str, float, float, float]], nucleic: bool) -> None:
        """Show other residues."""
        self._rows, self._nucleic = rows, nucleic
        likeliest = sorted(rows, key=lambda row: -row[1])[:3]
        self.setAccessibleDescription(", ".join(f"{letter} {100 * share:.0f} %" for letter, share, _, _ in likeliest))
        self.update()

    def _column(self, place: int) -> QRectF:
        left = max(36, self.fontMetrics().horizontalAdvance("100 %") + 8)
        area = QRectF(self.rect()).adjusted(left, self._line + 5, -6, -self._line - 5)
        width = area.width() / max(1, len(self._rows))
        return QRectF(area.left() + place * width, area.top(), width, area.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._rows:
            return
        painter, colors = QPainter(self), theme.current()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        top = max(0.05, *(max(share, null) for _, share, null, _ in self._rows)) * 1.05
        style = LogoStyle(colors, self.scheme)
        first = self._column(0)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.drawLine(QPointF(first.left(), first.bottom()), QPointF(self.width() - 6, first.bottom()))
        painter.setPen(QColor(colors.muted))
        for level, text in ((first.top(), f"{100 * top:.0f} %"), (first.bottom(), "0")):
            number = QRectF(0, level - self._line / 2, first.left() - 4, self._line)
            painter.drawText(number, int(Qt.AlignmentFlag.AlignRight), text)
        caption = QRectF(first.left(), 0, self.width() - first.left(), self._line)
        words = painter.fontMetrics().elidedText(CAPTION, Qt.TextElideMode.ElideRight, int(caption.width()))
        painter.drawText(caption, int(Qt.AlignmentFlag.AlignLeft), words)
        for place, (letter, share, null, _) in enumerate(self._rows):
            box = self._column(place)
            gap = min(3.0, 0.15 * box.width())
            bar = box.adjusted(gap, box.height() * (1 - share / top), -gap, 0)
            painter.fillRect(bar, letter_color(letter, style, self._nucleic))
            level = box.bottom() - box.height() * null / top
            painter.setPen(QPen(QColor(colors.text), 1.5))
            painter.drawLine(QPointF(box.left() + 1, level), QPointF(box.right() - 1, level))
            painter.setPen(QColor(colors.text))
            painter.drawText(
                QRectF(box.left() - 4, box.bottom() + 2, box.width() + 8, self._line + 2), int(CENTER), letter
            )

    def tip_at(self, place: QPointF) -> str:
        """Return the tooltip for a residue."""
        for number, (letter, share, null, bits) in enumerate(self._rows):
            if self._column(number).adjusted(0, -20, 0, 20).contains(place):
                score = f"{bits:+.2f} bits".replace("-", "−") if math.isfinite(bits) else "cannot occur"
                return f"{letter}: {100 * share:.2f} %, background {100 * null:.2f} %, {score}"
        return ""


class Lane(QWidget):
    """Match, insert and delete state of a node, and their transitions."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: dict[str, float] = {}
        self._node = 0
        self.setAccessibleName("Transitions of the node")
        # Of the two ways that cross, the numbers stand 0.4 of the height between two states from each other.
        self.setMinimumSize(220, 72 + 5 * self.fontMetrics().height())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def show_steps(self, node: int, steps: dict[str, float]) -> None:
        """Show the transitions of a node."""
        self._node, self._steps = node, steps
        self.setAccessibleDescription(", ".join(f"{a[0]} to {a[1]} {percents(p)} %" for a, p in steps.items()))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, 150)

    def _places(self) -> dict[str, QPointF]:
        """Return the center of every state; those of the next node end in 2."""
        area = QRectF(self.rect()).adjusted(30, 18, -30, -54)
        left, right, middle = area.left(), area.right(), area.center().x()
        return {
            "D": QPointF(left, area.top()), "D2": QPointF(right, area.top()), "I": QPointF(middle, area.bottom()),
            "M": QPointF(left, area.center().y()), "M2": QPointF(right, area.center().y()),
        }  # fmt: skip

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._node:
            return
        painter, colors, places = QPainter(self), theme.current(), self._places()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        ways = {"MM": ("M", "M2", 0.5), "MI": ("M", "I", 0.5), "MD": ("M", "D2", 0.3), "IM": ("I", "M2", 0.5),
                "DM": ("D", "M2", 0.3), "DD": ("D", "D2", 0.5)}  # fmt: skip
        for name, (start, end, at) in ways.items():
            if name in self._steps:
                self._paint_arrow(painter, places[start], places[end], self._steps[name], at)
        if "II" in self._steps:
            self._paint_loop(painter, places["I"], self._steps["II"])
        for name, place in places.items():
            if self._steps or name in ("M", "D"):
                self._paint_state(painter, name[0], place, f"{self._node + (name[-1] == '2')}")
        if not self._steps:
            painter.setPen(QColor(colors.muted))
            painter.drawText(QRectF(self.rect()).adjusted(60, 0, -8, 0), int(CENTER), "the last node: the end follows")

    def _paint_state(self, painter: QPainter, kind: str, place: QPointF, number: str) -> None:
        colors = theme.current()
        painter.setPen(QPen(QColor(colors.accent), 1.5))
        painter.setBrush(QColor(colors.surface))
        box = QRectF(place.x() - 17, place.y() - 13, 34, 26)
        if kind == "M":
            painter.drawRect(box)
        elif kind == "D":
            painter.drawEllipse(box)
        else:
            x, y = place.x(), place.y()
            corners = [QPointF(x - 21, y), QPointF(x, y - 17), QPointF(x + 21, y), QPointF(x, y + 17)]
            painter.drawPolygon(QPolygonF(corners))
        painter.setPen(QColor(colors.text))
        painter.drawText(box.adjusted(-8, 0, 8, 0), int(CENTER), f"{kind}{number}" if len(number) < 4 else kind)

    def _pen(self, share: float) -> QPen:
        color = QColor(theme.current().muted)
        color.setAlphaF(0.35 + 0.65 * min(1.0, share))
        return QPen(color, 0.8 + 3.2 * share)

    def _paint_arrow(self, painter: QPainter, start: QPointF, end: QPointF, share: float, at: float) -> None:
        way = end - start
        length = max(1.0, math.hypot(way.x(), way.y()))
        unit = QPointF(way.x() / length, way.y() / length)
        start, end = start + unit * 20, end - unit * 22
        painter.setPen(self._pen(share))
        painter.drawLine(start, end)
        side = QPointF(-unit.y(), unit.x())
        painter.setBrush(painter.pen().color())
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawPolygon(QPolygonF([end + unit * 5, end + side * 4 - unit * 3, end - side * 4 - unit * 3]))
        self._paint_share(painter, start + (end - start) * at, share)

    def _paint_loop(self, painter: QPainter, place: QPointF, share: float) -> None:
        path = QPainterPath(place + QPointF(-8, 11))
        path.cubicTo(place + QPointF(-34, 46), place + QPointF(34, 46), place + QPointF(8, 11))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(self._pen(share))
        painter.drawPath(path)
        self._paint_share(painter, place + QPointF(0, 40), share)

    def _paint_share(self, painter: QPainter, place: QPointF, share: float) -> None:
        text = f"{percents(share)}{formatting.THIN}%"
        metrics = painter.fontMetrics()
        box = QRectF(0, 0, metrics.horizontalAdvance(text) + 6, metrics.height())
        box.moveCenter(place)
        painter.fillRect(box, QColor(theme.current().surface))
        painter.setPen(QColor(theme.current().text))
        painter.drawText(box, int(CENTER), text)


MAX_SIZES = 1100, 400
"""Pixels of the pictures."""


class NodeInspector(Surface):
    """Text at the left, residues and transitions at the right."""

    def __init__(self) -> None:
        super().__init__()
        self.bars, self.lane = EmissionBars(), Lane()
        scroll = ScrolledCard((12, 8, 8, 8), 6)
        self._words = scroll.box
        pictures = ScrolledCard((0, 8, 12, 8), 6)  # where the page is low they are not squeezed into each other
        pictures.box.addWidget(self.bars, 1)
        pictures.box.addWidget(self.lane, 1)
        for picture in (self.bars, self.lane):
            picture.setMaximumSize(*MAX_SIZES)
        pictures.box.addStretch(0)
        self.setLayout(row((scroll, 5), (pictures, 5), spacing=-1))

    def show_node(self, profile: ShownProfile | None, node: int) -> None:
        """Show a node, counted from 1."""
        clear_layout(self._words)
        if profile is None or not node:
            self.bars.show_rows([], False)
            self.lane.show_steps(0, {})
            return
        self._words.addWidget(label(node_title(profile, node), "heading", wrap=True))
        self._words.addWidget(facts_grid(node_facts(profile, node)))
        for sentence in lane_sentences(profile, node):
            self._words.addWidget(label(sentence, wrap=True, selectable=True))
        self._words.addWidget(label("Calibration of the profile", "muted"))
        self._words.addWidget(facts_grid(statistics_words(profile.hmm)))
        self._words.addStretch(1)
        self.bars.show_rows(emissions(profile, node), profile.hmm.alphabet.is_nucleic)
        self.lane.show_steps(node, lane_steps(profile, node))

    def set_scheme(self, scheme: str) -> None:
        """Color residues by another scheme."""
        self.bars.scheme = scheme
        self.bars.update()
