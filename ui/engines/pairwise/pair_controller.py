"""Comparisons of sequences: their sheet, the dot plots of their hits, and pictures."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from shiboken6 import isValid

from clalign.databases.examples import PairExample
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.values.documents import SpecFields
from clalign.values.specs import Spec

from ...formatting import error_text
from ...models.workspace import Offer, Source
from ...services.app_context import AppContext
from ...services.form_controller import Below, FormController
from ...services.picture_files import export_picture_file
from .dot_plot import DotPlot, read_dot_plot
from .notices import source_offers
from .run_view import PairRunView

if TYPE_CHECKING:
    from ...models.results.run_view import RunView
    from ...views.results.results_page import ResultsPage
    from .card import PairCard
    from .page import PairPage
    from .sheet import PairSheet


class PairController(FormController):
    """Prepares comparisons, and serves the requests of their hits."""

    engine: ClassVar[str] = "pairwise"
    of_files: ClassVar[tuple[str, ...]] = (
        "device", "direction", "alphabet", "query_format", "sequence_format", "pair_list", "in_step", "long",
        "shard",
    )  # fmt: skip

    def __init__(self, app: AppContext, *below: *Below) -> None:
        super().__init__(app, *below)
        self.locating.located.connect(self._fill_again)

    # --- starting ---

    def new_sheet(self, options: SpecFields) -> PairSheet:
        from .sheet import PairSheet

        sheet = PairSheet(self._app.workspace, options)
        sheet.action_requested.connect(self._app.call)
        self.open_with_queries(sheet)
        return sheet

    def search_with_chosen(self) -> None:
        """Open the sheet with the chosen sequences as queries."""
        chosen = self._app.workspace.sequences
        if chosen is not None:
            self.search_with(chosen.path)

    def compare_targets(self) -> None:
        """Take the targets of the sheet for its queries, too."""
        self._app.workspace.choose_queries(self._app.workspace.sequences_path)

    def open_example(self, example: PairExample) -> None:
        """Open a bundled example; its files fill the sheet in once they are read."""
        self._choose(str(example.queries), str(example.targets))
        self.open_sheet()
        if self._app.settings.preferences.run_examples and self.sheet is not None:
            space, files = self._app.workspace, [str(example.queries), str(example.targets)]
            self.sheet.run_when_ready(lambda: [s.path for s in (space.queries, space.sequences) if s] == files)

    def _choose(self, queries: str, targets: str) -> None:
        self.sources.open_quietly([queries, targets])
        self._app.workspace.expect(queries, targets)

    def offers(self, source: Source) -> list[Offer]:
        return source_offers(source)

    def open_inputs(self, spec: Spec) -> None:
        if isinstance(spec, PairwiseSpec):
            self._choose(spec.queries, spec.targets)

    def search_wider(self, run: RunView) -> None:
        assert isinstance(run, PairRunView)
        self.edit_run(run, evalue=run.wider_evalue(), score=None)

    # --- results ---

    def connect_page(self, page: ResultsPage) -> None:
        from .page import PairPage

        assert isinstance(page, PairPage)
        page.card_made.connect(lambda card: self._connect_card(page, card))

    def _connect_card(self, page: PairPage, card: PairCard) -> None:
        card.dots_requested.connect(lambda: self._fill_dots(page, card))
        card.dots.canvas.closer_requested.connect(lambda part: self._fill_part(page, card, part))
        card.dots.locate_requested.connect(lambda: self.locating.ask(str(page.run.path)))
        card.alignment_picture_requested.connect(self.save_alignment)
        card.dots.picture_requested.connect(self.save_dots)

    def _fill_again(self, run: str) -> None:
        """Compute the dots once a missing file of the run was found."""
        from .card import PairCard
        from .page import PairPage

        page = self._app.pages.get(run)
        if isinstance(page, PairPage):
            for card in page.findChildren(PairCard):
                self._fill_dots(page, card)

    def _fill_dots(self, page: PairPage, card: PairCard) -> None:
        """Compute the dots of the hit in view, in a thread."""
        run = page.run
        hit = run.hit
        if hit is None:
            return

        def take(answer: DotPlot | Exception) -> None:
            if not isValid(card) or run.hit is not hit:
                return
            if isinstance(answer, Exception):
                self._app.notify("stop", error_text(answer, f"The dot plot of {hit.name} could not be made"))
            else:
                card.dots.show_plot(answer)

        path, number = run.path, hit.profile
        files = self._app.files
        files.ask_slowly((str(path), "dots"), lambda context: read_dot_plot(path, number, hit, context), take)

    def _fill_part(self, page: PairPage, card: PairCard, part: tuple[tuple[int, int], tuple[int, int]]) -> None:
        """Compute smaller dots for a part of the plot."""
        plot = card.dots.canvas.plot
        closer = plot.closer if plot is not None else None
        if closer is None:
            return

        def take(answer: DotPlot | Exception) -> None:
            if isValid(card) and card.dots.canvas.plot is plot and not isinstance(answer, Exception):
                card.dots.show_part(answer)

        key = (str(page.run.path), "closer dots")
        self._app.files.forget(key)
        self._app.files.ask_slowly(key, lambda context: closer(*part, context.check), take)

    # --- pictures ---

    def save_alignment(self) -> None:
        """Save the alignment of the hit in view as a picture."""
        from .page import PairPage
        from .pictures import AlignmentPicture, too_long

        page = self._app.page
        if not isinstance(page, PairPage) or page.run.hit is None:
            return
        run, scheme = page.run, self._app.settings.preferences.scheme
        hit, card, is_nucleic = page.run.hit, run.card, run.is_nucleic
        make = partial(AlignmentPicture, hit, card, is_nucleic, scheme)
        export_picture_file(self._app, f"{hit.name}-alignment", make, partial(too_long, hit))

    def save_dots(self) -> None:
        """Save the visible part of the dot plot as a picture."""
        from .card import PairCard
        from .pictures import DotPicture

        page = self._app.page
        if page is None or page.run.hit is None or not isinstance(page.hit, PairCard):
            return
        canvas = page.hit.dots.canvas
        if canvas.plot is None:
            return
        plot, least, shown = canvas.plot, canvas.least, canvas.shown
        export_picture_file(self._app, f"{page.run.hit.name}-dots", lambda: DotPicture(plot, least, shown))
