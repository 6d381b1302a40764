"""Pairs with a million columns in the window: lines made when they are seen, a path with few corners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QRectF

from clalign.runs.run_file import open_run
from clalign.ui.engines.pairwise import dot_painter, layout
from clalign.ui.engines.pairwise.card import PairCard
from clalign.ui.engines.pairwise.dot_plot import bare_plot, path_of, seen_of
from clalign.ui.engines.pairwise.layout import PairLines
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.picture_sheet import SizedPictureSheet
from clalign.values.hits import Hit
from tests.long_runs import long_run

COLUMNS = 1_000_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patched:
        yield long_run(tmp_path_factory.mktemp("long"), COLUMNS, patched)


@pytest.fixture(scope="module")
def shown(run: Path) -> tuple[dict[str, Any], Hit]:
    with open_run(run) as opened:
        return opened.card(0), next(opened.hits())


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of the lines that are made."""
    kinds: list[str] = []

    def line(kind: str, *given: Any, **more: Any) -> Any:
        kinds.append(kind)
        return original(kind, *given, **more)

    original = layout.Line
    monkeypatch.setattr(layout, "Line", line)
    return kinds


def test_only_lines_that_are_seen_are_made(shown: tuple[dict[str, Any], Hit], made: list[str]) -> None:
    card, hit = shown
    lines = PairLines(hit, card, 70, with_titles=False)
    assert len(lines) == 5 * -(-COLUMNS // 70)
    assert not made
    begin, end = hit.domains[0].target_range
    assert (lines[3].first, lines[-2].last, lines[len(lines) - 4].last) == (begin + 1, end, card["length"])
    row = lines.row_of_column(0, 654_321)
    assert row is not None
    assert lines[row].begin <= 654_321 < lines[row].begin + 70
    assert lines[row].kind == "model"
    assert lines.row_of_column(0, COLUMNS) is None
    assert len(made) < 20
    assert [line.kind for line in lines[10:15]] == ["ruler", "model", "match", "target", "space"]


@pytest.mark.parametrize("strand", [1, -1])
def test_a_path_has_no_more_corners_than_can_be_seen(shown: tuple[dict[str, Any], Hit], strand: int) -> None:
    path = path_of(shown[1].domains[0])
    length = int(path[-1][1])
    if strand < 0:
        path = np.stack([path[:, 0], length - path[:, 1]], axis=1)
    whole = (0.0, float(path[-1][0])), (0.0, float(length))
    seen = seen_of(path, *whole, 800.0)
    assert len(seen) < 2000
    assert (seen[0] == path[0]).all()
    assert (seen[-1] == path[-1]).all()
    # A part that is zoomed in has its true corners, and not much beside it.
    middle = path[500_000]
    rows, columns = ((float(x) - 300, float(x) + 300) for x in middle)
    part = seen_of(path, rows, columns, 0.4)
    assert 2 <= len(part) < 200
    assert ((part[:, 0] >= rows[0] - 1) & (part[:, 0] <= rows[1] + 1)).all()
    drawn = np.interp(np.arange(middle[0] - 200, middle[0] + 200), part[:, 0], part[:, 1])
    near = path[np.searchsorted(path[:, 0], np.arange(middle[0] - 200, middle[0] + 200), "right") - 1, 1]
    assert np.abs(drawn - near).max() <= 10


def test_nothing_of_a_path_is_seen_beside_it(shown: tuple[dict[str, Any], Hit]) -> None:
    path = path_of(shown[1].domains[0])
    assert len(seen_of(path, (0.0, 500.0), (800_000.0, 800_500.0), 0.4)) <= 3
    assert len(seen_of(np.zeros((1, 2), np.int64), (0.0, 5.0), (0.0, 5.0), 0.4)) <= 1


def test_the_middle_of_a_column_is_that_of_all_places(shown: tuple[dict[str, Any], Hit]) -> None:
    plot = bare_plot(*shown)
    (path,) = plot.paths
    for column in (0, 4321, COLUMNS - 1):
        assert plot.place_of(0, column) == tuple((path[column] + path[column + 1]) / 2)
    assert plot.place_of(0, COLUMNS) is None
    assert plot.place_of(1, 0) is None


@pytest.mark.thorough
def test_a_long_alignment_opens_in_the_window(
    qtbot: Any, window: MainWindow, run: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corners: list[int] = []

    def seen(*given: Any) -> Any:
        found = seen_of(*given)
        corners.append(len(found))
        return found

    monkeypatch.setattr(dot_painter, "seen_of", seen)
    window.controller.sources.open_paths([str(run)])
    page = window.controller.page
    assert isinstance(page, PairPage)
    wait: Callable[..., None] = qtbot.waitUntil
    wait(lambda: bool(page.run.cards) and not page.run.hits.is_busy)
    page.hits.table.choose_row(0)
    page.show_alignment()
    card = page.hit
    assert isinstance(card, PairCard)
    wait(lambda: card.dots.canvas.plot is not None and card.dots.canvas.plot.dots is not None)
    card.grab()
    card.alignment.go_to_column(0, 777_777)
    card.dots.canvas.mark_column(0, 777_777)
    card.dots.canvas.zoom(0.01)
    card.grab()
    assert 0 < max(corners) < 5000
    assert 0 < len(made) < 5000
    assert card.dots.canvas.frame != QRectF()
    bar = card.alignment.verticalScrollBar()
    assert 0 < bar.value() < bar.maximum()


@pytest.mark.thorough
def test_a_picture_of_a_million_columns_is_refused_and_said_why(
    qtbot: Any, window: MainWindow, run: Path, tmp_path: Path
) -> None:
    window.controller.sources.open_paths([str(run)])
    page = window.controller.page
    assert isinstance(page, PairPage)
    qtbot.waitUntil(lambda: bool(page.run.cards) and not page.run.hits.is_busy)
    page.hits.table.choose_row(0)
    page.show_alignment()
    qtbot.waitUntil(lambda: page.run.hit is not None and isinstance(page.hit, PairCard))
    page.hit.alignment_picture_requested.emit()
    sheet = window.findChild(SizedPictureSheet)
    sheet.path.setText(str(tmp_path / "picture.svg"))
    assert not sheet.export_button.isEnabled()
    assert "Save it as PDF" in sheet.problem.text()
    sheet.copy_button.click()
    (message,) = window.messages.messages
    assert "Save it as PDF" in message.text
