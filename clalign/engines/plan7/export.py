"""The exports of a run of profiles."""

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
}
"""Of what is found by profiles of HMMER2 and HMMER3."""
