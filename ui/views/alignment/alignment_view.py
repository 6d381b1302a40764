"""The alignments of a hit, to a profile or to another sequence, wrapped to a width, on the screen and in files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
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

from clalign.common.escapes import escaped
from clalign.values.documents import Card
from clalign.values.hits import Hit

from ... import formatting, theme
from ...models.alignment.alignment_layout import Layout, Line, as_text, confidence, node_at
from ...residue_colors import background_of, letter_on


def _fitting(name: str, most: int) -> str:
    """Return a name of at most some letters, or its most distinctive part."""
    whole = escaped(name)
    return whole if len(whole) <= most else formatting.short_name(name)


class LinePainter:
    """Paints lines below each other.

    Parameters
    ----------
    font : QFont
        Monospaced, for everything but titles.
    title_font : QFont
    """

    def __init__(self, font: QFont, title_font: QFont) -> None:
        self.font, self.title_font = font, title_font
        self.scheme, self.nucleic = "clustal", False
        self.colors = theme.current()
        metrics = QFontMetricsF(font)
        self.cell = max(metrics.horizontalAdvance("M"), 1.0)
        self.height = metrics.height() + 1
        self.baseline = metrics.ascent()
        title_metrics = QFontMetricsF(title_font)
        self.title_height = max(self.height, title_metrics.height() + 1)
        self._title_baseline = max(self.baseline, title_metrics.ascent())
        self.margin = 0.0
        self.letters = self.digits = 0

    def in_font(self, font: QFont) -> LinePainter:
        """Return a copy for letters of another size."""
        made = LinePainter(font, self.title_font)
        made.scheme, made.nucleic = self.scheme, self.nucleic
        return made

    def make_room(self, names: list[str], most: int, largest: int) -> None:
        """Reserve columns at the left for names and numbers.

        Parameters
        ----------
        names : list of str
            A name of more than `most` letters is shown by its most distinctive part.
        most : int
            0: no names, and no numbers at the right ends.
        largest : int
            The largest number.
        """
        self.letters = min(most, max((len(_fitting(name, most)) for name in names), default=0))
        self.digits = len(formatting.count(largest))
        self.margin = (self.letters + (self.letters > 0) + self.digits + 1) * self.cell

    def height_of(self, lines: Iterable[Line]) -> float:
        """Return the pixels of lines; a title may have larger letters than the others."""
        return sum(self.title_height if line.kind == "title" else self.height for line in lines)

    @property
    def after(self) -> int:
        """Columns for the numbers at the right ends of lines with names at the left."""
        return self.digits + 1 if self.letters else 0

    def paint(self, painter: QPainter, shown: Line, x: float, y: float) -> None:
        """Draw a line."""
        colors = self.colors
        if shown.kind == "title":
            painter.setPen(QColor(colors.text))
            painter.setFont(self.title_font)
            painter.drawText(QPointF(x, y + self._title_baseline), shown.text)
            return
        painter.setFont(self.font)
        painter.setPen(QColor(colors.muted))
        self._paint_margins(painter, shown, x, y)
        left = x + self.margin
        if shown.kind in ("model", "target"):
            self._paint_residues(painter, shown.text, left, y)
            return
        if shown.kind == "posterior":
            self._paint_confidence(painter, shown.text, left, y)
            return
        painter.setPen(QColor(colors.muted if shown.kind == "ruler" else colors.accent))
        base = y + self.baseline
        for column, letter in enumerate(shown.text):
            if letter != " ":
                painter.drawText(QPointF(left + column * self.cell, base), letter)

    def paint_mark(self, painter: QPainter, column: int, x: float, y: float, n_lines: int) -> None:
        """Frame a column of some lines."""
        painter.setPen(QPen(QColor(self.colors.text), 1.5))
        left = x + self.margin + column * self.cell
        painter.drawRect(QRectF(left - 0.5, y, self.cell + 1, n_lines * self.height))

    def _paint_margins(self, painter: QPainter, shown: Line, x: float, y: float) -> None:
        right_side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if self.letters:
            # Where no number follows, its room is the name's, too.
            letters = self.letters if shown.first is not None else self.letters + self.digits + 1
            label = _fitting(shown.label, letters)
            names = QRectF(x, y, letters * self.cell + 4, self.height)
            label = painter.fontMetrics().elidedText(label, Qt.TextElideMode.ElideRight, int(names.width()))
            painter.drawText(names, Qt.AlignmentFlag.AlignVCenter, label)
        if shown.first is not None:
            numbers = QRectF(x, y, self.margin - self.cell, self.height)
            painter.drawText(numbers, right_side, formatting.count(shown.first))
        if shown.last is not None and self.letters:
            end = x + self.margin + (len(shown.text) + 1) * self.cell
            painter.drawText(QPointF(end, y + self.baseline), formatting.count(shown.last))

    def _paint_confidence(self, painter: QPainter, text: str, left: float, y: float) -> None:
        """Draw marks on a ground that is stronger for surer columns."""
        colors = self.colors
        for column, letter in enumerate(text):
            share = confidence(letter)
            x = left + column * self.cell
            if share is not None:
                ground = theme.blend(colors.accent, colors.surface, 0.5 * share**1.5)
                painter.fillRect(QRectF(x, y, self.cell + 0.5, self.height), ground)
            painter.setPen(QColor(colors.text if share is not None else colors.muted))
            painter.drawText(QPointF(x, y + self.baseline), letter)

    def _paint_residues(self, painter: QPainter, text: str, left: float, y: float) -> None:
        ink = QColor(self.colors.text)
        for column, letter in enumerate(text):
            x = left + column * self.cell
            back = background_of(letter, self.scheme, self.nucleic) if letter.isalpha() else None
            if back is not None:
                painter.fillRect(QRectF(x, y, self.cell + 0.5, self.height), QColor(back))
                painter.setPen(QColor(letter_on(back)))
            else:
                painter.setPen(ink)
            painter.drawText(QPointF(x, y + self.baseline), letter)


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
