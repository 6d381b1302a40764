"""All queries of a run: rows of a table, sorted and filtered, and the matrix of their hits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Qt

from clalign.common.escapes import escaped
from clalign.engines.overview import Overview, QueryLine, read_overview
from clalign.jobs import JobContext

from ... import formatting
from ..glossary import explanation
from ..widgets.text_table import (
    Index,
    TextColumn,
    TextTable,
)
from .heat_map import HeatMap

SPARK_COLUMN, SEARCHED_COLUMN = "Scores", "Searched %"


def _optional(value: float, write: Callable[[float], str]) -> str:
    return "—" if math.isnan(value) else write(value)


def _column(
    title: str,
    tip: str,
    width: int,
    text: Callable[[QueryLine], str],
    value: Callable[[QueryLine], object] | None = None,
    small_first: bool = False,
) -> TextColumn:
    """Return a column of numbers, or of text without `value`."""
    sorted_by = value or (lambda line: text(line).casefold())
    return TextColumn(
        title, tip, lambda row: text(row["line"]), right=value is not None, width=width,
        value=lambda row: sorted_by(row["line"]), large_first=value is not None and not small_first,
    )  # fmt: skip


COLUMNS = (
    _column("Query", "Profile or sequence", 150, lambda line: line.name),
    _column(SEARCHED_COLUMN, "Share of the targets compared so far", 90,
            lambda line: _optional(100 * line.searched, formatting.share), lambda line: line.searched),
    _column("Hits", "Targets that it hit", 60,
            lambda line: formatting.count(line.n_hits) if line.searched else "—", lambda line: line.n_hits),
    _column("Significant", "Those of them that are significant", 84,
            lambda line: formatting.count(line.n_significant) if line.searched else "—",
            lambda line: line.n_significant),
    _column("Best E-value", "Lowest E-value", 94, lambda line: _optional(line.best_evalue, formatting.evalue),
            lambda line: None if math.isnan(line.best_evalue) else line.best_evalue, small_first=True),
    _column("Best score", "Highest score, in bits; without statistics in units of the matrix", 84,
            lambda line: _optional(line.best_score, formatting.score),
            lambda line: None if math.isnan(line.best_score) else line.best_score),
    _column("Coverage %", "Share of the query that its hits cover together", 90,
            lambda line: formatting.share(line.coverage) if line.n_hits else "—", lambda line: line.coverage),
    _column(SPARK_COLUMN, "Scores of its hits, best first", 110, lambda line: "",
            lambda line: None if math.isnan(line.best_score) else line.best_score),
    _column("Length", "Nodes or residues of the query", 70, lambda line: formatting.count(line.length),
            lambda line: line.length),
    _column("Accession", "Accession of the query", 96, lambda line: line.accession),
    _column("Description", "Description of the query", 220, lambda line: line.description),
)  # fmt: skip


def _rank(line: QueryLine) -> tuple[float, float]:
    """Return the key by which the query with the best hit is first."""
    evalue, score = (math.inf if math.isnan(value) else value for value in (line.best_evalue, -line.best_score))
    return evalue, score


class QueriesModel(TextTable):
    """The queries of a run; a row holds its `QueryLine` as ``line``."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(COLUMNS, parent)
        self.all: list[QueryLine] = []
        self.noun = "query"

    def set_nouns(self, noun: str) -> None:
        """Set the heading of the first column, and the noun for a query."""
        self.noun = noun
        self.columns = (replace(COLUMNS[0], title=noun.capitalize()), *COLUMNS[1:])
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, 0)

    def show_lines(self, lines: list[QueryLine], text: str = "", hide_empty: bool = False) -> None:
        """List the queries with all words of a text, or only those with hits, best first."""
        self.all = lines
        words = text.casefold().split()
        self.update_rows([
            {"line": line, "tip": f"{line.name} {line.accession}\n{line.description}".strip()}
            for line in sorted(lines, key=_rank)
            if (line.n_hits or not hide_empty)
            and all(word in f"{line.name} {line.accession} {line.description}".casefold() for word in words)
        ])  # fmt: skip

    @property
    def lines(self) -> list[QueryLine]:
        """The listed queries in their order."""
        return [row["line"] for row in self.rows]

    @property
    def unsearched_words(self) -> str:
        """The number of incomplete queries, as the end of a sentence; empty if all are complete."""
        none = sum(line.searched == 0.0 for line in self.all)
        part = sum(not (line.searched >= 1.0 or line.searched == 0.0) for line in self.all)
        said = [f"{formatting.count(none)} not searched yet"] * bool(none)
        said += [f"{formatting.count(part)} only in part"] * bool(part)
        return f"; {', '.join(said)}" if said else ""

    @property
    def most(self) -> float:
        """The highest score of all, the scale of the small curves."""
        return max((line.best_score for line in self.all if line.n_hits), default=1.0)

    @property
    def is_partial(self) -> bool:
        """Whether any query may be incomplete."""
        return any(not line.searched >= 1.0 for line in self.all)

    def place_of(self, number: int) -> int | None:
        """Return the row of a query; None if it is not listed."""
        return next((place for place, line in enumerate(self.lines) if line.number == number), None)

    @property
    def copied(self) -> list[TextColumn]:
        """The columns of the table as text: without curves, and without progress of a complete search."""
        without = {SPARK_COLUMN} if self.is_partial else {SPARK_COLUMN, SEARCHED_COLUMN}
        return [column for column in self.columns if column.title not in without]

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.DisplayRole and index.isValid() and index.column() == 0:
            return escaped(formatting.short_name(self.rows[index.row()]["line"].name))
        return super().data(index, role)

    def headerData(self, section: int, side: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if side == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.ToolTipRole:
            column = COLUMNS[section]
            more = explanation(column.title)
            meaning = column.tip.replace("the query", f"the {self.noun}")
            tip = f"{meaning}. Click sorts, a third click lists the best first again."
            return f"{tip}\n\n{formatting.tip(more)}" if more else tip
        return super().headerData(section, side, role)


def question(path: Path) -> Callable[[JobContext], tuple[Overview, HeatMap]]:
    """Return a function that reads the overview of a run and prepares its heat map."""

    def read(context: JobContext) -> tuple[Overview, HeatMap]:
        found = read_overview(path, context)
        return found, HeatMap(found.matrix).prepared()

    return read
