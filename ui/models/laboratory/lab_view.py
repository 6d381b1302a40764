"""The model of a page of the laboratory: tables and charts of a document that grows while the job runs."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from clalign.labs.laboratory import DONE, MEASURING, NOT_YET, Document, Laboratory, Verdict
from clalign.values.charts import Chart

from ..widgets.text_table import Row, TextTable

TICKED = "wanted"
"""Key of a row: whether it is to be run next time."""


class LabView(QObject):
    """The known and measured rows, and the finished document.

    Attributes
    ----------
    main : Experiment
        The first one, whose rows arrive while the job runs.
    document : dict
        Empty until it is whole.
    is_live : bool
        Whether its job runs or waits.
    tables : dict of TextTable
        By the keys of the experiments.
    """

    changed = Signal()

    def __init__(self, of: Laboratory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.of, self.main = of, of.experiments[0]
        self.document: Document = {}
        self.is_live = False
        self.tables = {
            one.key: TextTable(one.columns, self, _is_dim, TICKED if of.known and one is self.main else "")
            for one in of.experiments
        }
        self._show([{**row, TICKED: True} for row in of.known])

    @property
    def rows(self) -> list[Row]:
        """The rows of the first experiment, measured or only known."""
        return self.tables[self.main.key].rows

    @property
    def shown(self) -> Document:
        """The document with the present rows, perhaps incomplete."""
        return {**self.document, self.main.key: self.rows}

    @property
    def n_done(self) -> int:
        """Number of rows that were measured."""
        return sum(row.get("status", DONE) == DONE for row in self.rows)

    def chosen_names(self) -> list[str] | None:
        """Return the names of the ticked rows; None if all are."""
        names = [row["name"] for row in self.rows if row[TICKED]]
        return None if len(names) == len(self.rows) else names

    def tick_all(self, chosen_names: bool) -> None:
        """Tick all rows, or none."""
        self._show([{**row, TICKED: chosen_names} for row in self.rows])

    def begin(self) -> None:
        """Remove the results of an earlier job."""
        self.document, self.is_live = {}, True
        self._show(self._ticked(self.of.known))

    def add_row(self, row: Row) -> None:
        """Add or replace a measured row."""
        key = self.main.row_key(row)
        places = [place for place, known in enumerate(self.rows) if self.main.row_key(known) == key] or [len(self.rows)]
        self._show([*self.rows[: places[0]], *self._ticked([row]), *self.rows[places[0] + 1 :]])

    def measure(self, now: str) -> None:
        """Mark the rows that are measured while the progress names `now`, and no others."""
        marked = [
            {**row, "status": MEASURING if self._is_measuring(row, now) else NOT_YET}
            if row.get("status") in (NOT_YET, MEASURING) else row
            for row in self.rows
        ]  # fmt: skip
        if marked != self.rows:
            self._show(marked)

    def _is_measuring(self, row: Row, now: str) -> bool:
        # The first rung is measured even without a tick.
        return self.of.is_measuring(row, now) and (row.get(TICKED, True) or row["name"] == now)

    def take(self, document: Document) -> None:
        """Show a whole document."""
        self.document, self.is_live = document, False
        rows = {self.main.row_key(row): row for row in document[self.main.key]}
        known = {self.main.row_key(row): row for row in self.of.known}
        # Another version may have measured others; then only these are shown.
        self._show(self._ticked(({**known, **rows} if rows.keys() <= known.keys() else rows).values()))

    def end(self) -> None:
        """Keep the rows of a job that ended early."""
        self.is_live = False
        self.measure("")
        self.changed.emit()

    def _ticked(self, rows: Iterable[Row]) -> list[Row]:
        """Return rows with the ticks of the present ones."""
        if not self.of.known:
            return list(rows)
        ticks = {row["name"]: row[TICKED] for row in self.rows}
        return [{**row, TICKED: ticks.get(row["name"], True)} for row in rows]

    def _show(self, rows: list[Row]) -> None:
        shown = {**self.document, self.main.key: rows}
        for one in self.of.experiments:
            self.tables[one.key].update_rows([{**row, "tip": one.tip(row)} for row in one.rows_of(shown)])
        self.changed.emit()

    def chart(self, key: str) -> Chart | None:
        """Return the chart of an experiment; None without rows."""
        rows = self.tables[key].rows
        experiment = next(one for one in self.of.experiments if one.key == key)
        return experiment.chart(self.shown, rows) if rows else None

    def summary(self) -> str:
        """Return a line about the job and its device."""
        if self.document:
            return self.of.summary(self.document)
        if not self.n_done:
            return self.of.promise
        n_chosen = sum(row[TICKED] or row.get("status", DONE) == DONE for row in self.rows) if self.of.known else 0
        of = f" of {n_chosen:,}" if n_chosen else ""
        done = f"{self.n_done:,}{of} {self.of.noun if self.n_done == 1 and not of else self.of.nouns}"
        return f"{done} so far" if self.is_live else f"stopped after {done}"

    def verdicts(self) -> list[Verdict]:
        """Return severities and sentences about the results."""
        return self.of.verdicts(self.shown) if self.n_done else []


def _is_dim(row: Row) -> bool:
    is_idle = row.get("status", DONE) != DONE and row.get("share") is None
    return is_idle or bool(row.get("error"))
