"""Alignments of many sequences: their sheet, and what their pages ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtWidgets import QFileDialog

from clalign.engines.msa.spec import AlignmentSpec

from ...desk.alignment_controller import AlignmentController
from ...desk.app_context import AppContext
from ...desk.form_controller import FormController
from ...models.jobs import JobItem
from ...models.workspace import Offer, Source
from .changing_controller import ChangingController
from .run_view import AlignedRunView

if TYPE_CHECKING:
    from ...models.run_view import RunView
    from ...views.results_page import ResultsPage
    from .page import AlignedPage
    from .sheet import AlignSheet

MOST_SEQUENCES = 5000
"""More are not offered to be aligned."""


class AlignController(FormController):
    """Prepares alignments and shows more of them."""

    of_files: ClassVar[tuple[str, ...]] = ("device", "alphabet", "load_posteriors", "tree_weights")

    def __init__(self, app: AppContext, *below: Any) -> None:
        super().__init__(app, *below)
        rows = app.findChild(AlignmentController)
        assert rows is not None  # it stands below
        self._rows = rows
        app.queue.partial_received.connect(self._watch)
        self._options: dict[str, Any] = {}
        self.changes = ChangingController(app, rows, self.sources)

    def new_sheet(self, options: dict[str, Any]) -> AlignSheet:
        """Return the sheet."""
        from .sheet import AlignSheet

        return AlignSheet(self._app.workspace, options)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the last alignment that are not at their defaults."""
        return self._options

    def keep_options(self, options: dict[str, Any]) -> None:
        """Remember the options of an alignment until the window is closed."""
        self._options = options

    def align(self, path: str) -> None:
        """Open the sheet with the sequences of a file."""
        self._app.workspace.choose(path)
        self.open_sheet()

    def offers(self, source: Source) -> list[Offer]:
        """Return what can be done with an opened file of sequences."""
        n = source.report.get("n_sequences", 0)
        if source.kind != "sequences" or not 1 < n <= MOST_SEQUENCES:
            return []
        again = source.is_alignment
        text = "Align again…" if again else "Align these sequences…"
        return [Offer(text, "align.align", tip="Statistical alignment of all of them (FSA)", place="foot")]

    def connect_page(self, page: ResultsPage) -> None:
        """Do what the results of alignments ask for."""
        from .page import AlignedPage

        assert isinstance(page, AlignedPage)
        page.panel_made.connect(self._rows.connect_rows)
        page.export_asked.connect(lambda: self._export(page))
        page.bar.too_low.connect(lambda least: self._say_too_low(page, least))

    def _watch(self, item: JobItem, value: dict[str, Any]) -> None:
        page = self._app.pages.get(item.run)
        if page is not None and isinstance(page.run, AlignedRunView) and "columns" in value:
            page.run.watch(value)

    def _say_too_low(self, page: AlignedPage, least: float) -> None:
        text = f"This run merged only what is worth a gap factor of {least:g}. For a lower one align again."
        self._app.say("note", text, ("Align again…", lambda: self.search_wider(page.run)))

    def _export(self, page: AlignedPage) -> None:
        """Ask for a file and let a worker write it."""
        run = page.run
        filters = {f"{words} (*{ending})": (form, ending) for form, words, ending in run.export_forms}
        proposed = str(Path.home() / f"{run.path.stem}.fasta")
        path, chosen = QFileDialog.getSaveFileName(self._app.window, "Export as", proposed, ";;".join(filters))
        if path:
            form = next((form for form, ending in filters.values() if path.endswith(ending)), filters[chosen][0])
            self.jobs.export(str(run.path), form, path, None)

    def search_wider(self, run: RunView) -> None:
        """Open the sheet with the files of a run."""
        spec = run.spec
        if isinstance(spec, AlignmentSpec):
            self.sources.open_quietly(list(spec.sequences))
            self.open_sheet()
