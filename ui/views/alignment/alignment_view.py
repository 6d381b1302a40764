"""The alignments of a hit, to a profile or to another sequence, wrapped to the width of the view."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea

from clalign.values.documents import Card
from clalign.values.hits import Hit

from ... import theme
from ...models.alignment.alignment_layout import Layout, Line, as_text, node_at
from .alignment_painter import LinePainter

MIN_POINTS, USUAL_POINTS, MAX_POINTS = 5, 10, 28
NARROW = 560
"""Pixels below which all the room is for residues, without names beside the lines."""
EDGE = 12
COPY_COLUMNS = 80

BLOCK = ("ruler", "model", "match", "target", "posterior")
"""Lines that belong together."""


class AlignmentView(QAbstractScrollArea):
    """Wraps the alignments of all domains and paints the visible lines.

    A click on a column emits its node, or for two sequences the alignment and the column.
    """

    node_chosen = Signal(int)
    column_chosen = Signal(int, int)

    def __init__(self) -> None:
        super().__init__()
        self.hit: Hit | None = None
        self.card: Card = {}
        self._layout = Layout()
        self.points = USUAL_POINTS
        self.with_posterior = True
        self.shown_lines: Sequence[Line] = []
        self._marked: tuple[int, int] | None = None
        self.setFrameShape(QAbstractScrollArea.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Alignment")
        self.lines = LinePainter(theme.mono_font(self.points), self.font())

    def show_hit(self, hit: Hit | None, card: Card, nucleic: bool, layout: Layout) -> None:
        """Show the alignments of a hit to the profile, or the query, of a card."""
        self.hit, self.card, self._layout, self.lines.nucleic = hit, card, layout, nucleic
        self.setAccessibleName("Alignment" if hit is None else f"Alignment of {hit.name} to {self.profile}")
        self.verticalScrollBar().setValue(0)
        self._arrange()

    @property
    def profile(self) -> str:
        """Name of the profile or query."""
        return str(self.card.get("name", ""))

    @property
    def scheme(self) -> str:
        """Colors of the residues."""
        return self.lines.scheme

    def set_posterior(self, shown: bool) -> None:
        """Show or hide the line with the confidence of each column."""
        self.with_posterior = shown
        self._arrange()

    def set_scheme(self, scheme: str) -> None:
        """Color residues by another scheme."""
        self.lines.scheme = scheme
        self.viewport().update()

    def zoom(self, steps: int) -> None:
        """Enlarge or reduce the letters; 0 restores their size."""
        self.points = min(MAX_POINTS, max(MIN_POINTS, self.points + steps)) if steps else USUAL_POINTS
        self.lines = self.lines.in_font(theme.mono_font(self.points))
        self._arrange()

    def go_to_domain(self, place: int) -> None:
        """Scroll to a domain."""
        titles = ((i, shown) for i, shown in enumerate(self.shown_lines) if shown.kind == "title")
        row = next((i for i, shown in titles if shown.domain == place), None)
        if row is not None:
            self.verticalScrollBar().setValue(row)

    def go_to_column(self, place: int, column: int) -> None:
        """Mark a column of an alignment of two sequences, and scroll to it."""
        row = self._layout.row_of_column(self.shown_lines, place, column) if self.hit is not None else None
        if row is None:
            return
        self._marked = row, column - self.shown_lines[row].begin
        bar = self.verticalScrollBar()
        if not bar.value() < row < bar.value() + bar.pageStep() - len(BLOCK):
            bar.setValue(max(0, row - bar.pageStep() // 3))
        self.viewport().update()

    def as_text(self) -> str:
        """Return the alignments as plain text."""
        lines = self._laid_out(COPY_COLUMNS)
        return as_text(lines) if lines else ""

    def as_fasta(self) -> str:
        """Return the matched parts as FASTA."""
        return "" if self.hit is None else self._layout.fasta(self.hit, self.card)

    def _laid_out(self, n_columns: int, titled: bool = True) -> Sequence[Line]:
        if self.hit is None:
            return []
        return self._layout.lines(self.hit, self.card, n_columns, self.with_posterior, titled)

    @property
    def n_columns(self) -> int:
        """Columns of the alignment that fit beside the margins."""
        room = self.viewport().width() - 2 * EDGE - self.lines.margin
        return max(10, int(room / self.lines.cell) - self.lines.after)

    def _arrange(self) -> None:
        names = [self.profile, self.hit.name] if self.hit else []
        most = 0 if self.viewport().width() < NARROW else 18 if self.viewport().width() < 900 else 30
        longest = max(int(self.card.get("length", 0)), self.hit.length) if self.hit else 0
        self.lines.make_room(names, most, longest)
        # What the title of a single alignment of two sequences says stands above already.
        several = self.hit is not None and len(self.hit.domains) > 1
        self.shown_lines = self._laid_out(self.n_columns, several)
        self._marked = None
        shown = self._n_last_lines()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, len(self.shown_lines) - shown))
        bar.setPageStep(shown)
        bar.setSingleStep(2)
        self.viewport().update()

    def _n_last_lines(self) -> int:
        """Return how many of the last lines fit the view."""
        room = self.viewport().height() - EDGE
        n = max(1, int(room / self.lines.height))
        while n > 1 and self.lines.height_of(self.shown_lines[-n:]) > room:
            n -= 1
        return n

    def _row_at(self, y: float) -> int:
        """Return the line at a height of the view; an invalid one above and below all lines."""
        row, bottom = self.verticalScrollBar().value(), float(EDGE)
        if y < bottom:
            return -1
        while row < len(self.shown_lines):
            bottom += self.lines.height_of(self.shown_lines[row : row + 1])
            if bottom > y:
                break
            row += 1
        return row

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._arrange()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self._row_at(event.position().y())
        column = int((event.position().x() - EDGE - self.lines.margin) // self.lines.cell)
        if not 0 <= row < len(self.shown_lines) or self.shown_lines[row].kind not in BLOCK:
            return
        # From the line that was hit up or down to the model's line of its block.
        row += BLOCK.index("model") - BLOCK.index(self.shown_lines[row].kind)
        if not self._layout.has_nodes:
            self._choose_column(row, column)
            return
        node = node_at(self.shown_lines[row], column)
        if node is not None:
            self._marked = row, column
            self.viewport().update()
            self.node_chosen.emit(node)

    def _choose_column(self, row: int, column: int) -> None:
        line = self.shown_lines[row]
        if 0 <= column < len(line.text):
            self._marked = row, column
            self.viewport().update()
            self.column_chosen.emit(line.domain, line.begin + column)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self.zoom(1 if event.angleDelta().y() > 0 else -1)
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
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

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self.viewport())
        painter.fillRect(self.viewport().rect(), QColor(theme.current().surface))
        self.lines.colors = theme.current()
        first = self.verticalScrollBar().value()
        n_shown = int(self.viewport().height() / self.lines.height) + 2
        y = float(EDGE)
        for shown in self.shown_lines[first : first + n_shown]:
            self.lines.paint(painter, shown, EDGE, y)
            y += self.lines.height_of([shown])
        self._paint_mark(painter, first, n_shown)

    def _paint_mark(self, painter: QPainter, first: int, n_shown: int) -> None:
        """Frame the clicked column if its lines are visible."""
        row, column = self._marked or (-1, 0)
        if row < 0 or not first - len(BLOCK) < row < first + n_shown:
            return
        shown = self.shown_lines[row : row + 4]
        n_lines = next((i for i, entry in enumerate(shown) if entry.kind == "space"), len(shown))
        y = EDGE + self.lines.height_of(self.shown_lines[first:row]) - self.lines.height_of(self.shown_lines[row:first])
        self.lines.paint_mark(painter, column, EDGE, y, n_lines)
