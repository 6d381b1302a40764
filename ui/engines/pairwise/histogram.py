"""The histogram of the scores of a query, with the curve that its statistics expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from clalign.common.plain_data import Json
from clalign.runs.batches import joined_bins
from clalign.runs.run_file import open_run
from clalign.values.karlin_altschul import Statistics

from ... import formatting
from ...models.charts.histogram import Curve, Histogram, finite

MAX_BARS = 2000
"""Scores beyond which bars are joined."""

REACH = 3.0
"""The plot extends beyond the threshold by this multiple of its distance from the most frequent score."""

MIN_CURVE_BARS = 2
"""Bars that a curve needs."""


@dataclass(frozen=True, slots=True)
class PairHistogram(Histogram):
    """Scores in units of the matrix.

    Attributes
    ----------
    n_searched : float
        Targets that E-values are for.
    statistics, fitted : dict or None
        The source of E-values, and the fit to the scores of the run.
    expected_counts : float64[n]
        How many targets each score would have by chance, from `first_expected` on.
    first_expected : int
    scores, targets : float64[n], int64[n] or None
        How many targets have each score, where bars may have been joined.
    """

    n_searched: float = 0.0
    statistics: Json | None = None
    fitted: Json | None = None
    expected_counts: npt.NDArray[np.float64] | None = None
    first_expected: int = 0
    scores: npt.NDArray[np.float64] | None = None
    targets: npt.NDArray[np.int64] | None = None

    step: ClassVar[float] = 1.0

    @property
    def axis(self) -> str:
        return "score (units of the matrix)"

    @property
    def last_shown(self) -> float:
        """The largest score in the first view: distant relatives would squeeze the chance distribution."""
        if not np.isfinite(self.report_score) or self.report_score <= self.usual:
            return float(self.edges[-1])
        return min(float(self.edges[-1]), self.report_score + REACH * (self.report_score - self.usual))

    @property
    def usual(self) -> float:
        """The most frequent score."""
        return float(self.edges[int(self.counts.argmax())])

    @property
    def n_beyond(self) -> int:
        """Number of targets to the right of `last_shown`."""
        return self.n_from(self.last_shown) if len(self.counts) else 0

    def further_words(self) -> str:
        """Return how many relatives are out of view, and their highest score."""
        if not self.n_beyond:
            return ""
        best = formatting.count(float(self.edges[-1]) - 1)
        return f"{formatting.plural(self.n_beyond, 'target')} further right, up to {best}: show all"

    def curve(self, name: str) -> Curve | None:
        """Return the expected counts: solid if from tables, dashed if fitted."""
        if self.expected_counts is None or not self.statistics or len(self.counts) < MIN_CURVE_BARS:
            return None
        if name != ("fit" if self.statistics["kind"] == "fitted" else "calibration"):
            return None
        # A bar from a to b counts the scores a, a + 1, ..., b - 1.
        sums = np.concatenate([[0.0], np.cumsum(self.expected_counts)])
        places = np.clip(self.edges - self.first_expected, 0, len(self.expected_counts)).astype(np.int64)
        middles, expected = (self.edges[:-1] + self.edges[1:]) / 2, np.diff(sums[places])
        # Left of its dip the curve is of targets shorter than BLAST's length adjustment, where it says nothing.
        peak = int(expected.argmax())
        dip = next((i for i in range(peak, 0, -1) if expected[i - 1] > expected[i]), 0)
        return middles[dip:], expected[dip:]

    def by_chance(self, score: float) -> float | None:
        """Return how many targets reach a score by chance; None if unknown.

        This is the E-value, so that line and table agree, but at most the number of targets.
        """
        if not self.statistics:
            return None
        evalue = Statistics.from_dict(self.statistics).evalue(math.ceil(score))
        return -self.n_searched * math.expm1(-evalue / self.n_searched)

    def n_from(self, score: float) -> int:
        """Return how many targets reach a score."""
        if self.scores is None or self.targets is None:
            return int(self.counts[self.edges[:-1] >= score].sum())
        return int(self.targets[self.scores >= score].sum())

    def legend(self) -> list[tuple[str, str]]:
        """Return the entries of the curve, and beside published statistics the fitted ones."""
        shown, fitted = self.statistics, self.fitted
        if not shown:
            return []
        of = {
            "published": "Expected by the published statistics of this scoring",
            "computed": "Expected by statistics computed from the matrix",
            "fitted": f"Fitted to {formatting.plural(shown.get('n_fitted') or 0, 'score')} of this run",
        }
        name = "fit" if shown["kind"] == "fitted" else "calibration"
        lines = [(name, f"{of[shown['kind']]}: {_numbers(shown)}")] if self.curve(name) is not None else []
        if fitted and shown["kind"] != "fitted":
            lines.append(("", f"For comparison, a fit to this run gives {_numbers(fitted)}"))
        return lines

    def bar_bounds(self, low: float, high: float) -> str:
        last = round(high) - 1
        return f"with a score of {low:g}" if last <= low else f"with scores from {low:g} to {last}"


def _numbers(statistics: Json) -> str:
    return f"lambda {statistics['lambda']:.3f}, K {statistics['k']:.3g}"


def read_pair_histogram(path: Path, query: int) -> PairHistogram:
    """Read the histogram of a query."""
    with open_run(path) as run:
        card = run.card(query)
        left, bins = run.drawn_bins(query)
        n_targets = float(run.facts.n_targets or 0)
    edges, counts = joined_bins(left, bins, float(card.get("histogram_bin") or 1), MAX_BARS)
    curve = card.get("curve")
    return PairHistogram(
        edges=edges,
        counts=counts,
        n_scores=int(bins.sum()),
        n_searched=n_targets or float(bins.sum()),
        report_score=finite(card.get("histogram_report_score")),
        least_significant_score=float("-inf"),
        statistics=card.get("statistics"),
        fitted=card.get("fitted"),
        expected_counts=np.array(curve["counts"], np.float64) if curve else None,
        first_expected=int(curve["first"]) if curve else 0,
        scores=left,
        targets=bins,
    )
