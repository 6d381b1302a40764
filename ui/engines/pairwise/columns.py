"""Cells of the hits of sequences."""

from __future__ import annotations

import math

from clalign.engines.pairwise.columns import FILTER_HINT, HITS, SETS
from clalign.formats.pairwise_rows import PairRow

from ... import formatting
from ...models.results.hit_filter import words_of
from ...models.results.hit_pages import HitRow
from ...models.results.hits_model import CELLS, HitsModel, TableKind, sets_of, shown


def row_of(hit: HitRow, hits: HitsModel) -> PairRow | None:
    """Return the best alignment of a hit; None if no residues are aligned."""
    best = hit.domains[0] if hit.domains else None
    aligned = best is not None and best.pair is not None and best.states
    return PairRow(hits.cards[hit.profile], hit, hit.domains[0]) if aligned else None


def _bits(row: HitRow, model: HitsModel) -> str:
    return "—" if math.isnan(row.evalue) else formatting.score(row.score)


PAIR_COLUMNS = shown(HITS, {
    "name": (lambda r, m: r.name, 138, True),
    "description": (lambda r, m: r.description, 200, True),
    "evalue": (lambda r, m: formatting.evalue(r.evalue), 64, True),
    "bits": (_bits, 48, True),
    "raw": (lambda r, m: formatting.count(r.raw), 50, True),
    "identity": (None, 46, True),
    "positives": (None, 52, False),
    "gaps": (None, 44, True),
    "query_coverage": (None, 64, True),
    "target_coverage": (None, 68, True),
    "query_from_to": (None, 110, False),
    "target_from_to": (None, 110, False),
    "n_columns": (None, 70, False),
    "strand": (None, 58, False),
    "cigar": (None, 160, False),
    "ranking": (None, 70, False),
    "profile": (CELLS["profile"][0], 130, False),
}, row_of)  # fmt: skip

PAIR_TABLE = TableKind(
    PAIR_COLUMNS, sets_of(PAIR_COLUMNS, SETS), words_of(HITS, FILTER_HINT), query_first=True, score="raw", row=row_of
)
