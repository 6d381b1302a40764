"""What is shown while a page waits for what is read of a run, and a way to give that up."""

from __future__ import annotations

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QProgressBar, QWidget

from .parts import ElidedLabel, button, row

BUSY_MS = 60
"""After this it is shown that something is being read; most is there before."""

GAP = 8
"""Pixels between a text and the sign."""


class WaitSign(QWidget):
    """A bar that moves, and a button that stops."""

    stopped = Signal()
    turned = Signal()
    """It came or went."""

    def __init__(self, words: str, tip: str = "Leave what is shown as it is", keeps_room: bool = True) -> None:
        super().__init__()
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedSize(64, 6)
        self._bar.setAccessibleName(words)
        self.stop = button("Stop", self._stop, tip=tip)
        self.setLayout(row(self._bar, self.stop))
        policy = self.sizePolicy()
        policy.setRetainSizeWhenHidden(keeps_room)  # nothing jumps when it comes and goes
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

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.turned.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.turned.emit()

    def _stop(self) -> None:
        self.end()
        self.stopped.emit()


class WaitLine(ElidedLabel):
    """One line of text, at whose end the sign stands while something is read: only then the text leaves it room.

    The sign is in no layout, so that nothing is laid out anew when it comes and goes.

    Parameters
    ----------
    words : str
        What is done while the sign is there.
    role : str
        Color of the text.
    """

    def __init__(self, words: str, role: str = "text") -> None:
        self.waiting = WaitSign(words)
        super().__init__("", role)
        self.waiting.setParent(self)
        self.waiting.turned.connect(self._place)

    def sizeHint(self) -> QSize:
        return super().sizeHint().expandedTo(QSize(0, self.waiting.sizeHint().height()))

    def minimumSizeHint(self) -> QSize:
        return super().minimumSizeHint().expandedTo(self.waiting.sizeHint())

    def shown(self) -> str:
        """Return as much of the text as fits beside the sign."""
        if self.waiting.isHidden():
            return super().shown()
        return QFontMetrics(self.font()).elidedText(self._text, self._mode, self.waiting.x() - GAP)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        needed = self.waiting.sizeHint()
        self.waiting.setGeometry(
            self.width() - needed.width(), (self.height() - needed.height()) // 2, needed.width(), needed.height()
        )
        self.update()
