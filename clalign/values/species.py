"""The species of sequences: from UniProt's descriptions (``OS=Homo sapiens OX=9606``), or from a table."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct, field

UNKNOWN = "unknown"

_NAME = re.compile(r"(?:^|\s)OS=(\S.*?)(?=\s[A-Z]{2}=|$)")
_NUMBER = re.compile(r"(?:^|\s)OX=(\d+)")


def species_in(description: str) -> str:
    """Return the species that a description names with ``OS=``; empty if it names none."""
    found = _NAME.search(description)
    return found[1].strip() if found else ""


def taxon_in(description: str) -> str:
    """Return the number of the taxon that a description names with ``OX=``; empty if it names none."""
    found = _NUMBER.search(description)
    return found[1] if found else ""


def species_of(description: str) -> str:
    """Return the species that a description names: with ``OS=``, else its taxon with ``OX=``; empty for neither."""
    taxon = taxon_in(description)
    return species_in(description) or (f"taxon {taxon}" if taxon else "")


class Taxonomy(Struct, frozen=True):
    """A table of sequences or taxa.

    Attributes
    ----------
    of : mapping of str to tuple of str
        The cells beside each name, accession or number.
    heads : tuple of str
        Titles of the cells; empty if the table has none.
    """

    of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    heads: tuple[str, ...] = ()

    def group(self, name: str, accession: str, description: str, column: int = 0) -> str:
        """Return the cell of a sequence, found by its name, a part of it, its accession, its taxon or its species.

        Without an entry it is the species in the description, or `UNKNOWN`.
        """
        for key in (name, accession, *name.split("|"), taxon_in(description), species_in(description)):
            cells = self.of.get(key) if key else None
            if cells is not None:
                return (cells[column] if column < len(cells) else "") or UNKNOWN
        return UNKNOWN if column else species_of(description) or UNKNOWN


class SpeciesRule(Struct, frozen=True, eq=False):
    """The way in which the species of sequences is found; equal to nothing but itself.

    Attributes
    ----------
    taxonomy : Taxonomy
        The table that is looked up first; may be empty.
    column : int
        Which of its cells is the species.
    path : str
        The file of the table.
    """

    taxonomy: Taxonomy = Taxonomy()
    column: int = 0
    path: str = ""

    def of(self, name: str, accession: str, description: str) -> str:
        """Return the species of a sequence; empty if it is not known."""
        if not self.taxonomy.of:
            return species_of(description)
        found = self.taxonomy.group(name, accession, description, self.column)
        return "" if found == UNKNOWN else found


FROM_DESCRIPTIONS = SpeciesRule()
"""The rule without a table."""
