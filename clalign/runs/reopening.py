"""Copies of finished runs that go on from before their end, with something else asked of it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from clalign.errors import OutputError
from clalign.runs.run_file import RunFile, open_run
from clalign.runs.side_files import check_free, remove_run
from clalign.values.documents import SpecFields

FORGOTTEN = ("alignments", "alignment_rows", "messages", "verifications")
"""Tables that say what came of the end."""


def copy_without_end(run: RunFile, path: Path, query: int, tables: Sequence[str], spec: SpecFields) -> None:
    """Write a copy of a run whose last query is to be concluded once more; the run itself stays as it is.

    Parameters
    ----------
    run : RunFile
    path : Path
        The new file.
    query : int
        What is not concluded any more; its batches stay.
    tables : sequence of str
        Tables of the engine that say what came of the end.
    spec : dict
        What is asked of the new run.

    Raises
    ------
    OutputError
        If the file exists or cannot be made.
    """
    check_free(path)
    try:
        run.copy_to(path)
        with open_run(path, writable=True) as made:
            with made.connection:
                for table in (*FORGOTTEN, *tables):
                    made.connection.execute(f"DELETE FROM {table}")
                made.connection.execute("DELETE FROM facts WHERE name IN ('finished', 'error', 'command')")
                made.connection.execute("UPDATE queries SET best = ? WHERE id = ?", (json.dumps(None), query))
            made.set_facts(state="stopped", spec=spec, created=time.time())
    except (sqlite3.Error, OSError) as error:
        with contextlib.suppress(OutputError):
            remove_run(path)
        raise OutputError(f"The run file {path} could not be made ({error}).", "Choose another place.") from error
