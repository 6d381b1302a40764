"""Messages above the centre: what happened, why, what to do. They wait, they never block."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

import clalign
from clalign.control_characters import escaped

from .. import formatting, theme
from .parts import IconButton, IconLabel, button, clear_layout, label, row

SHOWN = 3
"""Messages shown at once; older ones come back when these are closed."""

DETAIL_LINES = 8


@dataclass(frozen=True)
class Message:
    """A message with what can be done about it; it stays open after a call that returns False."""

    severity: str
    text: str
    actions: tuple[tuple[str, Callable[[], object]], ...] = ()
    details: str = ""


def report(message: Message) -> str:
    """Return what is to be reported: the message, the versions, the text."""
    system = f"Python {platform.python_version()}, Qt {qVersion()}, {platform.system()} {platform.release()}"
    return f"{message.text}\n\nclalign {clalign.__version__}, {system}\n\n{message.details.rstrip()}\n"


class ReportBox(QPlainTextEdit):
    """The text that is to be reported, of which the last lines are seen: they say what went wrong."""

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
        """Show the last lines in the size that it has only now."""
        super().resizeEvent(event)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())


def _below(box: ReportBox) -> QHBoxLayout:
    """Return a line with the box below the words of its message."""
    made = row(box)
    made.setContentsMargins(42, 0, 16, 8)
    return made


class MessageBar(QWidget):
    """The messages that were not closed yet, the newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(0)
        self.hide()

    def say(self, severity: str, text: str, *actions: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show a message; the same text is shown once. Details are a long text below it that can be copied."""
        text = escaped(text)
        if details and any((m.text, m.details) == (text, details) for m in self.messages):
            return  # a fault of what is painted comes again with every message that is
        self.messages = [m for m in self.messages if m.text != text]
        self.messages.insert(0, Message(severity, text, actions, details))
        self._rebuild()

    def take_back(self, text: str) -> None:
        """Close a message that no longer holds."""
        text = escaped(text)
        self.messages = [m for m in self.messages if m.text != text]
        self._rebuild()

    def clear_passed(self) -> None:
        """Close what no longer matters when something new begins; what stopped something stays."""
        self.messages = [m for m in self.messages if m.severity == "stop"]
        self._rebuild()

    def _rebuild(self) -> None:
        clear_layout(self._box)
        for message in self.messages[:SHOWN]:
            self._box.addWidget(self._row(message))
        hidden = len(self.messages) - SHOWN
        if hidden > 0:
            self._box.addWidget(self._rest(hidden))
        self.setVisible(bool(self.messages))

    def _rest(self, hidden: int) -> QFrame:
        """Return the line that says how many older messages there are."""
        frame = QFrame()
        frame.setProperty("role", "message")
        older = f"{formatting.plural(hidden, 'older message')} below {'it' if SHOWN == 1 else 'these'}"
        box = row(label(older, "muted"), None, button("Close all", self.close_all, "flat"))
        box.setContentsMargins(42, 2, 8, 2)
        frame.setLayout(box)
        return frame

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
        box.addWidget(IconButton("close", "Close this message", lambda: self._close(message)))
        return frame

    def _act(self, call: Callable[[], object], message: Message) -> None:
        if call() is not False:
            self._close(message)

    def _close(self, message: Message) -> None:
        self.messages = [m for m in self.messages if m is not message]
        self._rebuild()
