"""Names and descriptions are shown as they are, also where they look like HTML, which could open files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QRectF, Qt
from PySide6.QtGui import QHelpEvent, QImage, QPainter
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox, QTextEdit, QToolTip, QWidget

from clalign.engines.overview import HitMatrix
from clalign.runs.run_file import open_run
from clalign.ui import formatting, theme
from clalign.ui.engines.msa.pair_view import PairView
from clalign.ui.models.charts.heat_map import HeatMap
from clalign.ui.models.jobs import JobItem
from clalign.ui.models.widgets.text_table import TextColumn, TextTable
from clalign.ui.shell.job_strip import JobRow
from clalign.ui.shell.main_window import MainWindow
from clalign.ui.views.charts.architecture_painter import BarStyle, paint_bar
from clalign.ui.views.charts.heat_map_view import Frame, paint_map
from clalign.ui.views.charts.pictures import readable_svg
from clalign.ui.views.results.query_list import NameList
from clalign.ui.views.widgets.message_bar import MessageBar
from clalign.ui.views.widgets.parts import ElidedLabel, label
from clalign.values.architectures import Architecture, PlacedDomain

IMAGE = '<img src="{}">EVIL'


def labels() -> list[QLabel]:
    found = [widget for widget in QApplication.allWidgets() if isinstance(widget, QLabel)]
    for widget in found:
        widget.ensurePolished()
    return found


@pytest.fixture
def hostile(tmp_path: Path, made_run: Callable[..., Path]) -> Path:
    """A run with markup in every name; the image it names is a pipe that nobody writes to."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    path, image = made_run(batches=1, hits=3), IMAGE.format(pipe)
    with open_run(path, writable=True) as run, run.connection:
        card = run.card(0)
        run.set_card(0, {**card, "name": image, "accession": image, "description": image})
        run.connection.execute("UPDATE targets SET name = ?, accession = ?, description = ?", (image,) * 3)
        run.connection.execute("UPDATE queries SET name = ?", (image,))
    return path


@pytest.fixture
def hostile_window(qtbot: Any, window: MainWindow, hostile: Path) -> Iterator[MainWindow]:
    window.controller.sources.open_paths([str(hostile)])
    page = window.controller.page
    qtbot.waitUntil(lambda: page.run.hits.rowCount() == 3 and not page.run.hits.is_busy)
    qtbot.waitUntil(lambda: not page.run.is_due and window.controller.reader.is_idle)
    yield window
    QToolTip.hideText()


def test_no_label_guesses_what_its_text_is(qtbot: Any, hostile_window: MainWindow) -> None:
    hostile_window.controller.page.hits.table.selectRow(0)
    qtbot.waitUntil(lambda: hostile_window.controller.reader.is_idle)
    assert len(labels()) > 10
    assert [found.text() for found in labels() if found.textFormat() == Qt.TextFormat.AutoText] == []
    assert not [widget for widget in QApplication.allWidgets() if isinstance(widget, QTextEdit)]  # they guess, too


def test_a_tooltip_shows_markup_as_it_is(qtbot: Any, hostile_window: MainWindow) -> None:
    page = hostile_window.controller.page
    view, model = page.hits.table, page.run.hits
    places = [model.index(0, column) for column in range(model.columnCount())]
    shown = [place for place in places if "EVIL" in str(place.data(Qt.ItemDataRole.ToolTipRole))]
    assert len(shown) == 2
    point = view.visualRect(shown[0]).center()
    QApplication.sendEvent(view.viewport(), QHelpEvent(QEvent.Type.ToolTip, point, view.mapToGlobal(point)))
    (tip,) = [found for found in labels() if found.metaObject().className() == "QTipLabel"]
    assert "<img src=" in tip.text()
    assert tip.textFormat() == Qt.TextFormat.PlainText


@pytest.mark.parametrize("made", [QMessageBox, QWidget])
def test_whatever_is_made_later_shows_plain_text(qtbot: Any, made: type[QWidget]) -> None:
    theme.apply("light")
    widget = made()
    qtbot.addWidget(widget)
    if isinstance(widget, QMessageBox):
        widget.setText("<b>bold</b>")
    else:
        QLabel("<b>bold</b>", widget)
        widget.setToolTip("<b>bold</b>")
        QToolTip.showText(QPoint(), widget.toolTip(), widget)
    found = [one for one in labels() if one.text() == "<b>bold</b>"]
    assert {one.textFormat() for one in found} == {Qt.TextFormat.PlainText}
    QToolTip.hideText()


def test_a_tip_is_broken_into_lines_and_never_endless() -> None:
    assert formatting.tip("one two\nthree") == "one two\nthree"
    broken = formatting.tip("word " * 100)
    assert max(map(len, broken.split("\n"))) <= formatting.TIP_LETTERS
    assert broken.split() == ["word"] * 100
    endless = formatting.tip("x" * 1_000_000)
    assert (len(endless.split("\n")), endless[-1]) == (formatting.TIP_LINES, "…")


def test_the_window_shows_control_characters_as_escapes(qtbot: Any) -> None:
    bar, line = MessageBar(), ElidedLabel("a\u202eb")
    qtbot.addWidget(bar)
    qtbot.addWidget(line)
    bar.notify("stop", "fa\u202eke\x1b[31m")
    table = TextTable((TextColumn("Name", "", lambda row: row["name"]),))
    table.set_rows([{"name": "x\x1b[2J"}])
    shown = [found.text() for found in bar.findChildren(ElidedLabel)]
    assert r"fa\u202eke\x1b[31m" in shown
    assert (line.text(), label("\x07").text(), formatting.tip("\x9b")) == (r"a\u202eb", r"\x07", r"\x9b")
    assert table.index(0, 0).data() == r"x\x1b[2J"
    job = JobRow(JobItem("a\x07", {"job": "search"}, files=("c\x1b",)))
    qtbot.addWidget(job)
    assert {found.toolTip() for found in job.findChildren(ElidedLabel)} >= {"a\\x07\nc\\x1b"}


class SizedNames(list[str]):
    """The names of some sequences."""

    @property
    def names(self) -> list[str]:
        return self


class NotingPainter(QPainter):
    """Notes what is written."""

    def __init__(self) -> None:
        self.image = QImage(400, 400, QImage.Format.Format_RGB32)
        super().__init__(self.image)
        self.texts: list[str] = []

    def drawText(self, *given: Any) -> None:
        self.texts.append(given[-1])


def test_one_name_is_written_in_one_way_in_all_pictures(qtbot: Any) -> None:
    name, shown = "sp|X1|rtl\u202egnp.exe", r"rtl\u202egnp.exe"
    painter = NotingPainter()
    one = np.zeros(1, np.int64)
    matrix = HitMatrix(one, one, [name], np.zeros((1, 2), np.int64), np.ones(1), np.ones(1), one)
    frame = Frame(1, 1)
    frame.fit(40, 40)
    paint_map(painter, QRectF(150, 150, 40, 40), HeatMap(matrix), frame, [name], theme.LIGHT, 140)
    assert painter.texts == [shown, shown]
    painter.texts.clear()
    domain = PlacedDomain(1, 0, 1, name, "", 100, (0, 100), (0, 100), (0, 100), 9.0, 0.1)
    style = BarStyle(theme.LIGHT, {}, 2.0)
    paint_bar(painter, QRectF(0, 0, 400, 30), Architecture(0, name, "", "", 100, (domain,), 1), style)
    assert painter.texts[:2] == [shown, shown]
    painter.end()
    names = NameList("Query", "Queries")
    qtbot.addWidget(names)
    names.list_cards([{"name": name}])
    assert names.model.index(0, 0).data() == r"rtl\u202egnp.exe"
    signal = SimpleNamespace(connect=lambda heard: None)
    run: Any = SimpleNamespace(aligned=None, shown=None, aligned_changed=signal, shown_changed=signal)
    pairs = PairView(run)
    qtbot.addWidget(pairs)
    run.aligned = SimpleNamespace(given=SizedNames([name]))
    pairs.fill()
    assert pairs.first.itemText(0) == r"sp|X1|rtl\u202egnp.exe"


def test_an_svg_holds_no_control_characters() -> None:
    assert readable_svg("a\x1b[31m\u202e é\n".encode()) == b"a\\x1b[31m\\u202e \xc3\xa9\n"
