"""The frame of the window: its size, its rails, its messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFrame, QPushButton

from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views import message_bar
from clalign.ui.views.parts import IconButton
from clalign.ui.views.results_page import ResultsPage
from clalign.ui.views.start_page import ExampleCard

LEFT = Qt.MouseButton.LeftButton


def test_no_page_makes_the_window_larger(
    qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path], pair_runs: dict[str, Path]
) -> None:
    window.resize(900, 600)
    for path in (hmmer3_run(), pair_runs["proteins"]):
        window.controller.sources.open_paths([str(path)])
        page = window.controller.page
        assert page is not None
        qtbot.waitUntil(lambda page=page: bool(page.run.cards), timeout=30000)
        for name in page.TABS:
            page.show_tab(name)
            qtbot.waitUntil(page._places[name].isVisible)
            assert (window.width(), window.height()) == (900, 600), name
            assert window.minimumSizeHint().width() <= 900


def test_rails_come_over_the_pages_where_room_is_scarce(qtbot: Any, window: MainWindow, press: Any) -> None:
    window.resize(1000, 700)
    assert not window.docks["data"].isVisible()
    data = next(b for b in window.rails.bars[True].findChildren(IconButton) if b.toolTip() == "Data")
    QTest.mouseClick(data, LEFT)
    assert window.data.isVisible()
    assert window.rails.drawer.isAncestorOf(window.data)
    QTest.mouseClick(data, LEFT)
    assert not window.data.isVisible()
    window.controller.focus_data()
    assert window.data.tree.hasFocus()
    QTest.keyClick(window.data.tree, Qt.Key.Key_Escape)
    assert not window.data.isVisible()
    window.controller.focus_data()
    QTest.mouseClick(window.start.viewport(), LEFT, pos=QPoint(500, 20))
    assert not window.data.isVisible(), "a click beside it closes it"
    window.resize(1300, 700)
    assert window.docks["data"].isVisible()
    assert window.docks["data"].isAncestorOf(window.data)


def test_details_open_when_there_is_something_to_say(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    """The first hit of a finished search is chosen, and shown."""
    qtbot.waitUntil(lambda: page.run.hit is not None)
    assert page.hits.table.chosen_rows() == [0]
    assert window.docks["details"].isVisible()
    window.docks["details"].close()
    page.hits.table.choose_row(1)
    assert not window.docks["details"].isVisible(), "who has closed it does not want it"
    window.toggle_dock("details")
    assert window.docks["details"].isVisible()
    window.controller.show_start()
    window.controller.close_source(str(page.run.path))
    assert not window.docks["details"].isVisible()


def test_details_are_away_at_first(window: MainWindow) -> None:
    assert not window.docks["details"].isVisible()
    assert window.docks["data"].isVisible()


def test_a_new_window_fits_its_screen(window: MainWindow) -> None:
    free = window.screen().availableGeometry()
    window.resize(3000, 2000)
    window.move(free.right() - 20, free.bottom() - 20)
    window.fit_screen()
    assert window.width() < free.width()
    assert window.height() < free.height()
    assert free.contains(window.geometry())


def test_messages_take_one_line_and_good_news_goes_by_itself(
    qtbot: Any, window: MainWindow, monkeypatch: pytest.MonkeyPatch, press: Any
) -> None:
    bar = window.messages
    bar.say("stop", "This could not be read.")
    bar.say("good", "That was written.")
    bar.say("note", "Something else.")

    def shown() -> list[str]:
        return [row.accessibleName() for row in bar.findChildren(QFrame) if row.isVisible() and row.accessibleName()]

    assert shown() == ["Something else."]
    press(bar, "2 more")
    assert shown() == ["Something else.", "That was written.", "This could not be read."]
    monkeypatch.setattr(message_bar, "LIFE_SECONDS", {"good": 1, "note": 1})
    bar._pass_second()
    assert len(bar.messages) == 3, "nothing goes that somebody works with"
    window.start.setFocus()
    monkeypatch.setattr(bar, "underMouse", lambda: False)
    bar._pass_second()
    assert [m.text for m in bar.messages] == ["This could not be read."]
    assert [text for _, _, text in bar.history] == ["This could not be read.", "That was written.", "Something else."]


def test_a_closed_message_leaves_the_focus_where_it_can_be_used(qtbot: Any, window: MainWindow) -> None:
    for text in ("One.", "Two."):
        window.messages.say("stop", text)
    for _ in range(2):
        close = [b for b in window.messages.findChildren(IconButton) if b.isVisible()][-1]
        close.setFocus()
        QTest.keyClick(close, Qt.Key.Key_Space)
    assert not window.messages.isVisible()
    assert window.start.hasFocus() or window.start.isAncestorOf(window.focusWidget())


def test_enter_opens_the_example_in_focus(qtbot: Any, window: MainWindow) -> None:
    card = window.start.findChildren(ExampleCard)[0]
    asked: list[Any] = []
    window.start.example_asked.disconnect()
    window.start.example_asked.connect(lambda *what: asked.append(what))
    card.setFocus()
    QTest.keyClick(card, Qt.Key.Key_Return)
    assert asked == [(card.name, card.example)]


def test_the_start_page_cuts_nothing_in_a_small_window(qtbot: Any, window: MainWindow) -> None:
    inside = window.start.widget()
    for width in (900, 760, 1280):
        window.resize(width, 600)
        qtbot.waitUntil(lambda: inside.width() <= window.start.viewport().width())
        for shown in inside.findChildren(QPushButton):
            if shown.isVisible():
                assert shown.mapTo(inside, shown.rect().topRight()).x() <= inside.width(), shown.text()
