"""Pictures of hits: their numbers against plain counting, their files, and what a click on them chooses."""

from __future__ import annotations

import itertools
import threading
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from clalign.cli import main
from clalign.engines.engine import engine_of
from clalign.engines.export_source import Choice
from clalign.engines.pictures import KINDS, PictureRequest, picture_of, read_picture
from clalign.engines.pictures.coverage import CLASSES, class_of, packed
from clalign.engines.pictures.numbers import read_numbers
from clalign.engines.pictures.points import MAX_DOTS, marked
from clalign.engines.pictures.quantiles import Quantiles
from clalign.engines.pictures.stages import number_text, percent_text
from clalign.engines.plan7.hmmer3.funnel import funnel_of
from clalign.errors import ExitCode, InputError, OptionError
from clalign.formats.drawing_svg import drawing_svg
from clalign.formats.taxonomy import column_named, read_taxonomy
from clalign.jobs import JobContext, QuietContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile, open_run
from clalign.ui import theme
from clalign.ui.controllers import picture_controller
from clalign.ui.models.results.hit_pages import ALL_QUERIES
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.picture_sheet import SizedPictureSheet
from clalign.ui.views.charts.pictures_view import PicturesView
from clalign.ui.views.results import hits_table
from clalign.ui.views.results.results_page import ResultsPage
from clalign.values.drawings import Words
from clalign.values.species import UNKNOWN, Taxonomy

LEFT = Qt.MouseButton.LeftButton

SPECIES = {3: "Homo sapiens", 14: "Mus musculus", 159: "Homo sapiens", 265: ""}


@pytest.fixture
def profile_run(hmmer3_run: Callable[..., Path]) -> Path:
    """A run of a profile whose hits have species."""
    path = hmmer3_run()
    with open_run(path, writable=True) as run, run.transaction():
        for row, name in SPECIES.items():
            text = f"protein {row} OS={name} OX=96{row} GN=abc PE=1" if name else "no species here"
            run.connection.execute("UPDATE targets SET description = ? WHERE row = ?", (text, row))
    return path


@pytest.fixture(params=("profile", "pairs"))
def any_run(request: pytest.FixtureRequest, pair_runs: dict[str, Path]) -> Iterator[RunFile]:
    """An open run of each engine that finds hits."""
    path = pair_runs["proteins"] if request.param == "pairs" else request.getfixturevalue("profile_run")
    with open_run(path) as run:
        yield run


def table(run: RunFile) -> list[dict[str, Any]]:
    """Return the rows of the run's table of hits, which are read one by one with their alignments."""
    engine = engine_of(run)
    source = engine.source(run, Choice(), QuietContext())
    columns = engine.tables["hits"]
    return [{column.file: column.value(row) for column in columns} for row in source.table_rows("hits")]


def test_numbers_are_those_of_the_tables(any_run: RunFile) -> None:
    found = read_numbers(any_run, HitQueries(any_run.connection), None, QuietContext()).hits
    rows = table(any_run)
    assert len(found) == len(rows) > 3
    for name, values in (("query_coverage", found.query_coverage), ("target_coverage", found.target_coverage)):
        np.testing.assert_allclose(values, [row[name] for row in rows], atol=1e-9)
    assert found.lengths.tolist() == [row["target_length"] for row in rows]
    plain = [np.nan if row["identity"] is None else row["identity"] for row in rows]
    np.testing.assert_allclose(found.identity, plain, atol=1e-9)


def test_bars_and_curve_count_what_is_aligned(any_run: RunFile) -> None:
    picture = picture_of(any_run, PictureRequest("coverage", 0))
    hits = list(any_run.hits(0))
    plain = Counter(place for hit in hits for part in hit.reported_domains for place in range(*part.query_range))
    assert list(picture.rows()) == [(place + 1, plain[place]) for place in range(any_run.card(0)["length"])]
    drawn = picture.draw(900, 400)
    assert set(drawn.picks.hits.tolist()) == set(found_ids(any_run, hits))
    assert {words.text for words in drawn.shapes if hasattr(words, "text")} >= {
        hit.name for hit in hits if hit.reported_domains
    }


def found_ids(run: RunFile, hits: list[Any]) -> list[int]:
    """Return the ids of the hits that have a reported part."""
    keys = [key.id for key in HitQueries(run.connection).of_query(0)]
    return [key for key, hit in zip(keys, hits, strict=True) if hit.reported_domains]


def test_identities_and_points_are_counted(any_run: RunFile) -> None:
    known = [row["identity"] for row in table(any_run) if row["identity"] is not None]
    plain = Counter(min(int(value // 5), 19) for value in known)
    counts = [count for _, _, count in picture_of(any_run, PictureRequest("identity")).rows()]
    assert counts == [plain[bar] for bar in range(20)]
    lengths = sorted(row["target_length"] for row in table(any_run))
    assert sorted(value for _, _, value in picture_of(any_run, PictureRequest("score-length")).rows()) == lengths


def test_a_rectangle_picks_what_it_touches(any_run: RunFile) -> None:
    for kind in set(KINDS) - {"filters", "rounds"}:
        drawn = picture_of(any_run, PictureRequest(kind, 0)).draw(800, 400)
        everything = drawn.picks.within(0, 0, drawn.width, drawn.height)
        assert sorted(everything.tolist()) == sorted(drawn.picks.hits.tolist())
        assert len(set(everything.tolist())) == len(everything)
        left, top, right, bottom = drawn.picks.places[0]
        place = drawn.picks.at((left + right) / 2, (top + bottom) / 2)
        assert place is not None
        assert drawn.picks.tip(place)
        assert len(drawn.picks.within(-9, -9, -5, -5)) == 0


def test_scores_of_all_and_filters_are_those_of_the_run(
    any_run: RunFile, profile_run: Path, pair_runs: dict[str, Path]
) -> None:
    left, counts = any_run.histogram(0)
    rows = list(picture_of(any_run, PictureRequest("scores", 0)).rows())
    for low, high, n, _ in rows:
        assert n == int(counts[(left >= low - 1e-9) & (left < high - 1e-9)].sum())
    assert sum(n for _, _, n, _ in rows) == counts.sum()
    drawn = read_picture(pair_runs["proteins"], PictureRequest("scores", 0)).draw(800, 400)
    with open_run(pair_runs["proteins"]) as run:
        raws = [hit.raw for hit in run.hits(0)]
    edges = [low for low, *_ in read_bounds(pair_runs["proteins"])]
    plain = Counter(sum(edge <= raw for edge in edges) - 1 for raw in raws)
    assert Counter(drawn.picks.parts.tolist()) == plain
    with open_run(profile_run) as run:
        passed = [(stage["label"], stage["passed"]) for stage in funnel_of(run, 0) if stage["ran"]]
    picture = read_picture(profile_run, PictureRequest("filters", 0))
    assert [row[:2] for row in picture.rows()] == passed
    words = [shape.text for shape in picture.draw(800, 400).shapes if isinstance(shape, Words)]
    assert any("%)" in text for text in words)
    assert not any("e+" in text for text in words)
    assert list(map(percent_text, (100.0, 99.7, 9.96, 9.94, 0.25))) == ["100", "100", "10", "9.9", "0.25"]
    assert list(map(number_text, (12345.6, 99.96, 99.94, 2.5, 4.352, 0.008, 8e-5, 0.0))) == [
        "12,346", "100", "99.9", "2.5", "4.35", "0.008", "8e-5", "0",
    ]  # fmt: skip


def read_bounds(path: Path) -> list[tuple[Any, ...]]:
    """Return the bars of the histogram of scores."""
    return list(read_picture(path, PictureRequest("scores", 0)).rows())


def test_observed_numbers_are_ranks(any_run: RunFile) -> None:
    picture = picture_of(any_run, PictureRequest("qq", 0))
    assert isinstance(picture, Quantiles)
    evalues = sorted(hit.evalue for hit in any_run.hits(0))
    np.testing.assert_allclose(picture.expected, np.array(evalues) * picture.factor)
    assert picture.observed.tolist() == list(range(1, len(evalues) + 1))
    assert picture.factor == pytest.approx(1.0)
    assert picture.all.observed[0] <= any_run.histogram(0)[1].sum()
    assert (np.diff(picture.all.expected) <= 0).all()
    assert (np.diff(picture.all.observed) <= 0).all()


@pytest.mark.parametrize("kind", ["score-length", "qq"])
def test_sentences_say_which_hits_a_picture_is_of(kind: str, any_run: RunFile) -> None:
    name, n = any_run.card(0)["name"], any_run.n_hits(0)
    assert f"ll hits of {name} ({n}" in picture_of(any_run, PictureRequest(kind, 0)).sentence
    chosen = HitQueries(any_run.connection, HitQueries(any_run.connection).ids_by_score()[:2])
    numbers = read_numbers(any_run, chosen, 0, QuietContext())
    assert f"he chosen hits of {name} (2" in picture_of(any_run, PictureRequest(kind, 0), numbers).sentence


def test_species_are_counted_and_the_unknown_too(profile_run: Path, tmp_path: Path) -> None:
    rows = {
        name: (targets, hits)
        for name, targets, _, hits, *_ in read_picture(profile_run, PictureRequest("species")).rows()
    }
    assert rows == {"Homo sapiens": (2, 2), "Mus musculus": (1, 1), UNKNOWN: (2, 2)}
    lineage = tmp_path / "lineage.tsv"
    lineage.write_text("#key\tspecies\torder\nHomo sapiens\thuman\tPrimates\nSEQ_0265\tmouse\tRodentia\n")
    rows = {name: n for name, n, *_ in read_picture(profile_run, PictureRequest("species", None, str(lineage))).rows()}
    assert rows == {"human": 2, "mouse": 1, "Mus musculus": 1, UNKNOWN: 1}
    rows = {
        name: n
        for name, n, *_ in read_picture(profile_run, PictureRequest("species", None, str(lineage), "order")).rows()
    }
    assert rows == {"Primates": 2, "Rodentia": 1, UNKNOWN: 2}


@pytest.mark.parametrize(("text", "line"), [("a\tb\nonly one\n", 2), ("a\tb\n\na\tc\n", 3), ("# nothing\n", None)])
def test_mistakes_in_a_taxonomy_are_found(text: str, line: int | None, tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        read_taxonomy(str(path))
    assert raised.value.line == line


def test_columns_of_a_taxonomy_by_name_and_number() -> None:
    known = Taxonomy({"a": ("x", "y")}, ("Species", "Phylum"))
    assert [column_named(known, words) for words in ("", "2", "3", "phylum")] == [0, 0, 1, 1]
    with pytest.raises(OptionError, match="Species, Phylum"):
        column_named(known, "4")


def test_lanes_never_overlap() -> None:
    rng = np.random.default_rng(3)
    starts = rng.integers(0, 900, 400)
    spans = [(float(a), float(a + b)) for a, b in zip(starts, rng.integers(5, 200, 400), strict=True)]
    lanes = packed(spans)
    for lane in set(lanes):
        own = sorted(span for span, of in zip(spans, lanes, strict=True) if of == lane)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(own))
    assert max(lanes) < 120
    assert [class_of(score, CLASSES) for score in (10, 40, 79, 80, 1e3)] == [0, 1, 2, 3, 4]


def test_many_points_become_cells_that_hold_all_of_them() -> None:
    rng = np.random.default_rng(5)
    n = 20 * MAX_DOTS
    x, y = rng.uniform(0, 700, n), rng.uniform(0, 300, n)
    shapes, picks = marked(x, y, np.arange(n), rng.random(n) < 0.5, lambda place: "")
    assert len(shapes) < n / 3
    inside = np.flatnonzero((x >= 100) & (x < 200) & (y >= 40) & (y < 80))
    assert picks.within(100.1, 40.1, 199.9, 79.9).tolist() == inside.tolist()


def test_svg_has_names_and_ruler_and_is_sound(profile_run: Path, hmmer3: ModuleType) -> None:
    with open_run(profile_run, writable=True) as run, run.transaction():
        run.connection.execute("UPDATE targets SET name = 'a<b>&\u0007' WHERE row = 3")
    for kind in set(KINDS) - {"rounds"}:
        picture = read_picture(profile_run, PictureRequest(kind, 0))
        root = ET.fromstring(drawing_svg(picture.whole(), 120.0))
        assert root.get("width") == "120mm"
        words = "\n".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
        assert picture.title in words
        assert "Made-3" in words
        if kind == "coverage":
            assert "SEQ_0014" in words
            assert "a<b>&\\x07" in words
            assert f"Made-3 · {hmmer3.LENGTH}" in words


@pytest.mark.parametrize("ending", [".svg", ".pdf", ".png", ".tsv"])
def test_the_command_writes_each_format(ending: str, profile_run: Path, tmp_path: Path, qapp: Any) -> None:
    path = tmp_path / f"p{ending}"
    assert main(["picture", str(profile_run), "--kind", "species", "-o", str(path), "--width", "90"]) == ExitCode.DONE
    head = {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".tsv": b"species\ttargets"}[ending]
    assert path.read_bytes().startswith(head)


def test_a_picture_of_one_query_says_so(pair_runs: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="of one query"):
        read_picture(pair_runs["proteins"], PictureRequest("coverage"))
    with pytest.raises(OptionError, match="no picture"):
        read_picture(pair_runs["proteins"], PictureRequest("portrait", 0))
    drawn = read_picture(pair_runs["empty"], PictureRequest("score-length", 0)).draw(500, 300)
    assert not len(drawn.picks.hits)
    for kind in set(KINDS) - {"filters", "rounds"}:
        assert read_picture(pair_runs["empty"], PictureRequest(kind, 0)).whole().height > 50
        assert read_picture(pair_runs["scores"], PictureRequest(kind, 0)).whole().height > 50
    with pytest.raises(OptionError, match="no filters"):
        read_picture(pair_runs["proteins"], PictureRequest("filters", 0))


@pytest.fixture
def shown(qtbot: Any, window: MainWindow, profile_run: Path) -> tuple[ResultsPage, PicturesView]:
    """The pictures of a run in the window."""
    window.controller.open_run_page(str(profile_run))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all == 5 and not page.run.hits.is_busy)
    page.show_tab("pictures")
    view = page.findChild(PicturesView)
    qtbot.waitUntil(lambda: view.picture is not None)
    return page, view


def test_a_picture_without_room_is_not_painted(shown: tuple[ResultsPage, PicturesView], qtlog: Any) -> None:
    canvas = shown[1].drawing
    assert canvas.drawing is not None
    canvas.viewport().resize(300, 0)
    assert canvas._drawn(theme.current()).isNull()
    assert not [record for record in qtlog.records if "QPainter" in record.message]


def middle(view: PicturesView, part: int) -> QPoint:
    """Return the place of a part of the picture in view."""
    left, top, right, bottom = view.drawing.drawing.picks.places[part].tolist()
    return QPoint(round((left + right) / 2), round((top + bottom) / 2))


def chosen_ids(page: ResultsPage) -> list[int]:
    return page.run.hits.ids(page.hits.table.chosen_ranges())


def test_a_click_on_a_bar_selects_its_hit(qtbot: Any, shown: tuple[ResultsPage, PicturesView]) -> None:
    page, view = shown
    drawing = view.drawing.drawing
    wanted = int(drawing.picks.of(1)[0])
    QTest.mouseMove(view.drawing.viewport(), middle(view, 1))
    assert "bits" in view.drawing.words_at(middle(view, 1))
    QTest.mouseClick(view.drawing.viewport(), LEFT, pos=middle(view, 1))
    qtbot.waitUntil(lambda: chosen_ids(page) == [wanted])
    assert page.run.hit.id == wanted
    assert view.picked.text() == "1 hit selected in the table"
    view.show_them.click()
    assert page.tab == "hits"


@pytest.mark.thorough
def test_a_rubber_band_selects_many(qtbot: Any, shown: tuple[ResultsPage, PicturesView]) -> None:
    page, view = shown
    view.show_kind("score-length")
    qtbot.waitUntil(lambda: view.picture is not None and "length" in view.picture.title)
    canvas = view.drawing.viewport()
    QTest.mousePress(canvas, LEFT, pos=QPoint(4, 4))
    QTest.mouseMove(canvas, QPoint(40, 40))
    QTest.mouseMove(canvas, QPoint(canvas.width() - 4, canvas.height() - 4))
    QTest.mouseRelease(canvas, LEFT, pos=QPoint(canvas.width() - 4, canvas.height() - 4))
    qtbot.waitUntil(lambda: len(chosen_ids(page)) == 5)
    page.hits.filter_box.setText("SEQ_0014")
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 1)
    QTest.keyClick(view.drawing, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: view.picked.text().startswith("1 of 5 hits"))


@pytest.mark.thorough
def test_hits_that_lie_far_apart_are_listed_alone(
    qtbot: Any, shown: tuple[ResultsPage, PicturesView], window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as there may be: Qt would compare each range of selected rows with each."""
    page, view = shown
    monkeypatch.setattr(hits_table, "MAX_RANGES", 1)
    wanted = [page.run.hits.row_at(place).id for place in (0, 2, 4)]
    window.controller.pictures.choose_hits(page, view, np.array(wanted))
    qtbot.waitUntil(lambda: chosen_ids(page) == wanted)
    assert page.run.hits.n_shown == 3
    assert view.picked.text() == "3 hits listed alone in the table, and selected"
    view.show_them.click()
    assert page.hits.list_all.isVisible()
    page.run.hits.set_order("name", False)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    assert page.run.hits.n_shown == 3
    page.hits.list_all.click()
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 5)
    assert not page.hits.list_all.isVisible()
    window.controller.pictures.choose_hits(page, view, np.array(wanted))
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 3)
    page.run.set_profile(0)
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 5 and not page.hits.list_all.isVisible())


@pytest.mark.thorough
def test_a_picture_that_takes_long_can_be_given_up(
    qtbot: Any, shown: tuple[ResultsPage, PicturesView], window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, view = shown
    kept, asked = view.picture, threading.Event()

    def never(path: Path, request: PictureRequest, context: JobContext) -> None:
        asked.set()
        while True:
            context.check()
            time.sleep(0.001)

    monkeypatch.setattr(picture_controller, "read_picture", never)
    view.show_kind("score-length")
    qtbot.waitUntil(lambda: view.waiting.isVisible() and asked.is_set())
    view.waiting.stop.click()
    assert not view.waiting.isVisible()
    qtbot.waitUntil(lambda: window.controller.files.is_idle)
    assert view.picture is kept
    assert page.tab == "pictures"


@pytest.mark.thorough
def test_species_are_listed_and_looked_up(
    qtbot: Any, shown: tuple[ResultsPage, PicturesView], window: MainWindow, tmp_path: Path
) -> None:
    page, view = shown
    view.show_kind("species")
    qtbot.waitUntil(lambda: len(view.species.rows) == 3)
    view.table.selectRow(0)
    qtbot.waitUntil(lambda: len(chosen_ids(page)) == 2)
    lineage = tmp_path / "lineage.tsv"
    lineage.write_text("#key\tspecies\torder\nHomo sapiens\thuman\tPrimates\n")
    window.controller.pictures.set_taxonomy(view, str(lineage))
    qtbot.waitUntil(lambda: view.species.rows[0]["cells"][0] == "human")
    hits, place = page.run.hits, page.run.table.place("species")

    def listed() -> list[str]:
        return [str(hits.data(hits.index(row, place))) for row in range(hits.n_shown)]

    hits.set_order("species", True)
    qtbot.waitUntil(lambda: listed() == ["Mus musculus", "human", "human", "—", "—"])
    assert view.columns.isVisible()
    view.columns.setCurrentIndex(1)
    view.columns.activated.emit(1)
    qtbot.waitUntil(lambda: view.species.rows[0]["cells"][0] == "Primates")
    hits.set_filter("species:primat")
    qtbot.waitUntil(lambda: listed() == ["Primates"] * 2)
    lineage.write_text("no tabs\n")
    window.controller.pictures.set_taxonomy(view, str(lineage))
    qtbot.waitUntil(lambda: "line 1" in message_text(window))


def message_text(window: MainWindow) -> str:
    """Return what the messages of the window say."""
    return " ".join(message.text for message in window.messages.messages)


def test_pictures_are_copied_and_saved(
    qtbot: Any, shown: tuple[ResultsPage, PicturesView], window: MainWindow, tmp_path: Path
) -> None:
    _, view = shown
    for kind in set(KINDS) - {"rounds"}:
        view.show_kind(kind)
        qtbot.waitUntil(lambda kind=kind: view.picture is not None and view.request.kind == kind)
    view.copy_requested.emit()
    data = QGuiApplication.clipboard().mimeData()
    assert data.hasImage()
    assert b"Made-3" in bytes(data.data("image/svg+xml").data())
    view.picture_requested.emit()
    sheet = window.findChild(SizedPictureSheet)
    path = tmp_path / "p.svg"
    sheet.path.setText(str(path))
    sheet.export_button.click()
    qtbot.waitUntil(path.exists)
    root = ET.fromstring(path.read_text())
    assert root.get("width") == "180mm"


@pytest.mark.thorough
def test_pictures_follow_the_run_and_the_theme(qtbot: Any, shown: tuple[ResultsPage, PicturesView]) -> None:
    page, view = shown
    view.show_kind("identity")
    qtbot.waitUntil(lambda: view.picture is not None and "identity" in view.picture.title)
    before = view.picture
    with open_run(page.run.path, writable=True) as run:
        ids = [key.id for key in HitQueries(run.connection).of_query(0)]
        run.keep_best(0, len(ids) - 2)
    page.run.refresh()
    qtbot.waitUntil(lambda: view.picture is not before and view.picture is not None)
    assert sum(count for _, _, count in view.picture.rows()) <= len(ids) - 2
    light = view.drawing.grab().toImage()
    theme.apply("dark")
    qtbot.waitUntil(lambda: view.drawing.grab().toImage() != light)
    theme.apply("light")


@pytest.mark.thorough
def test_species_are_a_column_a_filter_and_an_order(qtbot: Any, shown: tuple[ResultsPage, PicturesView]) -> None:
    page, _ = shown
    hits, place = page.run.hits, page.run.table.place("species")
    assert place is not None

    def names(filtered: str, sort: str | None = None, descending: bool = False) -> list[str]:
        assert not hits.set_filter(filtered).problem
        hits.set_order(sort, descending)
        qtbot.waitUntil(lambda: not hits.is_busy)
        return [str(hits.data(hits.index(row, place))) for row in range(hits.n_shown)]

    assert names('species:"homo sap"') == ["Homo sapiens"] * 2
    assert names("-species:homo species:") == ["Mus musculus"]
    assert len(names("-species:")) == 2
    assert names("", "species") == ["Homo sapiens", "Homo sapiens", "Mus musculus", "—", "—"]
    assert names("", "species", descending=True) == ["Mus musculus", "Homo sapiens", "Homo sapiens", "—", "—"]


@pytest.mark.thorough
def test_a_picture_of_one_query_is_offered(qtbot: Any, window: MainWindow, pair_runs: dict[str, Path]) -> None:
    window.controller.open_run_page(str(pair_runs["proteins"]))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all > 0 and not page.run.hits.is_busy)
    page.run.set_profile(ALL_QUERIES)
    page.show_tab("pictures")
    view = page.findChild(PicturesView)
    qtbot.waitUntil(lambda: view.picture is not None)
    assert view.kinds.currentData() == view.request.kind == "score-coverage"  # the first one would be of one query
    view.choose_kind("coverage")
    qtbot.waitUntil(view.empty.one.isVisible)
    assert view.picture is None
    view.choose_kind("identity")
    qtbot.waitUntil(lambda: view.picture is not None)
    view.choose_kind("coverage")
    qtbot.waitUntil(view.empty.one.isVisible)
    view.empty.one.click()
    qtbot.waitUntil(lambda: view.picture is not None)
    assert not page.run.shows_all
    item = view.kinds.model().item(view.kinds.findData("filters"))
    assert not item.isEnabled()
    assert "no filters" in item.toolTip()
