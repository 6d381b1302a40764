"""A3M alignments: FASTA in which lower-case letters are inserts, so that the rows differ in length."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from clalign.errors import InputError
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import Block, BlockBuilder, Reading, text_of
from clalign.formats.fasta import fasta_lines, fasta_pieces, text_before_error
from clalign.formats.recognize import A3M_ANNOTATION, identify
from clalign.formats.sources import LINE_BYTES, Source, TextReader
from clalign.jobs import JobContext

COMMENT, ANNOTATION = "comment", "annotation"
"""Kinds of findings that are no rows."""

INSERTS = bytes(range(ord("a"), ord("z") + 1)) + b"."
COLUMN_BYTES = 64
"""Bytes of memory for each letter of the longest row while its columns are placed: eight numbers."""

ROW_COPIES = 4
"""Number of copies of the longest row that are in memory while it is made."""

_NO_COLUMN = INSERTS + b" \t\v\f"


def alignment_form(source: Source, context: JobContext) -> str:
    """Return the format of a file that may be an alignment; some files that begin like FASTA are A3M.

    Raises
    ------
    InputError
        If it is anything else.
    """
    return refined(identify(source).alignment_format(), source, context)


def refined(form: str, source: Source, context: JobContext) -> str:
    """Return the format of a file: A3M where it only begins like FASTA."""
    return "a3m" if form == "fasta" and is_a3m(TextReader(source, context)) else form


def is_a3m(text: TextReader) -> bool:
    """Return whether the rows of a FASTA file have equal numbers of columns (upper-case letters and ``-``) but are A3M.

    They are if their lengths differ, or if there are comments or annotation of HH-suite.
    """
    columns: set[int] = set()
    lengths: set[int] = set()
    reading = Reading(text)
    for _, n_columns, length in _sizes(reading):
        columns.add(n_columns)
        lengths.add(length)
        if len(columns) > 1:
            return False
    has_more = len(lengths) > 1 or not reading.findings.found.keys().isdisjoint((COMMENT, ANNOTATION))
    return len(columns) == 1 and 0 not in columns and has_more


def check_columns(text: TextReader) -> None:
    """Refuse a file whose rows differ in columns.

    Raises
    ------
    InputError
        With the line in which the row begins.
    """
    expected: int | None = None
    for line, n_columns, _ in _sizes(Reading(text)):
        if expected not in (None, n_columns):
            raise _unequal(text, n_columns, line)
        expected = n_columns


def _unequal(text: TextReader, n_columns: int, line: int) -> InputError:
    return text.error(f"the rows differ in their number of columns: this one has {n_columns:,}.", line=line)


def _sizes(reading: Reading) -> Iterator[tuple[int, int, int]]:
    """Yield the line where each row begins, its columns and its letters; comments and annotation become findings."""
    begun = n_columns = length = 0
    for piece in fasta_pieces(reading):
        goes_on = piece.goes_on
        for number, line in enumerate(piece.data.split(b"\n"), piece.line):
            if line.startswith(b">") and not goes_on:
                if begun:
                    yield begun, n_columns, length
                begun, n_columns, length = 0 if _is_annotation(reading, number, line) else number, 0, 0
            elif goes_on or not _is_comment(reading, number, line):
                n_columns += len(line.translate(None, _NO_COLUMN))
                length += len(line)
            goes_on = False
    if begun:
        yield begun, n_columns, length


def _is_comment(reading: Reading, number: int, line: bytes) -> bool:
    if line.startswith(b"#"):
        reading.findings.add(COMMENT, number)
    return line.startswith((b"#", b";"))


def _is_annotation(reading: Reading, number: int, header: bytes) -> bool:
    found = A3M_ANNOTATION.match(header)
    if found:
        reading.findings.add(ANNOTATION, number, found[0][1:].decode())
    return found is not None


def a3m_lines(reading: Reading) -> Iterator[tuple[int, bytes]]:
    """Give headers and residues with the numbers of their lines, without comments and annotation.

    Raises
    ------
    InputError
        If there is text before the first header.
    """
    is_left_out: bool | None = None
    for number, line in fasta_lines(reading):
        if line.startswith(b">"):
            is_left_out = _is_annotation(reading, number, line)
        elif _is_comment(reading, number, line):
            continue
        if is_left_out is None and line.strip():
            raise text_before_error(reading.text, number)
        if is_left_out is False:
            yield number, line


def read_a3m_blocks(reading: Reading) -> Iterator[Block]:
    """Yield the sequences of an A3M alignment as blocks."""
    builder = BlockBuilder(reading)
    for number, line in a3m_lines(reading):
        if line.startswith(b">"):
            yield from builder.full()
            name, description = (*text_of(line[1:]).split(None, 1), "", "")[:2]
            builder.start(name, "", description, number)
        else:
            builder.residues(number, line)
    yield from builder.rest()


def a3m_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of an A3M alignment, with the gaps that it leaves out beside the inserts of other rows.

    Raises
    ------
    InputError
        If the rows have other numbers of columns, or there are too many gaps to keep them.
    """
    given = deque(a3m_sequences(reading))
    widths: npt.NDArray[np.int64] | None = None
    for number, _, _, text in given:
        reading.text.context.check()
        sizes = np.diff(_edges(text))
        if widths is not None and len(sizes) != len(widths):
            raise _unequal(reading.text, len(sizes) - 1, number)
        widths = sizes if widths is None else np.maximum(widths, sizes)
    if widths is None:
        return
    ends = np.cumsum(widths)
    n_columns = int(ends[-1])
    reading.text.keep(ROW_COPIES * n_columns, given[0][0])
    for place in range(1, len(given) + 1):
        reading.text.context.check()
        number, name, description, text = given.popleft()
        reading.text.keep(n_columns, number)
        rows.number_of(rows.unused(name, place), number)
        rows.descriptions[-1] = description
        rows.extend(number, _filled(text, ends - widths, n_columns))


def a3m_sequences(reading: Reading) -> Iterator[tuple[int, str, str, bytes]]:
    """Yield the line, the name, the description and the letters of each row, without the dots that some files have."""
    split_rows: deque[tuple[int, str, str, list[bytes]]] = deque()
    size = longest = 0
    for number, line in a3m_lines(reading):
        if line.startswith(b">"):
            reading.text.keep(len(line) + LINE_BYTES, number)
            name, description = (*text_of(line[1:]).split(None, 1), "", "")[:2]
            split_rows.append((number, name, description, []))
            size = 0
        else:
            reading.check(name, number, line)
            letters = line.translate(None, b". \t\v\f")
            size += len(letters)
            reading.text.keep(len(letters) + LINE_BYTES + COLUMN_BYTES * max(0, size - longest), number)
            longest = max(longest, size)
            split_rows[-1][3].append(letters)
    while split_rows:  # so that parts and whole rows are not in memory together
        number, name, description, parts = split_rows.popleft()
        yield number, name, description, b"".join(parts)


def _edges(text: bytes) -> npt.NDArray[np.int64]:
    """Return where each column begins (int64[columns + 2]): before the first what precedes it, then the end."""
    letters = np.frombuffer(text, np.uint8)
    places = np.flatnonzero((letters < ord("a")) | (letters > ord("z")))
    return np.concatenate([[0], places, [len(text)]]).astype(np.int64)


def _filled(text: bytes, begins: npt.NDArray[np.int64], n: int) -> bytes:
    """Return a row of n letters in which each column begins where it does in all rows, with dots between them."""
    edges = _edges(text)
    places = np.repeat(begins - edges[:-1], np.diff(edges))
    places += np.arange(len(text))
    row = np.full(n, ord("."), np.uint8)
    row[places] = np.frombuffer(text, np.uint8)
    return row.tobytes()
