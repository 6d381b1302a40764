"""Searches with sequences in the window: their form, and what they begin from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from clalign.ui.engines.plan7.sheet import SearchForm, SequencesSheet
from clalign.ui.shell.main_window import MainWindow

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def sheet(qtbot: Any, window: MainWindow, files: dict[str, str]) -> SequencesSheet:
    """The form, opened by its command beside two opened files."""
    more = files["made.fasta"].replace("made.fasta", "more.fasta")
    shutil.copyfile(files["made.fasta"], more)
    window.controller.sources.open_quietly([files["made.fasta"], more])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    window.actions_.by_id["search.open_sequences"].trigger()
    made = window.controller.search.sheet
    assert isinstance(made, SequencesSheet)
    qtbot.waitUntil(made.run_button.isEnabled)
    return made


def test_a_form_has_the_options_of_its_search() -> None:
    of_profiles, of_sequences = SearchForm().editors, SearchForm("sequence").editors
    assert {"cutoff", "compute_composition"} == of_profiles.keys() - of_sequences.keys()
    assert {"matrix", "popen", "pextend"} < of_sequences.keys() - of_profiles.keys()


def test_sequences_are_searched_with_sequences(qtbot: Any, window: MainWindow, sheet: SequencesSheet) -> None:
    assert sheet.command.text().startswith("clalign phmmer ")
    evalue = sheet.form.editors["evalue"]
    evalue.setFocus()
    QTest.keyClick(evalue, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(evalue, "0.5")
    spec: Any = sheet.spec
    assert (spec.direction, spec.evalue) == ("sequence", 0.5)
    assert {Path(path).name for path in spec.paths} == {"made.fasta", "more.fasta"}
    QTest.mouseClick(sheet.run_button, LEFT)
    queue = window.controller.queue
    assert queue.current is not None
    assert queue.current.spec["spec"]["direction"] == "sequence"
    qtbot.waitUntil(lambda: queue.current is None and window.controller.page is not None)
    window.controller.edit_run()
    again = window.controller.search.sheet
    assert isinstance(again, SequencesSheet)
    qtbot.waitUntil(lambda: again.spec is not None)
    assert again.spec == spec


def test_a_form_begins_with_the_options_of_a_search_of_its_files_alone(
    qtbot: Any, loaded: MainWindow, searched: Callable[[MainWindow], Any], files: dict[str, str]
) -> None:
    controller = loaded.controller
    usual = controller.search.sheet.form.values()[0]["evalue"]

    def again(name: str) -> Any:
        loaded.sheets.close_sheet()
        loaded.actions_.by_id[name].trigger()
        return controller.search.sheet.form.values()[0]["evalue"]

    evalue = controller.search.sheet.form.editors["evalue"]
    evalue.setFocus()
    QTest.keyClick(evalue, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(evalue, "0.5")
    searched(loaded)
    assert again("search.run") == 0.5
    assert again("search.open_sequences") == usual, "another program"
    other = files["made.fasta"].replace("made.fasta", "more.fasta")
    shutil.copyfile(files["made.fasta"], other)
    controller.sources.open_quietly([other])
    qtbot.waitUntil(lambda: controller.inspector.is_idle and controller.workspace.sequences_path == other)
    assert again("search.run") == usual, "other sequences"


def test_nucleic_acids_are_refused(
    qtbot: Any, window: MainWindow, sheet: SequencesSheet, files: dict[str, str]
) -> None:
    window.controller.sources.open_quietly([files["dna.fasta"]])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    window.controller.workspace.choose_queries(files["dna.fasta"])
    qtbot.waitUntil(lambda: not sheet.run_button.isEnabled())
    assert "proteins" in sheet.run_button.toolTip()


def test_a_pasted_sequence_becomes_the_query(qtbot: Any, window: MainWindow, sheet: SequencesSheet) -> None:
    QTest.mouseClick(sheet.paste_button, LEFT, pos=QPoint(8, 8))
    assert sheet.run_button.isEnabled()
    QTest.keyClicks(sheet.text, "MKVLAAGIVL")
    assert not sheet.run_button.isEnabled(), "it would run with the query before"
    QTest.mouseClick(sheet.use, LEFT)
    qtbot.waitUntil(lambda: sheet.spec is not None and Path(sheet.spec.paths[0]).parent.name == "pasted")
    assert sheet.run_button.isEnabled()
    assert not sheet.text.isVisible()
    assert sheet.queries.hasFocus()
    assert "MKVLAAGIVL" in Path(sheet.spec.paths[0]).read_text()


def test_queries_that_are_opened_again_do_not_become_targets(
    qtbot: Any, window: MainWindow, files: dict[str, str]
) -> None:
    space, sources, queries = window.controller.workspace, window.controller.sources, files["dna.fasta"]
    sources.open_quietly([files["made.fasta"], queries])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    space.choose(files["made.fasta"])
    space.choose_queries(queries)
    for text in (">d\nACGTACGT\n", ">other\nACGTACGTA\n"):
        Path(queries).write_text(text)
        sources.open_paths([queries])
        qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
        assert (space.queries_path, space.sequences_path) == (queries, files["made.fasta"])


def test_a_hit_and_a_row_are_searched_with(
    qtbot: Any, window: MainWindow, hmmer3_run: Callable[..., Path], files: dict[str, str]
) -> None:
    window.controller.sources.open_quietly([files["made.fasta"], files["dna.fasta"]])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    window.controller.workspace.choose(files["made.fasta"])
    window.controller.sources.open_paths([str(hmmer3_run())])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.n_shown == 5)
    page.hits.table.choose_row(1)
    window.actions_.update()
    window.actions_.by_id["search.search_with_hit"].trigger()
    written = window.controller.queue.current
    assert written is not None
    assert (written.spec["what"], written.spec["hits"]) == ("fasta", [page.run.hit.id])
    qtbot.waitUntil(lambda: isinstance(window.controller.search.sheet, SequencesSheet))
    qtbot.waitUntil(lambda: window.controller.workspace.queries_path == written.spec["path"])
    assert window.controller.workspace.sequences_path == files["made.fasta"], "it stays chosen"
    window.sheets.close_sheet()
    page.show_tab("aligned")
    qtbot.waitUntil(lambda: page.rows_panel is not None)
    page.rows_panel.view.move_to(1, 0)
    window.actions_.update()
    window.actions_.by_id["search.search_with_row"].trigger()
    qtbot.waitUntil(lambda: isinstance(window.controller.search.sheet, SequencesSheet))
    view = page.rows_panel.view
    name, cells = view.alignment.names[view.row_at(1)], bytes(view.alignment.cells[view.row_at(1)])
    qtbot.waitUntil(lambda: window.controller.inspector.is_idle)
    kept = Path(window.controller.workspace.queries_path).read_text()
    assert kept == f">{name}\n{cells.decode().replace('-', '').replace('.', '')}\n"
