"""The queries of a run as a list: what each has found so far."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Qt

from clalign.engines.rounds import lost_words
from clalign.runs.pages import QueryFound
from clalign.values.documents import Card

from ... import formatting
from ..widgets.text_table import Index, Row, TextColumn, TextTable

NOTHING = QueryFound(0, None, (), 0.0)

HITS, NEW, BEST, SPARK = 1, 2, 3, 4
"""Places of columns: numbers of hits, names that are new in a round, lowest E-values, and small curves."""


def _best(row: Row) -> str:
    evalue = row["found"].best_evalue
    return "—" if evalue is None else formatting.evalue(evalue)


def _count(row: Row) -> str:
    return formatting.count(row["n"]) if row["found"].searched or row["found"].n_hits else "—"


COLUMNS = (
    TextColumn("Query", "Click to see its hits", lambda row: row["short"], width=60, stretch=True,
               value=lambda row: row["name"].casefold()),
    TextColumn("Hits", "Targets that it hit so far, significantly where that is judged", _count, True, 50,
               value=lambda row: row["n"], large_first=True),
    TextColumn("New", "Significant hits that were none in the round before",
               lambda row: formatting.count(len(row["found"].new)), True, 50, value=lambda row: len(row["found"].new),
               large_first=True),
    TextColumn("Best E", "Lowest E-value", _best, True, 66, value=lambda row: row["found"].best_evalue),
    TextColumn("Scores", "Scores of its best hits, relative to the best one", lambda row: "", width=52,
               value=lambda row: row["found"].scores[0] if row["found"].scores else None, large_first=True),
)  # fmt: skip


def _rank(row: Row) -> tuple[bool, float, float]:
    """Return by what the best queries come first; those without hits stay in the order of their file."""
    found = row["found"]
    evalue = math.inf if found.best_evalue is None else found.best_evalue
    return not found.n_hits, evalue, -found.scores[0] if found.scores else 0.0


def searched_words(found: QueryFound) -> str:
    """Return how far a query was searched; empty if it was with all targets, or if that is not known."""
    if not found.searched:
        return "Not searched yet"
    return f"{formatting.percent(found.searched)} of the targets searched" if found.searched < 1.0 else ""


def _rows(cards: Iterable[Card]) -> Iterator[Row]:
    """Yield the rows of queries; one without a number is the name above the rounds of a query."""
    shared: dict[int | None, Row] = {}
    for number, card in enumerate(cards):
        first = card.get("first")
        name, accession, description = (str(card.get(key) or "") for key in ("name", "accession", "description"))
        own = shared.setdefault(number if first is None else first, {
            "number": None, "name": name, "short": formatting.short_name(name), "found": NOTHING, "n": 0,
            "group": (first, 0), "facts": f"{name} {accession}\n{description}".strip(),
            "words": f"{name} {accession} {description}".casefold(),
        })  # fmt: skip
        if first is None:
            yield own | {"number": number, "group": (0, 0)}
            continue
        if first == number:
            yield own
        yield own | {"number": number, "name": name, "short": f"Round {card.get('round')}", "group": (first, 1)}


class QueriesModel(TextTable):
    """The queries of a run, best first; a row has its ``number``, ``name`` and what it has ``found``.

    Rounds of a search stand below the name of their query, in the order of their file.

    Parameters
    ----------
    noun : str
        What a query is called.
    parent : QObject, optional
    """

    def __init__(self, noun: str, parent: QObject | None = None) -> None:
        columns = (replace(COLUMNS[0], title=noun), *COLUMNS[1:])
        super().__init__(columns, parent, lambda row: self.has_found and not row["n"])
        self.has_found = self.has_rounds = self.calls_significant = False
        self.all: list[Row] = []
        self._standing: list[Row] = []
        """All of them in the order in which they were sorted last: narrowing the list sorts nothing."""
        self._cards: list[Card] = []
        self._text = ""

    def show_queries(self, cards: Iterable[Card]) -> None:
        """List the queries of some cards, unless they are listed already."""
        given = [
            {key: card.get(key) for key in ("name", "accession", "description", "round", "first")} for card in cards
        ]
        if given != self._cards:
            self._cards, self.all = given, list(_rows(given))
            self.has_rounds = any(row["number"] is None for row in self.all)
            self._standing = self._sorted()
            self.narrow(self._text)

    def narrow(self, text: str) -> None:
        """List only the queries with all words of a text in name, accession or description."""
        self._text = text
        self.set_rows(self.holding(text))

    def holding(self, text: str) -> list[Row]:
        """Return the queries with all words of a text in name, accession or description."""
        words = text.casefold().split()
        return [row for row in self._standing if all(word in row["words"] for word in words)]

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._order = column, order == Qt.SortOrder.DescendingOrder
        self._standing = self._sorted()
        self._given = self.holding(self._text)
        super().sort(column, order)

    def _sorted(self) -> list[Row]:
        self._given = self.all
        is_by_rank = self._order[0] < 0 and not self.has_rounds
        return sorted(super()._in_order(), key=_rank if is_by_rank else lambda row: row["group"])

    def _in_order(self) -> list[Row]:
        return self._given

    def show_found(
        self, found: Mapping[int, QueryFound], in_place: bool = False, calls_significant: bool = False
    ) -> None:
        """Show what the queries have found so far, only the significant hits of engines that call hits so.

        Rows stay where they are only if `in_place`.
        """
        self.has_found, self.calls_significant = True, calls_significant
        for row in self.all:
            row["found"] = one = found.get(row["number"], NOTHING)
            row["n"] = one.n_significant if calls_significant else one.n_hits
        if not in_place:
            self.sort(self._order[0], Qt.SortOrder.DescendingOrder if self._order[1] else Qt.SortOrder.AscendingOrder)
        if self.rows:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self.rows) - 1, len(COLUMNS) - 1))

    def set_noun(self, noun: str) -> None:
        """Call a query by another noun."""
        self.columns = (replace(self.columns[0], title=noun), *self.columns[1:])
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 0)

    @property
    def copied(self) -> Sequence[TextColumn]:
        """The columns of the table as text: all but the small curves."""
        return [column for place, column in enumerate(self.columns[:SPARK]) if self.has_rounds or place != NEW]

    def place_of(self, number: int) -> int | None:
        """Return the row of a query; None if it is not listed."""
        return next((place for place, row in enumerate(self.rows) if row["number"] == number), None)

    def flags(self, index: Index) -> Qt.ItemFlag:
        is_head = index.isValid() and self.rows[index.row()]["number"] is None
        return Qt.ItemFlag.NoItemFlags if is_head else super().flags(index)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row = self.rows[index.row()] if index.isValid() else {}
        is_head = index.isValid() and row["number"] is None
        if role == Qt.ItemDataRole.DisplayRole and is_head and index.column():
            return ""
        if role == Qt.ItemDataRole.ToolTipRole and index.isValid():
            found = row["found"]
            words = f"{searched_words(found)}\n{lost_words(found)}" if self.has_found else ""
            if self.calls_significant and found.n_hits:
                counts = formatting.count(row["n"]), formatting.count(found.n_hits)
                words = f"{counts[0]} significant of {counts[1]} reported\n{words.strip()}"
            return formatting.tip(f"{row['facts']}\n{'' if is_head else words}".strip())
        return super().data(index, role)
