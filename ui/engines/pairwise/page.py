"""The results of a pairwise run, with a dot plot beside the alignment."""

from __future__ import annotations

from PySide6.QtCore import Signal

from ...views.results.results_page import ResultsPage
from .card import PairCard
from .explain_sheet import ColumnSheet
from .run_view import PairRunView


class PairPage(ResultsPage):
    """Shows a `PairRunView`."""

    explain_sheet = ColumnSheet
    card_made = Signal(object)

    run: PairRunView

    def __init__(self, run: PairRunView) -> None:
        self._fitted: set[str] = set()
        super().__init__(run)

    def _make_hit(self) -> PairCard:
        made = PairCard()
        self._dress_hit(made)
        self.card_made.emit(made)
        return made

    def show_facts(self) -> None:
        """Show the facts about the run, and the columns that are not empty."""
        super().show_facts()
        if self._hits_lazy.content is not None:
            self._fit_columns()

    def _make_hits(self) -> None:
        super()._make_hits()
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Show strands and E-values if the run has them; once, as the user may choose later."""
        table, header = self.hits.table, self.hits.table.horizontalHeader()
        places = {column.key: place for place, column in enumerate(table.kind.columns)}
        if self.run.shows_strands and "strand" not in self._fitted:
            self._fitted.add("strand")
            table.setColumnHidden(places["strand"], False)
            header.moveSection(header.visualIndex(places["strand"]), header.visualIndex(places["evalue"]))
        if self.run.has_no_statistics and "evalue" not in self._fitted:
            self._fitted.add("evalue")
            for key in ("evalue", "bits"):
                table.setColumnHidden(places[key], True)
