"""FASTA, scanned in large pieces: the bytes of a piece are sorted into headers and residues at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.formats.blocks import CODES, Block, Reading, record_text
from clalign.formats.sources import CHUNK, LONGEST_HEADER, decoded

Integers = npt.NDArray[np.int64]

HEADER = ord(">")
COMMENT = ord(";")
NEWLINE = ord("\n")

WHOLE_LINES = b">;"
"""Lines that begin so are never parted, however long they are."""


def read_fasta_blocks(reading: Reading, chunk: int = CHUNK) -> Iterator[Block]:
    """Give the sequences of a FASTA file as blocks.

    Lines that begin with ``;`` are comments. White space and digits between residues are left out.

    Parameters
    ----------
    reading : Reading
        The text, and what is noticed about it.
    chunk : int
        Bytes that are looked at together.

    Raises
    ------
    InputError
        If there is text before the first header.
    """
    scan = _Scan(reading)
    for piece in reading.text.chunks(chunk, WHOLE_LINES, LONGEST_HEADER):
        yield scan.block(piece, reading.text.line)


class _Layout(Struct, frozen=True):
    """Where the lines of a piece are, and which of them are headers or comments.

    `ends` are the places of the line ends, `marked` the numbers (from 0) of the header and comment
    lines, `starts` the places where these begin and `is_header` which of them are headers.
    """

    ends: Integers
    marked: Integers
    starts: Integers
    is_header: npt.NDArray[np.bool_]


class _Scan:
    """The state between two pieces: whether a line goes on, and how many records there were."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._within_line = False
        self._n_records = 0

    def block(self, piece: bytes, first_line: int) -> Block:
        layout = self._layout(piece)
        self._within_line = piece[-1] != NEWLINE
        region_starts = np.concatenate([[0], layout.ends[layout.marked] + 1])
        region_ends = np.concatenate([layout.starts, [len(piece)]])
        if self._n_records == 0:
            self._refuse_text_before(piece, layout, first_line)
        regions = [piece[s:e] for s, e in zip(region_starts.tolist(), region_ends.tolist(), strict=True)]
        residues = b"".join(regions)
        codes = residues.translate(CODES, self._reading.dropped)
        sizes = self._sizes(regions, len(codes), len(residues), layout)
        self._count(residues, region_starts, region_ends, layout, first_line)
        return Block(
            codes,
            np.cumsum(sizes)[:-1][layout.is_header],
            self._texts(piece, layout, first_line),
            layout.marked[layout.is_header] + first_line,
        )

    def _layout(self, piece: bytes) -> _Layout:
        values = np.frombuffer(piece, np.uint8)
        ends = np.flatnonzero(values == NEWLINE)
        starts = np.concatenate([[0], ends + 1])
        starts = starts[: len(starts) - (len(ends) > 0 and ends[-1] == len(piece) - 1)]
        first = values[starts]
        marks = (first == HEADER) | (first == COMMENT)
        if self._within_line:
            marks[0] = False
        marked = np.flatnonzero(marks)
        return _Layout(ends, marked, starts[marked], first[marked] == HEADER)

    def _refuse_text_before(self, piece: bytes, layout: _Layout, first_line: int) -> None:
        """Refuse residues before the first header; comments and blank lines may be there."""
        headers = layout.starts[layout.is_header]
        before = piece[: headers[0]] if len(headers) else piece
        for number, line in enumerate(before.split(b"\n"), first_line):
            if line.strip() and not line.startswith(b";"):
                raise self._reading.text.error(
                    "there is text before the first header line (a line that begins with >).",
                    "Remove it, or give the sequence a header line such as >name.",
                    number,
                )

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
