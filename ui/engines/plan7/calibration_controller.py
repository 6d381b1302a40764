"""Calibrations of profile files: their sheet, their job, and their result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from clalign.common.plain_data import Json
from clalign.values.documents import JobResult

from ... import formatting
from ...models.jobs import JobItem
from ...services.app_context import AppContext, Controller
from ...services.form_controller import FormController
from ...settings import free_path

if TYPE_CHECKING:
    from .calibrate_sheet import CalibrateSheet


class CalibrationController(Controller):
    """Fits the scores of random sequences to the profiles of a file."""

    def __init__(self, app: AppContext, search: FormController) -> None:
        super().__init__(app)
        self._search = search
        app.queue.partial_received.connect(self._take_partial)

    def ways(self, item: JobItem, text: str) -> list[tuple[str, Callable[[], object]]]:
        """Return the actions for a warning of a search."""
        path = (item.spec.get("spec") or {}).get("profiles")
        if not text.startswith("No calibration") or path not in self._app.workspace.sources:
            return []
        return [("Calibrate…", lambda: self.calibrate(path))]

    def _take_partial(self, item: JobItem, value: JobResult) -> None:
        if item.kind == "calibrate" and self._sheet is not None:
            self._sheet.show_progress(value)

    @property
    def _sheet(self) -> CalibrateSheet | None:
        from .calibrate_sheet import CalibrateSheet

        sheet = self._app.window.sheets.sheet
        return sheet if isinstance(sheet, CalibrateSheet) else None

    def calibrate(self, path: str = "") -> None:
        """Open the sheet that calibrates a profile file, by default that of the next search."""
        from .calibrate_sheet import CalibrateSheet

        space, sheets = self._app.workspace, self._app.window.sheets
        source = space.sources.get(path) if path else space.profiles
        if source is None:
            return
        output = free_path(self._app.settings.data / "calibrated" / Path(source.path).name.split(".")[0], ".hmm")
        sheet = CalibrateSheet(source, space, Path(output))
        sheet.calibrate_requested.connect(self._start_calibration)
        sheet.stop_requested.connect(self._stop)
        sheet.search_requested.connect(self._search.open_sheet)
        sheets.open_sheet(sheet)

    def _start_calibration(self, facts: Json) -> None:
        folder = Path(facts["output"]).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if self._sheet is not None:
                self._sheet.show_problem(f"The folder {folder} could not be created because: {error.strerror}.")
            return
        self._app.window.messages.clear_passed()
        answer = partial(self._take_fits, facts["profiles"])
        self._app.queue.submit("Calibrate", {"job": "calibrate", **facts}, answer=answer, problem=self._show_problem)

    def _stop(self) -> None:
        for item in [entry for entry in self._app.queue.items if entry.kind == "calibrate" and entry.is_active]:
            self._app.queue.stop(item)

    def _show_problem(self, item: JobItem) -> None:
        """Show why there is no result, unless the user stopped it."""
        if self._sheet is not None:
            self._sheet.show_problem("" if item.state in ("stopped", "waiting") else item.line())

    def _take_fits(self, profiles: str, value: JobResult) -> None:
        """Show the fits, and use the calibrated profiles in place of those that were not."""
        output, fits, sheet = value["output"], value["fits"], self._sheet
        self._search.sources.replace(profiles, output)
        if sheet is not None:
            sheet.show_fits(output, fits)
            return
        what = f"{fits[0]['name']} is" if len(fits) == 1 else f"{formatting.plural(len(fits), 'profile')} are"
        where = formatting.short_path(output)
        self._app.notify("good", f"{what} calibrated; searches use {where} from now on.")
