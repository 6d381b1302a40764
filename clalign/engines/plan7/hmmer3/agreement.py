"""How far the numbers that two devices compute of HMMER3's hits may lie apart."""

from __future__ import annotations

import math

import numpy as np

from clalign.engines.plan7.tables import Survivors
from clalign.values.hits import Domain, Hit

TOLERANCE = 0.005
"""Limit of the difference between numbers of two devices (bits): HMMER3's probabilities are not integers."""

FORWARD_SLACK = np.float32(0.05)
"""Limit of the difference between the Forward scores of filter and domains (nats), which are summed in other orders."""

FORWARD_SHARE = np.float32(1e-4)
"""And this share of the score on top.

A row adds its scale to a sum in single precision, and rounds it by up to 2^-24 of it, here and there another way. Over
n rows such errors grow like a random walk, to about 2^-24 sqrt(n) of the score: 1.9e-5 over 100,000 rows (1.8e-5 was
measured), 1e-4 over 2.8 million.
"""

SHARE = float(FORWARD_SHARE)
"""Scores of two devices may lie apart by this share, if that is more than `TOLERANCE`: those of long targets are sums
of many rounded numbers.
"""


def hits_agree(hit: Hit, again: Hit) -> bool:
    """Return whether two devices found the same of a HMMER3 hit, and whether it names the same sequence."""
    places = [(h.input_index, h.name, h.accession, h.description, h.length, h.is_significant) for h in (hit, again)]
    same = [(h.n_domains, _counts(h), len(h.domains)) for h in (hit, again)]
    are_close = close(hit.score, again.score) and close(hit.bias, again.bias, hit.score)
    if places[0] != places[1] or same[0] != same[1] or not are_close or not _close_logs(hit, again):
        return False
    pairs = [_soft_numbers(h) for h in (hit, again)]
    filters = all(a == b or (a is not None and b is not None and close(a, b)) for a, b in zip(*pairs, strict=True))
    return filters and all(_domains_agree(a, b) for a, b in zip(hit.domains, again.domains, strict=True))


def _counts(hit: Hit) -> tuple[int, ...]:
    found = hit.estimates
    return () if found is None else (found.n_regions, found.n_clustered, found.n_overlaps, found.n_envelopes)


def _soft_numbers(hit: Hit) -> tuple[float | None, ...]:
    """Return the scores of a hit in the filters, and how many domains it is expected to have."""
    scores, estimates = hit.filters, hit.estimates
    kept = (scores.msv, scores.bias, scores.viterbi, scores.forward) if scores else (None,) * 4
    return *kept, estimates.expected if estimates else None


def _posteriors_agree(a: str, b: str) -> bool:
    """Return whether digits of posterior probabilities are the same, or neighbors: they are rounded."""
    steps = "0123456789*"
    both = [(steps.find(x), steps.find(y)) for x, y in zip(a, b, strict=False) if x != y]
    return len(a) == len(b) and all(min(pair) >= 0 and abs(pair[0] - pair[1]) == 1 for pair in both)


def _domains_agree(a: Domain, b: Domain) -> bool:
    spans = [(d.number, d.raw, d.envelope, d.target_range, d.query_range, d.states, d.text.model, d.text.match,
              d.text.target) for d in (a, b)]  # fmt: skip
    if not _posteriors_agree(a.text.posterior, b.text.posterior):
        return False
    are_close = close(a.score, b.score) and close(a.bias, b.bias, a.score) and close(a.accuracy or 0, b.accuracy or 0)
    return spans[0] == spans[1] and _close_logs(a, b) and are_close


def close(a: float, b: float, scale: float = 0.0) -> bool:
    """Return whether numbers are close for two devices; the difference of two scores has their `scale`."""
    return a == b or bool(np.isfinite(a) and abs(a - b) <= max(TOLERANCE, SHARE * max(abs(a), abs(scale))))


def _close_logs(a: Hit | Domain, b: Hit | Domain) -> bool:
    """Return whether P-values, and E-values beside them, are of scores that are close."""
    logs = (a.log_pvalue or 0.0) - (b.log_pvalue or 0.0)
    ratio = abs(np.log(max(a.evalue, 1e-300)) - np.log(max(b.evalue, 1e-300)))
    most = 2 * max(TOLERANCE, SHARE * abs(a.log_pvalue or 0.0))
    return bool(abs(logs) <= most and ratio <= most)


def passages_differ(kept: Survivors, again: Survivors, row: int) -> tuple[int, int] | None:
    """Return how many filters a target passed there and again, if that or a score differs; None if nothing does."""
    n_passed, scores = list[int](), list[tuple[float, ...]]()
    for table in (kept, again):
        places = np.flatnonzero(table.rows == row)[:1]
        columns = (table.msv, table.bias, table.viterbi, table.forward)
        n_passed.append(int(table.reached[places].sum()))
        scores.append(tuple(float(column[places[0]]) if len(places) else math.nan for column in columns))
    are_close = all(close(a, b) or (math.isnan(a) and math.isnan(b)) for a, b in zip(*scores, strict=True))
    before, now = n_passed
    is_at_limit = min(before, now) == len(columns) - 1  # Forward scores differ a little
    return None if are_close and (before == now or is_at_limit) else (before, now)
