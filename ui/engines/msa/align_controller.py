"""Alignments of many sequences: their sheet, and the requests of their pages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from clalign.engines.msa.exports import LATER
from clalign.engines.msa.recompute_annealing import begin_again
from clalign.engines.msa.spec import AlignmentSpec
from clalign.jobs import Event, JobContext
from clalign.values.documents import JobResult, SpecFields
from clalign.values.specs import Spec

from ... import formatting
from ...formatting import error_text
from ...models.jobs import JobItem
from ...models.workspace import Offer, Source
from ...services.alignment_controller import AlignmentController
from ...services.app_context import AppContext
from ...services.form_controller import Below, FormController
from ...services.job_controller import run_name
from ...services.picture_files import export_picture_file
from .changing_controller import ChangingController
from .run_view import AlignedRunView

if TYPE_CHECKING:
    from ...models.results.run_view import RunView
    from ...views.results.results_page import ResultsPage
    from .page import AlignedPage
    from .sheet import AlignSheet


SERIES = "Numbered pictures, one for each step (*.png)"

MAX_SEQUENCES = 5000
"""Largest file of sequences that is offered to be aligned."""


class AlignController(FormController):
    """Prepares alignments, and writes and verifies them."""

    engine: ClassVar[str] = "msa"
    of_files: ClassVar[tuple[str, ...]] = ("device", "alphabet", "load_posteriors", "tree_weights")

    def __init__(self, app: AppContext, *below: *Below) -> None:
        super().__init__(app, *below)
        self._rows = AlignmentController.of(app)
        app.queue.partial_received.connect(self._watch)
        self.changes = ChangingController(app, self._rows, self.sources)

    def new_sheet(self, options: SpecFields) -> AlignSheet:
        from .sheet import AlignSheet

        return AlignSheet(self._app.workspace, options)

    def align(self, path: str) -> None:
        """Open the sheet with the sequences of a file."""
        self._app.workspace.choose(path)
        self.open_sheet()

    def offers(self, source: Source) -> list[Offer]:
        n = source.report.get("n_sequences", 0)
        if source.kind != "sequences" or not 1 < n <= MAX_SEQUENCES:
            return []
        text = "Align again…" if source.is_alignment else "Align…"
        return [Offer(text, "align.align", tip="Statistical alignment of all of them (FSA)", place="foot")]

    def connect_page(self, page: ResultsPage) -> None:
        from .page import AlignedPage

        assert isinstance(page, AlignedPage)
        page.panel_made.connect(self._rows.connect_rows)
        page.export_requested.connect(lambda: self._export(page))
        page.pairs.picture_requested.connect(lambda: self._save_pair(page))
        page.bar.lower_requested.connect(lambda factor: self.anneal(page.run, factor))

    def _save_pair(self, page: AlignedPage) -> None:
        """Save the probabilities of the pair in view as a picture."""
        from .pair_painter import PairPicture

        canvas = page.pairs.canvas
        stem = formatting.file_words("-".join(canvas.shown.names))
        picture = PairPicture(canvas.shown, canvas.with_path)
        export_picture_file(self._app, stem, lambda: picture)

    def save_movie(self) -> None:
        """Save the annealing of the run in view as an animation or a series of pictures."""
        page = self.page
        if page is None or page.run.aligned is None:
            return
        kinds = ("Animated PNG, for browsers (*.png)", SERIES)
        path, kind = self._app.ask_target("Save annealing as", f"{self._rows.stem}-annealing.png", ";;".join(kinds))
        if path:
            self.write_movie(page.run, path if path.lower().endswith(".png") else f"{path}.png", kind == SERIES)

    def write_movie(self, run: AlignedRunView, path: str, as_series: bool) -> None:
        """Write the annealing of a run; a series gets a number before the ending of the file name."""
        from .annealing_movie import AnnealingPictures, write_movie, write_series

        if run.aligned is None or run.rows is None:
            return
        pictures = AnnealingPictures(run.aligned, run.rows.scheme, run.rows.ramp, run.title)
        text = "The pictures of the annealing are being drawn."
        self._app.notify("note", text)

        def write(context: JobContext) -> int:
            if as_series:
                return write_series(pictures, str(Path(path).parent), Path(path).stem, context)
            write_movie(pictures, path, context)
            return 1

        def note(event: Event) -> None:
            page = self.page
            if page is not None and page.run is run and page.rows_panel is not None and event.kind == "progress":
                done, total = event.value["done"], event.value["total"]
                page.rows_panel.status.setText(f"Picture {done + 1} of {total} of the annealing")

        def finish(answer: int | Exception) -> None:
            self._app.window.messages.withdraw(text)
            if isinstance(answer, Exception):
                self._app.notify("stop", error_text(answer, f"{path} could not be written"))
                return
            what = f"{formatting.plural(answer, 'picture')} of the annealing" if as_series else "Annealing"
            self._app.notify("good", f"{what} written to {formatting.short_path(path)}.")

        self._app.files.ask_slowly((str(run.path), "movie"), write, finish, note)

    @property
    def page(self) -> AlignedPage | None:
        """The alignment of a run that is in view."""
        from .page import AlignedPage

        shown = self._app.page
        return shown if isinstance(shown, AlignedPage) else None

    def verify(self) -> None:
        """Verify a sample of the pairs of the run in view, and its alignment."""
        if self.page is not None:
            self.jobs.verify(str(self.page.run.path), None, "a sample of the pairs")

    def _watch(self, item: JobItem, value: JobResult) -> None:
        page = self._app.pages.get(item.run)
        if page is not None and isinstance(page.run, AlignedRunView) and "columns" in value:
            page.run.watch(value)

    def anneal(self, run: AlignedRunView, gap_factor: float) -> None:
        """Merge the columns of a run again with another gap factor, in a new run; no pair is compared again."""
        spec, old = run.spec, run.path
        if spec is None:
            return
        path = self.jobs.new_run(f"{run_name(spec, time.time())}-gap-factor-{gap_factor:g}")
        if not path:
            return

        def take(answer: Exception | None) -> None:
            if isinstance(answer, Exception):
                self._app.notify("stop", error_text(answer, "The run could not be copied"))
            else:
                title = f"Merge the columns of {Path(spec.paths[0]).name} with the gap factor {gap_factor:g}"
                self.jobs.resume(path, title=title)

        self._app.files.ask((str(old), "anneal"), lambda: begin_again(old, Path(path), gap_factor), take)

    def _export(self, page: AlignedPage) -> None:
        """Ask for a file and export to it in a worker."""
        run = page.run
        filters = {f"{one.words} (*{one.ending})": (one.name, one.ending) for one in LATER}
        path, chosen = self._app.ask_target("Export as", f"{run.path.stem}.afa", ";;".join(filters))
        if path:
            form = next((form for form, ending in filters.values() if path.endswith(ending)), filters[chosen][0])
            self.jobs.export(str(run.path), form, path, None)

    def open_inputs(self, spec: Spec) -> None:
        if isinstance(spec, AlignmentSpec):
            self.sources.open_quietly(list(spec.sequences))

    def search_wider(self, run: RunView) -> None:
        self.edit_run(run)
