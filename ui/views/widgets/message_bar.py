"""Messages above the center: what happened, why, what to do. They never block; good news disappears by itself."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, qVersion
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

import clalign
from clalign.common.escapes import escaped

from ... import formatting, theme
from .parts import IconButton, IconLabel, button, clear_layout, label, row

MAX_UNFOLDED = 5
"""Visible messages if all are shown; else it is the newest one."""

LIFE_SECONDS = {"good": 15, "note": 15, "caution": 90}
"""Life of messages in an active window; a message that something stopped stays until it is closed."""

MAX_KEPT = 200
"""Past messages that can be read later."""

DETAIL_LINES = 8


@dataclass(frozen=True)
class Message:
    """A message with actions; it stays open after an action that returns False."""

    severity: str
    text: str
    actions: tuple[tuple[str, Callable[[], object]], ...] = ()
    details: str = ""
    seconds_seen: int = 0

    @property
    def is_over(self) -> bool:
        """Whether its life is over."""
        return self.seconds_seen >= LIFE_SECONDS.get(self.severity, math.inf)


def report(message: Message) -> str:
    """Return the text to report: message, versions, details."""
    system = f"Python {platform.python_version()}, Qt {qVersion()}, {platform.system()} {platform.release()}"
    return f"{message.text}\n\nclalign {clalign.__version__}, {system}\n\n{message.details.rstrip()}\n"


class ReportBox(QPlainTextEdit):
    """The text to report, scrolled to its last lines, which tell what went wrong."""

    def __init__(self, text: str) -> None:
        super().__init__(escaped(text.rstrip()), readOnly=True, lineWrapMode=QPlainTextEdit.LineWrapMode.NoWrap)
        self.setAccessibleName("The text to report")
        self.setTabChangesFocus(True)
        self.setFont(theme.mono_font())
        n_lines = min(DETAIL_LINES, self.blockCount())
        around = 2 * (self.document().documentMargin() + self.frameWidth())
        bar = self.horizontalScrollBar().sizeHint().height()
        self.setFixedHeight(round(n_lines * self.fontMetrics().lineSpacing() + around + bar))

    def resizeEvent(self, event: QResizeEvent) -> None:
        # The last lines can be shown only when the size is known.
        super().resizeEvent(event)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())


def _below(box: ReportBox) -> QHBoxLayout:
    """Return a line with the box below the words of its message."""
    made = row(box)
    made.setContentsMargins(42, 0, 16, 8)
    return made


class MessageBar(QWidget):
    """The open messages: the newest one, and the number of others."""

    focus_left = Signal()
    """The focused message was closed, and there is no other."""

    message_added = Signal(str, str)
    """Severity and text."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self.history: list[tuple[float, str, str]] = []
        self._is_unfolded = False
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(0)
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self._pass_second)
        self.hide()

    def notify(self, severity: str, text: str, *actions: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show a message; the same text is shown once. Details are a long text below it that can be copied."""
        text = escaped(text)
        if details and any((m.text, m.details) == (text, details) for m in self.messages):
            return  # a fault of what is painted comes again with every message that is
        self.history = [*self.history[1 - MAX_KEPT :], (time.time(), severity, text)]
        self.messages = [m for m in self.messages if m.text != text]
        self.messages.insert(0, Message(severity, text, actions, details))
        self._rebuild()
        self.message_added.emit(severity, text)

    def withdraw(self, text: str) -> None:
        """Close a message that no longer holds."""
        text = escaped(text)
        if any(m.text == text for m in self.messages):
            self.messages = [m for m in self.messages if m.text != text]
            self._rebuild()

    def clear_passed(self) -> None:
        """Close messages that no longer matter when something new begins; what stopped something stays."""
        self.messages = [m for m in self.messages if m.severity == "stop"]
        self._rebuild()

    def _pass_second(self) -> None:
        """Close messages whose life is over, except under the pointer or in an inactive window."""
        focus = QApplication.focusWidget()
        if not self.isActiveWindow() or self.underMouse() or (focus is not None and self.isAncestorOf(focus)):
            return
        self.messages = [replace(m, seconds_seen=m.seconds_seen + 1) for m in self.messages]
        if any(m.is_over for m in self.messages):
            self.messages = [m for m in self.messages if not m.is_over]
            self._rebuild()

    def _rebuild(self) -> None:
        focus = QApplication.focusWidget()
        had_focus = focus is not None and self.isAncestorOf(focus)
        clear_layout(self._box)
        self._is_unfolded = self._is_unfolded and len(self.messages) > 1
        rows = [self._row(message) for message in self.messages[: MAX_UNFOLDED if self._is_unfolded else 1]]
        for made in rows:
            self._box.addWidget(made)
            made.show()  # the layout would show it in the next turn only, too late for the focus
        self.setVisible(bool(self.messages))
        (self._clock.start if self.messages else self._clock.stop)()
        if had_focus and rows:
            rows[0].findChildren(IconButton)[-1].setFocus()
        elif had_focus:
            self.focus_left.emit()

    def _add_rest(self, box: QHBoxLayout) -> None:
        """Show the number of other messages in the first row."""
        text = "Only the newest" if self._is_unfolded else f"{formatting.count(len(self.messages) - 1)} more"
        box.addWidget(button(text, self._fold, "flat", "Show or hide the other messages"))
        box.addWidget(button("Close all", self.close_all, "flat"))

    def _fold(self) -> None:
        self._is_unfolded = not self._is_unfolded
        self._rebuild()

    def close_all(self) -> None:
        """Close every message."""
        self.messages = []
        self._rebuild()

    def _row(self, message: Message) -> QFrame:
        frame = QFrame()
        frame.setProperty("role", "message")
        frame.setAccessibleName(message.text)
        rows = QVBoxLayout(frame)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        box = QHBoxLayout()
        rows.addLayout(box)
        box.setContentsMargins(16, 6, 8, 6)
        box.setSpacing(10)
        box.addWidget(IconLabel(*theme.MARKS[message.severity]), 0, Qt.AlignmentFlag.AlignVCenter)
        text = label(message.text, wrap=True, selectable=True)
        text.setMinimumWidth(1)
        box.addWidget(text, 1)
        if message.details:
            rows.addLayout(_below(ReportBox(message.details)))
            box.addWidget(button("Copy the text", lambda: QGuiApplication.clipboard().setText(report(message)), "flat"))
        for title, call in message.actions:
            box.addWidget(button(title, partial(self._act, call, message)))
        if len(self.messages) > 1 and message is self.messages[0]:
            self._add_rest(box)
        box.addWidget(IconButton("close", "Close this message", lambda: self._close(message)))
        return frame

    def _act(self, call: Callable[[], object], message: Message) -> None:
        if call() is not False:
            self._close(message)

    def _close(self, message: Message) -> None:
        self.withdraw(message.text)
