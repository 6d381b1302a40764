"""Finished runs become one file again, once nobody reads them any more."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from clalign.errors import ClalignError
from clalign.runs.connection import open_checked


def seal_finished(path: Path) -> None:
    """Bring a finished run into its one file, of which others hindered the last step when it ended.

    Where that cannot be now, or somebody else has the file open, it stays as it is: whole, but with its log beside it.
    """
    if not path.with_name(f"{path.name}-wal").exists():
        return
    with contextlib.suppress(ClalignError, sqlite3.Error, OSError):
        connection = open_checked(path, "rw", 0.0)
        with contextlib.closing(connection):
            state = connection.execute("SELECT value FROM facts WHERE name = 'state'").fetchone()
            if state is not None and state[0] == '"done"':
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                connection.execute("PRAGMA journal_mode = DELETE")
