"""The base of sheets that export a picture: format, file, and options of each kind of picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QDoubleSpinBox, QFileDialog, QLineEdit, QRadioButton

from ..widgets.parts import button, label, row
from ..widgets.sheet import Sheet
from .pictures import FORMATS

DEFAULT_WIDTH, MIN_WIDTH, MAX_WIDTH = 180.0, 20.0, 2000.0
"""Millimeters; the default is about the width of a page."""

FORMAT_WORDS = {".svg": "SVG, editable", ".pdf": "PDF, in pages", ".png": "PNG, as pixels"}


class PictureSheet(Sheet):
    """Asks for format and file; emits choices and path, or only the choices for the clipboard.

    Parameters
    ----------
    heading : str
    stem : str
        The name that the file is proposed to have, without its ending.
    folder : Path
    """

    export_requested = Signal(object, str)
    copy_requested = Signal(object)

    def __init__(self, heading: str, stem: str, folder: Path) -> None:
        super().__init__(heading, 520)
        self._stem, self._folder = stem.replace("/", "_"), folder
        self._own_name = False
        self.formats = QButtonGroup(self)
        self.path = QLineEdit()
        self.path.setAccessibleName("File to write")
        self.problem = label("", "caution", wrap=True)
        self.export_button = button("Export", self._export, "primary")
        self._add_formats()
        self.add_choices()
        self.body.addWidget(label("File", "muted"))
        self.body.addLayout(row(self.path, button("Choose…", self._choose_path)))
        self.body.addWidget(self.problem)
        self.body.addStretch(1)
        self.copy_button = button("Copy", self._copy, tip="Put the picture on the clipboard, as pixels and as SVG")
        self.foot.addLayout(row(self.copy_button, None, button("Cancel", self.close_sheet), self.export_button))
        self.setFocusProxy(self.formats.buttons()[0])
        self.path.textEdited.connect(self._note_name)
        self.path.textChanged.connect(lambda: self.judge())
        self.formats.buttonToggled.connect(lambda: self._propose())
        self._propose()

    def add_choices(self) -> None:
        """Add the options of a kind of picture."""

    def choices(self) -> object:
        """Return the choices."""
        raise NotImplementedError

    def objection(self) -> str:
        """Return why a picture is not possible; empty if it is."""
        return ""

    def _add_formats(self) -> None:
        self.body.addWidget(label("As", "muted"))
        for number, ending in enumerate(FORMATS):
            made = QRadioButton(FORMAT_WORDS[ending])
            self.formats.addButton(made, number)
            self.body.addWidget(made)
        self.formats.button(0).setChecked(True)

    def _note_name(self) -> None:
        self._own_name = True

    @property
    def ending(self) -> str:
        """The ending of the file name."""
        return FORMATS[self.formats.checkedId()]

    def _propose(self) -> None:
        path = Path(self.path.text()) if self._own_name else self._folder / self._stem
        self.path.setText(str(path.with_suffix(self.ending) if self._own_name else f"{path}{self.ending}"))
        self.judge()

    def judge(self) -> None:
        """Show why the picture cannot be written."""
        text = self.path.text().strip()
        path, problem = Path(text or "."), ""
        if not text or path.is_dir():
            problem = "Choose a file name."
        elif not path.parent.is_dir():
            problem = f"The folder {path.parent} does not exist."
        elif path.suffix.lower() not in FORMATS:
            problem = f"The name must end in {', '.join(FORMATS)}."
        else:
            problem = self.objection()
        self.export_button.setEnabled(not problem)
        self.export_button.setToolTip(problem)
        exists = not problem and path.exists()
        self.problem.setText(f"{path.name} exists and will be replaced." if exists else problem)

    def _choose_path(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, f"{self.heading} to", self.path.text())
        if name:
            self._own_name = True
            self.path.setText(name)

    def _copy(self) -> None:
        self.copy_requested.emit(self.choices())

    def _export(self) -> None:
        self.export_requested.emit(self.choices(), self.path.text().strip())


class SizedPictureSheet(PictureSheet):
    """Emits the width in millimeters, and the path.

    Parameters
    ----------
    heading, stem, folder
        As of `PictureSheet`.
    objection : callable
        Returns why a picture cannot be written to a path; empty if it can.
    """

    def __init__(
        self, heading: str, stem: str, folder: Path, objection: Callable[[str], str] = lambda path: ""
    ) -> None:
        self._objection = objection
        super().__init__(heading, stem, folder)

    def objection(self) -> str:
        return self._objection(self.path.text().strip())

    def add_choices(self) -> None:
        self.width_box = QDoubleSpinBox()
        self.width_box.setRange(MIN_WIDTH, MAX_WIDTH)
        self.width_box.setDecimals(0)
        self.width_box.setValue(DEFAULT_WIDTH)
        self.width_box.setSuffix(" mm")
        self.width_box.setAccessibleName("Width of the picture")
        self.body.addLayout(row(label("Width", "muted"), self.width_box, None))

    def choices(self) -> float:
        return self.width_box.value()
