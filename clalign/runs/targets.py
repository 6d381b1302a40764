"""Names of the targets of a run that are no hits: they are in the sequence file only."""

from __future__ import annotations

from clalign.databases.loading import load_database
from clalign.errors import ClalignError
from clalign.jobs import JobContext
from clalign.runs.inputs import Facts, input_of
from clalign.values.sequences import SequenceDatabase


class HeaderReader:
    """Returns name, description and length of a database row; opens the sequences when first asked.

    Parameters
    ----------
    run : RunFile
        Other sequences than those that it searched are not used.
    context : JobContext, optional
        Asked whether to go on while the sequences are opened.
    """

    def __init__(self, run: Facts, context: JobContext | None = None) -> None:
        self._run = run
        self._context = context
        self._database: SequenceDatabase | None = None
        self._is_open = False

    def __call__(self, row: int) -> tuple[str, str, int | None]:
        """Return name, description and length; empty and None when the sequences are not at hand."""
        if not self._is_open:
            self._database, self._is_open = self._opened(), True
        if self._database is None:
            return "", "", None
        if not 0 <= row < len(self._database):
            return "", "", None
        name, _, description = self._database.header(row)
        return name, description, self._database.length(row)

    def _opened(self) -> SequenceDatabase | None:
        spec = self._run.facts.spec or {}
        alphabet, form = spec.get("alphabet"), spec.get("sequence_format")
        if self._run.facts.database is None or alphabet is None or form is None:
            return None
        try:
            path = input_of(self._run, "targets", self._context)
            database, _ = load_database(path, alphabet=alphabet, sequence_format=form, context=self._context)
        except ClalignError:
            return None
        return database
