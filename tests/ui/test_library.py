"""The library of runs in the window."""

import contextlib
import re
import shutil
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from clalign.runs.connection import owned
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import open_run
from clalign.ui import formatting
from clalign.ui.models.jobs import JobQueue
from clalign.ui.models.results import run_view
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.library_page import (
    COMPARED,
    DeleteRunsSheet,
    LibraryPage,
    NameRunSheet,
    RunsComparedSheet,
    verdict,
)
from clalign.ui.views.widgets.parts import ElidedLabel

Press = Callable[..., None]


@pytest.fixture
def library(qtbot: Any, window: MainWindow, made_run: Callable[..., Path]) -> LibraryPage:
    """The library of two runs, opened by its key."""
    folder = window.settings.runs
    folder.mkdir(parents=True)
    for name, hits in (("one", 40), ("two", 30)):
        shutil.move(made_run(name=name, hits=hits), folder / f"{name}.clalign")
    QTest.keyClick(window, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    page = window.center.currentWidget()
    assert isinstance(page, LibraryPage)
    qtbot.waitUntil(lambda: len(page.model.rows) == 2)
    return page


def place_of(page: LibraryPage, name: str) -> int:
    return next(place for place, found in enumerate(page.model.rows) if Path(found["path"]).stem == name)


def test_all_columns_are_seen_in_a_small_window(qtbot: Any, window: MainWindow, library: LibraryPage) -> None:
    window.resize(900, 600)
    qtbot.waitUntil(lambda: not library.table.horizontalScrollBar().maximum(), timeout=10_000)


def test_nothing_is_said_of_the_library_before_it_is_read(qtbot: Any, window: MainWindow) -> None:
    may_read = threading.Event()
    window.controller.reader.ask("block", lambda: may_read.wait(10), lambda _: None)
    try:
        QTest.keyClick(window, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
        page = window.center.currentWidget()
        assert isinstance(page, LibraryPage)
        QTest.keyClicks(page.search, "two")
        before = page.empty.heading.text()
    finally:
        may_read.set()
    qtbot.waitUntil(lambda: page.empty.heading.text() == "No runs")
    assert before != "No runs"


def test_the_state_of_a_job_of_this_window_is_how_far_it_is(
    qtbot: Any, loaded: MainWindow, searching: JobQueue
) -> None:
    item = searching.current
    assert item is not None
    QTest.keyClick(loaded, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    page: Any = loaded.center.currentWidget()
    qtbot.waitUntil(lambda: len(page.model.rows) == 1)
    assert page.model.index(0, 2).data() == f"running, {formatting.percent(item.course.fraction)}"


def test_the_search_field_leads_to_the_runs(qtbot: Any, window: MainWindow, library: LibraryPage) -> None:
    QTest.keyClick(library.search, Qt.Key.Key_Down)
    assert len(library.chosen()) == 1
    assert library.table.hasFocus()
    QTest.keyClick(library.table, Qt.Key.Key_Down)
    assert library.chosen() == [library.model.rows[1]["path"]]
    library.search.setFocus()
    QTest.keyClicks(library.search, "nothing")
    QTest.keyClick(library.search, Qt.Key.Key_Return)
    assert window.center.currentWidget() is library
    library.search.clear()
    QTest.keyClicks(library.search, "one.clalign")
    QTest.keyClick(library.search, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.controller.page is not None)
    assert window.controller.page.run.path.stem == "one"


def test_recent_runs_are_called_as_in_the_library(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    paths = {name: made_run(name=name, complete=name == "whole") for name in ("whole", "half")}
    with open_run(paths["whole"], writable=True) as run:
        run.set_facts(name="globins, at last")
    with open_run(paths["half"], writable=True) as run:
        run.set_facts(state="stopped")
    for path in paths.values():
        window.settings.add_recent(str(path), "run")
    window.show_recent()

    def named() -> list[str]:
        return [part.accessibleName() for part in window.start.findChildren(QPushButton) if part.isVisible()]

    qtbot.waitUntil(lambda: "globins, at last" in named())
    window.resize(1280, 800)
    notes = [part for part in window.start.findChildren(ElidedLabel) if part.isVisible()]
    qtbot.waitUntil(lambda: all(part.shown() == part.text() for part in notes))  # none is cut off
    shown = [part.text() for part in notes]
    listed = set(named())
    QTest.keyClick(window, Qt.Key.Key_H, Qt.KeyboardModifier.ControlModifier)
    page = window.center.currentWidget()
    qtbot.waitUntil(lambda: len(page.model.rows) == 2)
    assert {found["name"] for found in page.model.rows} <= listed
    assert [words.partition(" · ")[0] for words in shown if "partial" in words] == ["stopped, partial"]
    assert "stopped, partial" in [page.model.index(place, 2).data() for place in range(2)]


def test_a_partial_run_is_continued_from_the_library(
    qtbot: Any, window: MainWindow, library: LibraryPage, made_run: Callable[..., Path], press: Press
) -> None:
    half = window.settings.runs / "half.clalign"
    shutil.move(made_run(name="half", complete=False), half)
    with open_run(half, writable=True) as run:
        run.set_facts(state="stopped")
    window.controller.library.refresh()
    qtbot.waitUntil(lambda: len(library.model.rows) == 3)
    offered = {action.text(): action for action in library.table.actions()}["Continue"]
    library.table.selectRow(place_of(library, "one"))
    assert not offered.isEnabled(), "it is complete"
    library.table.clearSelection()
    library.table.selectRow(place_of(library, "half"))
    assert offered.isEnabled()
    press(library, "Continue")
    assert window.controller.queue.of_run(str(half)) is not None
    assert window.controller.page.run.path == half
    qtbot.waitUntil(lambda: window.controller.queue.current is None)


@pytest.mark.thorough
def test_runs_stay_selected_when_they_are_sorted_and_read_again(qtbot: Any, library: LibraryPage) -> None:
    hits = next(place for place, column in enumerate(library.model.columns) if column.title == "Hits")
    library.table.selectRow(place_of(library, "two"))
    for expected in (["one", "two"], ["two", "one"]):
        library.table.sort_column(hits)
        assert [Path(found["path"]).stem for found in library.model.rows] == expected
        assert [Path(path).stem for path in library.chosen()] == ["two"]
        library.show_runs([*library.model.rows][::-1], 2)
        assert [Path(found["path"]).stem for found in library.model.rows] == expected
        assert [Path(path).stem for path in library.chosen()] == ["two"]


def test_runs_are_named_found_and_opened(qtbot: Any, window: MainWindow, library: LibraryPage, press: Press) -> None:
    assert not library.buttons["rename"].isEnabled()
    library.table.selectRow(place_of(library, "two"))
    press(library, "Rename…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, NameRunSheet)
    sheet.field.setText("kinases, second try")
    press(sheet, "Rename")
    qtbot.waitUntil(lambda: any(found["name"] == "kinases, second try" for found in library.model.rows))
    library.search.setText("second")
    assert [Path(found["path"]).stem for found in library.model.rows] == ["two"]
    assert [Path(path).stem for path in library.chosen()] == ["two"]
    press(library, "Open")
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.title == "kinases, second try")
    assert page.run.hits.n_all == 0 or page.run.is_complete


@pytest.mark.thorough
def test_a_run_of_another_version_is_listed_as_not_readable(
    qtbot: Any, window: MainWindow, library: LibraryPage
) -> None:
    path = Path(library.model.rows[place_of(library, "one")]["path"])
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")
    window.controller.library.show()
    qtbot.waitUntil(lambda: library.model.rows[place_of(library, "one")]["state"] == "unreadable")
    assert "another version" in library.model.rows[place_of(library, "one")]["problem"]
    assert library.model.rows[place_of(library, "two")]["state"] != "unreadable"


@pytest.mark.thorough
def test_a_run_is_deleted_after_a_question(qtbot: Any, window: MainWindow, library: LibraryPage, press: Press) -> None:
    path = Path(library.model.rows[place_of(library, "one")]["path"])
    window.controller.show_run(str(path))
    window.controller.library.show()
    qtbot.waitUntil(lambda: len(library.model.rows) == 2)
    library.table.selectRow(place_of(library, "one"))
    press(library, "Delete…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, DeleteRunsSheet)
    press(sheet, "Delete")
    qtbot.waitUntil(lambda: len(library.model.rows) == 1)
    assert not path.exists()
    assert str(path) not in window.controller.pages
    assert not [entry for entry in window.settings.recent if entry.path == str(path)]


def test_two_runs_are_compared(qtbot: Any, window: MainWindow, library: LibraryPage, press: Press) -> None:
    with open_run(Path(library.model.rows[1]["path"]), writable=True) as run:
        run.set_facts(spec=(run.facts.spec or {}) | {"without_filters": True, "evalue": 1e-5})
    library.table.selectAll()
    press(library, "Compare runs")
    qtbot.waitUntil(lambda: isinstance(window.sheets.sheet, RunsComparedSheet))
    sheet = window.sheets.sheet
    heads = [found.text() for found in sheet.findChildren(QLabel) if found.text()[:2] in ("1:", "2:")]
    assert [" · -E 1e-05 --max · " in head for head in heads] == [False, True]
    assert sheet.sides.itemText(sheet.sides.findData("both")) == "In both (150)"
    assert len(sheet.model.rows) == 200
    sheet.sides.setCurrentIndex(sheet.sides.findData("both"))
    assert len(sheet.model.rows) == 150
    pair = sheet.model.rows[0]
    shown = {column.title: column.text(pair) for column in COMPARED}
    assert shown["1: Score"] == formatting.score(pair["first"][0])
    assert shown["2: E-value"] == formatting.evalue(pair["second"][1])
    sheet.sides.setCurrentIndex(sheet.sides.findData("second"))
    assert all(found["first"] is None for found in sheet.model.rows)
    assert {COMPARED[-1].text(found) for found in sheet.model.rows} == {"only in 2"}
    evalues = [found["second"][1] for found in sheet.model.rows]
    assert evalues == sorted(evalues)


def test_a_comparison_of_runs_has_a_verdict() -> None:
    one, other = (10.0, 1e-3), (12.5, 1e-3)
    same, changed, gone, new = (
        {"first": first, "second": second, "status": status}
        for first, second, status in ((one, one, "both"), (one, other, "both"), (one, None, "first"),
                                      (None, one, "second"))
    )  # fmt: skip
    equal = verdict([same, same])
    assert equal[0] == "good"
    assert "2 hits" in equal[1]
    severity, words = verdict([same, changed, changed, gone, new, new, new])
    assert severity == "note"
    assert [int(found) for found in re.findall(r"\d+", words)] == [3, 7, 1, 3, 2]
    assert [int(found) for found in re.findall(r"\d+", verdict([same, gone])[1])] == [1, 2, 1]


@pytest.mark.thorough
def test_a_run_that_another_process_writes_is_no_stopped_one(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_view, "WATCH_MS", 50)
    path = made_run(complete=False)
    with open_run(path, writable=True) as run:
        database = run.facts.database
        run.set_facts(state="running", database=replace(database, n_residues=4 * database.n_residues))
    with owned(path):
        window.controller.sources.open_paths([str(path)])
        page = window.controller.page
        qtbot.waitUntil(lambda: bool(page.run.cards))
        assert page.run.state == "elsewhere"
        assert not page.unfinished_bar.isVisible()
        assert not window.actions_.by_id["resume_run"].isEnabled()
        with open_run(path, writable=True) as run:
            run.set_facts(state="stopped")
    qtbot.waitUntil(lambda: page.run.state == "stopped")
    assert page.unfinished_bar.isVisible()
    with open_run(path) as run:
        share = HitQueries(run.connection).share_done()
        cells, _ = run.work_done()
        total = run.facts.database.n_residues * sum(card["length"] for card in run.cards())
    assert share == cells / total
    assert 0 < share < 1
    assert f"{int(100 * share)}\u202f% of the work is done" in page.unfinished_words.text()


@pytest.mark.thorough
def test_files_have_a_menu(window: MainWindow, made_run: Callable[..., Path]) -> None:
    path = str(made_run())
    window.controller.sources.open_paths([path])
    texts = [action.text() for action in window.file_menu(path).actions() if action.text()]
    assert texts == ["Show", "Rename…", "Show in folder", "Copy path", "Close", "Delete…"]
