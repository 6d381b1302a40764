"""The sheet that saves a picture of a chosen width."""

from __future__ import annotations

from PySide6.QtWidgets import QDoubleSpinBox

from .parts import label, row
from .picture_sheet import PictureSheet

USUAL, LEAST, MOST = 180.0, 20.0, 2000.0
"""Millimeters: about the width of a page."""


class SizedPictureSheet(PictureSheet):
    """Emits the width in millimeters, and the path."""

    def add_choices(self) -> None:
        """Add the width."""
        self.width_box = QDoubleSpinBox()
        self.width_box.setRange(LEAST, MOST)
        self.width_box.setDecimals(0)
        self.width_box.setValue(USUAL)
        self.width_box.setSuffix(" mm")
        self.width_box.setAccessibleName("Width of the picture")
        self.body.addLayout(row(label("Width", "muted"), self.width_box, None))

    def choices(self) -> float:
        """Return the width."""
        return self.width_box.value()
