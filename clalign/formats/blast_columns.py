"""The columns of BLAST's tables by their names, with words for helps."""

from __future__ import annotations

import difflib
import re

from clalign.errors import OptionError

WORDS = {
    "qseqid": "name of the query",
    "qacc": "accession of the query",
    "qlen": "residues of the query",
    "sseqid": "name of the target",
    "qaccver": "accession of the query",
    "saccver": "accession of the target",
    "sacc": "accession of the target",
    "stitle": "description of the target",
    "sscinames": "species of the target, as its description names it with OS= or OX=, or as a table of taxonomy does",
    "slen": "residues of the target",
    "qstart": "first residue of the query",
    "qend": "last residue of the query",
    "sstart": "first residue of the target; after the last one on the minus strand",
    "send": "last residue of the target",
    "qseq": "aligned part of the query, with gaps",
    "sseq": "aligned part of the target, with gaps",
    "evalue": "E-value",
    "bitscore": "bit score",
    "score": "score in units of the matrix",
    "length": "columns of the alignment",
    "pident": "identical residues, percent",
    "nident": "identical residues",
    "mismatch": "different residues",
    "positive": "residues with a score above 0",
    "ppos": "residues with a score above 0, percent",
    "gapopen": "gaps, of whatever length",
    "gaps": "columns in gaps",
    "qcovs": "query covered by all alignments with the target, percent",
    "qcovhsp": "query covered by the alignment, percent",
    "scovhsp": "target covered by the alignment, percent",
    "sstrand": "strand",
    "btop": "BLAST's traceback operations",
    "cigar": "path along the target, as in SAM: M both, I query alone, D target alone",
}
"""Names of columns for ``--outfmt``, and their contents; all but scovhsp and cigar are BLAST's."""

FIELDS = {
    "qseqid": "query id", "qacc": "query acc.", "qaccver": "query acc.ver", "qlen": "query length",
    "sseqid": "subject id", "sacc": "subject acc.", "saccver": "subject acc.ver", "slen": "subject length",
    "stitle": "subject title", "sscinames": "subject sci names", "qstart": "q. start", "qend": "q. end",
    "sstart": "s. start", "send": "s. end",
    "qseq": "query seq", "sseq": "subject seq", "evalue": "evalue", "bitscore": "bit score", "score": "score",
    "length": "alignment length", "pident": "% identity", "nident": "identical", "mismatch": "mismatches",
    "positive": "positives", "ppos": "% positives", "gapopen": "gap opens", "gaps": "gaps",
    "qcovs": "% query coverage per subject", "qcovhsp": "% query coverage per hsp",
    "scovhsp": "% subject coverage per hsp", "sstrand": "subject strand", "btop": "BTOP", "cigar": "CIGAR",
}  # fmt: skip
"""Titles of the columns in the comments of format 7."""

STANDARD = "qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore"
"""Columns that BLAST prints by default."""


def columns_of(text: str) -> tuple[str, ...]:
    """Return the columns that an ``--outfmt`` names: ``6`` or ``7``, perhaps with names; ``std`` are the usual ones.

    Raises
    ------
    OptionError
        If it is neither format, or a name is unknown.
    """
    words = text.split()
    if not words or words[0] not in ("6", "7"):
        hint = 'Give BLAST\'s format 6 or 7, with or without columns, as in "6 qseqid sseqid".'
        raise OptionError(f'--outfmt is "{text}".', hint)
    names = re.sub(r"\bstd\b", STANDARD, " ".join(words[1:]) or STANDARD).split()
    unknown = next((name for name in names if name not in WORDS), None)
    if unknown is not None:
        near = difflib.get_close_matches(unknown, WORDS, 3)
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise OptionError(f'There is no column "{unknown}".', f"{hint}The columns are: std, {', '.join(WORDS)}.")
    return tuple(names)
