"""Runs of alignments of many sequences in the window: sheet, annealing, colors by measures, pairs, comparison."""

import shutil
import sqlite3
import struct
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QFileDialog,
    QLabel,
    QPushButton,
    QScrollArea,
    QWidget,
)

import clalign
from clalign.engines.msa.annealing_progress import MergeReports, reported_alignment
from clalign.engines.msa.reading import alignment_of, annealing_of, given_of, posteriors_of
from clalign.engines.msa.reliability import MEASURES, reliability
from clalign.jobs import Job
from clalign.runs.run_file import open_run
from clalign.ui.engines.msa import sheet as sheet_module
from clalign.ui.engines.msa.align_controller import SERIES
from clalign.ui.engines.msa.annealing_movie import AnnealingPictures, steps_of
from clalign.ui.engines.msa.page import AlignedPage
from clalign.ui.engines.msa.pair_painter import EDGE
from clalign.ui.engines.msa.pair_painter import LEFT as LEFT_OF_PAIR
from clalign.ui.engines.msa.run_data import path_of
from clalign.ui.engines.msa.sheet import lengths_of
from clalign.ui.models.jobs import JobItem
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.picture_sheet import SizedPictureSheet
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


def test_the_key_that_filters_hits_searches_an_alignment(qtbot: Any, window: MainWindow, page: AlignedPage) -> None:
    page.tabs.setFocus()
    QTest.keyClick(page.tabs, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    assert page.rows_panel.isAncestorOf(window.focusWidget())
    QTest.keyClicks(window.focusWidget(), "AAA")
    assert not window.messages.messages


def test_an_alignment_says_how_far_it_is_before_columns_are_merged(page: AlignedPage) -> None:
    page.show_progress("Comparing pairs · 40 %")
    assert page._nothing.heading.text() != "Comparing pairs · 40 %", "there is more to be seen"
    page._panel, page.run.is_live = None, True
    page.show_progress("Comparing pairs · 40 %")
    assert page._nothing.heading.text() == "Comparing pairs · 40 %"
    page.show_tab("pairs")
    assert page.pairs.save.isVisible()
    page.pairs.setCurrentIndex(0)  # as before the run is read
    assert page.pairs.empty.heading.text() == "Comparing pairs · 40 %"
    assert not page.pairs.save.isVisible(), "there is nothing to be saved"


def rows_in_view(page: AlignedPage) -> list[str]:
    return [row.tobytes().decode() for row in page.rows_panel.view.alignment.cells]


def test_the_accuracy_of_a_run_is_measured_and_offered_as_colors(page: AlignedPage, aligned_run: Path) -> None:
    with open_run(aligned_run) as run:
        expected = [row.text for row in run.alignment_rows(run.alignments()[0].id)]
        given = given_of(run)
        found = reliability(posteriors_of(run, given), alignment_of(run, given))
    assert rows_in_view(page) == expected
    panel = page.rows_panel
    assert panel.view.scheme == "safe", "a change of colors is left to the user"
    panel.choose_scheme("Accuracy")
    for measure in MEASURES:
        values = page.run.judged.characters[measure]
        assert np.allclose(values, found.characters(measure), equal_nan=True, atol=1e-6)
        assert f"{measure} {found.whole(measure):.3f}" in page.bar.measures.text()
    digits = page.run.judged.digits
    assert panel.view.alignment.notes.columns["Accuracy"] == digits
    assert digits[0:1].isdigit()
    tip = panel.canvas.tip_at(panel.canvas.room.topLeft() + QPointF(8, 8))
    assert f"Accuracy: {page.run.judged.characters['accuracy'][0, 0]:.3f}" in tip
    accuracy = f"{page.run.stored['accuracy']:.3f}"
    assert f"expected accuracy {accuracy}" in page.summary.text()
    assert ("Expected accuracy", accuracy) in page.run.scoring_rows()


@pytest.mark.thorough
def test_the_annealing_is_scrubbed_and_what_is_judged_follows(qtbot: Any, page: AlignedPage, aligned_run: Path) -> None:
    with open_run(aligned_run) as run:
        given = given_of(run)
        found, final = annealing_of(run, given), alignment_of(run, given)
    n = len(found.merges)
    page.rows_panel.choose_scheme("Accuracy")
    assert page.rows_panel.view.coloring.values is not None
    while_judged: list[bool] = []
    page.run.shown_changed.connect(lambda: while_judged.append(page.rows_panel.view.coloring.values is None))
    lines: list[set[str]] = []
    page.run.shown_changed.connect(lambda: lines.append(set(page.rows_panel.view.alignment.notes.columns)))
    page.bar.slider.setFocus()
    QTest.keyClick(page.bar.slider, Qt.Key.Key_Home)
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.step == 0
    assert len(rows_in_view(page)[0]) == sum(map(len, SEQUENCES.values()))
    for step in (1, n // 2, n):
        page.bar.slider.setValue(step)
        qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
        expected = found.merges.alignment_after(step)
        assert page.run.shown.n_columns == expected.n_columns
        assert [row.replace("-", "") for row in rows_in_view(page)] == list(SEQUENCES.values())
        assert page.bar.place.text() == f"Step {step} of {page.bar.slider.maximum()}"
    assert page.run.judged is not None
    assert all(while_judged), "residues have their colors while measures are computed"
    assert all("Accuracy" in tags for tags in lines), "no row moves when it is known"
    assert page.rows_panel.view.coloring.values is not None
    QTest.keyClick(page.bar.slider, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.shown is final or (page.run.shown.columns == final.columns).all()


@pytest.mark.thorough
def test_the_gap_factor_leaves_only_what_is_certain(qtbot: Any, page: AlignedPage, aligned_run: Path) -> None:
    with open_run(aligned_run) as run:
        merges = annealing_of(run, given_of(run)).merges
    factor = page.bar.factor
    factor.setFocus()
    factor.selectAll()
    QTest.keyClicks(factor, "20")
    QTest.keyClick(factor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    assert page.run.step == merges.merges_at(20.0)
    assert page.run.shown.n_columns > max(map(len, SEQUENCES.values()))
    factor.selectAll()
    QTest.keyClicks(factor, "x")
    QTest.keyClick(factor, Qt.Key.Key_Return)
    assert factor.property("state") == "wrong"
    assert page.bar.range.text().startswith("from 1 to ")


@pytest.mark.thorough
def test_a_lower_gap_factor_is_one_click(
    qtbot: Any, real_window: MainWindow, aligned_run: Path, sequences: Path
) -> None:
    controller = real_window.controller
    controller.workspace.choose_device("reference")
    controller.sources.open_paths([str(aligned_run)])
    page = controller.page
    assert isinstance(page, AlignedPage)
    qtbot.waitUntil(lambda: page.run.judged is not None and page.run.is_idle)
    menu = page.bar.lower_button.menu()
    texts = [action.text() for action in menu.actions()]
    assert texts == ["Gap factor 0.5", "Gap factor 0.25", "Gap factor 0, the most sensitive"]
    before = aligned_run.read_bytes()

    def click() -> None:
        if not menu.isVisible():
            QTimer.singleShot(20, click)
            return
        QTest.mouseClick(menu, LEFT, pos=menu.actionGeometry(menu.actions()[2]).center())
        menu.close()

    QTimer.singleShot(0, click)
    QTest.mouseClick(page.bar.lower_button, LEFT)
    qtbot.waitUntil(lambda: controller.page is not None and controller.page is not page)
    other = controller.page
    assert isinstance(other, AlignedPage)
    qtbot.waitUntil(lambda: other.run.judged is not None and other.run.is_idle)
    assert other.run.title == "family, gap factor 0"
    assert not other.bar.lower_button.isVisible()
    with clalign.align_many(sequences, is_sensitive=True, device="reference") as found:
        assert rows_in_view(other) == [row.text for row in found.alignment()]
    assert aligned_run.read_bytes() == before


@pytest.mark.thorough
def test_the_annealing_can_be_watched(qtbot: Any, page: AlignedPage) -> None:
    assert not page.bar.isVisible(), "the rows have the room"
    QTest.mouseClick(page._annealing, LEFT)
    assert page.bar.isVisible()
    last = page.bar.slider.maximum()
    for way, step in zip((*page.bar.ways[:2], *page.bar.ways[3:]), (0, last - 1, 1, last), strict=True):
        page.run.go_to(last if way is page.bar.ways[1] else 0)
        QTest.mouseClick(way, LEFT)
        assert page.run.step == step, way.toolTip()
    qtbot.waitUntil(lambda: page.run.is_step_shown and page.run.is_idle)
    page.rows_panel.canvas.zoom(1)
    before = page.rows_panel.canvas.cell
    tip = page.bar.play.toolTip()
    QTest.mouseClick(page.bar.play, LEFT)
    assert page.bar.is_playing
    assert page.bar.play.toolTip() == page.bar.play.accessibleName() == "Pause"
    assert page.rows_panel.canvas.cell != before, "in the whole alignment merges are seen"
    canvas = page.rows_panel.canvas
    qtbot.waitUntil(lambda: not page.bar.is_playing)
    assert page.run.step == page.bar.slider.maximum()
    assert page.bar.play.toolTip() == tip
    QTest.mouseClick(page.bar.play, LEFT)
    slider = page.bar.slider
    QTest.mouseClick(slider, LEFT, pos=slider.rect().center())
    assert not page.bar.is_playing, "a click on the slider ends it"
    assert abs(page.run.step - slider.maximum() / 2) <= 1, "and jumps to its place"
    qtbot.waitUntil(lambda: page.run.is_step_shown)
    assert f"column 1 of {page.run.shown.n_columns}" in page.rows_panel.status.text().split(" · ")
    window = page.window()
    for width in (1000, 1500):
        window.resize(width, 800)
        QApplication.processEvents()
        assert canvas.horizontalScrollBar().maximum() == 0, "what is shown as a whole stays whole"
    page.rows_panel.canvas.zoom(1)
    before = canvas.cell
    window.resize(1200, 800)
    QApplication.processEvents()
    assert canvas.cell == before


@pytest.mark.thorough
def test_any_pair_is_shown_with_its_probabilities(
    qtbot: Any, window: MainWindow, page: AlignedPage, press: Press, tmp_path: Path
) -> None:
    page.show_tab("pairs")
    pairs, run = page.pairs, page.run.aligned
    assert run is not None
    pairs.second.setFocus()
    QTest.keyClick(pairs.second, Qt.Key.Key_Down)
    pairs.show_pair()
    shown = pairs.canvas.shown
    assert shown.names == ("one", "three")
    found = {(i, j): matrix for i, j, matrix in run.posteriors.each()}[0, 2]
    assert (shown.found.probabilities == found.probabilities).all()
    area = pairs.canvas.area()
    assert area.left() - LEFT_OF_PAIR == pytest.approx(pairs.canvas.width() - area.right() - EDGE, abs=1)
    tip = pairs.canvas.tip_at(QPointF(area.left() + 1, area.top() + 1))
    assert tip.startswith("one M 1\nthree M 1\nprobability ")
    assert tip.endswith("; aligned")
    pairs.canvas.grab()
    for ending in (".svg", ".pdf", ".png"):
        path = tmp_path / f"pair{ending}"
        press(pairs, "Save…")
        sheet = window.findChildren(SizedPictureSheet)[-1]
        sheet.path.setText(str(path))
        sheet.export_button.click()
        qtbot.waitUntil(path.exists)
    assert "one, 25" in (tmp_path / "pair.svg").read_text()
    picture = QImage(str(tmp_path / "pair.png"))
    assert picture.width() > 600
    QTest.mouseClick(pairs.way, LEFT)
    assert not pairs.canvas.with_path
    pairs.second.setCurrentIndex(0)
    pairs.show_pair()
    assert not any(pairs.canvas.shown.names)  # or it would say that they were not compared
    assert not pairs.save.isEnabled()


@pytest.mark.thorough
def test_a_comparison_ends_with_the_page_of_its_run(
    qtbot: Any, window: MainWindow, page: AlignedPage, aligned_run: Path, tmp_path: Path
) -> None:
    panel = page.rows_panel
    assert panel is not None
    with open_run(aligned_run) as run:
        rows = list(run.alignment_rows(run.alignments()[0].id))
    other = tmp_path / "other.afa"
    other.write_text("".join(f">{name}\n{row.text}\n" for name, row in zip(SEQUENCES, rows, strict=True)))
    before = set(threading.enumerate())
    panel.panes.show_comparison(str(other))
    comparison = panel.panes.comparison
    qtbot.waitUntil(lambda: comparison.model.found is not None and comparison.model.is_idle)
    begun = set(threading.enumerate()) - before
    assert begun
    window.controller.close_page()
    assert not any(thread.is_alive() for thread in begun)


def frames_of(movie: bytes) -> list[QImage]:
    """Return the pictures of an animated PNG, each made a PNG of its own again."""
    chunks, at = [], 8
    while at < len(movie):
        (length,) = struct.unpack_from(">I", movie, at)
        kind, data = movie[at + 4 : at + 8], movie[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", movie, at + 8 + length)[0] == zlib.crc32(kind + data)
        chunks.append((kind, data))
        at += 12 + length
    numbers = [struct.unpack_from(">I", data)[0] for kind, data in chunks if kind in (b"fcTL", b"fdAT")]
    assert numbers == list(range(len(numbers)))
    assert [kind for kind, _ in chunks[:3]] == [b"IHDR", b"acTL", b"fcTL"]
    assert chunks[-1][0] == b"IEND"
    frames: list[bytes] = []
    for kind, data in chunks:
        if kind == b"fcTL":
            frames.append(b"")
        elif kind in (b"IDAT", b"fdAT"):
            frames[-1] += data[4:] if kind == b"fdAT" else data
    assert len(frames) == struct.unpack_from(">I", chunks[1][1])[0]
    made = []
    for frame in frames:
        parts = [(b"IHDR", chunks[0][1]), (b"IDAT", frame), (b"IEND", b"")]
        content = movie[:8] + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in parts
        )
        made.append(QImage.fromData(content))
    return made


@pytest.mark.thorough
def test_the_annealing_is_saved_as_moving_and_as_single_pictures(
    qtbot: Any, window: MainWindow, page: AlignedPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = page.run.aligned
    assert run is not None
    page.rows_panel.choose_scheme("Accuracy")
    pictures = AnnealingPictures(run, "Accuracy", "safe", page.run.title)
    steps = steps_of(run)
    assert steps[0] == 0
    assert steps[-2:] == [run.n_merges, run.last_step]
    for name, kind in (("movie", ""), ("single", SERIES)):
        path = tmp_path / name
        monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_, path=path, kind=kind: (str(path), kind))
        window.actions_.by_id["align.save_movie"].trigger()
        qtbot.waitUntil(lambda: window.controller.files.is_idle)
    frames = frames_of((tmp_path / "movie.png").read_bytes())
    single = sorted(tmp_path.glob("single-*.png"))
    assert len(frames) == len(single) == len(steps)
    for frame, path, step in zip(frames, single, steps, strict=True):
        assert not frame.isNull()
        drawn = pictures.image(step)
        assert frame.convertToFormat(drawn.format()) == drawn
        assert QImage(str(path)).convertToFormat(drawn.format()) == drawn
    assert len({frame.cacheKey() for frame in frames}) == len(frames)
    assert frames[0] != frames[-1]
    assert any(f"{len(steps)} pictures of the annealing written" in m.text for m in window.messages.messages)


@pytest.mark.thorough
def test_a_run_of_an_alignment_is_verified(
    qtbot: Any, real_window: MainWindow, aligned_run: Path, tmp_path: Path
) -> None:
    path = tmp_path / "own.clalign"
    shutil.copyfile(aligned_run, path)
    real_window.controller.sources.open_paths([str(path)])
    page = real_window.controller.page
    assert isinstance(page, AlignedPage)
    qtbot.waitUntil(lambda: page.run.judged is not None and page.run.is_idle)
    real_window.controller.update_actions()
    real_window.actions_.by_id["align.verify"].trigger()
    words = "Checked 6 pairs of sequences on the reference: all equal."
    qtbot.waitUntil(lambda: any(m.text == words for m in real_window.messages.messages))


def test_the_residues_of_a_pair_that_share_columns() -> None:
    shown = MultipleAlignment.from_rows([b"AC", b"AC", b"-C"])
    assert path_of(shown, 0, 2).tolist() == [[1, 0]]


@pytest.mark.thorough
def test_more_memory_than_there_is_is_warned_of_beside_the_button(
    qtbot: Any, real_window: MainWindow, sequences: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, controller = real_window, real_window.controller
    controller.sources.open_paths([str(sequences)])
    qtbot.waitUntil(lambda: controller.workspace.sequences is not None and controller.inspector.is_idle)
    monkeypatch.setattr(sheet_module, "physical_memory", lambda: 1000.0)
    QTest.keyClick(window, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    sheet = controller.align.sheet
    qtbot.waitUntil(lambda: sheet.cautions.count() == 1)
    line = sheet.cautions.itemAt(0).widget()
    assert "memory are needed, but this computer has" in " ".join(found.text() for found in line.findChildren(QLabel))
    scrolled = sheet.findChild(QScrollArea)
    assert not scrolled.isAncestorOf(line)
    assert not sheet.run_button.isEnabled(), "a thousand times what there is"
    needed = sheet._estimate().memory_bytes
    monkeypatch.setattr(sheet_module, "physical_memory", lambda: needed / 2)
    sheet.show_spec()
    assert sheet.cautions.count() == 1
    assert sheet.run_button.isEnabled()


def test_sequences_are_aligned_from_the_sheet(qtbot: Any, real_window: MainWindow, sequences: Path) -> None:
    window, controller = real_window, real_window.controller
    controller.sources.open_paths([str(sequences)])
    qtbot.waitUntil(lambda: controller.workspace.sequences is not None and controller.inspector.is_idle)
    controller.workspace.choose_device("reference")
    QTest.keyClick(window, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    sheet = controller.align.sheet
    assert any("6 pairs of sequences" in words.text() for words in sheet.findChildren(QLabel))
    assert sheet.estimate.text().startswith("about ")
    sheet.open_requested.disconnect()
    next(made for made in sheet.findChildren(QPushButton) if made.text() == "Open…").click()
    QTest.keyClick(window.focusWidget(), Qt.Key.Key_Return)  # starts it, and opens no files again
    qtbot.waitUntil(lambda: isinstance(controller.page, AlignedPage) and controller.page.run.is_complete)
    page = controller.page
    qtbot.waitUntil(lambda: page.run.judged is not None and page.run.is_idle)
    assert [row.replace("-", "") for row in rows_in_view(page)] == list(SEQUENCES.values())
    assert any(item.message.startswith("Aligned 4 sequences") for item in controller.queue.items)


@pytest.mark.thorough
def test_an_alignment_is_exported(
    qtbot: Any, real_window: MainWindow, aligned_run: Path, tmp_path: Path, press: Press,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    controller = real_window.controller
    controller.sources.open_paths([str(aligned_run)])
    page = controller.page
    assert isinstance(page, AlignedPage)
    qtbot.waitUntil(lambda: page.run.judged is not None and page.run.is_idle)
    for form, ending, sign in (
        ("Posterior", ".probs", "=>"), ("Clustal", ".aln", "CLUSTAL"), ("Stockholm", ".sto", "# STOCKHOLM"),
        ("A2M", ".a2m", ">"),
    ):  # fmt: skip
        path = tmp_path / f"out{ending}"

        def choose(
            _parent: QWidget, _title: str, _proposed: str, filters: str, path: Path = path, form: str = form
        ) -> tuple[str, str]:
            return str(path), next(one for one in filters.split(";;") if one.startswith(form))

        monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
        press(page, "Export…")
        qtbot.waitUntil(
            lambda path=path: any(m.severity == "good" and path.name in m.text for m in real_window.messages.messages)
        )
        assert sign in path.read_text()


def test_lengths_are_estimated_from_a_report() -> None:
    assert lengths_of({"n_sequences": 3, "length_histogram": [[10, 20, 2], [20, 40, 1]]}).tolist() == [15, 15, 30]
    assert lengths_of({"n_sequences": 2, "mean": 7.6}).tolist() == [8, 8]


@pytest.mark.thorough
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
    reports: list[dict[str, Any]] = []
    context = Job(lambda event: reports.append(event.value))
    half = ColumnMerges(
        merges.lengths, merges.survivors[: len(merges) // 2], merges.victims[: len(merges) // 2],
        merges.weights[: len(merges) // 2], _order_after(merges, len(merges) // 2),
    )  # fmt: skip
    MergeReports(context, given.n_residues)(lambda: half)
    assert MultipleAlignment.rows(
        reported_alignment(reports[0], given.lengths), given.letters
    ) == half.alignment_after().rows(given.letters)
    window.controller.sources.open_paths([str(path)])
    page = window.controller.page
    assert isinstance(page, AlignedPage)
    qtbot.waitUntil(lambda: bool(page.run.cards))
    page.run.is_live = True
    page.run.note_change()
    qtbot.waitUntil(lambda: page._panel is not None and page._panel.isVisible())
    cells = page._panel.view.alignment.cells
    assert [row.tobytes().decode().rstrip("-") for row in cells] == list(SEQUENCES.values()), "they are not aligned yet"
    assert page.rows_panel is None, "there is no alignment to be saved"
    assert not page._panel.isEnabled()
    assert not page._panel.view.n_known, "the columns mean nothing"
    page.run.is_live = False
    page.show_facts()
    assert page._nothing.isVisible(), "the run ended early"
    page.run.is_live = True
    window.controller.queue.partial_received.emit(JobItem("Align", {"job": "align", "run": str(path)}), reports[0])
    qtbot.waitUntil(lambda: page.rows_panel is not None and page.run.is_idle)
    page.run.is_live = False
    page.show_facts()
    assert page.rows_panel.isVisible(), "what was merged is seen"
    assert page.rows_panel.view.scheme == "safe"
    assert [row.replace("-", "") for row in rows_in_view(page)] == list(SEQUENCES.values())
    assert f"Merging: {len(half)} merges" in page.bar.words.text()
    assert not page.bar.isEnabled()
    assert page.pairs.currentWidget() is page.pairs.empty
    export = next(made for made in page.findChildren(QAbstractButton) if made.text() == "Export…")
    assert not export.isEnabled()
    canvas = page.rows_panel.canvas
    assert canvas.horizontalScrollBar().maximum() == 0
    shutil.copyfile(aligned_run, path)
    at_first: list[str] = []
    page.run.aligned_changed.connect(lambda: at_first.append(page.rows_panel.status.text()))
    page.run.note_change()
    qtbot.waitUntil(lambda: bool(at_first))
    assert "Accuracy" not in at_first[0], "it is not known yet"
    assert (canvas.horizontalScrollBar().value(), canvas.verticalScrollBar().value()) == (0, 0)
    assert not page.bar.isVisible(), "the rows have the room again"
    qtbot.waitUntil(lambda: page.run.judged is not None)
    assert export.isEnabled()
    assert page.rows_panel.view.scheme == page.rows_panel.schemes.currentData() == "safe"
    assert page.rows_panel.schemes.findData("Accuracy") >= 0, "it is offered"


def _order_after(merges: ColumnMerges, n: int) -> np.ndarray:
    """Return the columns that are left after some merges, in an order that the alignment has then."""
    alignment = merges.alignment_after(n)
    names = merges._columns_after(n)[creation_numbers(merges.lengths)]
    order = np.empty(alignment.n_columns, np.int32)
    order[alignment.columns] = names
    return order
