"""Connections to run files, which may come from anybody: their content is checked before it is used.

A connection refuses a file whose tables are not those that clalign makes (so that no view, trigger, virtual table or
computed column runs code of others), rows longer than the file, values of wrong types or sizes, and queries that take
longer than a sound file of its size needs.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import math
import os
import re
import sqlite3
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NoReturn

import msgspec
from filelock import FileLock, Timeout
from msgspec import Meta

from clalign.common.plain_data import Json
from clalign.databases.cache import lock_folder
from clalign.databases.cache_root import make_folder
from clalign.errors import ClalignError, DamagedRun, InputError, NoSuchFile, OutputError, RunBusy
from clalign.runs.facts import RunFacts, facts_of, parsed
from clalign.runs.side_files import check_beside
from clalign.runs.tables import (
    APPLICATION_ID,
    INDEXES,
    MIN_SQLITE,
    SCHEMA_VERSION,
    TABLES,
    Declaration,
    SqlRow,
    all_fit,
    declaration_of,
    general_statements,
    row_type,
)
from clalign.values.checked import Count, Line
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule


def taken(path: Path) -> RunBusy:
    """Return the error about a run that another worker has."""
    return RunBusy(f"Another worker is writing the run file {path}.", "Wait until it is done, or stop it.")


def _lock_file(path: Path) -> Path:
    return lock_folder() / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.lock"


def is_owned(path: Path) -> bool:
    """Return whether a worker of this user is writing a run now."""
    file = _lock_file(path)
    if not file.exists():
        return False
    lock = FileLock(file, blocking=False)
    try:
        lock.acquire()
    except Timeout:
        return True
    except OSError:
        return False
    lock.release()
    return False


@contextlib.contextmanager
def owned(path: Path) -> Iterator[None]:
    """Be the only worker that writes a run; a worker that dies gives it free.

    Raises
    ------
    RunBusy
        If another worker has it.
    """
    folder = lock_folder()
    try:
        make_folder(folder)
        lock = FileLock(_lock_file(path), blocking=False)
        lock.acquire()
    except Timeout:
        raise taken(path) from None
    except OSError as error:
        raise OutputError(
            f"The folder {folder} cannot be written ({error}).", "Name another one with CLALIGN_CACHE_DIR."
        ) from error
    try:
        yield
    finally:
        if sys.platform != "win32":
            with contextlib.suppress(OSError):  # who has opened it already finds that it is gone
                Path(lock.lock_file).unlink()
        lock.release()
        if sys.platform == "win32":  # where only what nobody has open can be removed
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink()


CHECKPOINT_PAGES = 8192
"""Pages of 4 KiB after which the log is copied into the file, which takes time; the end of a run copies it as well."""

CACHE_KB = 2**16
"""Memory for pages of a run: some 100,000 hits, which are read best first, have no room in SQLite's usual 2 MB."""

MAX_ROW_BYTES = 2**28
"""Length of a row at most, unless its file is longer."""

ROWS_AT_ONCE = 8192
"""Rows of a large result that are read together: converting them blocks other threads for some milliseconds."""

STEPS_AT_ONCE = 200_000
MIN_STEPS = 100_000_000
STEPS_PER_BYTE = 100
"""Instructions of SQLite's machine that a query may take: this number, and more for each byte of the file. A query of
a sound file takes some hundreds for each row, and a row has at least ten bytes."""

NO_DAMAGE = frozenset(
    (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL,
     sqlite3.SQLITE_AUTH, sqlite3.SQLITE_NOLFS)
)  # fmt: skip
"""Errors that say nothing about the content of a file."""

MAX_QUOTE = 200
"""Characters of a message of SQLite that are quoted at most."""

KINDS: Json = {name: kind for table, _ in TABLES.values() for name, kind in table.items()}
KINDS["note"] = Line | None
KINDS["count"] = Count
KINDS["n_equal"] = Count | None
"""Types by the names of columns, which mean the same in every table and query."""

Columns = dict[str, SqlRow]
"""Columns of a result by their names."""


class RunConnection(sqlite3.Connection):
    """A connection to a run file that checks what it reads, and limits the time of queries by the size of the file."""

    path: Path
    declared: Declaration
    declared_kinds: Json
    species: SpeciesRule = FROM_DESCRIPTIONS
    """The rule of SQL's ``species_of(name, accession, description)``."""

    is_abandoned: Callable[[], bool] | None = None
    """Returns whether nobody waits any more for the current query, which then ends with an error."""

    _n_rows: int | None = None
    _steps_left: float = MIN_STEPS
    _is_sized = False
    _is_writing = False
    _last_type: tuple[Any, Any] = (None, None)
    _last_facts: tuple[list[tuple[str, str]], RunFacts] | None = None

    def execute(self, *question: Any) -> sqlite3.Cursor:
        """Execute a statement; each has its own time limit."""
        self._steps_left, self._is_sized = MIN_STEPS, False
        try:
            return super().execute(*question)
        except UnicodeDecodeError:  # a message of SQLite quotes damaged text
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
        """Write many rows, without a time limit."""
        self._steps_left = math.inf
        return super().executemany(*question)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Write everything within it or nothing; a transaction within another is a part of that."""
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
        """Set the declaration of the engine of the run."""
        self.declared = declared
        self._last_facts = None
        self.declared_kinds = {name: kind for table in declared.tables for name, kind in table.all_columns.items()}

    def take_steps(self) -> bool:
        """Count the steps of a query; return whether it has to end."""
        if self.is_abandoned is not None and self.is_abandoned():
            return True
        self._steps_left -= STEPS_AT_ONCE
        if self._steps_left < 0 and not self._is_sized:  # few queries take so long that the size of the file counts
            self._steps_left += STEPS_PER_BYTE * size_of(self.path)
            self._is_sized = True
        return self._steps_left < 0

    def checked(self, cursor: sqlite3.Cursor, row: SqlRow) -> SqlRow:
        """Return a row if its values are such as its columns hold.

        Raises
        ------
        DamagedRun
            If a value does not.
        """
        described, expected = self._last_type
        if described is not cursor.description:
            described = cursor.description
            expected = row_type(self._kinds(described))
            self._last_type = described, expected
        try:
            msgspec.convert(row, expected)
        except msgspec.ValidationError as error:
            place = re.search(r"\$\[(\d+)\]", str(error))
            if place is None:
                raise DamagedRun(self.path, one_line(error)) from None
            n = int(place[1])
            raise DamagedRun(self.path, f"its {described[n][0]} is {_shown(row[n])}") from None
        return row

    def _kinds(self, described: Sequence[SqlRow]) -> SqlRow:
        """Return the types of the columns of a result; `Any` for unknown columns."""
        return tuple(
            self._row_kind() if column[0] == "row" else self.declared_kinds.get(column[0], KINDS.get(column[0], Any))
            for column in described
        )

    def columns(self, *question: Any) -> Columns:
        """Return the columns of a result by their distinct names, checked as `checked` does for rows."""
        cursor = self.execute(*question)
        cursor.row_factory = None
        return self._columns(cursor, cursor.fetchall())

    def blocks(self, *question: Any) -> Iterator[Columns]:
        """Yield the columns of a result of any length, some thousand rows at a time; see `columns`."""
        cursor = self.execute(*question)
        cursor.row_factory = None
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield self._columns(cursor, rows)

    def _columns(self, cursor: sqlite3.Cursor, rows: list[SqlRow]) -> Columns:
        described = cursor.description
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(described)
        if not all(map(all_fit, self._kinds(described), columns)):
            for row in rows:  # raises the first error
                self.checked(cursor, row)
        return {column[0]: values for column, values in zip(described, columns, strict=True)}

    def _row_kind(self) -> Any:
        """Return the type of a column with rows of the database."""
        if self._n_rows is None:  # the job may not have read its sequences yet
            known = (
                "SELECT json_extract(value, '$.n_sequences') FROM facts WHERE name = 'database' AND json_valid(value)"
            )
            found = super().execute(known).fetchone()
            self._n_rows = found[0] if found and type(found[0]) is int else None
        return Count if self._n_rows is None else Annotated[int, Meta(ge=0, lt=self._n_rows)]


def _shown(value: object) -> str:
    return {bytes: "binary data", type(None): "missing"}.get(type(value)) or f"{str(value)[:60]!r}"


def size_of(path: Path) -> int:
    """Return the size of a run file and its log (bytes)."""
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
    if sqlite3.sqlite_version_info < MIN_SQLITE:
        needed = ".".join(map(str, MIN_SQLITE))
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
        Time for which a statement waits for other writers (s).
    is_shared : bool
        Whether several threads use the connection, one after another.

    Raises
    ------
    sqlite3.DatabaseError
        If it is not a database.
    """
    location = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        location, uri=True, timeout=patience, check_same_thread=not is_shared, factory=RunConnection
    )
    own = weakref.proxy(connection)  # SQLite holds its functions, which would keep it open for ever
    connection.path = path
    connection.declare(Declaration(engine=""))
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, min(2**30, max(MAX_ROW_BYTES, size_of(path))))
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 1)
    connection.set_progress_handler(lambda: own.take_steps(), STEPS_AT_ONCE)
    if hasattr(connection, "setconfig"):  # since Python 3.12
        for name, value in (("DEFENSIVE", True), ("ENABLE_TRIGGER", False)):
            connection.setconfig(getattr(sqlite3, f"SQLITE_DBCONFIG_{name}"), value)
    for setting in (
        "trusted_schema = OFF", "cell_size_check = ON", "synchronous = NORMAL",
        f"wal_autocheckpoint = {CHECKPOINT_PAGES}", f"cache_size = {-CACHE_KB}",
    ):  # fmt: skip
        connection.execute(f"PRAGMA {setting}")
    connection.create_function("species_of", 3, lambda *words: own.species.of(*(word or "" for word in words)))
    connection.row_factory = lambda cursor, row: connection.checked(cursor, row)
    return connection


def _no_file(path: Path, hint: str) -> InputError:
    """Return the error for a path that is neither a plain file nor a folder."""
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return InputError(path, "this is a link in a circle of links.", "Give the file itself.")
        if path.is_symlink():
            return InputError(path, "this is a link to a file that does not exist.", "Give the file itself.")
        return NoSuchFile(path)
    return InputError(path, "this is a device or a pipe, not a run file.", hint)


def open_checked(path: Path, mode: str, patience: float, is_shared: bool = False) -> RunConnection:
    """Return a connection to a file that is checked to be a run file; see `connect`.

    Raises
    ------
    InputError
        If it is missing, not a run file, damaged, of another version, or beside files in the places of SQLite's own.
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
                # If SQLite cannot make the file that readers and writers share, nobody writes.
                connection, application, version = _opened(path, f"{mode}&immutable=1", patience, is_shared)
            elif error.sqlite_errorcode == sqlite3.SQLITE_READONLY_ROLLBACK:
                # A writer was killed in the middle of a transaction, which readers cannot roll back.
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
    with closed_if_refused(connection):
        if application != APPLICATION_ID:
            raise InputError(path, "this is not a clalign run file.", hint)
        if version != SCHEMA_VERSION:
            raise InputError(path, "this run was written by another version of clalign.", "Search again.")
        connection.declare(check_tables(connection))
    return connection


@contextlib.contextmanager
def closed_if_refused(connection: RunConnection) -> Iterator[None]:
    """Close a connection if what is looked at within it makes its file unfit."""
    try:
        yield
    except sqlite3.Error as error:
        connection.close()
        raise unreadable(connection.path, error) from error
    except ClalignError:
        connection.close()
        raise


def _opened(path: Path, mode: str, patience: float, is_shared: bool) -> tuple[RunConnection, int, int]:
    """Return a connection to a file, the id of its program, and the version of its tables."""
    connection = connect(path, mode, patience, is_shared)
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return connection, application, connection.execute("PRAGMA user_version").fetchone()[0]


def _cannot_change(path: Path) -> bool:
    """Return whether file and folder are read-only, and there is no log beside the file."""
    has_more = any(path.with_name(f"{path.name}-{kind}").exists() for kind in ("wal", "journal"))
    return not has_more and not os.access(path.parent, os.W_OK) and not os.access(path, os.W_OK)


def one_line(error: Exception) -> str:
    """Return a message of SQLite, which may quote the file, as one short line."""
    return " ".join(str(error).split())[:MAX_QUOTE].rstrip(".")


def unreadable(path: Path, error: sqlite3.Error) -> ClalignError:
    """Return the error for a failed query: others write, the disk or permissions, or a damaged file."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_BUSY:
        return RunBusy(f"A job is writing the run file {path} just now.", "Try again in a moment.")
    if code in NO_DAMAGE:
        return InputError(
            path,
            f"this run file could not be read ({one_line(error)}).",
            "Check the disk and the permissions of the file and its folder; then try again.",
        )
    return DamagedRun(path, one_line(error))


def unwritable(path: Path, error: sqlite3.Error) -> ClalignError:
    """Return the error for a failed write: others write, the disk or permissions, or a damaged file."""
    known = unreadable(path, error)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if isinstance(known, RunBusy) or not (code in NO_DAMAGE or isinstance(error, sqlite3.OperationalError)):
        return known
    return OutputError(
        f"The run file {path} could not be written ({one_line(error)}).",
        "Free space on its disk, and allow writing to it and its folder; or continue elsewhere with a copy, or with"
        " --run in a new search.",
    )


def check_tables(connection: RunConnection) -> Declaration:
    """Refuse a file whose tables are not those that clalign makes; return the declaration of its engine.

    Raises
    ------
    DamagedRun
        If a table is missing or unknown, or has other columns.
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
    raise DamagedRun(connection.path, f"its table {_shown(table)} has wrong columns")


def _is_plain(name: str, sql: str, engine: str) -> bool:
    """Return whether a table may be one of an engine that is not installed; it is not read."""
    column = r"\w+ (?:INTEGER|REAL|TEXT|BLOB)(?: PRIMARY KEY)?"
    pattern = rf"CREATE TABLE {re.escape(name)} \({column}(?:, {column})*(?:, PRIMARY KEY \([\w, ]+\))?\)"
    return name.startswith(f"{engine}_") and re.fullmatch(pattern, sql) is not None


def _declared(connection: RunConnection) -> Declaration:
    """Return the declaration of the engine of a run."""
    stored = connection.execute("SELECT value FROM facts WHERE name = 'engine'").fetchone()
    if stored is None:
        raise DamagedRun(connection.path, "it does not say which engine made it")
    name = parsed(str, stored[0], "its engine", connection.path)
    if not re.fullmatch(r"[\w-]+", name):
        raise DamagedRun(connection.path, f"its engine is {_shown(name)}")
    return declaration_of(name)
