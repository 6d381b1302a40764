"""Outputs that are written while the run is computed: query after query, as soon as each is done.

The worker computes in a process of its own, and a thread of this one writes. The outputs themselves are written when
the search has ended, and begin with the text that was written here.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO, cast

from msgspec.structs import replace

from clalign import tracing
from clalign.errors import Cancelled, ClalignError
from clalign.formats.writers import ESCAPED
from clalign.jobs import Job

if TYPE_CHECKING:
    from pathlib import Path

    from clalign.cli.outputs import Outputs
    from clalign.engines.export_source import Begun, ExportSource
    from clalign.runs.run_file import RunFile

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1
"""Interval of looking whether more queries are done (s)."""


class EarlyOutputs:
    """Writes the finished queries of a run, for outputs that can be written query by query.

    Parameters
    ----------
    path : Path
        The run.
    outputs : Outputs

    Attributes
    ----------
    has_looked : bool
        Whether it has opened the run.
    """

    def __init__(self, path: Path, outputs: Outputs) -> None:
        self._path, self._outputs = path, outputs
        self._writers = {one.name: one.by_query for one, _ in outputs.files if one.by_query}
        self.has_looked = False
        self._thread: Thread | None = None
        self._is_over, self._job = Event(), Job(lambda event: None)
        self._files = contextlib.ExitStack()
        self._begun: dict[str, Begun] = {}

    def begin(self) -> None:
        """Let a thread write from now on, unless one does."""
        if self._thread is None and self._writers:
            self._thread = Thread(target=self._write, name="early outputs", daemon=True)
            self._thread.start()

    def end(self) -> None:
        """Wait for the end of the query that is being written, which is the last one."""
        self._is_over.set()
        while self._thread is not None and self._thread.is_alive():
            self._thread.join(LOOK_SECONDS)  # a longer wait would not heed Ctrl-C on Windows

    def begun(self, name: str) -> Begun | None:
        """Return the part of an export that is written; None if nothing is."""
        found = self._begun.get(name)
        return found if found is not None and found.n_queries else None

    def close(self) -> None:
        """Stop writing, even within a query, and drop what was written."""
        self._job.cancel()
        self.end()
        self._begun.clear()
        with contextlib.suppress(OSError):  # what a full disk did not take is written once more
            self._files.close()

    def _write(self) -> None:
        """Write queries as they are done; what is expected to go wrong is left to the end, where it is reported."""
        import sqlite3

        is_whole = False
        try:
            self._write_while_computed()
            is_whole = True
        except (Cancelled, ClalignError, OSError, sqlite3.Error):
            log.debug("queries could not be written early", exc_info=True)
        finally:
            if not is_whole:  # half a query may be written
                self._begun.clear()

    def _write_while_computed(self) -> None:
        """Write queries as they are done until the end is asked for."""
        from clalign.runs.run_file import open_run

        with open_run(self._path) as run:
            self.has_looked = True
            run.connection.is_abandoned = lambda: self._job.is_cancelled
            facts = source = None
            while not self._is_over.is_set():
                if source is None or facts != run.facts:
                    facts = run.facts
                    source = self._source(run)
                if not source.has_early_queries:
                    return
                self._write_done(source)
                self._is_over.wait(LOOK_SECONDS)

    def _source(self, run: RunFile) -> ExportSource:
        """Return the run as writers see it; begin again if what was written is not what they would write now."""
        from clalign.engines.engine import engine_of
        from clalign.engines.export_source import Begun, Choice

        source = engine_of(run).source(run, Choice(**self._outputs.how), self._job)
        source.provenance = replace(source.provenance, partial=bool(source.provenance.part))
        if not all(name in self._begun and self._begun[name].still_holds(source.provenance) for name in self._writers):
            self._files.close()
            for name in self._writers:
                file = tempfile.TemporaryFile(  # noqa: SIM115
                    "w+", encoding="utf-8", errors=ESCAPED, newline="\n", dir=self._path.parent
                )
                self._begun[name] = Begun(self._files.enter_context(cast(TextIO, file)), 0, 0, source.provenance)
        return source

    def _write_done(self, source: ExportSource) -> None:
        """Write the queries that are done by now."""
        first = next(iter(self._begun.values())).n_queries
        for place, query in enumerate(source.done_queries(first)):
            if self._is_over.is_set():
                return
            with tracing.span("write a query", "writing", query=first + place, hits=len(query.keys)):
                for name, begun in self._begun.items():
                    count = self._writers[name].get()(source, begun.stream, query, begun.n_queries == 0)
                    begun.stream.flush()
                    self._begun[name] = replace(begun, n_queries=begun.n_queries + 1, count=begun.count + count)
