"""Q-Q plot of E-values: how many targets there are at least this good, against how many chance would give."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from clalign.engines.engine import engine_of
from clalign.engines.pictures.axes import EDGE, LINE, axes, heading, legend, outline, plot_area
from clalign.engines.pictures.numbers import HitNumbers
from clalign.engines.pictures.picture import HitPicture, Rows
from clalign.engines.pictures.points import marked
from clalign.values.axes import Scale
from clalign.values.drawings import Drawing, Shape
from clalign.values.scores_of_all import ScoresOfAll

Floats = npt.NDArray[np.float64]

LEAST = 1e-4
"""Fewer expected targets than this are drawn at the edge: relatives would squeeze what chance gives."""


class Quantiles(HitPicture):
    """Observed against expected numbers.

    Parameters
    ----------
    numbers : HitNumbers
    """

    heads = ("expected", "observed", "of")

    def __init__(self, numbers: HitNumbers) -> None:
        hits = numbers.hits
        self.title = f"{numbers.whose}: Q–Q plot of E-values"
        known = ~np.isnan(hits.evalues)
        order = np.argsort(hits.evalues[known], kind="stable")
        self.ids = hits.ids[known][order]
        compared, searched = _sizes(numbers)
        self.factor = compared / searched if searched and compared else 1.0
        self.expected = hits.evalues[known][order] * self.factor
        self.observed = np.arange(1, len(order) + 1, dtype=np.float64)
        self.all = of_all_targets(numbers)
        self.targets = f"{numbers.target}s"
        what = f"{self.targets} compared" if numbers.query is not None else "comparisons"
        far = f", with E-values up to {hits.evalues[known].max():.2g}" if known.any() else " with an E-value"
        self.sentence = f"Points are {numbers.which} ({len(order):,}{far}), of {compared:,.0f} {what}."
        if self.expected.min(initial=1.0) < LEAST:
            n = int((self.expected < LEAST).sum())
            self.sentence += f" {n:,} with less than {LEAST:g} expected stand at the left edge."
        self.sentence += (
            f" The curve has {self.all.words}." if self.all else (" Nothing is known of the E-values of the others.")
        )
        if (numbers.card or numbers.run.card(0)).get("origin") == "hmmer3":
            self.sentence += f" {self.targets.capitalize()} that a filter of HMMER3 has stopped have no point."
        self.sentence += " Where chance alone works, both follow the diagonal; true relatives lie above it on the left."
        self._evalues = hits.evalues[known][order]

    def rows(self) -> Rows:
        """Yield expected and observed numbers, of hits and of all targets."""
        yield from ((float(f"{a:.6g}"), int(b), "hits") for a, b in zip(self.expected, self.observed, strict=True))
        if self.all is not None:
            pairs = zip(self.all.expected, self.all.observed, strict=True)
            yield from ((float(f"{a:.6g}"), int(b), f"all {self.targets}") for a, b in pairs)

    def draw(self, width: float, height: float) -> Drawing:
        """Return points, the curve of all targets and the diagonal, on logarithmic axes."""
        area = plot_area(width, height, EDGE + 3 * LINE + 14)
        seen = self.all.expected if self.all is not None else np.empty(0)
        counted = self.all.observed if self.all is not None else np.empty(0)
        low = max(LEAST, min(0.5, float(self.expected.min(initial=1.0))))
        high = max(20.0, float(self.expected.max(initial=1.0)), float(seen.max(initial=1.0))) * 1.2
        most = max(20.0, len(self.observed), float(counted.max(initial=1.0))) * 1.2
        across = Scale(low, high, area.left, area.right, log=True)
        words = " (E-value)" if abs(self.factor - 1.0) < 1e-6 else ""
        up = Scale(0.7, most, area.bottom, area.top, log=True)
        entries = [("accent", "hits")] + [("caution", f"all {self.targets}")] * (self.all is not None)
        shapes: list[Shape] = [*heading(self.title, width), *legend([*entries, ("muted", "as chance would have it")],
                                                                    EDGE, EDGE + LINE + 4)]  # fmt: skip
        shapes += axes(area, across, up, (f"expected {self.targets}{words}", f"observed {self.targets}"))
        first, last = max(low, 0.7), min(high, most)
        shapes.append(outline([(across(first), up(first)), (across(last), up(last))], "muted", dashed=True, width=1.2))
        if self.all is not None:
            inside = (seen >= low) & (counted > 0)
            points = zip(across.places(seen[inside]).tolist(), up.places(counted[inside]).tolist(), strict=True)
            shapes.append(outline(list(points), "caution"))
        best = np.ones(len(self.ids), np.bool_)
        marks, picks = marked(across.places(self.expected), up.places(self.observed), self.ids, best, self._tip)
        return Drawing(self.title, width, height, [*shapes, *marks], picks=picks)

    def _tip(self, place: int) -> str:
        return f"E {self._evalues[place]:.2g}: {place + 1:,} hits are this good, {self.expected[place]:.2g} expected"


def _sizes(numbers: HitNumbers) -> tuple[float, float]:
    """Return how many pairs were compared, and how many targets E-values are for."""
    which = [numbers.query] if numbers.query is not None else range(numbers.n_queries)
    compared = float(sum(map(numbers.run.n_rows_finished, which)))
    return compared, float(numbers.card.get("n_targets") or numbers.run.facts.n_targets or 0)


def of_all_targets(numbers: HitNumbers) -> ScoresOfAll | None:
    """Return the scores of all targets of a query, where its engine knows what to expect of them."""
    engine = engine_of(numbers.run)
    if numbers.query is None or engine.parts.scores_of_all is None:
        return None
    found = engine.parts.scores_of_all.get()(numbers.run, numbers.query)
    if found is None or not len(found.expected) or not math.isfinite(float(found.expected.max())):
        return None
    return found
