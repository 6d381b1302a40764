"""Painting for the command line: no window, no display."""

from __future__ import annotations

import os

from PySide6.QtGui import QFont, QGuiApplication

from clalign.values.drawings import Drawing

from .drawing_painter import DrawingPicture
from .letter_paths import letter_path
from .pictures import save_picture


def start_painting() -> None:
    """Create what fonts need, without a display."""
    if QGuiApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        _kept.append(QGuiApplication(["clalign"]))


_kept: list[QGuiApplication] = []


def has_fonts() -> bool:
    """Return whether letters can be drawn."""
    start_painting()
    return letter_path("W", QFont().family()).elementCount() > 5


def write_drawing(drawing: Drawing, path: str, millimeters: float) -> None:
    """Write a drawing in the format of the ending of the file name.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    start_painting()
    save_picture(DrawingPicture(drawing), path, QFont(), millimeters)
