"""NEXUS alignments: the matrix of a DATA or CHARACTERS block with sequences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from clalign.errors import quoted
from clalign.formats.aligned import AlignedRows, RowNames
from clalign.formats.blocks import Reading
from clalign.formats.numbers import whole
from clalign.formats.sources import decoded

SEQUENCES = ("dna", "rna", "nucleotide", "protein")
"""Types of data that can be read."""

_QUOTED = r"(?<!\w)'[^']*(?:''[^']*)*'"
"""Pattern of a quoted word; an apostrophe within a word begins none."""

_COMMAND = re.compile(rf"(?:[^;']+|{_QUOTED}|')*")
"""Pattern of a text up to the semicolon."""

_TEXT = re.compile(rf"(?:[^\[\]']+|{_QUOTED}|')*")
"""Pattern of a text up to the bracket of a comment."""

_COMMENT = re.compile(r"[^\[\]]*")

_MATRIX = re.compile(r"\s*matrix(?=[\s;]|$)\s*", re.IGNORECASE)

_NAME = re.compile(r"\s*(?:'((?:[^']|'')*)'|(\S+))(.*)", re.DOTALL)


class _Format(Struct):
    """The values of the commands DIMENSIONS and FORMAT."""

    n_rows: int | None = None
    n_columns: int | None = None
    datatype: str = "standard"
    is_interleaved: bool = False
    gap: bytes = b"-"
    match: bytes = b""
    unsupported: list[str] = field(default_factory=list)


def nexus_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the rows of the first matrix of sequences, gaps included as ``-``.

    Raises
    ------
    InputError
        If there is none, its characters are no residues, or it has a layout that is not read.
    """
    form = _Format()
    command: list[str] = []
    lines = _without_comments(reading)
    for number, line in lines:
        start = 0
        while start < len(line):
            piece = _upto(_COMMAND, line, start)
            found = _MATRIX.match(line, start) if not command else None
            if found:
                _check(reading, form, number)
                _read_matrix(reading, rows, form, lines, line[found.end() :], number)
                for _ in lines:  # to the end of the file, for its checksum
                    pass
                return
            start += len(piece) + 1
            if piece.strip():
                command.append(piece)
            if start <= len(line):  # a semicolon ends it
                _take(form, " ".join(command))
                command = []
    raise reading.text.error("there is no matrix of sequences in this NEXUS file.", "Choose a file with sequences.")


def _without_comments(reading: Reading) -> Iterator[tuple[int, str]]:
    """Yield the lines without comments in brackets, which may span lines."""
    depth = 0
    for number, line in reading.text.kept_lines():
        text, kept, start = decoded(line), "", 0
        while start < len(text):
            piece = _upto(_COMMENT if depth else _TEXT, text, start)
            if not depth:
                kept += piece
            start += len(piece) + 1
            bracket = text[start - 1 : start]
            depth = max(0, depth + (bracket == "[") - (bracket == "]"))
        if kept.strip():
            yield number, kept


def _upto(pattern: re.Pattern[str], text: str, start: int) -> str:
    found = pattern.match(text, start)
    assert found is not None  # it matches the empty text, too
    return found[0]


def _take(form: _Format, command: str) -> None:
    name, _, text = command.strip().partition(" ")
    if name.lower() not in ("dimensions", "format"):
        return
    for found in re.finditer(r"(\w+)(?:\s*=\s*(\S+))?", text):
        key, value = found[1].lower(), found[2] or ""
        if key == "nchar":
            form.n_columns = whole(value)
        elif key == "ntax":
            form.n_rows = whole(value)
        elif key == "datatype":
            form.datatype = value.lower()
        elif key == "interleave":
            form.is_interleaved = value.lower() != "no"
        elif key == "gap" and len(value.encode()) == 1:
            form.gap = value.encode()
        elif key == "matchchar" and len(value.encode()) == 1:
            form.match = value.encode()
        elif key in ("transpose", "nolabels", "tokens") and value.lower() != "no":
            form.unsupported.append(key)


def _check(reading: Reading, form: _Format, number: int) -> None:
    if form.datatype not in SEQUENCES:
        reason = f"this NEXUS file holds data of the type {quoted(form.datatype)}, which are no sequences."
        raise reading.text.error(reason, "Choose a file with sequences.", number)
    if form.unsupported:
        reason = f"a matrix with {quoted(form.unsupported[0].upper())} is not supported."
        raise reading.text.error(reason, "Convert it to FASTA.", number)


def _read_matrix(
    reading: Reading, rows: AlignedRows, form: _Format, lines: Iterator[tuple[int, str]], rest: str, number: int
) -> None:
    begun, left, names = "", 0, RowNames(reading.text)
    parts: list[tuple[str, int, bytes]] = []
    for line_number, line in _matrix_lines(reading, lines, rest, number):
        if left <= 0 or form.is_interleaved:
            found = _NAME.match(line)
            assert found is not None  # the line is not blank
            # A blank within quotes and _ without them are the same.
            begun = "_".join((found[1] or found[2] or "").replace("''", "'").split())
            line, left = found[3], form.n_columns or 0
            if form.is_interleaved and parts and begun == parts[0][0]:
                names.clear()
            names.add(begun, line_number)
        letters = b"".join(line.encode().split()).replace(form.gap, b"-")
        parts.append((begun, line_number, letters))
        left -= len(letters)
    for name, line_number, letters in _with_letters(reading, parts, form.match) if form.match else parts:
        rows.end_block()  # a row may go on in the next line
        rows.add(name, line_number, letters)
    n_rows, n_columns = rows.alignment().cells.shape
    if form.is_interleaved and n_rows < (form.n_rows or 0):
        raise reading.text.error(
            f"there are {n_rows:,} different row names, but the file declares {form.n_rows:,} rows (NTAX).",
            "Give each row a name of its own.",
            number,
        )
    if n_rows and form.n_columns not in (None, n_columns):
        raise reading.text.error(
            f"the rows have {n_columns:,} columns, but the file declares {form.n_columns:,} (NCHAR).", line=number
        )


def _matrix_lines(
    reading: Reading, lines: Iterator[tuple[int, str]], rest: str, number: int
) -> Iterator[tuple[int, str]]:
    """Yield the lines of a matrix up to its semicolon."""
    last = number
    text = rest
    while True:
        before = _upto(_COMMAND, text, 0)
        if before.strip():
            yield last, before
        if before != text:
            return
        following = next(lines, None)
        if following is None:
            raise reading.text.error("the file ends within the matrix that begins in this line.", line=number)
        last, text = following


def _with_letters(
    reading: Reading, parts: list[tuple[str, int, bytes]], match: bytes
) -> Iterator[tuple[str, int, bytes]]:
    """Yield the parts of rows with the letters of the first row in place of the match character."""
    first = b"".join(letters for name, _, letters in parts if name == parts[0][0])
    begins = Counter[str]()
    for name, line, letters in parts:
        begin = begins[name]
        begins[name] += len(letters)
        if match in letters:
            if name == parts[0][0]:
                reason = "the match character stands in the first row, which other rows are compared with."
                raise reading.text.error(reason, line=line)
            cells = np.frombuffer(letters, np.uint8)
            matched = np.frombuffer(first[begin : begin + len(letters)].ljust(len(letters), match), np.uint8)
            letters = np.where(cells == match[0], matched, cells).tobytes()
        yield name, line, letters
