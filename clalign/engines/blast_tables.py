"""BLAST's tables of alignments, formats 6 and 7, of every engine whose hits have alignments of two sides."""

from __future__ import annotations

from typing import TextIO

from clalign.engines.export_lines import write_lines
from clalign.engines.export_source import ExportSource
from clalign.formats.blast_columns import FIELDS, columns_of
from clalign.formats.pairwise_rows import outfmt_line
from clalign.formats.tables import PARTIAL, plain


def write_outfmt(source: ExportSource, stream: TextIO) -> int:
    """Write BLAST's table of alignments: format 6, or 7 if what names the columns begins so."""
    asked = source.choice.columns or "6"
    if asked.startswith("7"):
        return write_outfmt7(source, stream)
    names = columns_of(asked)
    found = (row for _, group in source.pair_groups() for row in group)
    count = write_lines(stream, (outfmt_line(row, names, source.species) for row in found))
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def write_outfmt7(source: ExportSource, stream: TextIO) -> int:
    """Write format 7: comments say of each query what it is, also of those without hits."""
    names = columns_of(source.choice.columns or "7")
    origin, count, n_queries = source.provenance, 0, 0
    fields = f"# Fields: {', '.join(FIELDS.get(name, name) for name in names)}"
    for card, group in source.pair_groups(every=True):
        lines = [outfmt_line(row, names, source.species) for row in group]
        query = f"{plain(card['name'])} {plain(card['description'] or '')}".strip()
        head = [f"# clalign {origin.program} {origin.version}", f"# Query: {query}", f"# Database: {source.looked_in}"]
        write_lines(stream, [*head, *[fields] * bool(lines), f"# {len(lines)} hits found", *lines])
        n_queries += 1
        count += len(lines)
    write_lines(stream, [f"# BLAST processed {n_queries} queries"])
    write_lines(stream, [PARTIAL] if origin.partial else [])
    return count
