"""The meaning of the colors of a chart, with samples as they are drawn."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from clalign.engines.pictures.charts import swatch

from ... import theme
from ..widgets.parts import label
from .drawing_painter import paint_shapes

Entry = tuple[str, str]
"""Kind of sample, see `swatch`, and its text."""


class Swatch(QWidget):
    """A sample of what a chart draws."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = ""
        self.setFixedSize(QSize(26, 16))

    def show_kind(self, kind: str) -> None:
        """Show another sample."""
        if kind != self.kind:
            self.kind = kind
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_shapes(QPainter(self), swatch(self.kind, 0.0, self.height() / 2), theme.current())


class Legend(QWidget):
    """A line for each entry; long ones are wrapped."""

    def __init__(self) -> None:
        super().__init__()
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(1)
        self._grid.setColumnStretch(1, 1)
        self.entries: list[Entry] = []
        self._lines: list[tuple[Swatch, QLabel]] = []

    def show_entries(self, entries: list[Entry]) -> None:
        """Show other entries."""
        if entries == self.entries:
            return
        self.entries = entries
        while len(self._lines) < len(entries):
            swatch, words = Swatch(), label("", "muted", wrap=True)
            words.setMinimumWidth(1)
            self._grid.addWidget(swatch, len(self._lines), 0)
            self._grid.addWidget(words, len(self._lines), 1)
            self._lines.append((swatch, words))
        for place, (piece, words) in enumerate(self._lines):
            shown = place < len(entries)
            piece.setVisible(shown)
            words.setVisible(shown)
            if shown:
                piece.show_kind(entries[place][0])
                words.setText(entries[place][1])
