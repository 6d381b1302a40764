"""The base of all tables: sorting by headings, widths of columns, copying."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QAbstractItemModel, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QTableView

from ... import theme

TITLE_PADDING = 6
"""Pixels left and right of the title of a column: more than in the style sheet, so that titles stand apart."""

ASCENDING, DESCENDING = Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder


class Table(QTableView):
    """Rows that can be selected and copied; a click on a heading sorts, the next reverses, a third restores the order.

    Parameters
    ----------
    model : QAbstractItemModel
        It returns the initial order of a column (`Qt.InitialSortOrderRole`); column -1 is the original order.
    name : str
        What it is called for those who do not see it.
    is_sorted : bool
        Whether it can be sorted.
    """

    MIN_FILLED_WIDTH = 0
    """Least pixels of the column that takes the remaining room."""

    def __init__(self, model: QAbstractItemModel, name: str, is_sorted: bool = True) -> None:
        super().__init__()
        self.setModel(model)
        self.setAccessibleName(name)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setFont(theme.tabular(self.font()))
        header = self.horizontalHeader()
        header.setHighlightSections(False)
        header.setSortIndicatorClearable(True)
        header.setSortIndicator(-1, ASCENDING)
        self.setSortingEnabled(is_sorted)
        header.sortIndicatorChanged.connect(lambda *_: self.scrollToTop())
        self.filled: int | None = None
        """The column that takes the remaining room."""
        self.widths: dict[int, tuple[int, int]] = {}
        """By column: the default width in pixels, and the last one that was set."""

    def set_widths(self, widths: Mapping[int, int]) -> None:
        """Set the widths of columns (pixels), or more if their titles need it."""
        for place, width in widths.items():
            self.setColumnWidth(place, width)
        self.widths = {place: (width, width) for place, width in widths.items()}

    def title_width(self, place: int) -> int:
        """Return the pixels of the title of a column; Qt's hint reserves an arrow in every column."""
        header = self.horizontalHeader()
        title = header.model().headerData(place, Qt.Orientation.Horizontal)
        return header.fontMetrics().horizontalAdvance(str(title or "")) + 2 * TITLE_PADDING

    def show_titles(self) -> None:
        """Fit titles of columns; widths set by the user stay."""
        for place, (usual, given) in self.widths.items():
            if self.columnWidth(place) == given:
                self.widths[place] = usual, max(usual, self.title_width(place))
                self.setColumnWidth(place, self.widths[place][1])

    def fill(self) -> None:
        """Give a column the remaining room; unlike Qt's stretching never less than it needs."""
        place, header = self.filled, self.horizontalHeader()
        if place is not None and not self.isColumnHidden(place):
            least = max(self.MIN_FILLED_WIDTH, self.title_width(place), self.widths.get(place, (0, 0))[0])
            others = header.length() - header.sectionSize(place)
            self.setColumnWidth(place, max(least, self.viewport().width() - others))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.show_titles()
        self.fill()

    def sort_column(self, place: int) -> None:
        """Sort as a click on a heading does."""
        header, role = self.horizontalHeader(), Qt.ItemDataRole.InitialSortOrderRole
        first = Qt.SortOrder(self.model().headerData(place, Qt.Orientation.Horizontal, role))
        if header.sortIndicatorSection() != place:
            header.setSortIndicator(place, first)
        elif header.sortIndicatorOrder() == first:
            header.setSortIndicator(place, ASCENDING if first == DESCENDING else DESCENDING)
        else:
            header.setSortIndicator(-1, ASCENDING)

    def copy(self) -> None:
        """Copy the selection, or the whole table."""
        raise NotImplementedError

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)
