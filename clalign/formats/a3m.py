"""A3M alignments: FASTA in which lower-case letters are inserts, so that the rows differ in length."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.errors import InputError
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Reading, text_of
from clalign.formats.fasta import WHOLE_LINES
from clalign.formats.sources import LONGEST_HEADER, TextReader

INSERTS = bytes(range(ord("a"), ord("z") + 1)) + b"."
_NO_COLUMN = INSERTS + b" \t\v\f"


def is_a3m(text: TextReader) -> bool:
    """Return whether the rows of a FASTA file differ in length, but not in columns: upper-case letters and ``-``."""
    columns: set[int] = set()
    lengths: set[int] = set()
    for _, n_columns, length in _sizes(text):
        columns.add(n_columns)
        lengths.add(length)
        if len(columns) > 1:
            return False
    return len(columns) == 1 and 0 not in columns and len(lengths) > 1


def check_columns(text: TextReader) -> None:
    """Refuse a file whose rows differ in columns.

    Raises
    ------
    InputError
        With the line in which the row begins.
    """
    expected: int | None = None
    for line, n_columns, _ in _sizes(text):
        if expected not in (None, n_columns):
            raise _unequal(text, n_columns, line)
        expected = n_columns


def _unequal(text: TextReader, n_columns: int, line: int) -> InputError:
    return text.error(f"the rows differ in their number of columns: this one has {n_columns:,}.", line=line)


def _sizes(text: TextReader) -> Iterator[tuple[int, int, int]]:
    """Yield of each row the line in which it begins, its columns, and its letters."""
    begun = n_columns = length = 0
    within = False
    for piece in text.chunks(whole=WHOLE_LINES, longest=LONGEST_HEADER):
        lines = piece.split(b"\n")
        for number, line in enumerate(lines, text.line):
            if line.startswith(b">") and not within:
                if begun:
                    yield begun, n_columns, length
                begun, n_columns, length = number, 0, 0
            elif within or not line.startswith(b";"):
                n_columns += len(line.translate(None, _NO_COLUMN))
                length += len(line)
            within = False
        within = bool(lines[-1])  # a line may go on in the next piece
    if begun:
        yield begun, n_columns, length


def a3m_rows(reading: Reading) -> AlignedRows:
    """Return the rows of an A3M alignment, with the gaps that it leaves out beside the inserts of other rows.

    Raises
    ------
    InputError
        If the rows have other numbers of columns, or there are too many gaps to keep them.
    """
    given: list[tuple[int, str, list[bytes]]] = []
    counted = AlignedRows(reading)
    for number, line in reading.text.lines():
        counted.take(len(line), number)
        if line.startswith(b">"):
            given.append((number, text_of(line[1:]).split(None, 1)[0] if line[1:].strip() else "", []))
        elif given:
            given[-1][2].append(b"".join(line.split()))
    parted = [(number, name, list(_columns(b"".join(parts)))) for number, name, parts in given]
    widths = [max(map(len, column)) for column in zip(*(columns for _, _, columns in parted), strict=False)]
    rows = AlignedRows(reading)
    for place, (number, name, columns) in enumerate(parted):
        if len(columns) != len(widths):
            raise _unequal(reading.text, len(columns) - 1, number)
        text = b"".join(part.ljust(width, b".") for part, width in zip(columns, widths, strict=True))
        unique = name if name and name not in rows else f"{name or 'unnamed'}_{place + 1}"
        rows.add(unique, number, text)
    return rows


def _columns(text: bytes) -> Iterator[bytes]:
    """Yield what stands before the first column, then each column with the inserts behind it."""
    start = 0
    for place, byte in enumerate(text):
        if byte not in INSERTS:
            yield text[start:place].replace(b".", b"")
            start = place
    yield text[start:].replace(b".", b"")
