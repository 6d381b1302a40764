"""Notes beside hits in the window: with keys, mouse and menu, saved at once, found again."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QMenu

from clalign.runs import connection as door
from clalign.runs.run_file import open_run, write_note
from clalign.ui import theme
from clalign.ui.engines.plan7.columns import PROFILE_TABLE
from clalign.ui.models.reader import Reader
from clalign.ui.models.results.hit_pages import ALL_QUERIES
from clalign.ui.models.results.hits_model import HitsModel
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.hits_table import HitsTable
from clalign.ui.views.results.results_page import ResultsPage

pytestmark = pytest.mark.thorough

LEFT, CTRL = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier

Shown = Callable[[str], ResultsPage]


@pytest.fixture
def shown(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], pair_runs: dict[str, Path], tmp_path: Path
) -> Shown:
    """Opens a run of its own kind and waits for its hits."""

    def show(kind: str) -> ResultsPage:
        path = made_run() if kind == "profile" else Path(shutil.copy(pair_runs["proteins"], tmp_path / "p.clalign"))
        window.controller.sources.open_paths([str(path)])
        page = window.controller.page
        qtbot.waitUntil(lambda: bool(page.run.cards) and not page.run.is_due and window.controller.reader.is_idle)
        return page

    return show


def cell(table: HitsTable, row: int) -> Any:
    return table.hits.index(row, table.kind.place("note"))


def words(table: HitsTable, row: int, role: Any = Qt.ItemDataRole.DisplayRole) -> Any:
    return table.hits.data(cell(table, row), role)


def editor(qtbot: Any, table: HitsTable) -> QLineEdit:
    qtbot.waitUntil(lambda: isinstance(QApplication.focusWidget(), QLineEdit))
    field = QApplication.focusWidget()
    assert table.isAncestorOf(field)
    assert field.accessibleName() == "Note"
    return field


def finish(qtbot: Any, table: HitsTable, key: Qt.Key = Qt.Key.Key_Return) -> None:
    """Press a key that ends the edit, which happens a turn later."""
    QTest.keyClick(editor(qtbot, table), key)
    qtbot.waitUntil(lambda: not table.findChildren(QLineEdit))


def double_click(table: HitsTable, index: Any) -> None:
    table.scrollTo(index)
    place = table.visualRect(index).center()
    QTest.mouseClick(table.viewport(), LEFT, pos=place)
    QTest.mouseDClick(table.viewport(), LEFT, pos=place)


def notes_of(page: ResultsPage) -> dict[tuple[int, int], str]:
    with open_run(page.run.path) as run:
        return run.notes()


def messages(window: MainWindow) -> str:
    return " ".join(message.text for message in window.messages.messages)


def filtered(qtbot: Any, page: ResultsPage, text: str) -> list[str]:
    page.hits.filter_box.setText(text)
    QTest.keyClick(page.hits.filter_box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    return [page.run.hits.row_at(place).name for place in range(page.run.hits.n_shown)]


@pytest.mark.parametrize("kind", ["profile", "pairs"])
def test_a_key_writes_beside_the_selected_hit(qtbot: Any, window: MainWindow, shown: Shown, kind: str) -> None:
    page = shown(kind)
    table = page.hits.table
    place = table.kind.place("note")
    assert table.isColumnHidden(place)
    table.choose_row(2)
    QTest.keyClick(window, Qt.Key.Key_F2)
    assert not table.isColumnHidden(place)
    assert table.viewport().rect().contains(editor(qtbot, table).geometry())
    QTest.keyClicks(editor(qtbot, table), "no lipid here, Pseudo")
    finish(qtbot, table)
    hit = page.run.hits.row_at(2)
    assert notes_of(page) == {(hit.profile, hit.row): "no lipid here, Pseudo"}
    assert words(table, 2) == "no lipid here, Pseudo"
    assert page.tab == "hits"
    assert table.chosen_rows() == [2]
    assert filtered(qtbot, page, "note:LIPID") == [hit.name]
    assert filtered(qtbot, page, 'note:"here, ps" -note:other') == [hit.name]
    assert filtered(qtbot, page, "note:") == [hit.name]
    assert hit.name not in filtered(qtbot, page, "-note:lipid")
    assert filtered(qtbot, page, "lipid") == []


def test_a_double_click_edits_and_escape_drops(qtbot: Any, shown: Shown) -> None:
    page = shown("profile")
    table = page.hits.table
    table.show_set("all")
    table.hits.setData(cell(table, 1), "before")
    double_click(table, cell(table, 1))
    assert page.tab == "hits"
    field = editor(qtbot, table)
    assert field.text() == "before"
    QTest.keyClicks(field, "not this")
    finish(qtbot, table, Qt.Key.Key_Escape)
    assert words(table, 1) == "before"
    assert list(notes_of(page).values()) == ["before"]
    double_click(table, table.hits.index(1, 1))
    assert page.hit.alignment.hasFocus()


def test_the_menu_of_a_row_offers_it(qtbot: Any, window: MainWindow, shown: Shown) -> None:
    page = shown("profile")
    table = page.hits.table
    table.choose_row(4)
    for reason in (QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard):
        place = table.visualRect(table.hits.index(4, 1)).center()
        event = QContextMenuEvent(reason, place, table.viewport().mapToGlobal(place))
        QApplication.sendEvent(table.viewport(), event)
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        texts = [action.text() for action in menu.actions()]
        assert texts[:2] == ["Note…", "Copy hits as table"]
        menu.close()
    window.actions_.by_id["hits.edit_note"].trigger()
    QTest.keyClicks(editor(qtbot, table), "from the menu")
    finish(qtbot, table, Qt.Key.Key_Enter)
    assert list(notes_of(page).values()) == ["from the menu"]


def test_leaving_the_cell_keeps_the_note_and_empty_text_removes_it(qtbot: Any, shown: Shown) -> None:
    page = shown("pairs")
    table = page.hits.table
    table.show_set("all")
    QTest.qWait(50)
    table.horizontalScrollBar().setValue(table.horizontalScrollBar().maximum())
    table.choose_row(0)
    table.edit_note()
    assert table.viewport().rect().contains(editor(qtbot, table).geometry())
    QTest.keyClicks(editor(qtbot, table), "  kept ")
    page.hits.filter_box.setFocus()
    assert list(notes_of(page).values()) == ["kept"]
    assert words(table, 0) == "kept"
    table.edit_note()
    QTest.keyClick(editor(qtbot, table), Qt.Key.Key_Delete)
    finish(qtbot, table)
    assert notes_of(page) == {}
    assert words(table, 0) == ""


def test_a_long_note_is_reported_whole_and_never_as_markup(shown: Shown) -> None:
    table = shown("profile").hits.table
    assert words(table, 0, Qt.ItemDataRole.ToolTipRole) is None
    table.hits.setData(cell(table, 0), "<b>x</b> & " + "word " * 60)
    tip = words(table, 0, Qt.ItemDataRole.ToolTipRole)
    assert " ".join(tip.split("\n")) == f"<b>x</b> & {'word ' * 60}".rstrip()
    assert max(map(len, tip.split("\n"))) <= 100


def test_the_card_of_a_hit_shows_its_note(qtbot: Any, shown: Shown) -> None:
    page = shown("pairs")
    table = page.hits.table
    table.choose_row(0)
    card = page.hit
    qtbot.waitUntil(lambda: page.run.hit is not None)
    assert "Note" not in card.remarks.text()
    for text in ("<b>check</b> this", "check that"):
        table.hits.setData(cell(table, 0), text)
        assert card.remarks.text() == f"Note: {text}"
    page.run.refresh()
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    assert card.remarks.text() == "Note: check that"
    table.hits.setData(cell(table, 0), "")
    assert "Note" not in card.remarks.text()


def test_notes_are_sorted_and_copied(qtbot: Any, shown: Shown) -> None:
    page = shown("profile")
    table = page.hits.table
    for row, text in ((3, "beta"), (5, "Alpha")):
        table.hits.setData(cell(table, row), text)
    for expected in (["Alpha", "beta", ""], ["beta", "Alpha", ""]):
        table.sort_column(table.kind.place("note"))
        qtbot.waitUntil(lambda: not page.run.hits.is_busy)
        assert [words(table, row) for row in range(3)] == expected
    table.show_set("all")
    table.choose_row(0)
    QTest.keyClick(table, Qt.Key.Key_C, CTRL)
    lines = [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]
    assert [line[lines[0].index("Note")] for line in lines] == ["Note", "beta"]


def test_a_note_that_cannot_be_saved_stays_and_is_tried_again(
    qtbot: Any, window: MainWindow, shown: Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = shown("profile")
    table, connect = page.hits.table, door.connect
    table.hits.setData(cell(table, 1), "old")
    with monkeypatch.context() as patched:
        # SQLite falls back to reading when the system lets it do no more.
        patched.setattr(door, "connect", lambda path, mode, *more: connect(path, "ro", *more))
        table.choose_row(1)
        QTest.keyClick(window, Qt.Key.Key_F2)
        QTest.keyClicks(editor(qtbot, table), "precious")
        finish(qtbot, table)
    reports = messages(window)
    assert "The note is not saved." in reports
    assert "could not be written" in reports
    assert list(notes_of(page).values()) == ["old"]
    page.run.refresh()
    qtbot.waitUntil(lambda: not page.run.hits.is_busy)
    assert words(table, 1) == "precious"
    assert words(table, 1, Qt.ItemDataRole.ToolTipRole) == "Not saved: precious"
    assert words(table, 1, Qt.ItemDataRole.ForegroundRole) == theme.QColor(theme.current().stop)
    QTest.keyClick(window, Qt.Key.Key_F2)
    assert editor(qtbot, table).text() == "precious"
    finish(qtbot, table)
    assert list(notes_of(page).values()) == ["precious"]
    assert words(table, 1, Qt.ItemDataRole.ToolTipRole) == "precious"


def test_a_note_that_is_too_long_can_be_shortened(qtbot: Any, window: MainWindow, shown: Shown) -> None:
    page = shown("pairs")
    table = page.hits.table
    assert not table.hits.setData(cell(table, 0), "x" * 501)
    assert "500 letters at most; this one has 501" in messages(window)
    table.choose_row(0)
    table.edit_note()
    QTest.keyClick(editor(qtbot, table), Qt.Key.Key_End)
    QTest.keyClick(editor(qtbot, table), Qt.Key.Key_Backspace)
    finish(qtbot, table)
    assert list(notes_of(page).values()) == ["x" * 500]


def test_a_job_that_writes_is_waited_for_only_shortly(shown: Shown, window: MainWindow) -> None:
    page = shown("profile")
    table = page.hits.table
    worker = sqlite3.connect(page.run.path)
    worker.execute("BEGIN IMMEDIATE")
    assert not table.hits.setData(cell(table, 0), "too soon")
    assert "A job is writing the run file" in messages(window)
    worker.rollback()
    worker.close()
    assert table.hits.setData(cell(table, 0), "too soon")
    assert list(notes_of(page).values()) == ["too soon"]


def test_new_hits_do_not_take_the_field_away(qtbot: Any, window: MainWindow, shown: Shown) -> None:
    page = shown("profile")
    table, resets = page.hits.table, []
    table.choose_row(0)
    table.edit_note()
    QTest.keyClicks(editor(qtbot, table), "half a wo")
    page.run.hits.modelReset.connect(lambda: resets.append(True))
    for _ in range(2):
        page.run.refresh()
        qtbot.waitUntil(lambda: window.controller.reader.is_idle)
    assert not resets
    QTest.keyClicks(editor(qtbot, table), "rd")
    finish(qtbot, table)
    qtbot.waitUntil(lambda: len(resets) == 1 and not page.run.hits.is_busy)
    assert words(table, 0) == "half a word"
    assert list(notes_of(page).values()) == ["half a word"]


@pytest.mark.parametrize("how", ["page", "window"])
def test_closing_keeps_what_was_typed(qtbot: Any, window: MainWindow, shown: Shown, how: str) -> None:
    page = shown("profile")
    path, table = page.run.path, page.hits.table
    table.choose_row(0)
    table.edit_note()
    QTest.keyClicks(editor(qtbot, table), "last words")
    if how == "page":
        QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    else:
        window.close()
    QTest.qWait(50)
    with open_run(path) as run:
        assert list(run.notes().values()) == ["last words"]


def test_a_note_belongs_to_sequence_and_profile(qtbot: Any, made_run: Callable[..., Path], reader: Reader) -> None:
    path = made_run(profiles=2)
    with open_run(path) as run:
        question = "SELECT row FROM hits GROUP BY row HAVING count(*) = 2 LIMIT 1"
        row = run.connection.execute(question).fetchone()[0]
    model = HitsModel(path, reader, PROFILE_TABLE)
    cards = [{"name": name, "length": 60, "include_score": 10.0} for name in ("a", "b")]
    for profile, note in ((0, ""), (1, "of b"), (ALL_QUERIES, "")):
        write_note(path, 1, row, "of b")
        model.set_profile(profile, cards)
        qtbot.waitUntil(lambda: not model.is_busy)
        found = {(hit.profile, hit.row): hit.note for hit in map(model.row_at, range(model.n_shown))}
        assert found[max(profile, 0), row] == note
        assert set(found.values()) == ({"", "of b"} if profile else {""})
    model.close()
