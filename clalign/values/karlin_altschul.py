"""Statistics of local alignments of two sequences: bit scores and E-values after Karlin and Altschul.

A score S of a query of m residues against a database of n residues in N sequences has the E-value
``K m' n' exp(-lambda S)`` and is worth ``(lambda S - ln K) / ln 2`` bits. ``m' = m - l`` and ``n' = n - N l`` are
the lengths without the ends in which no alignment can begin; l is BLAST's length adjustment (`length_adjustment`),
the fixed point of ``l = (alpha / lambda) ln(K (m - l)(n - N l)) + beta``.

This is what BLAST did up to 2.2.25. Newer versions of blastp correct the lengths for each score, and scores for
composition, so their E-values may differ by orders of magnitude; see `clalign.values.composition`. As in BLAST, the
second strand of a nucleic query does not count.

References
----------
Karlin and Altschul, Proc. Natl. Acad. Sci. USA 87, 2264 (1990); Altschul and Gish, Methods Enzymol. 266, 460 (1996);
Altschul, Bundschuh, Olsen and Hwa, Nucleic Acids Res. 29, 351 (2001).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.common.plain_data import Json
from clalign.values.alphabets import N_CODES, code_of
from clalign.values.karlin_altschul_tables import EVEN_ONLY, NUCLEIC, PROTEIN, UNGAPPED_LAMBDA
from clalign.values.scoring import GapCosts, Scoring, SubstitutionMatrix

Kind = Literal["published", "computed", "fitted"]


ROBINSON = {
    "A": 0.07805, "C": 0.01925, "D": 0.05364, "E": 0.06295, "F": 0.03856, "G": 0.07377, "H": 0.02199, "I": 0.05142,
    "K": 0.05744, "L": 0.09019, "M": 0.02243, "N": 0.04487, "P": 0.05203, "Q": 0.04264, "R": 0.05129, "S": 0.07120,
    "T": 0.05841, "V": 0.06441, "W": 0.01330, "Y": 0.03216,
}  # fmt: skip
"""Frequencies of amino acids: Robinson and Robinson, Proc. Natl. Acad. Sci. USA 88, 8880 (1991), as BLAST has them."""

SAME_LAMBDA = 1e-8
"""A matrix is the one of the tables if its lambda without gaps differs by no larger share; a change of one score by 1
makes more."""

MAX_LAMBDA, MAX_ROOT_STEPS, TOLERANCE = 50.0, 100, 1e-12
"""The search for lambda: limit of its beginning, most steps, and how near two of them are in the end."""

MAX_STEPS = 400
SMALL_TERM = 1e-7

CURVE_LENGTHS = 256
"""Lengths that stand for those of all targets in an expected histogram."""


class Parameters(Struct, frozen=True):
    """Parameters of the statistics of a scoring.

    Attributes
    ----------
    lambda_ : float
        Natural units for each unit of score.
    k : float
    h : float or None
        Relative entropy, in natural units for each pair of residues.
    alpha, beta : float or None
        Parameters of the length adjustment; None where there is none.
    step : int
        E-values are those of scores rounded down to a multiple of this: 1, or 2 times the common factor of a match and
        a mismatch whose rows hold for even scores.
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
    lambda_ = scale_of_odds(p.tolist(), s.tolist())
    if lambda_ is None:
        return None
    h = lambda_ * float((p * s * np.exp(lambda_ * s)).sum())
    sigma = _sigma(low // divisor, p[::divisor], lambda_ * divisor)
    unit = lambda_ * divisor
    k = unit * math.exp(-2.0 * sigma) / (h * -math.expm1(-unit))
    return Parameters(lambda_, k, h, lambda_ / h, 0.0)


def scale_of_odds(shares: list[float], scores: list[int]) -> float | None:
    """Return lambda, the scale above 0 at which the odds of scores with these shares sum to 1; None if there is none.

    By Newton's method from above, where the sum is more than 1.
    """

    def excess(scale: float) -> tuple[float, float]:
        value = slope = 0.0
        for share, score in zip(shares, scores, strict=True):
            term = share * math.exp(scale * score)
            value += term
            slope += term * score
        return value - 1.0, slope

    scale = 1.0 / max(scores) if max(scores) > 0 else MAX_LAMBDA
    while scale < MAX_LAMBDA and excess(scale)[0] <= 0.0:
        scale *= 2.0
    if scale >= MAX_LAMBDA:
        return None
    value, slope = excess(scale)
    for _ in range(MAX_ROOT_STEPS):
        last, scale = scale, scale - value / slope
        value, slope = excess(scale)
        if value == 0.0 or abs(scale - last) < TOLERANCE + TOLERANCE * scale:
            return scale
    return None


def _sigma(low: int, p: npt.NDArray[np.float64], lambda_: float) -> float:
    """Return the sum over j of (1 / j) (P(S_j >= 0) + E(exp(lambda S_j); S_j < 0)) of sums of j scores."""
    total, sums, first = 0.0, np.ones(1), 0
    for j in range(1, MAX_STEPS + 1):
        sums, first = np.convolve(sums, p), first + low
        values = np.arange(first, first + len(sums))
        term = float((sums * np.exp(lambda_ * np.minimum(values, 0))).sum()) / j
        total += term
        if term < SMALL_TERM:
            break
    return total


def published_parameters(matrix: SubstitutionMatrix, gaps: GapCosts) -> Parameters | None:
    """Return the parameters in the row that NCBI BLAST's tables have for a matrix and gap costs, if there is one."""
    costs = gaps.blast
    if matrix.is_nucleic:
        return _published_nucleic(matrix, costs)
    exact = ungapped_parameters(matrix)
    known = UNGAPPED_LAMBDA.get(matrix.name)
    if known is None or exact is None or abs(exact.lambda_ / known - 1.0) > SAME_LAMBDA:
        return None
    found = next((row for row in PROTEIN[matrix.name] if row[:2] == costs), None)
    return Parameters(*found[2:]) if found else None


def has_costly_gaps(matrix: SubstitutionMatrix, gaps: GapCosts) -> bool:
    """Return whether BLAST takes the statistics without gaps for gaps that have no row because they cost so much.

    There are such costs for pairs of match and mismatch only; for proteins BLAST refuses what has no row.
    """
    if not matrix.is_nucleic or (known := _listed_pair(matrix)) is None:
        return False
    pair, factor = known
    return all(cost >= limit * factor for cost, limit in zip(gaps.blast, NUCLEIC[pair][0], strict=True))


def blast_parameters(matrix: SubstitutionMatrix, gaps: GapCosts) -> tuple[Parameters, Kind] | None:
    """Return BLAST's parameters for a matrix and gap costs, published or without gaps; None if there are none."""
    found = published_parameters(matrix, gaps)
    if found is not None:
        return found, "published"
    exact = ungapped_parameters(matrix) if has_costly_gaps(matrix, gaps) else None
    return (exact, "computed") if exact is not None else None


def match_mismatch_of(matrix: SubstitutionMatrix) -> tuple[int, int] | None:
    """Return the two scores of a matrix that has no others for A, C, G and T."""
    bases = [code_of(letter) for letter in "ACGT"]
    scores = matrix.scores[np.ix_(bases, bases)].astype(int)
    equal, other = int(scores[0, 0]), int(scores[0, 1])
    expected = np.where(np.eye(4, dtype=bool), equal, other)
    return (equal, other) if np.array_equal(scores, expected) else None


def _listed_pair(matrix: SubstitutionMatrix) -> tuple[tuple[int, int], int] | None:
    """Return match and mismatch without their common factor, as the tables list them, and the factor."""
    pair = match_mismatch_of(matrix)
    factor = math.gcd(*pair) if pair else 0
    if pair is None or factor == 0:
        return None
    reduced = pair[0] // factor, pair[1] // factor
    return (reduced, factor) if reduced in NUCLEIC else None


def _published_nucleic(matrix: SubstitutionMatrix, costs: tuple[int, int]) -> Parameters | None:
    known = _listed_pair(matrix)
    if known is None:
        return None
    pair, factor = known
    found = next((row for row in NUCLEIC[pair][1] if (row[0] * factor, row[1] * factor) == costs), None)
    if found is None:
        return None
    lambda_, k, h, alpha, beta = found[2:]
    return Parameters(lambda_ / factor, k, h, alpha / factor, beta, 2 * factor if pair in EVEN_ONLY else 1)


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


class Statistics(Struct, frozen=True):
    """The statistics of one query against one database.

    Attributes
    ----------
    kind : str
        ``published`` (a row of BLAST's tables), ``computed`` (exactly, without gaps) or ``fitted`` to the run's own
        scores.
    parameters : Parameters
    adjustment : int
        Length adjustment in residues; 0 for fitted ones, which hold it in K.
    query_length : int
    search_space : float
        Residues of query times database that count.
    words : str
        Where the parameters come from, in a sentence.
    n_fitted : int
        Number of scores that were fitted.
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

    def scaled(self, factor: float) -> Statistics:
        """Return the statistics of a pair for whose composition lambda is to be multiplied by a factor."""
        return replace(self, parameters=replace(self.parameters, lambda_=self.parameters.lambda_ * factor))

    def bits(self, raw: float) -> float:
        """Return a raw score in bits: as in BLAST those of the score as it is, not rounded down as for the E-value."""
        return (self.parameters.lambda_ * raw - math.log(self.parameters.k)) / math.log(2.0)

    def evalue(self, raw: float) -> float:
        """Return the E-value of a raw score, or of one multiplied by a factor; 0 where it is too small for a number."""
        return math.exp(self._log_size - self.parameters.lambda_ * self._rounded(raw))

    def _rounded(self, raw: float) -> float:
        step = self.parameters.step
        return raw if step == 1 else raw // step * step

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

    def to_dict(self) -> Json:
        """Return plain data for the card of a query."""
        p = self.parameters
        return {
            "kind": self.kind, "lambda": p.lambda_, "k": p.k, "h": p.h, "alpha": p.alpha, "beta": p.beta,
            "step": p.step, "length_adjustment": self.adjustment, "query_length": self.query_length,
            "search_space": self.search_space, "n_fitted": self.n_fitted, "words": self.words,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: Json) -> Statistics:
        """Return the statistics that `to_dict` described."""
        h, alpha, beta = (None if data[name] is None else float(data[name]) for name in ("h", "alpha", "beta"))
        parameters = Parameters(float(data["lambda"]), float(data["k"]), h, alpha, beta, data["step"])
        return cls(
            data["kind"], parameters, data["length_adjustment"], data["query_length"], data["search_space"],
            data["words"], data["n_fitted"],
        )  # fmt: skip


def typical_lengths(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return a few lengths that stand for those of many targets, at least one of which has residues."""
    some = lengths[lengths > 0]
    shares = np.linspace(0, 1, min(CURVE_LENGTHS, len(some)) * 2 + 1)[1::2]
    typical: npt.NDArray[np.float64] = np.quantile(some, shares)
    return typical


def known_statistics(scoring: Scoring, query_length: int, n_residues: int, n_sequences: int) -> Statistics | None:
    """Return the published statistics of a scoring, or those computed without gaps where BLAST takes them, if any.

    Parameters
    ----------
    scoring : Scoring
        Its mode must be a local one, ``local`` or ``ungapped``.
    query_length, n_residues, n_sequences : int
        Residues of the query and of the database, sequences of the database.
    """
    if not scoring.is_local or query_length == 0 or n_residues == 0:
        return None
    found = _known_parameters(scoring)
    if found is None:
        return None
    parameters, kind, source = found
    if parameters.step > 1:
        source += f", E-values of scores rounded down to multiples of {parameters.step}"
    adjustment = length_adjustment(parameters, query_length, n_residues, n_sequences)
    space = float(query_length - adjustment) * float(n_residues - n_sequences * adjustment)
    words = f"E-values and bit scores: {source}, lambda {parameters.lambda_:.4g}, K {parameters.k:.3g}."
    return Statistics(kind, parameters, adjustment, query_length, space, words)


def _known_parameters(scoring: Scoring) -> tuple[Parameters, Kind, str] | None:
    """Return the parameters of a local scoring that are known before any score is, their kind and their source."""
    name, costs = scoring.matrix.name, "{}/{}".format(*scoring.gaps.blast)
    source = f"computed exactly for {name} without gaps"
    if scoring.mode == "ungapped":
        exact = ungapped_parameters(scoring.matrix)
        return (exact, "computed", source) if exact is not None else None
    found = blast_parameters(scoring.matrix, scoring.gaps)
    if found is None:
        return None
    if found[1] == "published":
        return *found, f"published for {name} with gap costs {costs} (NCBI BLAST's tables)"
    return *found, f"{source}, which NCBI BLAST takes for gap costs as high as {costs}"


MIN_SCORES = 200
"""Least number of sequences for a fit."""

FEW_SCORES = 1000
"""A fit to fewer scores is called rough."""

OUTLIER_EVALUE = 0.1
"""Scores that the fit expects less often than this among all are taken for homologs and left out."""

FIRST_SHARE = 0.9
"""Share of the lowest scores, corrected for length, that the first fit rests on."""

MAX_REFITS = 30

MAX_FIT_STEPS = 100
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
    for _ in range(MAX_FIT_STEPS):  # the slope of the likelihood only falls, so there is one maximum
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
