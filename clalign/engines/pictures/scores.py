"""How many targets have which score: all of them, not only hits, with what chance would give."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from clalign.engines.pictures.axes import EDGE, LINE, axes, heading, legend, outline, plot_area
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture, Rows
from clalign.engines.pictures.quantiles import of_all_targets
from clalign.runs.batches import BIN, joined_bins
from clalign.values.axes import Scale
from clalign.values.drawings import Box, Drawing, Line, Picks, Shape, Words

Floats = npt.NDArray[np.float64]

MAX_BARS = 160
"""Bars are joined in pairs where there would be more."""

FLOOR = 0.5
"""Bottom of the axis of counts, which is logarithmic."""

OF_A_FILTER = "msv"
"""What the card of a query calls scores that are not those of its hits."""


class ScoreHistogram(HitPicture):
    """The scores of all targets of a query.

    Parameters
    ----------
    numbers : HitNumbers
        Of one query.
    """

    def __init__(self, numbers: HitNumbers) -> None:
        card, run, query = numbers.card, numbers.run, numbers.query or 0
        unit = float(card.get("histogram_unit") or 0.001)
        width = float(card.get("histogram_bin") or BIN) * unit
        self.edges, self.counts = joined_bins(*run.drawn_bins(query), width, MAX_BARS)
        of_filter = card.get("histogram_kind") == OF_A_FILTER
        self.all = of_all_targets(numbers)
        self.expected = self._expected()
        self.axis = (
            "MSV score (bits)" if of_filter else "score (bits)" if unit != 1.0 else "score (units of the matrix)"
        )
        limit = card.get("histogram_report_score", None if of_filter else card.get("report_score"))
        self.limit = float(limit) if limit is not None and math.isfinite(limit) else None
        values = np.full(len(numbers.hits), np.nan) if of_filter else numbers.hits.raws * unit
        known = (values >= self.edges[0]) & (values < self.edges[-1])
        self.ids = numbers.hits.ids[known]
        self.bars = np.searchsorted(self.edges, values[known], side="right").astype(np.int64) - 1
        self.targets = f"{numbers.target}s"
        self.heads = ("from_score", "to_score", self.targets, "expected")
        self.title = f"{numbers.whose}: scores of all {self.targets}"
        which = "in the first filter" if of_filter else f"of all {self.targets} that were compared"
        self.sentence = f"Scores {which}: {int(self.counts.sum()):,} {self.targets}; the axis of counts is logarithmic."
        if self.all is not None:
            self.sentence += " The line is what chance would give."

    def _expected(self) -> Floats | None:
        """Return how many targets of each bar chance would give, where that is known."""
        known = self.all
        if known is None or len(known.scores) < 2:
            return None
        logs = np.log(np.maximum(known.expected, 1e-300))  # tails are straight there
        reached = np.exp(np.interp(self.edges, known.scores, logs, right=-np.inf))
        return np.asarray(reached[:-1] - reached[1:], np.float64)

    def rows(self) -> Rows:
        """Yield bounds, number of targets and expected number of each bar."""
        expected = self.expected if self.expected is not None else np.full(len(self.counts), np.nan)
        for low, high, count, chance in zip(self.edges, self.edges[1:], self.counts, expected, strict=False):
            yield float(low), float(high), int(count), "" if np.isnan(chance) else float(f"{chance:.4g}")

    def draw(self, width: float, height: float) -> Drawing:
        """Return bars, the curve and the score from which on targets are reported."""
        area = plot_area(width, height, EDGE + 3 * LINE + 14)
        low, high = (float(self.edges[0]), float(self.edges[-1])) if len(self.counts) else (0.0, 1.0)
        across = Scale(low, high, area.left, area.right)
        up = Scale(FLOOR, max(2.0, 1.3 * float(self.counts.max(initial=1))), area.bottom, area.top, log=True)
        entries = [("bar", self.targets)] + [("caution", "expected by chance")] * (self.expected is not None)
        shapes: list[Shape] = [*heading(self.title, width), *legend(entries, EDGE, EDGE + LINE + 4)]
        shapes += axes(area, across, up, (self.axis, self.targets))
        lefts = across.places(self.edges)
        for a, b, count in zip(lefts[:-1].tolist(), lefts[1:].tolist(), self.counts.tolist(), strict=True):
            if count:
                top = up(count)
                shapes.append(Box(a, top, max(b - a - 0.5, 0.8), area.bottom - top, "bar"))
                shapes.append(Line(((a, top), (max(b - 0.5, a + 0.8), top)), "accent", 1.5))
        if self.expected is not None:
            seen = np.flatnonzero(self.expected > FLOOR)
            middles = (lefts[seen] + lefts[seen + 1]) / 2
            points = list(zip(middles.tolist(), up.places(self.expected[seen]).tolist(), strict=True))
            shapes += [outline(points, "caution")] * (len(points) > 1)
        if self.limit is not None and low <= self.limit <= high:
            x = across(self.limit)
            shapes.append(Line(((x, area.top), (x, area.bottom)), "text", 1.2, dashed=True))
            shapes.append(Words(min(x + 5, area.right - 150), area.top + LINE / 2, f"reported from {self.limit:g}"))
        tops = np.full(len(self.counts), area.top)
        bottoms = np.full(len(self.counts), area.bottom)
        places = np.stack([lefts[:-1], tops, lefts[1:], bottoms], axis=1) if len(self.counts) else np.empty((0, 4))
        return Drawing(self.title, width, height, shapes, picks=Picks(places, self.bars, self.ids, self._tip))

    def _tip(self, place: int) -> str:
        n_hits = int((self.bars == place).sum())
        hits = f", {n_hits:,} of them hits" if len(self.ids) else ""
        return f"{self.edges[place]:g} to {self.edges[place + 1]:g}: {int(self.counts[place]):,} {self.targets}{hits}"
