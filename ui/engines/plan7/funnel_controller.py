"""The filter funnel of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiboken6 import isValid

from ...formatting import error_text
from ...models.widgets.text_table import Row
from ...services.app_context import Controller
from .funnel import HMMER2_WORDS, FunnelStep, read_funnel, read_survivors

if TYPE_CHECKING:
    from ...views.results.results_page import ResultsPage
    from .funnel_view import FunnelView
    from .page import SearchPage


class FunnelController(Controller):
    """Reads survivors for the funnel."""

    def connect_page(self, page: ResultsPage) -> None:
        from .page import SearchPage

        assert isinstance(page, SearchPage)
        page.funnel_requested.connect(lambda: self.fill(page))
        page.funnel_made.connect(lambda view: self.connect_view(page, view))

    def connect_view(self, page: SearchPage, view: FunnelView) -> None:
        """Connect a funnel."""
        view.stage_requested.connect(lambda step, rejected: self.list_stage(page, step, rejected))
        view.explain_requested.connect(page.row_explain_requested)
        view.save_requested.connect(self.save_table)

    def fill(self, page: SearchPage) -> None:
        """Show how many sequences have passed each filter so far."""
        run, view = page.run, page.funnel
        if not run.cards:
            view.show_text("No filters yet", "They appear here when the search begins.")
        elif run.shows_all:
            view.show_text("One profile at a time", "Choose a profile to see how many sequences passed.", run)
        elif run.card["origin"] == "hmmer2":
            view.show_text(*HMMER2_WORDS)
        elif run.share_searched() == 0.0 and (words := run.unsearched_words()):
            view.show_text(*words)
        else:
            path, profile, sentence = run.path, run.profile, run.funnel_sentence()

            def take(answer: list[FunnelStep] | Exception) -> None:
                if not isValid(view) or run.profile != profile:
                    return
                if isinstance(answer, Exception):
                    view.show_text("The filters cannot be shown", error_text(answer, "They could not be read"))
                else:
                    view.show_steps(answer, sentence)

            self._app.reader.ask((id(view), "funnel"), lambda: read_funnel(path, profile), take)

    def list_stage(self, page: SearchPage, step: FunnelStep, rejected: bool) -> None:
        """List the sequences that passed a stage or were rejected by it."""
        run, view = page.run, page.funnel
        path, profile = run.path, run.profile
        view.show_reading(step, rejected)

        def take(answer: list[Row] | Exception) -> None:
            if not isValid(view) or view.shown != (step.stage, rejected):
                return
            if isinstance(answer, Exception):
                view.show_list_message(error_text(answer, "The sequences could not be read"))
            else:
                view.show_rows(step, rejected, answer)

        self._app.files.ask_slowly(
            (str(path), "survivors"), lambda context: read_survivors(path, profile, step.stage, rejected, context), take
        )

    def save_table(self, text: str) -> None:
        """Write the listed sequences to a file."""
        self._app.save_text("Save the table as", "sequences.tsv", "Table (*.tsv)", "Table", text)
