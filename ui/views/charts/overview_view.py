"""The heat map of the hits of all queries of a run."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from clalign.engines.overview import Overview

from ... import formatting
from ...models.charts.heat_map import HeatMap
from ..widgets.parts import ElidedLabel, EmptyPanel, IconButton, LazyView, held, one_of, row, stacked
from ..widgets.wait_sign import WaitSign
from .heat_map_view import HeatMapView


class OverviewView(LazyView):
    """Shows the heat map once it is read."""

    matrix_requested = Signal()
    picture_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.content: Overview | None = None
        self.map = HeatMapView()
        self.empty = EmptyPanel("view-dashboard-outline", "Reading the results", "The hits of all queries appear here.")
        self._stack = one_of(self.empty, self._shown())
        self.waiting = WaitSign("Reading the queries")
        self.setLayout(stacked((self._stack, 1), row(None, self.waiting, margins=(12, 0, 12, 0)), spacing=0))

    def _shown(self) -> QWidget:
        self.words = ElidedLabel("", "muted")
        self.map_tools = [
            IconButton("magnify-minus-outline", "Smaller cells (wheel, key -)", lambda: self.map.zoom(0.8)),
            IconButton("magnify-plus-outline", "Larger cells (wheel, key +)", lambda: self.map.zoom(1.25)),
            IconButton("fit-to-page-outline", "Show the whole map (key 0)", self.map.fit),
            IconButton("table-arrow-down", "Save the scores as a table (TSV)", self.matrix_requested.emit),
            IconButton("export-variant", "Save the map as a picture: SVG, PDF or PNG", self.picture_requested.emit),
        ]
        top = row((self.words, 1), *self.map_tools, spacing=0, margins=(12, 2, 12, 2))
        return held(stacked(top, (self.map, 1), spacing=0))

    @property
    def query_names(self) -> list[str]:
        """The names of the columns of the map."""
        if self.content is None:
            return []
        names = {line.number: line.name for line in self.content.lines}
        return [names[number] for number in self.content.matrix.queries.tolist()]

    def show_content(self, content: Overview, heat: HeatMap, nouns: str, none: str) -> None:
        """Show the hits of all queries of a run, or that there are `none`."""
        self.content = content
        n_rows = content.matrix.shape[0]
        for part in self.map_tools:
            part.setEnabled(n_rows > 0)
        self.map.show_map(heat, self.query_names)
        words = f"{formatting.plural(n_rows, 'target')}, similar ones side by side. Click a cell to see its hit."
        self.words.setText(f"{_found_words(content, nouns)} · {words if n_rows else none}")
        self._stack.setCurrentIndex(1)


def _found_words(content: Overview, nouns: str) -> str:
    """Return how many queries have hits, and how many are incomplete."""
    searched = [line.searched for line in content.lines]
    none, part = searched.count(0.0), sum(not (share >= 1.0 or share == 0.0) for share in searched)
    found = sum(line.n_hits > 0 for line in content.lines)
    verb = "has" if found == 1 else "have"
    parts = [f"{formatting.count(found)} of {formatting.count(len(searched))} {nouns} {verb} reported hits"]
    parts += [f"{formatting.count(none)} not searched yet"] * bool(none)
    parts += [f"{formatting.count(part)} only in part"] * bool(part)
    return " · ".join(parts)
