"""``clalign gui``: open the window."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from clalign.cli.parser import CommandParser
from clalign.errors import InputError
from clalign.formats.sources import is_plain
from clalign.tools.painting import NoWindow, missing_libraries

DESCRIPTION = "Open the window, with files if any are named."

EXAMPLES = ("clalign gui", "clalign gui globins.hmm proteins.fasta", "clalign gui search.clalign")


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("files", metavar="FILES", nargs="*", help="profiles, sequences or runs")
    parser.add_argument("--new-window", action="store_true", help="open another window even if one is open")
    parser.add_argument(
        "--safe-mode", action="store_true", help="after a crash: default layout, no search for devices, reference only"
    )


def has_display() -> bool:
    """Return whether a window can be shown."""
    if sys.platform in ("win32", "darwin"):
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def run(arguments: argparse.Namespace) -> int:
    """Open the window."""
    if not has_display():
        raise NoWindow(
            "There is no display to open a window on (DISPLAY and WAYLAND_DISPLAY are not set).",
            "Search with: clalign hmmsearch. Over ssh, connect with ssh -X.",
        )
    for path in arguments.files:
        if Path(path).exists() and not Path(path).is_dir() and not is_plain(path):
            raise InputError(path, "this is a pipe, but the window reads files more than once.", "Save it in a file.")
    try:
        from clalign.ui.shell.app import main  # noqa: TID251 - the one place where the engine opens the window
    except ImportError as error:
        if error.name and error.name.startswith("clalign"):
            raise
        raise missing_libraries(error) from error
    code: int = main(arguments.files, arguments.new_window, arguments.safe_mode)
    return code
