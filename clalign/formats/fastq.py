"""FASTQ, with sequences and qualities on one line or on several; the qualities are checked and left out."""

from __future__ import annotations

from collections.abc import Iterator

from clalign.errors import InputError
from clalign.formats.blocks import Block, BlockBuilder, Reading, text_of

QUALITIES = bytes(range(33, 127))

NUMBERED = Iterator[tuple[int, bytes]]


def read_fastq_blocks(reading: Reading) -> Iterator[Block]:
    """Yield the sequences of a FASTQ file as blocks.

    Raises
    ------
    InputError
        If a record is damaged or the file ends within one.
    """
    builder = BlockBuilder(reading)
    record = _Record(reading, builder)
    lines = reading.text.lines()
    for number, line in lines:
        if line and not line.isspace():
            record.read(number, line, lines)
            yield from builder.full()
    yield from builder.rest()


class _Record:
    """A reader of one record after the other."""

    def __init__(self, reading: Reading, builder: BlockBuilder) -> None:
        self._reading = reading
        self._builder = builder
        self._header = b""
        self._number = 0

    def read(self, number: int, header: bytes, lines: NUMBERED) -> None:
        """Read a record whose header line has just been read."""
        if not header.startswith(b"@"):
            raise self._error(f'a header line with @ was expected, but the line is "{text_of(header)[:30]}"', number)
        self._header, self._number = header, number
        name, _, description = " ".join(text_of(header[1:]).split()).partition(" ")
        self._builder.start(name, "", description, number)
        n_residues = self._sequence(lines)
        self._qualities(n_residues, lines)

    def _error(self, reason: str, line: int) -> InputError:
        return self._reading.text.error(f"{reason}.", line=line)

    def _ends_early(self) -> InputError:
        name = text_of(self._header[1:])[:60]
        return self._error(f'the file ends within the record "{name}" that begins in this line', self._number)

    def _sequence(self, lines: NUMBERED) -> int:
        n_residues = 0
        for number, line in lines:
            if line.startswith(b"+"):
                repeated = line[1:].strip()
                if repeated and repeated != self._header[1:].strip():
                    raise self._error("the line with + names another record than its line with @", number)
                return n_residues
            if line.startswith(b"@"):
                raise self._error("a line with + was expected, but another record begins", number)
            self._builder.residues(number, line)
            n_residues += len(line.strip())
        raise self._ends_early()

    def _qualities(self, needed: int, lines: NUMBERED) -> None:
        found = 0
        for number, line in lines:
            if line.translate(None, QUALITIES):
                raise self._error("the qualities contain a character that is no quality", number)
            found += len(line)
            if found > needed:
                raise self._error(f"there are {found} qualities or more for {needed} residues", number)
            if found == needed:
                return
        if found < needed:
            raise self._ends_early()
