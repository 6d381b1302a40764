"""Tables of hits: their columns, the cells of a row, and sets of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from msgspec.structs import asdict

from clalign.engines.columns import HITS, Column, Kind, Sets
from clalign.runs.pages import HitQuery
from clalign.values.documents import Card

from ... import formatting
from .hit_filter import HIT_WORDS, FilterWords
from .hit_pages import HitRow

NO_DOMAIN = "no single domain passes"
"""Text for a hit all of whose domains fail the thresholds for domains."""

NO_DOMAIN_TIP = (
    "The sequence as a whole passes, but none of its domains alone does: several weak ones add up, or the "
    "sequence is slightly similar to the profile all over."
)


class Hits(Protocol):
    """The state of a table that cells depend on."""

    cards: list[Card]
    query: HitQuery

    def is_significant(self, row: HitRow) -> bool:
        """Return whether a hit is significant."""

    def status(self, row: HitRow) -> str:
        """Return the word for the threshold that a hit passes."""

    def note(self, row: HitRow) -> str:
        """Return the note of a hit."""


Cell = Callable[[HitRow, Hits], str]
"""Returns the text of a cell for a row and its table."""

RowOf = Callable[[HitRow, Hits], object]


def no_row(hit: HitRow, hits: Hits) -> None:
    """Return None."""


class ShownColumn(Column, frozen=True):
    """A column of an engine's table in the window.

    Attributes
    ----------
    text : callable
        A `Cell`.
    width : int
    shown : bool
        Whether it is shown at first.
    """

    text: Cell = field(kw_only=True)
    width: int = field(kw_only=True)
    shown: bool = field(kw_only=True)

    @property
    def head(self) -> str:
        """The heading."""
        return self.short or self.heading


@dataclass(frozen=True, slots=True)
class TableKind:
    """The table of hits of a kind of run.

    Attributes
    ----------
    columns : tuple of ShownColumn
    sets : dict
        Columns that are shown together: words and keys, by the name of the set.
    words : FilterWords
        Names in its filter box.
    query_first : bool
        Whether hits are grouped by query if there are several, with the query first.
    score : str
        The score that thresholds are for: ``score``, or ``raw``.
    row : callable
        Returns of a hit the row that columns take their values from; None where they have none.
    """

    columns: tuple[ShownColumn, ...]
    sets: Sets
    words: FilterWords = HIT_WORDS
    query_first: bool = False
    score: str = "score"
    row: RowOf = no_row

    def place(self, key: str) -> int | None:
        """Return the place of a column, or None."""
        return next((place for place, column in enumerate(self.columns) if column.key == key), None)


def shown(
    columns: Iterable[Column], cells: Mapping[str, tuple[Cell | None, int, bool]], row_of: RowOf = no_row
) -> tuple[ShownColumn, ...]:
    """Return the columns of the window with their widths and initial visibility.

    A cell of None is the column's own value, written as usual for its kind; common columns are in `CELLS`. A column
    without an entry has such a cell, and is hidden at first.
    """
    known = {**CELLS, **cells}
    return tuple(
        ShownColumn(
            **asdict(column), text=text or _cell(column, row_of), width=width,
            shown=is_shown,
        )
        for column in columns if column.heading
        for text, width, is_shown in [known.get(column.key, PLAIN)]
    )  # fmt: skip


def _cell(column: Column, row_of: RowOf) -> Cell:
    write = _WRITTEN[column.kind]

    def text(hit: HitRow, hits: Hits) -> str:
        row = row_of(hit, hits)
        value = None if row is None else column.value(row)
        return "—" if value is None else write(value)

    return text


_WRITTEN: dict[Kind, Callable[..., str]] = {
    "text": str,
    "whole number": formatting.count,
    "number": formatting.score,
    "percent": formatting.share,
    "places": lambda ends: f"{ends[0]}–{ends[1]}",
    "picture": formatting.count,
}

PLAIN: tuple[Cell | None, int, bool] = (None, 90, False)

CELLS: dict[str, tuple[Cell | None, int, bool]] = {
    "name": (lambda r, m: r.name, 150, True),
    "description": (lambda r, m: r.description, 230, True),
    "note": (lambda r, m: m.note(r), 180, False),
    "evalue": (lambda r, m: formatting.evalue(r.evalue), 72, True),
    "score": (lambda r, m: formatting.score(r.score), 84, True),
    "length": (lambda r, m: formatting.count(r.length), 70, False),
    "accession": (lambda r, m: r.accession, 100, False),
    "species": (lambda r, m: m.query.species.of(r.name, r.accession, r.description) or "—", 150, False),
    "verified": (lambda r, m: r.verified or "—", 76, False),
    "profile": (lambda r, m: str(m.cards[r.profile]["name"]), 120, False),
}
"""Columns of the hits of every engine."""


def sets_of(columns: tuple[ShownColumn, ...], more: Sets | None = None) -> Sets:
    """Return the sets of columns of a table: the initial ones, `more`, and all."""
    first = tuple(column.key for column in columns if column.shown)
    return {"short": ("Short", first), **(more or {}), "all": ("All", tuple(column.key for column in columns))}


_HITS = shown(HITS, {})
HIT_TABLE = TableKind(_HITS, sets_of(_HITS))
