"""What users write beside hits.

Notes are kept by query and row of the target, not with the hit: a job that goes on may write its hits again.
"""

from __future__ import annotations

import contextlib
import sqlite3

from clalign.errors import OptionError

MAX_LENGTH = 500
"""Letters of a note at most, since it is read in a cell of a table."""

OF_HIT = "(SELECT text FROM notes WHERE notes.query = hits.query AND notes.row = hits.row)"
"""SQL of the note of a row of ``hits``, NULL if it has none."""


def one_line(text: str) -> str:
    """Return a text as a note: white space becomes single blanks.

    Raises
    ------
    OptionError
        If it is longer than `MAX_LENGTH`.
    """
    note = " ".join(text.split())
    if len(note) > MAX_LENGTH:
        raise OptionError(f"A note has {MAX_LENGTH} letters at most; this one has {len(note)}.", "Make it shorter.")
    return note


def write_note(connection: sqlite3.Connection, query: int, row: int, note: str) -> None:
    """Write, replace or (if it is empty) remove a note, in a transaction of its own."""
    with connection:
        if note:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (query, row, note))
        else:
            connection.execute("DELETE FROM notes WHERE query = ? AND row = ?", (query, row))
    with contextlib.suppress(sqlite3.OperationalError):  # a copy of the file alone has the note, then
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
