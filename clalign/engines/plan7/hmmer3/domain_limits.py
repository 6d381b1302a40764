"""Thresholds for domains; those of HMMER3 hits depend on how many targets are reported in the end."""

from __future__ import annotations

import math

from msgspec import Struct

from clalign.values.checked import check_as
from clalign.values.documents import Card
from clalign.values.evalues import hmmer3_evalue


class DomainLimits(Struct, frozen=True):
    """What lets a domain of a reported target be listed and be significant; a given score replaces the E-value.

    Attributes
    ----------
    evalue, inclusion_evalue : float
        Conditional E-value at most.
    score, inclusion_score : float or None
        Score at least; None where the E-value counts.
    n_targets : float or None
        What conditional E-values count; None for the targets that are reported.
    sorts_by_score : bool
        Whether hits are listed by score instead of P-value.
    """

    evalue: float
    score: float | None
    inclusion_evalue: float
    inclusion_score: float | None
    n_targets: float | None
    sorts_by_score: bool

    @classmethod
    def from_card(cls, card: Card) -> DomainLimits | None:
        """Return the limits in a profile's card; None if its domains were judged when they were found."""
        data = card.get("domain_limits")
        return check_as(cls, data) if data else None

    def judgment(
        self, score: float, evalue: float, log_pvalue: float | None, n_reported: int, is_hit_significant: bool
    ) -> tuple[float, bool, bool]:
        """Return conditional E-value of a domain, whether it is reported, and whether it is significant."""
        evalue = hmmer3_evalue(log_pvalue or 0.0, n_reported if self.n_targets is None else self.n_targets)
        is_reported = evalue <= self.evalue if self.score is None else score >= self.score
        is_significant = (
            evalue <= self.inclusion_evalue if self.inclusion_score is None else score >= self.inclusion_score
        )
        return evalue, is_reported, is_significant and is_hit_significant


class Hmmer2DomainLimits(Struct, frozen=True):
    """What makes a domain of a HMMER2 profile significant: a score at least, or else an E-value at most."""

    score: float | None
    evalue: float
    n_targets: float = 0.0

    def judgment(
        self, score: float, evalue: float, log_pvalue: float | None, n_reported: int, is_hit_significant: bool
    ) -> tuple[None, bool, bool]:
        """Return that it has no conditional E-value and is reported, and whether it is significant."""
        return None, True, self.calls_significant(score, evalue)

    def calls_significant(self, score: float, evalue: float) -> bool:
        """Return whether a domain is significant."""
        return evalue <= self.evalue if self.score is None else score >= self.score


def domain_limits(card: Card, spec: Card) -> DomainLimits | Hmmer2DomainLimits | None:
    """Return what the domains of a profile are judged by; None if they were judged when they were found."""
    if card.get("origin") != "hmmer2":
        return DomainLimits.from_card(card)
    cutoffs, evalue = card["cutoffs"].get(spec.get("cutoff")), spec.get("inclusion_domain_evalue")
    score = cutoffs[-1] if cutoffs else spec.get("inclusion_domain_score")
    return Hmmer2DomainLimits(score, math.inf if evalue is None else evalue)
