"""What stands where only one profile or query can be shown, while all are in view."""

from __future__ import annotations

from ..models.run_view import RunView
from .parts import EmptyPanel, button


class OneAtATime(EmptyPanel):
    """Says so, and offers that of the chosen hit, or else the first with hits.

    It is also for other reasons why there is nothing.

    Parameters
    ----------
    icon : str
    """

    def __init__(self, icon: str) -> None:
        self._run: RunView | None = None
        self.one = button("Show one with hits", self._show_one, "primary")
        self.one.setToolTip("That of the selected hit, or else the first that has hits")
        super().__init__(icon, "", "", self.one)
        self.one.hide()

    def offer(self, run: RunView | None) -> None:
        """Offer one query of a run, or none."""
        self._run = run
        self.one.setVisible(run is not None)

    def _show_one(self) -> None:
        if self._run is not None:
            self._run.show_one()
