"""The window without a display, with a worker that makes its answers up."""

from __future__ import annotations

import gc
import importlib.util
import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QMimeData, QObject, QPointF, QProcess, Qt, QUrl
from PySide6.QtGui import QDropEvent, QFont, QFontDatabase, QGuiApplication, QShowEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from clalign.engines.plan7.spec import SearchSpec
from clalign.runs.run_file import create_run
from clalign.ui import theme
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.models.jobs import JobQueue
from clalign.ui.models.reader import Reader
from clalign.ui.services import app_context, job_controller
from clalign.ui.settings import Settings
from clalign.ui.shell.collector import Collector
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.widgets import message_bar, spec_sheet
from clalign.ui.worker_process import default_worker

WORKER = Path(__file__).with_name("fake_worker.py")

FONTS = Path(__file__).with_name("fonts")
SANS = ("Subset DejaVu Sans", "Subset Noto Sans")
"""Families of the fonts that come with the tests: the second is taller, the first wider."""

POINTS = 9


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"clalign_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FAKE = _load(WORKER)
HMMER3 = _load(Path(__file__).with_name("hmmer3_runs.py"))
PAIRS = _load(Path(__file__).with_name("pair_runs.py"))


HitsOf = Callable[..., tuple[dict[str, Any], list[Any]]]


PATIENCE_MS = int(os.environ.get("CLALIGN_TEST_PATIENCE_MS", 180_000))
"""How long any condition is waited for at least: a machine that does much else is slow, not wrong."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait longer for conditions and signals than a test says, which is for an idle machine."""
    for name in ("waitUntil", "waitSignal"):
        wait = getattr(QtBot, name)

        def patient(bot: QtBot, *what: Any, wait: Any = wait, timeout: int = 0, **more: Any) -> Any:
            return wait(bot, *what, timeout=max(timeout, PATIENCE_MS), **more)

        monkeypatch.setattr(QtBot, name, patient)


@pytest.fixture(scope="session", autouse=True)
def emptied_clipboard() -> Iterator[None]:
    """Leave nothing of Python on the clipboard: without a display it is emptied after Python has ended, and crashes."""
    yield
    if QGuiApplication.instance() is not None:
        QGuiApplication.clipboard().clear()


@pytest.fixture(autouse=True)
def timeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no message or job come or go because of the time that passes: on a busy machine that is long.

    Tests that are about it set times of their own.
    """
    monkeypatch.setattr(message_bar, "LIFE_SECONDS", {})
    monkeypatch.setattr(job_controller, "STALLED_SECONDS", math.inf)
    for place, name in ((app_context, "BUSY_MS"), (job_controller, "SEEN_MS"), (spec_sheet, "DRY_RUN_MS")):
        monkeypatch.setattr(place, name, 10**9)


@pytest.fixture(scope="session")
def bundled_fonts(qapp: QApplication) -> None:
    """Load the fonts of the tests where the system's settings of fonts, as on Linux, do not name them already."""
    if not set(SANS) <= set(QFontDatabase.families()):
        for file in FONTS.glob("*.ttf"):
            assert QFontDatabase.addApplicationFont(str(file)) >= 0


@pytest.fixture(autouse=True)
def text_font(request: pytest.FixtureRequest, bundled_fonts: None) -> QFont:
    """The font of the window; a test may choose another family and size."""
    font = QFont(*getattr(request, "param", (SANS[0], POINTS)))
    QApplication.setFont(font)
    return font


@pytest.fixture
def fake() -> ModuleType:
    """The functions that make hits up."""
    return FAKE


@pytest.fixture(autouse=True)
def manners_file(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that made-up workers read when they get their job: some were started long before."""
    file = tmp_path_factory.mktemp("manners") / "manners.json"
    monkeypatch.setenv("CLALIGN_FAKE", str(file))
    return file


@pytest.fixture
def manners(manners_file: Path) -> Callable[..., None]:
    """How the made-up worker shall behave."""

    def behave(**wishes: Any) -> None:
        manners_file.write_text(json.dumps(wishes))

    return behave


@pytest.fixture
def worker() -> list[str]:
    return [sys.executable, str(WORKER)]


POPUPS = (Qt.WindowType.ToolTip, Qt.WindowType.Popup)


class Flashes(QObject):
    """Notes every window that appears; a widget shown before it has a parent is one for a moment."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # Asking for the class takes a fraction of the time of asking for the type, and there are thousands of events.
        is_window = isinstance(event, QShowEvent) and isinstance(watched, QWidget) and watched.isWindow()
        if is_window and not isinstance(watched, MainWindow | QMenu) and watched.windowType() not in POPUPS:
            self.seen.append(f"{type(watched).__name__} {watched.accessibleName()}")
        return False


@pytest.fixture
def flashes(qtbot: Any) -> Iterator[Flashes]:
    """Watches every event of the program, which costs time."""
    made = Flashes()
    QCoreApplication.instance().installEventFilter(made)
    yield made
    QCoreApplication.instance().removeEventFilter(made)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(tmp_path / "config", tmp_path / "data")
    made.change(theme="light")
    return made


@pytest.fixture
def reader(qtbot: Any) -> Iterator[Reader]:
    made = Reader()
    yield made
    made.close()


@pytest.fixture
def made_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a finished run file with made-up hits."""

    def make(batches: int = 5, hits: int = 40, name: str = "made", complete: bool = True, profiles: int = 1) -> Path:
        path = tmp_path / f"{name}.clalign"
        spec = SearchSpec(str(tmp_path / "made.hmm"), str(tmp_path / "made.fasta")).to_dict()
        with create_run(path, engine="plan7", spec=spec, state="new") as run:
            FAKE.prepare(run, spec, batches, profiles)
            for profile in range(profiles):
                for number in range(batches if complete else batches - 2):
                    FAKE.add_batch(run, number, hits, profile)
            if complete:
                FAKE.finish(run, batches)
        return path

    return make


@pytest.fixture
def hmmer3_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a finished run file of a HMMER3 profile with made-up hits and survivors."""

    def make(name: str = "made3", **wishes: Any) -> Path:
        return HMMER3.make_run(tmp_path / f"{name}.clalign", **wishes)

    return make


@pytest.fixture
def families(tmp_path: Path) -> Path:
    """A finished run of three HMMER3 profiles, whose hits lie on common sequences."""
    return HMMER3.make_families(tmp_path / "families.clalign")


@pytest.fixture
def hmmer3() -> ModuleType:
    """The functions that make such runs up."""
    return HMMER3


@pytest.fixture(scope="session")
def pair_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Run files of small comparisons of sequences, by name."""
    return PAIRS.make_runs(tmp_path_factory.mktemp("pairwise"))


@pytest.fixture(scope="session")
def hits_of() -> HitsOf:
    """Reads card and hits of a query."""
    return PAIRS.hits_of


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Files that the made-up worker knows by their first letters."""
    texts = {
        "made.hmm": "HMMER2.0\nNAME made\n", "bare.hmm": "HMMER2.0 bare\n", "new.hmm": "HMMER3/f\n",
        "bare3.hmm": "HMMER3/f bare\n", "made.sto": "# STOCKHOLM 1.0\n",
        "made.fasta": ">a\nMKVL\n", "dna.fasta": ">d\nACGTACGT\n", "picture.fasta": "\x89PNG\n",
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="latin-1")
    return {name: str(tmp_path / name) for name in texts}


def destroy(window: MainWindow) -> None:
    """Destroy a closed window and what it refers to, which Python would collect only once much more has come."""
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


def stop_and_stay(collector: Collector) -> None:
    """Restore Python's collector, but let what was there before the window stay frozen.

    That is thousands of tests, which would be looked through each time a window is destroyed.
    """
    collector._timer.stop()
    gc.enable()


@pytest.fixture
def unwatched_window(
    qtbot: Any, settings: Settings, worker: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    """The window; afterwards nothing of it may be left: no widget, no thread, no process."""
    monkeypatch.setattr(Collector, "stop", stop_and_stay)
    theme.apply("light")
    made = MainWindow(settings, worker)
    made.resize(1280, 800)
    made.show()
    with qtbot.waitActive(made):
        made.activateWindow()
    made.controller.workspace.set_devices([FAKE.GPU, FAKE.CPU, FAKE.BROKEN])
    gone: list[bool] = []
    made.destroyed.connect(lambda: gone.append(True))
    yield made
    made.leaving.confirms = False
    made.close()
    assert made.controller.queue.worker is None
    assert made.controller.inspector.is_idle
    assert {process.state() for process in made.findChildren(QProcess)} <= {QProcess.ProcessState.NotRunning}
    destroy(made)
    assert gone, "the window was not destroyed"
    own = [thread for thread in threading.enumerate() if thread.name.startswith("clalign")]
    for thread in own:
        thread.join(PATIENCE_MS / 1000)  # what was shown may still be let go
    assert not [thread.name for thread in own if thread.is_alive()]


@pytest.fixture
def window(request: pytest.FixtureRequest) -> Iterator[MainWindow]:
    """The window; meanwhile nothing but it may appear on the screen, which thorough tests watch."""
    flashes = request.getfixturevalue("flashes") if request.config.getoption("--thorough") else None
    yield request.getfixturevalue("unwatched_window")
    assert flashes is None or not flashes.seen


def _press(parent: QWidget, text: str) -> None:
    QTest.qWait(30)
    found = [b for b in parent.findChildren(QAbstractButton) if b.text() == text and b.isVisible()]
    assert found, f"no button {text!r}"
    assert found[0].isEnabled(), found[0].toolTip()
    QTest.mouseClick(found[0], Qt.MouseButton.LeftButton)


@pytest.fixture
def press() -> Callable[[QWidget, str], None]:
    """Clicks the visible button with a text."""
    return _press


def _drop(window: MainWindow, paths: list[str]) -> None:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(path) for path in paths])
    place, button = QPointF(400, 300), Qt.MouseButton.LeftButton
    window.dropEvent(QDropEvent(place, Qt.DropAction.CopyAction, data, button, Qt.KeyboardModifier.NoModifier))


@pytest.fixture
def drop() -> Callable[[MainWindow, list[str]], None]:
    """Drops files on the window."""
    return _drop


@pytest.fixture
def loaded(qtbot: Any, window: MainWindow, files: dict[str, str]) -> MainWindow:
    """The window after two files were dropped; the search sheet has opened by itself."""
    _drop(window, [files["made.fasta"], files["made.hmm"]])
    qtbot.waitUntil(lambda: window.controller.search.sheet is not None)
    return window


@pytest.fixture
def searching(qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Callable[..., None]) -> JobQueue:
    """The queue of the window in the middle of a slow search."""
    manners(pause=0.2, batches=60)  # so that it is not over before a busy machine has looked
    press(loaded, "Run search")
    queue = loaded.controller.queue
    # The bar follows the time that is left, and may stand still while much is done.
    qtbot.waitUntil(lambda: queue.current is not None and queue.current.course.done > 0.1 * queue.current.course.total)
    return queue


def _complete(qtbot: Any, window: MainWindow) -> Any:
    """Wait until all hits of the run in view are shown; return its page."""
    controller = window.controller
    run = controller.page.run
    qtbot.waitUntil(
        lambda: (
            run.is_complete
            and not run.is_due
            and not run.hits.is_busy
            and run.counts["report"] == run.hits.n_all
            and controller.reader.is_idle
        )
    )
    return controller.page


@pytest.fixture
def searched(qtbot: Any) -> Callable[[MainWindow], Any]:
    """Starts the search of the open sheet by its key and waits for all hits; returns the results page."""

    def search(window: MainWindow) -> Any:
        controller = window.controller
        QTest.keyClick(window, Qt.Key.Key_R, Qt.KeyboardModifier.ControlModifier)
        qtbot.waitUntil(lambda: controller.queue.current is None and controller.page is not None)
        return _complete(qtbot, window)

    return search


@pytest.fixture
def page(qtbot: Any, window: MainWindow, files: dict[str, str], made_run: Callable[..., Path]) -> Any:
    """The results of a finished run."""
    window.controller.sources.open_paths([str(made_run())])
    return _complete(qtbot, window)


@pytest.fixture
def real_window(qtbot: Any, tmp_path: Path) -> Iterator[MainWindow]:
    """The window with the real worker."""
    theme.apply("light")
    window = MainWindow(Settings(tmp_path / "config", tmp_path / "data"), default_worker())
    window.resize(1280, 800)
    window.show()
    yield window
    window.leaving.confirms = False
    window.close()
    destroy(window)


@pytest.fixture
def opened(qtbot: Any, window: MainWindow, pair_runs: dict[str, Path]) -> Callable[[str], PairPage]:
    """Opens a run file and waits for its hits."""

    def open_run(name: str) -> PairPage:
        window.controller.sources.open_paths([str(pair_runs[name])])
        page = window.controller.page
        assert isinstance(page, PairPage)
        qtbot.waitUntil(lambda: bool(page.run.cards) and not page.run.hits.is_busy)
        qtbot.waitUntil(lambda: not page.run.is_due and window.controller.reader.is_idle)
        return page

    return open_run
