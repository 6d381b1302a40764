"""What a table of hits is: its columns, what each says of a row, and which are shown together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .. import formatting
from .hit_filter import HIT_WORDS, FilterWords
from .hit_pages import HitRow

NO_DOMAIN = "no single domain passes"
"""What is said of a hit all of whose domains are below the thresholds for domains."""

NO_DOMAIN_TIP = (
    "The sequence as a whole passes, but none of its domains alone does: several weak ones add up, or the "
    "sequence is like the profile all over a little."
)


class Hits(Protocol):
    """What a cell may ask of the table besides its row."""

    names: list[str]
    lengths: list[int]

    def status(self, row: HitRow) -> str:
        """Return the word for what a hit passes."""

    def note(self, row: HitRow) -> str:
        """Return what stands beside a hit."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table.

    Attributes
    ----------
    key : str
        The column of the plain table, where numbers have more digits.
    text : callable
        Cell text of a row, given the model.
    sort : str
        The key of its order in `hit_pages.SORTS`; empty: cannot be sorted.
    head : str
        Fewer letters than the title has, for the head of a narrow column.
    small_first : bool
        Whether the first click puts the smallest first, though it is a number.
    """

    key: str
    title: str
    tip: str
    text: Callable[[HitRow, Hits], str]
    sort: str = ""
    right: bool = False
    shown: bool = False
    width: int = 80
    small_first: bool = False
    head: str = ""


@dataclass(frozen=True, slots=True)
class TableKind:
    """What a table of hits shows of a kind of run.

    Attributes
    ----------
    columns : tuple of Column
    sets : dict
        Columns that are shown together: words and keys, by the name of the set.
    words : FilterWords
        What its filter box knows.
    query_first : bool
        Whether the query, where there are several, stands before everything else, and its hits together.
    score : str
        The score that thresholds are for: ``score``, or ``raw``.
    """

    columns: tuple[Column, ...]
    sets: dict[str, tuple[str, tuple[str, ...]]]
    words: FilterWords = HIT_WORDS
    query_first: bool = False
    score: str = "score"

    def place(self, key: str) -> int | None:
        """Return where a column stands, or None if there is none such."""
        return next((place for place, column in enumerate(self.columns) if column.key == key), None)


NOTE = Column(
    "note", "Note", "Your own words about the hit, kept in the run file; F2 or a double click edits them",
    lambda r, m: m.note(r), "note", False, False, 180,
)  # fmt: skip

VERIFIED = Column(
    "verified", "Verified", "Computed again on the reference: equal, or differs", lambda r, m: r.verified or "—",
    "verified", False, False, 76,
)  # fmt: skip

HIT_COLUMNS = (
    Column("name", "Name", "Name of the sequence", lambda r, m: r.name, "name", False, True, 150),
    Column("description", "Description", "From the sequence file", lambda r, m: r.description, "description", False,
           True, 230),
    NOTE,
    Column("evalue", "E-value", "Expected number of false hits this good in a database of this size",
           lambda r, m: formatting.evalue(r.evalue), "evalue", True, True, 72, True),
    Column("score", "Score", "Score of the sequence", lambda r, m: formatting.score(r.score), "score", True, True, 84),
    Column("length", "Length", "Residues of the sequence", lambda r, m: formatting.count(r.length), "length", True,
           False, 70),
    Column("accession", "Accession", "From the sequence file", lambda r, m: r.accession, "accession", False, False,
           100),
    VERIFIED,
    Column("profile", "Query", "Query that the sequence is a hit of", lambda r, m: m.names[r.profile], "profile", False,
           False, 120),
)  # fmt: skip
"""What hits of every engine have."""


def named(*keys: str) -> tuple[Column, ...]:
    """Return some of `HIT_COLUMNS`."""
    return tuple(next(column for column in HIT_COLUMNS if column.key == key) for key in keys)


def sets_of(columns: tuple[Column, ...], **more: tuple[str, tuple[str, ...]]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the sets of columns of a table: those that are shown at first, `more`, and all."""
    shown = tuple(column.key for column in columns if column.shown)
    return {"short": ("Short", shown), **more, "all": ("All", tuple(column.key for column in columns))}


HIT_TABLE = TableKind(HIT_COLUMNS, sets_of(HIT_COLUMNS))
