"""The score histogram of a profile with its curves: Viterbi scores of HMMER2, or scores of a filter of HMMER3."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from clalign.engines.plan7.hmmer3.funnel import calibration_of as filter_calibration
from clalign.engines.plan7.hmmer3.funnel import survivors_of
from clalign.runs.batches import BIN, joined_bins
from clalign.runs.run_file import RunFile, open_run
from clalign.values.documents import Card
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

from ... import formatting
from ...models.charts.histogram import CUTOFF_WORDS, MAX_BARS, Curve, Histogram, finite

ScoreKind = Literal["viterbi", "msv", "forward"]
"""HMMER2's scores; HMMER3's MSV scores of all sequences; its Forward scores of those that reached that filter."""

UNCORRECTED = "score before bias correction (bits)"

AXES: dict[ScoreKind, str] = {"viterbi": UNCORRECTED, "msv": "MSV score (bits)", "forward": UNCORRECTED}

KIND_WORDS: dict[str, str] = {
    "forward": "Forward scores of those that reached it",
    "msv": "MSV scores of all sequences",
}
"""The scores that the histogram of a HMMER3 profile can show."""

CURVE_POINTS = 600


@dataclass(frozen=True, slots=True)
class ProfileHistogram(Histogram):
    """Scores in bits.

    Attributes
    ----------
    n_searched : float
        Sequences that E-values are for.
    calibration : Calibration or None
        Of the profile.
    fit : GumbelFit or None
        To the scores of this run.
    n_random : float
        Sequences whose expected counts the curve of the calibration shows.
    """

    kind: ScoreKind = "viterbi"
    n_searched: float = 0.0
    calibration: Calibration | None = None
    fit: GumbelFit | None = None
    n_random: float = 0.0

    @property
    def has_thresholds(self) -> bool:
        return self.kind != "msv"

    @property
    def kinds(self) -> dict[str, str]:
        return KIND_WORDS if self.kind in KIND_WORDS else {}

    @property
    def axis(self) -> str:
        return AXES[self.kind]

    @property
    def nothing_words(self) -> str:
        if self.kind == "forward" and self.n_random:
            return "No sequence has reached Forward."
        return super(ProfileHistogram, self).nothing_words

    @property
    def unit(self) -> str:
        return "bits"

    @property
    def n_examined(self) -> float:
        """Number of sequences so far, including those that earlier filters rejected."""
        return self.n_random or self.n_scores

    def curve(self, name: str) -> Curve | None:
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
        lines = []
        if self.kind == "forward" and self.calibration is not None:
            numbers = formatting.curve("tau", self.calibration.location, self.calibration.slope)
            random = formatting.plural(round(self.n_random), "random sequence")
            return [("calibration", f"Expected for {random} without filters: {numbers}")]
        if self.calibration is not None:
            numbers = formatting.curve("mu", self.calibration.location, self.calibration.slope)
            lines.append(("calibration", f"Calibration of the profile: {numbers}"))
        if self.fit is not None:
            numbers = formatting.curve("mu", self.fit.mu, self.fit.slope)
            lines.append(("fit", f"Fitted to this run: {numbers}. {formatting.with_minus(self.fit.words)}."))
        return lines

    def bar_bounds(self, low: float, high: float) -> str:
        return formatting.signed(f"from {low:g} to {high:g} bits")


def calibration_of(card: Card) -> Calibration | None:
    """Return the calibration in a profile's card."""
    entry = card.get("calibration")
    return Calibration("gumbel", entry["mu"], entry["lambda"]) if entry else None


def read_profile_histogram(path: Path, profile: int, kind: ScoreKind = "forward") -> ProfileHistogram:
    """Read the histogram of a profile.

    HMMER2's scores, which are those of all sequences, are fitted. HMMER3's never are: the MSV scores have the
    profile's own calibration, and Forward scores are only those of sequences that pass the filters.

    Parameters
    ----------
    kind : str
        Which scores of a HMMER3 profile: ``forward``, by which hits are judged, or ``msv``, which all sequences have.
    """
    with open_run(path) as run:
        card = run.cards()[profile]
        if card["origin"] == "hmmer3":
            return _hmmer3_histogram(run, profile, card, kind)
        left, bins = run.drawn_bins(profile)
        n_searched = float(run.facts.n_targets or bins.sum())
    fit = fit_gumbel(left + BIN / 2000, bins) if len(left) else None
    made = _histogram(card, left, bins, n_searched, calibration_of(card), cutoffs_of(card))
    return replace(made, fit=fit)


def _histogram(
    card: Card,
    left: npt.NDArray[np.float64],
    bins: npt.NDArray[np.int64],
    n_searched: float,
    calibration: Calibration | None,
    marks: dict[str, float],
) -> ProfileHistogram:
    """Return the histogram of the scores in bins."""
    (edges, counts), n = joined_bins(left, bins, BIN / 1000, MAX_BARS), int(bins.sum())
    report, significant = finite(card.get("report_score")), finite(card.get("include_score"))
    return ProfileHistogram(edges, counts, n, report, significant, marks, "viterbi", n_searched, calibration)


def cutoffs_of(card: Card) -> dict[str, float]:
    """Return the sequence scores of the model cutoffs of a profile, by their short names."""
    pairs = (card.get("cutoffs") or {}).items()
    return {name: float(pair[0]) for name, pair in pairs if pair and name in CUTOFF_WORDS}


def _hmmer3_histogram(run: RunFile, profile: int, card: Card, kind: ScoreKind) -> ProfileHistogram:
    left, bins = run.histogram(profile)
    n_all = int(bins.sum())
    calibration = filter_calibration(card, kind)
    if kind == "forward":
        scores = survivors_of(run, profile).forward
        places, bins = np.unique(np.floor(scores[np.isfinite(scores)] * 1000 / BIN), return_counts=True)
        left = places * (BIN / 1000)
        limit = hmmer3_tail_score(card["filter_limits"]["f3"], calibration)
        marks = {"f3": limit, **cutoffs_of(card)}
    else:
        marks = {"f1": finite(card.get("histogram_pass_score"))}
    n_searched = float(card.get("n_targets") or run.facts.n_targets or n_all)
    known = {name: score for name, score in marks.items() if np.isfinite(score)}
    return replace(_histogram(card, left, bins, n_searched, calibration, known), kind=kind, n_random=float(n_all))
