"""Cells of the hits of profiles."""

from __future__ import annotations

import math
from collections.abc import Callable

from clalign.engines.plan7.columns import FILTER_HINT, HITS, SETS, Row

from ... import formatting
from ...models.results.hit_filter import words_of
from ...models.results.hit_pages import HitRow
from ...models.results.hits_model import Cell, CellLook, HitsModel, TableKind, sets_of, shown


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
    return Row(hits.cards[hit.profile], hit, domains, n_domains=n, is_significant=hit.is_significant)


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
    "status": CellLook(100, shown=True, text=lambda r, m: m.status(r)),
    "domains": CellLook(150, shown=True),
    "bias": CellLook(60),
    "best_evalue": CellLook(100, text=_text_cell("best_evalue", lambda value: _optional(value, formatting.evalue))),
    "best_score": CellLook(120, text=_text_cell("best_score", lambda value: _optional(value, formatting.score))),
    "coverage": CellLook(76, text=_text_cell("coverage", lambda value: f"{value:.0f}")),
    "target_coverage": CellLook(90, text=_text_cell("target_coverage", lambda value: f"{value:.0f}")),
    "identity": CellLook(84, text=_text_cell("identity", lambda value: "" if value is None else f"{value:.0f}")),
    "from_to": CellLook(90, text=lambda r, m: _span(r, "target_range")),
    "envelope": CellLook(96, text=lambda r, m: _span(r, "envelope")),
    "model": CellLook(110, text=lambda r, m: _span(r, "query_range")),
    "accuracy": CellLook(76, text=_text_cell("accuracy", lambda value: number(value, 2))),
    "msv": CellLook(64, text=_text_cell("msv", number)),
    "bias_filter": CellLook(84, text=_text_cell("bias_filter", number)),
    "viterbi": CellLook(70, text=_text_cell("viterbi", number)),
    "forward": CellLook(74, text=_text_cell("forward", number)),
    "expected": CellLook(60, text=_text_cell("expected", number)),
    **dict.fromkeys(("n_regions", "n_clustered", "n_overlaps", "n_envelopes", "dom", "rep", "inc"), CellLook(48)),
}, row_of)  # fmt: skip

PROFILE_TABLE = TableKind(
    COLUMNS, sets_of(COLUMNS, SETS), words_of(HITS, FILTER_HINT, "profile", "sequence"), row=row_of
)
