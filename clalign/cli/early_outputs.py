"""Outputs that are written while the run is computed: query after query, as soon as each is done.

The worker computes in a process of its own, and this one has nothing else to do. The outputs themselves are written
when the search has ended, and begin with the text that was written here.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from msgspec.structs import replace

from clalign.cli.outputs import Outputs
from clalign.errors import ClalignError
from clalign.formats.writers import ESCAPED
from clalign.jobs import QuietContext

if TYPE_CHECKING:
    from clalign.engines.export_source import Begun, ExportSource, ListedQuery

STEP_SECONDS = 0.1
"""Time limit of a step, during which no progress is shown (s)."""

MAX_HITS = 2_000
"""Hits of a query at most, which are written in less than a second."""


class EarlyOutputs:
    """Writes the finished queries of a run, for outputs that can be written query by query.

    Parameters
    ----------
    path : Path
        The run.
    outputs : Outputs
    max_hits : int
        A query with more hits, and what follows it, waits for the end.
    """

    def __init__(self, path: Path, outputs: Outputs, max_hits: int = MAX_HITS) -> None:
        self._path, self._outputs, self._max_hits = path, outputs, max_hits
        self._open = contextlib.ExitStack()
        self._source: ExportSource | None = None
        self._is_over = False
        self._n_queries = 0
        self._files: dict[str, TextIO] = {}
        self._counts: dict[str, int] = {}
        self._writers: dict[str, Callable[[ExportSource, TextIO, ListedQuery, bool], int]] = {}

    @property
    def has_looked(self) -> bool:
        """Whether it has opened the run."""
        return self._source is not None

    def write(self) -> None:
        """Write finished queries for one step; an error is left to the end, where it is reported."""
        if self._is_over or not any(one.by_query for one, _ in self._outputs.files):
            return
        import sqlite3

        try:
            self._write_on(self._source or self._opened())
        except (ClalignError, OSError, sqlite3.Error):
            self.close()

    def _opened(self) -> ExportSource:
        from clalign.engines.engine import engine_of
        from clalign.engines.export_source import Choice
        from clalign.runs.run_file import open_run

        run = self._open.enter_context(open_run(self._path))
        source = engine_of(run).source(run, Choice(**self._outputs.how), QuietContext())
        source.provenance = replace(source.provenance, partial=bool(source.provenance.part))
        self._writers = {one.name: one.by_query.get() for one, _ in self._outputs.files if one.by_query}
        for name in self._writers:
            file = tempfile.TemporaryFile("w+", encoding="utf-8", errors=ESCAPED, newline="\n")  # noqa: SIM115
            self._files[name] = cast(TextIO, self._open.enter_context(file))
            self._counts[name] = 0
        self._source = source
        return source

    def _write_on(self, source: ExportSource) -> None:
        until = time.monotonic() + STEP_SECONDS
        for query in source.done_queries(self._n_queries):
            if len(query.keys) > self._max_hits:
                self._is_over = True
                return
            for name, write in self._writers.items():
                self._counts[name] += write(source, self._files[name], query, self._n_queries == 0)
            self._n_queries += 1
            if time.monotonic() > until:
                return

    def begun(self, name: str) -> Begun | None:
        """Return the part of an export that is written; None if nothing is."""
        from clalign.engines.export_source import Begun

        if self._source is None or name not in self._files or not self._n_queries:
            return None
        return Begun(self._files[name], self._n_queries, self._counts[name], self._source.provenance)

    def close(self) -> None:
        """Drop what was written, and close the run."""
        self._is_over = True
        self._files.clear()
        self._open.close()
