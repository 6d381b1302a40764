"""The page of an alignment: tools, overview, rows, and a line of facts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QMenu, QToolBar, QToolButton, QWidget

from clalign.common.escapes import escaped
from clalign.formats.row_writers import Part, fasta_lines
from clalign.values.row_alignments import RowAlignment

from ... import formatting, theme
from ...models.alignment.row_colors import RAMPS, SCHEME_WORDS, SCHEMES
from ...models.alignment.row_measures import SPECIES, Rows
from ...models.alignment.row_search import MODES
from ...models.alignment.rows_view import CONSENSUS, RowsView, Selection
from ..widgets.choices import NarrowBox
from ..widgets.parts import (
    ElidedLabel,
    EmptyPanel,
    FactsLabel,
    IconButton,
    Surface,
    button,
    fill_box,
    held,
    one_of,
    row,
    shrinking,
    stacked,
    title_label,
)
from .rows_area import Place
from .rows_canvas import RowsCanvas
from .rows_overview import RowsLegend, RowsOverview
from .rows_panes import RowsPanes
from .rows_tracks import TRACKS

MODE_LETTERS = 15
"""Letters of the longest title of a kind of search."""

MAX_COPIED = 50_000_000
"""Letters on the clipboard; more must be saved."""

FEW_TRACKS, TALL = ("consensus", "conservation"), 800
"""Tracks of a panel that is less high, in pixels."""

BESIDE = {"identity": "Identity to the reference", "length": "Length without gaps"}


class FindField(QLineEdit):
    """A search field whose keys move through the matches."""

    stepped = Signal(int)
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_F3):
            self.stepped.emit(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Down:
            self.left.emit()
        else:
            super().keyPressEvent(event)


def _toggle(icon: str, tip: str, name: str, call: Callable[[bool], None]) -> IconButton:
    made = IconButton(icon, tip, lambda: None)
    made.setAccessibleName(name)
    made.setCheckable(True)
    made.toggled.connect(call)
    return made


class RowsPanel(QWidget):
    """Shows a `RowsView` with its tools."""

    save_requested = Signal()
    export_requested = Signal()
    noticed = Signal(str, str)
    ways_requested = Signal(object)
    """A menu to be filled with actions on the alignment."""

    def __init__(self, view: RowsView) -> None:
        super().__init__()
        self.view = view
        self.canvas = RowsCanvas(view)
        self.overview = RowsOverview(view, self.canvas)
        self.legend = RowsLegend(view)
        self.facts = FactsLabel(view.summary(), "muted")
        self.status = FactsLabel("", "muted")
        self.status.setAccessibleName("Cell under the cursor")
        foot = row((self.status, 1), margins=(8, 2, 8, 4))
        rows = held(stacked(self.overview, (self.canvas, 1), self.legend, spacing=0))
        self.panes = RowsPanes(rows, self.canvas)
        self.finder = held(self._finding())
        self.finder.hide()
        self._tracks_chosen = self._was_wrapped = False
        self.head = self._tools()
        self.setLayout(stacked(self.head, self.finder, (self.panes, 1), foot, spacing=0))
        self.panes.failed.connect(partial(self.noticed.emit, "stop"))
        self.panes.compared.connect(self._show_agreement)
        self.panes.described.connect(self.status.setText)
        self.canvas.described.connect(self.status.setText)
        self.canvas.find_requested.connect(self.start_finding)
        self.canvas.copy_requested.connect(self.copy)
        self.canvas.menu_requested.connect(self._offer_menu)
        view.measured.connect(self._show_measured)
        view.found_changed.connect(self._show_found)
        view.order_changed.connect(self._show_order)
        view.problem_found.connect(partial(self.noticed.emit, "stop"))
        view.input_rejected.connect(partial(self.noticed.emit, "caution"))
        view.changed.connect(self._describe)
        view.replaced.connect(self._describe)
        self.setFocusProxy(self.canvas)
        self._describe()

    def _tools(self) -> QHBoxLayout:
        view, canvas = self.view, self.canvas
        self.schemes, self.orders = NarrowBox(), NarrowBox()
        self.offer_schemes()
        self._fill_orders()
        for box, name, letters in ((self.schemes, "Colors of the cells", 15), (self.orders, "Order of the rows", 8)):
            box.setAccessibleName(name)
            box.setToolTip(name)
            box.setMinimumContentsLength(letters)
            box.setMaximumWidth(180)
        self.schemes.activated.connect(lambda: self.choose_scheme(self.schemes.currentData()))
        self.orders.activated.connect(lambda: view.sort(self.orders.currentData()))
        tip = "Differences only: dots where a row agrees with the consensus, or with its reference row"
        self.dots = _toggle("not-equal-variant", tip, "Differences only", view.set_dots)
        self.wrap = _toggle("wrap", "Wrap: blocks of columns below each other", "Wrap", self.set_wrapped)
        self.whole = _toggle("fit-to-page-outline", "All of it, or its letters again", "Whole", self._show_whole)
        canvas.view_moved.connect(lambda: self.whole.setChecked(canvas.is_whole))
        tools = QToolBar()  # what has no room it offers behind an arrow
        tools.setIconSize(theme.ICON_SIZE)
        tools.setProperty("role", "tools")
        for widget in (
            self.schemes, self.orders, self._ways_button(), self.dots, self.wrap,
            *(IconButton(icon, tip, call) for icon, tip, call in (
                ("arrow-collapse-horizontal", "Narrower columns (Ctrl+wheel, Ctrl+-)", lambda: canvas.zoom(-1)),
                ("arrow-expand-horizontal", "Wider columns (Ctrl+wheel, Ctrl++)", lambda: canvas.zoom(1)),
                ("arrow-collapse-vertical", "Lower rows (Ctrl+Shift+wheel, Ctrl+Down)", lambda: canvas.zoom_rows(-1)),
                ("arrow-expand-vertical", "Higher rows (Ctrl+Shift+wheel, Ctrl+Up)", lambda: canvas.zoom_rows(1)),
            )),
            self.whole, IconButton("magnify", "Find residues, a pattern or a name (Ctrl+F)", self.start_finding),
            self._menu_button(),
        ):  # fmt: skip
            tools.addWidget(widget)
        return row((tools, 1), margins=(8, 4, 8, 2))

    def _finding(self) -> QHBoxLayout:
        self.modes, self.field = NarrowBox(), FindField()
        fill_box(self.modes, ((key, *words) for key, words in MODES.items()))
        self.modes.setMinimumContentsLength(MODE_LETTERS)
        self.modes.setMaximumWidth(220)
        self.modes.setAccessibleName("Search for")
        self.modes.activated.connect(lambda: self._find())
        self.field.setAccessibleName("Find")
        self.field.setClearButtonEnabled(True)
        self.field.setPlaceholderText("Find (Ctrl+F)")
        self.field.stepped.connect(self._step)
        self.field.left.connect(self.canvas.setFocus)
        self.field.textChanged.connect(lambda text: self._show_found() if text else self._find())
        self.found = ElidedLabel("", "muted")
        self.found.setAccessibleName("Matches")
        self._searched = ("", "")
        return row(
            (self.modes, 1), (self.field, 2),
            IconButton("chevron-up", "Previous (Shift+Enter)", lambda: self._step(-1)),
            IconButton("chevron-down", "Next (Enter)", lambda: self._step(1)),
            (self.found, 1), spacing=4, margins=(8, 2, 8, 2),
        )  # fmt: skip

    def _ways_button(self) -> QToolButton:
        self.ways = IconButton("auto-fix", "Actions on this alignment", lambda: None, "Tools")
        menu = self.ways.add_menu()

        def fill() -> None:
            menu.clear()
            self.ways_requested.emit(menu)

        menu.aboutToShow.connect(fill)
        return self.ways

    def _menu_button(self) -> QToolButton:
        made = IconButton("dots-horizontal", "Tracks, columns beside the names, save and export", lambda: None)
        menu = made.add_menu()
        self.track_actions: dict[str, QAction] = {}
        for key, (name, _, tip) in TRACKS.items():
            self.track_actions[key] = self._checkable(menu, name, tip, True, self._choose_tracks)
            self.track_actions[key].triggered.connect(self._keep_tracks)
        menu.addSeparator()
        self.beside_actions = {
            key: self._checkable(menu, name, f"{name}, beside the names", False, self._choose_beside)
            for key, name in (*BESIDE.items(), *((name, name) for name in self.view.scores))
        }
        menu.addSeparator()
        self.ramp_actions = QActionGroup(menu)
        for key, text in RAMPS.items():
            action = self._checkable(menu, f"Values: {text[:1].lower()}{text[1:]}", "Colors of values", False, None)
            action.setChecked(key == self.view.ramp)
            action.triggered.connect(partial(self.view.set_ramp, key))
            self.ramp_actions.addAction(action)
        menu.addSeparator()
        for text, call in (
            ("Compare with the consensus", partial(self.compare_with, CONSENSUS)),
            ("Select all", self.view.select_all),
            ("Copy as FASTA", self.copy),
            ("Save alignment…", self.save_requested.emit),
            ("Export picture…", self.export_requested.emit),
        ):
            menu.addAction(text, call)
        return made

    def _checkable(self, menu: QMenu, text: str, tip: str, on: bool, call: Callable[[], None] | None) -> QAction:
        action = menu.addAction(text)
        action.setCheckable(True)
        action.setChecked(on)
        action.setToolTip(formatting.tip(tip))
        if call is not None:
            action.toggled.connect(lambda _: call())
        return action

    def offer_schemes(self) -> None:
        """List the available values for colors."""
        schemes = [(key, text, SCHEME_WORDS[key]) for key, text in SCHEMES.items()]
        fill_box(self.schemes, [*((name, name) for name in self.view.values), *schemes], self.view.scheme)

    def _fill_orders(self) -> None:
        fill_box(self.orders, self.view.orders().items(), self.view.order_key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # The search field and the rows leave this key to the page.
        if event.key() == Qt.Key.Key_Escape and not self.finder.isHidden():
            self.stop_finding()
            return
        super().keyPressEvent(event)

    def _describe(self) -> None:
        self.status.setText(" · ".join(self.view.describe(*self.view.cursor)))

    # --- what is chosen ---

    def choose_scheme(self, scheme: str) -> None:
        """Color the cells in another way."""
        self.view.set_scheme(scheme)
        self.schemes.setCurrentIndex(self.schemes.findData(self.view.scheme))

    def set_wrapped(self, wrapped: bool) -> None:
        """Wrap the columns, or show why this is not possible."""
        reason = self.canvas.wrapping_obstacle() if wrapped else ""
        if reason:
            self.noticed.emit("note", reason)
            self.wrap.setChecked(False)
        else:
            self.canvas.set_wrapped(wrapped)

    def fit(self) -> None:
        """Show the whole alignment."""
        self.wrap.setChecked(False)
        self.canvas.fit()

    def _show_whole(self, whole: bool) -> None:
        if whole and not self.canvas.is_whole:
            self._was_wrapped = self.wrap.isChecked()
            self.fit()
        elif not whole and self.canvas.is_whole:
            self.canvas.leave_whole()
            self.wrap.setChecked(self._was_wrapped)

    def _keep_tracks(self) -> None:
        self._tracks_chosen = True

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._tracks_chosen:  # until then rows need the room more than all tracks
            for key, action in self.track_actions.items():
                action.setChecked(key in FEW_TRACKS or self.height() >= TALL)

    def _choose_tracks(self) -> None:
        self.canvas.set_tracks(tuple(key for key, action in self.track_actions.items() if action.isChecked()))

    def _choose_beside(self) -> None:
        chosen = tuple(key for key, action in self.beside_actions.items() if action.isChecked())
        if "identity" in chosen and self.view.identity is None:
            self.view.find_identities()
        self.canvas.set_beside(chosen)

    def compare_with(self, number: int) -> None:
        """Compare the rows with one of them, or with the consensus."""
        self.view.set_reference(number)
        name = "the consensus" if number == CONSENSUS else self.view.alignment.names[number]
        self.noticed.emit("note", f"Rows are now compared with {name}.")

    def _show_order(self) -> None:
        if self.orders.count() != len(self.view.orders()):
            self._fill_orders()
        self.orders.setCurrentIndex(self.orders.findData(self.view.order_key))

    def _show_measured(self) -> None:
        view = self.view
        if view.is_measured:
            self.facts.setText(view.summary())
            self.canvas.setAccessibleDescription(view.summary())
        else:
            self.facts.setText(f"{view.summary()} · counting the columns, {formatting.percent(view.share_known)}")

    # --- finding ---

    def start_finding(self) -> None:
        """Show the search field."""
        self.finder.show()
        self.field.setFocus()
        self.field.selectAll()

    def stop_finding(self) -> None:
        """Hide the search field and forget what was found."""
        self.finder.hide()
        self._searched = ("", "")
        self.view.find("", "text")
        self.canvas.setFocus()

    def _find(self) -> None:
        (row, column), rows, columns = self.view.cursor, self.canvas.shown_rows(), self.canvas.shown_columns()
        is_in_view = row in rows and column in columns  # who scrolled away means what is there
        self._searched = self.field.text(), self.modes.currentData()
        self.view.find(*self._searched, None if is_in_view else (rows.start, columns.start))

    def _step(self, step: int) -> None:
        if self._searched != (self.field.text(), self.modes.currentData()):
            self._find()
        else:
            self.view.step_found(step)

    def _show_found(self) -> None:
        view, n = self.view, len(self.view.found)
        if not self.field.text().strip():
            self.found.setText("")
        elif (self.field.text(), self.modes.currentData()) != self._searched:
            self.found.setText("Enter finds it")
        elif view.is_finding:
            self.found.setText("Looking…")
        elif not n:
            self.found.setText("Nothing found")
        else:
            if view.found_at < 0:
                view.step_found(1)
                return
            more = "" if view.found.is_all else " or more"
            self.found.setText(f"{formatting.count(view.found_at + 1)} of {formatting.count(n)}{more}")

    # --- the selection ---

    def chosen_part(self) -> Part:
        """Return the selection, or everything, in the displayed order."""
        view, chosen = self.view, self.view.selection
        if chosen is None:
            return Part(view.order, range(view.n_columns))
        return Part(view.order[chosen.rows.start : chosen.rows.stop], chosen.columns)

    def copy(self) -> None:
        """Copy the selection as aligned FASTA; without a selection the row of the cursor."""
        view = self.view
        if view.selection is None:
            view.select(Selection(range(view.cursor[0], view.cursor[0] + 1), range(view.n_columns)))
        part = self.chosen_part()
        if len(part.rows) * len(part.columns) > MAX_COPIED:
            self.noticed.emit("note", "This is too much for the clipboard. Save the alignment to a file instead.")
            return
        QGuiApplication.clipboard().setText("".join(fasta_lines(view.alignment, part)))
        rows, columns = formatting.plural(len(part.rows), "row"), formatting.plural(len(part.columns), "column")
        self.status.setText(f"Copied {rows} of {columns} as FASTA")

    def _offer_menu(self, at: QPoint, place: Place) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if place.part in ("names", "cells"):
            name = self.view.name_at(place.row)
            text = f"Compare with {name if len(name) <= 40 else name[:38] + '…'}"
            menu.addAction(text.replace("&", "&&"), partial(self.compare_with, self.view.row_at(place.row)))
        menu.addAction("Compare with the consensus", partial(self.compare_with, CONSENSUS))
        menu.addSeparator()
        menu.addAction("Copy as FASTA", self.copy)
        menu.addAction("Save alignment…", self.save_requested.emit)
        menu.addAction("Export picture…", self.export_requested.emit)
        menu.addSeparator()
        self.ways_requested.emit(menu)
        menu.popup(at)

    def _show_agreement(self, title: str) -> None:
        """Color the cells by agreement, or as before."""
        self.offer_schemes()
        self.choose_scheme(title or self.view.scheme)

    def close_view(self) -> None:
        """Close the alignment."""
        self.panes.close_comparison()
        self.view.close()


class RowsPage(Surface):
    """The alignments of a file, one at a time."""

    number_requested = Signal(int)
    stop_requested = Signal()
    panel_made = Signal(object)

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.panel: RowsPanel | None = None
        self.numbers = shrinking(QComboBox())
        self.numbers.setAccessibleName("Alignment in view")
        self.numbers.setMaxVisibleItems(20)
        self.numbers.setMinimumContentsLength(14)
        self.numbers.hide()
        self.numbers.activated.connect(self.number_requested)
        self._line = FactsLabel("", "muted")
        self.stop_button = button("Stop", self.stop_requested.emit)
        self.empty = EmptyPanel("format-align-justify", "Reading the alignment", "", self.stop_button)
        self._stack = one_of(self.empty)
        top = row((title_label(title), 1), self.numbers, spacing=-1)
        head = stacked(top, self._line, spacing=2, margins=(12, 8, 8, 2))
        self.setLayout(stacked(head, (self._stack, 1), spacing=0))

    def show_titles(self, titles: list[str], number: int) -> None:
        """List the alignments of the file."""
        self.numbers.clear()
        self.numbers.addItems([escaped(title) or f"Alignment {place + 1}" for place, title in enumerate(titles)])
        self.numbers.setCurrentIndex(number)
        self.numbers.setVisible(len(titles) > 1)

    def show_alignment(self, alignment: RowAlignment, by_species: Rows | None = None) -> RowsView:
        """Show an alignment, and offer the order of its rows by species if there is one."""
        self.close_view()
        view = RowsView(alignment, self)
        if by_species is not None:
            view.own_orders[SPECIES] = by_species
        self.panel = panel = RowsPanel(view)
        self.panel_made.emit(panel)
        view.measured.connect(self._show_facts)
        self._stack.addWidget(panel)
        self._stack.setCurrentWidget(panel)
        self.setFocusProxy(panel)
        self._show_facts()
        view.begin()
        return view

    def _show_facts(self) -> None:
        if self.panel is not None:
            title = self.panel.view.alignment.notes.title()
            self._line.setText(" · ".join(part for part in (title, self.panel.facts.text()) if part))

    def show_text(self, heading: str, text: str, can_stop: bool = False) -> None:
        """Show a text in place of the alignment."""
        self.empty.show_text(heading, text)
        self.stop_button.setVisible(can_stop)
        self._stack.setCurrentWidget(self.empty)

    def close_view(self) -> None:
        """Close the alignment."""
        if self.panel is not None:
            self.panel.close_view()
            self._stack.removeWidget(self.panel)
            self.panel.deleteLater()
            self.panel.view.deleteLater()
            self.panel = None
