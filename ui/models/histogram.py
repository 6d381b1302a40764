"""The score histogram of a run: bars, curves, thresholds. Numbers only, no drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign.runs.batches import BIN, NO_SCORE
from clalign.runs.run_file import RunFile, open_run

from .. import formatting

MAX_BARS = 240
"""More bars than this are joined in pairs, so that each can be seen and hovered."""

CUTOFF_WORDS = {"ga": "GA", "tc": "TC", "nc": "NC", "f1": "MSV filter (F1)", "f3": "Forward filter (F3)"}

MODEL_CUTOFFS = ("ga", "tc", "nc")

Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Scores (float64[n]) and how many sequences a bar there would hold by chance (float64[n])."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """What the histogram shows.

    Attributes
    ----------
    edges : float64[n + 1]
        Bounds of the bars.
    counts : int64[n]
    n_scores : int
        Targets scored so far.
    report_score, include_score : float
        The thresholds.
    cutoffs : dict
        Other scores that are marked, by their short names.
    kind : str
        Which scores they are.
    """

    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    n_scores: int
    report_score: float
    include_score: float
    cutoffs: dict[str, float] = field(default_factory=dict)
    kind: str = ""

    @property
    def has_thresholds(self) -> bool:
        """Whether the thresholds for hits are about these scores."""
        return True

    @property
    def kinds(self) -> dict[str, str]:
        """What can be shown instead: words, by kind; empty if there is nothing."""
        return {}

    @property
    def axis(self) -> str:
        """What stands at the axis of scores."""
        return "score"

    @property
    def n_looked_at(self) -> float:
        """Number of targets that were looked at so far."""
        return self.n_scores

    @property
    def step(self) -> float:
        """By how much a key moves a threshold."""
        return 0.5

    @property
    def least_span(self) -> float:
        """How many units of score are in view at least: a single bar would be a solid block."""
        return 20.0

    @property
    def last_shown(self) -> float:
        """Up to where the scores are shown at first."""
        return float(self.edges[-1])

    @property
    def bar_width(self) -> float:
        """Width of a bar in bits."""
        return float(self.edges[1] - self.edges[0]) if len(self.edges) > 1 else BIN / 1000

    def curve(self, name: str) -> Curve | None:
        """Return a curve of `legend`, or None if there is none such."""
        return None

    def legend(self) -> list[tuple[str, str]]:
        """Return a line for each curve: ``calibration`` or ``fit``, and its words."""
        return []

    def bars_words(self) -> str:
        """Return what the bars are, for the legend."""
        sequences = formatting.plural(self.n_scores, "sequence")
        return sequences if self.bar_width == 1 else f"{sequences}, {self.bar_width:g} {self.unit} a bar"

    @property
    def unit(self) -> str:
        """What scores are counted in."""
        return "units of score"

    def further_words(self) -> str:
        """Return what is said of scores that are out of view at first; empty if all are in view."""
        return ""

    def bounds_at(self, score: float) -> tuple[float, float] | None:
        """Return the bounds of the bar at a score; None beside the bars."""
        place = int(np.searchsorted(self.edges, score, side="right")) - 1
        if not 0 <= place < len(self.counts) or not self.counts[place]:
            return None
        return float(self.edges[place]), float(self.edges[place + 1])

    def bar_at(self, score: float) -> str:
        """Return the words for the bar at a score; empty beside the bars."""
        bounds = self.bounds_at(score)
        if bounds is None:
            return ""
        number = int(self.counts[int(np.searchsorted(self.edges, score, side="right")) - 1])
        return f"{formatting.plural(number, 'sequence')} {self.bar_bounds(*bounds)}"

    def bar_bounds(self, low: float, high: float) -> str:
        """Return the words for the scores of a bar."""
        return formatting.signed(f"from {low:g} to {high:g}")

    def snapped(self, score: float, reach: float) -> float:
        """Return the model cutoff within reach of a score, or the score."""
        near = [c for c in self.cutoffs.values() if abs(c - score) <= reach]
        return min(near, key=lambda c: abs(c - score)) if near else score


def bar_words(bar: str, n_hits: int, n_chosen: int, elsewhere: bool) -> str:
    """Return what came of a click on a bar, which `bar` describes; the table may be in another tab."""
    where = " in the tab Hits" if elsewhere else ""
    if not n_hits:
        return f"{bar}: none of them is a hit"
    if n_chosen == n_hits:
        return f"{bar}: {formatting.plural(n_hits, 'hit')} selected{where}"
    hits = formatting.plural(n_hits, "hit")
    return f"{bar}: {hits}, of which {formatting.count(n_chosen)} of those in the table are selected{where}"


def grouped_cutoffs(cutoffs: dict[str, float], near: float) -> list[tuple[float, str]]:
    """Return where the model cutoffs are, with their words; those that lie together share a label."""
    groups: list[tuple[float, list[str]]] = []
    for name, score in sorted(cutoffs.items(), key=lambda entry: entry[1]):
        shown = formatting.signed(f"{score:g}" if name in MODEL_CUTOFFS else f"{score:.1f}")
        text = f"{CUTOFF_WORDS[name]} {shown}"
        if groups and score - groups[-1][0] <= near:
            groups[-1][1].append(text)
        else:
            groups.append((score, [text]))
    return [(score, " · ".join(texts)) for score, texts in groups]


def joined(
    edges: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], width: float = BIN / 1000, most: int = MAX_BARS
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return bounds and counts of not too many bars of equal width, empty ones included.

    Parameters
    ----------
    edges : float64[n]
        Left bounds of the filled bins.
    counts : int64[n]
    width : float
        Of a bin; 1/4 bit.
    most : int
        Bars at most.
    """
    if not len(edges):
        return np.zeros(0), np.zeros(0, np.int64)
    while (edges[-1] - edges[0]) / width >= most - 2:
        width *= 2
    places = np.floor(edges / width).astype(np.int64)
    first, n_bars = places[0], int(places[-1] - places[0]) + 1
    sums = np.bincount(places - first, counts, n_bars).astype(np.int64)
    return (first + np.arange(n_bars + 1)) * width, sums


def drawn_bins(run: RunFile, query: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return left bounds and counts of the bins of a query, without those of targets that have no residues."""
    left, bins = run.histogram(query)
    scored = left > NO_SCORE
    return left[scored], bins[scored]


def read_histogram(path: Path, query: int) -> Histogram:
    """Read the histogram of a query."""
    with open_run(path) as run:
        card, (left, bins) = run.card(query), drawn_bins(run, query)
    edges, counts = joined(left, bins)
    least, include = finite(card.get("report_score")), finite(card.get("include_score"))
    return Histogram(edges, counts, int(bins.sum()), least, include)


def finite(score: float | None) -> float:
    """Return a threshold; a missing one lets everything pass."""
    return float("-inf") if score is None else float(score)
