"""Coverage: the query on top, below it how many hits each place has, and the hits as bars colored by score."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.amounts import counted
from clalign.engines.pictures.axes import EDGE, LINE, heading, legend
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture, Rows
from clalign.runs.hit_columns import target_words
from clalign.values.axes import Scale, tick_text
from clalign.values.drawings import Box, Drawing, Line, Picks, Shape, Words, text_width
from clalign.values.sequences import short_name

MAX_BARS = 2000
"""Hits that are drawn, the best ones."""

CLASSES = (40.0, 50.0, 80.0, 200.0)
"""BLAST's classes of scores in bits: each begins a color, and what is below has one, too."""

LANE, BAR, NAMES = 17.0, 8.0, 190.0
DEPTH = 40.0
NAME_SIZE = 11.0

OPEN_LANES = 24
"""Lanes, the last ones, in which there may be room for a further hit."""


class _Drawn(Struct, frozen=True):
    """A hit that is drawn: name, words when it is pointed at, color, parts on the query."""

    id: int
    name: str
    tip: str
    color: str
    parts: list[tuple[int, int]]


class Coverage(HitPicture):
    """The hits of a query along it.

    Parameters
    ----------
    numbers : HitNumbers
        Of one query.
    """

    heads = ("position", "aligned_parts")

    def __init__(self, numbers: HitNumbers) -> None:
        hits = numbers.hits
        self.length = max(1, int(numbers.card["length"]))
        self.noun, self.name = numbers.noun, numbers.of
        self.title = f"{self.name}: where its hits lie on it"
        self.depth = depth_of(hits.part_starts, hits.part_ends, self.length)
        self.bounds = list(CLASSES) if numbers.has_bits else equal_bounds(numbers.scores)
        self.unit = numbers.unit
        self.drawn = _drawn(numbers, self.bounds)
        covered = 100.0 * np.count_nonzero(self.depth) / self.length
        shown = f"the best {len(self.drawn):,} of {len(hits):,} hits" if len(hits) > len(self.drawn) else "all hits"
        self.sentence = (
            f"Bars are {shown}, best first; parts of one hit are joined by a line. The curve counts the parts of all"
            f" hits: {counted(len(hits), numbers.target)}, together {covered:.0f} % of the {self.noun}."
        )

    def rows(self) -> Rows:
        """Yield each place of the query, from 1, and how many parts of hits are aligned to it."""
        return enumerate(self.depth.tolist(), 1)

    def draw(self, width: float, height: float) -> Drawing:
        """Return the picture; its height is that of the lanes."""
        scale = Scale(0, self.length, EDGE, max(width - EDGE - min(NAMES, width / 3), 60.0))
        head, top = self._head(width, scale)
        shapes: list[Shape] = []
        places, parts, ids = [], [], []
        lanes = packed([self._span(one, scale) for one in self.drawn])
        for number, (one, lane) in enumerate(zip(self.drawn, lanes, strict=True)):
            y = top + lane * LANE + LANE / 2
            begin, end = self._bars(one, y, scale, shapes)
            room = width - EDGE - end - 6
            shapes.append(Words(end + 6, y, one.name, color="text", room=max(room, 12.0), size=NAME_SIZE))
            places.append((begin, y - LANE / 2, end + 6 + text_width(one.name, NAME_SIZE), y + LANE / 2))
            parts.append(number)
            ids.append(one.id)
        picks = Picks(
            np.array(places, np.float64).reshape(-1, 4), np.array(parts, np.int64), np.array(ids, np.int64),
            lambda place: self.drawn[place].tip,
        )  # fmt: skip
        bottom = top + (max(lanes, default=-1) + 1) * LANE + EDGE
        return Drawing(self.title, width, max(bottom, top + LANE), shapes, head, top, picks)

    def _span(self, one: _Drawn, scale: Scale) -> tuple[float, float]:
        """Return the pixels that a hit takes, its name included."""
        begin, end = min(part[0] for part in one.parts), max(part[1] for part in one.parts)
        return scale(begin), scale(end) + 18 + text_width(one.name, NAME_SIZE)

    @staticmethod
    def _bars(one: _Drawn, y: float, scale: Scale, shapes: list[Shape]) -> tuple[float, float]:
        """Draw the parts of a hit; returns where they begin and end."""
        ends = [(scale(start), max(scale(end), scale(start) + 2)) for start, end in one.parts]
        begin, end = min(a for a, _ in ends), max(b for _, b in ends)
        if len(ends) > 1:
            shapes.append(Line(((begin, y), (end, y)), "muted"))
        shapes += [Box(a, y - BAR / 2, b - a, BAR, one.color, radius=2) for a, b in ends]
        return begin, end

    def _head(self, width: float, scale: Scale) -> tuple[list[Shape], float]:
        """Return title, legend, ruler and the curve of depths, and where they end."""
        shapes: list[Shape] = [Box(0, 0, width, 0, "surface"), *heading(self.title, width)]
        y = EDGE + LINE + 6
        shapes += legend(class_words(self.bounds, self.unit), EDGE, y)
        y += LINE + 8
        for tick in scale.ticks(70):
            x = scale(max(tick, 1.0) - 0.5)
            shapes.append(Words(x, y + LINE / 2, tick_text(max(tick, 1.0)), "middle", "muted", size=NAME_SIZE))
            shapes.append(Line(((x, y + LINE), (x, y + LINE + 4)), "muted"))
        y += LINE + 4
        shapes.append(Box(scale.start, y, scale.end - scale.start, 12, "accent", radius=2))
        words = f"{self.name} · {self.length:,}"
        shapes.append(Words(scale.end + 6, y + 6, words, room=width - EDGE - scale.end - 6, bold=True, size=NAME_SIZE))
        y += 18
        most = max(1, int(self.depth.max(initial=0)))
        shapes.append(depth_curve(self.depth, scale, y + DEPTH, y, most))
        shapes.append(Line(((scale.start, y + DEPTH), (scale.end, y + DEPTH)), "muted"))
        caption = f"at most {counted(most, 'part')}"
        room = width - EDGE - scale.end - 6
        shapes.append(Words(scale.end + 6, y + 8, caption, color="muted", room=room, size=NAME_SIZE))
        y += DEPTH + 8
        shapes[0] = Box(0, 0, width, y, "surface")
        return shapes, y


def depth_of(starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """Return how many parts are aligned to each place of a query (int64[length])."""
    steps = np.zeros(length + 1, np.int64)
    np.add.at(steps, np.clip(starts, 0, length), 1)
    np.add.at(steps, np.clip(ends, 0, length), -1)
    return np.cumsum(steps)[:-1]


def depth_curve(depth: npt.NDArray[np.int64], scale: Scale, bottom: float, top: float, most: int) -> Line:
    """Return depths as a filled curve with steps, at most two for each pixel."""
    n = len(depth)
    bins = min(n, max(1, int(scale.end - scale.start)))
    cuts = np.linspace(0, n, bins + 1).astype(np.int64)
    heights = np.maximum.reduceat(depth, cuts[:-1])
    points = [(scale.start, bottom)]
    for place, height in enumerate(heights.tolist()):
        y = bottom - (bottom - top) * height / most
        points += [(scale(int(cuts[place])), y), (scale(int(cuts[place + 1])), y)]
    return Line((*points, (scale.end, bottom)), "accent", 1.0, fill="bar")


def equal_bounds(scores: npt.NDArray[np.float64]) -> list[float]:
    """Return bounds of five classes that hold about as many scores each."""
    if not len(scores):
        return list(CLASSES)
    return [float(math.floor(bound)) for bound in np.quantile(scores, [0.2, 0.4, 0.6, 0.8])]


def class_of(score: float, bounds: Sequence[float]) -> int:
    """Return the class of a score: how many bounds it reaches."""
    return sum(score >= bound for bound in bounds)


def class_words(bounds: Sequence[float], unit: str) -> list[tuple[str, str]]:
    """Return colors and words of the classes of scores."""
    words = [f"below {bounds[0]:g}", *(f"{a:g} to {b:g}" for a, b in itertools.pairwise(bounds))]
    words.append(f"from {bounds[-1]:g} {unit}")
    return [(f"class{place}", text) for place, text in enumerate(words)]


def packed(spans: Sequence[tuple[float, float]]) -> list[int]:
    """Return a lane for each span so that none overlaps another; earlier spans lie higher where there is room."""
    lanes: list[list[tuple[float, float]]] = []
    found = []
    for begin, end in spans:
        first = max(0, len(lanes) - OPEN_LANES)
        place = next(
            (n for n in range(first, len(lanes)) if all(end <= a or begin >= b for a, b in lanes[n])), len(lanes)
        )
        if place == len(lanes):
            lanes.append([])
        lanes[place].append((begin, end))
        found.append(place)
    return found


def _drawn(numbers: HitNumbers, bounds: Sequence[float]) -> list[_Drawn]:
    hits = numbers.hits
    scores = numbers.scores
    order = np.lexsort((np.arange(len(hits)), -scores))[:MAX_BARS]
    words = target_words(numbers.run.connection, hits.rows[order].tolist())
    chosen = np.isin(hits.part_hits, order)
    parts: dict[int, list[tuple[int, int]]] = {}
    for hit, start, end in zip(
        hits.part_hits[chosen].tolist(), hits.part_starts[chosen].tolist(), hits.part_ends[chosen].tolist(), strict=True
    ):
        parts.setdefault(hit, []).append((start, end))
    made = []
    for place in order.tolist():
        if place in parts:
            name, _, text = words.get(int(hits.rows[place]), ("", "", ""))
            tip = f"{name} {text}\n{hit_words(numbers, place)}"
            color = f"class{class_of(float(scores[place]), bounds)}"
            made.append(_Drawn(int(hits.ids[place]), short_name(name), tip, color, parts[place]))
    return made


def hit_words(numbers: HitNumbers, place: int) -> str:
    """Return score, E-value, coverage and identity of a hit in a line."""
    hits = numbers.hits
    facts = [f"{numbers.scores[place]:.1f} {numbers.unit}"]
    if not math.isnan(hits.evalues[place]):
        facts.append(f"E {hits.evalues[place]:.2g}")
    facts.append(f"{hits.query_coverage[place]:.0f} % of the {numbers.noun}")
    if not math.isnan(hits.identity[place]):
        facts.append(f"{hits.identity[place]:.0f} % identical")
    return " · ".join(facts)
