"""Actions on hits: copy, export, filter, sort, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication, QUndoCommand
from shiboken6 import isValid

from clalign.common.plain_data import Json
from clalign.engines.export import export
from clalign.formats.scratch import Scratch
from clalign.runs.pages import ALL_QUERIES, HitQuery, count_hits
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import open_run

from ..formatting import file_words
from ..models.results.scripts import as_command, as_python
from ..services.alignment_controller import AlignmentController
from ..services.app_context import AppContext, Controller
from ..services.job_controller import JobController

if TYPE_CHECKING:
    from ..models.results.run_view import RunView
    from ..views.results.export_sheet import ExportSheet
    from ..views.results.results_page import ResultsPage


PREVIEW_HITS, PREVIEW_LETTERS = 3, 20_000
"""Hits that are written to show how a file begins, and how much of it is read."""


class NoteChange(QUndoCommand):
    """A note of a run, before and after it was changed.

    It does nothing by itself: a note that cannot be written now must stay where it is in the stack.

    Parameters
    ----------
    run : str
        Path of the run.
    profile, row : int
        Query, and row of the target.
    before, after : str
    """

    def __init__(self, run: str, profile: int, row: int, before: str, after: str) -> None:
        super().__init__()
        self.run, self.profile, self.row = run, profile, row
        self.before, self.after = before, after


def _words_of_one(run: RunView) -> str:
    """Return the hint for an export of one query when hits of several are chosen; empty if only one has any."""
    noun = run.noun.lower()
    if len(run.query_hits) < 2:
        return ""
    if run.shows_all:
        return f"This format holds the hits of one {noun}: choose one in the list first."
    return f"This format holds the hits of one {noun}: choose those in the table, or save its Aligned hits (Ctrl+S)."


def _counts(page: ResultsPage) -> dict[str, int]:
    """Return how many hits there are, how many of them are listed, and how many are selected."""
    return {"all": page.run.n_hits, "filtered": page.run.hits.n_shown, "selected": page.hits.table.n_chosen()}


def _ids(page: ResultsPage, which: str) -> list[int] | None:
    """Return the ids of the hits of a choice of the export sheet; None where the exporter finds them itself."""
    if which in ("all", "significant"):
        return None
    return page.run.hits.ids(page.hits.table.chosen_ranges() if which == "selected" else None)


def _with_queries(path: Path, which: str, hits: list[int] | None) -> tuple[str, int]:
    """Return ids of hits and the number of queries that found them; called in the reader's thread."""
    with open_run(path) as run:
        return which, HitQueries(run.connection, hits, which == "significant").n_with_hits(by_target=False)


def _taxonomy(page: ResultsPage, shape: Json) -> Json:
    """Return where the species of an export are looked up, if it names them."""
    species = page.run.hits.query.species
    if not species.path or not ("species" in shape or "columns" in shape):
        return {}
    return {"taxonomy": species.path, "taxonomy_column": str(species.column + 2)}


def _first_lines(run: Path, what: str, hits: list[int], shape: Json) -> str:
    """Return the beginning of what an export of some hits writes; called in the reader's thread."""
    with Scratch() as folder:
        export(run, what, folder / "preview", hits, **shape)
        with open(folder / "preview", encoding="utf-8", errors="replace") as stream:
            return stream.read(PREVIEW_LETTERS)


class HitController(Controller):
    """Acts on the results in view."""

    def __init__(self, app: AppContext, jobs: JobController) -> None:
        super().__init__(app)
        self._jobs = jobs
        self._columns = ""

    def verify_run(self) -> None:
        """Compute a sample of the hits again."""
        if self._app.page is not None:
            self._jobs.verify(str(self._app.page.run.path), None)

    def verify_hit(self) -> None:
        """Compute the selected hit again."""
        if self._app.page is not None and self._app.page.run.hit is not None:
            self._jobs.verify(str(self._app.page.run.path), [self._app.page.run.hit.id])

    def export_hits(self) -> None:
        """Open the export sheet; where there are no hits, ask for the file of the alignment in view."""
        from ..views.results.export_sheet import ExportChoices, ExportSheet

        page = self._app.page
        if page is None:
            AlignmentController.of(self._app).save()
            return
        if not page.run.looks_for_hits:
            page.ask_export()
            return
        counts: dict[str, int | None] = {**_counts(page)}
        if page.run.calls_significant:
            counts["significant"] = None
        forms = [one for one in page.run.engine.exports if one.words] if page.run.engine is not None else []
        folder, form = self._app.export_folder, self._app.settings.preferences.export_forms.get(page.tab, "")
        if page.tab == "aligned" and form not in {one.name for one in forms}:  # of another engine
            form = next((one.name for one in forms if one.aligns), "")
        of_one = "" if page.run.shows_all or len(page.run.cards) < 2 else f"-{file_words(page.run.card['name'])}"
        one_query, stem = _words_of_one(page.run), page.run.file_stem
        choices = ExportChoices(stem, counts, folder, forms, self._columns, form, one_query, of_one)
        sheet = ExportSheet(choices)
        self._count(page, sheet)
        page.run.hits.shown_changed.connect(sheet.outdated)
        sheet.outdated.connect(lambda: self._count(page, sheet))
        sheet.queries_requested.connect(lambda which: self._count_queries(page, sheet, which))
        sheet.export_requested.connect(lambda *asked: self._export(page, sheet, *asked))
        sheet.preview_requested.connect(lambda *asked: self._preview(page, sheet, *asked))
        self._app.window.sheets.open_sheet(sheet)

    def _export(self, page: ResultsPage, sheet: ExportSheet, what: str, path: str, which: str) -> None:
        shape = sheet.shape()
        if "columns" in shape:
            self._columns = sheet.columns.text().strip()
        forms = {**self._app.settings.preferences.export_forms, page.tab: what}
        self._app.settings.change(export_folder=str(Path(path).absolute().parent), export_forms=forms)
        self._app.window.sheets.close_sheet()
        shape |= _taxonomy(page, shape)
        if which == "significant":
            shape["significant"] = True
        self._jobs.export(str(page.run.path), what, path, _ids(page, which), **shape)

    def _preview(self, page: ResultsPage, sheet: ExportSheet, what: str, which: str) -> None:
        """Show in the sheet how the file will begin."""
        rows = page.hits.table.chosen_ranges() if which == "selected" else [range(PREVIEW_HITS)]
        hits, shape, path = page.run.hits.ids(rows)[:PREVIEW_HITS], sheet.shape(), page.run.path
        n_hits = _counts(page).get(which, page.run.n_hits)  # significant ones are told apart by words
        shape |= _taxonomy(page, shape) | {"provenance": False, "n_hits": n_hits}
        if which == "significant":
            shape["significant"] = True
        self._app.reader.ask((id(sheet), "preview"), lambda: _first_lines(path, what, hits, shape), sheet.take_preview)

    def _count(self, page: ResultsPage, sheet: ExportSheet) -> None:
        """Show in the sheet how many hits each choice has now, of those that the search called significant in all."""
        for key, count in _counts(page).items():
            sheet.show_count(key, count)
        if not page.run.calls_significant or page.run.card.get("round"):  # only the last rounds are exported
            return

        def take(answer: tuple[int, int] | Exception) -> None:
            if isValid(sheet) and not isinstance(answer, Exception):
                sheet.show_count("significant", answer[1])

        every = HitQuery(page.run.path, ALL_QUERIES)
        self._app.reader.ask((id(sheet), "significant"), lambda: count_hits(every), take)

    def _count_queries(self, page: ResultsPage, sheet: ExportSheet, which: str) -> None:
        """Show in the sheet how many queries found some hits."""
        path, reader = page.run.path, self._app.reader
        if which in ("filtered", "selected") and not page.run.shows_all:
            sheet.take_queries((which, 1))
            return

        ids = _ids(page, which)
        reader.ask((id(sheet), which), lambda: _with_queries(path, which, ids), sheet.take_queries)

    def copy_command(self) -> None:
        """Copy the search as a command."""
        spec = self._app.current_spec()
        if spec is not None:
            QGuiApplication.clipboard().setText(as_command(spec))

    def copy_python(self) -> None:
        """Copy the search as a Python program."""
        spec = self._app.current_spec()
        if spec is not None:
            QGuiApplication.clipboard().setText(as_python(spec))

    def filter_hits(self) -> None:
        """Focus the filter box; where there is no list of hits, the search in the alignment."""
        page = self._app.page
        if page is not None and page.has_tab("hits"):
            page.show_tab("hits")
            page.hits.filter_box.setFocus()
            page.hits.filter_box.selectAll()
        elif page is not None and page.rows_panel is not None:
            page.rows_panel.start_finding()

    def edit_note(self) -> None:
        """Edit the note of the selected hit."""
        if self._app.page is not None:
            self._app.page.show_tab("hits")
            self._app.page.hits.table.edit_note()

    def note_change(self, page: ResultsPage, profile: int, target: int, before: str, after: str) -> None:
        """Record a change of a note for undo."""
        if before != after:
            self._app.notes.push(NoteChange(str(page.run.path), profile, target, before, after))

    def undo_note(self) -> None:
        """Undo the last change of a note."""
        self._put_note(self._app.notes.index() - 1, again=False)

    def redo_note(self) -> None:
        """Redo the last undone change of a note."""
        self._put_note(self._app.notes.index(), again=True)

    def _put_note(self, place: int, again: bool) -> None:
        notes, change = self._app.notes, self._app.notes.command(place)
        assert isinstance(change, NoteChange)
        page = self._app.pages.get(change.run)
        if page is None:
            self._app.notify("note", f"The note is in the run {Path(change.run).stem}, which is closed. Open it first.")
        elif page.run.hits.put_note(change.profile, change.row, change.after if again else change.before):
            (notes.redo if again else notes.undo)()

    def clear_filter(self) -> None:
        """Show all hits that the search reported."""
        if self._app.page is not None:
            self._app.page.hits.filter_box.clear()
            self._app.page.run.hits.list_picked(None)
            self._app.page.run.reset_thresholds()

    def sort_hits(self, key: str) -> None:
        """Sort by a column; again reverses, a third time restores the original order."""
        if self._app.page is not None:
            table = self._app.page.hits.table
            place = table.kind.place(key)
            if place is not None:
                table.sort_column(place)

    def choose_columns(self) -> None:
        """Open the menu of columns."""
        if self._app.page is not None:
            header = self._app.page.hits.table.horizontalHeader()
            self._app.page.hits.table.column_menu().popup(header.mapToGlobal(header.rect().bottomLeft()))
