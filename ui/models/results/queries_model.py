"""The queries of a run as a list: what each has found so far."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QObject, Qt

from clalign.runs.pages import QueryFound
from clalign.values.documents import Card

from ... import formatting
from ..widgets.text_table import Index, Row, TextColumn, TextTable

NOTHING = QueryFound(0, None, (), 0.0)

SPARK = 3
"""Place of the column with the small curves."""


def _best(row: Row) -> str:
    evalue = row["found"].best_evalue
    return "—" if evalue is None else formatting.evalue(evalue)


def _count(row: Row) -> str:
    found = row["found"]
    return formatting.count(found.n_hits) if found.searched or found.n_hits else "—"


COLUMNS = (
    TextColumn("Query", "Click to see its hits", lambda row: row["short"], width=60, stretch=True,
               value=lambda row: row["name"].casefold()),
    TextColumn("Hits", "Targets that it hit so far", _count, True, 50, value=lambda row: row["found"].n_hits,
               large_first=True),
    TextColumn("Best E", "Lowest E-value", _best, True, 66, value=lambda row: row["found"].best_evalue),
    TextColumn("Scores", "Scores of its best hits, relative to the best one", lambda row: "", width=52,
               value=lambda row: row["found"].scores[0] if row["found"].scores else None, large_first=True),
)  # fmt: skip


def searched_words(found: QueryFound) -> str:
    """Return how far a query was searched; empty if it was with all targets, or if that is not known."""
    if not found.searched:
        return "Not searched yet"
    return f"{formatting.percent(found.searched)} of the targets searched" if found.searched < 1.0 else ""


class QueriesModel(TextTable):
    """The queries of a run in the order of their file; a row has its ``number``, ``name`` and what it has ``found``.

    Parameters
    ----------
    noun : str
        What a query is called.
    parent : QObject, optional
    """

    def __init__(self, noun: str, parent: QObject | None = None) -> None:
        columns = (replace(COLUMNS[0], title=noun), *COLUMNS[1:])
        super().__init__(columns, parent, lambda row: self.has_found and not row["found"].n_hits)
        self.has_found = False
        self.all: list[Row] = []
        self._words: list[str] = []

    def show_queries(self, cards: Iterable[Card]) -> None:
        """List the queries of some cards, unless they are listed already."""
        names = [(card["name"], card.get("accession") or "", card.get("description") or "") for card in cards]
        words = [" ".join(texts).casefold() for texts in names]
        if words != self._words:
            self._words = words
            self.all = [
                {"number": number, "name": name, "short": formatting.short_name(name), "found": NOTHING,
                 "facts": f"{name} {accession}\n{description}".strip()}
                for number, (name, accession, description) in enumerate(names)
            ]  # fmt: skip
            self.narrow("")

    def narrow(self, text: str) -> None:
        """List only the queries with all words of a text in name, accession or description."""
        words = text.casefold().split()
        self.set_rows([row for row, its in zip(self.all, self._words, strict=True) if all(w in its for w in words)])

    def show_found(self, found: Mapping[int, QueryFound]) -> None:
        """Show what the queries have found so far; rows stay where they are unless the user had them sorted."""
        self.has_found = True
        for row in self.all:
            row["found"] = found.get(row["number"], NOTHING)
        if self._order[0] >= 0:
            self.sort(self._order[0], Qt.SortOrder.DescendingOrder if self._order[1] else Qt.SortOrder.AscendingOrder)
        elif self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(COLUMNS) - 1))

    def set_noun(self, noun: str) -> None:
        """Call a query by another noun."""
        self.columns = (replace(self.columns[0], title=noun), *self.columns[1:])
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 0)

    @property
    def copied(self) -> Sequence[TextColumn]:
        """The columns of the table as text: all but the small curves."""
        return self.columns[:SPARK]

    def place_of(self, number: int) -> int | None:
        """Return the row of a query; None if it is not listed."""
        return next((place for place, row in enumerate(self.rows) if row["number"] == number), None)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid():
            row = self.rows[index.row()]
            words = searched_words(row["found"]) if self.has_found else ""
            return formatting.tip(f"{row['facts']}\n{words}".strip())
        return super().data(index, role)
