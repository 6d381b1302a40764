"""What results show of many hits together: all queries, domains on their sequences, hits as one alignment."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QDrag, QDragEnterEvent, QFont, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from clalign.databases.examples import load_examples
from clalign.engines.overview import read_overview
from clalign.jobs import QuietContext
from clalign.runs.pages import QueryFound, found_by_query
from clalign.runs.run_file import open_run
from clalign.ui import formatting
from clalign.ui.controllers import results_controller
from clalign.ui.engines.plan7.page import SearchPage
from clalign.ui.models.alignment.rows_view import RowsView
from clalign.ui.models.charts import architectures
from clalign.ui.models.charts.architectures import (
    ArchitectureRequest,
    family_colors,
    question,
    shown_words,
)
from clalign.ui.models.charts.heat_map import HeatMap
from clalign.ui.models.charts.histogram import HitHistogram
from clalign.ui.models.results.hit_pages import ALL_QUERIES
from clalign.ui.models.results.queries_model import BEST, HITS, QueriesModel
from clalign.ui.models.widgets import long_list
from clalign.ui.models.widgets.long_list import LongList
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.alignment.aligned_hits import AlignedHits
from clalign.ui.views.charts.architecture_painter import ArchitecturePicture, letters_on
from clalign.ui.views.charts.heat_map_view import HeatMapPicture
from clalign.ui.views.charts.pictures import save_picture
from clalign.ui.views.results import dragged_hits
from clalign.ui.views.results.results_page import ResultsPage
from clalign.values.drawings import FAMILY_COLORS
from clalign.values.row_alignments import RowAlignment

LEFT, TIP = Qt.MouseButton.LeftButton, Qt.ItemDataRole.ToolTipRole


def choose_query(page: ResultsPage, name: str) -> None:
    """Click on a query in the list."""
    table, model = page.queries.table, page.queries.model
    place = next(place for place, row in enumerate(model.rows) if row["name"] == name)
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(model.index(place, 0)).center())


@pytest.fixture
def together(qtbot: Any, window: MainWindow, families: Path) -> ResultsPage:
    """The results of that run."""
    window.controller.open_run_page(str(families))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all == 5 and not page.run.hits.is_busy)
    return page


def test_numbers_in_the_list_of_queries_are_whole(together: ResultsPage) -> None:
    table = together.queries.table
    together.run.found = {
        number: found._replace(n_hits=123_456, n_significant=123_456, best_evalue=evalue)
        for (number, found), evalue in zip(together.run.found.items(), cycle((0.0, 2.7e-138)), strict=False)
    }
    together.queries.show_found()
    numbers = [place for place in (HITS, BEST) if not table.isColumnHidden(place)]
    assert len(numbers) == 2
    for width in (210, 300, 500):
        together.queries.resize(width, 400)
        assert all(table.columnWidth(place) >= table.sizeHintForColumn(place) for place in numbers)
    assert table.model().index(0, BEST).data() == formatting.evalue(0.0)


def test_no_hits_are_claimed_before_they_are_read(qtbot: Any, window: MainWindow, families: Path) -> None:
    window.controller.open_run_page(str(families))
    page, said = window.controller.page, set[tuple[str, str]]()

    def look() -> bool:
        said.add((page.summary.text(), page.scope.text()))
        return bool(page.run.query_hits) and page.run.hits.is_read

    qtbot.waitUntil(look)
    page.show_counts()
    assert not any(part.startswith("0 ") for words in said for part in words)
    assert page.summary.text().startswith("5 significant hits (6 reported) of 2 of 3 profiles")


def test_queries_stay_in_their_places_while_the_search_runs(together: ResultsPage) -> None:
    run, queries = together.run, together.queries
    assert [row["name"] for row in queries.model.rows] == ["Made-3", "Other", "None-3"]
    run.is_live, run.facts["state"] = True, "running"
    run.found = {2: QueryFound(9, 1e-99, (500.0,), 1.0)}
    queries.show_found()
    assert [(row["name"], row["found"].n_hits) for row in queries.model.rows][2] == ("None-3", 9)
    run.is_live, run.facts["state"] = False, "done"
    queries.show_found()
    assert queries.model.rows[0]["name"] == "None-3"


def test_architectures_are_read_with_their_colors(families: Path) -> None:
    made = question(families, ArchitectureRequest("all"))(QuietContext())
    assert made.rule == "all"
    by_name = {one.name: one for one in made.found}
    assert by_name["SEQ_0014"].words == "Made-3~Other~Made-3~Other" or by_name["SEQ_0014"].words.count("Other") == 2
    best = question(families, ArchitectureRequest("best"))(QuietContext())
    found = {one.name: one for one in best.found}["SEQ_0014"]
    assert [domain.family for domain in found.domains].count("Made-3") < by_name["SEQ_0014"].words.count("Made-3")
    assert set(made.colors) == {"Made-3", "Other"}
    assert made.rows[0]["text"] == "All sequences"
    assert made.chosen(None, "seq_0014 other") == [by_name["SEQ_0014"]]
    assert made.chosen("Made-3", "") == [one for one in made.found if one.words == "Made-3"]


def test_words_of_architectures_count_what_is_repeated() -> None:
    assert shown_words("a~a~b~a") == "2 × a – b – a"


def test_frequent_families_get_the_colors_that_differ_most() -> None:
    colors = family_colors(["b", "a", "b", *(f"x{number}" for number in range(20))])
    assert colors["b"] == FAMILY_COLORS[0]
    assert len(set(colors.values())) == len(colors)
    assert {letters_on(color) for color in ("#FFFFFF", "#000000")} == {"#1A1E23", "#FFFFFF"}


def test_queries_are_sorted_and_searched(families: Path) -> None:
    with open_run(families) as run:
        cards = run.cards()
    model = QueriesModel("Profile")
    model.show_queries(cards)
    model.show_found(found_by_query(families))
    assert [(row["name"], row["found"].n_hits) for row in model.rows] == [("Made-3", 5), ("Other", 1), ("None-3", 0)]
    assert model.headerData(0, Qt.Orientation.Horizontal) == "Profile"
    assert model.tsv().startswith("Profile\tHits\tBest E\nMade-3\t5\t")
    model.sort(1)
    assert [row["found"].n_hits for row in model.rows] == [0, 1, 5]
    model.show_found({})
    model.show_found(found_by_query(families))
    assert [row["found"].n_hits for row in model.rows] == [0, 1, 5], "the order that was chosen"
    for typed, found in (("oth", ["Other"]), ("pf00002", ["Other"]), ("family pf00002", ["Other"]), ("xyz", [])):
        model.narrow(typed)
        assert [row["name"] for row in model.rows] == found
    best = found_by_query(families)[0]
    with open_run(families) as run:
        hits = list(run.hits(0))
    assert best.best_evalue == min(hit.evalue for hit in hits)
    assert best.scores == tuple(sorted((hit.score for hit in hits), reverse=True))
    assert best.searched == 1.0
    assert best.n_significant == sum(hit.is_significant for hit in hits) == 4
    model.narrow("")
    model.show_found({0: best, 1: best._replace(n_significant=0)}, calls_significant=True)
    assert sorted((row["n"], model._is_dim(row)) for row in model.rows) == [(0, True), (0, True), (4, False)]
    assert "4 significant of 5 reported" in model.index(model.place_of(0), 1).data(Qt.ItemDataRole.ToolTipRole)


def test_a_heat_map_shows_every_hit_at_every_zoom(families: Path) -> None:
    heat = HeatMap(read_overview(families).matrix)
    n_rows, n_columns = heat.matrix.shape
    assert (n_rows, n_columns, len(heat.matrix.hits)) == (5, 2, 6)
    whole = heat.picture((0, n_rows), (0, n_columns), (n_columns * 7, n_rows * 3))
    for (row, column), level in zip(heat.matrix.places.tolist(), heat.levels.tolist(), strict=True):
        assert (whole[row * 3 : row * 3 + 3, column * 7 : column * 7 + 7] == level).all()
    assert np.count_nonzero(whole) == 6 * 21
    assert heat.picture((0, n_rows), (0, n_columns), (1, 1)).item() == heat.levels.max()
    narrow = heat.picture((0, n_rows), (0, n_columns), (1, n_rows * 4))
    assert (np.count_nonzero(narrow), narrow.max()) == (n_rows * 4, heat.levels.max())
    assert heat.matrix.dense().shape == (5, 2)


def test_the_overview_leads_to_queries_and_hits(qtbot: Any, together: ResultsPage) -> None:
    together.show_tab("overview")
    view: Any = together.part_widgets["overview"].content
    qtbot.waitUntil(lambda: view.content is not None)
    assert view.words.text().startswith("2 of 3 profiles have reported hits")
    assert together.queries.isHidden(), "the map is of all queries"
    cell = view.map.heat.matrix.places[-1]
    frame, area = view.map.frame, view.map.area
    place = area.topLeft() + QPointF((cell[1] + 0.5) * frame.cell_x, (cell[0] + 0.5) * frame.cell_y)
    assert "bits" in view.map.words_at(place)
    matrix = view.map.heat.matrix
    assert matrix.scale == "bits"
    raw = HeatMap(replace(matrix, evalues=np.full(len(matrix.hits), np.nan)))
    assert raw.matrix.scale == "raw"
    view.map.show_map(raw, view.query_names)
    assert view.map.words_at(place).endswith(" raw")
    view.map.show_map(HeatMap(matrix), view.query_names)
    QTest.mouseClick(view.map, LEFT, pos=place.toPoint())
    wanted = view.map.heat.matrix.hits[-1]
    qtbot.waitUntil(lambda: together.run.hit is not None and together.run.hit.id == wanted)
    assert together.tab == "hits"
    assert together.run.profile == together.run.hit.profile


@pytest.mark.thorough
def test_many_sequences_are_looked_through_beside_the_window(
    qtbot: Any, together: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(architectures, "MAX_QUICK", 0)
    together.show_tab("domains")
    view: Any = together.part_widgets["domains"].content
    qtbot.waitUntil(lambda: view.content is not None and bool(view.canvas.shown))
    everything = list(view.canvas.shown)
    view.filter_box.setText("seq_0014")
    qtbot.waitUntil(lambda: [one.name for one in view.canvas.shown] == ["SEQ_0014"])
    assert view.words.text().startswith("1 shown of ")
    view.filter_box.clear()
    qtbot.waitUntil(lambda: view.canvas.shown == everything)
    view.table.selectRow(1)
    wanted = view.content.rows[1]["words"]
    qtbot.waitUntil(lambda: {one.words for one in view.canvas.shown} == {wanted})
    assert isinstance(view.canvas.shown, LongList)
    assert isinstance(view.content.found, LongList)


@pytest.mark.thorough
@pytest.mark.parametrize(("tab", "reads"), [("domains", "question"), ("overview", "read_overview"),
                                            ("aligned", "read_hit_alignment")])  # fmt: skip
def test_what_takes_long_can_be_given_up_and_asked_for_again(
    qtbot: Any, together: ResultsPage, monkeypatch: pytest.MonkeyPatch, tab: str, reads: str
) -> None:
    def never(*asked: Any) -> None:
        while True:
            asked[-1].check()  # the context comes last
            time.sleep(0.001)

    with monkeypatch.context() as patched:
        patched.setattr(results_controller, reads, (lambda *asked: never) if "question" in reads else never)
        together.show_tab(tab)
        view: Any = getattr(together, f"_{tab}").content
        qtbot.waitUntil(view.waiting.isVisible)
        if tab != "overview":
            view.words.setText("many words " * 100)
        place, beside = view.words.geometry(), len(view.words.shown())
        assert tab == "overview" or view.words.rect().contains(view.waiting.geometry())
        view.waiting.stop.click()
        assert not view.waiting.isVisible()
        assert view.words.geometry() == place
        view.words.setText("many words " * 100)
        assert tab == "overview" or len(view.words.shown()) > beside > 0, "the room of the sign is that of the words"
    together.show_tab("hits")
    together.show_tab(tab)
    qtbot.waitUntil(lambda: (view.panel if tab == "aligned" else view.content) is not None)
    assert not view.waiting.isVisible()


@pytest.mark.thorough
def test_what_takes_long_is_read_anew_only_for_other_hits(qtbot: Any, together: ResultsPage) -> None:
    together.show_tab("domains")
    domains: Any = together.part_widgets["domains"].content
    qtbot.waitUntil(lambda: domains.content is not None)
    together.show_tab("aligned")
    aligned: Any = together.part_widgets["aligned"].content
    qtbot.waitUntil(lambda: aligned.panel is not None)
    asked: list[Any] = []
    domains.requested.connect(lambda _: asked.append(domains))
    aligned.requested.connect(lambda _: asked.append(aligned))
    hits: Any = together.run.hits
    together.run.set_profile(1)
    qtbot.waitUntil(lambda: asked == [aligned] and hits.shown_query.number == 1)
    together.run.set_profile(0)
    qtbot.waitUntil(lambda: asked == [aligned, aligned] and (hits.shown_query.number, hits.n_all) == (0, 5))
    assert not together.changes.is_due, "no hits have come or gone"
    together.show_tab("domains")
    assert domains not in asked, "domains are those of all queries"
    with open_run(together.run.path, writable=True) as run, run.connection as database:
        database.execute("DELETE FROM hits WHERE id = (SELECT id FROM hits WHERE query = 0 LIMIT 1)")
    together.run.refresh()
    qtbot.waitUntil(lambda: together.run.hits.n_all == 4 and together.changes.is_due)
    qtbot.waitUntil(lambda: domains in asked)
    together.show_tab("aligned")
    assert asked.count(aligned) == 3


def test_a_long_list_empties_itself_beside_the_window() -> None:
    ended = threading.Event()

    class Last:
        def __del__(self) -> None:
            assert threading.current_thread() is not threading.main_thread()
            ended.set()

    many = LongList([Last(), *map(float, range(long_list.MAX_AT_ONCE))])
    assert many[-1] == long_list.MAX_AT_ONCE - 1
    del many
    assert ended.wait(60)


def test_a_click_on_a_domain_shows_its_hit(qtbot: Any, together: ResultsPage) -> None:
    together.show_tab("domains")
    assert together.part_widgets["query"].content is None, "other parts are made when they are looked at"
    view: Any = together.part_widgets["domains"].content
    qtbot.waitUntil(lambda: view.content is not None and bool(view.canvas.shown))
    place = next(place for place, one in enumerate(view.canvas.shown) if one.name == "SEQ_0014")
    domain = next(domain for domain in view.canvas.shown[place].domains if domain.family == "Other")
    style, top = view.canvas.style_, view.canvas._top(place)
    x = 150 + (sum(domain.target_range) / 2) * style.scale
    QTest.mouseClick(view.canvas.viewport(), LEFT, pos=QPoint(round(x), round(top + 15)))
    qtbot.waitUntil(lambda: together.run.hit is not None and together.run.hit.profile == 1)
    assert (together.run.hit.name, together.run.hit.query) == ("SEQ_0014", "Other")
    assert (together.tab, together.run.profile) == ("hits", 1)
    qtbot.waitUntil(lambda: not together.run.hits.is_busy)
    assert (together.run.hit.name, together.run.hit.query) == ("SEQ_0014", "Other")
    together.show_tab("domains")
    view.filter_box.setText("nothing like it")
    qtbot.waitUntil(lambda: not view.canvas.shown)
    view.filter_box.clear()
    n_kept = sum(len(one.domains) for one in view.content.found)
    view.rules.setCurrentIndex(view.rules.findData("all"))
    view.rules.activated.emit(view.rules.currentIndex())
    qtbot.waitUntil(lambda: view.content.rule == "all")
    assert sum(len(one.domains) for one in view.content.found) > n_kept


def test_hits_of_a_query_are_shown_as_one_alignment(qtbot: Any, together: ResultsPage, press: Any) -> None:
    together.show_tab("aligned")
    view: Any = together.part_widgets["aligned"].content
    qtbot.waitUntil(lambda: view.panel is not None)
    assert together.rows_panel is view.panel
    rows = view.panel.view.alignment
    with open_run(together.run.path) as run:
        n_domains = sum(part.is_significant for hit in run.hits(0) if hit.is_significant for part in hit.domains)
    assert rows.n_rows == n_domains
    assert "Score (bits)" in view.panel.view.scores
    assert set(rows.notes.columns) == {"RF"}
    together.run.set_profile(2)
    qtbot.waitUntil(lambda: view.panel is None)
    together.run.set_profile(ALL_QUERIES)
    qtbot.waitUntil(lambda: "at a time" in view.empty.heading.text())
    press(view, "Show one with hits")
    qtbot.waitUntil(lambda: view.panel is not None)
    assert together.run.profile == 0
    together.run.set_profile(ALL_QUERIES)
    choose_query(together, "Other")
    assert together.run.profile == 1
    qtbot.waitUntil(lambda: view.panel is not None and view.words.text().startswith("Other: "))
    together.run.set_profile(2)
    qtbot.waitUntil(lambda: view.panel is None)
    together.show_tab("hits")
    assert together.rows_panel is None


def test_an_alignment_of_hits_is_seen_from_where_they_begin(qtbot: Any) -> None:
    view = AlignedHits()
    qtbot.addWidget(view)
    view.resize(900, 500)
    view.show()
    rows = [b"-" * 300 + b"ACDEFGHIKL" * 40, b"-" * 290 + b"CDEFGHIKLM" * 41]
    panel = view.show_rows(RowsView(RowAlignment.of_rows(["one", "two"], rows), view), "two rows")
    canvas = panel.canvas
    qtbot.waitUntil(lambda: canvas.horizontalScrollBar().value() == round(288 * canvas.cell))
    assert panel.view.cursor == (0, 290)
    view.close_view()


def test_hits_of_all_profiles_stand_best_first(qtbot: Any, together: ResultsPage) -> None:
    with open_run(together.run.path, writable=True) as run, run.transaction():
        run.connection.execute("UPDATE hits SET evalue = 1e-3 / (1 + input_index)")
    together.run.set_profile(ALL_QUERIES)
    model = together.run.hits
    qtbot.waitUntil(lambda: not model.is_busy and model.n_all == 6)
    rows = [row for row in map(model.row_at, range(6)) if row is not None]
    assert [(row.evalue, -row.score) for row in rows] == sorted((row.evalue, -row.score) for row in rows)
    assert [row.input_index for row in rows] == sorted((row.input_index for row in rows), reverse=True)
    assert {row.profile for row in rows} == {0, 1}
    assert not any(model.rule(place) for place in range(6)), "no group begins: each hit stands for itself"


@pytest.mark.thorough
def test_a_wide_table_of_all_profiles_has_descriptions(qtbot: Any, window: MainWindow, together: ResultsPage) -> None:
    table = together.hits.table
    place = table.kind.place("description")
    table.setColumnWidth(table.kind.place("name"), 230)
    for width, is_hidden in ((900, True), (2600, False)):
        window.resize(width, 800)
        qtbot.waitUntil(lambda width=width: (table.viewport().width() > 900) == (width > 2000))
        together.run.set_profile(ALL_QUERIES)
        qtbot.waitUntil(lambda: not table.isColumnHidden(table.kind.place("profile")))
        assert table.isColumnHidden(place) == is_hidden
        if not is_hidden:
            qtbot.waitUntil(lambda: table.horizontalHeader().length() == table.viewport().width())
        together.run.set_profile(0)
        qtbot.waitUntil(lambda: table.isColumnHidden(table.kind.place("profile")))
        assert not table.isColumnHidden(place) or width < 2000


@pytest.mark.thorough
def test_the_histogram_of_all_profiles_counts_their_hits_by_evalue(qtbot: Any, together: ResultsPage) -> None:
    together.show_tab("histogram")
    plot = together.histogram.plot
    qtbot.waitUntil(lambda: plot.data is not None and not isinstance(plot.data, HitHistogram))
    together.run.set_profile(ALL_QUERIES)
    qtbot.waitUntil(lambda: isinstance(plot.data, HitHistogram) and not together.run.hits.is_busy)
    assert plot.isVisible()
    assert plot.data.counts.sum() == together.run.hits.n_all == 6
    assert not any(line.isVisible() for line in plot.lines.values())
    assert plot.data.axes.startswith("hits by ")
    sentence = together.histogram.sentence.text()
    assert "All 6 hits of 3 profiles, by E-value" in sentence
    assert "scores of different profiles cannot be compared" in sentence
    everything = [row for row in map(together.run.hits.row_at, range(6)) if row is not None]
    for place in np.flatnonzero(plot.data.counts).tolist():
        low, high = plot.data.edges[place : place + 2].tolist()
        wanted = {row.id for row in everything if low <= -np.log10(row.evalue) < high}
        plot.bar_clicked.emit(low, high)
        qtbot.waitUntil(
            lambda wanted=wanted: {everything[row].id for row in together.hits.table.chosen_rows()} == wanted
        )
        assert len(wanted) == plot.data.counts[place]
        assert f"{len(wanted)} hit" in together.histogram.bar_words.text()
    together.run.set_profile(0)
    qtbot.waitUntil(lambda: plot.lines["report"].isVisible() or not isinstance(plot.data, HitHistogram))
    assert plot.data.axes.startswith("sequences by ")


@pytest.mark.thorough(ending=[".svg"])
@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png"])
def test_pictures_are_saved(qtbot: Any, families: Path, tmp_path: Path, ending: str) -> None:
    made = question(families, ArchitectureRequest("best"))(QuietContext())
    matrix = HeatMap(read_overview(families).matrix)
    pictures = (
        ArchitecturePicture(made.found, made.colors, "Domains"),
        HeatMapPicture(matrix, ["Made-3", "Other"], "Scores"),
    )
    for number, picture in enumerate(pictures):
        path = tmp_path / f"{number}{ending}"
        save_picture(picture, str(path), QFont(), 120.0)
        content = path.read_bytes()
        assert content.startswith({".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}[ending])
        if ending == ".svg":
            assert b'width="120mm"' in content


@pytest.mark.thorough
def test_the_profile_of_a_hit_among_all_is_named(qtbot: Any, together: ResultsPage) -> None:
    assert isinstance(together, SearchPage)
    together.run.set_profile(ALL_QUERIES)
    qtbot.waitUntil(lambda: not together.run.hits.is_busy and together.run.hits.n_shown == together.run.hits.n_all)
    places = range(together.run.hits.n_all)
    of = [row.profile for row in map(together.run.hits.row_at, places) if row is not None]
    place = of.index(1)
    qtbot.waitUntil(lambda: together.run.hit is not None)
    together.hits.table.choose_row(place)
    qtbot.waitUntil(lambda: together.run.hit is not None and together.run.hit.profile == 1)
    together.show_tab("query")
    assert together.profile.whose.text().startswith(f"{together.run.cards[1]['name']}, of the chosen hit")
    together.run.set_profile(0)
    name = f"{together.run.cards[0]['name']} · "
    qtbot.waitUntil(lambda: together.profile.whose.text().startswith(name))


@pytest.mark.thorough
def test_one_query_has_no_tabs_of_several(qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path]) -> None:
    window.controller.open_run_page(str(hmmer3_run()))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all == 5)
    shown = [page.tabs.tabText(place) for place in range(page.tabs.count()) if page.tabs.isTabVisible(place)]
    assert shown == ["Hits", "Aligned", "Plots", "Query"]
    assert page.queries.isHidden()


def test_selected_hits_can_be_dragged_out(qtbot: Any, together: ResultsPage) -> None:
    table = together.hits.table
    table.selectAll()
    data = table.dragged()
    assert data.text().startswith(">SEQ_0003/6-33 made-up protein 3\n")
    assert data.text().count(">") == sum(len(hit.reported_domains) for hit in map(together.run.hits.row_at, range(5)))
    cells = bytes(data.data("text/tab-separated-values").data()).decode().splitlines()
    assert len(cells) == 6
    assert table.dragEnabled()


@pytest.mark.thorough
def test_dragged_hits_are_a_file_for_other_programs(
    qtbot: Any, together: ResultsPage, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = together.hits.table
    table.choose_row(0)
    first = together.run.hits.row_at(0)
    assert first is not None
    written = dragged_hits._folder()
    before = set(written.rglob("*.fasta"))
    caught = []
    monkeypatch.setattr(QDrag, "exec", lambda drag, actions: caught.append(drag.mimeData()))
    start = table.visualRect(together.run.hits.index(0, 1)).center()
    QTest.mousePress(table.viewport(), LEFT, pos=start)
    for step in (4, 40, 80):  # QTest moves the mouse without its button
        place, none = QPointF(start + QPoint(step, 0)), Qt.KeyboardModifier.NoModifier
        there = QPointF(table.viewport().mapToGlobal(place.toPoint()))
        QApplication.sendEvent(
            table.viewport(), QMouseEvent(QEvent.Type.MouseMove, place, there, Qt.MouseButton.NoButton, LEFT, none)
        )
    QTest.mouseRelease(table.viewport(), LEFT)
    data = caught[0]
    assert data.hasUrls()
    assert set(written.rglob("*.fasta")) == before  # nothing is written until it is asked for
    (url,) = data.urls()
    path = Path(url.toLocalFile())
    query = together.run.cards[first.profile]["name"]
    assert path.name == f"{first.name}_{query}.fasta"
    assert path.read_text() == data.text() != ""
    assert data.urls() == [url]
    table.selectAll()
    several = Path(table.dragged().urls()[0].toLocalFile())
    assert several.name == "5_hits_of_Made-3.fasta"
    table.fasta_of = lambda hit: ""
    cells = Path(table.dragged().urls()[0].toLocalFile())
    assert cells.suffix == ".tsv"
    assert len(cells.read_text().splitlines()) == 6
    monkeypatch.setattr(dragged_hits, "_folder", lambda: written / "no such folder")
    assert table.dragged().urls() == []


@pytest.mark.thorough
def test_hits_on_their_way_out_are_not_taken_by_their_own_window(
    together: ResultsPage, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = together.hits.table
    table.choose_row(0)
    data, none = table.dragged(), Qt.KeyboardModifier.NoModifier
    event = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, LEFT, none)
    event.ignore()
    monkeypatch.setattr(event, "source", lambda: table, raising=False)
    window.dragEnterEvent(event)
    assert not event.isAccepted()
    other = QDragEnterEvent(QPoint(5, 5), Qt.DropAction.CopyAction, data, LEFT, none)
    other.ignore()
    window.dragEnterEvent(other)
    assert other.isAccepted()


def test_the_list_of_queries_is_the_scope_of_the_page(qtbot: Any, together: ResultsPage, press: Any) -> None:
    queries = together.queries
    qtbot.waitUntil(lambda: bool(together.run.query_hits))
    model = queries.model
    assert [model.index(row, 1).data() for row in range(3)] == ["4", "1", "0"]
    assert queries.table.currentIndex().row() == 0
    assert "5 significant hits (6 reported) of 2 of 3 profiles" in together.summary.text(), "of the whole run"
    qtbot.waitUntil(lambda: together.run.counts["report"] == 5)
    scope = together.scope.text()
    assert scope.startswith("4 significant")
    assert together.run.summary().startswith(scope), "the time of the run stands above"
    choose_query(together, "Other")
    qtbot.waitUntil(lambda: together.run.is_listed and together.run.hit is not None)
    assert (together.run.hits.shown_query.number, together.run.hits.n_all) == (1, 1)
    assert together.run.hit.query == "Other"
    assert together.hit.name_label.text().startswith("SEQ_"), "its alignment is shown without a click"
    press(queries, "All")
    assert together.run.shows_all
    assert not queries.table.currentIndex().isValid()
    queries.field.setText("pf00002")
    qtbot.waitUntil(lambda: len(model.rows) == 1)
    assert together.run.shows_all, "a filter chooses nothing"
    QTest.keyClick(queries.table, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: together.run.profile == 1)
    for tab, is_beside in (("domains", False), ("aligned", True), ("histogram", True), ("query", True), ("hits", True)):
        together.show_tab(tab)
        assert queries.isVisible() == is_beside, tab


@pytest.mark.thorough
def test_a_run_opens_on_the_first_query_with_hits(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    path = made_run(profiles=3)
    with open_run(path, writable=True) as run:
        for number in (0, 1):
            run.set_hits(number, [])
    window.controller.open_run_page(str(path))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all > 0 and bool(page.run.query_hits))
    assert page.run.profile == 2
    page.run.set_profile(ALL_QUERIES)
    page.run.choose(None)
    page.run.show_one()
    assert page.run.profile == 2, "no hit is selected, and the first queries have none"
    page.run.set_profile(0)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy and not page.run.hits.n_all)
    page.run.refresh()
    assert page.run.profile == 0, "what the user has chosen stays, even without hits"
    assert all(tool.isEnabled() for tool in page._tools), "other queries have hits that can be exported"


@pytest.mark.thorough
def test_a_complete_run_opens_on_its_best_query(qtbot: Any, window: MainWindow, made_run: Callable[..., Path]) -> None:
    path = made_run(profiles=3)
    with open_run(path, writable=True) as run:
        run.connection.execute("UPDATE hits SET evalue = evalue * 1e-9 WHERE query = 1")
        run.connection.commit()
    window.controller.open_run_page(str(path))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all > 0 and bool(page.run.query_hits))
    assert page.run.is_complete
    assert page.run.profile == page.queries.model.rows[0]["number"] == 1


def test_rows_have_room_in_a_usual_window(qtbot: Any, window: MainWindow, together: ResultsPage) -> None:
    window.resize(1280, 800)
    qtbot.waitUntil(lambda: together.hit.isVisible() and together.strip_holder.isVisible())
    table = together.hits.table
    assert together.hit.mapTo(together, QPoint()).x() > table.mapTo(together, QPoint()).x() + table.width(), "beside it"
    assert table.viewport().height() // table.rowHeight(0) >= 12, "with the histogram"
    together.show_tab("aligned")
    view: Any = together.part_widgets["aligned"].content
    qtbot.waitUntil(lambda: view.panel is not None)
    canvas = view.panel.canvas
    assert (canvas.viewport().height() - canvas.head - canvas.foot) / canvas.height_ >= 20
    view.panel.start_finding()
    assert view.panel.finder.isVisible()
    QTest.keyClick(view.panel.field, Qt.Key.Key_Escape)
    assert not view.panel.finder.isVisible()
    together.show_tab("hits")
    window.resize(900, 700)
    qtbot.waitUntil(lambda: not together.strip_holder.isVisible())
    place = together.hit.mapTo(together, QPoint())
    assert place.y() > table.mapTo(together, QPoint()).y(), "below it"
    QTest.mouseClick(together.hits.fold, LEFT)
    assert together.strip_holder.isVisible(), "the user decides"


def test_the_logo_of_the_hits_is_below_that_of_their_profile(
    qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path]
) -> None:
    profile = next(example.profiles for example in load_examples() if example.id == "globins4")
    window.controller.open_run_page(str(hmmer3_run("hits", profiles=str(profile), name_="globins4", length=149)))
    page: Any = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all == 5)
    page.show_tab("query")
    view = page.profile
    qtbot.waitUntil(lambda: view.hits_logo.figure is not None)
    above, below = view.logo, view.hits_logo
    assert below.isVisible()
    assert (below.figure.length, below.figure.top) == (above.figure.length, above.figure.top)
    view.choose_node(120)
    assert (below.node, below.shown_nodes()) == (120, above.shown_nodes())
    above.zoom(-1)
    assert below.cell == above.cell
    QTest.keyClick(below, Qt.Key.Key_Left)
    assert above.node == 119
