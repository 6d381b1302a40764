"""Paints the lines of an alignment, on the screen and in files."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPen

from clalign.common.escapes import escaped

from ... import formatting, theme
from ...formatting import short_name
from ...models.alignment.alignment_layout import Line, confidence
from ...models.alignment.residue_colors import background_of, letter_on


def _fitting(name: str, most: int) -> str:
    """Return a name of at most some letters, or its most distinctive part."""
    whole = escaped(name)
    return whole if len(whole) <= most else short_name(name)


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
