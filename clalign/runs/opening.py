"""Opening a run whose tables are checked: what it says of itself is whole."""

from __future__ import annotations

from pathlib import Path

from clalign.errors import DamagedRun
from clalign.runs.connection import RunConnection, closed_if_refused, open_checked
from clalign.runs.facts import BegunRun

PATIENCE = 20.0
"""Seconds that a question waits for others that write the file."""


def open_sound(
    path: Path, is_writable: bool = False, is_shared: bool = False, patience: float = PATIENCE
) -> RunConnection:
    """Return a connection to a run whose tables are those of this version, and which says all that it must.

    Parameters
    ----------
    path : Path
    is_writable : bool
    is_shared : bool
        Whether several threads use the connection, one after the other.
    patience : float
        Seconds that a question waits for others that write the file.

    Raises
    ------
    InputError
        If it is missing, no run file, damaged, or of another version.
    """
    connection = open_checked(path, "rw" if is_writable else "ro", patience, is_shared)
    with closed_if_refused(connection):
        _check(connection)
    return connection


def _check(connection: RunConnection) -> None:
    """Refuse a run that lacks facts which it has by its state, or whose queries are not numbered from 0.

    What others write meanwhile is no contradiction: queries come before facts, and both before results.
    """
    last = [  # a batch of pairs is of no one query: its number is negative
        connection.execute(f"SELECT query FROM {table} WHERE query >= 0 ORDER BY query DESC LIMIT 1").fetchone()
        for table in ("batches", "hits")
    ]
    facts = connection.facts
    count, first, final = connection.execute(
        "SELECT count(*) AS count, min(id) AS first_id, max(id) AS last_id FROM queries"
    ).fetchone()
    if count and (first, final) != (0, count - 1):
        raise DamagedRun(connection.path, "its queries are not numbered one after the other")
    if isinstance(facts, BegunRun) and any(row is not None and row[0] >= count for row in last):
        raise DamagedRun(connection.path, "it has results of queries that are not there")
