"""The tables that HMMER3 writes: of hits, of domains, and in the form that Pfam uses.

Laid out letter by letter as hmmsearch and hmmscan 3.3.2 have them; only the lines that name program,
files and date are clalign's own. Coordinates are printed from 1 and inclusive. What an engine does not
know is ``-``: HMMER2 has no envelopes, conditional E-values, expected accuracy or estimates of the
number of domains.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from clalign.formats.tables import OK, PARTIAL, Provenance, envelope_of
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit

MIN_NAME, MIN_ACCESSION = 20, 10

FILLER = "-" * MIN_NAME


class Widths(Struct, frozen=True):
    """Longest name and accession of one side of a table."""

    name: int
    accession: int

    @property
    def columns(self) -> tuple[int, int]:
        """Widths of the two columns."""
        return max(MIN_NAME, self.name), max(MIN_ACCESSION, self.accession)


Columns = tuple[tuple[int, int], tuple[int, int]]
"""Widths of the columns of both sides, the target's first."""


def _rule(widths: Widths, query: Widths, lengths: bool) -> str:
    """Return the dashes under the columns of names; they do not grow with the columns."""
    (t, a), (q, b) = widths.columns, query.columns
    length = f" {FILLER[:5]}" if lengths else ""
    return f"#{FILLER[1:]:>{t - 1}s} {FILLER[:10]:>{a}s}{length} {FILLER:>{q}s} {FILLER[:10]:>{b}s}{length}"


def or_dash(value: float | None, form: str) -> str:
    """Return a number in a form such as ``9.2g``, or a dash of the same width."""
    return format(value, form) if value is not None else f"{'-':>{form.split('.')[0]}s}"


def tblout_header(widths: Widths, query: Widths) -> Iterator[str]:
    """Yield the three header lines of the table of hits."""
    (t, a), (q, b) = widths.columns, query.columns
    yield f"#{'':{t + a + q + b + 2}s} --- full sequence ---- --- best 1 domain ---- --- domain number estimation ----"
    yield (
        f"# {'target name':<{t - 2}s} {'accession':<{a}s} {'query name':<{q}s} {'accession':<{b}s}"
        "   E-value  score  bias   E-value  score  bias   exp reg clu  ov env dom rep inc description of target"
    )
    yield (
        f"{_rule(widths, query, False)} --------- ------ ----- --------- ------ -----"
        "   --- --- --- --- --- --- --- --- ---------------------"
    )


def tblout_row(card: Card, hit: Hit, columns: Columns, n_included: int) -> str:
    """Return the line of a hit (`n_included`: its significant domains)."""
    (t, a), (q, b) = columns
    best, guess = hit.best_domain, hit.estimates
    numbers = f"{best.evalue:9.2g} {best.score:6.1f} {best.bias:5.1f}" if best else f"{'-':>9s} {'-':>6s} {'-':>5s}"
    if guess:
        counts = f"{guess.n_regions:3d} {guess.n_clustered:3d} {guess.n_overlaps:3d} {guess.n_envelopes:3d}"
        counts = f"{guess.expected:5.1f} {counts}"
    else:
        counts = f"{'-':>5s} {'-':>3s} {'-':>3s} {'-':>3s} {'-':>3s}"
    return (
        f"{hit.name:<{t}s} {hit.accession or '-':<{a}s} {card['name']:<{q}s} {card['accession'] or '-':<{b}s}"
        f" {hit.evalue:9.2g} {hit.score:6.1f} {hit.bias:5.1f} {numbers} {counts}"
        f" {hit.n_domains:3d} {len(hit.reported_domains):3d} {n_included:3d} {hit.description or '-'}"
    )


def domtblout_header(widths: Widths, query: Widths) -> Iterator[str]:
    """Yield the three header lines of the table of domains."""
    (t, a), (q, b) = widths.columns, query.columns
    yield (
        f"#{'':{t + a + q + b + 16}s}--- full sequence --- -------------- this domain -------------"
        "   hmm coord   ali coord   env coord"
    )
    yield (
        f"# {'target name':<{t - 2}s} {'accession':<{a}s}  tlen {'query name':<{q}s} {'accession':<{b}s}  qlen"
        "   E-value  score  bias   #  of  c-Evalue  i-Evalue  score  bias  from    to  from    to  from    to  acc"
        " description of target"
    )
    yield (
        f"{_rule(widths, query, True)} --------- ------ ----- --- --- --------- ---------"
        " ------ ----- ----- ----- ----- ----- ----- ----- ---- ---------------------"
    )


def domtblout_row(card: Card, hit: Hit, domain: Domain, place: tuple[int, int], columns: Columns) -> str:
    """Return the line of a domain (`place`: its number among the listed ones, and how many these are)."""
    (t, a), (q, b) = columns
    envelope = envelope_of(card, domain)
    ends = f"{envelope[0] + 1:5d} {envelope[1]:5d}" if envelope else f"{'-':>5s} {'-':>5s}"
    return (
        f"{hit.name:<{t}s} {hit.accession or '-':<{a}s} {hit.length:5d} {card['name']:<{q}s}"
        f" {card['accession'] or '-':<{b}s} {card['length']:5d} {hit.evalue:9.2g} {hit.score:6.1f} {hit.bias:5.1f}"
        f" {place[0]:3d} {place[1]:3d} {or_dash(domain.conditional_evalue, '9.2g')} {domain.evalue:9.2g}"
        f" {domain.score:6.1f} {domain.bias:5.1f}"
        f" {domain.query_range[0] + 1:5d} {domain.query_range[1]:5d}"
        f" {domain.target_range[0] + 1:5d} {domain.target_range[1]:5d} {ends} {or_dash(domain.accuracy, '4.2f')}"
        f" {hit.description or '-'}"
    )


def pfamtblout_hits_header(width: int) -> Iterator[str]:
    """Yield the header of the first part of Pfam's table, that of the hits (`width`: of the longest name)."""
    n = max(MIN_NAME, width)
    yield "# Sequence scores"
    yield "# ---------------"
    yield "#"
    yield f"# {'name':<{n - 2}s}  {' bits':>6s} {'E-value':>9s} {'n':>3s} {'exp':>5s} {' bias':>5s}    description"
    yield f"# {FILLER[1:]:>{n - 1}s} ------ --------- --- ----- -----    {FILLER}-"


def pfamtblout_hit(hit: Hit, width: int) -> str:
    """Return the line of a hit."""
    n = max(MIN_NAME, width)
    expected = or_dash(hit.estimates.expected if hit.estimates else None, "5.1f")
    return (
        f"{hit.name:<{n}s}  {hit.score:6.1f} {hit.evalue:9.2g} {hit.n_domains:3d} {expected}"
        f" {hit.bias:5.1f}    {hit.description or '-'}"
    )


def pfamtblout_domains_header(width: int) -> Iterator[str]:
    """Yield the header of the second part, that of the domains."""
    n = max(MIN_NAME, width)
    yield ""
    yield "# Domain scores"
    yield "# -------------"
    yield "#"
    yield (
        f"#  {'name':<{n - 2}s} {' bits':>6s} {'E-value':>9s} {'hit':>5s} {'bias':>5s} {'env-st':>6s} {'env-en':>6s}"
        f" {'ali-st':>6s} {'ali-en':>6s} {'hmm-st':>6s} {'hmm-en':>6s}     description"
    )
    yield (
        f"# {FILLER[1:]:>{n - 1}s} ------ --------- ----- ----- ------ ------ ------ ------ ------ ------"
        f"      {FILLER}-"
    )


def pfamtblout_domain(card: Card, hit: Hit, domain: Domain, place: int, width: int) -> str:
    """Return the line of a domain (`place`: its number among the listed ones of its hit)."""
    n = max(MIN_NAME, width)
    envelope = envelope_of(card, domain)
    ends = f"{envelope[0] + 1:6d} {envelope[1]:6d}" if envelope else f"{'-':>6s} {'-':>6s}"
    return (
        f"{hit.name:<{n}s}  {domain.score:6.1f} {domain.evalue:9.2g} {place:5d} {domain.bias:5.1f} {ends}"
        f" {domain.target_range[0] + 1:6d} {domain.target_range[1]:6d}"
        f" {domain.query_range[0] + 1:6d} {domain.query_range[1]:6d}     {hit.description or '-'}"
    )


def footer(origin: Provenance, mode: str | None = None) -> Iterator[str]:
    """Yield the lines that end these tables: what was searched, and whether all of it was."""
    query, target = origin.sides
    yield "#"
    yield f"# Program:         {origin.program_name}"
    yield f"# Version:         {origin.version_words}"
    yield f"# Pipeline mode:   {mode or ('SCAN' if origin.is_scan else 'SEARCH')}"
    yield f"# Query file:      {query}"
    yield f"# Target file:     {target}"
    yield f"# Option settings: {origin.command}"
    yield f"# Device:          {origin.device}"
    yield f"# Date:            {origin.date}"
    if origin.chosen:
        yield f"# Hits:            {origin.chosen}"
    yield from origin.checksum_lines("# SHA-256:         ")
    yield PARTIAL if origin.partial else OK
