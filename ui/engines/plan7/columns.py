"""Cells of the hits of profiles."""

from __future__ import annotations

import math
from collections.abc import Callable

from clalign.engines.plan7.columns import FILTER_HINT, HITS, SETS, Row

from ... import formatting
from ...models.results.hit_filter import words_of
from ...models.results.hit_pages import HitRow
from ...models.results.hits_model import Cell, HitsModel, TableKind, sets_of, shown


def _optional(value: float | None, write: Callable[[float], str]) -> str:
    return "" if value is None else write(value)


def _span(row: HitRow, name: str) -> str:
    """Return first and last position of the reported domains; `name` is that of their ranges."""
    spans = [getattr(domain, name) for domain in row.reported_domains]
    return f"{min(start for start, _ in spans) + 1}–{max(end for _, end in spans)}" if spans else ""


def row_of(hit: HitRow, hits: HitsModel) -> Row:
    """Return a hit as a row of the table."""
    domains = hit.reported_domains
    n = hit.n_domains if hit.estimates is None else len(domains)
    return Row(hits.cards[hit.profile], hit, domains, n_domains=n, is_significant=hits.is_significant(hit))


def number(value: float | None, digits: int = 1) -> str:
    """Return a number that only HMMER3 hits have, or a dash; an overflow of a filter is infinite."""
    if value is None:
        return "—"
    return formatting.signed(f"{value:.{digits}f}") if math.isfinite(value) else "∞" if value > 0 else "−∞"


_VALUES = {column.key: column.value for column in HITS}


def _text_cell(key: str, write: Callable[..., str]) -> Cell:
    """Return a cell with a value of the row, or empty if it is unknown."""
    return lambda r, m: write(_VALUES[key](row_of(r, m)))


COLUMNS = shown(HITS, {
    "status": (lambda r, m: m.status(r), 100, True),
    "domains": (None, 150, True),
    "bias": (None, 60, False),
    "best_evalue": (_text_cell("best_evalue", lambda value: _optional(value, formatting.evalue)), 100, False),
    "best_score": (_text_cell("best_score", lambda value: _optional(value, formatting.score)), 120, False),
    "coverage": (_text_cell("coverage", lambda value: f"{value:.0f}"), 76, False),
    "target_coverage": (_text_cell("target_coverage", lambda value: f"{value:.0f}"), 90, False),
    "identity": (_text_cell("identity", lambda value: "" if value is None else f"{value:.0f}"), 84, False),
    "from_to": (lambda r, m: _span(r, "target_range"), 90, False),
    "envelope": (lambda r, m: _span(r, "envelope"), 96, False),
    "model": (lambda r, m: _span(r, "query_range"), 110, False),
    "accuracy": (_text_cell("accuracy", lambda value: number(value, 2)), 76, False),
    "msv": (_text_cell("msv", number), 64, False),
    "bias_filter": (_text_cell("bias_filter", number), 84, False),
    "viterbi": (_text_cell("viterbi", number), 70, False),
    "forward": (_text_cell("forward", number), 74, False),
    "expected": (_text_cell("expected", number), 60, False),
    **dict.fromkeys(("n_regions", "n_clustered", "n_overlaps", "n_envelopes", "dom", "rep", "inc"), (None, 48, False)),
}, row_of)  # fmt: skip

PROFILE_TABLE = TableKind(
    COLUMNS, sets_of(COLUMNS, SETS), words_of(HITS, FILTER_HINT, "profile", "sequence"), row=row_of
)
