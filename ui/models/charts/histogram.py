"""The score histogram of a run: bars, curves, thresholds. Numbers only, no drawing."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from clalign.runs.batches import BIN, joined_bins
from clalign.runs.pages import compared_hits
from clalign.runs.run_file import open_run
from clalign.values.axes import MINUS, tick_text

from ... import formatting

MIN_BAR_WIDTH = 0.25
"""Powers of ten of E-values, or units of score."""

MAX_BARS = 240
"""Number beyond which bars are joined in pairs, so that each is visible."""

CUTOFF_WORDS = {"ga": "GA", "tc": "TC", "nc": "NC", "f1": "filter F1 stops below", "f3": "filter F3 stops below"}

MODEL_CUTOFFS = ("ga", "tc", "nc")

Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Scores (float64[n]) and the number of sequences that a bar would hold by chance (float64[n])."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """Bars, curves and thresholds of the scores of a query.

    Attributes
    ----------
    edges : float64[n + 1]
        Bounds of the bars.
    counts : int64[n]
    n_scores : int
        Targets scored so far.
    report_score, least_significant_score : float
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
    least_significant_score: float
    cutoffs: dict[str, float] = field(default_factory=dict)
    kind: str = ""

    noun: ClassVar[str] = "sequence"
    """What the bars count."""

    step: ClassVar[float] = 0.5
    """By which a key moves a threshold."""

    @property
    def has_thresholds(self) -> bool:
        """Whether the thresholds of hits refer to these scores."""
        return True

    @property
    def kinds(self) -> dict[str, str]:
        """Titles of the scores that can be shown instead, by kind; empty if there are none."""
        return {}

    @property
    def axis(self) -> str:
        """The title of the score axis."""
        return "score"

    @property
    def axes(self) -> str:
        """The titles of both axes."""
        return f"{self.noun}s by {self.axis}"

    @property
    def nothing_words(self) -> str:
        """The text in place of a plot without bars."""
        return f"No {self.noun} has a score."

    def tick_words(self, place: float) -> str:
        """Return the label at a place of the score axis."""
        return tick_text(round(place, 6))

    @property
    def n_examined(self) -> float:
        """Number of targets so far."""
        return self.n_scores

    @property
    def last_shown(self) -> float:
        """The largest score in the first view."""
        return float(self.edges[-1])

    @property
    def bar_width(self) -> float:
        """Width of a bar in bits."""
        return float(self.edges[1] - self.edges[0]) if len(self.edges) > 1 else BIN / 1000

    def curve(self, name: str) -> Curve | None:
        """Return a curve of `legend`, or None if it does not exist."""
        return None

    def legend(self) -> list[tuple[str, str]]:
        """Return an entry for each curve: ``calibration`` or ``fit``, and its text."""
        return []

    def bars_words(self) -> str:
        """Return the meaning of the bars, for the legend."""
        counted = formatting.plural(self.n_scores, self.noun)
        return counted if self.bar_width == 1 else f"{counted}, {self.bar_width:g} {self.unit} a bar"

    @property
    def unit(self) -> str:
        """The unit of scores."""
        return "units of score"

    def further_words(self) -> str:
        """Return a note on scores outside of the first view; empty if all are in view."""
        return ""

    def bounds_at(self, score: float) -> tuple[float, float] | None:
        """Return the bounds of the bar at a score; None if there is none."""
        place = int(np.searchsorted(self.edges, score, side="right")) - 1
        if not 0 <= place < len(self.counts) or not self.counts[place]:
            return None
        return float(self.edges[place]), float(self.edges[place + 1])

    def bar_at(self, score: float) -> str:
        """Return the description of the bar at a score; empty if there is none."""
        bounds = self.bounds_at(score)
        if bounds is None:
            return ""
        number = int(self.counts[int(np.searchsorted(self.edges, score, side="right")) - 1])
        return f"{formatting.plural(number, self.noun)} {self.bar_bounds(*bounds)}"

    def bar_bounds(self, low: float, high: float) -> str:
        """Return the scores of a bar as text."""
        return formatting.signed(f"from {low:g} to {high:g}")

    def snapped(self, score: float, reach: float) -> float:
        """Return the model cutoff within reach of a score, or the score."""
        near = [c for c in self.cutoffs.values() if abs(c - score) <= reach]
        return min(near, key=lambda c: abs(c - score)) if near else score


@dataclass(frozen=True, slots=True)
class HitHistogram(Histogram):
    """The hits of all queries by E-value, the smallest at the right; by score if there are no E-values.

    Attributes
    ----------
    n_without : int
        Hits without an E-value, which are not among the bars.
    """

    n_without: int = 0

    noun: ClassVar[str] = "hit"

    @property
    def has_thresholds(self) -> bool:
        """False: each query has its own."""
        return False

    @property
    def axis(self) -> str:
        return "E-value" if self.kind == "evalue" else "score"

    @property
    def nothing_words(self) -> str:
        return "There are no hits."

    @property
    def unit(self) -> str:
        return "powers of ten" if self.kind == "evalue" else "units of score"

    def tick_words(self, place: float) -> str:
        if self.kind != "evalue":
            return super(HitHistogram, self).tick_words(place)
        return f"{10**-place:.3g}" if -5 < place < 4 else f"1e{-place:.4g}".replace("-", MINUS)

    def place(self, evalue: float, score: float) -> float:
        """Return the place of a hit on the axis; not a number if it has no E-value."""
        return float(_places(np.array([evalue]), np.array([score]))[0]) if self.kind == "evalue" else score

    def bar_bounds(self, low: float, high: float) -> str:
        if self.kind != "evalue":
            return formatting.signed(f"with scores from {low:g} to {high:g}")
        if high > MIN_EVALUE:
            return f"with E-values below {formatting.evalue(10**-low)}"
        return f"with E-values from {formatting.evalue(10**-high)} to {formatting.evalue(10**-low)}"

    def sentence(self, n_queries: int, noun: str, nouns: str) -> str:
        """Return the description of the histogram of some queries; `nouns` is their plural."""
        hits = f"All {formatting.plural(self.n_scores, 'hit')} of {formatting.plural(n_queries, noun, nouns)}"
        if self.kind != "evalue":
            return f"{hits}, by score: none has an E-value. A click on a bar selects its hits."
        without = f" Hits without an E-value: {formatting.count(self.n_without)}." if self.n_without else ""
        return (
            f"{hits}, by E-value, the best at the right; scores of different {nouns} cannot be compared. A click on a"
            f" bar selects its hits. For all scores and thresholds, choose a {noun} in the list.{without}"
        )


MIN_EVALUE = 323
"""Smaller E-values than ten to the power of minus this are stored as 0; they are in the last bar."""


def _places(evalues: npt.NDArray[np.float64], scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the places of hits in a `HitHistogram` (float64[n]); NaN for those that are left out."""
    if np.isnan(evalues).all():
        return scores
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log10(evalues), float(MIN_EVALUE))


def read_histogram(path: Path, query: int) -> Histogram:
    """Read the histogram of a query of any engine."""
    with open_run(path) as run:
        card, (left, bins) = run.card(query), run.drawn_bins(query)
    edges, counts = joined_bins(left, bins, BIN / 1000, MAX_BARS)
    report, significant = finite(card.get("report_score")), finite(card.get("include_score"))
    return Histogram(edges, counts, int(bins.sum()), report, significant)


def read_hit_histogram(path: Path) -> HitHistogram:
    """Read the histogram of the hits of all queries."""
    _, evalues, scores = compared_hits(path)
    places = _places(evalues, scores)
    known = places[~np.isnan(places)]
    bins, found = np.unique(np.floor(known / MIN_BAR_WIDTH), return_counts=True)
    edges, counts = joined_bins(bins * MIN_BAR_WIDTH, found, MIN_BAR_WIDTH, MAX_BARS)
    return HitHistogram(
        edges, counts, len(known), -np.inf, -np.inf,
        kind="score" if places is scores and len(scores) else "evalue", n_without=len(places) - len(known),
    )  # fmt: skip


def hits_in_bar(path: Path, low: float, high: float) -> list[int]:
    """Return the ids of the hits in a bar of a `HitHistogram`, best first."""
    ids, evalues, scores = compared_hits(path)
    places = _places(evalues, scores)
    inside = np.flatnonzero((places >= low) & (places < high))
    return [int(key) for key in ids[inside[np.lexsort((-scores[inside], evalues[inside]))]]]


def bar_words(bar: str, n_hits: int, n_chosen: int, elsewhere: bool) -> str:
    """Return the result of a click on a bar that `bar` describes; the table may be in another tab."""
    where = " in the tab Hits" if elsewhere else ""
    if not n_hits:
        return f"{bar}: none of them is a hit"
    if n_chosen == n_hits:
        return f"{bar}: {formatting.plural(n_hits, 'hit')} selected{where}"
    hits = formatting.plural(n_hits, "hit")
    return f"{bar}: {hits}, of which {formatting.count(n_chosen)} of those in the table are selected{where}"


def grouped_cutoffs(cutoffs: dict[str, float], near: float) -> list[tuple[float, str]]:
    """Return the places of the model cutoffs with their titles; neighbors share a title."""
    groups: list[tuple[float, list[str]]] = []
    for name, score in sorted(cutoffs.items(), key=lambda entry: entry[1]):
        shown = formatting.signed(f"{score:g}" if name in MODEL_CUTOFFS else f"{score:.1f}")
        text = f"{CUTOFF_WORDS[name]} {shown}"
        if groups and score - groups[-1][0] <= near:
            groups[-1][1].append(text)
        else:
            groups.append((score, [text]))
    return [(score, " · ".join(texts)) for score, texts in groups]


def finite(score: float | None) -> float:
    """Return a threshold; a missing one is minus infinity."""
    return float("-inf") if score is None else float(score)
