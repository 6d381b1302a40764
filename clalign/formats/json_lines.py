"""Hits as JSON lines: one object a hit, with its domains."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from clalign.formats.pairwise_rows import percent
from clalign.formats.tables import envelope_of
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit, covered

PARTIAL = '{"partial": true}'
"""Last line of a search that is not complete."""


def json_line(card: Card, hit: Hit, domains: Sequence[tuple[int, Domain]], is_significant: bool, note: str = "") -> str:
    """Return the line of a hit.

    Parameters
    ----------
    card : dict
        Card of the profile.
    hit : Hit
    domains : sequence of (int, Domain)
        With their numbers.
    is_significant : bool
    note : str
        The user's note on the hit; left out if empty.
    """
    return json.dumps(
        {
            "profile": {key: card[key] for key in ("name", "accession", "description", "length")},
            "sequence": {key: getattr(hit, key) for key in ("name", "accession", "description", "length")},
            "evalue": _finite(hit.evalue),
            "score": hit.score,
            "bias": hit.bias,
            "log_pvalue": _finite(hit.log_pvalue),
            "significant": is_significant,
            "n_domains": hit.n_domains,
            "estimates": _estimates(hit),
            "filters": _filters(hit),
            **_shares(card, hit, [domain for _, domain in domains]),
            "domains": [_domain(card, hit, *entry) for entry in domains],
            **({"note": note} if note else {}),
        },
        ensure_ascii=False,
        allow_nan=False,
    )


def _estimates(hit: Hit) -> dict[str, object] | None:
    estimates = hit.estimates
    if estimates is None:
        return None
    return {
        "domains": estimates.expected,
        "regions": estimates.n_regions,
        "clustered": estimates.n_clustered,
        "overlaps": estimates.n_overlaps,
        "envelopes": estimates.n_envelopes,
    }


def _filters(hit: Hit) -> dict[str, object] | None:
    scores = hit.filters
    names = ("msv", "bias", "viterbi", "forward")
    return None if scores is None else {name: _finite(getattr(scores, name)) for name in names}


def _finite(value: float | None) -> float | None:
    """Return a number, or None if JSON cannot hold it."""
    return value if value is not None and math.isfinite(value) else None


def _shares(card: Card, hit: Hit, domains: Sequence[Domain]) -> dict[str, object]:
    """Return the coverage of profile and sequence by some domains together, and their identity, in percent."""
    n_columns = sum(len(domain.states) for domain in domains)
    n_identical = sum(domain.n_identical for domain in domains)
    return {
        "profile_coverage": percent(covered(domain.query_range for domain in domains), card["length"]),
        "sequence_coverage": percent(covered(domain.target_range for domain in domains), hit.length),
        "identity": percent(n_identical, n_columns) if domains else None,
    }


def _domain(card: Card, hit: Hit, number: int, domain: Domain) -> dict[str, object]:
    envelope = envelope_of(card, domain)
    return {
        "number": number,
        "score": domain.score,
        "bias": domain.bias,
        "c_evalue": _finite(domain.conditional_evalue),
        "i_evalue": _finite(domain.evalue),
        "significant": domain.is_significant,
        "hmm_from": domain.query_range[0] + 1,
        "hmm_to": domain.query_range[1],
        "ali_from": domain.target_range[0] + 1,
        "ali_to": domain.target_range[1],
        "env_from": envelope and envelope[0] + 1,
        "env_to": envelope and envelope[1],
        "accuracy": domain.accuracy,
        **_shares(card, hit, [domain]),
        "columns": len(domain.states),
        "cigar": domain.cigar,
        "alignment": {
            "model": domain.text.model,
            "match": domain.text.match,
            "sequence": domain.text.target,
            "posterior": domain.text.posterior or None,
        },
    }
