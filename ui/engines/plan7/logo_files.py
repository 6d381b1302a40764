"""Logos for the command line: no window, no display."""

from __future__ import annotations

from PySide6.QtGui import QFont

from clalign.values.profile_logo import HeightMode
from clalign.values.profiles import Hmm

from ...views.charts.painting import has_fonts, start_painting
from ...views.charts.pictures import FORMATS
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
