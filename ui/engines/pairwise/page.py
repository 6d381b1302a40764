"""The results of a pairwise run, with a dot plot beside the alignment, and the sheet that explains a score."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from clalign.values.documents import Explanation

from ... import theme
from ...views.results.explain_sheet import ExplainSheet, mono_label
from ...views.results.results_page import ResultsPage
from .card import PairCard
from .run_view import PairRunView

COLUMNS_HEIGHT = 240
"""Pixels of the scrolled table of columns."""


class ColumnSheet(ExplainSheet):
    """Shows every column of the alignment, and the derivation of bits and E-value."""

    ASK_WORDS = "Aligns the sequence with the query, and shows the parts of their score, and why it is reported or not."
    WAIT_WORDS = "Aligning the two sequences again…"

    def parts(self, value: Explanation, verdict: QWidget) -> list[QWidget]:
        """Return the widgets for the sequences, the table of their columns, and the sums."""
        lines = list(self._engine.explanation_lines(value))
        first, second, third = (place for place, text in enumerate(lines) if not text)
        what, columns, sums = lines[:first], lines[first + 1 : second], lines[second + 1 : third]
        return [verdict, mono_label("\n".join(what)), _scrolling("\n".join(columns)), mono_label("\n".join(sums))]


def _scrolling(text: str) -> QPlainTextEdit:
    """Return the columns in an area that scrolls: there may be thousands."""
    made = QPlainTextEdit(text)
    made.setReadOnly(True)
    made.setFont(theme.mono_font(9))
    made.setFixedHeight(COLUMNS_HEIGHT)
    made.setTabChangesFocus(True)
    made.setAccessibleName("Columns of the alignment with their scores")
    return made


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
