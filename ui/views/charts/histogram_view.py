"""The score histogram: bars, fitted curves, two thresholds, of which one can be dragged, a legend and a description."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPen
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPushButton

from clalign.values.axes import linear_ticks, log_ticks, tick_text

from ... import formatting, theme
from ...models.charts.histogram import MODEL_CUTOFFS, Histogram, grouped_cutoffs
from ..widgets.parts import ElidedLabel, Surface, button, label, row, set_role, stacked
from .legend import Legend
from .plot_tags import Tag, TagLane

FLOOR = -0.3
"""Bottom of the logarithmic scale: log10 of half a sequence."""

MAX_CURVE_RATIO = 4.0
"""Ratio to the highest bar at which a curve is cut off on a linear scale, so that bars stay visible."""

PADDING_SHARE = 0.1
"""Margin of the view beyond all scores, as a share of their range."""

MIN_CURVE_SHARE = 0.01
"""Share of the scores in view below which a curve is hidden: it would look like dirt."""

LINE_COLORS = {"report": "muted", "significant": "text"}

MIN_SPAN = 20.0
"""Least units of score in view: a single bar would fill the plot."""

LARGE_STEP = 10
"""Steps that the line moves with Shift."""


class ChartAxis(pg.AxisItem):
    """An axis with round numbers, grid lines, and the title at its end."""

    def __init__(self, side: str, room: float) -> None:
        super().__init__(side)
        self._every = room
        self.enableAutoSIPrefix(False)
        self.setGrid(255)
        self.setStyle(tickAlpha=255, tickLength=0)
        self.setZValue(-1)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        return [(1.0, linear_ticks(low, high, max(2, int(size / self._every))))]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [tick_text(round(value, 6)) for value in values]

    def resizeEvent(self, event: object = None) -> None:
        # The title stands at the end of the axis.
        super().resizeEvent(event)
        if self.orientation == "bottom":
            self.label.setX(self.size().width() - self.label.boundingRect().width())


class ScoreAxis(ChartAxis):
    """The axis of scores, with labels of its own."""

    words: Callable[[float], str] | None = None

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return super().tickStrings(values, scale, spacing) if self.words is None else [*map(self.words, values)]


class CountAxis(ChartAxis):
    """Counts, on a linear or a logarithmic scale."""

    def __init__(self) -> None:
        super().__init__("left", 44)
        self.is_log = True

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        if not self.is_log:  # three for one above 0, however low the plot is
            return [(1.0, linear_ticks(low, high, max(3, int(size / self._every))))]
        ticks = log_ticks(10 ** max(0.0, low), 10**high, max(2, int(size / self._every * 2)))
        return [(1.0, [math.log10(tick) for tick in ticks])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        # There is no half sequence.
        counts = [round(10**v) if self.is_log else v for v in values]
        return [formatting.count(n) if n == round(n) else "" for n in counts]


class ScoreField(QLineEdit):
    """A small field for a score above a plot; Esc closes it."""

    left = Signal()

    def event(self, event: QEvent) -> bool:
        # Esc is no shortcut here, and Enter would open the field again.
        is_key = event.type() in (QEvent.Type.ShortcutOverride, QEvent.Type.KeyPress) and isinstance(event, QKeyEvent)
        key = cast("QKeyEvent", event).key() if is_key else None
        if key == Qt.Key.Key_Escape:
            event.accept()
            if event.type() == QEvent.Type.KeyPress:
                self.left.emit()
            return True
        is_taken = super().event(event)
        event.setAccepted(event.isAccepted() or key in (Qt.Key.Key_Return, Qt.Key.Key_Enter))
        return is_taken


class ScorePlot(pg.GraphicsView):
    """The plot area: a view with two axes, without the library's own menus.

    Hits are shown from the report line on, which a person can move; the significance line is that of the search.
    Keys: left and right move the line, with Shift in larger steps; L changes the scale; Home restores the first
    view, End shows all scores.

    Parameters
    ----------
    titled : bool
        Whether the axis of scores has a title.
    """

    threshold_moved = Signal(float)
    bar_hovered = Signal(str)
    bar_clicked = Signal(float, float)
    """Bounds of the bar."""
    zoomed = Signal()
    drawn = Signal()

    def __init__(self, titled: bool = True) -> None:
        self._dressed: theme.Tokens | None = None
        super().__init__()
        self._titled = titled
        self._lay_out()
        self.data = None
        self.log_counts = True
        self.is_zoomed = False
        self.marked = math.nan
        """Place of the chosen hit on the axis of scores; not a number for none."""
        self._pointer: QPointF | None = None
        self._tags: dict[str, str] = {}
        self._cutoffs: list[Tag] = []
        self._marks: list[pg.InfiniteLine] = []
        self.editor: ScoreField | None = None
        self._make_items()
        self._make_lines()
        view = self.view
        view.setMouseEnabled(x=True, y=False)
        view.sigRangeChangedManually.connect(lambda _: self._set_zoomed(True))
        view.sigXRangeChanged.connect(self._show_tags)
        view.sigResized.connect(self._show_tags)
        self.setMinimumHeight(4 * self.fontMetrics().height())  # words above, numbers below, and bars between them
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Histogram of scores with thresholds")
        self.scene().sigMouseMoved.connect(self._hover)
        self.scene().sigMouseClicked.connect(self._click)
        self.dress()

    data: Histogram | None
    view: pg.ViewBox
    lines: dict[str, pg.InfiniteLine]

    def _lay_out(self) -> None:
        """Arrange the axes around the view."""
        layout = pg.GraphicsLayout()
        layout.layout.setContentsMargins(1, 1, 1, 1)
        layout.layout.setSpacing(0)
        self.setCentralItem(layout)
        self.view = layout.addViewBox(row=1, col=1, enableMenu=False)
        self.lane = TagLane(self.view)
        layout.addItem(self.lane, 0, 0, 1, 2)
        self.counts_axis, self.score_axis = CountAxis(), ScoreAxis("bottom", 70)
        self.score_axis.setHeight((1 + self._titled) * (self.fontMetrics().height() + 5))  # numbers need it to be drawn
        for axis, line, column in ((self.counts_axis, 1, 0), (self.score_axis, 2, 1)):
            axis.linkToView(self.view)
            layout.addItem(axis, line, column)

    def _make_items(self) -> None:
        self._bars = pg.PlotCurveItem([0.0, 1.0], [0.0], stepMode="center", fillLevel=FLOOR)
        self._curves = {"calibration": pg.PlotCurveItem(), "fit": pg.PlotCurveItem()}
        self._marked = pg.PlotCurveItem([0.0, 1.0], [0.0], stepMode="center", fillLevel=FLOOR)
        for item in (self._bars, self._marked, *self._curves.values()):
            self.view.addItem(item)
            item.hide()
        self._show_numbers(False)

    def _make_lines(self) -> None:
        self.lines = {}
        for name in ("report", "significant"):
            line = pg.InfiniteLine(0, 90, movable=name == "report")
            line.sigPositionChanged.connect(lambda moved: self.threshold_moved.emit(float(moved.value())))
            line.sigPositionChangeFinished.connect(self._snap)
            line.setZValue(30 if name == "report" else 20)
            self.lines[name] = line
            self.view.addItem(line)
            line.hide()

    def dress(self) -> None:
        """Apply the colors of the theme."""
        colors = self._dressed = theme.current()
        self.setBackground(colors.surface)
        for axis in (self.counts_axis, self.score_axis):
            axis.setPen(QPen(Qt.PenStyle.NoPen))
            axis.setTickPen(QPen(QColor(colors.border)))
            axis.setTextPen(QPen(QColor(colors.muted)))
        self._bars.setPen(pg.mkPen(colors.accent, width=1))
        self._bars.setBrush(QColor(colors.bar))
        self._marked.setPen(pg.mkPen(colors.accent, width=1))
        self._marked.setBrush(QColor(colors.accent))
        self._curves["calibration"].setPen(pg.mkPen(colors.caution, width=2))
        self._curves["fit"].setPen(pg.mkPen(colors.caution, width=2, style=Qt.PenStyle.DashLine))
        for name, line in self.lines.items():
            line.setPen(pg.mkPen(getattr(colors, LINE_COLORS[name]), width=1.5))
            line.setHoverPen(pg.mkPen(colors.accent, width=3))
        for mark in self._marks:
            mark.setPen(pg.mkPen(colors.good, width=1, style=Qt.PenStyle.DotLine))
        self.lane.update()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.PaletteChange and self._dressed not in (None, theme.current()):
            self.dress()
        super().changeEvent(event)

    def show_histogram(self, data: Histogram) -> None:
        """Draw new numbers."""
        cutoffs_differ = self.data is None or self.data.cutoffs != data.cutoffs
        if self.data is not None and self.data.kind != data.kind:
            self._leave_number()
            self._set_zoomed(False)
        self.data = data
        self.score_axis.words = data.tick_words
        if cutoffs_differ:
            self._show_cutoffs(data)
        if self._titled:
            self.score_axis.setLabel(html.escape(data.axes))  # it is taken for HTML
            self.score_axis.resizeEvent()  # a longer title ends where the axis does
        self._draw()
        self._show_hovered_bar()

    def set_log(self, log_counts: bool) -> None:
        """Choose a logarithmic or a linear scale."""
        self.log_counts = log_counts
        self.counts_axis.is_log = log_counts
        self._draw()

    def _heights(self, counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        if not self.log_counts:
            return counts
        return np.log10(np.maximum(counts, 10**FLOOR))

    def _curve(self, expected: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the heights of a curve; NaN below the axis."""
        heights = self._heights(expected)
        return np.where(expected > 10**FLOOR if self.log_counts else expected > 0.01, heights, np.nan)

    def _draw(self) -> None:
        data = self.data
        self._show_numbers(data is not None and len(data.counts) > 0)
        if data is None or not len(data.counts):
            for item in (self._bars, self._marked, *self._curves.values()):
                item.hide()
            self.drawn.emit()
            return
        self._bars.setFillLevel(FLOOR if self.log_counts else 0)
        heights = self._heights(data.counts.astype(np.float64))
        self._bars.setData(data.edges, heights)
        self._bars.show()
        low = FLOOR if self.log_counts else 0.0
        self.view.setYRange(low, max(self._top(data, heights.max()) * 1.06, low + 1), padding=0)
        if not self.is_zoomed:
            self._show_all(data)
        self._draw_curves(data)
        self._draw_mark(data)
        self.drawn.emit()

    def mark(self, place: float) -> None:
        """Mark the bar at a place of the axis as that of the chosen hit; none if it is not a number."""
        self.marked = place
        if self.data is not None and len(self.data.counts):
            self._draw_mark(self.data)
        self._show_tags()

    def _draw_mark(self, data: Histogram) -> None:
        bounds = None if math.isnan(self.marked) else data.bounds_at(self.marked)
        self._marked.setVisible(bounds is not None)
        if bounds is not None:
            place = int(np.searchsorted(data.edges, self.marked, side="right")) - 1
            self._marked.setFillLevel(FLOOR if self.log_counts else 0)
            self._marked.setData(list(bounds), self._heights(data.counts[place : place + 1].astype(np.float64)))

    def _draw_curves(self, data: Histogram) -> None:
        """Draw each curve that is visible above the axis."""
        least = MIN_CURVE_SHARE * float(np.ptp(self.view.viewRange()[0]))
        for name, item in self._curves.items():
            scores, expected = data.curve(name) or (np.zeros(0), np.zeros(0))
            heights = self._curve(expected)
            above = scores[np.isfinite(heights)]
            item.setVisible(bool(len(above) and np.ptp(above) >= least))
            item.setData(scores, heights, connect="finite")

    def has_drawn(self, name: str) -> bool:
        """Return whether a curve of the legend is visible."""
        return name not in self._curves or self._curves[name].isVisible()

    def _top(self, data: Histogram, highest: float) -> float:
        """Return the height of the plot for bars and curves."""
        curves = [curve[1] for curve in map(data.curve, ("calibration", "fit")) if curve is not None and len(curve[1])]
        tops = [float(self._heights(curve).max()) for curve in curves]
        most = math.inf if self.log_counts else MAX_CURVE_RATIO * highest
        return max([highest, *(top for top in tops if top <= most)])

    def _show_numbers(self, shown: bool) -> None:
        """Show the numbers at the axes, which are meaningless without scores."""
        for axis in (self.counts_axis, self.score_axis):
            axis.setStyle(showValues=shown)

    def _show_all(self, data: Histogram) -> None:
        ends = [data.edges[0], data.last_shown, *data.cutoffs.values()]
        thresholds = [line.value() for line in self.lines.values() if line.isVisible()]
        ends += thresholds
        # The long left tail of a global model says nothing about hits; wheel and drag still reach it.
        middle = float(np.average(data.edges[:-1], weights=data.counts))
        spread = max(float(np.sqrt(np.average((data.edges[:-1] - middle) ** 2, weights=data.counts))), 5.0)
        low, high = min([max(min(ends), middle - 6 * spread), *thresholds]), max(ends)
        more = max(0.0, MIN_SPAN - (high - low)) / 2
        self._whole = min(*ends, float(data.edges[0])) - more, max(*ends, float(data.edges[-1])) + more
        room = PADDING_SHARE * (self._whole[1] - self._whole[0])
        self.view.setLimits(xMin=self._whole[0] - room, xMax=self._whole[1] + room)
        self.view.setXRange(low - more, high + more, padding=0.03)

    _whole = (0.0, 1.0)

    def show_all(self) -> None:
        """Restore the first view."""
        self._set_zoomed(False)
        self._draw()

    def show_every(self) -> None:
        """Show all scores, including distant ones."""
        self.view.setXRange(*self._whole, padding=0.03)
        self._set_zoomed(True)

    def _set_zoomed(self, zoomed: bool) -> None:
        if zoomed != self.is_zoomed:
            self.is_zoomed = zoomed
            self.zoomed.emit()

    def _show_cutoffs(self, data: Histogram) -> None:
        for mark in self._marks:
            self.view.removeItem(mark)
        self._marks = []
        near = 0.02 * float(data.edges[-1] - data.edges[0]) if len(data.counts) else 1.0
        groups = grouped_cutoffs(data.cutoffs, near)
        named = data.cutoffs if self._titled else {k: x for k, x in data.cutoffs.items() if k in MODEL_CUTOFFS}
        self._cutoffs = [Tag(score, words, "good_text") for score, words in grouped_cutoffs(named, near)]
        for score, words in groups:
            mark = pg.InfiniteLine(score, 90)
            mark.setToolTip(words)
            self._marks.append(mark)
            self.view.addItem(mark)
        self.dress()
        self._show_tags()

    def set_line(self, name: str, score: float, tag: str) -> None:
        """Move a threshold, and set the text of its tag."""
        line = self.lines[name]
        data = self.data
        shown = math.isfinite(score) and data is not None and data.has_thresholds and len(data.counts) > 0
        appears = shown and not line.isVisible()
        line.setVisible(shown)
        self._tags[name] = tag if shown else ""
        if not shown:
            self._show_tags()
            return
        line.blockSignals(True)
        line.setValue(score)
        line.blockSignals(False)
        if appears and not self.is_zoomed and data is not None:
            self._show_all(data)
        self._show_tags()

    def _show_tags(self) -> None:
        """Show the tags above the lines, those of cutoffs where there is room: in a small plot those of the profile."""
        stays = bool(self.lines["report"].moving)
        names = ("report", "significant") if stays else ("significant", "report")
        named = [(name, self._tags.get(name, "")) for name in names]
        tags = [Tag(self.lines[name].value(), text, LINE_COLORS[name]) for name, text in named if text]
        of_hit = [Tag(self.marked, "selected hit")] if self._marked.isVisible() else []
        self.lane.show_tags([*tags, *self._cutoffs, *(of_hit if self._titled else ())], stays)

    def _snap(self, line: pg.InfiniteLine) -> None:
        if self.data is None:
            return
        reach = 6 * self.view.viewPixelSize()[0]
        snapped = self.data.snapped(float(line.value()), reach)
        if snapped != line.value():
            line.setValue(snapped)
        self._show_tags()

    def _hover(self, place: QPointF) -> None:
        self._pointer = place
        self._show_hovered_bar()

    def leaveEvent(self, event: QEvent) -> None:
        self._pointer = None
        self._show_hovered_bar()
        super().leaveEvent(event)

    def _score_at(self, place: QPointF | None) -> float | None:
        """Return the score at a place of the scene; None outside of the plot."""
        inside = place is not None and self.data is not None and self.view.sceneBoundingRect().contains(place)
        return float(self.view.mapSceneToView(place).x()) if inside else None

    def _show_hovered_bar(self) -> None:
        """Describe the bar under the pointer, which may have changed."""
        score = self._score_at(self._pointer)
        self.bar_hovered.emit("" if score is None or self.data is None else self.data.bar_at(score))

    def _click(self, event: Any) -> None:
        """Emit the bar that was clicked."""
        score = self._score_at(event.scenePos()) if event.button() == Qt.MouseButton.LeftButton else None
        bar = None if score is None or self.data is None or event.double() else self.data.bounds_at(score)
        if bar is not None:
            self.bar_clicked.emit(*bar)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            at_line = self.view.mapViewToScene(QPointF(self.lines["report"].value(), 0.0))
            self.edit_number(QPointF(self.mapFromScene(at_line).x(), 8))
        elif event.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
            (self.show_all if event.key() == Qt.Key.Key_Home else self.show_every)()
        elif step is None:
            super().keyPressEvent(event)
        else:
            size = (self.data.step if self.data else 0) * (
                LARGE_STEP if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            )
            line = self.lines["report"]
            if line.isVisible():
                line.setValue(line.value() + step * size)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        # A click elsewhere closes the number field and takes its value.
        if self.editor is not None:
            self.editor.editingFinished.emit()
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.edit_number(event.position())

    def edit_number(self, place: QPointF) -> None:
        """Open a small field for the score from which on hits are shown, if there is a line for it."""
        if not self.lines["report"].isVisible():
            return
        if self.editor is not None:
            self.editor.deleteLater()
        editor = ScoreField(f"{self.lines['report'].value():.1f}", self)
        editor.setAccessibleName("Score from which on hits are shown")
        editor.setToolTip("Score, in the units of the axis; Enter sets it, Esc cancels")
        editor.setFixedWidth(90)
        editor.move(int(min(max(0, place.x() - 45), self.width() - 90)), int(place.y()))
        editor.textEdited.connect(lambda text: set_role(editor, "state", "wrong" if _number(text) is None else ""))
        editor.editingFinished.connect(self._take_number)
        editor.left.connect(self._leave_number)
        self.editor = editor
        editor.show()
        editor.selectAll()
        editor.setFocus()

    def _leave_number(self) -> None:
        """Close the field."""
        editor, self.editor = self.editor, None
        if editor is not None:
            editor.deleteLater()
            self.setFocus()

    def _take_number(self) -> None:
        score = _number(self.editor.text()) if self.editor is not None and self.editor.isModified() else None
        self._leave_number()
        if score is not None:
            self.lines["report"].setValue(score)


def _number(text: str) -> float | None:
    """Return a typed score; None if it is no number."""
    try:
        score = float(text.replace(",", ".").replace("−", "-"))
    except ValueError:
        return None
    return score if math.isfinite(score) else None


class HistogramView(Surface):
    """Plot, legend, and description.

    Parameters
    ----------
    compact : bool
        As a strip above the table, without the legend, the choice of scores and that of the scale.
    """

    threshold_moved = Signal(float)
    kind_chosen = Signal(str)
    logarithm_chosen = Signal(bool)
    bar_clicked = Signal(float, float)

    def __init__(self, compact: bool) -> None:
        super().__init__()
        self._is_compact = compact
        self.plot = ScorePlot(titled=not compact)
        self.kinds = QComboBox()
        self.kinds.setAccessibleName("Scores in the histogram")
        self.kinds.activated.connect(lambda: self.kind_chosen.emit(self.kinds.currentData()))
        self.kinds.hide()
        self.logarithm = QCheckBox("Logarithmic")
        self.logarithm.setToolTip("The scale of the numbers (L)")
        self.logarithm.clicked.connect(self.logarithm_chosen)
        self.legend, self.sentence = Legend(), label("", "muted", wrap=True)
        self._nothing = label("", "muted", wrap=True)
        self._nothing.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._nothing.hide()
        self.bar_words, self._axis_words = ElidedLabel(" ", "muted"), label("", "muted")
        self.hint = ElidedLabel("", "caution_text")
        self.hint.hide()
        self.further = self._link("", self.plot.show_every, "Show all scores (End)")
        self.back = self._link("Back to the first view", self.plot.show_all, "Show the thresholds again (Home)")
        words = (self.hint, 1), (self.bar_words, 1), self._axis_words
        top, below = row((self.legend, 1)), row(*words, self.further, self.back)
        for choice in (self.logarithm, self.kinds):
            top.addWidget(choice, 0, Qt.AlignmentFlag.AlignTop)
        parts = (top, (self.plot, 1), (self._nothing, 1), below, self.sentence)
        self.setLayout(stacked(*parts, margins=(8, 0 if compact else 4, 8, 0 if compact else 4), spacing=2))
        self._axis_words.setVisible(compact)
        self.legend.setVisible(not compact)
        self.sentence.setVisible(not compact)
        self._words = self._axis_words if compact else self.sentence
        self.plot.threshold_moved.connect(self.threshold_moved)
        self.plot.bar_clicked.connect(self.bar_clicked)
        self.plot.bar_hovered.connect(self.show_bar_words)
        self.plot.zoomed.connect(self._show_ways)
        self.plot.drawn.connect(self._show_legend)

    def _link(self, text: str, call: Callable[[], object], tip: str) -> QPushButton:
        made = button(text, call, "link", tip)
        made.hide()
        return made

    def _show_ways(self) -> None:
        """Offer scores that are out of view."""
        data = self.plot.data
        has_bars = data is not None and len(data.counts) > 0
        words = data.further_words() if data is not None else ""
        self.further.setText("Show all" if self._is_compact else words)
        self.further.setToolTip(f"{words} (End)")
        self.further.setVisible(bool(words) and not self.plot.is_zoomed)
        self.back.setVisible(self.plot.is_zoomed and has_bars)

    def show_histogram(self, data: Histogram, sentence: str, why: str = "") -> None:
        """Show another histogram with its description, or `nothing` in place of its own text for no bars."""
        self.plot.show_histogram(data)
        has_bars = len(data.counts) > 0
        self._nothing.setText(why or data.nothing_words)
        self._nothing.setHidden(has_bars)
        self.logarithm.setVisible(has_bars and not self._is_compact)
        for part in (self.plot, self._words):
            part.setVisible(has_bars)
        self._axis_words.setText(data.axes)
        self.kinds.setVisible(bool(data.kinds) and not self._is_compact)
        for kind, text in data.kinds.items() if not self.kinds.count() else ():
            self.kinds.addItem(text, kind)
        self.kinds.setCurrentIndex(self.kinds.findData(data.kind))
        self.kinds.setToolTip(sentence)
        self.sentence.setText(sentence)
        self._show_ways()

    def _show_legend(self) -> None:
        """Show the meaning of bars and curves."""
        data = self.plot.data
        if data is None or not len(data.counts):
            self.legend.show_entries([])
            return
        curves = [entry for entry in data.legend() if self.plot.has_drawn(entry[0])]
        self.legend.show_entries([("bars", data.bars_words()), *curves])

    def set_log(self, log_counts: bool) -> None:
        """Choose a logarithmic or a linear scale."""
        self.logarithm.setChecked(log_counts)
        self.plot.set_log(log_counts)

    def show_hint(self, text: str) -> None:
        """Show why the thresholds are not what was meant."""
        self.hint.setText(text)
        self.hint.setVisible(bool(text))
        self.show_bar_words(self.bar_words.text().strip())

    def show_bar_words(self, text: str) -> None:
        """Show a text about the bar under the pointer, or the clicked one."""
        self.bar_words.setText(text or " ")
        self.bar_words.setVisible(bool(text) or self.hint.isHidden())
