"""Hits of HMMER3 profiles: their order, their columns, domains that do not count, and how sure alignments are."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clalign.runs.pages import HitQuery
from clalign.runs.run_file import open_run
from clalign.ui import theme
from clalign.ui.engines.plan7.card import HMMER3_COLUMNS, domain_rows, is_below
from clalign.ui.engines.plan7.columns import COLUMNS, PROFILE_TABLE
from clalign.ui.engines.plan7.layout import as_fasta, estimates_line, lay_out
from clalign.ui.models.alignment.alignment_layout import (
    Line,
    as_text,
    confidence,
    node_at,
)
from clalign.ui.models.reader import Reader
from clalign.ui.models.results.hit_filter import parse_filter
from clalign.ui.models.results.hit_pages import ALL_QUERIES, HitPages
from clalign.ui.models.results.hits_model import NO_DOMAIN, HitsModel
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.domain_strip import domain_tip, paint_strip
from clalign.ui.views.results.results_page import ResultsPage
from clalign.values.hits import AlignmentText, Domain

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def model(qtbot: Any, hmmer3_run: Callable[..., Path], reader: Reader) -> Any:
    path = hmmer3_run()
    made = HitsModel(path, reader, PROFILE_TABLE)
    with open_run(path) as run:
        made.set_profile(0, run.cards())
    qtbot.waitUntil(lambda: made.n_shown == 5)
    yield made
    made.close()


def text(model: HitsModel, place: int, key: str) -> str:
    return next(column for column in COLUMNS if column.key == key).text(model.row_at(place), model)


def test_rows_are_those_of_the_run_file(hmmer3_run: Callable[..., Path]) -> None:
    path = hmmer3_run()
    pages = HitPages(HitQuery(path, 0))
    with open_run(path) as run:
        for row, hit in zip(pages.rows(0, 10), run.hits(0), strict=True):
            assert row.name == hit.name
            judged = [(span.is_reported, span.is_significant, span.accuracy) for span in row.domains]
            assert judged == [(d.is_reported, d.is_significant, d.accuracy) for d in hit.domains]
            assert (row.filters.msv, row.filters.viterbi) == (hit.filters.msv, hit.filters.viterbi)
            assert row.estimates.expected == hit.estimates.expected
    pages.close()


@pytest.mark.parametrize("text", ["domains>1", "domains>2", "domains=1", "domains<1", "domains>=2 score>20"])
@pytest.mark.parametrize("profile", [0, ALL_QUERIES])
def test_the_filter_counts_the_domains_that_cells_show(
    hmmer3_run: Callable[..., Path], text: str, profile: int
) -> None:
    """HMMER3 finds domains that it does not report; the cell shows those that it does."""
    path = hmmer3_run()
    everything, filtered = (
        HitPages(HitQuery(path, profile, conditions=conditions))
        for conditions in ((), parse_filter(text, words=PROFILE_TABLE.words).conditions)
    )
    shown = {hit.name: (len(hit.reported_domains), hit.score) for hit in everything.rows(0, 10)}
    assert any(hit.n_domains != len(hit.reported_domains) for hit in everything.rows(0, 10))
    passes = eval(f"lambda domains, score: {text.replace('=1', '==1').replace(' ', ' and ')}")
    assert {hit.name for hit in filtered.rows(0, 10)} == {name for name, cell in shown.items() if passes(*cell)}
    by_number = HitPages(HitQuery(path, profile, sort="n_reported", descending=True))
    counts = [shown[hit.name][0] for hit in by_number.rows(0, 10)]
    assert counts == sorted(counts, reverse=True)
    for pages in (everything, filtered, by_number):
        pages.close()


def test_columns_say_what_hmmer3_knows(model: HitsModel) -> None:
    values = {key: text(model, 1, key) for key in ("expected", "n_envelopes", "dom", "rep", "inc", "accuracy", "msv")}
    assert values == {
        "expected": "3.4", "n_envelopes": "3", "dom": "3", "rep": "3", "inc": "2", "accuracy": "0.91", "msv": "38.0",
    }  # fmt: skip
    assert text(model, 1, "envelope") == "3–159"
    assert text(model, 1, "from_to") == "6–153"
    assert text(model, 0, "viterbi") == "—"
    assert text(model, 3, "from_to") == ""
    assert model.row_at(3).has_no_domain
    place = next(i for i, column in enumerate(COLUMNS) if column.key == "domains")
    assert "several weak ones add up" in model.data(model.index(3, place), Qt.ItemDataRole.ToolTipRole)
    plain = model.tsv([0, 1], [i for i, c in enumerate(COLUMNS) if c.key in ("viterbi", "msv")]).splitlines()
    assert plain == ["MSV\tViterbi", "58\t", "38\t39"]


def test_column_sets_name_columns_that_exist() -> None:
    known = {column.key for column in COLUMNS}
    assert len(known) == len(COLUMNS)
    assert all(set(keys) <= known for _, keys in PROFILE_TABLE.sets.values())


def test_a_hit_in_words_and_lines(hmmer3_run: Callable[..., Path]) -> None:
    with open_run(hmmer3_run()) as run:
        hit, weak = list(run.hits(0))[1], list(run.hits(0))[3]
    rows = domain_rows(hit)
    cells = {column.title: column.text(rows[1]) for column in HMMER3_COLUMNS}
    assert [cells[title] for title in ("#", "Status", "Bits")] == ["2", "significant", "20.0"]
    assert [cells[title] for title in ("Model", "Sequence", "Envelope")] == ["1–28", "66–93", "63–99"]
    assert cells["Accuracy"] == "0.91"
    assert [is_below(row) for row in domain_rows(weak)] == [True, True]
    assert estimates_line(hit) == "3.4 domains expected · 2 regions · 3 envelopes · 1 resolved by sampling"
    assert estimates_line(weak).endswith(NO_DOMAIN)
    tip = domain_tip(hit.domains[0])
    assert "accuracy 0.91" in tip
    assert "conditional E" in tip
    lines = lay_out(hit, "Made", 80)
    assert sum(line.kind == "posterior" for line in lines) == 3
    assert "confidence" in as_text(lines)
    assert not any(line.kind == "posterior" for line in lay_out(hit, "Made", 80, False))
    assert "below the limit" in next(line.text for line in lay_out(weak, "Made", 200) if line.kind == "title")
    assert as_fasta(weak) == "", "what is not reported is not copied"


def test_marks_of_confidence() -> None:
    assert [confidence(mark) for mark in "0159*."] == [0.025, 0.1, 0.5, 0.9, 0.975, None]


def test_columns_of_an_alignment_lead_to_nodes() -> None:
    line = Line("model", "MKV..LA", first=11, last=15)
    assert [node_at(line, column) for column in range(-1, 8)] == [None, 11, 12, 13, 13, 13, 14, 15, None]
    assert node_at(Line("model", "...", first=None), 1) is None


def painted(is_reported: bool) -> QImage:
    no_text = AlignmentText("", "", "")
    domain = Domain(1, 9.0, 0.0, 1e-5, (0, 9), (40, 60), (20, 90), 9, "", no_text, is_reported=is_reported)
    image = QImage(120, 20, QImage.Format.Format_RGB32)
    image.fill(theme.QColor(theme.current().surface))
    painter = QPainter(image)
    paint_strip(painter, QRectF(0, 0, 120, 20), 120, [domain])
    painter.end()
    return image


def test_envelopes_are_pale_and_what_does_not_count_is_an_outline(qapp: Any) -> None:
    theme.apply("light")
    strong, pale = painted(True), painted(False)
    accent = theme.QColor(theme.current().accent)
    assert strong.pixelColor(50, 8) == accent
    envelope = strong.pixelColor(30, 8)
    assert accent.lightness() < envelope.lightness() < 255
    assert pale.pixelColor(50, 8) not in (accent, strong.pixelColor(50, 8))
    assert strong.pixelColor(110, 8).lightness() == 255


@pytest.fixture
def page(qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path]) -> ResultsPage:
    window.controller.sources.open_paths([str(hmmer3_run())])
    made = window.controller.page
    qtbot.waitUntil(lambda: made.run.hits.n_shown == 5)
    return made


def test_domains_are_listed_and_lead_to_their_alignment(page: ResultsPage) -> None:
    page.window().resize(1280, 640)
    page.hits.table.choose_row(1)
    page.show_alignment()
    table = page.hit.tables.table()
    assert table.model().rowCount() == 3
    assert table.viewport().height() >= 3 * table.rowHeight(0), "all are in view"
    assert page.hit.explain.isVisible()
    place = table.visualRect(table.model().index(2, 1)).center()
    QTest.mouseClick(table.viewport(), LEFT, pos=place)
    assert page.hit.alignment.verticalScrollBar().value() > 0
    page.hits.table.choose_row(0)
    assert table.model().rowCount() == 1


def test_the_places_of_domains_are_whole(page: ResultsPage) -> None:
    page.hits.table.choose_row(0)
    page.show_alignment()
    hit = page.run.hit
    long = [structs.replace(domain, query_range=(1021, 1199), target_range=(10211, 11999)) for domain in hit.domains]
    tables = page.hit.tables
    tables.show_hit(structs.replace(hit, domains=tuple(long)), 1)
    table, seen = tables.table(), set()
    for width in range(260, 700, 20):
        tables.resize(width, tables.height())
        shown = [place for place in range(table.model().columnCount()) if not table.isColumnHidden(place)]
        assert all(table.columnWidth(place) >= table.sizeHintForColumn(place) for place in shown)
        seen.add(len(shown))
    assert len(seen) > 2


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080), (900, 600)])
def test_the_pane_of_a_hit_stands_still_while_hits_are_chosen(page: ResultsPage, size: tuple[int, int]) -> None:
    page.window().resize(*size)
    table, hit = page.hits.table, page.hit
    table.choose_row(0)
    for _ in range(5):
        QApplication.processEvents()
    seen = set()
    for row in range(5):
        table.scrollTo(table.model().index(row, 1))
        place = table.visualRect(table.model().index(row, 1)).center()
        QTest.mouseClick(table.viewport(), LEFT, pos=place)
        QApplication.processEvents()
        assert page.run.hit is not None
        tops = [tool.mapTo(hit, QPoint()).y() for tool in hit._of_hit]
        seen.add((hit.geometry(), hit.alignment.geometry(), hit.tables.geometry(), max(tops) - min(tops)))
    assert len(seen) == 1
    assert seen.pop()[3] == 0, "what can be done with a hit is in one line"


@pytest.mark.thorough
def test_confidence_is_switched_off_and_stays_off(qtbot: Any, page: ResultsPage) -> None:
    page.hits.table.choose_row(0)
    page.show_alignment()
    assert "confidence" in page.hit.alignment.as_text()
    QTest.mouseClick(page.hit.posterior, LEFT, pos=QPoint(6, page.hit.posterior.height() // 2))
    assert "confidence" not in page.hit.alignment.as_text()
    window = page.window()
    assert not window.settings.preferences.posterior


@pytest.mark.thorough
def test_a_click_in_the_alignment_chooses_the_node(qtbot: Any, page: ResultsPage) -> None:
    page.hits.table.choose_row(0)
    page.show_alignment()
    seen: list[int] = []
    view = page.hit.alignment
    view.node_chosen.connect(seen.append)
    lines = [line.kind for line in view.shown_lines]
    for kind, column in (("model", 0), ("target", 3), ("posterior", 21)):
        y = 12 + (lines.index(kind) + 0.5) * view.lines.height
        x = 12 + view.lines.margin + (column + 0.5) * view.lines.cell
        QTest.mouseClick(view.viewport(), LEFT, pos=QPoint(int(x), int(y)))
    assert seen == [1, 4, 20]


@pytest.mark.thorough
@pytest.mark.parametrize("text_font", [("Subset Noto Sans", 12)], indirect=True)
def test_titles_in_large_letters_have_lines_of_their_own(page: ResultsPage) -> None:
    page.hits.table.choose_row(0)
    view = page.hit.alignment
    kinds = [line.kind for line in view.shown_lines]
    n_titles = kinds.index("ruler")
    assert n_titles > 1
    view.setFixedHeight(600)
    picture = view.viewport().grab().toImage()
    ground, has_ink = picture.pixel(0, 0), list[bool]()
    for y in range(int(12 + view.lines.height_of(view.shown_lines[:n_titles]))):
        has_ink.append(any(picture.pixel(x, y) != ground for x in range(12, picture.width())))
    assert sum(b > a for a, b in itertools.pairwise(has_ink)) == n_titles, "lines without a gap between them"
    seen: list[int] = []
    view.node_chosen.connect(seen.append)
    row = kinds.index("model")
    y = 12 + view.lines.height_of(view.shown_lines[:row]) + view.lines.height / 2
    x = 12 + view.lines.margin + 3.5 * view.lines.cell
    QTest.mouseClick(view.viewport(), LEFT, pos=QPoint(int(x), int(y)))
    assert seen == [4]


@pytest.mark.thorough
def test_a_column_set_is_chosen_in_the_menu(page: ResultsPage) -> None:
    table = page.hits.table
    menu = table.column_menu()
    next(action for action in menu.actions() if action.text() == "Column set: HMMER").trigger()
    assert {COLUMNS[place].key for place in table.visible_columns()} == set(PROFILE_TABLE.sets["hmmer"][1])
    next(action for action in menu.actions() if action.text() == "Column set: Short").trigger()
    assert [COLUMNS[place].key for place in table.visible_columns()] == list(PROFILE_TABLE.sets["short"][1])
