"""What can be made of an alignment in view, each by clicks: more sequences, a better block, a tree, a profile."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QMenu

import clalign
from clalign.formats.row_alignments import read_rows
from clalign.tools.guide_trees import guide_tree
from clalign.ui.engines.msa.page import AlignedPage
from clalign.ui.models.alignment.rows_view import Selection
from clalign.ui.models.alignment.tree_layout import TreeLayout
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.alignment.rows_page import RowsPanel
from clalign.ui.views.alignment.tree_view import TreeCanvas
from clalign.ui.views.charts.picture_sheet import SizedPictureSheet
from clalign.values.trees import Tree

LEFT = Qt.MouseButton.LeftButton

PICTURES = {".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}

ROWS = {
    "one": "MKVLAAGIVLLAWKDPNQSTRYCHE",
    "two": "MKVL-AGIVLLAWKDPN-STRYCHE",
    "three": "MKV-AAGIV-LAWKDPNQSTRYC-E",
    "four": "MRVLAAGLVLLAW-DPNQ-TRYCHE",
}


@pytest.fixture(scope="session")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tools") / "family.afa"
    path.write_text("".join(f">{name}\n{row}\n" for name, row in ROWS.items()))
    return path


@pytest.fixture(scope="session")
def family_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toolruns")
    path = folder / "kin.fasta"
    path.write_text("".join(f">{name}\n{row.replace('-', '')}\n" for name, row in ROWS.items()))
    with clalign.align_many(path, run=folder / "kin.clalign", device="reference"):
        return folder / "kin.clalign"


def opened(qtbot: Any, window: MainWindow, path: Path) -> RowsPanel:
    controller = window.controller
    controller.workspace.choose_device("reference")
    controller.sources.open_paths([str(path)])
    qtbot.waitUntil(lambda: controller.alignments.panel is not None and controller.inspector.is_idle)
    panel = controller.alignments.panel
    qtbot.waitUntil(lambda: panel.view.is_measured and panel.view.is_idle and controller.files.is_idle)
    if isinstance(controller.page, AlignedPage):
        qtbot.waitUntil(lambda: controller.page.run.judged is not None and controller.page.run.is_idle)
    return panel


def pick(panel: RowsPanel, text: str) -> None:
    """Click the button with the tools, and in its menu one of them."""
    clicks: list[str] = []

    def click() -> None:
        menu = panel.ways.menu()
        assert isinstance(menu, QMenu)
        if not menu.isVisible():
            QTimer.singleShot(20, click)
            return
        for action in menu.actions():
            if action.text() == text:
                clicks.append(action.toolTip())
                if action.isEnabled():
                    QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(action).center())
        menu.close()

    QTimer.singleShot(0, click)
    QTest.mouseClick(panel.ways, LEFT)
    assert clicks


def shown(window: MainWindow, text: str) -> bool:
    return any(text in message.text for message in window.messages.messages)


def page_of(qtbot: Any, window: MainWindow, title: str) -> RowsPanel:
    alignments = window.controller.alignments
    qtbot.waitUntil(lambda: alignments.page is not None and alignments.page.title == title)
    qtbot.waitUntil(lambda: alignments.panel is not None and alignments.panel.view.is_measured)
    assert alignments.panel is not None
    return alignments.panel


@pytest.mark.thorough(of_run=[True])
@pytest.mark.parametrize("of_run", [False, True])
def test_sequences_are_added(
    qtbot: Any, real_window: MainWindow, family: Path, family_run: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, of_run: bool,
) -> None:  # fmt: skip
    new = tmp_path / "new.fasta"
    new.write_text(">five\nMKVLAAGIVLLAWKDPNQSTRYCH\n")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(new), ""))
    panel = opened(qtbot, real_window, family_run if of_run else family)
    before = [row.tobytes() for row in panel.view.alignment.cells]
    pick(panel, "Add sequences…")
    stem = "kin" if of_run else "family"
    made = page_of(qtbot, real_window, f"{stem}-with-new.sto").view.alignment
    assert list(made.names) == [*ROWS, "five"]
    kept = (made.cells[:4] != ord("-")).any(axis=0)
    assert [row.tobytes() for row in made.cells[:4, kept]] == before
    assert shown(real_window, "1 sequence added: now 5 sequences in")


@pytest.mark.thorough
def test_what_cannot_be_added_is_said(
    qtbot: Any, real_window: MainWindow, family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = opened(qtbot, real_window, family)
    new = tmp_path / "again.fasta"
    new.write_text(">one\nMKVLAAGIV\n")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(new), ""))
    pick(panel, "Add sequences…")
    qtbot.waitUntil(lambda: any(m.severity == "stop" and "one" in m.text for m in real_window.messages.messages))
    new.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    pick(panel, "Add sequences…")
    qtbot.waitUntil(lambda: shown(real_window, "again.fasta"))
    assert not list((real_window.settings.data / "alignments").iterdir())


@pytest.mark.thorough
def test_selected_columns_are_aligned_anew(qtbot: Any, real_window: MainWindow, family: Path) -> None:
    panel = opened(qtbot, real_window, family)
    assert not real_window.actions_.by_id["align.changes.realign"].isEnabled()
    canvas = panel.canvas
    ruler = QPoint(int(canvas.names + 3.5 * canvas.cell), 8)
    QTest.mousePress(canvas.viewport(), LEFT, pos=ruler)
    QTest.mouseMove(canvas.viewport(), QPoint(int(canvas.names + 9.5 * canvas.cell), 8))
    QTest.mouseRelease(canvas.viewport(), LEFT)
    assert panel.view.selection == Selection(range(4), range(3, 10))
    real_window.controller.workspace.device_id = "reference,nobody"  # of several that are checked it takes the first
    pick(panel, "Realign the selected columns")
    made = page_of(qtbot, real_window, "family-realigned.sto")
    cells = made.view.alignment.cells
    assert [row.tobytes().decode()[:3] for row in cells] == [row[:3] for row in ROWS.values()]
    assert [row.tobytes().decode()[-15:] for row in cells] == [row[10:] for row in ROWS.values()]
    width = made.view.n_columns
    qtbot.waitUntil(lambda: made.view.selection is not None)
    assert made.view.selection == Selection(range(4), range(3, width - 15))
    assert shown(real_window, "Columns 4 to 10 realigned")


def test_a_tree_stands_beside_its_rows(
    qtbot: Any, real_window: MainWindow, family: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = opened(qtbot, real_window, family)
    pick(panel, "Distances and tree")
    qtbot.waitUntil(lambda: panel.panes.tree is not None)
    pane = panel.panes.tree
    assert pane is not None
    expected = guide_tree(str(family)).tree.rooted_in_the_middle()
    assert pane.canvas.tree.tree.parents.tolist() == expected.parents.tolist()
    assert panel.view.order_key == "Tree"
    assert panel.view.order.tolist() == pane.canvas.tree.order.tolist()
    assert not pane.sort.isVisible()
    panel.view.sort("input")
    QTest.mouseClick(pane.sort, LEFT)
    assert panel.view.order.tolist() == pane.canvas.tree.order.tolist()
    assert not pane.sort.isVisible()
    canvas, layout = pane.canvas, pane.canvas.tree
    for _ in range(2):
        top = canvas.viewport().mapToGlobal(canvas.corner).y()
        room = panel.canvas.viewport().mapToGlobal(panel.canvas.room.topLeft()).y()
        assert (top, canvas.line) == (room - panel.canvas.verticalScrollBar().value(), panel.canvas.height_)
        canvas.zoom(1)
    clade = layout.parent(0)
    at = canvas.corner + QPointF(middle_of(canvas, clade), (layout.y[clade] + 0.5) * canvas.line)
    QTest.mouseClick(canvas.viewport(), LEFT, pos=at.toPoint())
    assert canvas.node == clade
    chosen = panel.view.selection
    assert {panel.view.row_at(place) for place in chosen.rows} == set(layout.leaves(clade).tolist())
    for ending, begin in ((".nwk", b"("), (".tsv", b"name\t"), *PICTURES.items()):
        path = tmp_path / f"tree{ending}"
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path: (str(path), ""))
        if ending in PICTURES:
            pane.picture_requested.emit()
            sheet = real_window.sheets.sheet
            assert isinstance(sheet, SizedPictureSheet)
            sheet.width_box.setValue(90)
            sheet.path.setText(str(path))
            sheet.export_button.click()
        else:
            pane.export_requested.emit()
        qtbot.waitUntil(path.exists)
        qtbot.waitUntil(lambda: real_window.controller.files.is_idle and real_window.controller.queue.current is None)
        assert path.read_bytes().startswith(begin)
    drawn = (tmp_path / "tree.svg").read_text()
    assert all(name in drawn for name in (*ROWS, 'width="90mm"'))
    assert re.search(r"\bone:", (tmp_path / "tree.nwk").read_text())
    assert not QImage(str(tmp_path / "tree.png")).isNull()
    pane.kinds.setFocus()
    QTest.keyClick(pane.kinds, Qt.Key.Key_Down)
    pane.kinds.activated.emit(pane.kinds.currentIndex())
    qtbot.waitUntil(lambda: panel.panes.tree is not None and panel.panes.tree.canvas.tree.kind == "p")
    panel.panes.close_tree()
    assert panel.panes.tree is None


@pytest.mark.parametrize("of_run", [False, True])
def test_the_key_of_exports_writes_an_alignment(
    qtbot: Any, real_window: MainWindow, family: Path, family_run: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, of_run: bool,
) -> None:  # fmt: skip
    path = tmp_path / "written.afa"
    opened(qtbot, real_window, family_run if of_run else family)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *asked: (str(path), asked[3].split(";;")[0]))
    QTest.keyClick(real_window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(path.exists)
    qtbot.waitUntil(lambda: real_window.controller.files.is_idle and real_window.controller.queue.current is None)
    assert path.read_text().count(">") == len(ROWS)


def middle_of(canvas: TreeCanvas, node: int) -> float:
    """Return the middle of the branch of a node, in pixels from the root."""
    layout = canvas.tree
    across = canvas.style_.across(layout)
    return float(layout.x[node] + layout.x[layout.parent(node)]) / 2 * across


@pytest.mark.thorough
def test_a_run_has_distances_by_its_posteriors(qtbot: Any, real_window: MainWindow, family_run: Path) -> None:
    panel = opened(qtbot, real_window, family_run)
    pick(panel, "Distances and tree")
    qtbot.waitUntil(lambda: panel.panes.tree is not None)
    pane = panel.panes.tree
    assert pane.kinds.count() == 3
    pane.kinds.setCurrentIndex(2)
    pane.kinds.activated.emit(2)
    qtbot.waitUntil(lambda: panel.panes.tree is not None and panel.panes.tree.canvas.tree.kind == "posterior")


@pytest.mark.thorough
def test_a_step_of_a_run_has_no_distances_by_posteriors(qtbot: Any, real_window: MainWindow, family_run: Path) -> None:
    panel = opened(qtbot, real_window, family_run)
    pick(panel, "Distances and tree")
    qtbot.waitUntil(lambda: panel.panes.tree is not None)
    pane, page = panel.panes.tree, real_window.controller.page
    assert pane is not None
    assert isinstance(page, AlignedPage)
    assert pane.words.text() == "4 leaves · substitutions for each residue, estimated after Kimura"
    page.run.go_to(3)
    pane.kinds.setCurrentIndex(2)
    pane.kinds.activated.emit(2)
    assert shown(real_window, "distances by posteriors")
    assert pane.kinds.currentData() == "kimura"
    assert real_window.controller.queue.current is None
    assert real_window.controller.files.is_idle
    page._annealing.click()
    page.bar.slider.setFocus()
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert panel.panes.tree is None, "it was that of the finished alignment"
    assert real_window.focusWidget() is page.bar.slider
    pick(panel, "Distances and tree")
    qtbot.waitUntil(lambda: panel.panes.tree is not None)
    assert panel.panes.tree.words.text().startswith(f"step 3 of {page.run.aligned.last_step} · 4 leaves")
    page.run.go_to(page.run.aligned.last_step)
    qtbot.waitUntil(lambda: panel.panes.tree is None)


def test_keys_walk_through_a_tree_of_hundreds(qtbot: Any) -> None:
    rng = np.random.default_rng(5)
    n = 400
    parents, lengths = np.full(2 * n - 1, -1, np.int32), rng.random(2 * n - 1)
    left = list(range(n))
    for node in range(n, 2 * n - 1):
        for _ in range(2):
            parents[left.pop(int(rng.integers(len(left))))] = node
        left.append(node)
    lengths[-1] = 0
    layout = TreeLayout.of(Tree(tuple(f"leaf {i}" for i in range(n)), parents, lengths), "kimura")
    canvas = TreeCanvas(layout)
    qtbot.addWidget(canvas)
    canvas.resize(400, 600)
    canvas.show()
    canvas.setFocus()
    chosen: list[int] = []
    canvas.chosen.connect(chosen.append)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left):
        QTest.keyClick(canvas, key)
    first, second = layout.children[layout.tree.root]
    assert chosen == [first, second, layout.tree.root]
    assert canvas.verticalScrollBar().maximum() > 0
    QTest.keyClick(canvas, Qt.Key.Key_0)
    assert canvas.verticalScrollBar().maximum() == 0
    assert len(canvas.shown_lines()) == n
    canvas.grab()
    QTest.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.line > 1
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.node == -1


@pytest.mark.thorough
@pytest.mark.parametrize("of_run", [False, True])
def test_a_profile_is_built_and_searched_with(
    qtbot: Any, real_window: MainWindow, family: Path, family_run: Path, of_run: bool
) -> None:
    panel = opened(qtbot, real_window, family_run if of_run else family)
    pick(panel, "Search with this alignment…")
    controller = real_window.controller
    qtbot.waitUntil(lambda: controller.search.sheet is not None)
    (card,) = controller.workspace.profiles.cards
    assert card["name"] == ("kin" if of_run else "family")
    assert Path(controller.workspace.profiles.path).parent == real_window.settings.data / "profiles"


@pytest.mark.thorough
def test_an_alignment_that_is_one_of_several_is_taken_alone(
    qtbot: Any, real_window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "two.sto"
    parts = ["# STOCKHOLM 1.0\n#=GF ID first\na ACDE\nb ACDE\n//\n"]
    rows = "".join(f"{name} {row}\n" for name, row in ROWS.items())
    path.write_text("".join([*parts, f"# STOCKHOLM 1.0\n#=GF ID second\n{rows}//\n"]))
    opened(qtbot, real_window, path)
    page = real_window.controller.alignments.page
    qtbot.waitUntil(lambda: page.numbers.count() == 2)
    page.numbers.setCurrentIndex(1)
    page.numbers.activated.emit(1)
    qtbot.waitUntil(lambda: page.panel is not None and page.panel.view.n_rows == 4)
    assert page.panel is not None
    pick(page.panel, "Distances and tree")
    qtbot.waitUntil(lambda: page.panel is not None and page.panel.panes.tree is not None)
    (written,) = (real_window.settings.data / "alignments").iterdir()
    assert list(read_rows(str(written)).names) == list(ROWS)
