"""What is closed leaves nothing behind: pages of runs and alignments, forms, and the window itself."""

from __future__ import annotations

import gc
import weakref
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

import clalign
from clalign.ui.shell.main_window import MainWindow


def top_widgets() -> Counter[str]:
    """Return how many widgets without a parent there are of each class, once garbage is gone."""
    for _ in range(3):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.unfreeze()  # the window takes what is there for permanent
        gc.collect()
    return Counter(type(widget).__name__ for widget in QApplication.topLevelWidgets())


@pytest.fixture
def family_run(tmp_path: Path) -> Path:
    """A run of a small alignment."""
    sequences = tmp_path / "family.fasta"
    texts = ("MKVLAAGIVLLAWKDPNQSTRYCHE", "MKVLAGIVLLAWKDPNSTRYCHE", "MKVAAGIVLAWKDPPNQSTRYCE")
    sequences.write_text("".join(f">row{number}\n{text}\n" for number, text in enumerate(texts)))
    run = tmp_path / "family.clalign"
    clalign.align_many(sequences, run=run, device="reference").close()
    return run


def look_through(qtbot: Any, window: MainWindow, path: str) -> Any:
    """Open a run and look at all its tabs; return weak references to its page and to what it shows."""
    controller = window.controller
    controller.sources.open_paths([path])
    page: Any = controller.page
    qtbot.waitUntil(lambda: bool(page.run.cards) and not page.run.is_due and not page.run.hits.is_busy)
    for name in page.shown_parts:
        page.show_tab(name)
        qtbot.waitUntil(lambda: controller.reader.is_idle and controller.files.is_idle)
    return weakref.ref(page), weakref.ref(page.run)


@pytest.mark.thorough(kind=["profiles"])
@pytest.mark.parametrize("kind", ["profiles", "profile", "pairs", "alignment"])
def test_a_closed_run(
    qtbot: Any, window: MainWindow, request: pytest.FixtureRequest, made_run: Callable[..., Path],
    pair_runs: dict[str, Path], kind: str,
) -> None:  # fmt: skip
    paths = {
        "profiles": lambda: request.getfixturevalue("families"), "profile": made_run,
        "pairs": lambda: pair_runs["proteins"], "alignment": lambda: request.getfixturevalue("family_run"),
    }  # fmt: skip
    path = str(paths[kind]())
    before = top_widgets()
    page, run = look_through(qtbot, window, path)
    window.controller.close_source(path)
    assert top_widgets() == before
    gc.collect()  # what only holds itself is no more than the interpreter's to free
    assert page() is None
    assert run() is None
