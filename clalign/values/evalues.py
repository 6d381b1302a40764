"""Score statistics: P-values, E-values, fits of the Gumbel distribution, histograms. Functions of numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.profiles import INT_SCALE, LN_2, Calibration

LOG2_LARGEST_DOUBLE = 1024.0
EVD_CERTAIN = -math.log(-math.log(2.22e-16))
EVD_NEVER = 2.3 * 308
SMALL = 1e-7

MIN_NORMAL = sys.float_info.min
"""HMMER3 takes smaller numbers for 0: it switches the processor to that for speed."""

SMALL_SURVIVAL = 5e-9
"""Below this, 1 - exp(-x) is taken for x by HMMER3."""

LARGEST_EXPONENT = 700.0

MIN_FIT = 500
"""A fit to fewer scores is called doubtful."""

MAX_REFITS = 20

MAX_STEPS = 100
"""Limit of the steps of Newton's method."""

POOR_DISTANCE = 0.2
"""Share of the scores that lie in other bins of a bit than the fit says, from which on it is called poor."""

MIN_TAIL = 20
"""Scores that a fit must expect above a threshold to be judged there: chance alone hardly halves or doubles as many."""

MAX_TAIL_FACTOR = 2.0
"""Ratio of expected to observed scores above a threshold, either way, from which on a fit is called poor."""


def flushed(value: float) -> float:
    """Return a number that is not negative as HMMER3 has it: 0 if it is below the smallest normal one."""
    return value if value >= MIN_NORMAL else 0.0


def hmmer3_evalue(log_pvalue: float, n_targets: float) -> float:
    """Return the E-value of the natural logarithm of a P-value among this many targets as HMMER3 computes it."""
    return flushed(flushed(math.exp(log_pvalue)) * n_targets)


def hmmer3_evalues(log_pvalues: Sequence[float], n_targets: float) -> list[float]:
    """Return the E-value of each of some P-values; see `hmmer3_evalue`."""
    pvalues = [value if value >= MIN_NORMAL else 0.0 for value in map(math.exp, log_pvalues)]
    return [value if (value := pvalue * n_targets) >= MIN_NORMAL else 0.0 for pvalue in pvalues]


def gumbel_survival(score: float, location: float, slope: float) -> float:
    """Return the P-value of a score in bits under a Gumbel distribution as HMMER3 computes it."""
    density = flushed(math.exp(min(-slope * (score - location), LARGEST_EXPONENT)))
    return density if density < SMALL_SURVIVAL else 1.0 - math.exp(-density)


def exponential_survival(score: float, location: float, slope: float) -> float:
    """Return the P-value of a score in bits under an exponential tail as HMMER3 computes it."""
    return 1.0 if score < location else flushed(math.exp(-slope * (score - location)))


def hmmer2_bound(score: float) -> float:
    """Return HMMER2's upper bound of the P-value of a score in bits, 1 / (1 + 2^score)."""
    if score >= LOG2_LARGEST_DOUBLE:
        return 0.0
    if score <= -LOG2_LARGEST_DOUBLE:
        return 1.0
    return 1.0 / (1.0 + math.exp(score * LN_2))


def hmmer2_extreme_value(score: np.float32, mu: np.float32, slope: np.float32) -> float:
    """Return the right tail of the Gumbel distribution as HMMER2 computes it (float32 difference)."""
    difference = np.float32(score - mu)
    z = float(np.float32(slope * difference))
    if z <= EVD_CERTAIN:
        return 1.0
    if z >= EVD_NEVER:
        return 0.0
    y = math.exp(-1.0 * float(slope) * float(difference))
    return y if y < SMALL else 1.0 - math.exp(-y)


def hmmer2_pvalue(score: np.float32, calibration: Calibration | None) -> float:
    """Return the P-value of a score in bits as HMMER2 does.

    Parameters
    ----------
    score : float32
        Bits.
    calibration : Calibration or None
        Without one the result is only an upper bound.
    """
    score = np.float32(score)
    bound = hmmer2_bound(float(score))
    if calibration is None:
        return bound
    tail = hmmer2_extreme_value(score, np.float32(calibration.location), np.float32(calibration.slope))
    return min(bound, tail)


MIN_RAW = -(2**30)
"""Integer score (1/1000 bit) below all that sequences have: that of a limit which all pass."""


def hmmer2_least_score(evalue: float, n_targets: float, calibration: Calibration | None) -> int:
    """Return the least integer score (1/1000 bit) whose E-value does not exceed a limit.

    P-values fall with the score, so one comparison of integers stands for the E-value of each
    sequence. Without any such score the result is larger than every score.
    """
    low, high = MIN_RAW, -MIN_RAW

    def passes(raw: int) -> bool:
        return hmmer2_pvalue(bits(raw), calibration) * n_targets <= evalue

    if passes(low):
        return low
    if not passes(high):
        return high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    return high


def bits(raw: int) -> np.float32:
    """Return an integer score in bits (float32), as HMMER2 does."""
    return np.float32(raw / INT_SCALE)


def hmmer3_gumbel(scores: npt.NDArray[np.float32], calibration: Calibration) -> npt.NDArray[np.float64]:
    """Return the P-values of filter scores in bits as HMMER3 computes them: 0 for infinite ones.

    Parameters
    ----------
    scores : float32[n]
        Bits above the null model, or above what the bias filter puts in its place.
    calibration : Calibration
        Of the MSV or the Viterbi filter.
    """
    mu, slope = _as_read(calibration)
    with np.errstate(over="ignore"):
        y = np.exp(-slope * (scores.astype(np.float64) - mu))
    y = np.where(y < MIN_NORMAL, 0.0, y)
    pvalues: npt.NDArray[np.float64] = np.where(y < SMALL_SURVIVAL, y, 1.0 - np.exp(-y))
    return pvalues


def hmmer3_gumbel_score(pvalue: float, calibration: Calibration) -> float:
    """Return the score in bits that has this P-value."""
    mu, slope = _as_read(calibration)
    if pvalue <= 0.0 or pvalue >= 1.0:
        return -math.inf if pvalue >= 1.0 else math.inf
    return mu - math.log(-math.log1p(-pvalue)) / slope


def hmmer3_log_tail(scores: npt.NDArray[np.float32], calibration: Calibration) -> npt.NDArray[np.float64]:
    """Return the natural logarithms of the P-values of Forward scores in bits as HMMER3 computes them."""
    tau, slope = _as_read(calibration)
    beyond = scores.astype(np.float64) - tau
    logs: npt.NDArray[np.float64] = np.where(beyond < 0.0, 0.0, -slope * beyond)
    return logs


def distinguishing_decimals(score: float, limit: float | None) -> int:
    """Return how many decimals show on which side of a limit a score lies."""
    return next((n for n in (1, 2, 3) if limit is None or f"{score:.{n}f}" != f"{limit:.{n}f}"), 4)


def hmmer3_tail_score(pvalue: float, calibration: Calibration) -> float:
    """Return the least Forward score in bits whose P-value is at most this; minus infinity if every score's is."""
    tau, slope = _as_read(calibration)
    if pvalue >= 1.0:
        return -math.inf
    return tau - math.log(pvalue) / slope if pvalue > 0.0 else math.inf


def _as_read(calibration: Calibration) -> tuple[float, float]:
    """Return location and slope as HMMER3 holds them, in single precision."""
    return float(np.float32(calibration.location)), float(np.float32(calibration.slope))


class GumbelFit(Struct, frozen=True):
    """A Gumbel distribution fitted to scores.

    Attributes
    ----------
    mu, slope : float
        In bits and per bit.
    words : str
        The quality of the fit, in a sentence.
    """

    mu: float
    slope: float
    words: str

    def density(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the probability density at scores in bits (per bit)."""
        return gumbel_density(scores, self.mu, self.slope)


def gumbel_density(scores: npt.NDArray[np.float64], mu: float, slope: float) -> npt.NDArray[np.float64]:
    """Return the density of the Gumbel distribution: slope y exp(-y) with y = exp(-slope (s - mu))."""
    y = np.exp(np.clip(-slope * (scores - mu), -700, 700))
    density: npt.NDArray[np.float64] = slope * y * np.exp(-y)
    return density


def gumbel_tail(score: float, mu: float, slope: float) -> float:
    """Return the probability of a score at least this high."""
    return -math.expm1(-math.exp(min(-slope * (score - mu), 700.0)))


def fit_gumbel(scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> GumbelFit | None:
    """Fit a Gumbel distribution to binned scores by maximum likelihood, leaving outliers out.

    Scores that the fit expects less than once among all of them, be it members of the family on the
    right or very short sequences on the left, are left out of the next fit, until none is new.

    Parameters
    ----------
    scores : float64[n]
        Middle of each bin, in bits.
    counts : int64[n]
        Scores in each bin.

    Returns
    -------
    GumbelFit or None
        None if there are too few different scores.

    References
    ----------
    Lawless, Statistical Models and Methods for Lifetime Data (1982), ch. 4.1: the likelihood
    equation of the slope, solved here by Newton's method with bisection as a guard.
    """
    total = int(counts.sum())
    inside = counts > 0
    fit = _maximum_likelihood(scores[inside], counts[inside])
    for _ in range(MAX_REFITS):
        if fit is None:
            return None
        tails = np.array([gumbel_tail(score, *fit) for score in scores])
        expected = (tails * total >= 1.0) & ((1.0 - tails) * total >= 1.0) & (counts > 0)
        if np.array_equal(expected, inside):
            break
        inside = expected
        fit = _maximum_likelihood(scores[inside], counts[inside]) or fit
    if fit is None:
        return None
    return GumbelFit(*fit, _judged(fit, scores, counts, inside))


class CensoredFit(Struct, frozen=True):
    """A Gumbel distribution fitted to the right side of a histogram.

    Attributes
    ----------
    mu, slope : float
        In bits and per bit.
    edge : float
        Only scores from here on were fitted; of the others only a number was used.
    n_fitted, n_censored : int
        Scores that were fitted, and how many were taken to lie below `edge`.
    n_outliers : int
        High scores that were left out.
    """

    mu: float
    slope: float
    edge: float
    n_fitted: int
    n_censored: int
    n_outliers: int


PEAK_ODDS = 0.58198
"""How many scores lie below the mode of a Gumbel distribution for each one above it: 1 / (e - 1)."""

MIN_BINS = 5
"""Least number of bins from the fullest one on that hmmcalibrate fits (seen in its results for narrow histograms)."""

FIRST_SLOPE = 0.2
MIN_SLOPE = 0.001
NEAR_ROOT = 1e-5
"""Where hmmcalibrate begins to look for a slope, where it goes on from one that is not positive, and the value of the
likelihood equation at which it stops."""


def fit_right_side(low: int, counts: npt.NDArray[np.int64]) -> CensoredFit | None:
    """Fit a Gumbel distribution to a histogram as hmmcalibrate of HMMER 2.3.2 does, to the same digits.

    What lies below the fullest bin is censored: many random sequences are short, and their scores make a tail on the
    left that is no part of the distribution. For the same reason the first fit takes no more scores to be there than
    a Gumbel distribution has below its mode. Bins above the score from which on the fit expects one are left out of
    the next fit; then as many scores are taken to be censored as the fit expects, but no more than are not fitted,
    until no more bins are left out. That score is cut towards zero, so below zero its bin is left out, too.

    Parameters
    ----------
    low : int
        Lower edge of the first bin, in bits; each bin is one bit wide.
    counts : int64[n]
        Scores in each bin.

    Returns
    -------
    CensoredFit or None
        None if there are too few different scores from the fullest bin on.

    References
    ----------
    Lawless, Statistical Models and Methods for Lifetime Data (1982), ch. 4: maximum likelihood from censored data.
    Which scores are left out, and where the search for the slope ends, was found by watching the released program fit.
    """
    if not counts.any():
        return None
    total, peak, end = int(counts.sum()), int(counts.argmax()), len(counts)
    edge = float(low + peak)
    middles = np.arange(low, low + len(counts), dtype=np.float64) + 0.5
    n_fitted = int(counts[peak:].sum())
    n_censored = min(total - n_fitted, int(PEAK_ODDS * n_fitted))
    while True:
        fit = _censored_likelihood(middles[peak:end], counts[peak:end], n_censored, edge)
        if fit is None:
            return None
        n = n_fitted + n_censored
        last = int(fit[0] - math.log(-math.log((n - 1) / n)) / fit[1])
        if last - low + 1 >= end:
            return CensoredFit(*fit, edge, n_fitted, n_censored, int(counts[end:].sum()))
        end = max(last - low + 1, peak)
        n_fitted = int(counts[peak:end].sum())
        tail = gumbel_tail(edge, *fit)
        n_censored = min(total - n_fitted, int(n_fitted * (1.0 - tail) / tail))


def _censored_likelihood(
    scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64], n_censored: int, edge: float
) -> tuple[float, float] | None:
    """Return mu and slope; of `n_censored` more scores only that they are below `edge` is known.

    Newton's method; its first and last slope are hmmcalibrate's, and both results in single precision, since printed
    digits depend on them.
    """
    if len(counts) < MIN_BINS:
        return None
    n, mean = float(counts.sum()), float((counts * scores).sum() / counts.sum())
    # In the sums over exp(-slope s) a censored score counts as one at the edge; it has no density.
    weights, centered = np.append(counts / n, n_censored / n), np.append(scores, edge) - mean
    slope = FIRST_SLOPE
    for _ in range(MAX_STEPS):
        value, derivative, _ = _likelihood_equation(slope, weights, centered)
        if abs(value) < NEAR_ROOT:
            slope = float(np.float32(slope))
            beyond = _likelihood_equation(slope, weights, centered)[2]
            return float(np.float32(mean + float(centered.min()) - beyond)), slope
        slope -= value / derivative
        slope = slope if slope > 0.0 else MIN_SLOPE
    return None


def tail_misfit(
    fit: tuple[float, float], edges: npt.NDArray[np.float64], observed: npt.NDArray[np.int64], total: float
) -> str:
    """Return in words where the right tail of a fit is wrong by a factor of two; empty if it is nowhere.

    E-values are read off the right tail, which hardly counts in the likelihood of a fit. The rule: above the first edge
    where the fit expects at most 10 % of the scores, 1 %, 0.1 % and so on, as long as it expects at least `MIN_TAIL`,
    there are neither fewer than half of the expected scores nor more than twice as many.

    Parameters
    ----------
    fit : tuple of float
        mu (bits) and slope (per bit).
    edges : float64[n + 1]
        Bounds of bins, in bits, ascending.
    observed : int64[n]
        Scores in each bin.
    total : float
        Scores that the fit stands for.
    """
    expected = total * np.array([gumbel_tail(edge, *fit) for edge in edges[:-1]])
    above = observed[::-1].cumsum()[::-1]
    share = 0.1
    while share * total >= MIN_TAIL:
        place = int(np.searchsorted(-expected, -share * total))
        if place == len(expected) or expected[place] < MIN_TAIL:
            break
        if not 1 / MAX_TAIL_FACTOR <= above[place] / expected[place] <= MAX_TAIL_FACTOR:
            return f"{expected[place]:,.0f} scores expected above {edges[place]:g} bits, {above[place]:,.0f} found"
        share /= 10
    return ""


def _judged(
    fit: tuple[float, float],
    scores: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
    inside: npt.NDArray[np.bool_],
) -> str:
    """Return the quality of a fit in a sentence.

    It is judged by its number of scores, then by its distance from all of them, then by its outliers, which may be a
    family, and by its right tail without them (see `tail_misfit`).
    """
    total = int(counts.sum())
    if total < MIN_FIT:
        return f"Fit is doubtful: fewer than {MIN_FIT} sequences"
    edges = np.arange(np.floor(scores.min()), np.floor(scores.max()) + 2)
    observed, _ = np.histogram(scores, edges, weights=counts)
    expected = -np.diff([gumbel_tail(edge, *fit) for edge in edges]) * total
    if 0.5 * np.abs(observed - expected).sum() > POOR_DISTANCE * total:
        return "Fit is poor: these scores do not follow an extreme-value curve"
    family = ~inside & (scores > fit[0])
    if counts[family].sum() > 0.02 * total:
        return "More high scores than chance (expected for a large family)"
    random, _ = np.histogram(scores[~family], edges, weights=counts[~family])
    misfit = tail_misfit(fit, edges, random, total)
    return f"Fit is poor in the tail: {misfit}" if misfit else "Fit is good"


def _maximum_likelihood(scores: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> tuple[float, float] | None:
    """Return mu and slope."""
    if np.count_nonzero(counts) < 3:
        return None
    weights = counts / float(counts.sum())
    mean = float((weights * scores).sum())
    centered = scores - mean
    deviation = math.sqrt(float((weights * centered**2).sum()))
    slope = math.pi / (deviation * math.sqrt(6.0))
    low, high = slope / 100.0, slope * 100.0
    for _ in range(MAX_STEPS):
        value, derivative, _ = _likelihood_equation(slope, weights, centered)
        low, high = (slope, high) if value > 0 else (low, slope)
        step = slope - value / derivative
        new = step if low < step < high else (low + high) / 2.0
        if abs(new - slope) < 1e-10 * slope:
            break
        slope = new
    return mean + float(centered.min()) - _likelihood_equation(slope, weights, centered)[2], slope


def _likelihood_equation(
    slope: float, weights: npt.NDArray[np.float64], scores: npt.NDArray[np.float64]
) -> tuple[float, float, float]:
    """Return two derivatives of the log-likelihood by the slope, and how far mu lies below the least score."""
    shift = float(scores.min())
    powers = weights * np.exp(-slope * (scores - shift))
    total, first, second = (float((powers * scores**k).sum()) for k in range(3))
    derivative = -1.0 / slope**2 - second / total + (first / total) ** 2
    return 1.0 / slope + first / total, derivative, math.log(total) / slope
