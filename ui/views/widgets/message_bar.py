"""Messages at the foot of the window: what happened, why, what to do. They move nothing; good news goes by itself."""

from __future__ import annotations

import math
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal, qVersion
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QPlainTextEdit, QScrollArea, QWidget

import clalign
from clalign.common.escapes import escaped

from ... import formatting, theme
from .parts import ElidedLabel, IconButton, IconLabel, button, clear_layout, height_for, held, label, row, stacked

LIFE_SECONDS = {"good": 6, "note": 8, "caution": 60}
"""Life of messages in an active window; one that something stopped, or with an action, stays until it is closed."""

MIN_ABOVE = 80
"""Pixels of the window that unfolded messages leave free above them."""

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
        return not self.actions and self.seconds_seen >= LIFE_SECONDS.get(self.severity, math.inf)


def report(message: Message) -> str:
    """Return the text to report: message, versions, details."""
    system = f"Python {platform.python_version()}, Qt {qVersion()}, {platform.system()} {platform.release()}"
    return f"{message.text}\n\nclalign {clalign.__version__}, {system}\n\n{message.details.rstrip()}\n"


class ReportBox(QPlainTextEdit):
    """The text to report, scrolled to its last lines, which say what went wrong."""

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


class MessageBar(QWidget):
    """The newest message in a line over a bar; unfolded, the open ones whole, upward from that bar."""

    focus_left = Signal()
    """The focused message was closed, and there is no other."""

    message_added = Signal(str, str)
    """Severity and text."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []
        self.history: list[tuple[float, str, str]] = []
        self._is_unfolded = False
        self._bar: QWidget | None = None
        self._end: QWidget | None = None
        self._busy: QWidget | None = None
        self._more = self._line = QWidget(self)
        self._box = stacked(spacing=0)
        self._scrolled = scrolled = QScrollArea(widgetResizable=True)  # in a low window there is no room for all
        scrolled.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scrolled.setWidget(held(self._box))
        self.setLayout(stacked(scrolled))
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self._pass_second)
        self.hide()

    def count_words(self) -> str:
        """Return how many messages the history has."""
        return f"{MAX_KEPT}+" if len(self.history) == MAX_KEPT else str(len(self.history))

    def lie_over(self, bar: QWidget, end: QWidget, busy: QWidget) -> None:
        """Lie over a bar at the bottom of its window, up to a widget in it, or above it while another is shown."""
        self._bar, self._end, self._busy = bar, end, busy
        self.setParent(bar.window())
        for watched in (bar, end, busy):
            watched.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide):
            self._place()
        return False

    def _place(self) -> None:
        if self._bar is None or self._end is None or self._busy is None or not self.messages:
            return
        floor = self._bar.geometry()
        height = min(floor.height(), self._end.sizeHint().height() + 6)  # several jobs make the bar higher
        is_over = self._busy.isHidden()
        width, foot = (self._end.x() - 8, floor.bottom() + 1) if is_over else (floor.width(), floor.top())
        if self._is_unfolded:
            height = min(max(height, height_for(self._box, width)), foot - MIN_ABOVE)
        self.setGeometry(floor.left(), foot - height, width, height)
        self.raise_()
        QTimer.singleShot(0, self, self._offer_more)  # the line gets its width in the next turn

    def _offer_more(self) -> None:
        """Offer to unfold if something is hidden: other messages, a long text, or the end of the line."""
        if self.messages:
            is_cut = self._line.width() < self._line.fontMetrics().horizontalAdvance(self.messages[0].text)
            hides = len(self.messages) > 1 or bool(self.messages[0].details) or is_cut
            self._more.setVisible(self._is_unfolded or hides)

    def notify(self, severity: str, text: str, *actions: tuple[str, Callable[[], object]], details: str = "") -> None:
        """Show a message; the same text is shown once. Details are a long text below it that can be copied."""
        text = escaped(text)
        if details and any((m.text, m.details) == (text, details) for m in self.messages):
            return  # a fault of what is painted comes again with every message that is
        past = f"{text}\n{escaped(details)}".rstrip()
        self.history = [*self.history[1 - MAX_KEPT :], (time.time(), severity, past)]
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

    def retract(self, text: str) -> None:
        """Close a message in whose place another comes, also among the past ones."""
        self.history = [past for past in self.history if past[2].partition("\n")[0] != escaped(text)]
        self.withdraw(text)

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
        self._is_unfolded = self._is_unfolded and bool(self.messages)
        policies = Qt.ScrollBarPolicy.ScrollBarAlwaysOff, Qt.ScrollBarPolicy.ScrollBarAsNeeded
        self._scrolled.setVerticalScrollBarPolicy(policies[self._is_unfolded])
        rows = [self._row(message) for message in self.messages[: None if self._is_unfolded else 1]]
        for made in rows:
            self._box.addWidget(made)
            made.show()  # the layout would show it in the next turn only, too late for the focus
        self.setVisible(bool(self.messages))
        self._place()
        (self._clock.start if self.messages else self._clock.stop)()
        if had_focus and rows:
            rows[0].findChildren(IconButton)[-1].setFocus()
        elif had_focus:
            self.focus_left.emit()

    def _add_rest(self, box: QHBoxLayout) -> None:
        """Show the number of other messages in the first row, or that there is more of the only one."""
        others = len(self.messages) - 1
        text = "Less" if self._is_unfolded else f"{formatting.count(others)} more" if others else "More"
        self._more = button(text, self._fold, "flat", "Show all open messages in full, or only the newest in one line")
        box.addWidget(self._more)
        if others and self._is_unfolded:
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
        frame.setProperty("severity", message.severity)
        frame.setAccessibleName(message.text)
        box = row(spacing=10, margins=(16, 2, 8, 2))
        rows = stacked(box, spacing=0)
        frame.setLayout(rows)
        box.addWidget(IconLabel(*theme.MARKS[message.severity]), 0, Qt.AlignmentFlag.AlignVCenter)
        text = label(message.text, wrap=True, selectable=True) if self._is_unfolded else ElidedLabel(message.text)
        text.setMinimumWidth(1)
        box.addWidget(text, 1)
        if message.details and self._is_unfolded:
            rows.addLayout(row(ReportBox(message.details), margins=(42, 0, 16, 8)))  # below the words
            box.addWidget(button("Copy the text", lambda: QGuiApplication.clipboard().setText(report(message)), "flat"))
        for title, call in message.actions:
            box.addWidget(button(title, partial(self._act, call, message)))
        if message is self.messages[0]:
            self._line = text
            self._add_rest(box)
        box.addWidget(IconButton("close", "Close this message", lambda: self._close(message)))
        return frame

    def _act(self, call: Callable[[], object], message: Message) -> None:
        if call() is not False:
            self._close(message)

    def _close(self, message: Message) -> None:
        self.withdraw(message.text)
