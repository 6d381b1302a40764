"""The export sheet keeps its shape while its form changes."""

import re
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from clalign.engines.engine import engine_named
from clalign.runs.run_file import open_run
from clalign.ui.controllers import hit_controller
from clalign.ui.models.results.hit_pages import ALL_QUERIES
from clalign.ui.services.job_controller import JobController
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results import export_sheet
from clalign.ui.views.results.export_sheet import GROUPS, ExportChoices, ExportSheet
from clalign.ui.views.results.results_page import ResultsPage


@pytest.mark.parametrize("engine", ["plan7", "pairwise"])
def test_another_form_moves_nothing(qtbot: Any, tmp_path: Path, engine: str) -> None:
    counts, forms = {"all": 3, "filtered": 3, "selected": 1}, engine_named(engine).exports
    sheet = ExportSheet(ExportChoices("hits", counts, tmp_path, forms))
    qtbot.addWidget(sheet)
    sheet.resize(560, 900)
    sheet.show()
    height, applies = sheet.preferred_height(560), {}
    for form in forms:
        button = sheet.groups.button(list(GROUPS).index(form.group))
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=QPoint(8, button.height() // 2))
        place = sheet.forms.findData(form.name)
        entry = sheet.forms.model().index(place, 0)
        if not entry.flags() & Qt.ItemFlag.ItemIsEnabled:
            assert form.needs is not None
            assert entry.data(Qt.ItemDataRole.ToolTipRole)
            continue
        QTest.keyClick(sheet.forms, Qt.Key.Key_Home)
        while sheet.forms.currentIndex() < place:
            QTest.keyClick(sheet.forms, Qt.Key.Key_Down)
        assert sheet.forms.currentText() == form.words
        assert sheet.preferred_height(560) == height
        applies[sheet.forms.currentData()] = sheet.is_safe.isVisible(), sheet.columns.isVisible()
    assert applies["tsv"] == (True, False)
    assert applies["fasta"] == (False, False)
    assert applies["outfmt"][1]


def test_what_is_of_all_queries_is_proposed_of_all_hits(qtbot: Any, tmp_path: Path) -> None:
    counts, forms = {"all": 9, "filtered": 3, "selected": 1}, engine_named("plan7").exports
    sheet = ExportSheet(ExportChoices("hits", counts, tmp_path, forms))
    qtbot.addWidget(sheet)

    def which(form: str) -> str:
        sheet.choose_form(form)
        return next(key for key in counts if sheet.button_of(key).isChecked())

    assert [which(form) for form in ("tsv", "architecture", "csv")] == ["filtered", "all", "filtered"]
    sheet.button_of("selected").click()
    assert [which(form) for form in ("architecture", "tsv")] == ["selected"] * 2, "what the user has chosen stays"
    assert not sheet.with_species.isChecked()
    sheet.with_species.click()
    assert sheet.shape() == {"species": True}
    which("architecture")
    assert (sheet.shape(), sheet.with_species.isHidden()) == ({}, True)
    sheet.with_origin.click()
    assert sheet.shape() == {"provenance": True}, "of every form"


def test_significant_hits_are_offered_where_hits_are_judged(qtbot: Any, tmp_path: Path) -> None:
    forms = engine_named("plan7").exports
    for number, words in ((4, "Significant hits (4)"), (None, "Significant hits"), (0, "Significant hits (0)")):
        counts = {"all": 9, "significant": number, "filtered": 9, "selected": 1}
        sheet = ExportSheet(ExportChoices("hits", counts, tmp_path, forms))
        qtbot.addWidget(sheet)
        offered = {button.text(): button for button in sheet.which.buttons()}
        assert offered[words].isEnabled() == (number != 0)
        if number != 0:
            offered[words].click()
            with qtbot.waitSignal(sheet.export_requested) as asked:
                sheet.export_button.click()
            assert asked.args[2] == "significant"
    sheet = ExportSheet(ExportChoices("hits", {"all": 9, "filtered": 9, "selected": 1}, tmp_path, forms))
    qtbot.addWidget(sheet)
    assert not any("ignificant" in button.text() for button in sheet.which.buttons())


def test_a_group_keeps_its_format_and_shows_the_first_lines(qtbot: Any, window: MainWindow, families: Path) -> None:
    window.controller.open_run_page(str(families))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all > 0 and not page.run.hits.is_busy)
    page.run.set_profile(1)
    qtbot.waitUntil(lambda: not page.run.hits.is_busy and page.run.hits.n_shown == page.run.hits.n_all)
    window.controller.hits.export_hits()
    sheet: Any = window.sheets.sheet
    stem = {name: Path(sheet.path.text()).stem for name in ("all", "filtered") if not sheet.button_of(name).click()}
    assert stem["filtered"] == f"{stem['all']}-{page.run.cards[1]['name']}", "another family has a file of its own"
    sheet.choose_form("tsv")
    qtbot.waitUntil(lambda: sheet.preview.toPlainText().startswith("query\t"))
    lines = [sheet.preview.document().findBlockByNumber(number) for number in range(2)]
    places = [[line.layout().lineAt(0).cursorToX(at + 1)[0] for at, letter in enumerate(line.text()) if letter == "\t"]
              for line in lines]  # fmt: skip
    assert len(places[0]) > 9
    assert places[0] == places[1], "a value stands below its heading"
    sheet.choose_form("stockholm")
    assert "\t" not in sheet.preview.toPlainText(), "the lines of another form go at once"
    qtbot.waitUntil(lambda: sheet.preview.toPlainText().startswith("# STOCKHOLM"))
    assert "/6-33 " in sheet.preview.toPlainText(), "sequences, below a long head"
    sheet.choose_form("domtsv")
    sheet.choose_form("jsonl")
    qtbot.waitUntil(lambda: sheet.preview.toPlainText().startswith("{"))
    sheet.groups.button(list(GROUPS).index("report")).click()
    assert sheet._form.group == "report"
    sheet.groups.button(list(GROUPS).index("table")).click()
    assert sheet._form.name == "jsonl"
    window.sheets.close_sheet()
    window.settings.change(export_forms={"aligned": "of another engine"})
    page.show_tab("aligned")
    window.controller.hits.export_hits()
    sheet = window.sheets.sheet
    assert sheet._form.aligns
    window.sheets.close_sheet()


def test_first_lines_name_all_hits_that_will_be_written(
    qtbot: Any, window: MainWindow, families: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hit_controller, "PREVIEW_HITS", 1)
    monkeypatch.setattr(export_sheet, "PREVIEW_LINES", 60)
    window.controller.open_run_page(str(families))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_all > 0 and not page.run.hits.is_busy)
    window.controller.hits.export_hits()
    sheet: Any = window.sheets.sheet
    n_shown, n_all = page.run.hits.n_shown, page.run.n_hits
    assert 1 < n_shown < n_all
    sheet.choose_form("text")
    for which, words in (("filtered", [f"{n_shown} of {n_all} hits"]), ("all", [])):
        sheet.button_of(which).click()
        qtbot.waitUntil(lambda: sheet.preview.toPlainText().startswith("#"))
        text = sheet.preview.toPlainText()
        assert re.findall(r"\d+ of \d+ hits", text) == words


@pytest.mark.thorough
def test_the_window_exports_what_the_search_called_significant(
    qtbot: Any, window: MainWindow, families: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, dict[str, Any]]] = []
    monkeypatch.setattr(JobController, "export", lambda self, *what, **shape: asked.append((what[3], shape)))
    window.controller.open_run_page(str(families))
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.counts["report"] == page.run.hits.n_all == 5)
    with open_run(families) as run:
        n = run.connection.execute("SELECT count(*) FROM hits WHERE included").fetchone()[0]
    for number in (0, ALL_QUERIES):
        page.run.set_profile(number)
        qtbot.waitUntil(lambda: page.run.counts["report"] == page.run.hits.n_all and not page.run.hits.is_busy)
        window.controller.hits.export_hits()
        sheet = window.sheets.sheet
        assert isinstance(sheet, ExportSheet)
        choice = sheet.button_of("significant")
        qtbot.waitUntil(lambda: choice.text() == f"Significant hits ({n})")  # noqa: B023
        choice.click()
        sheet.export_button.click()
    assert asked == [(None, {"significant": True})] * 2


def test_counts_of_an_export_follow_the_hits(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    window.controller.hits.export_hits()
    sheet: Any = window.sheets.sheet
    shown = sheet.button_of("filtered")
    assert shown.text().endswith("(200)")
    page.run.hits.set_filter("no such hit")
    qtbot.waitUntil(lambda: shown.text().endswith("(0)"))
    assert not shown.isEnabled()
    assert sheet._choices.counts["filtered"] == 0
    page.run.hits.set_filter("")
    qtbot.waitUntil(shown.isEnabled)


def test_what_holds_hits_of_one_query_is_not_written_of_several(qtbot: Any, window: MainWindow, families: Path) -> None:
    window.controller.open_run_page(str(families))
    page = window.controller.page
    qtbot.waitUntil(lambda: len(page.run.query_hits) == 2)
    sheet: ExportSheet | None = None

    def judge(form: str, which: str, is_refused: bool, words: str = "") -> None:
        sheet.choose_form(form)
        sheet.button_of(which).click()
        qtbot.waitUntil(lambda: form not in ("afa", "a2m") or None not in sheet._n_queries.values())
        assert sheet.export_button.isEnabled() != is_refused
        assert (words in sheet.problem.text()) == is_refused

    for number, words in ((ALL_QUERIES, "choose one in the list"), (0, "in the table")):
        page.run.set_profile(number)
        qtbot.waitUntil(lambda: not page.run.hits.is_busy and page.run.hits.n_shown == page.run.hits.n_all)
        page.hits.table.selectAll()
        window.controller.hits.export_hits()
        sheet = window.sheets.sheet
        assert isinstance(sheet, ExportSheet)
        is_all = number == ALL_QUERIES
        for which, form, is_refused in (("significant", "afa", True), ("all", "a2m", True), ("all", "stockholm", False),
                                        ("filtered", "afa", is_all), ("selected", "a2m", is_all)):  # fmt: skip
            judge(form, which, is_refused, words)
        window.sheets.close_sheet()
    page.run.set_profile(ALL_QUERIES)
    page.hits.filter_box.setText("Other")
    qtbot.waitUntil(lambda: not page.run.hits.is_busy and page.run.hits.n_shown == 1)
    page.hits.table.selectAll()
    window.controller.hits.export_hits()
    sheet = window.sheets.sheet
    for which in ("filtered", "selected"):
        judge("afa", which, is_refused=False, words="one profile")
    window.sheets.close_sheet()
    with open_run(families, writable=True) as run, run.connection as database:
        database.execute("UPDATE hits SET included = 0 WHERE query = 1")
    window.controller.hits.export_hits()
    sheet = window.sheets.sheet
    judge("afa", "significant", is_refused=False, words="one profile")
    judge("afa", "all", is_refused=True, words="one profile")
