"""Help, tour, report of a problem, log, what was open, and undo of notes."""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from clalign.runs.run_file import open_run
from clalign.tools import library
from clalign.ui import log
from clalign.ui.controllers import help_controller
from clalign.ui.models.glossary import ALIASES, entries, explanation
from clalign.ui.models.help_pages import HelpPages, sections_of
from clalign.ui.models.session import Session
from clalign.ui.shell import app
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.help_page import DOCUMENT_ROLE, HelpPage
from clalign.ui.views.library_page import LibraryPage
from clalign.ui.views.results.report_sheet import ReportSheet
from clalign.ui.views.results.results_page import ResultsPage
from clalign.ui.views.tour_bar import STEPS
from clalign.ui.views.widgets.facts import facts_grid
from clalign.ui.views.widgets.small_sheets import TextSheet

CTRL = Qt.KeyboardModifier.ControlModifier


def test_documents_are_divided_at_their_headings_but_not_in_code() -> None:
    text = "# Title\nbegin\n## One\n```\n# no heading\n```\n### Two\nend\n"
    parts = sections_of("doc", text)
    assert [(part.heading, part.place) for part in parts] == [("Title", 0), ("One", 1), ("Two", 2)]
    assert "# no heading" in parts[1].text
    assert {part.title for part in parts} == {"Title"}


def test_a_search_finds_the_explanation_of_a_word_first() -> None:
    pages = HelpPages()
    for word in ("E-value", "gathering", "Viterbi"):
        assert pages.find(word)[0].document == "glossary"
    assert not pages.find("quetzalcoatl")
    assert all("gcups" in f"{p.heading} {p.text}".lower() for p in pages.find("gcups"))


def test_f1_shows_the_help_which_can_be_searched(qtbot: Any, window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_F1)
    page = window.center.currentWidget()
    assert isinstance(page, HelpPage)
    listed = [page.list.item(row).text() for row in range(page.list.count())]
    assert len(set(listed)) == len(listed), "documents of one title are told apart"
    assert page.text.toPlainText().startswith("A tour of five minutes")
    QTest.keyClicks(page.search, "gathering cutoff")
    assert page.list.count() > 0
    QTest.keyClick(page.search, Qt.Key.Key_Return)
    assert page.document in page.pages.documents
    page.search.setText("quetzalcoatl")
    assert page._none.isVisible()
    page.search.clear()
    assert page.list.count() == len(page.pages.documents)

    def selected() -> str:
        return str(page.list.currentItem().data(DOCUMENT_ROLE).document)

    assert selected() == page.document
    page._follow(QUrl("files.md"))
    assert page.document == selected() == "files"
    page._follow(QUrl("notes/times.md"))
    assert page.document == selected() == "notes/times"
    page._follow(QUrl("../hmmer3.md"))
    assert page.document == selected() == "hmmer3"
    window.actions_.by_id["help.show:glossary"].trigger()
    assert page.document == selected() == "glossary"
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert window.center.currentWidget() is window.start


def test_esc_leads_back_from_help_and_library_to_the_run(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    path = made_run()
    window.controller.show_run(str(path))
    run = window.controller.page
    assert run is not None
    run.show_tab("pictures")
    for _ in range(2):  # who goes back and forth needs no more steps back
        QTest.keyClick(window, Qt.Key.Key_H, CTRL)
        QTest.keyClick(window, Qt.Key.Key_F1)
    library.rename(path, "kinases")
    window.controller.library.renamed.emit(str(path))
    qtbot.waitUntil(lambda: run.run.title == "kinases")
    page = window.center.currentWidget()
    assert isinstance(page, HelpPage)
    for field in (page.search, page.list, page.text):
        field.setFocus()
        QTest.keyClick(field, Qt.Key.Key_Escape)
        assert isinstance(window.center.currentWidget(), LibraryPage)
        QTest.keyClick(window, Qt.Key.Key_F1)
    QTest.keyClick(page, Qt.Key.Key_Escape)
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert window.controller.page is run
    assert window.windowTitle() == "kinases – clalign"
    assert run.part_widgets["pictures"].isAncestorOf(window.focusWidget())
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert window.center.currentWidget() is run


def test_a_report_holds_versions_doctor_messages_and_log(
    qtbot: Any, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, press: Any
) -> None:
    log_file = log.start_log(tmp_path / "log")
    window.controller.help.log_file = log_file
    answer = [sys.executable, "-c", "print('the installation is fine')"]
    monkeypatch.setattr(help_controller, "own_command", lambda *_: answer)
    target = tmp_path / "report.txt"
    monkeypatch.setattr("PySide6.QtWidgets.QFileDialog.getSaveFileName", lambda *_: (str(target), ""))
    window.controller.notify("caution", "Something odd happened.")
    window.controller.help.report_problem()
    sheet = window.sheets.sheet
    assert isinstance(sheet, ReportSheet)
    assert not sheet.save.isEnabled()
    sheet.happened.setPlainText("It was slow.")
    qtbot.waitUntil(sheet.save.isEnabled)
    press(sheet, "Save report…")
    qtbot.waitUntil(target.exists)
    text = target.read_text(encoding="utf-8")
    for part in ("It was slow.", "the installation is fine", "caution: Something odd happened.", "Qt ", str(log_file)):
        assert part in text
    assert text.count("Something odd happened.") == 2, "it is in the log, too"
    for handler in list(log.LOG.handlers):
        log.LOG.removeHandler(handler)
        handler.close()


@pytest.mark.thorough
def test_what_was_said_can_be_read_again(window: MainWindow) -> None:
    window.controller.notify("good", "This was written.")
    window.messages.close_all()
    window.controller.help.messages()
    sheet = window.sheets.sheet
    assert "This was written." in [shown.text() for shown in sheet.findChildren(QLabel)]


def test_a_form_is_there_again_after_messages_were_read(window: MainWindow, loaded: MainWindow) -> None:
    form = window.controller.search.sheet
    editor = form.form.editors["evalue"]
    editor.setFocus()
    QTest.keyClicks(editor, "5")
    text = editor.text()
    for _ in range(2):  # pressed twice they are open once
        QTest.mouseClick(window.past_messages, Qt.MouseButton.LeftButton)
        assert isinstance(window.sheets.sheet, TextSheet)
        assert not form.isVisible()
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.controller.search.sheet is form
    assert (editor.hasFocus(), editor.isVisible(), editor.text()) == (True, True, text)
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    assert window.sheets.sheet is None
    assert not window.sheets.isVisible()


def test_what_is_restored_keeps_the_time_when_it_was_opened(
    qtbot: Any, window: MainWindow, files: dict[str, str], made_run: Callable[..., Path], tmp_path: Path
) -> None:
    controller, opened = window.controller, [files["made.fasta"], str(made_run())]
    for path in opened:
        window.settings.add_recent(path, "run" if path.endswith(".clalign") else "sequences")
        window.settings.change_recent(path, opened=1000.0)
    Session(tmp_path / "session.json").keep(opened, "")
    controller.session.session = Session(tmp_path / "session.json")
    controller.session.restore()
    qtbot.waitUntil(lambda: controller.inspector.is_idle and controller.page is not None)
    assert {entry.path: entry.opened for entry in window.settings.recent} == dict.fromkeys(opened, 1000.0)
    controller.sources.open_paths([files["made.fasta"]])
    assert window.settings.recent[0].opened > 1000.0, "it was opened by hand"


def test_what_could_not_be_restored_is_new_when_it_is_opened_later(
    qtbot: Any, window: MainWindow, files: dict[str, str]
) -> None:
    sources, path = window.controller.sources, files["picture.fasta"]
    window.settings.add_recent(path, "sequences")
    window.settings.change_recent(path, opened=1000.0)
    sources.keep_times([path])
    for text in ("", ">a\nMKVL\n"):
        if text:
            Path(path).write_text(text)
        sources.open_paths([path])
        qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
        assert (window.settings.recent[0].opened > 1000.0) == bool(text)


def test_a_session_that_was_closed_is_distinguished_from_one_that_crashed(tmp_path: Path) -> None:
    file, kept = tmp_path / "session.json", tmp_path / "kept.fasta"
    kept.write_text(">a\nMK\n")
    assert not Session(file).last.has_crashed
    session = Session(file)
    session.keep([str(kept), str(tmp_path / "gone.fasta")], "")
    assert Session(file).last.has_crashed, "its process is this one, which begins anew"
    assert Session(file).last.files == [str(kept)]
    stored = json.loads(file.read_text())
    file.write_text(json.dumps({**stored, "pid": os.getppid()}))
    assert not Session(file).last.has_crashed, "another window is open"
    session.keep([str(kept)], "", closed=True)
    assert not Session(file).last.has_crashed
    for text in ("{", "[" * 100_000, json.dumps({**stored, "pid": float("inf")})):
        file.write_text(text)
        assert not Session(file).last.files
    file.write_text(json.dumps({**stored, "pid": 10**30}))
    assert Session(file).last.has_crashed, "no process has this number"


def test_after_a_crash_what_was_open_is_offered(
    qtbot: Any, settings: Any, worker: list[str], files: dict[str, str], made_run: Callable[..., Path], press: Any
) -> None:
    run = str(made_run())
    Session(settings.config / "session.json").keep([files["made.fasta"], run], run)
    window = app.open_window(settings, worker, [], safe_mode=False)
    qtbot.waitUntil(lambda: bool(window.messages.messages) and window.controller.inspector.is_idle)
    press(window.messages, "Restore")
    qtbot.waitUntil(lambda: window.controller.page is not None and bool(window.controller.page.run.cards))
    qtbot.waitUntil(lambda: window.controller.workspace.sequences is not None)
    window.close()
    assert not Session(settings.config / "session.json").last.has_crashed
    window.deleteLater()


@pytest.mark.thorough
def test_safe_mode_looks_for_nothing_and_opens_nothing_by_itself(
    qtbot: Any, settings: Any, worker: list[str], files: dict[str, str]
) -> None:
    settings.add_recent(files["made.fasta"], "sequences")
    settings.change(show_start=False)
    window = app.open_window(settings, worker, [], safe_mode=True)
    qtbot.waitUntil(lambda: bool(window.messages.messages))
    assert window.controller.inspector.is_idle
    assert [device.kind for device in window.controller.workspace.devices] == ["reference"]
    assert not window.controller.workspace.sources
    window.close()
    assert settings.layout.value("geometry") is None
    window.deleteLater()


@pytest.mark.thorough
def test_changes_of_notes_are_taken_back_and_done_again(qtbot: Any, page: ResultsPage) -> None:
    window, hits, table = page.window(), page.run.hits, page.hits.table
    actions, place = window.actions_.by_id, page.hits.table.kind.place("note")
    actions_of = lambda name: actions[f"hits.{name}_note"]  # noqa: E731
    assert not actions_of("undo").isEnabled()
    for text in ("first", "second"):
        hits.setData(hits.index(3, place), text)
    table.setFocus()

    def kept() -> list[str]:
        with open_run(page.run.path) as run:
            return list(run.notes().values())

    for keys, expected in ((CTRL, ["first"]), (CTRL, []), (CTRL | Qt.KeyboardModifier.ShiftModifier, ["first"])):
        QTest.keyClick(window, Qt.Key.Key_Z, keys)
        assert kept() == expected
        assert hits.row_at(3).note == "".join(expected)
    assert actions_of("undo").isEnabled()
    assert actions_of("redo").isEnabled()


@pytest.mark.thorough
def test_the_tour_leads_through_every_step(qtbot: Any, window: MainWindow, press: Any) -> None:
    asked: list[str] = []
    window.tour.show_requested.disconnect()
    window.tour.show_requested.connect(asked.append)
    window.start.tour.click()
    for step in STEPS:
        assert not step.command or step.command in window.actions_.by_id
        press(window.tour, step.shows)
        press(window.tour, "Finish" if step is STEPS[-1] else "Next")
    assert asked == [step.command for step in STEPS]
    assert not window.tour.isVisible()
    window.start.tour.click()
    card = window.start.cards[0]
    card.click()
    assert window.tour.place == 1, "what was done is no longer asked for"
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle and window.controller.search.sheet is not None)
    window.controller.search.run()
    qtbot.waitUntil(lambda: window.tour.place == 2)


NUMBERS = {
    "run": ("Database size for E-values", "Reported from", "Significant from", "Work", "Rate"),
    "profile": ("Nodes", "Calibration", "Gathering (GA)", "Trusted (TC)", "Noise (NC)"),
    "sequences": ("Residues", "Lengths", "SHA-256"),
    "device": ("Compute units", "Largest block", "Local memory", "Speed in the self-test"),
    "table": (
        "E-value",
        "Score (bits)",
        "Bias",
        "Best domain E",
        "Profile %",
        "Identity %",
        "Accuracy",
        "MSV",
        "Forward",
    ),
    "overview": ("Significant", "Best E-value", "Best score", "Coverage %"),
}


@pytest.mark.parametrize("where", NUMBERS)
def test_every_number_is_explained_where_it_stands(qtbot: Any, where: str) -> None:
    for name in NUMBERS[where]:
        assert explanation(name), f"{name} is not in the glossary"
    grid = facts_grid([(name, "1") for name in NUMBERS[where]])
    qtbot.addWidget(grid)
    for reports in grid.findChildren(QLabel):
        assert reports.whatsThis()
        assert " ".join(reports.toolTip().split()) == " ".join(reports.whatsThis().split())


def test_what_the_window_calls_otherwise_is_in_the_glossary() -> None:
    missing = {name: term for name, term in ALIASES.items() if term not in entries()}
    assert not missing
    assert explanation("Begun") == ""
