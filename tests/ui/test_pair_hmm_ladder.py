"""The ladder of the pair HMM by clicks; its model without widgets."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QWidget

from clalign.ui import formatting
from clalign.ui.engines.msa.ladder import LADDER
from clalign.ui.engines.register import ladders
from clalign.ui.models.documents import read_document
from clalign.ui.models.ladder import RungView
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.rung_page import RungPage

pytestmark = pytest.mark.thorough

Press = Callable[[QWidget, str], None]


def texts(parent: QWidget) -> str:
    QTest.qWait(30)
    return " ".join(shown.text() for shown in parent.findChildren(QLabel) if shown.isVisible())


def wait_for_end(qtbot: Any, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.controller.queue.current is None, timeout=30000)


@pytest.fixture
def page(window: MainWindow) -> RungPage:
    """The page, reached by its command in the menu."""
    window.actions_.by_id["labs.open:pair_hmm_ladder"].trigger()
    found = window.controller.labs.page
    assert isinstance(found, RungPage)
    assert found.ladder.of is LADDER
    return found


def type_into(field: QWidget, text: str) -> None:
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(field, text)


def test_the_rungs_are_run_and_kept(qtbot: Any, window: MainWindow, page: RungPage, press: Press) -> None:
    assert [row["name"] for row in page.ladder.rows] == [row["name"] for row in LADDER.known]
    assert page.ladders.currentText() == "FSA's pair HMM"
    fields = [page.fields[key] for key in ("x", "y", "pairs")]
    assert [field.text() for field in fields] == [formatting.count(number) for number in (1417, 1460, 849)]
    shown = [*fields, page.run_button]
    assert len({field.mapTo(page, field.rect().topLeft()).x() for field in shown}) == len(shown)
    type_into(page.fields["x"], "1949")
    press(page, "Run")
    assert window.controller.queue.current.spec == {
        "job": "pair_hmm_ladder", "device": "0:0", "x": 1949, "y": 1460, "pairs": 849, "variants": None,
    }  # fmt: skip
    wait_for_end(qtbot, window)
    model = page.ladder.rungs
    cells = {model.columns[i].title: model.index(1, i).data() for i in range(model.columnCount())}
    assert (cells["Rung"], cells["Check"], cells["Speed-up"]) == ("states", "equal", "5.0×")
    assert cells["Forward"] == formatting.seconds(0.1)
    assert cells["Published Forward"] == formatting.seconds(0.395)
    assert cells["Published run"] == f"57.8{formatting.THIN}min"
    assert cells["Of each sweep"] == "0.2 · 0.2 · 0.2"
    all_at_once = [model.index(2, i).data() for i in range(model.columnCount())]
    assert all_at_once[2:5] == ["", "", ""]
    sizes = page.ladder.experiments["sizes"]
    assert [sizes.index(0, i).data() for i in (0, 5, 6)] == [
        "1,417 x 1,460",
        "5.0× · 5.0× · 5.0×",
        "1.9× · 1.6× · 3.2×",
    ]
    assert "all posteriors and counts equal the reference" in page.summary.text()
    assert (page.figure.chart.bars[1].value, page.figure.chart.bars[1].beside) == (5.0, 2.227)
    kept = list((window.settings.data / "laboratory").glob("pair_hmm_ladder-*.json"))
    assert len(kept) == 1
    assert read_document(str(kept[0]), {kind: ladder.needed for kind, ladder in ladders().items()})["x"] == 1949


def test_experiments_can_be_left_out(qtbot: Any, window: MainWindow, page: RungPage, press: Press) -> None:
    page.with_experiments.setChecked(False)
    press(page, "Run")
    assert window.controller.queue.current.spec["variants"] == [row["name"] for row in LADDER.known]
    wait_for_end(qtbot, window)


def test_a_rung_that_differs_is_told(
    qtbot: Any, window: MainWindow, page: RungPage, manners: Callable[..., None], press: Press
) -> None:
    manners(wrong_rung=True)
    press(page, "Run")
    wait_for_end(qtbot, window)
    assert "states, Sizes 1,417 x 1,460: not every posterior and count equals the reference" in texts(page)
    assert "2 measurements with other results" in page.summary.text()
    page.table.selectRow(1)
    assert "differs by 0.01" in texts(window.details)


def test_the_chart_names_what_it_compares(qtbot: Any, fake: ModuleType) -> None:
    view = RungView(LADDER)
    view.take(fake.pair_hmm_ladder_document({"x": 1417, "y": 1460, "pairs": 849}), kept=True)
    assert view.chart().beside_name == "published, on a GeForce GTX 480"
    assert [bar.value for bar in view.experiment_chart("sizes").bars] == [5.0]
    assert view.summary().startswith("Made-up GPU · a pair of 1,417 × 1,460 residues")
