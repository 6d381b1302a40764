"""The dot plot of a query and a target: zoom, position under the pointer, a click chooses a column."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QBoxLayout, QSizePolicy, QSlider, QWidget

from ... import formatting, theme
from ...models.results.missing_files import LOCATE_TITLE, can_be_located, without_ways
from ...views.widgets.parts import ElidedLabel, IconButton, button, label, row, stacked
from .dot_painter import (
    DEFAULT_LEVEL,
    DotImage,
    DotStyle,
    dot_image,
    frame_of,
    is_coarse,
    paint_dots,
    part_around,
    shrinking,
    whole,
)
from .dot_plot import LEVELS, DotPlot

ZOOM = 1.3
MIN_SHOWN = 12.0
"""Residues along the longer side at the largest zoom."""

LOW_RATIO = 2.0
"""Ratio of width and height from which on the tools are beside the plot."""

REST_MS = 200
"""Time without a move after which a view gets smaller dots (ms)."""

CLICK_PIXELS = 4
"""Largest move of the pointer between press and release of a click."""


class DotCanvas(QWidget):
    """Draws the plot and handles keys and pointer.

    Keys: + and - zoom, 0 shows all of it, arrows move it.
    """

    column_chosen = Signal(int, int)
    hovered = Signal(str)
    closer_requested = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self.plot: DotPlot | None = None
        self.part: DotPlot | None = None
        self._wanted: object = None
        self.least = DEFAULT_LEVEL
        self.mark: tuple[float, float] | None = None
        self.shown = QRectF(0, 0, 1, 1)
        self._images: dict[bool, tuple[tuple[int, int], DotImage | None]] = {}
        self._resting = QTimer(self, singleShot=True, interval=REST_MS)
        self._resting.timeout.connect(self._request_closer)
        self._pressed: QPointF | None = None
        self._last = QPointF()
        self.setMouseTracking(True)
        self.setMinimumSize(180, 130)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Dot plot")

    def sizeHint(self) -> QSize:
        return QSize(380, 380)

    def show_plot(self, plot: DotPlot | None) -> None:
        """Show another plot, or the same one with its dots."""
        before, self.plot, self.part, self._wanted = self.plot, plot, None, None
        same = before is not None and plot is not None and before.paths is plot.paths
        if plot is not None and not same:
            self.shown, self.mark = whole(plot), None
            self.setAccessibleName(f"Dot plot of {plot.query_name} and {plot.target_name}")
        self._draw_dots()

    def show_part(self, part: DotPlot) -> None:
        """Show smaller dots for a part of the plot."""
        self.part = part
        self._draw_dots()

    def _request_closer(self) -> None:
        """Request smaller dots of the view unless they are present."""
        plot, part = self.plot, self.part
        if plot is None or not self.isVisible() or not is_coarse(plot, self.frame, self.shown):
            return
        wanted = part_around(plot, self.shown)
        if wanted != self._wanted and (
            part is None or self.seen is not part or is_coarse(part, self.frame, self.shown)
        ):
            self._wanted = wanted
            self.closer_requested.emit(wanted)

    @property
    def seen(self) -> DotPlot | None:
        """The plot whose dots are in view: that of a part if it covers the view."""
        part = self.part
        if part is None or part.dots is None or self.plot is None or not is_coarse(self.plot, self.frame, self.shown):
            return self.plot
        height, width = part.dots.shape[0] * part.per_row, part.dots.shape[1] * part.per_column
        place = QRectF(part.first_column - 1, part.first_row - 1, width + 2, height + 2)
        return part if place.contains(self.shown) else self.plot

    def set_min_level(self, least: int) -> None:
        """Hide paler dots."""
        self.least = least
        self._draw_dots()

    def mark_column(self, number: int, column: int) -> None:
        """Move the cross to a column of an alignment."""
        self.mark = self.plot.place_of(number, column) if self.plot else None
        self.update()

    def zoom(self, factor: float, place: QPointF | None = None) -> None:
        """Zoom around a place of the widget; a factor of 0 shows all."""
        if self.plot is None:
            return
        if not factor:
            self.shown = whole(self.plot)
            self.update()
            return
        middle = self.shown.center()
        query, target = (middle.y(), middle.x()) if place is None else self._residues(place)
        most = whole(self.plot)
        longest = max(self.shown.width(), self.shown.height())
        scale = min(max(factor, MIN_SHOWN / longest), most.width() / self.shown.width())
        left, top = target - (target - self.shown.left()) * scale, query - (query - self.shown.top()) * scale
        self._look_at(QRectF(left, top, self.shown.width() * scale, self.shown.height() * scale))

    def _look_at(self, shown: QRectF) -> None:
        """Show a part, moved into the plot."""
        assert self.plot is not None
        most = whole(self.plot)
        shown.moveLeft(min(max(shown.left(), 0.0), most.right() - shown.width()))
        shown.moveTop(min(max(shown.top(), 0.0), most.bottom() - shown.height()))
        self.shown = shown
        self.update()

    def _style(self) -> DotStyle:
        return DotStyle(theme.current(), self.least, self.mark)

    def _draw_dots(self) -> None:
        self._images.clear()
        self.update()

    def _image(self, plot: DotPlot | None) -> DotImage | None:
        """Return the dots of the plot or of its part, drawn for this zoom."""
        if plot is None:
            return None
        shrink, which = shrinking(plot, self.frame, self.shown), plot is self.part
        if which not in self._images or self._images[which][0] != shrink:
            self._images[which] = shrink, dot_image(plot, self._style(), shrink)
        return self._images[which][1]

    @property
    def frame(self) -> QRectF:
        """The area of the dots."""
        return frame_of(QRectF(self.rect()), self.shown)

    def _residues(self, place: QPointF) -> tuple[float, float]:
        """Return the residues of query and target before a place of the widget."""
        frame = self.frame
        across, down = (place.x() - frame.left()) / frame.width(), (place.y() - frame.top()) / frame.height()
        return self.shown.top() + down * self.shown.height(), self.shown.left() + across * self.shown.width()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.current().surface))
        if self.plot is not None:
            images = [self._image(self.plot)]
            if is_coarse(self.plot, self.frame, self.shown):
                images.append(self._image(self.part))
                self._resting.start()
            paint_dots(painter, QRectF(self.rect()), self.plot, images, self.shown, self._style())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = self._last = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.plot is None:
            return
        query, target = self._residues(event.position())
        if self._pressed is not None:
            before = self._residues(self._last)
            self._look_at(self.shown.translated(before[1] - target, before[0] - query))
            self._last = event.position()
        inside = self.frame.contains(event.position())
        self.hovered.emit(self.plot.says(int(query), int(target)) if inside else "")

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, None
        if pressed is None or self.plot is None or not self.frame.contains(event.position()):
            return
        if (event.position() - pressed).manhattanLength() < CLICK_PIXELS:
            found = self.plot.nearest(*self._residues(event.position()))
            if found is not None:
                self.mark_column(*found)
                self.column_chosen.emit(*found)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.zoom(1 / ZOOM if event.angleDelta().y() > 0 else ZOOM, event.position())
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        zooms = {Qt.Key.Key_Plus: 1 / ZOOM, Qt.Key.Key_Minus: ZOOM, Qt.Key.Key_0: 0.0}
        moves = {Qt.Key.Key_Left: (-1, 0), Qt.Key.Key_Right: (1, 0), Qt.Key.Key_Up: (0, -1), Qt.Key.Key_Down: (0, 1)}
        if key in zooms:
            self.zoom(zooms[key])
        elif key in moves and self.plot is not None:
            across, down = moves[key]
            self._look_at(self.shown.translated(across * self.shown.width() / 10, down * self.shown.height() / 10))
        else:
            super().keyPressEvent(event)

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange:
            self._draw_dots()
        super().changeEvent(event)


class DotPlotView(QWidget):
    """The plot with its tools and a line about the place under the pointer."""

    column_chosen = Signal(int, int)
    picture_requested = Signal()
    locate_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.canvas = DotCanvas()
        self.canvas.column_chosen.connect(self.column_chosen)
        self.least = QSlider(Qt.Orientation.Horizontal)
        self.least.setRange(1, LEVELS - 1)
        self.least.setValue(DEFAULT_LEVEL)
        self.least.setFixedWidth(90)
        self.least.setAccessibleName("Least similarity of windows for a dot")
        self.least.setToolTip(
            "Least similarity of windows for a dot: to the right only the most similar remain;"
            f" {formatting.percent(1.0)} is the similarity of the query to itself"
        )
        self.level_words = label("", "muted")
        self.least.valueChanged.connect(self._set_min_level)
        self._set_min_level(DEFAULT_LEVEL)
        self.place = ElidedLabel("", "muted")
        self.problem = label("", "caution", wrap=True)
        self.problem.setMinimumWidth(1)
        self.problem.hide()
        self.locate_button = button(LOCATE_TITLE, self.locate_requested.emit)
        self.locate_button.hide()
        self.canvas.hovered.connect(self._show_place)
        problem = row((self.problem, 1), self.locate_button)
        parts = problem, (self._tools_and_canvas(), 1), self.place
        self.setLayout(stacked(*parts, spacing=4, margins=(8, 2, 8, 6)))

    def _set_min_level(self, least: int) -> None:
        """Hide paler dots, and show the level."""
        self.canvas.set_min_level(least)
        self.level_words.setText(f"≥ {formatting.percent(least / LEVELS)}")

    def _tools_and_canvas(self) -> QBoxLayout:
        zooms = row(
            IconButton("magnify-minus-outline", "Show more (wheel, key -)", lambda: self.canvas.zoom(ZOOM)),
            IconButton("magnify-plus-outline", "Show less (wheel, key +)", lambda: self.canvas.zoom(1 / ZOOM)),
            IconButton("fit-to-page-outline", "Show all of it (key 0)", lambda: self.canvas.zoom(0)),
        )
        save = IconButton("export-variant", "Save the plot as SVG, PDF or PNG", self.picture_requested.emit, "Save…")
        self._tools = row(label("Dots", "muted"), self.least, self.level_words, None, zooms, save)
        self._parts = stacked(self._tools, (self.canvas, 1), spacing=4)
        return self._parts

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_low = self.width() > LOW_RATIO * self.height()
        direction = QBoxLayout.Direction
        self._parts.setDirection(direction.RightToLeft if is_low else direction.TopToBottom)
        self._tools.setDirection(direction.TopToBottom if is_low else direction.LeftToRight)

    def show_plot(self, plot: DotPlot | None) -> None:
        """Show another plot."""
        self.canvas.show_plot(plot)
        problem = plot.problem if plot else ""
        self.problem.setText(without_ways(problem))
        self.problem.setVisible(bool(problem))
        self.locate_button.setVisible(can_be_located(problem))
        self._show_place("")

    def show_part(self, part: DotPlot) -> None:
        """Show smaller dots of the view."""
        self.canvas.show_part(part)
        self._show_place("")

    def _words(self) -> str:
        """Return the meaning of the dots."""
        plot = self.canvas.seen
        if plot is None or plot.problem:
            return ""
        if plot.dots is None:
            return "Comparing the two sequences…"
        size = formatting.length(plot.window, plot.alphabet)
        if not (plot.dots >= DEFAULT_LEVEL).any():
            return f"No windows of {size} are more similar than expected by chance."
        return f"Windows of {size}, scored with the matrix. Click to go there."

    def _show_place(self, text: str) -> None:
        self.place.setText(text or self._words())
