"""What users write beside hits: a table that a run file has from its first note on.

Notes are kept by profile and row of the target, not with the hit: a job that goes on may write its hits anew.
"""

from __future__ import annotations

import sqlite3

from clalign.errors import OptionError

LONGEST = 500
"""Letters of a note at most: it is read in a cell of a table."""

TABLE = "notes (profile INTEGER, row INTEGER, text TEXT NOT NULL, PRIMARY KEY (profile, row))"

OF_HIT = "(SELECT text FROM notes WHERE notes.profile = hits.profile AND notes.row = hits.row)"
"""SQL of the note of a row of ``hits``, NULL if it has none; `show_notes` lets every file answer it."""


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


def write_note(connection: sqlite3.Connection, profile: int, row: int, note: str) -> None:
    """Write, replace or (if it is empty) remove a note, in a transaction of its own."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if note:
            connection.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (profile, row, note))
        elif _has_table(connection):
            connection.execute("DELETE FROM notes WHERE profile = ? AND row = ?", (profile, row))


def read_notes(connection: sqlite3.Connection) -> dict[tuple[int, int], str]:
    """Return all notes by profile and row of the target."""
    if not _has_table(connection):
        return {}
    return {(profile, row): note for profile, row, note in connection.execute("SELECT * FROM main.notes")}


def show_notes(connection: sqlite3.Connection) -> None:
    """Let a file without notes look to this connection as if it had an empty table of them; to be called again
    before each question, for the first note may have come since."""
    if _has_table(connection):
        connection.execute("DROP TABLE IF EXISTS temp.notes")
    else:
        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {TABLE}")


def _has_table(connection: sqlite3.Connection) -> bool:
    question = "SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = 'notes'"
    return connection.execute(question).fetchone() is not None
