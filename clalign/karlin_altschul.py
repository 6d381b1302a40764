"""Statistics of local alignments of two sequences: bit scores and E-values after Karlin and Altschul.

A score S of a query of m residues against a database of n residues in N sequences has the E-value
``K m' n' exp(-lambda S)`` and is worth ``(lambda S - ln K) / ln 2`` bits. ``m' = m - l`` and ``n' = n - N l`` are
the lengths without the ends in which no alignment can begin; l is BLAST's length adjustment (`length_adjustment`),
the fixed point of ``l = (alpha / lambda) ln(K (m - l)(n - N l)) + beta``.

This is what BLAST did up to 2.2.25. Newer versions of blastp correct the lengths for each score, and scores for
composition, so their E-values differ a little. As in BLAST, the second strand of a nucleic query does not count.

References
----------
Karlin and Altschul, Proc. Natl. Acad. Sci. USA 87, 2264 (1990); Altschul and Gish, Methods Enzymol. 266, 460 (1996);
Altschul, Bundschuh, Olsen and Hwa, Nucleic Acids Res. 29, 351 (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from clalign.alphabets import N_CODES, code_of
from clalign.karlin_altschul_tables import EVEN_ONLY, NUCLEIC, PROTEIN, UNGAPPED_LAMBDA
from clalign.scoring import GapCosts, Scoring, SubstitutionMatrix

Kind = Literal["published", "computed", "fitted"]

ROBINSON = {
    "A": 0.07805, "C": 0.01925, "D": 0.05364, "E": 0.06295, "F": 0.03856, "G": 0.07377, "H": 0.02199, "I": 0.05142,
    "K": 0.05744, "L": 0.09019, "M": 0.02243, "N": 0.04487, "P": 0.05203, "Q": 0.04264, "R": 0.05129, "S": 0.07120,
    "T": 0.05841, "V": 0.06441, "W": 0.01330, "Y": 0.03216,
}  # fmt: skip
"""Frequencies of amino acids: Robinson and Robinson, Proc. Natl. Acad. Sci. USA 88, 8880 (1991), as BLAST has them."""

SAME_LAMBDA = 0.01
"""A matrix has published statistics if its lambda without gaps differs by no larger share from the published one."""

MOST_STEPS = 400
SMALL_TERM = 1e-7

LEAST_SCORES = 200
"""Fewer sequences are not fitted."""

FEW_SCORES = 1000
"""A fit to fewer is called rough."""

OUTLIER_EVALUE = 0.1
"""Scores that the fit expects less often than this among all are taken for homologs and left out."""

FIRST_SHARE = 0.9
"""Share of the lowest scores, corrected for length, that the first fit rests on."""

MOST_REFITS = 30

MISFIT = 3.0
"""E-values that differ from those of a fit by a greater factor are told of."""

MOST_FITTED = 10_000
"""Of more sequences so many are drawn at random for the fit; lambda is known to 1 % then."""

FIT_SEED = 42

CURVE_LENGTHS = 256
"""Lengths that stand for those of all targets in an expected histogram."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the statistics of a scoring rest on.

    Attributes
    ----------
    lambda_ : float
        Natural units for each unit of score.
    k : float
    h : float or None
        Relative entropy, in natural units for each pair of residues.
    alpha, beta : float or None
        Of the length adjustment; None where there is none.
    step : int
        Scores are rounded down to a multiple of this first.
    """

    lambda_: float
    k: float
    h: float | None = None
    alpha: float | None = None
    beta: float | None = None
    step: int = 1


def frequencies(is_nucleic: bool) -> npt.NDArray[np.float64]:
    """Return how often each letter code occurs in random sequences (float64[N_CODES])."""
    shares = np.zeros(N_CODES)
    for letter, share in (dict.fromkeys("ACGT", 0.25) if is_nucleic else ROBINSON).items():
        shares[code_of(letter)] = share
    result: npt.NDArray[np.float64] = shares / shares.sum()
    return result


def score_distribution(matrix: SubstitutionMatrix) -> tuple[int, npt.NDArray[np.float64]]:
    """Return the lowest score of two random letters, and the probabilities of it and all above it."""
    shares = frequencies(matrix.is_nucleic)
    pairs = np.outer(shares, shares)
    used = pairs > 0
    scores = matrix.scores.astype(np.int64)[used]
    low = int(scores.min())
    return low, np.bincount(scores - low, pairs[used]).astype(np.float64)


@lru_cache(maxsize=32)
def ungapped_parameters(matrix: SubstitutionMatrix) -> Parameters | None:
    """Return the exact parameters of alignments without gaps for random sequences of the usual composition.

    Lambda is the positive root of ``sum p(s) exp(lambda s) = 1``. K is computed as in the appendix of Karlin and
    Altschul (1990), from the distribution of the sum of j scores for j = 1, 2, ...

    Returns
    -------
    Parameters or None
        None for a matrix without a negative mean score, whose best alignments of random sequences are as long as these.
    """
    low, p = score_distribution(matrix)
    s = np.arange(low, low + len(p))
    if float(p @ s) >= 0.0 or s[p > 0].max() <= 0:
        return None
    divisor = int(np.gcd.reduce(s[p > 0]))
    high = 1.0
    while p @ np.exp(high * s) < 1.0:
        high *= 2.0
    least = 0.0
    for _ in range(200):  # the root is the only one above 0: below it the sum is less than 1
        middle = (least + high) / 2.0
        least, high = (middle, high) if p @ np.exp(middle * s) < 1.0 else (least, middle)
    lambda_ = (least + high) / 2.0
    h = lambda_ * float((p * s * np.exp(lambda_ * s)).sum())
    sigma = _sigma(low // divisor, p[::divisor], lambda_ * divisor)
    unit = lambda_ * divisor
    k = unit * math.exp(-2.0 * sigma) / (h * -math.expm1(-unit))
    return Parameters(lambda_, k, h, lambda_ / h, 0.0)


def _sigma(low: int, p: npt.NDArray[np.float64], lambda_: float) -> float:
    """Return the sum over j of (1 / j) (P(S_j >= 0) + E(exp(lambda S_j); S_j < 0)) of sums of j scores."""
    total, sums, first = 0.0, np.ones(1), 0
    for j in range(1, MOST_STEPS + 1):
        sums, first = np.convolve(sums, p), first + low
        values = np.arange(first, first + len(sums))
        term = float((sums * np.exp(lambda_ * np.minimum(values, 0))).sum()) / j
        total += term
        if term < SMALL_TERM:
            break
    return total


def published_parameters(matrix: SubstitutionMatrix, gaps: GapCosts) -> Parameters | None:
    """Return the parameters that NCBI BLAST's tables have for a matrix with gap costs, if they have any."""
    opening, extension = gaps.blast
    if matrix.is_nucleic:
        return _published_nucleic(matrix, opening, extension)
    exact = ungapped_parameters(matrix)
    known = UNGAPPED_LAMBDA.get(matrix.name)
    if known is None or exact is None or abs(exact.lambda_ / known - 1.0) > SAME_LAMBDA:
        return None
    found = next((row for row in PROTEIN[matrix.name] if row[:2] == (opening, extension)), None)
    return Parameters(*found[2:]) if found else None


def match_mismatch_of(matrix: SubstitutionMatrix) -> tuple[int, int] | None:
    """Return the two scores of a matrix that has no others for A, C, G and T."""
    bases = [code_of(letter) for letter in "ACGT"]
    scores = matrix.scores[np.ix_(bases, bases)].astype(int)
    equal, other = int(scores[0, 0]), int(scores[0, 1])
    expected = np.where(np.eye(4, dtype=bool), equal, other)
    return (equal, other) if np.array_equal(scores, expected) else None


def _published_nucleic(matrix: SubstitutionMatrix, opening: int, extension: int) -> Parameters | None:
    pair = match_mismatch_of(matrix)
    if pair is None or pair[0] <= 0:
        return None
    factor = math.gcd(*pair)
    reduced = pair[0] // factor, pair[1] // factor
    if reduced not in NUCLEIC or opening % factor or extension % factor:
        return None
    dear, rows = NUCLEIC[reduced]
    costs = opening // factor, extension // factor
    if costs[0] >= dear[0] and costs[1] >= dear[1]:
        return ungapped_parameters(matrix)
    found = next((row for row in rows if row[:2] == costs), None)
    if found is None:
        return None
    lambda_, k, h, alpha, beta = found[2:]
    step = 2 * factor if reduced in EVEN_ONLY else factor
    return Parameters(lambda_ / factor, k, h, alpha / factor, beta, step)


def length_adjustment(parameters: Parameters, m: int, n: int, n_sequences: int) -> int:
    """Return BLAST's length adjustment of a query against a database.

    The largest whole number l not above ``(alpha / lambda) ln(K (m - l)(n - N l)) + beta``, 0 if there is none; it
    leaves ``K (m - l)(n - N l)`` above both lengths.

    Parameters
    ----------
    parameters : Parameters
    m, n : int
        Residues of the query and of the database.
    n_sequences : int
        N, sequences of the database.
    """
    if parameters.alpha is None or parameters.beta is None or min(m, n, n_sequences) <= 0:
        return 0
    slope, shift, log_k = parameters.alpha / parameters.lambda_, parameters.beta, math.log(parameters.k)

    def fits(length: int) -> bool:
        rest = float(m - length), float(n - n_sequences * length)
        if min(rest) <= 0 or parameters.k * rest[0] * rest[1] <= max(m, n):
            return False
        return slope * (log_k + math.log(rest[0] * rest[1])) + shift >= length

    if not fits(0):
        return 0
    low, high = 0, m  # the right side falls and the left one rises with the length
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of one query against one database.

    Attributes
    ----------
    kind : str
        ``published``, ``computed`` (exact, without gaps) or ``fitted`` to the run's own scores.
    parameters : Parameters
    adjustment : int
        Length adjustment in residues; 0 for fitted ones, which hold it in K.
    query_length : int
    search_space : float
        Residues of query times database that count.
    words : str
        Where they come from, in a sentence.
    n_fitted : int
        Scores that a fit rests on.
    """

    kind: Kind
    parameters: Parameters
    adjustment: int
    query_length: int
    search_space: float
    words: str
    n_fitted: int = 0

    @property
    def _log_size(self) -> float:
        """The natural logarithm of the E-value of a score of 0."""
        return math.log(self.parameters.k * self.search_space)

    def bits(self, raw: float) -> float:
        """Return a raw score in bits."""
        p = self.parameters
        return (p.lambda_ * (raw // p.step * p.step) - math.log(p.k)) / math.log(2.0)

    def evalue(self, raw: float) -> float:
        """Return the E-value of a raw score; 0 where it is too small for a number."""
        p = self.parameters
        return math.exp(self._log_size - p.lambda_ * (raw // p.step * p.step))

    def least_raw(self, evalue: float) -> int:
        """Return the least raw score whose E-value is at most this."""
        p = self.parameters
        raw = max(0, math.floor((self._log_size - math.log(evalue)) / p.lambda_) - 1)
        raw = raw // p.step * p.step
        while self.evalue(raw) > evalue:
            raw += p.step
        return raw

    def expected_counts(
        self, typical: npt.NDArray[np.float64], n_targets: int, first: int, n: int
    ) -> npt.NDArray[np.float64]:
        """Return how many targets are expected to score `first`, `first` + 1, ... by chance.

        Parameters
        ----------
        typical : float64[k]
            Lengths that stand for those of all targets; see `typical_lengths`.
        n_targets : int
            Targets with residues.
        first, n : int
            Lowest score, and how many.

        Returns
        -------
        float64[n]
        """
        p = self.parameters
        mass = p.k * max(self.query_length - self.adjustment, 1) * np.maximum(typical - self.adjustment, 1.0)
        below = np.exp(-np.outer(mass, np.exp(-p.lambda_ * np.arange(first, first + n + 1)))).mean(axis=0)
        below[0] = 0.0 if first <= 0 else below[0]
        counts: npt.NDArray[np.float64] = np.diff(below) * n_targets
        return counts

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the card of a query."""
        p = self.parameters
        return {
            "kind": self.kind, "lambda": p.lambda_, "k": p.k, "h": p.h, "alpha": p.alpha, "beta": p.beta,
            "step": p.step, "length_adjustment": self.adjustment, "query_length": self.query_length,
            "search_space": self.search_space, "n_fitted": self.n_fitted, "words": self.words,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Statistics:
        """Return the statistics that `to_dict` described."""
        parameters = Parameters(*(data[name] for name in ("lambda", "k", "h", "alpha", "beta", "step")))
        return cls(
            data["kind"], parameters, data["length_adjustment"], data["query_length"], data["search_space"],
            data["words"], data["n_fitted"],
        )  # fmt: skip


def typical_lengths(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return few lengths that stand for those of many targets, of which at least one has residues."""
    some = lengths[lengths > 0]
    shares = np.linspace(0, 1, min(CURVE_LENGTHS, len(some)) * 2 + 1)[1::2]
    typical: npt.NDArray[np.float64] = np.quantile(some, shares)
    return typical


def known_statistics(scoring: Scoring, query_length: int, n_residues: int, n_sequences: int) -> Statistics | None:
    """Return the published statistics of a scoring, or without gaps the computed ones; None if there are none.

    Parameters
    ----------
    scoring : Scoring
        Its mode must be a local one, ``local`` or ``ungapped``.
    query_length, n_residues, n_sequences : int
        Residues of the query and of the database, sequences of the database.
    """
    matrix = scoring.matrix
    if not scoring.is_floored or query_length == 0 or n_residues == 0:
        return None
    without_gaps = scoring.mode == "ungapped"
    found = ungapped_parameters(matrix) if without_gaps else published_parameters(matrix, scoring.gaps)
    if found is None:
        return None
    adjustment = length_adjustment(found, query_length, n_residues, n_sequences)
    space = float(query_length - adjustment) * float(n_residues - n_sequences * adjustment)
    opening, extension = scoring.gaps.blast
    if without_gaps:
        source = f"computed exactly for {matrix.name} without gaps"
    else:
        source = f"published for {matrix.name} with gap costs {opening}/{extension} (NCBI BLAST's tables)"
    words = f"E-values and bit scores: {source}, lambda {found.lambda_:.4g}, K {found.k:.3g}."
    return Statistics("computed" if without_gaps else "published", found, adjustment, query_length, space, words)


def rows_to_fit(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the rows of a database whose scores are fitted: those with residues, or `MOST_FITTED` drawn of them."""
    rows = np.flatnonzero(lengths > 0)
    if len(rows) <= MOST_FITTED:
        return rows
    return np.sort(np.random.default_rng(FIT_SEED).choice(rows, MOST_FITTED, replace=False))


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
    if n < LEAST_SCORES or query_length == 0 or scores.min() == scores.max():
        return None
    corrected = scores - np.log(weights) * scores.std() * math.sqrt(6.0) / math.pi
    inside = corrected <= np.quantile(corrected, FIRST_SHARE)
    fit = _fit(scores[inside], weights[inside])
    for _ in range(MOST_REFITS):
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
    """Return in words how far E-values are from those that a fit gives; nothing if that is not much.

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
    """Return lambda, and K m, of highest likelihood."""
    deviation = float(scores.std())
    if len(scores) < LEAST_SCORES // 2 or deviation == 0.0:
        return None
    mean, least = float(scores.mean()), float(scores.min())

    def slope_and_mass(lambda_: float) -> tuple[float, float]:
        powers = weights * np.exp(-lambda_ * (scores - least))
        total = float(powers.sum())
        return 1.0 / lambda_ - mean + float((powers * scores).sum()) / total, total

    low = high = math.pi / (deviation * math.sqrt(6.0))
    while slope_and_mass(low)[0] < 0.0 and low > 1e-6:
        low /= 2.0
    while slope_and_mass(high)[0] > 0.0 and high < 1e3:
        high *= 2.0
    for _ in range(40):  # the likelihood has one maximum
        middle = (low + high) / 2.0
        low, high = (middle, high) if slope_and_mass(middle)[0] > 0.0 else (low, middle)
    lambda_ = (low + high) / 2.0
    log_mass = math.log(len(scores)) - math.log(slope_and_mass(lambda_)[1]) + lambda_ * least
    return lambda_, math.exp(log_mass)
