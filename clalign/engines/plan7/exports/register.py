"""The exports of a run of profiles, and the orders in which a help and the window name them."""

from msgspec.structs import replace

from clalign.engines import exports as shared
from clalign.engines.exports import SPECIES, Export
from clalign.engines.lazy_imports import LazyImport

_SEQUENCES, _TABLES = ("clalign.engines.plan7.exports.sequences", "clalign.engines.plan7.exports.tables")

TEXT = Export(
    "text",
    "-o",
    "write the text to F instead of standard output",
    "Text as HMMER prints it",
    ".txt",
    LazyImport("clalign.engines.plan7.exports.text:write_text"),
    by_query=LazyImport("clalign.engines.plan7.exports.text:write_profile"),
    options=("alignments", "width", "accessions"),
    is_main=True,
    group="report",
)

HMMER_TABLES = (
    Export(
        "tblout",
        "--tblout",
        "write HMMER3's table of hits",
        "HMMER table of hits (tblout)",
        ".tbl",
        LazyImport(f"{_TABLES}:write_tblout"),
        by_query=LazyImport(f"{_TABLES}:write_hits"),
    ),
    Export(
        "domtblout",
        "--domtblout",
        "write HMMER3's table of domains",
        "HMMER table of domains (domtblout)",
        ".domtbl",
        LazyImport(f"{_TABLES}:write_domtblout"),
        by_query=LazyImport(f"{_TABLES}:write_domains"),
        counts="domain",
    ),
    Export(
        "pfamtblout",
        "--pfamtblout",
        "write HMMER3's table of hits and domains for Pfam",
        "Pfam's table of sequences and domains (pfamtblout)",
        ".pfamtbl",
        LazyImport(f"{_TABLES}:write_pfamtblout"),
        by_query=LazyImport(f"{_TABLES}:write_hits_and_domains"),
    ),
)

JSONL = Export(
    "jsonl",
    "--json",
    "write a JSON object for each hit, one a line",
    "JSON lines, a hit each",
    ".jsonl",
    LazyImport(f"{_TABLES}:write_jsonl"),
    by_query=LazyImport(f"{_TABLES}:write_objects"),
)

TABLES = (
    Export(
        "tsv",
        "--tsv",
        "write a tab-separated table of sequences",
        "Table of hits (TSV)",
        ".tsv",
        LazyImport("clalign.engines.table_files:write_tsv"),
        argument="hits",
        by_query=LazyImport("clalign.engines.plan7.exports.rows:write_hit_rows"),
        separator="\t",
        options=SPECIES,
    ),
    Export(
        "domtsv",
        "--domtsv",
        "write a tab-separated table of domains",
        "Table of domains (TSV)",
        "-domains.tsv",
        LazyImport("clalign.engines.table_files:write_tsv"),
        argument="domains",
        by_query=LazyImport("clalign.engines.plan7.exports.rows:write_domain_rows"),
        counts="domain",
        separator="\t",
        options=SPECIES,
    ),
)

STOCKHOLM = Export(
    "stockholm",
    "-A",
    "write the domains, aligned to the profile, as Stockholm: the significant ones with a search, those of all chosen"
    " hits with export",
    "Stockholm alignment",
    ".sto",
    LazyImport(f"{_SEQUENCES}:write_stockholm"),
    counts="aligned domain",
    aligns="all queries",
    serves="alignment",
    options=("seq_limit", "width"),
    group="alignment",
)

_ROUNDS = "clalign.engines.plan7.exports.rounds"

A3M = Export(
    "a3m",
    "--a3m",
    "write the domains as A3M, under the query if that is a sequence: what it has no column for in lower case; the"
    " significant ones with a search",
    "A3M, hits of one query",
    ".a3m",
    LazyImport(f"{_ROUNDS}:write_a3m"),
    counts="aligned domain",
    aligns="one query",
    options=("seq_limit",),
    group="alignment",
    is_exact=True,
    has_remarks=False,
)

ROUNDS = (
    Export(
        "chkhmm",
        "--chkhmm",
        "write the profiles of each round to F-1.hmm, F-2.hmm ...",
        "",
        ".hmm",
        LazyImport(f"{_ROUNDS}:write_profiles"),
        counts="profile",
        by_round=True,
        is_exact=True,
        has_remarks=False,
    ),
    Export(
        "chkali",
        "--chkali",
        "write the alignments that end each round to F-1.sto, F-2.sto ...",
        "",
        ".sto",
        LazyImport(f"{_ROUNDS}:write_alignments"),
        counts="aligned domain",
        by_round=True,
        is_exact=True,
        has_remarks=False,
    ),
)

SEQUENCES = (
    replace(shared.FASTA, help="write the reported sequences, whole", words="FASTA, whole sequences"),
    shared.matched("the part that each domain covers", "matched parts", _SEQUENCES),
)


def _limited(*exports: Export) -> tuple[Export, ...]:
    """Return exports that take the first hits of each query alone, where that is asked for."""
    return tuple(one if one.by_round else replace(one, options=(*one.options, "max_hits")) for one in exports)


OUTPUTS = _limited(
    *(TEXT, *HMMER_TABLES, JSONL, *TABLES, STOCKHOLM, A3M, *SEQUENCES, *shared.OVERVIEW),
    *(*shared.HIT_FILES, *shared.DOMAIN_FILES, *shared.ARCHITECTURES, shared.REPORT, *shared.ALIGNMENTS, shared.BLAST),
)
"""Exports that have flags, in the order of a help."""

OUTPUTS_OF_ROUNDS = _limited(
    *(TEXT, *HMMER_TABLES, JSONL, *TABLES, STOCKHOLM, A3M, *ROUNDS, *SEQUENCES),
    *(*shared.HIT_FILES, *shared.DOMAIN_FILES, shared.REPORT, shared.BLAST),
)
"""Exports of a search in rounds that have flags, in the order of a help."""

EXPORTS = _limited(
    *(*SEQUENCES, STOCKHOLM, A3M, *ROUNDS, *TABLES, *shared.HIT_FILES, *shared.DOMAIN_FILES, *shared.BLAST_TABLES),
    *(*HMMER_TABLES, JSONL, TEXT, *shared.ALIGNMENTS, *shared.OVERVIEW, *shared.ARCHITECTURES, shared.REPORT),
)
"""All, in the order of the window."""
