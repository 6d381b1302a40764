"""The sheet that calibrates the profiles of a HMMER2 file, and draws the fits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QLineEdit, QProgressBar, QWidget

from clalign.common.escapes import escaped
from clalign.common.plain_data import Json
from clalign.values.charts import FitChart, Point
from clalign.values.documents import JobResult
from clalign.values.evalues import gumbel_density

from ... import formatting, theme
from ...models.workspace import Source, Workspace
from ...views.charts.figure_view import FigureView
from ...views.laboratory.lab_page import fill_devices, whole_number
from ...views.widgets.choices import NarrowBox
from ...views.widgets.option_form import FormLines
from ...views.widgets.parts import button, held, label, notice_row, row, set_role, stacked
from ...views.widgets.sheet import Sheet

AXIS = "score (bits)"


def _bars(histogram: Json) -> tuple[float, float, tuple[int, ...]]:
    return float(histogram["low"]), float(histogram["width"]), tuple(int(n) for n in histogram["counts"])


def fit_chart(fit: Json) -> FitChart:
    """Return the scores of random sequences with the fitted curve."""
    low, width, counts = _bars(fit["histogram"])
    scores = np.linspace(low, low + width * len(counts), 400)
    n_fitted = fit.get("n_fitted", 0) + fit.get("n_censored", 0) or sum(counts)
    expected = gumbel_density(scores, fit["mu"], fit["lambda"]) * n_fitted * width
    curve = tuple(zip(scores.tolist(), expected.tolist(), strict=True))
    edge = fit.get("edge")
    reach = "" if edge is None else f", fitted from {formatting.signed(f'{edge:g}')} bits on"
    bars = "bars", formatting.plural(sum(counts), "random sequence")
    legend = bars, ("calibration", f"extreme value distribution{reach}")
    begin = low if edge is None else float(edge)
    center = formatting.signed(f"mu {fit['mu']:.2f}")
    return FitChart(fit["name"], AXIS, low, width, counts, curve, fit["mu"], center, legend, begin)


def sample_chart(value: JobResult) -> FitChart:
    """Return the scores so far of a running calibration."""
    low, width, counts = _bars(value["histogram"])
    curve: tuple[Point, ...] = ()
    bars = f"{formatting.count(value['done'])} of {formatting.plural(value['n'], 'random sequence')}"
    return FitChart(value["profile"], AXIS, low, width, counts, curve, None, "", (("bars", bars),))


def fit_words(fit: Json) -> str:
    """Return a description of a fit."""
    seed = f", seed {fit['seed']}" if fit.get("seed") is not None else ""
    curve = formatting.signed(f"mu {fit['mu']:.3f}, lambda {fit['lambda']:.4f}")
    numbers = f"{fit['name']}: {curve} from {formatting.count(fit['n'])} scores{seed}."
    verdict = fit.get("words")
    return f"{numbers} {formatting.with_minus(verdict)}." if verdict else numbers


NUMBER, SEED = 5000, 42

MIN_SEQUENCES, MAX_SEQUENCES = 100, 10_000_000

REASON = (
    "Fits an extreme value distribution to the scores of random sequences. The profile's E-values are then estimates "
    "instead of upper bounds. The result is a new file; the original is not changed."
)


class CalibrateSheet(Sheet):
    """Prepares a calibration and shows its result.

    Parameters
    ----------
    source : Source
        The profile file.
    workspace : Workspace
    output : Path
        Proposed file.
    """

    calibrate_requested = Signal(dict)
    stop_requested = Signal()
    search_requested = Signal()

    def __init__(self, source: Source, workspace: Workspace, output: Path) -> None:
        super().__init__(f"Calibrate {source.name}", 680)
        self.source = source
        self.fits: list[Json] = []
        self.devices = NarrowBox()
        fill_devices(self.devices, workspace)
        self.number, self.seed = QLineEdit(formatting.count(NUMBER)), QLineEdit(str(SEED))
        self.output = QLineEdit(str(output))
        self.seed.setToolTip("The same seed draws the same sequences on every device")
        self.problem = label("", "caution", wrap=True)
        self.bar, self.words = QProgressBar(), label("", "muted", wrap=True)
        self.bar.setTextVisible(False)
        self.figure = FigureView("Scores of random sequences with the fitted curve")
        self.names = NarrowBox()
        self.form, self.result = self._form(), self._result()
        for widget in (self.form, self.problem, self.result, self.bar, self.words):
            self.body.addWidget(widget)
        self.body.addStretch(1)
        self.close_button = button("Cancel", self.close_sheet)
        self.stop = button("Stop", self.stop_requested.emit)
        self.run_button = button("Calibrate", self._run, "primary")
        self.search = button("Search with it…", self.search_requested.emit, "primary")
        self.foot.addLayout(row(None, self.close_button, self.stop, self.run_button, self.search))
        self.setFocusProxy(self.run_button)
        for field in (self.number, self.seed, self.output):
            field.textChanged.connect(lambda: self._judge())
        self._show_state("asking")
        self._judge()

    def _form(self) -> QWidget:
        made = FormLines()
        made.grid.addWidget(label(REASON, "muted", wrap=True), 0, 0, 1, 3)
        rows = (("Device", self.devices), ("Random sequences", self.number), ("Seed", self.seed), ("File", self.output))
        for place, (text, field) in enumerate(rows, 1):
            made.add(place, text, field)
        made.grid.addWidget(button("Choose…", self._choose_path), len(rows), 2)
        return made

    def _result(self) -> QWidget:
        self.names.setAccessibleName("Profile whose fit is shown")
        self.names.activated.connect(self.show_fit)
        self.figure.setMinimumHeight(300)
        return held(stacked(self.names, self.figure, spacing=-1))

    def _show_state(self, state: str) -> None:
        """Show the widgets of a state: ``asking``, ``running`` or ``done``."""
        self.form.setVisible(state != "done")
        self.form.setEnabled(state == "asking")
        self.bar.setVisible(state == "running")
        self.stop.setVisible(state == "running")
        self.run_button.setVisible(state == "asking")
        self.result.setVisible(state == "done")
        self.names.setVisible(len(self.fits) > 1)
        self.search.setVisible(state == "done")
        self.close_button.setText("Cancel" if state == "asking" else "Close")
        self.close_button.setToolTip("The calibration continues" if state == "running" else "")
        self.resized.emit()

    def _numbers(self) -> tuple[int, int | None, str]:
        """Return number and seed, and what is wrong with them."""
        number, seed, problem = whole_number(self.number, MAX_SEQUENCES, MIN_SEQUENCES), self.seed.text().strip(), ""
        wrong_seed = bool(seed) and not (seed.isdigit() and int(seed) < 2**32)
        set_role(self.seed, "state", "wrong" if wrong_seed else "")
        if not number:
            problem = f"Give a number of sequences from {MIN_SEQUENCES} to {formatting.count(MAX_SEQUENCES)}."
        elif wrong_seed:
            problem = "A seed is a whole number from 0 to 4294967295."
        return number, int(seed) if seed and not wrong_seed else None, problem

    def _judge(self) -> None:
        *_, problem = self._numbers()
        text = self.output.text().strip()
        path = Path(text or ".")
        if not problem and (not text or path.is_dir()):
            problem = "Choose a file name."
        if not problem and text and Path(self.source.path) == path.absolute():
            problem = "The original is not changed: choose another file."
        self.run_button.setEnabled(not problem)
        self.run_button.setToolTip(problem)
        exists = not problem and path.exists()
        self.problem.setText(f"{path.name} exists and will be replaced." if exists else problem)
        self.problem.setVisible(bool(self.problem.text()))

    def _choose_path(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, "Calibrated profiles", self.output.text(), "Profiles (*.hmm)")
        if name:
            self.output.setText(name)

    def _run(self) -> None:
        number, seed, problem = self._numbers()
        if problem or not self.run_button.isEnabled():
            return
        self.problem.hide()
        self.bar.setRange(0, theme.is_still())
        self.words.setText("Starting")
        self._show_state("running")
        job = {"profiles": self.source.path, "output": str(Path(self.output.text().strip()).absolute()),
               "device": self.devices.currentData(), "n": number, "seed": seed}  # fmt: skip
        self.calibrate_requested.emit(job)

    def show_progress(self, value: JobResult) -> None:
        """Show the progress of the job."""
        self.bar.setRange(0, max(1, int(value["n"])))
        self.bar.setValue(int(value["done"]))
        if value.get("histogram", {}).get("counts"):
            first = self.result.isHidden()
            self.form.hide()
            self.result.show()
            self._draw(sample_chart(value))
            if first:
                self.resized.emit()
        self.words.setText(f"{value['profile']}: {formatting.count(value['done'])} of {formatting.count(value['n'])}")

    def show_problem(self, text: str) -> None:
        """Show why there is no result, and let the user try again."""
        self._show_state("asking")
        self.words.setText("")
        self.problem.setText(text)
        self.problem.setVisible(bool(text))

    def show_fits(self, output: str, fits: list[Json]) -> None:
        """Show the fits."""
        self.fits = fits
        self.names.clear()
        self.names.addItems([escaped(fit["name"]) for fit in fits])
        self.body.insertWidget(0, notice_row("good", f"The calibrated profile is in {formatting.short_path(output)}, "
                                                     "and searches use it from now on."))  # fmt: skip
        self.show_fit(0)
        self._show_state("done")
        self.search.setFocus()

    def _draw(self, chart: FitChart) -> None:
        self.figure.show_chart(chart)
        self.figure.setMinimumHeight(300)

    def show_fit(self, place: int) -> None:
        """Draw one of the fits."""
        if 0 <= place < len(self.fits):
            self._draw(fit_chart(self.fits[place]))
            self.words.setText(fit_words(self.fits[place]))
