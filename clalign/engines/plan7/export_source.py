"""What every output asks of a run: its queries, their hits, and which of these were chosen."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

import clalign
from clalign.databases.loading import load_database
from clalign.engines.plan7.hmmer3_tables import Widths
from clalign.engines.plan7.spec import COMMANDS, SearchSpec, command_line
from clalign.engines.run_sources import as_given
from clalign.errors import ClalignError
from clalign.formats.tables import Card, Provenance, swapped
from clalign.jobs import JobContext
from clalign.runs.hit_rows import HITS_AT_ONCE
from clalign.runs.inputs import input_of
from clalign.runs.run_file import RunFile
from clalign.values.hits import Domain, Hit
from clalign.values.sequences import SequenceDatabase

HITS_KEPT = 2048
"""The hits of a query are kept for the next time that they are asked for, if they are no more than these."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which hits to write, and how.

    Attributes
    ----------
    hits : sequence of int, optional
        Their ids; all if None.
    significant : bool
        Only hits and domains beyond the inclusion thresholds.
    alignments : bool
        Whether the text shows alignments.
    width : int
        Longest line of a text for HMMER3 profiles; 0 for no limit.
    accessions : bool
        Whether such a text shows accessions in place of names.
    alignment_file : str
        Where the alignments of significant domains are, which such a text of a search tells; empty for nowhere.
    safe_cells : bool
        Whether no cell of a tab-separated table looks like a formula to a spreadsheet.
    """

    hits: Sequence[int] | None = None
    significant: bool = False
    alignments: bool = True
    width: int = 120
    accessions: bool = False
    alignment_file: str = ""
    safe_cells: bool = False


@dataclass(frozen=True)
class Source:
    """An opened run with what every writer asks of it."""

    run: RunFile
    spec: SearchSpec
    cards: list[Card]
    origin: Provenance
    choice: Choice
    context: JobContext
    kept: dict[int, list[Hit]] = field(default_factory=dict)
    """Hits of the query that was last looked at."""

    @property
    def is_scan(self) -> bool:
        """Whether profiles are what was found."""
        return self.spec.direction == "scan"

    @property
    def is_hmmer3(self) -> bool:
        """Whether any of the profiles is one of HMMER3."""
        return any(card["origin"] == "hmmer3" for card in self.cards)

    @cached_property
    def notes(self) -> dict[tuple[int, int], str]:
        """What users have written beside hits, by profile and row of the sequence."""
        return self.run.notes()

    @cached_property
    def database(self) -> SequenceDatabase | None:
        """The sequences, if they are still those that were searched."""
        spec = self.spec
        if self.run.fact("database") is None:
            return None
        try:
            path = input_of(self.run, "targets", self.context)
            database, _ = load_database(
                path, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=self.context
            )
        except ClalignError:
            return None
        return database


@dataclass(frozen=True, slots=True)
class Query:
    """One query with its hits: a profile, or in a scan a sequence.

    Attributes
    ----------
    number : int
        Of the profile, or the row of the sequence.
    name, accession, description : str
    length : int
    keys : sequence of (int, int)
        Id and profile of each hit, best first.
    """

    number: int
    name: str
    accession: str
    description: str
    length: int
    keys: Sequence[tuple[int, int]]


def open_source(run: RunFile, choice: Choice, context: JobContext) -> Source:
    """Return a run with the facts that its files carry."""
    spec = run.spec(SearchSpec)
    given = replace(spec, profiles=as_given(run.path, spec.profiles), targets=as_given(run.path, spec.targets))
    origin = Provenance(
        version=run.fact("versions", {}).get("clalign", clalign.__version__),
        query=given.profiles,
        target=given.targets,
        command=shlex.join(command_line(given)),
        device=run.fact("device", {}).get("name", "not known"),
        seconds=run.fact("created", 0.0),
        partial=run.state != "done",
        program=COMMANDS[spec.direction],
    )
    if choice.hits is not None:
        run.connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        run.connection.executemany("INSERT OR IGNORE INTO chosen VALUES (?)", [(int(i),) for i in choice.hits])
    return Source(run, spec, run.profiles(), origin, choice, context)


def queries(source: Source, every: bool = False) -> Iterator[Query]:
    """Yield the queries in their order.

    Parameters
    ----------
    source : Source
    every : bool
        Sequences of a scan without hits, too, as far as the sequences are at hand.
    """
    if source.is_scan:
        yield from _sequences(source, every and source.choice.hits is None)
    else:
        yield from profile_queries(source)


def profile_queries(source: Source) -> Iterator[Query]:
    """Yield the profiles as queries, whatever the direction of the search."""
    chosen = "AND id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    for number, card in enumerate(source.cards):
        keys = source.run.connection.execute(
            f"SELECT id, profile FROM hits WHERE profile = ? {chosen} ORDER BY sort_key DESC, tie, input_index",
            (number,),
        ).fetchall()
        yield Query(number, card["name"], card["accession"], card["description"], card["length"], keys)


def _sequences(source: Source, every: bool) -> Iterator[Query]:
    found = {row: (place, keys) for row, place, keys in _keys_of_sequences(source)}
    rows: npt.NDArray[np.int64] | list[int] = sorted(found, key=lambda row: found[row][0])
    database = source.database if every else None
    if database is not None:
        rows = np.argsort(database.order)
    for row in map(int, rows):
        keys = found[row][1] if row in found else []
        if database is not None:
            yield Query(row, *database.header(row), database.length(row), keys)
        else:
            hit = source.run.hit(keys[0][0])
            yield Query(row, hit.name, hit.accession, hit.description, hit.length, keys)


def _keys_of_sequences(source: Source) -> Iterator[tuple[int, int, list[tuple[int, int]]]]:
    """Yield row, place in the input and hits of each sequence that has any."""
    chosen = "WHERE hits.id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    is_pure = all(card["origin"] == "hmmer3" for card in source.cards)
    order = "sort_key DESC, profiles.name, profile" if is_pure else "evalue, score DESC, profile"
    row, place, keys = -1, -1, list[tuple[int, int]]()
    for key, number, new_row, new_place in source.run.connection.execute(
        "SELECT hits.id, profile, row, input_index FROM hits JOIN profiles ON profiles.id = hits.profile"
        f" {chosen} ORDER BY input_index, {order}"
    ).fetchall():
        if new_row != row and keys:
            yield row, place, keys
            keys = []
        row, place = new_row, new_place
        keys.append((key, number))
    if keys:
        yield row, place, keys


def hits(source: Source, query: Query) -> Iterator[tuple[int, Hit]]:
    """Yield number of the profile and hit, best first."""
    found = _stored_hits(source, query)
    for done, (_, number) in enumerate(query.keys):
        if done % HITS_AT_ONCE == 0:
            source.context.check()
            source.context.progress("export", done, len(query.keys), "hits")
        hit = next(found)
        if not source.choice.significant or is_significant(source, number, hit):
            yield number, hit


def _stored_hits(source: Source, query: Query) -> Iterator[Hit]:
    """Return all hits of a query; most outputs look at them several times."""
    if query.number in source.kept:
        return iter(source.kept[query.number])
    found = source.run.hits_at([key for key, _ in query.keys])
    source.kept.clear()
    if len(query.keys) > HITS_KEPT:
        return found
    source.kept[query.number] = list(found)
    return iter(source.kept[query.number])


def sides(source: Source, number: int, hit: Hit) -> tuple[Card, Hit]:
    """Return query and target of a line: profile and sequence, in a scan in each other's place."""
    card = source.cards[number]
    return swapped(card, hit) if source.is_scan else (card, hit)


def places(source: Source, number: int, hit: Hit) -> Iterator[tuple[tuple[int, int], Domain]]:
    """Yield the chosen domains of a hit, each with its number and how many there are.

    HMMER2 counts the domains that make the score, HMMER3 those that are reported.
    """
    is_hmmer3 = source.cards[number]["origin"] == "hmmer3"
    domains = hit.reported_domains
    for i, domain in enumerate(domains, 1):
        if not source.choice.significant or is_significant_domain(source, number, domain):
            yield ((i, len(domains)) if is_hmmer3 else (domain.number, hit.n_domains)), domain


def is_significant(source: Source, number: int, hit: Hit) -> bool:
    """Tell whether a hit is beyond the inclusion threshold."""
    card, spec = source.cards[number], source.spec
    if card["origin"] == "hmmer3":
        return hit.is_included
    return _beyond(spec, card, 0, hit.score, hit.evalue, spec.inclusion_score, spec.inclusion_evalue)


def is_significant_domain(source: Source, number: int, domain: Domain) -> bool:
    """Tell whether a domain of a significant hit is beyond the inclusion threshold, too."""
    card, spec = source.cards[number], source.spec
    if card["origin"] == "hmmer3":
        return domain.is_included
    limits = spec.inclusion_domain_score, spec.inclusion_domain_evalue
    return _beyond(spec, card, 1, domain.score, domain.evalue, *limits)


def _beyond(
    spec: SearchSpec, card: Card, place: int, score: float, evalue: float, least: float | None, most: float
) -> bool:
    cutoffs = card["cutoffs"].get(spec.cutoff) if spec.cutoff != "none" else None
    if cutoffs:
        return bool(score >= cutoffs[place])
    return score >= least if least is not None else evalue <= most


def chosen_domains(source: Source, number: int, hit: Hit) -> Iterator[Domain]:
    """Yield the chosen domains of a hit; among them, where significance decides, such as are not reported."""
    if source.choice.significant:
        return (domain for domain in hit.domains if is_significant_domain(source, number, domain))
    return iter(hit.reported_domains)


def n_significant_domains(source: Source, query: Query) -> int:
    """Return how many domains of the significant hits of a query are significant."""
    return sum(
        is_significant(source, number, hit) and is_significant_domain(source, number, domain)
        for number, hit in hits(source, query)
        for domain in hit.domains
    )


def all_widths(source: Source) -> tuple[Widths, Widths]:
    """Return the widths that all targets and all queries of a run need together."""
    name, accession = source.run.connection.execute(
        "SELECT coalesce(max(length(name)), 0), coalesce(max(length(accession)), 0) FROM hits"
    ).fetchone()
    names, accessions = ([len(card[key]) for card in source.cards] for key in ("name", "accession"))
    sequences, profiles = Widths(name, accession), Widths(max(names, default=0), max(accessions, default=0))
    return (profiles, sequences) if source.is_scan else (sequences, profiles)


def widths(source: Source, query: Query) -> tuple[Widths, Widths]:
    """Return the widths that the table of a query needs, for its targets and for itself.

    HMMER3 fits its tables to each query, tables of HMMER2 profiles are of one piece.
    """
    if not source.is_hmmer3:
        return all_widths(source)
    return target_widths(source, query), Widths(len(query.name), len(query.accession))


def target_widths(source: Source, query: Query) -> Widths:
    """Return the longest name and accession among the targets of a query."""
    if source.is_scan:
        found = [source.cards[number] for _, number in query.keys]
        names, accessions = ([len(card[key]) for card in found] for key in ("name", "accession"))
        return Widths(max(names, default=0), max(accessions, default=0))
    chosen = "AND id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    return Widths(
        *source.run.connection.execute(
            "SELECT coalesce(max(length(name)), 0), coalesce(max(length(accession)), 0) FROM hits WHERE profile = ?"
            f" {chosen}",
            (query.number,),
        ).fetchone()
    )
