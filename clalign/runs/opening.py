"""Opening a run whose tables are checked: what it says of itself is whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clalign.databases.reports import InputReport
from clalign.errors import ClalignError, DamagedRun
from clalign.runs.connection import RunConnection, open_checked, unreadable
from clalign.runs.declarations import prepare
from clalign.values.shards import ShardRows

PATIENCE = 20.0
"""Seconds that a question waits for others that write the file."""


class Finished(Struct, kw_only=True):
    """What every finished run says of its computation; see `clalign.execution.job.compute_run`."""

    n_hits: int
    n_sequences: int
    cells: float
    seconds: float
    gcups: float
    device: str


class BegunRun(Struct, kw_only=True):
    """The facts that every run has from the moment on that its computation begins.

    They are written together. Engines declare subclasses with the facts of their own, which have no default.
    """

    created: float
    engine: str
    state: str
    spec: dict[str, Any]
    database: InputReport
    packing: int
    versions: dict[str, str]
    finished: Finished | None = None
    shard: ShardRows | None = None


prepare(BegunRun)

MARKS = {"packing", "profiles_digest", "scoring", "queries", "strands", "alphabet", "sequence_digests", "n_pairs"}
"""Facts of which each says that a run has begun, so that all the others have to be there."""


def open_sound(path: Path, is_writable: bool = False, is_shared: bool = False) -> RunConnection:
    """Return a connection to a run whose tables are those of this version, and which says all that it must.

    Parameters
    ----------
    path : Path
    is_writable : bool
    is_shared : bool
        Whether several threads use the connection, one after the other.

    Raises
    ------
    InputError
        If it is missing, no run file, damaged, or of another version.
    """
    connection = open_checked(path, "rw" if is_writable else "ro", PATIENCE, is_shared)
    try:
        _check(connection)
    except sqlite3.Error as error:
        connection.close()
        raise unreadable(path, error) from error
    except ClalignError:
        connection.close()
        raise
    return connection


def _check(connection: RunConnection) -> None:
    """Refuse a run that lacks facts which it has by its state, or whose queries are not numbered from 0.

    What others write meanwhile is no contradiction: queries come before facts, and both before results.
    """
    numbers = [connection.execute(f"SELECT max(query) AS last_query FROM {table}").fetchone()[0]
               for table in ("batches", "hits", "histogram")]  # fmt: skip
    facts = {name: value for name, value in connection.facts().items() if value is not None}
    has_begun = not MARKS.isdisjoint(facts)
    wrong = _contradiction(connection, facts) if has_begun else None
    count, first, last = connection.execute(
        "SELECT count(*) AS count, min(id) AS first_id, max(id) AS last_id FROM queries"
    ).fetchone()
    if wrong is None and count and (first, last) != (0, count - 1):
        wrong = "its queries are not numbered one after the other"
    if wrong is None and has_begun and any(number is not None and number >= count for number in numbers):
        wrong = "it has results of queries that are not there"
    if wrong is not None:
        raise DamagedRun(connection.path, wrong)


def _contradiction(connection: RunConnection, facts: dict[str, Any]) -> str | None:
    try:
        found = msgspec.convert(facts, connection.declared.begun or BegunRun)
    except msgspec.ValidationError as error:
        return f"of what it says of itself: {error}"
    if found.state == "done" and found.finished is None:
        return "it is done, but does not say what was computed"
    if found.spec.get("shard") and found.shard is None:
        return "it is of a part of the targets, but does not say of which"
    return None
