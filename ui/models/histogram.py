"""The score histogram of a run: bars, curves, thresholds. Numbers only, no drawing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clalign.runs.batches import BIN
from clalign.runs.funnel import calibration_of as filter_calibration
from clalign.runs.funnel import survivors_of
from clalign.runs.run_file import RunFile, open_run
from clalign.values.evalues import (
    GumbelFit,
    exponential_survival,
    fit_gumbel,
    gumbel_density,
    gumbel_survival,
    hmmer2_pvalue,
    hmmer3_tail_score,
)
from clalign.values.profiles import Calibration

from .. import formatting

MAX_BARS = 240
"""More bars than this are joined in pairs, so that each can be seen and hovered."""

NO_SCORE = -1e5
"""A sequence without residues has a score far below any real one; it is not drawn."""

CUTOFF_WORDS = {"ga": "GA", "tc": "TC", "nc": "NC", "f1": "MSV filter (F1)", "f3": "Forward filter (F3)"}

MODEL_CUTOFFS = ("ga", "tc", "nc")

ScoreKind = Literal["viterbi", "msv", "forward", "raw"]
"""HMMER2's scores; HMMER3's MSV scores of all sequences; its Forward scores of those that got that far; scores of
pairs of sequences."""

AXES: dict[ScoreKind, str] = {
    "viterbi": "score (bits)", "msv": "MSV score (bits)", "forward": "Forward score (bits)",
    "raw": "score (units of the matrix)",
}  # fmt: skip

CURVE_POINTS = 600

Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""Scores (float64[n]) and how many sequences a bar there would hold by chance (float64[n])."""

KIND_WORDS: dict[ScoreKind, str] = {
    "msv": "MSV scores of all sequences",
    "forward": "Forward scores of those that got that far",
}
"""What a HMMER3 profile's histogram can show."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """What the histogram shows.

    Attributes
    ----------
    edges : float64[n + 1]
        Bounds of the bars in bits.
    counts : int64[n]
    n_scores : int
        Sequences scored so far.
    n_searched : float
        Sequences that E-values are for.
    calibration : Calibration or None
        Of the profile.
    fit : GumbelFit or None
        To the scores of this run.
    cutoffs : dict
        Score of each model cutoff, by its short name.
    report_score, include_score : float
        In bits.
    kind : str
        Which scores they are.
    n_random : float
        Sequences whose expected counts the curve of the calibration shows.
    """

    edges: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    n_scores: int
    n_searched: float
    calibration: Calibration | None
    fit: GumbelFit | None
    cutoffs: dict[str, float]
    report_score: float
    include_score: float
    kind: ScoreKind = "viterbi"
    n_random: float = 0.0

    @property
    def has_thresholds(self) -> bool:
        """Whether the thresholds for hits are about these scores."""
        return self.kind != "msv"

    @property
    def has_kinds(self) -> bool:
        """Whether the histogram of other scores can be shown instead."""
        return self.kind in KIND_WORDS

    @property
    def axis(self) -> str:
        """What stands at the axis of scores."""
        return AXES[self.kind]

    @property
    def step(self) -> float:
        """By how much a key moves a threshold."""
        return 0.5

    @property
    def least_span(self) -> float:
        """How many units of score are in view at least."""
        return 0.0

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
        curve = self.calibration if name == "calibration" else self.fit
        if curve is None:
            return None
        scores = np.linspace(self.edges[0], self.edges[-1], CURVE_POINTS)
        return scores, self.expected(curve, scores)

    def expected(self, curve: Calibration | GumbelFit, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return how many sequences a bar at each score would hold by chance."""
        if isinstance(curve, GumbelFit):
            return curve.density(scores) * self.n_scores * self.bar_width
        if curve.kind == "exponential":
            tail = np.exp(-curve.slope * np.maximum(scores - curve.location, 0.0))
            density = np.where(scores >= curve.location, curve.slope * tail, 0.0)
            return density * self.n_random * self.bar_width
        return gumbel_density(scores, curve.location, curve.slope) * (self.n_random or self.n_scores) * self.bar_width

    def pvalue(self, score: float) -> float:
        """Return the chance that a random sequence scores at least this much."""
        if self.kind == "viterbi" or self.calibration is None:
            return float(hmmer2_pvalue(np.float32(score), self.calibration))
        survival = exponential_survival if self.kind == "forward" else gumbel_survival
        return survival(score, self.calibration.location, self.calibration.slope)

    def evalue(self, score: float) -> float:
        """Return the E-value of a score."""
        return self.pvalue(score) * self.n_searched

    def legend(self) -> list[tuple[str, str]]:
        """Return a line for each curve: ``calibration`` or ``fit``, and its words."""
        lines = []
        if self.kind == "forward" and self.calibration is not None:
            numbers = f"tau {self.calibration.location:.2f}, lambda {self.calibration.slope:.3f}"
            random = formatting.plural(round(self.n_random), "random sequence")
            return [("calibration", f"What {random} would give, had no filter stopped any: {numbers}")]
        if self.calibration is not None:
            lines.append(("calibration", f"Calibration of the profile: {_numbers(self.calibration)}"))
        if self.fit is not None:
            numbers = f"mu {self.fit.mu:.2f}, lambda {self.fit.slope:.3f}"
            lines.append(("fit", f"Fitted to this run: {numbers}. {self.fit.words}."))
        return lines

    def bar_at(self, score: float) -> str:
        """Return the words for the bar at a score; empty beside the bars."""
        place = int(np.searchsorted(self.edges, score, side="right")) - 1
        if not 0 <= place < len(self.counts) or not self.counts[place]:
            return ""
        low, high = self.edges[place], self.edges[place + 1]
        return f"{formatting.plural(int(self.counts[place]), 'sequence')} {self._bounds(low, high)}"

    def _bounds(self, low: float, high: float) -> str:
        return f"from {low:g} to {high:g} bits"

    def snapped(self, score: float, reach: float) -> float:
        """Return the model cutoff within reach of a score, or the score."""
        near = [c for c in self.cutoffs.values() if abs(c - score) <= reach]
        return min(near, key=lambda c: abs(c - score)) if near else score


def grouped_cutoffs(cutoffs: dict[str, float], near: float) -> list[tuple[float, str]]:
    """Return where the model cutoffs are, with their words; those that lie together share a label."""
    groups: list[tuple[float, list[str]]] = []
    for name, score in sorted(cutoffs.items(), key=lambda entry: entry[1]):
        shown = f"{score:g}" if name in MODEL_CUTOFFS else f"{score:.1f}".replace("-", "−")
        text = f"{CUTOFF_WORDS[name]} {shown}"
        if groups and score - groups[-1][0] <= near:
            groups[-1][1].append(text)
        else:
            groups.append((score, [text]))
    return [(score, " · ".join(texts)) for score, texts in groups]


def _numbers(calibration: Calibration) -> str:
    return f"mu {calibration.location:.2f}, lambda {calibration.slope:.3f}"


def calibration_of(card: dict[str, Any]) -> Calibration | None:
    """Return the calibration in a profile's card."""
    entry = card.get("calibration")
    return Calibration("gumbel", entry["mu"], entry["lambda"]) if entry else None


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


def read_histogram(path: Path, profile: int, kind: ScoreKind = "msv") -> Histogram:
    """Read the histogram of a profile.

    HMMER2's scores, which are those of all sequences, are fitted. HMMER3's never are: the MSV scores have the
    profile's own calibration, and Forward scores are only those that filters let through.

    Parameters
    ----------
    kind : str
        Which scores of a HMMER3 profile: ``msv`` or ``forward``.
    """
    with open_run(path) as run:
        card = run.profiles()[profile]
        if card["origin"] == "hmmer3":
            return _hmmer3_histogram(run, profile, card, kind)
        left, bins = run.histogram(profile)
        n_targets = float(run.fact("n_targets") or 0)
    scored = left > NO_SCORE
    left, bins = left[scored], bins[scored]
    edges, counts = joined(left, bins)
    return Histogram(
        edges=edges,
        counts=counts,
        n_scores=int(bins.sum()),
        n_searched=n_targets or float(bins.sum()),
        calibration=calibration_of(card),
        fit=fit_gumbel(left + BIN / 2000, bins) if len(left) else None,
        cutoffs=cutoffs_of(card),
        report_score=finite(card.get("report_score")),
        include_score=finite(card.get("include_score")),
    )


def cutoffs_of(card: dict[str, Any]) -> dict[str, float]:
    """Return the sequence scores of the model cutoffs that a profile has, by their short names."""
    pairs = (card.get("cutoffs") or {}).items()
    return {name: float(pair[0]) for name, pair in pairs if pair and name in CUTOFF_WORDS}


def _hmmer3_histogram(run: RunFile, profile: int, card: dict[str, Any], kind: ScoreKind) -> Histogram:
    left, bins = run.histogram(profile)
    n_all = int(bins.sum())
    calibration = filter_calibration(card, kind)
    if kind == "forward":
        scores = survivors_of(run.connection, profile).forward
        places, bins = np.unique(np.floor(scores[np.isfinite(scores)] * 1000 / BIN), return_counts=True)
        left = places * (BIN / 1000)
        limit = hmmer3_tail_score(card["filter_limits"]["f3"], calibration)
        marks = {"f3": limit, **cutoffs_of(card)}
    else:
        marks = {"f1": finite(card.get("histogram_pass_score"))}
    edges, counts = joined(left, bins)
    return Histogram(
        edges=edges,
        counts=counts,
        n_scores=int(bins.sum()),
        n_searched=float(card.get("n_targets") or run.fact("n_targets") or n_all),
        calibration=calibration,
        fit=None,
        cutoffs={name: score for name, score in marks.items() if np.isfinite(score)},
        report_score=finite(card.get("report_score")),
        include_score=finite(card.get("include_score")),
        kind=kind,
        n_random=float(n_all),
    )


def finite(score: float | None) -> float:
    """Return a threshold; a missing one lets everything pass."""
    return float("-inf") if score is None else float(score)
