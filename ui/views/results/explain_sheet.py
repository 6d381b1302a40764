"""The sheet that explains why a sequence was found or missed."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from clalign.engines.engine import Engine
from clalign.values.documents import Explanation

from ... import theme
from ...models.results.missing_files import LOCATE_TITLE, can_be_located, without_ways
from ..widgets.parts import button, clear_layout, label, notice_row, row
from ..widgets.sheet import Sheet


class ExplainSheet(Sheet):
    """Shows the verdict, and then its reasons.

    Parameters
    ----------
    name : str
        Of the sequence.
    engine : Engine
    """

    ASK_WORDS = "Shows the parts of its score, and why it is reported or not."
    WAIT_WORDS = "Computing it again…"

    locate_requested = Signal()

    def __init__(self, name: str, engine: Engine) -> None:
        super().__init__(f"Explain {name}", 640)
        self.value: Explanation = {}
        self._engine = engine
        self.show_waiting()
        self.copy_button = button("Copy as text", self.copy)
        self.copy_button.setEnabled(False)
        close = button("Close", self.close_sheet, "primary")
        self.foot.addLayout(row(None, self.copy_button, close))
        self.setFocusProxy(close)

    def show_waiting(self) -> None:
        """Show that the explanation is being computed."""
        clear_layout(self.body)
        self.body.addWidget(label(self.WAIT_WORDS, "muted"))
        self.body.addStretch(1)

    def show_explanation(self, value: Explanation) -> None:
        """Show an explanation."""
        self.value = value
        clear_layout(self.body)
        for part in self.parts(value, label(value["verdict"], "heading", wrap=True, selectable=True)):
            self.body.addWidget(part)
        self.body.addStretch(1)
        self.copy_button.setEnabled(True)
        self.resized.emit()

    def parts(self, value: Explanation, verdict: QWidget) -> list[QWidget]:
        """Return the widgets of an explanation, from the top."""
        return [verdict, mono_label("\n".join(self._engine.explanation_lines(value)))]

    def text(self, value: Explanation) -> str:
        """Return the whole explanation as plain text."""
        return "\n".join([*self._engine.explanation_lines(value), ""])

    def show_problem(self, message: str, hint: str) -> None:
        """Show why there is no explanation, with a button to locate a missing file."""
        clear_layout(self.body)
        text = f"{message} {hint}".strip()
        ways = [button(LOCATE_TITLE, self.locate_requested.emit)] if can_be_located(text) else []
        self.body.addWidget(notice_row("stop", without_ways(text), *ways))
        self.body.addStretch(1)
        self.resized.emit()

    def copy(self) -> None:
        """Copy the explanation as text."""
        if self.value:
            QGuiApplication.clipboard().setText(self.text(self.value))


def mono_label(text: str) -> QLabel:
    """Return a label in the fixed-width font."""
    made = label(text, wrap=True, selectable=True)
    made.setFont(theme.mono_font(9))
    return made


class NameSheet(Sheet):
    """Asks for the name of the sequence to explain."""

    name_given = Signal(str)

    def __init__(self, text: str) -> None:
        super().__init__("Explain one sequence", 480)
        self.name = QLineEdit()
        self.name.setPlaceholderText("Name, the first word of its header")
        self.name.setAccessibleName("Name of the sequence")
        self.go = button("Explain", lambda: self.name_given.emit(self.name.text().strip()), "primary")
        self.body.addWidget(label(text, "muted", wrap=True))
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
