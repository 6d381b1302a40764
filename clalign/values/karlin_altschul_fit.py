"""Statistics of local alignments fitted to the scores of a search, and how far others are from them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from clalign.values.karlin_altschul import Parameters, Statistics

MIN_SCORES = 200
"""Least number of sequences for a fit."""

FEW_SCORES = 1000
"""A fit to fewer scores is called rough."""

OUTLIER_EVALUE = 0.1
"""Scores that the fit expects less often than this among all are taken for homologs and left out."""

FIRST_SHARE = 0.9
"""Share of the lowest scores, corrected for length, that the first fit rests on."""

MAX_REFITS = 30

MAX_STEPS = 100
"""Limit of the steps of Newton's method, which needs about five."""

MAX_LOG_MASS = 100.0
"""Limit of the logarithm of K m. Chance gives 10 or 20; scores all high and close together, as of copies of a sequence,
more."""

MISFIT = 3.0
"""E-values that differ from those of a fit by a greater factor are reported."""

MAX_FITTED = 10_000
"""Limit of the sequences of a fit, drawn at random from more; lambda is known to 1 % then."""

FIT_SEED = 42


def rows_to_fit(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of a database whose scores are fitted: those with residues, or `MAX_FITTED` drawn of them."""
    rows = np.flatnonzero(lengths > 0)
    if len(rows) <= MAX_FITTED:
        return rows
    return np.sort(np.random.default_rng(FIT_SEED).choice(rows, MAX_FITTED, replace=False))


def fitted_statistics(
    raws: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], query_length: int, n_residues: int
) -> Statistics | None:
    """Return statistics fitted to scores of a query; None if that is not possible.

    The score of a target of n residues is taken for the whole part of a number y with
    ``P(y < x) = exp(-K m n exp(-lambda x))``, so the length of each target is allowed for. Lambda and K are those of
    maximum likelihood. Scores too high for chance are left out of the next fit, until no more are.

    Parameters
    ----------
    raws : int32[n]
        Scores of all targets, or of some drawn at random.
    lengths : int64[n]
        Residues of each, at least 1.
    query_length, n_residues : int
        Residues of the query, and of the whole database.

    References
    ----------
    Lawless, Statistical Models and Methods for Lifetime Data (1982), ch. 4.1, with lengths as weights; the correction
    for length and for homologs as in Pearson, J. Mol. Biol. 276, 71 (1998).
    """
    scores, weights, n = raws + 0.5, lengths.astype(np.float64), len(raws)
    if n < MIN_SCORES or query_length == 0 or scores.min() == scores.max():
        return None
    corrected = scores - np.log(weights) * scores.std() * math.sqrt(6.0) / math.pi
    inside = corrected <= np.quantile(corrected, FIRST_SHARE)
    fit = _fit(scores[inside], weights[inside])
    for _ in range(MAX_REFITS):
        if fit is None:
            return None
        lambda_, mass = fit
        likely = -np.expm1(-mass * weights * np.exp(-lambda_ * (scores - 0.5))) * n >= OUTLIER_EVALUE
        if np.array_equal(likely, inside):
            break
        inside = likely
        fit = _fit(scores[inside], weights[inside])
    if fit is None:
        return None
    parameters = Parameters(fit[0], fit[1] / query_length)
    n_fitted, n_left_out = int(inside.sum()), int(n - inside.sum())
    words = f"E-values and bit scores: fitted to the scores of {n_fitted:,} sequences of this run"
    words += f" ({n_left_out:,} too high for chance were left out)" if n_left_out else ""
    words += f", lambda {fit[0]:.4g}, K {parameters.k:.3g}."
    if n < FEW_SCORES:
        words += f" With fewer than {FEW_SCORES:,} sequences they are rough."
    space = float(query_length) * float(n_residues)
    return Statistics("fitted", parameters, 0, query_length, space, words, n_fitted)


def misfit(known: Statistics, fitted: Statistics | None, evalue: float) -> str:
    """Return a sentence on how far E-values are from those of a fit; empty if they are close.

    They are compared at the limit, but not below 1, where chance gives no scores that a fit could rest on. Short
    queries differ because the length adjustment takes a large part of them, others because published
    parameters are those of sequences of the usual composition.

    Parameters
    ----------
    known : Statistics
        Those that count.
    fitted : Statistics or None
        Those of the scores; a rough fit says nothing.
    evalue : float
        The greatest E-value that is reported.
    """
    if fitted is None or fitted is known or fitted.n_fitted < FEW_SCORES:
        return ""
    raw = known.least_raw(max(evalue, 1.0))
    factor = fitted.evalue(raw) / known.evalue(raw)
    if 1 / MISFIT <= factor <= MISFIT:
        return ""
    how = f"{factor:.2g} times larger" if factor > 1 else f"{1 / factor:.2g} times smaller"
    return f"Fitted to these scores, E-values would be about {how}; a short query or an unusual composition does that."


def _fit(scores: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> tuple[float, float] | None:
    """Return lambda, and K m, of highest likelihood; None if these are no scores of chance."""
    deviation = float(scores.std())
    if len(scores) < MIN_SCORES // 2 or deviation == 0.0:
        return None
    mean, least = float(scores.mean()), float(scores.min())
    above = scores - mean  # of high scores that lie close together the mean would leave few digits
    low, lambda_, high = 0.0, math.pi / (deviation * math.sqrt(6.0)), math.inf
    for _ in range(MAX_STEPS):  # the slope of the likelihood only falls, so there is one maximum
        powers = weights * np.exp(-lambda_ * (scores - least))
        mass = float(powers.sum())
        expected = float((powers * above).sum()) / mass
        spread = float((powers * (above - expected) ** 2).sum()) / mass
        slope = 1.0 / lambda_ + expected
        low, high = (lambda_, high) if slope > 0.0 else (low, lambda_)
        step = slope / (1.0 / lambda_**2 + spread)
        if abs(step) <= 1e-14 * lambda_:
            break
        lambda_ += step
        if not low < lambda_ < high:
            lambda_ = (low + min(high, 3.0 * low or high)) / 2.0  # halved or doubled where only one bound is known
    log_mass = math.log(len(scores)) - math.log(mass) + lambda_ * least
    return (lambda_, math.exp(log_mass)) if log_mass <= MAX_LOG_MASS else None
