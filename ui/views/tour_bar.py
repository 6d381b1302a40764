"""The tour: a bar above the page with one step after the other."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame

from .widgets.parts import IconButton, IconLabel, button, label, row


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the tour.

    Attributes
    ----------
    text : str
    command : str
        The id of the command that shows it; empty for the first example.
    shows : str
        Words of its button.
    """

    text: str
    command: str
    shows: str


STEPS = (
    Step("An example has a profile and sequences, which fill the search form in.", "", "Open the example"),
    Step("Enter, or this button, starts it. The strip at the bottom shows its progress, and can stop it.",
         "search.run", "Run the search"),
    Step("The best hits are on top. The E-value is the number that chance alone would give. Type E<1e-5, or a word.",
         "hits.filter_hits", "Go to the filter"),
    Step("Bars are sequences, the curve is chance. Drag the line: counts and table follow.",
         "show_tab:hits", "Show the histogram"),
    Step("A hit beside its profile, column by column, with the confidence of each column.",
         "page.show_alignment", "Show the alignment"),
    Step("The parts of the score of a sequence, also of one that was missed.",
         "explanations.explain_hit", "Explain this hit"),
    Step("A sample of hits is computed again on the plain reference, and every number compared.",
         "hits.verify_run", "Verify"),
    Step("The run is kept: name it, compare it with another one, or continue it tomorrow.",
         "library.show", "Open the library"),
)  # fmt: skip


class TourBar(QFrame):
    """Leads through the steps; it can be closed at any time."""

    show_requested = Signal(str)
    """The id of the command of a step."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "message")
        self.setAccessibleName("Tour")
        self.place = 0
        self._count = label("", "muted")
        self._text = label("", wrap=True)
        self._text.setMinimumWidth(1)
        self.show_button = button("", lambda: self.show_requested.emit(STEPS[self.place].command), "primary")
        self.back = button("Back", lambda: self.go(self.place - 1))
        self.next = button("Next", lambda: self.go(self.place + 1))
        leave = IconButton("close", "Leave the tour", self.hide)
        self.setLayout(
            row(
                IconLabel("map-marker-path", "accent"), self._count, (self._text, 1), self.show_button, self.back,
                self.next, leave, margins=(16, 6, 8, 6),
            )
        )  # fmt: skip
        self.hide()

    def begin(self) -> None:
        """Start with the first step."""
        self.go(0)
        self.show()
        self.show_button.setFocus()

    def note_done(self, place: int) -> None:
        """Go on if a step is in view that was just done."""
        if self.isVisible() and self.place == place:
            self.go(place + 1)

    def go(self, place: int) -> None:
        """Show another step; the tour ends after the last one."""
        if place >= len(STEPS):
            self.hide()
            return
        self.place = max(0, place)
        step = STEPS[self.place]
        self._count.setText(f"{self.place + 1} of {len(STEPS)}")
        self._text.setText(step.text)
        self.show_button.setText(step.shows)
        self.back.setEnabled(self.place > 0)
        self.next.setText("Finish" if self.place == len(STEPS) - 1 else "Next")
