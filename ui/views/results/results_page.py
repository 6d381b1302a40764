"""The results of one run: its queries, the hits of one with histogram and alignment, and all hits together."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import QPoint, Qt, Signal, SignalInstance
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QApplication, QSplitter, QStackedWidget, QTabBar, QTabWidget, QVBoxLayout, QWidget

from ... import formatting
from ...event_loop import defer
from ...models.charts.histogram import bar_words
from ...models.results import result_tabs
from ...models.results.hit_changes import HitChanges
from ...models.results.hit_pages import HitRow
from ...models.results.run_view import RunView
from ...settings import Preferences
from ..charts.histogram_view import HistogramView
from ..widgets.parts import (
    BETWEEN_FACTS,
    BETWEEN_WORDS,
    ElidedLabel,
    EmptyPanel,
    FactsLabel,
    FactsParagraph,
    IconButton,
    IconLabel,
    LazyWidget,
    button,
    held,
    line,
    one_of,
    row,
    split,
    stacked,
    title_label,
)
from ..widgets.text_table_view import TurningSplitter
from .explain_sheet import ExplainSheet
from .hit_card import HitCard
from .hits_table import HitsPanel, ranges_of
from .query_list import QueryList

if TYPE_CHECKING:
    from ..alignment.aligned_hits import AlignedHits
    from ..alignment.rows_page import RowsPanel

MAX_CHOSEN = 500
"""Best hits of a bar that are selected."""

WIDE = 1100
"""Pixels of the page from which on the alignment of a hit stands beside the table, not below it."""

TALL = 800
"""Pixels of the page from which on there is room for the histogram even then."""

STRIP_HEIGHT, LIST_WIDTH = 150, 256
"""Pixels of the histogram above the table, and of the list of queries."""


MEANWHILE = (
    "This is done once: the next run on this device begins at once. Results appear here; meanwhile everything else can"
    " be used, such as the tour (Help, Five-minute tour)."
)
"""Shown while kernels are compiled."""


class ResultsPage(QWidget):
    """Shows a `RunView`, which it owns.

    `TABS` lists its tabs, and `PARTS` the parts of those with several; the query in view is that of all of them but the
    families.
    """

    TABS: ClassVar[dict[str, str]] = {name: text for name, text in result_tabs.TABS.items() if name != "query"}
    PARTS: ClassVar[dict[str, dict[str, str]]] = result_tabs.PARTS
    explain_sheet = ExplainSheet

    action_requested = Signal(str)
    """The id of a command."""
    verify_requested = Signal(object)
    explain_requested = Signal()
    row_explain_requested = Signal(object)
    """A row of a table with its place and its name; None for a target to be named by the user."""
    hit_menu_requested = Signal(QPoint)
    node_chosen = Signal(int)
    preferences_chosen = Signal(dict)
    """Those that were changed here."""
    link_requested = Signal(str)
    """An address to be opened in the browser."""
    overview_made = Signal(object)
    domains_made = Signal(object)
    aligned_made = Signal(object)
    pictures_made = Signal(object)

    def __init__(self, run: RunView) -> None:
        super().__init__()
        self.run = run
        run.setParent(self)  # its signals hold the page, so it must go with it
        self._strip_lazy: HistogramView | None = None
        self._histogram_lazy: HistogramView | None = None
        self.strip_holder, self._large_holder = QWidget(), QWidget()
        self._no_histogram = EmptyPanel("chart-histogram", "", "")
        self._large_holder.setLayout(stacked(self._no_histogram, spacing=-1))
        self._no_histogram.hide()
        self._preferences = Preferences()
        self._first_hit: int | None = None
        self._compiling = ""
        self._fold: IconButton | None = None
        self._retry = button("Try again", lambda: self.action_requested.emit("open_again"))
        self._retry.hide()
        self.waiting = EmptyPanel("timer-sand", "Preparing the search", "Results appear here.", self._retry)
        self._hits_lazy, self._hit_lazy = LazyWidget(self._make_hits_panel), LazyWidget(self._make_hit)
        self._overview = _later("charts.overview_view", "OverviewView", self.overview_made)
        self._domains = _later("charts.architecture_view", "ArchitectureView", self.domains_made)
        self._aligned: LazyWidget[AlignedHits] = _later("alignment.aligned_hits", "AlignedHits", self.aligned_made)
        self._pictures = _later("charts.pictures_view", "PicturesView", self.pictures_made)
        self._stack = one_of(self.waiting, self._results())
        self.setProperty("room", 1440)  # pixels of the window from which on docks leave the page enough
        self.setLayout(stacked(self._head(), (self._stack, 1), spacing=0))
        self._connect()
        self.show_facts()

    def _results(self) -> QWidget:
        """Return the tabs, and below them the list of queries beside what is in view."""
        self.tabs = QTabBar()
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.part_widgets = self._parts()
        self.inner: dict[str, QTabWidget] = {}
        shown = QStackedWidget()
        for name, text in self.TABS.items():
            self.tabs.addTab(text)
            shown.addWidget(self._inner_tabs(name) if name in self.PARTS else self.part_widgets[name])
        self.tabs.currentChanged.connect(shown.setCurrentIndex)
        self.queries = QueryList(self.run)
        body = split(self.queries, shown, shares=(1, 5), sizes=(LIST_WIDTH, 900), orientation=Qt.Orientation.Horizontal)
        return held(stacked(self.tabs, line(), (body, 1), spacing=0))

    def _inner_tabs(self, name: str) -> QTabWidget:
        tabs = self.inner[name] = QTabWidget()
        tabs.setDocumentMode(True)
        for part, text in self.PARTS[name].items():
            tabs.addTab(self.part_widgets[part], text)
        tabs.currentChanged.connect(lambda _: self._update_tab())
        return tabs

    def _parts(self) -> dict[str, QWidget]:
        """Return the widgets of all tabs and parts."""
        return {
            "hits": self._hits_tab(), "overview": self._overview, "domains": self._domains, "aligned": self._aligned,
            "histogram": self._large_holder, "pictures": self._pictures,
        }  # fmt: skip

    @property
    def rows_panel(self) -> RowsPanel | None:
        """Its alignment of many rows, if there is one."""
        aligned = self._aligned.content
        return aligned.panel if aligned is not None and self.tab == "aligned" else None

    def close_parts(self) -> None:
        """Release the parts before the page is deleted."""
        if self._aligned.content is not None:
            self._aligned.content.close_view()

    @property
    def rows_run(self) -> str:
        """The run of its alignment of many rows if that is shown as it is stored; else empty."""
        return ""

    @property
    def step_words(self) -> str:
        """Which step of many its alignment of many rows is, if it is not the finished one; else empty."""
        return ""

    @property
    def has_all_pairs(self) -> bool:
        """Whether its run has all pairs of the rows."""
        return False

    @property
    def tab(self) -> str:
        """The name of the tab in view, or of its part."""
        name = list(self.TABS)[self.tabs.currentIndex()]
        return list(self.PARTS[name])[self.inner[name].currentIndex()] if name in self.inner else name

    @property
    def shown_parts(self) -> list[str]:
        """The names of all tabs, or their parts, that its run has data for."""
        names = [part for name in self.TABS for part in self.PARTS.get(name, (name,))]
        return [name for name in names if self.has_tab(name)]

    def _tab_of(self, name: str) -> str:
        """Return the tab of a part."""
        return next((tab for tab, parts in self.PARTS.items() if name in parts), name)

    def has_tab(self, name: str) -> bool:
        """Whether its run has data for a tab, or for a part of one."""
        tab = self._tab_of(name)
        if tab not in self.TABS or not self.tabs.isTabVisible(list(self.TABS).index(tab)):
            return False
        return name == tab or self.inner[tab].isTabVisible(list(self.PARTS[tab]).index(name))

    def show_tab(self, name: str) -> None:
        """Show a tab, or a part of one."""
        tab = self._tab_of(name)
        self.tabs.setCurrentIndex(list(self.TABS).index(tab))
        if name != tab:
            self.inner[tab].setCurrentWidget(self.part_widgets[name])
        # Only what is in view is asked for: other parts would be made, too.
        if self.tab == "histogram":
            self.histogram.plot.setFocus()
        elif self.tab == "hits":
            self.hits.table.setFocus()
        else:
            self.part_widgets[self.tab].setFocus()

    @property
    def hits(self) -> HitsPanel:
        """The table, created after the page."""
        return self._hits_lazy.load()

    @property
    def hit(self) -> HitCard:
        """The chosen hit with its alignment, created on first use."""
        return self._hit_lazy.load()

    def _make_hits_panel(self) -> HitsPanel:
        panel = HitsPanel(self.run.hits)
        panel.hit_chosen.connect(self.run.choose)
        panel.clear_requested.connect(lambda: self.action_requested.emit("hits.clear_filter"))
        self.run.hits.shown_changed.connect(self._choose_first)  # after the table itself has followed
        panel.table.show_profiles(self._shows_together)
        editable = Qt.ItemFlag.ItemIsEditable
        panel.table.doubleClicked.connect(lambda cell: None if cell.flags() & editable else self.show_alignment())
        panel.table.menu_requested.connect(self.hit_menu_requested)
        panel.table.fasta_of = lambda hit: self.run.layout.fasta(hit, self.run.cards[hit.profile])
        panel.table.query_of = lambda hit: str(self.run.cards[hit.profile]["name"])
        self._fold = panel.fold
        self._fit_fold()
        panel.fold.clicked.connect(lambda: self._stop_auto_fold())
        panel.fold.toggled.connect(lambda _: self._update_histogram_visibility())
        panel.table.copy_refused.connect(self.run.problem_found)
        return panel

    def _stop_auto_fold(self) -> None:
        self._fold = None

    def _fit_fold(self) -> None:
        """Show the histogram if there is room for it, until the user decides about it."""
        if self._fold is not None:
            self._fold.setChecked(self.width() >= WIDE or self.height() >= TALL)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_fold()

    def _make_hit(self) -> HitCard:
        card = HitCard()
        self._dress_hit(card)
        return card

    def _dress_hit(self, card: HitCard) -> None:
        card.show_run(self.run)
        card.show_preferences(self._preferences)
        card.verify_requested.connect(lambda number: self.verify_requested.emit([number]))
        card.preferences_chosen.connect(self.preferences_chosen)
        card.node_chosen.connect(self.node_chosen)
        card.explain_requested.connect(self.explain_requested)
        card.link_requested.connect(self.link_requested)

    def _hits_tab(self) -> QSplitter:
        ask, tip = self.action_requested.emit, "Why it is not reported"
        self._explain_best = button("Explain the best one", lambda: ask("explanations.explain_best"), tip=tip)
        self.wider = button("Search with a higher limit…", lambda: ask("search_wider"), "primary")
        self.empty = EmptyPanel("magnify-close", "No hits", "", self.wider, self._explain_best)
        self._hits_stack = one_of(self._hits_lazy, self.empty)
        self.setFocusProxy(self._hits_lazy)
        self.scope = FactsLabel("", "muted")
        left = QWidget()
        sizes = STRIP_HEIGHT, 600
        table = split(self.strip_holder, self._hits_stack, shares=(0, 1), sizes=sizes)
        left.setLayout(stacked(row(self.scope, margins=(12, 4, 12, 0)), (table, 1), spacing=0))
        self._hit_lazy.hide()  # it is made in a turn of its own
        self._beside = TurningSplitter(left, self._hit_lazy, first_height=400, page=self, wide=WIDE)
        return self._beside

    def _head(self) -> QVBoxLayout:
        self._title = title_label(middle=True)
        self.summary, self.statistics = FactsParagraph(BETWEEN_FACTS), FactsParagraph(BETWEEN_WORDS)
        ask, tip = self.action_requested.emit, "Show the hits of all scores again"
        self.reset_button = IconButton("restore", tip, self.run.reset_thresholds, "Reset line")
        tip = "Report: inputs, messages, device, versions, command (Ctrl+I)"
        self.report_button = IconButton("information-outline", tip, lambda: ask("show_report"))
        tip = "Compute a sample of hits again on the reference"
        verify = IconButton("shield-check-outline", tip, lambda: ask("hits.verify_run"), "Verify")
        export = IconButton("export-variant", "Write hits to a file (Ctrl+E)", self.ask_export, "Export…")
        self._tools = verify, export
        self._tips = {tool: tool.toolTip() for tool in self._tools}
        self._make_unfinished()
        self.title_row = row(
            (self._title, 1), (self.unfinished_bar, 2), self.report_button, self.reset_button, *self._tools
        )
        return stacked(self.title_row, self.summary, self.statistics, margins=(12, 6, 8, 2), spacing=0)

    def ask_export(self) -> None:
        """Ask for the sheet that writes the results to a file."""
        self.action_requested.emit("hits.export_hits")

    def _make_unfinished(self) -> None:
        """Make what is said of a partial run: beside the title, where it moves nothing."""
        self.unfinished_bar, self.unfinished_words = QWidget(), ElidedLabel("")
        goes_on = button("Continue", lambda: self.action_requested.emit("resume_run"), "primary")
        elsewhere = button("On another device", lambda: self.action_requested.emit("resume_elsewhere"))
        elsewhere.setToolTip("Continue on another device")
        parts = IconLabel("alert", "caution"), (self.unfinished_words, 1), goes_on, elsewhere
        self.unfinished_bar.setLayout(row(*parts))
        self._title.setMinimumHeight(goes_on.sizeHint().height())
        self.unfinished_bar.hide()

    def _connect(self) -> None:
        run = self.run
        run.facts_changed.connect(self.show_facts)
        run.counts_changed.connect(self.show_counts)
        run.query_hits_changed.connect(self._show_found)
        run.thresholds_changed.connect(self.show_thresholds)
        run.hit_changed.connect(self._mark_hit)
        run.histogram_changed.connect(self.show_histogram)
        run.hits.shown_changed.connect(self.show_counts)
        of_run, of_query = (self._overview, self._domains), (self._aligned, self._pictures)
        self.changes = HitChanges(run, self)
        self.changes.hits_changed.connect(lambda: renew_parts(*of_run, *of_query))
        self.changes.query_changed.connect(lambda: renew_parts(*of_query))
        run.hits.species_changed.connect(lambda: renew_parts(self._aligned))
        defer(self, self._make_hits)
        self.tabs.currentChanged.connect(lambda _: self._update_tab())

    def _make_hits(self) -> None:
        """Create the table, then the strip above it, then the card of a hit, each in its own turn."""
        self.hits.update()  # made since it is asked for
        self._choose_first()
        defer(self, self._make_others)

    def _make_others(self) -> None:
        self.strip.update()
        defer(self, self._show_card)

    def _show_card(self) -> None:
        self._hit_lazy.show()
        self._beside.share()

    def _choose_first(self) -> None:
        """Choose the first hit, and while a search adds better ones the first again, until the user chooses one."""
        run = self.run
        if not run.hits.n_shown or self._hits_lazy.content is None or run.hits.is_busy:
            return
        table = self.hits.table
        is_own = run.hit is not None and run.hit.id == self._first_hit and table.n_chosen() <= 1
        is_free = run.hit is None and table.first_chosen() is None
        if is_free or (is_own and table.first_chosen() != 0 and not table.verticalScrollBar().value()):
            table.choose_row(0)
            self._first_hit = run.hit.id if run.hit is not None else None

    def _update_tab(self) -> None:
        """Create the content of the tab in view; the list of queries is beside all but that of all of them."""
        tab = list(self.TABS)[self.tabs.currentIndex()]
        has_list = len(self.run.cards) > 1 and tab not in result_tabs.FOR_SEVERAL_QUERIES
        self.queries.setVisible(has_list)
        if self.tab == "histogram":
            self.histogram.update()

    @property
    def strip(self) -> HistogramView:
        """The small histogram above the table, created after the page."""
        if self._strip_lazy is None:
            self._strip_lazy = self._make_plot(self.strip_holder, compact=True)
            self.show_histogram()
        return self._strip_lazy

    @property
    def histogram(self) -> HistogramView:
        """The large histogram, created on first use: two plots at once would stall the window."""
        if self._histogram_lazy is None:
            self._histogram_lazy = self._make_plot(self._large_holder, compact=False)
            self.show_histogram()
        return self._histogram_lazy

    def _make_plot(self, holder: QWidget, compact: bool) -> HistogramView:
        view = HistogramView(compact)
        view.threshold_moved.connect(self.run.set_least_score)
        view.kind_chosen.connect(self.run.set_score_kind)
        view.bar_clicked.connect(lambda low, high: self._choose_bar(view, low, high))
        view.logarithm_chosen.connect(lambda chosen: self.preferences_chosen.emit({"log_counts": chosen}))
        view.set_log(self._preferences.log_counts)
        box = holder.layout() or QVBoxLayout(holder)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(view)
        view.setVisible(self.run.no_histogram_words() is None)
        return view

    def _choose_bar(self, view: HistogramView, low: float, high: float) -> None:
        """Select the hits of a bar of the histogram."""
        data = self.run.histogram

        def take(answer: list[int] | Exception) -> None:
            if isinstance(answer, Exception) or self.run.histogram is None or data is None:
                return
            places = self.hits.model.places_of(answer[:MAX_CHOSEN]).tolist()
            if places:
                self.hits.table.choose_rows(ranges_of(places))
            view.show_bar_words(bar_words(data.bar_at(low), len(answer), len(places), view is self._histogram_lazy))

        self.run.read_bar(low, high, take)

    def _plots(self) -> list[HistogramView]:
        return [view for view in (self._strip_lazy, self._histogram_lazy) if view is not None]

    def show_facts(self) -> None:
        """Show the facts about the run."""
        run = self.run
        self._title.setText(run.title)
        is_readable = bool(run.cards) and not run.refusal
        focus, is_new = QApplication.focusWidget(), is_readable and not self._stack.currentIndex()
        self._stack.setCurrentIndex(1 if is_readable else 0)
        if is_new and self.isVisible() and (focus is None or self.isAncestorOf(focus)):
            self.setFocus()  # else it goes to the first field
        for tool in self._tools:
            tool.setVisible(is_readable)
        self.report_button.setVisible(is_readable)
        self._update_histogram_visibility()
        if len(run.cards) > 1:
            self.queries.show_queries()
        for place, name in enumerate(self.TABS):
            # Qt forgets to lay out a tab of a hidden bar that is made visible twice.
            if name in result_tabs.FOR_SEVERAL_QUERIES and self.tabs.isTabVisible(place) != (len(run.cards) > 1):
                self.tabs.setTabVisible(place, len(run.cards) > 1)
        partial = run.state in ("stopped", "failed")
        self.unfinished_bar.setVisible(partial and not run.is_live and not run.refusal)
        if partial:
            error = (run.facts.get("error") or {}).get("message", "")
            share = run.facts.get("share_done") if run.looks_for_hits else None
            done = "" if share is None else f": {formatting.percent(min(1.0, share))} of the work is done"
            words = f"Partial{done}. {error}"
            self.unfinished_words.setText(words.strip())
        self._retry.setVisible(bool(run.refusal))
        if run.refusal:
            self.waiting.show_icon("alert-octagon", "stop")
            self.waiting.show_text("This run cannot be shown", run.refusal)
        elif run.state == "reading":
            self.waiting.show_text("Reading the run", run.path.name)
        elif not run.cards and not run.is_live:
            self.waiting.show_icon("magnify-close", "muted")
            self.waiting.show_text("No results", "The search ended before its first results.")
        self._update_tab()
        self.show_counts()

    def show_progress(self, words: str, is_compiling: bool = False) -> None:
        """Show how far the job is while there is nothing else to be seen."""
        self._compiling = words if is_compiling else ""
        if self.run.cards:
            self._show_emptiness()
        else:
            self.waiting.show_text(words, MEANWHILE if is_compiling else "Results appear here as they arrive.")

    def _show_found(self) -> None:
        self.queries.show_found()
        self.show_counts()

    def _update_histogram_visibility(self) -> None:
        """Show a histogram if there is one and it is not folded, and whether the hits of all queries are in view."""
        none = self.run.no_histogram_words()
        folded = self._hits_lazy.content is not None and not self.hits.fold.isChecked()
        self.strip_holder.setVisible(none is None and not folded and not self._unsearched())
        self._no_histogram.setVisible(none is not None)
        if none is not None:
            self._no_histogram.show_text(*none)
        if self._histogram_lazy is not None:
            self._histogram_lazy.setVisible(none is None)
        if self._hits_lazy.content is not None:
            self.hits.table.show_profiles(self._shows_together)

    @property
    def _shows_together(self) -> bool:
        """Whether the hits of all profiles are in view."""
        return self.run.shows_all and bool(self.run.cards)

    def show_counts(self) -> None:
        """Show how many hits there are."""
        run = self.run
        is_readable = bool(run.cards) and not run.refusal
        several = len(run.cards) > 1
        is_read = not (run.is_complete and run.looks_for_hits) or bool(run.found if several else run.hits.is_read)
        head = (run.total_words() if several else run.summary()) if is_read else "Reading the hits"
        self.summary.setText(head if is_readable else str(run.path) if run.refusal else "")
        left = None if run.hits.n_all else run.unsearched_words()
        words = [left[0]] if left else run.summary().split(" · ")  # what is the same of all of them stands above
        self.scope.setText(" · ".join(words[:2] if run.is_complete else words) if several and run.is_listed else "")
        self.scope.setVisible(several)
        self.statistics.setText(run.statistics_words() if is_readable else "")
        self.statistics.setVisible(bool(self.statistics.text()))
        self._show_emptiness()
        self.show_thresholds()

    def _show_emptiness(self) -> None:
        """Show why there are no hits in place of an empty table, and disable the tools that need some."""
        run = self.run
        self.empty.show_icon("timer-sand" if run.is_live and run.unsearched_words() else "magnify-close", "muted")
        is_compiled = self._compiling and run.is_live and self._unsearched() is not None
        self.empty.show_text(*((self._compiling, MEANWHILE) if is_compiled else run.empty_words()))
        is_read = not run.hits.is_busy or run.hits.is_refreshing
        is_empty = bool(run.cards) and not run.hits.n_all and is_read
        self._hits_stack.setCurrentIndex(1 if is_empty else 0)
        has_none = is_empty and not any(run.query_hits.values())  # other queries may have some
        self.wider.setVisible(run.is_complete)
        for tool in self._tools:
            tool.setEnabled(not has_none)
            tool.setToolTip("There are no hits." if has_none else self._tips[tool])
        self._explain_best.setVisible(is_empty and run.is_complete and bool(run.best_name()))

    def show_thresholds(self) -> None:
        """Show both thresholds."""
        run = self.run
        self.reset_button.setVisible(bool(run.cards) and run.thresholds_moved)
        for view in self._plots():
            for name, score in run.thresholds.items():
                view.plot.set_line(name, score, run.tag(name, short=view is self._strip_lazy))
            view.show_hint(run.threshold_hint())

    def _unsearched(self) -> tuple[str, str] | None:
        """Return why there are no scores to be drawn yet."""
        histogram = self.run.histogram
        return None if histogram is None or len(histogram.counts) else self.run.unsearched_words()

    def show_histogram(self) -> None:
        """Draw the histogram with its description."""
        run = self.run
        if run.histogram is None:
            return
        left = self._unsearched()
        self._update_histogram_visibility()
        for view in self._plots():
            view.show_histogram(run.histogram, run.sentence(), ". ".join(left or ()))
        self._mark_hit()
        self.show_counts()

    def _mark_hit(self) -> None:
        """Mark the bar of the chosen hit."""
        for view in self._plots():
            view.plot.mark(self.run.hit_place())

    def show_hit(self, hit: HitRow) -> None:
        """Show a hit, which the table may not list, among those of its query."""
        if hit.profile != self.run.profile:
            self.run.set_profile(hit.profile)
        self.show_tab("hits")
        self._first_hit = None
        self.run.hits.keep(hit.id)
        self.run.choose(hit)

    def show_alignment(self) -> None:
        """Show the alignment of the chosen hit."""
        self.show_tab("hits")
        self.hit.alignment.setFocus()

    def show_preferences(self, chosen: Preferences) -> None:
        """Apply the scale of histograms, the colors of residues, and whether confidence is shown."""
        self._preferences = chosen
        for view in self._plots():
            view.set_log(chosen.log_counts)
        if self._hit_lazy.content is not None:
            self.hit.show_preferences(chosen)

    def step_hit(self, step: int) -> None:
        """Go to the next or previous hit."""
        row = self.hits.table.first_chosen()
        place = row + step if row is not None else 0
        if 0 <= place < self.run.hits.n_shown:
            self.hits.table.choose_row(place)


def _later(module: str, name: str, made: SignalInstance) -> LazyWidget[Any]:
    """Return a view whose module is loaded on first use; `made` is emitted with it then."""
    return LazyWidget(lambda: getattr(import_module(f"..{module}", __package__), name)(), made.emit)


def renew_parts(*parts: LazyWidget[Any]) -> None:
    """Reload the parts that were viewed."""
    for later in parts:
        if later.content is not None:
            later.content.reload()
