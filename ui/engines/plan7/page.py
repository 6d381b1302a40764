"""The results of a run with profiles, with the profile and the filters."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from ...models.results.result_tabs import PARTS, TABS
from ...settings import Preferences
from ...views.results.results_page import ResultsPage
from ...views.widgets.parts import LazyWidget, button
from .card import DomainCard
from .explain_sheet import FilterSheet
from .funnel_view import FunnelView
from .profile_view import ProfileView
from .run_view import ProfileRunView


class SearchPage(ResultsPage):
    """Shows a `ProfileRunView`."""

    TABS: ClassVar[dict[str, str]] = TABS
    PARTS: ClassVar[dict[str, dict[str, str]]] = {**PARTS, "plots": {**PARTS["plots"], "funnel": "Filters"}}

    explain_sheet = FilterSheet
    profile_requested = Signal()
    profile_made = Signal(object)
    funnel_requested = Signal()
    funnel_made = Signal(object)

    run: ProfileRunView

    def __init__(self, run: ProfileRunView) -> None:
        self._profile = LazyWidget(ProfileView, lambda view: self.profile_made.emit(view))
        self._funnel = LazyWidget(FunnelView, lambda view: self.funnel_made.emit(view))
        self.more = button("One more round", lambda: self.action_requested.emit("search.one_more_round"))
        self.stop = button("Stop after this round", lambda: self.action_requested.emit("search.stop_after_round"),
                           tip="The search ends with the rounds that are begun")  # fmt: skip
        super().__init__(run)
        for place, one in enumerate((self.more, self.stop), 1):
            self.title_row.insertWidget(place, one)

    def _parts(self) -> dict[str, QWidget]:
        return {**super()._parts(), "query": self._profile, "funnel": self._funnel}

    @property
    def profile(self) -> ProfileView:
        """The logo of the profile, created on first use."""
        return self._profile.load()

    @property
    def funnel(self) -> FunnelView:
        """The filters, created on first use."""
        return self._funnel.load()

    def _make_hit(self) -> DomainCard:
        made = DomainCard()
        self._dress_hit(made)
        return made

    def _update_tab(self) -> None:
        super()._update_tab()
        if self.tab == "query":
            self.profile_requested.emit()
        elif self.tab == "funnel":
            self.funnel_requested.emit()

    def show_facts(self) -> None:
        """Show the facts about the run; only HMMER3 has filters."""
        super().show_facts()
        self._show_more()
        has_filters = not self.run.cards or any(card["origin"] != "hmmer2" for card in self.run.cards)
        self.inner["plots"].setTabVisible(self.inner["plots"].indexOf(self._funnel), has_filters)

    def _show_found(self) -> None:
        super()._show_found()
        self._show_more()

    def _show_more(self) -> None:
        has_converged = self.run.has_converged
        self.more.setVisible(self.run.can_choose)
        self.more.setEnabled(not has_converged)
        self.more.setToolTip("All have converged: tick or untick hits" if has_converged else "With the ticked hits")
        self.stop.setVisible(self.run.is_of_rounds and self.run.is_live)

    def show_histogram(self) -> None:
        """Draw the histogram and update the tab in view."""
        if self.tab == "funnel":
            self.funnel_requested.emit()
        super().show_histogram()

    def show_preferences(self, chosen: Preferences) -> None:
        super().show_preferences(chosen)
        if self._profile.content is not None:
            self.profile.set_scheme(chosen.scheme)
