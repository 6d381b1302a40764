"""The frame of the window: its size, its docks, its messages."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QMimeData, QPoint, QRect, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QFrame,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTabBar,
    QWidget,
)

from clalign.runs.run_file import open_run
from clalign.ui.models.jobs import JobItem
from clalign.ui.models.workspace import Source
from clalign.ui.shell.leaving import LeaveSheet
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results import hits_table
from clalign.ui.views.results.results_page import ResultsPage
from clalign.ui.views.start_page import ExampleCard
from clalign.ui.views.widgets.parts import ElidedButton, IconButton

LEFT = Qt.MouseButton.LeftButton


@pytest.mark.thorough
def test_no_page_makes_the_window_larger(
    qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path], pair_runs: dict[str, Path]
) -> None:
    window.resize(900, 600)
    for path in (hmmer3_run(), pair_runs["proteins"]):
        window.controller.sources.open_paths([str(path)])
        page = window.controller.page
        qtbot.waitUntil(lambda page=page: bool(page.run.cards))
        for name in page.shown_parts:
            page.show_tab(name)
            qtbot.waitUntil(page.part_widgets[name].isVisible)
            assert (window.width(), window.height()) == (900, 600), name
            assert window.minimumSizeHint().width() <= 900


def test_the_first_hit_is_chosen_and_shown(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    qtbot.waitUntil(lambda: page.run.hit is not None and page.hit.isVisible())
    assert page.hits.table.chosen_rows() == [0]
    assert page.hit.name_label.text().startswith(page.run.hit.name)
    assert page.hit.alignment.shown_lines
    assert not window.details.isVisible(), "the page shows the hit"


@pytest.mark.thorough
def test_docks_leave_a_narrow_window_to_the_page(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    dock = window.dock
    window.resize(1500, 700)
    qtbot.waitUntil(dock.isVisible)
    window.resize(1280, 700)
    assert not dock.isVisible()
    for is_open in (True, False):
        QTest.mouseClick(window.dock_button, LEFT)
        assert dock.isVisible() == window.dock_button.isChecked() == is_open
    window.controller.focus_data()
    assert window.data.tree.hasFocus()
    QTest.mouseClick(window.dock_button, LEFT)
    window.controller.show_start()
    assert dock.isVisible(), "the start page needs less room"
    window.resize(900, 700)
    assert not dock.isVisible()
    window.resize(1500, 700)
    assert dock.isVisible()


def test_a_search_is_offered_when_all_files_are_read(qtbot: Any, window: MainWindow, files: dict[str, str]) -> None:
    controller = window.controller
    controller.sources.open_quietly([files["made.fasta"]])
    qtbot.waitUntil(lambda: controller.inspector.is_idle)
    controller.workspace.put(Source("large.fasta"))
    controller.sources.open_paths([files["made.hmm"], files["dna.fasta"]])
    qtbot.waitUntil(lambda: controller.inspector.is_idle)
    assert controller.search.sheet is None, "the third file may be the one to search"
    controller.workspace.remove("large.fasta")
    controller.sources.open_paths([files["made.fasta"]])
    qtbot.waitUntil(lambda: controller.search.sheet is not None)


def test_a_file_that_is_opened_while_the_dock_is_folded_is_reported(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Any
) -> None:
    window.resize(1000, 700)
    window.controller.sources.open_paths([files["made.fasta"]])
    qtbot.waitUntil(lambda: any("made.fasta" in message.text for message in window.messages.messages))
    assert not window.dock.isVisible()
    press(window.messages, "Show")
    assert window.dock.isVisible()
    assert window.details.isVisible(), "its card is below the files"
    assert window.details.source.source is not None
    assert window.details.source.source.path == files["made.fasta"]
    assert not window.messages.messages
    window.controller.sources.open_paths([files["dna.fasta"]])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    assert not window.messages.messages, "it is seen where it is"


@pytest.mark.thorough
def test_a_new_window_fits_its_screen(window: MainWindow) -> None:
    free = window.screen().availableGeometry()
    window.resize(3000, 2000)
    window.move(free.right() - 20, free.bottom() - 20)
    window.fit_screen()
    assert window.width() < free.width()
    assert window.height() < free.height()
    assert free.contains(window.geometry())


def test_messages_take_one_line(window: MainWindow, press: Any) -> None:
    bar = window.messages
    bar.notify("stop", "This could not be read.")
    bar.notify("good", "That was written.")
    bar.notify("note", "Something else.")

    def shown() -> list[str]:
        return [row.accessibleName() for row in bar.findChildren(QFrame) if row.isVisible() and row.accessibleName()]

    assert shown() == ["Something else."]
    press(bar, "2 more")
    assert shown() == ["Something else.", "That was written.", "This could not be read."]
    press(bar, "Less")
    assert shown() == ["Something else."]
    press(bar, "2 more")
    assert [text for _, _, text in bar.history] == ["This could not be read.", "That was written.", "Something else."]
    bar.notify("stop", "Nor could that.")
    press(bar, "Close all")
    assert not bar.isVisible()
    assert window.past_messages.text() == "4"
    QTest.mouseClick(window.past_messages, Qt.MouseButton.LeftButton)
    assert "That was written." in [part.text() for part in window.sheets.sheet.findChildren(QLabel)]


@pytest.mark.parametrize("size", [(900, 560), (1280, 800)])
def test_messages_move_and_cover_nothing(qtbot: Any, window: MainWindow, press: Any, size: tuple[int, int]) -> None:
    window.resize(*size)
    window.controller.sources.paste_sequences()
    qtbot.waitUntil(window.sheets.isVisible)
    qtbot.wait(50)

    def places() -> dict[QWidget, QRect]:
        kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QTabBar, QAbstractItemView)
        clicked = [part for kind in kinds for part in window.findChildren(kind) if part.isVisible()]
        of_messages = set(window.messages.findChildren(QWidget))
        return {p: QRect(p.mapTo(window, QPoint(0, 0)), p.size()) for p in clicked if p not in of_messages}

    before = places()
    in_view = [part.visibleRegion().boundingRect().translated(place.topLeft()) for part, place in before.items()]
    window.messages.notify("note", "Something.")
    window.messages.notify("stop", "This cannot be read because: " + "it is long. " * 60, details="\n" * 30)
    for _ in range(2):
        qtbot.wait(50)
        assert places() == before
        assert window.messages.isVisible()
        assert not [place for place in in_view if place.intersects(window.messages.geometry())]
        press(window.messages, "1 more")
        qtbot.waitUntil(lambda: window.messages.height() > 150)
        assert window.messages.y() > 0
        assert places() == before, "what is unfolded lies over the page"
        press(window.messages, "Less")
    window.messages.close_all()
    assert places() == before


def test_a_long_message_is_read_whole(qtbot: Any, window: MainWindow, press: Any) -> None:
    window.messages.notify("caution", "Short.")
    qtbot.wait(50)
    assert not [b for b in window.messages.findChildren(QPushButton) if b.isVisible()], "there is no more of it"
    window.messages.close_all()
    window.messages.notify("caution", "A sentence of some words. " * 20)
    qtbot.waitUntil(lambda: any(b.isVisible() for b in window.messages.findChildren(QPushButton)))
    press(window.messages, "More")
    (text,) = [part for part in window.messages.findChildren(QLabel) if part.text().startswith("A sentence")]
    qtbot.waitUntil(lambda: text.height() > 2 * text.fontMetrics().height())


@pytest.mark.thorough
def test_a_closed_message_leaves_the_focus_where_it_can_be_used(qtbot: Any, window: MainWindow) -> None:
    for text in ("One.", "Two."):
        window.messages.notify("stop", text)
    for _ in range(2):
        close = [b for b in window.messages.findChildren(IconButton) if b.isVisible()][-1]
        close.setFocus()
        QTest.keyClick(close, Qt.Key.Key_Space)
    assert not window.messages.isVisible()
    assert window.start.hasFocus() or window.start.isAncestorOf(window.focusWidget())


@pytest.mark.thorough
def test_enter_opens_the_example_in_focus(qtbot: Any, window: MainWindow) -> None:
    card = window.start.findChildren(ExampleCard)[0]
    asked: list[Any] = []
    window.start.command_requested.disconnect()
    window.start.command_requested.connect(lambda *what: asked.append(what))
    card.setFocus()
    QTest.keyClick(card, Qt.Key.Key_Return)
    assert asked == [("open_example", (card.name, card.example))]


@pytest.mark.thorough
def test_a_recent_file_of_sequences_is_shown(qtbot: Any, window: MainWindow, files: dict[str, str]) -> None:
    path = files["made.fasta"]
    window.settings.add_recent(path, "sequences")
    window.show_recent()
    (entry,) = window.start.findChildren(ElidedButton)
    entry.click()
    qtbot.waitUntil(lambda: window.details.source.isVisible() and window.details.source.source.path == path)
    assert not window.messages.messages


@pytest.mark.thorough
def test_the_start_page_cuts_nothing_in_a_small_window(qtbot: Any, window: MainWindow) -> None:
    inside = window.start.widget()
    for width in (900, 760, 1280):
        window.resize(width, 600)
        qtbot.waitUntil(lambda: inside.width() <= window.start.viewport().width())
        for shown in inside.findChildren(QPushButton):
            if shown.isVisible():
                assert shown.mapTo(inside, shown.rect().topRight()).x() <= inside.width(), shown.text()


def start_long_search(qtbot: Any, window: MainWindow, manners: Callable[..., None]) -> JobItem:
    manners(pause=0.2, batches=60)
    QTest.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    queue = window.controller.queue
    qtbot.waitUntil(lambda: queue.current is not None and queue.current.course.fraction > 0)
    item = queue.current
    assert item is not None
    return item


def test_closing_during_a_search_asks(qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Any) -> None:
    item = start_long_search(qtbot, loaded, manners)
    loaded.close()
    sheet = loaded.sheets.sheet
    assert isinstance(sheet, LeaveSheet)
    assert item.title in sheet.words.text()
    fraction = item.course.fraction
    qtbot.waitUntil(lambda: item.course.fraction > fraction + 0.02 and item.line() in sheet.words.text())
    press(sheet, "Cancel")
    assert loaded.isVisible()
    assert item.is_active
    loaded.close()
    press(loaded.sheets.sheet, "Keep running in the background")
    assert not loaded.isVisible()
    done = item.course.done
    qtbot.waitUntil(lambda: item.course.done > done)
    loaded.bring_forward()
    assert loaded.isVisible()
    assert item.is_active
    loaded.close()
    press(loaded.sheets.sheet, "Stop and keep results")
    qtbot.waitUntil(lambda: not loaded.isVisible())
    assert item.state == "stopped"
    with open_run(Path(item.run)) as run:
        assert 0 < run.n_hits() < 200 * 60


@pytest.mark.thorough
def test_the_question_at_closing_is_withdrawn_when_all_is_done(qtbot: Any, loaded: MainWindow, manners: Any) -> None:
    manners(pause=0.5)  # so that a busy machine closes it before the search ends
    QTest.keyClick(loaded, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: loaded.controller.queue.current is not None)
    loaded.close()
    assert isinstance(loaded.sheets.sheet, LeaveSheet)
    manners(pause=0)
    qtbot.waitUntil(lambda: loaded.controller.queue.current is None)
    qtbot.waitUntil(lambda: loaded.sheets.sheet is None)
    assert loaded.isVisible()


@pytest.mark.thorough
def test_while_devices_are_looked_for_nothing_false_is_said_of_them(qtbot: Any, loaded: MainWindow) -> None:
    space = loaded.controller.workspace
    space.devices, space.devices_known = [], False
    space.devices_changed.emit()
    sheet = loaded.controller.search.sheet
    assert "looking for devices" in sheet.devices.itemText(0)
    line = [words.text() for words in sheet.findChildren(QLabel) if words.isVisible()]
    assert not [text for text in line if "Reference" in text or "slow" in text]


@pytest.mark.thorough
def test_a_run_is_prepared_once_more_as_it_was(qtbot: Any, page: ResultsPage) -> None:
    controller = page.window().controller
    controller.edit_run()
    sheet = controller.search.sheet
    qtbot.waitUntil(lambda: sheet.spec is not None)
    assert sheet.spec == page.run.spec


@pytest.mark.thorough
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_whichever_file_of_a_comparison_is_read_first_each_has_its_place(
    window: MainWindow, files: dict[str, str], order: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window.details, "show_source", lambda source: None)
    space, both = window.controller.workspace, (files["made.fasta"], files["dna.fasta"])
    space.expect(*both)
    for path in both:
        space.put(Source(path))
    for place in order:
        report = {"n_sequences": 1, "n_residues": 9, "alphabet": "dna"}
        space.put(Source(both[place], "sequences", "ready", report=report))
        window.controller.sources._take_file(both[place])
    assert (space.queries_path, space.sequences_path) == both


@pytest.mark.thorough
def test_menus_show_what_is_on_and_end_with_quit(qtbot: Any, window: MainWindow) -> None:
    actions = window.actions_
    actions.update()
    assert actions.by_id["set_theme:light"].isChecked()
    assert not actions.by_id["set_theme:dark"].isChecked()
    assert actions.by_id["window.toggle_dock"].isChecked()
    file_menu = window.menuBar().actions()[0].menu()
    assert file_menu.actions()[-1] is actions.by_id["window.quit"]
    window.start.setFocus()
    field = QLineEdit("some text", window.start)
    field.show()
    field.setFocus()
    actions.by_id["window.press:select_all"].trigger()
    actions.by_id["window.press:copy"].trigger()
    assert QGuiApplication.clipboard().text() == "some text"


@pytest.mark.thorough
def test_files_over_the_window_are_welcomed(window: MainWindow) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile("/x.fasta")])
    enter = QDragEnterEvent(QPoint(300, 300), Qt.DropAction.CopyAction, data, LEFT, Qt.KeyboardModifier.NoModifier)
    window.dragEnterEvent(enter)
    assert window._drop_words.isVisible()
    window.dragLeaveEvent(QDragLeaveEvent())
    assert not window._drop_words.isVisible()


def test_the_focus_is_a_ring_around_a_button(window: MainWindow) -> None:
    window.controller.pairs.open_sheet()
    sheet: Any = window.sheets.sheet
    shown = sheet.paste_button
    without = shown.grab().toImage()
    sheet.queries.setFocus()
    for _ in range(100):  # Qt shows more of the focus after this key
        if not shown.hasFocus():
            QTest.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
    assert shown.hasFocus()
    ringed = shown.grab().toImage()
    inside = shown.rect().adjusted(3, 3, -3, -3)
    assert ringed != without
    assert ringed.copy(inside) == without.copy(inside)


def test_the_focus_is_where_it_was_after_a_sheet_is_closed(window: MainWindow, page: ResultsPage) -> None:
    page.hits.table.setFocus()
    window.controller.hits.export_hits()
    sheet = window.sheets.sheet
    assert sheet is not None
    assert sheet.isAncestorOf(window.focusWidget())
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.sheets.sheet is None
    assert page.hits.table.hasFocus()
    window.show_palette()
    QTest.keyClick(window.palette_.field, Qt.Key.Key_Escape)
    assert page.hits.table.hasFocus(), "after the palette, too"
    window.show_palette()
    QTest.keyClicks(window.palette_.field, "preferences")
    QTest.keyClick(window.palette_.field, Qt.Key.Key_Return)
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.sheets.sheet is None
    assert page.hits.table.hasFocus(), "after a sheet that the palette has opened"
    assert window.dock_button.focusPolicy() == Qt.FocusPolicy.NoFocus, "nothing strays there"


def test_the_focus_goes_to_the_page_when_the_line_of_a_job_goes(loaded: MainWindow, searched: Any) -> None:
    page = searched(loaded)
    row = loaded.jobs.row_of(loaded.controller.queue.items[0])
    (dismiss,) = [made for made in row.findChildren(QPushButton) if made.text() == "Dismiss"]
    dismiss.setFocus()
    QTest.keyClick(dismiss, Qt.Key.Key_Space)
    assert not loaded.controller.queue.items
    assert loaded.focusWidget() is page.hits.table


@pytest.mark.parametrize("key", [Qt.Key.Key_Down, Qt.Key.Key_Return])
def test_the_filter_leads_to_the_hits(window: MainWindow, page: ResultsPage, key: Qt.Key) -> None:
    window.controller.hits.filter_hits()
    assert page.hits.filter_box.hasFocus()
    before = page.hits.table.grab().toImage()
    QTest.keyClick(page.hits.filter_box, key)
    assert page.hits.table.hasFocus()
    assert page.hits.table.grab().toImage().pixelColor(0, 0) != before.pixelColor(0, 0), "which is seen"


def test_the_focus_goes_to_the_page_where_it_was_on_nothing(window: MainWindow, page: ResultsPage) -> None:
    gone = QPushButton(page)
    gone.show()
    gone.setFocus()
    window.about()
    gone.hide()
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Escape)
    assert window.sheets.sheet is None
    assert page.isAncestorOf(window.focusWidget())


@pytest.mark.thorough
def test_exports_begin_where_the_last_one_went(qtbot: Any, page: ResultsPage, tmp_path: Path) -> None:
    controller = page.window().controller
    controller.settings.change(export_folder=str(tmp_path))
    for tab, offered in (("hits", "tsv"), ("aligned", "stockholm"), ("hits", "bed"), ("aligned", "afa")):
        page.show_tab(tab)
        controller.hits.export_hits()
        sheet: Any = page.window().sheets.sheet
        assert Path(sheet.path.text()).parent == tmp_path
        assert sheet.forms.currentData() == offered
        sheet.choose_form("bed" if tab == "hits" else "afa")
        sheet.export_button.click()
        qtbot.waitUntil(lambda: controller.queue.current is None)


@pytest.mark.thorough
def test_more_rows_than_can_be_copied_are_refused_and_not_cut(
    qtbot: Any, page: ResultsPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.hits.table.clearSelection()
    monkeypatch.setattr(hits_table, "MAX_COPIED", 50)
    QGuiApplication.clipboard().setText("before")
    page.hits.table.copy()
    assert QGuiApplication.clipboard().text() == "before"
    assert "200 rows are too many" in page.window().messages.messages[0].text


@pytest.mark.thorough
def test_all_tabs_fit_into_every_usual_width(qtbot: Any, window: MainWindow, families: Path) -> None:
    window.controller.open_run_page(str(families))
    together = window.controller.page
    qtbot.waitUntil(lambda: together.run.hit is not None)  # Details have something to say
    bar = together.tabs
    for width in (1000, 1199, 1200, 1260, 1280):
        window.resize(width, 700)
        qtbot.waitUntil(lambda width=width: window.width() == width and together.tabs.width() <= width)
        QApplication.processEvents()
        assert sum(bar.tabRect(place).width() for place in range(bar.count())) <= together.tabs.width()


def test_recent_files_are_in_view_in_the_turn_in_which_they_are_listed(
    window: MainWindow, made_run: Callable[..., Path]
) -> None:
    window.resize(1280, 800)
    window.settings.add_recent(str(made_run()), "run")
    window.run_words = {str(entry.path): ("a name", "", "today") for entry in window.settings.recent}
    window.show_recent()
    for part in (window.start, window.data):
        assert [made for made in part.findChildren(ElidedButton) if made.isVisible()], "no half a list is painted"


def test_recent_runs_are_beside_the_data_and_partial_ones_go_on(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, part = made_run(name="whole"), made_run(name="part", complete=False)
    with open_run(part, writable=True) as run:
        run.set_facts(state="stopped")
    for path in (whole, part):
        window.settings.add_recent(str(path), "run")
    window.show_recent()
    qtbot.waitUntil(lambda: len(window.data.findChildren(ElidedButton)) == 2)
    resumed: list[str] = []
    monkeypatch.setattr(window.controller.jobs, "resume", resumed.append)
    (goes_on,) = [made for made in window.data.findChildren(QPushButton) if made.text() == "Continue"]
    QTest.mouseClick(goes_on, LEFT)
    assert resumed == [str(part)]
    qtbot.waitUntil(lambda: window.controller.page is not None)
    assert str(window.controller.page.run.path) == str(part)
    shown = [made for made in window.data.findChildren(ElidedButton) if not made.isHidden()]
    assert [made.toolTip().splitlines()[0] for made in shown] == [str(whole)], "the other one is open"
    QTest.mouseClick(shown[0], LEFT)
    qtbot.waitUntil(lambda: str(window.controller.page.run.path) == str(whole))
    window.settings.add_recent(str(made_run(name="third")), "run")
    window.show_recent()
    qtbot.waitUntil(lambda: any(not made.isHidden() for made in window.data.findChildren(ElidedButton)))
    window.workspace.put(Source("made.fasta", "sequences"))
    assert all(made.isHidden() for made in window.data.findChildren(ElidedButton)), "they give way to files"
