"""The meaning of the colors of a chart, with samples as they are drawn."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from clalign.engines.pictures.charts import swatch

from ... import theme
from ..widgets.parts import clear_layout, grid, label
from .drawing_painter import paint_shapes

Entry = tuple[str, str]
"""Kind of sample, see `swatch`, and its text."""


class Swatch(QWidget):
    """A sample of what a chart draws."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.setFixedSize(QSize(26, 16))

    def paintEvent(self, event: QPaintEvent) -> None:
        paint_shapes(QPainter(self), swatch(self.kind, 0.0, self.height() / 2), theme.current())


class Legend(QWidget):
    """A line for each entry; long ones are wrapped."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = grid(8, 1)
        self.setLayout(self._lines)
        self.entries: list[Entry] = []

    def show_entries(self, entries: list[Entry]) -> None:
        """Show other entries."""
        if entries == self.entries:
            return
        self.entries = entries
        clear_layout(self._lines)
        for place, (kind, text) in enumerate(entries):
            words = label(text, "muted", wrap=True)
            words.setMinimumWidth(1)
            for column, part in enumerate((Swatch(kind), words)):
                self._lines.addWidget(part, place, column)
                part.show()  # the layout would show it in the next turn only
