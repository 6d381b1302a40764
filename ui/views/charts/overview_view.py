"""All queries of a run: a table with a small curve of scores each, and the heat map of their hits."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QCheckBox, QStackedWidget, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from clalign.engines.overview import Overview

from ... import formatting, theme
from ...models.charts.heat_map import HeatMap
from ...models.charts.overview import (
    COLUMNS,
    SEARCHED_COLUMN,
    SPARK_COLUMN,
    QueriesModel,
)
from ...models.widgets.text_table import ROW_ROLE
from ..widgets.filter_field import FilterField
from ..widgets.parts import (
    ElidedLabel,
    EmptyPanel,
    IconButton,
    LazyView,
    row,
    split,
    stacked,
)
from ..widgets.text_table_view import TextTableView
from ..widgets.wait_sign import WaitSign
from .heat_map_view import HeatMapView

Index = QModelIndex | QPersistentModelIndex


class SparkDelegate(QStyledItemDelegate):
    """Draws the scores of a query, best first, relative to the best of all."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        line, model = index.data(ROW_ROLE)["line"], index.model()
        if not line.scores or not isinstance(model, QueriesModel):
            return
        area = QRectF(option.rect).adjusted(6, 4, -8, -4)
        most = max(model.most, 1e-9)
        heights = [area.bottom() - max(0.0, score) / most * area.height() for score in line.scores]
        step = area.width() / max(1, len(heights) - 1)
        points = [QPointF(area.left() + place * step, y) for place, y in enumerate(heights)]
        if len(points) == 1:
            points.append(QPointF(area.left() + 6, heights[0]))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fill = QColor(theme.current().bar)
        fill.setAlphaF(0.6)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(fill)
        corners = [QPointF(points[-1].x(), area.bottom()), QPointF(area.left(), area.bottom())]
        painter.drawPolygon(QPolygonF([*points, *corners]))
        painter.setPen(QPen(QColor(theme.current().accent), 1.4))
        painter.drawPolyline(QPolygonF(points))
        painter.restore()


class QueriesTable(TextTableView):
    """The queries of a run; Enter or a double click opens one."""

    query_chosen = Signal(int)

    def __init__(self, model: QueriesModel) -> None:
        super().__init__(model, "Queries")
        place = next(place for place, column in enumerate(COLUMNS) if column.title == SPARK_COLUMN)
        self.setItemDelegateForColumn(place, SparkDelegate(self))
        self.horizontalHeader().setStretchLastSection(True)
        self.activated.connect(self._open)
        self.doubleClicked.connect(self._open)

    def _open(self, index: QModelIndex) -> None:
        self.query_chosen.emit(index.data(ROW_ROLE)["line"].number)


class OverviewView(LazyView):
    """Shows the overview once it is read."""

    query_chosen = Signal(int)
    hit_chosen = Signal(int)
    table_requested = Signal()
    matrix_requested = Signal()
    picture_requested = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("role", "page")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.content: Overview | None = None
        self.model = QueriesModel(self)
        self.table = QueriesTable(self.model)
        self.map = HeatMapView()
        self.empty = EmptyPanel(
            "view-dashboard-outline", "Reading the results", "All queries and their hits appear here."
        )
        shown = split(self._upper(), self._lower(), shares=(1, 1), sizes=(320, 340))
        self._stack = QStackedWidget()
        self._stack.addWidget(self.empty)
        self._stack.addWidget(shown)
        self.waiting = WaitSign("Reading the queries")
        self.setLayout(stacked((self._stack, 1), row(None, self.waiting, margins=(12, 0, 12, 0)), spacing=0))
        self.table.query_chosen.connect(self.query_chosen)
        self.map.cell_chosen.connect(self.hit_chosen)

    def _upper(self) -> QWidget:
        self.words = ElidedLabel("", "muted")
        self.filter_box = FilterField("Filter of queries", "Filter queries")
        self.filter_box.setMaximumWidth(220)
        self.filter_box.settled.connect(lambda _: self._filter())
        self.with_hits = QCheckBox("With hits only")
        self.with_hits.setChecked(True)
        self.with_hits.toggled.connect(lambda _: self._filter())
        save = IconButton("table-arrow-down", "Save the table of queries (TSV)", self.table_requested.emit)
        save.setAccessibleName("Save the table of queries")
        made = QWidget()
        top = row((self.words, 1), self.with_hits, self.filter_box, save, margins=(12, 6, 12, 4))
        made.setLayout(stacked(top, (self.table, 1), spacing=0))
        return made

    def _lower(self) -> QWidget:
        self.map_words = ElidedLabel("", "muted")
        made = QWidget()
        self.map_tools = [
            IconButton("magnify-minus-outline", "Smaller cells (wheel, key -)", lambda: self.map.zoom(0.8)),
            IconButton("magnify-plus-outline", "Larger cells (wheel, key +)", lambda: self.map.zoom(1.25)),
            IconButton("fit-to-page-outline", "Show the whole map (key 0)", self.map.fit),
            IconButton("table-arrow-down", "Save the scores as a table (TSV)", self.matrix_requested.emit),
            IconButton("export-variant", "Save the map as a picture: SVG, PDF or PNG", self.picture_requested.emit),
        ]
        top = row((self.map_words, 1), *self.map_tools, spacing=0, margins=(12, 4, 12, 0))
        made.setLayout(stacked(top, (self.map, 1), spacing=0))
        return made

    def _filter(self) -> None:
        """List the matching queries; the chosen one stays chosen if it is among them."""
        index = self.table.currentIndex()
        chosen = index.data(ROW_ROLE)["line"] if index.isValid() else None
        with_hits = self.with_hits.isEnabled() and self.with_hits.isChecked()
        self.model.show_lines(self.content.lines if self.content else [], self.filter_box.text(), with_hits)
        place = self.model.place_of(chosen.number) if chosen is not None else None
        if place is not None:
            self.table.selectRow(place)
        else:
            self.table.setCurrentIndex(QModelIndex())

    @property
    def query_names(self) -> list[str]:
        """The names of the columns of the map."""
        if self.content is None:
            return []
        return [self.content.lines[number].name for number in self.content.matrix.queries.tolist()]

    def show_content(
        self, content: Overview, heat: HeatMap, noun: str, nouns: str, with_significance: bool, none: str
    ) -> None:
        """Show the queries of a run; the chosen one stays chosen.

        With a column of significant hits where the engine calls hits significant.

        If there are no hits at all, which `none` says, all queries are listed.
        """
        self.content = content
        n_rows, n_columns = content.matrix.shape
        for part in (self.with_hits, *self.map_tools):
            part.setEnabled(n_rows > 0)
        self.model.set_nouns(noun)
        self.filter_box.setPlaceholderText(f"Filter {nouns}")
        self._filter()
        hidden = {"Significant": not with_significance, SEARCHED_COLUMN: not self.model.is_partial}
        for column, one in enumerate(COLUMNS):
            self.table.setColumnHidden(column, hidden.get(one.title, False))
        found = sum(line.n_hits > 0 for line in content.lines)
        n_found, n_all = formatting.count(found), formatting.count(len(content.lines))
        self.words.setText(f"{n_found} of {n_all} {nouns} have hits{self.model.unsearched_words}")
        self.map.show_map(heat, self.query_names)
        size = f"{formatting.plural(n_rows, 'target')} with {formatting.plural(n_columns, noun, nouns)}"
        words = f"{size}, similar ones side by side. Click a cell to see its hit."
        self.map_words.setText(words if n_rows else f"{none}, so there is no map of them.")
        self._stack.setCurrentIndex(1)
