"""PHYLIP alignments: sequential or interleaved, with names of ten characters or of one word."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from clalign.errors import quoted
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Reading, text_of
from clalign.formats.numbers import whole
from clalign.formats.sources import LINE_BYTES

STRICT_NAME = 10

_HEAD = re.compile(rb"\s*\d+\s+\d+(?:\s*[A-Za-z]+)?\s*")
"""First line of a data set; letters are options of old versions. No two parts match the same blanks."""

_Line = tuple[int, bytes]


class _Layout(Struct, frozen=True):
    """One way to read the lines: whether rows are interleaved, and whether names have ten characters."""

    is_interleaved: bool
    is_strict: bool


LAYOUTS = tuple(_Layout(interleaved, strict) for strict in (True, False) for interleaved in (True, False))


def phylip_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of a PHYLIP alignment, gaps included.

    The layout is taken with which every row has the announced length; one that is not that of the file parts names
    from residues at another place, and so gives other lengths.

    Raises
    ------
    InputError
        If no layout fits, or several that give other rows, or there are several data sets, or a row has dots, which
        stand for letters of the first row in this format and for gaps in others.
    """
    lines: list[_Line] = []
    for number, line in reading.text.kept_lines():
        if line.strip():
            reading.text.keep(2 * (len(line) + LINE_BYTES), number)  # its parts in two layouts that fit
            lines.append((number, line))
    n_rows, n_columns = _announced(reading, lines)
    fitting = [found for layout in LAYOUTS if (found := _parted(lines[1:], n_rows, n_columns, layout))]
    if any(found != fitting[0] for found in fitting):
        raise reading.text.error(
            "the rows are ambiguous: names cannot be distinguished from residues.",
            "Convert the file to FASTA, or put each row on one line.",
            lines[0][0],
        )
    if not fitting:
        following = next((number for number, line in lines[1:] if _HEAD.fullmatch(line)), None)
        if following is not None:
            raise reading.text.error(
                "another data set begins in this line, but only one alignment can be read from a PHYLIP file.",
                "Put each data set into a file of its own.",
                following,
            )
        raise reading.text.error(
            f"the lines do not form {n_rows:,} rows of {n_columns:,} columns, as the first line declares.",
            line=lines[0][0],
        )
    for place, (name, parts) in enumerate(fitting[0], 1):
        dotted = next((number for number, part in parts if b"." in part), None)
        if dotted is not None:
            raise reading.text.error(
                f"there is a dot in the row {quoted(name)}, which may mean the letter of the first row or a gap.",
                "Write out the letters, or write gaps as -.",
                dotted,
            )
        # Names cut to ten characters need not differ.
        key = rows.unused(name, place)
        for number, part in parts:
            rows.end_block()
            rows.add(key, number, part)


def _announced(reading: Reading, lines: list[_Line]) -> tuple[int, int]:
    words = text_of(lines[0][1]).split()[:2] if lines else []
    counts = [whole(word) for word in words]
    if len(counts) < 2 or counts[0] is None or counts[1] is None or min(counts[0], counts[1]) < 1:
        raise reading.text.error("the first line does not give the numbers of rows and columns.", line=1)
    return counts[0], counts[1]


def _parted(lines: list[_Line], n_rows: int, n_columns: int, layout: _Layout) -> list[tuple[str, list[_Line]]] | None:
    """Return names and parts of the rows; None if the lines do not fit a layout."""
    if len(lines) < n_rows:
        return None
    split: Callable[[bytes], tuple[bytes, bytes]] = _strict if layout.is_strict else _relaxed
    rows: list[tuple[str, list[_Line]]] = []
    if layout.is_interleaved:
        if len(lines) % n_rows:
            return None
        width = 0
        for place, (number, line) in enumerate(lines):
            name, text = split(line) if place < n_rows else (b"", line)
            if place < n_rows:
                rows.append(("_".join(text_of(name).split()), []))
            text = _letters(text)
            width = width if place % n_rows else len(text)
            if len(text) != width:  # the lines of a block are equally long
                return None
            rows[place % n_rows][1].append((number, text))
    else:
        left = 0
        for number, line in lines:
            name, text = split(line) if not left else (b"", line)
            if not left:
                rows.append(("_".join(text_of(name).split()), []))
                left = n_columns
            text = _letters(text)
            rows[-1][1].append((number, text))
            left -= len(text)
            if left < 0:
                return None
    fits = len(rows) == n_rows and all(
        name and sum(len(part) for _, part in parts) == n_columns for name, parts in rows
    )
    return rows if fits else None


def _letters(text: bytes) -> bytes:
    return b"".join(text.split())


def _strict(line: bytes) -> tuple[bytes, bytes]:
    return line[:STRICT_NAME].strip(), line[STRICT_NAME:]


def _relaxed(line: bytes) -> tuple[bytes, bytes]:
    name, _, text = line.strip().replace(b"\t", b" ").partition(b" ")
    return name, text
