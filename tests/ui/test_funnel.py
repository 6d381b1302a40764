"""The filters of a run: numbers, the sequences behind them, and explanations."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QWidget

from clalign.engines.engine import engine_named
from clalign.runs.run_file import open_run
from clalign.ui.engines.plan7.explain_sheet import (
    FilterSheet,
    explanation_text,
    step_mark,
    step_note,
    step_numbers,
    step_result,
)
from clalign.ui.engines.plan7.funnel import COLUMNS, funnel_steps, judge, read_funnel, read_survivors
from clalign.ui.engines.plan7.funnel_view import FunnelView, scale_of
from clalign.ui.models.widgets.text_table import TextTable
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.theme import LIGHT
from clalign.ui.views.results.explain_sheet import ExplainSheet, NameSheet
from clalign.ui.views.results.results_page import ResultsPage

pytestmark = pytest.mark.thorough

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier
Press = Callable[[QWidget, str], None]


def test_the_funnel_counts_what_passed_and_what_was_stopped(hmmer3_run: Callable[..., Path]) -> None:
    steps = read_funnel(hmmer3_run(), 0)
    assert [(s.stage, s.passed, s.rejected) for s in steps] == [
        ("all", 1000, 0), ("msv", 30, 970), ("bias", 24, 6), ("viterbi", 12, 12), ("forward", 8, 4), ("reported", 5, 3),
    ]  # fmt: skip
    assert steps[1].expected == "expected 20 (P ≤ 0.02)"
    assert steps[1].verdict == "as expected by chance"
    assert steps[3].mark == "note"
    assert steps[3].by_chance == pytest.approx(1.0)
    assert "members of the family" in steps[4].verdict


@pytest.mark.parametrize(
    ("stage", "passed", "expected", "mark"),
    [
        ("msv", 11465, 11465.0, "good"), ("msv", 12031, 11465.0, "good"), ("msv", 16000, 11465.0, "note"),
        ("msv", 120_000, 11465.0, "caution"), ("msv", 5000, 11465.0, "note"), ("msv", 1000, 11465.0, "caution"),
        ("viterbi", 1690, 573.0, "note"), ("viterbi", 9000, 573.0, "caution"), ("forward", 8, 0.03, "note"),
        ("msv", 1, 0.2, "good"), ("forward", 3, 0.044, "note"), ("forward", 1, 0.044, "good"),
        ("viterbi", 9, 4.4, "good"), ("viterbi", 16, 4.4, "note"), ("viterbi", 0, 4.4, "good"),
        ("bias", 3, 60.0, ""), ("all", 3, None, ""),
    ],
)  # fmt: skip
def test_numbers_are_judged_against_chance(stage: str, passed: int, expected: float | None, mark: str) -> None:
    assert judge(stage, passed, expected)[1] == mark


def test_few_expected_ones_are_written_as_limits_are() -> None:
    common = {"passed": 8, "ran": True}
    rows = [{"stage": "all", "label": "All", "expected": None, "limit": None, **common},
            {"stage": "forward", "label": "Forward", "expected": 8e-5, "limit": 1e-5, **common}]  # fmt: skip
    assert funnel_steps(rows)[1].expected == "expected 8e-5 (P ≤ 1e-5)"


def test_a_large_family_is_no_warning() -> None:
    assert judge("forward", 1, 0.044, n_reported=1) == ("members of the family", "good")
    assert judge("forward", 3, 2.0, n_reported=1)[0] != judge("forward", 3, 2.0)[0], "a hit is not there by chance"
    assert judge("viterbi", 9000, 573.0, n_reported=8000)[1] == "note"


def test_a_filter_that_was_left_out_says_so() -> None:
    rows = [{"stage": "all", "label": "All", "passed": 10, "expected": None, "limit": None, "ran": True},
            {"stage": "bias", "label": "Bias", "passed": 10, "expected": 10.0, "limit": 1.0, "ran": False}]  # fmt: skip
    step = funnel_steps(rows)[1]
    assert (step.verdict, step.expected, step.mark) == ("not used in this search", "", "")


def test_survivors_are_sorted_and_what_is_unknown_comes_last(hmmer3_run: Callable[..., Path]) -> None:
    table = TextTable(COLUMNS)
    rows = read_survivors(hmmer3_run(), 0, "msv", False, None)
    table.set_rows(rows)
    assert table.rowCount() == 30
    place = next(i for i, column in enumerate(COLUMNS) if column.title == "Forward")
    for descending in (False, True):
        table.sort(place, Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder)
        values = [row["forward"] for row in table.rows]
        known = [value for value in values if value is not None]
        assert values[: len(known)] == sorted(known, reverse=descending)
        assert len(known) < 30
    table.sort(-1)
    assert table.rows == rows
    assert table.tsv().splitlines()[0].startswith("Name\tLength\tMSV")


@pytest.fixture
def page(qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path]) -> ResultsPage:
    window.controller.sources.open_paths([str(hmmer3_run())])
    made = window.controller.page
    qtbot.waitUntil(lambda: made.run.hits.n_shown == 5)
    return made


@pytest.fixture
def funnel(qtbot: Any, page: ResultsPage) -> FunnelView:
    QTest.keyClick(page.window(), Qt.Key.Key_3, CTRL)
    page.show_tab("funnel")
    assert page.tab == "funnel"
    qtbot.waitUntil(lambda: bool(page.funnel.rows))
    return page.funnel


def test_every_number_is_a_link(qtbot: Any, funnel: FunnelView, press: Press) -> None:
    press(funnel, "24")
    qtbot.waitUntil(lambda: funnel.table.rowCount() == 24)
    assert funnel.title.text() == "Passed the bias filter: 24 sequences"
    press(funnel, "12 stopped")
    qtbot.waitUntil(lambda: funnel.table.rowCount() == 12)
    assert funnel.title.text() == "Stopped by the Viterbi filter: 12 sequences"
    header = funnel.view.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(4) + 20, header.height() // 2)
    orders = []
    for _ in range(3):
        QTest.mouseClick(header.viewport(), LEFT, pos=place)
        orders.append([row["row"] for row in funnel.table.rows])
    assert orders[0] == orders[1][::-1]
    press(funnel, "Copy")
    assert len(QGuiApplication.clipboard().text().splitlines()) == 13


def test_a_table_is_saved(
    qtbot: Any, funnel: FunnelView, press: Press, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    press(funnel, "8")
    qtbot.waitUntil(lambda: funnel.table.rowCount() == 8)
    path = tmp_path / "list.tsv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    press(funnel, "Save…")
    messages = funnel.window().messages
    qtbot.waitUntil(lambda: any("Table written to" in message.text for message in messages.messages))
    assert len(path.read_text().splitlines()) == 9


def test_the_funnel_follows_a_running_search(
    qtbot: Any, funnel: FunnelView, page: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(page.run.path, writable=True) as run:
        run.connection.execute("UPDATE plan7_batches SET n_msv = 29")
        run.connection.commit()
    page.run.note_change()
    qtbot.waitUntil(lambda: funnel.rows[1].passed.text() == "29")


def test_bars_stand_on_the_scale_above_them(funnel: FunnelView) -> None:
    scale = scale_of(1000, 400)
    assert [scale(n) - scale(n / 10) for n in (1000, 100, 10)] == pytest.approx([scale(10) - scale(1)] * 3)
    bar = funnel.rows[1].bar
    image = bar.grab().toImage()
    ends = [x for x in range(image.width()) if image.pixelColor(x, image.height() // 2 - 5).name() == LIGHT.bar.lower()]
    assert max(ends) == pytest.approx(scale_of(1000, bar.width())(30), abs=3)
    assert funnel.scale.isVisible()
    assert funnel.rows[1].expected.x() == bar.x() + min(ends) - 1  # the border of the bar


def test_hmmer2_has_no_funnel_and_one_kind_of_scores(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    window.controller.sources.open_paths([str(made_run())])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 200 and page.run.histogram is not None)
    assert not page.strip.kinds.isVisible()
    assert page.run.histogram.fit is not None
    assert not page.has_tab("funnel"), "a tab with nothing in it"
    QTest.keyClick(page.window(), Qt.Key.Key_5, CTRL)
    assert page.tab == "hits"


STEP = {"stage": "msv", "label": "MSV filter", "score": 2.04, "threshold": 2.06, "pvalue": 0.021, "limit": 0.02,
        "passed": False, "ran": True, "text": "It scores 2.0 bits; 2.1 are needed."}  # fmt: skip


def test_a_long_name_is_broken_not_cut(qtbot: Any) -> None:
    sheet = FilterSheet("A", engine_named("plan7"))
    qtbot.addWidget(sheet)
    value = {"target": "A", "profile": "x" * 300, "length": 9, "steps": [STEP], "verdict": "A is missed."}
    title, *_ = sheet.parts(value, QWidget())
    assert title.minimumSizeHint().width() < sheet.width()


def test_steps_in_words() -> None:
    assert step_numbers({**STEP, "limit": 0.00229779}).endswith(", at most 0.0023")
    assert step_numbers({**STEP, "threshold": 2.0449}) == "2.040 bits, 2.045 needed · P-value 0.021, at most 0.02"
    assert step_numbers({**STEP, "score": -3.0, "threshold": None, "limit": None}) == "−3.0 bits · P-value 0.021"
    full = step_numbers({**STEP, "score": None, "passed": True, "pvalue": 0.0})
    assert full == "more bits than the filter can count", "a full counter has no P-value"
    assert step_result(STEP) == "is stopped here"
    assert step_mark(STEP) == "stop"
    unreached = {**STEP, "ran": False}
    assert "would be stopped" in step_result(unreached)
    assert step_mark(unreached) == "note"
    assert step_note(STEP) == ""
    skipped = {**STEP, "text": "Not run in the search (left out). It scores 2.0 bits."}
    assert step_note(skipped) == "Not run in the search (left out)."
    text = explanation_text({"target": "A", "profile": "B", "length": 9, "steps": [STEP], "verdict": "A is missed."})
    assert text.splitlines()[0] == "A (9 residues) and the profile B"
    assert text.endswith("A is missed.\n")


def test_a_hit_is_explained(qtbot: Any, page: ResultsPage, press: Press) -> None:
    window = page.window()
    table = page.hits.table
    table.setFocus()
    table.choose_row(0)
    QTest.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    before = page.run.hit, table.chosen_rows(), page.tab
    assert before[1] == [0, 1]
    press(page.hit, "Explain")
    sheet = window.sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    assert sheet.copy_button.height() >= sheet.copy_button.sizeHint().height(), "whole while it waits"
    qtbot.waitUntil(lambda: bool(sheet.value))
    assert sheet.value["target"] == f"row {page.run.hit.row} of {page.run.path.stem}"
    press(sheet, "Copy as text")
    assert "is missed" in QGuiApplication.clipboard().text()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert (page.run.hit, table.chosen_rows(), page.tab) == before


def test_a_stopped_sequence_is_explained_by_a_double_click(qtbot: Any, funnel: FunnelView, press: Press) -> None:
    press(funnel, "970 stopped")
    qtbot.waitUntil(lambda: funnel.table.rowCount() == 970)
    place = funnel.view.visualRect(funnel.table.index(3, 2)).center()
    QTest.mouseClick(funnel.view.viewport(), LEFT, pos=place)
    QTest.mouseDClick(funnel.view.viewport(), LEFT, pos=place)
    sheet = funnel.window().sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    qtbot.waitUntil(lambda: bool(sheet.value))
    assert f"row {funnel.table.rows[3]['row']} " in sheet.value["target"]
    window = funnel.window()
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert window.focusWidget() is funnel.view
    chosen = [index.row() for index in funnel.view.selectionModel().selectedRows()]
    page = window.controller.page
    window.controller.show_start()
    window.controller.show_run(str(page.run.path))
    assert page.tab == "funnel"
    assert funnel.isAncestorOf(window.focusWidget()), "the keys act on what is seen"
    assert [index.row() for index in funnel.view.selectionModel().selectedRows()] == chosen == [3]


def test_a_name_is_asked_for_and_a_wrong_one_is_said(qtbot: Any, funnel: FunnelView, press: Press) -> None:
    window = funnel.window()
    press(funnel, "Explain one sequence…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, NameSheet)
    assert not sheet.go.isEnabled()
    QTest.keyClicks(sheet.name, "nobody")
    QTest.keyClick(sheet.name, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    shown = window.sheets.sheet
    assert isinstance(shown, ExplainSheet)
    line = [child.text() for child in shown.findChildren(QWidget) if hasattr(child, "text")]
    assert any('no sequence is named "nobody"' in text for text in line)


def test_without_hits_the_best_sequence_can_be_explained(
    qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path], press: Press
) -> None:
    path = hmmer3_run()
    with open_run(path, writable=True) as run:
        run.connection.execute("DELETE FROM hits")
        run.connection.commit()
        run.set_bests([(0, {"name": "SEQ_0003", "score": 4.1, "evalue": 0.1, "kind": "msv"})])
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.empty.isVisible())
    assert "by the MSV filter: SEQ_0003, 4.1 bits" in page.empty.words.text()
    press(page.empty, "Explain the best one")
    sheet = window.sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    qtbot.waitUntil(lambda: bool(sheet.value))
    assert sheet.value["target"] == "SEQ_0003"
