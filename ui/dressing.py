"""Another style sheet for very many widgets: those that can be seen take it at once, the others soon after."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

FEW = 300
"""So many widgets that nobody sees are dressed with the others."""

TURN_SECONDS = 0.01
"""The others are dressed for so long in each turn of the event loop."""

POLISHED = Qt.WidgetAttribute.WA_WState_Polished
OWN = Qt.WidgetAttribute.WA_SetStyle


class Wardrobe(QObject):
    """Dresses hidden widgets in later turns; one that is shown meanwhile is without a style sheet for a moment.

    Parameters
    ----------
    parent : QApplication
    """

    def __init__(self, parent: QApplication) -> None:
        super().__init__(parent)
        self._waiting: list[QWidget] = []
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._dress_some)

    @property
    def is_empty(self) -> bool:
        """Whether all widgets are dressed."""
        return not self._waiting

    def put_hidden_away(self) -> None:
        """Let hidden widgets take no part in the next change of the style sheet of the application."""
        style = QApplication.style()
        hidden = [one for one in QApplication.allWidgets() if _is_hidden(one) and one.style() is style]
        if len(hidden) <= FEW:
            return
        for widget in hidden:
            style.unpolish(widget)
            widget.setAttribute(POLISHED, False)
            widget.setAttribute(OWN)
        self._waiting += hidden
        self._timer.start()

    def _dress_some(self) -> None:
        style, end = QApplication.style(), time.perf_counter() + TURN_SECONDS
        while self._waiting and time.perf_counter() < end:
            widget = self._waiting.pop()
            if isValid(widget) and not widget.testAttribute(POLISHED):
                widget.setAttribute(OWN, False)
                style.polish(widget)
                widget.setAttribute(POLISHED)
                QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.StyleChange))
        if not self._waiting:
            self._timer.stop()


def _is_hidden(widget: QWidget) -> bool:
    return widget.testAttribute(POLISHED) and not widget.testAttribute(OWN) and not widget.isVisible()


def wardrobe(application: QApplication) -> Wardrobe:
    """Return that of an application."""
    return application.findChild(Wardrobe) or Wardrobe(application)
