"""The posterior probabilities of two sequences as a picture, with the way that the alignment takes through them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QEvent, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QComboBox, QToolTip, QWidget

from clalign.values.sparse_posteriors import PosteriorMatrix

from ... import formatting, theme
from ...views.parts import ElidedLabel, IconButton, label, row, shrinking, stacked
from ...views.rows_painter import image_of
from .run_data import pair_of, path_of
from .run_view import AlignedRunView

LEFT, TOP, EDGE = 56.0, 34.0, 14.0

SHADES = 64


class PairCanvas(QWidget):
    """Draws a matrix of posteriors: a pixel has the largest of the pairs of residues in it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: PosteriorMatrix | None = None
        self.path: npt.NDArray[np.int64] = np.empty((0, 2), np.int64)
        self.names = ("", "")
        self.letters = (b"", b"")
        self.with_path = True
        self.setMinimumSize(160, 140)
        self.setMouseTracking(True)
        self.setAccessibleName("Posterior probabilities of two sequences")

    def show_pair(
        self, found: PosteriorMatrix | None, path: npt.NDArray[np.int64], names: tuple[str, str],
        letters: tuple[bytes, bytes],
    ) -> None:  # fmt: skip
        """Show the posteriors of two sequences, and their residues that stand in one column."""
        self.found, self.path, self.names, self.letters = found, path, names, letters
        self.setAccessibleDescription(f"{names[0]} down, {names[1]} across")
        self.update()

    def area(self) -> QRectF:
        """Return where the matrix is drawn: as wide and high as the sequences are long."""
        room = QRectF(self.rect()).adjusted(LEFT, TOP, -EDGE, -EDGE)
        high, wide = (max(1, len(text)) for text in self.letters)
        unit = min(room.width() / wide, room.height() / high)
        return QRectF(room.left(), room.top(), max(1.0, unit * wide), max(1.0, unit * high))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Draw the matrix and the way through it."""
        painter, colors = QPainter(self), theme.current()
        painter.fillRect(self.rect(), QColor(colors.surface))
        area = self.area()
        painter.setPen(QColor(colors.muted))
        across = QRectF(area.left(), 4, max(area.width(), 200.0), TOP - 8)
        painter.drawText(across, int(Qt.AlignmentFlag.AlignVCenter), f"{self.names[1]}, {len(self.letters[1])} →")
        painter.save()
        painter.translate(14, area.top())
        painter.rotate(-90)
        down = QRectF(-max(area.height(), 200.0), 0, max(area.height(), 200.0), 20)
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(down, int(side), f"← {self.names[0]}, {len(self.letters[0])}")
        painter.restore()
        if self.found is None:
            words = "These two were not compared." if all(self.names) else ""
            painter.drawText(QRectF(self.rect()), int(Qt.AlignmentFlag.AlignCenter), words)
            return
        pixels = self._pixels(area)
        painter.drawImage(area, image_of(pixels))
        self._paint_path(painter, area)
        painter.setPen(QPen(QColor(colors.border), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(area)

    def _pixels(self, area: QRectF) -> npt.NDArray[np.uint32]:
        assert self.found is not None
        scale = self.devicePixelRatioF()
        high = max(1, min(len(self.letters[0]), int(area.height() * scale)))
        wide = max(1, min(len(self.letters[1]), int(area.width() * scale)))
        rows = self.found.rows.astype(np.int64) * high // max(1, len(self.letters[0]))
        columns = self.found.columns.astype(np.int64) * wide // max(1, len(self.letters[1]))
        greatest = np.zeros((high, wide), np.float32)
        np.maximum.at(greatest, (rows, columns), self.found.probabilities)
        colors = theme.current()
        shares = [0.0, *(math.sqrt((step + 1) / SHADES) for step in range(SHADES))]
        table = np.array([theme.blend(colors.accent, colors.surface, share).rgb() for share in shares], np.uint32)
        return np.ascontiguousarray(table[np.ceil(greatest * SHADES).astype(np.intp)])

    def _paint_path(self, painter: QPainter, area: QRectF) -> None:
        """Frame the pairs of residues that are aligned, run by run."""
        if not len(self.path) or not self.with_path:
            return
        down, across = area.height() / max(1, len(self.letters[0])), area.width() / max(1, len(self.letters[1]))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(theme.current().stop), 1))
        breaks = np.flatnonzero((np.diff(self.path, axis=0) != 1).any(axis=1)) + 1
        for run in np.split(self.path, breaks):
            begin = QPointF(area.left() + run[0, 1] * across, area.top() + run[0, 0] * down)
            end = QPointF(area.left() + (run[-1, 1] + 1) * across, area.top() + (run[-1, 0] + 1) * down)
            painter.drawLine(begin, end)

    def tip_at(self, place: QPointF) -> str:
        """Return what is said about two residues."""
        area = self.area()
        if self.found is None or not area.contains(place):
            return ""
        x = int((place.y() - area.top()) / area.height() * len(self.letters[0]))
        y = int((place.x() - area.left()) / area.width() * len(self.letters[1]))
        x, y = min(x, len(self.letters[0]) - 1), min(y, len(self.letters[1]) - 1)
        value = float(self.found.at(np.array([x]), np.array([y]))[0])
        aligned = bool(((self.path == (x, y)).all(axis=1)).any())
        said = "aligned" if aligned else "not aligned"
        first, second = chr(self.letters[0][x]), chr(self.letters[1][y])
        probability = f"{value:.3f}" if value else "less than is kept"
        return f"{self.names[0]} {first} {x + 1}\n{self.names[1]} {second} {y + 1}\nprobability {probability}; {said}"

    def event(self, event: QEvent) -> bool:
        """Say more about what the pointer rests on."""
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.tip_at(event.pos().toPointF()), self)
            return True
        return super().event(event)


class PairView(QWidget):
    """Lets two sequences be chosen, and shows their posteriors."""

    def __init__(self, run: AlignedRunView) -> None:
        super().__init__()
        self._run = run
        self.first, self.second = shrinking(QComboBox()), shrinking(QComboBox())
        self.canvas = PairCanvas()
        self.words = ElidedLabel("", "muted")
        for box, name in ((self.first, "First sequence"), (self.second, "Second sequence")):
            box.setAccessibleName(name)
            box.setMinimumContentsLength(10)
            box.setMaxVisibleItems(20)
            box.activated.connect(lambda: self.show_pair())
        self.way = IconButton("vector-polyline", "Show the way of the alignment", self._show_way)
        self.way.setCheckable(True)
        self.way.setChecked(True)
        tools = row(
            (self.first, 1), label("and", "muted"), (self.second, 1),
            self.way, IconButton("chevron-left", "Previous pair", lambda: self._step(-1)),
            IconButton("chevron-right", "Next pair", lambda: self._step(1)), margins=(8, 6, 8, 2),
        )  # fmt: skip
        foot = row((self.words, 1), margins=(8, 2, 8, 4))
        self.setLayout(stacked(tools, (self.canvas, 1), foot, spacing=0))
        run.aligned_changed.connect(self.fill)
        run.shown_changed.connect(self.show_pair)
        self.fill()

    def fill(self) -> None:
        """Offer the sequences of the run."""
        run = self._run.aligned
        if run is None or self.first.count():
            return
        for box in (self.first, self.second):
            box.addItems(list(run.given.names))
        self.second.setCurrentIndex(min(1, len(run.given) - 1))
        self.show_pair()

    def _show_way(self) -> None:
        self.canvas.with_path = self.way.isChecked()
        self.canvas.update()

    def _step(self, step: int) -> None:
        """Go to the next pair of those that were compared."""
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
        """Show the two sequences that are chosen."""
        run, shown = self._run.aligned, self._run.shown
        if run is None or shown is None or not self.first.count():
            return
        i, j = sorted((self.first.currentIndex(), self.second.currentIndex()))
        names, letters = (run.given.names[i], run.given.names[j]), (run.given.letters[i], run.given.letters[j])
        found = pair_of(run, i, j) if i != j else None
        path = path_of(shown, i, j)
        self.canvas.show_pair(found, path, names, letters)
        if found is None:
            self.words.setText("Choose two sequences." if i == j else "These two were not compared.")
            return
        mean = float(found.at(path[:, 0], path[:, 1]).mean()) if len(path) else 0.0
        self.words.setText(
            f"{formatting.plural(len(path), 'aligned pair')} of residues (line), mean probability {mean:.3f} · "
            f"{formatting.count(len(found.columns))} kept probabilities"
        )
