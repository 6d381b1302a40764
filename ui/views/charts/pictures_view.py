"""The pictures of the hits of a run: one at a time, with hits selected by mouse, saved and copied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QWidget

from clalign.common.plain_data import Json
from clalign.engines.pictures import KINDS, HitPicture, PictureRequest

from ... import formatting
from ...models.results.run_view import RunView
from ...models.widgets.text_table import TextColumn, TextTable
from ..widgets.parts import (
    ElidedLabel,
    IconButton,
    LazyView,
    allow_entry,
    button,
    fill_box,
    held,
    label,
    one_of,
    row,
    shrinking,
    stacked,
)
from ..widgets.text_table_view import TextTableView, TurningSplitter
from ..widgets.wait_sign import WaitLine
from .drawing_view import DrawingView
from .one_at_a_time import OneAtATime

MAX_LISTED = 5000
"""Species in the table; a file has all."""


def _text(place: int) -> Callable[[Json], str]:
    return lambda entry: formatting.count(entry["cells"][place])


SPECIES_COLUMNS = (
    TextColumn("Species", "From descriptions or the taxonomy", lambda e: str(e["cells"][0]), stretch=True),
    TextColumn("Sequences", "With hits", _text(1), right=True, width=80),
    TextColumn("Hits", "Of all queries in view", _text(3), right=True, width=60),
    TextColumn("Best E-value", "Of its hits", lambda e: formatting.evalue(e["cells"][4]) if e["cells"][4] != "" else "",
               right=True, width=90),
)  # fmt: skip


class PicturesView(LazyView):
    """Shows a picture once it is read."""

    hits_picked = Signal(object)
    taxonomy_requested = Signal()
    numbers_requested = Signal()
    picture_requested = Signal()
    copy_requested = Signal()
    table_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.request: PictureRequest = PictureRequest("coverage")
        self.is_chosen = False
        """Whether the user chose the picture: it stays then, even if it cannot be drawn."""

        self.drawing = DrawingView()
        self.drawing.hits_picked.connect(self.hits_picked)
        self.drawing.described.connect(self._describe)
        self.species = TextTable(SPECIES_COLUMNS, self)
        self.table = TextTableView(self.species, "Species")
        self.table.row_chosen.connect(self._pick_species)
        self.empty: OneAtATime = OneAtATime("chart-scatter-plot")
        shown = TurningSplitter(self.drawing, self.table, first_height=360)
        self._stack = one_of(self.empty, shown)
        self.setLayout(stacked(self._tools(), (self._stack, 1), self._foot(), spacing=0))
        self.setFocusProxy(self.kinds)
        self._show_tools()
        self.show_text("Pictures of the hits", "They are being read.")

    def _tools(self) -> QWidget:
        self.kinds = shrinking(QComboBox())
        self.kinds.setMinimumContentsLength(18)
        self.kinds.setAccessibleName("Picture")
        fill_box(self.kinds, ((name, kind.words, kind.meaning) for name, kind in KINDS.items()))
        self.kinds.activated.connect(lambda: self.choose_kind(self.kinds.currentData()))
        self.meaning = ElidedLabel("", "muted")
        tip = "Choose a table of species: name, accession, OX number or OS name, tab, species"
        self.taxonomy = IconButton("family-tree", tip, self.taxonomy_requested.emit, "Taxonomy…")
        self.columns = shrinking(QComboBox())
        self.columns.setAccessibleName("Column of the table of taxonomy")
        self.columns.activated.connect(lambda: self._change_request(column=self.columns.currentData()))
        self.tools = [
            IconButton("table-arrow-down", "Save the numbers behind the picture (TSV)", self.numbers_requested.emit),
            IconButton("content-copy", "Copy the picture", self.copy_requested.emit),
            IconButton("export-variant", "Save the picture: SVG, PDF or PNG", self.picture_requested.emit),
        ]
        top = row(self.kinds, None, self.columns, self.taxonomy, *self.tools)
        return held(stacked(top, self.meaning, spacing=2, margins=(12, 6, 12, 2)))

    def _foot(self) -> QWidget:
        self.sentence = label("", "muted", wrap=True)
        self.picked = WaitLine("Reading the hits")
        self.waiting = self.picked.waiting
        self.show_them = button("Show in the table", self.table_requested.emit, "link")
        self.show_them.hide()
        line = row((self.picked, 1), self.show_them)
        return held(stacked(self.sentence, line, spacing=2, margins=(12, 4, 12, 6)))

    def _show_tools(self) -> None:
        is_species = self.request.kind == "species"
        self.taxonomy.setVisible(is_species)
        self.columns.setVisible(is_species and self.columns.count() > 1)
        self.table.setVisible(is_species)
        self.meaning.setText(KINDS[self.request.kind].meaning)

    def allow_kind(self, kind: str, reason: str) -> None:
        """Enable a picture, or disable it with a reason."""
        allow_entry(self.kinds, self.kinds.findData(kind), reason)

    def choose_kind(self, kind: str) -> None:
        """Show the picture that the user chose."""
        self.is_chosen = True
        self.show_kind(kind)

    def show_kind(self, kind: str) -> None:
        """Show another picture."""
        self.kinds.setCurrentIndex(self.kinds.findData(kind))
        self._change_request(kind=kind)

    def _change_request(self, **more: object) -> None:
        self.request = replace(self.request, **more)
        self._show_tools()
        self.show_picked("")
        self.reload()

    def set_taxonomy(self, path: str, columns: list[tuple[str, str]]) -> None:
        """Set the table and column that species are looked up in: titles and names."""
        fill_box(self.columns, ((name, words) for words, name in columns))
        self.taxonomy.setToolTip(f"Species are looked up in {Path(path).name}. Choose another table")
        self._change_request(taxonomy=path, column="")

    @property
    def picture(self) -> HitPicture | None:
        """The picture in view, or None."""
        return self.drawing.picture if self._stack.currentIndex() else None

    def show_picture(self, picture: HitPicture) -> None:
        """Show a picture."""
        self.sentence.setText(picture.sentence)
        if self.request.kind == "species":
            rows = [{"cells": cells} for _, cells in zip(range(MAX_LISTED), picture.rows(), strict=False)]
            self.species.update_rows(rows)
        self._stack.setCurrentIndex(1)
        self.drawing.show_picture(picture)
        for tool in self.tools:
            tool.setEnabled(True)

    def show_text(self, heading: str, text: str, too_many: RunView | None = None) -> None:
        """Show a text in place of a picture; if a run shows too many queries, offer one of them."""
        super().show_text(heading, text)
        self.empty.offer(too_many)
        self.sentence.setText("")
        self.drawing.show_picture(None)
        for tool in self.tools:
            tool.setEnabled(False)

    def show_picked(self, words: str) -> None:
        """Show how many hits were selected in the table."""
        self.picked.setText(words)
        self.show_them.setVisible(bool(words))

    def _describe(self, text: str) -> None:
        if not self.show_them.isVisible():
            self.picked.setText(text.replace("\n", " · "))

    def _pick_species(self) -> None:
        picture = self.picture
        counts = getattr(picture, "counts", [])
        place = self.table.currentIndex().row()
        if 0 <= place < len(counts):
            self.hits_picked.emit(counts[place].hits)
