"""A text in place of results of one profile or query while all are in view."""

from __future__ import annotations

from ...models.results.run_view import RunView
from ..widgets.parts import EmptyPanel, button


class OneAtATime(EmptyPanel):
    """Offers the query of the chosen hit, or the first with hits; also shows other reasons for a missing result."""

    def __init__(self, icon: str) -> None:
        self._run: RunView | None = None
        self.one = button("Show one with hits", self._show_one, "primary")
        self.one.setToolTip("That of the selected hit, or the first with hits")
        super().__init__(icon, "", "", self.one)
        self.offer(None)

    def offer(self, run: RunView | None) -> None:
        """Offer a query of a run, or none."""
        self._run = run
        self.one.setVisible(run is not None)

    def _show_one(self) -> None:
        if self._run is not None:
            self._run.show_one()
