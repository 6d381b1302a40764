"""The exports of a pairwise search, and the orders in which a help and the window name them."""

from clalign.engines import exports as shared
from clalign.engines.exports import SPECIES, Export
from clalign.engines.lazy_imports import LazyImport

_HERE = "clalign.engines.pairwise.export"

TEXT = Export(
    "text",
    "-o",
    "write the text, or what --outfmt asks for, to F instead of standard output",
    "Text with alignments",
    ".txt",
    LazyImport(f"{_HERE}:write_text"),
    options=("alignments", "width"),
    is_main=True,
    group="report",
)

TABLE = Export(
    "tsv",
    "--tsv",
    "write a tab-separated table of alignments with a header",
    "Table of alignments with a header (TSV)",
    ".tsv",
    LazyImport("clalign.engines.table_files:write_tsv"),
    argument="hits",
    separator="\t",
    options=SPECIES,
)

SCORES = Export(
    "scores",
    "--scores",
    "write query, target and score of every pair, in the order of the input",
    "Scores of all pairs, hits or not (TSV)",
    "-scores.tsv",
    LazyImport(f"{_HERE}:write_scores"),
    counts="pair",
    separator="\t",
)

SAM = Export("sam", "--sam", "write SAM", "SAM", ".sam", LazyImport(f"{_HERE}:write_sam"), group="alignment")

JSONL = Export(
    "jsonl",
    "--json",
    "write a JSON object for each hit, one a line",
    "JSON lines, a target each",
    ".jsonl",
    LazyImport(f"{_HERE}:write_jsonl"),
)

STOCKHOLM = Export(
    "stockholm",
    "--stockholm",
    "write the targets found, aligned to their query, as Stockholm",
    "Stockholm, targets aligned to each query",
    ".sto",
    LazyImport(f"{_HERE}:write_stockholm"),
    counts="aligned part",
    aligns="all queries",
    serves="alignment",
    group="alignment",
)

SEQUENCES = shared.FASTA, shared.matched("the aligned part of each target", "aligned parts", _HERE)

OUTPUTS = (
    *(TEXT, TABLE, SCORES, SAM, JSONL, STOCKHOLM, *SEQUENCES, *shared.OVERVIEW, *shared.HIT_FILES),
    *(*shared.ARCHITECTURES, shared.REPORT, *shared.ALIGNMENTS, shared.BLAST),
)
"""Exports that have flags, in the order of a help."""

EXPORTS = (
    *(TABLE, *shared.BLAST_TABLES, *shared.HIT_FILES, TEXT, SAM, JSONL, SCORES, *SEQUENCES, STOCKHOLM),
    *(*shared.ALIGNMENTS, *shared.OVERVIEW, *shared.ARCHITECTURES, shared.REPORT),
)
"""All, in the order of the window."""
