"""The alignment of a hit to the profile, painted: rulers, match line, residue colors."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QAbstractScrollArea

from clalign.hits import Hit

from .. import theme
from ..models.alignment_layout import Line, as_fasta, as_text, confidence, lay_out, node_at
from ..models.residue_colors import background_of, letter_on

MIN_POINTS, MAX_POINTS = 5, 28
EDGE = 12
COPY_COLUMNS = 80

BLOCK = ("ruler", "model", "match", "target", "posterior")
"""Lines that belong together."""


class AlignmentView(QAbstractScrollArea):
    """Wraps the alignments of all domains to its width and paints only the lines in view.

    A click on a column tells its node.

    Parameters
    ----------
    narrow : bool
        For a dock: small letters, short margins.
    """

    node_chosen = Signal(int)

    def __init__(self, narrow: bool = False) -> None:
        super().__init__()
        self.narrow = narrow
        self.hit: Hit | None = None
        self.profile = ""
        self.nucleic = False
        self.scheme = "clustal"
        self.usual_points = 8 if narrow else 10
        self.points = self.usual_points
        self.with_posterior = True
        self._lines: list[Line] = []
        self._marked: tuple[int, int] | None = None
        self._margin = 0.0
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Alignment")
        self._measure()

    def show_hit(self, hit: Hit | None, profile: str, nucleic: bool) -> None:
        """Show the alignments of a hit."""
        self.hit, self.profile, self.nucleic = hit, profile, nucleic
        self.setAccessibleName("Alignment" if hit is None else f"Alignment of {hit.name} to {profile}")
        self.verticalScrollBar().setValue(0)
        self._arrange()

    def set_posterior(self, shown: bool) -> None:
        """Show or hide the line that says how sure each column is."""
        self.with_posterior = shown
        self._arrange()

    def set_scheme(self, scheme: str) -> None:
        """Color residues by another scheme."""
        self.scheme = scheme
        self.viewport().update()

    def zoom(self, steps: int) -> None:
        """Make the letters larger or smaller; 0 restores their size."""
        self.points = min(MAX_POINTS, max(MIN_POINTS, self.points + steps)) if steps else self.usual_points
        self._measure()
        self._arrange()

    def go_to_domain(self, place: int) -> None:
        """Scroll to a domain."""
        row = next((i for i, shown in enumerate(self._lines) if shown.kind == "title" and shown.domain == place), None)
        if row is not None:
            self.verticalScrollBar().setValue(row)

    def as_text(self) -> str:
        """Return the alignments as plain text."""
        lines = lay_out(self.hit, self.profile, COPY_COLUMNS, False, self.with_posterior) if self.hit else []
        return as_text(lines) if lines else ""

    def as_fasta(self) -> str:
        """Return the matched parts as FASTA."""
        return as_fasta(self.hit) if self.hit else ""

    @property
    def n_columns(self) -> int:
        """Columns of the alignment that fit beside the margins."""
        return max(10, int((self.viewport().width() - 2 * EDGE - self._margin - 7 * self._cell) / self._cell))

    def _measure(self) -> None:
        self._font = theme.mono_font(self.points)
        metrics = QFontMetricsF(self._font)
        self._cell = max(metrics.horizontalAdvance("M"), 1.0)
        self._height = metrics.height() + 1
        self._baseline = metrics.ascent()

    def _arrange(self) -> None:
        names = [self.profile, self.hit.name] if self.hit else []
        most = 10 if self.narrow else 18 if self.viewport().width() < 900 else 30
        letters = min(most, max((len(name) for name in names), default=0))
        self._margin = (letters + 8) * self._cell
        self._lines = []
        if self.hit:
            self._lines = lay_out(self.hit, self.profile, self.n_columns, self.narrow, self.with_posterior)
        self._marked = None
        shown = max(1, int((self.viewport().height() - EDGE) / self._height))
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, len(self._lines) - shown))
        bar.setPageStep(shown)
        bar.setSingleStep(2)
        self.viewport().update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Wrap to the new width."""
        self._arrange()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        """Mark the column under the pointer and tell its node."""
        row = self.verticalScrollBar().value() + int((event.position().y() - EDGE) // self._height)
        column = int((event.position().x() - EDGE - self._margin) // self._cell)
        if not 0 <= row < len(self._lines) or self._lines[row].kind not in BLOCK:
            return
        # From the line that was hit up or down to the model's line of its block.
        row += BLOCK.index("model") - BLOCK.index(self._lines[row].kind)
        node = node_at(self._lines[row], column)
        if node is not None:
            self._marked = row, column
            self.viewport().update()
            self.node_chosen.emit(node)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Zoom with Ctrl, else scroll."""
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1 if event.angleDelta().y() > 0 else -1)
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Scroll by keys."""
        bar = self.verticalScrollBar()
        moves = {
            Qt.Key.Key_Down: bar.singleStep(),
            Qt.Key.Key_Up: -bar.singleStep(),
            Qt.Key.Key_PageDown: bar.pageStep(),
            Qt.Key.Key_PageUp: -bar.pageStep(),
            Qt.Key.Key_Home: -bar.maximum(),
            Qt.Key.Key_End: bar.maximum(),
        }
        move = moves.get(Qt.Key(event.key()))
        if move is None:
            super().keyPressEvent(event)
        else:
            bar.setValue(bar.value() + move)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self.viewport().update()
        super().changeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Paint the lines in view."""
        painter = QPainter(self.viewport())
        ground = theme.current().window if self.narrow else theme.current().surface
        painter.fillRect(self.viewport().rect(), QColor(ground))
        painter.setFont(self._font)
        first = self.verticalScrollBar().value()
        n_shown = int(self.viewport().height() / self._height) + 2
        y = float(EDGE)
        for shown in self._lines[first : first + n_shown]:
            self._paint_line(painter, shown, y)
            y += self._height
        self._paint_mark(painter, first)

    def _paint_mark(self, painter: QPainter, first: int) -> None:
        """Frame the column that was clicked."""
        if self._marked is None:
            return
        row, column = self._marked
        shown = self._lines[row : row + 4]
        n_lines = next((i for i, entry in enumerate(shown) if entry.kind == "space"), len(shown))
        left, top = EDGE + self._margin + column * self._cell, EDGE + (row - first) * self._height
        painter.setPen(QPen(QColor(theme.current().text), 1.5))
        painter.drawRect(QRectF(left - 0.5, top, self._cell + 1, n_lines * self._height))

    def _paint_line(self, painter: QPainter, shown: Line, y: float) -> None:
        colors = theme.current()
        base = y + self._baseline
        if shown.kind == "title":
            painter.setPen(QColor(colors.text))
            painter.setFont(self.font())
            painter.drawText(QPointF(EDGE, base), shown.text)
            painter.setFont(self._font)
            return
        painter.setPen(QColor(colors.muted))
        self._paint_margins(painter, shown, y)
        left = EDGE + self._margin
        if shown.kind in ("model", "target"):
            self._paint_residues(painter, shown.text, left, y)
            return
        if shown.kind == "posterior":
            self._paint_confidence(painter, shown.text, left, y)
            return
        painter.setPen(QColor(colors.muted if shown.kind == "ruler" else colors.accent))
        for column, letter in enumerate(shown.text):
            if letter != " ":
                painter.drawText(QPointF(left + column * self._cell, base), letter)

    def _paint_margins(self, painter: QPainter, shown: Line, y: float) -> None:
        right_side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        names = QRectF(EDGE, y, self._margin - 8 * self._cell, self._height)
        fits = len(shown.label) * self._cell <= names.width() + 4
        # Of "sp|P69905|HBA_HUMAN" the last part says most.
        label = shown.label if fits else shown.label.rstrip("|").rpartition("|")[2]
        label = painter.fontMetrics().elidedText(label, Qt.TextElideMode.ElideRight, int(names.width()) + 4)
        painter.drawText(names.adjusted(0, 0, 4, 0), Qt.AlignmentFlag.AlignVCenter, label)
        if shown.first is not None:
            numbers = QRectF(EDGE, y, self._margin - self._cell, self._height)
            painter.drawText(numbers, right_side, str(shown.first))
        if shown.last is not None:
            end = EDGE + self._margin + (len(shown.text) + 1) * self._cell
            painter.drawText(QPointF(end, y + self._baseline), str(shown.last))

    def _paint_confidence(self, painter: QPainter, text: str, left: float, y: float) -> None:
        """Draw marks on a ground that is the stronger the surer the column is."""
        colors = theme.current()
        for column, letter in enumerate(text):
            share = confidence(letter)
            x = left + column * self._cell
            if share is not None:
                ground = theme.blend(colors.accent, colors.surface, 0.5 * share**1.5)
                painter.fillRect(QRectF(x, y, self._cell + 0.5, self._height), ground)
            painter.setPen(QColor(colors.text if share is not None else colors.muted))
            painter.drawText(QPointF(x, y + self._baseline), letter)

    def _paint_residues(self, painter: QPainter, text: str, left: float, y: float) -> None:
        ink = QColor(theme.current().text)
        for column, letter in enumerate(text):
            x = left + column * self._cell
            back = background_of(letter, self.scheme, self.nucleic) if letter.isalpha() else None
            if back is not None:
                painter.fillRect(QRectF(x, y, self._cell + 0.5, self._height), QColor(back))
                painter.setPen(QColor(letter_on(back)))
            else:
                painter.setPen(ink)
            painter.drawText(QPointF(x, y + self._baseline), letter)
