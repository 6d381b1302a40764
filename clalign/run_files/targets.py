"""Names of the targets of a run that are no hits: they are in the sequence file only."""

from __future__ import annotations

from typing import Any

from clalign.errors import ClalignError
from clalign.formats.databases import load_database
from clalign.sequences import SequenceDatabase


class HeaderReader:
    """Returns name, description and length of a database row; opens the sequences when first asked.

    Parameters
    ----------
    spec : dict
        What the run searched.
    report : dict or None
        The input report of the run; other sequences than those are not used.
    """

    def __init__(self, spec: dict[str, Any], report: dict[str, Any] | None) -> None:
        self._spec = spec
        self._report = report
        self._database: SequenceDatabase | None = None
        self._is_open = False

    def __call__(self, row: int) -> tuple[str, str, int | None]:
        """Return name, description and length; empty and None when the sequences are not at hand."""
        if not self._is_open:
            self._database, self._is_open = self._opened(), True
        if self._database is None:
            return "", "", None
        name, _, description = self._database.header(row)
        return name, description, self._database.length(row)

    def _opened(self) -> SequenceDatabase | None:
        path = self._spec.get("targets", "-")
        if path == "-" or self._report is None:
            return None
        try:
            database, report = load_database(
                path, alphabet=self._spec["alphabet"], sequence_format=self._spec["sequence_format"]
            )
        except ClalignError:
            return None
        return database if report.digest == self._report["digest"] else None
