"""Tooltips of the places of a painted widget."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPointF
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QWidget

from ... import formatting


class PlaceTips(QObject):
    """Shows the words of a place where the pointer rests; of a widget that scrolls, in its viewport.

    Parameters
    ----------
    shown : QWidget
    words_at : callable
        Returns the tooltip for a place; empty for none.
    """

    def __init__(self, shown: QWidget, words_at: Callable[[QPointF], str]) -> None:
        super().__init__(shown)
        self._words_at = words_at
        shown.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent) or not isinstance(watched, QWidget):
            return False
        QToolTip.showText(event.globalPos(), formatting.tip(self._words_at(event.pos().toPointF())), watched)
        return True
