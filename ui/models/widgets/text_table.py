"""Small tables of plain rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from clalign.common.escapes import escaped
from clalign.formats.writers import safe_lines
from clalign.values.text_columns import Row, TextColumn, tsv

from ... import formatting, theme

__all__ = ["NO_PARENT", "ROW_ROLE", "Index", "Row", "TextColumn", "TextTable", "side_of"]

Index = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
ROW_ROLE = Qt.ItemDataRole.UserRole + 1


def side_of(is_right: bool) -> int:
    """Return the alignment of a cell, as a model answers."""
    side = Qt.AlignmentFlag.AlignRight if is_right else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)


class TextTable(QAbstractTableModel):
    """A table whose rows are all in memory.

    Parameters
    ----------
    columns : tuple of TextColumn
    is_dim : callable
        Whether a row is written in gray.
    tick : str
        Key of the check box in the first column; empty for none.
    """

    def __init__(
        self,
        columns: tuple[TextColumn, ...],
        parent: QObject | None = None,
        is_dim: Callable[[Row], bool] = lambda row: False,
        tick: str = "",
    ) -> None:
        super().__init__(parent)
        self.columns = columns
        self.rows: list[Row] = []
        self._given: list[Row] = []
        self._order: tuple[int, bool] = (-1, False)
        self._is_dim = is_dim
        self._tick = tick

    def set_rows(self, rows: list[Row]) -> None:
        """Show other rows, in the order that was chosen."""
        self.beginResetModel()
        self._given = rows
        self.rows = self._in_order()
        self.endResetModel()

    def update_rows(self, rows: list[Row]) -> None:
        """Show what is new of the same rows; as many as before stay selected."""
        if len(rows) != len(self.rows):
            self.set_rows(rows)
        elif rows:
            self._given = rows
            self.rows = self._in_order()
            self.dataChanged.emit(self.index(0, 0), self.index(len(rows) - 1, len(self.columns) - 1))

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        # Selected rows stay selected.
        self._order = column, order == Qt.SortOrder.DescendingOrder
        self.layoutAboutToBeChanged.emit()
        before = self.persistentIndexList()
        rows = [self.rows[index.row()] for index in before]
        self.rows = self._in_order()
        places = {id(row): place for place, row in enumerate(self.rows)}
        after = [self.index(places[id(row)], index.column()) for row, index in zip(rows, before, strict=True)]
        self.changePersistentIndexList(before, after)
        self.layoutChanged.emit()

    def _in_order(self) -> list[Row]:
        column, descending = self._order
        value = self.columns[column].value if column >= 0 else None
        if value is None:
            return self._given
        known = [row for row in self._given if value(row) is not None]
        unknown = [row for row in self._given if value(row) is None]
        return [*sorted(known, key=value, reverse=descending), *unknown]

    @property
    def copied(self) -> Sequence[TextColumn]:
        """The columns of the table as text."""
        return self.columns

    def tsv(self) -> str:
        """Return the table as tab-separated text with a header line; no cell is a formula to a spreadsheet."""
        return safe_lines(tsv(self.copied, self.rows))

    def rowCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsUserCheckable if self._tick and index.column() == 0 else flags

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row, column = self.rows[index.row()], self.columns[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return escaped(column.text(row))
        if role == Qt.ItemDataRole.ToolTipRole:
            return formatting.tip(row.get("tip") or column.text(row))
        if role == Qt.ItemDataRole.DecorationRole and column.mark is not None and column.mark(row):
            return theme.mark(column.mark(row))
        if role == Qt.ItemDataRole.ForegroundRole and self._is_dim(row):
            return QColor(theme.current().muted)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return side_of(column.right)
        if role == Qt.ItemDataRole.CheckStateRole and self._tick and index.column() == 0:
            return Qt.CheckState.Checked if row[self._tick] else Qt.CheckState.Unchecked
        return row if role == ROW_ROLE else None

    def setData(self, index: Index, value: object, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or not self._tick or index.column():
            return False
        self.rows[index.row()][self._tick] = Qt.CheckState(value) == Qt.CheckState.Checked
        self.dataChanged.emit(index, index)
        return True

    def headerData(self, section: int, side: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if side == Qt.Orientation.Vertical:
            return None
        column = self.columns[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return column.tip
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            return int(column.large_first)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return side_of(column.right)
        return None
