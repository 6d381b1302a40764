"""The chosen hit of a pairwise search: its alignment beside its dot plot."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from ...views.results.hit_card import HitCard
from ...views.widgets.parts import IconButton, split
from .dot_plot import bare_plot
from .dot_view import DotPlotView

MIN_BESIDE_WIDTH, LOW_RATIO = 1000, 1.7
"""Width (pixels), or ratio of width and height, from which on alignment and dot plot are side by side."""

MIN_HEIGHT = 360
"""Pixels of the card below which there is no room for the dot plot."""

SIZES = {Qt.Orientation.Horizontal: (600, 400), Qt.Orientation.Vertical: (180, 290)}
"""Shares of alignment and dot plot."""


class PairCard(HitCard):
    """A click in alignment or dot plot moves the other; the dots are requested when the plot becomes visible."""

    dots_requested = Signal()
    alignment_picture_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.alignment.column_chosen.connect(self.dots.canvas.mark_column)
        self.dots.column_chosen.connect(self.alignment.go_to_column)

    def _main_part(self) -> QWidget:
        self.dots = DotPlotView()
        self.strip.hide()
        self._splitter = split(self.alignment, self.dots, sizes=SIZES[Qt.Orientation.Vertical])
        return self._splitter

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.dots.setVisible(self.height() >= MIN_HEIGHT)
        is_wide = self.width() >= min(MIN_BESIDE_WIDTH, LOW_RATIO * self.height())
        beside = Qt.Orientation.Horizontal if is_wide else Qt.Orientation.Vertical
        if self._splitter.orientation() != beside:
            self._splitter.setOrientation(beside)
            self._splitter.setSizes(SIZES[beside])

    def _tools(self) -> tuple[list[QWidget], list[QWidget]]:
        (seen, done), tip = super()._tools(), "Save a picture of the alignment as SVG, PDF or PNG"
        save = IconButton("export-variant", tip, self.alignment_picture_requested.emit)
        self._of_hit.append(save)
        return [*seen, save], done

    def show_hit(self) -> None:
        """Show the chosen hit, at first with only the path of its alignment."""
        super().show_hit()
        run = self.run
        if run is None or run.hit is None:
            self.dots.show_plot(None)
            return
        self.dots.show_plot(bare_plot(run.card, run.hit))
        if self.isVisible():
            self.dots_requested.emit()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        plot = self.dots.canvas.plot
        if plot is not None and plot.dots is None and not plot.problem:
            self.dots_requested.emit()
