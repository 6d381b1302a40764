"""Columns of tables, declared once for every form of a table: in the window, in a terminal, as Markdown, with tabs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from clalign.common.amounts import THIN
from clalign.common.plain_data import Json

Row = Json


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of a table.

    Attributes
    ----------
    title, tip : str
        The second is shown where the pointer rests on the first.
    text : callable
        Returns what the cell of a row says.
    right : bool
        Whether cells are aligned to the right, as numbers are.
    width : int
        Pixels in the window, of which it takes more if its title needs them.
    mark : callable or None
        Returns the severity of the icon in a cell, or an empty string.
    stretch : bool
        Whether it takes the width that the others leave in the window.
    in_text : bool
        Whether it is in tables for a terminal and in Markdown, where there is less room.
    value : callable or None
        Returns what rows are sorted by; None for a row that has no value, which then stands last.
    large_first : bool
        Whether the largest stands first when the column is sorted first.
    """

    title: str
    tip: str
    text: Callable[[Row], str]
    right: bool = False
    width: int = 90
    mark: Callable[[Row], str] | None = None
    stretch: bool = False
    in_text: bool = True
    value: Callable[[Row], Any] | None = None
    large_first: bool = False

    def plain(self, row: Row) -> str:
        """Return the text of a cell as programs read it."""
        text = self.text(row).replace(THIN, "")
        return text.replace(",", "").replace("−", "-") if self.right else text

    def printed(self, row: Row) -> str:
        """Return the text of a cell with blanks that every font has."""
        return self.text(row).replace(f"{THIN}%", "%").replace(THIN, " ")


def tsv(columns: Sequence[TextColumn], rows: Iterable[Row]) -> str:
    """Return a table as tab-separated text with a header line."""
    lines = [[column.title for column in columns], *([column.plain(row) for column in columns] for row in rows)]
    return "".join("\t".join(line) + "\n" for line in lines)


def in_text(columns: Sequence[TextColumn]) -> list[TextColumn]:
    """Return the columns of a table that are in text."""
    return [column for column in columns if column.in_text and column.title]


def text_lines(columns: Sequence[TextColumn], rows: Sequence[Row]) -> list[str]:
    """Return a table as lines for a terminal, the first with the titles."""
    shown = in_text(columns)
    table = [[column.title for column in shown], *([column.printed(row) for column in shown] for row in rows)]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    return [_line(shown, line, widths) for line in table]


def text_line(columns: Sequence[TextColumn], row: Row | None) -> str:
    """Return a row as a line for a terminal, where others arrive later; None: the titles.

    A column is then as many letters wide as an eighth of its pixels, or as its title.
    """
    shown = in_text(columns)
    cells = [column.title if row is None else column.printed(row) for column in shown]
    return _line(shown, cells, [max(len(column.title), column.width // 8) for column in shown])


def _line(columns: Sequence[TextColumn], cells: Sequence[str], widths: Sequence[int]) -> str:
    aligned = (
        cell.rjust(width) if column.right else cell.ljust(width)
        for column, cell, width in zip(columns, cells, widths, strict=True)
    )
    return "  ".join(aligned).rstrip()


def markdown(columns: Sequence[TextColumn], rows: Iterable[Row]) -> str:
    """Return a table in Markdown."""
    shown = in_text(columns)
    lines = [[column.title for column in shown], ["---"] * len(shown)]
    lines += [[column.printed(row).replace("|", "\\|") for column in shown] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
