"""The hits table with its filter box."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QItemSelectionRange,
    QPoint,
    QSignalBlocker,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QContextMenuEvent, QDrag, QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QWidget

from clalign.runs.pages import HitQuery, PickedHits

from ... import formatting
from ...models.results.hit_pages import HitRow
from ...models.results.hits_model import HitsModel, TableKind
from ..charts.domain_strip import LONG_NAME, DomainDelegate, NameDelegate, NoteDelegate, RowDelegate
from ..widgets.filter_field import FilterField
from ..widgets.parts import EmptyPanel, IconButton, button, label, one_of, row, set_role, stacked
from ..widgets.table import Table
from ..widgets.wait_sign import WaitSign
from .dragged_hits import DraggedHits

ROW_HEIGHT = 26


class RowNumbers(QHeaderView):
    """Row numbers as wide as the last one; Qt would measure two thousand rows."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.setDefaultSectionSize(ROW_HEIGHT)
        self.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setSectionsClickable(True)
        self.setHighlightSections(True)

    def sizeHint(self) -> QSize:
        if not self.count():
            return super().sizeHint()
        return QSize(self.sectionSizeFromContents(self.count() - 1).width(), 0)


def ranges_of(rows: Sequence[int]) -> list[range]:
    """Return rows, given from the top, as separate ranges."""
    cuts = [place for place in range(1, len(rows)) if rows[place] != rows[place - 1] + 1]
    ends = zip([0, *cuts], [*cuts, len(rows)], strict=True)
    return [range(rows[begin], rows[end - 1] + 1) for begin, end in ends if end]


NAMES = ("name", "profile")

FLEXIBLE = (*NAMES, "description")
"""Columns whose widths depend on the others."""

MAX_WIDER = 110
"""Pixels that a column of names may gain if there is room."""

NAME_PADDING = 20
"""Pixels of a column of names beside the longest one of the first rows."""

MAX_DRAGGED = 1000
"""Hits that are dragged out together; more must be exported."""

MAX_COPIED = 100_000
"""Rows that can be copied at once."""

MAX_RANGES = 400
"""Ranges of selected rows: Qt compares each with each."""

FIRST_ROWS = 20
"""Rows whose numbers define the widths of columns."""


class HitsTable(Table):
    """Rows of hits, several of which can be selected."""

    MIN_FILLED_WIDTH = 100

    menu_requested = Signal(QPoint)
    copy_refused = Signal(str)

    def __init__(self, model: HitsModel) -> None:
        super().__init__(model, "Hits")
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.hits = model
        self.kind: TableKind = model.table
        self.setItemDelegate(RowDelegate(self))
        strip = self.kind.place("domains")
        if strip is not None:
            self.setItemDelegateForColumn(strip, DomainDelegate(self))
        for key in NAMES:
            self.setItemDelegateForColumn(self._place(key), NameDelegate(self))
        self.setItemDelegateForColumn(self._place("note"), NoteDelegate(self, model))
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.fasta_of: Callable[[HitRow], str] = lambda hit: ""
        self.query_of: Callable[[HitRow], str] = lambda hit: ""
        self.setEditTriggers(QAbstractItemView.EditTrigger.DoubleClicked)
        self.filled = self._place("description")
        self._together, self._squeezed = False, set[int]()
        self._name_widths: dict[int, int] = {}
        self._set_up_headers()

    def dragged(self) -> DraggedHits:
        """Return the selected hits for dragging: aligned parts as FASTA, cells as a table, one as a file."""
        rows = list(islice(chain.from_iterable(self.chosen_ranges()), MAX_DRAGGED))
        hits = [hit for place in rows if (hit := self.hits.row_at(place)) is not None]
        name = f"{hits[0].name} {self.query_of(hits[0])}" if len(hits) == 1 else f"{len(hits)} hits"
        if len(hits) > 1 and len({hit.profile for hit in hits}) == 1:
            name += f" of {self.query_of(hits[0])}"
        cells = self.hits.tsv(rows, self.visible_columns())
        return DraggedHits(name, "".join(map(self.fasta_of, hits)), cells)

    def startDrag(self, actions: Qt.DropAction) -> None:
        drag = QDrag(self)
        drag.setMimeData(self.dragged())
        drag.exec(Qt.DropAction.CopyAction)

    def _set_up_headers(self) -> None:
        self.setVerticalHeader(RowNumbers())
        header = self.horizontalHeader()
        # It asks each row whether all of a column is selected, which it does not even show.
        header.setSelectionModel(QItemSelectionModel(self.hits, header))
        header.setSectionsMovable(True)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._offer_columns)
        header.sectionDoubleClicked.connect(self.resizeColumnToContents)
        header.setMinimumSectionSize(40)
        for place, column in enumerate(self.kind.columns):
            self.setColumnWidth(place, column.width)
            self.setColumnHidden(place, not column.shown)
        columns = enumerate(self.kind.columns)
        self.set_widths({place: column.width for place, column in columns if column.key not in FLEXIBLE})
        header.sectionResized.connect(self._note_width)

    def _note_width(self, place: int) -> None:
        if place != self.filled:
            super().fill()

    def fill(self) -> None:
        """Give the remaining room to names and one other column."""
        self._squeeze()
        self._widen_names()
        super().fill()
        place = self._place("name")
        spare = self.viewport().width() - self.horizontalHeader().length()
        is_free = spare > 0 and self._place("description") in self._squeezed
        if is_free and self.columnWidth(place) == self._name_widths.get(place):
            self._name_widths[place] += spare  # what the description leaves
            self.setColumnWidth(place, self._name_widths[place])

    def _squeeze(self) -> None:
        """Hide the pictures of domains, then the description, where they would push the numbers out of view."""
        header, room, last = self.horizontalHeader(), self.viewport().width(), self._place("description")
        places = (self.kind.place("domains"), last if self.filled == last else None)
        # The user, or another view of the table, decides about the others.
        own = [p for p in places if p is not None and self.isColumnHidden(p) == (p in self._squeezed)]
        spare = room - header.length() + sum(map(header.sectionSize, own)) - self.MIN_FILLED_WIDTH * (last in own)
        widened = {place: width for place, width in self._name_widths.items() if self.columnWidth(place) == width}
        spare += sum(width - self.kind.columns[place].width for place, width in widened.items())
        for place in own if room > 0 else ():
            is_hidden = spare < (0 if place == last else self.kind.columns[place].width)
            (self._squeezed.add if is_hidden else self._squeezed.discard)(place)
            self.setColumnHidden(place, is_hidden)

    def _widen_names(self) -> None:
        """Give names a part of the remaining room; widths set by the user stay."""
        columns = [(place, column) for place, column in enumerate(self.kind.columns) if place != self.filled]
        widths = {place: max(column.width, self.widths.get(place, (0, 0))[1]) for place, column in columns}
        needed = sum(width for place, width in widths.items() if not self.isColumnHidden(place))
        spare = max(0, self.viewport().width() - needed - self.MIN_FILLED_WIDTH)
        for place, column in columns:
            if column.key in NAMES and self.columnWidth(place) in (0, self._name_widths.get(place, column.width)):
                self._name_widths[place] = self._name_width(place, column.width + min(MAX_WIDER, spare // 4))
                self.setColumnWidth(place, self._name_widths[place])

    def _name_width(self, place: int, most: int) -> int:
        """Return the pixels of a column of names: what the first rows need, if names are short."""
        wide, rows = self.fontMetrics().horizontalAdvance, range(min(self.hits.n_shown, FIRST_ROWS))
        if wide(LONG_NAME) <= most or not rows:
            return most
        names = (formatting.short_name(str(self.hits.index(row, place).data() or "")) for row in rows)
        return min(most, max(self.title_width(place), NAME_PADDING + max(map(wide, names))))

    def widen_numbers(self) -> None:
        """Fit the numbers of the first rows: scores of genomes have more digits than those of proteins."""
        rows = range(min(self.hits.n_shown, FIRST_ROWS))
        for place, column in enumerate(self.kind.columns):
            usual, given = self.widths.get(place, (0, -1))
            if column.kind == "whole number" and self.columnWidth(place) == given:
                needed = (self.sizeHintForIndex(self.hits.index(row, place)).width() for row in rows)
                self.widths[place] = max(usual, *needed, 0), given
        self.show_titles()
        self.fill()

    def _place(self, key: str) -> int:
        """Return the place of a column that every table has."""
        return next(place for place, column in enumerate(self.kind.columns) if column.key == key)

    def column_menu(self) -> QMenu:
        """Return the menu that shows and hides columns."""
        menu = QMenu("Columns", self)
        for key, (text, _) in self.kind.sets.items():
            menu.addAction(f"Column set: {text}").triggered.connect(lambda _=False, key=key: self.show_set(key))
        menu.addSeparator()
        common = set(self.kind.sets["short"][1])
        more = menu.addMenu("More columns")
        more.setToolTipsVisible(True)
        for place, column in enumerate(self.kind.columns):
            is_common = column.key in common or not self.isColumnHidden(place)
            action = (menu if is_common else more).addAction(column.heading)
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(place))
            action.setToolTip(column.tip)
            action.toggled.connect(lambda shown, place=place: self.setColumnHidden(place, not shown))
        menu.setToolTipsVisible(True)
        return menu

    def show_set(self, key: str) -> None:
        """Show the columns of a set, and no others; the description fills the room of a short set."""
        place = self._place("description")
        self._squeezed.clear()
        self.filled = place if key == "short" else None
        self.setColumnWidth(place, self.kind.columns[place].width)
        for place, column in enumerate(self.kind.columns):
            needed = column.key == "profile" and self._together
            self.setColumnHidden(place, column.key not in self.kind.sets[key][1] and not needed)
        self.fill()

    def _offer_columns(self, place: QPoint) -> None:
        menu = self.column_menu()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.popup(self.horizontalHeader().mapToGlobal(place))

    def show_profiles(self, shown: bool) -> None:
        """Show the query of each row, before the name of the sequence or its description."""
        if shown == self._together:
            return
        self._together = shown
        for squeezed in self._squeezed:  # it is decided about again
            self.setColumnHidden(squeezed, False)
        self._squeezed.clear()
        place = self._place("profile")
        self.setColumnHidden(place, not shown)
        header, front = self.horizontalHeader(), 0 if self.kind.query_first else 2
        header.moveSection(header.visualIndex(place), front if shown else len(self.kind.columns) - 1)
        if self.kind.query_first:
            return
        # Where there is not enough for both, it takes the room of the description.
        description = self._place("description")
        others = header.length() - (0 if self.isColumnHidden(description) else header.sectionSize(description))
        has_room = self.viewport().width() - others >= self.kind.columns[description].width
        self.filled = place if shown and not has_room else description
        self.setColumnHidden(description, shown and not has_room)
        self.fill()

    def visible_columns(self) -> list[int]:
        """Return the shown columns in their order on the screen."""
        header = self.horizontalHeader()
        order = sorted(range(len(self.kind.columns)), key=header.visualIndex)
        return [place for place in order if not self.isColumnHidden(place)]

    def chosen_ranges(self) -> list[range]:
        """Return the selected rows, from the top, as separate ranges."""
        found: list[range] = []
        for top, bottom in sorted((some.top(), some.bottom()) for some in self._selected()):
            if found and top <= found[-1].stop:
                found[-1] = range(found[-1].start, max(bottom + 1, found[-1].stop))
            else:
                found.append(range(top, bottom + 1))
        return found

    def chosen_rows(self) -> list[int]:
        """Return the selected rows, from the top; there may be a million, see `chosen_ranges`."""
        return list(chain.from_iterable(self.chosen_ranges()))

    def n_chosen(self) -> int:
        """Return how many rows are selected."""
        return sum(map(len, self.chosen_ranges()))

    def first_chosen(self) -> int | None:
        """Return the topmost selected row; None if there is none."""
        return min((some.top() for some in self._selected()), default=None)

    def _selected(self) -> Iterator[QItemSelectionRange]:
        chosen = self.selectionModel().selection()
        return map(chosen.at, range(chosen.size()))

    def copy(self) -> None:
        """Copy the selected rows, or all, as tab-separated text with a header; refuse too many."""
        rows = self.chosen_ranges() or [range(self.hits.n_shown)]
        if (n_rows := sum(map(len, rows))) > MAX_COPIED:
            n, most = formatting.count(n_rows), formatting.count(MAX_COPIED)
            self.copy_refused.emit(f"{n} rows are too many to copy. Export them, or select up to {most}.")
            return
        QGuiApplication.clipboard().setText(self.hits.tsv([*chain.from_iterable(rows)], self.visible_columns()))

    def edit_note(self) -> None:
        """Edit the note of the first selected hit in its cell."""
        row, place = self.first_chosen(), self._place("note")
        if row is None:
            return
        self.setColumnHidden(place, False)
        self.updateGeometries()  # the range of the scroll bar, which otherwise changes a turn later
        index = self.hits.index(row, place)
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)
        self.scrollTo(index)
        self.edit(index)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        row = self.first_chosen()
        if row is None:
            return
        place = event.globalPos()
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            place = self.viewport().mapToGlobal(self.visualRect(self.hits.index(row, 1)).bottomLeft())
        self.menu_requested.emit(place)

    def choose_rows(self, rows: Sequence[range]) -> None:
        """Select rows, given from the top, in a few hundred ranges at most, and scroll to the first."""
        chosen, last = QItemSelection(), len(self.kind.columns) - 1
        for some in rows:
            chosen.append(QItemSelectionRange(self.hits.index(some.start, 0), self.hits.index(some.stop - 1, last)))
        first = self.hits.index(rows[0].start, 1)
        self.selectionModel().setCurrentIndex(first, QItemSelectionModel.SelectionFlag.NoUpdate)
        self.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        self.scrollTo(first, QAbstractItemView.ScrollHint.PositionAtCenter)

    def choose_row(self, place: int) -> None:
        """Select one row and scroll to it."""
        index = self.model().index(place, 1)
        flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
        self.selectionModel().setCurrentIndex(index, flags)
        self.scrollTo(index)


class HitsPanel(QWidget):
    """Filter box, counts and table."""

    hit_chosen = Signal(object)
    clear_requested = Signal()

    def __init__(self, model: HitsModel) -> None:
        super().__init__()
        self.model = model
        self.fold = IconButton("chart-histogram", "Show or hide the histogram of all scores", lambda: None)
        self.fold.setCheckable(True)
        self.fold.setChecked(True)
        self.table = HitsTable(model)
        self.filter_box = FilterField("Filter hits", model.table.words.hint, self.table)
        self.counts = label("", "muted")
        clear = button("Clear filter and line", self.clear_requested.emit, tip="Ctrl+Shift+F")
        self.none = EmptyPanel("filter-off-outline", "No hit is shown", "", clear)
        self._stack = one_of(self.table, self.none)
        self.filter_box.settled.connect(self._filter)
        model.shown_changed.connect(self._follow)
        model.modelAboutToBeReset.connect(self._remember)
        self.table.selectionModel().selectionChanged.connect(self._choose)
        self._place, self._quiet, self._problem = 0, False, ""
        self._before = "", -1, Qt.SortOrder.AscendingOrder
        self.waiting = WaitSign("Sorting and filtering", "Keep the table as it is", keeps_room=False)
        self.waiting.stopped.connect(self._abandon)
        self.waiting.turned.connect(self._show_busy_words)
        model.busy_changed.connect(self._show_busy)
        tip = "Only hits that were picked in a picture are listed. Click to list all again"
        self.list_all = IconButton("close", tip, lambda: model.list_picked(None), "Picked hits only")
        self.list_all.hide()
        self._picked: PickedHits | None = None
        self._query: HitQuery | None = None
        top = row(self.filter_box, self.list_all, self.counts, self.waiting, self.fold)
        top.setContentsMargins(8, 8, 12, 6)
        self.setLayout(stacked(top, (self._stack, 1), spacing=0))
        self.setFocusProxy(self.table)

    def _show_busy(self, busy: bool) -> None:
        """Show that a large table is being sorted or filtered, with a button to cancel."""
        if busy and self.model.is_read and not self.model.is_refreshing:
            self.waiting.begin()
        elif not busy:
            self.waiting.end()

    def _show_busy_words(self) -> None:
        if not self.waiting.isHidden():
            before, hits = self.model.shown_query, formatting.plural(self.model.n_all, "hit")
            is_same = before is not None and before.number == self.model.query.number
            self.counts.setText(f"Sorting and filtering {hits}…" if is_same else "Reading the hits…")

    def _abandon(self) -> None:
        """Restore filter and order of the rows in view."""
        text, column, order = self._before
        self.filter_box.put(text)
        header = self.table.horizontalHeader()
        with QSignalBlocker(header):
            header.setSortIndicator(column, order)
        self.model.abandon()

    def _filter(self, text: str) -> None:
        parsed = self.model.set_filter(text)
        set_role(self.filter_box, "state", "wrong" if parsed.problem else "")
        self._show_filter_words(parsed.problem)

    def _show_filter_words(self, problem: str) -> None:
        """Show in place of the table what is wrong with the filter, or that nothing matches; and how many hits do."""
        self._problem = problem
        self.none.show_text("No hit is shown", problem or "No hit passes the filter and the line of what is shown.")
        is_empty = bool(problem) or (bool(self.model.n_all) and not self.model.n_shown)
        self._stack.setCurrentIndex(1 if is_empty else 0)
        n_all = formatting.plural(self.model.n_all, "hit")
        count = f"{formatting.count(self.model.n_shown)} of {n_all}" if self.model.is_filtered else n_all
        # While something is wrong there is no count; its room stays, so that the field keeps its own.
        self.counts.setMinimumWidth(max(self.counts.minimumWidth(), self.counts.sizeHint().width()) if problem else 0)
        self.counts.setText("" if problem else count)

    def _remember(self) -> None:
        self._place = self.table.verticalScrollBar().value()
        self._quiet = True

    def _follow(self) -> None:
        """Find the selected hit in the new order, which is seen from its top; one that is filtered out is left."""
        model, before = self.model, self._query
        self._query = query = model.shown_query
        if query is not None and before is not None and query != before:
            self._place = 0
            if query.number == before.number and model.kept_hit is not None and model.kept_row is None:
                model.keep(None)
                self.hit_chosen.emit(None)
        if model.kept_row is not None and self.table.first_chosen() is None:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
            self.table.selectionModel().setCurrentIndex(model.index(model.kept_row, 1), flags)
        self.table.verticalScrollBar().setValue(self._place)
        self.table.widen_numbers()
        self._quiet = False
        if not model.is_busy:
            header = self.table.horizontalHeader()
            self._before = self.filter_box.text(), header.sortIndicatorSection(), header.sortIndicatorOrder()
            self.list_all.setVisible(model.query.among is not None)
            if self._picked is not None and query is not None and query.among is self._picked and model.n_shown:
                self.table.selectAll()
            self._picked = None  # also if they could not be listed, or something else was asked for since
        self._show_filter_words(self._problem)

    def choose_hits(self, hits: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> bool:
        """Select hits (int64[n] ids) in some rows (int64[k], rising).

        If they are far apart they are listed alone; returns whether they are.
        """
        if np.count_nonzero(np.diff(rows) != 1) >= MAX_RANGES:
            self._picked = self.model.list_picked(hits)
            return True
        if len(rows):
            self.table.choose_rows(ranges_of(rows.tolist()))
        return False

    def _choose(self) -> None:
        if self._quiet:
            return
        row = self.table.first_chosen()
        chosen = self.model.row_at(row) if row is not None else None
        if chosen is not None or not self.model.n_shown:
            self.model.keep(chosen.id if chosen else None)
        self.hit_chosen.emit(chosen)
