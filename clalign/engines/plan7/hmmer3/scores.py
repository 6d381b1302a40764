"""From the domains of a target to its score and theirs, as HMMER3 reports them.

Everything is in single precision where HMMER3 holds single precision, so that printed digits are the same.

References
----------
HMMER 3.3.2 user's guide, "Tabular output formats": what is called score, bias and E-value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.envelopes import TargetDomains
from clalign.values.local_scores import LN_2

LOG_SUM_REACH = np.float32(15.7)
"""Beyond this difference the smaller term of a log-sum counts for nothing."""

LOG_SUM_SCALE = np.float32(1000.0)

LOG_SUMS = np.log1p(np.exp(-np.arange(16000) / 1000.0)).astype(np.float32)
"""What is added to the greater term, by the difference in 1/1000."""

LOG_OMEGA = math.log(1.0 / 256.0)
"""Prior of the null model that has the composition of the domain."""

Floats = npt.NDArray[np.float32]


def bias_of(corrections: Floats) -> Floats:
    """Return what sums of null2 scores take off a score, in nats: log(1 + omega e^x) as HMMER3's table gives it."""
    shares = (LOG_OMEGA + corrections.astype(np.float64)).astype(np.float32)
    high, apart = np.maximum(shares, np.float32(0)), np.abs(shares)
    places = np.minimum(apart * LOG_SUM_SCALE, np.float32(len(LOG_SUMS) - 1)).astype(np.int64)
    return np.where(apart < LOG_SUM_REACH, high + LOG_SUMS[places], high)


def in_bits(nats: Floats) -> Floats:
    """Return scores in bits."""
    return (nats.astype(np.float64) / LN_2).astype(np.float32)


class TargetScores(Struct, frozen=True):
    """The scores of targets and of their envelopes standing alone, in bits.

    Attributes
    ----------
    score, uncorrected : float32[n]
        Of each target, corrected for biased composition and not.
    begins : int64[n + 1]
        Where the envelopes of each target begin.
    domain_score : float32[m]
        Of each envelope, corrected.
    domain_bias : float64[m]
        What the correction took off it.
    """

    score: Floats
    uncorrected: Floats
    begins: npt.NDArray[np.int64]
    domain_score: Floats
    domain_bias: npt.NDArray[np.float64]

    @property
    def bias(self) -> Floats:
        """What the correction took off each target."""
        return self.uncorrected - self.score


def target_scores(
    found: Sequence[TargetDomains], null: Floats, lengths: npt.NDArray[np.int64], *, without_null2: bool = False
) -> TargetScores:
    """Return the scores of targets.

    The score of a target is that of Forward or, if higher, the sum of its domains that stand out from their bias.

    Parameters
    ----------
    found : sequence of TargetDomains
    null : float32[n]
        Scores of the null model in nats.
    lengths : int64[n]
        Residues of each target.
    without_null2 : bool
        Do without the correction.
    """
    envelopes = _Envelopes.of(found, lengths, without_null2)
    forward = np.array([target.forward for target in found], np.float32)
    corrections = np.array([target.correction for target in found], np.float32)
    bias = np.zeros_like(null) if without_null2 else bias_of(corrections)
    uncorrected, score = in_bits(forward - null), in_bits(forward - (null + bias))
    total, bias, n_inside = envelopes.summed(len(found))
    taken = np.zeros_like(null) if without_null2 else bias_of(bias)
    total = (total + envelopes.outside(np.arange(len(found)), n_inside)).astype(np.float32)
    summed = in_bits(total - (null + taken))
    is_better = (n_inside > 0) & (summed > score)
    domain_score, domain_bias = envelopes.alone(null)
    return TargetScores(
        np.where(is_better, summed, score),
        np.where(is_better, in_bits(total - null), uncorrected),
        np.concatenate([[0], np.cumsum([len(target.envelopes) for target in found])]),
        domain_score,
        domain_bias,
    )


class _Envelopes(Struct, frozen=True):
    """The envelopes of several targets: which target each belongs to, its residues, score and correction in nats."""

    owner: npt.NDArray[np.int64]
    n_inside: npt.NDArray[np.int64]
    score: Floats
    correction: Floats
    lengths: npt.NDArray[np.int64]
    without_null2: bool

    @classmethod
    def of(cls, found: Sequence[TargetDomains], lengths: npt.NDArray[np.int64], without_null2: bool) -> _Envelopes:
        every = [(owner, envelope) for owner, target in enumerate(found) for envelope in target.envelopes]
        correction = np.array([envelope.correction for _, envelope in every], np.float32)
        return cls(
            owner=np.array([owner for owner, _ in every], np.int64),
            n_inside=np.array([envelope.last - envelope.first for _, envelope in every], np.int64),
            score=np.array([envelope.score for _, envelope in every], np.float32),
            correction=np.zeros_like(correction) if without_null2 else correction,
            lengths=lengths,
            without_null2=without_null2,
        )

    def summed(self, n: int) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
        """Return score, correction and residues of what stands out in each target, summed one after the other."""
        out = self.score - self.correction > 0
        score, correction, n_inside = np.zeros(n, np.float32), np.zeros(n, np.float32), np.zeros(n, np.int64)
        np.add.at(score, self.owner[out], self.score[out])
        np.add.at(correction, self.owner[out], self.correction[out])
        np.add.at(n_inside, self.owner[out], self.n_inside[out])
        return score, correction, n_inside

    def outside(self, targets: npt.NDArray[np.int64], n_inside: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the scores of the residues of targets that belong to no domain, in nats."""
        stay = self.lengths.astype(np.float32) / (self.lengths + 3).astype(np.float32)
        loop = np.array([math.log(share) for share in stay.tolist()])  # the C library's: its last bit counts
        scores: npt.NDArray[np.float64] = (self.lengths[targets] - n_inside) * loop[targets]
        return scores

    def alone(self, null: Floats) -> tuple[Floats, npt.NDArray[np.float64]]:
        """Return score and bias of each envelope standing alone, in bits."""
        bias = np.zeros_like(self.correction) if self.without_null2 else bias_of(self.correction)
        alone = (self.score + self.outside(self.owner, self.n_inside)).astype(np.float32)
        return in_bits(alone - (null[self.owner] + bias)), bias.astype(np.float64) / LN_2


def repeats(found: TargetDomains, scores: Floats) -> set[int]:
    """Return which domains to leave out because a better one, or an equal one before, has their alignment.

    Overlapping envelopes may end with the very same alignment (`scores`: float32, of each).
    """
    hidden: set[int] = set()
    if not found.n_overlaps:
        return hidden
    spans = [envelope.path.target_range for envelope in found.envelopes]
    for first in range(len(spans)):
        for second in range(first + 1, len(spans)):
            if spans[first] == spans[second]:
                hidden.add(second if scores[first] >= scores[second] else first)
    return hidden
