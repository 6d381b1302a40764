"""Panes beside the rows of an alignment: its tree at the left, another alignment of the same sequences below."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QSplitter, QWidget

from ... import formatting
from ...models.alignment.rows_comparison import AGREEMENT, RowsComparison
from ...models.alignment.rows_view import Selection
from ..widgets.parts import split
from .rows_canvas import RowsCanvas
from .rows_comparison import ComparisonPane
from .tree_view import TreePane

Pane = TypeVar("Pane", bound=QWidget)

TREE_ORDER = "Tree"
"""Title of the order of rows by the tree."""


class RowsPanes(QSplitter):
    """The rows, with tree and comparison beside them.

    Parameters
    ----------
    rows : QWidget
        Holds the rows.
    canvas : RowsCanvas
        The rows themselves.
    """

    failed = Signal(str)
    compared = Signal(str)
    """Name of the coloring by agreement; empty when a comparison ends."""

    described = Signal(str)

    def __init__(self, rows: QWidget, canvas: RowsCanvas) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self.canvas, self.view = canvas, canvas.view
        self._below, self._tracks = split(rows), canvas.tracks
        self.setChildrenCollapsible(False)
        self.addWidget(self._below)

    def _pane(self, where: QSplitter, kind: type[Pane]) -> Pane | None:
        found = (where.widget(place) for place in range(where.count()))
        return next((pane for pane in found if isinstance(pane, kind) and not pane.isHidden()), None)

    # --- the tree ---

    @property
    def tree(self) -> TreePane | None:
        """The tree beside the rows."""
        return self._pane(self, TreePane)

    def show_tree(self, pane: TreePane) -> None:
        """Show a tree beside the rows, sorted in its order."""
        self.close_tree()
        self.insertWidget(0, pane)
        self.setSizes([2 * self.width() // 5, 3 * self.width() // 5])
        self.view.set_order(TREE_ORDER, pane.canvas.tree.order)
        self.view.sort(TREE_ORDER)
        pane.rows_chosen.connect(self._choose_rows)
        pane.close_requested.connect(self.close_tree)
        pane.sort_requested.connect(partial(self.view.sort, TREE_ORDER))
        self.view.moved.connect(self._mark_leaves)
        self.canvas.view_moved.connect(self._line_up)
        self.view.replaced.connect(self.close_tree)  # it is a tree of the alignment before
        self._line_up()
        pane.setFocus()

    def close_tree(self) -> None:
        """Close the tree; its order stays."""
        pane = self.tree
        if pane is not None:
            self.view.moved.disconnect(self._mark_leaves)
            self.canvas.view_moved.disconnect(self._line_up)
            self.view.replaced.disconnect(self.close_tree)
            has_focus = pane.isAncestorOf(self.window().focusWidget())
            pane.hide()
            pane.deleteLater()
            if has_focus:
                self.canvas.setFocus()

    def _choose_rows(self, rows: npt.NDArray[np.int64]) -> None:
        """Select the rows of a clade, which are neighbors in the order of the tree."""
        view = self.view
        if not len(rows):
            view.select(None)
            return
        if view.order_key != TREE_ORDER:
            view.sort(TREE_ORDER)
        places = range(view.place_of(int(rows[0])), view.place_of(int(rows[-1])) + 1)
        view.cursor = (places.start, view.cursor[1])
        view.select(Selection(places, range(view.n_columns)))
        self.described.emit(f"{formatting.plural(len(rows), 'row')} of the clade selected")

    def _line_up(self) -> None:
        """Show the leaves beside their rows, or while these stand in another order offer that of the tree."""
        if self.tree is not None:
            is_sorted = self.view.order_key == TREE_ORDER
            self.tree.sort.setVisible(not is_sorted)
            self.tree.canvas.stand_beside(self.canvas if is_sorted and not self.canvas.wrapped else None)

    def _mark_leaves(self) -> None:
        """Mark the selected rows in the tree if they are neighbors there, too."""
        pane, view = self.tree, self.view
        if pane is None:
            return
        chosen = view.selection.rows if view.selection is not None else range(view.cursor[0], view.cursor[0] + 1)
        lines = pane.canvas.tree.firsts[view.order[chosen.start : chosen.stop]]
        stands_together = bool(len(lines)) and lines.max() - lines.min() == len(lines) - 1
        pane.canvas.mark(range(int(lines.min()), int(lines.max()) + 1) if stands_together else range(0))

    # --- another alignment ---

    @property
    def comparison(self) -> ComparisonPane | None:
        """The other alignment below the rows."""
        return self._pane(self._below, ComparisonPane)

    def show_comparison(self, path: str) -> None:
        """Compare with another alignment of these sequences, shown below."""
        self.close_comparison()
        pane = ComparisonPane(RowsComparison(self.view, path), self.canvas)
        pane.close_requested.connect(self.close_comparison)
        pane.model.failed.connect(self._end_comparison)
        pane.model.compared.connect(lambda: self.compared.emit(AGREEMENT))
        self._tracks = self.canvas.tracks
        self.canvas.set_tracks(())  # the rows need the room
        self._below.addWidget(pane)
        self._below.setSizes([self.height() // 2, self.height() // 2])
        pane.model.begin()

    def _end_comparison(self, why: str) -> None:
        self.close_comparison()
        self.failed.emit(why)

    def close_comparison(self) -> None:
        """Close the other alignment."""
        pane = self.comparison
        if pane is not None:
            pane.hide()
            pane.close_view()
            self.canvas.set_tracks(self._tracks)
            pane.deleteLater()
            self.compared.emit("")
            self.canvas.setFocus()
