"""The outputs that several engines have: their flags, as data, which a help needs without what writes them."""

from clalign.engines.commands import Output

PLACES = (
    Output("architecture", "--architecture", "write a table of sequences with the significant domains of all queries"
           " on each, overlaps resolved (--overlaps, --clans)"),
    Output("architecture_gff3", "--architecture-gff3", "write the domains of these architectures as GFF3"),
    Output("gff3", "--gff3", "write all domains or alignments as GFF3, in coordinates of their sequences"),
    Output("gff3_genome", "--genome-gff3", "write them as GFF3 in coordinates of a genome, where names or descriptions"
           " of the sequences tell them"),
    Output("bed", "--bed", "write all domains or alignments as BED"),
    Output("bed_genome", "--genome-bed", "write them as BED in coordinates of a genome"),
)  # fmt: skip
"""Of every engine whose hits have places on sequences."""

TABLES = (
    Output("csv", "--csv", "write the table of hits with commas between (CSV)"),
    Output("parquet", "--parquet", "write the table of hits, unrounded, as Parquet (needs pyarrow)"),
)
DOMAIN_TABLES = (
    Output("domcsv", "--domcsv", "write the table of domains with commas between (CSV)"),
    Output("domparquet", "--domparquet", "write the table of domains, unrounded, as Parquet (needs pyarrow)"),
)
"""Beside the tab-separated tables."""

ALIGNMENTS = (
    Output("afa", "--afa", "write the hits of a query, in hmmscan of a profile, aligned to it, as aligned FASTA: upper"
           " case, gaps as dashes", is_of_one=True),
    Output("a2m", "--a2m", "write the same as A2M: residues between the columns of the query in lower case",
           is_of_one=True),
)  # fmt: skip
"""Of every engine whose hits have paths; last: a list of pairs may have several queries, and all else is written."""

OVERVIEW = (
    Output("queries", "--query-table", "write a table of the queries, in hmmscan of the profiles: hits, best E-value"
           " and score, coverage"),
    Output("matrix", "--hit-matrix", "write the scores of targets (lines) with queries (columns), in hmmscan of"
           " sequences with profiles, alike ones beside each other"),
)  # fmt: skip
"""Of every engine that has hits of queries."""

WITH_SPECIES = ("tsv", "domtsv", "csv", "domcsv", "parquet", "domparquet")
"""The exports that a column of species is added to; ``outfmt`` names its columns itself."""

FLANKED = ("fasta_matched",)
"""Those that residues on either side are added to."""

OF_ONE = tuple(one.export for one in ALIGNMENTS if one.is_of_one)
"""Those that hold hits of one query."""

REPORT = (Output("html", "--html", "write a report with pictures, methods and tables as one HTML file"),)
