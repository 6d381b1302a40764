"""Dot plots of long sequences of bases: what is alike is seen at every zoom, and little else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFont, QImage, QPainter

from clalign.compute.sessions import no_check
from clalign.errors import Cancelled
from clalign.ui import theme
from clalign.ui.engines.pairwise.dot_painter import DotStyle, dot_image, is_coarse, paint_dots, part_around, whole
from clalign.ui.engines.pairwise.dot_plot import LEVELS, MAX_DOTS, DotPlot, dotted
from clalign.ui.engines.pairwise.dot_view import DotPlotView
from clalign.ui.engines.pairwise.dot_words import shared_words, word_length, words_of
from clalign.ui.engines.pairwise.pictures import MAX_COLUMNS, DotPicture, too_long
from clalign.values.alphabets import encode
from clalign.values.scoring import SubstitutionMatrix
from clalign.values.sequences import Sequence

LENGTH = 60_000

BASES = encode("ACGT")

FLIPPED = np.zeros(32, np.uint8)
FLIPPED[BASES] = BASES[::-1]


@pytest.fixture(scope="module")
def plot() -> DotPlot:
    """The middle third is alike by 80 %, the last sixth on the other strand; the path is two columns."""
    rng = np.random.default_rng(8)
    query, target = (BASES[rng.integers(0, 4, LENGTH)] for _ in range(2))
    target[20_000:40_000] = np.where(rng.random(20_000) < 0.27, target[20_000:40_000], query[25_000:45_000])
    target[50_000:] = FLIPPED[query[50_000:]][::-1]
    query[100:120] = encode("N" * 20)
    path = np.array([[25_000, 20_000], [25_001, 20_001], [25_002, 20_002]])
    both = Sequence("q", "", query), Sequence("t", "", target)
    strands = [query, FLIPPED[query][::-1]]
    bare = DotPlot("q", "t", LENGTH, LENGTH, (path,), alphabet="dna")
    return dotted(bare, *both, strands, SubstitutionMatrix.match_mismatch(2, -3), 15)


def levels_along(plot: DotPlot, query: range, target: range) -> list[int]:
    """Return the dots along a diagonal, each the best of its neighbors."""
    assert plot.dots is not None
    found = []
    for i, j in zip(query, target, strict=True):
        row, column = ((i - plot.first_row) / plot.per_row, (j - plot.first_column) / plot.per_column)
        found.append(int(plot.dots[int(row), max(0, int(column) - 1) : int(column) + 2].max()))
    return found


def test_words_by_hand() -> None:
    assert words_of(encode("ACGTU"), 2).tolist() == [0b0001, 0b0110, 0b1011, 0b1111]
    assert words_of(encode("ANGT"), 2).tolist() == [-1, -1, 0b1011]
    assert len(words_of(encode("AC"), 3)) == 0
    places = [
        np.concatenate(both) for both in zip(*shared_words(*map(encode, ("GACGT", "ACGTACG")), 3, int), strict=True)
    ]
    assert sorted(zip(*map(np.ndarray.tolist, places), strict=True)) == [(1, 0), (1, 4), (2, 1)]


@pytest.mark.parametrize("size", [10_000, 1_000_000, 5_000_000])
def test_few_words_are_found_by_chance(size: int) -> None:
    length = word_length(size, size)
    assert min(size, 2**20) * size / 4**length <= 2**20
    assert 6 <= length <= 15


def test_a_repeat_is_not_looked_at_everywhere() -> None:
    repeat = encode("A" * 3000)
    found = [len(first) for first, _ in shared_words(repeat, repeat, 6, no_check)]
    assert sum(found) == 16 * (3000 - 5)


def test_what_is_alike_is_seen_all_along_and_nothing_else(plot: DotPlot) -> None:
    assert plot.dots is not None
    assert plot.window > 15
    assert plot.dots.shape == (MAX_DOTS, MAX_DOTS)
    alike = levels_along(plot, range(25_100, 44_900, 100), range(20_100, 39_900, 100))
    assert np.mean(np.array(alike) > 0) > 0.9
    opposite = levels_along(plot, range(50_100, 59_900, 100), range(59_899, 50_099, -100))
    assert min(opposite) == LEVELS
    assert (plot.dots > 0).mean() < 0.002
    assert (plot.dots[: int(20_000 / plot.per_row), : int(15_000 / plot.per_column)] > 0).mean() < 0.0005


@pytest.mark.parametrize("side", [18_000, 3000, 400])
def test_a_part_has_smaller_dots_in_their_places(plot: DotPlot, side: int) -> None:
    assert plot.closer is not None
    part = plot.closer((26_000, 26_000 + side), (21_000, 21_000 + side), no_check)
    assert part.per_row < plot.per_row
    assert part.window <= plot.window
    steps = max(1, side // 200)
    along = range(26_050, 26_000 + side - 50, steps), range(21_050, 21_000 + side - 50, steps)
    assert np.mean(np.array(levels_along(part, *along)) > 0) > 0.6
    other = plot.closer((50_000, 50_000 + side // 2), (60_000 - side // 2, 60_000), no_check)
    assert min(levels_along(other, range(50_030, 50_150), range(59_969, 59_849, -1))) > 200


def test_it_ends_when_nobody_waits(plot: DotPlot) -> None:
    def stop() -> None:
        raise Cancelled

    assert plot.closer is not None
    with pytest.raises(Cancelled):
        plot.closer((0, LENGTH), (0, LENGTH), stop)


def drawn(plot: DotPlot, parts: list[DotPlot], shown: QRectF) -> QImage:
    image = QImage(500, 500, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFF)
    painter = QPainter(image)
    style = DotStyle(theme.LIGHT)
    paint_dots(painter, QRectF(0, 0, 500, 500), plot, [dot_image(one, style) for one in (plot, *parts)], shown, style)
    painter.end()
    return image


def accents(image: QImage) -> int:
    """Return how many pixels are bluer than gray."""
    colors = [image.pixelColor(x, y) for x in range(95, 480) for y in range(15, 450)]
    return sum(color.blue() - color.red() > 40 for color in colors)


def test_dots_of_a_part_are_drawn_where_they_belong(plot: DotPlot, qapp: Any) -> None:
    shown = QRectF(52_000, 54_000, 4000, 4000)  # the other strand: from the upper right to the lower left
    frame = QRectF(0, 0, 400, 400)
    assert is_coarse(plot, frame, shown)
    assert not is_coarse(plot, frame, whole(plot))
    rows, columns = part_around(plot, shown)
    assert (rows, columns) == ((53_000, 59_000), (51_000, 57_000))
    assert plot.closer is not None
    part = plot.closer(rows, columns, no_check)
    assert not is_coarse(part, frame, shown)
    coarse, fine = (drawn(plot, parts, shown) for parts in ([], [part]))
    assert accents(coarse) > accents(fine) > 300


def test_a_short_path_has_a_ring(plot: DotPlot, qapp: Any) -> None:
    from dataclasses import replace

    with_path, without = (drawn(one, [], whole(plot)) for one in (plot, replace(plot, paths=())))
    differing = [(x, y) for x in range(500) for y in range(500) if with_path.pixel(x, y) != without.pixel(x, y)]
    assert len(differing) > 60
    xs, ys = zip(*differing, strict=True)
    assert max(xs) - min(xs) > 12
    assert max(ys) - min(ys) > 12


def test_the_view_asks_for_smaller_dots_once(plot: DotPlot, qtbot: Any) -> None:
    view = DotPlotView()
    qtbot.addWidget(view)
    view.resize(500, 500)
    view.show()
    view.show_plot(plot)
    asked: list[Any] = []
    view.canvas.closer_requested.connect(asked.append)
    view.canvas.zoom(1 / 30, QPointF(view.canvas.frame.center()))
    view.canvas.repaint()
    qtbot.waitUntil(lambda: len(asked) == 1)
    words = view.place.text()
    assert plot.closer is not None
    view.show_part(plot.closer(*asked[0], no_check))
    assert view.canvas.seen is view.canvas.part
    assert view.place.text() != words
    view.canvas._request_closer()
    assert len(asked) == 1
    view.canvas.zoom(0)
    assert view.canvas.seen is plot


def test_nothing_alike_is_said(qtbot: Any) -> None:
    rng = np.random.default_rng(9)
    both = [Sequence(name, "", BASES[rng.integers(0, 4, 30_000)]) for name in "qt"]
    bare = DotPlot("q", "t", 30_000, 30_000, (), alphabet="dna")
    plot = dotted(bare, *both, [both[0].codes], SubstitutionMatrix.match_mismatch(2, -3), 15)
    view = DotPlotView()
    qtbot.addWidget(view)
    view.show_plot(plot)
    assert "No windows of 25 bases" in view.place.text()


def test_a_picture_of_a_part_has_its_dots(plot: DotPlot, tmp_path: Path, qapp: Any) -> None:
    picture = DotPicture(plot, 60, QRectF(52_000, 54_000, 4000, 4000))
    image = QImage(660, int(picture.height(1)), QImage.Format.Format_RGB32)
    image.fill(0xFFFFFF)
    painter = QPainter(image)
    picture.paint(painter, 0, 1)
    painter.end()
    assert accents(image) > 300


@pytest.mark.parametrize("text_font", [("Subset DejaVu Sans", 9), ("Subset Noto Sans", 12)], indirect=True)
def test_names_and_numbers_stand_within_the_plot(text_font: QFont) -> None:
    plot = DotPlot("first sequence", "second sequence", 900_000, 900_000, (), alphabet="dna")
    image = QImage(500, 500, QImage.Format.Format_RGB32)
    image.fill(0xFFFFFF)
    painter = QPainter(image)
    painter.setFont(text_font)
    frame = paint_dots(painter, QRectF(50, 50, 400, 400), plot, [], whole(plot), DotStyle(theme.LIGHT))
    painter.end()
    dark = [(x, y) for x in range(500) for y in range(500) if QColor(image.pixel(x, y)).lightness() < 200]
    assert all(50 <= x <= 450 and 50 <= y <= 450 for x, y in dark)
    columns = {x for x, _ in dark if x < frame.left() - 4}
    runs = [x for x in sorted(columns) if x - 1 not in columns and x - 2 not in columns and x - 3 not in columns]
    assert len(runs) > 1, "a gap between the name and the numbers"


@pytest.mark.parametrize(("ending", "is_refused"), [("svg", True), ("PNG", True), ("pdf", False)])
def test_a_picture_that_nobody_could_open_is_refused(ending: str, is_refused: bool) -> None:
    class Part:
        states = "M" * (MAX_COLUMNS // 2 + 1)

    class Long:
        domains = (Part, Part)

    long: Any = Long
    assert ("Save it as PDF" in too_long(long, f"a.{ending}")) == is_refused
    Long.domains = (Part,)  # type: ignore[assignment]
    assert not too_long(long, f"a.{ending}")
