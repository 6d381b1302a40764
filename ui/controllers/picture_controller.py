"""Pictures of the hits of a run: reads their data, selects hits in the table, saves and copies."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from shiboken6 import isValid

from clalign.engines.pictures import KINDS, HitPicture, PictureRequest, read_picture, write_numbers
from clalign.errors import ClalignError
from clalign.formats.taxonomy import column_named, read_taxonomy
from clalign.values.species import SpeciesRule, Taxonomy

from .. import formatting
from ..formatting import error_text
from ..services.app_context import AppContext, Controller
from ..services.picture_files import copy_picture, export_picture_file

if TYPE_CHECKING:
    from ..models.results.run_view import RunView
    from ..views.charts.pictures_view import PicturesView
    from ..views.results.results_page import ResultsPage

ALL_QUERIES_KIND = "score-coverage"
"""What is shown first of a run of many queries, when all of them are in view."""

TAXONOMY_FILTER = "Tables of taxonomy (*.tsv *.txt *.tab *.gz);;All files (*)"


def _nothing(run: RunView, chosen: PictureRequest) -> tuple[str, str] | None:
    """Return heading and text for a run without hits to draw; None if there are some."""
    if not KINDS[chosen.kind].needs_hits and run.share_searched() != 0.0:
        return None
    higher = "No hits to draw", "Choose another one above, or search with a higher limit."
    return run.unsearched_words() or higher


class PictureController(Controller):
    """Serves the requests of the tab Pictures."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._tables: WeakKeyDictionary[PicturesView, Taxonomy] = WeakKeyDictionary()
        self._latest: WeakKeyDictionary[PicturesView, PictureRequest] = WeakKeyDictionary()

    def connect_page(self, page: ResultsPage) -> None:
        """Connect a page as soon as it has pictures."""
        page.pictures_made.connect(lambda view: self._connect(page, view))

    def _connect(self, page: ResultsPage, view: PicturesView) -> None:
        view.requested.connect(lambda request: self.read(page, view, request))
        view.taxonomy_requested.connect(lambda: self._choose_taxonomy(view))
        view.numbers_requested.connect(lambda: self._save_numbers(page, view))
        view.picture_requested.connect(lambda: self._save(page, view))
        view.copy_requested.connect(lambda: self._copy(view))
        view.hits_picked.connect(lambda hits: self.choose_hits(page, view, hits))
        view.table_requested.connect(lambda: page.show_tab("hits"))
        view.waiting.stopped.connect(lambda: self._stop(page, view))
        view.reload()  # it is looked at already

    def _stop(self, page: ResultsPage, view: PicturesView) -> None:
        """Stop reading; the last picture stays."""
        self._app.files.forget((str(page.run.path), "picture"))
        self._latest.pop(view, None)
        view.stop_waiting()

    @staticmethod
    def _chosen(page: ResultsPage, request: PictureRequest) -> PictureRequest:
        query = None if page.run.shows_all else page.run.profile
        return PictureRequest(request.kind, query, request.taxonomy, request.column)

    def read(self, page: ResultsPage, view: PicturesView, request: PictureRequest) -> None:
        """Read the data of a picture and show it."""
        run, chosen = page.run, self._chosen(page, request)
        if not run.cards:
            return
        self._apply_taxonomy(page, view, request)
        path, key = run.path, (str(run.path), "picture")
        if self._latest.get(view, chosen) != chosen:  # the same one is read to its end: a search adds hits all the time
            self._app.files.forget(key)
        self._latest[view] = chosen
        has_stages = run.engine is not None and run.engine.parts.stages is not None
        view.allow_kind("filters", "" if has_stages else "This search has no filters: every target is aligned")
        view.allow_kind("rounds", "" if run.cards[0].get("round") else "This search has no rounds")
        if KINDS[chosen.kind].of_one and chosen.query is None and len(run.cards) > 1:
            if not view.is_chosen:  # nobody asked for this one
                view.show_kind(ALL_QUERIES_KIND)
                return
            noun = run.noun.lower()
            view.waiting.end()
            view.show_text(f"One {noun} at a time", f"Choose a {noun} to see its picture.", run)
            return

        if not run.is_live:  # else it is read again and again
            view.waiting.begin()

        def take(answer: HitPicture | Exception) -> None:
            if not isValid(view) or view.request != request or self._chosen(page, request) != chosen:
                return
            view.waiting.end()
            if isinstance(answer, Exception):
                view.show_text("There is no picture", error_text(answer, "The hits could not be read"))
            elif not run.hits.n_all and not run.hits.is_busy and (why := _nothing(run, chosen)):
                view.show_text(*why)
            else:
                view.show_picture(answer)

        self._app.files.ask_slowly(key, lambda context: read_picture(path, chosen, context), take)

    def _apply_taxonomy(self, page: ResultsPage, view: PicturesView, request: PictureRequest) -> None:
        """Use the taxonomy of the picture in table and filters, too."""
        taxonomy, known = self._tables.get(view), page.run.hits.query.species
        if taxonomy is None:
            return
        column = column_named(taxonomy, request.column)
        if known.taxonomy is not taxonomy or known.column != column:
            page.run.hits.set_species(SpeciesRule(taxonomy, column, request.taxonomy))

    def choose_hits(self, page: ResultsPage, view: PicturesView, hits: npt.NDArray[np.int64]) -> None:
        """Select hits in the table as far as it shows them."""
        n_picked, places = len(hits), page.run.hits.places_of(hits)
        are_alone = page.hits.choose_hits(hits, places)
        of = f"{formatting.count(len(places))} of " if len(places) < n_picked else ""
        done = "listed alone in the table, and selected" if are_alone else "selected in the table"
        others = "; the table does not show the others" if of else ""
        view.show_picked(f"{of}{formatting.plural(n_picked, 'hit')} {done}{others}")

    def _choose_taxonomy(self, view: PicturesView) -> None:
        if path := self._app.ask_file("Table of taxonomy", TAXONOMY_FILTER):
            self.set_taxonomy(view, path)

    def set_taxonomy(self, view: PicturesView, path: str) -> None:
        """Read a table of taxonomy and count by it, or show what is wrong with it."""

        def take(answer: Taxonomy | Exception) -> None:
            if not isValid(view):
                return
            if isinstance(answer, Exception):
                words = str(answer) if isinstance(answer, ClalignError) else error_text(answer, "It could not be read")
                self._app.notify("caution", f"The table of taxonomy is not used. {words}")
                return
            self._tables[view] = answer
            n = max(map(len, answer.of.values()))
            heads = (*answer.heads, *(f"column {place + 2}" for place in range(len(answer.heads), n)))
            view.set_taxonomy(path, [(head, str(place + 2)) for place, head in enumerate(heads[:n])])

        self._app.files.ask((path, "taxonomy"), partial(read_taxonomy, path), take)

    def _stem(self, page: ResultsPage, view: PicturesView) -> str:
        return f"{page.run.file_stem}-{view.request.kind}"

    def _save_numbers(self, page: ResultsPage, view: PicturesView) -> None:
        path, _ = self._app.ask_target("Save the numbers as", f"{self._stem(page, view)}.tsv", "Table (*.tsv)")
        if path:
            write = partial(write_numbers, page.run.path, self._chosen(page, view.request), path)
            self._app.write_file(path, "Table", write, self._app.files)

    def _save(self, page: ResultsPage, view: PicturesView) -> None:
        from ..views.charts.drawing_painter import DrawingPicture

        picture = view.picture
        if picture is not None:
            export_picture_file(self._app, self._stem(page, view), lambda: DrawingPicture(picture.whole()))

    def _copy(self, view: PicturesView) -> None:
        from ..views.charts.drawing_painter import DrawingPicture

        if view.picture is not None:
            copy_picture(self._app, DrawingPicture(view.picture.whole()))
