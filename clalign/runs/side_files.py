"""The files that SQLite keeps beside a run: no other file may lie there, and they go with the run."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from clalign.errors import InputError, OptionError, OutputError, RunExists
from clalign.runs.tables import APPLICATION_ID

_HEADER = b"SQLite format 3\0"
_ID_PLACE = slice(68, 72)
"""Where a database says in its first bytes of which program it is."""

ENDING = ".clalign"
"""What the names of runs end with."""

SIDE_FILES = {
    "-wal": (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"),
    "-shm": (),
    "-journal": (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7",),
}
"""Endings that SQLite adds to the name of a database, and what each of these files begins with once it is in use.

The one that processes share is known by its size: who opens and closes it gives up the locks that his own connections
hold on it, and another process then cuts it off under them (sqlite.org/howtocorrupt.html, section 2.2).
"""

SHARED_BYTES = 1 << 12
"""Step in which SQLite lengthens the shared file to 32 KiB; before it begins to, the file has three bytes at most."""

MOVE = "Move it elsewhere, or give the run another name."


def side_files(run: Path) -> Iterator[tuple[Path, tuple[bytes, ...]]]:
    """Yield the files that SQLite keeps beside a run, as far as they are there, and what each may begin with.

    They lie beside the file itself, not beside a link to it.
    """
    place = os.path.realpath(run)
    for ending, beginnings in SIDE_FILES.items():
        if os.path.lexists(place + ending):
            yield Path(place + ending), beginnings


def _is_of_sqlite(path: Path, beginnings: tuple[bytes, ...]) -> bool:
    """Return whether SQLite made a file: it is empty or zero before it is in use."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        return False
    if not beginnings:
        return status.st_size <= 3 or status.st_size % SHARED_BYTES == 0
    found = _first_bytes(path, len(beginnings[0]))
    return not any(found) or any(beginning.startswith(found) for beginning in beginnings)


def _first_bytes(path: Path, n: int) -> bytes:
    with path.open("rb") as file:
        return file.read(n)


def check_beside(run: Path) -> None:
    """Refuse a run beside which another file lies where SQLite would replace and remove it.

    Raises
    ------
    InputError
        If there is such a file.
    """
    for path, beginnings in side_files(run):
        try:
            is_own = _is_of_sqlite(path, beginnings)
        except OSError:  # it has gone, as the run was closed; or may not be read, nor written by SQLite
            continue
        if not is_own:
            raise InputError(
                run, f"this run could not be read: {path}, reserved for SQLite by its name, is another file.", MOVE
            )


def check_free(run: Path) -> None:
    """Refuse a place for a new run where a file is, beside which one is, or which belongs to another run.

    Raises
    ------
    RunExists
        If there is a file.
    OutputError
        If one lies where SQLite would replace it, or SQLite would replace the run.
    """
    if os.path.exists(run):
        raise RunExists(run)
    for path, _ in side_files(run):
        raise OutputError(f"{path} already exists, and its name is reserved for SQLite's file of the run {run}.", MOVE)
    if (other := database_beside(run)) is not None:
        raise OutputError(f"{run} is a name reserved for SQLite's file of {other}.", "Choose another name.")


def database_beside(path: str | Path) -> Path | None:
    """Return the database whose own file SQLite would take a file for, by its name."""
    place = os.path.realpath(path)
    for ending in SIDE_FILES:
        base = Path(place.removesuffix(ending))
        if place.endswith(ending) and _is_database(base):
            return base
    return None


def check_output(path: str | Path, run: str | None = None) -> None:
    """Refuse an output that SQLite would take for its own file of a run.

    Parameters
    ----------
    path : str or Path
    run : str, optional
        A run that is about to be made.

    Raises
    ------
    OptionError
        If it is such a file.
    """
    place, other = os.path.realpath(path), database_beside(path)
    if other is None and run is not None:
        new = os.path.realpath(run)
        other = Path(run) if place in [new + ending for ending in SIDE_FILES] else None
    if other is not None:
        raise OptionError(
            f"{path} is the name of a file that SQLite keeps beside the run {other}.", "Give the output another name."
        )


def _is_database(path: Path) -> bool:
    """Return whether a file is a database; SQLite is asked, which keeps the locks of other connections to it."""
    try:
        if not path.is_file() or path.stat().st_size == 0:  # SQLite takes an empty file for an empty database
            return False
        with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)) as database:
            database.execute("PRAGMA schema_version")
    except (OSError, sqlite3.Error):
        return False
    return True


def what_is_there(path: Path) -> str | None:
    """Return in words what lies at a path in place of a run that clalign made, damaged or not; None if it is one.

    Raises
    ------
    OSError
        If that cannot be found out.
    """
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return f"a link to {os.readlink(path)}"
    if stat.S_ISDIR(mode):
        return "a folder"
    if not stat.S_ISREG(mode):
        return "a pipe" if stat.S_ISFIFO(mode) else "a device or a socket"
    found = _first_bytes(path, 100)
    if not found:
        return "an empty file"
    if len(found) < _ID_PLACE.stop and path.suffix == ENDING and found[: len(_HEADER)] == _HEADER[: len(found)]:
        return None  # it was cut off
    if not found.startswith(_HEADER):
        return "another file"
    return None if found[_ID_PLACE] == APPLICATION_ID.to_bytes(4, "big") else "a database of another program"


def check_is_run(path: Path) -> None:
    """Refuse to delete what is no run.

    Raises
    ------
    OutputError
        If it is something else, or that cannot be found out.
    """
    try:
        found = what_is_there(path)
    except OSError as error:
        raise _undeleted(path, error) from error
    if found is not None:
        raise OutputError(f"{path} is no run of clalign but {found}.", "Delete it by other means, if you mean it.")


def remove_run(path: Path) -> None:
    """Remove a run with the files that SQLite keeps beside it; what else lies there stays.

    Raises
    ------
    OutputError
        If there is something else than a run, or it cannot be removed.
    """
    check_is_run(path)
    try:
        beside = [side for side, beginnings in side_files(path) if _is_of_sqlite(side, beginnings)]
        path.unlink()
        for side in beside:
            side.unlink(missing_ok=True)
    except OSError as error:
        raise _undeleted(path, error) from error


def _undeleted(path: Path, error: OSError) -> OutputError:
    return OutputError(f"{path} could not be deleted ({error.strerror}).", "Check who owns its folder.")
