"""A small table, and a splitter for a table and a chart."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from ...models.widgets.text_table import ROW_ROLE, TextTable
from .parts import HANDLE
from .table import Table

WIDE = 1000
"""Pixels of width from which on the two parts are side by side."""

ROW_HEIGHT = 26

CELL_PADDING = 14
"""Pixels of a cell beside its text."""


class TextTableView(Table):
    """A small table; Ctrl+C copies it."""

    row_chosen = Signal(dict)

    def __init__(self, model: TextTable, name: str) -> None:
        super().__init__(model, name, all(column.value is not None for column in model.columns))
        self.setProperty("role", "lab")
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        self.horizontalHeader().setMinimumSectionSize(48)
        self.set_widths({place: column.width for place, column in enumerate(model.columns)})
        self.filled = next((place for place, column in enumerate(model.columns) if column.stretch), None)
        self.selectionModel().currentChanged.connect(self._choose)

    def _choose(self, index: QModelIndex | QPersistentModelIndex) -> None:
        if index.isValid():
            self.row_chosen.emit(index.data(ROW_ROLE))

    def fit_numbers(self, longest: Mapping[int, str]) -> None:
        """Give columns the room of their longest texts: a number that is cut is another number."""
        for place, text in longest.items():
            needed = self.fontMetrics().horizontalAdvance(text) + CELL_PADDING
            self.widths[place] = needed, self.widths[place][1]
        self.show_titles()
        self.fill()

    def copy(self) -> None:
        model = self.model()
        assert isinstance(model, TextTable)
        QGuiApplication.clipboard().setText(model.tsv())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex().siblingAtColumn(0)
        ticked = index.data(Qt.ItemDataRole.CheckStateRole) if index.isValid() else None
        if event.key() == Qt.Key.Key_Space and ticked is not None:
            other = Qt.CheckState.Unchecked if ticked == Qt.CheckState.Checked else Qt.CheckState.Checked
            self.model().setData(index, other, Qt.ItemDataRole.CheckStateRole)
            return
        super().keyPressEvent(event)


class TurningSplitter(QSplitter):
    """Two parts, side by side where there is room, else one above the other.

    Parameters
    ----------
    first, second : QWidget
    first_height : int
        Pixels of the first above the other.
    page : QWidget, optional
        What the width of decides; by default the splitter.
    wide : int
        Pixels of width from which on they are side by side.
    """

    def __init__(
        self, first: QWidget, second: QWidget, first_height: int = 300, page: QWidget | None = None, wide: int = WIDE
    ) -> None:
        super().__init__(Qt.Orientation.Vertical)
        self._heights, self._page, self._wide = [first_height, 300], page or self, wide
        self.setChildrenCollapsible(False)
        self.setHandleWidth(HANDLE)
        self.addWidget(first)
        self.addWidget(second)
        self.setSizes(self._heights)

    def resizeEvent(self, event: QResizeEvent) -> None:
        wanted = Qt.Orientation.Horizontal if self._page.width() >= self._wide else Qt.Orientation.Vertical
        if wanted != self.orientation():
            self.setOrientation(wanted)
            self.share()
        super().resizeEvent(event)

    def share(self) -> None:
        """Give both parts their initial shares."""
        width = self.width()
        beside = [width * 7 // 12, width * 5 // 12]
        self.setSizes(beside if self.orientation() == Qt.Orientation.Horizontal else self._heights)
