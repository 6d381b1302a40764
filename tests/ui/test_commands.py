"""Devices, sheets, commands, themes: the rest of the window, by clicks and keys."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton, QStyleOptionViewItem, QWidget

from clalign.ui import theme
from clalign.ui.engines.plan7.sheet import RunSheet
from clalign.ui.models.workspace import Source
from clalign.ui.shell.actions import COMMANDS, MENUS
from clalign.ui.shell.help import KeyFields
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.shell.palette import MAX_NAMES
from clalign.ui.views.docks import ID_ROLE
from clalign.ui.views.results.results_page import ResultsPage
from clalign.ui.views.results.run_report import ReportSheet
from clalign.ui.views.widgets.small_sheets import (
    DeviceSheet,
    PasteSheet,
    PreferencesSheet,
)

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier

Press = Callable[[QWidget, str], None]
Drop = Callable[[MainWindow, list[str]], None]
Searched = Callable[[MainWindow], ResultsPage]


def test_devices_show_health_speed_and_reason(qtbot: Any, window: MainWindow) -> None:
    picker = window.devices
    lines = [picker.items.item(row).toolTip() for row in range(picker.items.rowCount())]
    assert "Automatic" in lines[0]
    assert "Ready · GPU · 50" in lines[1]
    assert "3 of 512 tests" in lines[3]
    QTest.keyClick(window, Qt.Key.Key_D)
    assert picker.view.hasFocus()
    assert window.chip.popover.isVisible()
    for _ in range(4):
        QTest.keyClick(picker.view, Qt.Key.Key_Down)
    QTest.keyClick(picker.view, Qt.Key.Key_Return)
    assert window.controller.workspace.device_id == "reference"
    assert window.chip.text().startswith("Reference")
    assert window.messages.messages
    assert window.settings.preferences.device == "reference"


@pytest.mark.thorough
def test_the_device_that_was_chosen_elsewhere_is_selected_in_the_list(window: MainWindow) -> None:
    picker, space = window.devices, window.controller.workspace

    def selected() -> str:
        return str(picker.view.currentIndex().data(ID_ROLE))

    first = str(picker.items.item(1).data(ID_ROLE))
    space.choose_device("reference")
    assert selected() == "reference"
    space.choose_device(f"{first},reference")
    assert selected() == first, "what was added"
    space.choose_device("reference")
    assert selected() == first, "it was taken away here"
    space.choose_device("auto")
    assert selected() == "auto"


@pytest.mark.thorough
def test_a_name_has_the_room_that_its_own_line_leaves(qtbot: Any, window: MainWindow) -> None:
    space, tree = window.controller.workspace, window.data.tree
    for path, title, state in (
        ("/a.clalign", "A name of usual length", "1:1"),
        ("/b.clalign", "b", "stopped, partial"),
    ):
        space.put(Source(path, "run", "ready", report={"title": title, "state_words": state, "begun": "today 1:1"}))
    item = window.data.tree_model.index_of("/a.clalign")
    assert item is not None
    option = QStyleOptionViewItem()
    tree.initViewItemOption(option)
    metrics = tree.fontMetrics()
    wide = metrics.horizontalAdvance("A name of usual length") + metrics.horizontalAdvance("1:1") + 60
    option.rect = QRect(0, 0, wide, 24)
    tree.itemDelegate().initStyleOption(option, item.index())
    assert "Begun today 1:1" in item.toolTip()
    option.rect = QRect(0, 0, wide - 60, 24)
    tree.itemDelegate().initStyleOption(option, item.index())
    assert "…" in option.text


@pytest.mark.thorough
def test_no_device_is_said_with_what_to_do(
    qtbot: Any, window: MainWindow, manners: Callable[..., None], press: Press
) -> None:
    manners(devices=False, warns="The OpenCL drivers did not answer within 20 s and were skipped.")
    window.chip.click()
    press(window.devices, "Look again")
    qtbot.waitUntil(lambda: window.controller.workspace.devices_known)
    assert "No OpenCL device found" in window.devices.words.text()
    assert [m.severity for m in window.messages.messages if "did not answer" in m.text] == ["caution"]


def test_a_test_of_a_device_is_no_longer_spoken_of_when_it_is_over(
    qtbot: Any, window: MainWindow, manners: Callable[..., None], press: Press
) -> None:
    manners(warns="Testing Made GPU (Made): only once, for up to 120 s.")
    window.chip.click()
    with qtbot.waitSignal(window.controller.inspector.devices_found):
        press(window.devices, "Look again")
    assert ("note", "Testing") in [(severity, text[:7]) for _, severity, text in window.messages.history]
    assert not [message for message in window.messages.messages if message.text.startswith("Testing")]


def test_the_self_test_shows_its_checks(qtbot: Any, window: MainWindow, press: Press) -> None:
    window.chip.click()
    press(window.devices, "Self-test")
    assert not window.chip.popover.isVisible(), "a sheet tells the rest"
    sheet = window.sheets.sheet
    assert isinstance(sheet, DeviceSheet)
    assert not sheet.test.isEnabled()
    qtbot.waitUntil(sheet.test.isEnabled)
    assert "rrm_1: equal" in sheet._checks.itemAt(0).widget().findChildren(QWidget)[1].text()


def test_an_example_fills_the_sheet_in(qtbot: Any, window: MainWindow) -> None:
    card = window.start.cards[0]
    QTest.mouseClick(card, LEFT)
    qtbot.waitUntil(lambda: window.controller.search.sheet is not None)
    assert Path(window.controller.search.sheet.spec.profiles).name == card.example.profiles.name
    assert not window.settings.recent


@pytest.mark.thorough
def test_pasted_sequences_become_a_file(qtbot: Any, window: MainWindow, press: Press) -> None:
    press(window.start, "Paste sequences…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, PasteSheet)
    assert sheet.save.toolTip()
    QTest.keyClicks(sheet.text, "MKVLAAGIVL")
    press(sheet, "Open")
    qtbot.waitUntil(lambda: window.controller.workspace.sequences is not None)
    assert Path(window.controller.workspace.sequences.path).read_text() == ">pasted\nMKVLAAGIVL\n"


def test_the_palette_finds_and_runs_commands(qtbot: Any, window: MainWindow) -> None:
    QTest.keyClick(window, Qt.Key.Key_K, CTRL)
    palette = window.palette_
    assert palette.isVisible()
    QTest.keyClicks(palette.field, "pref")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert isinstance(window.sheets.sheet, PreferencesSheet)
    QTest.keyClick(window.sheets.sheet, Qt.Key.Key_Escape)
    assert window.sheets.sheet is None
    QTest.keyClick(window, Qt.Key.Key_K, CTRL)
    QTest.keyClicks(palette.field, "gff3")  # a word of what it is for
    assert palette.shown_texts() == ["Export…"]
    for words, first in (
        ("tour", "Five-minute tour"),
        ("align", "Align sequences…"),
        ("keys", "Keys and filter language"),
        ("theme", "Dark"),
        ("setting", "Preferences…"),
        ("heat map", "Families"),
        ("homologs", "Run search…"),
        ("distant relatives", "Search in rounds (jackhmmer)…"),
        ("phylogen", "Distances and tree"),
    ):
        palette.field.clear()
        QTest.keyClicks(palette.field, words)
        assert palette.shown_texts()[0] == first, "what cannot be run comes later"
    height = palette.height()
    palette.field.setText("no such thing")
    assert palette.height() < height / 2, "no room is left for what is not found"
    palette.field.clear()
    assert palette.height() == height
    QTest.keyClicks(palette.field, "gff3")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    assert palette.note.text() == window.actions_.by_id["hits.export_hits"].toolTip()
    palette.field.clear()
    QTest.keyClicks(palette.field, "ma")
    chosen = []
    for _ in palette.shown_texts():
        chosen.append(palette.view.currentIndex().data())
        QTest.keyClick(palette.field, Qt.Key.Key_Down)
    assert chosen == palette.shown_texts(), "keys pass those that cannot be run"
    QTest.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible()


def test_the_palette_finds_files_recent_runs_and_queries_by_name(
    qtbot: Any, window: MainWindow, files: dict[str, str], made_run: Callable[..., Path], drop: Drop
) -> None:
    recent, path = made_run(name="an_old_one"), str(made_run(profiles=2))
    window.settings.add_recent(str(recent), "run")
    drop(window, [files["made.hmm"]])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    window.controller.open_run_page(path)
    page = window.controller.page
    qtbot.waitUntil(lambda: len(page.run.cards) == 2)
    palette = window.palette_

    def go(words: str) -> list[str]:
        window.show_palette()
        QTest.keyClicks(palette.field, words)
        return palette.shown_texts()

    name = page.run.cards[1]["name"]
    assert name in go(name[:-1])
    QTest.keyClick(palette.field, Qt.Key.Key_Escape)
    assert go(name) == [name]
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert page.run.profile == 1
    page.queries.model.show_queries([{"name": f"family_{number}"} for number in range(20_000)])
    assert go("family_1999")[:2] == ["family_1999", "family_19990"]
    go("family_")
    assert len([text for text in palette.shown_texts() if text.startswith("family_")]) == MAX_NAMES
    assert f"{page.run.nouns}: {MAX_NAMES} of 20,000" in palette.shown_texts(with_headings=True)
    window.controller.show_start()
    assert not [text for text in go("family_") if text.startswith("family_")], "its run is no longer in view"
    assert Path(files["made.hmm"]).name in go(Path(files["made.hmm"]).name[:4])
    assert go("an_old")
    QTest.keyClick(palette.field, Qt.Key.Key_Return)
    assert str(recent) in window.controller.pages


def test_every_command_is_in_the_palette_and_disabled_ones_say_why(window: MainWindow) -> None:
    window.actions_.update()
    window.show_palette()
    shown = window.palette_.shown_texts()
    for command in COMMANDS:
        action = window.actions_.by_id[command.id]
        assert command.text in shown
        assert action.toolTip()
        assert action.whatsThis() == command.tip
        if not action.isEnabled():
            assert action.toolTip() == command.objection(window.controller) != ""
        assert command.menu in (*MENUS, "Alignment", "")
    assert not window.actions_.by_id["hits.export_hits"].isEnabled()


QUIET = ("window.quit", "sources.open_files", "jobs.merge_parts", "locating.locate_for_page", "window.full_screen")


@pytest.mark.thorough
def test_every_command_can_be_called(qtbot: Any, window: MainWindow, made_run: Callable[..., Path]) -> None:
    """One after the other in one window, in which a hit is chosen before each."""
    path = str(made_run())
    n_enabled = 0
    for command in COMMANDS:
        if command.id in QUIET:
            continue
        window.sheets.close_sheet()
        window.controller.sources.open_paths([path])
        page = window.controller.page
        qtbot.waitUntil(lambda page=page: page.run.hits.n_shown == 200)
        page.hits.table.choose_row(0)
        window.actions_.update()
        n_enabled += window.actions_.by_id[command.id].isEnabled()
        window.actions_.by_id[command.id].trigger()
        qtbot.waitUntil(lambda page=page: window.controller.inspector.is_idle and not page.run.hits.is_busy)
        menu = QGuiApplication.instance().activePopupWidget()
        if menu is not None:
            menu.close()
    assert n_enabled > 50


def test_disabled_buttons_say_why(window: MainWindow) -> None:
    window.controller.search.open_sheet()
    window.controller.workspace.devices_known = False
    window.devices.show_devices()
    for found in window.findChildren(QPushButton):
        if found.isVisible() and not found.isEnabled():
            assert found.toolTip(), found.text()


def test_the_button_that_runs_stays_in_place_when_notices_appear(qtbot: Any, loaded: MainWindow) -> None:
    sheet = loaded.controller.search.sheet
    sheet.command.hide()  # how often it wraps depends on the folder of the test
    qtbot.wait(1)
    before = sheet.run_button.mapTo(loaded, QPoint(0, 0))
    for number in ("reference", "auto"):
        loaded.workspace.choose_device(number)
        qtbot.wait(1)
        assert sheet.run_button.mapTo(loaded, QPoint(0, 0)) == before


@pytest.mark.thorough
def test_the_tab_key_reaches_every_field_of_the_sheet(loaded: MainWindow) -> None:
    sheet = loaded.controller.search.sheet
    reached = set()
    for _ in range(40):
        focused = loaded.focusWidget()
        assert focused is not None
        reached.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert {sheet.profiles, sheet.sequences, sheet.devices, sheet.run_button} <= reached


@pytest.mark.thorough
def test_both_themes_at_any_time(qtbot: Any, page: ResultsPage) -> None:
    window = page.window()
    window.controller.set_theme("dark")
    assert theme.current().name == "dark"
    qtbot.wait(50)
    picture = page.strip.plot.grab().toImage()
    assert picture.pixelColor(2, 2).name().upper() == theme.DARK.surface
    window.controller.set_theme("light")
    qtbot.wait(50)
    assert page.strip.plot.grab().toImage().pixelColor(2, 2).name().upper() == theme.LIGHT.surface


def test_keys_of_tabs_follow_their_order(page: ResultsPage) -> None:
    shown = [command for command in COMMANDS if command.id.startswith("show_tab:")]
    (pairs,) = [command for command in shown if command.id == "show_tab:pairs"]
    assert not pairs.keys
    shown.remove(pairs)
    assert [command.id for command in shown] == [f"show_tab:{name}" for name in page.TABS]
    assert [command.keys for command in shown] == [f"Ctrl+{i}" for i in range(1, 6)]
    keys = {Qt.Key.Key_2: "aligned", Qt.Key.Key_3: "histogram", Qt.Key.Key_4: "query", Qt.Key.Key_1: "hits"}
    for key, name in keys.items():
        QTest.keyClick(page.window(), key, CTRL)
        assert page.tab == name, "a single profile has no families, and leaves no gap"
    QTest.keyClick(page.window(), Qt.Key.Key_5, CTRL)
    assert page.tab == "hits"
    actions = page.window().actions_
    actions.set_keys("hits.choose_columns", QKeySequence("Ctrl+5"))
    page.window().controller.show_start()
    assert actions.by_id["show_tab:aligned"].shortcut().toString() == "Ctrl+3"
    assert actions.by_id["show_tab:query"].shortcut().isEmpty(), "the user gave its key to another command"
    page.window().controller.show_run(str(page.run.path))
    QTest.keyClick(page.window(), Qt.Key.Key_I, CTRL)
    assert isinstance(page.window().sheets.sheet, ReportSheet)


def test_no_two_commands_look_alike() -> None:
    texts = [command.text for command in COMMANDS if command.menu]
    assert len(set(texts)) == len(texts)
    keys = [command.keys for command in COMMANDS if command.keys]
    assert len(set(keys)) == len(keys)


def test_menus_leave_out_what_the_page_cannot_do(qtbot: Any, window: MainWindow, made_run: Callable[..., Path]) -> None:
    def shown() -> set[str]:
        found: list[str] = []
        for action in window.menuBar().actions():
            menu = action.menu()
            menu.aboutToShow.emit()
            inside = menu.actions()
            assert not inside[0].isSeparator()
            assert not inside[-1].isSeparator()
            found += [one.text() for one in inside if not one.isSeparator()]
        assert len(set(found)) == len(found) < 80
        return set(found)

    of_hits = {command.text for command in COMMANDS if command.id in ("hits.export_hits", "page.step_hit:1")}
    of_rows = {command.text for command in COMMANDS if command.menu == "Alignment" or command.id == "alignments.save"}
    assert not shown() & (of_hits | of_rows)
    window.controller.sources.open_paths([str(made_run())])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 200)
    assert of_hits <= shown()
    assert not shown() & of_rows
    window.controller.set_theme("dark")
    window.controller.set_theme("light")
    window.actions_.update()
    themes = [command.id for command in COMMANDS if command.choice == "theme"]
    assert [window.actions_.by_id[name].isChecked() for name in themes] == [True, False, False]


@pytest.mark.thorough
def test_what_is_switched_on_is_checked_in_its_menu(qtbot: Any, window: MainWindow) -> None:
    menu = next(action.menu() for action in window.menuBar().actions() if action.text() == "&View")
    for tokens in (theme.DARK, theme.LIGHT):
        window.controller.set_theme(tokens.name)
        menu.popup(window.mapToGlobal(QPoint(0, 0)))
        qtbot.waitUntil(menu.isVisible)
        shown = menu.grab().toImage()
        for action in (action for action in menu.actions() if action.isCheckable()):
            place = menu.actionGeometry(action)
            y = place.center().y()
            inside = [shown.pixelColor(x, y).name().upper() for x in range(place.left(), place.left() + 30)]
            assert (tokens.accent.upper() in inside) == action.isChecked(), action.text()
        menu.hide()


@pytest.mark.thorough
def test_recent_files_open_and_can_be_pinned(
    qtbot: Any, window: MainWindow, files: dict[str, str], fake: ModuleType
) -> None:
    window.settings.add_recent(files["made.fasta"], "sequences")
    window.settings.add_recent("/gone/away.hmm", "profiles")
    window.settings.add_recent("/gone/one/few/same.hmm", "profiles")
    window.settings.add_recent("/gone/two/few/same.hmm", "profiles")
    window.show_recent()
    qtbot.wait(50)
    buttons = {b.accessibleName(): b for b in window.start.findChildren(QPushButton) if b.isVisible()}
    assert not buttons["away.hmm"].isEnabled()
    apart = {f"same.hmm – {Path(folder, 'few')}" for folder in ("one", "two")}
    assert apart <= set(buttons)
    window.recent_menu.aboutToShow.emit()
    assert {action.text().partition(" – missing")[0] for action in window.recent_menu.actions()} >= {*apart, "away.hmm"}
    QTest.mouseClick(buttons["made.fasta"], LEFT)
    qtbot.waitUntil(lambda: window.controller.workspace.sequences is not None)
    window.pin(files["made.fasta"], True)
    assert window.settings.recent[0].pinned


@pytest.mark.thorough
def test_layout_is_remembered(qtbot: Any, window: MainWindow, worker: list[str]) -> None:
    window.toggle_dock()
    window.close()
    again = MainWindow(window.settings, worker)
    again.show()
    again.resize(1280, 800)
    assert not again.dock.isVisible()
    again.reset_layout()
    assert again.dock.isVisible()
    again.close()
    again.deleteLater()


def test_a_run_sheet_is_one_at_a_time(loaded: MainWindow) -> None:
    loaded.controller.search.open_sheet()
    assert len([s for s in loaded.sheets.findChildren(RunSheet) if s.isVisible()]) == 1


def test_keys_can_be_changed_and_are_kept(window: MainWindow) -> None:
    window.show_keys()
    (fields,) = window.sheets.sheet.findChildren(KeyFields)
    library, devices = fields.fields["library.show"], window.actions_.by_id["labs.open:search_comparison"]
    before = library.keySequence()
    library.setKeySequence(devices.shortcut())
    library.editingFinished.emit()
    assert devices.text() in fields.note.text()
    assert library.keySequence() == before
    library.setKeySequence(QKeySequence("Ctrl+Alt+L"))
    library.editingFinished.emit()
    assert window.actions_.by_id["library.show"].shortcut() == QKeySequence("Ctrl+Alt+L")
    assert window.settings.preferences.keys == {"library.show": "Ctrl+Alt+L"}
    fields._restore()
    assert library.keySequence() == before
    assert window.settings.preferences.keys == {}
