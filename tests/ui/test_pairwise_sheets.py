"""What the sheets of comparisons offer: every option of the command line, and every column of BLAST's table."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QFileDialog, QScrollArea

from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.formats.blast_columns import columns_of
from clalign.runs.run_file import open_run
from clalign.ui.engines.pairwise.page import PairPage
from clalign.ui.engines.pairwise.sheet import PairForm, PairSheet
from clalign.ui.models.workspace import Source
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.export_sheet import ExportSheet
from clalign.ui.views.widgets.parts import IconButton
from clalign.values.specs import options_of

pytestmark = pytest.mark.thorough

LEFT = Qt.MouseButton.LeftButton

Opened = Callable[[str], PairPage]


@pytest.fixture
def form(qtbot: Any) -> PairForm:
    made = PairForm()
    qtbot.addWidget(made)
    made.toggle_more()
    made.show()
    return made


@pytest.mark.parametrize("name", ["matrix", "pair_list"])
def test_files_can_be_given(
    qtbot: Any, form: PairForm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = str(tmp_path / "my file.txt")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (path, ""))
    heading = next(field for field in options_of(PairwiseSpec) if field.name == name).metadata["file"]
    (opens,) = (made for made in form.findChildren(IconButton) if made.accessibleName() == heading)
    with qtbot.waitSignal(form.changed):
        QTest.mouseClick(opens, LEFT)
    assert form.values()[0][name] == path
    form.offer_matrices(True)
    form.offer_matrices(False)
    assert form.values()[0][name] == path
    again = PairForm()
    qtbot.addWidget(again)
    again.set_values(form.values()[0])
    assert again.values() == form.values()


def test_options_without_a_meaning_cannot_be_chosen(form: PairForm) -> None:
    form.set_values({"matrix": "BLOSUM45", "top": 7, "gap_first": 9, "gap_next": 2})
    QTest.keyClicks(form.editors["match"], "1")
    QTest.keyClicks(form.editors["mismatch"], "-1")
    assert not form.editors["matrix"].isEnabled()
    assert form.values()[0]["matrix"] is None
    form.editors["match"].clear()
    assert form.values()[0]["matrix"] == "BLOSUM45"
    form.editors["in_step"].click()
    for name in ("top", "evalue", "score", "statistics", "pair_list"):
        assert not form.editors[name].isEnabled()
        assert form.editors[name].toolTip().endswith(".")
    assert form.values()[0]["top"] == PairwiseSpec("", "").top
    form.editors["in_step"].click()
    assert form.values()[0]["top"] == 7
    form.set_values({"mode": "ungapped"})
    assert form.values()[0]["gap_first"] is None
    QTest.keyClicks(form.editors["pair_list"], "pairs.tsv")
    assert not form.editors["in_step"].isEnabled()
    assert form.values()[0]["pair_list"] == "pairs.tsv"


def test_what_is_wrong_is_said_where_it_is_seen(window: MainWindow, pair_runs: dict[str, Path], qtbot: Any) -> None:
    folder = pair_runs["proteins"].parent
    space = window.controller.workspace
    for name in ("queries.fasta", "targets.fasta"):
        report = {"alphabet": "amino", "n_sequences": 2, "n_residues": 105}
        space.put(Source(str(folder / name), "sequences", "ready", report=report))
    window.controller.pairs.open_sheet()
    sheet = window.controller.pairs.sheet
    assert isinstance(sheet, PairSheet)
    assert sheet.run_button.isEnabled()
    sheet.form.set_values({"gap_first": 5})
    assert sheet.command.property("role") == "caution"
    assert not sheet.run_button.isEnabled()
    assert sheet.estimate.text() == ""
    sheet.form.set_values({"gap_next": 1})
    assert sheet.command.text().startswith("clalign sw --gap-first 5 --gap-next 1 ")
    assert sheet.command.property("role") == "muted"
    space.put(Source(str(folder / "picture.png"), "unknown", "failed", problem="This is a picture."))
    space.choose_queries(str(folder / "picture.png"))
    assert sheet.queries.currentData() == ""


def test_blast_columns_are_chosen_and_kept(qtbot: Any, window: MainWindow, opened: Opened) -> None:
    opened("proteins")
    jobs: list[dict[str, Any]] = []
    window.controller.queue.job_added.connect(lambda item: jobs.append(item.spec))
    for part in ("", "cigar"):
        QTest.keyClick(window, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
        sheet = window.sheets.sheet
        assert isinstance(sheet, ExportSheet)
        assert sheet.columns.isVisible() == bool(part), "the form is kept, too"
        sheet.choose_form("outfmt")
        assert sheet.columns.isEnabled()
        assert sheet.columns.text() == ("std qcovs" if part else "std")
        if not part:
            QTest.keyClicks(sheet.columns, " nonsense")
            assert not sheet.export_button.isEnabled()
            assert 'no column "nonsense"' in sheet.problem.text()
            sheet.columns.setText("std")
            next(action for action in sheet._menu.actions() if action.text().startswith("qcovs")).trigger()
            QTest.mouseClick(sheet.export_button, LEFT)
            assert jobs[-1]["how"]["columns"] == "6 std qcovs"
            assert columns_of(jobs[-1]["how"]["columns"])[-1] == "qcovs"


def test_a_higher_limit_lets_the_best_target_through(window: MainWindow, opened: Opened) -> None:
    page = opened("empty")
    best = page.run._best()
    assert best is not None
    least = page.run.wider_evalue()
    assert best["evalue"] <= least < 10 * best["evalue"]
    window.controller.search_wider()
    sheet = window.controller.pairs.sheet
    assert isinstance(sheet, PairSheet)
    assert sheet.form.values()[0]["evalue"] == pytest.approx(least)


def test_nothing_is_copied_before_there_is_anything_to_run(window: MainWindow) -> None:
    window.controller.pairs.open_sheet()
    sheet = window.controller.pairs.sheet
    assert isinstance(sheet, PairSheet)
    assert sheet.spec is None
    assert [copies.isEnabled() for copies in sheet.copies] == [False, False]


def test_a_stopped_run_without_hits_says_so(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    page = opened("empty")
    monkeypatch.setattr(page.run, "share_searched", lambda: 0.5 if page.run.state == "stopped" else 1.0)
    assert page.wider.isVisible()
    page.run.facts["state"] = "stopped"
    page.show_facts()
    assert page.unfinished_bar.isVisible()
    assert not page.wider.isVisible()


def test_a_run_that_is_worked_on_cannot_be_continued(
    qtbot: Any, real_window: MainWindow, pair_runs: dict[str, Path]
) -> None:
    controller, folder = real_window.controller, pair_runs["proteins"].parent
    files = str(folder / "queries.fasta"), str(folder / "targets.fasta")
    controller.pairs.start(PairwiseSpec(*files, device="reference"))
    qtbot.waitUntil(lambda: isinstance(controller.page, PairPage))
    assert not controller.page.unfinished_bar.isVisible()
    qtbot.waitUntil(lambda: controller.queue.current is None)


def test_a_stopped_comparison_is_continued(qtbot: Any, real_window: MainWindow, tmp_path: Path,
                                           press: Callable[..., None], pair_runs: dict[str, Path]) -> None:  # fmt: skip
    """Ctrl+. after the first query, then a click on Continue: the hits are those of a run in one go."""
    controller, folder = real_window.controller, pair_runs["proteins"].parent
    one, two = [">" + part for part in (folder / "queries.fasta").read_text().split(">")[1:]]
    many = tmp_path / "many.fasta"
    many.write_text("".join((one, two)[n % 2].replace(" ", f"_{n} ", 1) for n in range(40)))
    spec = PairwiseSpec(str(many), str(folder / "targets.fasta"), device="reference")
    controller.pairs.start(spec)
    qtbot.waitUntil(lambda: controller.page is not None and controller.page.run.n_hits > 0)
    page = controller.page
    QTest.keyClick(real_window, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: controller.queue.current is None and page.unfinished_bar.isVisible())
    stopped = page.run.n_hits
    press(page, "Continue")
    qtbot.waitUntil(lambda: not page.unfinished_bar.isVisible())
    qtbot.waitUntil(lambda: page.run.is_complete and controller.queue.current is None)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy and not page.run.is_due)
    with open_run(page.run.path) as run, open_run(pair_runs["proteins"]) as whole:
        found = [[(hit.name, hit.raw) for hit in run.hits(n)] for n in range(40)]
        expected = [[(hit.name, hit.raw) for hit in whole.hits(n)] for n in range(2)]
    assert found == expected * 20
    assert 0 < stopped < sum(map(len, found))


def test_the_sheet_fits_its_width_and_uses_the_height(window: MainWindow, qtbot: Any) -> None:
    """Also for DNA, whose usual scores need the longest words."""
    space = window.controller.workspace
    for name in ("a_file_of_queries_with_a_name_that_does_not_end_so_soon.fasta", "targets.fasta"):
        report = {"alphabet": "dna", "n_sequences": 2, "n_residues": 105}
        space.put(Source(f"/made/up/folder/{name}", "sequences", "ready", report=report))
    window.controller.pairs.open_sheet()
    sheet = window.controller.pairs.sheet
    assert isinstance(sheet, PairSheet)
    sheet.form.toggle_more()
    (scroll,) = sheet.findChildren(QScrollArea)
    for width, height in ((1280, 800), (1920, 1080)):
        window.resize(width, height)
        qtbot.waitUntil(lambda height=height: scroll.verticalScrollBar().isVisible() == (height == 800))
        qtbot.waitUntil(lambda: scroll.widget().width() == scroll.viewport().width())
        box = sheet.form.editors["matrix"]
        assert isinstance(box, QComboBox)
        assert "DNA" in box.currentText()
        assert box.fontMetrics().horizontalAdvance(box.currentText()) < box.width() - 30
