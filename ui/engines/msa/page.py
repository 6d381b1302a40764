"""The results of an alignment: rows colored by confidence, annealing, pairs of sequences."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from ...models.results.result_tabs import TABS
from ...views.alignment.rows_page import RowsPanel
from ...views.results.results_page import ResultsPage
from ...views.widgets.parts import EmptyPanel, IconButton, Surface, one_of, stacked
from .annealing_bar import AnnealingBar
from .pair_view import PairView
from .run_view import AlignedRunView

PAIRS_LATER = "Any two sequences are shown here with their probabilities once the alignment is finished."


class AlignedPage(ResultsPage):
    """Shows an `AlignedRunView`."""

    TABS: ClassVar[dict[str, str]] = {"aligned": TABS["aligned"], "pairs": "Pairs of sequences"}
    PARTS: ClassVar[dict[str, dict[str, str]]] = {}

    panel_made = Signal(object)
    export_requested = Signal()

    run: AlignedRunView

    def __init__(self, run: AlignedRunView) -> None:
        self._panel: RowsPanel | None = None
        self._words = ""
        super().__init__(run)

    def _parts(self) -> dict[str, QWidget]:
        self._nothing = EmptyPanel("format-align-justify", "", "")
        self.bar = AnnealingBar(self.run)
        self.bar.hide()
        self.bar.played.connect(self._show_whole)
        tip = "How the alignment was made, merge by merge: play it, or choose another gap factor"
        self._annealing = IconButton("play-box-outline", tip, lambda: None, "Annealing")
        self._annealing.setCheckable(True)
        self._annealing.toggled.connect(lambda shown: self.bar.setVisible(shown and self._panel is not None))
        self._rows, aligned = one_of(self._nothing), Surface()
        aligned.setLayout(stacked(self.bar, (self._rows, 1), spacing=0))
        self.pairs = PairView(self.run)
        return {"aligned": aligned, "pairs": self.pairs}

    def _connect(self) -> None:
        run = self.run
        run.facts_changed.connect(self.show_facts)
        run.shown_changed.connect(self._show_rows)
        run.aligned_changed.connect(self._show_finished)
        run.measures_found.connect(self._offer_measures)

    @property
    def rows_panel(self) -> RowsPanel | None:
        panel = self._panel
        return panel if panel is not None and panel.isEnabled() else None

    def close_parts(self) -> None:
        if self._panel is not None:
            self._panel.close_view()

    @property
    def rows_run(self) -> str:
        """The run, if its finished alignment is in view."""
        run = self.run
        is_kept = run.aligned is not None and run.is_step_shown and run.step == run.aligned.last_step
        return str(run.path) if is_kept else ""

    @property
    def step_words(self) -> str:
        return self.run.step_words

    @property
    def has_all_pairs(self) -> bool:
        """Whether all pairs of the sequences were compared."""
        run = self.run.aligned
        return run is not None and len(run.posteriors) == len(run.given) * (len(run.given) - 1) // 2

    def show_tab(self, name: str) -> None:
        self.tabs.setCurrentIndex(list(self.TABS).index(name))
        panel = self._panel
        (panel if name == "aligned" and panel is not None else self.part_widgets[name]).setFocus()

    def _show_rows(self) -> None:
        if self._panel is None and self.run.rows is not None:
            self._panel = panel = RowsPanel(self.run.rows)
            panel.head.addWidget(self._annealing)
            panel.setEnabled(False)
            self._rows.addWidget(panel)
            if self.run.aligned is None:
                panel.fit()
            self.panel_made.emit(panel)
            self.show_counts()
        if self._panel is not None and self.run.has_columns and not self._panel.isEnabled():
            self._panel.setEnabled(True)
            self.show_counts()

    def _show_whole(self) -> None:
        """Show the whole alignment, in which merges are seen."""
        if self._panel is not None:
            self._panel.fit()

    def _show_finished(self) -> None:
        if self._panel is not None and self._panel.canvas.is_whole:  # as it was shown while it was made
            self._panel.canvas.zoom(0)
            self._panel.canvas.show_middle(0.0, 0.0)
            self._annealing.setChecked(False)
        self.show_counts()

    def _offer_measures(self) -> None:
        if self._panel is not None:
            self._panel.offer_schemes()

    def show_facts(self) -> None:
        super().show_facts()
        self.queries.hide()
        self._tools[0].hide()  # there are no hits to be verified

    def ask_export(self) -> None:
        """Ask for the sheet that writes the alignment, its merges, or the probabilities of pairs."""
        self.export_requested.emit()

    def show_counts(self) -> None:
        run = self.run
        is_readable = bool(run.cards) and not run.refusal
        self.summary.setText(run.summary() if is_readable else str(run.path) if run.refusal else "")
        self.statistics.hide()
        self.reset_button.hide()
        export = self._tools[1]
        export.setEnabled(run.is_complete)
        export.setToolTip("Write the alignment to a file" if run.is_complete else run.empty_words()[1])
        self._show_emptiness()
        if run.aligned is None and run.progress:  # it is being made
            self._annealing.setChecked(True)

    def show_progress(self, words: str, is_compiling: bool = False) -> None:
        self._words = words
        super().show_progress(words, is_compiling)

    def _show_emptiness(self) -> None:
        """Show how far the job is where something will be seen."""
        heading, text = self.run.empty_words()
        heading = self._words if self.run.is_live and self._words else heading
        self._nothing.show_text(heading, text)
        has_rows = self._panel is not None and (self.run.is_live or self._panel.isEnabled())
        self._rows.setCurrentIndex(1 if has_rows else 0)
        self.pairs.empty.show_text(heading, PAIRS_LATER if self.run.is_live else text)

    def show_histogram(self) -> None:
        """Do nothing: hits have no scores here."""

    def step_hit(self, step: int) -> None:
        """Do nothing: there are no hits."""
