"""Comparisons of sequences: their sheet, the dot plots of their hits, and pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication, QFileDialog
from shiboken6 import isValid

from clalign.databases.examples import PairExample
from clalign.engines.pairwise.spec import PairwiseSpec

from ..engines.pairwise.dot_plot import DotPlot, read_dot_plot
from ..engines.pairwise.run_view import PairRunView
from ..formatting import told
from .app_context import AppContext, Controller
from .locate_controller import LocateController
from .search_controller import SearchController

if TYPE_CHECKING:
    from ..engines.pairwise.card import PairCard
    from ..engines.pairwise.page import PairPage
    from ..engines.pairwise.sheet import PairSheet
    from ..views.pictures import Picture

PICTURE_FILTER = "SVG, to be edited (*.svg);;PDF (*.pdf);;PNG, as pixels (*.png)"

KEPT = ("queries", "targets", "device", "direction", "alphabet", "query_format", "sequence_format", "pair_list",
        "in_step")  # fmt: skip
"""Fields of a spec that belong to its files; the others are remembered for the next comparison."""


class PairwiseController(Controller):
    """Prepares comparisons and shows more of their hits."""

    def __init__(self, app: AppContext, search: SearchController, locating: LocateController) -> None:
        super().__init__(app)
        self._search, self._locating = search, locating
        self._pasted = ""
        self._options: dict[str, Any] = {}
        app.inspector.file_read.connect(self._take_pasted)
        locating.located.connect(self._fill_again)

    # --- starting ---

    @property
    def sheet(self) -> PairSheet | None:
        """The sheet, if it is open."""
        from ..engines.pairwise.sheet import PairSheet

        sheet = self._app.window.sheets.sheet
        return sheet if isinstance(sheet, PairSheet) else None

    def compare(self) -> None:
        """Open the sheet, or start the comparison if it is open."""
        sheet = self.sheet
        if sheet is None:
            self.open_sheet()
        else:
            sheet.run_button.click()

    def search_with(self, path: str) -> None:
        """Open the sheet with a file as queries."""
        space = self._app.workspace
        if space.sequences_path == path:
            others = [s.path for s in space.of_kind("sequences") if s.state == "ready" and s.path != path]
            space.sequences_path = others[-1] if others else path
        space.choose_queries(path)
        self.open_sheet()

    def search_with_chosen(self) -> None:
        """Open the sheet with the chosen sequences as queries."""
        chosen = self._app.workspace.sequences
        if chosen is not None:
            self.search_with(chosen.path)

    def open_sheet(self, **options: Any) -> None:
        """Show the sheet with the options of the last comparison."""
        from ..engines.pairwise.sheet import PairSheet

        self._search.sources.look_again()
        self._app.workspace.propose_queries()
        sheet = PairSheet(self._app.workspace, {**self._options, **options})
        sheet.run_asked.connect(self.start)
        sheet.open_asked.connect(self._search.sources.open_files)
        sheet.paste_asked.connect(self._keep_pasted)
        sheet.resized.connect(self._app.window.sheets.fit)
        self._app.window.sheets.open_sheet(sheet)

    def open_example(self, example: PairExample) -> None:
        """Open a bundled example: its files fill the sheet in when they are read."""
        paths = [str(example.queries), str(example.targets)]
        self._search.sources.open_quietly(paths)
        space = self._app.workspace
        space.choose(paths[1])
        space.choose_queries(paths[0])
        self.open_sheet()
        sheet = self.sheet
        if sheet is not None and self._app.settings.preferences.run_examples:
            sheet.run_when_ready()

    def _keep_pasted(self, text: str) -> None:
        path = self._search.sources.keep_pasted("query", text)
        if path:
            self._pasted = path
            self._search.sources.open_quietly([path])

    def _take_pasted(self, path: str) -> None:
        if path != self._pasted:
            return
        self._pasted = ""
        space = self._app.workspace
        if space.sequences_path == path:
            others = [s.path for s in space.of_kind("sequences") if s.state == "ready" and s.path != path]
            space.sequences_path = others[-1] if others else ""
        space.choose_queries(path)

    def start(self, spec: PairwiseSpec) -> None:
        """Start a comparison and show its results."""
        defaults = PairwiseSpec("", "")
        values = spec.to_dict()
        self._options = {k: v for k, v in values.items() if k not in KEPT and v != getattr(defaults, k)}
        self._search.start(spec)

    def search_wider(self, run: PairRunView) -> None:
        """Open the sheet with the files of a run and a higher limit."""
        spec = run.facts["spec"]
        self._search.sources.open_quietly([spec["queries"], spec["targets"]])
        space = self._app.workspace
        space.choose(spec["targets"])
        space.choose_queries(spec["queries"])
        values = {k: v for k, v in spec.items() if k not in KEPT}
        self.open_sheet(**{**values, "evalue": run.wider_evalue(), "score": None})

    # --- results ---

    def connect_page(self, page: PairPage) -> None:
        """Do what the card of a page asks for."""
        page.card_made.connect(lambda card: self._connect_card(page, card))

    def _connect_card(self, page: PairPage, card: PairCard) -> None:
        card.dots_asked.connect(lambda: self._fill_dots(page, card))
        card.dots.locate_asked.connect(lambda: self._locating.ask(str(page.run.path)))
        card.alignment_picture_asked.connect(self.save_alignment)
        card.dots_picture_asked.connect(self.save_dots)

    def _fill_again(self, run: str) -> None:
        """Compare once more, now that a file of the run was found."""
        from ..engines.pairwise.card import PairCard

        page = self._app.pages.get(run)
        for card in page.findChildren(PairCard) if page is not None else ():
            self._fill_dots(page, card)

    def _fill_dots(self, page: PairPage, card: PairCard) -> None:
        """Compare the two sequences of the hit in view; the window does not wait."""
        run = page.run
        hit, row = run.hit, run.hit_row
        if hit is None or row is None:
            return

        def take(answer: DotPlot | Exception) -> None:
            if not isValid(card) or run.hit is not hit:
                return
            if isinstance(answer, Exception):
                self._app.say("stop", told(answer, f"The dot plot of {hit.name} could not be made"))
            else:
                card.show_dots(answer)

        path, number = run.path, row.profile
        files = self._app.files
        files.ask_long((str(path), "dots"), lambda context: read_dot_plot(path, number, hit, context), take)

    # --- pictures ---

    def save_alignment(self) -> None:
        """Save the alignment of the hit in view as a picture."""
        from ..engines.pairwise.pictures import AlignmentPicture

        page = self._app.page
        if page is None or page.run.hit is None or not page.has_pictures:
            return
        run, scheme = page.run, self._app.settings.preferences.scheme
        hit, card, is_nucleic = page.run.hit, run.card, run.is_nucleic
        self._save(f"{hit.name}-alignment", lambda: AlignmentPicture(hit, card, is_nucleic, scheme))

    def save_dots(self) -> None:
        """Save the dot plot of the hit in view as a picture, as far as it is in view."""
        from ..engines.pairwise.card import PairCard
        from ..engines.pairwise.pictures import DotPicture

        page = self._app.page
        if page is None or page.run.hit is None or not isinstance(page.hit, PairCard):
            return
        canvas = page.hit.dots.canvas
        if canvas.plot is None:
            return
        plot, least, shown = canvas.plot, canvas.least, canvas.shown
        self._save(f"{page.run.hit.name}-dots", lambda: DotPicture(plot, least, shown))

    def _save(self, name: str, make: Callable[[], Picture]) -> None:
        proposed = str(Path.home() / f"{name.replace('/', '_').replace('|', '_')}.svg")
        path, _ = QFileDialog.getSaveFileName(self._app.window, "Save picture as", proposed, PICTURE_FILTER)
        if path:
            self.write_picture(make, path)

    def write_picture(self, make: Callable[[], Picture], path: str) -> None:
        """Write a picture; the ending of the file name decides the format."""
        from ..views.pictures import FORMATS, save_picture

        path = path if Path(path).suffix.lower() in FORMATS else f"{path}.svg"
        font = QFont(QApplication.font())
        self._app.write_file(path, "Picture", lambda: save_picture(make(), path, font), self._app.files)
