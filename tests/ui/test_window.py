"""Searching and looking at results as a user does: clicks and keys, nothing else."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pyqtgraph import PlotCurveItem
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget

from clalign.databases.examples import load_examples, load_pair_examples
from clalign.engines.engine import engine_named
from clalign.runs.run_file import open_run
from clalign.tracing.files import read_trace, spans_of
from clalign.ui import formatting
from clalign.ui.models.jobs import JobQueue
from clalign.ui.services import job_controller
from clalign.ui.services.job_controller import JobController
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.histogram_view import ScorePlot
from clalign.ui.views.results.export_sheet import ExportSheet
from clalign.ui.views.results.results_page import ResultsPage
from clalign.ui.views.widgets.profile_facts import profile_facts

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier

Press = Callable[[QWidget, str], None]
Drop = Callable[[MainWindow, list[str]], None]
Searched = Callable[[MainWindow], ResultsPage]


def test_dropped_files_sort_themselves_and_one_key_searches(qtbot: Any, loaded: MainWindow, searched: Searched) -> None:
    space = loaded.controller.workspace
    assert (space.profiles.name, space.sequences.name) == ("made.hmm", "made.fasta")
    page = searched(loaded)
    assert page.hits.table.model().rowCount() == 200
    assert "200 hits" in page.hits.counts.text()
    strip = loaded.jobs.row_of(loaded.controller.queue.items[0])
    assert "Search finished: 200 hits" in strip.words.text()
    qtbot.waitUntil(lambda: page.run.hit is not None)
    assert page.run.hit == page.run.hits.row_at(0), "the first hit is selected"
    assert loaded.focusWidget() is page.hits.table, "the arrow keys go through the hits"


def test_a_refused_file_is_reported_and_listed(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Press, drop: Drop
) -> None:
    drop(window, [files["picture.fasta"]])
    qtbot.waitUntil(lambda: bool(window.messages.messages))
    assert "this is a picture. Choose a sequence file." in window.messages.messages[0].text
    assert window.messages.isVisible()
    press(window.messages, "")
    assert not window.messages.isVisible()


@pytest.mark.thorough
def test_a_missing_file_is_reported(window: MainWindow, tmp_path: Path) -> None:
    window.controller.sources.open_paths([str(tmp_path / "gone.fasta")])
    assert "does not exist" in window.messages.messages[0].text


@pytest.mark.thorough
def test_a_hmmer3_profile_without_statistics_is_not_searched(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop
) -> None:
    drop(window, [files["bare3.hmm"], files["made.fasta"]])
    qtbot.waitUntil(lambda: window.controller.workspace.sequences is not None)
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    QTest.keyClick(window, Qt.Key.Key_R, CTRL)
    sheet = window.controller.search.sheet
    assert not sheet.run_button.isEnabled()
    assert "no score statistics" in sheet.run_button.toolTip()


def test_a_hmmer3_profile_is_searched_with_a_preset(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop
) -> None:
    drop(window, [files["new.hmm"], files["made.fasta"]])
    qtbot.waitUntil(lambda: window.controller.search.sheet is not None)
    sheet = window.controller.search.sheet
    assert sheet.run_button.isEnabled()
    facts = dict(profile_facts(window.controller.workspace.profiles.cards[0]))
    assert facts["Format"] == "HMMER3"
    assert facts["Calibration"].startswith("MSV mu −8.00, Viterbi mu −9.00, Forward tau −4.00")
    presets = sheet.form.presets
    assert presets.isEnabled()
    QTest.keyClick(presets, Qt.Key.Key_Down)
    assert (sheet.spec.f1, sheet.spec.f2) == (0.005, 1e-4)
    QTest.keyClick(presets, Qt.Key.Key_Down)
    assert sheet.spec.without_filters
    assert "--max" in sheet.command.text()
    sheet.form.set_values({"without_filters": False, "f1": 0.1})
    assert presets.currentData() == "own"
    assert sheet.spec.f1 == 0.1


@pytest.mark.thorough
def test_dna_for_a_protein_profile_can_be_put_right(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Press, drop: Drop
) -> None:
    drop(window, [files["made.hmm"], files["dna.fasta"]])
    qtbot.waitUntil(lambda: window.controller.workspace.sequences is not None)
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    QTest.keyClick(window, Qt.Key.Key_R, CTRL)
    assert not window.controller.search.sheet.run_button.isEnabled()
    press(window, "Read as proteins")
    qtbot.waitUntil(lambda: window.controller.search.sheet.run_button.isEnabled())
    assert "--alphabet amino" in window.controller.search.sheet.command.text()


def test_the_command_follows_the_form(loaded: MainWindow, press: Press) -> None:
    sheet = loaded.controller.search.sheet
    press(loaded, "More options")
    editor = sheet.form.editors["score"]
    editor.setFocus()
    QTest.keyClicks(editor, "25")
    assert "-T 25" in sheet.command.text()
    press(loaded, "Copy as command")
    assert QGuiApplication.clipboard().text() == sheet.command.text()
    press(loaded, "Copy as Python")
    assert "score=25.0" in QGuiApplication.clipboard().text()
    press(loaded, "Use it")
    assert "--cut_ga" in sheet.command.text()
    QTest.keyClicks(editor, "x")
    assert not sheet.run_button.isEnabled()
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert loaded.controller.search.sheet is None


@pytest.mark.thorough
def test_stop_says_what_is_kept_and_continue_ends_it(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Press
) -> None:
    manners(pause=0.4)  # so that a busy machine stops it before it ends
    press(loaded, "Run search")
    queue = loaded.controller.queue
    qtbot.waitUntil(lambda: queue.current is not None and queue.current.course.fraction > 0.2)
    item = queue.current
    QTest.keyClick(loaded, Qt.Key.Key_Period, CTRL)
    assert "Stopping after this batch" in loaded.jobs.row_of(item).words.text()
    qtbot.waitUntil(lambda: item.state == "stopped")
    page = loaded.controller.page
    qtbot.waitUntil(lambda: page.unfinished_bar.isVisible())
    manners(pause=0)
    press(page, "Continue")
    assert item not in queue.items, "the stopped job would offer to continue what is continued already"
    qtbot.waitUntil(lambda: page.run.is_complete)
    qtbot.waitUntil(lambda: page.run.hits.n_all == 200)
    assert not page.unfinished_bar.isVisible()


@pytest.mark.thorough
def test_a_trace_of_the_next_run_lies_beside_it(
    qtbot: Any, loaded: MainWindow, press: Press, searched: Searched
) -> None:
    record = loaded.actions_.by_id["jobs.record_next_run"]
    record.trigger()
    press(loaded.messages, "Do not record")
    assert any("No trace" in message.text for message in loaded.messages.messages)
    record.trigger()
    page = searched(loaded)
    trace = page.run.path.with_suffix(".trace.json")
    assert {track.owner for track in spans_of(read_trace(trace))} == {"clalign worker"}
    qtbot.waitUntil(lambda: any(trace.name in message.text for message in loaded.messages.messages))
    assert "trace" in loaded.controller.queue.items[0].spec
    again = loaded.controller.jobs.search(loaded.controller.current_spec())
    item = next(item for item in loaded.controller.queue.items if item.run == again)
    assert "trace" not in item.spec, "only the next run was to be recorded"
    qtbot.waitUntil(lambda: item.state == "done")


@pytest.mark.thorough
def test_a_trace_lies_where_nothing_else_is(qtbot: Any, loaded: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, folder = loaded.controller.jobs, loaded.settings.runs
    monkeypatch.setattr(job_controller, "run_name", lambda spec, now: "one.two")
    folder.mkdir(parents=True)
    other = folder / "of somebody else"
    other.write_text("other")
    (folder / "one.two.trace.json").symlink_to(other)
    (folder / "one.two-2.trace.json").symlink_to(folder / "nothing")
    loaded.actions_.by_id["jobs.record_next_run"].trigger()
    jobs.search(loaded.controller.current_spec())
    qtbot.waitUntil(lambda: loaded.controller.queue.current is None)
    assert spans_of(read_trace(folder / "one.two-3.trace.json"))
    assert other.read_text() == "other"
    assert not (folder / "nothing").exists()
    assert [message.text for message in loaded.messages.messages if "one.two-3.trace.json" in message.text]


def test_pause_and_continue_in_the_strip(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Press
) -> None:
    manners(pause=0.4)  # so that a busy machine pauses it before it ends
    press(loaded, "Run search")
    qtbot.waitUntil(lambda: loaded.controller.queue.current.course.done > 0)
    press(loaded.jobs, "Pause")
    assert loaded.controller.queue.current.state == "paused"
    press(loaded.jobs, "Continue")
    assert loaded.controller.queue.current.state == "running"
    press(loaded.jobs, "Stop")


@pytest.mark.thorough
def test_a_killed_worker_leaves_the_window_alive(
    qtbot: Any, loaded: MainWindow, searching: JobQueue, manners: Callable[..., None], press: Press
) -> None:
    os.kill(searching.worker.pid, signal.SIGKILL)
    words = "ended without an answer"
    qtbot.waitUntil(lambda: any(words in m.text and "are safe" in m.text for m in loaded.messages.messages))
    manners(pause=0, batches=60)
    press(loaded.messages, "Continue on another device")
    page = loaded.controller.page
    assert page is not None
    assert searching.current.spec["device"] == "1:0"
    qtbot.waitUntil(lambda: page.run.is_complete and page.run.hits.n_all == 1200)


def test_a_failed_search_says_why(qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Press) -> None:
    manners(fail="The device did not answer.")
    press(loaded, "Run search")
    words = "The device did not answer. Choose another device."
    qtbot.waitUntil(lambda: any(words in message.text for message in loaded.messages.messages))
    assert loaded.controller.page is None


@pytest.mark.thorough
def test_typing_filters_and_the_box_says_what_it_cannot_read(qtbot: Any, page: ResultsPage, press: Press) -> None:
    box = page.hits.filter_box
    QTest.keyClick(page.window(), Qt.Key.Key_F, CTRL)
    assert box.hasFocus()
    QTest.keyClicks(box, "kinase score>50")
    qtbot.waitUntil(lambda: 0 < page.run.hits.n_shown < 100)
    assert " of 200 hits" in page.hits.counts.text().replace("\u202f", "")
    QTest.keyClicks(box, " score>")
    qtbot.waitUntil(lambda: "number is expected" in page.hits.none.words.text())
    press(page.hits.none, "Clear filter and line")
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 200 and page.hits.table.isVisible())
    QTest.keyClick(page.window(), Qt.Key.Key_F, CTRL)
    QTest.keyClicks(box, "kinase")
    qtbot.waitUntil(lambda: page.run.hits.n_shown < 200)
    QTest.keyClick(page.window(), Qt.Key.Key_F, CTRL | Qt.KeyboardModifier.ShiftModifier)
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 200)


@pytest.mark.thorough
def test_a_header_click_sorts_reverses_and_restores(qtbot: Any, page: ResultsPage) -> None:
    header, model = page.hits.table.horizontalHeader(), page.run.hits
    original = [model.row_at(place).id for place in range(20)]
    place = QPoint(header.sectionViewportPosition(1) + 20, header.height() // 2)
    orders = []
    for _ in range(3):
        QTest.mouseClick(header.viewport(), LEFT, pos=place)
        qtbot.waitUntil(lambda: not model.is_busy)
        orders.append([model.row_at(place).name for place in range(200)])
    assert orders[0] == sorted(orders[0])
    assert orders[1] == sorted(orders[0], reverse=True)
    assert [model.row_at(place).id for place in range(20)] == original


def test_a_chosen_hit_shows_its_alignment(page: ResultsPage) -> None:
    table = page.hits.table
    QTest.mouseClick(table.viewport(), LEFT, pos=table.visualRect(page.run.hits.index(2, 1)).center())
    assert page.run.hit.name == page.run.hits.row_at(2).name
    window = page.window()
    assert page.hit.name_label.text().startswith(page.run.hit.name)
    assert page.hit.alignment.isVisible()
    assert page.hit.alignment.shown_lines
    copies = {action.text(): action for action in page.hit._of_hit[0].menu().actions()}
    copies["Alignment as text"].trigger()
    assert "MKVLAAGIVL" in QGuiApplication.clipboard().text()
    copies["Matched parts as FASTA"].trigger()
    assert QGuiApplication.clipboard().text().startswith(">SEQ_")
    before = page.hit.alignment.n_columns
    QTest.keyClick(window, Qt.Key.Key_Plus, CTRL)
    assert page.hit.alignment.n_columns < before


def test_letters_are_commands_but_not_in_a_field(page: ResultsPage) -> None:
    window = page.window()
    page.hits.filter_box.setFocus()
    page.hits.table.clearSelection()
    QTest.keyClicks(page.hits.filter_box, "npld")
    assert page.hits.filter_box.text() == "npld"
    assert page.hits.table.chosen_rows() == []
    page.hits.filter_box.clear()
    page.hits.table.setFocus()
    for key, row in ((Qt.Key.Key_N, 0), (Qt.Key.Key_N, 1), (Qt.Key.Key_N, 2), (Qt.Key.Key_P, 1)):
        QTest.keyClick(window, key)
        assert page.hits.table.chosen_rows() == [row]
    page.histogram.plot.setFocus()
    assert page.histogram.plot.log_counts
    QTest.keyClick(window, Qt.Key.Key_L)
    assert not page.histogram.plot.log_counts
    assert page.histogram.plot.counts_axis.tickStrings([20.0], 1, 1) == ["20"]
    assert not page.histogram.logarithm.isChecked()
    page.show_tab("histogram")
    page.histogram.logarithm.setFocus()
    QTest.keyClick(page.histogram.logarithm, Qt.Key.Key_Space)
    assert page.histogram.plot.log_counts
    assert page.strip.plot.log_counts
    assert window.controller.settings.preferences.log_counts


def test_dragging_the_line_refilters_the_table(qtbot: Any, page: ResultsPage, press: Press) -> None:
    plot = page.strip.plot
    line = plot.lines["report"]
    view = plot.view

    def at(score: float) -> QPoint:
        return plot.mapFromScene(view.mapViewToScene(QPointF(score, view.viewRange()[1][0] + 0.2)))

    start, end = at(line.value()), at(60.0)
    QTest.mousePress(plot.viewport(), LEFT, pos=start)
    for step in range(1, 11):
        QTest.mouseMove(plot.viewport(), start + (end - start) * step / 10)
        qtbot.wait(10)
    QTest.mouseRelease(plot.viewport(), LEFT, pos=end)
    qtbot.waitUntil(lambda: page.run.hits.n_shown < 150 and not page.run.hits.is_busy)
    assert page.run.thresholds["report"] == pytest.approx(60, abs=3)
    assert page.strip.hint.isVisible(), "the significant hits below it are not shown"
    assert all(page.run.hits.row_at(n).score >= page.run.thresholds["report"] for n in range(page.run.hits.n_shown))
    press(page, "Reset line")
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 200)
    assert not page.strip.hint.isVisible()


@pytest.mark.thorough
def test_keys_move_the_lines_and_a_number_can_be_typed(qtbot: Any, page: ResultsPage) -> None:
    QTest.keyClick(page.window(), Qt.Key.Key_3, CTRL)
    plot = page.histogram.plot
    assert plot.hasFocus()
    own = dict(page.run.thresholds)
    QTest.keyClick(plot, Qt.Key.Key_Right)
    assert page.run.thresholds["report"] == own["report"] + 0.5
    QTest.keyClick(plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert page.run.thresholds["report"] == own["report"] + 5.5
    QTest.mouseDClick(plot.viewport(), LEFT, pos=QPoint(plot.width() - 60, 60))
    editor = plot.findChild(QLineEdit)
    assert editor is not None
    QTest.keyClicks(editor, "33.5")
    QTest.keyClick(editor, Qt.Key.Key_Return)
    assert page.run.thresholds == own | {"report": 33.5}
    assert "33.5" in page.run.tag("report", short=True)


@pytest.mark.thorough
def test_an_export_writes_a_file_and_says_so(qtbot: Any, page: ResultsPage, tmp_path: Path, press: Press) -> None:
    window = page.window()
    page.hits.table.choose_row(0)
    for number, form in enumerate(engine_named("plan7").exports[:3]):
        QTest.keyClick(window, Qt.Key.Key_E, CTRL)
        sheet = window.sheets.sheet
        assert isinstance(sheet, ExportSheet)
        sheet.choose_form(form.name)
        which = ("all", "filtered", "selected")[number]
        QTest.mouseClick(sheet.button_of(which), LEFT, pos=QPoint(6, 8))
        path = tmp_path / f"out{number}" / f"hits{form.ending}"
        sheet.path.setText(str(path))
        assert not sheet.export_button.isEnabled()
        assert "does not exist" in sheet.export_button.toolTip()
        path.parent.mkdir()
        sheet.path.setText(str(path) + " ")
        press(sheet, "Export")
        reports = f"written to {path}"
        qtbot.waitUntil(lambda reports=reports: any(reports in m.text for m in window.messages.messages))
        assert path.read_text() == f"{form.name} {1 if which == 'selected' else 200}\n"


def test_verify_says_all_equal(qtbot: Any, page: ResultsPage, press: Press) -> None:
    page.hits.table.choose_row(0)
    press(page.hit, "Verify")
    qtbot.waitUntil(lambda: any("all equal" in m.text for m in page.window().messages.messages))
    press(page, "Verify")
    qtbot.waitUntil(lambda: any("Checked 50 of 50" in m.text for m in page.window().messages.messages))


def test_opening_a_run_shows_it_again(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], drop: Drop
) -> None:
    path = made_run(profiles=2)
    drop(window, [str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 200)
    assert page.queries.isVisible()
    QTest.keyClick(page.queries.table, Qt.Key.Key_Down)
    qtbot.waitUntil(lambda: page.run.profile == 1)
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert window.controller.page is None
    assert window.settings.recent[0].path == str(path)


def test_the_time_of_a_continued_run_is_that_of_its_last_part(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    words = {}
    for name, share in (("whole", 1.0), ("continued", 0.25)):
        with open_run(path := made_run(name=name), writable=True) as run:
            finished = {**run.facts.finished, "new_cells": share * run.facts.finished["cells"]}
            run.set_facts(finished=finished)
        window.controller.sources.open_paths([str(path)])
        page = window.controller.page
        qtbot.waitUntil(lambda page=page: page.run.is_complete and formatting.duration(1.5) in page.summary.text())
        words[name] = page.summary.text()
    assert words["continued"] == words["whole"].replace(
        formatting.duration(1.5), f"{formatting.duration(1.5)} (last part)"
    )


def test_an_unfinished_run_offers_to_continue(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], press: Press
) -> None:
    path = made_run(batches=10, hits=20, complete=False)
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.unfinished_bar.isVisible())
    qtbot.waitUntil(lambda: page.run.hit is not None)
    assert page.hits.table.first_chosen() == 0, "the first hit is there to be looked at"
    press(page, "Continue")
    strip = window.jobs.row_of(window.controller.queue.items[0])
    assert strip._title.text() == f"Continue {page.run.title}"
    qtbot.waitUntil(lambda: page.run.is_complete)
    with open_run(path) as run:
        assert run.n_hits() == 200


@pytest.mark.thorough
def test_the_reference_goes_on_with_a_run_only_where_that_is_wanted(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], press: Press, monkeypatch: pytest.MonkeyPatch,
    fake: ModuleType,
) -> None:  # fmt: skip
    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(JobController, "_submit", lambda self, title, job: asked.append(job))
    path = made_run(complete=False)
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.unfinished_bar.isVisible())
    press(page, "On another device")
    assert [job["device"] for job in asked] == [fake.CPU.id]
    window.controller.workspace.set_devices([fake.GPU])
    press(page, "On another device")
    assert len(asked) == 1
    press(window, "Continue on the reference")
    assert [job["device"] for job in asked] == [fake.CPU.id, "reference"]


@pytest.mark.thorough
def test_a_run_without_hits_names_the_best(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Press, searched: Searched
) -> None:
    manners(hits=0)
    page = searched(loaded)
    assert page.empty.isVisible()
    assert "No hits at E ≤ 10" in page.empty.heading.text()
    press(page.empty, "Search with a higher limit…")
    qtbot.waitUntil(lambda: loaded.controller.search.sheet is not None)
    assert loaded.controller.search.sheet.form.values()[0]["evalue"] == 100


def test_a_damaged_run_is_refused(window: MainWindow, tmp_path: Path) -> None:
    (tmp_path / "bad.clalign").write_bytes(b"SQLite format 3\0" + bytes(200))
    window.controller.sources.open_paths([str(tmp_path / "bad.clalign")])
    assert "not a" in window.messages.messages[0].text
    assert window.controller.page is None


@pytest.mark.thorough
def test_nothing_is_drawn_or_offered_before_there_is_anything(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None]
) -> None:
    plot = ScorePlot()
    qtbot.addWidget(plot)
    plot.set_line("report", 3.0, "shown")
    assert not plot.lines["report"].isVisible()
    assert not any(isinstance(item, PlotCurveItem) and item.isVisible() for item in plot.view.addedItems)
    manners(batches=40, hits=0, pause=0.05)
    QTest.keyClick(loaded, Qt.Key.Key_R, CTRL)
    qtbot.waitUntil(lambda: loaded.controller.page is not None)
    page = loaded.controller.page
    qtbot.waitUntil(lambda: page.empty.isVisible())
    assert page.run.is_live
    assert "No hits yet" in page.empty.heading.text()
    assert not page.wider.isVisible()
    qtbot.waitUntil(lambda: page.wider.isVisible())
    assert page.run.is_complete


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "examples"), [("search", load_examples), ("pairs", load_pair_examples)])
def test_an_example_runs_at_once_where_that_is_wished(
    qtbot: Any, window: MainWindow, name: str, examples: Callable[[], Any]
) -> None:
    window.settings.change(run_examples=True)
    jobs: list[dict[str, Any]] = []
    window.controller.queue.job_added.connect(lambda item: jobs.append(item.spec))
    window.controller.open_example(name, next(iter(examples())))
    qtbot.waitUntil(lambda: any("run" in job for job in jobs))
