"""The cells of the hits of sequences: what each column says of a target and its best alignment."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

from clalign.engines.pairwise.columns import HITS, SETS
from clalign.values.hits import Domain, PairFacts

from ... import formatting
from ...models.hit_filter import FilterWords
from ...models.hit_pages import HitRow
from ...models.hit_table import Hits, TableKind, sets_of, shown

_SAM = str.maketrans("ID", "DI")


def _alignment(row: HitRow) -> tuple[Domain, PairFacts] | None:
    """Return the best alignment; None if no residues are aligned."""
    best = row.domains[0] if row.domains else None
    return (best, best.pair) if best is not None and best.pair is not None and best.states else None


def _said(value: Callable[[HitRow, Domain, PairFacts, Hits], str]) -> Callable[[HitRow, Hits], str]:
    """Return what a cell says of the alignment, a dash if there is none."""

    def text(row: HitRow, model: Hits) -> str:
        found = _alignment(row)
        return value(row, *found, model) if found else "—"

    return text


def identity(span: Domain, pair: PairFacts) -> float:
    """Return the share of columns with equal residues, in percent."""
    return 100.0 * pair.n_identical / len(span.states)


def positives(span: Domain, pair: PairFacts) -> float:
    """Return the share of columns whose residues score above 0, in percent."""
    return 100.0 * pair.n_positive / len(span.states)


def query_coverage(row: HitRow, span: Domain, model: Hits) -> float:
    """Return the share of the query that is aligned, in percent."""
    return 100.0 * (span.profile_range[1] - span.profile_range[0]) / max(1, model.lengths[row.profile])


def target_coverage(row: HitRow, span: Domain) -> float:
    """Return the share of the target that is aligned, in percent."""
    return 100.0 * (span.target_range[1] - span.target_range[0]) / max(1, row.length)


def ranking(row: HitRow, span: Domain, pair: PairFacts, model: Hits) -> float:
    """Return what `clalign.engines.pairwise.columns.RANKING` says, from 0 to 100."""
    return query_coverage(row, span, model) / 2 + identity(span, pair) / 4 + positives(span, pair) / 4


def cigar(span: Domain) -> str:
    """Return the path in SAM's letters, the target being the reference."""
    return "".join(f"{len(list(run))}{letter}" for letter, run in groupby(span.states.translate(_SAM)))


def _places(start: int, end: int) -> str:
    return f"{start + 1}–{end}"


def _target_places(span: Domain, pair: PairFacts) -> str:
    """Return the ends on the target as BLAST writes them: on the minus strand the greater one first."""
    return _places(*span.target_range) if pair.strand > 0 else f"{span.target_range[1]}–{span.target_range[0] + 1}"


def _bits(row: HitRow, model: Hits) -> str:
    return "—" if math.isnan(row.evalue) else formatting.score(row.score)


def _share(value: Callable[[HitRow, Domain, PairFacts, Hits], float]) -> Callable[[HitRow, Hits], str]:
    return _said(lambda row, span, pair, model: formatting.share(value(row, span, pair, model)))


PAIR_WORDS = FilterWords(
    {
        "e": "evalue",
        "evalue": "evalue",
        "bits": "score",
        "score": "raw",
        "len": "length",
        "length": "length",
        "id": "identity",
        "identity": "identity",
        "pos": "positives",
        "gaps": "gaps",
        "cov": "query_coverage",
        "tcov": "target_coverage",
    },
    "E, bits, score, id, pos, gaps, cov, tcov, len",
    'Filter: text, "a phrase", -without, E<1e-5, bits>50, id>=40, cov>80, tcov>80, len>200, note:word',
)
"""Of the alignments of two sequences: ``cov`` and ``tcov`` are the shares of query and target."""

PAIR_COLUMNS = shown(HITS, {
    "name": (lambda r, m: r.name, 148, True),
    "description": (lambda r, m: r.description, 200, True),
    "evalue": (lambda r, m: formatting.evalue(r.evalue), 64, True),
    "bits": (_bits, 48, True),
    "raw": (lambda r, m: formatting.count(r.raw), 50, True),
    "identity": (_share(lambda r, s, p, m: identity(s, p)), 46, True),
    "positives": (_share(lambda r, s, p, m: positives(s, p)), 52, False),
    "gaps": (_said(lambda r, s, p, m: formatting.count(p.n_gaps)), 44, True),
    "query_coverage": (_share(lambda r, s, p, m: query_coverage(r, s, m)), 64, True),
    "target_coverage": (_share(lambda r, s, p, m: target_coverage(r, s)), 68, True),
    "query_from_to": (_said(lambda r, s, p, m: _places(*s.profile_range)), 110, False),
    "target_from_to": (_said(lambda r, s, p, m: _target_places(s, p)), 110, False),
    "n_columns": (_said(lambda r, s, p, m: formatting.count(len(s.states))), 70, False),
    "strand": (_said(lambda r, s, p, m: "plus" if p.strand > 0 else "minus"), 48, False),
    "cigar": (_said(lambda r, s, p, m: cigar(s)), 160, False),
    "ranking": (_said(lambda r, s, p, m: f"{ranking(r, s, p, m):.1f}"), 70, False),
    "profile": (lambda r, m: m.names[r.profile], 130, False),
})  # fmt: skip

PAIR_TABLE = TableKind(PAIR_COLUMNS, sets_of(PAIR_COLUMNS, SETS), PAIR_WORDS, query_first=True, score="raw")
