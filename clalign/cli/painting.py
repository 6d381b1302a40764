"""What commands that draw have in common: the window's painter, and the files that they write."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from clalign.errors import ClalignError, ExitCode, OptionError, OutputError

ENDINGS = (".svg", ".pdf", ".png")


class NoPainter(ClalignError):
    """A machine that cannot draw letters."""

    exit_code = ExitCode.INPUT


def check_ending(path: str, endings: Sequence[str]) -> None:
    """Refuse a file before anything is computed for it.

    Raises
    ------
    OptionError
        If its name has no ending that is known.
    OutputError
        If it could not be written.
    """
    from clalign.formats.writers import check_writable

    if Path(path).suffix.lower() not in endings:
        raise OptionError(f"{path} has no ending that is known.", f"Let its name end in {', '.join(endings)}.")
    check_writable(path)


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Say in words why a picture could not be written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(
            f"{path} could not be written ({reason}).", "Free space there, or choose another place."
        ) from error


def painter_of(module: str) -> Any:
    """Return a part of the window that draws: its painter draws for the command line, too.

    Raises
    ------
    NoPainter
        If Qt or its fonts are not at hand.
    """
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        from clalign.cli.gui import missing_libraries

        if error.name and error.name.startswith("clalign"):
            raise
        raise missing_libraries(error) from error
    if not found.has_fonts():
        raise NoPainter(
            "There is no font to draw letters with.", "Install one; on Debian or Ubuntu: apt install fonts-dejavu-core"
        )
    return found
