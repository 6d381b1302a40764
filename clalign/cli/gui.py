"""``clalign gui``: open the window."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from clalign.cli.parser import CommandParser
from clalign.errors import ClalignError, ExitCode, InputError
from clalign.formats.sources import is_plain

EXAMPLES = ("clalign gui", "clalign gui globins.hmm proteins.fasta", "clalign gui search.clalign")

LIBRARIES = (
    "libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1 libglib2.0-0 libgssapi-krb5-2 libx11-6"
    " libxkbcommon-x11-0 libx11-xcb1 libxcb-cursor0 libxcb-icccm4 libxcb-image0 libxcb-keysyms1 libxcb-"
    " randr0 libxcb-render-util0 libxcb-render0 libxcb-shape0 libxcb-shm0 libxcb-sync1 libxcb-util1"
    " libxcb-xfixes0 libxcb-xkb1 libwayland-cursor0"
)
"""Debian and Ubuntu packages that Qt needs for a window."""


class NoWindow(ClalignError):
    """A machine that cannot show a window."""

    exit_code = ExitCode.INPUT


def add_parser(subparsers: Any) -> None:
    """Add the sub-command."""
    parser: CommandParser = subparsers.add_parser(
        "gui", examples=EXAMPLES, description="Open the window, with files if any are named."
    )
    parser.add_argument("files", metavar="FILES", nargs="*", help="profiles, sequences or runs")
    parser.add_argument("--new-window", action="store_true", help="open another window, even if there is one")
    parser.add_argument(
        "--safe-mode", action="store_true", help="usual layout, no look for devices, nothing opened: after a crash"
    )
    parser.set_defaults(run=run)


def has_display() -> bool:
    """Tell whether a window can be shown."""
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
            raise InputError(path, "this is a pipe, but the window reads files more than once.", "Save it to a file.")
    try:
        from clalign.ui.shell.app import main  # noqa: TID251 - the one place where the engine opens the window
    except ImportError as error:
        if error.name and error.name.startswith("clalign"):
            raise
        raise missing_libraries(error) from error
    code: int = main(arguments.files, arguments.new_window, arguments.safe_mode)
    return code


def missing_libraries(error: ImportError) -> NoWindow:
    """Return what to say where Qt cannot be loaded."""
    if isinstance(error, ModuleNotFoundError):
        return NoWindow(f"The window needs {error.name}, which is not installed.", "Install clalign again with pip.")
    return NoWindow(
        f"The window could not be opened, because a system library is missing ({error}).",
        f"On Debian or Ubuntu: sudo apt-get install -y {LIBRARIES}",
    )
