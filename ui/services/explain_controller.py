"""Explanations of single targets: why one is a hit, or not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiboken6 import isValid

from clalign.values.devices import REFERENCE
from clalign.values.documents import JobRequest, JobResult

from ..models.widgets.text_table import Row
from .app_context import AppContext, Controller
from .locate_controller import LocateController

if TYPE_CHECKING:
    from ..views.results.explain_sheet import ExplainSheet
    from ..views.results.results_page import ResultsPage


class ExplainController(Controller):
    """Explains targets of the run in view."""

    def __init__(self, app: AppContext, locating: LocateController) -> None:
        super().__init__(app)
        self._locating = locating
        self._refused: tuple[ExplainSheet, str, JobRequest] | None = None
        locating.located.connect(self._explain_again)

    def explain_hit(self) -> None:
        """Explain the selected hit."""
        page = self._app.page
        if page is not None and page.run.hit is not None:
            self._explain(page, page.run.hit.profile, page.run.hit.row, page.run.hit.name)

    def connect_page(self, page: ResultsPage) -> None:
        page.explain_requested.connect(self.explain_hit)
        page.row_explain_requested.connect(lambda row: self._explain_row(page, row) if row else self.explain_named())

    def _explain_row(self, page: ResultsPage, found: Row) -> None:
        self._explain(page, page.run.profile, found["row"], found["name"] or f"sequence {found['row'] + 1}")

    def explain_best(self) -> None:
        """Explain the best sequence of a search without hits."""
        page = self._app.page
        if page is not None:
            self._explain_named(page, page.run.best_name())

    def explain_named(self) -> None:
        """Ask for the name of a sequence and explain it."""
        from ..views.results.explain_sheet import NameSheet

        page = self._app.page
        if page is None or page.run.engine is None:
            return
        sheet = NameSheet(page.explain_sheet.ASK_WORDS)
        sheet.name_given.connect(lambda name: self._explain_named(page, name))
        self._app.window.sheets.open_sheet(sheet)

    def _explain_named(self, page: ResultsPage, name: str) -> None:
        job = {"job": "explain", "profile": max(0, page.run.profile), "name": name}
        engine = page.run.engine
        if page.run.facts.get("database") or engine is None or engine.parts.explain_files is None:
            self._start(page, name, {**job, "run": str(page.run.path)})
        else:
            self._start(page, name, {**job, "of": engine.job, "spec": page.run.facts["spec"]})

    def _explain(self, page: ResultsPage, profile: int, row: int, name: str) -> None:
        self._start(page, name, {"job": "explain", "run": str(page.run.path), "profile": profile, "row": row})

    def _start(self, page: ResultsPage, name: str, job: JobRequest) -> None:
        if page.run.engine is None:
            return
        if not self._app.workspace.devices_sought:
            job = _on_reference(job)
        sheet = page.explain_sheet(name, page.run.engine)
        run = str(page.run.path)
        sheet.locate_requested.connect(lambda: self._locating.ask(run))
        self._app.window.sheets.open_sheet(sheet)
        self._ask(sheet, run, job)

    def _ask(self, sheet: ExplainSheet, run: str, job: JobRequest) -> None:
        def refuse(message: str, hint: str) -> None:
            if isValid(sheet):
                sheet.show_problem(message, hint)
                self._refused = sheet, run, job

        self._app.inspector.ask(job, lambda value: _show(sheet, value), refuse)

    def _explain_again(self, run: str) -> None:
        """Repeat a failed explanation once a missing file was found."""
        refused, self._refused = self._refused, None
        if refused is not None and refused[1] == run and isValid(refused[0]):
            refused[0].show_waiting()
            self._ask(*refused)


def _on_reference(job: JobRequest) -> JobRequest:
    """Return a job that loads no driver."""
    spec = {"spec": {**job["spec"], "device": REFERENCE.id}} if "spec" in job else {}
    return {**job, **spec, "device": REFERENCE.id}


def _show(sheet: ExplainSheet, value: JobResult) -> None:
    if isValid(sheet):  # not closed by now
        sheet.show_explanation(value)
