"""The laboratory: the ladders, the comparison of devices and waiting groups; their jobs and files."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer

from clalign.common.plain_data import Json
from clalign.engines.engine import engine_for_spec
from clalign.errors import ClalignError
from clalign.values.documents import JobRequest, JobResult

from ..models.jobs import JobItem
from ..models.laboratory.documents import COMPARISON, SEARCHES, read_document, with_other_machine, write_document
from ..models.widgets.text_table import Row
from ..services.app_context import AppContext, PagesController
from ..services.picture_files import export_picture_file
from ..services.source_controller import SourceController
from ..settings import write_whole

if TYPE_CHECKING:
    from clalign.labs.laboratory import Laboratory
    from clalign.labs.publication_lab import PublicationLab

    from ..models.laboratory.lab_view import LabView
    from ..views.laboratory.comparison_page import SearchesPage
    from ..views.laboratory.lab_page import LabPage


REPORT = "Report (*.html)"
"""What a source may be saved as besides JSON."""


class LabController(PagesController["LabPage"]):
    """Connects the pages of the laboratory with their jobs and files.

    The job of a ladder has the name of the document that it makes.
    """

    def __init__(self, app: AppContext, sources: SourceController) -> None:
        super().__init__(app)
        self._sources = sources
        self._chosen: dict[str, Row] = {}
        app.queue.partial_received.connect(self._take_partial)
        app.queue.job_changed.connect(self._mark)
        app.queue.job_removed.connect(self._forget)
        app.queue.job_ended.connect(self._end)
        sources.document_opened.connect(self.open_document)

    # --- pages ---

    def open(self, kind: str) -> None:
        """Show a ladder, a comparison of devices, or waiting groups."""
        from ..views.laboratory.comparison_page import SearchesPage

        page = self._made(kind)
        if isinstance(page, SearchesPage):
            spec = self._app.current_spec()
            page.show_search(spec if spec is not None and engine_for_spec(spec).writes_partial_results else None)
        self._app.show_aside(page, page.title)
        self._show_facts(kind, self._chosen.get(kind))

    def show_job(self, item: JobItem) -> None:
        """Show the page of a job."""
        self.open(_document_of(item))

    def compare(self) -> None:
        """Compare devices by the search of the run or form in view, or by a random job if there is none."""
        self.open(SEARCHES if self._app.current_spec() is not None else COMPARISON)

    def _made(self, kind: str) -> LabPage:
        from ..views.laboratory.comparison_page import SearchesPage

        if kind in self.pages:
            return self.pages[kind]
        page = self._new_page(kind)
        view, self.pages[kind] = page.view, page
        page.other_requested.connect(self.open)
        page.run_requested.connect(lambda facts: self._start(kind, {"job": view.of.job, **facts}))
        page.stop_requested.connect(lambda: self._stop(view.of.job))
        page.back_requested.connect(self._app.leave_aside)
        page.action_requested.connect(lambda name: self._act(kind, name))
        page.row_chosen.connect(lambda row: self._show_facts(kind, row))
        if isinstance(page, SearchesPage):
            page.forecast_requested.connect(lambda job: self._dry_run(page, job))
        view.changed.connect(lambda: self._renew_facts(kind))
        self._app.window.center.addWidget(page)
        self._show_kept(kind)
        return page

    def _new_page(self, kind: str) -> LabPage:
        from clalign.labs.ladder import Ladder
        from clalign.labs.publication_lab import PublicationLab

        from ..models.laboratory.lab_view import LabView
        from ..views.laboratory.comparison_page import ComparisonPage, SearchesPage
        from ..views.laboratory.publication_page import PublicationPage
        from ..views.laboratory.rung_page import RungPage
        from ..views.laboratory.synchronization_page import SynchronizationPage

        view, space = LabView(_laboratory(kind), self), self._app.workspace
        if isinstance(view.of, Ladder):
            return RungPage(view, space)
        if isinstance(view.of, PublicationLab):
            return PublicationPage(view, space)
        of_devices = {COMPARISON: ComparisonPage, SEARCHES: SearchesPage}
        return of_devices[kind](view, space) if kind in of_devices else SynchronizationPage(view, space)

    def _show_facts(self, kind: str, row: Row | None) -> None:
        """Show all facts about a row in the dock."""
        details, view = self._app.window.details, self.pages[kind].view
        if row is None:
            details.show_source(None)
            return
        self._chosen[kind] = row
        facts = view.main.facts(row)
        if kind in (COMPARISON, SEARCHES):
            from clalign.values.devices import Device

            from ..models import device_words

            facts = device_words.facts(Device.from_dict(row["device"]))
        details.show_facts(view.main.row_title(row), facts, row.get("error") or row.get("text") or "")

    def _renew_facts(self, kind: str) -> None:
        """Update the facts about the chosen row if the dock shows it."""
        chosen = self._chosen.get(kind)
        shown = self.page is self.pages.get(kind) and self._app.window.details.shows_facts
        if chosen is not None and shown:
            view = self.pages[kind].view
            key = view.main.row_key(chosen)
            now = next((row for row in view.rows if view.main.row_key(row) == key), chosen)
            if now != chosen:
                self._show_facts(kind, now)

    # --- jobs ---

    def _dry_run(self, page: SearchesPage, job: JobRequest) -> None:
        """Let a worker estimate what a search takes on each device unless another job has them."""
        if self._app.queue.current is None:
            spec = {**job["spec"], "device": ",".join(job["devices"])}
            self._app.inspector.dry_run(job["of"], spec, lambda found: page.show_forecast(job, found))

    def _start(self, kind: str, job: JobRequest) -> None:
        self._app.inspector.stop_dry_run()  # it would have the devices, too
        self.pages[kind].view.begin()
        self._app.window.messages.clear_passed()
        self._app.queue.submit(_laboratory(kind).title, job)

    def _stop(self, job: str) -> None:
        queue = self._app.queue
        for item in [entry for entry in queue.items if entry.kind == job and entry.is_active]:
            queue.stop(item)

    def _view_of(self, item: JobItem) -> LabView | None:
        page = self.pages.get(_document_of(item))
        return page.view if page is not None else None

    def _take_partial(self, item: JobItem, value: JobResult) -> None:
        view, row = self._view_of(item), value.get("row") or value.get("device")
        if view is not None and row:
            view.add_row(row)

    def _mark(self, item: JobItem) -> None:
        """Mark what is measured now."""
        view = self._view_of(item)
        if view is not None and item.is_active:
            view.measure(item.course.detail)

    def _forget(self, item: JobItem) -> None:
        """Update a page whose waiting job was removed."""
        view = self._view_of(item)
        if view is not None and view.is_live:
            view.end()

    def _end(self, item: JobItem) -> None:
        """Show and keep the result of a job of the laboratory."""
        view, kind = self._view_of(item), _document_of(item)
        if view is None:
            if self.page is not None:
                self.page.show_running()  # its forecast waits for the devices
            return
        if item.state == "done":
            document = item.result[kind]
            view.take(document)
            self._keep(kind, document)
            if self.page is not self.pages[kind]:
                self._app.notify("good", f"{_laboratory(kind).title}: finished.", ("Show", lambda: self.open(kind)))
        else:
            view.end()
        if item.state in ("done", "stopped"):
            QTimer.singleShot(0, self, lambda: self._app.queue.dismiss(item))

    # --- files ---

    @property
    def folder(self) -> Path:
        """The folder in which results are kept automatically."""
        return self._app.settings.data / "laboratory"

    def _keep(self, kind: str, document: Json) -> None:
        path = self.folder / f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        try:
            write_document(document, path)
        except OSError as error:
            text = f"The result could not be saved in {self.folder} because: {error.strerror}. Save it elsewhere."
            self._app.notify("caution", text)

    def _show_kept(self, kind: str) -> None:
        """Show the last result."""
        files = sorted(self.folder.glob(f"{kind}-*.json"))
        if files:
            try:
                self.pages[kind].view.take(read_document(str(files[-1])))
            except ClalignError as error:
                self._app.notify("caution", str(error))

    def open_document(self, path: str) -> None:
        """Show a saved result; add a comparison of another machine to the one in view."""
        try:
            document = read_document(path)
        except ClalignError as error:
            self._app.notify("stop", str(error))
            return
        kind = document["kind"]
        view = self._made(kind).view
        if view.is_live:
            self._app.notify("note", "The job is still running. Stop it first to show another result.")
            return
        if kind in (COMPARISON, SEARCHES) and view.document and self.page is self.pages[kind]:
            try:
                document = with_other_machine(view.document, path)
            except ClalignError as error:
                self._app.notify("stop", str(error))
                return
        view.take(document)
        self._sources.add_recent(path, kind)
        self.open(kind)

    def _act(self, kind: str, name: str) -> None:
        if name == "copy":
            self.pages[kind].in_view.table.copy()
        else:
            {"open": self._open_file, "save": self._save_file, "picture": self._save_picture}[name](kind)

    def _open_file(self, kind: str) -> None:
        if path := self._app.ask_file(f"Open: {_laboratory(kind).title}", "Results (*.json);;All files (*)"):
            self.open_document(path)

    def _save_file(self, kind: str) -> None:
        from clalign.labs.publication_lab import PublicationLab

        laboratory, document = _laboratory(kind), self.pages[kind].view.document
        title, forms = f"Save: {laboratory.title}", "Results (*.json)"
        if isinstance(laboratory, PublicationLab):
            forms += f";;{REPORT}"
        path, form = self._app.ask_target(title, f"{kind}.json", forms)
        if not path:
            return
        if isinstance(laboratory, PublicationLab) and (form == REPORT or path.endswith(".html")):
            if not path.endswith(".html"):  # the dialog has asked for another file
                path = str(Path(path).with_suffix(".html"))
                if Path(path).exists():
                    self._app.notify("caution", f"{path} exists. Name it with its ending to replace it.")
                    return
            write = partial(_write_report, path, laboratory, document)
        else:
            write = partial(write_document, document, Path(path))
        self._app.write_file(path, "Results", write)

    def _save_picture(self, kind: str) -> None:
        from ..views.charts.figure_view import chart_picture

        chart = self.pages[kind].in_view.figure.chart
        if chart is None:
            self._app.notify("note", "There is no chart yet.")
            return
        export_picture_file(self._app, kind, lambda: chart_picture(chart))


def _write_report(path: str, laboratory: PublicationLab, document: Json) -> None:
    from clalign.labs.publication_report import html_report

    write_whole(Path(path), html_report([(laboratory, document)]))


def _document_of(item: JobItem) -> str:
    return {"bench": COMPARISON, "compare_searches": SEARCHES}.get(item.kind, item.kind)


def _laboratory(kind: str) -> Laboratory:
    from clalign.labs.register import LABORATORIES

    return LABORATORIES[kind]
