"""Another alignment below the first one: both show the same row and column."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from ...models.alignment.rows_comparison import RowsComparison
from ..widgets.parts import ElidedLabel, FactsLabel, IconButton, label, row, stacked
from .rows_canvas import RowsCanvas


class ComparisonPane(QWidget):
    """Shows the other alignment of a `RowsComparison`.

    Parameters
    ----------
    model : RowsComparison
    first : RowsCanvas
        The first alignment.
    """

    close_requested = Signal()

    def __init__(self, model: RowsComparison, first: RowsCanvas) -> None:
        super().__init__()
        self.model, self.first = model, first
        self.canvas: RowsCanvas | None = None
        self._is_following = False
        self.words = FactsLabel(model.words(), "muted")
        self.words.setToolTip("\n".join(f"{name}: {text}" for name, text in model.more_words().items()))
        title = ElidedLabel(model.name, middle=True)
        title.setMinimumWidth(90)
        self._waiting: QLabel = label("Reading the other alignment…", "muted")
        head = row(
            (title, 2), (self.words, 5),
            IconButton("arrow-left", "Previous column that differs", lambda: self._step(-1)),
            IconButton("arrow-right", "Next column that differs", lambda: self._step(1)),
            IconButton("close", "Close the comparison", self.close_requested.emit), spacing=4, margins=(8, 4, 2, 2),
        )  # fmt: skip
        self._box: QVBoxLayout = stacked(head, (self._waiting, 1), spacing=0)
        self.setLayout(self._box)
        self.setMinimumHeight(120)
        model.read.connect(self._show_other)
        model.compared.connect(self._show_found)
        first.view_moved.connect(self._follow_first)
        first.view.moved.connect(self._link_first)

    def _show_other(self) -> None:
        other = self.model.other
        assert other is not None
        self._waiting.hide()
        self.canvas = canvas = RowsCanvas(other)
        canvas.setAccessibleName(f"Alignment {self.model.name}")
        canvas.set_tracks(())
        canvas.setMinimumHeight(80)
        self._box.addWidget(canvas, 1)
        canvas.view_moved.connect(self._follow_other)
        other.moved.connect(lambda: self._link(True))
        self.words.setText(self.model.words())

    def _show_found(self) -> None:
        self.words.setText(self.model.words())
        self.words.setToolTip(
            "\n".join([self.model.words(), *(f"{name}: {words}" for name, words in self.model.more_words().items())])
        )
        self._follow_first()
        self._link_first()

    def close_view(self) -> None:
        """Close the other alignment."""
        self.first.view_moved.disconnect(self._follow_first)
        self.first.view.moved.disconnect(self._link_first)
        self.model.close()

    # --- scrolling ---

    def _follow_first(self) -> None:
        if self.canvas is not None:
            self._follow(self.first, self.canvas, False)

    def _follow_other(self) -> None:
        if self.canvas is not None:
            self._follow(self.canvas, self.first, True)

    def _follow(self, moved: RowsCanvas, other: RowsCanvas, is_other: bool) -> None:
        """Center on one side what is in the center of the other, at the same zoom."""
        if self._is_following or self.model.found is None or moved.wrapped or other.wrapped:
            return
        self._is_following = True
        try:
            if (other.cell, other.height_, other.names) != (moved.cell, moved.height_, moved.names):
                other.cell, other.height_, other.names = moved.cell, moved.height_, moved.names
                other.arrange()
            columns, bar = moved.shown_columns(), moved.horizontalScrollBar()
            middle = (columns.start + columns.stop) // 2
            column = self.model.column_of(is_other, middle)
            other.horizontalScrollBar().setValue(round(column * other.cell - (middle * moved.cell - bar.value())))
            first = moved.shown_rows().start
            row = self.model.row_of(is_other, moved.view.row_at(first)) if first < moved.view.n_rows else -1
            if row >= 0:
                offset = moved.verticalScrollBar().value() - first * moved.height_
                other.verticalScrollBar().setValue(round(other.view.place_of(row) * other.height_ + offset))
        finally:
            self._is_following = False

    # --- the cursor ---

    def _link_first(self) -> None:
        self._link(False)

    def _link(self, is_other: bool) -> None:
        """Frame the residues of the cursor's column on both sides, and move the other cursor to it."""
        model = self.model
        if self._is_following or model.other is None or model.found is None:
            return
        own, other = (model.other, model.view) if is_other else (model.view, model.other)
        place, column = own.cursor
        rows, columns = model.cells_of(is_other, column)
        other.link(rows, columns)
        own_rows, own_columns = model.cells_of(not is_other, model.column_of(is_other, column))
        own.link(own_rows, own_columns)
        row = model.row_of(is_other, own.row_at(place))
        if row < 0:
            return
        self._is_following = True
        try:
            at = [c for r, c in zip(rows.tolist(), columns.tolist(), strict=True) if r == row]
            other.cursor = (other.place_of(row), at[0] if at else model.column_of(is_other, column))
            other.moved.emit()
        finally:
            self._is_following = False

    def _step(self, step: int) -> None:
        column = self.model.difference(step)
        if column >= 0:
            self.model.view.move_to(self.model.view.cursor[0], column)
