"""FASTA, scanned in large pieces: the bytes of a piece are sorted into headers and residues at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.amounts import size_text
from clalign.errors import InputError
from clalign.formats.aligned import AlignedRows
from clalign.formats.blocks import CODES, DROPPED, Block, Reading, record_text, text_of
from clalign.formats.sources import CHUNK, MAX_HEADER_BYTES, Source, TextReader, count_byte, decoded
from clalign.formats.tally import DIGITS

Integers = npt.NDArray[np.int64]

HEADER = ord(">")
COMMENT = ord(";")
NEWLINE = ord("\n")

WHOLE_LINES = b">;"
"""First characters of lines that are never split, however long they are."""


SEGMENT_BYTES = 64 << 20
"""Text after which a segment ends, with the record that is open then. Segments are packed by themselves, and by several
processes at a time, so they depend on nothing but the text."""


class FastaPiece(NamedTuple):
    """A part of a FASTA file in which every header begins a line.

    Attributes
    ----------
    data : bytes
        Some lines; the last one may go on in the next piece, but only if it holds residues.
    line : int
        Number of its first line.
    goes_on : bool
        Whether it begins with the rest of a line of residues.
    """

    data: bytes
    line: int
    goes_on: bool


def fasta_pieces(reading: Reading, chunk: int = CHUNK) -> Iterator[FastaPiece]:
    """Yield the text of a FASTA file in pieces.

    A ``>`` after residues begins a header, as HMMER3 reads it: files are joined where the last line of one has no end.

    Parameters
    ----------
    reading : Reading
        The text, and what is noticed about it.
    chunk : int
        Bytes that are read together.

    Raises
    ------
    InputError
        If a header is too long.
    """
    text, held = reading.text, b""
    goes_on = is_blank = False  # whether a line of residues goes on, and whether it is blank so far
    for data in text.chunks(chunk, WHOLE_LINES, MAX_HEADER_BYTES):
        goes_on, data = goes_on and not held, held + data
        start, line = 0, text.line
        for place in _headers_within_lines(data, goes_on):
            before = data[start:place]
            if before:
                yield FastaPiece(before, line, goes_on)
            line += before.count(b"\n")
            if before.rpartition(b"\n")[2].strip() or (goes_on and not is_blank and b"\n" not in before):
                reading.findings.add("joined", line)
            goes_on, start = False, place
        rest = data[start:]
        held = rest if rest.startswith(b">") and not goes_on and rest[-1] != NEWLINE else b""
        if len(held) > MAX_HEADER_BYTES:
            raise text.error(f"the header is longer than {size_text(MAX_HEADER_BYTES)}.", line=line)
        if not held:
            yield FastaPiece(rest, line, goes_on)
            is_blank = not rest.rpartition(b"\n")[2].strip() and (is_blank or not goes_on or b"\n" in rest)
            goes_on = rest[-1] != NEWLINE


def _headers_within_lines(data: bytes, goes_on: bool) -> list[int]:
    """Return where headers begin within lines of residues; `goes_on`: whether the first line is one of residues."""
    if count_byte(data, HEADER) == data.count(b"\n>") + (data.startswith(b">") and not goes_on):
        return []
    values = np.frombuffer(data, np.uint8)
    signs, ends = np.flatnonzero(values == HEADER), np.flatnonzero(values == NEWLINE)
    numbers = np.searchsorted(ends, signs)
    first = values[np.concatenate([[0], ends + 1])[numbers]]
    within = (first != HEADER) & (first != COMMENT) | (goes_on & (numbers == 0))
    return [int(signs[within][place]) for place in np.unique(numbers[within], return_index=True)[1]]


def fasta_lines(reading: Reading) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a FASTA file with their numbers; one in which a header follows residues is given as two."""
    for number, line in reading.text.lines():
        if b">" not in line or line.startswith((b">", b";")):
            yield number, line
            continue
        before, _, header = line.partition(b">")
        if before.strip():
            yield number, before
            reading.findings.add("joined", number)
        yield number, b">" + header


def text_before_error(text: TextReader, line: int) -> InputError:
    """Return the error for residues before the first header."""
    return text.error(
        "there is text before the first header line (a line that begins with >).",
        "Remove it, or add a header line such as >name.",
        line,
    )


def fasta_rows(reading: Reading, rows: AlignedRows) -> None:
    """Add the records of a FASTA file with their letters as they are, gaps included; names need not differ.

    Raises
    ------
    InputError
        If there is text before the first header.
    """
    for data, first, goes_on in fasta_pieces(reading):
        begins = data.startswith(b">") and not goes_on
        line = first - begins  # the line before a header
        for place, part in enumerate((b"\n" * begins + data).split(b"\n>")):
            head, _, letters = part.partition(b"\n") if place else (b"", b"", part)
            if place:
                words = [text_of(word) for word in head.split(None, 1)]
                name = words[0] if words else f"unnamed_{len(rows.names) + 1}"
                if not words:
                    reading.findings.add("unnamed", line + 1, name)
                rows.begin(name, words[1].rstrip() if len(words) > 1 else "", line + 1)
            begun, line = line + 2 * bool(place), line + bool(place) + part.count(b"\n")
            if b"\n;" in letters or letters.startswith(b";"):
                letters = b"\n".join(b"" if row.startswith(b";") else row for row in letters.split(b"\n"))
            if not rows.names and letters.strip():
                blank = letters[: len(letters) - len(letters.lstrip())]
                raise text_before_error(reading.text, begun + blank.count(b"\n"))
            reading.check(rows.names[-1] if rows.names else "", begun, letters)
            if len(letters.translate(None, DIGITS)) < len(letters):
                for number, row in enumerate(letters.split(b"\n"), begun):
                    if len(row.translate(None, DIGITS)) < len(row):
                        reading.findings.add("digits", number)
            if letters or place:
                rows.extend(line - letters.endswith(b"\n"), letters.translate(None, DROPPED))


def read_fasta_blocks(reading: Reading, chunk: int = CHUNK) -> Iterator[Block]:
    """Yield the sequences of a FASTA file as blocks.

    Lines that begin with ``;`` are comments. White space and digits between residues are left out.

    Parameters
    ----------
    reading : Reading
        The text, and what is noticed about it.
    chunk : int
        Bytes that are read together.

    Raises
    ------
    InputError
        If there is text before the first header.
    """
    scan = _Scan(reading)
    for piece, is_segment in in_segments(fasta_pieces(reading, chunk)):
        yield scan.block(*piece, is_segment)


def in_segments(pieces: Iterable[FastaPiece]) -> Iterator[tuple[FastaPiece, bool]]:
    """Yield pieces, and whether a segment begins with each; those in which one begins are divided.

    A segment begins with the first header that begins a line at or after each multiple of `SEGMENT_BYTES`.
    """
    offset, bound, begins_line = 0, SEGMENT_BYTES, True
    for piece in pieces:
        data, line, goes_on, is_segment = piece.data, piece.line, piece.goes_on, False
        while offset + len(data) > bound:
            place = 0
            if bound > offset or not (begins_line and data.startswith(b">")):
                place = data.find(b"\n>", max(0, bound - offset - 1)) + 1
                if not place:
                    break
            if place:
                yield FastaPiece(data[:place], line, goes_on), is_segment
            line += data.count(b"\n", 0, place)
            offset, data, goes_on, is_segment, begins_line = offset + place, data[place:], False, True, False
            bound = (offset // SEGMENT_BYTES + 1) * SEGMENT_BYTES
        yield FastaPiece(data, line, goes_on), is_segment
        offset, begins_line = offset + len(data), data.endswith(b"\n")


def segment_starts(source: Source, check: Callable[[], None]) -> list[int]:
    """Return where the segments of a file begin that is not compressed and has all line ends as ``\\n``.

    `check` is called often; it may raise `Cancelled`.
    """
    starts, bound = [0], SEGMENT_BYTES
    with source.file.open("rb") as file:
        while bound < source.size:
            file.seek(bound - 1)
            place, held = bound - 1, b""
            while (data := file.read(1 << 16)) and (found := (held + data).find(b"\n>")) < 0:
                check()
                place, held = place + len(held) + len(data) - 1, data[-1:]
            if not data:
                break
            starts.append(place + found + 1)
            bound = (starts[-1] // SEGMENT_BYTES + 1) * SEGMENT_BYTES
    return starts


class _Layout(Struct, frozen=True):
    """The lines of a piece, and which of them are headers or comments.

    `ends` are the places of the line ends, `marked` the numbers (from 0) of the header and comment
    lines, `starts` the places where these begin and `is_header` which of them are headers.
    """

    ends: Integers
    marked: Integers
    starts: Integers
    is_header: npt.NDArray[np.bool_]


class _Scan:
    """The state between two pieces: the number of records, and the name of the last one."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._n_records = 0
        self._last = b""

    def block(self, piece: bytes, first_line: int, goes_on: bool, is_segment: bool) -> Block:
        layout = self._layout(piece, goes_on)
        region_starts = np.concatenate([[0], layout.ends[layout.marked] + 1])
        region_ends = np.concatenate([layout.starts, [len(piece)]])
        if self._n_records == 0:
            self._refuse_text_before(piece, layout, first_line)
        regions = [piece[s:e] for s, e in zip(region_starts.tolist(), region_ends.tolist(), strict=True)]
        residues = b"".join(regions)
        codes = residues.translate(CODES, self._reading.dropped)
        sizes = self._sizes(regions, len(codes), len(residues), layout)
        lines = layout.marked[layout.is_header] + first_line
        names = [self._last, *(texts := self._texts(piece, layout, first_line))]
        self._count(residues, region_starts, region_ends, layout, first_line)
        if self._reading.refused:
            owners = np.concatenate([[0], np.cumsum(layout.is_header)])
            begins = np.concatenate([[0], layout.marked + 1]) + first_line
            for owner, line, region in zip(owners.tolist(), begins.tolist(), regions, strict=True):
                self._reading.check(decoded(names[owner].split(b"\t", 1)[0]), line, region)
        self._last = names[-1]
        return Block(codes, np.cumsum(sizes)[:-1][layout.is_header], texts, lines, is_segment)

    @staticmethod
    def _layout(piece: bytes, goes_on: bool) -> _Layout:
        values = np.frombuffer(piece, np.uint8)
        ends = np.flatnonzero(values == NEWLINE)
        starts = np.concatenate([[0], ends + 1])
        starts = starts[: len(starts) - (len(ends) > 0 and ends[-1] == len(piece) - 1)]
        first = values[starts]
        marks = (first == HEADER) | (first == COMMENT)
        if goes_on:
            marks[0] = False
        marked = np.flatnonzero(marks)
        return _Layout(ends, marked, starts[marked], first[marked] == HEADER)

    def _refuse_text_before(self, piece: bytes, layout: _Layout, first_line: int) -> None:
        """Refuse residues before the first header; comments and blank lines may be there."""
        headers = layout.starts[layout.is_header]
        before = piece[: headers[0]] if len(headers) else piece
        for number, line in enumerate(before.split(b"\n"), first_line):
            if line.strip() and not line.startswith(b";"):
                raise text_before_error(self._reading.text, number)

    def _sizes(self, regions: list[bytes], n_codes: int, n_bytes: int, layout: _Layout) -> Integers:
        """Return the number of residues in each region between marked lines."""
        lines_before = np.concatenate([[-1], layout.marked, [len(layout.ends)]])
        line_ends = np.diff(lines_before) - 1
        if n_codes == n_bytes - int(line_ends.sum()):
            sizes = np.fromiter(map(len, regions), np.int64, len(regions)) - line_ends
            return np.asarray(sizes, np.int64)
        dropped = self._reading.dropped
        return np.array([len(region.translate(CODES, dropped)) for region in regions], np.int64)

    def _count(
        self, residues: bytes, region_starts: Integers, region_ends: Integers, layout: _Layout, first_line: int
    ) -> None:
        joined = np.concatenate([[0], np.cumsum(region_ends - region_starts)[:-1]])

        def line_of(places: Integers) -> Integers:
            region = np.searchsorted(joined, places, side="right") - 1
            lines: Integers = np.searchsorted(layout.ends, places - joined[region] + region_starts[region])
            return lines + first_line

        self._reading.tally.add(residues, line_of)
        comments = layout.marked[~layout.is_header] + first_line
        if len(comments):
            self._reading.findings.add_lines("comment", comments[:8].tolist(), len(comments))

    def _texts(self, piece: bytes, layout: _Layout, first_line: int) -> list[bytes]:
        lines = layout.marked[layout.is_header]
        starts = layout.starts[layout.is_header] + 1
        texts = []
        for start, end, line in zip(starts.tolist(), layout.ends[lines].tolist(), lines.tolist(), strict=True):
            header = piece[start:end]
            self._n_records += 1
            words = header.split(None, 1)
            if words and header.isascii():
                # Blanks at the end of a description stay, as in HMMER's tables.
                texts.append(words[0] + b"\t\t" + (words[1] if len(words) > 1 else b""))
            else:
                texts.append(self._odd_text(header, line + first_line))
        return texts

    def _odd_text(self, header: bytes, line: int) -> bytes:
        """Return the text of a header without a name or with letters beyond ASCII."""
        words = [decoded(word) for word in header.split(None, 1)]
        if not words:
            words = [f"unnamed_{self._n_records}"]
            self._reading.findings.add("unnamed", line, words[0])
        return record_text(words[0], "", words[1] if len(words) > 1 else "")
