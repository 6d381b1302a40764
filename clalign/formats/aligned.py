"""Rows of an alignment as sequences: gathered over the blocks of a file, then handed over without their gaps."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from clalign.errors import quoted
from clalign.formats.blocks import Block, BlockBuilder, Reading
from clalign.formats.sources import LINE_BYTES, TextReader

ROW_BYTES = 4 * LINE_BYTES
"""Bytes of memory that a row takes beside its parts."""


class AlignedRow(Struct):
    """One row: its residues and gaps line by line, with line numbers, how many they are, and the line that first tells
    something of it.
    """

    name: str
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    accession: str = ""
    descriptions: list[str] = field(default_factory=list)
    noted: int = 0
    n_columns: int = 0

    @property
    def text(self) -> bytes:
        """All of its residues and gaps."""
        return b"".join(part for _, part in self.parts)


class RowNames:
    """The names of the rows in one block of an alignment, of which no two are the same.

    Parameters
    ----------
    text : TextReader
        What is read.
    """

    def __init__(self, text: TextReader) -> None:
        self._text = text
        self._names: set[str] = set()

    def add(self, name: str, line: int) -> None:
        """Take the name of the row in a line.

        Raises
        ------
        InputError
            If the block has a row with this name.
        """
        if name in self._names:
            raise self._text.error(
                f"a second row is named {quoted(name)} (duplicate seq name).",
                "Give each row a name of its own; rows that go on in another block need a blank line between blocks.",
                line,
            )
        self._names.add(name)

    def clear(self) -> None:
        """Begin another block."""
        self._names.clear()


class AlignedRows:
    """The rows of one alignment, in the order of the file; who adds to them counts the memory (`TextReader.keep`)."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._rows: dict[str, AlignedRow] = {}
        self._block = RowNames(reading.text)
        self._n_with_parts = 0

    def __len__(self) -> int:
        return self._n_with_parts

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    @property
    def first(self) -> AlignedRow:
        """The row that came first."""
        return next(iter(self._rows.values()))

    def row(self, name: str) -> AlignedRow:
        """Return the row with a name; a new one if there is none."""
        if name not in self._rows:
            self._reading.text.keep(len(name) + ROW_BYTES)
            self._rows[name] = AlignedRow(name)
        return self._rows[name]

    def end_block(self) -> None:
        """Let the rows go on in other lines: until then each has one part."""
        self._block.clear()

    def add(self, name: str, line: int, text: bytes) -> None:
        """Add the part of a row that is in a line; refuse a second one in a block."""
        self._block.add(name, line)
        self._reading.check(name, line, text)
        letters = b"".join(text.split())
        row = self.row(name)
        self._n_with_parts += not row.parts
        row.parts.append((line, letters))
        row.n_columns += len(letters)

    def unused(self, name: str, place: int) -> str:
        """Return a name that no row has, for a format in which names may be missing or occur again."""
        unique, name = name, name or "unnamed"
        while not unique or unique in self._rows:
            unique, name = f"{name}_{place}", f"{name}_"
        return unique

    def hand_over(self, builder: BlockBuilder) -> Iterator[Block]:
        """Give the rows to a builder and forget them; refuse rows of unequal length."""
        self.checked()
        rows, self._rows, self._n_with_parts = self._rows, {}, 0
        self._reading.text.kept_bytes = 0
        self.end_block()
        while rows:
            row = rows.pop(next(iter(rows)))
            if not row.parts:
                self._reading.findings.add("no_row", row.noted, row.name)
                continue
            builder.start(row.name, row.accession, " ".join(row.descriptions), row.parts[0][0])
            for line, part in row.parts:
                builder.residues(line, part)
            yield from builder.full()

    def checked(self) -> list[AlignedRow]:
        """Return the rows that have residues; refuse rows of unequal length."""
        rows = [row for row in self._rows.values() if row.parts]
        for row in rows:
            if row.n_columns != rows[0].n_columns:
                raise self._reading.text.error(
                    f"the rows of the alignment differ in length: {quoted(row.name)} has {row.n_columns:,} columns, "
                    f"but {quoted(rows[0].name)} has {rows[0].n_columns:,}.",
                    "Part of the alignment may be missing; take the file from its source again.",
                    row.parts[-1][0],
                )
        return rows


def blocks_of(rows: AlignedRows, reading: Reading) -> Iterator[Block]:
    """Give all rows of an alignment as blocks of sequences."""
    builder = BlockBuilder(reading)
    yield from rows.hand_over(builder)
    yield from builder.rest()
