"""The laboratory: the ladders, the comparison of devices, calibration; their jobs and files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFileDialog

from clalign.errors import ClalignError

from .. import formatting
from ..engines.pairwise.ladder import PairLadderView
from ..engines.plan7.ladder import LadderView
from ..models.comparison import ComparisonView
from ..models.documents import KINDS, read_document, with_other_machine, write_document
from ..models.jobs import JobItem
from ..models.text_table import Row
from .app_context import AppContext, Controller
from .search_controller import SearchController

if TYPE_CHECKING:
    from ..views.lab_page import LabPage
    from ..views.rung_page import RungPage

JOBS = {"ladder": "ladder", "smith_waterman_ladder": "smith_waterman_ladder", "bench": "comparison"}
"""The document that each job makes."""

TITLES = {"ladder": "Ladder of Plan7 Viterbi", "smith_waterman_ladder": "Ladder of Smith-Waterman",
          "bench": "Compare devices", "calibrate": "Calibrate"}  # fmt: skip


class LabController(Controller):
    """Between the laboratory's pages and their jobs."""

    def __init__(self, app: AppContext, search: SearchController) -> None:
        super().__init__(app)
        self._search = search
        self.views: dict[str, Any] = {}
        self.pages: dict[str, LabPage] = {}
        app.queue.partial_received.connect(self._take_partial)
        app.queue.job_removed.connect(self._forget)
        app.queue.job_ended.connect(self._end)
        search.calibrate_asked.connect(self.calibrate)
        search.jobs.calibrate_asked.connect(self.calibrate)
        search.sources.document_opened.connect(self.open_document)

    # --- pages ---

    @property
    def page(self) -> LabPage | None:
        """The laboratory page in view."""
        shown = self._app.window.center.currentWidget()
        return next((page for page in self.pages.values() if page is shown), None)

    def open_ladder(self) -> None:
        """Show the ladder of Plan7 Viterbi."""
        self._show("ladder")

    def open_pair_ladder(self) -> None:
        """Show the ladder of Smith-Waterman."""
        self._show("smith_waterman_ladder")

    def open_comparison(self) -> None:
        """Show the comparison of devices."""
        self._show("comparison")

    def _show(self, kind: str) -> None:
        page = self._made(kind)
        self._app.show_page(page, page.title)
        self._show_facts(kind, None)

    def _made(self, kind: str) -> LabPage:
        if kind in self.pages:
            return self.pages[kind]
        view, page = self._new(kind)
        job = next(job for job, document in JOBS.items() if document == kind)
        self.views[kind], self.pages[kind] = view, page
        page.run_asked.connect(lambda facts: self._start(job, facts))
        page.stop_asked.connect(lambda: self._stop(job))
        page.action_asked.connect(lambda name: self._act(kind, name))
        page.row_chosen.connect(lambda row: self._show_facts(kind, row))
        self._app.window.center.addWidget(page)
        self._show_kept(kind)
        return page

    def _new(self, kind: str) -> tuple[Any, Any]:
        """Return a view and its page."""
        space = self._app.workspace
        if kind == "comparison":
            from ..views.comparison_page import ComparisonPage

            comparison = ComparisonView(self)
            return comparison, ComparisonPage(comparison, space)
        from ..models import rungs

        if kind == "ladder":
            from ..engines.plan7.ladder_page import LadderPage

            ladder = LadderView(rungs.known_rungs(), rungs.published_device(), self)
            page: RungPage = LadderPage(ladder, space)
        else:
            from ..engines.pairwise.ladder_page import PairLadderPage

            pairs = PairLadderView(rungs.known_pair_rungs(), rungs.published_pair_device(), self)
            page = PairLadderPage(pairs, space)
        page.ladder_asked.connect(self._show)
        return page.ladder, page

    def _show_facts(self, kind: str, row: Row | None) -> None:
        """Show all that is known about a row in the dock."""
        details = self._app.window.details
        if row is None:
            text = "Select a device" if kind == "comparison" else "Select a rung"
            details.show_facts(text, [], "Everything that is known about it is shown here.")
        elif kind != "comparison":
            details.show_facts(row["name"], self.views[kind].facts(row), row.get("text") or "")
        else:
            from clalign.values.devices import Device

            from ..models import device_words

            known = device_words.facts(Device.from_dict(row["device"]))
            details.show_facts(row["device"]["name"], known, row.get("error") or "")

    def close_page(self) -> None:
        """Leave the laboratory page in view."""
        if self.page is not None:
            self._app.show_start()

    # --- jobs ---

    def _start(self, job: str, facts: dict[str, Any]) -> None:
        if job in JOBS:
            self.views[JOBS[job]].begin()
        self._app.window.messages.clear_passed()
        self._app.queue.submit(TITLES[job], {"job": job, **facts})

    def _stop(self, job: str) -> None:
        queue = self._app.queue
        for item in [entry for entry in queue.items if entry.kind == job and entry.is_active]:
            queue.stop(item)

    def _take_partial(self, item: JobItem, value: dict[str, Any]) -> None:
        if item.kind in JOBS:
            row = value.get("row") or value.get("device")
            if row:
                self.views[JOBS[item.kind]].add_row(row)
        elif item.kind == "calibrate" and self._sheet is not None:
            self._sheet.show_progress(value)

    def _forget(self, item: JobItem) -> None:
        """Let a page know that its waiting job was taken out."""
        if item.kind in JOBS and self.views[JOBS[item.kind]].is_live:
            self.views[JOBS[item.kind]].end()
        elif item.kind == "calibrate" and item.state == "waiting" and self._sheet is not None:
            self._sheet.show_problem("")

    def _end(self, item: JobItem) -> None:
        """Take over how a job of the laboratory ended."""
        if not item.is_lab:
            return
        if item.kind == "calibrate":
            self._end_calibration(item)
        elif item.state == "done":
            kind = JOBS[item.kind]
            document = item.result[kind]
            self.views[kind].take(document, kept=False)
            self._keep(kind, document)
            if self.page is not self.pages[kind]:
                text = f"{TITLES[item.kind]}: finished."
                self._app.say("good", text, ("Show", lambda: self._show(kind)))
        else:
            self.views[JOBS[item.kind]].end()
        if item.state in ("done", "stopped"):
            QTimer.singleShot(0, self, lambda: self._app.queue.dismiss(item))

    # --- files ---

    @property
    def folder(self) -> Path:
        """Where results are kept unasked."""
        return self._app.settings.data / "laboratory"

    def _keep(self, kind: str, document: dict[str, Any]) -> None:
        path = self.folder / f"{kind}-{time.strftime('%Y%m%d-%H%M%S')}.json"
        try:
            write_document(document, path)
        except OSError as error:
            text = f"The result could not be kept in {self.folder} because: {error.strerror}. Save it elsewhere."
            self._app.say("caution", text)
            return
        self._search.sources.add_recent(str(path), kind)

    def _show_kept(self, kind: str) -> None:
        """Begin with what was measured last."""
        files = sorted(self.folder.glob(f"{kind}-*.json"))
        if files:
            try:
                self.views[kind].take(read_document(str(files[-1])), kept=True)
            except ClalignError as error:
                self._app.say("caution", str(error))

    def open_document(self, path: str) -> None:
        """Show a result that was saved; a comparison of another machine is added to the one shown."""
        try:
            document = read_document(path)
        except ClalignError as error:
            self._app.say("stop", str(error))
            return
        kind = document["kind"]
        self._made(kind)
        view = self.views[kind]
        if view.is_live:
            self._app.say("note", "The job goes on. Stop it first to show another result.")
            return
        if kind == "comparison" and view.document and self.page is self.pages[kind]:
            try:
                document = with_other_machine(view.document, path)
            except ClalignError as error:
                self._app.say("stop", str(error))
                return
        view.take(document, kept=True)
        self._search.sources.add_recent(path, kind)
        self._show(kind)

    def _act(self, kind: str, name: str) -> None:
        if name == "copy":
            self.pages[kind].table_in_view().copy()
        else:
            {"open": self._ask_open, "save": self._ask_save, "picture": self._ask_picture}[name](kind)

    def _ask_open(self, kind: str) -> None:
        window = self._app.window
        path, _ = QFileDialog.getOpenFileName(window, f"Open {KINDS[kind]}", "", "Results (*.json);;All files (*)")
        if path:
            self.open_document(path)

    def _ask_save(self, kind: str) -> None:
        window, proposed = self._app.window, str(Path.home() / f"{kind}.json")
        path, _ = QFileDialog.getSaveFileName(window, f"Save {KINDS[kind]}", proposed, "Results (*.json)")
        if path:
            self._write(lambda: write_document(self.views[kind].document, Path(path)), path)

    def _ask_picture(self, kind: str) -> None:
        from ..views.figure_view import save_picture

        chart = self.pages[kind].chart_in_view()
        if chart is None:
            self._app.say("note", "There is no chart in view yet.")
            return
        window, proposed = self._app.window, str(Path.home() / f"{kind}.svg")
        path, _ = QFileDialog.getSaveFileName(window, "Save picture", proposed, "SVG (*.svg);;PNG (*.png)")
        if path:
            self._write(lambda: save_picture(chart, path, window.font()), path)

    def _write(self, write: Any, path: str) -> None:
        try:
            write()
        except OSError as error:
            self._app.say("stop", f"{path} could not be written because: {error.strerror}.")
            return
        self._app.say("good", f"Written to {formatting.short_path(path)}.")

    # --- calibration ---

    @property
    def _sheet(self) -> Any:
        from ..engines.plan7.calibrate_sheet import CalibrateSheet

        sheet = self._app.window.sheets.sheet
        return sheet if isinstance(sheet, CalibrateSheet) else None

    def calibrate(self, path: str = "") -> None:
        """Open the sheet that calibrates a profile file; by default the one of the next search."""
        from ..engines.plan7.calibrate_sheet import CalibrateSheet

        space, sheets = self._app.workspace, self._app.window.sheets
        source = space.sources.get(path) if path else space.profiles
        if source is None:
            return
        sheet = CalibrateSheet(source, space, self._proposed(source.path))
        sheet.calibrate_asked.connect(self._start_calibration)
        sheet.stop_asked.connect(lambda: self._stop("calibrate"))
        sheet.search_asked.connect(self._search.open_run_sheet)
        sheet.resized.connect(sheets.fit)
        sheets.open_sheet(sheet)

    def _proposed(self, path: str) -> Path:
        folder, stem = self._app.settings.data / "calibrated", Path(path).name.split(".")[0]
        made, number = folder / f"{stem}.hmm", 2
        while made.exists():
            made, number = folder / f"{stem}-{number}.hmm", number + 1
        return made

    def _start_calibration(self, facts: dict[str, Any]) -> None:
        folder = Path(facts["output"]).parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._sheet.show_problem(f"The folder {folder} could not be made because: {error.strerror}.")
            return
        self._start("calibrate", facts)

    def _end_calibration(self, item: JobItem) -> None:
        sheet = self._sheet
        if item.state != "done":
            if sheet is not None:
                sheet.show_problem("" if item.state == "stopped" else item.line())
            return
        output, fits = item.result["output"], item.result["fits"]
        self._search.sources.replace(item.spec["profiles"], output)
        if sheet is not None:
            sheet.show_fits(output, fits)
            return
        what = f"{fits[0]['name']} is" if len(fits) == 1 else f"{formatting.plural(len(fits), 'profile')} are"
        where = formatting.short_path(output)
        self._app.say("good", f"{what} calibrated; searches use {where} from now on.")
