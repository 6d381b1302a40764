"""Comparisons of sequences in the window: sheet, results, dot plot, pictures."""

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QAction, QGuiApplication, QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from clalign.databases.examples import load_pair_examples
from clalign.engines.engine import explain_in_run
from clalign.jobs import QuietContext
from clalign.ui import formatting, theme
from clalign.ui.engines.pairwise.card import PairCard
from clalign.ui.engines.pairwise.columns import PAIR_TABLE
from clalign.ui.engines.pairwise.dot_painter import MIN_SIDE, axes_room, frame_of
from clalign.ui.engines.pairwise.dot_plot import bare_plot, read_dot_plot
from clalign.ui.engines.pairwise.dot_view import DotPlotView
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.engines.pairwise.pictures import AlignmentPicture, DotPicture
from clalign.ui.engines.pairwise.sheet import PairSheet
from clalign.ui.models.charts.histogram import HitHistogram
from clalign.ui.models.results.hit_pages import ALL_QUERIES
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.pictures import FORMATS, save_picture
from clalign.ui.views.results.explain_sheet import ExplainSheet, NameSheet
from clalign.ui.views.widgets.parts import FactsLabel
from clalign.values.devices import REFERENCE

pytestmark = pytest.mark.thorough

LEFT = Qt.MouseButton.LeftButton

HitsOf = Callable[..., tuple[dict[str, Any], list[Any]]]


def test_a_run_file_opens_with_its_own_columns(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    table = page.hits.table
    shown = [PAIR_TABLE.columns[place].heading for place in table.visible_columns()]
    assert shown[:7] == ["Target", "E-value", "Bits", "Score", "Identity %", "Gaps", "Query %"]
    assert [page.tabs.tabText(place) for place in range(page.tabs.count())] == ["Hits", "Families", "Aligned", "Plots"]
    assert not page.statistics.text(), "what is usual stands in the report and below the histogram"
    assert "published for BLOSUM62" in page.run.sentence()
    page.run.set_profile(ALL_QUERIES)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    assert PAIR_TABLE.columns[table.visible_columns()[0]].key == "profile"
    qtbot.waitUntil(lambda: isinstance(page.run.histogram, HitHistogram))
    assert page.run.histogram.counts.sum() == page.run.hits.n_all
    assert page.strip_holder.isVisible()
    assert page.run.summary().startswith(f"{page.run.n_hits} hits · 2 queries against ")
    page.run.set_profile(1)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    assert page.run.summary().startswith(f"{page.run.hits.n_all} hits for query 2 of 2 · against ")
    assert page.run.hits.row_at(0).name == "like2_0"
    assert page.strip_holder.isVisible()


def test_the_description_has_room_in_a_small_window(
    qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage]
) -> None:
    table = opened("proteins").hits.table
    place = table.kind.place("description")
    for width in (1280, 1920, 900):
        window.resize(width, 800)
        qtbot.waitUntil(lambda: table.isColumnHidden(place) or table.columnWidth(place) >= 100)
    window.resize(1280, 800)
    name = table.kind.place("name")
    needed = table.fontMetrics().horizontalAdvance("like2_0")  # the longest one
    qtbot.waitUntil(lambda: needed < table.columnWidth(name))
    window.resize(1920, 800)
    table.setColumnWidth(name, 300)
    window.resize(1280, 800)
    qtbot.wait(50)
    assert table.columnWidth(name) == 300
    table.show_set("all")
    table.show_set("short")
    assert table.isColumnHidden(place) or table.columnWidth(place) >= 100


def test_facts_are_left_out_as_a_whole(qtbot: Any) -> None:
    made = FactsLabel("500 hits · 3 queries against 12 071 sequences · 555 sequences recomputed, lambda 0.267, K 0.041")
    qtbot.addWidget(made)
    texts = []
    for width in range(1000, 100, -5):
        made.resize(width, 20)
        texts.append(made.shown())
    assert texts[0] == made.text()
    assert "500 hits · 3 queries against 12 071 sequences …" in texts
    assert "500 hits …" in texts
    assert not any(text.endswith(("5…", "0…", "1…")) for text in texts)


def test_a_column_that_was_chosen_stays_and_all_queries_are_distinguished(
    qtbot: Any, opened: Callable[[str], PairPage]
) -> None:
    page = opened("proteins")
    table, query = page.hits.table, page.hits.table.kind.place("profile")
    next(action for action in table.column_menu().findChildren(QAction) if action.text() == "Query").trigger()
    page.show_facts()
    assert not table.isColumnHidden(query)
    page.run.set_profile(ALL_QUERIES)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    table.show_set("short")
    assert not table.isColumnHidden(query)


@pytest.mark.parametrize("name", ["pairs", "scores"])
def test_without_statistics_there_are_no_columns_of_dashes(opened: Callable[[str], PairPage], name: str) -> None:
    page = opened(name)
    keys = [PAIR_TABLE.columns[place].key for place in page.hits.table.visible_columns()]
    assert "raw" in keys
    assert not {"evalue", "bits"} & set(keys)
    if name == "pairs":
        assert page.run.hits.n_shown == 2
        assert page.run.hits.rule(1) == ""


def test_a_click_on_a_bar_selects_its_hits(qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    qtbot.waitUntil(lambda: page.run.histogram is not None and page.strip.plot.lines["report"].isVisible())
    plot, data, view = page.strip.plot, page.run.histogram, page.strip
    plot.show_every()
    least = math.ceil(page.run.thresholds["report"])
    full = [n for n in np.flatnonzero(data.counts) if data.edges[n] >= least]
    low, high = float(data.edges[full[0]]), float(data.edges[full[0] + 1])
    plot.view.setXRange(low - 5, high + 5)
    bottom = plot.view.viewRange()[1][0]
    place = plot.mapFromScene(plot.view.mapViewToScene(QPointF((low + high) / 2, bottom + 0.1)))
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.waitUntil(lambda: "selected" in view.bar_words.text())
    rows = [page.run.hits.row_at(number) for number in page.hits.table.chosen_rows()]
    assert len(rows) == data.counts[full[0]]
    assert all(low <= row.raw < high for row in rows)
    assert page.run.hit.id == rows[0].id, "Details show the best of them"
    page._choose_bar(view, float(data.edges[0]), float(data.edges[1]))
    qtbot.waitUntil(lambda: "none of them is a hit" in view.bar_words.text())
    assert len(page.hits.table.chosen_rows()) == len(rows), "what was selected stays"


def test_relatives_out_of_view_are_reported_and_shown(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    page.show_tab("histogram")
    view, data = page.histogram, page.run.histogram
    assert data.n_beyond > 0
    assert formatting.plural(data.n_beyond, "target") in view.further.text()
    assert view.plot.view.viewRange()[0][1] < data.edges[-1]
    QTest.mouseClick(view.further, Qt.MouseButton.LeftButton)
    assert view.plot.view.viewRange()[0][1] >= data.edges[-1]
    assert not view.further.isVisible()
    QTest.mouseClick(view.back, Qt.MouseButton.LeftButton)
    assert view.plot.view.viewRange()[0][1] < data.edges[-1]
    assert view.further.isVisible()


def test_alignments_use_the_width_they_have(qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    card = dots_of(qtbot, page, 0)
    for width, least in ((1280, 30), (1920, 40)):
        window.resize(width, 800)
        qtbot.waitUntil(lambda least=least: card.alignment.n_columns >= least)
        assert card.dots.canvas.height() >= 150


def test_few_scores_have_whole_numbers_and_the_line_in_view(
    qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage]
) -> None:
    page = opened("proteins")
    page.show_tab("histogram")
    plot, data = page.histogram.plot, page.run.histogram
    few = dataclasses.replace(data, edges=np.array([900.0, 901.0]), counts=np.array([1]))
    plot.show_histogram(few)
    low, high = plot.view.viewRange()[0]
    line = plot.lines["report"]
    assert line.isVisible()
    assert low < line.value() < 900 < high
    line.setVisible(False)
    plot.show_histogram(few)
    low, high = plot.view.viewRange()[0]
    assert high - low >= 20
    plot.set_line("report", 850.0, "≥ 850")
    low, high = plot.view.viewRange()[0]
    assert low < 850 < 901 < high


def test_strands_are_shown_where_there_are_two(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    page = opened("dna")
    keys = [PAIR_TABLE.columns[place].key for place in page.hits.table.visible_columns()]
    assert "strand" in keys[:3]
    table = page.hits.table
    qtbot.waitUntil(lambda: table.horizontalHeader().length() <= table.viewport().width())


def test_an_empty_result_offers_a_higher_limit(qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage],
                                               press: Callable[..., None]) -> None:  # fmt: skip
    page = opened("empty")
    assert page.empty.isVisible()
    press(page, "Search with a higher limit…")
    sheet = window.controller.pairs.sheet
    assert isinstance(sheet, PairSheet)
    assert sheet.form.values()[0]["evalue"] > 1e-199


def dots_of(qtbot: Any, page: PairPage, row: int) -> PairCard:
    page.hits.table.choose_row(row)
    page.show_alignment()
    card = page.hit
    assert isinstance(card, PairCard)
    qtbot.waitUntil(lambda: card.dots.canvas.plot is not None and card.dots.canvas.plot.dots is not None)
    return card


def test_the_dot_plot_has_most_of_the_height(window: MainWindow, qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    assert (window.width(), window.height()) == (1280, 800)
    card = dots_of(qtbot, opened("proteins"), 0)
    qtbot.waitUntil(lambda: card.dots.height() > 1.3 * card.alignment.height())
    frame = card.dots.canvas.frame
    assert max(frame.width(), frame.height()) > 170


def test_the_alignment_has_room_in_a_small_window(
    qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage]
) -> None:
    """Also below two warnings, and with the dot plot under it."""
    page = opened("dna")
    for text in ("One thing is odd.", "Another thing is odd."):
        window.messages.notify("caution", text)
    page.hits.table.choose_row(0)
    qtbot.waitUntil(lambda: page.run.hit is not None)
    page.show_alignment()
    card = page.hit
    qtbot.waitUntil(lambda: card.dots.canvas.width() > 300)
    view = card.alignment
    assert len(page.run.hit.domains) == 2
    assert "identities" not in card.line_label.text(), "each alignment has a title of its own"
    assert not any("positives" in line.text for line in view.shown_lines)
    titles = sum(line.kind == "title" and line.domain == 0 for line in view.shown_lines)
    two_blocks = (titles + 2 * 5 - 1) * view.lines.height
    qtbot.waitUntil(lambda: view.viewport().height() >= two_blocks)
    assert card.dots.canvas.frame.width() > 150
    qtbot.waitUntil(lambda: "bases" in card.dots._words())


@pytest.mark.parametrize(
    ("size", "lengths"),
    [
        ((700, 700), (245, 245)),
        ((1000, 500), (245, 245)),
        ((500, 1000), (245, 245)),
        ((900, 500), (200, 400)),
        ((700, 200), (245, 245)),
    ],
)
def test_a_dot_plot_has_the_same_scale_along_both_sides(size: tuple[int, int], lengths: tuple[int, int]) -> None:
    area = QRectF(0, 0, *size)
    room, frame = area.marginsRemoved(axes_room()), frame_of(area, QRectF(0, 0, lengths[1], lengths[0]))
    assert frame.height() / frame.width() == pytest.approx(lengths[0] / lengths[1])
    assert frame.width() == room.width() or frame.height() == room.height()
    assert frame.width() <= room.width()
    assert frame.height() <= room.height()


def test_a_dot_plot_keeps_a_usable_width_where_there_is_little_height() -> None:
    area = QRectF(0, 0, 700, 200)
    frame = frame_of(area, QRectF(0, 0, 245, 980))
    assert (frame.width(), frame.height()) == (MIN_SIDE, area.marginsRemoved(axes_room()).height())


def test_it_is_said_which_dots_are_shown(qtbot: Any) -> None:
    view = DotPlotView()
    qtbot.addWidget(view)
    assert view.level_words.text() == f"≥ {formatting.percent(60 / 255)}"
    view.least.setValue(128)
    assert view.level_words.text() == f"≥ {formatting.percent(0.5)}"


def test_a_click_in_the_dot_plot_moves_the_alignment(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    card = dots_of(qtbot, opened("proteins"), 0)
    canvas = card.dots.canvas
    chosen: list[tuple[int, int]] = []
    canvas.column_chosen.connect(lambda *found: chosen.append(found))
    place = canvas.plot.place_of(0, 40)
    frame, shown = canvas.frame, canvas.shown
    spot = QPointF(
        frame.left() + (place[1] - shown.left()) * frame.width() / shown.width(),
        frame.top() + (place[0] - shown.top()) * frame.height() / shown.height(),
    ).toPoint()
    QTest.mouseMove(canvas, spot)
    QTest.mouseClick(canvas, LEFT, pos=spot)
    assert len(chosen) == 1
    number, column = chosen[0]
    assert number == 0
    assert abs(column - 40) <= 2
    row, within = card.alignment._marked
    assert card.alignment.shown_lines[row].begin + within == column
    assert canvas.mark == canvas.plot.place_of(number, column)


def test_a_click_in_the_alignment_marks_the_dot_plot(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    card = dots_of(qtbot, opened("proteins"), 1)
    view = card.alignment
    row = next(i for i, line in enumerate(view.shown_lines) if line.kind == "target")
    x = 12 + view.lines.margin + 6.5 * view.lines.cell
    QTest.mouseClick(view.viewport(), LEFT, pos=QPoint(int(x), int(12 + (row + 0.5) * view.lines.height)))
    assert card.dots.canvas.mark == card.dots.canvas.plot.place_of(0, view.shown_lines[row].begin + 6)


def test_keys_zoom_and_move_the_dot_plot(qtbot: Any, opened: Callable[[str], PairPage]) -> None:
    canvas = dots_of(qtbot, opened("proteins"), 0).dots.canvas
    whole = canvas.shown
    QTest.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.shown.width() < whole.width()
    left = canvas.shown.left()
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.shown.left() > left
    QTest.keyClick(canvas, Qt.Key.Key_0)
    assert canvas.shown == whole
    words: list[str] = []
    canvas.hovered.connect(words.append)
    QTest.mouseMove(canvas, QPoint(1, 1))  # or nothing moves, if the mouse is there already
    QTest.mouseMove(canvas, canvas.frame.center().toPoint())
    qtbot.waitUntil(lambda: bool(words))
    assert words[-1].startswith("query ")


@pytest.mark.parametrize("ending", FORMATS)
def test_pictures_of_alignment_and_dots(
    hits_of: HitsOf, qtbot: Any, pair_runs: dict[str, Path], tmp_path: Path, ending: str
) -> None:
    card, hits = hits_of(pair_runs["dna"])
    plot = read_dot_plot(pair_runs["dna"], 0, hits[0])
    for name, picture in (
        ("alignment", AlignmentPicture(hits[0], card, True, "clustal")),
        ("dots", DotPicture(plot, 60)),
        ("bare", DotPicture(bare_plot(card, hits[0]), 60)),
    ):
        path = tmp_path / f"{name}{ending}"
        save_picture(picture, str(path), theme.mono_font())
        assert path.read_bytes()[:4] == {".svg": b"<?xm", ".pdf": b"%PDF", ".png": b"\x89PNG"}[ending]
        if ending == ".png":
            image = QImage(str(path)).convertToFormat(QImage.Format.Format_RGB32)
            colors = {image.pixel(x, y) for x in range(0, image.width(), 3) for y in range(0, image.height(), 3)}
            assert len(colors) > 3


def test_exports_are_those_of_comparisons(
    hits_of: HitsOf, window: MainWindow, opened: Callable[[str], PairPage]
) -> None:
    from clalign.engines.pairwise.exports import EXPORTS

    page = opened("proteins")
    page.hits.table.choose_row(0)
    QTest.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    sheet = window.sheets.sheet
    assert sheet._choices.forms == list(EXPORTS)
    assert sheet._choices.counts["all"] == sum(len(hits_of(page.run.path, number)[1]) for number in (0, 1))


def test_commands_that_make_no_sense_say_why(window: MainWindow, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    page.hits.table.choose_row(0)
    window.actions_.update()
    for name, reason in (
        ("show_tab:query", "no such results"), ("hits.sort_hits:bias", "no such column"),
    ):  # fmt: skip
        action = window.actions_.by_id[name]
        assert not action.isEnabled()
        assert reason in action.toolTip()
    window.actions_.by_id["hits.sort_hits:identity"].trigger()
    assert page.run.hits.query.sort == "identity"


def test_a_hit_and_a_named_target_are_explained(
    qtbot: Any, window: MainWindow, opened: Callable[[str], PairPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Column by column, with the worker's own function in place of the worker."""
    page = opened("proteins")

    def ask(job: dict[str, Any], answer: Callable[[dict[str, Any]], None], problem: object) -> None:
        target = job["name"] if "name" in job else job["row"]
        answer(explain_in_run(Path(job["run"]), job["profile"], target, lambda _: REFERENCE, QuietContext()))

    monkeypatch.setattr(window.controller.inspector, "ask", ask)
    page.hits.table.choose_row(0)
    qtbot.waitUntil(lambda: page.run.hit is not None)
    qtbot.waitUntil(page.hit.explain.isVisible)
    page.hit.explain.click()
    sheet = window.sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    hit = page.run.hit
    assert sheet.value["verdict"] == f"{hit.name} is reported."
    columns = sheet.findChild(QPlainTextEdit).toPlainText().splitlines()
    assert len(columns) == 1 + len(hit.domains[0].states)
    assert columns[-1].split()[-1] == str(hit.raw)
    sheet.copy()
    assert f"Score:    {hit.raw} = " in QGuiApplication.clipboard().text()
    window.controller.explanations.explain_named()
    asked = window.sheets.sheet
    assert isinstance(asked, NameSheet)
    asked.name_given.emit("t0")
    sheet = window.sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    assert sheet.value["verdict"].startswith("t0 is ")


def test_the_report_says_how_it_was_scored(opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    page.report_button.click()
    sheet = page.window().sheets.sheet
    texts = [label.text() for label in sheet.findChildren(type(page.waiting.heading))]
    assert any("12 for the first residue" in text for text in texts)
    assert "fasta, not compressed, LF" in texts
    statistics, n_residues = page.run.card["statistics"], page.run.facts["database"]["n_residues"]
    size = page.run.database_words()
    assert size in texts
    assert size.startswith(formatting.plural(n_residues, "residue"))
    less = statistics["length_adjustment"]
    if less:
        assert formatting.count(n_residues - less * page.run.facts["database"]["n_sequences"]) in size
    assert any(text.startswith("clalign sw ") for text in texts)


def test_from_the_example_to_hits_with_the_real_worker(
    qtbot: Any, real_window: MainWindow, pair_runs: dict[str, Path], press: Callable[..., None]
) -> None:
    """A click on the example, a sequence that is pasted, a click on Compare, and hits."""
    window, controller = real_window, real_window.controller
    controller.workspace.set_devices([])
    controller.workspace.choose_device("reference")
    example = load_pair_examples()[0]
    card = next(card for card in window.start.cards if card.example == example)
    QTest.mouseClick(card, LEFT)
    sheet = controller.pairs.sheet
    assert isinstance(sheet, PairSheet)
    qtbot.waitUntil(lambda: sheet.run_button.isEnabled())
    assert "BLOSUM62; a gap costs 12 for its first residue" in sheet.scoring.text()
    assert sheet.command.text().startswith("clalign sw ")
    folder = pair_runs["proteins"].parent
    controller.sources.open_quietly([str(folder / "targets.fasta")])
    press(sheet, "Paste a query…")
    sheet.text.setPlainText((folder / "queries.fasta").read_text().split(">")[1].split("\n", 1)[1])
    press(sheet, "Use as query")
    qtbot.waitUntil(lambda: controller.inspector.is_idle)
    controller.workspace.choose(str(folder / "targets.fasta"))
    qtbot.waitUntil(lambda: "query.fasta" in sheet.command.text())
    press(sheet, "Compare")
    qtbot.waitUntil(lambda: isinstance(controller.page, PairPage))
    run = controller.page.run
    qtbot.waitUntil(lambda: run.is_complete and run.hits.n_shown > 3 and not run.is_due)
    assert [run.hits.row_at(place).name for place in range(3)] == ["like1_0", "like1_1", "like1_2"]
    qtbot.waitUntil(lambda: controller.queue.current is None)
    item = controller.queue.items[-1]
    assert item.title == "Compare query with targets"
    assert [Path(path).name for path in item.files] == ["query.fasta", "targets.fasta"]
    assert all(path in window.jobs.row_of(item)._title.toolTip() for path in item.files)
    assert "hits in 31 sequences" in item.message
    controller.jobs.verify(str(run.path), None)
    qtbot.waitUntil(lambda: any("all equal" in m.text for m in window.messages.messages))
