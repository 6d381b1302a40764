"""The right dock: the card of what is selected, a hit or a file."""

from __future__ import annotations

from PySide6.QtWidgets import QStackedWidget

from ..models.run_view import RunView
from ..models.workspace import Source, Workspace
from .hit_card import HitCard
from .source_card import SourceCard


class Details(QStackedWidget):
    """Follows the selection."""

    def __init__(self) -> None:
        super().__init__()
        self.source = SourceCard()
        self.hit = HitCard(tools=False)
        self.hit.alignment.points = 8
        self.hit.alignment.zoom(-1)
        self.addWidget(self.source)
        self.addWidget(self.hit)
        self.source.show_source(None)

    def show_source(self, source: Source | None) -> None:
        """Show a file."""
        self.source.show_source(source)
        self.setCurrentWidget(self.source)

    def show_run(self, run: RunView | None) -> None:
        """Show the chosen hit of a run."""
        if run is not self.hit.run:
            self.hit.show_run(run)
        if run is not None:
            self.setCurrentWidget(self.hit)
        elif self.currentWidget() is self.hit:
            self.show_source(None)

    def renew(self, workspace: Workspace) -> None:
        """Show what is now known about the file shown."""
        shown = self.source.source
        if shown is not None:
            self.source.show_source(workspace.sources.get(shown.path))
