"""The search sheet, from its first look to the job that it starts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer, Signal

from clalign.engines.plan7.spec import SearchSpec
from clalign.values.specs import Spec

from ..models.run_view import RunView
from .app_context import AppContext, Controller
from .job_controller import JobController
from .source_controller import SourceController

if TYPE_CHECKING:
    from ..engines.plan7.sheet import RunSheet


class SearchController(Controller):
    """Prepares searches and starts them."""

    calibrate_asked = Signal()

    def __init__(self, app: AppContext, jobs: JobController, sources: SourceController) -> None:
        super().__init__(app)
        self.jobs, self.sources = jobs, sources
        sources.search_offered.connect(self.open_run_sheet)

    def run_search(self) -> None:
        """Open the search sheet, or start the search if it is open."""
        sheet = self.run_sheet
        if sheet is None:
            self.open_run_sheet()
        else:
            sheet.run_button.click()

    @property
    def run_sheet(self) -> RunSheet | None:
        """The search sheet, if it is open."""
        from ..engines.plan7.sheet import RunSheet

        sheet = self._app.window.sheets.sheet
        return sheet if isinstance(sheet, RunSheet) else None

    def open_run_sheet(self, **options: Any) -> None:
        """Show the search sheet with the options of the last search."""
        from ..engines.plan7.sheet import RunSheet

        self.sources.look_again()
        sheet = RunSheet(self._app.workspace, {**self._app.settings.preferences.options, **options})
        sheet.run_asked.connect(self.start_search)
        sheet.open_asked.connect(self.sources.open_files)
        sheet.action_asked.connect(self._take_advice)
        sheet.resized.connect(self._app.window.sheets.fit)
        self._app.window.sheets.open_sheet(sheet)
        if self._app.settings.preferences.run_examples and self._is_example():
            QTimer.singleShot(0, sheet, sheet.run_button.click)

    def _is_example(self) -> bool:
        profiles = self._app.workspace.profiles
        return profiles is not None and "examples" in Path(profiles.path).parts

    def _take_advice(self, name: str) -> None:
        sequences = self._app.workspace.sequences
        if name == "calibrate":
            self.calibrate_asked.emit()
        elif sequences is not None and name.startswith("take_as_"):
            self.sources.choose_alphabet(sequences.path, name.removeprefix("take_as_"))

    def start_search(self, spec: SearchSpec) -> None:
        """Start a search and show its results."""
        defaults = SearchSpec("", "")
        values = spec.to_dict()
        left_out = ("profiles", "targets", "device", "direction", "alphabet", "sequence_format")
        options = {k: v for k, v in values.items() if k not in left_out and v != getattr(defaults, k)}
        self._app.settings.change(options=options)
        self.start(spec)

    def start(self, spec: Spec) -> None:
        """Start a search with profiles or with sequences."""
        try:
            self.jobs.search(spec)
        except OSError as error:
            folder, why = self._app.settings.runs, error.strerror
            self._app.say("stop", f"The folder for runs, {folder}, could not be made because: {why}.")
            return
        self._app.window.sheets.close_sheet()

    def search_wider(self, run: RunView) -> None:
        """Open the sheet with the files of a run and a higher limit."""
        spec = run.facts["spec"]
        self.sources.open_quietly([spec["profiles"], spec["targets"]])
        self.open_run_sheet(evalue=spec["evalue"] * 10, score=None, cutoff="none", direction=spec.get("direction"))
