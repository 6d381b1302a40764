"""All queries of a run as they are shown: lines of a table, sorted and filtered, and the matrix of their hits."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from clalign.control_characters import escaped
from clalign.engines.overview import Overview, QueryLine, read_overview
from clalign.formats.writers import safe_lines
from clalign.jobs import JobContext

from .. import formatting
from .glossary import explanation
from .heat_map import HeatMap

Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
LINE_ROLE = Qt.ItemDataRole.UserRole + 1

SPARK_COLUMN, SEARCHED_COLUMN = "Scores", "Searched %"


def _optional(value: float, write: Callable[[float], str]) -> str:
    return "—" if math.isnan(value) else write(value)


Told = Callable[[QueryLine], str]
Worth = Callable[[QueryLine], Any]

COLUMNS: tuple[tuple[str, str, int, bool, Told, Worth, bool], ...] = (
    ("Query", "Profile or sequence that was looked for", 150, False, lambda r: r.name,
     lambda r: r.name.casefold(), True),
    (SEARCHED_COLUMN, "Share of the targets that it was compared with so far", 90, True,
     lambda r: _optional(100 * r.searched, formatting.share), lambda r: r.searched, False),
    ("Hits", "Targets that it hit", 60, True,
     lambda r: formatting.count(r.n_hits) if r.searched else "—", lambda r: r.n_hits, False),
    ("Significant", "Those of them that are significant", 84, True,
     lambda r: formatting.count(r.n_significant) if r.searched else "—", lambda r: r.n_significant, False),
    ("Best E-value", "Lowest E-value", 94, True, lambda r: _optional(r.best_evalue, formatting.evalue),
     lambda r: math.inf if math.isnan(r.best_evalue) else r.best_evalue, True),
    ("Best score", "Highest score, in bits; without statistics in units of the matrix", 84, True,
     lambda r: _optional(r.best_score, formatting.score),
     lambda r: -math.inf if math.isnan(r.best_score) else r.best_score, False),
    ("Coverage %", "Share of the query that its hits cover together", 90, True,
     lambda r: formatting.share(r.coverage) if r.n_hits else "—", lambda r: r.coverage, False),
    (SPARK_COLUMN, "Scores of its hits, best first", 110, False, lambda r: "", lambda r: r.best_score, False),
    ("Length", "Nodes or residues of the query", 70, True, lambda r: formatting.count(r.length),
     lambda r: r.length, False),
    ("Accession", "Accession of the query", 96, False, lambda r: r.accession, lambda r: r.accession, True),
    ("Description", "Description of the query", 220, False, lambda r: r.description, lambda r: r.description, True),
)  # fmt: skip
"""Heading, tip, width, whether it stands right, what a cell says, what it is sorted by, whether small stands first."""


class QueriesModel(QAbstractTableModel):
    """The queries of a run."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.all: list[QueryLine] = []
        self.lines: list[QueryLine] = []
        self.noun = "query"
        self._text, self._hide_empty = "", False
        self._sort: tuple[int, bool] | None = None

    def set_lines(self, lines: list[QueryLine]) -> None:
        """Show the queries of a run."""
        self.all = lines
        self._arrange()

    def set_filter(self, text: str, hide_empty: bool) -> None:
        """Show only queries with a text in name, accession or description, and perhaps only those with hits."""
        self._text, self._hide_empty = text.casefold(), hide_empty
        self._arrange()

    def sort_by(self, column: int | None, descending: bool = False) -> None:
        """Sort by a column; None restores the order of the file."""
        self._sort = None if column is None else (column, descending)
        self._arrange()

    def _arrange(self) -> None:
        words = self._text.split()
        shown = [
            line for line in self.all
            if (line.n_hits or not self._hide_empty)
            and all(word in f"{line.name} {line.accession} {line.description}".casefold() for word in words)
        ]  # fmt: skip
        if self._sort is not None:
            column, descending = self._sort
            shown.sort(key=COLUMNS[column][5], reverse=descending)
        self.beginResetModel()
        self.lines = shown
        self.endResetModel()

    @property
    def most(self) -> float:
        """The highest score of all, which the little curves are drawn against."""
        return max((line.best_score for line in self.all if line.n_hits), default=1.0)

    @property
    def is_partial(self) -> bool:
        """Whether any query is not known to be searched to its end."""
        return any(not line.searched >= 1.0 for line in self.all)

    def place_of(self, number: int) -> int | None:
        """Return the row of a query; None if it is not shown."""
        return next((place for place, line in enumerate(self.lines) if line.number == number), None)

    def heading(self, name: str) -> str:
        """Return the heading of a column; the first one is what a query is called."""
        return self.noun.capitalize() if name == COLUMNS[0][0] else name

    def tsv(self) -> str:
        """Return what is shown as tab-separated text with a header line, no cell a formula to a spreadsheet."""
        without = {SPARK_COLUMN} if self.is_partial else {SPARK_COLUMN, SEARCHED_COLUMN}
        columns = [column for column in COLUMNS if column[0] not in without]
        lines = ["\t".join(self.heading(column[0]) for column in columns)]
        lines += [
            "\t".join(formatting.plain(column[4](line)) if column[3] else column[4](line) for column in columns)
            for line in self.lines
        ]
        return safe_lines("\n".join(lines) + "\n")

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        """Return the number of queries shown."""
        return 0 if parent.isValid() else len(self.lines)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        """Return the number of columns."""
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what a cell shows."""
        if not index.isValid():
            return None
        line, column = self.lines[index.row()], COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return escaped(formatting.short_name(line.name) if index.column() == 0 else column[4](line))
        if role == Qt.ItemDataRole.ToolTipRole:
            return formatting.tip(f"{line.name} {line.accession}\n{line.description}".strip())
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column[3] else Qt.AlignmentFlag.AlignLeft
            return int(side | Qt.AlignmentFlag.AlignVCenter)
        return line if role == LINE_ROLE else None

    def headerData(self, section: int, side: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return the heading of a column."""
        if side == Qt.Orientation.Vertical:
            return None
        column = COLUMNS[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return self.heading(column[0])
        if role == Qt.ItemDataRole.ToolTipRole:
            more = explanation(column[0])
            meaning = column[1].replace("the query", f"the {self.noun}")
            told = f"{meaning}. Click sorts, a third click restores the order of the file."
            return f"{told}\n\n{formatting.tip(more)}" if more else told
        if role == Qt.ItemDataRole.TextAlignmentRole:
            flag = Qt.AlignmentFlag.AlignRight if column[3] else Qt.AlignmentFlag.AlignLeft
            return int(flag | Qt.AlignmentFlag.AlignVCenter)
        return None


def question(path: Path) -> Callable[[JobContext], tuple[Overview, HeatMap]]:
    """Return what reads the overview of a run, and makes its heat map ready."""

    def read(context: JobContext) -> tuple[Overview, HeatMap]:
        found = read_overview(path, context)
        return found, HeatMap(found.matrix).prepared()

    return read
