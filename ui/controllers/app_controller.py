"""The commands of the window: between models and views."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from clalign.engines.engine import Engine, engine_for
from clalign.errors import ClalignError
from clalign.runs.run_file import open_run
from clalign.runs.sealing import seal_finished
from clalign.values.specs import Spec

from .. import formatting
from ..engines.register import PARTS, engine_at, part_of, parts
from ..event_loop import defer
from ..models.jobs import JobItem
from ..models.results.run_view import STATE_WORDS, RunView
from ..models.workspace import Offer, Source
from ..services.alignment_controller import AlignmentController
from ..services.app_context import AppContext
from ..services.explain_controller import ExplainController
from ..services.form_controller import FormController
from ..services.job_controller import JobController
from ..services.locate_controller import LocateController
from ..services.source_controller import SourceController
from ..services.tree_controller import TreeController
from ..settings import Settings
from ..views.workbench import Workbench
from .device_controller import DeviceController
from .help_controller import HelpController
from .hit_controller import HitController
from .lab_controller import LabController
from .library_controller import LibraryController
from .picture_controller import PictureController
from .results_controller import ResultsController
from .session_controller import SessionController

if TYPE_CHECKING:
    from ..views.results.results_page import ResultsPage


class AppController(AppContext):
    """Opens and closes runs, and connects the controllers, each of which knows those before it."""

    hit_menu_requested = Signal(QPoint)
    example_opened = Signal()

    def __init__(self, window: Workbench, settings: Settings, worker: list[str]) -> None:
        super().__init__(window, settings, worker)
        self.locating = LocateController(self)
        self.jobs = JobController(self, self.locating)
        self.sources = SourceController(self, self.jobs)
        self.alignments = AlignmentController(self, self.sources)
        self.trees = TreeController(self, self.alignments)
        self.explanations = ExplainController(self, self.locating)
        self.hits = HitController(self, self.jobs)
        self.results = ResultsController(self, self.jobs, self.alignments)
        self.pictures = PictureController(self)
        self.devices = DeviceController(self)
        self.labs = LabController(self, self.sources)
        self.library = LibraryController(self)
        self.library.run_requested.connect(self.show_run)
        self.library.resume_requested.connect(self.resume_recent)
        self.library.deleting.connect(self._release)
        self.library.renamed.connect(self._note_name)
        self.help = HelpController(self)
        self.session = SessionController(self, self.sources, self.help)
        self.forms: dict[str, FormController] = {}
        for entry, kind in parts("controller"):
            self.forms[entry.controller_name] = kind(self, self.jobs, self.sources, self.locating)
            setattr(self, entry.controller_name, self.forms[entry.controller_name])  # where the commands look for it
        window.details.source.offers = self.offers
        self.sources.run_opened.connect(self.open_run_page)
        self.sources.run_chosen.connect(self.show_run)
        self.jobs.run_begun.connect(lambda path: self.open_run_page(path, live=True))
        self.jobs.run_chosen.connect(self.show_run)
        self.jobs.lab_chosen.connect(self.labs.show_job)
        self.queue.job_ended.connect(self._note_run_end)
        self.queue.job_removed.connect(self._note_removal)
        self.queue.job_changed.connect(lambda item: self._note_state(self.pages[item.run].run)
                                       if item.run in self.pages else None)  # fmt: skip

    def form_of(self, engine: Engine | None) -> FormController | None:
        """Return the controller that prepares runs of an engine; None if the window has none."""
        entry = PARTS.get(engine.name) if engine is not None else None
        return self.forms.get(entry.controller_name) if entry is not None else None

    def offers(self, source: Source) -> list[Offer]:
        """Return the actions for an opened file."""
        own = [offer for form in self.forms.values() for offer in form.offers(source)]
        return [*self.alignments.offers(source), *own]

    def current_spec(self) -> Spec | None:
        """Return the spec of the run in view, or the one that a sheet would start."""
        spec = super().current_spec()
        found = (form.current_spec() for form in self.forms.values())
        return spec or next((spec for spec in found if spec is not None), None)

    # --- what is shown ---

    def show_page(self, page: QWidget, title: str = "") -> None:
        """Show a page in the center; results in the tab that was in view."""
        path = next((path for path, results in self.pages.items() if results is page), None)
        if path is None:
            super().show_page(page, title)
        else:
            self.show_run(path)

    def show_run(self, path: str) -> None:
        """Show the results of a run."""
        page = self.pages.get(path)
        if page is None:
            self.open_run_page(path)
            return
        self.jobs.clear_done(path)
        super().show_page(page, page.run.title)
        if page.tab != "hits":  # whose table may not be made yet
            page.show_tab(page.tab)
        self.window.details.show_source(None)
        self.window.data.select(path)

    def show_tab(self, name: str) -> None:
        """Show a tab of the results."""
        if self.page is not None:
            self.page.show_tab(name)

    def close_page(self) -> None:
        """Close the results in view; the run stays on disk."""
        page = self.page
        if page is None:
            for controller in (*self.forms.values(), self.alignments):
                controller.close_page()
            self.leave_aside()
            return
        path = str(page.run.path)
        if self.queue.of_run(path) is not None:
            self.notify("note", "The job is still running. Stop it first to close its results.")
            return
        self.show_start()
        self._release(path)

    def _release(self, path: str) -> None:
        """Close a run, as before it is deleted."""
        self._drop_page(path)
        self.workspace.remove(path)

    def _note_name(self, path: str) -> None:
        """Show the new name of a run."""
        if path in self.pages:
            self.pages[path].run.note_change()

    def _drop_page(self, path: str) -> None:
        page = self.pages.pop(path, None)
        if page is not None:
            self.window.center.removeWidget(page)
            page.close_parts()
            self.forget_files(path)
            kept = [(query, "report", score) for query, score in page.run.moved.items()]
            if page.run.facts:
                self.settings.change_recent(path, thresholds=kept, created=page.run.facts.get("created") or 0.0)
            page.run.close()
            seal_finished(page.run.path)
            for form in self.forms.values():
                form.forget(path)
            page.deleteLater()

    # --- runs ---

    def open_run_page(self, path: str, live: bool = False) -> None:
        """Show a run file."""
        if path in self.pages:
            self.pages[path].run.is_live = self.queue.of_run(path) is not None
            self.pages[path].run.note_change()
            self.show_run(path)
            return
        item = self.queue.of_run(path)
        try:
            engine = (item and engine_for(item.kind)) or engine_at(path)
        except ClalignError as error:
            self.sources.refuse(str(error))
            return
        page = self._make_page(path, engine, item)
        run = page.run
        self._connect_page(page)
        self.pages[path] = page
        self.window.center.addWidget(page)
        if live:
            # In a turn of its own: making a page and listing it together would stall the window.
            defer(page, lambda: self._show_new(path, item.state_words if item is not None else "running"))
            return
        self._show_new(path, "")
        self.sources.add_recent(path, "run")
        run.begin()

    def _make_page(self, path: str, engine: Engine, item: JobItem | None) -> ResultsPage:
        run: RunView = part_of(engine, "run_view")(Path(path), self.reader)
        if item is None or item.kind == "resume":  # a new search replaces the run that lies there
            self._restore_thresholds(run)
        run.is_live = item is not None  # before the page shows it: else it would offer to continue what is computed
        if item is not None:
            run.working_title = item.title
        page: ResultsPage = part_of(engine, "page")(run)
        if item is not None and item.state == "waiting":
            page.show_progress(item.line())
        form = self.form_of(engine)
        if form is not None:
            form.connect_page(page)
        return page

    def _restore_thresholds(self, run: RunView) -> None:
        """Show hits from the scores that were chosen when this run, not another with its path, was open before."""
        for kept in (entry for entry in self.settings.recent if entry.path == str(run.path) and entry.thresholds):
            with contextlib.suppress(ClalignError, sqlite3.DatabaseError), open_run(run.path) as stored:
                for query, name, score in kept.thresholds if stored.facts.created == kept.created else ():
                    run.moved |= {query: score} if name == "report" else {}  # another name is of earlier versions

    def _show_new(self, path: str, state: str) -> None:
        if path in self.pages:
            self.workspace.put(Source(path, "run", "ready", report={"state_words": state}))
            self.show_run(path)

    def _connect_page(self, page: ResultsPage) -> None:
        page.action_requested.connect(self.call)
        page.verify_requested.connect(lambda hits: self.jobs.verify(str(page.run.path), hits))
        page.show_preferences(self.settings.preferences)
        page.preferences_chosen.connect(self.change_preferences)
        self.explanations.connect_page(page)
        self.results.connect_page(page)
        self.pictures.connect_page(page)
        page.hit_menu_requested.connect(self.hit_menu_requested)
        page.link_requested.connect(lambda address: QDesktopServices.openUrl(QUrl(address)))
        page.run.hit_changed.connect(self.update_actions)
        page.run.hits.shown_changed.connect(self.update_actions)
        page.run.hits.note_changed.connect(lambda *change: self.hits.note_change(page, *change))
        page.run.facts_changed.connect(lambda: self._note_state(page.run))
        page.run.refused.connect(self.update_actions)
        page.run.problem_found.connect(lambda text: self.notify("stop", text))

    def show_report(self) -> None:
        """Show inputs, messages, versions and command of the run in view."""
        from ..views.results.run_report import ReportSheet

        if self.page is not None:
            sheet = ReportSheet(self.page.run)
            sheet.copy_requested.connect(self.call)
            self.window.sheets.open_sheet(sheet)

    def _note_state(self, run: RunView) -> None:
        path, state = str(run.path), STATE_WORDS.get(run.state, run.state)
        if self.page is not None and self.page.run is run:
            self.window.setWindowTitle(f"{run.title} – clalign")
        job = self.queue.of_run(path)
        if run.refusal:
            state = "cannot be read"
        elif job is not None and job.state in ("paused", "waiting"):
            state = job.state_words
        elif run.is_complete:
            state = formatting.moment(run.facts.get("created") or 0)
        begun = formatting.moment(run.facts["created"]) if run.facts.get("created") else ""
        report = {"state_words": state, "title": run.title, "begun": begun}
        source = self.workspace.sources.get(path)
        if source is not None and source.report != report:
            self.workspace.change(path, report=report)

    def search_wider(self) -> None:
        """Open the sheet with the files of the run in view and a higher E-value limit."""
        if self.page is not None and (form := self.form_of(self.page.run.engine)):
            form.search_wider(self.page.run)

    def edit_run(self) -> None:
        """Open the sheet with the files and options of the run in view."""
        if self.page is not None and (form := self.form_of(self.page.run.engine)):
            form.edit_run(self.page.run)

    def open_example(self, name: str, example: object) -> None:
        """Open a bundled example and fill a sheet in with its files."""
        self.forms[name].open_example(example)
        self.example_opened.emit()

    def close_source(self, path: str) -> None:
        """Close a file, and the results of a run with it."""
        if path in self.pages:
            self.show_run(path)
            self.close_page()
        else:
            if self.alignments.page is self.alignments.pages.get(path) is not None:
                self.show_start()
            self.alignments.forget(path)
            self.sources.close(path)
            self.window.details.show_source(None)
        self.update_actions()

    def open_again(self) -> None:
        """Reopen the run in view after a read error."""
        if self.page is not None:
            path = str(self.page.run.path)
            self.show_start()
            self._drop_page(path)
            self.open_run_page(path)

    def _note_run_end(self, item: JobItem) -> None:
        """Update the run of a job that ended."""
        self.sources.look_again()
        if (item.is_search or item.kind == "merge") and Path(item.run).exists():
            self.sources.add_recent(item.run, "run")
        if not item.is_active:
            self._drop_missing(item)
        self.update_actions()

    def _note_removal(self, item: JobItem) -> None:
        """Update the run of a job that was removed while it waited."""
        if item.state == "waiting":
            self._drop_missing(item)
            if item.is_search and item.run in self.pages:
                self.pages[item.run].run.is_live = False
                self.pages[item.run].run.note_change()

    def _drop_missing(self, item: JobItem) -> None:
        """Close the page of a search that has no run file."""
        if item.is_search and not Path(item.run).exists():
            in_view = self.page is self.pages.get(item.run)
            self._release(item.run)
            if in_view:
                self.show_start()

    def stop_job(self) -> None:
        """Stop the running job."""
        if self.queue.current is not None:
            self.queue.stop(self.queue.current)

    def pause_job(self) -> None:
        """Pause or continue the running job."""
        if self.queue.current is not None:
            self.queue.toggle_pause(self.queue.current)

    def resume_run(self) -> None:
        """Continue the run in view."""
        if self.page is not None:
            self.jobs.resume(str(self.page.run.path))

    def resume_recent(self, path: str) -> None:
        """Open a run that is partial, and continue it."""
        self.open_run_page(path)
        if path in self.pages:
            self.jobs.resume(path)

    def resume_elsewhere(self) -> None:
        """Continue the run in view on another device."""
        if self.page is not None:
            self.jobs.resume_elsewhere(str(self.page.run.path))

    def preferences(self) -> None:
        """Open the preferences."""
        from ..views.widgets.small_sheets import PreferencesSheet

        sheet = PreferencesSheet(self.settings.preferences)
        sheet.changed.connect(self.change_preferences)
        self.window.sheets.open_sheet(sheet)

    def focus_data(self) -> None:
        """Focus the list of opened files."""
        self.window.dock.show()
        self.window.data.tree.setFocus()

    def leave(self) -> None:
        """End everything that runs when the window closes."""
        self.session.leave()
        self.help.leave()
        self.queue.leave()
        self.inspector.leave()
        self.alignments.leave()
        self.files.close()
        paths = list(self.pages)
        for path in paths:
            self._drop_page(path)
        self.reader.close()
        for path in paths:  # what was being read of one hindered that before
            seal_finished(Path(path))
