"""The door to a run file, which may come from anybody: what is in it is checked before it is used.

Every connection to a run file is made here. It refuses a file whose tables are not those that clalign makes (so that
no view, trigger, virtual table or computed column runs what others wrote), rows that are longer than the file, values
of other types or sizes than their columns have, and questions that take longer than a sound file of its size needs.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clalign.errors import ClalignError, DamagedRun, InputError, OutputError, RunBusy
from clalign.runs.notes import TABLE as NOTES
from clalign.runs.schema import APPLICATION_ID, SCHEMA, SCHEMA_VERSION, added_since

CHECKPOINT_PAGES = 8192
"""Pages of 4 KiB after which the log is copied into the file, which takes time; the end of a run does so, too."""

LONGEST_ROW = 2**28
"""Bytes of a row in any case; one may be as long as its file."""

STEPS_AT_ONCE = 200_000
LEAST_STEPS = 100_000_000
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

LARGEST = 2**53
LARGEST_PLACE = 2**31 - 1
LATEST = 4e9
LARGEST_LOG = 300.0

_ESTIMATES = ("n_regions", "n_clustered", "n_overlaps", "n_envelopes")
_PAIR = ("identical", "positive", "gaps", "gap_residues")
_NULLABLE = frozenset(
    (*_ESTIMATES, *_PAIR, "evalue", "best_score", "best_evalue", "sort_key", "tie",
     "log_pvalue", "included", "expected", "msv", "bias_filter", "viterbi", "forward", "survivors", "n_msv", "n_bias",
     "n_viterbi", "n_forward", "n_in_16_bits", "n_in_32_bits", "accuracy", "strand", "note")
)  # fmt: skip
"""Columns that may be empty."""

_SIGNED = frozenset(("raw", "bin"))

_PLACES = frozenset(
    (*_ESTIMATES, *_PAIR, "length", "hmm_start", "hmm_end", "ali_start", "ali_end", "env_start", "env_end", "number",
     "n_domains", "profile")
)  # fmt: skip
"""Numbers that fit 32 bits."""

_ONE_LINE = frozenset(("name", "accession", "description", "tie", "note"))

Check = Callable[[Any], bool]


class RunConnection(sqlite3.Connection):
    """A connection to a run file that checks what it reads, and never asks longer than its size allows."""

    path: Path
    _n_rows: int | None = None
    _steps_left: float = LEAST_STEPS
    _last_kinds: tuple[Any, tuple[Check | None, ...]] = (None, ())

    def execute(self, *question: Any) -> sqlite3.Cursor:
        """Ask, or write; each question has its own time."""
        self._steps_left = LEAST_STEPS + STEPS_PER_BYTE * size_of(self.path)
        try:
            return super().execute(*question)
        except UnicodeDecodeError:  # SQLite quotes what is damaged in what it says
            raise sqlite3.DatabaseError("its tables are not readable") from None

    def executemany(self, *question: Any) -> sqlite3.Cursor:
        """Write many rows, which may take any time."""
        self._steps_left = math.inf
        return super().executemany(*question)

    def take_steps(self) -> bool:
        """Count what a question takes; return whether it has to end."""
        self._steps_left -= STEPS_AT_ONCE
        return self._steps_left < 0

    def checked(self, cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row if its values are such as its columns hold.

        Raises
        ------
        DamagedRun
            If one is not.
        """
        described, checks = self._last_kinds
        if described is not cursor.description:
            described = cursor.description
            checks = tuple(self._is_row if column[0] == "row" else CHECKS.get(column[0]) for column in described)
            self._last_kinds = described, checks
        for place, check in enumerate(checks):
            if check is not None and not check(row[place]):
                raise DamagedRun(self.path, f"its {described[place][0]} is {_shown(row[place])}")
        return row

    def _is_row(self, value: Any) -> bool:
        """Return whether a value is the row of a sequence that was searched."""
        if self._n_rows is None:  # as long as a job has not read its sequences
            known = (
                "SELECT json_extract(value, '$.n_sequences') FROM facts WHERE name = 'database' AND json_valid(value)"
            )
            found = super().execute(known).fetchone()
            self._n_rows = found[0] if found and type(found[0]) is int else None
        return _is_count(value) and (self._n_rows is None or value < self._n_rows)


def _shown(value: Any) -> str:
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
    connection.row_factory = lambda cursor, row: connection.checked(cursor, row)
    return connection


def open_checked(path: Path, mode: str, patience: float, is_shared: bool = False) -> tuple[RunConnection, int]:
    """Return a connection to a run file that is known to be one, and the version of its tables; see `connect`.

    Raises
    ------
    InputError
        If it is missing, no run file, damaged, or of a newer version.
    RunBusy
        If others write it all the time.
    """
    hint = "Give a .clalign file that a search has written."
    if path.is_dir():
        raise InputError(path, "this is a folder, not a run file.", hint)
    if not path.is_file():
        raise InputError(path, "the file does not exist.", "Check the name.")
    try:
        try:
            connection, application, version = _opened(path, mode, patience, is_shared)
        except sqlite3.OperationalError:
            if mode != "ro" or not _cannot_change(path):
                raise
            # Where SQLite finds no room for what readers and writers share, nobody writes, either.
            connection, application, version = _opened(path, f"{mode}&immutable=1", patience, is_shared)
    except sqlite3.DatabaseError as error:
        is_read = mode == "ro" or getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_READONLY
        refused = (unreadable if is_read else unwritable)(path, error)
        if isinstance(refused, DamagedRun):
            refused = InputError(path, f"this is not a readable run file ({one_line(error)}).", hint)
        raise refused from error
    if application != APPLICATION_ID:
        connection.close()
        raise InputError(path, "this is not a clalign run file.", hint)
    if version > SCHEMA_VERSION:
        connection.close()
        raise InputError(path, "this run was written by a newer version of clalign.", "Update clalign to open it.")
    try:
        check_tables(connection, version)
    except sqlite3.Error as error:
        connection.close()
        raise unreadable(path, error) from error
    except DamagedRun:
        connection.close()
        raise
    return connection, version


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


def check_tables(connection: RunConnection, version: int) -> None:
    """Refuse a file that has other tables than clalign makes.

    Raises
    ------
    DamagedRun
        If it lacks one, or has another thing or another column.
    """
    listed = connection.execute("SELECT type, name AS called, sql FROM main.sqlite_master LIMIT 100").fetchall()
    columns: dict[str, list[str]] = {}
    for kind, name, sql in listed:
        if kind == "index" and (sql is None or _one_line(sql) in INDEXES):
            continue
        if kind != "table" or name not in TABLES or not isinstance(sql, str):
            raise DamagedRun(connection.path, f"it holds a {_shown(kind)} {_shown(name)}")
        columns[name] = _columns_of(sql, name)
    added = added_since(version)
    for name, known in TABLES.items():
        newer = set(added.get(name, ()))
        found, needed = columns.get(name, []), [column for column in known if column not in newer]
        if not found and name == "notes":
            continue
        if sorted(found) not in (sorted(needed), sorted(known)):
            raise DamagedRun(connection.path, f"its table {name} has not the columns that it should have")


def _one_line(sql: str) -> str:
    return " ".join(sql.split())


def _columns_of(sql: str, table: str) -> list[str]:
    """Return the definitions in a statement that makes a table; none if it is written otherwise than here."""
    found = re.fullmatch(rf'CREATE TABLE (?:IF NOT EXISTS )?"?{table}"? ?\((.*)\)', _one_line(sql))
    return [part.strip() for part in re.split(r",(?![^(]*\))", found[1])] if found else []


def _known(schema: str) -> tuple[dict[str, list[str]], frozenset[str]]:
    statements = [_one_line(statement) for statement in schema.split(";")]
    tables = {
        statement.split()[2]: _columns_of(statement, statement.split()[2])
        for statement in statements
        if statement.startswith("CREATE TABLE")
    }
    return tables, frozenset(statement for statement in statements if statement.startswith("CREATE INDEX"))


TABLES, INDEXES = _known(f"{SCHEMA};CREATE TABLE {NOTES}")
"""Definitions of the columns of each table, and the indexes."""


def _check_of(name: str, declared: str) -> Check:
    """Return what tells whether a value may stand in a column."""
    check = _CHECKS_BY_NAME.get(name) or _CHECKS_BY_TYPE[declared]
    if name in _SIGNED:
        check = _is_whole
    elif name in _PLACES:
        check = _is_place
    elif name in _ONE_LINE:
        check = _is_line
    return (lambda value: value is None or check(value)) if name in _NULLABLE else check


def _is_whole(value: Any) -> bool:
    return type(value) is int and -LARGEST <= value <= LARGEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_place(value: Any) -> bool:
    return type(value) is int and 0 <= value <= LARGEST_PLACE


def _is_number(value: Any) -> bool:
    return type(value) in (float, int) and -math.inf < value < math.inf


def _is_any_number(value: Any) -> bool:
    return type(value) in (float, int)


def _is_positive(value: Any) -> bool:
    return type(value) in (float, int) and 0 <= value < math.inf


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_line(value: Any) -> bool:
    return type(value) is str and not ("\n" in value or "\r" in value or "\0" in value)


_CHECKS_BY_TYPE: dict[str, Check] = {
    "INTEGER": _is_count, "REAL": _is_number, "TEXT": _is_text, "BLOB": lambda value: type(value) is bytes
}  # fmt: skip

_CHECKS_BY_NAME: dict[str, Check] = {
    "evalue": _is_positive, "best_evalue": _is_positive, "cells": _is_positive, "expected": _is_positive,
    "seconds": lambda value: _is_positive(value) and value < LATEST,
    "log_pvalue": lambda value: _is_any_number(value) and value <= LARGEST_LOG,
    "accuracy": lambda value: _is_number(value) and 0 <= value <= 1.01,
    "msv": _is_any_number, "bias_filter": _is_any_number, "viterbi": _is_any_number, "forward": _is_any_number,
    "sort_key": _is_any_number,
    "included": lambda value: value in (0, 1) and type(value) is int,
    "strand": lambda value: value in (-1, 1) and type(value) is int,
    "verified": lambda value: value in ("", "equal", "differs"),
    "states": lambda value: type(value) is str and not value.strip("MID"),
}  # fmt: skip


def _checks() -> dict[str, Check]:
    found = {}
    for columns in TABLES.values():
        for column in columns:
            name, declared, *_ = column.split()
            if declared in _CHECKS_BY_TYPE:
                found[name] = _check_of(name, declared)
    return found


CHECKS: dict[str, Check] = _checks()
"""By the name of a column, which means the same in every table: whether a value may stand there."""
