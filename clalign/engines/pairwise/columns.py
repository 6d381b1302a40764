"""The columns of the hits of sequences: what is said of a target and its best alignment."""

from __future__ import annotations

from clalign.engines.columns import NOTE, VERIFIED, Column, Sets
from clalign.formats.table_columns import meaning_of

RANKING = "½ query % + ¼ identity % + ¼ positives %"
"""The formula of the ranking."""

HITS = (
    Column("name", "Target", "Name of the target", sort="name"),
    Column("description", "Description", "From the file of the targets", sort="description"),
    NOTE,
    Column("evalue", "E-value", "Expected number of targets with this score by chance, in a database of this size",
           "number", sort="evalue", first="small"),
    Column("bits", "Bits", meaning_of("bits"), "number", "bits", sort="score"),
    Column("raw", "Score", "Score in units of the matrix", "whole number", sort="raw"),
    Column("identity", "Identity %", meaning_of("identity"), "percent", "%", sort="identity", short="Id. %"),
    Column("positives", "Positives %", meaning_of("positives"), "percent", "%", sort="positives", short="Pos. %"),
    Column("gaps", "Gaps", meaning_of("gaps"), "whole number", sort="gaps", first="small"),
    Column("query_coverage", "Query %", meaning_of("query_coverage"), "percent", "%", sort="query_coverage"),
    Column("target_coverage", "Target %", meaning_of("target_coverage"), "percent", "%", sort="target_coverage"),
    Column("query_from_to", "Query from–to", "First and last aligned residue of the query", "places", "residues",
           sort="query_start", first="small"),
    Column("target_from_to", "Target from–to",
           "First and last aligned residue of the target; on the minus strand the greater number stands first",
           "places", "residues", sort="target_start", first="small"),
    Column("n_columns", "Columns", meaning_of("columns"), "whole number", sort="n_columns"),
    Column("strand", "Strand", meaning_of("strand"), sort="strand"),
    Column("cigar", "CIGAR", meaning_of("cigar")),
    Column("ranking", "Ranking", f"How alike the two are as a whole: {RANKING}", "number", sort="ranking"),
    Column("length", "Length", "Residues of the target", "whole number", "residues", sort="length"),
    Column("accession", "Accession", "From the file of the targets", sort="accession"),
    VERIFIED,
    Column("profile", "Query", "Query that the target is a hit of", sort="profile"),
)  # fmt: skip

SETS: Sets = {
    "blast": ("BLAST", ("profile", "name", "identity", "n_columns", "gaps", "query_from_to", "target_from_to", "evalue",
                        "bits")),
}  # fmt: skip
"""Columns that belong together: words and keys."""
