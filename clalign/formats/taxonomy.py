"""Tables of taxonomy: lines of a name, an accession or the number of a taxon, and its species or lineage."""

from __future__ import annotations

from clalign.errors import InputError, OptionError
from clalign.formats.sources import TextReader, decoded, opened
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule, Taxonomy

HINT = "Each line needs a name, an accession, an OX number or an OS name, then a tab, then the species."


def read_taxonomy(path: str) -> Taxonomy:
    """Read a table of taxonomy, also a compressed one.

    Parameters
    ----------
    path : str
        Lines of cells with tabs between; lines that begin with ``#`` are skipped, the first of them names the columns.

    Raises
    ------
    InputError
        If a line has no tab, or contradicts a line before.
    """
    of: dict[str, tuple[str, ...]] = {}
    heads: tuple[str, ...] = ()
    first: dict[str, int] = {}
    with opened(path) as source:
        for number, raw in TextReader(source).kept_lines():
            line = decoded(raw).rstrip("\r\n")
            if not line.strip():
                continue
            cells = tuple(cell.strip() for cell in line.split("\t"))
            if line.startswith("#"):
                heads = heads or cells[1:]
                continue
            if len(cells) < 2 or not cells[0]:
                raise InputError(
                    path, f'the line "{line[:40]}" has no name and species with a tab between.', HINT, number
                )
            if of.setdefault(cells[0], cells[1:]) != cells[1:]:
                reason = f'"{cells[0][:40]}" has other cells in line {first[cells[0]]}.'
                raise InputError(path, reason, "Keep one of the two lines.", number)
            first.setdefault(cells[0], number)
    if not of:
        raise InputError(path, "the table has no lines.", HINT)
    return Taxonomy(of, heads)


def species_rule(path: str, words: str = "") -> SpeciesRule:
    """Return the rule for species from a column of a table, see `column_named`; without a table from descriptions.

    Raises
    ------
    InputError, OptionError
        As `read_taxonomy` and `column_named` do.
    """
    if not path:
        return FROM_DESCRIPTIONS
    taxonomy = read_taxonomy(path)
    return SpeciesRule(taxonomy, column_named(taxonomy, words), path)


def column_named(taxonomy: Taxonomy, words: str) -> int:
    """Return the column of a table by its name or its number, from 2; column 1 holds the names.

    Raises
    ------
    OptionError
        If there is none.
    """
    if not words:
        return 0
    n = max(map(len, taxonomy.of.values()), default=0)
    known = [head.lower() for head in taxonomy.heads]
    if words.lower() in known:
        return known.index(words.lower())
    if words.isdecimal() and 2 <= int(words) <= n + 1:
        return int(words) - 2
    names = f" It has {', '.join(taxonomy.heads)}." if taxonomy.heads else ""
    raise OptionError(f'The table of taxonomy has no column "{words}".{names}', f"Give a number from 2 to {n + 1}.")
