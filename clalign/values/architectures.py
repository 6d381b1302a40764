"""Domains of several families on one sequence: which of those that overlap are kept, and what is left as a whole.

The rule is that of Pfam's pfam_scan: domains are taken from the best E-value on, and one that overlaps a domain taken
before is left out, if both families are of one clan and neither nests in the other. They overlap if their alignments,
not their envelopes, share a residue.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field

RULES: dict[str, str] = {
    "auto": "as clans where a table of clans is at hand, else as best",
    "clans": "of overlapping domains of one clan the one with the best E-value, as Pfam does it",
    "best": "of all overlapping domains the one with the best E-value, whatever their families",
    "all": "every domain, overlapping or not",
}
"""Rules for domains that overlap, each with an explanation."""

JOIN = "~"
"""Separator between the families of an architecture."""


class PlacedDomain(Struct, frozen=True):
    """A domain and its place on a sequence.

    Attributes
    ----------
    hit : int
        Id of its hit in the run file.
    query, number : int
        Number of its family among the queries, and its own among the domains of the hit.
    family, accession : str
        Name and accession of the family: a profile, or the query of a comparison.
    family_length : int
    target_range, envelope, family_range : tuple of int
        0-based, half open.
    score : float
        Bits; where there are no statistics, in units of the matrix.
    evalue : float
        Not a number where there are no statistics.
    strand : int
        1 or -1.
    is_significant : bool
    """

    hit: int
    query: int
    number: int
    family: str
    accession: str
    family_length: int
    target_range: tuple[int, int]
    envelope: tuple[int, int]
    family_range: tuple[int, int]
    score: float
    evalue: float
    strand: int = 1
    is_significant: bool = True

    @property
    def rank(self) -> tuple[float, float, int, int, int]:
        """The key that domains are taken in rising order of: the E-value, then the score, since many E-values are 0."""
        evalue = math.inf if math.isnan(self.evalue) else self.evalue
        return evalue, -self.score, *self.target_range, self.query


class Clans(Struct, frozen=True):
    """Which families are of one clan.

    Attributes
    ----------
    of : mapping of str to str
        Clan by the name of a family, and by its accession without a version.
    nested : set of (str, str)
        Families that may lie within each other, by those names; both orders.
    """

    of: Mapping[str, str] = field(default_factory=dict)
    nested: frozenset[tuple[str, str]] = frozenset()

    def clan(self, domain: PlacedDomain) -> str:
        """Return the clan of a domain's family; empty if it is of none that is known."""
        return next((self.of[name] for name in names_of(domain.family, domain.accession) if name in self.of), "")

    def may_nest(self, one: PlacedDomain, other: PlacedDomain) -> bool:
        """Return whether the families of two domains may lie within each other."""
        if not self.nested:
            return False
        others = names_of(other.family, other.accession)
        return any((a, b) in self.nested for a in names_of(one.family, one.accession) for b in others)


def names_of(name: str, accession: str) -> tuple[str, ...]:
    """Return the keys that a family is looked up by: its accession without a version, and its name."""
    plain = accession.partition(".")[0]
    return (plain, name) if plain and plain != "-" else (name,)


class Architecture(Struct, frozen=True):
    """A sequence with its domains.

    Attributes
    ----------
    row : int
        Row of the sequence in the database.
    name, accession, description : str
    length : int
    domains : tuple of PlacedDomain
        Those that are kept, in their order on the sequence.
    n_found : int
        Number of domains before a rule was applied.
    """

    row: int
    name: str
    accession: str
    description: str
    length: int
    domains: tuple[PlacedDomain, ...]
    n_found: int

    @property
    def words(self) -> str:
        """The families from the first domain to the last, with ``~`` between."""
        return JOIN.join(domain.family for domain in self.domains)


class Group(Struct, frozen=True):
    """Sequences with one architecture: its words, and the places of the sequences in a list."""

    words: str
    members: tuple[int, ...]


def effective_rule(rule: str, clans: Clans) -> str:
    """Return the rule that ``auto`` stands for."""
    if rule in ("", "auto"):
        return "clans" if clans.of else "best"
    return rule


def resolve(domains: Iterable[PlacedDomain], rule: str, clans: Clans) -> tuple[PlacedDomain, ...]:
    """Return the domains of a sequence that a rule keeps, in their order on the sequence.

    Parameters
    ----------
    domains : iterable of PlacedDomain
    rule : str
        One of `RULES`.
    clans : Clans
    """
    rule, found = effective_rule(rule, clans), list(domains)
    if len(found) > 1 and rule != "all":
        found = _kept(sorted(found, key=lambda domain: domain.rank), rule == "best", clans)
    return tuple(sorted(found, key=lambda domain: (*domain.target_range, domain.rank)) if len(found) > 1 else found)


def _kept(domains: list[PlacedDomain], is_best: bool, clans: Clans) -> list[PlacedDomain]:
    """Return the domains, given from the best on, that overlap no kept domain of a family they compete with."""
    kept: list[PlacedDomain] = []
    for domain in domains:
        start, end = domain.target_range
        rivals = [other for other in kept if start < other.target_range[1] and other.target_range[0] < end]
        if rivals and not is_best:
            clan = clans.clan(domain)
            rivals = [other for other in rivals if clan and clans.clan(other) == clan]
        if all(clans.may_nest(domain, other) for other in rivals):
            kept.append(domain)
    return kept


def grouped(found: Sequence[Architecture]) -> list[Group]:
    """Return sequences grouped by their architecture, the most frequent one first."""
    members: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        members.setdefault(one.words, []).append(place)
    return [Group(words, tuple(of)) for words, of in sorted(members.items(), key=lambda item: (-len(item[1]), item[0]))]
