"""The rows of a run's tables: hits, domains, and domains as alignments of two sides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TextIO

from msgspec.structs import replace

from clalign.engines.columns import table_lines
from clalign.engines.export_lines import write_lines
from clalign.engines.plan7.aligned import aligned_row, target_text
from clalign.engines.plan7.columns import Row
from clalign.engines.plan7.exports.source import ProfileRunSource, Query, chosen_domains, hits, places, queries, sides
from clalign.formats.pairwise_rows import PairRow
from clalign.formats.profile_stockholm import AlignedRow
from clalign.runs.queries import is_significant
from clalign.values.alignments import AlignmentText
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit, PairFacts

_GAPS = re.compile("I+|D+")
_OTHER_WAY = str.maketrans("ID", "DI")


class ProfileTableSource(ProfileRunSource):
    """A run of profiles with the rows of its tables."""

    def table_rows(self, table: str) -> Iterator[object]:
        """Yield the rows of the table of ``hits`` or of that of ``domains``."""
        return {"hits": _hit_rows, "domains": _domain_rows}[table](self, queries(self))

    def aligned_rows(self, number: int) -> Iterator[AlignedRow]:
        """Yield the chosen domains of the hits of a profile as rows of an alignment to it."""
        if self.spec.has_rounds and self.choice.significant and not self.keys.are_chosen:
            from clalign.engines.plan7.rounds import rows_of

            yield from islice(rows_of(self.run, number), int(self.spec.has_sequences), None)  # as the user has chosen
            return
        kept_as = ~number if self.is_scan else number  # there numbers of queries are rows of sequences
        for hit in self.stored(self.keys.of_query(number), kept_as):
            if not self.choice.significant or is_significant(hit):
                for domain in chosen_domains(self, hit):
                    yield aligned_row(hit, domain)

    def pair_groups(self, every: bool = False) -> Iterator[tuple[Card, Iterator[PairRow]]]:
        """Yield each query, in a scan a sequence, with its domains as alignments of two sides."""
        for query in queries(self, every):
            found = [
                _pair_row(self, number, hit, domain)
                for number, hit in hits(self, query)
                for domain in chosen_domains(self, hit)
                if domain.states
            ]
            if found or every:
                card = {"name": query.name, "accession": query.accession, "description": query.description}
                yield {**card, "number": query.number}, iter(found)


def write_hit_rows(source: ProfileTableSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write the hits of a query in the tab-separated table of hits, and return how many they are."""
    return _write_rows(source, stream, is_first, "hits", _hit_rows(source, [query]))


def write_domain_rows(source: ProfileTableSource, stream: TextIO, query: Query, is_first: bool) -> int:
    """Write the domains of a query in the tab-separated table of domains, and return how many they are."""
    return _write_rows(source, stream, is_first, "domains", _domain_rows(source, [query]))


def _write_rows(source: ProfileTableSource, stream: TextIO, is_first: bool, table: str, rows: Iterable[Row]) -> int:
    header, *lines = table_lines(source.columns(table), rows)
    write_lines(stream, [header] if is_first else [])
    return write_lines(stream, lines)


def _hit_rows(source: ProfileTableSource, asked: Iterable[Query]) -> Iterator[Row]:
    for query in asked:
        for number, hit in hits(source, query):
            is_hmmer3 = source.cards[number]["origin"] == "hmmer3"
            reported, note = hit.reported_domains, source.notes.get((number, hit.row), "")
            yield Row(
                *sides(source, number, hit), tuple(domain for _, domain in places(source, number, hit)), None,
                len(reported) if is_hmmer3 else hit.n_domains,
                source.is_scan, is_significant(hit), note,
            )  # fmt: skip


def _domain_rows(source: ProfileTableSource, asked: Iterable[Query]) -> Iterator[Row]:
    for query in asked:
        for number, hit in hits(source, query):
            both, is_hit_significant = sides(source, number, hit), is_significant(hit)
            for place, domain in places(source, number, hit):
                significant = is_hit_significant and domain.is_significant
                yield Row(*both, (domain,), *place, source.is_scan, significant)


def _pair_row(source: ProfileTableSource, number: int, hit: Hit, domain: Domain) -> PairRow:
    """Return a domain as the alignment of a query and a target; the profile's side is its consensus."""
    card = source.cards[number]
    model, target = domain.text.model.replace(".", "-").upper(), target_text(domain).upper()
    middle = "".join("|" if mark.isalpha() else mark for mark in domain.text.match)
    n_positive = len(middle) - middle.count(" ")
    n_gap_residues = len(domain.states) - domain.states.count("M")
    pair = PairFacts(1, domain.n_identical, n_positive, len(_GAPS.findall(domain.states)), n_gap_residues)
    whole = replace(domain, text=AlignmentText(model, middle, target), pair=pair)
    if not source.is_scan:
        return PairRow(card, replace(hit, domains=(whole,)), whole, has_raw=card["origin"] == "hmmer2")
    swapped = replace(
        whole, text=AlignmentText(target, middle, model), query_range=domain.target_range,
        target_range=domain.query_range, states=domain.states.translate(_OTHER_WAY),
    )  # fmt: skip
    query, profile = sides(source, number, hit)
    return PairRow(query, replace(profile, domains=(swapped,)), swapped, has_raw=card["origin"] == "hmmer2")
