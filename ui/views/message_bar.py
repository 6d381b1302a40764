"""Messages above the centre: what happened, why, what to do. They wait, they never block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from .. import theme, words
from .parts import IconButton, IconLabel, button, clear_layout, label, row

SHOWN = 3
"""Messages shown at once; older ones come back when these are closed."""


@dataclass(frozen=True)
class Message:
    """A message with what can be done about it."""

    severity: str
    text: str
    actions: tuple[tuple[str, Callable[[], object]], ...] = ()


class MessageBar(QWidget):
    """The messages that were not closed yet, the newest first."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self._box = QVBoxLayout(self)
        self._box.setContentsMargins(0, 0, 0, 0)
        self._box.setSpacing(0)
        self.hide()

    def say(self, severity: str, text: str, *actions: tuple[str, Callable[[], object]]) -> None:
        """Show a message; the same text is shown once."""
        self.messages = [m for m in self.messages if m.text != text]
        self.messages.insert(0, Message(severity, text, actions))
        self._rebuild()

    def take_back(self, text: str) -> None:
        """Close a message that no longer holds."""
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
        older = f"{words.plural(hidden, 'older message')} below {'it' if SHOWN == 1 else 'these'}"
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
        box = QHBoxLayout(frame)
        box.setContentsMargins(16, 6, 8, 6)
        box.setSpacing(10)
        box.addWidget(IconLabel(*theme.MARKS[message.severity]), 0, Qt.AlignmentFlag.AlignVCenter)
        text = label(message.text, wrap=True, selectable=True)
        text.setMinimumWidth(1)
        box.addWidget(text, 1)
        for title, call in message.actions:
            box.addWidget(button(title, lambda call=call, message=message: self._act(call, message)))
        box.addWidget(IconButton("close", "Close this message", lambda: self._close(message)))
        return frame

    def _act(self, call: Callable[[], object], message: Message) -> None:
        self._close(message)
        call()

    def _close(self, message: Message) -> None:
        self.messages = [m for m in self.messages if m is not message]
        self._rebuild()
