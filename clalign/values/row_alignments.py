"""Alignments of many rows of letters, with their annotation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

Bytes = npt.NDArray[np.uint8]

UPPER = np.uint8(0xDF)
"""Clears the bit that makes an ASCII letter lower case; of gaps it makes no letter."""


class RowTexts(Struct, frozen=True, eq=False):
    """A text with a character for each column, for some of the rows.

    Attributes
    ----------
    rows : int64[k]
        Which, rising.
    cells : uint8[k, n_columns]
    """

    rows: npt.NDArray[np.int64]
    cells: Bytes

    def of(self, row: int) -> bytes:
        """Return the text of a row; empty if it has none."""
        place = int(np.searchsorted(self.rows, row))
        return self.cells[place].tobytes() if place < len(self.rows) and self.rows[place] == row else b""


class RowNotes(Struct, frozen=True):
    """The annotation of a Stockholm file, in the order of the file.

    Attributes
    ----------
    file : list of tuple
        Tag and text (``#=GF``).
    rows : list of tuple
        Name of the row, tag and text (``#=GS``).
    residues : dict
        Texts of rows by their tags (``#=GR``).
    columns : dict
        Texts of the whole alignment by their tags (``#=GC``).
    """

    file: list[tuple[str, str]] = field(default_factory=list)
    rows: list[tuple[str, str, str]] = field(default_factory=list)
    residues: dict[str, RowTexts] = field(default_factory=dict)
    columns: dict[str, bytes] = field(default_factory=dict)

    def title(self) -> str:
        """Return name and description of the alignment; empty if it has none."""
        known = dict(reversed(self.file))
        return " · ".join(known[tag] for tag in ("ID", "AC", "DE") if known.get(tag))


class RowAlignment(Struct, frozen=True, eq=False):
    """An alignment.

    Attributes
    ----------
    cells : uint8[n_rows, n_columns]
        The letters as the file has them; may lie in a temporary file.
    names, descriptions : sequence of str
    notes : RowNotes
    """

    cells: Bytes
    names: Sequence[str]
    descriptions: Sequence[str]
    notes: RowNotes = field(default_factory=RowNotes)

    @classmethod
    def of_rows(
        cls, names: Sequence[str], rows: Sequence[bytes], descriptions: Sequence[str] | None = None
    ) -> RowAlignment:
        """Return the alignment of rows of equal length."""
        n_columns = len(rows[0]) if rows else 0
        cells = np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), n_columns)
        return cls(cells, names, [""] * len(names) if descriptions is None else descriptions)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.cells.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.cells.shape[1])

    def reordered(self, order: Sequence[int]) -> RowAlignment:
        """Return the rows in another order, given the row that stands at each place."""
        place_of = np.argsort(order)
        residues = {}
        for tag, texts in self.notes.residues.items():
            places = place_of[texts.rows]
            rising = np.argsort(places)
            residues[tag] = RowTexts(places[rising], texts.cells[rising])
        notes = RowNotes(self.notes.file, self.notes.rows, residues, self.notes.columns)
        names, descriptions = ([texts[row] for row in order] for texts in (self.names, self.descriptions))
        return RowAlignment(self.cells[list(order)], names, descriptions, notes)

    def position(self, row: int, column: int) -> int:
        """Return how many residues a row has up to a column, which is counted from 0, that one included."""
        return int(is_residue(self.cells[row, : column + 1]).sum())


def is_residue(cells: Bytes) -> npt.NDArray[np.bool_]:
    """Return which bytes are letters of residues: no gaps, no marks."""
    upper = cells & UPPER
    return (upper >= ord("A")) & (upper <= ord("Z"))
