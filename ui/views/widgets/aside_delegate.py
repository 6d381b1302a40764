"""Items of lists with a text at the left and a note at the right."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from ... import theme
from ...models.widgets.text_table import Index

GAP, EDGE = 12, 6
"""Pixels between the two, and right of the second."""


class AsideDelegate(QStyledItemDelegate):
    """Shortens the text in its middle if the note needs the room.

    Parameters
    ----------
    parent : QWidget
    aside : callable
        Returns the note at the right of an item, and its color of the theme.
    height : int
        Pixels that a line has at least.
    """

    def __init__(self, parent: QWidget, aside: Callable[[Index], tuple[str, str]], height: int = 0) -> None:
        super().__init__(parent)
        self._aside, self._height = aside, height

    def initStyleOption(self, option: QStyleOptionViewItem, index: Index) -> None:
        super().initStyleOption(option, index)
        text, _ = self._aside(index)
        if text and option.widget is not None:
            part = QStyle.SubElement.SE_ItemViewItemText
            room = option.widget.style().subElementRect(part, option, option.widget).width()
            room -= option.fontMetrics.horizontalAdvance(text) + GAP
            option.text = option.fontMetrics.elidedText(option.text, Qt.TextElideMode.ElideMiddle, room)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return super().sizeHint(option, index).expandedTo(QSize(0, self._height))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        text, color = self._aside(index)
        painter.setPen(QColor(getattr(theme.current(), color)))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(option.rect.adjusted(0, 0, -EDGE, 0), right, text)
