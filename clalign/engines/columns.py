"""The columns of tables of hits, as data: those that every engine has; each engine adds its own.

A column is defined once, for the window's table, for the documents, and for the tab-separated tables of files. The
window adds widths, and cells that are not the plain value (`ui/engines/<engine>/columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

from msgspec import Struct

from clalign.formats.tables import digits, plain
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule

Kind = Literal["text", "number", "whole number", "percent", "places", "picture"]
"""What cells hold: ``places`` are a first and a last one, a ``picture`` is drawn beside its number."""


Sets = dict[str, tuple[str, tuple[str, ...]]]
"""Columns that are shown together: words and keys, by the name of the set."""


CellOf = Callable[[Any], Any]
"""Returns what a column says of a row, of the type that its `Kind` names; rows are objects of the engine's own."""


class Column(Struct, frozen=True):
    """A column of tables of hits.

    Attributes
    ----------
    key : str
        By which sets of columns name it.
    heading, tip : str
        What stands above it in the window, and what it means, as a sentence without a full stop; without a heading it
        is in files only.
    kind, unit : str
        What its cells hold.
    sort : str
        The order that it brings, a key of `clalign.runs.pages.VALUES` or of the engine's `Declaration.values`; empty:
        it cannot be sorted.
    first : str
        What stands first when it is sorted first, ``small`` or ``large``; by default A, the largest number.
    short : str
        A heading for a narrow column.
    filter : str
        Words of the filter box for its `sort`, with blanks between.
    file : str
        Its name in files; without one it is in the window only. ``places`` have none: files have a column for each end.
    meaning : str
        What the documents say of it, in words, if that is more than the tip.
    value : callable
        Returns what it says of a row, which is a value of the engine's own; None if that is not known.
    """

    key: str
    heading: str = ""
    tip: str = ""
    kind: Kind = "text"
    unit: str = ""
    sort: str = ""
    first: Literal["", "small", "large"] = ""
    short: str = ""
    filter: str = ""
    file: str = ""
    meaning: str = ""
    value: CellOf = lambda row: None

    @property
    def is_right(self) -> bool:
        """Whether its cells keep to the right."""
        return self.kind not in ("text", "picture")

    @property
    def large_first(self) -> bool:
        """Whether the largest stands first when it is sorted first."""
        return self.first == "large" or (self.kind != "text" and not self.first)


def file_column(name: str, kind: Kind, unit: str, meaning: str, value: CellOf) -> Column:
    """Return a column that stands in files alone."""
    return Column(name, kind=kind, unit=unit, file=name, meaning=meaning, value=value)


NAME = Column("name", "Name", "Name of the sequence; sorted by what stands behind the last |", sort="name",
              file="target", meaning="name of the target: a profile in hmmscan, else a sequence",
              value=lambda r: r.hit.name)  # fmt: skip
DESCRIPTION = Column("description", "Description", "From the sequence file", sort="description", file="description",
                     meaning="description of the target", value=lambda r: r.hit.description)  # fmt: skip
NOTE = Column("note", "Note", "Your own words about the hit, kept in the run file; F2 or a double click edits them",
              sort="note", file="note", meaning="your own words about the hit", value=lambda r: r.note)  # fmt: skip
EVALUE = Column("evalue", "E-value", "Expected number of false hits this good in a database of this size", "number",
                sort="evalue", first="small", filter="E evalue", file="evalue",
                meaning="expected number of targets this good by chance", value=lambda r: r.hit.evalue)  # fmt: skip
LENGTH = Column("length", "Length", "Residues of the sequence", "whole number", "residues", sort="length",
                filter="len length", file="target_length", meaning="length of the target",
                value=lambda r: r.hit.length)  # fmt: skip
ACCESSION = Column("accession", "Accession", "From the sequence file", sort="accession", file="target_accession",
                   meaning="accession of the target", value=lambda r: r.hit.accession)  # fmt: skip


def species_column(rule: SpeciesRule) -> Column:
    """Return the column of the species that a rule finds."""

    def value(row: Any) -> str:
        if getattr(row, "is_scan", False):
            return rule.of(row.card["name"], row.card["accession"] or "", row.card["description"] or "")
        return rule.of(row.hit.name, row.hit.accession, row.hit.description)

    where = f"; looked up in {rule.path}" if rule.path else ""
    tip = "What the description names with OS=, else the number after OX=; or what a table of taxonomy says"
    meaning = "species of the target, in hmmscan of the query: what its description names with OS= or OX="
    return Column("species", "Species", tip, sort="species", file="species", meaning=f"{meaning}{where}", value=value)


SPECIES = species_column(FROM_DESCRIPTIONS)
VERIFIED = Column("verified", "Verified", "Computed again on the reference: equal, or differs", sort="verified")
QUERY = Column("profile", "Query", "Query that the sequence is a hit of", sort="profile", file="query",
               meaning="name of the query: a profile in hmmsearch, a sequence in hmmscan and sw",
               value=lambda r: r.card["name"])  # fmt: skip

HITS = (
    NAME,
    DESCRIPTION,
    NOTE,
    EVALUE,
    Column("score", "Score", "Score of the sequence", "number", sort="score", filter="score"),
    LENGTH,
    ACCESSION,
    SPECIES,
    VERIFIED,
    QUERY,
)
"""What hits of every engine have."""

QUERY_ACCESSION = file_column("query_accession", "text", "", "accession of the query", lambda r: r.card["accession"])
QUERY_LENGTH = file_column(
    "query_length", "whole number", "nodes, residues", "length of the query", lambda r: r.card["length"]
)


def table_of(columns: Iterable[Column], names: str) -> tuple[Column, ...]:
    """Return the columns of a file, by their names there, with blanks between."""
    known = {column.file: column for column in columns if column.file}
    return tuple(known[name] for name in names.split())


def table_lines(table: Iterable[Column], rows: Iterable[object]) -> Iterable[str]:
    """Yield the lines of a file; the first is its header."""
    columns = [(column.value, _FILE_FORMATS[column.kind]) for column in table]
    yield "\t".join(column.file for column in table)
    for row in rows:
        yield "\t".join("" if (found := value(row)) is None else written(found) for value, written in columns)


def written_cell(column: Column, row: object) -> str:
    """Return the text of a row in a column of a file."""
    found = column.value(row)
    return "" if found is None else _FILE_FORMATS[column.kind](found)


_FILE_FORMATS: dict[Kind, CellOf] = {
    "text": plain,
    "whole number": str,
    "number": lambda value: str(value) if isinstance(value, int) else digits(value),
    "percent": lambda value: f"{value:.2f}",
    "picture": str,
}
