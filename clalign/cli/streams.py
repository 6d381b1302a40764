"""Standard output, also where it is a pipe whose reader goes, or a file on a full disk."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from clalign.errors import OutputError


def drop_stdout() -> None:
    """Let what is still to be written to standard output vanish: Python flushes it at its end, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush_stdout() -> None:
    """Write what standard output still holds, while an error can be told.

    Raises
    ------
    BrokenPipeError
        If its reader has gone.
    OutputError
        If it cannot be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        reason = error.strerror or str(error)
        raise OutputError(f"Standard output could not be written ({reason}).", "Choose another place.") from error


@contextlib.contextmanager
def enough_read() -> Iterator[None]:
    """Let a reader of a pipe go without ending the program: the block ends there, and what comes after it goes on."""
    try:
        yield
    except BrokenPipeError:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            drop_stdout()
