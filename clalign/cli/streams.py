"""Standard input, output and error, also where one is closed, a pipe whose reader goes, or a file on a full disk."""

from __future__ import annotations

import contextlib
import io
import os
import select
import string
import sys
from collections.abc import Iterator
from typing import TextIO

from clalign.common.escapes import escaped
from clalign.errors import OutputError


def prepare_streams(is_child: bool = False) -> None:
    """Make the standard streams such that all can be written to them that clalign writes.

    Parameters
    ----------
    is_child : bool
        Whether clalign has started this process itself. Parent and child talk in UTF-8, whatever encoding the
        environment asks for; a person gets that one, unless it cannot write every text.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed: what is written there is not wanted, the files are
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if is_child or not _writes_text(stream.encoding) else stream.encoding
            # As in files: names of files may hold bytes that are no text.
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _writes_text(encoding: str) -> bool:
    """Tell whether an encoding can write every text; Python offers some that are for names of hosts, or for nothing."""
    try:
        (string.printable + "\N{GREEK SMALL LETTER ALPHA}").encode(encoding, "backslashreplace")
    except UnicodeError:
        return False
    return True


def private_stdout() -> TextIO:
    """Return the standard output for this program's words alone; what drivers print goes to standard error."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def show(text: str = "", end: str = "\n", flush: bool = False) -> None:
    """Print, with control characters as escapes: names of sequences and files may hold some.

    Raises
    ------
    BrokenPipeError, OutputError
        As of `flush_stdout`.
    """
    with _stdout_errors():
        print(escaped(text), end=end, flush=flush)


def tell(text: str, end: str = "\n", begin: str = "") -> None:
    """Write to standard error, control characters of the text as escapes.

    Where nobody reads it any more, the work goes on in silence.
    """
    try:
        print(f"{begin}{escaped(text)}", end=end, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """Let what is still to be written to a stream vanish: Python flushes it at its end, and would complain."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def drop_unread_stdout() -> bool:
    """Let what is still to be written to standard output vanish if it is a pipe whose reader has gone; tell whether."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop(sys.stdout)
        return True
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()  # a stream without a buffer has forgotten what it could not write
    poll.register(sys.stdout, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def flush_stdout() -> None:
    """Write what standard output still holds, while an error can be told.

    Raises
    ------
    BrokenPipeError
        If its reader has gone.
    OutputError
        If it cannot be written.
    """
    with _stdout_errors():
        sys.stdout.flush()


@contextlib.contextmanager
def _stdout_errors() -> Iterator[None]:
    """Turn what the system says of standard output that cannot be written into an error for the user."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Standard output could not be written ({reason}).", "Choose another place.") from error


def drop_unwritten() -> None:
    """Let what cannot be written to standard output and error vanish; what can be is written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _drop(stream)


@contextlib.contextmanager
def enough_read() -> Iterator[None]:
    """Let a reader of a pipe go without ending the program: the block ends there, and what comes after it goes on."""
    try:
        yield
    except BrokenPipeError:
        drop_unread_stdout()
