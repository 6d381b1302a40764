"""Domains on their sequence, drawn to scale: in the table and above the alignment."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from clalign.hits import Hit

from .. import theme, words
from ..models.hits_model import COLUMNS, ROW_ROLE, RULE_ROLE

Index = QModelIndex | QPersistentModelIndex


def paint_strip(
    painter: QPainter, area: QRectF, length: int, spans: list[tuple[int, int]], chosen: int | None, dim: bool = False
) -> list[QRectF]:
    """Draw a sequence as a line and its domains as blocks; returns the blocks."""
    colors = theme.current()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    middle = area.center().y()
    painter.setPen(QPen(QColor(colors.muted), 1))
    painter.drawLine(area.left(), middle, area.right(), middle)
    scale = area.width() / max(1, length)
    blocks = []
    for place, (start, end) in enumerate(spans):
        block = QRectF(area.left() + start * scale, middle - 5, max(3.0, (end - start) * scale), 10)
        color = QColor(colors.muted if dim else colors.accent)
        color.setAlphaF(1.0 if chosen is None or chosen == place else 0.45)
        painter.setPen(QPen(QColor(colors.surface), 1))
        painter.setBrush(color)
        painter.drawRoundedRect(block, 2, 2)
        blocks.append(block)
    return blocks


class RowDelegate(QStyledItemDelegate):
    """Draws the threshold line between significant and reported hits."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw a cell."""
        super().paint(painter, option, index)
        rule = index.data(RULE_ROLE)
        if rule:
            painter.save()
            colors = theme.current()
            threshold = rule == "threshold"
            painter.setPen(QPen(QColor(colors.caution if threshold else colors.muted), 2 if threshold else 1))
            painter.drawLine(option.rect.topLeft(), option.rect.topRight())
            painter.restore()


class DomainDelegate(RowDelegate):
    """Draws the number of domains and where they lie on the sequence."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        """Leave the text to `paint`."""
        super().initStyleOption(option, index)
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Draw count and strip."""
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if row is None:
            return
        painter.save()
        chosen = option.state & QStyle.StateFlag.State_Selected
        painter.setPen(QColor(theme.current().text if chosen else theme.current().muted))
        area = QRectF(option.rect).adjusted(6, 0, -8, 0)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, str(row.n_domains))
        strip = area.adjusted(24, 0, 0, 0)
        if strip.width() > 16:
            dim = not index.model().is_significant(row)
            paint_strip(painter, strip, row.length, [(s[0], s[1]) for s in row.spans], None, dim)
        painter.restore()


DOMAIN_COLUMN = next(place for place, column in enumerate(COLUMNS) if column.key == "domains")


class DomainStrip(QWidget):
    """The domains of one hit; a click goes to a domain."""

    domain_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._hit: Hit | None = None
        self._blocks: list[QRectF] = []
        self.setMouseTracking(True)
        self.setMinimumHeight(40)
        self.setMaximumHeight(40)

    def show_hit(self, hit: Hit | None) -> None:
        """Show the domains of a hit."""
        self._hit = hit
        self.setAccessibleName("" if hit is None else f"{words.plural(len(hit.domains), 'domain')} on {hit.name}")
        self.update()

    def sizeHint(self) -> QSize:
        """Return a size for one line."""
        return QSize(200, 40)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw sequence, domains and the two ends."""
        if self._hit is None:
            return
        painter = QPainter(self)
        area = QRectF(self.rect()).adjusted(8, 4, -8, -18)
        spans = [domain.target_range for domain in self._hit.domains]
        self._blocks = paint_strip(painter, area, self._hit.length, spans, None)
        painter.setPen(QColor(theme.current().muted))
        below = QRectF(self.rect()).adjusted(8, 20, -8, -2)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, "1")
        painter.drawText(
            below, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words.count(self._hit.length)
        )

    def _block_at(self, x: float) -> int | None:
        return next((i for i, b in enumerate(self._blocks) if b.left() - 2 <= x <= b.right() + 2), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Go to the domain under the pointer."""
        place = self._block_at(event.position().x())
        if place is not None:
            self.domain_chosen.emit(place)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        """Say which domain is under the pointer."""
        place = self._block_at(event.position().x())
        if place is None or self._hit is None:
            self.setToolTip("")
            return
        domain = self._hit.domains[place]
        self.setToolTip(
            f"Domain {domain.number}: {domain.target_range[0] + 1}–{domain.target_range[1]}, "
            f"{words.score(domain.score)} bits, E {words.evalue(domain.evalue)}"
        )
