"""Results of many hits together, for all engines: architectures, overview, hits as one alignment."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import asdict
from shiboken6 import isValid

from clalign.engines.exports import ARCHITECTURE, ARCHITECTURE_GFF3, MATRIX, QUERIES, Export
from clalign.engines.hit_alignments import read_hit_alignment
from clalign.engines.overview import Overview, read_overview
from clalign.formats.traced_rows import Scores
from clalign.jobs import JobContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import open_run
from clalign.values.documents import Card
from clalign.values.row_alignments import RowAlignment

from .. import formatting
from ..formatting import error_text
from ..models.alignment.row_measures import SPECIES, Rows, order_by_species
from ..models.alignment.rows_view import RowsView
from ..models.charts.architectures import ArchitectureRequest, Architectures, Bars, question
from ..models.charts.heat_map import HeatMap
from ..models.results.hit_pages import HitRow
from ..services.alignment_controller import AlignmentController
from ..services.app_context import AppContext, Controller
from ..services.job_controller import JobController
from ..services.picture_files import export_picture_file

if TYPE_CHECKING:
    from ..views.alignment.aligned_hits import AlignedHits
    from ..views.charts.architecture_view import ArchitectureView
    from ..views.charts.overview_view import OverviewView
    from ..views.results.results_page import ResultsPage
    from ..views.widgets.parts import LazyView

CLANS_FILTER = "Tables of clans (*.tsv *.dat *.gz *.sto *.stk *.seed *.txt);;All files (*)"

MAX_DRAWN = 2000
"""Sequences of one picture."""


def _judges(page: ResultsPage) -> bool:
    """Return whether the engine of a run calls hits significant."""
    return page.run.engine is not None and page.run.engine.calls_significant


def _load_parts() -> None:
    """Load the modules of some parts of results in a thread: the window would stall for a third of a second."""
    for name in ("alignment.aligned_hits", "charts.overview_view", "charts.architecture_view", "charts.pictures_view"):
        import_module(f"..views.{name}", __package__)


def names_with_query(names: Sequence[str], card: Card) -> dict[int, str]:
    """Return new names of rows if the first one is the query: its own, and a number for its own hit."""
    head, _, ends = names[0].rpartition("/")
    if head != card["name"]:
        return {}
    itself = f"{head}_2/{ends}"
    return {0: f"query {names[0]}", **{row: names[0] for row, name in enumerate(names) if name == itself}}


class ResultsController(Controller):
    """Reads results of many hits together, and saves them."""

    def __init__(self, app: AppContext, jobs: JobController, alignments: AlignmentController) -> None:
        super().__init__(app)
        self._jobs, self._alignments = jobs, alignments

    def connect_page(self, page: ResultsPage) -> None:
        """Connect the parts of a page as soon as it has them."""
        page.queries.table_requested.connect(lambda: self._save(page, QUERIES, "Save the table of queries as"))
        page.overview_made.connect(lambda view: self._connect_overview(page, view))
        page.domains_made.connect(lambda view: self._connect_domains(page, view))
        page.aligned_made.connect(lambda view: self._connect_aligned(page, view))
        self._app.files.ask("parts of results", _load_parts, lambda answer: None)

    def _stop(self, page: ResultsPage, view: LazyView, what: str) -> None:
        """Stop reading for a view; what it shows stays."""
        self._app.files.forget((str(page.run.path), what))
        view.stop_waiting()

    # --- overview ---

    def _connect_overview(self, page: ResultsPage, view: OverviewView) -> None:
        view.requested.connect(lambda _: self.read_overview(page, view))
        view.map.cell_chosen.connect(lambda key: self.show_hit(page, key))
        view.matrix_requested.connect(lambda: self._save(page, MATRIX, "Save the scores as"))
        view.picture_requested.connect(lambda: self.draw_map(page, view))
        view.waiting.stopped.connect(lambda: self._stop(page, view, "overview"))
        view.reload()  # it is looked at already

    def read_overview(self, page: ResultsPage, view: OverviewView) -> None:
        """Read the hits of all queries of a run, and show them."""

        if not page.run.is_live:  # else it is read again and again
            view.waiting.begin()

        def take(answer: tuple[Overview, HeatMap] | Exception) -> None:
            if not isValid(view):
                return
            view.waiting.end()
            if isinstance(answer, Exception):
                view.show_text("The queries cannot be shown", error_text(answer, "They could not be read"))
            else:
                content, heat = answer
                nouns = "queries" if page.run.nouns == "Rounds" else page.run.nouns.lower()
                view.show_content(content, heat, nouns, page.run.empty_words()[0])

        path = page.run.path

        def read(context: JobContext) -> tuple[Overview, HeatMap]:
            found = read_overview(path, context)
            return found, HeatMap(found.matrix).prepared()

        self._app.files.ask_slowly((str(path), "overview"), read, take)

    def _save(self, page: ResultsPage, what: Export, heading: str) -> None:
        path, _ = self._app.ask_target(heading, f"{page.run.file_stem}{what.ending}", "Table (*.tsv)")
        if path:
            self._jobs.export(str(page.run.path), what.name, path, None)

    def draw_map(self, page: ResultsPage, view: OverviewView) -> None:
        """Open the sheet that saves the heat map as a picture."""
        from ..views.charts.heat_map_view import HeatMapPicture

        if view.map.heat is None or not len(view.map.heat.matrix.hits):
            self._app.notify("note", "There are no hits to draw.")
            return
        title = f"{page.run.title} – scores: {view.map.heat.matrix.scale}"
        picture = HeatMapPicture(view.map.heat, view.query_names, title)
        export_picture_file(self._app, f"{page.run.file_stem}-map", lambda: picture)

    # --- architectures ---

    def _connect_domains(self, page: ResultsPage, view: ArchitectureView) -> None:
        view.set_nouns(page.run.noun.lower())
        view.requested.connect(lambda request: self.read_architectures(page, view, request))
        view.clans_requested.connect(lambda: self._choose_clans(view))
        view.table_requested.connect(lambda: self.save_architectures(page, view))
        view.picture_requested.connect(lambda: self.draw_architectures(page, view))
        view.canvas.domain_chosen.connect(lambda domain: self.show_hit(page, domain.hit))
        view.choice_requested.connect(lambda content: self.choose_architecture(page, view, content))
        view.waiting.stopped.connect(lambda: self._stop(page, view, "architectures"))
        view.reload()  # it is looked at already

    def read_architectures(self, page: ResultsPage, view: ArchitectureView, request: ArchitectureRequest) -> None:
        """Read the architectures of a run and show them."""
        view.significant.setVisible(_judges(page))
        if not view.has_content:
            view.show_text(f"Reading the {view.part}s", "Placing the hits of all queries on their sequences.")

        if not page.run.is_live:
            view.waiting.begin()

        def take(answer: Architectures | Exception) -> None:
            if not isValid(view) or view.request != request:
                return
            view.waiting.end()
            if isinstance(answer, Exception):
                view.show_text(f"The {view.part}s cannot be shown", error_text(answer, "They could not be read"))
            else:
                view.show_content(answer, "" if page.run.is_complete else " so far")

        self._app.files.ask_slowly((str(page.run.path), "architectures"), question(page.run.path, request), take)

    def choose_architecture(self, page: ResultsPage, view: ArchitectureView, content: Architectures) -> None:
        """Search many architectures for the chosen ones, and show them."""
        choice = view.choice

        def take(answer: Bars | Exception) -> None:
            if isValid(view) and view.content is content and view.choice == choice and isinstance(answer, Bars):
                view.show_bars(answer)

        self._app.reader.ask((id(page), "architecture"), lambda: content.bars(*choice), take)

    def _choose_clans(self, view: ArchitectureView) -> None:
        if path := self._app.ask_file("Table of clans", CLANS_FILTER):
            view.set_clans(path)

    def save_architectures(self, page: ResultsPage, view: ArchitectureView) -> None:
        """Ask for a file, and write the architectures as a table or as GFF3."""
        name, kinds = f"{page.run.file_stem}-architectures.tsv", "Table (*.tsv);;GFF3 (*.gff3)"
        path, kind = self._app.ask_target("Save architectures as", name, kinds)
        if path:
            is_gff3 = path.lower().endswith((".gff3", ".gff")) or (kind[:4] == "GFF3" and "." not in Path(path).name)
            what, request = ARCHITECTURE_GFF3 if is_gff3 else ARCHITECTURE, view.request
            self._jobs.export(str(page.run.path), what.name, path, None, overlaps=request.rule, clans=request.clans)

    def draw_architectures(self, page: ResultsPage, view: ArchitectureView) -> None:
        """Open the sheet that saves the sequences in view as a picture."""
        from ..views.charts.architecture_painter import ArchitecturePicture

        shown, title = view.canvas.shown[:MAX_DRAWN], page.run.title
        words = formatting.plural(len(shown), "sequence")
        if len(view.canvas.shown) > MAX_DRAWN:
            words = f"the first {words} of {formatting.count(len(view.canvas.shown))}"
        picture = ArchitecturePicture(shown, view.canvas.colors, f"{title} – {view.part}s of {words}")
        export_picture_file(self._app, f"{page.run.file_stem}-domains", lambda: picture)

    def show_hit(self, page: ResultsPage, key: int) -> None:
        """Show a hit by its id in the run file, among the hits of its query."""
        path = page.run.path

        def read() -> HitRow:
            with open_run(path) as run:
                hit, query = run.hit(key), HitQueries(run.connection).place(key)[0]
            return HitRow(**asdict(hit), id=key, profile=query, verified="", note="")

        def take(answer: HitRow | Exception) -> None:
            if isValid(page) and not isinstance(answer, Exception):
                page.show_hit(answer)

        self._app.reader.ask((id(page), "hit"), read, take)

    # --- hits as one alignment ---

    def _connect_aligned(self, page: ResultsPage, view: AlignedHits) -> None:
        view.requested.connect(lambda significant: self.align_hits(page, view, significant))
        view.waiting.stopped.connect(lambda: self._stop(page, view, "aligned"))
        view.reload()  # it is looked at already

    def align_hits(self, page: ResultsPage, view: AlignedHits, significant: bool) -> None:
        """Read the hits of the query in view as one alignment, and show it."""
        run, number = page.run, page.run.profile
        noun = run.noun.lower()
        view.significant.setVisible(_judges(page))
        if run.shows_all:
            view.waiting.end()
            view.close_view()
            view.show_text(f"One {noun} at a time", f"Hits are aligned by the {noun} that found them.", run)
            return
        if view.panel is None:
            view.show_text("Aligning the hits", f"Each as the search aligned it to the {noun}.")

        if not run.is_live:
            view.waiting.begin()

        def take(answer: tuple[RowAlignment, Scores, Rows | None] | Exception) -> None:
            if not isValid(view) or run.profile != number:
                return
            view.waiting.end()
            if isinstance(answer, Exception):
                view.close_view()
                view.show_text("The hits cannot be shown together", error_text(answer, "They could not be read"))
                return
            alignment, scores, by_species = answer
            if not alignment.n_rows:
                view.close_view()
                which = "significant hits" if significant and _judges(page) else "hits"
                none = "No hits to align", f"This {noun} has no {which}."
                view.show_text(*(run.unsearched_words() or none))
                return
            rows = RowsView(alignment, page)
            rows.input_words = "Best first"
            rows.own_names = names_with_query(alignment.names, run.card) if scores[0] != scores[0] else {}
            if (scores == scores).any():
                rows.set_scores("Score (bits)", scores)
            if by_species is not None:
                rows.own_orders[SPECIES] = by_species
            sequences = formatting.plural(alignment.n_rows, "row")
            panel = view.show_rows(rows, f"{run.card['name']}: {sequences}, each aligned to the {noun}")
            self._alignments.connect_rows(panel)
            rows.begin()
            self._app.update_actions()

        path, species = run.path, run.hits.query.species

        def read(context: JobContext) -> tuple[RowAlignment, Scores, Rows | None]:
            alignment, scores = read_hit_alignment(path, number, significant, context)
            return alignment, scores, order_by_species(alignment, species)

        self._app.files.ask_slowly((str(path), "aligned"), read, take)
