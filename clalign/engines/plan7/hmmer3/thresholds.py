"""Which targets and domains HMMER3 reports, and which it calls significant."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import OptionError
from clalign.runs.tables import PartVerdict
from clalign.values.checked import check_as, plain
from clalign.values.documents import Card
from clalign.values.evalues import hmmer3_evalue, hmmer3_gumbel_score, hmmer3_tail_score
from clalign.values.local_scores import FilterLimits
from clalign.values.profiles import Calibration, Hmm, Hmmer3Settings


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

    def judge(
        self, score: float, evalue: float, log_pvalue: float | None, n_reported: int, is_hit_significant: bool
    ) -> PartVerdict:
        """Return the verdict on a domain."""
        evalue = hmmer3_evalue(log_pvalue or 0.0, n_reported if self.n_targets is None else self.n_targets)
        is_reported = evalue <= self.evalue if self.score is None else score >= self.score
        is_significant = (
            evalue <= self.inclusion_evalue if self.inclusion_score is None else score >= self.inclusion_score
        )
        return PartVerdict(evalue, is_reported, is_significant and is_hit_significant)


class Hmmer2DomainLimits(Struct, frozen=True):
    """What makes a domain of a HMMER2 profile significant: a score at least, or else an E-value at most."""

    score: float | None
    evalue: float
    n_targets: float = 0.0

    def judge(
        self, score: float, evalue: float, log_pvalue: float | None, n_reported: int, is_hit_significant: bool
    ) -> PartVerdict:
        """Return the verdict on a domain, which is reported and has no conditional E-value."""
        return PartVerdict(None, True, self.calls_significant(score, evalue))

    def calls_significant(self, score: float, evalue: float) -> bool:
        """Return whether a domain is significant."""
        return evalue <= self.evalue if self.score is None else score >= self.score


def domain_limits(card: Card, spec: Card) -> DomainLimits | Hmmer2DomainLimits | None:
    """Return the judge of the domains of a profile; None if they were judged when they were found."""
    if card.get("origin") != "hmmer2":
        return DomainLimits.from_card(card)
    cutoffs, evalue = card["cutoffs"].get(spec.get("cutoff")), spec.get("inclusion_domain_evalue")
    score = cutoffs[-1] if cutoffs else spec.get("inclusion_domain_score")
    return Hmmer2DomainLimits(score, math.inf if evalue is None else evalue)


DOMAIN_EVALUE = 10.0
"""The limit of conditional E-values unless the user gives one."""

UNREACHABLE_BITS = 2.0**30 / 1000.0
"""Stands for an infinite limit (bits)."""

CUTOFFS = {"ga": "gathering", "tc": "trusted", "nc": "noise"}


class Hmmer3Thresholds(Struct, frozen=True):
    """What a target needs to be reported and to be called significant; a given score replaces the E-value.

    `n_targets` is the number of targets that E-values count with.
    """

    evalue: float
    score: float | None
    inclusion_evalue: float
    inclusion_score: float | None
    domains: DomainLimits
    n_targets: float
    calibration: Calibration

    def reports(self, score: float, evalue: float) -> bool:
        """Return whether a target is reported."""
        return score >= self.score if self.score is not None else evalue <= self.evalue

    def calls_significant(self, score: float, evalue: float) -> bool:
        """Return whether a reported target is significant.

        Must be monotone in the key that hits are sorted by: `significant_sql` and `least_significant_score` rely on it.
        """
        return score >= self.inclusion_score if self.inclusion_score is not None else evalue <= self.inclusion_evalue

    @property
    def report_score(self) -> float:
        """Score in bits that a sequence needs to be reported."""
        return self._least(self.score, self.evalue)

    @property
    def least_significant_score(self) -> float:
        """Score in bits that a sequence needs to be significant."""
        return self._least(self.inclusion_score, self.inclusion_evalue)

    def pvalue(self, evalue: float) -> float:
        """Return the P-value of an E-value; without targets every E-value is 0, so that any P-value will do."""
        return evalue / self.n_targets if self.n_targets else math.inf

    def _least(self, score: float | None, evalue: float) -> float:
        if score is None:
            score = hmmer3_tail_score(self.pvalue(evalue), self.calibration)
        return min(max(score, -UNREACHABLE_BITS), UNREACHABLE_BITS)


def hmmer3_thresholds(hmm: Hmm, spec: SearchSpec, n_targets: float) -> Hmmer3Thresholds:
    """Return the thresholds of a search whose E-values count this many targets, unless the spec says otherwise.

    Raises
    ------
    OptionError
        If the model's own cutoffs are asked for and it has none, or if it has no score statistics.
    """
    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    if settings.msv is None or settings.viterbi is None or settings.forward is None:
        raise OptionError(
            f"The HMMER3 profile {hmm.name} has no score statistics (STATS), so nothing could be reported.",
            "Build it again with hmmbuild, which adds them.",
        )
    score, domain_score = spec.score, spec.domain_score
    inclusion_score, inclusion_domain_score = spec.inclusion_score, spec.inclusion_domain_score
    if spec.cutoff != "none":
        score, domain_score = inclusion_score, inclusion_domain_score = _cutoff(hmm, spec.cutoff)
    domain_evalue = DOMAIN_EVALUE if spec.domain_evalue is None else spec.domain_evalue
    domains = DomainLimits(
        domain_evalue, domain_score, spec.inclusion_domain_evalue, inclusion_domain_score, spec.n_domain_targets,
        inclusion_score is not None,
    )  # fmt: skip
    size = n_targets if spec.n_targets is None else spec.n_targets
    return Hmmer3Thresholds(spec.evalue, score, spec.inclusion_evalue, inclusion_score, domains, size, settings.forward)


def _cutoff(hmm: Hmm, name: str) -> tuple[float, float]:
    pair: tuple[float, float] | None = getattr(hmm.cutoffs, CUTOFFS[name])
    if pair is None:
        raise OptionError(
            f"The profile {hmm.name} has no {CUTOFFS[name]} cutoff ({name.upper()}).",
            f"Leave out --cut_{name}, or use -T and --domT.",
        )
    return float(np.float32(pair[0])), float(np.float32(pair[1]))


def filter_limits(spec: SearchSpec) -> FilterLimits:
    """Return the limits that let targets pass the filters."""
    if spec.without_filters:
        return FilterLimits(1.0, 1.0, 1.0, False)
    return FilterLimits(min(spec.f1, 1.0), min(spec.f2, 1.0), min(spec.f3, 1.0), not spec.without_bias_filter)


def card_of_statistics(settings: Hmmer3Settings, limits: FilterLimits, thresholds: Hmmer3Thresholds) -> Card:
    """Return the fields of a HMMER3 profile's card about its statistics and thresholds, as plain data."""
    assert settings.msv is not None
    assert settings.viterbi is not None
    assert settings.forward is not None
    passing = hmmer3_gumbel_score(limits.f1, settings.msv)
    return {
        "calibration3": {
            "msv": {"mu": settings.msv.location, "lambda": settings.msv.slope},
            "viterbi": {"mu": settings.viterbi.location, "lambda": settings.viterbi.slope},
            "forward": {"tau": settings.forward.location, "lambda": settings.forward.slope},
        },
        "filter_limits": {"f1": limits.f1, "f2": limits.f2, "f3": limits.f3, "bias": limits.bias},
        "domain_limits": plain(thresholds.domains),
        "histogram_pass_score": passing if math.isfinite(passing) else None,
    }
