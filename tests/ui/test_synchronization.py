"""Waiting groups by clicks; their model without widgets."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QWidget

from clalign.common.amounts import THIN, seconds_text
from clalign.labs.synchronization_results import SYNCHRONIZATION, cell_text, way_name
from clalign.ui.models.laboratory.documents import read_document
from clalign.ui.models.laboratory.lab_view import LabView
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.figure_view import chart_picture
from clalign.ui.views.charts.pictures import save_picture
from clalign.ui.views.laboratory.synchronization_page import SynchronizationPage

pytestmark = pytest.mark.thorough

Press = Callable[[QWidget, str], None]

ASKED = {"program": "sort", "groups": "7-60", "group_size": 32, "sets": 6, "methods": None}


def texts(parent: QWidget) -> str:
    QTest.qWait(30)
    return " ".join(shown.text() for shown in parent.findChildren(QLabel) if shown.isVisible())


def wait_for_end(qtbot: Any, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.controller.queue.current is None)


def type_into(field: QLineEdit, text: str) -> None:
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)


@pytest.fixture
def page(window: MainWindow) -> SynchronizationPage:
    window.controller.labs.open("synchronization")
    found = window.controller.labs.page
    assert isinstance(found, SynchronizationPage)
    return found


@pytest.fixture
def shown(fake: ModuleType) -> LabView:
    view = LabView(SYNCHRONIZATION)
    view.take(fake.synchronization_document(ASKED))
    return view


def test_groups_are_measured_and_rows_arrive_live(
    qtbot: Any, window: MainWindow, page: SynchronizationPage, manners: Callable[..., None], press: Press
) -> None:
    assert "Inter-group synchronization" in window.windowTitle()
    manners(pause=0.2)
    type_into(page.groups, "7-12")
    page.ways["discovered"].setChecked(False)
    press(page, "Run")
    job = window.controller.queue.current.spec
    assert job == {
        "job": "synchronization", "device": "0:0", "program": "sort", "groups": "7-12", "group_size": 32, "sets": 6,
        "runs": 5, "methods": ["launch", "lbs", "ilbs", "lfs", "ulfs"],
    }  # fmt: skip
    qtbot.waitUntil(lambda: len(page.view.rows) > 1)
    assert page.stop_button.isVisible()
    assert f"{len(page.view.rows)} numbers of groups so far" in page.summary.text()
    wait_for_end(qtbot, window)
    assert [row["n_groups"] for row in page.view.rows] == list(range(7, 13))
    kept = list((window.settings.data / "laboratory").glob("synchronization-*.json"))
    assert len(kept) == 1
    assert read_document(str(kept[0]))["group_size"] == 32
    page.in_view.table.selectRow(1)
    assert "8 groups" in texts(window.details)


def test_numbers_that_make_no_sense_are_reported(page: SynchronizationPage) -> None:
    type_into(page.groups, "60-7")
    type_into(page.groups, "")
    type_into(page.group_size, "none")
    type_into(page.group_size, "64")
    type_into(page.work, "many")
    type_into(page.work, "5,000")
    assert page.run_button.isEnabled()
    for tick in page.ways.values():
        tick.setChecked(False)


def test_a_wrong_result_is_reported(
    qtbot: Any, window: MainWindow, page: SynchronizationPage, manners: Callable[..., None], press: Press
) -> None:
    manners(wrong_rung=True)
    type_into(page.groups, "7,8")
    press(page, "Run")
    wait_for_end(qtbot, window)
    assert "LBS of 7 groups gave another result" in texts(page)
    assert "1 of 12 results differ" in page.summary.text()


def test_a_saved_measurement_is_opened(
    window: MainWindow, page: SynchronizationPage, fake: ModuleType, tmp_path: Path, monkeypatch: Any, press: Press
) -> None:
    from clalign.ui.models.laboratory.documents import write_document

    path = tmp_path / "groups.json"
    write_document(fake.synchronization_document(ASKED), path)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press(page, "Open…")
    assert len(page.view.rows) == 54
    page.tabs.setCurrentIndex(1)
    assert page.in_view.table.model().rowCount() == 6
    assert page.in_view.figure.chart.bars[3].beside == 2.24
    page.tabs.setCurrentIndex(2)
    assert page.in_view.figure.chart.marks[0].x == 6


def test_the_tables_of_a_document(shown: LabView) -> None:
    cells = {c.title: shown.tables["rows"].index(30, i).data() for i, c in enumerate(shown.tables["rows"].columns)}
    assert (cells["Groups"], cells["At once"], cells["LFS"]) == ("37", "37", "not possible")
    assert cells["LBS"] == seconds_text(shown.rows[30]["cells"]["lbs"]["seconds"], THIN)
    assert cell_text(shown.rows[-1], "lbs") == "48 at once"
    assert cell_text(shown.rows[-1], "nothing") == ""
    assert [row["first"] for row in shown.tables["bands"].rows] == [7, 16, 25, 34, 43, 52]
    assert (shown.tables["bands"].index(5, 3).data(), shown.tables["bands"].index(5, 6).data()) == ("", "1.89")
    assert shown.tables["sets"].index(0, 1).data() == "6"
    assert way_name("discovered-ilbs") == "Discovered ILBS"


def test_the_charts_of_a_document(shown: LabView, tmp_path: Path, window: MainWindow) -> None:
    chart = shown.chart("rows")
    named = {line.name: line for line in chart.lines}
    assert list(named)[:2] == ["Launch", "Launch as fitted"]
    assert named["LBS as fitted"].is_fit
    assert named["LBS as fitted"].points[0][1] == pytest.approx(named["LBS"].points[0][1])
    assert len(named["LFS"].points) == 26
    assert [bar.note for bar in shown.chart("bands").bars][-1] == "not measured"
    for number, one in enumerate((chart, shown.chart("bands"), shown.chart("sets"))):
        path = str(tmp_path / f"{number}.svg")
        save_picture(chart_picture(one), path, window.font())
        assert QSvgRenderer(path).isValid()


def test_verdicts_of_a_document(shown: LabView) -> None:
    messages = [text for _, text in shown.verdicts()]
    assert any("33 groups: ULFS has 3 levels" in text for text in messages)
    assert any("36 groups: ILBS is fastest with 6 sets" in text for text in messages)
    assert any("the device ran 48 of them at once" in text for text in messages)
    assert any("a barrier within a group" in text for text in messages)
    empty = LabView(SYNCHRONIZATION)
    assert empty.verdicts() == []
    assert empty.chart("rows") is None
