"""The sheet that saves a picture of a chosen width."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QDoubleSpinBox

from ..widgets.parts import label, row
from .picture_sheet import PictureSheet

DEFAULT_WIDTH, MIN_WIDTH, MAX_WIDTH = 180.0, 20.0, 2000.0
"""Millimeters; the default is about the width of a page."""


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
        """Add the width."""
        self.width_box = QDoubleSpinBox()
        self.width_box.setRange(MIN_WIDTH, MAX_WIDTH)
        self.width_box.setDecimals(0)
        self.width_box.setValue(DEFAULT_WIDTH)
        self.width_box.setSuffix(" mm")
        self.width_box.setAccessibleName("Width of the picture")
        self.body.addLayout(row(label("Width", "muted"), self.width_box, None))

    def choices(self) -> float:
        """Return the width."""
        return self.width_box.value()
