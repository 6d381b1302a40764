"""Axes, titles and legends of pictures, as shapes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from clalign.values.axes import Scale, tick_text
from clalign.values.drawings import TEXT, Box, Line, Point, Shape, Words, text_width

LINE = 18.0
"""Pixels of a line of text."""

EDGE = 14.0

LEFT_NUMBERS = 62.0
"""Pixels left of a plot for numbers."""


class Area(Struct, frozen=True):
    """A rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Pixels across."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Pixels down."""
        return self.bottom - self.top


def heading(title: str, width: float) -> list[Shape]:
    """Return the title of a picture."""
    return [Words(EDGE, EDGE + LINE / 2, title, room=width - 2 * EDGE, size=TEXT + 1, bold=True)]


def legend(entries: Iterable[tuple[str, str]], left: float, top: float) -> list[Shape]:
    """Return boxes of colors with their words, one beside the other."""
    shapes: list[Shape] = []
    for color, words in entries:
        shapes.append(Box(left, top + LINE / 2 - 5, 14, 10, color, radius=2))
        shapes.append(Words(left + 20, top + LINE / 2, words, color="muted"))
        left += 20 + text_width(words) + 18
    return shapes


def plot_area(width: float, height: float, above: float) -> Area:
    """Return the area inside the axes, below what stands `above` it."""
    return Area(EDGE + LEFT_NUMBERS, above, max(width - 2 * EDGE, 2 * LEFT_NUMBERS), height - 2.8 * LINE - 6)


def axes(area: Area, across: Scale, up: Scale, titles: tuple[str, str], is_whole: bool = False) -> list[Shape]:
    """Return both axes with numbers, quiet lines and titles; that of the upright one stands above it.

    Those across may be whole numbers alone.
    """
    shapes: list[Shape] = []
    for tick in up.ticks(44):
        y = up(tick)
        shapes.append(Line(((area.left, y), (area.right, y)), "border"))
        shapes.append(Words(area.left - 8, y, tick_text(tick), "end", "muted"))
    for tick in (tick for tick in across.ticks(80) if not is_whole or tick == int(tick)):
        x = across(tick)
        shapes.append(Line(((x, area.bottom), (x, area.bottom + 4)), "muted"))
        shapes.append(Words(x, area.bottom + 4 + LINE / 2, tick_text(tick), "middle", "muted"))
    shapes.append(Line(((area.left, area.bottom), (area.right, area.bottom)), "muted"))
    shapes.append(Words(area.right, area.bottom + 4 + 1.5 * LINE, titles[0], "end", "muted"))
    shapes.append(Words(EDGE, area.top - LINE / 2 - 2, titles[1], "start", "muted"))
    return shapes


def outline(points: Sequence[Point], color: str, dashed: bool = False, width: float = 2.0) -> Line:
    """Return a curve."""
    return Line(tuple(points), color, width, dashed)
