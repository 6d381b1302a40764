"""Charts as drawings: where bars and lines lie, what a place says, and the same in SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from clalign.engines.pictures.charts import chart_drawing, chart_height
from clalign.formats.drawing_svg import drawing_svg
from clalign.values.charts import Bar, BarChart, Chart, FitChart, Line, LineChart, Mark
from clalign.values.drawings import Drawing, Words
from clalign.values.drawings import Line as DrawnLine

BARS = BarChart(
    "Speeds", "times", (Bar("one", 2.0, 4.0, "2×", tip="of one"), Bar("two", None, note="not run"), Bar("three", 1.0)),
    "here", "there",
)  # fmt: skip
LINES = LineChart(
    "Times", "residues", "seconds",
    (Line("fast", ((10, 1), (1000, 2))), Line("fit", ((10, 1), (1000, 2)), is_fit=True)),
    (Mark(100, 1.4, "100 residues"),),
)  # fmt: skip
SCORES = FitChart("Scores", "bits", -1.0, 0.5, (1, 0, 1000), log=True)


def filled(drawing: Drawing, color: str) -> list[tuple[float, float, float, float]]:
    """Return left, top, right and bottom of the areas of a color."""
    areas = [shape.points for shape in drawing.shapes if isinstance(shape, DrawnLine) and shape.fill == color]
    return [(min(x), min(y), max(x), max(y)) for x, y in (zip(*points, strict=True) for points in areas)]


def test_bars_are_as_long_as_their_values_and_marks_stand_beside_them() -> None:
    drawing = chart_drawing(BARS, 800, 300)
    (_, *bars), (_, mark) = filled(drawing, "bar"), filled(drawing, "mark")
    widths = [right - left for left, _, right, _ in bars]
    assert widths[0] == pytest.approx(2 * widths[1])
    assert (mark[0] + mark[2]) / 2 - bars[0][0] == pytest.approx(2 * widths[0])
    assert "not run" in [shape.text for shape in drawing.shapes if isinstance(shape, Words)]


@pytest.mark.parametrize(
    ("chart", "tips"),
    [
        (BARS, ["of one", "not run", "three: "]),
        (LINES, ["fast\n10 residues: 1 s", "fast\n1,000 residues: 2 s"]),
        (SCORES, ["1 from -1 to -0.5", "1,000 from 0 to 0.5"]),
    ],
    ids=["bars", "lines", "histogram"],
)
def test_a_place_says_what_is_there(chart: Chart, tips: list[str]) -> None:
    drawing = chart_drawing(chart, 800, 0)
    assert drawing.height == chart_height(chart)
    picks = drawing.picks
    assert [picks.tip(part) for part in range(len(picks.places))] == tips
    left, top, right, bottom = picks.places[0]
    assert picks.at((left + right) / 2, (top + bottom) / 2) == 0
    root: Any = ElementTree.fromstring(drawing_svg(drawing, tips=True))
    titles = [each.text for each in root.iter() if each.tag.endswith("title")]
    assert titles[0] == chart.title
    assert len(titles) == 1 + len(tips)


def test_one_count_is_seen_beside_a_thousand() -> None:
    small, large = filled(chart_drawing(SCORES, 800, 300), "bar")
    assert small[3] == large[3]
    assert small[3] - small[1] > 5
    assert large[3] - large[1] > 5 * (small[3] - small[1])
