"""Files that a run was made with: nothing waits for their checksums, and where they were moved to can be told."""

import shutil
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtWidgets import QPushButton, QWidget

from clalign.databases.examples import load_examples
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import InputError
from clalign.formats.profiles import load_profiles
from clalign.jobs import JobContext
from clalign.runs.inputs import LOCATE, input_of
from clalign.runs.run_file import create_run, open_run
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.engines.plan7.profile_nodes import shown_profile
from clalign.ui.models.jobs import JobItem
from clalign.ui.models.results.missing_files import LOCATE_TITLE
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.explain_sheet import ExplainSheet
from tests.run_facts import report_of

pytestmark = pytest.mark.thorough

Press = Callable[[QWidget, str], None]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the dialog for files answers."""
    names: list[str] = []
    monkeypatch.setattr("PySide6.QtWidgets.QFileDialog.getOpenFileNames", lambda *_: (list(names), ""))
    return names


@pytest.mark.parametrize("closes_window", [True, False])
def test_closing_does_not_wait_for_a_checksum(
    qtbot: Any,
    window: MainWindow,
    opened: Callable[[str], PairPage],
    monkeypatch: pytest.MonkeyPatch,
    closes_window: bool,
) -> None:
    started = threading.Event()

    def endless(path: str, context: JobContext) -> str:
        started.set()
        while True:
            context.check()
            time.sleep(0.001)

    monkeypatch.setattr("clalign.runs.inputs.digest_of", endless)
    page = opened("proteins")
    page.hits.table.choose_row(0)
    page.show_alignment()
    assert started.wait(60)
    if closes_window:
        window.close()
    else:
        window.controller.close_page()
        qtbot.waitUntil(lambda: window.controller.files.is_idle)


def test_a_moved_file_of_a_run_is_located(
    qtbot: Any, window: MainWindow, tmp_path: Path, chosen: list[str], press: Press
) -> None:
    old, new, other = (tmp_path / name for name in ("old.fasta", "new.fasta", "other.fasta"))
    new.write_text(">a\nMKVL\n")
    other.write_text(">a\nMKVV\n")
    spec = SearchSpec(str(tmp_path / "made.hmm"), str(old)).to_dict()
    report, path = report_of(1, 4, digest=sha256(new.read_bytes()).hexdigest()), tmp_path / "moved.clalign"
    with (
        create_run(path, engine="plan7", spec=spec, state="done", database=report) as run,
        pytest.raises(InputError) as caught,
    ):
        input_of(run, "targets")
    job = {"job": "verify", "run": str(path)}
    item = JobItem("Verify", job, "failed", message=caught.value.message, hint=caught.value.hint)
    window.controller.jobs._end_badly(item)
    texts = lambda: [message.text for message in window.messages.messages]  # noqa: E731
    reports = texts()[0]
    assert LOCATE not in reports
    press(window.messages, "Locate file…")
    assert texts() == [reports], "nothing was chosen, so the way stays open"
    chosen[:] = [str(other)]
    press(window.messages, "Locate file…")
    qtbot.waitUntil(lambda: any("none of the files" in text for text in texts()))
    assert reports in texts()
    press(window.messages, "1 more")
    chosen[:] = [str(new)]
    press(window.messages, "Locate file…")
    qtbot.waitUntil(lambda: any(text.startswith("Located") for text in texts()))
    assert texts() == [f"Located old.fasta: {new}."], "what no longer holds is taken back"
    with open_run(path) as run:
        assert input_of(run, "targets") == str(new)


def test_a_dot_plot_comes_when_its_file_is_located(
    qtbot: Any,
    window: MainWindow,
    opened: Callable[[str], PairPage],
    pair_runs: dict[str, Path],
    tmp_path: Path,
    chosen: list[str],
    press: Press,
) -> None:
    with open_run(pair_runs["proteins"]) as run:
        targets = Path(run.facts.spec["targets"])
    pair_runs = {"proteins": Path(shutil.copy(pair_runs["proteins"], tmp_path / "copy.clalign"))}
    moved = Path(shutil.copy(targets, tmp_path / "elsewhere.fasta"))
    with open_run(pair_runs["proteins"], writable=True) as run:
        run.set_facts(spec={**run.facts.spec, "targets": str(tmp_path / "gone.fasta")})
    window.controller.sources.open_paths([str(pair_runs["proteins"])])
    page = window.controller.page
    qtbot.waitUntil(lambda: bool(page.run.cards) and bool(page.run.hits.n_all) and not page.run.hits.is_busy)
    page.hits.table.choose_row(0)
    page.show_alignment()
    dots = page.hit.dots
    qtbot.waitUntil(lambda: dots.locate_button.isVisible())
    assert "gone.fasta" in dots.problem.text()
    assert LOCATE not in dots.problem.text()
    chosen[:] = [str(moved)]
    press(dots, "Locate file…")
    qtbot.waitUntil(lambda: dots.canvas.plot is not None and dots.canvas.plot.dots is not None)
    assert not dots.locate_button.isVisible()
    assert not dots.problem.isVisible()


def test_a_profile_of_a_run_is_read_where_it_lies_now_and_only_if_it_is_the_same(
    qtbot: Any,
    window: MainWindow,
    made_run: Callable[..., Path],
    tmp_path: Path,
    chosen: list[str],
    press: Press,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    example = next(e for e in load_examples() if e.id == "rrm_1")
    shown, read = shown_profile(load_profiles(str(example.profiles))[0]), []
    monkeypatch.setattr(
        "clalign.ui.engines.plan7.profile_nodes.read_profile", lambda path, *_: (read.append(path), shown)[1]
    )
    new = Path(shutil.copy(example.profiles, tmp_path / "new.hmm"))
    path = made_run()
    changed = tmp_path / "made.hmm"
    changed.write_text(new.read_text() + "\n")
    with open_run(path, writable=True) as run:
        run.set_facts(packing=1, profiles_digest=sha256(new.read_bytes()).hexdigest())
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: bool(page.run.cards) and not page.run.is_due and not page.run.hits.is_busy)
    page.show_tab("query")
    qtbot.waitUntil(lambda: page.profile.locate_button.isVisible())
    assert "have changed since this run began" in page.profile.empty.words.text()
    chosen[:] = [str(new)]
    press(page.profile, "Locate file…")
    qtbot.waitUntil(lambda: page.profile.figure is not None)
    assert read == [str(new)]


def test_an_explanation_comes_when_its_file_is_located(
    qtbot: Any,
    window: MainWindow,
    made_run: Callable[..., Path],
    tmp_path: Path,
    chosen: list[str],
    press: Press,
    manners: Callable[..., None],
) -> None:
    manners(reads_files=True)
    path, new = made_run(), tmp_path / "new.fasta"
    new.write_text(">a\nMKVL\n")
    with open_run(path, writable=True) as run:
        report = replace(run.facts.database, digest=sha256(new.read_bytes()).hexdigest())
        run.set_facts(database=report)
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    qtbot.waitUntil(lambda: bool(page.run.hits.n_all) and not page.run.hits.is_busy)
    page.hits.table.choose_row(0)
    window.controller.explanations.explain_hit()
    sheet = window.sheets.sheet
    assert isinstance(sheet, ExplainSheet)
    locate = lambda: [b for b in sheet.findChildren(QPushButton) if b.text() == LOCATE_TITLE and b.isVisible()]  # noqa: E731
    qtbot.waitUntil(lambda: bool(locate()))
    press(sheet, LOCATE_TITLE)
    assert locate(), "nothing was chosen"
    chosen[:] = [str(new)]
    press(sheet, LOCATE_TITLE)
    qtbot.waitUntil(lambda: bool(sheet.value))
    assert not locate()
