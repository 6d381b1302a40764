"""Output files that are either whole or absent, and names and cells that are safe to stand in them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TextIO, cast

from clalign.common.escapes import escaped
from clalign.errors import OutputError

FASTA_WIDTH = 60

ESCAPED = "backslashreplace"
"""Error handler for bytes in the names of files that are not text."""

PROVENANCE_ENDING = ".provenance.json"
"""Ending of the names of files with the provenance of the file beside them."""

_FORMULA_SIGNS = "=+-@\t\r\uff1d\uff0b\uff0d\uff20"
"""First characters of formulas of spreadsheets; the last four are the full-width forms of =, +, - and @."""

_ADVICE = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free space there, or choose another place."),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Choose another place, or change its permissions."),
    errno.ENAMETOOLONG: "Give it a shorter name.",
}
"""What to do where a file cannot be written, by the error number of the system."""


MAX_LINKS = 40
"""Limit of the symbolic links that are followed, as that of the system."""

_SLASHES = tuple({os.sep, os.altsep or os.sep})
"""Characters that the name of a folder may end with."""

_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/(\d+))|/proc/self/fd/(\d+)")


def check_writable(path: str) -> None:
    """Refuse a path that cannot be written.

    Raises
    ------
    OutputError
        If it is empty or a folder, or its folder is missing or takes no file of this user.
    """
    if path == "-":
        return
    if not path:
        raise OutputError("The name of an output file is empty.", "Give the name of a file.")
    with _user_errors(path):
        target = _destination(path)
        if isinstance(target, int) or _is_special(target):
            return
        is_folder = target.is_dir()
    if is_folder:
        raise OutputError(f"{path} is a folder.", "Give the name of a file.")
    if path.endswith(_SLASHES):
        raise OutputError(
            f"{path} is the name of a folder, but no such folder exists.",
            "Give the name of a file, without a slash at its end.",
        )
    folder = target.absolute().parent
    if not folder.is_dir():
        raise OutputError(
            f"{path} cannot be written because the folder {folder} does not exist.", "Create the folder first."
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"{path} cannot be written.", _ADVICE[errno.EACCES])
    if _is_fixed(target):
        return
    with _user_errors(path):
        _try_to_make(_part_of(target))


def has_neighbors(path: str) -> bool:
    """Return whether other files can lie beside an output; they cannot beside standard output or a device."""
    if path == "-":
        return False
    with _user_errors(path):
        target = _destination(path)
    return not isinstance(target, int) and not _is_special(target)


def _destination(path: str | Path) -> Path | int:
    """Return the file that a path leads to through all links, or the descriptor of one such as ``/dev/stdout``."""
    place = os.fspath(path)
    for _ in range(MAX_LINKS):
        if found := _DESCRIPTOR.fullmatch(place):
            return {"stdout": 1, "stderr": 2}.get(found[1] or "") or int(found[2] or found[3])
        if not os.path.islink(place):
            return Path(place)
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _open_private(path: str, flags: int) -> int:
    """Open a file that nobody else may read until it has its final permissions."""
    return os.open(path, flags, 0o600)


def _copy_permissions(target: Path, number: int) -> None:
    """Give an open file the owner and the permissions of another one, as far as the system lets this user do so."""
    if sys.platform == "win32":
        return
    facts = target.stat()
    for owner in (facts.st_uid, -1):
        with contextlib.suppress(OSError):
            os.fchown(number, owner, facts.st_gid)
            break
    os.fchmod(number, stat.S_IMODE(facts.st_mode))


def _is_fixed(target: Path) -> bool:
    """Return whether a file can be written, but not replaced by another one."""
    return target.exists() and not os.access(target.absolute().parent, os.W_OK | os.X_OK)


def _part_of(path: Path) -> Path:
    """Return the name of a file until it is whole; random, since a crash may have left one behind."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")


def _try_to_make(part: Path) -> None:
    """Create and remove a file: despite their permissions some folders take no files, and some names are too long.

    Where possible the file has no name, since a process that is killed would leave it behind.
    """
    number = _unnamed_file(part.absolute().parent)
    if number is not None:
        os.close(number)
        with contextlib.suppress(FileNotFoundError):
            part.lstat()  # refuses a name that is too long
        return
    try:
        part.touch(exist_ok=False)
        part.unlink()
    finally:  # a signal that ends the program may be raised before the line above is reached
        part.unlink(missing_ok=True)


def _unnamed_file(folder: Path) -> int | None:
    """Return a new file without a name, which vanishes with this process; None where the system has no such files."""
    if not (hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")):
        return None
    with contextlib.suppress(OSError):
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o666)
    return None


def _give_name(number: int, path: Path) -> None:
    """Give an unnamed file a name that no file has."""
    os.link(f"/proc/self/fd/{number}", path, src_dir_fd=number, follow_symlinks=True)


def _is_special(path: Path) -> bool:
    """Return whether a path is a device or a pipe, such as ``/dev/null``."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


class EscapedText:
    """A stream that escapes control characters.

    Parameters
    ----------
    stream : TextIO
        Receives the text.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self._stream.write(escaped(text))

    def writelines(self, texts: Iterable[str]) -> None:
        """Write texts one after the other."""
        for text in texts:
            self.write(text)


class SafeCells:
    """A stream for tab-separated lines in which no cell is a formula for a spreadsheet, as names with ``=`` would be.

    Parameters
    ----------
    stream : TextIO
        Receives the lines; each call of `write` has whole ones.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write lines."""
        return self._stream.write(safe_lines(text))


def safe_lines(text: str) -> str:
    """Return tab-separated lines with `safe_cell` applied to each cell."""
    return "\n".join("\t".join(map(safe_cell, line.split("\t"))) for line in text.split("\n"))


def safe_cell(cell: str) -> str:
    """Return a cell with a ``'`` before it if it looks like a formula; a number and a lone sign do not."""
    if len(cell) < 2 or cell[0] not in _FORMULA_SIGNS:
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


@contextlib.contextmanager
def whole_file(path: str, is_exact: bool = False) -> Iterator[TextIO]:
    """Open a file for writing under a temporary name, and rename it once it is whole.

    Parameters
    ----------
    path : str
        ``-`` is standard output.
    is_exact : bool
        Whether control characters in names are kept, for sequences and profiles that programs read; never on a
        terminal.

    Raises
    ------
    OutputError
        If it cannot be written; nothing is left behind then.
    BrokenPipeError
        If the reader of a pipe has gone.
    """
    wrap = cast("Callable[[TextIO], TextIO]", (lambda stream: stream) if is_exact else EscapedText)
    if path == "-":
        with _user_errors("Standard output"):
            yield cast(TextIO, EscapedText(sys.stdout)) if sys.stdout.isatty() else wrap(sys.stdout)
            sys.stdout.flush()
        return
    check_writable(path)
    with _user_errors(path), replaced_file(path) as stream:
        yield wrap(stream)


@contextlib.contextmanager
def replaced_file(path: str | Path) -> Iterator[TextIO]:
    """Open a file for writing so that its old content stays until the new one is whole.

    A link stays a link: the file that it leads to is written. A file that is there keeps its permissions and, where
    the system allows that, its owner. Written in place are devices, pipes, descriptors such as ``/dev/stdout``, and
    files in a folder that takes no other one.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind then.
    """
    target = _destination(path)
    if isinstance(target, int) or _is_special(target) or _is_fixed(target):
        with _text_file(os.dup(target) if isinstance(target, int) else target) as stream:
            yield stream
        return
    part, number = _part_of(target), _unnamed_file(target.absolute().parent)
    try:
        with _text_file(part if number is None else number, _open_private if target.exists() else None) as stream:
            if target.exists():
                _copy_permissions(target, stream.fileno())
            yield stream
            if number is not None:
                stream.flush()
                with contextlib.suppress(FileExistsError):  # a new file needs no temporary name
                    _give_name(number, target)
                    return
                _give_name(number, part)
        part.replace(target)
    finally:
        with contextlib.suppress(OSError):  # the temporary name may be too long
            part.unlink(missing_ok=True)


def _text_file(file: Path | int, opener: Callable[[str, int], int] | None = None) -> TextIO:
    return open(file, "w", encoding="utf-8", errors=ESCAPED, newline="\n", opener=opener)


@contextlib.contextmanager
def _user_errors(what: str) -> Iterator[None]:
    """Turn errors of the system at writing a file into errors for the user."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason, advice = error.strerror or str(error), _ADVICE.get(error.errno or 0, "Choose another place.")
        raise OutputError(f"{what} could not be written ({reason}).", advice) from error


def fasta_record(name: str, description: str, text: str) -> str:
    """Return a FASTA record, wrapped at 60 columns."""
    head = f">{name} {description}".rstrip()
    body = "".join(f"{text[i : i + FASTA_WIDTH]}\n" for i in range(0, len(text), FASTA_WIDTH))
    return f"{head}\n{body}"


def line_name(name: str) -> str:
    """Return a name that can begin a line: without blanks, and without the signs of a comment or of an end."""
    word = "_".join(name.split())
    return f"%{ord(word[0]):02X}{word[1:]}" if word.startswith(("#", "//")) else word
