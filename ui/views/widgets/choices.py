"""Boxes of choices: narrow ones with shortened text, and one of many names with a search."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QRegularExpression,
    QSortFilterProxyModel,
    Qt,
)
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QLineEdit,
    QListView,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
)

from clalign.common.escapes import escaped
from clalign.values.documents import Card

from ... import formatting
from .parts import label, shrinking, stacked

TEXT_ROLE = Qt.ItemDataRole.UserRole + 8
"""What is searched of an entry."""

MAX_UNSEARCHED = 8
"""Entries up to which the list opens without a search field."""

MAX_LINES, MIN_LINES, MIN_WIDTH = 14, 8, 280
"""Lines of a list, and its sizes; it opens upward if not even the fewest fit below."""

Index = QModelIndex | QPersistentModelIndex


class NarrowBox(QComboBox):
    """May be narrower than its longest entry: the middle of the text is omitted, and the tooltip has it."""

    def __init__(self) -> None:
        super().__init__()
        shrinking(self)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, option = QStylePainter(self), QStyleOptionComboBox()
        self.initStyleOption(option)
        field = self.style().subControlRect(
            QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        )
        shown = self.fontMetrics().elidedText(option.currentText, Qt.TextElideMode.ElideMiddle, field.width() - 4)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
        option.currentText = shown
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and not self.toolTip():
            self.setToolTip(formatting.tip(self.currentText()))
            handled = super().event(event)
            self.setToolTip("")
            return handled
        return super().event(event)


class ChoiceList(QFrame):
    """The list of a `QueryChooser`, with a search field."""

    def __init__(self, box: QueryChooser) -> None:
        super().__init__(box, Qt.WindowType.Popup)
        self._box = box
        self.setProperty("role", "popup")
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = QLineEdit()
        self.field.setPlaceholderText("Search names and descriptions")
        self.field.setAccessibleName("Search names, accessions and descriptions")
        self.field.setClearButtonEnabled(True)
        self.found = QSortFilterProxyModel(self)
        self.found.setSourceModel(box.model())
        self.found.setFilterRole(TEXT_ROLE)
        self.nothing = label("", "muted", wrap=True)
        self.nothing.hide()
        self.list = QListView()
        self.list.setUniformItemSizes(True)
        self.list.setModel(self.found)
        self.list.setMouseTracking(True)
        self.list.setAccessibleName(box.accessibleName())
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.field.textChanged.connect(self._narrow)
        self.field.returnPressed.connect(lambda: self._choose(self.list.currentIndex()))
        self.field.installEventFilter(self)
        self.list.clicked.connect(self._choose)
        self.setLayout(stacked(self.field, self.nothing, self.list, margins=(6, 6, 6, 6), spacing=6))
        self.setFocusProxy(self.field)
        self.list.setCurrentIndex(self.found.mapFromSource(box.model().index(box.currentIndex(), 0)))

    def _narrow(self, text: str) -> None:
        words = (QRegularExpression.escape(word) for word in text.split())
        ignoring_case = QRegularExpression.PatternOption.CaseInsensitiveOption
        pattern = "".join(f"(?=.*{word})" for word in words)
        self.found.setFilterRegularExpression(QRegularExpression(f"^{pattern}", ignoring_case))
        self.nothing.setText(f"None of {formatting.count(self._box.count())} has “{escaped(text)}”.")
        self.nothing.setVisible(not self.found.rowCount())
        if not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.found.index(0, 0))

    def _choose(self, index: Index) -> None:
        if index.isValid():
            place = self.found.mapToSource(index).row()
            self.close()
            self._box.take(place)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        keys = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in keys:
            self.list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)


def list_place(box: QRect, room: QRect, heights: tuple[int, int]) -> QRect:
    """Return the place of a list: below its box, or above it if it fits only there.

    Parameters
    ----------
    box, room : QRect
        The box and its screen.
    heights : (int, int)
        Minimum and maximum of the list, if there is room.
    """
    least, most = heights
    width = max(box.width(), MIN_WIDTH)
    x = max(room.left(), min(box.left(), room.right() - width))
    below, above = room.bottom() - box.bottom() - 4, box.top() - room.top() - 4
    if below < least and above > below:
        height = min(most, above)
        return QRect(x, box.top() - 2 - height, width, height)
    return QRect(x, box.bottom() + 2, width, max(0, min(most, below)))


class QueryChooser(NarrowBox):
    """One of many names: its list is searched if it is long."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.setMaximumWidth(260)
        self.setMaxVisibleItems(MAX_LINES)
        self.setAccessibleName(name)
        self.open_list: ChoiceList | None = None

    def offer(self, cards: Iterable[Card]) -> None:
        """List queries by their names, unless they are listed already."""
        found = []
        for number, card in enumerate(cards):
            more = " ".join(card.get(key) or "" for key in ("accession", "description"))
            found.append((escaped(card["name"]), number, more.strip()))
        if [f"{text} {more}" for text, _, more in found] != [
            self.itemData(place, TEXT_ROLE) for place in range(self.count())
        ]:
            self.clear()
            for place, (text, number, more) in enumerate(found):
                self.addItem(text, number)
                self.setItemData(place, f"{text} {more}", TEXT_ROLE)
                self.setItemData(place, formatting.tip(f"{text}\n{more}"), Qt.ItemDataRole.ToolTipRole)

    def showPopup(self) -> None:
        if self.count() <= MAX_UNSEARCHED:
            super().showPopup()
            return
        self.open_list = made = ChoiceList(self)
        made.destroyed.connect(self._forget_list)
        line, field = made.list.sizeHintForRow(0), made.field.sizeHint().height() + 24
        box = QRect(self.mapToGlobal(self.rect().topLeft()), self.size())
        heights = field + MIN_LINES * line, field + MAX_LINES * line
        made.setGeometry(list_place(box, self.screen().availableGeometry(), heights))
        made.show()
        made.field.setFocus()
        made.list.scrollTo(made.list.currentIndex(), QListView.ScrollHint.PositionAtCenter)

    def hidePopup(self) -> None:
        if self.open_list is not None:
            self.open_list.close()
        super().hidePopup()

    def _forget_list(self) -> None:
        self.open_list = None

    def take(self, place: int) -> None:
        """Choose an entry as a click in the list does."""
        self.setCurrentIndex(place)
        self.activated.emit(place)
