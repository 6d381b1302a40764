"""SELEX alignments: blocks of lines with a name and aligned residues, in which blanks are also gaps."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.errors import quoted
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Reading, text_of

TAB = 8
"""Columns between tab stops."""

_GAPS = bytes.maketrans(b" ._~", b"----")


def selex_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of a SELEX alignment, gaps included as ``-``.

    Raises
    ------
    InputError
        If a block has other rows than the first, or the rows differ in length.
    """
    block: list[tuple[int, bytes]] = []
    names: list[bytes] = []
    for number, line in _with_end(reading):
        if line.startswith((b"#", b"%")):
            continue
        if line.strip():
            reading.text.keep((TAB - 1) * line.count(b"\t"), number)
            block.append((number, line.expandtabs(TAB).rstrip()))
            continue
        if block:
            found = [line.split(None, 1)[0] for _, line in block]
            names = names or found
            if found != names:
                wrong = next((i for i, (a, b) in enumerate(zip(found, names, strict=False)) if a != b), 0)
                raise reading.text.error(
                    f"this block has a row that the first block does not have here: {quoted(text_of(found[wrong]))}.",
                    line=block[wrong][0],
                )
            _add(reading, rows, block)
            block = []


def _with_end(reading: Reading) -> Iterator[tuple[int, bytes]]:
    """Yield the lines and a blank one."""
    number = 0
    for number, line in reading.text.kept_lines():
        yield number, line
    yield number + 1, b""


def _add(reading: Reading, rows: AlignedRows, block: list[tuple[int, bytes]]) -> None:
    """Add the lines of a block: all of them from the first column with residues to the last one."""
    starts = [len(line) - len(line.split(None, 1)[1]) for _, line in block if len(line.split(None, 1)) > 1]
    if not starts:
        return
    rows.end_block()
    first, last = min(starts), max(len(line) for _, line in block)
    reading.text.keep(len(block) * (last - first), block[-1][0])
    for number, line in block:
        name = line.split(None, 1)[0]
        text = line[max(first, len(name)) :].ljust(last - first)
        rows.add(text_of(name), number, text.translate(_GAPS))
