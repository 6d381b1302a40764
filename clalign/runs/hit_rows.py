"""Hits as rows of a run file: many are written, and read, with few questions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice, repeat
from typing import NamedTuple, TypeVar

from clalign.errors import DamagedRun, RunBusy
from clalign.runs.connection import Columns, RunConnection
from clalign.runs.facts import card_of
from clalign.runs.tables import KEYS, ORDER, TABLES, UNJUDGED, EngineTable, Fields, Judge, PartVerdict, SqlRow
from clalign.values.alignments import AlignmentText
from clalign.values.documents import Card, SpecFields
from clalign.values.hits import Domain, Hit, covered

MAX_CARDS = 1024
"""Queries whose cards are kept at hand: of a million there is no room for all."""

HITS_AT_ONCE = 256
"""Hits that are read together, so that no more are in memory at a time."""

ADDED_AT_ONCE = 4096
"""Hits that are written together, for the same reason."""

_HIT = (
    "hits.id, query, hits.row, input_index, name, accession, description, length, score, bias, evalue, raw, n_parts,"
    " log_pvalue, included"
)
_PART = ", ".join(f"parts.{name}" for name in TABLES["parts"][0])


class _Query(NamedTuple):
    """What is needed of a query to read its hits."""

    card: Card
    judge: Judge | None


Made = TypeVar("Made", Hit, Domain)


class _Covered:
    """Counts the places that any of some spans covers."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []

    def step(self, start: int, end: int) -> None:
        """Take a span."""
        self._spans.append((start, end))

    def finalize(self) -> int:
        """Return how many places they cover."""
        return covered(self._spans)


class HitRows:
    """The hits of a run file.

    Parameters
    ----------
    connection : RunConnection
    """

    def __init__(self, connection: RunConnection) -> None:
        self._connection = connection
        self._queries: dict[int, _Query] = {}
        self._stamp: tuple[int, int] | None = None
        self._is_scan = False
        self._spec: SpecFields = {}
        self._last_card: tuple[str | None, Card] = None, {}
        self._counts: dict[int, int] = {}

    def card(self, query: int) -> Card:
        """Return the card of a query; empty if there is none."""
        found = self._connection.execute("SELECT card FROM queries WHERE id = ?", (query,)).fetchone()
        if not found:
            return {}
        if self._last_card[0] != found[0]:  # one thing after the other is asked of the same query
            self._last_card = found[0], card_of(self._connection.path, found[0], self._connection.declared.cards)
        return dict(self._last_card[1])

    def order(self, query: int, hit: Hit) -> tuple[float, str | None]:
        """Return the key by which hits of a query fall, and the one by which equal ones rise."""
        return self._connection.declared.order(self._query(query).card, hit)

    def forget_cards(self) -> None:
        """Read the cards of the queries again when they are next needed."""
        self._queries.clear()

    def _query(self, number: int) -> _Query:
        if number not in self._queries:
            self._check_file()
            card = self.card(number)
            if len(self._queries) >= MAX_CARDS:
                self._queries.clear()
            self._queries[number] = _Query(card, self._connection.declared.judge(card, self._spec))
        return self._queries[number]

    def add(self, found: Iterable[tuple[int, Hit]]) -> None:
        """Write hits, given with the numbers of their queries; the caller has opened a transaction."""
        found = iter(found)
        while some := list(islice(found, ADDED_AT_ONCE)):
            self._add(some)

    def _add(self, owned: Sequence[tuple[int, Hit]]) -> None:
        declared = self._connection.declared.needed()
        last = self._connection.execute("SELECT coalesce(max(id), 0) FROM hits").fetchone()[0]
        numbered = [(number, hit) for number, (_, hit) in enumerate(owned, last + 1)]
        # Before anything is written: to find a card out is a question, of which each may take so many steps only.
        orders = [self.order(query, hit) for query, hit in owned]
        write = self._connection.insert
        write("targets", ((h.row, h.name, h.accession, h.description, h.length) for _, h in owned), "INSERT OR IGNORE")
        write("hits", (
            row_of(number, query, hit, order)
            for (number, hit), (query, _), order in zip(numbered, owned, orders, strict=True)
        ))  # fmt: skip
        write(
            "parts",
            (
                (number, d.number, d.score, d.bias, d.evalue, *d.query_range, *d.target_range, d.raw, d.states,
                 d.text.model, d.text.match, d.text.target, d.log_pvalue)
                for number, hit in numbered for d in hit.domains
            ),
        )  # fmt: skip
        for table in declared.of("hits"):
            write(table.name, _written(table, (((number,), hit) for number, hit in numbered)))
        for table in declared.of("parts"):
            parts = (((number, part.number), part) for number, hit in numbered for part in hit.domains)
            write(table.name, _written(table, parts))

    def keep_best(self, query: int, n: int) -> None:
        """Drop all but the n first hits of a query; the caller has opened a transaction."""
        question = f"SELECT id, row FROM hits WHERE query = ? ORDER BY {ORDER} LIMIT -1 OFFSET ?"
        dropped = self._connection.execute(question, (query, n)).fetchall()
        ids = [(number,) for number, _ in dropped]
        own = [table.name for thing in ("hits", "parts") for table in self._connection.declared.of(thing)]
        for table in ("parts", *own):
            self._connection.executemany(f"DELETE FROM {table} WHERE hit = ?", ids)
        self._connection.executemany("DELETE FROM hits WHERE id = ?", ids)
        self._connection.executemany(
            "DELETE FROM targets WHERE row = ? AND NOT EXISTS (SELECT 1 FROM hits WHERE hits.row = targets.row)",
            [(row,) for _, row in dropped],
        )

    def read(self, ids: Sequence[int]) -> Iterator[Hit]:
        """Yield the hits with these ids, parts included, in this order."""
        for start in range(0, len(ids), HITS_AT_ONCE):
            some = ids[start : start + HITS_AT_ONCE]
            hits = self.found(some)
            if len(hits) < len(set(some)):
                raise RunBusy("The search has replaced hits while they were read.", "Try again when it is done.")
            yield from (hits[number] for number in some)

    def found(self, ids: Sequence[int]) -> dict[int, Hit]:
        """Return those of some hits, by their ids, that are there."""
        declared = self._connection.declared
        chosen = f"IN ({','.join('?' * len(ids))})"
        own = declared.of("parts")
        parts = self._connection.columns(
            f"SELECT {_PART}{_more(own)} FROM parts {joined(own)} WHERE parts.hit {chosen}"
            " ORDER BY parts.hit, parts.number",
            ids,
        )
        own = declared.of("hits")
        hits = self._connection.columns(
            f"SELECT {_HIT}{_more(own)} FROM hits LEFT JOIN targets ON targets.row = hits.row {joined(own)}"
            f" WHERE hits.id {chosen} ORDER BY hits.id",
            ids,
        )
        self._check_file()
        return dict(zip(hits["id"], self._hits(hits, self._parts(hits, parts)), strict=True))

    def _hits(self, found: Columns, parts: Iterable[tuple[Domain, ...]]) -> Iterator[Hit]:
        """Yield hits whose columns and parts were read."""
        declared = self._connection.declared
        cards = [self._query(number).card for number in found["query"]]
        fields: Fields = {
            **found, "evalue": all_known(found["evalue"]), "domains": parts, "n_domains": found["n_parts"],
            "is_significant": map(bool, found["included"]), "estimates": repeat(None), "filters": repeat(None),
            "query": [card.get("name", "") for card in cards],
        }  # fmt: skip
        for hit, card in zip(_made(Hit, fields, declared.of("hits"), found), cards, strict=True):
            wrong = unsound(hit) if card else "no query"
            wrong = wrong or declared.unsound(card, hit)
            if wrong is not None:
                raise DamagedRun(self._connection.path, f"the hit {hit.name} has {wrong}")
            yield hit

    def _parts(self, hits: Columns, found: Columns) -> Iterator[tuple[Domain, ...]]:
        """Yield the parts of each hit, in the order of the hits."""
        judges = dict(zip(hits["id"], map(self._judge, hits["query"], hits["row"], hits["included"]), strict=True))
        if not judges.keys() >= set(found["hit"]):  # hits that were dropped meanwhile
            are_there = [number in judges for number in found["hit"]]
            found = {name: tuple(compress(column, are_there)) for name, column in found.items()}
        evalues, targets = (
            all_known(found["evalue"]),
            list(zip(found["target_start"], found["target_end"], strict=True)),
        )
        judged = _judged(map(judges.__getitem__, found["hit"]), found)
        conditional, are_reported, are_significant = zip(*judged, strict=True) if judged else ((), (), ())
        fields: Fields = {
            **found, "evalue": evalues, "query_range": zip(found["query_start"], found["query_end"], strict=True),
            "target_range": targets, "envelope": targets, "accuracy": repeat(None), "pair": repeat(None),
            "text": list(map(AlignmentText, found["query_text"], found["match"], found["target_text"])),
            "conditional_evalue": conditional, "is_reported": are_reported, "is_significant": are_significant,
        }  # fmt: skip
        parts, counts = _made(Domain, fields, self._connection.declared.of("parts"), found), Counter(found["hit"])
        of_hit = {number: tuple(islice(parts, n)) for number, n in counts.items()}
        return (of_hit.get(number, ()) for number in hits["id"])

    def _judge(self, query: int, row: int, included: int) -> tuple[Judge | None, int, bool]:
        """Return the judge of the parts of a hit, the number of hits that count for it, and whether this one does."""
        judge = self._query(query).judge
        n_reported = self._counted(query, row) if judge is not None and judge.n_targets is None else 0
        return judge, n_reported, bool(included)

    def count(self, query: int | None) -> None:
        """Count now what conditional E-values of the hits of a query, or of all, count: who reads a few of them later
        shall not wait for that.
        """
        self._check_file()
        if not self._is_scan:  # else there are few of each sequence
            where = "" if query is None else f"WHERE query = {int(query)}"
            question = f"SELECT query, count(*) AS count FROM hits {where} GROUP BY query"
            self._counts |= dict(self._connection.execute(question).fetchall())

    def verdicts(self, found: Columns) -> list[PartVerdict]:
        """Return the verdicts on parts, given columns: query, row and included of their hits; score, evalue and
        log_pvalue.
        """
        self._check_file()
        return _judged(map(self._judge, found["query"], found["row"], found["included"]), found)

    def judge_in_sql(self, queries: Sequence[int]) -> None:
        """Let questions ask ``is_reported(query, row, score, evalue, log_pvalue)`` of parts of the hits of queries, and
        how many places some parts cover together: ``covered(start, end)``.
        """
        self._check_file()
        judges = {number: self._query(number).judge for number in queries}
        column = "row" if self._is_scan else "query"
        counts = dict(self._connection.execute(f"SELECT {column}, count(*) FROM hits GROUP BY {column}").fetchall())

        def is_reported(query: int, row: int, score: float, evalue: float | None, log_pvalue: float | None) -> bool:
            judge = judges.get(query)
            n_reported = counts.get(row if column == "row" else query, 0)
            return judge is None or judge.judge(score, known(evalue), log_pvalue, n_reported, True).is_reported

        self._connection.create_function("is_reported", 5, is_reported)
        self._connection.create_aggregate("covered", 2, _Covered)  # type: ignore[arg-type]

    def n_reported(self, query: int, row: int) -> int:
        """Return the number of targets that HMMER3's conditional E-values count; see `RunFile.n_reported`."""
        self._check_file()
        return self._counted(query, row)

    def _check_file(self) -> None:
        """Read the facts again, and forget what was counted, if the file has changed since."""
        stamp = self._connection.execute("PRAGMA data_version").fetchone()[0], self._connection.total_changes
        if self._stamp != stamp:
            facts = self._connection.facts
            self._is_scan, self._spec = facts.direction == "scan", facts.spec or {}
            self._stamp, self._counts = stamp, {}

    def _counted(self, query: int, row: int) -> int:
        column, key = ("row", row) if self._is_scan else ("query", query)
        if key not in self._counts:
            question = f"SELECT count(*) FROM hits WHERE {column} = ?"
            self._counts[key] = int(self._connection.execute(question, (key,)).fetchone()[0])
        return self._counts[key]


def joined(tables: Sequence[EngineTable]) -> str:
    """Return the SQL that joins tables of an engine to the hits or parts that their rows are of."""
    return " ".join(
        f"LEFT JOIN {table.name} ON "
        + " AND ".join(
            f"{table.name}.{key} = {table.of}.{'id' if table.of == 'hits' else key}" for key in KEYS[table.of]
        )
        for table in tables
    )


def _more(tables: Sequence[EngineTable]) -> str:
    return "".join(f", {table.name}.{name}" for table in tables for name in table.names)


def _judged(judges: Iterable[tuple[Judge | None, int, bool]], found: Columns) -> list[PartVerdict]:
    """Return the verdicts on parts, given what each is judged by."""
    return [
        judge.judge(score, evalue, log_pvalue, n_reported, included) if judge is not None else UNJUDGED
        for (judge, n_reported, included), score, evalue, log_pvalue in zip(
            judges, found["score"], all_known(found["evalue"]), found["log_pvalue"], strict=True
        )
    ]


def _written(table: EngineTable, things: Iterable[tuple[tuple[int, ...], object]]) -> Iterator[SqlRow]:
    """Yield the rows of a table of an engine for some hits or parts, whose keys come with them."""
    for key, thing in things:
        values = table.row(thing)
        if values is not None:
            yield (*key, *values)


def _made(kind: type[Made], fields: Fields, own: Sequence[EngineTable], found: Columns) -> Iterator[Made]:
    """Yield hits or parts, given columns for all of their fields and those that were read."""
    for table in own:
        table.read(fields, [found[name] for name in table.names])
    return map(kind, *map(fields.__getitem__, kind.__struct_fields__))


def unsound(hit: Hit) -> str | None:
    """Return in words what no hit can have; None if there is nothing.

    Whoever shows a hit relies on it: no part of an alignment is outside of it.
    """
    for part in hit.domains:
        for start, end in (part.query_range, part.target_range, part.envelope):
            if start > end:
                return "a domain that ends before it begins"
        text = part.text
        lengths = {len(text.model), len(text.match), len(text.target), len(text.posterior)} - {0}
        if len(lengths) > 1 or (lengths and not part.states):
            return "an alignment of unequal rows"
    return None


def unwritable(hit: Hit, query_length: int) -> str | None:
    """Return in words what keeps a hit from being written, though it can be verified; None if there is nothing."""
    for part in hit.domains:
        states, text, n = part.states, part.text, len(part.states)
        if not n == len(text.model) == len(text.match) == len(text.target) == len(text.posterior or states):
            return "an alignment of unequal rows"
        (first_node, last_node), (first, last) = part.query_range, part.target_range
        if states and (last_node - first_node, last - first) != (n - states.count("I"), n - states.count("D")):
            return "an alignment of another length than its ends say"
        if last_node > query_length or last > hit.length:
            return "an alignment beyond the end of its query or its sequence"
    return None


def row_of(number: int, query: int, hit: Hit, order: tuple[float, str | None]) -> SqlRow:
    """Return the row of a hit in its table."""
    best = hit.best_domain
    return (
        number, query, hit.row, hit.input_index, hit.score, hit.bias, hit.evalue, hit.raw, hit.n_domains,
        best and best.score, best and best.evalue, "", *order, hit.log_pvalue, hit.is_significant,
    )  # fmt: skip


def known(value: float | None) -> float:
    """Return a number; not a number where SQLite keeps NULL."""
    return math.nan if value is None else value


def all_known(values: Sequence[float | None]) -> Sequence[float]:
    """Return several of what SQLite keeps; see `known`."""
    return list(map(known, values))
