"""The card of the selected file, or of a row of a laboratory, below the opened files."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget, QWidget

from ..models.workspace import Source, Workspace
from .source_card import SourceCard
from .widgets.facts import facts_grid, heading
from .widgets.parts import ScrolledCard, clear_layout, label


class FactsCard(ScrolledCard):
    """A heading, a text, and names with values."""

    def show_facts(self, title: str, rows: list[tuple[str, str]], text: str) -> None:
        """Show other facts."""
        clear_layout(self.box)
        self.box.addWidget(heading(title))
        if text:
            self.box.addWidget(label(text, "muted", wrap=True))
        self.box.addWidget(facts_grid(rows))
        self.box.addStretch(1)


MIN_WIDTH = 296
"""Pixels; less would cut the buttons of a card off."""


class Details(QStackedWidget):
    """Shows the selection; hidden without one."""

    def __init__(self) -> None:
        super().__init__()
        self.source = SourceCard()
        self.addWidget(self.source)
        self.facts = FactsCard()
        self.addWidget(self.facts)
        self.setMinimumWidth(MIN_WIDTH)
        self.source.show_source(None)
        self.hide()

    def show_source(self, source: Source | None) -> None:
        """Show a file."""
        self.source.show_source(source)
        self._show_card(self.source, source is not None)

    def _show_card(self, card: QWidget, has_selection: bool = True) -> None:
        self.setCurrentWidget(card)
        self.setVisible(has_selection)

    def show_facts(self, title: str, rows: list[tuple[str, str]], text: str) -> None:
        """Show a heading, facts and a text."""
        self.facts.show_facts(title, rows, text)
        self._show_card(self.facts)

    @property
    def shows_facts(self) -> bool:
        """Whether the facts of `show_facts` are in view."""
        return self.currentWidget() is self.facts

    def renew(self, workspace: Workspace) -> None:
        """Update the facts about the file in view."""
        shown = self.source.source
        if shown is not None:
            self.source.show_source(workspace.sources.get(shown.path))
            if self.currentWidget() is self.source:
                self._show_card(self.source, self.source.source is not None)
