"""Cells of the hits of sequences."""

from __future__ import annotations

import math

from clalign.engines.pairwise.columns import FILTER_HINT, HITS, SETS
from clalign.formats.pairwise_rows import PairRow

from ... import formatting
from ...models.results.hit_filter import words_of
from ...models.results.hit_pages import HitRow
from ...models.results.hits_model import LOOKS, CellLook, HitsModel, TableKind, sets_of, shown


def row_of(hit: HitRow, hits: HitsModel) -> PairRow | None:
    """Return the best alignment of a hit; None if no residues are aligned."""
    best = hit.domains[0] if hit.domains else None
    aligned = best is not None and best.pair is not None and best.states
    return PairRow(hits.cards[hit.profile], hit, hit.domains[0]) if aligned else None


def _bits(row: HitRow, model: HitsModel) -> str:
    return "—" if math.isnan(row.evalue) else formatting.score(row.score)


PAIR_COLUMNS = shown(HITS, {
    "name": CellLook(138, shown=True, text=lambda r, m: r.name),
    "description": CellLook(200, shown=True, text=lambda r, m: r.description),
    "evalue": CellLook(64, shown=True, text=lambda r, m: formatting.evalue(r.evalue)),
    "bits": CellLook(48, shown=True, text=_bits),
    "raw": CellLook(50, shown=True, text=lambda r, m: formatting.count(r.raw)),
    "identity": CellLook(46, shown=True),
    "positives": CellLook(52),
    "gaps": CellLook(44, shown=True),
    "query_coverage": CellLook(64, shown=True),
    "target_coverage": CellLook(68, shown=True),
    "query_from_to": CellLook(110),
    "target_from_to": CellLook(110),
    "n_columns": CellLook(70),
    "strand": CellLook(58),
    "cigar": CellLook(160),
    "ranking": CellLook(70),
    "profile": LOOKS["profile"]._replace(width=130),
}, row_of)  # fmt: skip

PAIR_TABLE = TableKind(
    PAIR_COLUMNS, sets_of(PAIR_COLUMNS, SETS), words_of(HITS, FILTER_HINT), query_first=True, score="raw", row=row_of
)
