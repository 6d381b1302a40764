"""How alike hits are to their query: a histogram of identities."""

from __future__ import annotations

import numpy as np

from clalign.engines.pictures.axes import EDGE, LINE, axes, heading, plot_area
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture, Rows
from clalign.values.axes import Scale
from clalign.values.drawings import Box, Drawing, Picks, Shape

WIDTH = 5.0
"""Percent that a bar spans."""


class Identities(HitPicture):
    """How many hits have which identity.

    Parameters
    ----------
    numbers : HitNumbers
    """

    heads = ("from_percent", "to_percent", "hits")

    def __init__(self, numbers: HitNumbers) -> None:
        values = numbers.hits.identity
        known = ~np.isnan(values)
        self.ids = numbers.hits.ids[known]
        self.edges = np.arange(0.0, 100.0 + WIDTH / 2, WIDTH)
        self.bars = np.minimum(values[known] // WIDTH, len(self.edges) - 2).astype(np.int64)
        self.counts = np.bincount(self.bars, minlength=len(self.edges) - 1).astype(np.int64)
        self.title = f"{numbers.whose}: identity of the hits"
        middle = f" Half of them have at least {np.median(values[known]):.0f} %." if known.any() else ""
        missing = f" Of {int((~known).sum()):,} more hits it is not known." if not known.all() else ""
        side = "the consensus of the profile" if numbers.noun == "profile" else "the query"
        self.sentence = f"Share of the aligned columns with the same residue as {side}.{middle}{missing}"

    def rows(self) -> Rows:
        """Yield the bounds of each bar and how many hits it has."""
        return zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), self.counts.tolist(), strict=True)

    def draw(self, width: float, height: float) -> Drawing:
        """Return the bars; the number of hits stands on each."""
        area = plot_area(width, height, EDGE + 2 * LINE + 12)
        across = Scale(0.0, 100.0, area.left, area.right)
        up = Scale(0.0, max(1.0, 1.08 * float(self.counts.max())), area.bottom, area.top)
        shapes: list[Shape] = [*heading(self.title, width), *axes(area, across, up, ("identity (%)", "hits"))]
        for low, count in zip(self.edges.tolist(), self.counts.tolist(), strict=False):
            if count:
                left, right = across(low), across(low + WIDTH)
                shapes.append(Box(left + 1, up(count), right - left - 2, area.bottom - up(count), "accent", 0.85))
        lefts = across.places(self.edges)
        tops, bottoms = np.full(len(self.counts), area.top), np.full(len(self.counts), area.bottom)
        places = np.stack([lefts[:-1] + 1, tops, lefts[1:] - 1, bottoms], axis=1)
        return Drawing(self.title, width, height, shapes, picks=Picks(places, self.bars, self.ids, self._tip))

    def _tip(self, place: int) -> str:
        return f"{self.edges[place]:.0f} to {self.edges[place + 1]:.0f} % identical: {int(self.counts[place]):,} hits"
