"""Logos for the command line: no window, no display."""

from __future__ import annotations

import os

from PySide6.QtGui import QFont, QGuiApplication

from clalign.values.profile_logo import HeightMode
from clalign.values.profiles import Hmm

from ...views.letter_paths import letter_path
from ...views.pictures import FORMATS
from .logo_figure import logo_figure
from .logo_pictures import PictureChoices, save_logo

__all__ = ["FORMATS", "PictureChoices", "has_fonts", "write_logo"]


def write_logo(hmm: Hmm, mode: HeightMode, choices: PictureChoices, path: str) -> None:
    """Write the logo of a profile; the ending of the file name decides the format.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    start_painting()
    save_logo(logo_figure(hmm, mode), choices, path, QFont())


def start_painting() -> None:
    """Make what fonts need; no display is looked for."""
    if QGuiApplication.instance() is None:
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
        _kept.append(QGuiApplication(["clalign"]))


_kept: list[QGuiApplication] = []


def has_fonts() -> bool:
    """Return whether letters can be drawn."""
    start_painting()
    return letter_path("W", QFont().family()).elementCount() > 5
