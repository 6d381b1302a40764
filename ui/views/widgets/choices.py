"""Boxes of choices whose text is shortened where they are narrow."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QComboBox, QStyle, QStyleOptionComboBox, QStylePainter

from ... import formatting
from .parts import shrinking


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
