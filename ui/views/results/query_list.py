"""The list at the left of results of several queries: what each has found, and which is in view."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF, QResizeEvent
from PySide6.QtWidgets import QPushButton, QStyledItemDelegate, QStyleOptionViewItem

from clalign.values.documents import Card

from ... import formatting, theme
from ...models.results.hit_pages import ALL_QUERIES
from ...models.results.queries_model import BEST, HITS, NEW, SPARK, QueriesModel
from ...models.results.run_view import RunView
from ...models.widgets.text_table import ROW_ROLE, Index
from ..widgets.filter_field import FilterField
from ..widgets.parts import IconButton, Surface, row, stacked
from ..widgets.text_table_view import TextTableView

MAX_UNSEARCHED = 8
"""Queries up to which there is no field to search them."""

MIN_WIDTH, SPARK_WIDTH = 210, 310
"""Least pixels of the list, and those from which on it has small curves."""


class SparkDelegate(QStyledItemDelegate):
    """Draws the best scores of a query, from its best one at the left down to 0 bits."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        scores = index.data(ROW_ROLE)["found"].scores
        if not scores:
            return
        area = QRectF(option.rect).adjusted(6, 5, -6, -5)
        most = max(scores[0], 1e-9)
        heights = [area.bottom() - max(0.0, score) / most * area.height() for score in scores]
        step = area.width() / max(1, len(heights) - 1)
        points = [QPointF(area.left() + place * step, y) for place, y in enumerate(heights)]
        if len(points) == 1:
            points.append(QPointF(area.left() + 3, heights[0]))
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


class NameDelegate(QStyledItemDelegate):
    """Underlines the name of a query that is being searched by its share of the targets."""

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        super().paint(painter, option, index)
        share = index.data(ROW_ROLE)["found"].searched
        if 0.0 < share < 1.0:
            area = option.rect
            painter.fillRect(area.left() + 4, area.bottom() - 2, area.width() - 8, 2, QColor(theme.current().hover))
            done = round((area.width() - 8) * share)
            painter.fillRect(area.left() + 4, area.bottom() - 2, done, 2, QColor(theme.current().accent))


class NameList(Surface):
    """Profiles or queries by their names, with a field that searches them if they are many.

    Parameters
    ----------
    noun, nouns : str
        What one and several are called.
    """

    chosen = Signal(int)

    def __init__(self, noun: str, nouns: str) -> None:
        super().__init__()
        self._is_quiet = False
        self.model = QueriesModel(noun, self)
        self.table = TextTableView(self.model, nouns)
        self.table.horizontalHeader().setMinimumSectionSize(28)
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for column in range(1, len(self.model.columns)):
            self.table.setColumnHidden(column, True)
        self.field = FilterField(f"Filter of {nouns.lower()}", f"Filter {nouns.lower()}", self.table)
        self.field.settled.connect(self._narrow)
        self.top = row((self.field, 1), spacing=2, margins=(8, 6, 4, 4))
        self.setLayout(stacked(self.top, (self.table, 1), spacing=0))
        self.setMinimumWidth(MIN_WIDTH)
        self.setFocusProxy(self.table)
        self.table.row_chosen.connect(self._choose)

    def _choose(self, chosen: dict[str, object]) -> None:
        if not self._is_quiet:
            self.chosen.emit(int(str(chosen["number"])))

    def _narrow(self, text: str) -> None:
        self._is_quiet = True
        self.model.narrow(text)
        self._is_quiet = False
        self.narrowed()

    def narrowed(self) -> None:
        """Do what is needed after other names were listed; nothing here."""

    def list_cards(self, cards: list[Card]) -> None:
        """List what some cards are of."""
        self.model.show_queries(cards)
        self.field.setVisible(len(cards) > MAX_UNSEARCHED)

    def mark(self, number: int) -> None:
        """Mark one as chosen, without a signal; a negative number marks none."""
        place = self.model.place_of(number)
        self._is_quiet = True
        if place is None:
            self.table.setCurrentIndex(QModelIndex())
            self.table.clearSelection()
        elif self.table.currentIndex().row() != place:
            self.table.selectRow(place)
            self.table.scrollTo(self.model.index(place, 0))
        self._is_quiet = False


class QueryList(NameList):
    """Shows what the queries of a run have found, and chooses the one in view, or all of them."""

    table_requested = Signal()

    def __init__(self, run: RunView) -> None:
        super().__init__(run.noun, run.nouns)
        self.run = run
        for column in range(1, SPARK):
            self.table.setColumnHidden(column, False)
        self.table.setItemDelegateForColumn(0, NameDelegate(self.table))
        self.table.setItemDelegateForColumn(SPARK, SparkDelegate(self.table))
        self.all = QPushButton("All")
        self.all.setProperty("role", "flat")
        self.all.setCheckable(True)
        self.all.clicked.connect(lambda: run.set_profile(ALL_QUERIES))
        self.top.addWidget(self.all)
        tip = "Save this table with more columns (TSV)"
        self.top.addWidget(IconButton("table-arrow-down", tip, self.table_requested.emit))
        self.chosen.connect(lambda number: run.set_profile(number) if number != run.profile else None)

    def narrowed(self) -> None:
        """Mark the query in view again."""
        self.show_choice()

    def show_queries(self) -> None:
        """List the queries of the run, as soon as they are known, and what they are called."""
        self.model.set_noun(self.run.noun)
        self.field.setPlaceholderText(f"Filter {self.run.nouns.lower()}")
        self.list_cards(self.run.cards)
        self.table.setColumnHidden(NEW, not self.model.has_rounds)
        self.all.setVisible(bool(self.run.all_words))
        self.show_found()
        self.show_choice()

    def show_found(self) -> None:
        """Show what the queries have found so far."""
        # No row moves while a person may be about to click it.
        stays = self.run.state in ("new", "running", "elsewhere") or (self.model.has_found and self.table.underMouse())
        self.model.show_found(self.run.found, stays, self.run.calls_significant)
        count = formatting.plural(sum(self.run.query_hits.values()), "hit")
        self.all.setToolTip(f"The hits of all {self.run.nouns.lower()} together: {count}")
        most = formatting.count(max((row["n"] for row in self.model.all), default=0))
        self.table.fit_numbers({HITS: most, NEW: most, BEST: formatting.evalue(0.0)})
        scored = any(found.best_evalue is not None for found in self.run.found.values())
        self.table.setColumnHidden(BEST, bool(self.run.query_hits) and not scored)

    def show_choice(self) -> None:
        """Mark the query in view."""
        self.all.setChecked(self.run.shows_all)
        self.mark(self.run.profile)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.table.setColumnHidden(SPARK, self.width() < SPARK_WIDTH)
        self.table.fill()
