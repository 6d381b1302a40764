"""The hits of a query as one multiple alignment, in the viewer of alignments."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QVBoxLayout

from clalign.values.row_alignments import is_residue

from ...models.alignment.rows_view import RowsView
from ...models.results.run_view import RunView
from ..charts.one_at_a_time import OneAtATime
from ..widgets.parts import LazyView, held, one_of, row, stacked
from ..widgets.wait_sign import WaitLine
from .rows_page import RowsPanel

SAMPLED = 100
"""Rows whose first residue is searched for."""


class AlignedHits(LazyView):
    """The hits of a query as an alignment; the request is whether only significant ones are wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.panel: RowsPanel | None = None
        self.request: bool = True
        self.significant = QCheckBox("Significant only")
        self.significant.setChecked(True)
        self.significant.toggled.connect(self._change_request)
        self.words = WaitLine("Aligning the hits", "muted")
        self.waiting = self.words.waiting
        self.empty: OneAtATime = OneAtATime("format-align-justify")
        self._stack = one_of(self.empty)
        self._top = held(row((self.words, 1), self.significant, margins=(4, 0, 8, 0)))
        self.setLayout(stacked(self._top, (self._stack, 1), spacing=0))
        self.show_text("All hits aligned", "They are being read.")

    def _change_request(self, significant: bool) -> None:
        self.request = significant
        self.reload()

    def show_text(self, heading: str, text: str, too_many: RunView | None = None) -> None:
        """Show a text in place of the alignment; if a run shows too many queries, offer one."""
        super().show_text(heading, text)
        self.empty.offer(too_many)
        self.words.setText("")

    def show_rows(self, view: RowsView, words: str) -> RowsPanel:
        """Show another alignment, from the column on where the first rows begin."""
        self.close_view()
        self.panel = panel = RowsPanel(view)
        panel.head.addWidget(self._top)
        self._stack.addWidget(panel)
        self._stack.setCurrentWidget(panel)
        first = int(is_residue(view.alignment.cells[:SAMPLED]).any(axis=0).argmax())
        view.move_to(0, first)
        QTimer.singleShot(0, panel.canvas, partial(panel.canvas.begin_at, first))  # once it has its size
        self.words.setText(words)
        self.setFocusProxy(panel)
        return panel

    def close_view(self) -> None:
        """Close the alignment."""
        if self.panel is not None:
            box = self.layout()
            assert isinstance(box, QVBoxLayout)
            box.insertWidget(0, self._top)  # its place without an alignment
            self.panel.close_view()
            self._stack.removeWidget(self.panel)
            self.panel.deleteLater()
            self.panel.view.deleteLater()
            self.panel = None
