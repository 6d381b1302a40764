"""Profiles from alignments in two clicks."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget

from clalign.ui.engines.plan7.commands import nothing_to_align
from clalign.ui.models.workspace import Source
from clalign.ui.shell.main_window import MainWindow

pytestmark = pytest.mark.thorough

Press = Callable[[QWidget, str], None]
Drop = Callable[[MainWindow, list[str]], None]


def test_what_is_an_alignment() -> None:
    def source(**report: Any) -> Source:
        return Source("a", "sequences", "ready", report=report)

    assert source(format="Stockholm", issues=[]).is_alignment
    assert source(format="FASTA", issues=[{"kind": "gaps_dropped"}]).is_alignment
    assert not source(format="FASTA", issues=[]).is_alignment
    assert not Source("a", "profiles", "ready").is_alignment


def opened(qtbot: Any, window: MainWindow, drop: Drop, *paths: str) -> None:
    for path in paths:
        drop(window, [path])
        qtbot.waitUntil(lambda: window.controller.inspector.is_idle)


def test_search_with_an_alignment_in_two_clicks(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop, press: Press
) -> None:
    opened(qtbot, window, drop, files["made.fasta"], files["made.sto"])
    controller = window.controller
    assert controller.workspace.sequences.is_alignment
    press(window.details, "Build and search…")
    qtbot.waitUntil(lambda: controller.search.sheet is not None)
    sheet = controller.search.sheet
    assert Path(sheet.spec.profiles) == window.settings.data / "profiles" / "made.hmm"
    assert sheet.spec.targets == files["made.fasta"]
    press(sheet, "Run search")
    qtbot.waitUntil(lambda: controller.page is not None and controller.page.run.is_complete)


def test_a_profile_is_built_and_its_logo_shown(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop, press: Press
) -> None:
    opened(qtbot, window, drop, files["made.sto"])
    for name in ("made.hmm", "made-2.hmm"):
        window.details.show_source(window.controller.workspace.sources[files["made.sto"]])
        press(window.details, "Build profile")
        qtbot.waitUntil(lambda name=name: str(window.settings.data / "profiles" / name) in
                        window.controller.search.profiles.pages)  # fmt: skip
    assert any("Profile built built: 60 nodes from 45 sequences" in m.text for m in window.messages.messages)
    page = window.controller.search.profiles.page
    qtbot.waitUntil(lambda: "cannot be shown" in page.view.empty.heading.text())


def test_sequences_are_aligned_to_a_profile(qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop) -> None:
    opened(qtbot, window, drop, files["made.fasta"])
    controller = window.controller
    assert nothing_to_align(controller)
    card = {"name": "One", "origin": "hmmer3", "length": 9, "alphabet": "amino"}
    profile = Source("one.hmm", "profiles", "ready", cards=[card])
    controller.workspace.sources["one.hmm"] = profile
    controller.workspace.choose("one.hmm")
    ended = []
    controller.queue.job_ended.connect(
        lambda item: ended.append(tuple(item.spec[name] for name in ("profile", "sequences", "output")))
    )
    controller.search.aligning.align_chosen()
    made = window.settings.data / "alignments" / "made-One.sto"
    qtbot.waitUntil(lambda: str(made) in controller.alignments.pages)
    qtbot.waitUntil(lambda: controller.alignments.panel is not None)
    assert any("2 sequences aligned to Made-3" in m.text for m in window.messages.messages)
    assert ended == [("one.hmm", files["made.fasta"], str(made))]
    profile.cards.append({**card, "name": "Two"})
    assert nothing_to_align(controller)


def test_a_build_that_fails_is_reported(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Drop, press: Press, manners: Callable[..., None]
) -> None:
    opened(qtbot, window, drop, files["made.sto"])
    manners(fail="hmmbuild")
    press(window.details, "Build profile")
    qtbot.waitUntil(lambda: any("no column" in m.text for m in window.messages.messages))
    assert window.controller.search.profiles.page is None
