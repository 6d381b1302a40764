"""What an engine keeps of batches that are not finished, to go on from there: rows of tables that come and go."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence

from clalign.runs.columns import SqlRow
from clalign.runs.connection import RunConnection, unwritable
from clalign.runs.declarations import EngineTable

OF_BATCH = "query = ? AND first = ?"


class Unfinished:
    """The rows of a run's unfinished batches, in those of the engine's tables that are for them.

    Parameters
    ----------
    connection : RunConnection
    """

    def __init__(self, connection: RunConnection) -> None:
        self._connection = connection

    def _tables(self) -> Iterator[EngineTable]:
        """Yield the tables that are there."""
        for table in self._connection.declared.of("unfinished"):
            question = "SELECT count(*) FROM main.sqlite_master WHERE type = 'table' AND name = ?"
            if self._connection.execute(question, (table.name,)).fetchone()[0]:
                yield table

    @property
    def has_any(self) -> bool:
        """Whether anything is kept."""
        count = "SELECT count(*) FROM {}"
        return any(self._connection.execute(count.format(own.name)).fetchone()[0] for own in self._tables())

    def keep(self, name: str, query: int, first: int, rows: Sequence[SqlRow]) -> None:
        """Write rows, without their keys, of a batch in place of those that are there.

        Raises
        ------
        OutputError
            If the file cannot be written.
        """
        (own,) = (table for table in self._connection.declared.of("unfinished") if table.name == name)
        try:
            with self._connection:
                if own not in self._tables():
                    self._connection.execute(own.sql)
                self._connection.execute(f"DELETE FROM {own.name} WHERE {OF_BATCH}", (query, first))
                self._connection.insert(own.name, [(query, first, number, *row) for number, row in enumerate(rows)])
        except sqlite3.OperationalError as error:
            raise unwritable(self._connection.path, error) from error

    def kept(self, name: str, query: int, first: int) -> list[SqlRow]:
        """Return the rows of a batch, without their keys."""
        for own in self._tables():
            if own.name == name:
                question = f"SELECT {', '.join(own.names)} FROM {own.name} WHERE {OF_BATCH} ORDER BY number"
                return self._connection.execute(question, (query, first)).fetchall()
        return []

    def forget(self, batches: Sequence[tuple[int, int]]) -> None:
        """Remove the rows of batches, given by query and first row; the caller has opened a transaction."""
        for own in self._tables():
            self._connection.executemany(f"DELETE FROM {own.name} WHERE {OF_BATCH}", batches)

    def drop(self) -> None:
        """Remove everything, now that all is finished, and give back the room that it took."""
        tables = list(self._tables())
        if not tables:
            return
        with self._connection:
            for own in tables:
                self._connection.execute(f"DROP TABLE {own.name}")
        with contextlib.suppress(sqlite3.OperationalError):  # without room for a copy, or while others read
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
            self._connection.execute("VACUUM")
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
