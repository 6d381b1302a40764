"""The columns of the table of a pairwise search: what each says of a target and its best alignment."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

from clalign.formats.table_columns import meaning_of
from clalign.values.hits import PairFacts

from ... import formatting
from ...models.hit_filter import FilterWords
from ...models.hit_pages import HitRow, Span
from ...models.hit_table import NOTE, VERIFIED, Column, Hits, TableKind, sets_of
from ...models.pair_values import PAIR_VALUES

RANKING = "½ query % + ¼ identity % + ¼ positives %"
"""The formula of the ranking."""

_SAM = str.maketrans("ID", "DI")


def _alignment(row: HitRow) -> tuple[Span, PairFacts] | None:
    """Return the best alignment; None if no residues are aligned."""
    best = row.spans[0] if row.spans else None
    return (best, best.pair) if best is not None and best.pair is not None and best.states else None


def _said(value: Callable[[HitRow, Span, PairFacts, Hits], str]) -> Callable[[HitRow, Hits], str]:
    """Return what a cell says of the alignment, a dash if there is none."""

    def text(row: HitRow, model: Hits) -> str:
        found = _alignment(row)
        return value(row, *found, model) if found else "—"

    return text


def identity(span: Span, pair: PairFacts) -> float:
    """Return the share of columns with equal residues, in percent."""
    return 100.0 * pair.n_identical / len(span.states)


def positives(span: Span, pair: PairFacts) -> float:
    """Return the share of columns whose residues score above 0, in percent."""
    return 100.0 * pair.n_positive / len(span.states)


def query_coverage(row: HitRow, span: Span, model: Hits) -> float:
    """Return the share of the query that is aligned, in percent."""
    return 100.0 * (span.hmm_end - span.hmm_start) / max(1, model.lengths[row.profile])


def ranking(row: HitRow, span: Span, pair: PairFacts, model: Hits) -> float:
    """Return what `RANKING` says, from 0 to 100."""
    return query_coverage(row, span, model) / 2 + identity(span, pair) / 4 + positives(span, pair) / 4


def cigar(span: Span) -> str:
    """Return the path in SAM's letters, the target being the reference."""
    return "".join(f"{len(list(run))}{letter}" for letter, run in groupby(span.states.translate(_SAM)))


def _places(start: int, end: int) -> str:
    return f"{start + 1}–{end}"


def _target_places(span: Span, pair: PairFacts) -> str:
    """Return the ends on the target as BLAST writes them: on the minus strand the greater one first."""
    return _places(span.start, span.end) if pair.strand > 0 else f"{span.end}–{span.start + 1}"


def _bits(row: HitRow, model: Hits) -> str:
    return "—" if math.isnan(row.evalue) else formatting.score(row.score)


def _share(value: Callable[[HitRow, Span, PairFacts, Hits], float]) -> Callable[[HitRow, Hits], str]:
    return _said(lambda row, span, pair, model: formatting.share(value(row, span, pair, model)))


PAIR_WORDS = FilterWords(
    {
        "e": "evalue",
        "evalue": "evalue",
        "bits": "score",
        "score": "raw",
        "len": "length",
        "length": "length",
        "id": PAIR_VALUES["identity"],
        "identity": PAIR_VALUES["identity"],
        "pos": PAIR_VALUES["positives"],
        "gaps": PAIR_VALUES["gaps"],
        "cov": PAIR_VALUES["query_coverage"],
        "tcov": PAIR_VALUES["target_coverage"],
    },
    "E, bits, score, id, pos, gaps, cov, tcov, len",
    'Filter: text, "a phrase", -without, E<1e-5, bits>50, id>=40, cov>80, tcov>80, len>200, note:word',
)
"""Of the alignments of two sequences: ``cov`` and ``tcov`` are the shares of query and target."""

PAIR_COLUMNS = (
    Column("name", "Target", "Name of the target", lambda r, m: r.name, "name", False, True, 148),
    Column("description", "Description", "From the file of the targets", lambda r, m: r.description, "description",
           False, True, 200),
    NOTE,
    Column("evalue", "E-value", "Expected number of targets with this score by chance, in a database of this size",
           lambda r, m: formatting.evalue(r.evalue), "evalue", True, True, 64, True),
    Column("bits", "Bits", meaning_of("bits"), _bits,
           "score", True, True, 48),
    Column("raw", "Score", "Score in units of the matrix", lambda r, m: formatting.count(r.raw), "raw", True, True, 50),
    Column("identity", "Identity %", meaning_of("identity"),
           _share(lambda r, s, p, m: identity(s, p)), "identity", True, True, 46, head="Id. %"),
    Column("positives", "Positives %", meaning_of("positives"),
           _share(lambda r, s, p, m: positives(s, p)), "positives", True, False, 52, head="Pos. %"),
    Column("gaps", "Gaps", meaning_of("gaps"), _said(lambda r, s, p, m: formatting.count(p.n_gaps)), "gaps", True,
           True, 44, True),
    Column("query_coverage", "Query %", meaning_of("query_coverage"),
           _share(lambda r, s, p, m: query_coverage(r, s, m)), "query_coverage", True, True, 64),
    Column("target_coverage", "Target %", meaning_of("target_coverage"),
           _share(lambda r, s, p, m: 100.0 * (s.end - s.start) / max(1, r.length)), "target_coverage", True, True, 68),
    Column("query_from_to", "Query from–to", "First and last aligned residue of the query",
           _said(lambda r, s, p, m: _places(s.hmm_start, s.hmm_end)), "query_start", True, False, 110, True),
    Column("target_from_to", "Target from–to",
           "First and last aligned residue of the target; on the minus strand the greater number stands first",
           _said(lambda r, s, p, m: _target_places(s, p)), "target_start", True, False, 110, True),
    Column("n_columns", "Columns", meaning_of("columns"), _said(lambda r, s, p, m: formatting.count(len(s.states))),
           "n_columns", True, False, 70),
    Column("strand", "Strand", meaning_of("strand"),
           _said(lambda r, s, p, m: "plus" if p.strand > 0 else "minus"), "strand", False, False, 48),
    Column("cigar", "CIGAR", meaning_of("cigar"),
           _said(lambda r, s, p, m: cigar(s)), "", False, False, 160),
    Column("ranking", "Ranking", f"How alike the two are as a whole: {RANKING}",
           _said(lambda r, s, p, m: f"{ranking(r, s, p, m):.1f}"), "ranking", True, False, 70),
    Column("length", "Length", "Residues of the target", lambda r, m: formatting.count(r.length), "length", True, False,
           70),
    Column("accession", "Accession", "From the file of the targets", lambda r, m: r.accession, "accession", False,
           False, 100),
    VERIFIED,
    Column("profile", "Query", "Query that the target is a hit of", lambda r, m: m.names[r.profile], "profile", False,
           False, 130),
)  # fmt: skip

PAIR_TABLE = TableKind(
    PAIR_COLUMNS,
    sets_of(
        PAIR_COLUMNS,
        blast=("BLAST", ("profile", "name", "identity", "n_columns", "gaps", "query_from_to", "target_from_to",
                         "evalue", "bits")),
    ),
    PAIR_WORDS,
    query_first=True,
    score="raw",
)  # fmt: skip
