"""The ladder of Smith-Waterman by clicks; its model without widgets."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget

from clalign.ui import formatting
from clalign.ui.engines.pairwise.ladder import LADDER
from clalign.ui.engines.register import ladders
from clalign.ui.models.documents import read_document
from clalign.ui.models.ladder import RungView
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.rung_page import RungPage
from clalign.ui.views.sized_picture_sheet import SizedPictureSheet

pytestmark = pytest.mark.thorough

Press = Callable[[QWidget, str], None]


def texts(parent: QWidget) -> str:
    QTest.qWait(30)
    return " ".join(shown.text() for shown in parent.findChildren(QLabel) if shown.isVisible())


def wait_for_end(qtbot: Any, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.controller.queue.current is None, timeout=30000)


@pytest.fixture
def page(window: MainWindow) -> RungPage:
    """The page, reached from the first ladder by its chooser."""
    QTest.keyClick(window, Qt.Key.Key_F7)
    first = window.controller.labs.page
    assert isinstance(first, RungPage)
    assert first.ladder.of.kind == "ladder"
    first.ladders.setFocus()
    QTest.keyClick(first.ladders, Qt.Key.Key_Down)
    found = window.controller.labs.page
    assert isinstance(found, RungPage)
    assert found.ladder.of is LADDER
    assert first.ladders.currentText() == "Plan7 Viterbi"
    return found


def type_into(field: QWidget, text: str) -> None:
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(field, text)


def test_the_pairs_are_run_and_rows_arrive_live(
    qtbot: Any, window: MainWindow, page: RungPage, manners: Callable[..., None], press: Press
) -> None:
    assert [row["name"] for row in page.ladder.rows] == [row["name"] for row in LADDER.known]
    assert page.fields["pairs"].text() == formatting.count(1000)
    assert "Smith-Waterman" in window.windowTitle()
    manners(pause=0.2)
    type_into(page.fields["length"], "256")
    press(page, "Run")
    job = window.controller.queue.current.spec
    assert job == {
        "job": "smith_waterman_ladder", "device": "0:0", "pairs": 1000, "length": 256, "variants": None,
    }  # fmt: skip
    qtbot.waitUntil(lambda: page.ladder.n_done == 2, timeout=30000)
    assert page.stop_button.isVisible()
    wait_for_end(qtbot, window)
    model = page.ladder.rungs
    cells = {model.columns[i].title: model.index(1, i).data() for i in range(model.columnCount())}
    assert (cells["Rung"], cells["Check"], cells["Speed-up"]) == ("global", "equal", "4.0×")
    assert cells["Published kernel"] == formatting.seconds(0.2736)
    assert cells["Host"] == formatting.seconds(0.125)
    assert "all alignments are equal" in page.summary.text()
    assert (page.figure.chart.bars[1].value, page.figure.chart.bars[1].beside) == (4.0, 2.57)
    kept = list((window.settings.data / "laboratory").glob("smith_waterman_ladder-*.json"))
    assert len(kept) == 1
    assert read_document(str(kept[0]), {kind: ladder.needed for kind, ladder in ladders().items()})["length"] == 256


def test_numbers_that_make_no_sense_are_told(page: RungPage) -> None:
    type_into(page.fields["pairs"], "none")
    assert "Give a number of pairs from 1" in page.run_button.toolTip()
    type_into(page.fields["pairs"], "10")
    type_into(page.fields["length"], "0")
    assert "Give a number of nucleotides" in page.run_button.toolTip()
    assert not page.run_button.isEnabled()
    type_into(page.fields["length"], "9,000")
    assert page.run_button.isEnabled()
    assert page.values() == {"pairs": 10, "length": 9000}


def test_only_ticked_rungs_are_asked_for(qtbot: Any, window: MainWindow, page: RungPage, press: Press) -> None:
    press(page, "Tick none")
    assert "Tick at least one rung" in page.run_button.toolTip()
    page.table.setFocus()
    page.table.setCurrentIndex(page.table.model().index(1, 0))
    QTest.keyClick(page.table, Qt.Key.Key_Space)
    press(page, "Run")
    assert window.controller.queue.current.spec["variants"] == ["global"]
    wait_for_end(qtbot, window)


def test_a_rung_that_differs_is_told(
    qtbot: Any, window: MainWindow, page: RungPage, manners: Callable[..., None], press: Press
) -> None:
    manners(wrong_rung=True)
    press(page, "Run")
    wait_for_end(qtbot, window)
    assert "global: not every alignment is that of the other rungs" in texts(page)
    assert "1 rung with other alignments" in page.summary.text()
    page.table.selectRow(1)
    assert "The alignments of 3 of 1,000 pairs differ." in texts(window.details)


def test_it_stops_and_keeps_its_rows(
    qtbot: Any, window: MainWindow, page: RungPage, manners: Callable[..., None], press: Press
) -> None:
    manners(pause=0.5)
    press(page, "Run")
    qtbot.waitUntil(lambda: page.ladder.n_done == 1, timeout=30000)
    press(page, "Stop")
    wait_for_end(qtbot, window)
    assert 1 <= page.ladder.n_done < 3
    assert "so far" in page.summary.text()
    assert page.run_button.isVisible()


def test_it_is_saved_opened_copied_and_drawn(
    qtbot: Any, window: MainWindow, page: RungPage, press: Press, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    press(page, "Run")
    wait_for_end(qtbot, window)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *rest: (str(tmp_path / "pairs.json"), ""))
    press(page, "Save…")
    press(page, "Picture…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, SizedPictureSheet)
    sheet.path.setText(str(tmp_path / "pairs.svg"))
    sheet.export_button.click()
    qtbot.waitUntil(lambda: (tmp_path / "pairs.svg").exists() and window.controller.files.is_idle)
    assert QSvgRenderer(str(tmp_path / "pairs.svg")).isValid()
    press(page, "Copy table")
    assert QGuiApplication.clipboard().text().startswith("Rung\tCheck\tWhole\tKernel\tCopies\tHost\tSpeed-up")
    page.ladder.begin()
    page.ladder.end()
    window.controller.show_start()
    window.controller.sources.open_paths([str(tmp_path / "pairs.json")])
    assert window.controller.labs.page is page
    assert page.ladder.n_done == 3
    page.ladders.setFocus()
    QTest.keyClick(page.ladders, Qt.Key.Key_Up)
    assert window.controller.labs.page is window.controller.labs.pages["ladder"]


def test_the_chart_names_what_it_compares(qtbot: Any, fake: ModuleType) -> None:
    view = RungView(LADDER)
    assert view.summary().startswith("Many pairs of nucleotides")
    view.take(fake.pair_ladder_document({"pairs": 1000, "length": 512}), kept=True)
    chart = view.chart()
    assert chart.title == "Speed-up over the sequential rung"
    assert chart.beside_name == "published, on a GeForce RTX 3060"
    assert dict(view.facts(view.rows[1]))["Published copies"] == formatting.seconds(0.5337)
    assert view.summary() == "Made-up GPU · 1,000 pairs of 512 × 512 nucleotides · all alignments are equal"
