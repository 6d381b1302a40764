"""The run of an alignment in the window: after any step, with its accuracy, beside another alignment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QObject, Signal

from clalign.engines.msa.reliability import MEASURES
from clalign.engines.msa.spec import AlignmentSpec
from clalign.values.documents import JobResult
from clalign.values.multiple_alignments import MultipleAlignment
from clalign.values.row_alignments import RowAlignment

from ... import formatting
from ...models.alignment.row_colors import CellValues
from ...models.alignment.rows_view import RowsView
from ...models.reader import Reader
from ...models.results.run_view import RunView
from .run_data import ACCURACY_TAG, MEASURE_NAMES, AlignedRun, Judged, Values, judged, live_rows, read_aligned_run


class AlignedRunView(RunView):
    """The alignment of a run after a chosen step."""

    aligned_changed = Signal()
    """The run was read."""

    shown_changed = Signal()
    """The alignment after another step is shown."""

    judged_changed = Signal()

    measures_found = Signal()
    """There are measures to color by for the first time."""

    noun, nouns = "Step", "Steps"
    looks_for_hits = False
    spec: AlignmentSpec | None

    def __init__(self, path: Path, reader: Reader, parent: QObject | None = None) -> None:
        super().__init__(path, reader, parent)
        self.aligned: AlignedRun | None = None
        self.shown: MultipleAlignment | None = None
        self.rows: RowsView | None = None
        self.step = self._shown_step = 0
        self.judged: Judged | None = None
        self.stored: JobResult = {}
        self.progress: JobResult = {}
        self._work, self._judging = Reader(self), Reader(self)

    # --- the run ---

    def _read_facts(self) -> None:
        super()._read_facts()
        if self.is_complete and not self.stored and self._run is not None:
            alignments = self._run.alignments()
            if alignments:
                self.stored = dict(alignments[0].facts)
                path = self.path
                self._work.ask_slowly("run", lambda context: read_aligned_run(path, context), self._take_run)
        elif self.is_live and self.rows is None and self.facts.get("database"):
            self.watch({})

    def _read_histogram(self) -> None:
        """Do nothing: the scores of pairs are likelihoods, by which nobody chooses."""

    def _take_run(self, answer: AlignedRun | Exception) -> None:
        if isinstance(answer, Exception):
            self.problem_found.emit(formatting.error_text(answer, "The alignment could not be read"))
            return
        self.aligned, self.step = answer, answer.last_step
        self._take_step(answer.last_step, answer.final)
        self.aligned_changed.emit()
        self.hit_changed.emit()  # what stands beside the page is known now

    def close(self) -> None:
        self._work.close()
        self._judging.close()
        if self.rows is not None:
            self.rows.close()
        super().close()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is computed."""
        return self._work.is_idle and self._judging.is_idle and (self.rows is None or self.rows.is_idle)

    # --- steps ---

    def go_to(self, step: int) -> None:
        """Show the alignment after some merges."""
        run = self.aligned
        if run is None:
            return
        self.step = min(max(step, 0), run.last_step)
        wanted = self.step
        self._work.ask("step", lambda: (wanted, run.at(wanted)), lambda answer: self._take_answer(answer))

    def _take_answer(self, answer: tuple[int, MultipleAlignment] | Exception) -> None:
        if isinstance(answer, Exception):
            self.problem_found.emit(formatting.error_text(answer, "The step could not be shown"))
        else:
            self._take_step(*answer)

    def _take_step(self, step: int, alignment: MultipleAlignment) -> None:
        run = self.aligned
        assert run is not None
        self.shown, self.judged, self._shown_step = alignment, None, step
        self._show(run.rows(alignment)).has_values = False
        self.shown_changed.emit()
        self._judging.ask("judged", lambda: (alignment, judged(run, alignment)), self._take_judged)

    def _show(self, alignment: RowAlignment) -> RowsView:
        # A line for what is known later: no row moves then.
        alignment.notes.columns.setdefault(ACCURACY_TAG, b"." * alignment.n_columns)
        if self.rows is None:
            self.rows = RowsView(alignment, self)
            if self.has_columns:
                self.rows.begin()
        else:
            self.rows.show(alignment)
        return self.rows

    def watch(self, progress: JobResult) -> None:
        """Show the columns of a running alignment; at first the sequences."""
        if self.aligned is None and not self.stored:
            path = self.path
            self._work.ask("live", lambda: (progress, live_rows(path, progress)), self._take_live)

    def _take_live(self, answer: tuple[JobResult, RowAlignment] | Exception) -> None:
        if isinstance(answer, Exception) or self.aligned is not None:
            return  # the run is written meanwhile; the next event or its end shows more
        self.progress, rows = answer
        self._show(rows)
        self.shown_changed.emit()

    @property
    def has_columns(self) -> bool:
        """Whether something is aligned."""
        return self.aligned is not None or bool(self.progress)

    @property
    def is_step_shown(self) -> bool:
        """Whether the requested step is in view."""
        return self._shown_step == self.step

    @property
    def step_words(self) -> str:
        """Which step is in view; empty for the finished alignment."""
        last, shown = (0, 0) if self.aligned is None else (self.aligned.last_step, self._shown_step)
        return f"step {formatting.count(shown)} of {formatting.count(last)}" if shown < last else ""

    def _values_of(self, name: str) -> CellValues:
        def values(rows: npt.NDArray[np.int64], columns: npt.NDArray[np.int64]) -> Values:
            if self.judged is None:
                return np.full((len(rows), len(columns)), np.nan, np.float32)
            return self.judged.characters[name][np.ix_(rows, columns)]

        return values

    def _take_judged(self, answer: tuple[MultipleAlignment, Judged] | Exception) -> None:
        if isinstance(answer, Exception):
            self.problem_found.emit(formatting.error_text(answer, "The measures could not be computed"))
            return
        if answer[0] is self.shown and self.rows is not None:
            self.judged, self.rows.has_values = answer[1], True
            if MEASURE_NAMES[MEASURES[0]] not in self.rows.values:  # until now there was nothing to be colored by
                for name, title in MEASURE_NAMES.items():
                    self.rows.set_values(title, self._values_of(name))
                self.measures_found.emit()
            self.rows.alignment.notes.columns[ACCURACY_TAG] = answer[1].digits
            self.rows.changed.emit()
            self.rows.order_changed.emit()
            self.judged_changed.emit()

    # --- words ---

    @property
    def title(self) -> str:
        """The run's own name, or its files, and its options if they are unusual, as in the library."""
        if self.spec is None or self.facts.get("name"):
            return super().title
        factor = self.spec.used_gap_factor
        more = f", gap factor {factor:g}" if factor != AlignmentSpec(("",)).gap_factor else ""
        return f"{super().title}{more}"

    def no_histogram_words(self) -> tuple[str, str] | None:
        return "No histogram", "An alignment has no scores of hits."

    def empty_words(self) -> tuple[str, str]:
        if self.is_complete:
            return "Reading the alignment", "Its posterior probabilities are being read."
        if self.is_live:
            return "Aligning", "The alignment appears here once all pairs are compared and columns are merged."
        return "No alignment yet", "The run ended early. Continue it to compare the remaining pairs."

    def summary(self) -> str:
        found = (self.facts.get("database") or {}).get("n_sequences")
        parts = [formatting.plural(found, "sequence")] if found else []
        if self.stored:
            parts.append(formatting.plural(self.stored["n_columns"], "column"))
            parts.append(f"expected accuracy {self.stored['accuracy']:.3f}")
            parts.append(f"gap factor {self.stored['gap_factor']:g}")
        elif self.is_live and not self.has_columns:
            parts.append("not aligned yet")
        finished = self.facts.get("finished")
        if self.is_complete and finished:
            parts.append(self._all_done(finished))
        return " · ".join(parts)

    def scoring_rows(self) -> list[tuple[str, str]]:
        names = {"accuracy": "Expected accuracy", "n_columns": "Columns", "n_merges": "Merges of columns",
                 "n_sweeps": "Sweeps of refinement", "gap_factor": "Gap factor"}  # fmt: skip
        known = {text: self.stored[key] for key, text in names.items() if key in self.stored}
        return [
            (text, f"{value:.3f}" if text == names["accuracy"] else _number(value)) for text, value in known.items()
        ]


def _number(value: float) -> str:
    return formatting.count(value) if isinstance(value, int) else f"{value:.4g}"
