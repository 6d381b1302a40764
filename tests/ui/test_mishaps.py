"""What goes wrong around the window: damaged, deleted and missing files, and what is then said."""

import contextlib
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLineEdit, QPlainTextEdit, QPushButton, QWidget

import clalign
from clalign.ui.models.jobs import JobItem, JobQueue
from clalign.ui.services.source_controller import MAX_IN_FOLDER
from clalign.ui.shell.app import show_faults
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.results_page import MEANWHILE, ResultsPage

pytestmark = pytest.mark.thorough

Press = Callable[[QWidget, str], None]


def test_a_run_that_is_damaged_inside_is_reported(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    path = made_run()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x55" * (size - 4096))
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: bool(page.run.refusal))
    assert not page.run.cards
    assert_refused(page, "is damaged")


def assert_refused(page: ResultsPage, reason: str) -> None:
    """Check that a page shows why its run is refused, and offers nothing that cannot work."""
    assert page.waiting.isVisible()
    assert reason in page.waiting.words.text()
    assert str(page.run.path) not in page.waiting.words.text(), "it stands above"
    assert page.summary.text() == str(page.run.path)
    shown = [b.text() for b in page.findChildren(QAbstractButton) if b.isVisible()]
    assert shown == ["Try again"]
    window = page.window()
    assert not [m for m in window.messages.messages if m.severity == "stop"], "it is said once"
    actions = window.actions_.by_id
    enabled = [name for name in ("hits.export_hits", "hits.verify_run", "resume_run") if actions[name].isEnabled()]
    assert not enabled
    assert actions["close_page"].isEnabled()
    assert window.details.currentWidget() is window.details.source, "there is no hit to select"


@pytest.mark.parametrize("is_foreign", [True, False])
def test_a_damaged_run_that_is_mended_opens_again(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], tmp_path: Path, press: Press, is_foreign: bool
) -> None:
    path = made_run()
    kept = shutil.copy(path, tmp_path / "kept")
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        if is_foreign:
            connection.execute("CREATE VIEW strange AS SELECT 1")
        else:
            connection.execute("UPDATE facts SET value = '[1]' WHERE name = 'spec'")
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: bool(page.run.refusal))
    assert_refused(page, "is damaged")
    shutil.copy(kept, path)
    press(page, "Try again")
    qtbot.waitUntil(lambda: window.controller.page is not page and bool(window.controller.page.run.hits.n_all))
    assert not window.controller.page.waiting.isVisible()


def test_a_run_that_is_moved_while_it_is_shown_is_reported(qtbot: Any, page: ResultsPage) -> None:
    window = page.window()
    page.run.path.rename(page.run.path.with_suffix(".moved"))
    page.hits.filter_box.setText("kinase")
    path = str(page.run.path)
    qtbot.waitUntil(lambda: any(m.severity == "stop" and path in m.text for m in window.messages.messages))
    page.step_hit(1)
    assert page.run.hit is not None, "what was read before is still shown"


def test_a_run_file_that_is_deleted_is_not_called_finished(
    qtbot: Any, loaded: MainWindow, searching: JobQueue, manners: Callable[..., None]
) -> None:
    item = searching.current
    for path in Path(item.run).parent.glob(Path(item.run).name + "*"):
        path.unlink()
    manners(pause=0)
    qtbot.waitUntil(lambda: not item.is_active)
    assert item.state == "failed"
    assert loaded.messages.messages
    assert item.run not in loaded.controller.workspace.sources
    assert loaded.controller.page is None


def test_a_message_goes_when_its_run_is_continued(
    qtbot: Any, loaded: MainWindow, searching: JobQueue, manners: Callable[..., None], press: Press
) -> None:
    os.kill(searching.worker.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: any(m.severity == "stop" for m in loaded.messages.messages))
    page = loaded.controller.page
    manners(pause=0, batches=60)
    qtbot.waitUntil(page.unfinished_bar.isVisible)
    press(page.unfinished_bar, "Continue")
    assert not [m for m in loaded.messages.messages if m.severity == "stop"]
    qtbot.waitUntil(lambda: page.run.is_complete)


def test_what_is_compiled_and_what_can_be_done_meanwhile_is_told(window: MainWindow, page: ResultsPage) -> None:
    item = JobItem("Search", {"job": "search", "run": str(page.run.path)}, "running")
    page.run.cards = []  # as before the first results
    shown: list[str] = []
    for progress in ({"stage": "build", "done": 1.0, "total": 3.0, "unit": "programs"}, {"stage": "read", "done": 1.0}):
        item.take_progress({"total": 2.0, "unit": "bytes", **progress}, 1.0)
        window.controller.queue.job_changed.emit(item)
        assert page.waiting.heading.text() == item.line()
        shown.append(page.waiting.words.text())
    assert shown[0] == MEANWHILE != shown[1]


def test_what_is_compiled_is_told_until_there_are_scores(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    run, histogram = page.run, page.run.histogram
    run.is_live, run.facts["state"] = True, "running"
    run.share_searched = lambda: 0.0
    run.histogram = replace(histogram, counts=histogram.counts[:0])
    page.show_progress("Compiling kernels", True)
    assert (page.empty.heading.text(), page.empty.words.text()) == ("Compiling kernels", MEANWHILE)
    page.show_counts()
    assert page.empty.heading.text() == "Compiling kernels"
    run.histogram = histogram
    page.show_counts()
    assert page.empty.heading.text() == run.empty_words()[0]


def test_two_searches_at_once_have_two_files(qtbot: Any, loaded: MainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clalign.ui.services.job_controller.run_name", lambda spec, now: "same")
    controller = loaded.controller
    spec = controller.search.sheet.spec
    runs = [controller.jobs.search(spec), controller.jobs.search(spec)]
    items = list(controller.queue.items)  # the line of the first goes when the page of the second appears
    qtbot.waitUntil(lambda: not any(item.is_active for item in items))
    assert len(set(runs)) == 2
    assert all(Path(run).exists() for run in runs)
    assert [item.state for item in items] == ["done", "done"]


def test_a_folder_for_runs_that_cannot_be_made_is_reported(loaded: MainWindow, press: Press) -> None:
    loaded.settings.data = loaded.settings.config / "preferences.json"
    press(loaded, "Run search")
    assert loaded.messages.messages
    assert loaded.controller.search.sheet is not None
    assert not loaded.controller.queue.items


def test_enter_in_a_field_searches(qtbot: Any, loaded: MainWindow) -> None:
    sheet = loaded.controller.search.sheet
    editor = next(e for e in sheet.findChildren(QLineEdit) if e.isVisible())
    editor.setFocus()
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: loaded.controller.page is not None)
    assert loaded.controller.search.sheet is None


def test_many_refused_files_are_reported_in_one_message(
    qtbot: Any, window: MainWindow, tmp_path: Path, drop: Callable[[MainWindow, list[str]], None], press: Press
) -> None:
    paths = [tmp_path / f"picture{number}.fasta" for number in range(6)]
    for path in paths:
        path.write_bytes(b"\x89PNG\r\n")
    drop(window, [str(path) for path in paths])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    (message,) = window.messages.messages
    assert message.text.startswith("6 files")
    (past,) = window.messages.history
    assert past[2] == f"{message.text}\n{message.details}"
    reasons = message.details.split("\n")
    assert len(reasons) == len(paths)
    assert all(any(path.name in reason for reason in reasons) for path in paths)
    press(window.messages, "More")
    (listed,) = window.messages.findChildren(QPlainTextEdit)
    assert all(path.name in listed.toPlainText() for path in paths)
    missing = str(tmp_path / "missing.fasta")
    window.controller.sources.open_paths([missing, *map(str, paths[:3])])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    alone, several = sorted(message.text for message in window.messages.messages)
    assert several.startswith("3 files")
    assert missing in alone


def test_files_that_are_opened_together_are_told_together(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Callable[[MainWindow, list[str]], None]
) -> None:
    window.resize(900, 600)
    qtbot.waitUntil(window.dock.isHidden)
    drop(window, [files["made.fasta"], files["dna.fasta"]])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    told = [message.text for message in window.messages.messages if message.severity == "good"]
    assert len(told) == 1
    assert all(name in told[0] for name in ("made.fasta", "dna.fasta", " sequences"))


def test_a_folder_opens_what_its_names_say_can_be_opened(
    qtbot: Any, window: MainWindow, files: dict[str, str], made_run: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    (folder / "sub.fa").mkdir(parents=True)
    for name, copy in (("made.hmm", "made.hmm"), ("made.fasta", "MADE.FASTA"), ("made.sto", "made.sto")):
        shutil.copyfile(files[name], folder / copy)
    shutil.copyfile(made_run(), folder / "made.clalign")
    (folder / "notes.txt").write_text("nothing")
    window.controller.sources.open_paths([str(folder)])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    assert {Path(path).name for path in window.workspace.sources} == {"made.hmm", "MADE.FASTA", "made.sto"}
    assert not window.controller.alignments.pages, "none is alone"


def test_a_folder_of_many_files_or_without_access_is_refused(window: MainWindow, tmp_path: Path) -> None:
    for number in range(MAX_IN_FOLDER + 1):
        (tmp_path / f"{number}.fa").touch()
    for path in (tmp_path, tmp_path / ("long" * 100)):  # even root cannot look there
        window.controller.sources.open_paths([str(path)])
        assert [message.severity for message in window.messages.messages] == ["stop"]
    assert not window.workspace.sources


def test_what_was_refused_is_no_longer_reported_beside_other_files(
    qtbot: Any, window: MainWindow, files: dict[str, str], made_run: Callable[..., Path]
) -> None:
    messages, sources = window.messages, window.controller.sources
    refused = lambda: [message for message in messages.messages if message.severity != "good"]  # noqa: E731
    for later in ([files["made.fasta"]], [str(made_run())]):
        sources.open_paths([files["picture.fasta"]])
        qtbot.waitUntil(lambda: bool(refused()))
        sources.open_paths(later)
        assert not refused()
        assert files["picture.fasta"] not in window.workspace.sources, "it left with its message"
        qtbot.waitUntil(lambda: window.controller.inspector.is_idle)


def test_the_line_of_a_job_goes_when_another_run_is_shown(
    loaded: MainWindow, searched: Callable[[MainWindow], Any], made_run: Callable[..., Path]
) -> None:
    controller, page = loaded.controller, searched(loaded)
    assert [item.run for item in controller.queue.items] == [str(page.run.path)]
    controller.show_run(str(page.run.path))
    assert controller.queue.items
    controller.sources.open_paths([str(made_run())])
    assert not controller.queue.items
    assert not loaded.jobs.isVisible()


def test_a_warning_stays_until_the_user_dismisses_the_line_of_its_job(
    loaded: MainWindow, searched: Callable[[MainWindow], Any]
) -> None:
    def shown() -> list[str]:
        return [message.text for message in loaded.messages.messages if message.severity == "caution"]

    searched(loaded)
    jobs, (item,) = loaded.controller.jobs, loaded.controller.queue.items
    (warning,) = item.warnings
    assert shown() == [warning]
    other = replace(item, title="Another")
    loaded.controller.queue.items.append(other)
    jobs.act(item, "dismiss")
    assert shown() == [warning], "another job has given the same warning"
    jobs.clear_done()
    assert shown() == [warning], "the line went by itself"
    loaded.controller.queue.items.append(other)
    jobs.act(other, "dismiss")
    assert not shown()


def test_a_file_that_changed_is_read_again(qtbot: Any, loaded: MainWindow, files: dict[str, str]) -> None:
    space, path = loaded.controller.workspace, Path(files["made.fasta"])
    loaded.sheets.close_sheet()
    assert space.sources[str(path)].alphabet_found == "amino"
    path.write_text(">d\nACGTACGTACGT\n")
    loaded.controller.search.open_sheet()
    assert space.sources[str(path)].state == "reading"
    assert loaded.messages.messages
    qtbot.waitUntil(lambda: space.sources[str(path)].state == "ready")
    assert space.sources[str(path)].alphabet_found == "dna"
    loaded.controller.sources.look_again()
    assert space.sources[str(path)].state == "ready"
    path.unlink()
    loaded.controller.sources.look_again()
    assert space.sources[str(path)].state == "ready", "what is not there cannot be read"


@pytest.mark.parametrize("others", [("made.hmm", "made.fasta"), ("made.fasta",)])
def test_a_file_that_is_closed_while_it_is_read_is_waited_for_no_more(
    qtbot: Any, window: MainWindow, files: dict[str, str], manners: Callable[..., None], others: tuple[str, ...]
) -> None:
    manners(pause=3)
    controller, slow = window.controller, Path(files["made.fasta"]).with_name("slow.fasta")
    slow.write_text(">slow\nMKVL\n")
    controller.sources.open_paths([str(slow), *(files[name] for name in others)])
    space = controller.workspace
    qtbot.waitUntil(lambda: all(space.sources[files[name]].state == "ready" for name in others))
    assert space.sources[str(slow)].state == "reading"
    assert controller.search.sheet is None, "the file that is being read may be meant"
    controller.close_source(str(slow))
    assert (controller.search.sheet is not None) == (len(others) > 1)
    if controller.search.sheet is not None:
        assert controller.search.sheet.run_button.isEnabled()
        window.sheets.close_sheet()
    slow.write_text("HMMER2.0\nNAME another\n")
    controller.sources.open_paths([str(slow)])
    qtbot.waitUntil(lambda: controller.inspector.is_idle)
    assert space.sources[str(slow)].kind == "profiles", "not what was read of it before"
    assert controller.search.sheet is None, "it was opened alone"


@pytest.mark.parametrize("by_hand", [True, False])
def test_a_file_that_is_read_late_leaves_what_was_chosen_by_hand(
    qtbot: Any, loaded: MainWindow, files: dict[str, str], by_hand: bool
) -> None:
    space, sheet = loaded.controller.workspace, loaded.controller.search.sheet
    late = Path(files["made.fasta"]).with_name("late.fasta")
    late.write_text(">late\nMKVL\n")
    loaded.controller.sources.open_paths([files["dna.fasta"]])
    qtbot.waitUntil(lambda: space.sequences_path == files["dna.fasta"])
    loaded.controller.sources.open_paths([str(late)])
    assert space.sources[str(late)].state == "reading"
    if by_hand:
        QTest.keyClick(sheet.sequences, Qt.Key.Key_Up)
        assert space.sequences_path == files["made.fasta"]
    qtbot.waitUntil(lambda: space.sources[str(late)].state == "ready")
    assert space.sequences_path == (files["made.fasta"] if by_hand else str(late))
    assert sheet.sequences.currentData() == space.sequences_path
    loaded.controller.sources.open_paths([files["dna.fasta"]])
    assert space.sequences_path == files["dna.fasta"], "what is opened later counts"


def fault_shown(qtbot: Any, window: MainWindow) -> str:
    """Return the text to report that a message shows, after it was copied; others are taken away as they come."""
    buttons = lambda: [b for b in window.messages.findChildren(QPushButton) if b.isVisible()]  # noqa: E731

    def is_first() -> bool:
        for other in [message for message in window.messages.messages if not message.details]:
            window.messages.withdraw(other.text)
        return bool(window.messages.messages) and bool(buttons())

    qtbot.waitUntil(is_first)
    next(b for b in buttons() if b.text().endswith(("More", "more"))).click()
    boxes = lambda: [box for box in window.messages.findChildren(QPlainTextEdit) if box.isVisible()]  # noqa: E731
    qtbot.waitUntil(lambda: bool(boxes()))  # an older one may be there that is about to go
    (shown,) = boxes()
    assert shown.isReadOnly()
    QGuiApplication.clipboard().clear()
    next(b for b in window.messages.findChildren(QPushButton) if b.text() == "Copy the text").click()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(window.messages.messages[0].text)
    assert f"\nclalign {clalign.__version__}, Python" in copied
    assert copied.endswith(f"\n\n{shown.toPlainText()}\n")
    last = shown.document().lastBlock()
    bottom = shown.blockBoundingGeometry(last).translated(shown.contentOffset()).bottom()
    assert bottom <= shown.viewport().height() + 1, "the end says what went wrong"
    return shown.toPlainText()


def test_a_fault_of_a_job_shows_the_text_to_report(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Press
) -> None:
    manners(fault=True)
    press(loaded, "Run search")
    assert "ZeroDivisionError" in fault_shown(qtbot, loaded)


def test_a_fault_while_a_file_is_read_shows_the_text_to_report(
    qtbot: Any, window: MainWindow, files: dict[str, str], manners: Callable[..., None]
) -> None:
    manners(fault=True)
    window.controller.sources.open_paths([files["made.fasta"]])
    assert "ZeroDivisionError" in fault_shown(qtbot, window)


def test_a_fault_of_the_window_shows_the_text_to_report(
    qtbot: Any, window: MainWindow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    show_faults(window)
    try:
        1 / 0  # noqa: B018
    except ZeroDivisionError as error:
        for _ in range(3):  # as one of what is painted
            sys.excepthook(ZeroDivisionError, error, error.__traceback__)
    bar = window.messages
    assert "ZeroDivisionError" in fault_shown(qtbot, window)
    shown = bar.findChildren(QPlainTextEdit)
    qtbot.wait(50)
    assert bar.findChildren(QPlainTextEdit) == shown
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_message_does_not_make_the_window_higher(qtbot: Any, page: ResultsPage, press: Press) -> None:
    window = page.window()
    for tab in ("query", "hits"):  # the highest of the tabs has been looked at
        page.show_tab(tab)
        qtbot.waitUntil(page.part_widgets[tab].isVisible)
        qtbot.waitUntil(lambda: window.controller.files.is_idle)
    window.resize(1280, 800)
    window.controller.show_fault("Something happened.", "Report it.", "\n".join(map(str, range(100))))
    press(window.messages, "More")
    qtbot.waitUntil(lambda: window.messages.isVisible() and window.messages.height() > 100)
    middle = window.centralWidget()
    for holder in (window.center.parentWidget(), middle):
        holder.layout().invalidate()
    assert middle.layout().minimumSize().height() < 640, "bars and menus are beside it"
    assert window.height() == 800


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_file_whose_name_is_no_utf8_is_refused(window: MainWindow, files: dict[str, str]) -> None:
    path = Path(files["made.fasta"]).rename(Path(files["made.fasta"]).with_name(os.fsdecode(b"s\xf1.fasta")))
    window.controller.sources.open_paths([str(path)])
    assert any("s\\udcf1.fasta" in message.text for message in window.messages.messages)
    assert not window.controller.workspace.sources
