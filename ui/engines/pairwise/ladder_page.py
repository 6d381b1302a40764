"""The ladder of Smith-Waterman: many pairs, aligned on one core and in every published way on the user's device."""

from __future__ import annotations

from typing import Any

from PySide6.QtWidgets import QLineEdit

from ... import formatting
from ...models.rungs import usual_pairs
from ...models.workspace import Workspace
from ...views.lab_page import whole_number
from ...views.parts import row
from ...views.rung_page import RungPage
from .ladder import PairLadderView

MOST_PAIRS, MOST_LENGTH = 100_000, 10_000


class PairLadderPage(RungPage):
    """Shows a `PairLadderView`.

    Parameters
    ----------
    ladder : PairLadderView
    workspace : Workspace
    """

    wrong_text = "not every alignment is that of the other rungs."

    def __init__(self, ladder: PairLadderView, workspace: Workspace) -> None:
        super().__init__("smith_waterman_ladder", ladder, workspace)
        self.pairs, self.length = (QLineEdit(formatting.count(number)) for number in usual_pairs())
        self.add_field("Pairs", self.pairs, 1)
        self.add_field("Nucleotides", self.length, 1, 1)
        for field in (self.pairs, self.length):
            field.textChanged.connect(lambda: self._show_running())
        self.length.setToolTip("Of each sequence")
        self.setup.addLayout(row(None, self.stop_button, self.run_button), 1, 4)
        self.box.addWidget(self.rungs_and_chart(), 1)
        self.show_workspace()
        self.show_ladder()

    def sizes(self) -> tuple[int, int]:
        """Return the pairs and the length of their sequences; 0 for what makes no sense."""
        return whole_number(self.pairs, MOST_PAIRS), whole_number(self.length, MOST_LENGTH)

    def _reason(self) -> str:
        pairs, length = self.sizes()
        if not pairs:
            return f"Give a number of pairs from 1 to {formatting.count(MOST_PAIRS)}."
        if not length:
            return f"Give a number of nucleotides from 1 to {formatting.count(MOST_LENGTH)}."
        return super()._reason()

    def request(self) -> dict[str, Any]:
        """Return what the job is told beside the device."""
        pairs, length = self.sizes()
        return {"pairs": pairs, "length": length, "variants": self.ladder.wanted()}
