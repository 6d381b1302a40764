"""The filter funnel of a run, and explanations of single sequences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtWidgets import QFileDialog
from shiboken6 import isValid

from .. import formatting
from ..engines.plan7.funnel import HMMER2_WORDS, FunnelStep, read_funnel, read_survivors
from ..engines.register import part_of
from ..formatting import told
from ..models.text_table import Row
from ..settings import write_whole
from .app_context import AppContext, Controller
from .locate_controller import LocateController

if TYPE_CHECKING:
    from ..engines.plan7.funnel_view import FunnelView
    from ..engines.plan7.page import SearchPage
    from ..views.explain_sheet import ExplainSheet
    from ..views.results_page import ResultsPage


class FunnelController(Controller):
    """Reads survivors for the funnel, and has sequences explained."""

    def __init__(self, app: AppContext, locating: LocateController) -> None:
        super().__init__(app)
        self._locating = locating
        self._refused: tuple[ExplainSheet, str, dict[str, Any]] | None = None
        locating.located.connect(self._explain_again)

    def connect_page(self, page: SearchPage) -> None:
        """Do what the results of profiles ask for."""
        page.funnel_asked.connect(lambda: self.fill(page))
        page.funnel_made.connect(lambda view: self.connect_view(page, view))

    def connect_view(self, page: SearchPage, view: FunnelView) -> None:
        """Do what a funnel asks for."""
        view.stage_asked.connect(lambda step, rejected: self.list_stage(page, step, rejected))
        view.explain_asked.connect(lambda found: self.explain_row(page, found) if found else self.ask_name())
        view.save_asked.connect(self.save_table)

    def fill(self, page: SearchPage) -> None:
        """Show how many sequences passed each filter so far."""
        run, view = page.run, page.funnel
        if not run.cards:
            view.say("No filters yet", "They appear here as soon as the search begins.")
        elif run.shows_all:
            view.say("One profile at a time", "Choose a profile above to see how many sequences passed its filters.")
        elif run.card["origin"] == "hmmer2":
            view.say(*HMMER2_WORDS)
        else:
            path, profile, sentence = run.path, run.profile, run.funnel_sentence()

            def take(answer: list[FunnelStep] | Exception) -> None:
                if not isValid(view) or run.profile != profile:
                    return
                if isinstance(answer, Exception):
                    view.say("The filters cannot be shown", told(answer, "They could not be read"))
                else:
                    view.show_steps(answer, sentence)

            self._app.reader.ask((id(view), "funnel"), lambda: read_funnel(path, profile), take)

    def list_stage(self, page: SearchPage, step: FunnelStep, rejected: bool) -> None:
        """List the sequences that passed a stage, or that it rejected."""
        run, view = page.run, page.funnel
        path, profile = run.path, run.profile
        view.show_reading(step, rejected)

        def take(answer: list[Row] | Exception) -> None:
            if not isValid(view) or view.shown != (step.stage, rejected):
                return
            if isinstance(answer, Exception):
                view.say_listed(told(answer, "The sequences could not be read"))
            else:
                view.show_rows(step, rejected, answer)

        self._app.files.ask_long(
            (str(path), "survivors"), lambda context: read_survivors(path, profile, step.stage, rejected, context), take
        )

    def save_table(self, text: str) -> None:
        """Write the sequences that are listed to a file."""
        proposed = str(Path.home() / "sequences.tsv")
        name, _ = QFileDialog.getSaveFileName(self._app.window, "Save the table as", proposed, "Table (*.tsv)")
        if not name:
            return
        try:
            write_whole(Path(name), text)
        except OSError as error:
            self._app.say("stop", f"{name} could not be written because: {error.strerror}.")
            return
        self._app.say("good", f"Table written to {formatting.short_path(name)}.")

    # --- explanations ---

    def explain_hit(self) -> None:
        """Explain the selected hit."""
        page = self._app.page
        if page is not None and page.run.hit is not None and page.run.hit_row is not None:
            self._explain(page, page.run.hit_row.profile, page.run.hit.row, page.run.hit.name)

    def explain_row(self, page: ResultsPage, found: Row) -> None:
        """Explain a sequence of the funnel's table."""
        self._explain(page, page.run.profile, found["row"], found["name"] or f"sequence {found['row'] + 1}")

    def explain_best(self) -> None:
        """Explain the best sequence of a search without hits."""
        page = self._app.page
        if page is not None:
            self._explain_named(page, page.run.best_name())

    def ask_name(self) -> None:
        """Ask for the name of a sequence and explain it."""
        from ..views.explain_sheet import NameSheet

        page = self._app.page
        if page is None or page.run.engine is None:
            return
        sheet = NameSheet(part_of(page.run.engine, "explain_sheet").ASK_WORDS)
        sheet.name_given.connect(lambda name: self._explain_named(page, name))
        self._app.window.sheets.open_sheet(sheet)

    def _explain_named(self, page: ResultsPage, name: str) -> None:
        job = {"job": "explain", "profile": max(0, page.run.profile), "name": name}
        if page.run.facts.get("database") or "explain_files" not in page.run.engine.at:
            self._start(page, name, {**job, "run": str(page.run.path)})
        else:
            self._start(page, name, {**job, "spec": page.run.facts["spec"]})

    def _explain(self, page: ResultsPage, profile: int, row: int, name: str) -> None:
        self._start(page, name, {"job": "explain", "run": str(page.run.path), "profile": profile, "row": row})

    def _start(self, page: ResultsPage, name: str, job: dict[str, Any]) -> None:
        sheet: ExplainSheet = part_of(page.run.engine, "explain_sheet")(name, page.run.engine)
        sheet.resized.connect(self._app.window.sheets.fit)
        run = str(page.run.path)
        sheet.locate_asked.connect(lambda: self._locating.ask(run))
        self._app.window.sheets.open_sheet(sheet)
        self._ask(sheet, run, job)

    def _ask(self, sheet: ExplainSheet, run: str, job: dict[str, Any]) -> None:
        def refuse(message: str, hint: str) -> None:
            if isValid(sheet):
                sheet.show_problem(message, hint)
                self._refused = sheet, run, job

        self._app.inspector.ask(job, lambda value: _show(sheet, value), refuse)

    def _explain_again(self, run: str) -> None:
        """Ask once more for what was refused, now that a file of the run was found."""
        refused, self._refused = self._refused, None
        if refused is not None and refused[1] == run and isValid(refused[0]):
            refused[0].show_waiting()
            self._ask(*refused)


def _show(sheet: ExplainSheet, value: dict[str, Any]) -> None:
    if isValid(sheet):  # not closed by now
        sheet.show_explanation(value)
