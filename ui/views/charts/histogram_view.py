"""The score histogram with its legend, description, and buttons to show more or less."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QPushButton

from ...models.charts.histogram import Histogram
from ..widgets.parts import ElidedLabel, Surface, button, label, row, stacked
from .histogram_plot import ScorePlot
from .legend import Legend


class HistogramView(Surface):
    """Plot, legend, and description.

    Parameters
    ----------
    compact : bool
        As a strip above the table, without the legend and the choice of scores.
    """

    threshold_moved = Signal(str, float)
    kind_chosen = Signal(str)
    bar_clicked = Signal(float, float)

    def __init__(self, compact: bool) -> None:
        super().__init__()
        self._is_compact = compact
        self.plot = ScorePlot(titled=not compact)
        self.kinds = QComboBox()
        self.kinds.setAccessibleName("Scores in the histogram")
        self.kinds.activated.connect(lambda: self.kind_chosen.emit(self.kinds.currentData()))
        self.kinds.hide()
        self.legend, self.sentence = Legend(), label("", "muted", wrap=True)
        self._nothing = label("", "muted", wrap=True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.hide()
        self.bar_words, self._axis_words = ElidedLabel(" ", "muted"), label("", "muted")
        self.further = self._link("", self.plot.show_every, "Show all scores (End)")
        self.back = self._link("Back to the first view", self.plot.show_all, "Show the thresholds again (Home)")
        top, below = row((self.legend, 1)), row((self.bar_words, 1), self._axis_words, self.further, self.back)
        top.addWidget(self.kinds, 0, Qt.AlignmentFlag.AlignTop)
        parts = (top, (self.plot, 1), (self._nothing, 1), below, self.sentence)
        self.setLayout(stacked(*parts, margins=(8, 0 if compact else 4, 8, 0 if compact else 4), spacing=2))
        self._axis_words.setVisible(compact)
        self.legend.setVisible(not compact)
        self.sentence.setVisible(not compact)
        self._words = self._axis_words if compact else self.sentence
        self.plot.threshold_moved.connect(self.threshold_moved)
        self.plot.bar_clicked.connect(self.bar_clicked)
        self.plot.bar_hovered.connect(self.show_bar_words)
        self.plot.zoomed.connect(self._show_ways)
        self.plot.drawn.connect(self._show_legend)

    def _link(self, text: str, call: Callable[[], object], tip: str) -> QPushButton:
        made = button(text, call, "link", tip)
        made.hide()
        return made

    def _show_ways(self) -> None:
        """Offer scores that are out of view."""
        data = self.plot.data
        has_bars = data is not None and len(data.counts) > 0
        words = data.further_words() if data is not None else ""
        self.further.setText("Show all" if self._is_compact else words)
        self.further.setToolTip(f"{words} (End)")
        self.further.setVisible(bool(words) and not self.plot.is_zoomed)
        self.back.setVisible(self.plot.is_zoomed and has_bars)

    def show_histogram(self, data: Histogram, sentence: str, why: str = "") -> None:
        """Show another histogram with its description, or `nothing` in place of its own text for no bars."""
        self.plot.show_histogram(data)
        has_bars = len(data.counts) > 0
        self._nothing.setText(why or data.nothing_words)
        self._nothing.setHidden(has_bars)
        for part in (self.plot, self._words):
            part.setVisible(has_bars)
        self._axis_words.setText(data.axis)
        self.kinds.setVisible(bool(data.kinds) and not self._is_compact)
        for kind, text in data.kinds.items() if not self.kinds.count() else ():
            self.kinds.addItem(text, kind)
        self.kinds.setCurrentIndex(self.kinds.findData(data.kind))
        self.kinds.setToolTip(sentence)
        self.sentence.setText(sentence)
        self._show_ways()

    def _show_legend(self) -> None:
        """Show the meaning of bars and curves."""
        data = self.plot.data
        if data is None or not len(data.counts):
            self.legend.show_entries([])
            return
        curves = [entry for entry in data.legend() if self.plot.has_drawn(entry[0])]
        self.legend.show_entries([("bars", data.bars_words()), *curves])

    def show_bar_words(self, text: str) -> None:
        """Show a text about the bar under the pointer, or the clicked one."""
        self.bar_words.setText(text or " ")
