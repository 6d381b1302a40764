"""What several runs of parts of the same search have found, brought together in one run file."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from clalign.runs.run_file import RunFile
from clalign.runs.tables import TABLES, SqlRow
from clalign.values.documents import Card


def cards_of(run: RunFile) -> Iterator[Card]:
    """Yield the cards of the queries one by one, for they may be millions."""
    return (run.card(number) for number in range(run.n_queries()))


def add_results(made: RunFile, part: RunFile, check: Callable[[], None]) -> None:
    """Add what a run has computed and found to another one of the same queries, all of it or nothing.

    Hits get new ids; that they were verified is forgotten, for the verifications stay where they are.

    Parameters
    ----------
    made : RunFile
        Opened for writing. It has the queries, and nothing of the rows of the targets that the other one searched.
    part : RunFile
    check : callable
        Called now and then; raises `Cancelled` if the job was asked to stop.
    """
    connection, declared = made.connection, made.connection.declared.needed()
    shift = connection.execute("SELECT coalesce(max(id), 0) FROM hits").fetchone()[0]
    with made.transaction():
        for table in ("targets", "notes", "batches", "hits", "parts"):
            columns = list(TABLES[table][0])
            how = "INSERT OR IGNORE" if table == "targets" else "INSERT"
            connection.insert(table, _rows(part, table, columns, shift, check), how)
        for own in declared.tables:
            if own.of in ("hits", "parts", "batches", "pieces"):
                columns = list(own.all_columns)
                connection.insert(own.name, _rows(part, own.name, columns, shift, check))


def _rows(part: RunFile, table: str, columns: list[str], shift: int, check: Callable[[], None]) -> Iterator[SqlRow]:
    """Yield the rows of a table, its hits renumbered."""
    key = "id" if table == "hits" else "hit"
    place = columns.index(key) if key in columns else None
    verified = columns.index("verified") if table == "hits" else None
    for number, row in enumerate(part.connection.execute(f"SELECT {', '.join(columns)} FROM {table}")):
        if number % 1024 == 0:
            check()
        values = list(row)
        if place is not None:
            values[place] += shift
        if verified is not None:
            values[verified] = ""
        yield tuple(values)
