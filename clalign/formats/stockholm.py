"""Stockholm alignments (Pfam and Rfam), read as sequences; a file may hold several."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Block, BlockBuilder, Reading, text_of

MAGIC = b"# STOCKHOLM 1."


def read_stockholm_blocks(reading: Reading) -> Iterator[Block]:
    """Give the rows of Stockholm alignments as blocks of sequences.

    Raises
    ------
    InputError
        If the rows differ in length, or the file ends early.
    """
    builder, rows = BlockBuilder(reading), AlignedRows(reading)
    begun: int | None = None
    for number, line in reading.text.kept_lines():
        if line.startswith(MAGIC):
            if begun is not None and len(rows):
                raise reading.text.error("another alignment begins before the closing // of the last one.", line=number)
            begun = number
        elif line.startswith(b"//"):
            yield from rows.hand_over(builder)
            begun = None
            yield from builder.full()
        elif not line.strip():
            rows.end_block()
        else:
            if begun is None:
                raise reading.text.error(
                    f'"# STOCKHOLM 1.0" is expected before this line: "{text_of(line)[:40]}".', line=number
                )
            _take(reading, rows, number, line)
    if begun is not None:
        _end_without_terminator(reading, rows, begun)
        yield from rows.hand_over(builder)
    yield from builder.rest()


def _take(reading: Reading, rows: AlignedRows, number: int, line: bytes) -> None:
    if line.startswith(b"#"):
        words = line.split(None, 3)
        if words[0] == b"#=GS" and len(words) == 4:
            row = rows.row(text_of(words[1]))
            row.noted = row.noted or number
            if words[2] == b"AC":
                row.accession = text_of(words[3])
            elif words[2] == b"DE":
                row.descriptions.append(text_of(words[3]))
        return
    words = line.split(None, 1)
    if len(words) < 2:
        raise reading.text.error(f'the row "{text_of(line)[:40]}" has a name but no residues.', line=number)
    rows.add(text_of(words[0]), number, words[1])


def _end_without_terminator(reading: Reading, rows: AlignedRows, begun: int) -> None:
    if not len(rows):
        raise reading.text.error("the file ends within the alignment that begins in this line.", line=begun)
    reading.findings.add("no_terminator", begun, "all its rows have the same length")
