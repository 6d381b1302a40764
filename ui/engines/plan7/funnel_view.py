"""The filter funnel: a bar and a sentence for each stage, and the sequences behind every number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QScrollArea, QSizePolicy, QWidget

from clalign.engines.pictures.charts import diamond
from clalign.values.axes import Scale

from ... import formatting, theme
from ...models.results.run_view import RunView
from ...models.widgets.text_table import ROW_ROLE, Row, TextTable
from ...views.charts.drawing_painter import paint_shapes
from ...views.charts.legend import Legend
from ...views.charts.one_at_a_time import OneAtATime
from ...views.widgets.parts import (
    ElidedLabel,
    IconButton,
    IconLabel,
    Surface,
    button,
    grid,
    height_for,
    held,
    label,
    one_of,
    row,
    scrolled,
    set_role,
    split,
    stacked,
)
from ...views.widgets.text_table_view import TextTableView
from .funnel import COLUMNS, FunnelStep, share_words, stage_title

MIN_COUNT = 0.5
"""Left end of the bars, so that a bar of one sequence is visible."""

EDGE, TICK = 6.0, 60.0
"""Pixels beside the bars, and between two numbers of the scale."""

MIN_HEIGHT = 120
"""Pixels of the visible part of the stages."""

LEGEND = [("bars", "sequences that passed, on a logarithmic scale"), ("beside", "expected by chance")]


class FunnelBar(QWidget):
    """The number of survivors and the number expected by chance, on a scale common to all bars."""

    def __init__(self) -> None:
        super().__init__()
        self._passed = self._total = 0
        self._expected: float | None = None
        self.setMinimumSize(60, 18)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def show_share(self, passed: int, total: int, expected: float | None) -> None:
        """Show other numbers."""
        self._passed, self._total, self._expected = passed, total, expected
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._total:
            return
        painter, colors, scale = QPainter(self), theme.current(), scale_of(self._total, self.width())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = self.height() / 2
        painter.setPen(QPen(QColor(colors.border), 1))
        for tick in ticks_of(scale):
            painter.drawLine(QPointF(scale(tick), 0), QPointF(scale(tick), self.height()))
        if self._passed:
            painter.setPen(QPen(QColor(colors.accent), 1))
            painter.setBrush(QColor(colors.bar))
            painter.drawRect(QRectF(EDGE, middle - 6, scale(self._passed) - EDGE, 12))
        if self._expected is not None:
            paint_shapes(painter, [diamond(max(EDGE, scale(max(self._expected, MIN_COUNT))), middle)], colors)


class FunnelScale(QWidget):
    """The numbers of the scale above the bars."""

    def __init__(self) -> None:
        super().__init__()
        self._total = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(60, self.fontMetrics().height() + 2)

    def show_total(self, total: int) -> None:
        """Show another scale."""
        self._total = total
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._total:
            return
        painter, scale = QPainter(self), scale_of(self._total, self.width())
        painter.setPen(QColor(theme.current().muted))
        for tick in ticks_of(scale):
            text = formatting.count(tick)
            wide = painter.fontMetrics().horizontalAdvance(text)
            left = min(max(0.0, scale(tick) - wide / 2), self.width() - wide)
            painter.drawText(QRectF(left, 0, wide + 2, self.height()), Qt.AlignmentFlag.AlignVCenter, text)


def ticks_of(scale: Scale) -> list[float]:
    """Return the numbers of the scale, of whole sequences."""
    return [tick for tick in scale.ticks(TICK) if tick >= 1]


def scale_of(total: int, width: float) -> Scale:
    """Return the scale of the bars: logarithmic, from half a sequence to all."""
    return Scale(MIN_COUNT, max(2, total), EDGE, width - EDGE, True)


class StageRow:
    """The widgets of one stage."""

    def __init__(self, lines: QGridLayout, place: int, ask: Callable[[FunnelStep, bool], object]) -> None:
        self.name = label("")
        self.bar = FunnelBar()
        self.passed, self.rejected = (button("", partial(self._list, rejected), "link") for rejected in (False, True))
        for link in (self.passed, self.rejected):
            link.setCursor(Qt.CursorShape.PointingHandCursor)
        self.share, self.expected = label("", "muted"), label("", "muted")
        self.mark, self.verdict = IconLabel("check", "muted"), ElidedLabel("", "muted")
        self._step: FunnelStep | None = None
        line, below = 2 * place + 1, 2 * place + 2
        for column, widget in enumerate((self.name, self.bar, self.passed, self.share, self.rejected)):
            lines.addWidget(widget, line, column)
        said = row(self.expected, self.mark, (self.verdict, 1), spacing=6, margins=(int(EDGE), 0, 0, 2))
        lines.addLayout(said, below, 1, 1, 4)
        self._ask = ask

    def _list(self, rejected: bool) -> None:
        if self._step is not None:
            self._ask(self._step, rejected)

    def show_step(self, step: FunnelStep, total: int) -> None:
        """Show the numbers of a stage."""
        if step == self._step:
            return
        self._step = step
        self.name.setText(step.label)
        self.name.setToolTip(step.tip)
        self.bar.show_share(step.passed, total, step.by_chance)
        self.passed.setText(formatting.count(step.passed))
        self.passed.setToolTip(f"Show these {formatting.plural(step.passed, 'sequence')}")
        self.passed.setAccessibleName(f"{step.label}: {formatting.count(step.passed)}, show these")
        self.share.setText("" if step.stage == "all" else share_words(step.share))
        stopped = step.stage != "all" and step.rejected > 0
        self.rejected.setText(f"{formatting.count(step.rejected)} stopped" if stopped else "")
        self.rejected.setToolTip(f"Show what the stage “{step.label}” rejected")
        self.rejected.setAccessibleName(f"{step.label}: show the {formatting.count(step.rejected)} that it rejected")
        self.rejected.setVisible(stopped)
        self.expected.setText(step.expected)
        self.verdict.setText(step.verdict)
        self.mark.setVisible(bool(step.mark))
        if step.mark:
            self.mark.show_icon(*theme.MARKS[step.mark])
        for widget in (self.name, self.passed):
            set_role(widget, "dim", "" if step.ran else "yes")


class StagesArea(QScrollArea):
    """The stages, as high as their text needs; they scroll if there is less room."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__()
        self._inside = inside
        scrolled(inside, self)
        self.setMinimumHeight(MIN_HEIGHT)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), height_for(self._inside.layout(), self.width()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()


class FunnelView(Surface):
    """Stages above, the sequences of one of them below."""

    stage_requested = Signal(object, bool)
    explain_requested = Signal(object)
    save_requested = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[StageRow] = []
        self.shown: tuple[str, bool] | None = None
        self.table = TextTable(COLUMNS, self)
        self.sentence = label("", "muted", wrap=True)
        self.empty = OneAtATime("filter-outline")
        self._stack = one_of(self.empty, split(StagesArea(self._stages()), self._listed(), shares=(0, 1)))
        self.setLayout(stacked(self._stack))

    def _stages(self) -> QWidget:
        self._grid = grid(12, 0)
        self.scale, legend = FunnelScale(), Legend()
        self._grid.addWidget(self.scale, 0, 1)
        legend.show_entries(LEGEND)
        ask, tip = lambda: self.explain_requested.emit(None), "Run one sequence of your choice through every filter"
        explain = IconButton("filter-check-outline", tip, ask, "Explain one sequence…")
        parts = self.sentence, legend, self._grid, row(explain, None), None
        return held(stacked(*parts, margins=(16, 6, 16, 6), spacing=-1))

    def _listed(self) -> QWidget:
        self.title = ElidedLabel("Click a number to see its sequences", "muted")
        self.explain_button = IconButton("filter-check-outline", "Run it through all filters", self._explain, "Explain")
        copy = IconButton("content-copy", "Copy the table as text with tabs (Ctrl+C)", lambda: self.view.copy(), "Copy")
        save = IconButton("export-variant", "To a file", lambda: self.save_requested.emit(self.table.tsv()), "Save…")
        self._tools = [self.explain_button, copy, save]
        top = row(self.title, *self._tools, margins=(16, 6, 12, 4))
        self.view = TextTableView(self.table, "Sequences of a stage")
        self.view.doubleClicked.connect(lambda _: self._explain())
        self.view.row_chosen.connect(lambda _: self.explain_button.setEnabled(True))
        self._disable_tools()
        return held(stacked(top, (self.view, 1), spacing=0))

    def _disable_tools(self) -> None:
        for tool in self._tools:
            tool.setEnabled(False)

    def show_steps(self, steps: list[FunnelStep], sentence: str) -> None:
        """Show how many sequences passed each stage."""
        while len(self.rows) < len(steps):
            self.rows.append(StageRow(self._grid, len(self.rows), self.stage_requested.emit))
        total = steps[0].passed if steps else 0
        self.scale.show_total(total)
        for made, step in zip(self.rows, steps, strict=True):
            made.show_step(step, total)
        self.sentence.setText(sentence)
        self._stack.setCurrentIndex(1)

    def show_text(self, heading: str, text: str, too_many: RunView | None = None) -> None:
        """Show a text in place of the funnel; if a run shows too many profiles, offer one."""
        self.empty.offer(too_many)
        self.empty.show_text(heading, text)
        self._stack.setCurrentIndex(0)

    def show_reading(self, step: FunnelStep, rejected: bool) -> None:
        """Show that the sequences of a stage are being read."""
        self.shown = step.stage, rejected
        self.title.setText(f"{stage_title(step, rejected)} – reading…")

    def show_rows(self, step: FunnelStep, rejected: bool, rows: list[Row]) -> None:
        """List the sequences of a stage."""
        n_all = step.rejected if rejected else step.passed
        count = formatting.plural(len(rows), "sequence")
        if len(rows) < n_all:
            count = f"the best {formatting.count(len(rows))} of {formatting.plural(n_all, 'sequence')}"
        self.title.setText(f"{stage_title(step, rejected)}: {count}")
        self.view.sort_column(-1)
        self.table.set_rows(rows)
        for tool in self._tools:
            tool.setEnabled(bool(rows) and tool is not self.explain_button)

    def show_list_message(self, text: str) -> None:
        """Show a message in place of the list."""
        self.title.setText(text)
        self.table.set_rows([])
        self._disable_tools()

    def _explain(self) -> None:
        index: QModelIndex = self.view.currentIndex()
        if index.isValid():
            self.explain_requested.emit(index.data(ROW_ROLE))
