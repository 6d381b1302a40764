"""The cells of the hits of profiles: what each column says of a sequence and its domains."""

from __future__ import annotations

import math
from collections.abc import Callable

from clalign.engines.plan7.columns import HITS, SETS

from ... import formatting
from ...models.hit_pages import HitRow
from ...models.hit_table import Cell, TableKind, sets_of, shown


def _optional(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _span(row: HitRow, name: str) -> str:
    """Return the first and last place of the reported domains; `name` is empty, ``hmm_`` or ``env_``."""
    if not row.reported:
        return ""
    first = min(getattr(span, f"{name}start") for span in row.reported)
    return f"{first + 1}–{max(getattr(span, f'{name}end') for span in row.reported)}"


def number(value: float | None, digits: int = 1) -> str:
    """Return a number that only HMMER3 hits have, or a dash; what overflows a filter is infinite."""
    if value is None:
        return "—"
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "∞" if value > 0 else "−∞"


def _filter(key: str, digits: int, width: int = 60) -> tuple[Cell, int, bool]:
    return lambda r, m: number(getattr(r, key), digits), width, False


COLUMNS = shown(HITS, {
    "status": (lambda r, m: m.status(r), 84, True),
    "domains": (lambda r, m: formatting.count(len(r.reported) if r.has_estimates else r.n_domains), 150, True),
    "bias": (lambda r, m: formatting.score(r.bias), 60, False),
    "best_evalue": (lambda r, m: _optional(r.best_evalue, formatting.evalue), 100, False),
    "best_score": (lambda r, m: _optional(r.best_score, formatting.score), 120, False),
    "coverage": (lambda r, m: f"{100 * r.coverage(m.lengths[r.profile]):.0f}", 76, False),
    "from_to": (lambda r, m: _span(r, ""), 90, False),
    "envelope": (lambda r, m: _span(r, "env_"), 96, False),
    "model": (lambda r, m: _span(r, "hmm_"), 110, False),
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
    "rep": (lambda r, m: formatting.count(len(r.reported)), 48, False),
    "inc": (lambda r, m: formatting.count(sum(s.is_included for s in r.reported)), 48, False),
})  # fmt: skip

PROFILE_TABLE = TableKind(COLUMNS, sets_of(COLUMNS, SETS))
