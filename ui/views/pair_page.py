"""The results of a pairwise run: the same page with other columns, and a dot plot beside the alignment."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Signal

from ..models.pair_run_view import PairRunView
from .hits_table import HitsPanel
from .pair_card import PairCard
from .results_page import TABS, ResultsPage


class PairPage(ResultsPage):
    """Shows a `PairRunView`."""

    TABS: ClassVar[dict[str, str]] = {name: text for name, text in TABS.items() if name not in ("profile", "funnel")}

    card_made = Signal(object)

    run: PairRunView

    def _made_hits(self) -> HitsPanel:
        made = super()._made_hits()
        made.explain.hide()
        return made

    def _made_hit(self) -> PairCard:
        made = PairCard()
        self._dress_hit(made)
        self.card_made.emit(made)
        return made

    def show_facts(self) -> None:
        """Show what is known about the run; strands only where there are two."""
        super().show_facts()
        if self._hits.content is not None:
            self._show_strands()

    def _make_hits(self) -> None:
        super()._make_hits()
        self._show_strands()

    def _show_strands(self) -> None:
        table = self.hits.table
        place = table.kind.place("strand")
        if place is not None and table.isColumnHidden(place) and self.run.shows_strands:
            table.setColumnHidden(place, False)
            header = table.horizontalHeader()
            header.moveSection(header.visualIndex(place), 2)
