"""The command palette: commands, opened and recent files, and the queries in view, by parts of their names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QIcon, QKeyEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QFrame, QLineEdit, QListView, QWidget
from shiboken6 import isValid

from .. import formatting, theme
from ..models.widgets.text_table import Index
from ..views.widgets.aside_delegate import AsideDelegate
from ..views.widgets.parts import label, stacked

ENTRY_ROLE = Qt.ItemDataRole.UserRole + 1
ROW_HEIGHT = 28
WIDTH = 560

MAX_NAMES = 30
"""Names of a group that are listed: more can be typed sooner than read."""


@dataclass(frozen=True)
class Entry:
    """Something that can be run or shown.

    Attributes
    ----------
    aside : str
        What stands at its right.
    refusal : str
        Why it cannot be run now; empty if it can.
    """

    title: str
    call: Callable[[], object]
    tip: str = ""
    aside: str = ""
    icon: QIcon | None = None
    refusal: str = ""


@dataclass(frozen=True)
class Group:
    """Entries that fit what was typed, the best first; ``n_all`` counts those that are left out, too."""

    title: str
    entries: list[Entry]
    n_all: int


Finder = Callable[[str], Group]
"""Returns what fits a typed text."""


def heading(group: Group) -> str:
    """Return the line above a group."""
    n_shown = len(group.entries)
    if n_shown == group.n_all:
        return group.title
    return f"{group.title}: {formatting.count(n_shown)} of {formatting.count(group.n_all)}"


class CommandPalette(QFrame):
    """A field and a list over the top of the window; Enter runs an entry, Esc closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._window = parent
        self._before: QWidget | None = None
        self._finders: list[Finder] = []
        self.setProperty("role", "surface")
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search commands, files, runs, and the families or queries in view")
        self.field.setAccessibleName("Search commands and names")
        self.view = QListView()
        self.view.setIconSize(theme.ICON_SIZE)
        self.view.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.view.setUniformItemSizes(True)
        aside = lambda at: (entry.aside if (entry := at.data(ENTRY_ROLE)) else "", "muted")  # noqa: E731
        self.view.setItemDelegate(AsideDelegate(self.view, aside, ROW_HEIGHT))
        self._items = QStandardItemModel(self)
        self.view.setModel(self._items)
        self.note = label("", "muted", wrap=True)
        self.setLayout(stacked(self.field, self.view, self.note, spacing=-1, margins=(8, 8, 8, 8)))
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._narrow)
        self.view.activated.connect(self._run)
        self.view.clicked.connect(self._run)
        self.view.selectionModel().currentChanged.connect(self._explain)
        self.hide()

    def open_with(self, finders: Iterable[Finder]) -> None:
        """Show the palette with what some functions find."""
        self._finders = list(finders)
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

    def shown_texts(self, with_headings: bool = False) -> list[str]:
        """Return the titles in the list."""
        items = (self._items.item(row) for row in range(self._items.rowCount()))
        return [item.text() for item in items if with_headings or item.data(ENTRY_ROLE) is not None]

    def _narrow(self, text: str) -> None:
        self._items.clear()
        groups = [group for find in self._finders if (group := find(text)).entries]
        for group in groups:
            if len(groups) > 1 or group.n_all > len(group.entries):
                self._items.appendRow(self._heading(heading(group)))
            for entry in group.entries:
                self._items.appendRow(self._item(entry))
        self._go(-1, 1)
        self.view.setVisible(bool(groups))
        self.resize(self.width(), min(420, self._window.height() - 80) if groups else self.minimumSizeHint().height())
        if not groups:
            self.note.setText("Nothing found.")

    def _heading(self, text: str) -> QStandardItem:
        item = QStandardItem(text)
        item.setFlags(Qt.ItemFlag.NoItemFlags)
        font = item.font()
        font.setBold(True)
        item.setFont(font)
        return item

    def _item(self, entry: Entry) -> QStandardItem:
        item = QStandardItem(entry.title)
        item.setData(entry, ENTRY_ROLE)
        if entry.refusal:  # it stays enabled: keys pass over it, and it says why it cannot be run
            item.setForeground(QColor(theme.current().muted))
        if entry.icon is not None:
            item.setIcon(entry.icon)
        item.setToolTip(entry.refusal or entry.tip)
        return item

    def _go(self, row: int, step: int) -> None:
        """Go to the next entry from a row, over headings."""
        row += step
        while 0 <= row < self._items.rowCount() and self._items.item(row).data(ENTRY_ROLE) is None:
            row += step
        if 0 <= row < self._items.rowCount():
            self.view.setCurrentIndex(self._items.index(row, 0))

    def _explain(self, index: Index) -> None:
        entry = index.data(ENTRY_ROLE)
        self.note.setText((entry.refusal or entry.tip) if entry is not None else "")

    def _run(self, index: Index) -> None:
        entry = index.data(ENTRY_ROLE)
        if entry is None or entry.refusal:
            return
        self._leave()
        entry.call()

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
        if key == Qt.Key.Key_Escape:
            self._leave()
        elif key in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self._go(self.view.currentIndex().row(), 1 if key == Qt.Key.Key_Down else -1)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._run(self.view.currentIndex())
        else:
            return False
        return True
