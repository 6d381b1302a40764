"""The command palette: every command by a part of its title, or by a word of what it is for."""

from __future__ import annotations

import re

from PySide6.QtCore import QEvent, QObject, QSortFilterProxyModel, Qt
from PySide6.QtGui import QAction, QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QFrame, QLineEdit, QListView, QVBoxLayout, QWidget
from shiboken6 import isValid

from .. import theme
from ..models.widgets.text_table import Index
from ..views.widgets.aside_delegate import AsideDelegate
from ..views.widgets.parts import label

ACTION_ROLE = Qt.ItemDataRole.UserRole + 1
ROW_HEIGHT = 28
WIDTH = 560


def begins(wanted: str, text: str) -> bool:
    """Return whether all words of `wanted` begin a word of `text`."""
    starts = re.findall(r"[^\s…,;:()]+", text.lower())
    return all(any(start.startswith(word) for start in starts) for word in wanted.lower().split())


class _Filter(QSortFilterProxyModel):
    wanted = ""

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        index = self.sourceModel().index(row, 0, parent)
        return begins(self.wanted, f"{index.data() or ''} {index.data(ACTION_ROLE).property('words')}")

    def lessThan(self, left: Index, right: Index) -> bool:
        return self._rank(left) < self._rank(right)

    def _rank(self, index: Index) -> tuple[int, ...]:
        """Put titles with the words that were typed first, then what can be run, then those that begin with them."""
        title, is_off = index.data().lower(), not index.flags() & Qt.ItemFlag.ItemIsEnabled
        first = len(title.split()[0]) if title.startswith(self.wanted.lower().strip()) else len(title)
        return (not begins(self.wanted, title), is_off, first, index.row()) if self.wanted else (index.row(),)


class CommandPalette(QFrame):
    """A field and a list over the top of the window; Enter runs a command, Esc closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._before: QWidget | None = None
        self.setProperty("role", "surface")
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search commands")
        self.field.setAccessibleName("Search commands")
        self.view = QListView()
        self.view.setIconSize(theme.ICON_SIZE)
        self.view.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.view.setUniformItemSizes(True)
        keys = lambda at: (at.data(ACTION_ROLE).shortcut().toString(), "muted")  # noqa: E731
        self.view.setItemDelegate(AsideDelegate(self.view, keys, ROW_HEIGHT))
        self._source = QStandardItemModel(self)
        self._filter = _Filter(self)
        self._filter.setSourceModel(self._source)
        self._filter.sort(0)
        self.view.setModel(self._filter)
        self.note = label("", "muted", wrap=True)
        box = QVBoxLayout(self)
        box.setContentsMargins(8, 8, 8, 8)
        for widget in (self.field, self.view, self.note):
            box.addWidget(widget)
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._narrow)
        self.view.activated.connect(self._run)
        self.view.clicked.connect(self._run)
        self.view.selectionModel().currentChanged.connect(self._explain)
        self.hide()

    def open_with(self, actions: list[QAction]) -> None:
        """Show the palette with some commands."""
        self._source.clear()
        for action in actions:
            item = QStandardItem(action.text().replace("&", ""))
            item.setData(action, ACTION_ROLE)
            item.setEnabled(action.isEnabled())
            item.setIcon(action.icon())
            item.setToolTip(action.toolTip())
            self._source.appendRow(item)
        if not self.isVisible():
            self._before = self._window.focusWidget()
        self.field.clear()
        self._narrow("")
        parent = self._window
        width = min(WIDTH, parent.width() - 40)
        self.setGeometry((parent.width() - width) // 2, 44, width, min(420, parent.height() - 80))
        self.show()
        self.raise_()
        self.field.setFocus()

    def shown_texts(self) -> list[str]:
        """Return the titles in the list."""
        return [self._filter.index(row, 0).data() for row in range(self._filter.rowCount())]

    def _narrow(self, text: str) -> None:
        self._filter.wanted = text
        self._filter.invalidate()
        self.view.setCurrentIndex(self._filter.index(0, 0))
        self._explain(self._filter.index(0, 0))
        if not self._filter.rowCount():
            self.note.setText("No command found.")

    def _explain(self, index: Index) -> None:
        action = index.data(ACTION_ROLE)
        self.note.setText(action.toolTip() if action is not None else "")

    def _run(self, index: Index) -> None:
        action = index.data(ACTION_ROLE)
        if action is None or not action.isEnabled():
            return
        self._leave()
        action.trigger()

    def _leave(self) -> None:
        """Close, and give the focus back."""
        before = self._before if self._before is not None and isValid(self._before) else None
        self.hide()
        (before or self._window).setFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            if event.type() == QEvent.Type.FocusOut and not self.view.hasFocus():
                self.hide()
            return False
        key = event.key()
        row = self.view.currentIndex().row()
        if key == Qt.Key.Key_Escape:
            self._leave()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            place = row + (1 if key == Qt.Key.Key_Down else -1)
            if 0 <= place < self._filter.rowCount():
                self.view.setCurrentIndex(self._filter.index(place, 0))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run(self.view.currentIndex())
        else:
            return False
        return True
