"""Thresholds for the domains of HMMER3 hits, which depend on how many targets are reported in the end."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from clalign.values.evalues import hmmer3_evalue


@dataclass(frozen=True, slots=True)
class DomainLimits:
    """What lets a domain of a reported target be listed and be significant; a score in bits goes first.

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for the card of a profile."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @classmethod
    def from_card(cls, card: dict[str, Any]) -> DomainLimits | None:
        """Return the limits in a profile's card; None if its domains were judged when they were found."""
        data = card.get("domain_limits")
        return cls(**{field.name: data.get(field.name) for field in fields(cls)}) if data else None

    def judgment(
        self, score: float, log_pvalue: float | None, n_reported: int, is_included: bool
    ) -> tuple[float, bool, bool]:
        """Return conditional E-value of a domain, whether it is reported, and whether it is significant."""
        evalue = hmmer3_evalue(log_pvalue or 0.0, n_reported if self.n_targets is None else self.n_targets)
        reported = evalue <= self.evalue if self.score is None else score >= self.score
        certain = self.inclusion_score
        included = evalue <= self.inclusion_evalue if certain is None else score >= certain
        return evalue, reported, included and is_included
