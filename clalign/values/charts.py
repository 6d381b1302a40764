"""Charts as numbers and words, without how they are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a `BarChart`.

    Attributes
    ----------
    value : float or None
        None: there is no bar, and `note` says why.
    beside : float or None
        A published or another value to compare with, drawn as a mark.
    text : str
        Stands at the end of the bar.
    tip : str
        Shown when the pointer rests on it.
    begin : float
        Where the bar begins on a linear axis.
    grows : bool
        What it shows is measured just now: it is drawn as an outline.
    """

    name: str
    value: float | None
    beside: float | None = None
    text: str = ""
    note: str = ""
    tip: str = ""
    begin: float = 0.0
    grows: bool = False


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars, one below the other.

    Attributes
    ----------
    value_name, beside_name : str
        What the bars and the marks are, for the legend.
    log : bool
        The axis is logarithmic and the bars begin at 1; else they begin at 0.
    """

    title: str
    axis: str
    bars: tuple[Bar, ...]
    value_name: str = ""
    beside_name: str = ""
    log: bool = False

    def span(self) -> tuple[float, float]:
        """Return the ends of the axis."""
        values = [v for bar in self.bars for v in (bar.value, bar.beside) if v is not None and v > 0]
        if not self.log:
            return 0.0, max(values, default=1.0)
        return min([1.0, *values]) / 1.1, max([2.0, *values])


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a `LineChart`, with its points from left to right.

    Attributes
    ----------
    is_fit : bool
        It was fitted to the line before: drawn thin in its color, without points, and not named.
    """

    name: str
    points: tuple[Point, ...]
    is_fit: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a `LineChart` with words."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class LineChart:
    """Lines over two logarithmic axes; `unit` is what a point's place counts."""

    title: str
    x_axis: str
    y_axis: str
    lines: tuple[Line, ...]
    marks: tuple[Mark, ...] = ()
    unit: str = "residues"

    def span(self) -> tuple[Point, Point]:
        """Return the ends of both axes."""
        points = [point for line in self.lines for point in line.points] + [(m.x, m.y) for m in self.marks]
        spans = [[point[axis] for point in points if point[axis] > 0] or [1.0, 10.0] for axis in (0, 1)]
        (low_x, high_x), (low_y, high_y) = [(min(v), max(v)) for v in spans]
        return (low_x, max(high_x, 2 * low_x)), (low_y / 1.5, max(high_y, 2 * low_y) * 1.5)


@dataclass(frozen=True, slots=True)
class FitChart:
    """A histogram with the curve fitted to it.

    Attributes
    ----------
    left, width : float
        Lower bound of the first bar, and the width of each.
    curve : tuple of points
        Expected counts.
    edge : float
        From here on the curve was fitted; before it, it is only continued.
    center : float or None
        A place on the axis with words, such as the fitted location.
    legend : tuple
        What is drawn, each with its words.
    log : bool
        Whether the axis of the counts is logarithmic.
    """

    title: str
    axis: str
    left: float
    width: float
    counts: tuple[int, ...]
    curve: tuple[Point, ...] = ()
    center: float | None = None
    center_text: str = ""
    legend: tuple[tuple[str, str], ...] = ()
    edge: float = -math.inf
    y_axis: str = "sequences"
    log: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a `CellChart`.

    Attributes
    ----------
    x, y, width : float
        Place of its left end and of its line, and its width, in cells.
    color : int or None
        Number of a class of cells.
    tip : str
        Shown when the pointer rests on it.
    is_marked, is_framed : bool
        Whether its frame is bold; whether it has one at all, or is only words.
    """

    x: float
    y: float
    text: str = ""
    width: float = 1.0
    color: int | None = None
    tip: str = ""
    is_marked: bool = False
    is_framed: bool = True


@dataclass(frozen=True, slots=True)
class CellChart:
    """Cells with words, and links from one to another, given by the places of both."""

    title: str
    cells: tuple[Cell, ...]
    links: tuple[tuple[Point, Point], ...] = ()

    def span(self) -> Point:
        """Return its cells across and its lines."""
        framed = max((cell.x + cell.width for cell in self.cells if cell.is_framed), default=1.0)
        return framed, max((cell.y + 1 for cell in self.cells), default=1.0)


Chart = BarChart | LineChart | FitChart | CellChart
