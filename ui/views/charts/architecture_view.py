"""Domain architectures of a run: their frequencies, and their sequences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from ... import formatting
from ...models.charts.architectures import GROUP_COLUMNS, RULE_WORDS, ArchitectureRequest, Architectures, Bars
from ...models.widgets.text_table import TextTable
from ..widgets.filter_field import FilterField
from ..widgets.parts import EmptyPanel, IconButton, LazyView, fill_box, held, one_of, row, shrinking, split, stacked
from ..widgets.text_table_view import TextTableView
from ..widgets.wait_sign import WaitLine
from .architecture_canvas import ArchitectureCanvas

MAX_LIST_WIDTH = 520
"""Pixels of the list of architectures; sequences get the rest."""


class ArchitectureView(LazyView):
    """Shows architectures once they are read."""

    clans_requested = Signal()
    table_requested = Signal()
    picture_requested = Signal()
    choice_requested = Signal(object)
    """Many architectures, to be searched for those of `choice`; `show_bars` shows the result."""

    part = "domain"
    """The noun for a block."""

    def __init__(self) -> None:
        super().__init__()
        self.request: ArchitectureRequest = ArchitectureRequest()
        self.content: Architectures | None = None
        self.canvas = ArchitectureCanvas()
        self.groups = TextTable(GROUP_COLUMNS, self)
        self.table = TextTableView(self.groups, "Architectures")
        self.table.setMaximumWidth(MAX_LIST_WIDTH)
        self.table.row_chosen.connect(lambda _: self._show_chosen())
        self.empty = EmptyPanel("layers-outline", "", "")
        self.words = WaitLine("Reading the hits", "muted")
        self.waiting = self.words.waiting
        body = split(self.table, self.canvas, shares=(2, 5), sizes=(260, 700), orientation=Qt.Orientation.Horizontal)
        foot = row((self.words, 1), margins=(12, 2, 12, 4))
        self._stack = one_of(self.empty, body)
        self.setLayout(stacked(self._tools(), (self._stack, 1), foot, spacing=0))
        self.canvas.described.connect(lambda text: self.words.setText(text.replace("\n", " · ")))
        self.show_text("Domain architectures", "They are being read.")

    def _tools(self) -> QWidget:
        self.rules = shrinking(QComboBox())
        self.rules.setAccessibleName("Rule for overlapping hits")
        fill_box(self.rules, ((key, *words) for key, words in RULE_WORDS.items()))
        self.rules.setMinimumContentsLength(18)
        self.rules.setMaximumWidth(MAX_LIST_WIDTH)
        self.rules.activated.connect(lambda: self._change_request(rule=self.rules.currentData()))
        self.significant = QCheckBox("Significant only")
        self.significant.setChecked(True)
        self.significant.toggled.connect(lambda on: self._change_request(significant=on))
        self.filter_box = FilterField("Filter of sequences and families", "Sequence or family")
        self.filter_box.settled.connect(lambda _: self._show_chosen())
        self.clans = IconButton("family-tree", "A table such as Pfam-A.clans.tsv", self.clans_requested.emit, "Clans…")
        table = IconButton("table-arrow-down", "Save as a table (TSV) or as GFF3", self.table_requested.emit)
        table.setAccessibleName("Save as a table or as GFF3")
        picture = IconButton("export-variant", "Save the view as SVG, PDF or PNG", self.picture_requested.emit)
        picture.setAccessibleName("Save as a picture")
        parts = (self.rules, 2), self.clans, self.significant, (self.filter_box, 2), table, picture
        return held(row(*parts, margins=(12, 6, 12, 6)))

    def set_nouns(self, noun: str) -> None:
        """Name blocks alignments to queries rather than domains of families if these are no profiles."""
        if noun == "profile":
            return
        self.part = self.canvas.part = "alignment"
        self.canvas.setAccessibleName("Alignments on their sequences")
        self.filter_box.setPlaceholderText(f"Sequence or {noun}")
        self.filter_box.setAccessibleName(f"Filter of sequences by their name or that of a {noun}")
        self.clans.hide()
        for rule in ("auto", "clans"):  # which are of profiles
            self.rules.removeItem(self.rules.findData(rule))
        self.request = replace(self.request, rule="best")

    def _change_request(self, **more: Any) -> None:
        self.request = replace(self.request, **more)
        self.reload()

    def set_clans(self, path: str) -> None:
        """Use another table of clans for overlaps."""
        self.rules.setCurrentIndex(self.rules.findData("clans"))
        self.rules.setToolTip(Path(path).name)
        self._change_request(rule="clans", clans=path)

    def show_text(self, heading: str, text: str) -> None:
        super().show_text(heading, text)
        self.words.setText("")

    def show_content(self, content: Architectures, so_far: str = "") -> None:
        """Show architectures, or that there are none, perhaps only ` so far`; the choice stays."""
        chosen = self._chosen_words()
        self.content = content
        self.groups.update_rows(content.rows)
        if not content.found:
            which, more = "", ""
            if self.request.significant and not self.significant.isHidden():
                which, more = "significant ", " Untick “Significant only” to see weaker ones."
            self.show_text(f"No {self.part}s{so_far}", f"There are no {which}hits{so_far}.{more}")
            return
        place = next((place for place, one in enumerate(content.rows) if one["words"] == chosen), 0)
        self.table.selectRow(place)
        self._stack.setCurrentIndex(1)
        self._show_chosen()

    def _chosen_words(self) -> str | None:
        index = self.table.currentIndex()
        rows = self.groups.rows
        return rows[index.row()]["words"] if index.isValid() and index.row() < len(rows) else None

    def _show_chosen(self) -> None:
        if self.content is None:
            return
        words, text = self.choice
        if self.content.is_slow_to_search and (words is not None or text.split()):
            self.words.setText(f"Searching {formatting.plural(len(self.content.found), 'sequence')}…")
            self.choice_requested.emit(self.content)
        else:
            self.show_bars(self.content.bars(words, text))

    @property
    def choice(self) -> tuple[str | None, str]:
        """The chosen architecture, None for all, and the text of the filter."""
        return self._chosen_words(), self.filter_box.text()

    def show_bars(self, bars: Bars) -> None:
        """Show the chosen sequences."""
        if self.content is None:
            return
        found, colors = bars.found, self.content.colors
        if self.content.is_slow_to_search or found != self.canvas.shown or colors != self.canvas.colors:
            self.canvas.show_bars(bars, colors)
        some = "" if len(found) == len(self.content.found) else f"{len(found):,} shown of "
        self.words.setText(f"{some}{self.content.sentence}")
