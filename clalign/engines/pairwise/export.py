"""Write what a pairwise search found: text, tables, SAM, JSON, sequences. Everything comes from the run file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TextIO, overload

import numpy as np

import clalign
from clalign.databases.loading import load_database
from clalign.engines.pairwise import report_text as text
from clalign.engines.pairwise import sam
from clalign.engines.pairwise.inputs import rows_of_queries, scores_of, scoring_of
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.plan7.export_source import Choice
from clalign.engines.plan7.export_tables import write_lines, write_table
from clalign.engines.run_sources import as_given
from clalign.errors import ClalignError, DamagedRun, InputError, OptionError
from clalign.formats import pairwise_rows as rows
from clalign.formats.pairwise_rows import PairRow
from clalign.formats.table_columns import TableRow
from clalign.formats.tables import PARTIAL, Card, Provenance, plain
from clalign.formats.writers import EXACT, AlignedRow, fasta_record, stockholm_lines, table_stream, whole_file
from clalign.jobs import JobContext
from clalign.runs.inputs import input_of
from clalign.runs.run_file import RunFile
from clalign.values.hits import Domain, Hit
from clalign.values.profiles import IMPOSSIBLE
from clalign.values.sequences import SequenceDatabase

NAMES_AT_ONCE = 65_536

CARDS_KEPT = 256
"""Cards of queries that are kept in memory."""

NARROWEST_BLOCK = 20
MARGINS = 32
"""What stands beside the residues on a line of the text, at most."""

PARTIAL_JSON = '{"partial": true}'


class Cards(Sequence[Card]):
    """The cards of a run's queries, each with its ``number``, read when they are asked for: there may be millions.

    Parameters
    ----------
    run : RunFile
    """

    def __init__(self, run: RunFile) -> None:
        self._run, self._n = run, run.n_profiles()
        self._read = lru_cache(CARDS_KEPT)(self._card)

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, number: int) -> Card: ...

    @overload
    def __getitem__(self, number: slice) -> list[Card]: ...

    def __getitem__(self, number: int | slice) -> Card | list[Card]:
        if isinstance(number, slice):
            return [self._read(one) for one in range(*number.indices(self._n))]
        if not 0 <= number < self._n:
            raise IndexError(number)
        return self._read(number)

    def _card(self, number: int) -> Card:
        card = self._run.card(number)
        if not card:
            raise DamagedRun(self._run.path, f"its query {number} is missing")
        return {**card, "number": number}


@dataclass(frozen=True)
class PairSource:
    """An opened pairwise run with what every writer asks of it.

    Attributes
    ----------
    run : RunFile
    spec : PairwiseSpec
    cards : sequence of dict
        Of the queries; see `Cards`.
    origin : Provenance
    choice : Choice
        Which hits, and how; `Choice.significant` has no meaning here.
    columns : str
        What ``outfmt`` writes, as after ``--outfmt``.
    context : JobContext
    """

    run: RunFile
    spec: PairwiseSpec
    cards: Cards
    origin: Provenance
    choice: Choice
    columns: str
    context: JobContext

    @cached_property
    def queries(self) -> SequenceDatabase | None:
        """The queries, if they are still those of the run."""
        try:
            return self._database("queries")
        except ClalignError:
            return None

    def targets(self) -> SequenceDatabase:
        """Return the targets.

        Raises
        ------
        InputError
            If they are not those of the run any more.
        """
        return self._database("database")

    def _database(self, name: str) -> SequenceDatabase:
        spec = self.spec
        is_query = name == "queries"
        form = spec.query_format if is_query else spec.sequence_format
        path = input_of(self.run, "queries" if is_query else "targets", self.context)
        database, _ = load_database(path, alphabet=spec.alphabet, sequence_format=form, context=self.context)
        return database

    @cached_property
    def query_texts(self) -> list[str]:
        """The residues of each query by its number; empty if they are not at hand."""
        database = self.queries
        if database is None:
            return [""] * len(self.cards)
        return [database[int(row)].text for row in rows_of_queries(database, len(self.cards))]

    def hits(self, number: int) -> Iterator[Hit]:
        """Yield the chosen hits of a query, best first."""
        chosen = "AND id IN (SELECT id FROM chosen)" if self.choice.hits is not None else ""
        keys = self.run.connection.execute(
            f"SELECT id FROM hits WHERE profile = ? {chosen} ORDER BY sort_key DESC, tie, input_index", (number,)
        ).fetchall()
        yield from self._read([(key, number) for (key,) in keys])

    def pairs(self) -> Iterator[tuple[Card, Hit]]:
        """Yield query and target of all chosen hits: given pairs in their order, those of a search by query."""
        if not self.spec.is_pairs:
            for number, card in enumerate(self.cards):
                for hit in self.hits(number):
                    yield card, hit
            return
        chosen = "WHERE id IN (SELECT id FROM chosen)" if self.choice.hits is not None else ""
        keys = self.run.connection.execute(f"SELECT id, profile FROM hits {chosen} ORDER BY input_index").fetchall()
        for (_, number), hit in zip(keys, self._read(keys), strict=True):
            yield self.cards[number], hit

    def _read(self, keys: Sequence[tuple[int, int]]) -> Iterator[Hit]:
        for done, hit in enumerate(self.run.hits_at([key for key, _ in keys])):
            if done % 256 == 0:
                self.context.check()
                self.context.progress("export", done, len(keys), "hits")
            yield hit

    @cached_property
    def _notes(self) -> dict[tuple[int, int], str]:
        """What users have written beside hits, by number of the query and row of the target."""
        return self.run.notes()

    def note(self, card: Card, hit: Hit) -> str:
        """Return what the user has written beside a target of a query."""
        return self._notes.get((card["number"], hit.row), "")

    def rows(self) -> Iterator[PairRow]:
        """Yield all chosen alignments."""
        for card, hit in self.pairs():
            for domain in hit.domains:
                yield PairRow(card, hit, domain)


def export_pairwise(run: RunFile, what: str, path: str, choice: Choice, columns: str, context: JobContext) -> int:
    """Write the results of an open run to a file, all of it or nothing; see `clalign.engines.export.export`.

    Returns
    -------
    int
        Records written.
    """
    write = writer_of(what)
    spec = run.spec(PairwiseSpec)
    if run.fact("scoring") is None:
        raise InputError(run.path, "this run has no results; its input could not be read.", "Search again.")
    given = replace(
        spec,
        queries=as_given(run.path, spec.queries),
        targets=as_given(run.path, spec.targets),
        matrix=spec.matrix and as_given(run.path, spec.matrix),
        pair_list=spec.pair_list and as_given(run.path, spec.pair_list),
    )
    origin = Provenance(
        version=run.fact("versions", {}).get("clalign", clalign.__version__),
        query=given.queries,
        target=given.targets,
        command=run.fact("command") or shlex.join(given.command_line()),
        device=run.fact("device", {}).get("name", "not known"),
        seconds=run.fact("created", 0.0),
        partial=run.state != "done",
        program="sw",
    )
    if choice.hits is not None:
        run.connection.execute("CREATE TEMP TABLE chosen (id INTEGER PRIMARY KEY)")
        run.connection.executemany("INSERT OR IGNORE INTO chosen VALUES (?)", [(int(i),) for i in choice.hits])
    source = PairSource(run, spec, Cards(run), origin, choice, columns, context)
    with whole_file(path, is_exact=what in EXACT) as stream:
        return write(source, table_stream(stream, what, choice.safe_cells))


def writer_of(what: str) -> Callable[[PairSource, TextIO], int]:
    """Return what writes one of the exports of a pairwise run.

    Raises
    ------
    OptionError
        If such runs have no export of this name.
    """
    if what not in WRITERS:
        raise OptionError(
            f'Runs of `clalign sw` have no export named "{what}".', f"Choose one of {', '.join(WRITERS)}."
        )
    return WRITERS[what]


def write_text(source: PairSource, stream: TextIO) -> int:
    """Write the text that people read; the parts of several queries are parted by ``//``."""
    run, spec = source.run, source.spec
    width = max(source.choice.width - MARGINS, NARROWEST_BLOCK) if source.choice.width else 2**31
    write_lines(stream, text.opening(source.origin, run.fact("scoring"), run.fact("strands")))
    count = _given_pairs(source, stream, width) if spec.is_pairs else 0
    n_searched = 0
    for number, card in enumerate([] if spec.is_pairs else source.cards):
        searched = sum(last - first for first, last in run.finished(number))
        n_searched += searched
        write_lines(stream, text.query_lines(card))
        write_lines(stream, text.hit_header())
        n = write_lines(stream, (text.hit_line(PairRow(card, hit, hit.domains[0])) for hit in source.hits(number)))
        count += n
        if not n:
            write_lines(stream, (f"  {line}" for line in text.no_hits(spec, card, searched, run.best(number))))
        if (n_kept := run.n_hits(number)) >= spec.top:
            write_lines(stream, text.cut_list(spec, card, n_kept, _n_passing(run, number)))
        write_lines(stream, [""])
        if source.choice.alignments:
            for hit in source.hits(number):
                _write_alignments(stream, card, hit, width, names_query=False)
        write_lines(stream, ["//"])
    if not spec.is_pairs:
        n_targets = len(source.cards) * run.fact("n_targets")
        wider = run.n_wider()
        write_lines(stream, text.totals(n_searched, n_targets, count, wider, source.origin.partial, spec.top))
    write_lines(stream, [PARTIAL if source.origin.partial else "# [ok]"])
    return count


def cut_lists(run: RunFile) -> str:
    """Return a sentence about the queries of an open run that ``--top`` has kept from reporting more, if there are."""
    spec = run.spec(PairwiseSpec)
    if spec.is_pairs:
        return ""
    full = run.connection.execute(
        "SELECT profile, count(*) FROM hits GROUP BY profile HAVING count(*) >= ? ORDER BY profile", (spec.top,)
    ).fetchall()
    counts = ((run.card(number), n_kept, _n_passing(run, number)) for number, n_kept in full)
    return text.cut_lists(spec, [counted for counted in counts if counted[2] > counted[1]])


def _n_passing(run: RunFile, number: int) -> int:
    """Return how many targets of a query are within the limits so far, kept or not."""
    least = [1] if scoring_of(run).is_floored else []
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


def write_outfmt(source: PairSource, stream: TextIO) -> int:
    """Write BLAST's table of alignments."""
    names = rows.columns_of(source.columns or "6")
    count = write_lines(stream, (rows.outfmt_line(row, names) for row in source.rows()))
    write_lines(stream, [PARTIAL] if source.origin.partial else [])
    return count


def write_tsv(source: PairSource, stream: TextIO) -> int:
    """Write the tab-separated table of alignments."""
    found = (
        TableRow(row.card, row.hit, (row.domain,), row.domain.number, len(row.hit.domains),
                 note=source.note(row.card, row.hit))
        for row in source.rows()
    )  # fmt: skip
    return write_table(stream, "sw", found, source.origin.partial)


def write_jsonl(source: PairSource, stream: TextIO) -> int:
    """Write a JSON object for each hit."""
    objects = (rows.json_object(card, hit, source.note(card, hit)) for card, hit in source.pairs())
    lines = (json.dumps(data, ensure_ascii=False, allow_nan=False) for data in objects)
    count = write_lines(stream, lines)
    write_lines(stream, [PARTIAL_JSON] if source.origin.partial else [])
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
    write_lines(stream, [PARTIAL] if source.origin.partial else [])
    return count


def _scores_of_search(source: PairSource, stream: TextIO) -> int:
    database = source.targets()
    order, count = np.argsort(database.order), 0
    for number, card in enumerate(source.cards):
        scores, query = scores_of(source.run, number, len(database)), plain(card["name"])
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
    chosen = "WHERE id IN (SELECT id FROM chosen)" if source.choice.hits is not None else ""
    targets = source.run.connection.execute(
        f"SELECT name, min(length) AS length FROM hits {chosen} GROUP BY name ORDER BY min(input_index)"
    )
    write_lines(stream, sam.head_lines(targets, source.origin))
    count, seen = 0, set[int]()
    residues = source.query_texts
    for row in source.rows():
        if not row.n_columns:
            continue
        number = row.card["number"]
        is_first = number not in seen
        seen.add(number)
        count += write_lines(stream, [sam.record(row, is_first, residues[number])])
    left = (card for card in _searched(source) if card["number"] not in seen) if source.choice.hits is None else ()
    write_lines(stream, (sam.unmapped(card, residues[card["number"]]) for card in left))
    return count


def _searched(source: PairSource) -> Iterator[Card]:
    """Yield the queries that have been compared with all targets, or with those that they were given."""
    run = source.run
    paired = {number for (number,) in run.connection.execute("SELECT DISTINCT profile FROM hits")}
    for number, card in enumerate(source.cards):
        n_scored = sum(last - first for first, last in run.finished(number))
        if number in paired if source.spec.is_pairs else n_scored == run.fact("n_targets"):
            yield card


def write_fasta(source: PairSource, stream: TextIO) -> int:
    """Write each target that was found once, whole."""
    database, seen = source.targets(), set[int]()
    for _, hit in source.pairs():
        if hit.row not in seen:
            seen.add(hit.row)
            stream.write(fasta_record(hit.name, hit.description, database[hit.row].text))
    return len(seen)


def write_matched(source: PairSource, stream: TextIO) -> int:
    """Write the aligned part of each target, named ``name/from-to``; on the minus strand its complement."""
    count = 0
    for row in source.rows():
        if row.n_columns:
            first, last = row.target_ends
            residues = row.rows[2].replace("-", "")
            stream.write(fasta_record(f"{row.hit.name}/{first}-{last}", row.hit.description, residues))
            count += 1
    return count


def write_stockholm(source: PairSource, stream: TextIO) -> int:
    """Write the targets of each query aligned to it, the query first if its file is at hand."""
    count = 0
    comments = ["partial: yes"] if source.origin.partial else []
    for number, card in enumerate(source.cards):

        def aligned(number: int = number, card: Card = card) -> Iterator[AlignedRow]:
            residues = source.query_texts[number]
            if residues:
                yield AlignedRow(
                    card["name"], "", card["description"], 1, len(residues), 0, "M" * len(residues), residues
                )
            for hit in source.hits(number):
                yield from (_aligned_row(card, hit, domain) for domain in hit.domains if domain.states)

        n = sum(1 for hit in source.hits(number) for domain in hit.domains if domain.states)
        if n:
            write_lines(stream, stockholm_lines(card, aligned, comments))
        count += n
    return count


def _aligned_row(card: Card, hit: Hit, domain: Domain) -> AlignedRow:
    row = PairRow(card, hit, domain)
    first, last = row.target_ends
    states = domain.states if row.pair.strand > 0 else domain.states[::-1]
    return AlignedRow(
        hit.name, hit.accession, hit.description, first, last, domain.profile_range[0], states, row.rows[2]
    )


WRITERS: dict[str, Callable[[PairSource, TextIO], int]] = {
    "text": write_text,
    "outfmt": write_outfmt,
    "tsv": write_tsv,
    "jsonl": write_jsonl,
    "scores": write_scores,
    "sam": write_sam,
    "fasta": write_fasta,
    "fasta_matched": write_matched,
    "stockholm": write_stockholm,
}
