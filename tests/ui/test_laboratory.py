"""The ladder, the comparison of devices and calibration, by clicks; their models without widgets."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QWidget

from clalign.common.amounts import THIN, seconds_text
from clalign.errors import InputError, OptionError
from clalign.jobs import QuietContext
from clalign.labs.comparison_results import COLUMNS, COMPARISON, height_of
from clalign.labs.drawings import PICTURES
from clalign.labs.ladder import Ladder
from clalign.labs.publication_lab import PublicationSpec, files_of, run_publication
from clalign.labs.publications import publications
from clalign.labs.register import LADDERS, PUBLICATIONS
from clalign.ui import formatting
from clalign.ui.engines.plan7.calibrate_sheet import CalibrateSheet, fit_chart, fit_words
from clalign.ui.engines.plan7.sheet import RunSheet
from clalign.ui.models.laboratory.documents import (
    read_document,
    with_other_machine,
    write_document,
)
from clalign.ui.models.laboratory.lab_view import LabView
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.picture_sheet import SizedPictureSheet
from clalign.ui.views.laboratory.comparison_page import ComparisonPage, SearchesPage
from clalign.ui.views.laboratory.lab_page import LabPage
from clalign.ui.views.laboratory.publication_page import PublicationPage
from clalign.ui.views.laboratory.rung_page import RungPage
from clalign.values.axes import linear_ticks, log_ticks, tick_text
from clalign.values.charts import CellChart

pytestmark = pytest.mark.thorough

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier

Press = Callable[[QWidget, str], None]

LADDER, PAIRS, PAIR_HMM = LADDERS.values()
EACH = pytest.mark.parametrize("ladder", LADDERS.values(), ids=list(LADDERS))


def texts(parent: QWidget) -> str:
    """Return the words that are seen; what was just added is seen in the next turn."""
    QTest.qWait(30)
    return " ".join(shown.text() for shown in parent.findChildren(QLabel) if shown.isVisible())


def opened(window: MainWindow, ladder: Ladder) -> RungPage:
    """Return the page of a ladder, reached by its command in the menu."""
    window.actions_.by_id[f"labs.open:{ladder.kind}"].trigger()
    page = window.controller.labs.page
    assert isinstance(page, RungPage)
    assert page.ladder is ladder
    return page


@pytest.fixture
def ladder_page(window: MainWindow) -> RungPage:
    QTest.keyClick(window, Qt.Key.Key_F7)
    page = window.controller.labs.page
    assert isinstance(page, RungPage)
    return page


def type_into(field: QWidget, text: str) -> None:
    field.setFocus()
    QTest.keyClick(field, Qt.Key.Key_A, CTRL)
    QTest.keyClick(field, Qt.Key.Key_Delete)
    QTest.keyClicks(field, text)


def cells(page: LabPage, key: str, row: int) -> dict[str, str]:
    """Return what a table says of a row by the titles of its columns."""
    model = page.view.tables[key]
    return {model.columns[i].title: model.index(row, i).data() for i in range(model.columnCount())}


@pytest.fixture
def comparison_page(window: MainWindow, press: Press) -> ComparisonPage:
    window.chip.click()
    press(window.devices, "Compare devices…")
    page = window.controller.labs.page
    assert isinstance(page, ComparisonPage)
    return page


def wait_for_end(qtbot: Any, window: MainWindow) -> None:
    qtbot.waitUntil(lambda: window.controller.queue.current is None)


FILLED = {"ladder": {}, "smith_waterman_ladder": {"length": "256"}, "pair_hmm_ladder": {"x": "1949"}}
"""What is typed into the fields of each ladder."""

JOBS = {
    "ladder": {"hmm": None, "db": None},
    "smith_waterman_ladder": {"pairs": 1000, "length": 256},
    "pair_hmm_ladder": {"x": 1949, "y": 1460, "pairs": 849},
}

CELLS = {
    "ladder": ("rows", 2, {"Rung": "private scores", "Speed-up": "12.4×", "Published": "21.5×", "Registers": "40",
                           "Local memory": f"0{formatting.THIN}B", "Occupancy": f"50{formatting.THIN}%"}),
    "smith_waterman_ladder": ("rows", 1, {"Rung": "global", "Speed-up": "4.00×", "Host": seconds_text(0.125, THIN),
                                          "Published kernel": seconds_text(0.2736, THIN)}),
    "pair_hmm_ladder": ("rows", 3, {"Rung": "states", "Speed-up": "5.00×", "Forward": seconds_text(0.1, THIN),
                                    "Published Forward": seconds_text(0.395, THIN), "Of each sweep": "0.2 · 0.2 · 0.2",
                                    "Published run": f"57.8{formatting.THIN}min"}),
}  # fmt: skip

BARS = {"ladder": (12.4, 21.5), "smith_waterman_ladder": (4.0, 2.57), "pair_hmm_ladder": (5.0, 2.227)}
"""Measured and published, of the rung in `CELLS`."""


@EACH
def test_rungs_are_run_and_kept(qtbot: Any, window: MainWindow, press: Press, ladder: Ladder) -> None:
    page = opened(window, ladder)
    assert [row["name"] for row in page.view.rows] == [rung.name for rung in ladder.rungs]
    assert not page.tools["save"].isEnabled()
    assert page.summary.text() == ladder.promise
    for key, text in FILLED[ladder.kind].items():
        type_into(page.fields[key], text)
    numbers: list[int] = []
    page.view.changed.connect(lambda: numbers.append(page.view.n_done))
    press(page, "Run")
    job = window.controller.queue.current.spec
    assert job == {"job": ladder.kind, "device": "0:0", "variants": None, **JOBS[ladder.kind]}
    assert not page.run_button.isVisible()
    assert page.stop_button.isVisible()
    wait_for_end(qtbot, window)
    assert {0, 1, 2} <= set(numbers), "rows arrive one by one"
    key, row, expected = CELLS[ladder.kind]
    shown = cells(page, key, row)
    assert shown["Check"] == "equal"
    assert shown.items() >= expected.items()
    assert ladder.results in page.summary.text()
    bar = page.in_view.figure.chart.bars[row]
    assert (bar.value, bar.beside) == BARS[ladder.kind]
    kept = list((window.settings.data / "laboratory").glob(f"{ladder.kind}-*.json"))
    assert [read_document(str(path)) for path in kept] == [page.view.document]
    for tab in page.experiments:  # facts are of rungs, and a row of another table is none
        page.tabs.setCurrentWidget(tab)
        for chosen in range(len(tab.table.model().rows)):
            tab.table.selectRow(chosen)


def test_rows_without_times_say_why(qtbot: Any, window: MainWindow, ladder_page: RungPage, press: Press) -> None:
    press(ladder_page, "Run")
    wait_for_end(qtbot, window)
    bar = ladder_page.in_view.figure.chart.bars[4]
    assert bar.value is None
    assert "66 kB of local memory" in bar.note
    page = opened(window, PAIR_HMM)
    press(page, "Run")
    wait_for_end(qtbot, window)
    all_at_once = cells(page, "rows", 2)
    assert [all_at_once[name] for name in ("Forward", "Backward", "Baum-Welch")] == ["", "", ""]
    assert cells(page, "sizes", 0).items() >= {
        "Residues": "1,417 x 1,460", "Speed-ups": "5.00× · 5.00× · 5.00×", "Published": "1.94× · 1.59× · 3.24×",
    }.items()  # fmt: skip
    assert [bar.value for bar in page.view.chart("sizes").bars] == [5.0]


def test_another_ladder_is_chosen(ladder_page: RungPage, window: MainWindow) -> None:
    ladder_page.ladders.setFocus()
    QTest.keyClick(ladder_page.ladders, Qt.Key.Key_Down)
    other = window.controller.labs.page
    assert other.ladder is PAIRS
    assert PAIRS.title in window.windowTitle()
    other.ladders.setFocus()
    QTest.keyClick(other.ladders, Qt.Key.Key_Up)
    assert window.controller.labs.page is ladder_page


def test_numbers_that_make_no_sense_cannot_be_run(window: MainWindow) -> None:
    page = opened(window, PAIRS)
    for key, wrong, right in (("pairs", "none", "10"), ("length", "0", "9,000")):
        type_into(page.fields[key], wrong)
        assert not page.run_button.isEnabled()
        assert page.run_button.toolTip()
        type_into(page.fields[key], right)
        assert page.run_button.isEnabled()
    assert page.values() == {"pairs": 10, "length": 9000}
    fields = [*page.fields.values(), page.run_button]
    assert len({field.mapTo(page, field.rect().topLeft()).x() for field in fields}) == len(fields)


def test_only_ticked_rungs_are_asked_for(qtbot: Any, window: MainWindow, ladder_page: RungPage, press: Press) -> None:
    press(ladder_page, "Tick none")
    assert not ladder_page.run_button.isEnabled()
    table = ladder_page.in_view.table
    table.setFocus()
    table.setCurrentIndex(table.model().index(1, 0))
    QTest.keyClick(table, Qt.Key.Key_Space)
    box = table.visualRect(table.model().index(2, 0))
    QTest.mouseClick(table.viewport(), LEFT, pos=box.topLeft() + QPoint(12, box.height() // 2))
    names = [rung.name for rung in LADDER.rungs][1:3]
    assert ladder_page.view.chosen_names() == names
    QTest.mouseClick(ladder_page.with_experiments, LEFT, pos=QPoint(8, ladder_page.with_experiments.height() // 2))
    press(ladder_page, "Run")
    assert window.controller.queue.current.spec["variants"] == names
    wait_for_end(qtbot, window)
    QTest.mouseClick(ladder_page.with_experiments, LEFT, pos=QPoint(8, ladder_page.with_experiments.height() // 2))
    press(ladder_page, "Run")
    assert set(LADDER.experiment_names) < set(window.controller.queue.current.spec["variants"])
    wait_for_end(qtbot, window)


def test_all_rungs_without_experiments_are_named(window: MainWindow, ladder_page: RungPage, press: Press) -> None:
    QTest.mouseClick(ladder_page.with_experiments, LEFT, pos=QPoint(8, ladder_page.with_experiments.height() // 2))
    press(ladder_page, "Run")
    assert window.controller.queue.current.spec["variants"] == [rung.name for rung in LADDER.rungs]


@EACH
def test_a_rung_that_differs_is_reported(
    qtbot: Any, window: MainWindow, manners: Callable[..., None], press: Press, ladder: Ladder
) -> None:
    page = opened(window, ladder)
    manners(wrong_rung=True)
    press(page, "Run")
    wait_for_end(qtbot, window)
    wrong = {
        "viterbi": ["unroll 8", "Work-group size 256"],
        "sw": ["global"],
        "pairhmm": ["states", "Sizes 1,417 x 1,460"],
    }
    assert ladder.wrong(page.view.document) == wrong[ladder.name]
    assert all(name in texts(page) for name in wrong[ladder.name])
    place = next(i for i, row in enumerate(page.view.rows) if row["name"] == wrong[ladder.name][0])
    assert [cells(page, "rows", row)["Check"] for row in (0, place)] == ["equal", "differs"]
    bar = page.in_view.figure.chart.bars[place]
    assert bar.value is None
    reason = page.view.rows[place]["reason"]
    assert reason in bar.tip
    page.in_view.table.selectRow(place)
    assert reason in texts(window.details)
    assert "What differs" in texts(window.details)
    assert "Why it was not run" not in texts(window.details)


def test_the_ladder_stops_and_keeps_its_rows(
    qtbot: Any, window: MainWindow, ladder_page: RungPage, manners: Callable[..., None], press: Press
) -> None:
    manners(pause=0.3)
    model = ladder_page.in_view.table.model()
    assert model.setData(model.index(3, 0), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)
    press(ladder_page, "Run")
    assert window.actions_.by_id["stop_job"].isEnabled()
    qtbot.waitUntil(lambda: ladder_page.view.rows[0]["status"] == "measuring")
    assert cells(ladder_page, "rows", 0)["Check"] == "measuring"
    assert ladder_page.view.rows[1]["status"] == "not run yet"
    line = window.jobs.row_of(window.controller.queue.current)
    assert ladder_page.view.rows[0]["name"] in line.words.text()
    window.controller.show_start()
    QTest.mouseClick(line, LEFT)
    assert window.center.currentWidget() is ladder_page, "a click on the job leads to its page"
    qtbot.waitUntil(lambda: ladder_page.view.n_done > 0)
    n_ticked = sum(row["wanted"] for row in ladder_page.view.rows)
    assert n_ticked == len(ladder_page.view.rows) - 1
    assert f"{ladder_page.view.n_done} of {n_ticked} rungs so far" in ladder_page.summary.text()
    press(ladder_page, "Stop")
    wait_for_end(qtbot, window)
    assert 1 <= ladder_page.view.n_done < 4
    assert ladder_page.run_button.isVisible()
    assert ladder_page.summary.text().startswith("stopped after 1 of ")
    assert not any(row["status"] == "measuring" for row in ladder_page.view.rows)


def test_a_ladder_is_saved_opened_copied_and_drawn(
    qtbot: Any,
    window: MainWindow,
    ladder_page: RungPage,
    press: Press,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    press(ladder_page, "Run")
    wait_for_end(qtbot, window)
    (tmp_path / "taken").touch()
    answers = iter([tmp_path / "ladder.json", tmp_path / "taken" / "x"])
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *rest: (str(next(answers)), ""))
    press(ladder_page, "Save…")
    press(ladder_page, "Save…")
    qtbot.waitUntil(lambda: [message.severity for message in window.messages.messages] == ["stop", "good"])

    def draw(name: str) -> None:
        press(ladder_page, "Picture…")
        sheet = window.sheets.sheet
        assert isinstance(sheet, SizedPictureSheet)
        sheet.width_box.setValue(127)
        sheet.path.setText(str(tmp_path / name))
        sheet.export_button.click()
        qtbot.waitUntil(lambda: (tmp_path / name).exists() and window.controller.files.is_idle)

    draw("ladder.svg")
    svg = QSvgRenderer(str(tmp_path / "ladder.svg"))
    assert svg.isValid()
    assert "private scores" in (tmp_path / "ladder.svg").read_text()
    ladder_page.tabs.setCurrentIndex(3)
    draw("group.png")
    assert QImage(str(tmp_path / "group.png")).width() == 1500, "127 mm are 5 inches of 300 pixels"
    press(ladder_page, "Copy table")
    assert QGuiApplication.clipboard().text().startswith("Work-group\tCheck\tKernel")
    ladder_page.tabs.setCurrentIndex(0)
    ladder_page.view.begin()
    assert not ladder_page.view.n_done
    ladder_page.view.end()
    window.controller.show_start()
    window.controller.sources.open_paths([str(tmp_path / "ladder.json")])
    assert window.controller.labs.page is ladder_page
    assert ladder_page.view.n_done == 4
    assert "Ladder" in window.windowTitle()
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert window.center.currentWidget() is window.start


def test_the_dock_shows_all_that_is_known_about_a_rung(
    qtbot: Any, window: MainWindow, ladder_page: RungPage, press: Press
) -> None:
    ladder_page.in_view.table.selectRow(0)
    assert "not run yet" in texts(window.details)
    press(ladder_page, "Run")
    wait_for_end(qtbot, window)
    assert "not run yet" not in texts(window.details), "it tells what is known now of the rung that was chosen"
    assert "Kernel" in texts(window.details)
    ladder_page.in_view.table.selectRow(4)
    assert "270 nodes need 66 kB" in texts(window.details)
    window.controller.show_start()
    window.controller.labs.open(ladder_page.view.of.kind)
    assert "270 nodes need 66 kB" in texts(window.details), "its row is still selected"
    ladder_page.in_view.table.selectRow(2)


def test_devices_are_compared(qtbot: Any, window: MainWindow, comparison_page: ComparisonPage, press: Press) -> None:
    assert comparison_page.job_request()[0]["devices"] == ["0:0", "1:0"]
    assert not comparison_page.ticks["2:0"].isEnabled()
    assert "3 of 512" in comparison_page.ticks["2:0"].toolTip()
    press(comparison_page, "Compare devices")
    wait_for_end(qtbot, window)
    shown = texts(comparison_page)
    assert "Both devices have the same scores" in shown
    assert "Made-up GPU is 10.0 times as fast as Made-up CPU" in shown
    assert "Below about 13,000,000 residues Made-up CPU is done first" in shown
    chart = comparison_page.in_view.figure.chart
    assert [line.name for line in chart.lines] == ["Made-up GPU", "Made-up CPU"]
    assert chart.marks[0].x == pytest.approx(1.333e7)
    comparison_page.in_view.table.selectRow(1)
    assert "Made-up CPU" in texts(window.details)
    comparison_page.tabs.setCurrentIndex(1)
    assert [bar.value for bar in comparison_page.in_view.figure.chart.bars] == [50.0, 5.0]


def test_a_forecast_comes_once_another_job_has_ended(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None]
) -> None:
    manners(pause=0.4)
    controller = loaded.controller
    controller.search.sheet.run_button.click()
    job = controller.queue.current
    qtbot.waitUntil(lambda: job.course.done > 0)
    controller.queue.toggle_pause(job)  # however long the page takes on a busy machine
    qtbot.waitUntil(lambda: controller.page is not None and controller.page.run.spec is not None)
    controller.labs.compare()
    page = controller.labs.page
    assert isinstance(page, SearchesPage)
    page._calm.stop()
    page._calm.setInterval(0)
    page.request_forecast()
    assert controller.queue.current is job
    assert controller.inspector.dry_run_worker is None
    controller.queue.stop(job)
    qtbot.waitUntil(lambda: bool(page.forecast.text()))


def test_devices_are_compared_by_the_search_of_the_user(
    qtbot: Any, window: MainWindow, files: dict[str, str], manners: Callable[..., None], press: Press
) -> None:
    manners(pause=0.05)
    window.controller.sources.open_paths([files["made.hmm"], files["made.fasta"]])
    qtbot.waitUntil(lambda: window.controller.search.sheet is not None)
    qtbot.waitUntil(lambda: window.controller.current_spec() is not None)
    window.chip.click()
    press(window.devices, "Compare devices…")
    page = window.controller.labs.page
    assert isinstance(page, SearchesPage)
    job, problem = page.job_request()
    assert not problem
    assert (job["of"], job["devices"], job["spec"]["targets"]) == ("search", ["0:0", "1:0"], files["made.fasta"])
    window.workspace.learn("plan7", "0:0", 1.0, 10.0)
    page.request_forecast()
    qtbot.waitUntil(lambda: bool(page.forecast.text()))
    assert page.forecast.text().split(" · ") == [
        f"Takes {formatting.about(50)}", f"0:0 {formatting.about(29.5)}", f"1:0 {formatting.about(20.5)}"
    ], "only the time of the cells is what a run has shown"  # fmt: skip
    seen: list[list[str]] = []
    bars: list[list[Any]] = []
    drawn = lambda: getattr(page.view.chart("devices"), "bars", ())  # noqa: E731
    page.view.changed.connect(lambda: bars.append([(bar.grows, bar.note) for bar in drawn()]))
    page.view.changed.connect(lambda: seen.append([cells(page, "devices", i)["State"] for i in range(2)])
                              if len(page.view.rows) == 2 else None)  # fmt: skip
    press(page, "Compare devices")
    wait_for_end(qtbot, window)
    assert any(first.startswith("Searching") and second == "waits" for first, second in seen), "both are in view"
    assert any(first[0] and second == (False, "waits") for first, second in filter(lambda b: len(b) == 2, bars))
    assert not any(grows for grows, _ in bars[-1]), "what grew is a result in the end"
    assert [cells(page, "devices", i)["Scores and E-values"] for i in range(2)] == ["the same"] * 2
    assert "Both devices found the same" in texts(page)
    chart = page.in_view.figure.chart
    assert [bar.name for bar in chart.bars] == ["Made-up GPU", "Made-up CPU"]
    assert page.measured.isHidden()
    assert not page.forecast.text(), "kernels are compiled by now"
    page.show_search(replace(page.spec, evalue=1e-5))
    assert not page.measured.isHidden(), "Compare takes another search than that of the rows"
    assert page.measured.text().endswith(job["command"])
    page.ticks["1:0"].setChecked(False)
    assert "two devices" in page.job_request()[1]


def test_without_a_search_a_line_says_why_devices_are_not_compared(window: MainWindow) -> None:
    window.controller.library.show()
    QTest.keyClick(window, Qt.Key.Key_F8)
    page = window.controller.labs.page
    assert isinstance(page, SearchesPage)
    assert not page.run_button.isEnabled()
    assert page.forecast.isVisible()
    assert page.forecast.text() == page.job_request()[1] != ""


def test_what_cannot_be_compared_says_why(window: MainWindow, comparison_page: ComparisonPage) -> None:
    comparison_page.residues.setText("many")
    comparison_page.residues.setText("20,000")
    job, problem = comparison_page.job_request()
    assert (job["nodes"], job["residues"], problem) == (200, 20000, "")
    for tick in (comparison_page.ticks[name] for name in ("0:0", "1:0")):
        assert not comparison_page.job_request()[1]
        QTest.mouseClick(tick, LEFT, pos=QPoint(8, tick.height() // 2))
    assert comparison_page.job_request()[1]


def test_a_comparison_of_another_machine_is_added(
    qtbot: Any,
    window: MainWindow,
    comparison_page: ComparisonPage,
    press: Press,
    fake: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    press(comparison_page, "Compare devices")
    wait_for_end(qtbot, window)
    other = fake.comparison_document(fake.CPU)
    other["devices"][0]["scores_digest"] = "ff"
    write_document(other, tmp_path / "cluster.json")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *rest: (str(tmp_path / "cluster.json"), ""))
    press(comparison_page, "Open…")
    names = [comparison_page.view.tables["devices"].index(i, 0).data() for i in range(3)]
    assert names == ["Made-up GPU", "Made-up CPU", "Made-up CPU (cluster)"]
    assert "do not have the same scores" in texts(comparison_page)


def test_a_file_that_is_no_result_is_reported(window: MainWindow, tmp_path: Path) -> None:
    for name, text, why in (
        ("a.json", "{", "not readable as JSON"),
        ("b.json", "[1]", "not a report of clalign's laboratory"),
        ("d.json", "[" * 100_000, "nested too deeply"),
        ("c.json", '{"kind": "ladder"}', "not a whole document"),
    ):
        (tmp_path / name).write_text(text)
        window.controller.sources.open_paths([str(tmp_path / name)])
        assert any(why in message.text for message in window.messages.messages)
        with pytest.raises(InputError, match=why):
            read_document(str(tmp_path / name))


def test_a_profile_is_calibrated_and_takes_its_place(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Press, manners: Callable[..., None]
) -> None:
    window.controller.sources.open_paths([files["bare.hmm"]])
    qtbot.waitUntil(lambda: window.controller.workspace.profiles is not None)
    qtbot.waitUntil(lambda: "This HMMER2 profile has no calibration" in texts(window.details))
    manners(pause=0.1)
    press(window.details, "Calibrate…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, CalibrateSheet)
    press(sheet, "Calibrate")
    qtbot.waitUntil(lambda: sheet.figure.isVisible() and sheet.figure.chart is not None)
    wait_for_end(qtbot, window)
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    output = window.settings.data / "calibrated" / "bare.hmm"
    assert window.controller.workspace.profiles_path == str(output)
    assert files["bare.hmm"] not in window.controller.workspace.sources
    assert "bare" in Path(files["bare.hmm"]).read_text(), "the original stays as it is"
    assert sheet.figure.chart.center == -10.0
    assert "mu −10.000, lambda 0.5000" in texts(sheet)
    press(sheet, "Search with it…")
    assert isinstance(window.sheets.sheet, RunSheet)
    assert "no calibration" not in texts(window.sheets.sheet)


def test_the_search_sheet_offers_to_calibrate(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Press, drop: Callable[..., None]
) -> None:
    drop(window, [files["bare.hmm"], files["made.fasta"]])
    qtbot.waitUntil(lambda: window.controller.search.sheet is not None)
    press(window.controller.search.sheet, "Calibrate…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, CalibrateSheet)
    for field, text, why in (
        (sheet.number, "3", "Give a number of sequences"),
        (sheet.seed, "x", "A seed is a whole number"),
        (sheet.output, files["bare.hmm"], "The original is not changed"),
    ):
        before = field.text()
        field.setText(text)
        assert why in sheet.run_button.toolTip()
        assert not sheet.run_button.isEnabled()
        field.setText(before)
    assert sheet.run_button.isEnabled()


def test_a_calibration_that_ends_early_can_be_tried_again(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Press, manners: Callable[..., None]
) -> None:
    window.controller.sources.open_paths([files["bare.hmm"]])
    qtbot.waitUntil(lambda: window.controller.workspace.profiles is not None)
    manners(fail="There is too little memory.")
    window.controller.search.calibrating.calibrate()
    sheet = window.sheets.sheet
    press(sheet, "Calibrate")
    wait_for_end(qtbot, window)
    assert "There is too little memory. Choose another device." in texts(sheet)
    manners(pause=0.3)
    press(sheet, "Calibrate")
    qtbot.waitUntil(lambda: sheet.figure.isVisible())
    press(sheet, "Stop")
    wait_for_end(qtbot, window)
    assert sheet.run_button.isVisible()
    assert files["bare.hmm"] in window.controller.workspace.sources


def test_a_device_is_tuned(qtbot: Any, window: MainWindow, press: Press) -> None:
    window.chip.click()
    press(window.devices, "Details")
    sheet, reports = window.sheets.sheet, list[str]()
    # One trial takes the place of another, and a busy machine may see none of them for long.
    sheet.resized.connect(lambda: reports.extend(shown.text() for shown in sheet.findChildren(QLabel)))
    press(sheet, "Tune")
    assert window.controller.queue.current.spec == {"job": "tune", "device": "0:0", "reset": False}
    wait_for_end(qtbot, window)
    assert any("Nodes per strip: 8 (item)" in words for words in reports)
    words = "Made-up GPU is tuned after 3 trials: nodes per strip: 16 (before: 12)."
    assert words in [message.text for message in window.messages.messages]
    assert "its scores differ" in texts(sheet)
    press(window.messages, "Forget it")
    assert window.controller.queue.current.spec["reset"]
    wait_for_end(qtbot, window)
    assert window.messages.messages


def test_the_reference_has_nothing_to_tune(window: MainWindow) -> None:
    window.controller.workspace.choose_device("reference")
    window.controller.update_actions()
    action = window.actions_.by_id["devices.tune"]
    assert not action.isEnabled()
    window.controller.devices.device_details()
    QTest.qWait(30)
    assert not window.sheets.sheet.tune.isVisible()


# --- models, without widgets ---


def test_ticks_are_round_numbers() -> None:
    assert linear_ticks(0, 50, 5) == [0, 10, 20, 30, 40, 50]
    assert log_ticks(1, 100, 8) == [1, 2, 5, 10, 20, 50, 100]
    assert log_ticks(1, 1e12, 4)[0] == 1
    assert len(log_ticks(1, 1e12, 4)) <= 5
    shown = ["−8", "0.05", "250", "2,000", "10\u202fk", "2\u202fM", "3\u202fG"]
    assert [tick_text(v) for v in (-8, 0.05, 250, 2000, 10_000, 2e6, 3e9)] == shown


def test_crossing_points_lie_on_their_lines(fake: ModuleType) -> None:
    view = LabView(COMPARISON)
    view.take(fake.comparison_document(fake.GPU, fake.CPU))
    mark = view.chart("devices").marks[0]
    assert mark.y == pytest.approx(height_of(view.rows[0], mark.x), rel=0.1), "both lines meet there"
    view.document["break_even"][0]["residues"] = 1e12
    assert not view.chart("devices").marks, "far beyond what was measured nothing is drawn"


def test_what_did_a_sample_is_no_faster_than_what_did_all(qtbot: Any) -> None:
    curve = [{"residues": size, "seconds": size / 1e7} for size in (100_000, 10_000_000)]
    fast = {"device": {"id": "0:0", "name": "Fast"}, "gcups": 2.0, "kernel_seconds": 1.0, "curve": curve}
    slow = {"device": {"id": "reference", "name": "Slow"}, "gcups": 0.002, "kernel_seconds": 0.5, "residues": 5000}
    view = LabView(COMPARISON)
    view.add_row(fast)
    view.add_row(slow)
    kernel = next(column for column in COLUMNS if column.title == "Kernel")
    assert [kernel.text(row) for row in view.rows] == ["1\u202fs", "a sample"]
    job = {"nodes": 200, "n_sequences": 9, "n_residues": 10_000_000, "cells": 2e9}
    view.take({"job": job, "devices": [fast, slow]})
    assert [kernel.text(row) for row in view.rows] == ["1\u202fs", f"≈ {seconds_text(1000, THIN)}"]
    assert any(f"a sample of {formatting.plural(5000, 'residue')}" in text for _, text in view.verdicts())
    lines = view.chart("devices").lines
    assert [line.name for line in lines] == ["Fast", "Slow, from a sample", "Slow, from a sample"]
    assert lines[1].points == ((5000, 0.5),)
    assert lines[2].is_fit
    assert lines[2].points[-1] == (10_000_000, pytest.approx(1000.0))


def test_a_ladder_grows_and_keeps_its_ticks(qtbot: Any, fake: ModuleType) -> None:
    ladder = LabView(LADDER)
    ladder.tick_all(False)
    ladder.begin()
    ladder.add_row(fake.rung("basic", 1.0, 1.0))
    ladder.add_row(fake.rung("something new", 2.0, 2.0))
    assert ladder.n_done == 2
    assert ladder.chosen_names() == ["something new"]
    assert dict(LADDER.experiments[0].facts(ladder.rows[0]))["Occupancy"] == f"50{formatting.THIN}%"
    assert ladder.tables["rows"].tsv().count("\n") == len(LADDER.known) + 2


def test_devices_of_another_machine_are_distinguished(fake: ModuleType, tmp_path: Path) -> None:
    here, there = fake.comparison_document(fake.GPU), fake.comparison_document(fake.GPU)
    write_document(there, tmp_path / "there.json")
    view = LabView(COMPARISON)
    view.take(with_other_machine(here, str(tmp_path / "there.json")))
    assert [line.name for line in view.chart("devices").lines] == ["Made-up GPU", "Made-up GPU (there)"]
    write_document({**there, "job": {**there["job"], "nodes": 5}}, tmp_path / "there.json")
    with pytest.raises(OptionError, match="different jobs"):
        with_other_machine(here, str(tmp_path / "there.json"))


def test_the_fit_is_drawn_over_all_scores() -> None:
    fit = {"name": "x", "mu": 1.0, "lambda": 0.7, "n": 4, "seed": 1, "edge": 0.0, "words": "Fit is good",
           "n_fitted": 3, "n_censored": 1, "histogram": {"low": -2, "width": 1, "counts": [1, 0, 2, 1]}}  # fmt: skip
    chart = fit_chart(fit)
    assert (chart.left, chart.counts, chart.edge) == (-2.0, (1, 0, 2, 1), 0.0)
    highest = max(chart.curve, key=lambda point: point[1])
    assert highest[0] == pytest.approx(1.0, abs=0.02)
    assert fit_words(fit).endswith("Fit is good.")


def test_tables_of_a_source_are_ticked_and_repeated(
    window: MainWindow, press: Press, qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.actions_.by_id["labs.open:publication_004"].trigger()
    page = window.controller.labs.page
    assert isinstance(page, PublicationPage)
    assert len(page.view.rows) == len(PUBLICATIONS["004"].source.items)
    qtbot.waitUntil(page.run_button.isEnabled)
    press(page, "Tick none")
    assert not page.run_button.isEnabled()
    place = next(i for i, row in enumerate(page.view.rows) if row["name"] == "table 3.4")
    model = page.view.tables["rows"]
    assert model.setData(model.index(place, 0), Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    assert page.job_request()[0]["variants"] == ["table 3.4"]
    page.view.begin()
    page.view.measure(f"{page.view.rows[place]['by']}: basic")
    assert [row["name"] for row in page.view.rows if row["status"] == "measuring"] == ["table 3.4"]
    assert cells(page, "rows", place)["Check"] == "measuring"
    document = run_publication(PublicationSpec(source="004", variants=("table 3.4",)), QuietContext())
    page.view.take(document)
    assert [row["name"] for row in page.view.rows if row["status"] == "done"] == ["table 3.4"]
    assert cells(page, "values", 0)["Row"] == "sequence"
    page.row_chosen.emit(page.view.rows[place])
    assert "total, mean" in texts(window.details)
    page.is_small.setChecked(True)
    page.is_full.setChecked(True)
    asked = page.job_request()[0]
    assert (asked["is_small"], asked["is_full"], asked["hmm"], asked["db"]) == (False, True, None, None)
    path = tmp_path / "report.html"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *asked: (str(path), "Report (*.html)"))
    page.tools["save"].click()
    qtbot.waitUntil(path.exists)
    assert "table 3.4" in path.read_text("utf-8")


def test_whole_runs_of_a_source_take_files_and_drawings_need_no_run(loaded: MainWindow, files: dict[str, str]) -> None:
    taken = {key: [asked.key for asked in files_of(laboratory)] for key, laboratory in PUBLICATIONS.items()}
    assert taken == {"001": [], "002": [], "003": ["db"], "004": ["hmm", "db"]}
    loaded.actions_.by_id["labs.open:publication_004"].trigger()
    page = loaded.controller.labs.page
    assert isinstance(page, PublicationPage)
    for key, path in (("hmm", files["made.hmm"]), ("db", files["made.fasta"])):
        page.files[key].setCurrentIndex(page.files[key].findData(path))
        assert page.job_request()[0][key] == path
    shown = {tab.key: tab.figure.chart for tab in page.experiments if tab.key in PICTURES}
    drawn = [item.drawing for item in publications()["004"].items if item.drawing]
    assert list(shown) == list(dict.fromkeys(drawn))
    assert {"example", "plan7", "deletes", "systolic", "residues"} <= set(shown)
    assert len(page.view.tables) == len(page.experiments)
    assert all(isinstance(chart, CellChart) for chart in shown.values())
    assert cells(page, "example", 0)["Item"] == "table 3.2"
