"""The door to a run file, which may come from anybody: what is in it is checked before it is used.

Every connection to a run file is made here. It refuses a file whose tables are not those that clalign makes (so that
no view, trigger, virtual table or computed column runs what others wrote), rows that are longer than the file, values
of other types or sizes than their columns have, and questions that take longer than a sound file of its size needs.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
from msgspec import Meta

from clalign.errors import ClalignError, DamagedRun, InputError, OutputError, RunBusy
from clalign.runs.columns import SqlRow, all_fit, row_type
from clalign.runs.declarations import Declaration, declaration_of
from clalign.runs.facts import RunFacts, facts_of, parsed
from clalign.runs.ownership import taken
from clalign.runs.schema import (
    APPLICATION_ID,
    INDEXES,
    NEEDED_SQLITE,
    SCHEMA_VERSION,
    TABLES,
    general_statements,
)
from clalign.runs.side_files import check_beside
from clalign.values.checked import Count, Line
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule

CHECKPOINT_PAGES = 8192
"""Pages of 4 KiB after which the log is copied into the file, which takes time; the end of a run does so, too."""

LONGEST_ROW = 2**28
"""Bytes of a row in any case; one may be as long as its file."""

ROWS_AT_ONCE = 8192
"""Rows that are read together where all are: to take them apart holds other threads up for some milliseconds."""

STEPS_AT_ONCE = 200_000
MIN_STEPS = 100_000_000
STEPS_PER_BYTE = 100
"""Instructions of SQLite's machine that a question may take: at least so many, and for each byte of the file. A
question of a sound file takes some hundreds for each row, and no row has fewer than ten bytes."""

NO_DAMAGE = frozenset(
    (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL,
     sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOLFS)
)  # fmt: skip
"""Errors that say nothing of what is in a file."""

LONGEST_TOLD = 200
"""Letters of what SQLite says that are repeated."""

KINDS: dict[str, Any] = {name: kind for table, _ in TABLES.values() for name, kind in table.items()}
KINDS["note"] = Line | None
"""Types by the names of columns, which mean the same in every table and question."""


Columns = dict[str, SqlRow]
"""Columns of an answer by their names."""


class RunConnection(sqlite3.Connection):
    """A connection to a run file that checks what it reads, and never asks longer than its size allows."""

    path: Path
    declared: Declaration
    declared_kinds: dict[str, Any]
    species: SpeciesRule = FROM_DESCRIPTIONS
    """What SQL's ``species_of(name, accession, description)`` answers by."""

    is_abandoned: Callable[[], bool] | None = None
    """Tells whether nobody waits any more for the question that is being answered; it then ends with an error."""

    _n_rows: int | None = None
    _steps_left: float = MIN_STEPS
    _is_sized = False
    _is_writing = False
    _last_type: tuple[Any, Any] = (None, None)
    _last_facts: tuple[list[tuple[str, str]], RunFacts] | None = None

    def execute(self, *question: Any) -> sqlite3.Cursor:
        """Ask, or write; each question has its own time."""
        self._steps_left, self._is_sized = MIN_STEPS, False
        try:
            return super().execute(*question)
        except UnicodeDecodeError:  # SQLite quotes what is damaged in what it says
            raise sqlite3.DatabaseError("its tables are not readable") from None

    @property
    def facts(self) -> RunFacts:
        """What the run says of itself at this moment: as its engine declares it once its computation has begun."""
        stored = self.execute("SELECT name, value FROM facts").fetchall()
        if self._last_facts is None or self._last_facts[0] != stored:
            found = facts_of(self.path, dict(stored), self.declared.begun, self.declared.asked)
            self._last_facts = stored, found
        return self._last_facts[1]

    def insert(self, table: str, rows: Iterable[SqlRow], how: str = "INSERT") -> None:
        """Write whole rows into a table."""
        rows = iter(rows)
        if (first := next(rows, None)) is not None:
            marks = ",".join("?" * len(first))
            self.executemany(f"{how} INTO {table} VALUES ({marks})", chain([first], rows))

    def executemany(self, *question: Any) -> sqlite3.Cursor:
        """Write many rows, which may take any time."""
        self._steps_left = math.inf
        return super().executemany(*question)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write all that is written within it, or nothing; one within another is a part of that."""
        if self._is_writing:
            yield
            return
        self._is_writing = True
        try:
            with self:
                yield
        except sqlite3.OperationalError as error:
            raise unwritable(self.path, error) from error
        except sqlite3.IntegrityError as error:
            raise taken(self.path) from error
        finally:
            self._is_writing = False

    def declare(self, declared: Declaration) -> None:
        """Take note of what the engine of the run declares."""
        self.declared = declared
        self._last_facts = None
        self.declared_kinds = {name: kind for table in declared.tables for name, kind in table.all_columns.items()}

    def take_steps(self) -> bool:
        """Count what a question takes; return whether it has to end."""
        if self.is_abandoned is not None and self.is_abandoned():
            return True
        self._steps_left -= STEPS_AT_ONCE
        if self._steps_left < 0 and not self._is_sized:  # few questions take so long that the file's size counts
            self._steps_left += STEPS_PER_BYTE * size_of(self.path)
            self._is_sized = True
        return self._steps_left < 0

    def checked(self, cursor: sqlite3.Cursor, row: SqlRow) -> SqlRow:
        """Return a row if its values are such as its columns hold.

        Raises
        ------
        DamagedRun
            If one is not.
        """
        described, expected = self._last_type
        if described is not cursor.description:
            described = cursor.description
            expected = row_type(self._kinds(described))
            self._last_type = described, expected
        try:
            msgspec.convert(row, expected)
        except msgspec.ValidationError:
            for (name, *_), kind, value in zip(described, self._kinds(described), row, strict=True):
                if not all_fit(kind, [value]):
                    raise DamagedRun(self.path, f"its {name} is {_shown(value)}") from None
        return row

    def _kinds(self, described: Sequence[SqlRow]) -> SqlRow:
        """Return the types of the columns of an answer; that of one of which none is known is `Any`."""
        return tuple(
            self._row_kind() if column[0] == "row" else self.declared_kinds.get(column[0], KINDS.get(column[0], Any))
            for column in described
        )

    def columns(self, *question: Any) -> Columns:
        """Return the columns of an answer by their names, which differ, checked as `checked` does it row by row."""
        cursor = self.execute(*question)
        cursor.row_factory = None
        return self._columns(cursor, cursor.fetchall())

    def blocks(self, *question: Any) -> Iterator[Columns]:
        """Yield the columns of an answer of any length, of some thousand rows at a time; see `columns`."""
        cursor = self.execute(*question)
        cursor.row_factory = None
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield self._columns(cursor, rows)

    def _columns(self, cursor: sqlite3.Cursor, rows: list[SqlRow]) -> Columns:
        described = cursor.description
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(described)
        if not all(map(all_fit, self._kinds(described), columns)):
            for row in rows:  # tells what is wrong, and where first
                self.checked(cursor, row)
        return {column[0]: values for column, values in zip(described, columns, strict=True)}

    def _row_kind(self) -> Any:
        """Return the type of the row of a sequence that was searched."""
        if self._n_rows is None:  # as long as a job has not read its sequences
            known = (
                "SELECT json_extract(value, '$.n_sequences') FROM facts WHERE name = 'database' AND json_valid(value)"
            )
            found = super().execute(known).fetchone()
            self._n_rows = found[0] if found and type(found[0]) is int else None
        return Count if self._n_rows is None else Annotated[int, Meta(ge=0, lt=self._n_rows)]


def _shown(value: object) -> str:
    return {bytes: "binary data", type(None): "missing"}.get(type(value)) or f"{str(value)[:60]!r}"


def size_of(path: Path) -> int:
    """Return the bytes of a run file and its log."""
    total = 0
    for name in (path, path.with_name(f"{path.name}-wal")):
        try:
            total += name.stat().st_size
        except OSError:
            continue
    return total


def check_sqlite() -> None:
    """Refuse a Python whose SQLite cannot make the tables of runs.

    Raises
    ------
    ClalignError
        If it is too old.
    """
    if sqlite3.sqlite_version_info < NEEDED_SQLITE:
        needed = ".".join(map(str, NEEDED_SQLITE))
        raise ClalignError(
            f"Runs need SQLite {needed} or newer; this Python has {sqlite3.sqlite_version}.",
            "Update SQLite, or run clalign with a newer Python.",
        )


def connect(path: Path, mode: str, patience: float, is_shared: bool = False) -> RunConnection:
    """Open a run file.

    Parameters
    ----------
    path : Path
    mode : str
        ``ro``, ``rw`` or ``rwc``.
    patience : float
        Seconds that a question waits for others that write.
    is_shared : bool
        Whether several threads use the connection, one after the other.

    Raises
    ------
    sqlite3.DatabaseError
        If it is no database.
    """
    location = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        location, uri=True, timeout=patience, check_same_thread=not is_shared, factory=RunConnection
    )
    connection.path = path
    connection.declare(Declaration(engine=""))
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(2**30, max(LONGEST_ROW, size_of(path))))
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    connection.set_progress_handler(connection.take_steps, STEPS_AT_ONCE)
    if hasattr(connection, "setconfig"):  # since Python 3.12
        for name, value in (("DEFENSIVE", True), ("ENABLE_TRIGGER", False)):
            connection.setconfig(getattr(sqlite3, f"SQLITE_DBCONFIG_{name}"), value)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    connection.create_function("species_of", 3, lambda *words: connection.species.of(*(word or "" for word in words)))
    connection.row_factory = lambda cursor, row: connection.checked(cursor, row)
    return connection


def _no_file(path: Path, hint: str) -> InputError:
    """Return what to say of a path that leads to no plain file and no folder."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return InputError(path, "this is a link that leads in a circle, to no file.", "Give the file itself.")
        if path.is_symlink():
            return InputError(path, "this is a link to a file that does not exist.", "Give the file itself.")
        return InputError(path, "the file does not exist.", "Check the name.")
    return InputError(path, "this is a device or a pipe, not a run file.", hint)


def open_checked(path: Path, mode: str, patience: float, is_shared: bool = False) -> RunConnection:
    """Return a connection to a run file that is known to be one; see `connect`.

    Raises
    ------
    InputError
        If it is missing, no run file, damaged, or of another version, or another file lies where SQLite keeps its own.
    RunBusy
        If others write it all the time.
    """
    hint = "Give a .clalign file that a search has written."
    if path.is_dir():
        raise InputError(path, "this is a folder, not a run file.", hint)
    if not path.is_file():
        raise _no_file(path, hint)
    check_beside(path)
    check_sqlite()
    try:
        try:
            connection, application, version = _opened(path, mode, patience, is_shared)
        except sqlite3.OperationalError as error:
            if mode != "ro":
                raise
            if _cannot_change(path):
                # Where SQLite finds no room for what readers and writers share, nobody writes, either.
                connection, application, version = _opened(path, f"{mode}&immutable=1", patience, is_shared)
            elif error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                # Who wrote it was ended in the middle of that, which readers cannot take back.
                with contextlib.closing(_opened(path, "rw", patience, is_shared)[0]):
                    connection, application, version = _opened(path, mode, patience, is_shared)
            else:
                raise
    except sqlite3.DatabaseError as error:
        is_read = mode == "ro" or getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_READONLY
        refused = (unreadable if is_read else unwritable)(path, error)
        if isinstance(refused, DamagedRun):
            refused = InputError(path, f"this is not a readable run file ({one_line(error)}).", hint)
        raise refused from error
    if application != APPLICATION_ID:
        connection.close()
        raise InputError(path, "this is not a clalign run file.", hint)
    if version != SCHEMA_VERSION:
        connection.close()
        raise InputError(path, "this run was written by another version of clalign.", "Search again.")
    try:
        connection.declare(check_tables(connection))
    except sqlite3.Error as error:
        connection.close()
        raise unreadable(path, error) from error
    except DamagedRun:
        connection.close()
        raise
    return connection


def _opened(path: Path, mode: str, patience: float, is_shared: bool) -> tuple[RunConnection, int, int]:
    """Return a connection to a file, what program it is of, and the version of its tables."""
    connection = connect(path, mode, patience, is_shared)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return connection, application, connection.execute("PRAGMA user_version").fetchone()[0]


def _cannot_change(path: Path) -> bool:
    """Return whether a file lies on a medium, or in a folder, that is only read, with all that was written in it."""
    has_more = any(path.with_name(f"{path.name}-{kind}").exists() for kind in ("wal", "journal"))
    return not has_more and not os.access(path.parent, os.W_OK) and not os.access(path, os.W_OK)


def one_line(error: Exception) -> str:
    """Return what SQLite says, which may quote the file, in one line of no great length."""
    return " ".join(str(error).split())[:LONGEST_TOLD].rstrip(".")


def unreadable(path: Path, error: sqlite3.Error) -> ClalignError:
    """Return what it means that a question failed: others write, the disk or a permission, or the file is damaged."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_BUSY:
        return RunBusy(f"A job is writing the run file {path} just now.", "Try again in a moment.")
    if code in NO_DAMAGE:
        return InputError(
            path,
            f"this run file could not be read ({one_line(error)}).",
            "Check the disk, and who may read the file and its folder; then try again.",
        )
    return DamagedRun(path, one_line(error))


def unwritable(path: Path, error: sqlite3.Error) -> ClalignError:
    """Return what it means that nothing could be written: others write, the disk or a permission, or damage."""
    known = unreadable(path, error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(known, RunBusy) or not (code in NO_DAMAGE or isinstance(error, sqlite3.OperationalError)):
        return known
    return OutputError(
        f"The run file {path} could not be written ({one_line(error)}).",
        "Free space on its disk and allow writing to it and its folder; or go on elsewhere, with a copy of it or, in a"
        " new search, with --run.",
    )


def check_tables(connection: RunConnection) -> Declaration:
    """Refuse a file that has other tables than clalign makes; return what its engine declares.

    Raises
    ------
    DamagedRun
        If it lacks one, or has another thing or another column.
    """
    listed = connection.execute("SELECT type, name AS called, sql FROM main.sqlite_master LIMIT 100").fetchall()
    tables = dict[str, str]()
    for kind, name, sql in listed:
        if kind == "index" and (sql is None or " ".join(sql.split()) in INDEXES):
            continue
        if kind != "table" or not isinstance(sql, str):
            raise DamagedRun(connection.path, f"it holds a {_shown(kind)} {_shown(name)}")
        tables[name] = " ".join(sql.split())
    for name, sql in general_statements().items():
        if tables.pop(name, None) != sql:
            _refuse(connection, name)
    declared = _declared(connection)
    known = {table.name: table.sql for table in declared.tables}
    for name, sql in tables.items():
        is_right = known.get(name) == sql if declared.is_installed else _is_plain(name, sql, declared.engine)
        if not is_right:
            _refuse(connection, name)
    for name in known.keys() - tables.keys() - {table.name for table in declared.of("unfinished")}:
        _refuse(connection, name)
    return declared


def _refuse(connection: RunConnection, table: str) -> NoReturn:
    raise DamagedRun(connection.path, f"its table {_shown(table)} has not the columns that it should have")


def _is_plain(name: str, sql: str, engine: str) -> bool:
    """Return whether a table may be one of an engine that is not at hand, which nobody asks."""
    column = r"\w+ (?:INTEGER|REAL|TEXT|BLOB)(?: PRIMARY KEY)?"
    pattern = rf"CREATE TABLE {re.escape(name)} \({column}(?:, {column})*(?:, PRIMARY KEY \([\w, ]+\))?\)"
    return name.startswith(f"{engine}_") and re.fullmatch(pattern, sql) is not None


def _declared(connection: RunConnection) -> Declaration:
    """Return what the engine of a run declares."""
    stored = connection.execute("SELECT value FROM facts WHERE name = 'engine'").fetchone()
    if stored is None:
        raise DamagedRun(connection.path, "it does not say which engine made it")
    name = parsed(str, stored[0], "its engine", connection.path)
    if not re.fullmatch(r"[\w-]+", name):
        raise DamagedRun(connection.path, f"its engine is {_shown(name)}")
    return declaration_of(name)
