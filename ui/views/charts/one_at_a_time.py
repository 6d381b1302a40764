"""A text in place of results of one profile or query while all are in view."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from clalign.common.escapes import escaped

from ...models.results.run_view import RunView
from ..widgets.choices import (
    COUNT_ROLE,
    LINE_HEIGHT,
    MIN_LINES,
    CountDelegate,
)
from ..widgets.parts import (
    EmptyPanel,
    button,
    row,
)

MAX_OFFERED = 200
"""Queries in the list: those with the most hits; the box above has all."""

WIDTH = 360


class OneAtATime(EmptyPanel):
    """Offers the queries with hits in a list, and that of the chosen hit, or the first, with a button.

    It also shows other reasons for a missing result.

    Parameters
    ----------
    icon : str
    """

    def __init__(self, icon: str) -> None:
        self._run: RunView | None = None
        self.one = button("Show one with hits", self._show_one, "primary")
        self.one.setToolTip("That of the selected hit, or the first with hits")
        super().__init__(icon, "", "", self.one)
        self.list = QListWidget()
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setFixedWidth(WIDTH)
        self.list.setItemDelegate(CountDelegate(self.list))
        for chosen in (self.list.itemClicked, self.list.itemActivated):
            chosen.connect(self._show)
        self.add_row(row(None, self.list, None))
        self.offer(None)

    def offer(self, run: RunView | None) -> None:
        """Offer the queries of a run, or none."""
        if self._run is not None:
            self._run.query_hits_changed.disconnect(self._list)
        self._run = run
        if run is not None:
            run.query_hits_changed.connect(self._list)
        self.one.setVisible(run is not None)
        self._list()

    def _list(self) -> None:
        """List the queries with hits, those with the most first."""
        run = self._run
        names = [str(card["name"]) for card in run.cards] if run is not None else []
        found = sorted(run.query_hits.items(), key=lambda entry: (-entry[1], entry[0])) if run is not None else []
        known = [(number, count) for number, count in found if number < len(names)]
        self.list.clear()
        for number, count in known[:MAX_OFFERED]:
            item = QListWidgetItem(escaped(names[number]), self.list)
            item.setData(Qt.ItemDataRole.UserRole, number)
            item.setData(COUNT_ROLE, count)
        self.list.setAccessibleName(f"{run.nouns} with hits" if run is not None else "")
        self.list.setFixedHeight(min(len(known), MIN_LINES) * LINE_HEIGHT + 2 * self.list.frameWidth())
        self.list.setVisible(bool(known))

    def _show(self, item: QListWidgetItem) -> None:
        if self._run is not None:
            self._run.set_profile(int(item.data(Qt.ItemDataRole.UserRole)))

    def _show_one(self) -> None:
        if self._run is not None:
            self._run.show_one()
