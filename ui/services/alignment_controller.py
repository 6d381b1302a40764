"""Alignments of files: their pages, and files written from them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from shiboken6 import isValid

from clalign.formats.recognize import recognize
from clalign.formats.row_alignments import list_alignments, read_rows
from clalign.formats.row_forms import ENDINGS, FORMS, form_of
from clalign.formats.row_writers import Part, write_rows
from clalign.formats.writers import whole_file
from clalign.jobs import Event, JobContext
from clalign.tools.library import stem_of
from clalign.values.row_alignments import RowAlignment

from .. import formatting
from ..formatting import error_text
from ..models.alignment.row_measures import Rows, order_by_species
from ..models.workspace import Offer, Source, stamp_of
from .app_context import AppContext, PagesController
from .picture_files import open_picture_sheet
from .source_controller import SourceController

if TYPE_CHECKING:
    from ..views.alignment.rows_page import RowsPage, RowsPanel
    from ..views.alignment.rows_picture import RowsChoices

READ_AT_ONCE = 64 << 20
"""Bytes of a file from which on it is shown before a worker has inspected all of it."""


class AlignmentController(PagesController["RowsPage"]):
    """Opens alignments in their own pages."""

    shown = Signal(str)
    """The alignment of a file came into view."""

    ways_requested = Signal(object)
    """A menu to be filled with actions on the alignment in view."""

    def __init__(self, app: AppContext, sources: SourceController) -> None:
        super().__init__(app)
        self._stamps: dict[str, tuple[int, int]] = {}
        sources.alignment_opened.connect(self.open)
        sources.file_requested.connect(self._show_large_early)
        app.inspector.file_read.connect(self._read_again)

    @classmethod
    def of(cls, app: AppContext) -> AlignmentController:
        """Return the controller of a window, which stands below those of engines."""
        found = app.findChild(cls)
        assert found is not None
        return found

    @property
    def panel(self) -> RowsPanel | None:
        """The alignment in view, if it is read."""
        if self.page is not None:
            return self.page.panel
        return self._app.page.rows_panel if self._app.page is not None else None

    @property
    def title(self) -> str:
        """The title of the alignment in view."""
        if self.page is not None:
            return self.page.title
        return self._app.page.run.title if self._app.page is not None else ""

    @property
    def stem(self) -> str:
        """The stem of names of files made from the alignment in view."""
        run = self._app.page.run if self.page is None and self._app.page is not None else None
        path = self.title if run is None else run.spec.paths[0] if run.spec is not None else str(run.path)
        return stem_of(path)

    def with_file(self, take: Callable[[str], None]) -> None:
        """Call something with a file of the alignment in view: its own, its run, or a temporary one."""
        panel, run = self.panel, self._app.page.rows_run if self.page is None and self._app.page is not None else ""
        if panel is None:
            return
        own = self.path_in_view
        if own and self.pages[own].numbers.count() > 1:
            own = ""  # it is one of several
        if own or run:
            take(own or run)
            return
        alignment = panel.view.alignment

        def write() -> str:
            path = self._app.settings.new_file("alignments", self.stem, ".sto")
            with whole_file(path, is_exact=True) as stream:
                write_rows(alignment, "stockholm", stream)
            return path

        def go_on(answer: str | Exception) -> None:
            if isinstance(answer, Exception):
                self._app.notify("stop", error_text(answer, "The alignment in view could not be written"))
            else:
                take(answer)

        self._app.files.ask((own, "written"), write, go_on)

    def compare(self) -> None:
        """Ask for another alignment of the same sequences and show it below the one in view."""
        heading = "Compare with an alignment of the same sequences"
        if self.panel is not None and (path := self._app.ask_file(heading)):
            self.panel.panes.show_comparison(path)

    def offers(self, source: Source) -> list[Offer]:
        """Return the actions for an opened file."""
        report = source.report
        is_even = report.get("n_sequences", 0) > 1 and report.get("shortest") == report.get("longest")
        if not source.is_alignment and not (source.kind == "sequences" and is_even):
            return []
        return [Offer("Show alignment", "alignments.open", tip="Rows, columns, consensus and conservation")]

    def open_chosen(self) -> None:
        """Show the alignment of the chosen file."""
        if self._app.workspace.sequences is not None:
            self.open(self._app.workspace.sequences.path)

    def open(self, path: str) -> None:
        """Show the alignment of a file."""
        from ..views.alignment.rows_page import RowsPage

        page = self.pages.get(path)
        if page is not None and self._stamps.get(path) == stamp_of(path):
            self._show(path)
            return
        if page is None:
            page = self.pages[path] = RowsPage(Path(path).name)
            page.number_requested.connect(partial(self._read, path))
            page.stop_requested.connect(partial(self._stop, path))
            page.panel_made.connect(self.connect_rows)
            self._app.window.center.addWidget(page)
        self._show(path)
        self._read(path, 0)

    def _show(self, path: str) -> None:
        """Show the alignment of a file, and the file in the docks."""
        self._app.show_page(self.pages[path], self.pages[path].title)
        self._app.window.details.show_source(self._app.workspace.sources.get(path))

    def connect_rows(self, shown: RowsPanel) -> None:
        """Connect an alignment in view."""
        shown.save_requested.connect(self.save)
        shown.export_requested.connect(self.export_picture)
        shown.noticed.connect(self._app.notify)
        shown.ways_requested.connect(self.ways_requested)

    def _show_large_early(self, path: str) -> None:
        """Show a large alignment before its inspection, which may take minutes."""
        if stamp_of(path)[1] < READ_AT_ONCE:
            return

        def take(answer: str | Exception) -> None:
            if answer == "alignment":
                self.open(path)

        self._app.files.ask((path, "kind"), lambda: recognize(path), take)

    def _read_again(self, path: str) -> None:
        if path in self.pages and self._stamps.get(path) != stamp_of(path):
            self._read(path, 0)

    def _read(self, path: str, number: int) -> None:
        page, name = self.pages[path], Path(path).name
        page.close_view()
        page.show_text("Reading the alignment", name, can_stop=True)
        self._stamps[path] = stamp_of(path)

        def note(event: Event) -> None:
            if event.kind == "progress" and isValid(page) and page.panel is None and event.value["total"]:
                share = formatting.percent(event.value["done"] / event.value["total"])
                page.show_text("Reading the alignment", f"{name}: {share}", can_stop=True)

        def read(context: JobContext) -> tuple[RowAlignment, Rows | None]:
            alignment = read_rows(path, number, context)
            return alignment, order_by_species(alignment)

        def take(answer: tuple[RowAlignment, Rows | None] | Exception) -> None:
            if not isValid(page) or self.pages.get(path) is not page:
                return
            if isinstance(answer, Exception):
                page.show_text("This alignment cannot be shown", error_text(answer, "The file could not be read"))
                return
            page.show_alignment(*answer)
            if self.page is page and self._app.window.sheets.sheet is None:
                page.setFocus()
            if number == 0:
                self._list(path, page)
            self._app.update_actions()
            self.shown.emit(path)

        self._app.files.ask_slowly((path, "rows"), read, take, note)

    def _list(self, path: str, page: RowsPage) -> None:
        """List the other alignments of the file."""

        def take(answer: list[str] | Exception) -> None:
            if isValid(page) and not isinstance(answer, Exception):
                page.show_titles(answer, 0)

        self._app.files.ask_slowly((path, "titles"), lambda context: list_alignments(path, context), take)

    def _stop(self, path: str) -> None:
        self._app.forget_files(path)
        self._stamps.pop(path, None)
        self.pages[path].show_text("Stopped", "The file was not read completely. Open it again to see the alignment.")

    def drop(self, path: str) -> None:
        if path in self.pages:
            self._app.forget_files(path)
            self._stamps.pop(path, None)
            self.pages[path].close_view()
        super().drop(path)

    def forget(self, owner: str) -> None:
        """Close the page of a file."""
        self.drop(owner)

    def leave(self) -> None:
        """Stop all computations when the window closes."""
        for page in self.pages.values():
            page.close_view()

    # --- files ---

    def save(self) -> None:
        """Ask for a file and write the selection to it, or the whole alignment."""
        panel = self.panel
        if panel is None:
            return
        filters = ";;".join(f"{name} (*{' *'.join(ENDINGS[form])})" for form, name in FORMS.items())
        stem = Path(self.title).name.split(".")[0]
        what = "Save selection as" if panel.view.selection is not None else "Save alignment as"
        path, chosen = self._app.ask_target(what, f"{stem}-alignment.fasta", filters)
        if path:
            form = form_of(path) or next((key for key, name in FORMS.items() if chosen.startswith(name)), "fasta")
            self.write(panel.view.alignment, panel.chosen_part(), path, form)

    def write(self, alignment: RowAlignment, part: Part, path: str, form: str) -> None:
        """Write an alignment, or a part of it, to a file."""

        def write() -> None:
            with whole_file(path, is_exact=True) as stream:
                write_rows(alignment, form, stream, part)

        self._app.write_file(path, f"Alignment ({FORMS[form]})", write, self._app.files)

    def export_picture(self) -> None:
        """Open the sheet for a picture of the alignment in view."""
        from ..views.alignment.rows_picture import RowsPicture, picture_title
        from ..views.alignment.rows_sheet import RowsPictureSheet

        panel, title = self.panel, self.title
        if panel is None:
            return

        def make(choices: RowsChoices) -> RowsPicture:
            return RowsPicture(panel.view, choices, picture_title(title, panel.view, choices.part))

        sheet = RowsPictureSheet(panel, Path(title).name, self._app.export_folder)
        open_picture_sheet(self._app, sheet, make, lambda choices: choices.millimeters)
