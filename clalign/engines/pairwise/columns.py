"""The columns of the hits of sequences: what is said of a target and its best alignment, in files of an alignment."""

from __future__ import annotations

from operator import attrgetter

from msgspec.structs import replace

from clalign.engines.columns import (
    ACCESSION,
    DESCRIPTION,
    EVALUE,
    LENGTH,
    NAME,
    NOTE,
    QUERY,
    QUERY_ACCESSION,
    QUERY_LENGTH,
    SPECIES,
    VERIFIED,
    Column,
    Kind,
    Sets,
    file_column,
    table_of,
)
from clalign.formats.pairwise_rows import PairRow

RANKING = "½ query % + ¼ identity % + ¼ positives %"
"""The formula of the ranking."""


def _known(row: PairRow, value: float) -> float | None:
    """Return a number that only alignments with statistics have."""
    return value if row.has_statistics else None


def _share(key: str, heading: str, tip: str, words: str, short: str = "") -> Column:
    return Column(key, heading, tip, "percent", "%", key, "", short, words, key, value=attrgetter(key))


HITS = (
    replace(NAME, heading="Target", tip="Name of the target"),
    replace(DESCRIPTION, tip="From the file of the targets"),
    NOTE,
    replace(EVALUE, tip="Expected number of targets with this score by chance, in a database of this size",
            value=lambda r: _known(r, r.domain.evalue)),
    Column("bits", "Bits", "Score in bits, comparable between matrices", "number", "bits", sort="score", filter="bits",
           file="bits", value=lambda r: _known(r, r.domain.score)),
    Column("raw", "Score", "Score in units of the matrix", "whole number", sort="raw", filter="score", file="score",
           value=lambda r: r.domain.raw),
    _share("identity", "Identity %", "Share of the columns of the alignment with two equal residues",
           "id identity", "Id. %"),
    _share("positives", "Positives %", "Share of the columns whose residues score above 0 in the matrix",
           "pos", "Pos. %"),
    Column("gaps", "Gaps", "Gaps of whatever length", "whole number", sort="gaps", first="small", filter="gaps",
           file="gaps", value=lambda r: r.pair.n_gaps),
    _share("query_coverage", "Query %", "Share of the query that is aligned", "cov"),
    _share("target_coverage", "Target %", "Share of the target that is aligned", "tcov"),
    Column("query_from_to", "Query from–to", "First and last aligned residue of the query", "places", "residues",
           sort="query_start", first="small", value=lambda r: r.query_ends),
    Column("target_from_to", "Target from–to",
           "First and last aligned residue of the target; on the minus strand the greater number stands first",
           "places", "residues", sort="target_start", first="small", value=lambda r: r.target_ends),
    Column("n_columns", "Columns", "Columns of the alignment, those in gaps included", "whole number",
           sort="n_columns", file="columns", value=lambda r: r.n_columns),
    Column("strand", "Strand", "Strand of the query that is aligned: plus or minus", sort="strand", file="strand",
           value=lambda r: r.strand),
    Column("cigar", "CIGAR", "Path as in SAM along the target: M both, I query alone, D target alone", file="cigar",
           value=lambda r: r.domain.cigar),
    Column("ranking", "Ranking", f"How alike the two are as a whole: {RANKING}", "number", sort="ranking",
           value=lambda r: r.query_coverage / 2 + r.identity / 4 + r.positives / 4),
    replace(LENGTH, tip="Residues of the target"),
    replace(ACCESSION, tip="From the file of the targets"),
    SPECIES,
    VERIFIED,
    replace(QUERY, tip="Query that the target is a hit of"),
)  # fmt: skip

SETS: Sets = {
    "blast": ("BLAST", ("profile", "name", "identity", "n_columns", "gaps", "query_from_to", "target_from_to", "evalue",
                        "bits")),
}  # fmt: skip
"""Columns that belong together: words and keys."""

FILTER_HINT = 'Filter: text, "a phrase", -without, E<1e-5, bits>50, id>=40, best:both'

_RESIDUES: tuple[Kind, str] = ("whole number", "residues")

_IN_FILES = (
    QUERY_ACCESSION,
    replace(QUERY_LENGTH, unit="residues"),
    file_column("query_from", *_RESIDUES, "first residue of the query that is aligned", lambda r: r.query_ends[0]),
    file_column("query_to", *_RESIDUES, "last residue of the query that is aligned", lambda r: r.query_ends[1]),
    file_column("target_from", *_RESIDUES, "first residue of the target that is aligned; on the minus strand after the"
             " last one", lambda r: r.target_ends[0]),
    file_column("target_to", *_RESIDUES, "last residue of the target that is aligned", lambda r: r.target_ends[1]),
    file_column("gap_residues", "whole number", "", "columns in gaps", lambda r: r.pair.n_gap_residues),
)  # fmt: skip

TABLES = {
    "hits": table_of(
        (*HITS, *_IN_FILES),
        "query target query_accession target_accession query_length target_length description evalue bits score"
        " query_from query_to target_from target_to strand query_coverage target_coverage columns identity positives"
        " gaps gap_residues cigar note",
    )
}
"""The tab-separated table of alignments. Coordinates count from 1 and include both ends."""
