"""Clustal alignments, also those of other programs that write this format."""

from __future__ import annotations

from clalign.errors import quoted
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Reading, text_of


def clustal_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of a Clustal alignment, gaps included.

    Raises
    ------
    InputError
        If a line is no row.
    """
    header = True
    for number, line in reading.text.kept_lines():
        if header or not line.strip() or line[:1] in b" \t":
            header = header and not line.strip()
            rows.end_block()
            continue
        name, *parts = line.split()
        if len(parts) > 1 and parts[-1].isdigit():  # the number of residues so far
            del parts[-1]
        if not parts:
            raise reading.text.error(f"the row {quoted(text_of(name), 40)} has a name but no residues.", line=number)
        rows.add(text_of(name), number, b"".join(parts))
