"""The sheet that explains why a sequence was found, or missed: by filters, or by the columns of its alignment."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QPlainTextEdit, QWidget

from .. import theme
from ..models.explanation import (
    explanation_text,
    explanation_title,
    is_pair,
    pair_parts,
    step_mark,
    step_note,
    step_numbers,
    step_result,
)
from ..models.missing_files import LOCATE_TITLE, can_be_located, without_ways
from .parts import IconLabel, button, clear_layout, label, line, notice_row, row
from .sheet import Sheet

ASK_WORDS = {
    False: "The sequence is sent through every filter, also those that it would not have come to, and you see its "
    "score and what was needed.",
    True: "The sequence is aligned with the query, and you see what their score is made of, and why it is reported "
    "or not.",
}
"""By whether two sequences are compared."""

WAIT_WORDS = {
    False: "Every filter is computed for this one sequence…",
    True: "The two sequences are aligned once more…",
}

COLUMNS_HEIGHT = 240
"""Pixels of the table of columns, which scrolls."""


class ExplainSheet(Sheet):
    """First of all the verdict; then every step with its numbers, or every column of the alignment of a pair.

    Parameters
    ----------
    name : str
        Of the sequence.
    of_pair : bool
        Whether it is compared with another sequence, not with a profile.
    """

    resized = Signal()
    locate_asked = Signal()

    def __init__(self, name: str, of_pair: bool = False) -> None:
        super().__init__(f"Explain {name}", 640)
        self.value: dict[str, Any] = {}
        self._of_pair = of_pair
        self.show_waiting()
        self.copy_button = button("Copy as text", self.copy)
        self.copy_button.setEnabled(False)
        close = button("Close", self.close_sheet, "primary")
        self.foot.addLayout(row(None, self.copy_button, close))
        self.setFocusProxy(close)

    def show_waiting(self) -> None:
        """Say that it is being computed."""
        clear_layout(self.body)
        self.body.addWidget(label(WAIT_WORDS[self._of_pair], "muted"))
        self.body.addStretch(1)

    def show_explanation(self, value: dict[str, Any]) -> None:
        """Show what became of the sequence."""
        self.value = value
        clear_layout(self.body)
        verdict = label(value["verdict"], "heading", wrap=True, selectable=True)
        if is_pair(value):
            what, columns, sums = pair_parts(value)
            for part in (verdict, _mono(what), _scrolling(columns), _mono(sums)):
                self.body.addWidget(part)
        else:
            self.body.addWidget(label(explanation_title(value), "muted", wrap=True))
            self.body.addWidget(verdict)
            for step in value["steps"]:
                self.body.addWidget(line())
                self.body.addWidget(step_card(step))
        self.body.addStretch(1)
        self.copy_button.setEnabled(True)
        self.resized.emit()

    def show_problem(self, message: str, hint: str) -> None:
        """Say why there is no explanation; where a file is missed, with a button that asks for it."""
        clear_layout(self.body)
        text = f"{message} {hint}".strip()
        ways = [button(LOCATE_TITLE, self.locate_asked.emit)] if can_be_located(text) else []
        self.body.addWidget(notice_row("stop", without_ways(text), *ways))
        self.body.addStretch(1)
        self.resized.emit()

    def copy(self) -> None:
        """Copy the explanation as text."""
        if self.value:
            QGuiApplication.clipboard().setText(explanation_text(self.value))


def _mono(text: str) -> QLabel:
    made = label(text, wrap=True, selectable=True)
    made.setFont(theme.mono_font(9))
    return made


def _scrolling(text: str) -> QPlainTextEdit:
    """Return the columns, of which there may be thousands."""
    made = QPlainTextEdit(text)
    made.setReadOnly(True)
    made.setFont(theme.mono_font(9))
    made.setFixedHeight(COLUMNS_HEIGHT)
    made.setTabChangesFocus(True)
    made.setAccessibleName("Columns of the alignment with their scores")
    return made


def step_card(step: dict[str, Any]) -> QWidget:
    """Return the widgets of one step."""
    made = QWidget()
    grid = QGridLayout(made)
    grid.setContentsMargins(0, 2, 0, 2)
    grid.setHorizontalSpacing(10)
    grid.setVerticalSpacing(2)
    grid.setColumnStretch(1, 1)
    grid.addWidget(IconLabel(*theme.MARKS[step_mark(step)]), 0, 0)
    result = step_result(step)
    quiet = "" if step["ran"] else "muted"
    name = label(f"{step['label']}: {result}" if result else step["label"], quiet, wrap=True)
    font = name.font()
    font.setBold(step["ran"])
    name.setFont(font)
    grid.addWidget(name, 0, 1)
    for place, (text, role) in enumerate(((step_numbers(step), quiet), (step_note(step), "muted")), 1):
        if text:
            grid.addWidget(label(text, role, wrap=True, selectable=True), place, 1)
    return made


class NameSheet(Sheet):
    """Asks which sequence is to be explained."""

    name_given = Signal(str)

    def __init__(self, of_pair: bool = False) -> None:
        super().__init__("Explain one sequence", 480)
        self.name = QLineEdit()
        self.name.setPlaceholderText("Name, the first word of its header")
        self.name.setAccessibleName("Name of the sequence")
        self.go = button("Explain", self._give, "primary")
        self.body.addWidget(label(ASK_WORDS[of_pair], "muted", wrap=True))
        self.body.addWidget(self.name)
        self.body.addStretch(1)
        self.foot.addLayout(row(None, button("Cancel", self.close_sheet), self.go))
        self.setFocusProxy(self.name)
        self.name.textChanged.connect(lambda: self._judge())
        self._judge()

    def _judge(self) -> None:
        empty = not self.name.text().strip()
        self.go.setEnabled(not empty)
        self.go.setToolTip("Type a name first." if empty else "")

    def _give(self) -> None:
        self.name_given.emit(self.name.text().strip())
