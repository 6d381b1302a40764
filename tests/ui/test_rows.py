"""The page of an alignment, by clicks and keys."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage, QPainter, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from clalign.formats.row_alignments import read_rows
from clalign.jobs import JobContext
from clalign.ui import theme
from clalign.ui.models.alignment.rows_view import RowsView, Selection
from clalign.ui.services import alignment_controller
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.alignment.rows_canvas import RowsCanvas
from clalign.ui.views.alignment.rows_page import RowsPanel
from clalign.ui.views.alignment.rows_painter import RowsStyle, Span, shown_name
from clalign.ui.views.alignment.rows_sheet import RowsPictureSheet
from clalign.ui.views.alignment.rows_tracks import GAP, height_of, paint_tracks, tracks_below
from clalign.values.row_alignments import RowAlignment

LEFT = Qt.MouseButton.LeftButton
CTRL, SHIFT, NONE = (getattr(Qt.KeyboardModifier, f"{name}Modifier") for name in ("Control", "Shift", "No"))

Press = Callable[[QWidget, str], None]
Drop = Callable[[MainWindow, list[str]], None]

N_ROWS, N_COLUMNS = 60, 300


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A Stockholm file of two alignments; the motif NGST stands across a gap in two rows of the first."""
    rng = np.random.default_rng(2)
    letters = rng.choice(np.frombuffer(b"ACDEFGHIKLMPQRVWY-", np.uint8), (N_ROWS, N_COLUMNS))
    letters[:, 10] = ord("W")
    for row, column in ((5, 250), (40, 30)):
        letters[row, column : column + 5] = list(b"NG-ST")
    path = tmp_path / "made.sto"
    lines = ["# STOCKHOLM 1.0", "#=GF ID first", f"#=GC SS_cons {'H' * N_COLUMNS}"]
    lines += [f"row{place} {row.tobytes().decode()}" for place, row in enumerate(letters)]
    path.write_text("\n".join([*lines, "//", "# STOCKHOLM 1.0", "#=GF ID second", "x ACD", "y A-D", "//", ""]))
    return path


@pytest.fixture
def panel(qtbot: Any, made: Path) -> Iterator[RowsPanel]:
    """The alignment without the window around it."""
    theme.apply("light")
    view = RowsView(read_rows(str(made)))
    panel = RowsPanel(view)
    qtbot.addWidget(panel)
    panel.resize(1000, 700)
    panel.show()
    view.begin()
    qtbot.waitUntil(lambda: view.is_measured and view.is_idle)
    yield panel
    panel.close_view()


@pytest.fixture
def dropped(qtbot: Any, window: MainWindow, made: Path, drop: Drop) -> RowsPanel:
    """The page of the window after the file was dropped."""
    drop(window, [str(made)])
    return shown(qtbot, window)


def shown(qtbot: Any, window: MainWindow) -> RowsPanel:
    alignments = window.controller.alignments
    qtbot.waitUntil(lambda: alignments.panel is not None and alignments.panel.view.is_measured)
    qtbot.waitUntil(lambda: alignments.panel.view.is_idle and window.controller.files.is_idle)
    return alignments.panel


def line(window: MainWindow, text: str) -> bool:
    return any(text in message.text for message in window.messages.messages)


def at(panel: RowsPanel, row: int, column: int) -> QPoint:
    canvas = panel.canvas
    x = canvas.names + (column + 0.5) * canvas.cell - canvas.horizontalScrollBar().value()
    y = canvas.room.top() + (row + 0.5) * canvas.height_ - canvas.verticalScrollBar().value()
    return QPoint(int(x), int(y))


def test_an_alignment_that_is_dropped_is_shown(window: MainWindow, dropped: RowsPanel) -> None:
    assert window.windowTitle() == "made.sto – clalign"
    assert (dropped.view.n_rows, dropped.view.n_columns) == (N_ROWS, N_COLUMNS)
    assert "60 rows · 300 columns · protein" in dropped.facts.text()
    assert dropped.canvas.hasFocus()
    assert dropped.canvas.accessibleDescription().startswith("60 rows")


def test_an_alignment_that_arrives_behind_a_form_leaves_it_the_focus(
    qtbot: Any, window: MainWindow, made: Path
) -> None:
    window.controller.alignments.open(str(made))
    QTest.keyClick(window, Qt.Key.Key_A, CTRL | SHIFT)
    sheet = window.sheets.sheet
    shown(qtbot, window)
    assert window.sheets.sheet is sheet
    assert sheet.isAncestorOf(window.focusWidget())


@pytest.mark.thorough
def test_the_other_alignments_of_a_file_can_be_chosen(qtbot: Any, window: MainWindow, dropped: RowsPanel) -> None:
    page = window.controller.alignments.page
    assert [page.numbers.itemText(i) for i in range(page.numbers.count())] == ["first", "second"]
    page.numbers.setFocus()
    QTest.keyClick(page.numbers, Qt.Key.Key_Down)
    page.numbers.activated.emit(page.numbers.currentIndex())
    other = shown(qtbot, window)
    assert (other.view.n_rows, other.view.n_columns) == (2, 3)


def test_keys_move_the_cursor_and_select(panel: RowsPanel) -> None:
    canvas, view = panel.canvas, panel.view
    for _ in range(3):
        QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    assert view.cursor == (1, 3)
    assert panel.status.text().startswith("row1: ")
    QTest.keyClick(canvas, Qt.Key.Key_Right, SHIFT)
    QTest.keyClick(canvas, Qt.Key.Key_Down, SHIFT)
    assert view.selection == Selection(range(1, 3), range(3, 5))
    QTest.keyClick(canvas, Qt.Key.Key_End, CTRL)
    assert view.cursor == (N_ROWS - 1, N_COLUMNS - 1)
    assert N_COLUMNS - 1 in canvas.shown_columns()
    assert N_ROWS - 1 in canvas.shown_rows()
    QTest.keyClick(canvas, Qt.Key.Key_Home, CTRL)
    assert canvas.shown_columns().start == canvas.shown_rows().start == 0
    QTest.keyClick(canvas, Qt.Key.Key_A, CTRL)
    assert view.selection == Selection(range(N_ROWS), range(N_COLUMNS))
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert view.selection is None


def test_blocks_rows_and_columns_are_selected_and_copied(panel: RowsPanel) -> None:
    canvas, view = panel.canvas, panel.view
    QTest.mousePress(canvas.viewport(), LEFT, NONE, at(panel, 1, 2))
    QTest.mouseMove(canvas.viewport(), at(panel, 2, 4))
    QTest.mouseMove(canvas.viewport(), at(panel, 3, 6))
    QTest.mouseRelease(canvas.viewport(), LEFT, NONE, at(panel, 3, 6))
    QTest.mouseClick(canvas.viewport(), LEFT, SHIFT, at(panel, 3, 6))
    assert view.selection == Selection(range(1, 4), range(2, 7))
    QTest.keyClick(canvas, Qt.Key.Key_C, CTRL)
    rows = [view.alignment.cells[row, 2:7].tobytes().decode() for row in (1, 2, 3)]
    assert QGuiApplication.clipboard().text() == "".join(f">row{i}\n{row}\n" for i, row in enumerate(rows, 1))
    place = at(panel, 4, 0)
    QTest.mouseClick(canvas.viewport(), LEFT, NONE, QPoint(30, place.y()))
    assert view.selection == Selection(range(4, 5), range(N_COLUMNS))
    QTest.mouseClick(canvas.viewport(), LEFT, SHIFT, QPoint(30, at(panel, 6, 0).y()))
    assert view.selection == Selection(range(4, 7), range(N_COLUMNS))
    QTest.mouseClick(canvas.viewport(), LEFT, NONE, QPoint(at(panel, 0, 8).x(), 5))
    assert view.selection == Selection(range(N_ROWS), range(8, 9))


def wheel(panel: RowsPanel, turn: int, held: Qt.KeyboardModifier) -> None:
    where = QPointF(at(panel, 2, 5))
    target = panel.canvas.viewport()
    event = QWheelEvent(
        where, QPointF(target.mapToGlobal(where.toPoint())), QPoint(), QPoint(0, turn), Qt.MouseButton.NoButton,
        held, Qt.ScrollPhase.NoScrollPhase, False,
    )  # fmt: skip
    QApplication.sendEvent(target, event)


def test_both_axes_are_zoomed_by_themselves_down_to_less_than_a_pixel(panel: RowsPanel) -> None:
    canvas = panel.canvas
    before = canvas.cell, canvas.height_
    wheel(panel, 120, CTRL)
    assert canvas.cell > before[0]
    assert canvas.height_ == before[1]
    wheel(panel, -120, CTRL | SHIFT)
    assert canvas.height_ < before[1]
    QTest.keyClick(canvas, Qt.Key.Key_0, CTRL)
    assert (canvas.cell, canvas.height_) == before
    for _ in range(30):
        QTest.keyClick(canvas, Qt.Key.Key_Minus, CTRL)
        QTest.keyClick(canvas, Qt.Key.Key_Down, CTRL)
    assert canvas.cell < 1
    assert canvas.height_ < 1
    canvas.grab()
    assert canvas.shown_columns() == range(N_COLUMNS)
    small = canvas.cell, canvas.height_
    panel.fit()
    assert canvas.shown_rows() == range(N_ROWS)
    assert panel.whole.isChecked()
    QTest.mouseClick(panel.whole, Qt.MouseButton.LeftButton)
    assert (canvas.cell, canvas.height_) == small
    QTest.keyClick(canvas, Qt.Key.Key_0, CTRL)
    assert (canvas.cell, canvas.height_) == before
    canvas.horizontalScrollBar().setValue(37)
    QTest.mouseClick(panel.whole, Qt.MouseButton.LeftButton)
    assert canvas.shown_columns() == range(N_COLUMNS)
    QTest.mouseClick(panel.whole, Qt.MouseButton.LeftButton)
    assert canvas.horizontalScrollBar().value() == 37
    QTest.mouseClick(panel.whole, Qt.MouseButton.LeftButton)
    wheel(panel, 120, CTRL)
    assert not panel.whole.isChecked()


def test_residues_are_distinguished_from_gaps_however_small_they_are(panel: RowsPanel) -> None:
    canvas, view = panel.canvas, panel.view
    panel.choose_scheme("none")
    gap = np.argwhere(view.alignment.cells == ord("-"))[0].tolist()
    residue = np.argwhere(view.alignment.cells != ord("-"))[0].tolist()
    canvas.cell, canvas.height_ = 3.0, 4.0
    canvas.arrange()
    image = canvas.viewport().grab().toImage()
    colors = [image.pixelColor(at(panel, *place)).name() for place in (gap, residue)]
    assert colors[0] == theme.current().surface.lower()
    assert colors[1] != colors[0]
    panel.fit()
    assert canvas.viewport().grab().toImage() != image


def test_what_is_found_is_gone_to_and_colored(qtbot: Any, dropped: RowsPanel) -> None:
    canvas, view = dropped.canvas, dropped.view
    QTest.keyClick(canvas, Qt.Key.Key_F, CTRL)
    assert dropped.field.hasFocus()
    QTest.keyClicks(dropped.field, "ngst")
    QTest.keyClick(dropped.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: dropped.found.text() == "1 of 2")
    assert view.found_now() == (5, 250, 255)
    assert {250, 254} <= set(canvas.shown_columns())
    QTest.keyClick(dropped.field, Qt.Key.Key_Return)
    assert dropped.found.text() == "2 of 2"
    assert view.found_now() == (40, 30, 35)
    assert 40 in canvas.shown_rows()
    QTest.keyClick(dropped.field, Qt.Key.Key_Return, SHIFT)
    assert view.found_now() == (5, 250, 255)
    place = at(dropped, 5, 250)
    color = canvas.viewport().grab().toImage().pixelColor(place.x() - 4, place.y() - 7)
    assert color.name().upper() == "#FFD400"
    QTest.keyClicks(dropped.field, "WWWWWWW")
    QTest.keyClick(dropped.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: dropped.found.text() == "Nothing found")
    QTest.keyClick(dropped.field, Qt.Key.Key_Escape)
    assert canvas.hasFocus()


def test_marks_dim_the_colors_of_residues_until_the_search_is_ended(qtbot: Any, panel: RowsPanel) -> None:
    before = panel.canvas.grab().toImage()
    QTest.keyClick(panel.canvas, Qt.Key.Key_F, CTRL)
    QTest.keyClicks(panel.field, "ngst")
    QTest.keyClick(panel.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: panel.found.text() == "1 of 2")
    assert not len(panel.view.frozen().found), "pictures have no marks"
    x, y = panel.canvas.names + 10.5 * panel.canvas.cell, panel.canvas.room.top() + 1
    panel.canvas.horizontalScrollBar().setValue(0)
    color, marked = (image.pixelColor(int(x), int(y)) for image in (before, panel.canvas.grab().toImage()))
    ground = QColor(theme.current().surface)
    assert marked not in (color, ground)
    QTest.keyClick(panel.field, Qt.Key.Key_Down)
    assert len(panel.view.found), "in the rows the search goes on"
    QTest.keyClick(panel.canvas, Qt.Key.Key_Escape)
    assert panel.finder.isHidden()
    assert not len(panel.view.found)


def test_looking_begins_with_what_is_in_view(qtbot: Any, dropped: RowsPanel) -> None:
    canvas = dropped.canvas
    canvas.verticalScrollBar().setValue(int(10 * canvas.height_))
    assert 5 not in canvas.shown_rows()
    QTest.keyClick(canvas, Qt.Key.Key_F, CTRL)
    QTest.keyClicks(dropped.field, "ngst")
    cursor = dropped.view.cursor
    dropped.field.clear()
    assert dropped.view.cursor == cursor, "only a step moves it"
    QTest.keyClicks(dropped.field, "ngst")
    QTest.keyClick(dropped.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: dropped.found.text() == "2 of 2")


@pytest.mark.thorough
def test_a_pattern_that_is_none_is_said(qtbot: Any, window: MainWindow, dropped: RowsPanel) -> None:
    dropped.modes.setCurrentIndex(dropped.modes.findData("regex"))
    QTest.keyClicks(dropped.field, "A(")
    QTest.keyClick(dropped.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: line(window, "Invalid regular expression"))
    assert dropped.found.text() == "Nothing found"


def test_a_wrapped_alignment_shows_every_column_once(panel: RowsPanel) -> None:
    canvas = panel.canvas
    QTest.mouseClick(panel.wrap, LEFT)
    assert canvas.wrapped
    seen: list[int] = []
    for step in range(0, canvas.verticalScrollBar().maximum() + 1, 40):
        canvas.verticalScrollBar().setValue(step)
        seen += [column for block in canvas.blocks() for column in range(block.first, block.first + block.n_columns)]
        canvas.grab()
    assert set(seen) == set(range(N_COLUMNS))
    assert canvas.horizontalScrollBar().maximum() == 0
    panel.view.move_to(N_ROWS - 1, N_COLUMNS - 1)
    last = canvas.blocks()[-1]
    assert last.first + last.n_columns == N_COLUMNS
    found = {canvas.place_at(QPointF(x, y))[1:3] for x in range(150, 700, 4) for y in range(0, 500, 6)}
    assert (N_ROWS - 1, N_COLUMNS - 1) in found


def test_names_of_any_kind_are_shown(qtbot: Any) -> None:
    names = ["plain", "a\x07b", "x" * 60_000]
    view = RowsView(RowAlignment(np.full((3, 4), 0xE9, np.uint8), names, [""] * 3))
    canvas = RowsCanvas(view)
    qtbot.addWidget(canvas)
    assert [shown_name(view, row) for row in range(2)] == ["plain", "a\\x07b"]
    assert len(shown_name(view, 2)) == 200
    assert canvas.names < 300
    assert not canvas.grab().isNull()
    assert len(view.describe(2, 0)[0]) < 100


def test_columns_that_are_mostly_empty_have_no_colored_letters_below(qtbot: Any) -> None:
    view = RowsView(RowAlignment.of_rows([f"row{n}" for n in range(8)], [b"WWW-"] * 3 + [b"WW-W"] + [b"W---"] * 4))
    view.begin()
    qtbot.waitUntil(lambda: view.is_measured and view.is_idle)
    tracks, unit = tracks_below(("consensus", "logo")), 20.0
    picture = QImage(int(4 * unit), int(height_of(tracks)), QImage.Format.Format_RGB32)
    picture.fill(theme.LIGHT.surface)
    painter = QPainter(picture)
    columns = Span(np.arange(4), 0.0, unit)
    paint_tracks(painter, QRectF(picture.rect()), view, tracks, columns, RowsStyle(theme.LIGHT, unit))
    painter.end()
    view.close()
    first = int(tracks[0].height + GAP)

    def is_colored(column: int, rows: range) -> bool:
        inside = range(int(column * unit) + 2, int((column + 1) * unit) - 2)
        found = [picture.pixelColor(x, y) for x in inside for y in rows]
        return max(color.saturation() for color in found if color.value() > 60) > 120

    for rows in (range(first), range(first + 4, picture.height() - 2)):
        assert [is_colored(column, rows) for column in range(4)] == [True, True, False, False]


def test_the_overview_goes_where_it_is_clicked(panel: RowsPanel) -> None:
    overview, canvas = panel.overview, panel.canvas
    area = overview.area()
    QTest.mousePress(overview, LEFT, NONE, QPoint(int(area.right()) - 1, int(area.bottom()) - 1))
    assert canvas.shown_columns().stop == N_COLUMNS
    assert canvas.shown_rows().stop == N_ROWS
    QTest.mouseMove(overview, QPoint(int(area.left()), int(area.top())))
    QTest.mouseRelease(overview, LEFT, NONE, QPoint(int(area.left()), int(area.top())))
    QTest.mouseClick(overview, LEFT, NONE, QPoint(int(area.left()), int(area.top())))
    assert canvas.shown_columns().start == canvas.shown_rows().start == 0


def test_tips_say_residue_column_color_and_track(panel: RowsPanel) -> None:
    for name in ("occupancy", "logo"):  # folded while there is little room
        panel.track_actions[name].trigger()
    canvas, view = panel.canvas, panel.view
    tip = canvas.tip_at(QPointF(at(panel, 2, 10)))
    assert f"row2: W {view.alignment.position(2, 10)}" in tip
    assert "column 11 of 300" in tip
    assert "W 100 %" in tip
    assert "aromatic" in tip
    assert "SS_cons of column 11: H" in canvas.tip_at(QPointF(at(panel, 0, 10).x(), canvas.room.top() - 8))
    below = canvas.room.bottom()
    tips = [canvas.tip_at(QPointF(at(panel, 0, 10).x(), below + y)) for y in range(2, int(canvas.foot) - 2, 6)]
    for name in ("Consensus of column 11: W", "Conservation of column 11", "Occupancy of column 11: 100.0 %", "Logo"):
        assert any(name in tip for tip in tips)
    assert "row0" in canvas.tip_at(QPointF(30, at(panel, 0, 0).y()))


@pytest.mark.thorough
def test_names_can_be_made_wider(panel: RowsPanel) -> None:
    canvas = panel.canvas
    before, y = canvas.names, at(panel, 2, 0).y()
    QTest.mousePress(canvas.viewport(), LEFT, NONE, QPoint(int(before), y))
    QTest.mouseMove(canvas.viewport(), QPoint(int(before) + 60, y))
    QTest.mouseRelease(canvas.viewport(), LEFT, NONE, QPoint(int(before) + 60, y))
    assert canvas.names >= before + 55 or canvas.names == before  # offscreen moves may carry no buttons
    panel.beside_actions["length"].trigger()
    panel.beside_actions["identity"].trigger()
    assert canvas.beside == ("identity", "length")


def test_a_cell_has_the_color_of_its_scheme(panel: RowsPanel) -> None:
    panel.view.move_to(0, 0)
    place = at(panel, 3, 10)
    for kind in ("light", "dark"):
        theme.apply(kind)
        for scheme, color in (("zappo", "#FFC800"), ("none", theme.current().surface.upper())):
            panel.choose_scheme(scheme)
            image = panel.canvas.viewport().grab().toImage()
            assert image.pixelColor(place.x() - 4, place.y() - 7).name().upper() == color


def test_an_alignment_is_saved(qtbot: Any, window: MainWindow, dropped: RowsPanel, tmp_path: Path) -> None:
    controller, path = window.controller, tmp_path / "saved.sto"
    dropped.view.select(Selection(range(2, 4), range(0, 20)))
    controller.alignments.write(dropped.view.alignment, dropped.chosen_part(), str(path), "stockholm")
    qtbot.waitUntil(lambda: line(window, "written to"))
    found = read_rows(str(path))
    assert list(found.names) == ["row2", "row3"]
    assert (found.cells == dropped.view.alignment.cells[2:4, :20]).all()
    assert found.notes.columns["SS_cons"] == b"H" * 20


def test_a_picture_is_exported_in_millimeters(
    qtbot: Any, window: MainWindow, dropped: RowsPanel, press: Press, tmp_path: Path
) -> None:
    dropped.view.select(Selection(range(0, 12), range(0, 90)))
    for number, ending in enumerate((".svg", ".pdf", ".png")):
        window.controller.alignments.export_picture()
        sheet = window.sheets.sheet
        assert isinstance(sheet, RowsPictureSheet)
        assert min(sheet.per_block.height(), sheet.wide.height()) >= sheet.sizes.height(), "no field is squashed"
        sheet.formats.button(number).click()
        path = tmp_path / f"picture{ending}"
        sheet.path.setText(str(path))
        sheet.wide.setValue(150)
        press(sheet, "Export")
        qtbot.waitUntil(lambda path=path: line(window, f"{path.name}."))
    text = (tmp_path / "picture.svg").read_text()
    for words in ('width="150mm"', "row11", "Consensus", "SS_cons", "hydrophobic", "made.sto"):
        assert words in text
    image = QImage(str(tmp_path / "picture.png"))
    assert image.width() / image.dotsPerMeterX() == pytest.approx(0.150, rel=0.01)
    assert (tmp_path / "picture.pdf").read_bytes().startswith(b"%PDF")


@pytest.mark.thorough
def test_too_large_a_picture_is_refused_with_a_way_out(window: MainWindow, dropped: RowsPanel) -> None:
    dropped.view.alignment = RowAlignment(np.full((500, 300), 65, np.uint8), ["a"] * 500, [""] * 500)
    dropped.view.order = np.arange(500)
    window.controller.alignments.export_picture()
    sheet = window.sheets.sheet
    assert isinstance(sheet, RowsPictureSheet)
    assert sheet.part.currentData() == "Visible part", "what can be saved is proposed"
    sheet.part.setCurrentIndex(sheet.part.findData("Whole alignment"))
    assert not sheet.export_button.isEnabled()
    sheet.formats.button(2).click()
    assert sheet.export_button.isEnabled()


@pytest.mark.thorough
def test_reading_can_be_stopped(
    qtbot: Any, window: MainWindow, made: Path, drop: Drop, press: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(path: str, number: int, context: JobContext) -> RowAlignment:
        while True:
            context.progress("encode", 1, 4, "bytes")
            context.check()
            time.sleep(0.01)

    monkeypatch.setattr(alignment_controller, "read_rows", endless)
    drop(window, [str(made)])
    alignments = window.controller.alignments
    qtbot.waitUntil(lambda: alignments.page is not None and "made.sto: 25" in alignments.page.empty.words.text())
    press(alignments.page, "Stop")
    qtbot.waitUntil(lambda: window.controller.files.is_idle)
    monkeypatch.undo()
    window.controller.sources.open_paths([str(made)])
    assert shown(qtbot, window).view.n_rows == N_ROWS


@pytest.mark.thorough
def test_a_large_alignment_is_shown_before_all_of_it_is_looked_at(
    qtbot: Any, window: MainWindow, made: Path, drop: Drop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alignment_controller, "READ_AT_ONCE", 1)
    monkeypatch.setattr(window.controller.inspector, "read_file", lambda path, alphabet="auto": None)
    drop(window, [str(made)])
    assert shown(qtbot, window).view.n_rows == N_ROWS


def test_what_is_damaged_is_said_on_the_page(qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop) -> None:
    drop(window, [files["made.sto"]])
    alignments = window.controller.alignments
    qtbot.waitUntil(lambda: alignments.page is not None and "cannot be shown" in alignments.page.empty.heading.text())
    assert "made.sto, line 1:" in alignments.page.empty.words.text()


@pytest.mark.thorough
def test_closing_leaves_the_page(qtbot: Any, window: MainWindow, dropped: RowsPanel, made: Path) -> None:
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert window.center.currentWidget() is window.start
    assert not window.controller.alignments.pages
    window.controller.sources.open_paths([str(made)])
    shown(qtbot, window)
    window.controller.close_source(str(made))
    assert window.center.currentWidget() is window.start


@pytest.mark.thorough
def test_a_file_that_changed_is_read_again(qtbot: Any, window: MainWindow, dropped: RowsPanel, made: Path) -> None:
    made.write_text("# STOCKHOLM 1.0\nx ACD\ny A-D\nz A-D\n//\n")
    window.controller.sources.look_again()
    qtbot.waitUntil(lambda: shown(qtbot, window).view.n_rows == 3)


@pytest.mark.thorough
def test_sequences_that_are_not_aligned_open_as_before(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop
) -> None:
    drop(window, [files["made.fasta"]])
    qtbot.waitUntil(lambda: window.controller.workspace.sequences is not None)
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    assert window.controller.alignments.page is None
    assert window.center.currentWidget() is window.start
