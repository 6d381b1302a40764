"""A run file that comes by mail: the window shows what is in it, or refuses it in words, whatever was changed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QWidget

from clalign.ui.shell.main_window import MainWindow
from tests.runs import hostile_runs

KINDS = ("hmmer2", "hmmer3", "pairwise")
SAMPLE, LARGE_SAMPLE = 3, 20


@pytest.fixture(scope="module")
def sound_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return hostile_runs.make_runs(tmp_path_factory.mktemp("sound"))


def page_of(window: MainWindow) -> QWidget | None:
    page: QWidget | None = window.controller.page
    return page


def is_settled(window: MainWindow) -> bool:
    """Return whether a page stands still: nothing is read, and nothing is about to be."""
    page: Any = page_of(window)
    return bool(window.controller.reader.is_idle and not (page and (page.run.is_due or page.run.hits.is_busy)))


def look_at_all(qtbot: Any, window: MainWindow) -> None:
    """Read every cell and tooltip of the hits, and choose each of them, as a user would."""
    page: Any = page_of(window)
    if page is None:
        return
    model = page.run.hits
    for row in range(min(model.rowCount(), 6)):
        for column in range(model.columnCount()):
            for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
                model.index(row, column).data(role)
        page.hits.table.selectRow(row)
        qtbot.waitUntil(lambda: is_settled(window))
    window.grab()  # paints all that is seen


def faults(qtbot: Any, window: MainWindow, original: Path, chosen: list[Any], folder: Path) -> Iterator[str]:
    """Open a damaged copy after the other; yield what was neither shown nor refused."""
    for number, case in enumerate(chosen):
        path = Path(shutil.copy(original, folder / f"{number}.clalign"))
        case.damage(path)
        with qtbot.captureExceptions() as raised:
            window.controller.sources.open_paths([str(path)])
            qtbot.waitUntil(lambda: is_settled(window))
            look_at_all(qtbot, window)
            QApplication.processEvents()
        yield from (f"{case.name}: {kind.__name__}: {error}" for kind, error, _ in raised)
        path.unlink()


@pytest.fixture
def faults_of(
    qtbot: Any, window: MainWindow, sound_runs: dict[str, Path], tmp_path: Path
) -> Callable[[str, int], list[str]]:
    def found(kind: str, n: int) -> list[str]:
        cases = hostile_runs.cases(sound_runs[kind])
        chosen = random.Random(n).sample(cases, n)
        return list(faults(qtbot, window, sound_runs[kind], chosen, tmp_path))

    return found


@pytest.mark.thorough(kind=["hmmer3"])
@pytest.mark.exhaustive(n=[SAMPLE])
@pytest.mark.parametrize("n", [SAMPLE, LARGE_SAMPLE])
@pytest.mark.parametrize("kind", KINDS)
def test_changed_runs_are_shown_or_refused(faults_of: Callable[[str, int], list[str]], kind: str, n: int) -> None:
    assert faults_of(kind, n) == []
