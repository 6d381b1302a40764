"""A sign that a page waits for a read of a run, with a button to cancel."""

from __future__ import annotations

from PySide6.QtCore import QSize, QTimer, Signal
from PySide6.QtGui import QFontMetrics, QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QProgressBar, QWidget

from ... import theme
from .parts import ElidedLabel, button, row

BUSY_MS = 60
"""Delay before the sign is shown; most reads end earlier."""

GAP = 8
"""Pixels between a text and the sign."""


class WaitSign(QWidget):
    """A moving bar, and a button that stops."""

    stopped = Signal()
    turned = Signal()
    """The sign was shown or hidden."""

    def __init__(self, words: str, tip: str = "Keep the current view", keeps_room: bool = True) -> None:
        super().__init__()
        self._bar = QProgressBar()
        self._bar.setRange(0, theme.is_still())
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
        """Show it soon, unless the answer arrives earlier."""
        if self.isHidden():
            self._soon.start()

    def end(self) -> None:
        """Hide it."""
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
    """A line of text with the sign at its end while something is read.

    The sign is in no layout, so that nothing moves when it is shown or hidden.

    Parameters
    ----------
    words : str
        The text while the sign is shown.
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
