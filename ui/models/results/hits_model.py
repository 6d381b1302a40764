"""The hits table as a Qt model, paged from the run file, sorted and filtered by SQL, and the columns of its kinds."""

from __future__ import annotations

import math
import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec.structs import asdict, replace
from PySide6.QtCore import QAbstractTableModel, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QColor

from clalign.common.escapes import escaped
from clalign.engines.columns import HITS, Column, Kind, Sets
from clalign.errors import ClalignError, DamagedRun
from clalign.formats.writers import safe_lines
from clalign.runs.connection import unreadable
from clalign.runs.pages import HitQuery, PickedHits, Together
from clalign.runs.run_file import write_note
from clalign.values.documents import Card
from clalign.values.species import SpeciesRule

from ... import formatting, theme
from ..glossary import explanation
from ..reader import Reader
from ..widgets.text_table import NO_PARENT, ROW_ROLE, Index, side_of
from .hit_filter import HIT_WORDS, FilterWords, HitFilter, parse_filter
from .hit_pages import ALL_QUERIES, PAGE, HitPages, HitRow

NO_DOMAIN = "no single domain passes"
"""Text for a hit all of whose domains fail the thresholds for domains."""

NO_DOMAIN_TIP = (
    "The sequence as a whole passes, but none of its domains alone does: several weak ones add up, or the "
    "sequence is slightly similar to the profile all over."
)

Cell = Callable[[HitRow, "HitsModel"], str]
"""Returns the text of a cell for a row and its table."""

RowOf = Callable[[HitRow, "HitsModel"], object]


def no_row(hit: HitRow, hits: HitsModel) -> None:
    """Return None."""


class ShownColumn(Column, frozen=True, kw_only=True):
    """A column of an engine's table in the window.

    Attributes
    ----------
    text : callable
        A `Cell`.
    width : int
    shown : bool
        Whether it is shown at first.
    """

    text: Cell
    width: int
    shown: bool

    @property
    def head(self) -> str:
        """The heading."""
        return self.short or self.heading


@dataclass(frozen=True, slots=True)
class TableKind:
    """The table of hits of a kind of run.

    Attributes
    ----------
    columns : tuple of ShownColumn
    sets : dict
        Columns that are shown together: words and keys, by the name of the set.
    words : FilterWords
        Names in its filter box.
    query_first : bool
        Whether hits are grouped by query if there are several, with the query first.
    score : str
        The score that thresholds are for: ``score``, or ``raw``.
    row : callable
        Returns of a hit the row that columns take their values from; None where they have none.
    """

    columns: tuple[ShownColumn, ...]
    sets: Sets
    words: FilterWords = HIT_WORDS
    query_first: bool = False
    score: str = "score"
    row: RowOf = no_row

    def place(self, key: str) -> int | None:
        """Return the place of a column, or None."""
        return next((place for place, column in enumerate(self.columns) if column.key == key), None)


class CellLook(NamedTuple):
    """How the cells of a column look; by default they have the column's value, written as usual for its kind."""

    width: int
    shown: bool = False
    text: Cell | None = None


def shown(columns: Iterable[Column], looks: Mapping[str, CellLook], row_of: RowOf = no_row) -> tuple[ShownColumn, ...]:
    """Return the columns of the window with their looks; those of common columns are in `LOOKS`."""
    known = {**LOOKS, **looks}
    return tuple(
        ShownColumn(**asdict(column), text=look.text or _cell(column, row_of), width=look.width, shown=look.shown)
        for column in columns
        if column.heading
        for look in [known.get(column.key, CellLook(90))]
    )


def _cell(column: Column, row_of: RowOf) -> Cell:
    write = _CELL_FORMATS[column.kind]

    def text(hit: HitRow, hits: HitsModel) -> str:
        row = row_of(hit, hits)
        value = None if row is None else column.value(row)
        return "—" if value is None else write(value)

    return text


_CELL_FORMATS: dict[Kind, Callable[..., str]] = {
    "text": str,
    "whole number": formatting.count,
    "number": formatting.score,
    "percent": formatting.share,
    "places": lambda ends: f"{ends[0]}–{ends[1]}",
    "picture": formatting.count,
}

LOOKS: dict[str, CellLook] = {
    "name": CellLook(150, shown=True, text=lambda r, m: r.name),
    "description": CellLook(230, shown=True, text=lambda r, m: r.description),
    "note": CellLook(180, text=lambda r, m: m.note(r)),
    "evalue": CellLook(72, shown=True, text=lambda r, m: formatting.evalue(r.evalue)),
    "score": CellLook(84, shown=True, text=lambda r, m: formatting.score(r.score)),
    "length": CellLook(70, text=lambda r, m: formatting.count(r.length)),
    "accession": CellLook(100, text=lambda r, m: r.accession),
    "species": CellLook(150, text=lambda r, m: m.query.species.of(r.name, r.accession, r.description) or "—"),
    "verified": CellLook(76, text=lambda r, m: r.verified or "—"),
    "profile": CellLook(120, text=lambda r, m: str(m.cards[r.profile]["name"])),
}
"""Columns of the hits of every engine."""


def sets_of(columns: tuple[ShownColumn, ...], more: Sets | None = None) -> Sets:
    """Return the sets of columns of a table: the initial ones, `more`, and all."""
    first = tuple(column.key for column in columns if column.shown)
    return {"short": ("Short", first), **(more or {}), "all": ("All", tuple(column.key for column in columns))}


_HITS = shown(HITS, {})
HIT_TABLE = TableKind(_HITS, sets_of(_HITS))


RULE_ROLE = Qt.ItemDataRole.UserRole + 2

MAX_PAGES = 160
"""Pages kept in memory."""

NOTE_SECONDS = 0.1
"""Timeout for a job that is writing, before a note, or a choice of a person, counts as not saved."""

SORT_TIP = " Click sorts, a third click restores the original order."


class HitsModel(QAbstractTableModel):
    """The hits of one query of a run, or of all.

    Every change of order, filter or threshold reads new pages; until then the old ones are
    shown. Ids of hits never change, so a selection can be found again.
    """

    shown_changed = Signal()
    busy_changed = Signal(bool)
    note_refused = Signal(str)
    species_changed = Signal()
    note_changed = Signal(int, int, str, str)
    """Query and row of the target, old and new note."""

    ticked = Signal(object, bool)
    """A `HitRow` with a tick box, and whether it is in now."""

    def __init__(self, path: Path, reader: Reader, table: TableKind, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.table = table
        self._reader = reader
        self._pages: HitPages | None = None
        self._cache: OrderedDict[int, list[HitRow]] = OrderedDict()
        self.query: HitQuery = HitQuery(path, 0, score=table.score)
        self.cards: list[Card] = []
        self.kept_hit: int | None = None
        self.kept_row: int | None = None
        self.problem = ""
        self.error: Exception | None = None
        self.new: dict[int, frozenset[str]] = {}
        """Names of hits that are new in rounds after the first ones."""
        self.chosen: dict[int, tuple[set[int], set[int]]] = {}
        """Rows of the targets that a person takes into the next round, and of those that he drops, by profile; hits of
        these alone have tick boxes."""
        self.shows_groups = True
        self._busy = False
        self._unsaved: dict[tuple[int, int], str] = {}
        self._is_held = False
        self._held: HitPages | Exception | None = None

    @property
    def n_all(self) -> int:
        """Number of reported hits of the profile, without the filter."""
        return self._pages.n_all if self._pages else 0

    @property
    def shown_query(self) -> HitQuery | None:
        """What the rows in view were asked for with; None before."""
        return self._pages.query if self._pages else None

    @property
    def n_shown(self) -> int:
        """Number of hits in the table."""
        return self._pages.n_rows if self._pages else 0

    @property
    def is_filtered(self) -> bool:
        """Whether a filter or a threshold hides hits."""
        return bool(self.query.conditions) or self.query.least_score is not None or self.query.among is not None

    @property
    def is_busy(self) -> bool:
        """Whether new pages are being read."""
        return self._busy

    @property
    def is_refreshing(self) -> bool:
        """Whether the pages being read are the same ones with newer hits."""
        return self._busy and self._pages is not None and self._pages.query == self.query

    @property
    def is_grouped(self) -> bool:
        """Whether the hits of all queries are shown, grouped by sequence or by query."""
        are_all = self.query.number == ALL_QUERIES and self.query.sort is None
        return are_all and self.query.together != "best"

    def set_profile(self, profile: int, cards: list[Card], together: Together = "best") -> None:
        """Show the hits of another profile, or of all."""
        self.cards = cards
        self._ask(replace(self.query, number=profile, least_score=None, among=None, together=together))

    def set_filter(self, text: str) -> HitFilter:
        """Filter by the text of the filter box; an invalid text changes nothing."""
        parsed = parse_filter(text, self.query.number == ALL_QUERIES, self.table.words)
        if not parsed.problem:
            self._ask(replace(self.query, conditions=parsed.conditions))
        return parsed

    def set_min_score(self, score: float | None) -> None:
        """Show only hits with at least this score, see `HitQuery`."""
        if score != self.query.least_score:
            self._ask(replace(self.query, least_score=score))

    def list_picked(self, hits: npt.NDArray[np.int64] | None) -> PickedHits | None:
        """List only some hits (int64[n] ids), or all again if None."""
        picked = None if hits is None else PickedHits(hits)
        if picked is not self.query.among:
            self._ask(replace(self.query, among=picked))
        return picked

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        key = self.table.columns[column].sort if column >= 0 else ""
        asked = key or None, bool(key) and order == Qt.SortOrder.DescendingOrder
        if asked != (self.query.sort, self.query.descending):
            self.set_order(*asked)

    def set_order(self, sort: str | None, descending: bool) -> None:
        """Sort by a key of `clalign.runs.pages.VALUES`, or by None in the original order."""
        self._ask(replace(self.query, sort=sort, descending=descending))

    def set_species(self, rule: SpeciesRule) -> None:
        """Choose the rule for species in the column, in orders and in filters."""
        self._ask(replace(self.query, species=rule))
        self.species_changed.emit()

    def refresh(self) -> None:
        """Read hits that were added."""
        self._ask(self.query)

    def keep(self, hit: int | None) -> None:
        """Remember the hit to be found again after each change."""
        self.kept_hit = hit

    def _ask(self, query: HitQuery) -> None:
        is_other = query != self.query
        self.query = query
        self._set_busy(True)
        if is_other:
            self._reader.forget((id(self), "pages"))  # what is being listed now is of no use any more
            self.busy_changed.emit(True)
        self._reader.ask_slowly((id(self), "pages"), lambda context: HitPages(query, context), self._take)

    def abandon(self) -> None:
        """Keep the present rows instead of waiting for another order or filter."""
        self._reader.forget((id(self), "pages"))
        if self._pages is not None:
            self.query = self._pages.query
        self._set_busy(False)
        self.shown_changed.emit()

    def _set_busy(self, busy: bool) -> None:
        if busy != self._busy:
            self._busy = busy
            self.busy_changed.emit(busy)

    def hold(self, held: bool) -> None:
        """Keep the rows while a cell is edited, or show the rows read meanwhile."""
        self._is_held = held
        if not held and self._held is not None:
            answer, self._held = self._held, None
            self._take(answer)

    def _take(self, answer: HitPages | Exception) -> None:
        if self._is_held:
            self._drop_held()
            self._held = answer
            return
        if isinstance(answer, Exception):
            self._note_problem(answer)
            self._set_busy(False)
            self.shown_changed.emit()
            return
        if answer.query != self.query:  # it was given up, or something else was asked for since
            answer.close()
            return
        self.problem = ""
        self.beginResetModel()
        if self._pages is not None:
            self._pages.close()
        self._pages = answer
        self._cache.clear()
        self.kept_row = None if self.kept_hit is None else answer.place_of(self.kept_hit)
        self.endResetModel()
        self._set_busy(False)
        self.shown_changed.emit()

    def _note_problem(self, error: Exception) -> None:
        self.error = unreadable(self.query.path, error) if isinstance(error, sqlite3.Error) else error
        self.problem = str(self.error)

    @property
    def is_read(self) -> bool:
        """Whether rows were read."""
        return self._pages is not None

    def _drop_held(self) -> None:
        if isinstance(self._held, HitPages):
            self._held.close()
        self._held = None

    def close(self) -> None:
        """Close the file."""
        self._reader.forget((id(self), "pages"))
        self._drop_held()
        if self._pages is not None:
            self._pages.close()
            self._pages = None

    def row_at(self, row: int) -> HitRow | None:
        """Return a row of the table, read with its page."""
        if self._pages is None or not 0 <= row < self._pages.n_rows:
            return None
        page = row // PAGE
        if page not in self._cache:
            self._cache[page] = self._read(self._pages, page)
            while len(self._cache) > MAX_PAGES:
                self._cache.popitem(last=False)
        self._cache.move_to_end(page)
        rows = self._cache[page]
        return rows[row % PAGE] if row % PAGE < len(rows) else None

    def _read(self, pages: HitPages, page: int) -> list[HitRow]:
        try:
            return pages.rows(page * PAGE, PAGE)
        except (sqlite3.DatabaseError, DamagedRun) as error:
            self._note_problem(error)
            # In a turn of its own: views ask for rows while they paint.
            QTimer.singleShot(0, self, self.shown_changed.emit)
            return []

    def place_of(self, hit: int) -> int | None:
        """Return the row of a hit, or None if it is not shown."""
        return self._pages.place_of(hit) if self._pages else None

    def places_of(self, hits: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows (int64[k], rising) of some hits, as far as they are shown."""
        return self._pages.places_of(hits) if self._pages else np.empty(0, np.int64)

    def ids(self, rows: Sequence[range] | None = None) -> list[int]:
        """Return the ids of shown rows, or of all; other rows may be being read."""
        return self._pages.ids(rows) if self._pages else []

    def status(self, row: HitRow) -> str:
        """Return the word for the threshold that a hit passes, or that it is new in its round."""
        taken, dropped = self.chosen.get(row.profile, ((), ()))
        if row.row in taken or row.row in dropped:
            return "taken" if row.row in taken else "dropped"
        if not row.is_significant:
            return "reported"
        return "new" if row.name in self.new.get(row.profile, ()) else "significant"

    def note(self, row: HitRow) -> str:
        """Return the note of a hit, even if it could not be written to the file yet."""
        return self._unsaved.get((row.profile, row.row), row.note)

    def current_note(self, row: HitRow) -> str:
        """Return the present note of a hit, even if it was edited after the row was read."""
        place = self.place_of(row.id)
        return self.note((None if place is None else self.row_at(place)) or row)

    def is_unsaved(self, row: HitRow) -> bool:
        """Return whether the note of a hit could not be written to the file."""
        return (row.profile, row.row) in self._unsaved

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        # A note that cannot be written stays in the table, and can be edited again.
        row = self.row_at(index.row())
        if row is not None and role == Qt.ItemDataRole.CheckStateRole and self.is_in(row) is not None:
            self.ticked.emit(row, Qt.CheckState(value) == Qt.CheckState.Checked)
            return True
        if row is None or role != Qt.ItemDataRole.EditRole or not self.flags(index) & Qt.ItemFlag.ItemIsEditable:
            return False
        text, key = str(value), (row.profile, row.row)
        if text == self.note(row) and not self.is_unsaved(row):
            return True
        try:
            kept = write_note(self.query.path, *key, text, NOTE_SECONDS)
        except ClalignError as error:
            self._unsaved[key] = text
            self.note_refused.emit(f"The note is not saved. {error} It stays in the table: edit it there (F2).")
        else:
            self._unsaved.pop(key, None)
            self._cache[index.row() // PAGE][index.row() % PAGE] = replace(row, note=kept)
            self.note_changed.emit(*key, row.note, kept)
        self.dataChanged.emit(index, index)
        return not self.is_unsaved(row)

    def put_note(self, profile: int, target: int, text: str) -> bool:
        """Write a note of a hit in any row; return whether it was saved."""
        try:
            kept = write_note(self.query.path, profile, target, text, NOTE_SECONDS)
        except ClalignError as error:
            self.note_refused.emit(f"The note is not changed. {error}")
            return False
        self._unsaved.pop((profile, target), None)
        for page, rows in self._cache.items():
            for place, row in enumerate(rows):
                if (row.profile, row.row) == (profile, target):
                    rows[place] = replace(row, note=kept)
                    number = page * PAGE + place
                    self.dataChanged.emit(self.index(number, 0), self.index(number, len(self.table.columns) - 1))
        return True

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        if not index.isValid():
            return flags
        flags |= Qt.ItemFlag.ItemIsDragEnabled  # without it no view begins to drag
        key, row = self.table.columns[index.column()].key, self.row_at(index.row())
        if key == "status" and row is not None and self.is_in(row) is not None:
            return flags | Qt.ItemFlag.ItemIsUserCheckable
        return flags | Qt.ItemFlag.ItemIsEditable if key == "note" else flags

    def is_in(self, row: HitRow) -> bool | None:
        """Return whether the next round will be made with a hit; None if a person cannot choose that."""
        if row.profile not in self.chosen:
            return None
        taken, dropped = self.chosen[row.profile]
        return row.row in taken or (row.is_significant and row.row not in dropped)

    def has_rule_above(self, row: int) -> bool:
        """Return whether the threshold line is above a row: between significant and reported hits."""
        in_order = self.query.sort in ("score", "evalue") or (self.query.sort is None and not self.is_grouped)
        if row == 0 or not in_order or self.query.number == ALL_QUERIES:
            return False
        here, before = self.row_at(row), self.row_at(row - 1)
        return here is not None and before is not None and here.is_significant != before.is_significant

    def starts_group(self, row: int) -> bool:
        """Return whether a row begins another sequence, or the hits of another query."""
        if row == 0 or not self.is_grouped or not self.shows_groups:
            return False
        here, before = self.row_at(row), self.row_at(row - 1)
        if here is None or before is None:
            return False
        return here.profile != before.profile if self.query.together == "query" else here.name != before.name

    def rule(self, row: int) -> str:
        """Return the line above a row: ``threshold``, ``group``, or none."""
        return "threshold" if self.has_rule_above(row) else "group" if self.starts_group(row) else ""

    def tsv(self, rows: list[int], columns: list[int]) -> str:
        """Return cells as tab-separated text with a header line; no cell is a formula to a spreadsheet."""
        lines = ["\t".join(self.table.columns[c].heading for c in columns)]
        for number in rows:
            row = self.row_at(number)
            if row is not None:
                lines.append("\t".join(self._plain(row, self.table.columns[c]) for c in columns))
        return safe_lines("\n".join(lines) + "\n")

    def _plain(self, row: HitRow, column: ShownColumn) -> str:
        if column.kind not in ("number", "whole number"):
            return column.text(row, self)
        value, entry = getattr(row, column.key, None), self.table.row(row, self)
        if value is None and entry is not None:
            value = column.value(entry)
        if isinstance(value, float):
            return "" if math.isnan(value) else f"{value:.6g}"
        return "" if value is None else str(value)

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else self.n_shown

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.table.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row = self.row_at(index.row())
        if row is None:
            return None
        column = self.table.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return escaped(column.text(row, self))
        if role == Qt.ItemDataRole.EditRole:
            return column.text(row, self)
        if role == Qt.ItemDataRole.CheckStateRole and column.key == "status" and (is_in := self.is_in(row)) is not None:
            return Qt.CheckState.Checked if is_in else Qt.CheckState.Unchecked
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._tip(row, column.key)
        if role == Qt.ItemDataRole.ForegroundRole and column.key == "note" and self.is_unsaved(row):
            return QColor(theme.current().stop)
        if role == Qt.ItemDataRole.ForegroundRole and not row.is_significant:
            return QColor(theme.current().muted)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return side_of(column.is_right)
        if role == ROW_ROLE:
            return row
        return self.rule(index.row()) if role == RULE_ROLE else None

    def _tip(self, row: HitRow, key: str) -> str | None:
        if key in ("name", "description"):
            return formatting.tip(f"{row.name} {row.description}")
        if key in ("status", "domains") and row.has_no_domain:
            return NO_DOMAIN_TIP
        if key == "note" and self.note(row):
            unsaved = "Not saved: " * self.is_unsaved(row)
            return formatting.tip(f"{unsaved}{self.note(row)}")
        return None

    def headerData(self, section: int, side: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if side == Qt.Orientation.Vertical:
            return formatting.count(section + 1) if role == Qt.ItemDataRole.DisplayRole else None
        column = self.table.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.head
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return int(column.large_first)
        if role == Qt.ItemDataRole.ToolTipRole:
            title = f"{column.heading}: " if column.short else ""
            more = explanation(column.heading)
            tip = f"{title}{column.tip}." + SORT_TIP * bool(column.sort)
            return f"{tip}\n\n{formatting.tip(more)}" if more else tip
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return side_of(column.is_right)
        return None
