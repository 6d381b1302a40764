"""The score histogram, drawn: bars, fitted curves, and two thresholds that can be dragged."""

from __future__ import annotations

import html
import math

import numpy as np
import numpy.typing as npt
import pyqtgraph as pg
from PySide6.QtCore import QEvent, QPointF, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QMouseEvent, QPen, QShortcut
from PySide6.QtWidgets import QComboBox, QLineEdit, QVBoxLayout, QWidget

from .. import formatting, theme
from ..models.histogram import Histogram, grouped_cutoffs
from .parts import label, row

FLOOR = -0.3
"""Bottom of the logarithmic scale: log10 of half a sequence."""

CUTOFF_HEIGHT = 0.72
"""Place of the words at a model cutoff: above most bars, between the tags of the two thresholds."""

CUTOFF_STEP = 0.07
"""How much lower the words at the next cutoff stand, which may be close."""

ROOM = 0.1
"""Share of the scores' range that can be seen beyond them."""

LEAP = 10
"""Steps that a threshold moves with Shift."""


class CountAxis(pg.AxisItem):
    """Counts, on a linear or a logarithmic scale."""

    def __init__(self) -> None:
        super().__init__("left")
        self.is_log = True
        self.enableAutoSIPrefix(False)

    def tickValues(self, low: float, high: float, size: float) -> list[tuple[float, list[float]]]:
        """Return where the ticks are."""
        if not self.is_log:
            ticks: list[tuple[float, list[float]]] = super().tickValues(low, high, size)
            return ticks
        return [(1.0, [float(p) for p in range(max(0, math.ceil(low)), math.floor(high) + 1)])]

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        """Return the counts at the ticks."""
        return [formatting.count(10**v if self.is_log else v) for v in values]


class ScorePlot(pg.GraphicsView):
    """The plot area: a view with two axes, without the library's hidden forms.

    Keys: left and right move the significance line, with Shift in larger steps, with Ctrl the report
    line; L changes the scale; Home shows all scores again.
    """

    threshold_moved = Signal(str, float)
    bar_hovered = Signal(str)

    def __init__(self) -> None:
        self._dressed: theme.Tokens | None = None
        super().__init__()
        self._lay_out()
        self.data = None
        self.log_counts = True
        self._zoomed = False
        self._marks: list[pg.InfiniteLine] = []
        self._editor: QLineEdit | None = None
        self._make_items()
        self._make_lines()
        view = self.view
        view.setMouseEnabled(x=True, y=False)
        view.sigRangeChangedManually.connect(self._note_zoom)
        view.sigXRangeChanged.connect(self._place_tags)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName("Histogram of scores with thresholds")
        self.scene().sigMouseMoved.connect(self._hover)
        self.dress()

    data: Histogram | None

    view: pg.ViewBox

    def _lay_out(self) -> None:
        """Put the axes around the view."""
        layout = pg.GraphicsLayout()
        layout.layout.setContentsMargins(1, 1, 1, 1)
        layout.layout.setSpacing(0)
        self.setCentralItem(layout)
        self.view = layout.addViewBox(row=0, col=1, enableMenu=False)
        self.counts_axis, self.score_axis = CountAxis(), pg.AxisItem("bottom")
        self.score_axis.enableAutoSIPrefix(False)
        for axis, line, column in ((self.counts_axis, 0, 0), (self.score_axis, 1, 1)):
            axis.linkToView(self.view)
            axis.setZValue(0.5)
            layout.addItem(axis, line, column)

    def _make_items(self) -> None:
        self._bars = pg.PlotCurveItem([0.0, 1.0], [0.0], stepMode="center", fillLevel=FLOOR)
        self._calibrated = pg.PlotCurveItem()
        self._fitted = pg.PlotCurveItem()
        for item in (self._bars, self._calibrated, self._fitted):
            self.view.addItem(item)
            item.hide()
        self.score_axis.setLabel("score (bits)")
        self.counts_axis.setLabel("sequences")
        self._show_numbers(False)

    def _make_lines(self) -> None:
        self.lines = {}
        for name, position in (("report", 0.52), ("significant", 0.9)):
            line = pg.InfiniteLine(
                0, 90, movable=True, label=" ", labelOpts={"position": position, "anchors": [(0, 0.5), (1, 0.5)]}
            )
            line.sigPositionChanged.connect(lambda moved, name=name: self._moved(name, moved))
            line.sigPositionChangeFinished.connect(lambda moved, name=name: self._snap(name, moved))
            line.setZValue(30 if name == "report" else 20)
            self.lines[name] = line
            self.view.addItem(line)
            line.hide()

    lines: dict[str, pg.InfiniteLine]

    def dress(self) -> None:
        """Take the colors of the theme."""
        colors = self._dressed = theme.current()
        self.setBackground(colors.surface)
        for axis in (self.counts_axis, self.score_axis):
            axis.setPen(QPen(QColor(colors.border)))
            axis.setTextPen(QPen(QColor(colors.muted)))
        self._bars.setPen(pg.mkPen(colors.accent, width=1))
        self._bars.setBrush(QColor(colors.bar))
        self._calibrated.setPen(pg.mkPen(colors.caution, width=2))
        self._fitted.setPen(pg.mkPen(colors.caution, width=2, style=Qt.PenStyle.DashLine))
        back = QColor(colors.surface)
        back.setAlpha(230)
        for name, line in self.lines.items():
            color = colors.text if name == "significant" else colors.muted
            line.setPen(pg.mkPen(color, width=1.5))
            line.setHoverPen(pg.mkPen(colors.accent, width=3))
            line.label.setColor(QColor(colors.text))
            line.label.fill = pg.mkBrush(back)
            line.label.border = pg.mkPen(color)
        for mark in self._marks:
            mark.setPen(pg.mkPen(colors.good, width=1, style=Qt.PenStyle.DotLine))
            mark.label.setColor(QColor(colors.good_text))
            mark.label.fill = pg.mkBrush(back)

    def changeEvent(self, event: QEvent) -> None:
        """Follow the theme."""
        if event.type() == QEvent.Type.PaletteChange and self._dressed not in (None, theme.current()):
            self.dress()
        super().changeEvent(event)

    def show_histogram(self, data: Histogram) -> None:
        """Draw new numbers."""
        cutoffs_differ = self.data is None or self.data.cutoffs != data.cutoffs
        if self.data is not None and self.data.kind != data.kind:
            self._zoomed = False
            self.bar_hovered.emit("")  # what was said is of other scores
        self.data = data
        if cutoffs_differ:
            self._show_cutoffs(data)
        self.score_axis.setLabel(html.escape(data.axis))  # it is taken for HTML
        self._draw()

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
        """Return the heights of a curve; where it is below the axis it is not drawn."""
        heights = self._heights(expected)
        return np.where(expected > 10**FLOOR if self.log_counts else expected > 0.01, heights, np.nan)

    def _draw(self) -> None:
        data = self.data
        self._show_numbers(data is not None and len(data.counts) > 0)
        if data is None or not len(data.counts):
            return
        self._bars.setFillLevel(FLOOR if self.log_counts else 0)
        heights = self._heights(data.counts.astype(np.float64))
        self._bars.setData(data.edges, heights)
        self._bars.show()
        for item, name in ((self._calibrated, "calibration"), (self._fitted, "fit")):
            curve = data.curve(name)
            item.setVisible(curve is not None)
            if curve is not None:
                item.setData(curve[0], self._curve(curve[1]), connect="finite")
        low = FLOOR if self.log_counts else 0.0
        self.view.setYRange(low, max(heights.max() * 1.1, low + 1), padding=0)
        if not self._zoomed:
            self._show_all(data)

    def _show_numbers(self, shown: bool) -> None:
        """Show the numbers at the axes, which mean nothing before there are scores."""
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
        more = max(0.0, data.least_span - (high - low)) / 2
        whole = min(*ends, float(data.edges[0])) - more, max(*ends, float(data.edges[-1])) + more
        room = ROOM * (whole[1] - whole[0])
        self.view.setLimits(xMin=whole[0] - room, xMax=whole[1] + room)
        self.view.setXRange(low - more, high + more, padding=0.03)

    def show_all(self) -> None:
        """Show all scores again, after the wheel and drags."""
        self._zoomed = False
        self._draw()

    def _note_zoom(self) -> None:
        self._zoomed = True

    def _show_cutoffs(self, data: Histogram) -> None:
        for mark in self._marks:
            self.view.removeItem(mark)
        self._marks = []
        near = 0.02 * float(data.edges[-1] - data.edges[0]) if len(data.edges) else 1.0
        for place, (score, words_) in enumerate(grouped_cutoffs(data.cutoffs, near)):
            height = CUTOFF_HEIGHT - CUTOFF_STEP * place
            mark = pg.InfiniteLine(score, 90, label=words_, labelOpts={"position": height})
            self._marks.append(mark)
            self.view.addItem(mark)
        self.dress()

    def set_line(self, name: str, score: float, tag: str) -> None:
        """Put a threshold where it is, with the words on its tag."""
        line = self.lines[name]
        data = self.data
        shown = math.isfinite(score) and data is not None and data.has_thresholds and len(data.counts) > 0
        appears = shown and not line.isVisible()
        line.setVisible(shown)
        if not shown:
            return
        line.blockSignals(True)
        line.setValue(score)
        line.blockSignals(False)
        if appears and not self._zoomed and data is not None:
            self._show_all(data)
        line.label.setFormat(tag)
        self._place_tags()

    def _place_tags(self) -> None:
        """Keep the tags right of their lines, away from the bars, unless they would leave the plot."""
        high = self.view.viewRange()[0][1]
        pixel = self.view.viewPixelSize()[0]
        for line in (*self.lines.values(), *self._marks):
            side = 0 if (high - line.value()) / pixel > line.label.boundingRect().width() else 1
            line.label.anchors = [(side, 0.5), (side, 0.5)]
            line.label.updatePosition()

    def _moved(self, name: str, line: pg.InfiniteLine) -> None:
        self.threshold_moved.emit(name, float(line.value()))

    def _snap(self, name: str, line: pg.InfiniteLine) -> None:
        if self.data is None:
            return
        reach = 6 * self.view.viewPixelSize()[0]
        snapped = self.data.snapped(float(line.value()), reach)
        if snapped != line.value():
            line.setValue(snapped)

    def _hover(self, place: QPointF) -> None:
        if self.data is not None and self.view.sceneBoundingRect().contains(place):
            self.bar_hovered.emit(self.data.bar_at(self.view.mapSceneToView(place).x()))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Move a threshold."""
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.ask_number(self._main_line(), QPointF(self.width() / 2, 8))
        elif event.key() == Qt.Key.Key_Home:
            self.show_all()
        elif step is None:
            super().keyPressEvent(event)
        else:
            size = (self.data.step if self.data else 0) * (
                LEAP if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
            )
            of_report = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            line = self.lines["report" if of_report else self._main_line()]
            if line.isVisible():
                line.setValue(line.value() + step * size)

    def _main_line(self) -> str:
        """Return the threshold that plain keys move: pairs of sequences have only the other one."""
        return "significant" if self.lines["significant"].isVisible() else "report"

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        """Let a number be typed for the nearer threshold."""
        x = self.view.mapSceneToView(self.mapToScene(event.position().toPoint())).x()
        shown = {name: abs(line.value() - x) for name, line in self.lines.items() if line.isVisible()}
        if shown:
            self.ask_number(min(shown, key=lambda name: shown[name]), event.position())

    def ask_number(self, name: str, place: QPointF) -> None:
        """Open a small field for the score of a threshold."""
        if self._editor is not None:
            self._editor.deleteLater()
        editor = QLineEdit(f"{self.lines[name].value():.1f}", self)
        editor.setAccessibleName(f"Score of the {name} threshold")
        editor.setToolTip("Score, in the units of the axis; Enter sets it, Esc leaves it")
        editor.setFixedWidth(90)
        editor.move(int(min(max(0, place.x() - 45), self.width() - 90)), int(place.y()))
        editor.editingFinished.connect(lambda: self._take_number(name))
        escape = QShortcut(QKeySequence("Esc"), editor, context=Qt.ShortcutContext.WidgetShortcut)
        escape.activated.connect(self._leave_number)
        self._editor = editor
        editor.show()
        editor.selectAll()
        editor.setFocus()

    def _leave_number(self) -> None:
        """Close the field; the threshold stays."""
        editor, self._editor = self._editor, None
        if editor is not None:
            editor.deleteLater()
            self.setFocus()

    def _take_number(self, name: str) -> None:
        editor, self._editor = self._editor, None
        if editor is None:
            return
        try:
            score = float(editor.text().replace(",", "."))
        except ValueError:
            score = math.nan
        if math.isfinite(score):
            self.lines[name].setValue(score)
        editor.deleteLater()
        self.setFocus()


class HistogramView(QWidget):
    """Plot, legend, and the sentence that says what is shown.

    Parameters
    ----------
    compact : bool
        As a strip below the table: without the legend.
    """

    threshold_moved = Signal(str, float)
    kind_chosen = Signal(str)

    def __init__(self, compact: bool) -> None:
        super().__init__()
        self.plot = ScorePlot()
        self.kinds = QComboBox()
        self.kinds.setAccessibleName("Scores that the histogram shows")
        self.kinds.activated.connect(lambda: self.kind_chosen.emit(self.kinds.currentData()))
        self.kinds.hide()
        self.legend = label("", "muted", wrap=True)
        self.sentence = label("", "muted", wrap=True)
        self.bar_words = label(" ", "muted")
        if compact:
            self.plot.counts_axis.showLabel(False)
        box = QVBoxLayout(self)
        box.setContentsMargins(8, 4, 8, 4)
        box.setSpacing(2)
        self.setProperty("role", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        top = row(None, self.kinds)
        top.setContentsMargins(0, 0, 0, 0)
        box.addLayout(top)
        for widget in (self.legend, self.plot, self.bar_words, self.sentence):
            box.addWidget(widget, 1 if widget is self.plot else 0)
        self.legend.setVisible(not compact)
        self.sentence.setVisible(not compact)
        self.plot.threshold_moved.connect(self.threshold_moved)
        self.plot.bar_hovered.connect(self._show_bar)

    def show_histogram(self, data: Histogram, sentence: str) -> None:
        """Show new numbers and what they are."""
        self.plot.show_histogram(data)
        self.kinds.setVisible(bool(data.kinds))
        for kind, text in data.kinds.items() if not self.kinds.count() else ():
            self.kinds.addItem(text, kind)
        self.kinds.setCurrentIndex(self.kinds.findData(data.kind))
        self.kinds.setToolTip(sentence)
        marks = {"calibration": "—", "fit": "- -", "note": "    "}
        self.legend.setText("\n".join(f"{marks[kind]}  {text}" for kind, text in data.legend()))
        self.sentence.setText(sentence)

    def _show_bar(self, text: str) -> None:
        self.bar_words.setText(text or " ")
