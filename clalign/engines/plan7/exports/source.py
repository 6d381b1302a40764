"""What every output asks of a run of profiles: its queries, their hits, and which of these were chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import cached_property
from typing import TextIO

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.portions import portions_of
from clalign.engines.export_source import Cards, Choice, EngineOfRun, ExportSource
from clalign.engines.plan7.exports.hmmer3_tables import Widths
from clalign.engines.plan7.hmmer3.funnel import NO_WORK, WorkOfProfile, works_of
from clalign.engines.plan7.spec import SearchSpec
from clalign.errors import ClalignError, DamagedRun
from clalign.formats.tables import swapped
from clalign.jobs import JobContext
from clalign.runs.hit_rows import HITS_AT_ONCE
from clalign.runs.queries import HitKey, HitQueries, is_significant
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit
from clalign.values.sequences import SequenceDatabase

QUERIES_AT_ONCE = 64
"""Profiles of which one question asks what was computed, and which of them have hits."""


class ProfileRunSource(ExportSource):
    """A run of profiles with what every writer asks of it."""

    needs_path = False

    def __init__(self, engine: EngineOfRun, run: RunFile, choice: Choice, context: JobContext) -> None:
        super().__init__(engine, run, choice, context)
        self.spec = run.spec(SearchSpec)
        self.rounds = dict[int, list[int]]()
        """The numbers of the profiles of each query of a search in rounds, by the first of them; empty of others."""
        self._read_rounds()
        if self.is_scan:  # of each sequence any profile may be asked for
            self.cards = run.cards()
        self.origins = self.keys.origins()
        """What programs the profiles are of."""
        if self.rounds and choice.hits is None:
            last = [numbers[-1] for numbers in self.rounds.values()]
            self.keys = HitQueries(run.connection, None, choice.significant, last)
        self.keys = self._first(self.keys)

    def _first(self, keys: HitQueries) -> HitQueries:
        """Return questions to the hits that are written at most."""
        if self.choice.max_hits is None:
            return keys
        return keys.first_of_each(self.choice.max_hits, self.is_scan, self.origins == {"hmmer3"})

    def of_all_rounds(self) -> ProfileRunSource:
        """Return it with the hits of all rounds; otherwise they are those of the last ones, unless some are chosen."""
        other = copy(self)
        other.keys = self._first(HitQueries(self.run.connection, self.choice.hits, self.choice.significant))
        return other

    def found(self) -> Iterator[Hit]:
        """Yield all chosen hits, query by query."""
        for query in queries(self):
            for _, hit in hits(self, query):
                yield hit

    def parts(self, number: int, hit: Hit) -> Iterator[Domain]:
        """Yield the chosen domains of a hit; where significance decides, none of a hit that has none."""
        if self.choice.significant and not is_significant(hit):
            return iter(())
        return chosen_domains(self, hit)

    @property
    def has_early_queries(self) -> bool:
        """Whether queries can be written while others are computed.

        Those of a scan are done at the end, and tables of HMMER2 are as wide as the longest of all names.
        """
        return not self.is_scan and self.origins == {"hmmer3"}

    def done_queries(self, first: int) -> Iterator[Query]:
        """Yield the profiles from a number on as far as they are done, of a run that can be written query by query."""
        if self.spec.needs_ends:
            yield from self._done_in_rounds(first)
            return
        n_all = len(self.cards)
        while first < n_all:  # how many are done is known before their hits are listed, so that none comes between
            done = first + self.run.n_queries_finished(first, min(first + QUERIES_AT_ONCE, n_all))
            yield from _profiles(self, range(first, done))
            if done < min(first + QUERIES_AT_ONCE, n_all):
                return
            first = done

    def _done_in_rounds(self, first: int) -> Iterator[Query]:
        """Yield the queries of a search in rounds: with the end of a round the next one is stored, if one follows."""
        self.keys = self.of_all_rounds().keys
        if len(self.cards) < self.run.n_queries():
            self.cards = Cards(self.run)
            self._read_rounds()
        for numbers in list(self.rounds.values())[first:]:
            if self.run.best(numbers[-1]) is None or self.run.spec(SearchSpec) != self.spec:  # as it ends sooner now
                return
            later = range(len(self.cards), self.run.n_queries())
            if any(self.run.card(number).get("first") == numbers[0] for number in later):
                return
            yield from _profiles(self, numbers[-1:])

    @property
    def is_hmmer3(self) -> bool:
        """Whether any of the profiles is one of HMMER3."""
        return "hmmer3" in self.origins

    def _read_rounds(self) -> None:
        """Add the rounds that are new.

        Raises
        ------
        DamagedRun
            If they are not of rounds that follow each other.
        """
        for number in range(sum(map(len, self.rounds.values())), len(self.cards) if self.spec.has_rounds else 0):
            card = self.cards[number]
            before: list[int] = self.rounds.setdefault(card.get("first", -1), [])
            expected = (before[0] if before else number, before[-1] if before else None, len(before) + 1)
            if expected != tuple(card.get(name) for name in ("first", "before", "round")) or card.get("n_rows") is None:
                raise DamagedRun(self.run.path, "its rounds do not follow each other")
            before.append(number)

    @property
    def n_rounds(self) -> int:
        """How many rounds the query with most of them has."""
        return max(map(len, self.rounds.values()), default=0) if self.spec.has_rounds else super().n_rounds

    def named_card(self, number: int) -> Card:
        """Return the card of a profile under the name of its query, which those of later rounds do not bear."""
        card = self.cards[number]
        if (first := card.get("first", number)) == number:
            return card
        return {**card, **{name: self.cards[first][name] for name in ("name", "accession", "description")}}

    @cached_property
    def n_targets(self) -> float:
        """What E-values count."""
        return float(self.run.facts.n_targets or 0)

    @cached_property
    def n_residues(self) -> int:
        """Residues of the targets."""
        report = self.run.facts.database
        return report.n_residues if report else 0

    @cached_property
    def sequences(self) -> SequenceDatabase | None:
        """The sequences, if they are still those that were searched."""
        if self.run.facts.database is None:
            return None
        try:
            return self.database()
        except ClalignError:
            return None


class Query(Struct, frozen=True):
    """One query with its hits: a profile, or in a scan a sequence.

    Attributes
    ----------
    number : int
        Of the profile, or the row of the sequence.
    name, accession, description : str
    length : int
    keys : sequence of HitKey
        Of each hit, best first.
    work : WorkOfProfile
        Of a HMMER3 profile.
    """

    number: int
    name: str
    accession: str
    description: str
    length: int
    keys: Sequence[HitKey]
    work: WorkOfProfile = NO_WORK


def queries(source: ProfileRunSource, every: bool = False) -> Iterator[Query]:
    """Yield the queries in their order, but for those that are written already.

    Parameters
    ----------
    source : ProfileRunSource
    every : bool
        Sequences of a scan without hits, too, as far as the sequences are at hand.
    """
    if source.is_scan:
        yield from _sequences(source, every and source.choice.hits is None)
    else:
        yield from profile_queries(source, source.n_begun)


def write_by_query(
    source: ProfileRunSource,
    stream: TextIO,
    write: Callable[[ProfileRunSource, TextIO, Query, bool], int],
    every: bool = False,
) -> int:
    """Write one query after the other, and return how many records they have.

    Parameters
    ----------
    source : ProfileRunSource
    stream : TextIO
    write : callable
        Writes a query, given whether it is the first one, and returns how many records it has.
    every : bool
        As of `queries`.
    """
    count = source.begun.copy_to(stream) if source.begun is not None else 0
    for place, query in enumerate(queries(source, every), source.n_begun):
        count += write(source, stream, query, place == 0)
    return count


def profile_queries(source: ProfileRunSource, first: int = 0) -> Iterator[Query]:
    """Yield the profiles from a number on as queries, whatever the direction of the search; those of last rounds."""
    last = [_last_round(source, numbers) for numbers in source.rounds.values()]
    found = last[first:] if source.spec.has_rounds else range(first, len(source.cards))
    for place in range(0, len(found), QUERIES_AT_ONCE):
        yield from _profiles(source, found[place : place + QUERIES_AT_ONCE])


def _profiles(source: ProfileRunSource, numbers: Sequence[int]) -> Iterator[Query]:
    """Yield some profiles as queries; most of a large library find nothing and cost no question."""
    if numbers:
        ends = min(numbers), max(numbers) + 1
        with_hits, works = source.keys.with_hits(*ends), works_of(source.run, *ends)
        for number in numbers:
            yield profile_query(source, number, works.get(number, NO_WORK), number in with_hits)


def _last_round(source: ProfileRunSource, numbers: Sequence[int]) -> int:
    """Return the last round of a query; the last one with some of them where hits are chosen."""
    if source.choice.hits is None:
        return numbers[-1]
    return next((number for number in reversed(numbers) if source.keys.of_query(number)), numbers[-1])


def profile_query(source: ProfileRunSource, number: int, work: WorkOfProfile, has_hits: bool = True) -> Query:
    """Return a profile as a query."""
    card, keys = source.named_card(number), source.keys.of_query(number) if has_hits else ()
    return Query(number, card["name"], card["accession"], card["description"], card["length"], keys, work)


def _sequences(source: ProfileRunSource, every: bool) -> Iterator[Query]:
    is_pure = all(card["origin"] == "hmmer3" for card in source.cards)
    found = dict(source.keys.by_target(by_rank=is_pure))
    rows: npt.NDArray[np.int64] | list[int] = list(found)
    database = source.sequences if every else None
    if database is not None:
        rows = np.argsort(database.order)
        if (part := source.run.facts.shard) is not None:
            rows = rows[(rows >= part.first) & (rows < part.last)]
    sequences = [(int(row), found.get(int(row), [])) for row in rows]
    for place in portions_of([len(keys) for _, keys in sequences], HITS_AT_ONCE):
        some = sequences[place]
        if len(some) > 1:
            source.read_ahead({row: keys for row, keys in some if keys})
        for row, keys in some:
            if database is not None:
                yield Query(row, *database.header(row), database.length(row), keys)
            else:
                hit = next(source.stored(keys, row))
                yield Query(row, hit.name, hit.accession, hit.description, hit.length, keys)


def hits(source: ProfileRunSource, query: Query) -> Iterator[tuple[int, Hit]]:
    """Yield number of the profile and hit, best first."""
    if not query.keys:  # as of most sequences in a scan
        return
    for key, hit in zip(query.keys, source.stored(query.keys, query.number), strict=True):
        if not source.choice.significant or is_significant(hit):
            yield key.query, hit


def sides(source: ProfileRunSource, number: int, hit: Hit) -> tuple[Card, Hit]:
    """Return query and target of a line: profile and sequence, in a scan in each other's place.

    Names of HMMER2 profiles may have blanks, but columns have none.
    """
    card = source.named_card(number)
    if " " in card["name"]:
        card = {**card, "name": "_".join(card["name"].split())}
    return swapped(card, hit) if source.is_scan else (card, hit)


def places(source: ProfileRunSource, number: int, hit: Hit) -> Iterator[tuple[tuple[int, int], Domain]]:
    """Yield the chosen domains of a hit, each with its number and how many there are.

    HMMER2 counts the domains that make the score, HMMER3 those that are reported.
    """
    is_hmmer3 = source.cards[number]["origin"] == "hmmer3"
    domains = hit.reported_domains
    for i, domain in enumerate(domains, 1):
        if not source.choice.significant or domain.is_significant:
            yield ((i, len(domains)) if is_hmmer3 else (domain.number, hit.n_domains)), domain


def chosen_domains(source: ProfileRunSource, hit: Hit) -> Iterator[Domain]:
    """Yield the chosen domains of a hit; among them, where significance decides, such as are not reported."""
    if source.choice.significant:
        return (domain for domain in hit.domains if domain.is_significant)
    return iter(hit.reported_domains)


def all_widths(source: ProfileRunSource) -> tuple[Widths, Widths]:
    """Return the widths that all targets and all queries of a run need together."""
    names, accessions = ([len(card[key]) for card in source.cards] for key in ("name", "accession"))
    sequences, profiles = Widths(*source.keys.widths()), Widths(max(names, default=0), max(accessions, default=0))
    return (profiles, sequences) if source.is_scan else (sequences, profiles)


def widths(source: ProfileRunSource, query: Query) -> tuple[Widths, Widths]:
    """Return the widths that the table of a query needs, for its targets and for itself.

    HMMER3 fits its tables to each query, tables of HMMER2 profiles are of one piece.
    """
    if not source.is_hmmer3:
        return all_widths(source)
    return target_widths(source, query), Widths(len(query.name), len(query.accession))


def target_widths(source: ProfileRunSource, query: Query) -> Widths:
    """Return the longest name and accession among the targets of a query."""
    if source.is_scan:
        found = [source.cards[key.query] for key in query.keys]
        names, accessions = ([len(card[key]) for card in found] for key in ("name", "accession"))
        return Widths(max(names, default=0), max(accessions, default=0))
    if not query.keys:  # as of most families in one proteome
        return Widths(0, 0)
    return Widths(*source.keys.widths(query.number))
