"""The hits of a query as one multiple alignment, in the viewer of alignments."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCheckBox, QStackedWidget, QWidget

from ..models.rows_view import RowsView
from ..models.run_view import RunView
from .one_at_a_time import OneAtATime
from .parts import ElidedLabel, row, stacked
from .rows_page import RowsPanel
from .wait_sign import WaitSign


class AlignedHits(QWidget):
    """Asks for the alignment when it is looked at, and shows it."""

    asked = Signal(bool)
    """Whether only significant hits are wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.panel: RowsPanel | None = None
        self._is_old = True
        self.significant = QCheckBox("Significant only")
        self.significant.setChecked(True)
        self.significant.toggled.connect(lambda _: self.ask())
        self.words = ElidedLabel("", "muted")
        self.empty = OneAtATime("format-align-justify")
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self.waiting = WaitSign("Aligning the hits")
        top = row((self.words, 1), self.waiting, self.significant, margins=(12, 6, 12, 2))
        self.setLayout(stacked(top, (self._stack, 1), spacing=0))
        self.say("All hits aligned", "They appear here as soon as there are hits.")

    def ask(self) -> None:
        """Ask anew, now or when somebody looks."""
        self._is_old = True
        if self.isVisible():
            self._is_old = False
            self.asked.emit(self.significant.isChecked())

    def forget(self) -> None:
        """Ask again when somebody looks the next time."""
        self._is_old = True

    def showEvent(self, event: QShowEvent) -> None:
        """Ask, if anything may have changed."""
        super().showEvent(event)
        if self._is_old:
            self.ask()

    def say(self, heading: str, text: str, too_many: RunView | None = None) -> None:
        """Say why there is nothing; if a run shows too many queries, offer one."""
        self.empty.offer(too_many)
        self.words.setText("")
        self.empty.say(heading, text)
        self._stack.setCurrentWidget(self.empty)

    def show_rows(self, view: RowsView, words: str) -> RowsPanel:
        """Show an alignment in place of the last one."""
        self.close_view()
        self.panel = panel = RowsPanel(view)
        self._stack.addWidget(panel)
        self._stack.setCurrentWidget(panel)
        self.words.setText(words)
        self.setFocusProxy(panel)
        return panel

    def close_view(self) -> None:
        """Let the alignment go."""
        if self.panel is not None:
            self.panel.close_view()
            self._stack.removeWidget(self.panel)
            self.panel.deleteLater()
            self.panel.view.deleteLater()
            self.panel = None
