"""What the queries of a search in rounds are."""

from __future__ import annotations

from typing import Literal

from clalign.databases.loading import load_database
from clalign.databases.rereading import ALIGNED
from clalign.formats.a3m import alignment_form
from clalign.formats.recognize import identify
from clalign.formats.sources import is_plain, opened
from clalign.jobs import QuietContext


def kind_of_queries(path: str, sequence_format: str) -> Literal["sequences", "alignments", "profiles"]:
    """Return the kind of a file; rows of an alignment are sequences where the format is given, as HMMER reads them.

    Raises
    ------
    InputError
        If the file is of no known kind.
    """
    if sequence_format != "auto" or not is_plain(path):  # which can be read once only
        return "sequences"
    with opened(path) as source:
        found = identify(source)
        if found.any_kind() == "profiles":
            return "profiles"
        is_fasta = found.format == "fasta"
        is_aligned = found.kind == "alignment" or (is_fasta and alignment_form(source, QuietContext()) == "a3m")
    if is_fasta and not is_aligned:
        is_aligned = load_database(path, alphabet="amino")[1].format == ALIGNED
    return "alignments" if is_aligned else "sequences"
