"""The profile page: its logo, its nodes, and pictures of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from clalign.databases.examples import load_examples
from clalign.formats.profiles import load_profiles
from clalign.runs.run_file import open_run
from clalign.ui.engines.plan7.logo_figure import logo_figure, percents
from clalign.ui.engines.plan7.logo_painter import MARGIN
from clalign.ui.engines.plan7.logo_sheet import LogoSheet
from clalign.ui.engines.plan7.logo_view import LogoView
from clalign.ui.engines.plan7.profile_nodes import (
    disfavored_residues,
    emissions,
    lane_sentences,
    lane_steps,
    node_facts,
    node_title,
    shown_profile,
    statistics_words,
)
from clalign.ui.engines.plan7.profile_view import DisfavoredSheet, ProfileView
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.results_page import ResultsPage
from clalign.values.profile_logo import HEIGHT_MODES
from clalign.values.profiles import Hmm

pytestmark = pytest.mark.thorough

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier
Press = Callable[[QWidget, str], None]


def path_of(name: str) -> Path:
    return next(e.profiles for e in load_examples() if e.profiles.name == f"{name}.hmm")


def example(name: str) -> Hmm:
    return load_profiles(str(path_of(name)))[0]


@pytest.mark.parametrize("mode", HEIGHT_MODES)
@pytest.mark.parametrize("name", ["globins4", "rrm_1", "made1"])
def test_stacks_hold_every_letter_in_order(name: str, mode: str) -> None:
    figure = logo_figure(example(name), mode)
    for node in range(figure.length):
        above, below = figure.stack(node)
        assert [h for _, h in above] == sorted(h for _, h in above)
        assert [h for _, h in below] == sorted((h for _, h in below), reverse=True)
        assert sum(h for _, h in above + below) == pytest.approx(float(figure.heights[node].sum()))
        assert sum(h for _, h in above) <= figure.top + 1e-9
        assert sum(h for _, h in below) >= figure.bottom - 1e-9
    assert (figure.bottom < 0) == (mode == "score")
    assert all(len(row.values) == len(row.shades) == figure.length for row in figure.rows)
    assert all(row.text(figure.length - 1) for row in figure.rows)


def test_the_skyline_keeps_every_summit() -> None:
    figure = logo_figure(example("globins4"), "information")
    for width in (1, 10, 149, 700):
        line = figure.skyline(width)
        assert len(line) == width
        assert line.max() == pytest.approx(float(figure.heights.sum(axis=1).max()) / figure.top)


def test_percents_never_call_something_nothing() -> None:
    assert [percents(x) for x in (0.0, 0.0004, 0.004, 0.02, 1.0)] == ["0", "<0.1", "0.4", "2", "100"]


def test_a_node_in_words() -> None:
    shown = shown_profile(example("globins4"))
    assert node_title(shown, 15) == "Node 15 of 149 · consensus W"
    facts = dict(node_facts(shown, 15))
    assert facts["Information"] == "3.28 bits"
    assert facts["Most favored"].startswith("W +5.8")
    assert "−" in facts["Least favored"]
    assert sum(share for _, share, _, _ in emissions(shown, 15)) == pytest.approx(1)
    steps = lane_steps(shown, 15)
    assert steps["MM"] + steps["MI"] + steps["MD"] == pytest.approx(1)
    assert "1.9 residues on average" in lane_sentences(shown, 15)[1]
    assert lane_steps(shown, 149) == {}
    assert "last node" in lane_sentences(shown, 149)[0]
    assert dict(statistics_words(shown.hmm))["Forward scores"] == "tau −4.16, lambda 0.710"
    assert dict(statistics_words(example("rrm_1")))["Scores"].startswith("mu −51.9")


def test_what_a_model_likes_least_is_dearest_first() -> None:
    shown = shown_profile(example("globins4"))
    rows = disfavored_residues(shown, 50)
    costs = [row["cost"] for row in rows]
    assert costs == sorted(costs, reverse=True)
    best = shown.logo.scores.max(axis=1)
    assert costs[0] == pytest.approx(float((best[:, None] - shown.logo.scores).max()))
    assert rows[0]["what"].endswith(f"in place of {shown.hmm.consensus[rows[0]['node'] - 1].upper()}")


@pytest.fixture
def view(qtbot: Any) -> LogoView:
    made = LogoView()
    qtbot.addWidget(made)
    made.resize(900, 320)
    made.show_figure(logo_figure(example("globins4"), "information"))
    made.show()
    return made


def test_clicks_and_keys_walk_the_nodes(view: LogoView) -> None:
    seen: list[int] = []
    view.node_chosen.connect(seen.append)
    QTest.mouseClick(view.viewport(), LEFT, pos=QPoint(int(MARGIN + 4.5 * view.cell), 100))
    QTest.keyClick(view, Qt.Key.Key_Right)
    QTest.keyClick(view, Qt.Key.Key_End)
    assert view.shown_nodes().stop == 149, "the chosen node is brought into view"
    QTest.keyClick(view, Qt.Key.Key_Left)
    QTest.keyClick(view, Qt.Key.Key_Home)
    assert seen == [5, 6, 149, 148, 1]
    assert view.shown_nodes().start == 0
    QTest.mouseClick(view.viewport(), LEFT, pos=QPoint(20, 100))
    assert view.node == 1, "the margin is no node"


def test_only_what_is_in_view_is_painted(qtbot: Any, view: LogoView, monkeypatch: pytest.MonkeyPatch) -> None:
    long = example("globins4")
    figure = logo_figure(long, "score")
    painted: list[int] = []
    stack = type(figure).stack
    monkeypatch.setattr(type(figure), "stack", lambda self, node: painted.append(node) or stack(self, node))
    view.show_figure(figure)
    view.choose(120)
    painted.clear()
    view.viewport().repaint()
    assert set(painted) == set(view.shown_nodes())
    assert 119 in painted
    assert len(set(painted)) < 60
    view.zoom(-3)
    assert len(view.shown_nodes()) > 60
    assert 119 in view.shown_nodes()


def test_tips_name_letters_and_rows(view: LogoView) -> None:
    x = MARGIN + 14.5 * view.cell
    assert "consensus W: W 2.85" in view.tip_at(QPointF(x, 100))
    assert "occupancy % 99" in view.tip_at(QPointF(x, view.viewport().height() - 8 - 50))
    assert view.tip_at(QPointF(10, 100)) == ""


@pytest.fixture
def opened(qtbot: Any, window: MainWindow) -> ProfileView:
    """The logo of a real file; the made-up worker calls every profile by one name, so the card is set by hand."""
    space, path = window.controller.workspace, path_of("globins4")
    window.controller.sources.open_paths([str(path)])
    qtbot.waitUntil(lambda: space.profiles is not None and space.profiles.state == "ready")
    space.change(str(path), cards=[{**space.profiles.cards[0], "name": "globins4", "length": 149}])
    window.details.show_source(space.profiles)
    QTest.keyClick(window, Qt.Key.Key_L, CTRL)
    qtbot.waitUntil(lambda: window.controller.search.profiles.view is not None)
    made = window.controller.search.profiles.view
    qtbot.waitUntil(lambda: made.figure is not None)
    return made


def test_the_profile_page_opens_from_its_card(qtbot: Any, opened: ProfileView, press: Press) -> None:
    window = opened.window()
    QTest.keyClick(window, Qt.Key.Key_W, CTRL)
    assert window.controller.search.profiles.page is None
    press(window.details, "Show logo")
    qtbot.waitUntil(lambda: window.controller.search.profiles.view.figure is not None)
    again = window.controller.search.profiles.view
    assert again.logo.node == 1
    QTest.keyClick(again.logo, Qt.Key.Key_Right)
    assert again.inspector.findChildren(QWidget)
    assert "Node 2 of 149" in again.inspector._words.itemAt(0).widget().text()
    QTest.keyClick(again.modes, Qt.Key.Key_End)
    assert again.figure.bottom < 0
    assert again.logo.node == 2


def test_the_states_of_a_node_stand_whole_in_a_usual_window(qtbot: Any, opened: ProfileView) -> None:
    opened.window().resize(1280, 800)
    lane = opened.inspector.lane
    qtbot.waitUntil(lambda: lane.visibleRegion().boundingRect() == lane.rect())
    assert opened.logo.height() > 250


def test_likes_least_leads_to_a_node(opened: ProfileView, press: Press) -> None:
    window = opened.window()
    press(opened, "Least favored…")
    sheet = window.sheets.sheet
    assert isinstance(sheet, DisfavoredSheet)
    node = sheet.table.model().rows[0]["node"]
    place = sheet.table.visualRect(sheet.table.model().index(0, 1)).center()
    QTest.mouseClick(sheet.table.viewport(), LEFT, pos=place)
    assert opened.logo.node == node
    assert window.sheets.sheet is None


def test_a_logo_is_written(qtbot: Any, opened: ProfileView, press: Press, tmp_path: Path) -> None:
    window = opened.window()
    for number, (ending, head) in enumerate({".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}.items()):
        press(opened, "Export…")
        sheet = window.sheets.sheet
        assert isinstance(sheet, LogoSheet)
        QTest.mouseClick(sheet.formats.button(number), LEFT, pos=QPoint(6, 8))
        sheet.path.setText(str(tmp_path / "no" / "logo.svg"))
        assert not sheet.export_button.isEnabled()
        sheet.path.setText(str(tmp_path / "logo.xyz"))
        assert not sheet.export_button.isEnabled()
        path = tmp_path / f"logo{ending}"
        sheet.path.setText(str(path))
        sheet.first.setValue(10)
        sheet.last.setValue(69)
        press(sheet, "Export")
        qtbot.waitUntil(
            lambda path=path: any(m.severity == "good" and path.name in m.text for m in window.messages.messages)
        )
        assert path.read_bytes().startswith(head)
    pixels = np.frombuffer(QImage(str(path)).convertToFormat(QImage.Format.Format_RGB32).constBits(), np.uint32)
    assert len(np.unique(pixels)) > 20, "there are letters in colors"


def test_a_folder_that_cannot_be_written_is_said(qtbot: Any, opened: ProfileView, press: Press, tmp_path: Path) -> None:
    window = opened.window()
    press(opened, "Export…")
    path = tmp_path / "gone" / "logo.svg"
    path.parent.mkdir()
    window.sheets.sheet.path.setText(str(path))
    path.parent.rmdir()
    press(window.sheets.sheet, "Export")
    qtbot.waitUntil(lambda: any("could not be written" in m.text for m in window.messages.messages))


def test_results_say_why_there_is_no_profile(qtbot: Any, page: ResultsPage) -> None:
    window = page.window()
    QTest.keyClick(window, Qt.Key.Key_4, CTRL)
    assert page.tab == "query"
    qtbot.waitUntil(lambda: "cannot be shown" in page.profile.empty.heading.text())
    assert page.profile.figure is None


def test_results_show_the_profile_that_was_searched_with_and_export_it(
    qtbot: Any, page: ResultsPage, press: Press
) -> None:
    page.run.cards[0] = {**page.run.cards[0], "name": "globins4", "length": 149}
    with open_run(page.run.path, writable=True) as run:
        run.set_facts(spec={**run.facts.spec, "profiles": str(path_of("globins4"))})
    QTest.keyClick(page.window(), Qt.Key.Key_4, CTRL)
    qtbot.waitUntil(lambda: page.profile.figure is not None)
    assert page.profile.profile.hmm.name == "globins4"
    page.window().controller.set_scheme("safe")
    assert page.profile.logo.scheme == "safe"
    press(page.profile, "Export…")
    assert isinstance(page.window().sheets.sheet, LogoSheet)
