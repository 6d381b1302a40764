"""Pictures as shapes with places and colors by what they mean: drawn alike by the window, in files and in reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

Point = tuple[float, float]
Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

FAMILY_COLORS = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800", "#6F4E9B", "#7A5230", "#4B5563",
)  # fmt: skip
"""Okabe and Ito's colors, and some that differ from them."""

PALETTES: dict[str, dict[str, str]] = {
    "light": {
        "surface": "#FFFFFF", "border": "#D8DDE3", "text": "#1A1E23", "muted": "#5A6470", "accent": "#0072B2",
        "bar": "#A9CDE3", "caution": "#E69F00", "good": "#009E73",
        "class0": "#6B7480", "class1": "#0072B2", "class2": "#009E73", "class3": "#CC79A7", "class4": "#D55E00",
        "mark": "#8A5A00", "series0": "#0072B2", "series1": "#B85C00", "series2": "#00714F", "series3": "#9A4D7C",
        "series4": "#1A1E23", "series5": "#5A6470",
    },
    "dark": {
        "surface": "#1D2126", "border": "#31373F", "text": "#E7EAED", "muted": "#9AA4AE", "accent": "#56B4E9",
        "bar": "#2F5F7E", "caution": "#F0B93A", "good": "#2BC79A",
        "class0": "#8B95A0", "class1": "#4A9FDB", "class2": "#2BC79A", "class3": "#E6A3C6", "class4": "#FF7F3F",
        "mark": "#F0B93A", "series0": "#56B4E9", "series1": "#F0B93A", "series2": "#2BC79A", "series3": "#E6A3C6",
        "series4": "#E7EAED", "series5": "#9AA4AE",
    },
}  # fmt: skip
"""Colors by what they mean, for paper and for dark windows; classes and series after Okabe and Ito."""

TEXT = 12.0
"""Height of letters in pixels."""

LETTER = 0.62
"""Width of an average letter as a share of its height."""


class Box(NamedTuple):
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    color: str
    opacity: float = 1.0
    radius: float = 0.0


class Dot(NamedTuple):
    """A filled circle around a place."""

    x: float
    y: float
    radius: float
    color: str
    opacity: float = 1.0


class Line(NamedTuple):
    """A line through points, solid or with dashes; `fill` is the color of the area that it closes."""

    points: tuple[Point, ...]
    color: str
    width: float = 1.0
    dashed: bool = False
    fill: str = ""


class Words(NamedTuple):
    """A line of text, whose middle is as high as `y`; cut where it is wider than `room`, if that is not 0."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    color: str = "text"
    room: float = 0.0
    size: float = TEXT
    bold: bool = False


Shape = Box | Dot | Line | Words


def _nothing(_: int) -> str:
    return ""


class Picks(Struct, frozen=True, eq=False):
    """Which hits stand behind the parts of a picture.

    Attributes
    ----------
    places : float64[n, 4]
        Left, top, right and bottom of each part.
    parts : int64[m]
        The part that each entry of `hits` stands behind.
    hits : int64[m]
        Ids.
    tip : callable
        Returns the tool tip of a part.
    """

    places: Floats = field(default_factory=lambda: np.empty((0, 4)))
    parts: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    hits: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    tip: Callable[[int], str] = _nothing

    def touched(self, left: float, top: float, right: float, bottom: float) -> npt.NDArray[np.bool_]:
        """Return which parts (bool[n]) a rectangle touches."""
        at = self.places
        return (at[:, 0] <= right) & (at[:, 2] >= left) & (at[:, 1] <= bottom) & (at[:, 3] >= top)

    def behind(self, parts: npt.NDArray[np.bool_]) -> Numbers:
        """Return the ids of the hits (int64[k]) behind some parts (bool[n])."""
        found: Numbers = self.hits[parts[self.parts]] if len(self.parts) else self.hits
        return found

    def within(self, left: float, top: float, right: float, bottom: float) -> Numbers:
        """Return the ids of the hits (int64[k]) behind all parts that a rectangle touches."""
        return self.behind(self.touched(left, top, right, bottom))

    def at(self, x: float, y: float, reach: float = 3.0) -> int | None:
        """Return the part at a place, the nearest one of several; None if there is none within reach."""
        if not len(self.places):
            return None
        left, top, right, bottom = self.places.T
        across = np.maximum(np.maximum(left - x, x - right), 0.0)
        down = np.maximum(np.maximum(top - y, y - bottom), 0.0)
        beyond = np.maximum(across, down)
        middle = np.hypot((left + right) / 2 - x, (top + bottom) / 2 - y)
        place = int(np.lexsort((middle, beyond))[0]) if len(beyond) < 1000 else int(np.argmin(beyond + 1e-6 * middle))
        return place if beyond[place] <= reach else None

    def of(self, place: int) -> Numbers:
        """Return the ids of the hits behind a part."""
        found: Numbers = self.hits[self.parts == place]
        return found


class Drawing(Struct, frozen=True, eq=False):
    """A picture.

    Attributes
    ----------
    title : str
    width, height : float
        Pixels.
    shapes : list
        In the order in which they are drawn.
    head : list
        Shapes that stay in view while the others are scrolled.
    head_height : float
        Height of these shapes in pixels.
    picks : Picks
    """

    title: str
    width: float
    height: float
    shapes: Sequence[Shape]
    head: Sequence[Shape] = ()
    head_height: float = 0.0
    picks: Picks = field(default_factory=Picks)


def text_width(text: str, size: float = TEXT) -> float:
    """Return about how many pixels a text takes."""
    return LETTER * size * len(text)


def shortened(text: str, room: float, size: float = TEXT) -> str:
    """Return the part of a text that fits into about `room` pixels, with an ellipsis; 0 is no limit."""
    most = max(1, int(room / (LETTER * size))) if room else len(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"
