"""A line whose words narrow down what stands below it."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QTimer, Signal
from PySide6.QtWidgets import QLineEdit

TYPING_MS = 150
"""Time without a key after which the words are taken (ms)."""


class FilterField(QLineEdit):
    """Tells its text shortly after the last key, or at once on Enter.

    Parameters
    ----------
    name : str
        What it is called for those who do not see it.
    hint : str
        What stands in it as long as it is empty.
    """

    settled = Signal(str)

    def __init__(self, name: str, hint: str) -> None:
        super().__init__()
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

    def put(self, text: str) -> None:
        """Show another text without telling of it."""
        with QSignalBlocker(self):
            self.setText(text)
        self._typing.stop()
