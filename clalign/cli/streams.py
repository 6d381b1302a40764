"""Standard input, output and error, even if one is closed, a pipe without a reader, or a file on a full disk."""

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
    """Set up the standard streams so that every text of clalign can be written to them.

    Parameters
    ----------
    is_child : bool
        Whether clalign has started this process itself. Parent and child use UTF-8; otherwise the encoding is that of
        the environment, unless it cannot write every text.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # it was closed: nobody wants that text
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = "utf-8" if is_child or not _writes_text(stream.encoding) else stream.encoding
            # File names may hold bytes that are no text.
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _writes_text(encoding: str) -> bool:
    """Return whether an encoding can write every text; some of Python's are only for host names, or for nothing."""
    try:
        (string.printable + "\N{GREEK SMALL LETTER ALPHA}").encode(encoding, "backslashreplace")
    except UnicodeError:
        return False
    return True


def private_stdout() -> TextIO:
    """Return a standard output for this program only; text that drivers print goes to standard error."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def show(text: str = "", end: str = "\n", flush: bool = False) -> None:
    """Write to standard output, control characters as escapes: names of sequences and files may have some.

    Raises
    ------
    BrokenPipeError, OutputError
        As `flush_stdout` does.
    """
    with _stdout_errors():
        print(escaped(text), end=end, flush=flush)


def write_stderr(text: str, end: str = "\n", begin: str = "") -> None:
    """Write to standard error, control characters as escapes; errors are ignored if nobody reads it any more."""
    try:
        print(f"{begin}{escaped(text)}", end=end, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop(stream: TextIO) -> None:
    """Discard what is still to be written to a stream, which Python flushes at its end."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def drop_unread_stdout() -> bool:
    """Discard what is still to be written to standard output if it is a pipe whose reader has gone; return whether."""
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
    """Flush standard output while an error can still be reported.

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
    """Turn system errors of writing to standard output into errors for the user."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"Standard output could not be written ({reason}).", "Choose another place.") from error


def drop_unwritten() -> None:
    """Flush standard output and error, and discard what cannot be written."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _drop(stream)


@contextlib.contextmanager
def enough_read() -> Iterator[None]:
    """End the block, but not the program, when the reader of a pipe has gone."""
    try:
        yield
    except BrokenPipeError:
        drop_unread_stdout()
