"""The bar above the alignment of a run: the steps of its annealing, the gap factor, and the expected accuracy."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QLineEdit, QSlider, QStyle, QStyleOptionSlider, QWidget

from ... import formatting
from ...views.widgets.parts import FactsLabel, IconButton, label, row, set_role, stacked
from .run_data import MEASURE_NAMES, factor_words
from .run_view import AlignedRunView

FACTOR_TIP = "Least gain for merging columns: a larger value keeps only what is certain"

LOWER_TIP = (
    "Merge the columns again with a lower gap factor, in a new run. No pair is compared again: this run has all "
    "probabilities, but only the merges for its gap factor"
)

PLAY_TIP = "Watch the alignment being built"

PLAY_MS = 60

PLAY_STEPS = 150
"""Pictures from the first merge to the last."""


class StepSlider(QSlider):
    """A slider that jumps to a click; Qt's would move by a page."""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        style, handle = self.style(), QStyle.SubControl.SC_SliderHandle
        grip = style.subControlRect(QStyle.ComplexControl.CC_Slider, option, handle, self)
        place = event.position().toPoint()
        if event.button() == Qt.MouseButton.LeftButton and not grip.contains(place):
            free = self.width() - grip.width()
            left = place.x() - grip.width() // 2
            self.setValue(style.sliderValueFromPosition(self.minimum(), self.maximum(), left, free))
        super().mousePressEvent(event)


class AnnealingBar(QWidget):
    """Moves through the merges of a run."""

    played = Signal()
    lower_requested = Signal(float)
    """A gap factor below that of the run, with which its columns are to be merged again."""

    def __init__(self, run: AlignedRunView) -> None:
        super().__init__()
        self._run = run
        self.slider = StepSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Step of the annealing")
        self.slider.setToolTip(
            "Every column begins with one residue; step by step the most certain columns are merged. "
            "The last step is the finished, refined alignment."
        )
        self.factor = QLineEdit()
        self.factor.setMaximumWidth(80)
        self.factor.setAccessibleName("Gap factor")
        self.factor.setToolTip(FACTOR_TIP)
        self.range = label("", "muted")
        self.lower_button = IconButton("arrow-down", LOWER_TIP, lambda: None, "Lower gap factor")
        self._lower_menu = self.lower_button.add_menu()
        self.lower_button.hide()
        self.place = label("", "muted")
        self.words, self.measures = FactsLabel("", "muted"), FactsLabel("", "muted")
        self._timer = QTimer(self, interval=PLAY_MS)
        self._timer.timeout.connect(self._go_on)
        self.play = IconButton("play", PLAY_TIP, self.toggle_play)
        self.ways = (
            IconButton("skip-previous", "To the beginning: every residue has a column", lambda: run.go_to(0)),
            IconButton("step-backward", "One merge back", lambda: run.go_to(run.step - 1)),
            self.play,
            IconButton("step-forward", "One merge on", lambda: run.go_to(run.step + 1)),
            IconButton("skip-next", "To the result: all merges, refined", lambda: run.go_to(self.slider.maximum())),
        )
        self.setLayout(stacked(
            row(*self.ways, (self.slider, 1), self.place, spacing=2),
            row(label("Gap factor", "muted"), self.factor, self.range, self.lower_button, (self.words, 1)),
            self.measures, spacing=2, margins=(8, 6, 8, 2),
        ))  # fmt: skip
        self.slider.valueChanged.connect(self._slide)
        self.factor.editingFinished.connect(self._take_factor)
        run.shown_changed.connect(self.show_step)
        run.judged_changed.connect(self.show_measures)
        self.show_step()

    def _slide(self, step: int) -> None:
        if step != self._run.step:
            self._set_playing(False)
            self._run.go_to(step)
            self._show_step()

    def _take_factor(self) -> None:
        run, text = self._run.aligned, self.factor.text().strip().replace(",", ".")
        if run is None or not self.factor.isModified():
            return
        self.factor.setModified(False)
        try:
            factor = float(text)
        except ValueError:
            factor = -1.0
        if not 0 <= factor < math.inf:
            set_role(self.factor, "state", "wrong")
            self.factor.setToolTip("Enter a number of at least 0, such as 1.5")
            return
        set_role(self.factor, "state", "")
        self.factor.setToolTip(FACTOR_TIP)
        least = self._least
        if factor < least:
            self.lower_requested.emit(factor)
        self._run.go_to(run.last_step if factor <= least else run.found.merges.merges_at(factor))

    def toggle_play(self) -> None:
        """Start or stop the animation of the annealing."""
        run = self._run.aligned
        if self._timer.isActive() or run is None:
            self._set_playing(False)
            return
        if self._run.step >= run.last_step:
            self._run.go_to(0)
        self._set_playing(True)
        self.played.emit()

    def _set_playing(self, is_playing: bool) -> None:
        (self._timer.start if is_playing else self._timer.stop)()
        self.play.show_icon(*(("pause", "Pause") if is_playing else ("play", PLAY_TIP)))

    @property
    def is_playing(self) -> bool:
        """Whether the animation runs."""
        return bool(self._timer.isActive())

    def _go_on(self) -> None:
        run = self._run.aligned
        if run is None or not self.isVisible():
            self._set_playing(False)
        elif self._run.is_step_shown:
            self._run.go_to(self._run.step + max(1, run.n_merges // PLAY_STEPS))
            if self._run.step >= run.last_step:
                self._set_playing(False)

    def show_step(self) -> None:
        """Show the number of the step in view."""
        run = self._run.aligned
        self.setEnabled(run is not None)
        if run is None:
            progress = self._run.progress
            if progress:
                merges, columns = formatting.plural(progress["n_merges"], "merge"), progress["n_columns"]
                self.words.setText(f"Merging: {merges}, {formatting.plural(columns, 'column')} left")
            return
        self.slider.blockSignals(True)
        self.slider.setRange(0, run.last_step)
        self.slider.setPageStep(max(1, run.last_step // 20))
        self.slider.setValue(self._run.step)
        self.slider.blockSignals(False)
        now = run.gap_factor_at(self._run.step)
        if not self.factor.hasFocus() or not self.factor.isModified():
            least = self._least
            shown = least if self._run.step >= run.n_merges else now
            self.factor.setText("" if shown is None else f"{shown:.4g}" if shown < 1000 else f"{shown:.0f}")
        self._show_range()
        self._show_step()
        self.show_measures()

    @property
    def _least(self) -> float:
        """The gap factor of the run, the lowest that its merges know."""
        return float(self._run.stored.get("gap_factor", 0.0))

    def _show_range(self) -> None:
        """Show which gap factors are available at once, and offer lower ones."""
        run, least = self._run.aligned, self._least
        if run is None or self.range.text():
            return
        weights = run.found.merges.weights
        most = float(weights.max()) if len(weights) else least
        self.range.setText(f"from {factor_words(least)} to {factor_words(most)}")
        self.range.setToolTip("Gap factors covered by the merges of this run")
        self.lower_button.setVisible(least > 0)
        for factor in (least / 2, least / 4, 0.0):
            words = f"{factor:.3g}" if factor else "0, the most sensitive"
            self._lower_menu.addAction(f"Gap factor {words}", partial(self.lower_requested.emit, factor))

    def _show_step(self) -> None:
        run, step = self._run.aligned, self._run.step
        if run is None:
            return
        of = f" of {formatting.count(run.last_step)}"
        self.place.setText(f"Step {formatting.count(step)}{of}")
        widest = self.place.fontMetrics().horizontalAdvance(f"Step {formatting.count(run.last_step)}{of} ")
        self.place.setMinimumWidth(widest)  # the slider keeps its length
        if step >= run.last_step:
            sweeps = len(run.found.moves.ends)
            merges, refined = formatting.plural(run.n_merges, "merge"), formatting.plural(sweeps, "sweep")
            words = f"Finished: {merges}, {refined} of refinement"
        else:
            factor = run.gap_factor_at(step)
            words = "Before the first merge" if factor is None else f"Gap factor {factor_words(factor)} at this step"
        shown = self._run.shown
        self.words.setText(words + (f" · {formatting.plural(shown.n_columns, 'column')}" if shown is not None else ""))

    def show_measures(self) -> None:
        """Show the expected accuracy of the alignment in view, and how it compares with another one."""
        parts = []
        if self._run.judged is not None:
            whole = self._run.judged.whole
            shown = {name: "–" if math.isnan(value) else f"{value:.3f}" for name, value in whole.items()}
            parts = [f"{title.lower()} {shown[name]}" for name, title in MEASURE_NAMES.items()]
        waiting = "computing measures…" if self._run.aligned is not None else ""
        self.measures.setText(" · ".join(parts) if parts else waiting)
