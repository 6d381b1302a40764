"""The chosen hit of a profile, with a table of its domains above their alignments."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QStackedWidget, QWidget

from clalign.values.hits import Domain, Hit

from ... import formatting
from ...models.widgets.text_table import Row, TextColumn, TextTable
from ...settings import Preferences
from ...views.results.hit_card import HitCard
from ...views.widgets.text_table_view import ROW_HEIGHT, TextTableView

MAX_LINES, FIRST_ROWS = 3, 20
"""Most domains that are seen without scrolling: as many as any of the first hits has."""


def _evalue(row: Row, name: str) -> str:
    value = getattr(row["domain"], name)
    return "—" if value is None else formatting.evalue(value)


def _places(row: Row, name: str) -> str:
    first, last = getattr(row["domain"], name)
    return formatting.span(first + 1, last)


def verdict(domain: Domain) -> str:
    """Return the word for the threshold that a domain passes."""
    return "significant" if domain.is_significant else "reported" if domain.is_reported else "below the limit"


_NUMBER = TextColumn("#", "Place among the domains of the sequence", lambda r: str(r["domain"].number), True, 32)
_SCORE = TextColumn("Bits", "Corrected score of the domain", lambda r: formatting.score(r["domain"].score), True, 52)
_BIAS = TextColumn("Bias", "Correction for biased composition, in bits",
                   lambda r: formatting.score(r["domain"].bias), True, 48)  # fmt: skip
_MODEL = TextColumn("Model", "First and last node", lambda r: _places(r, "query_range"), True, 62)
_TARGET = TextColumn("Sequence", "First and last aligned residue", lambda r: _places(r, "target_range"), True, 82)

_EVALUE = TextColumn("E-value", "Of the domain alone", lambda r: _evalue(r, "evalue"), True, 84)

HMMER2_COLUMNS = (_NUMBER, _SCORE, _BIAS, _EVALUE, _MODEL, _TARGET)

HMMER3_COLUMNS = (
    _NUMBER,
    _SCORE,
    TextColumn("i-Evalue", "Independent: as if it were the only domain of the sequence",
               lambda r: _evalue(r, "evalue"), True, 74),
    TextColumn("c-Evalue", "Conditional: expected number of false domains this good in the sequences that are reported",
               lambda r: _evalue(r, "conditional_evalue"), True, 74),
    _MODEL,
    _TARGET,
    TextColumn("Envelope", "Most probable extent of the domain", lambda r: _places(r, "envelope"), True, 82),
    TextColumn("Accuracy", "Expected share of correctly aligned residues",
               lambda r: f"{r['domain'].accuracy or 0:.2f}", True, 68),
    _BIAS,
    TextColumn("Status", "Significant, only reported, or below the limit for domains",
               lambda r: verdict(r["domain"]), False, 100),
)  # fmt: skip
"""What is most asked for comes first: in narrow panes the rest is in tips."""


def domain_rows(hit: Hit) -> list[Row]:
    """Return a row for each domain."""
    columns = HMMER2_COLUMNS if hit.estimates is None else HMMER3_COLUMNS
    rows: list[Row] = [{"place": place, "domain": domain} for place, domain in enumerate(hit.domains)]
    return [row | {"tip": "\n".join(f"{one.title} {one.text(row)}" for one in columns)} for row in rows]


def is_below(row: Row) -> bool:
    """Return whether a domain fails the thresholds for domains."""
    return not row["domain"].is_reported


class DomainTables(QStackedWidget):
    """The domains of a hit: one table for HMMER2, one for HMMER3."""

    domain_chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[bool, TextTableView] = {}
        self._n_lines = 1

    def show_hit(self, hit: Hit, n_lines: int) -> None:
        """Show the domains of a hit, in room for some lines."""
        self._n_lines = n_lines
        table = self._table(hit.estimates is not None)
        model = table.model()
        assert isinstance(model, TextTable)
        model.set_rows(domain_rows(hit))
        self.setCurrentWidget(table)
        self.setFixedHeight(table.horizontalHeader().sizeHint().height() + n_lines * ROW_HEIGHT + 2)
        self._fit(table)

    def _fit(self, table: TextTableView) -> None:
        """Hide the last columns that there is no room for; the tip of a row has them all."""
        has_bar = table.model().rowCount() > self._n_lines
        bar = has_bar * table.verticalScrollBar().sizeHint().width()
        room = max(0, self.width() - 2 * table.frameWidth() - bar)
        for place, (usual, _) in table.widths.items():
            least = max(table.title_width(place), table.sizeHintForColumn(place))
            table.setColumnHidden(place, room < least)
            width = min(max(usual, least), room)
            if room < max(usual, least) or table.columnWidth(place) < width:
                table.setColumnWidth(place, width)
            room -= width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        for table in self._tables.values():
            self._fit(table)

    def _table(self, is_hmmer3: bool) -> TextTableView:
        """Return a table, created on first use."""
        if is_hmmer3 not in self._tables:
            model = TextTable(HMMER3_COLUMNS if is_hmmer3 else HMMER2_COLUMNS, self, is_below)
            made = self._tables[is_hmmer3] = TextTableView(model, "Domains")
            made.horizontalHeader().setMinimumSectionSize(28)
            made.set_widths({place: usual for place, (usual, _) in made.widths.items()})
            made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
            made.row_chosen.connect(lambda row: self.domain_chosen.emit(row["place"]))
            self.addWidget(made)
        return self._tables[is_hmmer3]

    def table(self) -> TextTableView:
        """Return the table in view."""
        shown = self.currentWidget()
        assert isinstance(shown, TextTableView)
        return shown


class DomainCard(HitCard):
    """Shows the confidence of each column, too, if it is known."""

    def __init__(self) -> None:
        self.tables = DomainTables()
        super().__init__()
        self.tables.domain_chosen.connect(self.alignment.go_to_domain)

    def _parts(self) -> list[QWidget]:
        return [self.tables]

    def _tools(self) -> tuple[list[QWidget], list[QWidget]]:
        seen, done = super()._tools()
        self.posterior = QCheckBox("Confidence")
        self.posterior.setToolTip("The confidence of each column of the alignment (HMMER3)")
        self.posterior.setChecked(True)
        self.posterior.clicked.connect(lambda shown: self.preferences_chosen.emit({"posterior": shown}))
        return [seen[0], self.posterior, *seen[1:]], done

    def show_hit(self) -> None:
        super().show_hit()
        run = self.run
        hit = run.hit if run is not None else None
        if run is not None and hit is not None:
            first = filter(None, map(run.hits.row_at, range(FIRST_ROWS)))
            most = max((len(one.domains) for one in first), default=len(hit.domains))
            self.tables.show_hit(hit, max(1, min(MAX_LINES, most)))
            self._fit()
            self.posterior.setVisible(hit.estimates is not None)

    def show_preferences(self, chosen: Preferences) -> None:
        super().show_preferences(chosen)
        self.posterior.setChecked(chosen.posterior)
