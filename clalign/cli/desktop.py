"""``clalign desktop``: put clalign into the user's desktop, so that its files open by double-click."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from clalign.cli.parser import CommandParser
from clalign.cli.streams import show, write_stderr
from clalign.databases.cache_root import write_whole
from clalign.errors import ClalignError, ExitCode, OutputError
from clalign.formats.small_files import read_small_file
from clalign.system.processes import own_command

DESCRIPTION = (
    "Add clalign to your menu, with its icon and file types, so that profiles, sequences and runs open"
    " in it by double-click; or remove it again. Only your own account is changed."
)

EXAMPLES = ("clalign desktop install", "clalign desktop remove")

EXTENSIONS = (".hmm", ".fasta", ".fa", ".faa", ".fna", ".fastq", ".fq", ".sto", ".stk", ".aln", ".gbk", ".embl", ".a3m",
              ".slx", ".selex", ".phy", ".phylip", ".msf", ".nex", ".nexus", ".h3m")  # fmt: skip
"""Endings of files that clalign offers to open, besides its own ``.clalign``."""

MARK = b"Made by: clalign desktop install"
"""Marks text files that this command has made, and so may replace and remove."""

REFRESH_SECONDS = 10.0
"""Timeout of each tool that lets the desktop read the folders again; the files are in place without it."""

WINDOWS_CLASS = "clalign.run"


class NoDesktop(ClalignError):
    """An error for systems where a command cannot register file types."""

    exit_code = ExitCode.INPUT


def add_arguments(parser: CommandParser) -> None:
    """Add the arguments."""
    parser.add_argument("action", metavar="install|remove", choices=("install", "remove"), help="what to do")


def run(arguments: argparse.Namespace) -> int:
    """Install or remove the desktop entry."""
    if sys.platform == "darwin":
        raise NoDesktop(
            "macOS takes file types from application bundles only.",
            "Build the bundle as packaging/README.md says, and move it to Applications.",
        )
    if sys.platform == "win32":
        _change_registry(arguments.action)
        show("Done. If the icons do not change, sign out and in again.")
        return ExitCode.DONE
    home = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    act = install if arguments.action == "install" else remove
    changed, left = act(home, window_command())
    for path in changed:
        show(str(path))
    for path in left:
        write_stderr(f"clalign: {path} was kept: this command did not make it.")
    return ExitCode.DONE


def window_command() -> list[str]:
    """Return the command that opens the window, by absolute path."""
    if getattr(sys, "frozen", False):
        return own_command("gui")
    script = Path(sys.executable).with_name("clalign-gui.exe" if sys.platform == "win32" else "clalign-gui")
    return [str(script)] if script.is_file() else own_command("gui")


def quote(word: str) -> str:
    """Return a word of a command, quoted for the Exec line of a desktop entry.

    Inside quotes a backslash protects four characters; every backslash is then doubled, because the
    line is a string value of the file; a per cent sign is doubled, because it begins a field code.
    """
    for character in '\\"`$':
        word = word.replace(character, "\\" + character)
    return '"' + word.replace("\\", "\\\\").replace("%", "%%") + '"'


def desktop_entry(command: list[str]) -> str:
    """Return the text of the desktop entry for a command."""
    template = (files("clalign.resources") / "desktop" / "clalign.desktop").read_text("utf-8")
    words = " ".join(quote(word) for word in command)
    return template.replace("@TRYEXEC@", command[0].replace("\\", "\\\\")).replace("@EXEC@", words)


def desktop_files(command: list[str]) -> dict[str, bytes]:
    """Return every file that is put below the data folder, with its content."""
    resources = files("clalign.resources")
    made = {
        "applications/clalign.desktop": desktop_entry(command).encode("utf-8"),
        "mime/packages/clalign.xml": (resources / "desktop" / "clalign.xml").read_bytes(),
    }
    for icon in (resources / "icons").iterdir():
        place = _icon_place(icon)
        if place:
            made[f"icons/hicolor/{place}/apps/clalign.{icon.name.partition('.')[2]}"] = icon.read_bytes()
    return made


def _icon_place(icon: Traversable) -> str:
    """Return the folder of a size: clalign-48.png belongs in 48x48; other files in none."""
    stem, _, suffix = icon.name.partition(".")
    if icon.name == "clalign.svg":
        return "scalable"
    size = stem.removeprefix("clalign-")
    return f"{size}x{size}" if suffix == "png" and size.isdigit() else ""


def install(home: Path, command: list[str]) -> tuple[list[Path], list[Path]]:
    """Write the desktop entry, icons and file types; return the files written, and files of others in their places.

    Files that this has written before are replaced, and so are links, but not what they lead to.

    Raises
    ------
    OutputError
        If the folder cannot be written.
    """
    written, left = [], []
    for name, content in desktop_files(command).items():
        path = home / name
        if os.path.lexists(path) and not path.is_symlink() and not _is_own(path, content):
            left.append(path)
            continue
        with _errors_named(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
            path.chmod(0o644)  # a folder of several users is read by all of them
        written.append(path)
    _refresh(home)
    return written, left


def remove(home: Path, command: list[str]) -> tuple[list[Path], list[Path]]:
    """Remove what `install` writes, and folders left empty; return the files removed, and files of others.

    Raises
    ------
    OutputError
        If a file cannot be removed.
    """
    removed, left = [], []
    for name, content in desktop_files(command).items():
        path = home / name
        if not os.path.lexists(path):
            continue
        if not _is_own(path, content):
            left.append(path)
            continue
        with _errors_named(path, "removed"):
            path.unlink()
        removed.append(path)
    _refresh(home)
    for path in removed:
        with contextlib.suppress(OSError):  # a folder that holds something else is kept
            for folder in path.relative_to(home).parents[:-1]:
                (home / folder).rmdir()
    return removed, left


def _is_own(path: Path, content: bytes) -> bool:
    """Return whether `install` has written a file, by its mark or else by its content."""
    try:
        found = read_small_file(path)
    except OSError:
        return False
    return found == content or (MARK in content and MARK in found)


@contextlib.contextmanager
def _errors_named(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} could not be {done}: {error.strerror}.", "Check the permissions of the folder."
        ) from error


def _refresh(home: Path) -> None:
    """Have the desktop read the folders again, by the tools that are installed; it does so later by itself."""
    for tool, folder in (("update-desktop-database", "applications"), ("update-mime-database", "mime")):
        program = shutil.which(tool)
        if program and (home / folder).is_dir():
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):  # they may hang on a pipe
                subprocess.run([program, str(home / folder)], capture_output=True, timeout=REFRESH_SECONDS)
    with contextlib.suppress(FileNotFoundError):
        os.utime(home / "icons" / "hicolor")


def registry_values(command: list[str]) -> list[tuple[str, str, str]]:
    """Return the values below HKEY_CURRENT_USER that Windows needs: key, name, text."""
    classes = "Software\\Classes"
    own = f"{classes}\\{WINDOWS_CLASS}"
    line = " ".join(f'"{word}"' for word in command) + ' "%1"'
    values = [
        (own, "", "clalign search"),
        (f"{own}\\DefaultIcon", "", f'"{command[0]}",0'),
        (f"{own}\\shell\\open\\command", "", line),
        (f"{classes}\\.clalign", "", WINDOWS_CLASS),
    ]
    return values + [(f"{classes}\\{ending}\\OpenWithProgids", WINDOWS_CLASS, "") for ending in EXTENSIONS]


def _change_registry(action: str) -> None:
    """Write the registry's values, or delete them with the keys that are clalign's alone."""
    if sys.platform == "win32":
        import winreg

        values = registry_values(window_command())
        for key, name, text in values:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, key) as opened:
                if action == "install":
                    winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, text)
                else:
                    with contextlib.suppress(FileNotFoundError):
                        winreg.DeleteValue(opened, name)
        if action == "remove":
            own = f"Software\\Classes\\{WINDOWS_CLASS}"
            for part in ("\\shell\\open\\command", "\\shell\\open", "\\shell", "\\DefaultIcon", ""):
                with contextlib.suppress(FileNotFoundError):
                    winreg.DeleteKey(winreg.HKEY_CURRENT_USER, own + part)
