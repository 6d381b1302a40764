"""Temporary folders, which a later start removes if their process died before it did."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

PREFIX = "clalign-"

OWNER = "clalign-owner"
"""Name of the file in a temporary folder that its process keeps open and locked."""

MIN_ORPHAN_SECONDS = 60.0
"""A younger folder is not removed: its process may not have locked it yet."""


class Scratch:
    """A new temporary folder; a context manager that removes it.

    Parameters
    ----------
    parent : Path, optional
        Folder to make it in; by default that of the system's temporary files.
    prefix : str
        Beginning of its name.

    Attributes
    ----------
    path : Path

    Raises
    ------
    OSError
        If it cannot be made.
    """

    def __init__(self, parent: Path | None = None, prefix: str = PREFIX) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._mark = (self.path / OWNER).open("wb")
        if not _locked(self._mark.fileno()):  # without locks nobody could see that this process lives
            self.keep()

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def keep(self) -> None:
        """Keep the folder for the user, or for another name: it is not temporary any more."""
        adopt(self.path)
        self._mark.close()
        adopt(self.path)  # for Windows, which removes no open file

    def remove(self) -> None:
        """Remove the folder if it exists."""
        self._mark.close()
        shutil.rmtree(self.path, ignore_errors=True)


def adopt(folder: Path) -> None:
    """Protect a folder, whose process may have ended, from later starts."""
    with suppress(OSError):
        (folder / OWNER).unlink()


def remove_orphans() -> None:
    """Remove the temporary folders that processes of this user left when they died."""
    with suppress(OSError):
        for name in os.listdir(tempfile.gettempdir()):
            folder = Path(tempfile.gettempdir(), name)
            if name.startswith(PREFIX) and is_orphan(folder):
                shutil.rmtree(folder, ignore_errors=True)


def is_orphan(folder: Path) -> bool:
    """Return whether a folder is a marked temporary one of this user, and its process has died."""
    mark = folder / OWNER
    try:
        found = folder.lstat(), mark.lstat()
        if not stat.S_ISDIR(found[0].st_mode) or not stat.S_ISREG(found[1].st_mode):
            return False
        if sys.platform != "win32" and {facts.st_uid for facts in found} != {os.getuid()}:
            return False
        return time.time() - found[1].st_mtime >= MIN_ORPHAN_SECONDS and not _is_held(mark)
    except OSError:
        return False


def is_in_use(folder: Path) -> bool:
    """Return whether a living process holds the mark of a folder; a folder without one does not count as in use."""
    mark = folder / OWNER
    try:
        facts = mark.lstat()
        is_new = time.time() - facts.st_mtime < MIN_ORPHAN_SECONDS  # its process may not have locked it yet
        return stat.S_ISREG(facts.st_mode) and (is_new or _is_held(mark))
    except FileNotFoundError:
        return False
    except OSError:
        return not folder.is_file()  # it is not known


def _is_held(mark: Path) -> bool:
    """Return whether a process holds a mark open and locked; on Windows the mark is removed if none does."""
    if sys.platform == "win32":
        try:
            mark.unlink()  # not possible while it is open
        except PermissionError:
            return True
        return False
    number = os.open(mark, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return not _locked(number)
    finally:
        os.close(number)


def _locked(number: int) -> bool:
    """Lock an open file and return whether that succeeded; on Windows being open is enough."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
