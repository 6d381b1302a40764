"""The sheet for a picture of an alignment."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QSpinBox, QWidget

from ... import formatting
from ...models.alignment.rows_view import Selection
from ..charts.picture_sheet import PictureSheet
from ..widgets.parts import fill_box, label
from .rows_page import RowsPanel
from .rows_picture import RowsChoices

MAX_LETTERS = 60_000
"""Cells of a picture with letters: SVG has an element of text for each."""

MAX_CELLS = 12_000_000

SIZES = {"letters": ("Letters", 9.0, 14.0), "screen": ("As on screen", 0.0, 0.0), "small": ("Colors only", 3.0, 3.0)}
"""Titles and pixels of the sizes of cells; 0 is that of the screen."""

PARTS = (
    ("with_names", "Names"), ("with_ruler", "Ruler"), ("with_notes", "Annotation of the file"),
    ("with_tracks", "Consensus and other tracks"), ("with_legend", "Legend of the colors"),
)  # fmt: skip


class RowsPictureSheet(PictureSheet):
    """Asks for part, layout and size."""

    def __init__(self, panel: RowsPanel, name: str, folder: Path) -> None:
        self._panel = panel
        super().__init__("Export picture of the alignment", f"{name.split('.')[0]}-alignment", folder)
        if self.objection():
            self.part.setCurrentIndex(self.part.findData("Visible part"))
        self.judge()

    def _selections(self) -> dict[str, Selection]:
        view, canvas = self._panel.view, self._panel.canvas
        found = {} if view.selection is None else {"Selection": view.selection}
        found["Whole alignment"] = Selection(range(view.n_rows), range(view.n_columns))
        found["Visible part"] = Selection(canvas.shown_rows(), canvas.shown_columns())
        return found

    def add_choices(self) -> None:
        self.part, self.sizes, self.per_block, self.wide = QComboBox(), QComboBox(), QSpinBox(), QSpinBox()
        self._parts = self._selections()
        for name, chosen in self._parts.items():
            rows, columns = formatting.plural(len(chosen.rows), "row"), formatting.plural(len(chosen.columns), "column")
            self.part.addItem(f"{name} ({rows}, {columns})", name)
        fill_box(self.sizes, ((key, text) for key, (text, _, _) in SIZES.items()))
        self.per_block.setRange(5, 100_000)
        self.wide.setRange(20, 2000)
        self.wide.setValue(180)
        self.wide.setSuffix(f"{formatting.THIN}mm")
        grid = QGridLayout()
        grid.setColumnStretch(2, 1)
        asked: tuple[tuple[str, QWidget], ...] = (
            ("What", self.part), ("Cells", self.sizes), ("Columns in a row", self.per_block), ("Width", self.wide),
        )  # fmt: skip
        for place, (text, box) in enumerate(asked):
            box.setAccessibleName(text)
            words = label(text)
            words.setBuddy(box)
            grid.addWidget(words, place, 0)
            grid.addWidget(box, place, 1)
        self.body.addLayout(grid)
        self.checks: dict[str, QCheckBox] = {}
        for key, text in PARTS:
            self.checks[key] = QCheckBox(text)
            self.checks[key].setChecked(True)
            self.body.addWidget(self.checks[key])
        self.part.currentIndexChanged.connect(lambda: self._propose_block())
        self.sizes.currentIndexChanged.connect(lambda: self._propose_block())
        self.per_block.valueChanged.connect(lambda: self.judge())
        self._propose_block()

    def _propose_block(self) -> None:
        n = len(self._chosen.columns)
        self.per_block.setValue(min(n, 60 if self.sizes.currentData() == "letters" else 600))
        self.judge()

    @property
    def _chosen(self) -> Selection:
        return self._parts[self.part.currentData()]

    def objection(self) -> str:
        n_cells = len(self._chosen.rows) * len(self._chosen.columns)
        if n_cells > MAX_CELLS:
            return "Too many rows and columns for a picture. Select a part, or take the visible part."
        if self.ending != ".png" and self.sizes.currentData() != "small" and n_cells > MAX_LETTERS:
            return "Too many letters for SVG or PDF. Take colors only, PNG, or a smaller part."
        return ""

    def choices(self) -> RowsChoices:
        canvas = self._panel.canvas
        _, cell, height = SIZES[self.sizes.currentData()]
        on = {key: box.isChecked() for key, box in self.checks.items()}
        tracks = canvas.tracks if on.pop("with_tracks") else ()
        return RowsChoices(
            self._chosen, self.per_block.value(), cell or canvas.cell, height or canvas.height_, tracks,
            is_vector=self.ending != ".png", millimeters=float(self.wide.value()), **on,
        )  # fmt: skip
