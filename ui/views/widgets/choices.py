"""Boxes of choices: narrow ones with shortened text, and one of many names with a search."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter

from ... import formatting
from .parts import shrinking

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
