"""Hits as points: a million of them are binned to cells of some pixels, so that drawing them takes as long as few."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.engines.pictures.axes import EDGE, LINE, axes, heading, legend, plot_area
from clalign.engines.pictures.coverage import hit_words
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture, Rows
from clalign.runs.hit_columns import target_words
from clalign.values.axes import Scale
from clalign.values.drawings import Box, Dot, Drawing, Picks, Shape

Floats = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]

MAX_DOTS = 3000
"""More points than that become cells."""

RADIUS, CELL = 3.0, 4.0

WIDE, FAR = 30.0, 10.0
"""Scores that differ by more than a factor stand on a logarithmic axis, also where the best is this many times as
high as the one in the middle: most of them would lie on one line."""


class Points(HitPicture):
    """Scores of hits against something else that is known of them.

    Parameters
    ----------
    numbers : HitNumbers
    values : float64[n]
        What the axis below is of.
    words, unit : str
        What that is, and in what.
    is_log : bool
        Whether that axis is logarithmic.
    """

    def __init__(self, numbers: HitNumbers, values: Floats, words: str, unit: str, is_log: bool) -> None:
        self.numbers, self.words, self.unit = numbers, words, unit
        known = ~np.isnan(values)
        self.places = np.flatnonzero(known)
        rows = numbers.hits.rows[self.places] if len(self.places) <= MAX_DOTS else np.empty(0, np.int64)
        self._names = target_words(numbers.run.connection, np.unique(rows).tolist())
        self.x, self.y = values[known], numbers.scores[known]
        self.is_log = is_log and bool((self.x > 0).all())  # a damaged run may have lengths of 0
        self.title = f"{numbers.whose}: score against {words}"
        self.heads = (numbers.target, "score", words.replace(" ", "_"))
        missing = len(values) - len(self.x)
        but = f", but {missing:,} of which it is not known" if missing else ""
        self.sentence = f"{numbers.which[0].upper()}{numbers.which[1:]} ({len(values):,}){but}."
        if len(self.x) > MAX_DOTS:
            self.sentence += " Each square stands for the hits that lie there: the more, the darker."

    def rows(self) -> Rows:
        """Yield name, score and the other number of each hit."""
        rows = self.numbers.hits.rows[self.places]
        words = target_words(self.numbers.run.connection, np.unique(rows).tolist())
        for row, score, value in zip(rows.tolist(), self.y.tolist(), self.x.tolist(), strict=True):
            yield words.get(row, ("",))[0], round(score, 2), round(value, 2)

    def draw(self, width: float, height: float) -> Drawing:
        """Return points, or cells where they are many."""
        above = EDGE + 3 * LINE + 14
        area = plot_area(width, height, above)
        across, up = self._scales(area.left, area.right, area.bottom, area.top)
        shapes: list[Shape] = heading(self.title, width)
        judged = self.numbers.calls_significant
        if judged:
            shapes += legend([("accent", "significant"), ("caution", "only reported")], EDGE, EDGE + LINE + 4)
        shapes += axes(area, across, up, (f"{self.words} ({self.unit})", f"score ({self.numbers.unit})"))
        x, y = across.places(self.x), up.places(self.y)
        best = self.numbers.hits.significant[self.places] if judged else np.ones(len(x), np.bool_)
        marks, picks = marked(x, y, self.numbers.hits.ids[self.places], best, self._tip)
        return Drawing(self.title, width, height, [*shapes, *marks], picks=picks)

    def _scales(self, left: float, right: float, bottom: float, top: float) -> tuple[Scale, Scale]:
        low, high = ends(self.x, self.is_log) if self.unit != "%" else (0.0, 100.0)
        is_log = len(self.y) > 0 and float(self.y.min()) > 0
        is_log &= is_log and float(self.y.max()) > min(WIDE * float(self.y.min()), FAR * float(np.median(self.y)))
        return Scale(low, high, left, right, self.is_log), Scale(*ends(self.y, is_log), bottom, top, is_log)

    def _tip(self, place: int) -> str:
        hit = int(self.places[place])
        words = self._names.get(int(self.numbers.hits.rows[hit]), ("", "", ""))
        length = f"{int(self.numbers.hits.lengths[hit]):,} long"
        return f"{words[0]} {words[2]}\n{hit_words(self.numbers, hit)} · {length}".strip()


def ends(values: Floats, is_log: bool) -> tuple[float, float]:
    """Return the ends of an axis for some values, with a little room."""
    if not len(values):
        return (1.0, 10.0) if is_log else (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    if is_log:
        return low / 1.15, max(high * 1.15, low * 2)
    room = max(0.04 * (high - low), 0.5)
    return low - room if low < 0 else max(0.0, low - room), high + room


def marked(
    x: Floats, y: Floats, ids: npt.NDArray[np.int64], best: Truths, tip: Callable[[int], str]
) -> tuple[list[Shape], Picks]:
    """Return dots, or cells where there are many points, and what is picked by them.

    Parameters
    ----------
    x, y : float64[n]
        Pixels.
    ids : int64[n]
        Of hits.
    best : bool[n]
        Whether a point stands out.
    tip : callable
        Returns what is said of a point.
    """
    if len(x) <= MAX_DOTS:
        order = np.argsort(best, kind="stable")
        colors = np.where(best, "accent", "caution")
        shapes: list[Shape] = [
            Dot(a, b, RADIUS, color, 0.65)
            for a, b, color in zip(x[order].tolist(), y[order].tolist(), colors[order].tolist(), strict=True)
        ]
        places = np.stack([x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS], axis=1)
        return shapes, Picks(places, np.arange(len(x)), ids, tip)
    return _cells(x, y, ids, best)


def _cells(x: Floats, y: Floats, ids: npt.NDArray[np.int64], best: Truths) -> tuple[list[Shape], Picks]:
    columns, rows = np.floor(x / CELL).astype(np.int64), np.floor(y / CELL).astype(np.int64)
    wide = int(columns.max()) + 1
    cells = rows * wide + columns
    counts = np.bincount(cells)
    keys = np.flatnonzero(counts)  # a table of all cells is much faster than sorting the points
    n_best, counts = np.bincount(cells, best)[keys], counts[keys]
    numbers = np.zeros(int(keys[-1]) + 1, np.int64)
    numbers[keys] = np.arange(len(keys))
    parts = numbers[cells]
    dark = 0.3 + 0.7 * np.log1p(counts) / np.log1p(counts.max())
    left, top = (keys % wide) * CELL, (keys // wide) * CELL
    colors = np.where(2 * n_best >= counts, "accent", "caution")
    shapes: list[Shape] = [
        Box(a, b, CELL, CELL, color, round(seen, 2))
        for a, b, color, seen in zip(left.tolist(), top.tolist(), colors.tolist(), dark.tolist(), strict=True)
    ]
    places = np.stack([left, top, left + CELL, top + CELL], axis=1).astype(np.float64)
    return shapes, Picks(places, parts, ids, lambda place: f"{int(counts[place]):,} hits")
