"""Domains on their sequence, drawn to scale: in the table and above the alignment."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from clalign.values.hits import Domain, Hit

from ... import formatting, theme
from ...models.results.hits_model import NO_DOMAIN, RULE_ROLE, HitsModel
from ...models.widgets.text_table import ROW_ROLE, Index
from ..widgets.place_tips import PlaceTips

LONG_NAME = "sp|A0A024RBG1|NUD4B_HUMAN"
"""Columns in which a name like this fits show whole names, others short ones."""


def paint_strip(
    painter: QPainter, area: QRectF, length: int, domains: Sequence[Domain], dim: bool = False
) -> list[QRectF]:
    """Draw a sequence as a line and its domains as blocks; return where they are.

    The aligned part is solid, the envelope pale around it; a domain that is not reported is an outline.
    """
    colors = theme.current()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    middle = area.center().y()
    painter.setPen(QPen(QColor(colors.muted), 1))
    painter.drawLine(QPointF(area.left(), middle), QPointF(area.right(), middle))
    scale = area.width() / max(1, length)
    envelopes = []
    for domain in domains:
        color = QColor(colors.muted if dim or not domain.is_reported else colors.accent)
        pale = QColor(color)
        pale.setAlphaF(0.3)
        envelope, block = (
            QRectF(area.left() + start * scale, middle - half, max(3.0, (end - start) * scale), 2 * half)
            for (start, end), half in ((domain.envelope, 4), (domain.target_range, 5))
        )
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.surface))
        painter.drawRoundedRect(envelope, 2, 2)
        painter.setBrush(pale)
        painter.drawRoundedRect(envelope, 2, 2)
        painter.setPen(QPen(QColor(colors.surface) if domain.is_reported else color, 1))
        painter.setBrush(color if domain.is_reported else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(block, 2, 2)
        envelopes.append(envelope.united(block))
    return envelopes


class RowDelegate(QStyledItemDelegate):
    """Draws the line between significant and reported hits, and a hairline between queries or sequences."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        rule = index.data(RULE_ROLE)
        if rule:
            painter.save()
            colors = theme.current()
            threshold = rule == "threshold"
            painter.setPen(QPen(QColor(colors.caution if threshold else colors.border), 2 if threshold else 1))
            painter.drawLine(option.rect.topLeft(), option.rect.topRight())
            painter.restore()


class NameDelegate(RowDelegate):
    """Shortens names by the part that they share, their beginning, or else by their middle."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.textElideMode = Qt.TextElideMode.ElideMiddle
        if option.fontMetrics.horizontalAdvance(LONG_NAME) > option.rect.width():
            option.text = formatting.short_name(option.text)


class NoteDelegate(RowDelegate):
    """Edits a note in its cell; meanwhile the rows stay."""

    def __init__(self, table: QWidget, hits: HitsModel) -> None:
        super().__init__(table)
        self._hits = hits

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        made = super().createEditor(parent, option, index)
        made.setAccessibleName("Note")
        self._hits.hold(True)
        return made

    def destroyEditor(self, editor: QWidget, index: Index) -> None:
        super().destroyEditor(editor, index)
        # In a turn of its own: the table is not done with the row yet.
        QTimer.singleShot(0, self._hits, lambda: self._hits.hold(False))


class DomainDelegate(RowDelegate):
    """Draws the number of domains and their places on the sequence."""

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        option.text = ""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        row = index.data(ROW_ROLE)
        if row is None:
            return
        painter.save()
        chosen = option.state & QStyle.StateFlag.State_Selected
        painter.setPen(QColor(theme.current().text if chosen else theme.current().muted))
        area = QRectF(option.rect).adjusted(6, 0, -8, 0)
        left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        strip = area.adjusted(24, 0, 0, 0)
        if row.has_no_domain:
            painter.drawText(
                area, left, painter.fontMetrics().elidedText(NO_DOMAIN, Qt.TextElideMode.ElideRight, int(area.width()))
            )
        else:
            painter.drawText(area, left, str(index.data(Qt.ItemDataRole.DisplayRole)))
            if strip.width() > 16:
                model = index.model()
                dim = isinstance(model, HitsModel) and not row.is_significant
                paint_strip(painter, strip, row.length, row.domains, dim)
        painter.restore()


def domain_tip(domain: Domain) -> str:
    """Return the description of a domain: range, score, E-values, confidence."""
    first, last = domain.target_range
    lines = [f"Domain {domain.number}: {formatting.span(first + 1, last)}, {formatting.score(domain.score)} bits"]
    if domain.conditional_evalue is None:
        return f"{lines[0]}, E {formatting.evalue(domain.evalue)}"
    conditional = formatting.evalue(domain.conditional_evalue)
    lines.append(f"conditional E {conditional}, independent E {formatting.evalue(domain.evalue)}")
    envelope = f"envelope {formatting.span(domain.envelope[0] + 1, domain.envelope[1])}"
    if domain.accuracy is not None:
        envelope += f", expected accuracy {domain.accuracy:.2f}"
    verdict = "significant" if domain.is_significant else "reported" if domain.is_reported else "below the limit, pale"
    return "\n".join([*lines, envelope, verdict])


class DomainStrip(QWidget):
    """The domains of a hit; a click goes to a domain."""

    domain_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._hit: Hit | None = None
        self._blocks: list[QRectF] = []
        PlaceTips(self, self.words_at)
        self.setMinimumHeight(40)
        self.setMaximumHeight(40)

    def show_hit(self, hit: Hit | None) -> None:
        """Show the domains of a hit."""
        self._hit = hit
        self.setAccessibleName("" if hit is None else f"{formatting.plural(len(hit.domains), 'domain')} on {hit.name}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 40)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._hit is None:
            return
        painter = QPainter(self)
        area = QRectF(self.rect()).adjusted(8, 4, -8, -18)
        self._blocks = paint_strip(painter, area, self._hit.length, self._hit.domains)
        painter.setPen(QColor(theme.current().muted))
        below = QRectF(self.rect()).adjusted(8, 20, -8, -2)
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, "1")
        painter.drawText(
            below, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, formatting.count(self._hit.length)
        )

    def _block_at(self, x: float) -> int | None:
        return next((i for i, b in enumerate(self._blocks) if b.left() - 2 <= x <= b.right() + 2), None)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        place = self._block_at(event.position().x())
        if place is not None:
            self.domain_chosen.emit(place)

    def words_at(self, place: QPointF) -> str:
        """Return the tooltip for a place."""
        block = self._block_at(place.x())
        return "" if block is None or self._hit is None else domain_tip(self._hit.domains[block])
