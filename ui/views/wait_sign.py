"""What is shown while a page waits for what is read of a run, and a way to give that up."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from .parts import button, row

BUSY_MS = 60
"""After this it is shown that something is being read; most is there before."""


class WaitSign(QWidget):
    """A bar that moves, and a button that stops."""

    stopped = Signal()

    def __init__(self, words: str) -> None:
        super().__init__()
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(64, 6)
        self._bar.setAccessibleName(words)
        self.stop = button("Stop", self._stop, tip="Leave what is shown as it is")
        self.setLayout(row(self._bar, self.stop))
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # nothing jumps when it comes and goes
        self.setSizePolicy(policy)
        self._soon = QTimer(self, singleShot=True, interval=BUSY_MS)
        self._soon.timeout.connect(self.show)
        self.hide()

    def begin(self) -> None:
        """Show it soon, unless the answer comes before."""
        if self.isHidden():
            self._soon.start()

    def end(self) -> None:
        """Show it no longer."""
        self._soon.stop()
        self.hide()

    def _stop(self) -> None:
        self.end()
        self.stopped.emit()
