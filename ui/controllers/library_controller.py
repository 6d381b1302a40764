"""The library of runs: finding, naming, comparing and deleting them."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict
from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices

from clalign.errors import ClalignError
from clalign.runs.side_files import ENDING
from clalign.tools import library

from ..formatting import moment
from ..models.results.run_view import STATE_WORDS
from ..models.widgets.text_table import Row
from ..services.app_context import AppContext, Controller

if TYPE_CHECKING:
    from ..views.library_page import LibraryPage


def entries(folder: Path, others: list[str]) -> list[library.RunEntry]:
    """Return the runs of a folder and others outside of it, the newest first."""
    found = {entry.path: entry for entry in library.listed(folder)}
    for name in others:
        path = Path(name)
        if path not in found and path.is_file():
            found[path] = library.look_at(path)
    return sorted(found.values(), key=lambda entry: -entry.created)


def run_words(paths: list[str]) -> dict[str, tuple[str, str, str]]:
    """Return the names of readable runs as in the library, their states unless they are complete, and their times."""
    found = {}
    for path in paths:
        with contextlib.suppress(OSError):  # removed meanwhile, say
            found[path] = library.look_at(Path(path))
    return {
        path: (run.name, "" if run.state == "done" else STATE_WORDS.get(run.state, run.state), moment(run.created))
        for path, run in found.items() if not run.problem
    }  # fmt: skip


class LibraryController(Controller):
    """Shows the page of the library and acts on its runs."""

    run_requested = Signal(str)
    resume_requested = Signal(str)
    renamed = Signal(str)
    deleting = Signal(str)
    """A run is about to be deleted: nobody may hold it."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._page: LibraryPage | None = None
        self._entries: list[library.RunEntry] = []
        app.queue.job_ended.connect(lambda _: self.refresh())
        app.queue.job_ticked.connect(lambda _: self._show_shares())

    @property
    def is_shown(self) -> bool:
        """Whether the library is in view."""
        return self._page is not None and self._app.window.center.currentWidget() is self._page

    def show(self) -> None:
        """Show the library."""
        from ..views.library_page import LibraryPage

        if self._page is None:
            self._page = LibraryPage()
            self._page.back_requested.connect(self._app.leave_aside)
            self._page.search_changed.connect(lambda _: self._show_entries() if self._entries else None)
            self._page.action_requested.connect(self._act)
            self._app.window.center.addWidget(self._page)
        self._page.search.selectAll()
        if not self._entries:
            self._page.empty.show_text("Reading the runs", "")
        self._app.show_aside(self._page, "Library of runs")
        self._app.window.details.show_source(None)  # what it showed belongs to another page
        self._read()

    def refresh(self) -> None:
        """List the runs again if they are in view."""
        if self.is_shown:
            self._read()

    def _read(self) -> None:
        folder = self._app.settings.runs
        others = [entry.path for entry in self._app.settings.recent if entry.path.endswith(ENDING)]
        self._app.reader.ask((id(self), "library"), lambda: entries(folder, others), self._take)

    def _take(self, answer: list[library.RunEntry] | Exception) -> None:
        if isinstance(answer, Exception):
            self._app.notify("stop", f"The runs could not be listed because: {answer}.")
            return
        self._entries = answer
        self._show_entries()

    def _show_entries(self) -> None:
        from ..views.library_page import entry_row

        if self._page is not None:
            words, job_of = self._page.search.text(), self._app.queue.of_run
            shown = [entry_row(entry, job_of(str(entry.path))) for entry in self._entries if entry.holds(words)]
            self._page.show_runs(shown, len(self._entries))

    def _show_shares(self) -> None:
        """Show anew how far the jobs of this window are."""
        if self._page is not None and self.is_shown:
            self._page.table.viewport().update()

    def _act(self, name: str, paths: list[str]) -> None:
        getattr(self, name)(paths)

    def open(self, paths: list[str]) -> None:
        """Show the results of a run."""
        self.run_requested.emit(paths[0])

    def resume(self, paths: list[str]) -> None:
        """Continue a partial run, or show the one that a job continues already."""
        is_continued = self._app.queue.of_run(paths[0]) is not None
        (self.run_requested if is_continued else self.resume_requested).emit(paths[0])

    def reveal(self, paths: list[str]) -> None:
        """Open the folder of a run."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(Path(paths[0]).absolute().parent)))

    def rename(self, paths: list[str]) -> None:
        """Ask for a new name of a run."""
        from ..views.library_page import NameRunSheet

        path = Path(paths[0])
        sheet = NameRunSheet(library.look_at(path).name)
        sheet.named.connect(lambda name: self._rename(path, name))
        self._app.window.sheets.open_sheet(sheet)

    def _rename(self, path: Path, name: str) -> None:
        self._app.window.sheets.close_sheet()

        def finish(answer: object) -> None:
            if isinstance(answer, Exception):
                self._app.notify("stop", f"The run could not be renamed. {answer}")
            self.renamed.emit(str(path))
            self._app.window.show_recent()
            self.refresh()

        self._app.reader.ask((id(self), "rename"), lambda: library.rename(path, name), finish)

    def delete(self, paths: list[str]) -> None:
        """Ask for confirmation to delete runs."""
        from ..views.library_page import DeleteRunsSheet

        found = [library.look_at(Path(path)) for path in paths if Path(path).exists()]
        sheet = DeleteRunsSheet([entry.name for entry in found], sum(entry.n_bytes for entry in found))
        sheet.confirmed.connect(lambda: self._delete(paths))
        self._app.window.sheets.open_sheet(sheet)

    def _delete(self, paths: list[str]) -> None:
        self._app.window.sheets.close_sheet()
        for path in paths:
            if self._app.queue.of_run(path) is not None:
                self._app.notify("stop", f"{Path(path).name}: a job works on it. Stop that first.")
                continue
            self.deleting.emit(path)
            try:
                library.delete(Path(path))
            except ClalignError as error:
                self._app.notify("stop", str(error))
                continue
            self._app.settings.forget(path)
        self._app.window.show_recent()
        self.refresh()

    def compare(self, paths: list[str]) -> None:
        """Show the hits that two runs share."""
        from ..views.library_page import RunsComparedSheet

        first, second = (Path(path) for path in paths)
        runs = library.look_at(first), library.look_at(second)

        def compare() -> tuple[list[library.HitPair], list[Row]]:
            pairs = library.compare(first, second)
            return pairs, [{**asdict(pair), "status": pair.status, "change": pair.change} for pair in pairs]

        def show(answer: tuple[list[library.HitPair], list[Row]] | Exception) -> None:
            if isinstance(answer, Exception):
                self._app.notify("stop", f"The runs could not be compared. {answer}")
                return
            pairs, rows = answer
            sheet = RunsComparedSheet(runs, rows)
            sheet.save_requested.connect(lambda: self._save(pairs))
            self._app.window.sheets.open_sheet(sheet)

        self._app.reader.ask((id(self), "compare"), compare, show)

    def _save(self, pairs: list[library.HitPair]) -> None:
        text = "\n".join(library.comparison_lines(pairs)) + "\n"
        self._app.save_text("Save comparison as", "compared_runs.tsv", "Tables (*.tsv)", "Comparison", text)
