"""Runs of alignments of many sequences in the window: sheet, annealing, colors by measures, pairs, comparison."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

import clalign
from clalign.engines.msa.reading import alignment_of, annealing_of, given_of, quality_of
from clalign.engines.msa.reliability import MEASURES
from clalign.engines.msa.watching import MergesTold, told_alignment
from clalign.jobs import Job
from clalign.runs.run_file import open_run
from clalign.ui.engines.msa.page import AlignedPage
from clalign.ui.engines.msa.run_data import path_of
from clalign.ui.engines.msa.sheet import lengths_of
from clalign.ui.models.jobs import JobItem
from clalign.ui.shell.main_window import MainWindow
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers

LEFT = Qt.MouseButton.LeftButton

Press = Callable[[QWidget, str], None]

SEQUENCES = {
    "one": "MKVLAAGIVLLAWKDPNQSTRYCHE",
    "two": "MKVLAGIVLLAWKDPNSTRYCHE",
    "three": "MKVAAGIVLAWKDPPNQSTRYCE",
    "four": "MRVLAAGLVLLAWDPNQTRYCHE",
}


@pytest.fixture(scope="session")
def sequences(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("aligned") / "family.fasta"
    path.write_text("".join(f">{name}\n{letters}\n" for name, letters in SEQUENCES.items()))
    return path


@pytest.fixture(scope="session")
def aligned_run(sequences: Path) -> Path:
    path = sequences.with_name("family.clalign")
    with clalign.align_many(sequences, run=path, device="reference"):
        return path


@pytest.fixture
def page(qtbot: Any, window: MainWindow, aligned_run: Path) -> AlignedPage:
    window.controller.sources.open_paths([str(aligned_run)])
    page = window.controller.page
    assert isinstance(page, AlignedPage)
    qtbot.waitUntil(lambda: page.run.judged is not None and page.run.is_idle)
    return page


def rows_in_view(page: AlignedPage) -> list[str]:
    assert page.rows_panel is not None
    return [row.tobytes().decode() for row in page.rows_panel.view.alignment.cells]


def test_a_run_is_shown_in_the_colors_of_its_accuracy(page: AlignedPage, aligned_run: Path) -> None:
    with open_run(aligned_run) as run:
        expected = [row.text for row in run.alignment_rows(run.alignments()[0].id)]
        given = given_of(run)
        found = quality_of(run, given)
    assert rows_in_view(page) == expected
    panel = page.rows_panel
    assert panel is not None
    assert panel.view.scheme == "Accuracy"
    assert page.run.judged is not None
    for measure in MEASURES:
        values = page.run.judged.characters[measure]
        assert np.allclose(values, found.characters(measure), equal_nan=True, atol=1e-6)
        assert f"{measure} {found.whole(measure):.3f}" in page.bar.measures.text()
    digits = page.run.judged.digits
    assert panel.view.alignment.notes.columns["Accuracy"] == digits
    assert digits[0:1].isdigit()
    tip = panel.canvas.tip_at(panel.canvas.room.topLeft() + QPointF(8, 8))
    assert f"Accuracy: {page.run.judged.characters['accuracy'][0, 0]:.3f}" in tip
    assert "expected accuracy" in page._summary.text()


def test_the_annealing_is_scrubbed_and_what_is_judged_follows(qtbot: Any, page: AlignedPage, aligned_run: Path) -> None:
    with open_run(aligned_run) as run:
        given = given_of(run)
        found, final = annealing_of(run, given), alignment_of(run, given)
    n = len(found.merges)
    page.bar.slider.setFocus()
    QTest.keyClick(page.bar.slider, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.step == 0
    assert len(rows_in_view(page)[0]) == sum(map(len, SEQUENCES.values()))
    for step in (1, n // 2, n):
        page.bar.slider.setValue(step)
        qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
        expected = found.merges.alignment_after(step)
        assert page.run.shown is not None
        assert page.run.shown.n_columns == expected.n_columns
        assert [row.replace("-", "") for row in rows_in_view(page)] == list(SEQUENCES.values())
        assert f"{step} of" in page.bar.words.text()
    assert page.run.judged is not None
    QTest.keyClick(page.bar.slider, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.shown is final or (page.run.shown.columns == final.columns).all()


def test_the_gap_factor_leaves_only_what_is_certain(
    qtbot: Any, window: MainWindow, page: AlignedPage, aligned_run: Path
) -> None:
    with open_run(aligned_run) as run:
        merges = annealing_of(run, given_of(run)).merges
    factor = page.bar.factor
    factor.setFocus()
    factor.selectAll()
    QTest.keyClicks(factor, "20")
    QTest.keyClick(factor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.step == merges.merges_at(20.0)
    assert page.run.shown is not None
    assert page.run.shown.n_columns > max(map(len, SEQUENCES.values()))
    factor.selectAll()
    QTest.keyClicks(factor, "x")
    QTest.keyClick(factor, Qt.Key.Key_Return)
    assert factor.property("state") == "wrong"
    factor.selectAll()
    QTest.keyClicks(factor, "0.5")
    QTest.keyClick(factor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: any("lower one" in message.text for message in window.messages.messages))
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.step == len(merges) + 1


def test_the_annealing_can_be_watched(qtbot: Any, page: AlignedPage) -> None:
    QTest.mouseClick(page.bar.play, LEFT)
    assert page.bar.is_playing
    qtbot.waitUntil(lambda: not page.bar.is_playing)
    assert page.run.step == page.bar.slider.maximum()


def test_any_pair_is_shown_with_its_probabilities(qtbot: Any, page: AlignedPage) -> None:
    page.show_tab("pairs")
    pairs, run = page.pairs, page.run.aligned
    assert run is not None
    pairs.second.setFocus()
    QTest.keyClick(pairs.second, Qt.Key.Key_Down)
    pairs.show_pair()
    assert pairs.canvas.names == ("one", "three")
    found = {(i, j): matrix for i, j, matrix in run.posteriors.each()}[0, 2]
    assert pairs.canvas.found is not None
    assert (pairs.canvas.found.probabilities == found.probabilities).all()
    area = pairs.canvas.area()
    tip = pairs.canvas.tip_at(QPointF(area.left() + 1, area.top() + 1))
    assert tip.startswith("one M 1\nthree M 1\nprobability ")
    assert tip.endswith("; aligned")
    pairs.canvas.grab()
    QTest.mouseClick(pairs.way, LEFT)
    assert not pairs.canvas.with_path


def test_the_residues_of_a_pair_that_share_columns() -> None:
    shown = MultipleAlignment.from_rows([b"AC", b"AC", b"-C"])
    assert path_of(shown, 0, 2).tolist() == [[1, 0]]


def test_sequences_are_aligned_from_the_sheet(qtbot: Any, real_window: MainWindow, sequences: Path) -> None:
    window, controller = real_window, real_window.controller
    controller.sources.open_paths([str(sequences)])
    qtbot.waitUntil(lambda: controller.workspace.sequences is not None and controller.inspector.is_idle)
    controller.workspace.choose_device("reference")
    QTest.keyClick(window, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    sheet = controller.align.sheet
    assert sheet is not None
    assert "6 pairs of sequences" in " ".join(notice.text for notice in sheet._said())
    assert sheet.estimate.text().startswith("about ")
    sheet.run_button.click()
    qtbot.waitUntil(lambda: isinstance(controller.page, AlignedPage) and controller.page.run.is_complete)
    page = controller.page
    qtbot.waitUntil(lambda: page.run.judged is not None and page.run.is_idle)
    assert [row.replace("-", "") for row in rows_in_view(page)] == list(SEQUENCES.values())
    assert any(item.message.startswith("Aligned 4 sequences") for item in controller.queue.items)


def test_an_alignment_is_exported(qtbot: Any, real_window: MainWindow, aligned_run: Path, tmp_path: Path) -> None:
    controller = real_window.controller
    controller.sources.open_paths([str(aligned_run)])
    path = tmp_path / "out.probs"
    controller.jobs.export(str(aligned_run), "probs", str(path), None)
    qtbot.waitUntil(lambda: any("posteriors written" in m.text for m in real_window.messages.messages))
    assert "=>" in path.read_text()


def test_lengths_are_estimated_from_a_report() -> None:
    assert lengths_of({"n_sequences": 3, "length_histogram": [[10, 20, 2], [20, 40, 1]]}).tolist() == [15, 15, 30]
    assert lengths_of({"n_sequences": 2, "mean": 7.6}).tolist() == [8, 8]


def test_the_annealing_is_watched_while_it_goes_on(
    qtbot: Any, window: MainWindow, aligned_run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "live.clalign"
    shutil.copyfile(aligned_run, path)
    with open_run(path) as run:
        given = given_of(run)
        merges = annealing_of(run, given).merges
    begun = sqlite3.connect(path)  # as it was before its end
    begun.execute("UPDATE facts SET value = '\"running\"' WHERE name = 'state'")
    begun.commit()
    begun.close()
    told: list[dict[str, Any]] = []
    context = Job(lambda event: told.append(event.value))
    half = ColumnMerges(
        merges.lengths, merges.survivors[: len(merges) // 2], merges.victims[: len(merges) // 2],
        merges.weights[: len(merges) // 2], _order_after(merges, len(merges) // 2),
    )  # fmt: skip
    MergesTold(context, given.n_residues)(lambda: half)
    assert MultipleAlignment.rows(told_alignment(told[0], given.lengths), given.letters) == half.alignment_after().rows(
        given.letters
    )
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    assert isinstance(page, AlignedPage)
    qtbot.waitUntil(lambda: bool(page.run.cards))
    window.controller.queue.partial_received.emit(JobItem("Align", {"job": "align", "run": str(path)}), told[0])
    qtbot.waitUntil(lambda: page.rows_panel is not None and page.run.is_idle)
    assert page.rows_panel is not None
    assert page.rows_panel.view.scheme == "clustalx"
    assert [row.replace("-", "") for row in rows_in_view(page)] == list(SEQUENCES.values())
    assert f"Being merged: {len(half)} merges" in page.bar.words.text()
    assert not page.bar.isEnabled()


def _order_after(merges: ColumnMerges, n: int) -> np.ndarray:
    """Return the columns that are left after some merges, in an order that the alignment has then."""
    alignment = merges.alignment_after(n)
    names = merges._columns_after(n)[creation_numbers(merges.lengths)]
    order = np.empty(alignment.n_columns, np.int32)
    order[alignment.columns] = names
    return order
