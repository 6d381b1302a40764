"""What the window says of queries, pastes, jobs and files is true, and stays where it was put."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog, QLabel, QProgressBar, QWidget

from clalign.engines.plan7.rounds import card_of
from clalign.runs.pages import QueryFound
from clalign.runs.run_file import open_run
from clalign.ui.engines.plan7 import run_view as plan7_view
from clalign.ui.models.results import run_view
from clalign.ui.models.results.queries_model import QueriesModel
from clalign.ui.models.workspace import Source
from clalign.ui.services import app_context
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.results.export_sheet import ExportSheet
from clalign.ui.views.results.results_page import ResultsPage
from clalign.ui.views.widgets.parts import LazyWidget
from clalign.ui.views.widgets.small_sheets import DeviceSheet, PasteSheet, is_letters_alone
from clalign.ui.views.widgets.text_table_view import TextTableView

LEFT = Qt.MouseButton.LeftButton
CTRL = Qt.KeyboardModifier.ControlModifier

TABLE = """#                                                               --- full sequence ---- --- best 1 domain ----
# target name        accession  query name           accession    E-value  score  bias   E-value  score  bias
HBB_HUMAN            -          globins4             -            1.4e-28   95.6   0.2   1.6e-28   95.5   0.2
"""


def settled(qtbot: Any, page: ResultsPage) -> None:
    qtbot.waitUntil(lambda: page.run.is_listed and not page.run.is_due and not page.run.hits.is_busy)
    qtbot.waitUntil(lambda: page.run.histogram is not None and page.run.hit is not None)


def test_nothing_is_said_of_a_query_before_it_is_read(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    window.controller.sources.open_paths([str(made_run(complete=False, profiles=3))])
    page: Any = window.controller.page
    settled(qtbot, page)
    searched = page.run.summary().rpartition(" · ")[2]
    assert "searched with it" in searched
    QTest.keyClick(page.queries.table, Qt.Key.Key_Down)
    assert page.run.profile == 1
    assert page.run.histogram is None
    assert "searched" not in page.run.summary()
    assert page.scope.text() == "", "the hits in view are those of the query before"
    settled(qtbot, page)
    assert page.run.summary().endswith(searched)
    assert page.scope.text()


def test_what_was_read_of_another_query_is_not_shown(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    window.controller.sources.open_paths([str(made_run(profiles=3))])
    page: Any = window.controller.page
    settled(qtbot, page)
    run, may_read = page.run, threading.Event()
    qtbot.waitUntil(lambda: run._reader.is_idle)
    read, queries, shown = plan7_view.read_profile_histogram, {}, []

    def read_one(path: Path, query: int, kind: Any) -> Any:
        found = read(path, query, kind)
        queries[id(found)] = query, found
        return found

    monkeypatch.setattr(plan7_view, "read_profile_histogram", read_one)
    monkeypatch.setattr(run_view, "count_hits", lambda query: (query.number, query.number))
    run.histogram_changed.connect(lambda: shown.append((run.profile, queries[id(run.histogram)][0])))
    run.counts_changed.connect(lambda: shown.append((run.profile, run.counts["report"])))
    run._reader.ask("block", lambda: may_read.wait(10), lambda _: None)
    try:
        run.set_profile(1)
        run.set_profile(2)
    finally:
        may_read.set()
    settled(qtbot, page)
    qtbot.waitUntil(lambda: run.counts["report"] == 2)
    assert set(shown) == {(2, 2)}


def test_hits_that_are_not_counted_yet_have_no_number(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    window.controller.sources.open_paths([str(made_run(profiles=3))])
    page: Any = window.controller.page
    settled(qtbot, page)
    run, may_read, may_count, count = page.run, threading.Event(), threading.Event(), run_view.count_hits
    qtbot.waitUntil(lambda: run._reader.is_idle)
    monkeypatch.setattr(run_view, "count_hits", lambda *asked: may_count.wait(10) and count(*asked))
    run._reader.ask("block", lambda: may_read.wait(10), lambda _: None)
    try:
        run.set_profile(1)
        qtbot.waitUntil(lambda: not page.hits.waiting.isHidden())
        assert str(run.hits.n_all) not in page.hits.counts.text(), "those in view are of the query before"
        may_read.set()
        qtbot.waitUntil(lambda: run.histogram is not None)
        assert "hit" not in run.tag("report", short=True)
    finally:
        may_read.set()
        may_count.set()
    qtbot.waitUntil(lambda: "hit" in run.tag("report", short=True))


def test_a_search_goes_on_after_a_job_that_is_run_first(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Any
) -> None:
    manners(pause=0.2, batches=60)
    controller, begun = loaded.controller, list[str]()
    queue, spec = controller.queue, controller.search.sheet.spec
    press(loaded, "Run search")
    qtbot.waitUntil(lambda: queue.current is not None and queue.current.course.done > 0)
    first = queue.current.run
    second, third = (controller.jobs.search(spec) for _ in range(2))
    queue.job_begun.connect(lambda item: begun.append(item.run))
    controller.jobs.act(queue.of_run(third), "first")
    manners(pause=0, batches=60)
    qtbot.waitUntil(lambda: not any(item.is_active for item in queue.items))
    assert begun == [third, first, second]
    assert controller.page.run.path == Path(third)
    with open_run(Path(first)) as one, open_run(Path(second)) as other:
        assert one.n_hits() == other.n_hits() > 0


def test_a_list_is_seen_from_its_top_and_leaves_what_is_filtered_out(qtbot: Any, page: ResultsPage) -> None:
    table, hits = page.hits.table, page.run.hits
    table.choose_row(150)
    lost = page.run.hit
    assert table.verticalScrollBar().value() > 0
    header = table.horizontalHeader()
    place = QPoint(header.sectionViewportPosition(hits.table.place("evalue")) + 5, header.height() // 2)
    QTest.mouseClick(header.viewport(), LEFT, pos=place)
    qtbot.waitUntil(lambda: hits.shown_query.sort is not None and not hits.is_busy)
    assert table.verticalScrollBar().value() == 0
    assert page.run.hit == lost, "it is only sorted"
    QTest.keyClicks(page.hits.filter_box, f"-{lost.name}")
    qtbot.waitUntil(lambda: hits.is_filtered and not hits.is_busy)
    assert page.run.hit == hits.row_at(0) != lost


def test_moved_thresholds_are_kept_with_a_run(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    path, own = str(page.run.path), dict(page.run.thresholds)
    QTest.keyClick(page.strip.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    moved = dict(page.run.thresholds)
    assert moved != own
    window.controller.close_source(path)
    assert path not in window.controller.pages
    window.controller.sources.open_paths([path])
    again: Any = window.controller.page
    qtbot.waitUntil(lambda: bool(again.run.cards) and not again.run.is_due)
    assert again.run.thresholds == moved
    again.run.reset_thresholds()
    assert again.run.moved == {}


@pytest.mark.thorough
def test_moved_thresholds_are_kept_with_a_run_that_is_continued(
    qtbot: Any, window: MainWindow, page: ResultsPage
) -> None:
    path = str(page.run.path)
    QTest.keyClick(page.strip.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    moved = dict(page.run.thresholds)
    window.controller.close_source(path)
    window.controller.jobs.resume(path)
    qtbot.waitUntil(lambda: path in window.controller.pages)
    again = window.controller.pages[path]
    assert again.run.is_live
    qtbot.waitUntil(lambda: bool(again.run.cards) and again.run.thresholds == moved)


@pytest.mark.thorough
def test_moved_thresholds_are_not_those_of_another_run(qtbot: Any, window: MainWindow, page: ResultsPage) -> None:
    path, own = str(page.run.path), dict(page.run.thresholds)
    QTest.keyClick(page.strip.plot, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert page.run.moved
    window.controller.close_source(path)
    with open_run(Path(path), writable=True) as stored:
        stored.set_facts(created=1.0)
    window.controller.sources.open_paths([path])
    again: Any = window.controller.page
    qtbot.waitUntil(lambda: bool(again.run.cards) and not again.run.is_due)
    assert again.run.moved == {}
    assert again.run.thresholds == own


def test_the_run_of_a_job_that_was_removed_while_it_waited_is_closed(
    qtbot: Any, loaded: MainWindow, manners: Callable[..., None], press: Any
) -> None:
    manners(pause=0.5, batches=60)
    spec = loaded.controller.search.sheet.spec
    press(loaded, "Run search")
    qtbot.waitUntil(lambda: loaded.controller.page is not None)
    path = loaded.controller.jobs.search(spec)
    qtbot.waitUntil(lambda: path in loaded.controller.pages)
    press(loaded.jobs, "Remove")
    assert path not in loaded.controller.pages
    assert path not in loaded.controller.workspace.sources
    assert len(loaded.controller.queue.items) == 1


def test_a_pasted_table_is_no_protein(qtbot: Any, window: MainWindow) -> None:
    window.controller.sources.paste_sequences()
    sheet: Any = window.sheets.sheet
    assert isinstance(sheet, PasteSheet)
    for text, is_usable, words in (
        (TABLE, False, "a table of hits (HMMER)"),
        ("q1\tsp|P1|A\t98.2\t120\t2\t0\t1\t120\t4\t123\t1e-40\t160\n", False, "a table of hits (BLAST)"),
        ("MVLSPADKTN VKAAWGKVGA\n", True, ""),
        (">a\nMVLSPADKTN\n", True, ""),
        (">a first\n\n>b", False, "no residues"),
        ("CLUSTAL W\n\na MVLS\nb MVLT\n", True, ""),
        ("", False, ""),
    ):
        QGuiApplication.clipboard().setText(text)
        QTest.keyClick(sheet.text, Qt.Key.Key_A, CTRL)
        QTest.keyClick(
            sheet.text, Qt.Key.Key_V if text else Qt.Key.Key_Delete, CTRL if text else Qt.KeyboardModifier(0)
        )
        assert sheet.save.isEnabled() is is_usable, text
        assert words in sheet.problem.text()
        assert bool(sheet.problem.text()) is bool(words)


def test_a_long_paste_is_judged_at_once() -> None:
    started = time.monotonic()
    assert not is_letters_alone("1" * 100_000 + "|")
    assert not is_letters_alone("MKVL" * 25_000 + "|")
    assert is_letters_alone("MKVL" * 25_000)
    assert not is_letters_alone("12 34")
    assert time.monotonic() - started < 5, "it takes milliseconds, or minutes"


def test_the_last_pasted_query_counts_and_is_named_by_its_record(
    qtbot: Any, window: MainWindow, files: dict[str, str], press: Any
) -> None:
    controller = window.controller
    controller.sources.open_paths([files["made.fasta"]])
    qtbot.waitUntil(lambda: controller.workspace.sequences is not None)
    controller.pairs.open_sheet()
    sheet: Any = controller.pairs.sheet
    press(sheet, "Paste a query…")
    for name in ("first", "second"):
        sheet.text.setPlainText(f">{name} of two\nMKVLAAGIVL\n")
        press(sheet, "Use as query")
    space = controller.workspace
    qtbot.waitUntil(lambda: Path(space.queries_path).stem == "second" and not space.being_read)
    assert space.sequences_path == files["made.fasta"], "the first one is no target"
    assert sheet.queries.currentData() == space.queries_path


def test_two_sequences_pasted_alone_are_query_and_target(qtbot: Any, window: MainWindow, press: Any) -> None:
    controller = window.controller
    controller.pairs.open_sheet()
    sheet: Any = controller.pairs.sheet
    press(sheet, "Paste a query…")
    sheet.text.setPlainText(">first of two\nMKVLAAGIVL\n>second of two\nMKVLAGIVL\n")
    press(sheet, "Use as query")
    qtbot.waitUntil(sheet.run_button.isEnabled)
    space = controller.workspace
    assert [Path(path).read_text() for path in (space.queries_path, space.sequences_path)] == [
        ">first of two\nMKVLAAGIVL\n", ">second of two\nMKVLAGIVL\n",
    ]  # fmt: skip
    press(sheet, "Paste a query…")
    sheet.text.setPlainText(">third\nMKVLAAGIVL\n>fourth\nMKVLAGIVL\n")
    press(sheet, "Use as query")
    qtbot.waitUntil(lambda: Path(space.queries_path).stem == "third" and not space.being_read)
    assert Path(space.queries_path).read_text().count(">") == 2, "there is a target already"
    assert Path(space.sequences_path).stem == "second"


def test_two_sequences_of_a_pasted_file_are_compared_with_each_other(
    qtbot: Any, window: MainWindow, tmp_path: Path, press: Any
) -> None:
    tmp_path /= "pasted"
    tmp_path.mkdir()
    (tmp_path / "two.fasta").write_text(">first\nMKVLAAGIVL\n>second\nMKVLAGIVL\n")
    controller = window.controller
    controller.sources.open_paths([str(tmp_path / "two.fasta")])
    qtbot.waitUntil(lambda: not controller.workspace.being_read)
    controller.pairs.open_sheet()
    sheet: Any = controller.pairs.sheet
    report = {**controller.workspace.sequences.report, "n_sequences": 2}  # the worker of these tests reads no file
    controller.workspace.change(str(tmp_path / "two.fasta"), report=report)
    assert not sheet.run_button.isEnabled()
    press(sheet, "Compare them with each other")
    assert sheet.run_button.isEnabled()
    assert sheet.spec.queries == sheet.spec.targets == str(tmp_path / "two.fasta")


def test_typed_sequences_are_there_again_after_another_form(window: MainWindow, qtbot: Any, press: Any) -> None:
    window.controller.sources.paste_sequences()
    QTest.keyClicks(window.sheets.sheet.text, "MKVLAAGIVL")  # type: ignore[union-attr]
    QTest.keyClick(window, Qt.Key.Key_R, CTRL | Qt.KeyboardModifier.ShiftModifier)
    pairs: Any = window.controller.pairs.sheet
    assert pairs.text.toPlainText() == "MKVLAAGIVL"
    window.controller.sources.paste_sequences()
    sheet: Any = window.sheets.sheet
    assert sheet.text.toPlainText() == sheet.text.textCursor().selectedText() == "MKVLAAGIVL"
    press(sheet, "Open")
    window.controller.sources.paste_sequences()
    assert window.sheets.sheet.text.toPlainText() == "", "it is a file"  # type: ignore[union-attr]


def test_a_form_waits_for_the_file_that_was_opened_before_it(
    qtbot: Any, loaded: MainWindow, files: dict[str, str], tmp_path: Path
) -> None:
    space = loaded.controller.workspace
    before, path = space.sequences_path, str(tmp_path / "dropped.fasta")
    few = {**space.sources[before].report, "n_sequences": 3, "mean": 50, "length_histogram": []}
    space.change(before, report=few)
    space.put(Source(path, state="reading"))
    space.choose(path)
    loaded.controller.align.open_sheet()
    sheet: Any = loaded.controller.align.sheet
    assert space.sequences_path == before
    assert sheet.sequences.currentData() == path
    assert not sheet.run_button.isEnabled()
    space.put(Source(path, "sequences", "ready", report=few))
    assert sheet.spec.sequences == (path,)
    assert sheet.run_button.isEnabled()
    space.put(Source(path + "2", state="reading"))
    space.choose(path + "2")
    space.choose(before)
    assert sheet.spec.sequences == (before,), "what the user chooses meanwhile counts"
    assert sheet.run_button.isEnabled()


def test_a_box_shows_no_file_that_is_not_chosen(qtbot: Any, loaded: MainWindow) -> None:
    sheet: Any = loaded.controller.search.sheet
    loaded.controller.workspace.sequences_path = ""
    loaded.controller.workspace.choice_changed.emit()
    assert sheet.sequences.currentText() == "Choose…"
    assert sheet.sequences.count() == 2
    QTest.keyClick(sheet.sequences, Qt.Key.Key_Down)
    assert loaded.controller.workspace.sequences is not None


def test_files_are_asked_for_in_the_folder_of_the_last_ones(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[str] = []

    def answer(parent: object, heading: str, folder: str, filters: str) -> tuple[list[str], str]:
        folders.append(folder)
        return [str(tmp_path / "gone.hmm")], filters

    monkeypatch.setattr(QFileDialog, "getOpenFileNames", answer)
    for _ in range(2):
        QTest.keyClick(window, Qt.Key.Key_O, CTRL)
    assert folders == ["", str(tmp_path)]


def test_a_search_can_be_ended_before_its_first_round(
    qtbot: Any, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import clalign

    built = Path(__file__).parents[1] / "golden" / "sequences" / "built.fa"
    query, path = tmp_path / "query.fasta", tmp_path / "rounds.clalign"
    query.write_text(">lonely of no family\nWWCCHHWWPPCCWWHHMMCCWW\n")
    with clalign.jackhmmer(query, built, path, iterations=4) as rounds:
        list(rounds)
    window.controller.open_run_page(str(path))
    page: Any = window.controller.page
    run = page.run
    qtbot.waitUntil(lambda: bool(run.cards) and not run.is_due)
    cards, run.cards = run.cards, []
    run.stop_after_round()
    run.cards = cards
    run.refresh()
    assert not run.ends_soon, "no job is there, and the next one has all its rounds"
    run.is_live, run.cards = True, []
    run.stop_after_round()
    with open_run(path) as stored:
        assert (stored.facts.spec or {}).get("iterations") == 4, "no round was begun"
    run.cards = cards
    run.refresh()
    with open_run(path) as stored:
        wanted = max(card_of(stored, number)["round"] for number in range(stored.n_queries()))
        assert (stored.facts.spec or {}).get("iterations") == wanted
    assert not run.ends_soon


def test_queries_are_listed_best_first() -> None:
    model = QueriesModel("Query")
    model.show_queries([{"name": name} for name in ("none", "weak", "strong", "empty")])
    model.show_found({1: QueryFound(1, 0.1, (9.0,), 1.0), 2: QueryFound(3, 1e-9, (50.0,), 1.0)})
    assert [row["name"] for row in model.rows] == ["strong", "weak", "none", "empty"]
    model.show_found({1: QueryFound(2, 1e-30, (90.0,), 1.0)}, in_place=True)
    for text in ("", "w", ""):
        model.narrow(text)
    assert [row["name"] for row in model.rows][:2] == ["strong", "weak"], "the pointer is over them"
    model.show_found({1: QueryFound(2, 1e-30, (90.0,), 1.0)})
    assert model.rows[0]["name"] == "weak"


def test_a_small_table_is_seen_from_its_top_when_it_is_sorted(qtbot: Any) -> None:
    model = QueriesModel("Query")
    table = TextTableView(model, "Queries")
    qtbot.addWidget(table)
    table.resize(400, 200)
    table.show()
    model.show_queries([{"name": f"name{number}"} for number in range(60)])
    table.verticalScrollBar().setValue(table.verticalScrollBar().maximum())
    header = table.horizontalHeader()
    QTest.mouseClick(header.viewport(), LEFT, pos=QPoint(20, header.height() // 2))
    assert table.verticalScrollBar().value() == 0


def test_a_partial_run_moves_nothing_on_its_page(qtbot: Any, page: ResultsPage) -> None:
    before = page.tabs.mapTo(page, QPoint(0, 0)).y()
    page.run.facts = {**page.run.facts, "state": "stopped"}
    page.show_facts()
    bar = page.unfinished_bar
    qtbot.waitUntil(lambda: bar.visibleRegion().boundingRect().height() >= bar.sizeHint().height())
    assert page.tabs.mapTo(page, QPoint(0, 0)).y() == before


def test_an_export_shows_what_applies_and_keeps_its_height(qtbot: Any, page: ResultsPage, window: MainWindow) -> None:
    window.controller.hits.export_hits()
    sheet: Any = window.sheets.sheet
    assert isinstance(sheet, ExportSheet)
    qtbot.waitUntil(lambda: sheet.export_button.visibleRegion().boundingRect() == sheet.export_button.rect())
    before, seen = sheet.export_button.mapTo(sheet, QPoint(0, 0)).y(), set()
    for form in sheet._choices.forms:
        sheet.choose_form(form.name)
        QCoreApplication.sendPostedEvents()  # which asked for another layout, if that is needed
        sheet.layout().activate()
        parts = (sheet.is_safe, sheet.with_species, sheet.flank)
        assert all(part.isEnabled() for part in parts)
        seen.add(tuple(part.isVisible() for part in parts))
        assert sheet.export_button.mapTo(sheet, QPoint(0, 0)).y() == before, form.name
    assert len(seen) > 2


def test_the_arrow_keys_go_through_the_hits_of_an_opened_run(
    qtbot: Any, window: MainWindow, made_run: Callable[..., Path]
) -> None:
    window.controller.sources.open_paths([str(made_run(profiles=2))])
    page: Any = window.controller.page
    settled(qtbot, page)
    assert window.focusWidget() is page.hits.table


@pytest.mark.thorough
def test_jobs_and_messages_share_the_bar_at_the_foot(qtbot: Any, searching: Any, loaded: MainWindow) -> None:
    bar, messages = loaded.statusBar(), loaded.messages
    assert bar.isAncestorOf(loaded.jobs)
    assert loaded.jobs.isVisible()
    page = loaded.controller.page
    loaded.controller.show_start()
    QTest.mouseClick(loaded.jobs.row_of(searching.current), Qt.MouseButton.LeftButton, pos=QPoint(60, 10))
    assert loaded.center.currentWidget() is page, "a click on a job leads to what it makes"
    loaded.controller.notify("note", "Something is worth telling.")
    qtbot.waitUntil(lambda: messages.geometry().bottom() < bar.geometry().top())  # the job stays in view
    searching.stop(searching.current)
    qtbot.waitUntil(lambda: searching.current is None)
    for item in list(searching.items):
        searching.dismiss(item)
    assert not loaded.jobs.isVisible()
    qtbot.waitUntil(lambda: messages.geometry().bottom() == bar.geometry().bottom())
    assert messages.geometry().right() < loaded.past_messages.x()


def test_jobs_are_whole_in_the_bar_at_the_foot(qtbot: Any, searching: Any, loaded: MainWindow) -> None:
    bar, jobs = loaded.statusBar(), loaded.jobs
    heights = [bar.height()]
    loaded.controller.sources.paste_sequences()
    loaded.controller.notify("note", "Something is worth telling.")
    for n_jobs in (2, 3):
        loaded.controller.jobs.search(loaded.controller.current_spec())
        rows = [jobs.row_of(item) for item in searching.items]
        assert len(rows) == n_jobs
        qtbot.waitUntil(lambda rows=rows: all(seen_height(row) >= row.sizeHint().height() for row in rows))
        heights.append(bar.height())
        bars = [row.findChild(QProgressBar) for row in rows]
        assert {made.mapTo(jobs, QPoint(0, 0)).x() for made in bars} == {bars[0].mapTo(jobs, QPoint(0, 0)).x()}
        sheet = loaded.sheets.sheet
        end = sheet.mapTo(loaded, QPoint(0, sheet.height())).y()
        assert end <= loaded.messages.y(), "neither jobs nor messages cover the foot of a sheet"
    assert heights == sorted(set(heights))
    searching.stop(searching.current)
    qtbot.waitUntil(lambda: searching.items[0].state == "stopped" and searching.current is not None)
    assert len(searching.items) == 3
    assert bar.height() == heights[-1], "only words have changed"


def seen_height(widget: QWidget) -> int:
    return widget.visibleRegion().boundingRect().height()


def test_a_self_test_tells_for_how_long_it_has_run(qtbot: Any, fake: ModuleType) -> None:
    sheet = DeviceSheet(fake.GPU)
    qtbot.addWidget(sheet)
    sheet.show()
    QTest.mouseClick(sheet.test, LEFT)
    assert not sheet.test.isEnabled()
    qtbot.waitUntil(lambda: any(words.text().startswith("Testing for ") for words in sheet.findChildren(QLabel)))
    sheet.show_test(fake.GPU.id, [{"name": "scores", "equal": True}], "")
    assert sheet.test.isEnabled()


def test_the_tour_is_seen_at_once_in_a_small_window(qtbot: Any, window: MainWindow, tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.hmm").touch()
        window.settings.add_recent(str(tmp_path / f"{number}.hmm"), "profiles")
    window.show_recent()
    window.resize(1264, 752)
    tour = window.start.tour
    qtbot.waitUntil(lambda: window.width() == 1264 and tour.visibleRegion().boundingRect() == tour.rect())


def test_a_slow_file_is_told_while_it_is_written(
    qtbot: Any, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_context, "BUSY_MS", 1)
    path, may_end = tmp_path / "large.svg", threading.Event()

    def write() -> None:
        may_end.wait(10)
        path.write_text("large")

    window.controller.write_file(str(path), "Picture", write)
    texts = lambda: [message.text for message in window.messages.messages]  # noqa: E731
    try:
        qtbot.waitUntil(lambda: texts() == ["Writing large.svg…"], timeout=5000)
    finally:
        may_end.set()
    qtbot.waitUntil(lambda: len(texts()) == 1 and "Picture written to" in texts()[0])


def test_a_file_that_another_one_replaced_is_not_told(
    qtbot: Any, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app_context, "BUSY_MS", 300)
    path, reader, may_end = tmp_path / "picture.svg", window.controller.reader, threading.Event()
    window.controller.write_file(str(path), "Picture", lambda: may_end.wait(10) and None)
    for text in ("second", "third"):  # it takes the place of the second, which waits
        window.controller.write_file(str(path), "Picture", lambda text=text: path.write_text(text) and None)
    may_end.set()
    qtbot.waitUntil(lambda: reader.is_idle)
    qtbot.wait(400)
    assert path.read_text() == "third"
    assert not [message for message in window.messages.messages if message.text.startswith("Writing")]


def test_descriptions_of_hits_are_seen_in_a_small_window(
    qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path]
) -> None:
    window.dock.hide()
    window.controller.sources.open_paths([str(hmmer3_run())])
    page: Any = window.controller.page
    settled(qtbot, page)
    table = page.hits.table
    place = table.kind.place("description")
    for width in (1264, 1900, 1264):
        window.resize(width, 752)
        qtbot.waitUntil(lambda width=width: window.width() == width and not table.isColumnHidden(place))
        qtbot.waitUntil(lambda: table.horizontalScrollBar().maximum() == 0)
    domains = page.hit.tables.table()
    assert domains.columnViewportPosition(1) > 0
    assert domains.horizontalScrollBar().maximum() <= 4, "what has no room is in tips"
    tip = domains.model().index(0, 0).data(Qt.ItemDataRole.ToolTipRole)
    assert "Envelope" in tip
    assert "Status" in tip


def test_a_late_page_is_never_seen_in_another_size(qtbot: Any) -> None:
    place = LazyWidget(QWidget)
    qtbot.addWidget(place)
    place.resize(300, 200)
    place.show()
    assert place.load().size() == place.size()
