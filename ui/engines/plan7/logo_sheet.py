"""The sheet that exports a logo."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QCheckBox, QFileDialog, QGridLayout, QLineEdit, QRadioButton, QSpinBox

from ...views.parts import button, label, row
from ...views.pictures import FORMATS
from ...views.sheet import Sheet
from .logo_figure import LogoFigure
from .logo_pictures import PictureChoices

FORMAT_WORDS = {".svg": "SVG, to be edited", ".pdf": "PDF, in pages", ".png": "PNG, as pixels"}


class LogoSheet(Sheet):
    """Asks for format, nodes and file; emits the choices and the path."""

    export_asked = Signal(object, str)

    def __init__(self, figure: LogoFigure, shown: range, folder: Path, scheme: str) -> None:
        super().__init__("Export logo", 520)
        self._figure, self._folder, self._scheme = figure, folder, scheme
        self._own_name = False
        self.formats = QButtonGroup(self)
        self.first, self.last, self.per_row = QSpinBox(), QSpinBox(), QSpinBox()
        self.with_rows = QCheckBox("Occupancy and insertions below the letters")
        self.with_rows.setChecked(True)
        self.path = QLineEdit()
        self.path.setAccessibleName("File to write")
        self.problem = label("", "caution", wrap=True)
        self.export_button = button("Export", self._export, "primary")
        self._add_formats()
        self._add_nodes(shown)
        self.body.addWidget(self.with_rows)
        self.body.addWidget(label("File", "muted"))
        self.body.addLayout(row(self.path, button("Choose…", self._ask_path)))
        self.body.addWidget(self.problem)
        self.body.addStretch(1)
        self.foot.addLayout(row(None, button("Cancel", self.close_sheet), self.export_button))
        self.setFocusProxy(self.formats.buttons()[0])
        self.path.textEdited.connect(self._note_name)
        self.path.textChanged.connect(lambda: self._judge())
        self.formats.buttonToggled.connect(lambda: self._propose())
        self._propose()

    def _add_formats(self) -> None:
        self.body.addWidget(label("As", "muted"))
        for number, ending in enumerate(FORMATS):
            made = QRadioButton(FORMAT_WORDS[ending])
            self.formats.addButton(made, number)
            self.body.addWidget(made)
        self.formats.button(0).setChecked(True)

    def _add_nodes(self, shown: range) -> None:
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
        for place, (text, nodes) in enumerate((("All nodes", range(length)), ("Those in view", shown))):
            take = button(text, partial(self._take, nodes), "flat")
            grid.addWidget(take, place, 2, Qt.AlignmentFlag.AlignLeft)
        self.body.addLayout(grid)
        self.first.valueChanged.connect(lambda first: self.last.setMinimum(first))

    def _take(self, nodes: range) -> None:
        self.last.setMinimum(1)
        self.first.setValue(nodes.start + 1)
        self.last.setValue(nodes.stop)

    def _note_name(self) -> None:
        self._own_name = True

    def _ending(self) -> str:
        return FORMATS[self.formats.checkedId()]

    def _propose(self) -> None:
        name = self._figure.title.split(" – ")[0].replace("/", "_")
        path = Path(self.path.text()) if self._own_name else self._folder / f"{name}-logo"
        self.path.setText(str(path.with_suffix(self._ending()) if self._own_name else f"{path}{self._ending()}"))
        self._judge()

    def _judge(self) -> None:
        text = self.path.text().strip()
        path, problem = Path(text or "."), ""
        if not text or path.is_dir():
            problem = "Choose a file name."
        elif not path.parent.is_dir():
            problem = f"The folder {path.parent} is not there."
        elif path.suffix.lower() not in FORMATS:
            problem = f"The name must end in {', '.join(FORMATS)}."
        self.export_button.setEnabled(not problem)
        self.export_button.setToolTip(problem)
        exists = not problem and path.exists()
        self.problem.setText(f"{path.name} is there already and will be replaced." if exists else problem)

    def _ask_path(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Export logo to", self.path.text())
        if name:
            self._own_name = True
            self.path.setText(name)

    def _export(self) -> None:
        choices = PictureChoices(
            range(self.first.value() - 1, self.last.value()),
            self.per_row.value(),
            self.with_rows.isChecked(),
            self._scheme,
        )
        self.export_asked.emit(choices, self.path.text().strip())
