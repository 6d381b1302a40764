"""Writes every picture of the window to a file or to the clipboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication

from .app_context import AppContext

if TYPE_CHECKING:
    from ..views.charts.picture_sheet import PictureSheet
    from ..views.charts.pictures import Picture


def export_picture_file(
    app: AppContext, stem: str, make: Callable[[], Picture], objection: Callable[[str], str] = lambda path: ""
) -> None:
    """Open the sheet for format, width and file of a picture, and write or copy it.

    Parameters
    ----------
    app : AppContext
    stem : str
        The name that the file is proposed to have, without its ending.
    make : callable
        Returns the picture.
    objection : callable
        Returns why a picture cannot be written to a path; empty if it can.
    """
    from ..views.charts.picture_sheet import SizedPictureSheet

    sheet = SizedPictureSheet("Save picture", re.sub(r"[/|\\:*?\"<>]+", "_", stem), app.export_folder, objection)
    open_picture_sheet(app, sheet, lambda _: make(), lambda millimeters: millimeters, objection("picture.svg"))


def open_picture_sheet(
    app: AppContext, sheet: PictureSheet, make: Callable[[Any], Picture], width: Callable[[Any], float] = lambda _: 0.0,
    no_copy: str = "",
) -> None:  # fmt: skip
    """Open a sheet for a picture, and write or copy it.

    Parameters
    ----------
    app : AppContext
    sheet : PictureSheet
    make, width : callable
        Return the picture for the choices of the sheet, and its width in millimeters; 0 for that of its pixels.
    no_copy : str
        Why it cannot be copied; empty if it can.
    """
    from ..views.charts.pictures import save_picture

    def save(choices: Any, path: str) -> None:
        app.window.sheets.close_sheet()
        write = partial(save_picture, make(choices), path, QFont(QApplication.font()), width(choices))
        app.write_file(path, "Picture", write, app.files)

    def copy(choices: Any) -> None:
        app.window.sheets.close_sheet()
        if no_copy:
            app.notify("stop", no_copy)
        else:
            copy_picture(app, make(choices), width(choices))

    sheet.export_requested.connect(save)
    sheet.copy_requested.connect(copy)
    app.window.sheets.open_sheet(sheet)


def copy_picture(app: AppContext, picture: Picture, millimeters: float = 0.0) -> None:
    """Copy a picture to the clipboard."""
    from ..views.charts.pictures import copied

    QGuiApplication.clipboard().setMimeData(copied(picture, QApplication.font(), millimeters))
    app.notify("good", "The picture is on the clipboard.")
