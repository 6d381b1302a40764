"""The columns of tables of hits, as data: those that every engine has; each engine adds its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "number", "whole number", "percent", "places", "picture"]
"""What cells hold: ``places`` are a first and a last one, a ``picture`` is drawn beside its number."""


Sets = dict[str, tuple[str, tuple[str, ...]]]
"""Columns that are shown together: words and keys, by the name of the set."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of hits.

    Attributes
    ----------
    key : str
        By which sets of columns name it.
    heading, tip : str
        What stands above it, and what it means, as a sentence without a full stop.
    kind, unit : str
        What its cells hold.
    sort : str
        The order that it brings; empty: it cannot be sorted.
    first : str
        What stands first when it is sorted first, ``small`` or ``large``; by default A, the largest number.
    short : str
        A heading for a narrow column.
    """

    key: str
    heading: str
    tip: str
    kind: Kind = "text"
    unit: str = ""
    sort: str = ""
    first: Literal["", "small", "large"] = ""
    short: str = ""

    @property
    def is_right(self) -> bool:
        """Whether its cells keep to the right."""
        return self.kind not in ("text", "picture")

    @property
    def large_first(self) -> bool:
        """Whether the largest stands first when it is sorted first."""
        return self.first == "large" or (self.kind != "text" and not self.first)


NOTE = Column("note", "Note", "Your own words about the hit, kept in the run file; F2 or a double click edits them",
              sort="note")  # fmt: skip
VERIFIED = Column("verified", "Verified", "Computed again on the reference: equal, or differs", sort="verified")

HITS = (
    Column("name", "Name", "Name of the sequence", sort="name"),
    Column("description", "Description", "From the sequence file", sort="description"),
    NOTE,
    Column("evalue", "E-value", "Expected number of false hits this good in a database of this size", "number",
           sort="evalue", first="small"),
    Column("score", "Score", "Score of the sequence", "number", sort="score"),
    Column("length", "Length", "Residues of the sequence", "whole number", "residues", sort="length"),
    Column("accession", "Accession", "From the sequence file", sort="accession"),
    VERIFIED,
    Column("profile", "Query", "Query that the sequence is a hit of", sort="profile"),
)  # fmt: skip
"""What hits of every engine have."""


def named(*keys: str) -> tuple[Column, ...]:
    """Return some of `HITS`."""
    return tuple(next(column for column in HITS if column.key == key) for key in keys)
