"""Tables of a run's hits and domains, and their JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from clalign.engines.export_lines import write_lines
from clalign.engines.plan7.exports import hmmer3_tables
from clalign.engines.plan7.exports.hmmer3_tables import Widths
from clalign.engines.plan7.exports.source import ProfileRunSource, Query, hits, places, sides, widths, write_by_query
from clalign.formats import json_lines
from clalign.runs.queries import is_significant
from clalign.values.hits import Domain, Hit


def write_tblout(source: ProfileRunSource, stream: TextIO) -> int:
    """Write HMMER3's table of hits."""
    count = write_by_query(source, stream, write_hits, every=source.is_hmmer3)
    write_lines(stream, hmmer3_tables.footer(source.provenance))
    return count


def write_hits(source: ProfileRunSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write the hits of a query in HMMER3's table, and return how many they are."""
    both = widths(source, query)
    if is_first:
        write_lines(stream, hmmer3_tables.tblout_header(*both))
    return write_lines(stream, _hit_rows(source, query, both))


def _hit_rows(source: ProfileRunSource, query: Query, both: tuple[Widths, Widths]) -> Iterator[str]:
    columns = both[0].columns, both[1].columns
    for number, hit in hits(source, query):
        n = sum([domain.is_significant for domain in hit.domains]) if is_significant(hit) else 0
        yield hmmer3_tables.tblout_row(*sides(source, number, hit), columns, n)


def write_domtblout(source: ProfileRunSource, stream: TextIO) -> int:
    """Write HMMER3's table of domains."""
    count = write_by_query(source, stream, write_domains, every=source.is_hmmer3)
    write_lines(stream, hmmer3_tables.footer(source.provenance))
    return count


def write_domains(source: ProfileRunSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write the domains of a query in HMMER3's table, and return how many they are."""
    both = widths(source, query)
    if is_first:
        write_lines(stream, hmmer3_tables.domtblout_header(*both))
    return write_lines(stream, _domain_rows(source, query, both))


def _domain_rows(source: ProfileRunSource, query: Query, both: tuple[Widths, Widths]) -> Iterator[str]:
    columns = both[0].columns, both[1].columns
    for number, hit in hits(source, query):
        card, target = sides(source, number, hit)
        for place, domain in places(source, number, hit):
            yield hmmer3_tables.domtblout_row(card, target, domain, place, columns)


def write_pfamtblout(source: ProfileRunSource, stream: TextIO) -> int:
    """Write the table of hits and domains that Pfam uses."""
    count = write_by_query(source, stream, write_hits_and_domains, every=True)
    # That HMMER calls a scan a search here is kept for the sake of comparison.
    write_lines(stream, hmmer3_tables.footer(source.provenance, mode="SEARCH"))
    return count


def write_hits_and_domains(source: ProfileRunSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write the hits of a query and their domains in Pfam's table, and return how many hits they are."""
    width, count = widths(source, query)[0].name, 0
    write_lines(stream, hmmer3_tables.pfamtblout_hits_header(width))
    domains: list[tuple[int, int, Hit, Domain]] = []
    for number, hit in hits(source, query):
        target = sides(source, number, hit)[1]
        count += write_lines(stream, [hmmer3_tables.pfamtblout_hit(target, width)])
        domains += ((number, place[0], target, domain) for place, domain in places(source, number, hit))
    domains.sort(key=lambda entry: (*_rank(source, entry[3]), entry[2].name, *_direction(entry[3])))
    write_lines(stream, hmmer3_tables.pfamtblout_domains_header(width))
    rows = (
        hmmer3_tables.pfamtblout_domain(source.cards[number], target, domain, place, width)
        for number, place, target, domain in domains
    )
    write_lines(stream, rows)
    return count


def _rank(source: ProfileRunSource, domain: Domain) -> tuple[float, ...]:
    if source.spec.inclusion_score is not None or source.spec.cutoff != "none" or domain.log_pvalue is None:
        return (-domain.score,)
    return (domain.log_pvalue,)


def _direction(domain: Domain) -> tuple[bool, int]:
    """Return the key that HMMER sorts by last: it takes a domain of one residue for one on the other strand."""
    start, end = domain.target_range
    return end - start == 1, start


def write_jsonl(source: ProfileRunSource, stream: TextIO) -> int:
    """Write a JSON object for each hit."""
    count = write_by_query(source, stream, write_objects)
    write_lines(stream, [json_lines.PARTIAL] if source.provenance.partial else [])
    return count


def write_objects(source: ProfileRunSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write a JSON object for each hit of a query, and return how many they are."""
    count = 0
    for number, hit in hits(source, query):
        domains = [(place[0], domain) for place, domain in places(source, number, hit)]
        note = source.notes.get((number, hit.row), "")
        line = json_lines.json_line(source.cards[number], hit, domains, is_significant(hit), note)
        count += write_lines(stream, [line])
    return count
