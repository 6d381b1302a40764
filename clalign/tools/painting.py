"""Pictures without a window, drawn by its painters, which need its libraries."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from clalign.errors import ClalignError, ExitCode, OptionError, OutputError

if TYPE_CHECKING:
    from clalign.engines.pictures import PictureRequest
    from clalign.runs.run_file import RunFile

ENDINGS = (".svg", ".pdf", ".png")
TABLE = ".tsv"
"""Ending of files with the numbers of a picture."""

WIDTH, MIN_WIDTH, MAX_WIDTH = 180.0, 20.0, 2000.0
"""Width of a picture (mm), about that of a page by default."""

LIBRARIES = (
    "libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0 libgssapi-krb5-2 libx11-6"
    " libxkbcommon-x11-0 libx11-xcb1 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-randr0"
    " libxcb-render-util0 libxcb-render0 libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-util1"
    " libxcb-xfixes0 libxcb-xkb1 libwayland-cursor0"
)
"""Debian and Ubuntu packages that Qt needs for a window."""


class NoWindow(ClalignError):
    """An error for a machine that cannot show a window."""

    exit_code = ExitCode.INPUT


class NoPainter(ClalignError):
    """An error for a machine that cannot draw letters."""

    exit_code = ExitCode.INPUT


def check_ending(path: str, endings: Sequence[str]) -> None:
    """Refuse an output with an unknown ending, or that cannot be written.

    Raises
    ------
    OptionError
        If its name has none of the endings.
    OutputError
        If it could not be written.
    """
    from clalign.formats.writers import check_writable

    if Path(path).suffix.lower() not in endings:
        raise OptionError(f"{path} has an unknown ending.", f"End its name in {', '.join(endings)}.")
    check_writable(path)


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn system errors of writing a picture into errors for the user."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"{path} could not be written ({reason}).", "Free space there, or choose another place."
        ) from error


def painter_of(module: str) -> ModuleType:
    """Return a module of the window that draws pictures, also for the command line.

    Raises
    ------
    NoPainter, NoWindow
        If fonts or Qt are missing.
    """
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        if error.name and error.name.startswith("clalign"):
            raise
        raise missing_libraries(error) from error
    if not found.has_fonts():
        raise NoPainter(
            "There is no font to draw letters.", "Install one; on Debian or Ubuntu: apt install fonts-dejavu-core"
        )
    return found


def missing_libraries(error: ImportError) -> NoWindow:
    """Return the error for Qt that cannot be loaded."""
    if isinstance(error, ModuleNotFoundError):
        return NoWindow(f"The window needs {error.name}, which is not installed.", "Install clalign again with pip.")
    return NoWindow(
        f"The window could not be opened because a system library is missing ({error}).",
        f"On Debian or Ubuntu: sudo apt-get install -y {LIBRARIES}",
    )


def check_width(millimeters: float, name: str = "width") -> None:
    """Refuse a width of a picture that is too small or too large.

    Raises
    ------
    OptionError
    """
    if not MIN_WIDTH <= millimeters <= MAX_WIDTH:
        raise OptionError(f"{name} is {millimeters:g}.", f"Give {MIN_WIDTH:g} to {MAX_WIDTH:g} (mm).")


def write_picture(run: RunFile, request: PictureRequest, path: str, millimeters: float = WIDTH) -> None:
    """Write a picture of the hits of an open run, or its numbers, by the ending of the file name.

    Raises
    ------
    OptionError
        If there is no such picture, or ending or width are wrong.
    OutputError
        If the file cannot be written.
    NoPainter, NoWindow
        If fonts or Qt are missing; SVG and tables need neither.
    """
    from clalign.engines.engine import spec_of
    from clalign.engines.export_source import provenance_of
    from clalign.engines.pictures import picture_of, write_rows
    from clalign.formats.drawing_svg import drawing_svg
    from clalign.formats.writers import replaced_file

    check_ending(path, (*ENDINGS, TABLE))
    check_width(millimeters)
    picture = picture_of(run, request)
    with writing(path):
        if path.lower().endswith(TABLE):
            write_rows(picture, path)
        elif path.lower().endswith(".svg"):
            with replaced_file(path) as file:
                file.write(drawing_svg(picture.whole(), millimeters, provenance_of(run, spec_of(run)).comments()))
        else:
            painter_of("clalign.ui.views.charts.painting").write_drawing(picture.whole(), path, millimeters)
