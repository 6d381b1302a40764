"""The sheet that exports a logo."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox, QGridLayout, QSpinBox

from ...views.charts.picture_sheet import PictureSheet
from ...views.widgets.parts import button, label
from .logo_figure import LogoFigure
from .logo_pictures import PictureChoices


class LogoSheet(PictureSheet):
    """Asks for format, nodes and file."""

    def __init__(self, figure: LogoFigure, shown: range, folder: Path, scheme: str) -> None:
        self._figure, self._shown, self._scheme = figure, shown, scheme
        super().__init__("Export logo", f"{figure.title.split(' – ')[0]}-logo", folder)

    def add_choices(self) -> None:
        self.first, self.last, self.per_row = QSpinBox(), QSpinBox(), QSpinBox()
        self.with_rows = QCheckBox("Occupancy and insertions below the letters")
        self.with_rows.setChecked(True)
        length = self._figure.length
        grid = QGridLayout()
        grid.setColumnStretch(3, 1)
        for place, (text, box, least, most, value) in enumerate((
            ("First node", self.first, 1, length, 1), ("Last node", self.last, 1, length, length),
            ("Nodes in a row", self.per_row, 5, 500, min(50, max(5, length))),
        )):  # fmt: skip
            box.setRange(least, most)
            box.setValue(value)
            box.setAccessibleName(text)
            words_ = label(text)
            words_.setBuddy(box)
            grid.addWidget(words_, place, 0)
            grid.addWidget(box, place, 1)
        for place, (text, nodes) in enumerate((("All nodes", range(length)), ("Those in view", self._shown))):
            take = button(text, partial(self._take, nodes), "flat")
            grid.addWidget(take, place, 2, Qt.AlignmentFlag.AlignLeft)
        self.body.addLayout(grid)
        self.first.valueChanged.connect(lambda first: self.last.setMinimum(first))
        self.body.addWidget(self.with_rows)

    def _take(self, nodes: range) -> None:
        self.last.setMinimum(1)
        self.first.setValue(nodes.start + 1)
        self.last.setValue(nodes.stop)

    def choices(self) -> PictureChoices:
        nodes = range(self.first.value() - 1, self.last.value())
        return PictureChoices(nodes, self.per_row.value(), self.with_rows.isChecked(), self._scheme)
