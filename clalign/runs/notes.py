"""What users write beside hits.

Notes are kept by query and row of the target, not with the hit: a job that goes on may write its hits anew.
"""

from __future__ import annotations

import contextlib
import sqlite3

from clalign.errors import OptionError
from clalign.runs import older

LONGEST = 500
"""Letters of a note at most: it is read in a cell of a table."""

OF_HIT = "(SELECT text FROM notes WHERE notes.query = hits.query AND notes.row = hits.row)"
"""SQL of the note of a row of ``hits``, NULL if it has none."""


def one_line(text: str) -> str:
    """Return a text as a note: white space becomes single blanks.

    Raises
    ------
    OptionError
        If it is longer than `LONGEST`.
    """
    note = " ".join(text.split())
    if len(note) > LONGEST:
        raise OptionError(f"A note has {LONGEST} letters at most; this one has {len(note)}.", "Make it shorter.")
    return note


def write_note(connection: sqlite3.Connection, version: int, query: int, row: int, note: str) -> None:
    """Write, replace or (if it is empty) remove a note, in a transaction of its own.

    A file of an older version stays one, which has no table of notes before the first one.
    """
    column = "profile" if version <= older.LAST else "query"
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        has_table = connection.execute("SELECT 1 FROM main.sqlite_master WHERE name = 'notes'").fetchone() is not None
        if note and not has_table:
            columns = f"{column} INTEGER, row INTEGER, text TEXT NOT NULL, PRIMARY KEY ({column}, row)"
            connection.execute(f"CREATE TABLE notes ({columns})")
        if note:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (query, row, note))
        elif has_table:
            connection.execute(f"DELETE FROM notes WHERE {column} = ? AND row = ?", (query, row))
    with contextlib.suppress(sqlite3.OperationalError):  # a copy of the file alone has the note, then
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
