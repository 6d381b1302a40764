"""The exports of a run of profiles."""

from clalign.engines import architectures, blast_tables, hit_alignments, overview, report, table_files
from clalign.engines.commands import Export
from clalign.engines.engine import Writer
from clalign.engines.export import write_fasta
from clalign.engines.plan7.export_sequences import write_matched, write_stockholm
from clalign.engines.plan7.export_tables import (
    write_domtblout,
    write_domtsv,
    write_jsonl,
    write_pfamtblout,
    write_tblout,
    write_tsv,
)
from clalign.engines.plan7.export_text import write_text

WRITERS: dict[str, Writer] = {
    "text": write_text,
    "tsv": write_tsv,
    "domtsv": write_domtsv,
    "tblout": write_tblout,
    "domtblout": write_domtblout,
    "pfamtblout": write_pfamtblout,
    "jsonl": write_jsonl,
    "stockholm": write_stockholm,
    "fasta": write_fasta,
    "fasta_matched": write_matched,
    **blast_tables.WRITERS,
    **table_files.writers(("tsv", ""), ("domtsv", "dom")),
    **hit_alignments.WRITERS,
    **overview.WRITERS,
    **architectures.WRITERS,
    **report.WRITERS,
}
"""Of what is found by profiles of HMMER2 and HMMER3."""

EXPORTS = (
    Export("fasta", "FASTA, whole sequences", ".fasta"),
    Export("fasta_matched", "FASTA, matched parts", ".fasta", "-matched"),
    Export("stockholm", "Stockholm alignment", ".sto"),
    Export("tsv", "Table of hits (TSV)", ".tsv"),
    Export("domtsv", "Table of domains (TSV)", ".tsv", "-domains"),
    *table_files.HITS,
    *table_files.DOMAINS,
    *blast_tables.EXPORTS,
    Export("tblout", "HMMER table of hits (tblout)", ".tbl"),
    Export("domtblout", "HMMER table of domains (domtblout)", ".domtbl"),
    Export("pfamtblout", "Pfam's table of sequences and domains (pfamtblout)", ".pfamtbl"),
    Export("jsonl", "JSON lines, a hit each", ".jsonl"),
    Export("text", "Text as HMMER prints it", ".txt"),
    *hit_alignments.EXPORTS,
    *overview.EXPORTS,
    *architectures.EXPORTS,
    *report.EXPORTS,
)
"""As people are offered them."""
