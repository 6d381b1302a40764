"""Blocks: the form in which readers yield sequences, some megabytes at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.errors import InputError, quoted
from clalign.formats.sources import TextReader, decoded
from clalign.formats.tally import BLANKS, DIGITS, GAPS, Findings, LetterTally
from clalign.values.alphabets import DROP, ENCODE

CODES = ENCODE.tobytes()
"""Translation table from bytes to letter codes."""

DROPPED = BLANKS + DIGITS

BLOCK = 1 << 20
"""Residues that a builder gathers before it yields a block."""

NOT_RESIDUES = bytes(set(range(256)) - set(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz*?" + GAPS + DROPPED))
"""Bytes that stand for no residue of any alphabet, no gap and no unknown letter (``?``)."""

NOT_IN_ROWS = NOT_RESIDUES + DIGITS
"""Bytes that rows of alignments do not hold; digits do not number residues there."""

assert all(ENCODE[byte] == DROP for byte in DROPPED)


class Block(Struct, frozen=True):
    """A run of the input: the rest of the record before, and the beginnings of new ones.

    Attributes
    ----------
    codes : bytes
        Letter codes.
    breaks : int64[n]
        Where in `codes` each new record begins; what lies before continues the last record.
    texts : list of bytes
        Name, accession and description of each new record in UTF-8, separated by tabs.
    lines : int64[n]
        Line number of the header of each new record.
    is_segment : bool
        Whether a part of the input begins with it that is packed by itself.
    """

    codes: bytes
    breaks: npt.NDArray[np.int64]
    texts: list[bytes]
    lines: npt.NDArray[np.int64]
    is_segment: bool = False


WARNINGS = {
    "joined": "Headers that follow residues on the same line, as in joined files of which one lacks its last line"
    " end: {count:,}. Each begins a record.",
    "digits": "Digits among the residues were left out.",
    "unnamed": 'Records without a name: {count:,}. They got names such as "{detail}".',
}
"""Warnings about a file, by the kind of a finding."""


class RefusedLetter(InputError):
    """A character among residues that stands for no residue.

    Parameters
    ----------
    path : str
    record : str
        Name of the sequence or row.
    line : int
    letter : str
        The character.
    """

    def __init__(self, path: str, record: str, line: int, letter: str) -> None:
        self.record, self.letter = record, letter
        reason = f'the record {quoted(record)} holds "{letter}", which stands for no residue.'
        super().__init__(path, reason, "Correct the file, or leave this record out.", line)


class Reading(Struct):
    """One pass over a file: the text, and what is found in it.

    Attributes
    ----------
    text : TextReader
    drop_gaps : bool
        Whether gap characters are left out.
    refused : bytes
        Characters that are refused among residues; others that are none are counted.
    tally : LetterTally
    findings : Findings
    """

    text: TextReader
    drop_gaps: bool = False
    refused: bytes = b""
    tally: LetterTally = field(default_factory=LetterTally)
    findings: Findings = field(default_factory=Findings)

    @property
    def dropped(self) -> bytes:
        """The bytes that are no residues."""
        return DROPPED + GAPS if self.drop_gaps else DROPPED

    def check(self, record: str, line: int, text: bytes) -> None:
        """Refuse residues of a record, from a line on, if a character that is refused is among them.

        Raises
        ------
        RefusedLetter
            With the first one.
        """
        if not self.refused or len(text.translate(None, self.refused)) == len(text):
            return
        for number, part in enumerate(text.split(b"\n"), line):
            for letter in decoded(part):
                if not letter.isascii() or ord(letter) in self.refused:
                    raise RefusedLetter(self.text.source.label, record, number, letter)

    def warn(self) -> None:
        """Issue the `WARNINGS` that apply; for databases this is done by their reports."""
        for kind, words in WARNINGS.items():
            if found := self.findings.found.get(kind):
                place = f"{self.text.source.label}, line {found.lines[0]:,}"
                self.text.context.warn(f"{place}: {words.format(count=found.count, detail=found.detail)}")


def record_text(name: str, accession: str, description: str) -> bytes:
    """Return the header of a record as a database stores it."""
    return f"{name}\t{accession}\t{' '.join(description.split())}".encode()


class BlockBuilder:
    """A builder of blocks of whole records, for formats that are read line by line.

    Parameters
    ----------
    reading : Reading
        Receives the counts of the letters.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._number = 0
        self._name = ""
        self._clear()

    def _clear(self) -> None:
        self._size = 0
        self._codes: list[bytes] = []
        self._breaks: list[int] = []
        self._texts: list[bytes] = []
        self._lines: list[int] = []
        self._residue_lines: list[bytes] = []
        self._residue_numbers: list[int] = []

    def start(self, name: str, accession: str, description: str, line: int) -> None:
        """Begin a record whose header is in `line`."""
        self._number += 1
        if not name:
            name = f"unnamed_{self._number}"
            self._reading.findings.add("unnamed", line, name)
        self._name = name
        self._breaks.append(self._size)
        self._texts.append(record_text(name.replace("\t", " "), accession, description))
        self._lines.append(line)

    def residues(self, line: int, data: bytes) -> int:
        """Add a line of residues to the last record and return their number."""
        self._reading.check(self._name, line, data)
        codes = data.translate(CODES, self._reading.dropped)
        self._codes.append(codes)
        self._size += len(codes)
        self._residue_lines.append(data)
        self._residue_numbers.append(line)
        return len(codes)

    def full(self) -> Iterator[Block]:
        """Yield a block if enough is gathered; to be called between lines."""
        if self._size >= BLOCK or len(self._texts) >= BLOCK >> 6:
            yield from self.rest()

    def rest(self) -> Iterator[Block]:
        """Yield a block of what is left."""
        if not self._texts and not self._codes:
            return
        self._count()
        yield Block(
            b"".join(self._codes), np.array(self._breaks, np.int64), self._texts, np.array(self._lines, np.int64)
        )
        self._clear()

    def _count(self) -> None:
        starts, position = [], 0
        for data in self._residue_lines:
            starts.append(position)
            position += len(data)
        numbers = self._residue_numbers

        def line_of(places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            return np.array([numbers[bisect_right(starts, place) - 1] for place in places.tolist()], np.int64)

        self._reading.tally.add(b"".join(self._residue_lines), line_of)


def text_of(data: bytes) -> str:
    """Return a line of text without blanks at its ends."""
    return decoded(data).strip()
