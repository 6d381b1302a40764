"""From the domains of a target to its score and theirs, as HMMER3 reports them.

Everything is in single precision where HMMER3 holds single precision, so that printed digits are the same.

References
----------
HMMER 3.3.2 user's guide, "Tabular output formats": what is called score, bias and E-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clalign.envelopes import Envelope, TargetDomains
from clalign.local_profiles import LN_2

LOG_SUM_REACH = np.float32(15.7)
"""Beyond this difference the smaller term of a log-sum counts for nothing."""

LOG_SUM_SCALE = np.float32(1000.0)

LOG_SUMS = np.log1p(np.exp(-np.arange(16000) / 1000.0)).astype(np.float32)
"""What is added to the greater term, by the difference in 1/1000."""

LOG_OMEGA = math.log(1.0 / 256.0)
"""Prior of the null model that has the composition of the domain."""

Single = np.float32


def log_sum(a: Single, b: Single) -> Single:
    """Return log(e^a + e^b) as HMMER3's table gives it."""
    high, low = max(a, b), min(a, b)
    if np.isneginf(low) or high - low >= LOG_SUM_REACH:
        return high
    return Single(high + LOG_SUMS[int((high - low) * LOG_SUM_SCALE)])


def bias_of(correction: Single) -> Single:
    """Return what a sum of null2 scores takes off a score, in nats."""
    return log_sum(Single(0), Single(LOG_OMEGA + float(correction)))


def in_bits(nats: Single) -> Single:
    """Return a score in bits."""
    return Single(float(nats) / LN_2)


@dataclass(frozen=True, slots=True)
class DomainScore:
    """The score of a domain standing alone, and what the null2 correction took off it, in bits."""

    score: Single
    bias: float


@dataclass(frozen=True, slots=True)
class TargetScore:
    """The scores of a target, in bits.

    Attributes
    ----------
    score : float32
        Corrected for biased composition.
    uncorrected : float32
    domains : tuple of DomainScore
        Of each envelope.
    """

    score: Single
    uncorrected: Single
    domains: tuple[DomainScore, ...]

    @property
    def bias(self) -> Single:
        """What the correction took off."""
        return Single(self.uncorrected - self.score)


def target_score(
    found: TargetDomains, forward: Single, null: Single, length: int, *, without_null2: bool = False
) -> TargetScore:
    """Return the scores of a target.

    Its score is that of Forward or, if higher, the sum of its domains that stand out from their bias.

    Parameters
    ----------
    found : TargetDomains
    forward, null : float32
        Scores of the whole target in nats.
    length : int
        Its residues.
    without_null2 : bool
        Do without the correction.
    """
    bias = Single(0) if without_null2 else bias_of(Single(found.correction))
    uncorrected = in_bits(Single(forward - null))
    score = in_bits(Single(forward - Single(null + bias)))
    summed = _sum_of_domains(found, null, length, without_null2)
    if summed is not None and summed[0] > score:
        score, uncorrected = summed
    domains = tuple(_domain_score(envelope, null, length, without_null2) for envelope in found.envelopes)
    return TargetScore(score, uncorrected, domains)


def _outside(length: int, n_inside: int) -> float:
    """Return the score of the residues that belong to no domain, in nats."""
    return (length - n_inside) * math.log(float(Single(length) / Single(length + 3)))


def _sum_of_domains(
    found: TargetDomains, null: Single, length: int, without_null2: bool
) -> tuple[Single, Single] | None:
    """Return corrected and uncorrected score in bits of the domains that stand out; None without any."""
    total, bias, n_inside = Single(0), Single(0), 0
    for envelope in found.envelopes:
        correction = Single(0) if without_null2 else Single(envelope.correction)
        if Single(envelope.score) - correction > 0:
            total = Single(total + Single(envelope.score))
            bias = Single(bias + correction)
            n_inside += envelope.last - envelope.first
    if not n_inside:
        return None
    taken = Single(0) if without_null2 else bias_of(bias)
    total = Single(float(total) + _outside(length, n_inside))
    return in_bits(Single(total - Single(null + taken))), in_bits(Single(total - null))


def _domain_score(envelope: Envelope, null: Single, length: int, without_null2: bool) -> DomainScore:
    bias = Single(0) if without_null2 else bias_of(Single(envelope.correction))
    alone = Single(float(Single(envelope.score)) + _outside(length, envelope.last - envelope.first))
    return DomainScore(in_bits(Single(alone - Single(null + bias))), float(bias) / LN_2)


def repeats(found: TargetDomains, scores: tuple[DomainScore, ...]) -> set[int]:
    """Return which domains to leave out because a better one, or an equal one before, has their alignment.

    Overlapping envelopes may end with the very same alignment.
    """
    hidden: set[int] = set()
    if not found.n_overlaps:
        return hidden
    spans = [envelope.path.target_range for envelope in found.envelopes]
    for first in range(len(spans)):
        for second in range(first + 1, len(spans)):
            if spans[first] == spans[second]:
                hidden.add(second if scores[first].score >= scores[second].score else first)
    return hidden
