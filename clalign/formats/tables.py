"""Tables of hits and domains: tab-separated, and the two tables that HMMER3 writes.

Coordinates are printed from 1 and inclusive. What an engine does not know is left empty in the
tab-separated tables and is ``-`` in HMMER3's; HMMER2 knows no envelopes, no conditional E-values and no
expected accuracy.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from clalign.hits import Domain, Hit

Card = dict[str, Any]
"""The card of a profile, as a run file keeps it."""

TSV_COLUMNS = (
    "query", "target", "accession", "description", "evalue", "score", "bias", "domains", "best_domain_evalue",
    "best_domain_score", "length",
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


@dataclass(frozen=True, slots=True)
class Widths:
    """Longest name and accession among the targets, for tables with aligned columns."""

    name: int
    accession: int


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


def _plain(text: str) -> str:
    """Return text that does not break a table."""
    return " ".join(text.split())


def tsv_header() -> str:
    """Return the header line of the table of hits."""
    return "\t".join(TSV_COLUMNS)


def tsv_row(card: Card, hit: Hit) -> str:
    """Return the line of a hit."""
    best = hit.best_domain
    return "\t".join(
        (
            _plain(card["name"]), _plain(hit.name), _plain(hit.accession), _plain(hit.description),
            digits(hit.evalue), digits(hit.score), digits(hit.bias), str(hit.n_domains),
            digits(best.evalue if best else None), digits(best.score if best else None), str(hit.length),
        )
    )  # fmt: skip


def domtsv_header() -> str:
    """Return the header line of the table of domains."""
    return "\t".join(DOMTSV_COLUMNS)


def domtsv_row(card: Card, hit: Hit, domain: Domain) -> str:
    """Return the line of a domain."""
    envelope = envelope_of(card, domain)
    return "\t".join(
        (
            _plain(card["name"]), _plain(hit.name), str(domain.number), str(hit.n_domains),
            "", digits(domain.evalue), digits(domain.score), digits(domain.bias),
            str(domain.profile_range[0] + 1), str(domain.profile_range[1]),
            str(domain.target_range[0] + 1), str(domain.target_range[1]),
            str(envelope[0] + 1) if envelope else "", str(envelope[1]) if envelope else "",
        )
    )  # fmt: skip


def envelope_of(card: Card, domain: Domain) -> tuple[int, int] | None:
    """Return the envelope of a domain, or None where the engine has no such thing."""
    return None if card["origin"] == "hmmer2" else domain.envelope


def tblout_header(widths: Widths, card_widths: Widths) -> Iterator[str]:
    """Yield the three header lines of HMMER3's table of hits."""
    t, a = max(20, widths.name), max(10, widths.accession)
    q, b = max(20, card_widths.name), max(10, card_widths.accession)
    yield f"#{'':{t + a + q + b + 3}s} --- full sequence ---- --- best 1 domain ---- --- domain number estimation ----"
    yield (
        f"# {'target name':<{t - 2}s} {'accession':<{a}s} {'query name':<{q}s} {'accession':<{b}s}"
        "   E-value  score  bias   E-value  score  bias   exp reg clu  ov env dom rep inc description of target"
    )
    yield (
        f"#{'-' * (t - 1)} {'-' * a} {'-' * q} {'-' * b} --------- ------ ----- --------- ------ -----"
        "   --- --- --- --- --- --- --- --- ---------------------"
    )


def tblout_row(card: Card, hit: Hit, widths: Widths, card_widths: Widths, n_included: int) -> str:
    """Return the line of a hit in HMMER3's table (`n_included`: its significant domains)."""
    t, a = max(20, widths.name), max(10, widths.accession)
    q, b = max(20, card_widths.name), max(10, card_widths.accession)
    best = hit.best_domain
    numbers = f"{best.evalue:9.2g} {best.score:6.1f} {best.bias:5.1f}" if best else f"{'-':>9s} {'-':>6s} {'-':>5s}"
    return (
        f"{hit.name:<{t}s} {hit.accession or '-':<{a}s} {card['name']:<{q}s} {card['accession'] or '-':<{b}s}"
        f" {hit.evalue:9.2g} {hit.score:6.1f} {hit.bias:5.1f} {numbers}"
        f"   {'-':>3s} {'-':>3s} {'-':>3s} {'-':>3s} {'-':>3s} {hit.n_domains:3d} {len(hit.domains):3d} {n_included:3d}"
        f" {_plain(hit.description) or '-'}"
    )


def domtblout_header(widths: Widths, card_widths: Widths) -> Iterator[str]:
    """Yield the three header lines of HMMER3's table of domains."""
    t, a = max(20, widths.name), max(10, widths.accession)
    q, b = max(20, card_widths.name), max(10, card_widths.accession)
    yield (
        f"#{'':{t + a + q + b + 15}s} --- full sequence --- -------------- this domain -------------"
        "   hmm coord   ali coord   env coord"
    )
    yield (
        f"# {'target name':<{t - 2}s} {'accession':<{a}s}  tlen {'query name':<{q}s} {'accession':<{b}s}  qlen"
        "   E-value  score  bias   #  of  c-Evalue  i-Evalue  score  bias  from    to  from    to  from    to  acc"
        " description of target"
    )
    yield (
        f"#{'-' * (t - 1)} {'-' * a} ----- {'-' * q} {'-' * b} ----- --------- ------ ----- --- --- --------- ---------"
        " ------ ----- ----- ----- ----- ----- ----- ----- ---- ---------------------"
    )


def domtblout_row(card: Card, hit: Hit, domain: Domain, widths: Widths, card_widths: Widths) -> str:
    """Return the line of a domain in HMMER3's table."""
    t, a = max(20, widths.name), max(10, widths.accession)
    q, b = max(20, card_widths.name), max(10, card_widths.accession)
    envelope = envelope_of(card, domain)
    ends = f"{envelope[0] + 1:5d} {envelope[1]:5d}" if envelope else f"{'-':>5s} {'-':>5s}"
    return (
        f"{hit.name:<{t}s} {hit.accession or '-':<{a}s} {hit.length:5d} {card['name']:<{q}s}"
        f" {card['accession'] or '-':<{b}s} {card['length']:5d} {hit.evalue:9.2g} {hit.score:6.1f} {hit.bias:5.1f}"
        f" {domain.number:3d} {hit.n_domains:3d} {'-':>9s} {domain.evalue:9.2g} {domain.score:6.1f} {domain.bias:5.1f}"
        f" {domain.profile_range[0] + 1:5d} {domain.profile_range[1]:5d}"
        f" {domain.target_range[0] + 1:5d} {domain.target_range[1]:5d} {ends} {'-':>4s}"
        f" {_plain(hit.description) or '-'}"
    )


def footer(origin: Provenance) -> Iterator[str]:
    """Yield the lines that end HMMER3's tables: what was searched, and whether all of it was."""
    yield "#"
    yield f"# Program:         clalign {origin.program}"
    yield f"# Version:         {origin.version}"
    yield f"# Pipeline mode:   {origin.program.removeprefix('hmm').upper()}"
    yield f"# Query file:      {origin.query}"
    yield f"# Target file:     {origin.target}"
    yield f"# Option settings: {origin.command}"
    yield f"# Device:          {origin.device}"
    yield f"# Date:            {origin.date}"
    yield PARTIAL if origin.partial else OK
