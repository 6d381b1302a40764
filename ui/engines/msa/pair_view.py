"""The posterior probabilities of two sequences as a picture, with the path of the alignment."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from clalign.common.escapes import escaped

from ... import formatting, theme
from ...views.widgets.choices import NarrowBox
from ...views.widgets.parts import ElidedLabel, EmptyPanel, IconButton, held, label, row, stacked
from ...views.widgets.place_tips import PlaceTips
from .pair_painter import EDGE, PairShown, area_of, paint_pair
from .run_data import path_of
from .run_view import AlignedRunView


class PairCanvas(QWidget):
    """Draws a matrix of posteriors."""

    def __init__(self) -> None:
        super().__init__()
        PlaceTips(self, self.tip_at)
        self.shown = PairShown()
        self.with_path = True
        self.setMinimumSize(160, 140)
        self.setMouseTracking(True)
        self.setAccessibleName("Posterior probabilities of two sequences")

    def show_pair(self, shown: PairShown) -> None:
        """Show the posteriors of two sequences, and their residues that share a column."""
        self.shown = shown
        self.setAccessibleDescription(f"{shown.names[0]} down, {shown.names[1]} across" if any(shown.names) else "")
        self.update()

    def area(self) -> QRectF:
        """Return the area of the matrix."""
        return area_of(self._room(), self.shown)

    def _room(self) -> QRectF:
        """Return the room of the matrix with its numbers, in the middle of the widget."""
        whole = QRectF(self.rect())
        return whole.adjusted((whole.right() - EDGE - area_of(whole, self.shown).right()) / 2, 0, 0, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, colors = QPainter(self), theme.current()
        painter.fillRect(self.rect(), QColor(colors.surface))
        paint_pair(painter, self._room(), self.shown, colors, self.devicePixelRatioF(), self.with_path)

    def tip_at(self, place: QPointF) -> str:
        """Return the tooltip for two residues."""
        area, shown = self.area(), self.shown
        if shown.found is None or not area.contains(place):
            return ""
        one, other = shown.letters
        x = min(int((place.y() - area.top()) / area.height() * len(one)), len(one) - 1)
        y = min(int((place.x() - area.left()) / area.width() * len(other)), len(other) - 1)
        value = float(shown.found.at(np.array([x]), np.array([y]))[0])
        state = "aligned" if bool(((shown.path == (x, y)).all(axis=1)).any()) else "not aligned"
        named = zip(shown.names, shown.letters, (x, y), strict=True)
        lines = [f"{name} {chr(text[k])} {k + 1}" for name, text, k in named]
        probability = f"{value:.3f}" if value else "too small to be stored"
        return "\n".join([*lines, f"probability {probability}; {state}"])


class PairView(QStackedWidget):
    """Shows the posteriors of two chosen sequences, and `empty` before there are any."""

    picture_requested = Signal()

    def __init__(self, run: AlignedRunView) -> None:
        super().__init__()
        self._run = run
        self.first, self.second = NarrowBox(), NarrowBox()
        self.canvas = PairCanvas()
        self.words = ElidedLabel("", "muted")
        for box, name in ((self.first, "First sequence"), (self.second, "Second sequence")):
            box.setAccessibleName(name)
            box.setMaxVisibleItems(20)
            box.activated.connect(lambda: self.show_pair())
        self.way = IconButton("vector-polyline", "Show the path of the alignment", self._show_way)
        self.way.setCheckable(True)
        self.way.setChecked(True)
        self.save = IconButton("export-variant", "Save as SVG, PDF or PNG", self.picture_requested.emit, "Save…")
        tools = row(
            (self.first, 1), label("and", "muted"), (self.second, 1), self.way, self.save,
            IconButton("chevron-left", "Previous pair", lambda: self._step(-1)),
            IconButton("chevron-right", "Next pair", lambda: self._step(1)), margins=(8, 6, 8, 2),
        )  # fmt: skip
        foot = row((self.words, 1), margins=(8, 2, 8, 4))
        shown = held(stacked(tools, (self.canvas, 1), foot, spacing=0))
        self.empty = EmptyPanel("vector-polyline", "", "")
        self.addWidget(self.empty)
        self.addWidget(shown)
        run.aligned_changed.connect(self.fill)
        run.shown_changed.connect(self.show_pair)
        self.fill()

    def fill(self) -> None:
        """List the sequences of the run."""
        run = self._run.aligned
        if run is None or self.first.count():
            return
        for box in (self.first, self.second):
            box.addItems(list(map(escaped, run.given.names)))
        self.second.setCurrentIndex(min(1, len(run.given) - 1))
        self.setCurrentIndex(1)
        self.show_pair()

    def _show_way(self) -> None:
        self.canvas.with_path = self.way.isChecked()
        self.canvas.update()

    def _step(self, step: int) -> None:
        """Show the next pair of those that were compared."""
        run = self._run.aligned
        if run is None or not len(run.posteriors.pairs):
            return
        pairs = run.posteriors.pairs
        now = sorted((self.first.currentIndex(), self.second.currentIndex()))
        at = np.flatnonzero((pairs[:, 0] == now[0]) & (pairs[:, 1] == now[1]))
        place = (int(at[0]) + step) % len(pairs) if len(at) else 0
        for box, number in zip((self.first, self.second), pairs[place].tolist(), strict=True):
            box.setCurrentIndex(number)
        self.show_pair()

    def show_pair(self) -> None:
        """Show the two chosen sequences."""
        run, shown = self._run.aligned, self._run.shown
        if run is None or shown is None or not self.first.count():
            return
        i, j = sorted((self.first.currentIndex(), self.second.currentIndex()))
        names, letters = (run.given.names[i], run.given.names[j]), (run.given.letters[i], run.given.letters[j])
        found = run.posteriors.of(i, j)
        path = path_of(shown, i, j)
        self.canvas.show_pair(PairShown(found, path, names, letters) if i != j else PairShown())
        self.save.setEnabled(found is not None)
        if found is None:
            self.words.setText("Choose two sequences." if i == j else "These two were not compared.")
            return
        mean = float(found.at(path[:, 0], path[:, 1]).mean()) if len(path) else 0.0
        self.words.setText(
            f"{formatting.plural(len(path), 'aligned pair')} of residues (line), mean probability {mean:.3f} · "
            f"{formatting.plural(len(found.columns), 'probability', 'probabilities')} stored"
        )
