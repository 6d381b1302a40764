"""Write what a pairwise search found: text, tables, SAM, JSON, sequences. Everything comes from the run file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import groupby
from typing import TextIO

import numpy as np
from msgspec.structs import replace

from clalign.engines.export_lines import add_flanks, describe, write_lines
from clalign.engines.export_source import Choice, EngineOfRun, ExportSource
from clalign.engines.pairwise import report_text as text
from clalign.engines.pairwise import sam
from clalign.engines.pairwise.inputs import rows_of_queries, scoring_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.pairwise.tables import begun_facts, n_wider
from clalign.errors import ClalignError
from clalign.formats import pairwise_rows as rows
from clalign.formats.pairwise_rows import PairRow
from clalign.formats.profile_stockholm import AlignedRow, profile_stockholm_lines
from clalign.formats.tables import PARTIAL, plain
from clalign.formats.writers import fasta_record
from clalign.jobs import JobContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.documents import Card
from clalign.values.hits import Domain, Hit
from clalign.values.profiles import IMPOSSIBLE

NAMES_AT_ONCE = 65_536

NARROWEST_BLOCK = 20
MARGINS = 32
"""What stands beside the residues on a line of the text, at most."""

PARTIAL_JSON = '{"partial": true}'


class PairSource(ExportSource):
    """A pairwise run with what every writer asks of it; nothing in it is called significant."""

    def __init__(self, engine: EngineOfRun, run: RunFile, choice: Choice, context: JobContext) -> None:
        self.facts = begun_facts(run)
        super().__init__(engine, run, choice, context)
        self.spec = run.spec(PairwiseSpec)

    @cached_property
    def query_texts(self) -> list[str]:
        """The residues of each query by its number; empty if they are not at hand."""
        try:
            database = self.database("queries")
        except ClalignError:
            return [""] * len(self.cards)
        return [database[int(row)].text for row in rows_of_queries(database, self.spec.is_pairs)]

    def hits(self, number: int) -> Iterator[Hit]:
        """Yield the chosen hits of a query, best first."""
        return self.stored(self.keys.of_query(number), number)

    def found(self) -> Iterator[Hit]:
        """Yield all chosen hits."""
        return (hit for _, hit in self.pairs())

    def pairs(self) -> Iterator[tuple[Card, Hit]]:
        """Yield query and target of all chosen hits: given pairs in their order, those of a search by query."""
        if not self.spec.is_pairs:
            for number, card in enumerate(self.cards):
                for hit in self.hits(number):
                    yield card, hit
            return
        keys = self.keys.by_input()
        for key, hit in zip(keys, self.stored(keys), strict=True):
            yield self.cards[key.query], hit

    def note(self, card: Card, hit: Hit) -> str:
        """Return the note of the user on a target of a query."""
        return self.notes.get((card["number"], hit.row), "")

    def aligned_rows(self, number: int) -> Iterator[AlignedRow]:
        """Yield a query, if its file is at hand, and its targets aligned to it."""
        card, residues = self.cards[number], self.query_texts[number]
        if residues:
            states = "M" * len(residues)
            yield AlignedRow(card["name"], "", card["description"], 1, len(residues), 0, states, residues)
        for hit in self.hits(number):
            yield from (_aligned_row(card, hit, domain) for domain in hit.domains if domain.states)

    def table_rows(self, table: str) -> Iterator[PairRow]:
        """Yield all chosen alignments with their notes."""
        return (replace(row, note=self.note(row.card, row.hit)) for row in self.rows())

    def pair_groups(self, every: bool = False) -> Iterator[tuple[Card, Iterator[PairRow]]]:
        """Yield each query with its alignments; given pairs in their order, those of one query together if they are."""
        if self.spec.is_pairs:
            for number, group in groupby(self.rows(), key=lambda row: row.card["number"]):
                yield self.cards[number], group
            return
        for number, card in enumerate(self.cards):
            found = [PairRow(card, hit, part) for hit in self.hits(number) for part in hit.domains]
            if found or every:
                yield card, iter(found)

    def rows(self) -> Iterator[PairRow]:
        """Yield all chosen alignments."""
        for card, hit in self.pairs():
            for domain in hit.domains:
                yield PairRow(card, hit, domain)


def write_text(source: PairSource, stream: TextIO) -> int:
    """Write the text that people read; the parts of several queries are parted by ``//``."""
    run, spec = source.run, source.spec
    width = max(source.choice.width - MARGINS, NARROWEST_BLOCK) if source.choice.width else 2**31
    write_lines(stream, text.opening(source.provenance, source.facts.scoring, source.facts.strands))
    count = _given_pairs(source, stream, width) if spec.is_pairs else 0
    n_searched = 0
    for number, card in enumerate([] if spec.is_pairs else source.cards):
        searched = run.n_rows_finished(number)
        n_searched += searched
        write_lines(stream, text.query_lines(card))
        write_lines(stream, text.hit_header())
        n = write_lines(stream, (text.hit_line(PairRow(card, hit, hit.domains[0])) for hit in source.hits(number)))
        count += n
        if not n:
            found = text.no_hits(spec, card, searched, run.best(number))
            found = iter([text.HITS_LATER]) if source.provenance.part and not card.get("statistics") else found
            write_lines(stream, (f"  {line}" for line in found))
        if (n_kept := run.n_hits(number)) >= spec.top:
            write_lines(stream, text.cut_list(spec, card, n_kept, _n_passing(run, number)))
        write_lines(stream, [""])
        if source.choice.alignments:
            for hit in source.hits(number):
                _write_alignments(stream, card, hit, width, names_query=False)
        write_lines(stream, ["//"])
    if not spec.is_pairs:
        n_targets = len(source.cards) * source.facts.n_targets
        wider = n_wider(run)
        write_lines(stream, text.totals(n_searched, n_targets, count, wider, source.provenance.partial, spec.top))
    write_lines(stream, [PARTIAL if source.provenance.partial else "# [ok]"])
    return count


def cut_lists(run: RunFile) -> str:
    """Return a sentence about the queries of an open run that ``--top`` has kept from reporting more, if there are."""
    spec = run.spec(PairwiseSpec)
    if spec.is_pairs:
        return ""
    full = HitQueries(run.connection).queries_with_hits(spec.top)
    counts = ((run.card(number), n_kept, _n_passing(run, number)) for number, n_kept in full)
    return text.cut_lists(spec, [counted for counted in counts if counted[2] > counted[1]])


def _n_passing(run: RunFile, number: int) -> int:
    """Return how many targets of a query are within the limits so far, kept or not."""
    least = [1] if scoring_of(run).is_local else []
    limit = run.card(number).get("histogram_report_score")
    least += [limit] if limit is not None else []
    scores, counts = run.histogram(number)
    return int(counts[scores >= max(least, default=-np.inf)].sum())


def _given_pairs(source: PairSource, stream: TextIO, width: int) -> int:
    count = 0
    for card, hit in source.pairs():
        _write_alignments(stream, card, hit, width if source.choice.alignments else 0, names_query=True)
        count += 1
    return count


def _write_alignments(stream: TextIO, card: Card, hit: Hit, width: int, names_query: bool) -> None:
    """Write the alignments of a hit; only what is known of them if `width` is 0."""
    write_lines(stream, text.hit_heading(card, hit, names_query))
    for domain in hit.domains:
        write_lines(stream, text.alignment_lines(PairRow(card, hit, domain), width))


def write_jsonl(source: PairSource, stream: TextIO) -> int:
    """Write a JSON object for each hit."""
    objects = (rows.json_object(card, hit, source.note(card, hit)) for card, hit in source.pairs())
    lines = (json.dumps(data, ensure_ascii=False, allow_nan=False) for data in objects)
    count = write_lines(stream, lines)
    write_lines(stream, [PARTIAL_JSON] if source.provenance.partial else [])
    return count


def write_scores(source: PairSource, stream: TextIO) -> int:
    """Write query, target and score of every pair in the order of the input, of a search without regard to hits.

    There is no line of titles: what reads such files takes each line for a pair.
    """
    if source.spec.is_pairs:
        pairs = source.pairs()
        count = write_lines(stream, (f"{plain(c['name'])}\t{plain(hit.name)}\t{hit.raw}" for c, hit in pairs))
    else:
        count = _scores_of_search(source, stream)
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def _scores_of_search(source: PairSource, stream: TextIO) -> int:
    database = source.database()
    order, count = np.argsort(database.order), 0
    for number, card in enumerate(source.cards):
        scores, query = source.run.scores_by_row(number, len(database)), plain(card["name"])
        for start in range(0, len(order), NAMES_AT_ONCE):
            source.context.check()
            some = order[start : start + NAMES_AT_ONCE]
            known = scores[some] > IMPOSSIBLE
            places, values = some[known].tolist(), scores[some][known].tolist()
            lines = [
                f"{query}\t{plain(database.header(row)[0])}\t{value}\n"
                for row, value in zip(places, values, strict=True)
            ]
            stream.write("".join(lines))
            count += len(lines)
            source.context.progress("export", number * len(order) + start, len(source.cards) * len(order), "scores")
    return count


def write_sam(source: PairSource, stream: TextIO) -> int:
    """Write SAM; the targets in its header are those that were hit."""
    targets = source.keys.targets()
    target_names = sam.Names(((row, name) for row, name, _ in targets), are_targets=True)
    query_names = sam.Names(source.keys.query_names(), are_targets=False)
    for warning in (query_names.warning("queries"), target_names.warning("targets")):
        if warning:
            source.context.warn(warning)
    write_lines(stream, sam.head_lines(targets, target_names, source.provenance))
    count, seen = 0, set[int]()
    residues = source.query_texts
    for row in source.rows():
        if not row.n_columns:
            continue
        number = row.card["number"]
        is_first = number not in seen
        seen.add(number)
        names = query_names[number], target_names[row.hit.row]
        count += write_lines(stream, [sam.record(row, names, is_first, residues[number])])
    left = (card for card in _searched(source) if card["number"] not in seen) if source.choice.hits is None else ()
    write_lines(stream, (sam.unmapped(c, query_names[c["number"]], residues[c["number"]]) for c in left))
    return count


def _searched(source: PairSource) -> Iterator[Card]:
    """Yield the queries that have been compared with all targets, or with those that they were given."""
    run = source.run
    paired = dict(source.keys.queries_with_hits())
    for number, card in enumerate(source.cards):
        n_scored = run.n_rows_finished(number)
        if number in paired if source.spec.is_pairs else n_scored == source.facts.n_targets:
            yield card


def write_matched(source: PairSource, stream: TextIO) -> int:
    """Write the aligned part of each target, named ``name/from-to``; on the minus strand its complement."""
    count, database = 0, cache(source.database)
    for row in source.rows():
        if row.n_columns:
            first, last = row.target_ends
            residues = row.rows[2].replace("-", "")
            if source.choice.flank:
                start, end, residues = add_flanks(database(), row.hit, row.domain.target_range, source.choice.flank)
                first, last = start + 1, end
                if row.pair.strand < 0:
                    alphabet = row.card.get("target_alphabet") or row.card["alphabet"]
                    first, last, residues = end, start + 1, rows.complemented(residues, alphabet)
            stream.write(fasta_record(f"{row.hit.name}/{first}-{last}", describe(source, row.hit, row.card), residues))
            count += 1
    return count


def write_stockholm(source: PairSource, stream: TextIO) -> int:
    """Write the targets of each query aligned to it, the query first if its file is at hand."""
    count, comments = 0, source.provenance.comments()
    for number, card in enumerate(source.cards):

        def aligned(number: int = number) -> Iterator[AlignedRow]:
            return source.aligned_rows(number)

        n = sum(1 for hit in source.hits(number) for domain in hit.domains if domain.states)
        if n:
            write_lines(stream, profile_stockholm_lines(card, aligned, comments))
        count += n
    return count


def _aligned_row(card: Card, hit: Hit, domain: Domain) -> AlignedRow:
    row = PairRow(card, hit, domain)
    first, last = row.target_ends
    states = domain.states if row.pair.strand > 0 else domain.states[::-1]
    return AlignedRow(
        hit.name,
        hit.accession,
        hit.description,
        first,
        last,
        domain.query_range[0],
        states,
        row.rows[2],
        score=domain.score,
    )
