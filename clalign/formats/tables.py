"""Tab-separated tables of hits and domains, and what all outputs share.

Coordinates are printed from 1 and inclusive. What an engine does not know is left empty; HMMER2 knows
no envelopes, no conditional E-values and no expected accuracy.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from clalign.hits import Domain, Hit

Card = dict[str, Any]
"""The card of a profile, as a run file keeps it."""

TSV_COLUMNS = (
    "query", "target", "accession", "description", "evalue", "score", "bias", "domains", "best_domain_evalue",
    "best_domain_score", "length", "note",
)  # fmt: skip

DOMTSV_COLUMNS = (
    "query", "target", "domain", "n_domains", "c_evalue", "i_evalue", "score", "bias", "hmm_from", "hmm_to",
    "ali_from", "ali_to", "env_from", "env_to",
)  # fmt: skip

PARTIAL = "# partial: yes"
"""Ends every table of a search that has not searched everything; whole ones that have a footer end with `OK`."""

OK = "# [ok]"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a result comes from, for the headers and footers of files.

    Attributes
    ----------
    version : str
        Of clalign.
    query, target : str
        The files.
    command : str
        The command line that repeats the search.
    device : str
        Name of the device.
    seconds : float
        When the search began (since 1970).
    partial : bool
        Whether some sequences have not been searched.
    program : str
        The command: ``hmmsearch`` or ``hmmscan``.
    """

    version: str
    query: str
    target: str
    command: str
    device: str
    seconds: float
    partial: bool = False
    program: str = "hmmsearch"

    @property
    def date(self) -> str:
        """The date in the C locale's form, as in ``Fri Nov 20 10:35:26 2026``."""
        return time.asctime(time.localtime(self.seconds))


def swapped(card: Card, hit: Hit) -> tuple[Card, Hit]:
    """Return profile and sequence in each other's place, as tables of a scan have them."""
    sequence = {**card, "name": hit.name, "accession": hit.accession, "length": hit.length}
    profile = replace(
        hit, name=card["name"], accession=card["accession"], description=card["description"], length=card["length"]
    )
    return sequence, profile


def digits(value: float | None) -> str:
    """Return a number with six significant digits, or nothing for None."""
    return "" if value is None else f"{value:.6g}"


def plain(text: str) -> str:
    """Return text that does not break a table: white space becomes single blanks."""
    return " ".join(text.split())


def tsv_header() -> str:
    """Return the header line of the table of hits."""
    return "\t".join(TSV_COLUMNS)


def tsv_row(card: Card, hit: Hit, note: str = "") -> str:
    """Return the line of a hit, with what the user has written beside it."""
    best = hit.best_domain
    n_domains = len(hit.reported_domains) if card["origin"] == "hmmer3" else hit.n_domains
    return "\t".join(
        (
            plain(card["name"]), plain(hit.name), plain(hit.accession), plain(hit.description),
            digits(hit.evalue), digits(hit.score), digits(hit.bias), str(n_domains),
            digits(best.evalue if best else None), digits(best.score if best else None), str(hit.length),
            note,
        )
    )  # fmt: skip


def domtsv_header() -> str:
    """Return the header line of the table of domains."""
    return "\t".join(DOMTSV_COLUMNS)


def domtsv_row(card: Card, hit: Hit, domain: Domain, place: tuple[int, int]) -> str:
    """Return the line of a domain (`place`: its number, and how many there are)."""
    envelope = envelope_of(card, domain)
    return "\t".join(
        (
            plain(card["name"]), plain(hit.name), str(place[0]), str(place[1]),
            digits(domain.conditional_evalue), digits(domain.evalue), digits(domain.score), digits(domain.bias),
            str(domain.profile_range[0] + 1), str(domain.profile_range[1]),
            str(domain.target_range[0] + 1), str(domain.target_range[1]),
            str(envelope[0] + 1) if envelope else "", str(envelope[1]) if envelope else "",
        )
    )  # fmt: skip


def envelope_of(card: Card, domain: Domain) -> tuple[int, int] | None:
    """Return the envelope of a domain, or None where the engine has no such thing."""
    return None if card["origin"] == "hmmer2" else domain.envelope
