"""The cells of the hits of profiles: what each column says of a sequence and its domains."""

from __future__ import annotations

import math
from collections.abc import Callable

from clalign.engines.plan7.columns import HITS, SETS
from clalign.formats.pairwise_rows import covered

from ... import formatting
from ...models.hit_pages import HitRow
from ...models.hit_table import Cell, TableKind, sets_of, shown


def _optional(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _span(row: HitRow, name: str) -> str:
    """Return the first and last place of the reported domains; `name` is that of their places."""
    spans = [getattr(domain, name) for domain in row.reported_domains]
    return f"{min(start for start, _ in spans) + 1}–{max(end for _, end in spans)}" if spans else ""


def coverage(row: HitRow, profile_length: int) -> float:
    """Return the share of the profile's nodes that the reported domains touch."""
    return covered(domain.profile_range for domain in row.reported_domains) / max(1, profile_length)


def _n_domains(row: HitRow) -> int:
    return row.n_domains if row.estimates is None else len(row.reported_domains)


def _best_evalue(row: HitRow) -> float | None:
    best = row.best_domain
    return None if best is None or math.isnan(best.evalue) else best.evalue


def _accuracy(row: HitRow) -> float | None:
    best = max(row.reported_domains, key=lambda domain: domain.score, default=None)
    return best.accuracy if best is not None else None


def _of(part: str, name: str) -> Callable[[HitRow], float | None]:
    """Return what gives a number of a part of a hit that not every hit has."""
    return lambda row: getattr(getattr(row, part), name, None)


VALUES: dict[str, Callable[[HitRow], float | None]] = {
    "best_evalue": _best_evalue,
    "best_score": _of("best_domain", "score"),
    "accuracy": _accuracy,
    "bias_filter": _of("filters", "bias"),
    **{name: _of("filters", name) for name in ("msv", "viterbi", "forward")},
    **{name: _of("estimates", name) for name in ("expected", "n_regions", "n_clustered", "n_overlaps", "n_envelopes")},
}
"""Numbers that some hits lack, by the keys of their columns."""


def number(value: float | None, digits: int = 1) -> str:
    """Return a number that only HMMER3 hits have, or a dash; what overflows a filter is infinite."""
    if value is None:
        return "—"
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _filter(key: str, digits: int, width: int = 60) -> tuple[Cell, int, bool]:
    return lambda r, m: number(VALUES[key](r), digits), width, False


COLUMNS = shown(HITS, {
    "status": (lambda r, m: m.status(r), 84, True),
    "domains": (lambda r, m: formatting.count(_n_domains(r)), 150, True),
    "bias": (lambda r, m: formatting.score(r.bias), 60, False),
    "best_evalue": (lambda r, m: _optional(VALUES["best_evalue"](r), formatting.evalue), 100, False),
    "best_score": (lambda r, m: _optional(VALUES["best_score"](r), formatting.score), 120, False),
    "coverage": (lambda r, m: f"{100 * coverage(r, m.lengths[r.profile]):.0f}", 76, False),
    "from_to": (lambda r, m: _span(r, "target_range"), 90, False),
    "envelope": (lambda r, m: _span(r, "envelope"), 96, False),
    "model": (lambda r, m: _span(r, "profile_range"), 110, False),
    "accuracy": _filter("accuracy", 2, 76),
    "msv": _filter("msv", 1, 64),
    "bias_filter": _filter("bias_filter", 1, 84),
    "viterbi": _filter("viterbi", 1, 70),
    "forward": _filter("forward", 1, 74),
    "expected": _filter("expected", 1),
    "n_regions": _filter("n_regions", 0, 48),
    "n_clustered": _filter("n_clustered", 0, 48),
    "n_overlaps": _filter("n_overlaps", 0, 48),
    "n_envelopes": _filter("n_envelopes", 0, 48),
    "dom": (lambda r, m: formatting.count(r.n_domains), 48, False),
    "rep": (lambda r, m: formatting.count(len(r.reported_domains)), 48, False),
    "inc": (lambda r, m: formatting.count(sum(s.is_included for s in r.reported_domains)), 48, False),
})  # fmt: skip

PROFILE_TABLE = TableKind(COLUMNS, sets_of(COLUMNS, SETS), values=VALUES)
