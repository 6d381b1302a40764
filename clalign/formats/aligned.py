"""Rows of an alignment as sequences: gathered over the blocks of a file, then handed over without their gaps."""

from __future__ import annotations

from dataclasses import dataclass, field

from clalign.errors import quoted
from clalign.formats.blocks import BlockBuilder, Reading


@dataclass
class AlignedRow:
    """One row: its residues and gaps line by line, with line numbers."""

    name: str
    parts: list[tuple[int, bytes]] = field(default_factory=list)
    accession: str = ""
    description: str = ""

    @property
    def n_columns(self) -> int:
        """Residues and gaps."""
        return sum(len(part) for _, part in self.parts)


class AlignedRows:
    """The rows of one alignment, in the order of the file."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._rows: dict[str, AlignedRow] = {}

    def __len__(self) -> int:
        return sum(bool(row.parts) for row in self._rows.values())

    def row(self, name: str) -> AlignedRow:
        """Return the row with a name; a new one if there is none."""
        return self._rows.setdefault(name, AlignedRow(name))

    def add(self, name: str, line: int, text: bytes) -> None:
        """Add the part of a row that is in a line."""
        self.row(name).parts.append((line, b"".join(text.split())))

    def hand_over(self, builder: BlockBuilder) -> None:
        """Give the rows to a builder and forget them; refuse rows of unequal length."""
        for row in self.checked():
            builder.start(row.name, row.accession, row.description, row.parts[0][0])
            for line, part in row.parts:
                builder.residues(line, part)
        self._rows.clear()

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
