"""What the window says of devices, runs and files is how they are, from the first moment."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from clalign.databases.examples import load_examples
from clalign.engines.plan7.spec import SearchSpec
from clalign.formats.profiles import load_profiles, profile_card
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.models.data_tree import PATH_ROLE
from clalign.ui.models.jobs import JobItem, JobQueue
from clalign.ui.settings import Settings
from clalign.ui.shell import app
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.widgets.profile_facts import profile_facts

CTRL, SHIFT = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier

ALIGNED = "# STOCKHOLM 1.0\n{0}_1 MKVLAAGIVLLAW\n{0}_2 MKVLA-GIVLLAW\n{0}_3 MKVLAAGI--LAW\n//\n"


def texts(parent: QWidget) -> list[str]:
    QTest.qWait(30)
    return [shown.text() for shown in parent.findChildren(QLabel) if shown.isVisible() and shown.text()]


def click_file(window: MainWindow, path: str) -> None:
    tree, item = window.data.tree, window.data.tree_model.index_of(path)
    place = tree.visualRect(item.index()).center()
    QTest.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)


# ---- safe mode


@pytest.fixture
def safe_window(qtbot: Any, settings: Settings, worker: list[str], files: dict[str, str]) -> Any:
    """A window in safe mode, with two files on its command line, and a choice of devices from before."""
    settings.change(device="0:0")
    named = [files["made.hmm"], files["made.fasta"]]
    window = app.open_window(settings, worker, named, safe_mode=True)
    qtbot.waitUntil(lambda: window.controller.search.sheet is not None)
    yield window
    window.leaving.confirms = False
    window.close()
    window.deleteLater()


def jobs_of(window: MainWindow) -> list[JobItem]:
    found: list[JobItem] = []
    window.controller.queue.job_added.connect(found.append)
    return found


def test_safe_mode_searches_named_files_on_the_reference(qtbot: Any, safe_window: MainWindow) -> None:
    controller, jobs = safe_window.controller, jobs_of(safe_window)
    assert {Path(path).name for path in controller.workspace.sources} == {"made.hmm", "made.fasta"}
    assert controller.search.sheet.devices.currentData() == "reference"
    QTest.keyClick(safe_window, Qt.Key.Key_R, CTRL)
    qtbot.waitUntil(lambda: bool(jobs))
    assert jobs[0].spec["spec"]["device"] == "reference"
    assert jobs[0].device == "reference"


@pytest.mark.thorough
def test_safe_mode_has_no_automatic_device(safe_window: MainWindow) -> None:
    controller = safe_window.controller
    controller.devices.choose_device("auto")
    assert controller.search.sheet.spec.device == "reference"
    assert controller.current_spec().device == "reference"
    controller.devices.choose_device("auto@tcp://host:8786")
    assert controller.current_spec().device == "auto@tcp://host:8786", "no driver of this machine is touched"
    assert controller.workspace.device_ids == ["reference"], "of what no cluster computes"


@pytest.mark.thorough
def test_after_a_look_for_devices_the_choice_from_before_counts(qtbot: Any, safe_window: MainWindow) -> None:
    space = safe_window.controller.workspace
    assert space.device_id == "reference"
    safe_window.controller.devices.refresh_devices()
    qtbot.waitUntil(lambda: space.devices_known and len(space.devices) > 1)
    assert space.device_id == "0:0"


@pytest.mark.thorough
def test_safe_mode_continues_and_explains_on_the_reference(
    qtbot: Any, safe_window: MainWindow, made_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    controller, jobs = safe_window.controller, jobs_of(safe_window)
    asked: list[dict[str, Any]] = []
    controller.sources.open_paths([str(made_run(complete=False))])
    qtbot.waitUntil(lambda: controller.page is not None and controller.page.run.hits.n_shown > 0)
    monkeypatch.setattr(controller.inspector, "ask", lambda job, *rest: asked.append(job))
    controller.page.hits.table.choose_row(0)
    qtbot.waitUntil(lambda: controller.page.run.hit is not None)
    controller.explanations.explain_hit()
    assert asked[0]["device"] == "reference"
    controller.page.run.facts.pop("database", None)  # as of a run that has not read its files
    controller.explanations._explain_named(controller.page, "x")
    assert {asked[1]["device"], asked[1].get("spec", asked[1])["device"]} == {"reference"}
    controller.resume_run()
    assert (jobs[0].kind, jobs[0].spec["device"]) == ("resume", "reference")


# ---- runs


@pytest.mark.thorough
def test_a_run_that_is_read_says_so_and_offers_nothing(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    folder = window.settings.runs
    folder.mkdir(parents=True)
    shutil.move(made_run(name="one"), folder / "one.clalign")
    QTest.keyClick(window, Qt.Key.Key_H, CTRL)
    library: Any = window.center.currentWidget()
    qtbot.waitUntil(lambda: len(library.model.rows) == 1)
    place = library.table.visualRect(library.model.index(0, 0)).center()
    view = library.table.viewport()
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    seen: list[tuple[str, bool, bool]] = []

    def look() -> None:
        page, focus = window.controller.page, window.focusWidget()
        if page is not None and not page.run.facts:
            words = page.waiting.heading.text()
            seen.append((words, page.unfinished_bar.isVisible(), isinstance(focus, QPushButton)))

    window.center.currentChanged.connect(lambda _: look())
    QTest.mouseDClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    look()
    assert seen
    assert set(seen) == {("Reading the run", False, False)}
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.is_complete and page.run.hits.n_shown > 0)
    assert not page.unfinished_bar.isVisible()
    assert not isinstance(window.focusWidget(), QPushButton)


@pytest.mark.thorough
def test_a_run_that_waits_says_so(qtbot: Any, loaded: MainWindow, searching: JobQueue) -> None:
    controller = loaded.controller
    assert searching.current is not None
    searching.toggle_pause(searching.current)  # else it may be over before anybody looks
    qtbot.waitUntil(lambda: searching.items[0].state == "paused")
    run = controller.jobs.search(SearchSpec(**searching.items[0].spec["spec"]))
    qtbot.waitUntil(lambda: run in controller.pages)
    page, item = controller.pages[run], searching.of_run(run)
    assert page.waiting.heading.text() == item.line()
    assert page.run.title == item.title
    qtbot.waitUntil(lambda: run in controller.workspace.sources)
    assert controller.workspace.sources[run].report["state_words"] == "waiting"


@pytest.mark.thorough
def test_filter_and_thresholds_are_cleared(window: MainWindow, opened: Callable[[str], PairPage]) -> None:
    page = opened("proteins")
    own = dict(page.run.thresholds)
    page.run.set_least_score(own["report"] + 5)
    QTest.keyClick(window, Qt.Key.Key_F, CTRL | SHIFT)
    assert page.run.thresholds == own
    assert page.run.thresholds["significant"] == -math.inf
    assert not page.run.thresholds_moved
    assert not page.reset_button.isVisible()


# ---- the laboratory


@pytest.mark.thorough
def test_a_measurement_that_does_not_stop_by_itself_is_stopped(
    qtbot: Any, window: MainWindow, manners: Callable[..., None], press: Callable[..., None],
) -> None:  # fmt: skip
    manners(pause=3600)  # a kernel whose groups wait for each other for ever
    jobs = jobs_of(window)
    window.controller.labs.open("synchronization")
    page = window.controller.labs.page
    press(page, "Run")
    qtbot.waitUntil(lambda: page.view.n_done > 0)
    press(page, "Stop")
    qtbot.waitUntil(lambda: window.controller.queue.current is None)
    assert jobs[0].state == "stopped"
    assert not [message for message in window.messages.messages if message.severity == "stop"]
    assert page.run_button.isVisible()


# ---- files


@pytest.mark.thorough
def test_one_click_on_an_alignment_shows_it_everywhere(
    qtbot: Any, window: MainWindow, tmp_path: Path, made_run: Callable[..., Path]
) -> None:
    controller = window.controller
    paths = [str(tmp_path / "first.sto"), str(tmp_path / "second.sto")]
    for path in paths:
        Path(path).write_text(ALIGNED.format(Path(path).stem))
        controller.sources.open_paths([path])
        qtbot.waitUntil(lambda: controller.alignments.panel is not None and controller.inspector.is_idle)
        controller.show_start()
    controller.sources.open_paths([str(made_run())])
    for path in paths:
        click_file(window, path)
        qtbot.waitUntil(lambda: controller.alignments.panel is not None)
        assert controller.alignments.page is controller.alignments.pages[path]
        assert controller.alignments.title == Path(path).name
        assert controller.alignments.panel.view.alignment.names[0] == f"{Path(path).stem}_1"
        assert window.details.source.source.path == path
        assert window.data.tree.currentIndex() == window.data.tree_model.index_of(path).index()


def test_what_is_selected_among_the_data_is_what_is_in_view(
    qtbot: Any, window: MainWindow, files: dict[str, str], made_run: Callable[..., Path]
) -> None:
    controller, run = window.controller, str(made_run())

    def selected() -> str:
        return str(window.data.tree.currentIndex().data(PATH_ROLE) or "")

    controller.sources.open_paths([files["made.hmm"]])
    qtbot.waitUntil(lambda: controller.inspector.is_idle and selected() == files["made.hmm"])
    controller.open_run_page(run)
    assert selected() == run
    controller.show_start()
    assert selected() == window.details.path == "", "the run is no longer in view"
    click_file(window, files["made.hmm"])
    assert selected() == window.details.path == files["made.hmm"]
    controller.library.show()
    assert selected() == window.details.path == ""
    controller.leave_aside()
    controller.show_run(run)
    assert selected() == run


def test_sequences_of_another_kind_are_reported_once_with_a_way_out(
    qtbot: Any, window: MainWindow, files: dict[str, str], drop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    controller = window.controller
    drop(window, [files["dna.fasta"], files["made.hmm"]])
    qtbot.waitUntil(lambda: len(controller.workspace.sources) == 2 and controller.inspector.is_idle)
    assert controller.search.sheet is not None, "what does not go together is told at once"
    controller.search.open_sheet(without_filters=True)
    sheet: Any = controller.search.sheet
    line = [text for text in texts(sheet) if "is for protein" in text]
    assert len(line) == 1
    assert not sheet.run_button.isEnabled()
    assert sheet.form.presets.currentData() == "default", "HMMER2 profiles have no filters"
    assert sheet.form.more.isHidden()
    asked: list[bool] = []
    monkeypatch.setattr(controller.sources, "open_files", lambda: asked.append(True))
    names = [b.text() for b in sheet.findChildren(QPushButton) if b.isVisible()]
    button = next(b for b in sheet.findChildren(QPushButton) if b.text() == "Open other files…")
    assert names.index("Open other files…") < names.index("Read as proteins")
    QTest.mouseClick(button, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(5, 5))
    assert asked == [True]


def test_a_profile_says_of_how_many_sequences_it_was_built() -> None:
    for example in load_examples():
        for hmm in load_profiles(str(example.profiles)):
            facts = dict(profile_facts(profile_card(hmm)))
            n = hmm.facts.get("sequences")
            assert facts.get("Built from") == (None if n is None else f"{int(n):,} sequence{'s' * (n != '1')}")
