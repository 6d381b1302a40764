"""Clustal alignments and those of programs that write the same form, read as sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Block, BlockBuilder, Reading, text_of

_ROW = re.compile(rb"(\S+)[ \t]+(\S.*?)(?:[ \t]+\d+)?[ \t]*")
"""Name, residues, and how many residues there were so far."""


def read_clustal_blocks(reading: Reading) -> Iterator[Block]:
    """Give the rows of a Clustal alignment as blocks of sequences.

    Raises
    ------
    InputError
        If a line is no row, or the rows differ in length.
    """
    builder = BlockBuilder(reading)
    clustal_rows(reading).hand_over(builder)
    yield from builder.rest()


def clustal_rows(reading: Reading) -> AlignedRows:
    """Return the rows of a Clustal alignment, gaps included."""
    rows = AlignedRows(reading)
    header = True
    for number, line in reading.text.lines():
        if header or not line.strip() or line[:1] in b" \t":
            header = header and not line.strip()
            continue
        found = _ROW.fullmatch(line)
        if found is None:
            raise reading.text.error(f'the row "{text_of(line)[:40]}" has a name but no residues.', line=number)
        rows.add(text_of(found[1]), number, found[2])
    return rows
