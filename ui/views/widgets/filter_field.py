"""A field whose text filters what is below it."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLineEdit, QWidget

TYPING_MS = 150
"""Pause after a key before the text is used (ms)."""


class FilterField(QLineEdit):
    """Emits its text shortly after the last key, or at once on Enter, which like Down leads to what is below.

    Esc clears it.

    Parameters
    ----------
    name : str
        What it is called for those who do not see it.
    hint : str
        Placeholder of the empty field.
    below : QWidget, optional
        What it filters.
    """

    settled = Signal(str)

    def __init__(self, name: str, hint: str, below: QWidget | None = None) -> None:
        super().__init__()
        self._below = below
        self.setAccessibleName(name)
        self.setPlaceholderText(hint)
        self.setClearButtonEnabled(True)
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._typing.timeout.connect(self._settle)
        self.textChanged.connect(lambda _: self._typing.start())
        self.returnPressed.connect(self._settle)

    def _settle(self) -> None:
        self._typing.stop()
        self.settled.emit(self.text())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            self._settle()
            return
        super().keyPressEvent(event)
        leads = event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if leads and self._below is not None and self._below.isVisible():
            self._below.setFocus(Qt.FocusReason.TabFocusReason)

    def put(self, text: str) -> None:
        """Set the text without a signal."""
        with QSignalBlocker(self):
            self.setText(text)
        self._typing.stop()
