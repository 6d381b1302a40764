"""Runs of parts are merged from the menu, and a part says that it is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import clalign
from clalign.ui.shell.main_window import MainWindow


@pytest.fixture
def parts(tmp_path: Path) -> list[str]:
    """The runs of two parts of a comparison."""
    sequences = tmp_path / "few.fa"
    sequences.write_text(">a\nMKVLATGHWWC\n>b\nMKVATGHKLWW\n>c\nACDEFGHIKLM\n>d\nMKVLATGHKLW\n")
    paths = [tmp_path / f"few-{number}-of-2.clalign" for number in (1, 2)]
    for number, path in enumerate(paths, 1):
        options = {"shard": f"{number}/2", "evalue": 1e6, "device": "reference"}
        clalign.sw(sequences, sequences, path, **options).close()
    return [str(path) for path in paths]


def merge(window: MainWindow, names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose runs in the dialog of the menu entry."""
    monkeypatch.setattr("PySide6.QtWidgets.QFileDialog.getOpenFileNames", lambda *_: (names, ""))
    window.controller.workspace.device_id = "reference"
    window.actions_.by_id["jobs.merge_parts"].trigger()


def test_merged_parts_are_shown(
    qtbot: Any, real_window: MainWindow, parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = real_window.controller
    merge(real_window, parts, monkeypatch)
    qtbot.waitUntil(lambda: controller.page is not None and controller.page.run.is_complete)
    page = controller.page
    assert page.run.path.name == "few-merged.clalign"
    qtbot.waitUntil(lambda: page.run.hits.n_all > 0 and not page.run.is_due)
    assert page.run.title == "few x few"
    with clalign.open_run(page.run.path) as merged:
        n_hits = [sum(1 for _ in clalign.open_run(name)) for name in parts]
        assert len(merged) == sum(n_hits)
        assert min(n_hits) > 0


@pytest.mark.thorough
def test_a_part_says_so_and_alone_is_not_merged(
    qtbot: Any, real_window: MainWindow, parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = real_window.controller
    controller.sources.open_paths(parts[:1])
    qtbot.waitUntil(lambda: controller.page is not None and bool(controller.page.run.cards))
    assert controller.page.run.title == "few x few, part 1 of 2"
    messages = []
    monkeypatch.setattr(controller, "notify", lambda kind, text, *more, **facts: messages.append((kind, text)))
    merge(real_window, parts[:1], monkeypatch)
    qtbot.waitUntil(lambda: any("missing: 2/2" in text for _, text in messages))
    assert not list(Path(controller.settings.runs).glob("*merged*"))
