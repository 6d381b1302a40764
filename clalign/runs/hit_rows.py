"""Hits as rows of a run file: many are written, and read, with few questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from clalign.errors import DamagedRun, RunBusy
from clalign.runs.connection import RunConnection
from clalign.runs.declarations import KEYS, EngineTable, Judge
from clalign.runs.kinds import columns_of
from clalign.runs.plain_data import parsed_card
from clalign.runs.schema import ORDER, TABLES
from clalign.values.alignments import AlignmentText
from clalign.values.hits import Domain, Hit

MOST_CARDS = 1024
"""Queries whose cards are kept at hand: of a million there is no room for all."""

HITS_AT_ONCE = 256
"""Hits that are read together, so that no more are in memory at a time."""

_HIT = (
    "hits.id, query, hits.row, input_index, name, accession, description, length, score, bias, evalue, raw, n_parts,"
    " log_pvalue, included"
)
_PARTS = columns_of(TABLES["parts"][0])
_PART = ", ".join(f"parts.{name}" for name in _PARTS)
_N_HIT, _N_PART = len(_HIT.split(",")), len(_PARTS)


class _Query(NamedTuple):
    """What is needed of a query to read its hits."""

    card: dict[str, Any]
    judge: Judge | None


class _Place(NamedTuple):
    """Where in a row what a table of an engine tells is, and what reads it."""

    read: Callable[[dict[str, Any], tuple[Any, ...]], None]
    start: int
    end: int


_Own = tuple[Sequence[_Place], Sequence[_Place]]
"""Of rows of hits, and of parts."""


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
        self._last_card: tuple[str | None, dict[str, Any]] = None, {}
        self._counts: dict[int, int] = {}

    def card(self, query: int) -> dict[str, Any]:
        """Return the card of a query; empty if there is none."""
        found = self._connection.execute("SELECT card FROM queries WHERE id = ?", (query,)).fetchone()
        if not found:
            return {}
        if self._last_card[0] != found[0]:  # one thing after the other is asked of the same query
            parsed = parsed_card(found[0], self._connection.path, self._connection.declared.cards)
            self._last_card = found[0], parsed
        return dict(self._last_card[1])

    def forget_cards(self) -> None:
        """Read the cards of the queries again when they are next needed."""
        self._queries.clear()

    def _query(self, number: int) -> _Query:
        if number not in self._queries:
            card = self.card(number)
            if len(self._queries) >= MOST_CARDS:
                self._queries.clear()
            self._queries[number] = _Query(card, self._connection.declared.judge(card, self._spec()))
        return self._queries[number]

    def _spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self._connection.fact("spec") or {}
        return spec

    def add(self, query: int, hits: Sequence[Hit]) -> None:
        """Write the hits of a query; the caller has opened a transaction."""
        if not hits:
            return
        declared, card = self._connection.declared.needed(), self._query(query).card
        last = self._connection.execute("SELECT coalesce(max(id), 0) FROM hits").fetchone()[0]
        numbered = list(enumerate(hits, last + 1))
        write = self._connection.insert
        write("targets", ((h.row, h.name, h.accession, h.description, h.length) for h in hits), "INSERT OR IGNORE")
        write("hits", (_row_of(number, query, hit, declared.order(card, hit)) for number, hit in numbered))
        write(
            "parts",
            (
                (number, d.number, d.score, d.bias, d.evalue, *d.profile_range, *d.target_range, d.raw, d.states,
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
        own = declared.of("hits"), declared.of("parts")
        parts: dict[int, list[tuple[Any, ...]]] = {number: [] for number in ids}
        for row in self._connection.execute(
            f"SELECT {_PART}{_more(own[1])} FROM parts {joined(own[1])} WHERE parts.hit {chosen}"
            " ORDER BY parts.hit, parts.number",
            ids,
        ):
            parts[row[0]].append(row)
        found = self._connection.execute(
            f"SELECT {_HIT}{_more(own[0])} FROM hits LEFT JOIN targets ON targets.row = hits.row {joined(own[0])}"
            f" WHERE hits.id {chosen}",
            ids,
        ).fetchall()
        self._check_counts()
        places = _places(own[0], _N_HIT), _places(own[1], _N_PART)
        return {row[0]: self._hit(row, parts[row[0]], places) for row in found}

    def _hit(self, row: tuple[Any, ...], parts: list[tuple[Any, ...]], own: _Own) -> Hit:
        number, included = row[1], bool(row[14])
        query, n_reported = self._query(number), 0
        if query.judge is not None and query.judge.n_targets is None:
            n_reported = self._counted(number, row[2])
        fields: dict[str, Any] = {"is_included": included, "query": query.card.get("name", "")}
        _read(own[0], row, fields)
        domains = tuple(_domain(part, own[1], query.judge, n_reported, included) for part in parts)
        values: tuple[Any, ...] = (*row[2:10], _known(row[10]), row[11], domains, *row[12:14])
        hit = Hit(*values, **fields)
        wrong = unsound(hit) if query.card else "no query"
        wrong = wrong or self._connection.declared.unsound(query.card, hit)
        if wrong is not None:
            raise DamagedRun(self._connection.path, f"the hit {hit.name} has {wrong}")
        return hit

    def begin(self) -> None:
        """Take note of what the file holds now, before it is asked which parts are reported."""
        self._check_counts()

    def reports(
        self, query: int, row: int, included: bool, score: float, evalue: float | None, log_pvalue: float | None
    ) -> bool:
        """Return whether a part of a hit is reported, given what is known of it."""
        return self.judged(query, row, included, score, evalue, log_pvalue)[0]

    def judged(
        self, query: int, row: int, included: bool, score: float, evalue: float | None, log_pvalue: float | None
    ) -> tuple[bool, bool]:
        """Return whether a part of a hit is reported, and whether it is significant, given what is known of it."""
        judge = self._query(query).judge
        if judge is None:
            return True, True
        n_reported = self._counted(query, row) if judge.n_targets is None else 0
        return judge.judgment(score, _known(evalue), log_pvalue, n_reported, included)[1:]

    def judge_in_sql(self, queries: Sequence[int]) -> None:
        """Let questions ask ``is_reported(query, row, score, evalue, log_pvalue)`` of parts of the hits of queries."""
        self._check_counts()
        judges = {number: self._query(number).judge for number in queries}
        column = "row" if self._is_scan else "query"
        counts = dict(self._connection.execute(f"SELECT {column}, count(*) FROM hits GROUP BY {column}").fetchall())

        def is_reported(query: int, row: int, score: float, evalue: float | None, log_pvalue: float | None) -> bool:
            judge = judges.get(query)
            n_reported = counts.get(row if column == "row" else query, 0)
            return judge is None or judge.judgment(score, _known(evalue), log_pvalue, n_reported, True)[1]

        self._connection.create_function("is_reported", 5, is_reported)

    def n_reported(self, query: int, row: int) -> int:
        """Return what HMMER3's conditional E-values count; see `RunFile.n_reported`."""
        self._check_counts()
        return self._counted(query, row)

    def _check_counts(self) -> None:
        """Forget what was counted if the file has changed since."""
        stamp = self._connection.execute("PRAGMA data_version").fetchone()[0], self._connection.total_changes
        if self._stamp != stamp:
            self._is_scan = self._connection.fact("direction") == "scan"
            self._stamp, self._counts = stamp, {}

    def _counted(self, query: int, row: int) -> int:
        column, key = ("row", row) if self._is_scan else ("query", query)
        if key not in self._counts:
            question = f"SELECT count(*) FROM hits WHERE {column} = ?"
            self._counts[key] = int(self._connection.execute(question, (key,)).fetchone()[0])
        return self._counts[key]


def joined(tables: Sequence[EngineTable]) -> str:
    """Return what joins tables of an engine to the hits or parts that their rows are of."""
    return " ".join(
        f"LEFT JOIN {table.name} ON "
        + " AND ".join(
            f"{table.name}.{key} = {table.of}.{'id' if table.of == 'hits' else key}"
            for key in columns_of(KEYS[table.of])
        )
        for table in tables
    )


def _more(tables: Sequence[EngineTable]) -> str:
    return "".join(f", {table.name}.{name}" for table in tables for name in table.names)


def _written(table: EngineTable, things: Iterable[tuple[tuple[int, ...], Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield what is written in a table of an engine of some hits or parts, whose keys come with them."""
    for key, thing in things:
        values = table.row(thing)
        if values is not None:
            yield (*key, *values)


def _places(tables: Sequence[EngineTable], start: int) -> list[_Place]:
    """Return where in a row the columns of tables of an engine are, the first of them at `start`."""
    places = []
    for table in tables:
        end = start + len(table.names)
        places.append(_Place(table.read, start, end))
        start = end
    return places


def _read(own: Sequence[_Place], row: tuple[Any, ...], fields: dict[str, Any]) -> None:
    """Set the fields that tables of an engine tell of."""
    for read, start, end in own:
        values = row[start:end]
        if values.count(None) < end - start:
            read(fields, values)


def unsound(hit: Hit) -> str | None:
    """Return in words what no hit can have; None if there is nothing.

    Whoever shows a hit relies on it: no part of an alignment is outside of it.
    """
    for part in hit.domains:
        if any(start > end for start, end in (part.profile_range, part.target_range, part.envelope)):
            return "a domain that ends before it begins"
        rows = [row for row in (part.text.model, part.text.match, part.text.target, part.text.posterior) if row]
        if len({len(row) for row in rows}) > 1 or (rows and not part.states):
            return "an alignment of unequal rows"
    return None


def unwritable(hit: Hit, query_length: int) -> str | None:
    """Return in words what keeps a hit from being written, though it can be verified; None if there is nothing."""
    for part in hit.domains:
        states, text = part.states, part.text
        if any(len(row) != len(states) for row in (text.model, text.match, text.target, text.posterior or states)):
            return "an alignment of unequal rows"
        ends = [last - first for first, last in (part.profile_range, part.target_range)]
        if states and ends != [len(states) - states.count("I"), len(states) - states.count("D")]:
            return "an alignment of another length than its ends say"
        if part.profile_range[1] > query_length or part.target_range[1] > hit.length:
            return "an alignment beyond the end of its query or its sequence"
    return None


def _row_of(number: int, query: int, hit: Hit, order: tuple[float, str | None]) -> tuple[Any, ...]:
    best = hit.best_domain
    return (
        number, query, hit.row, hit.input_index, hit.score, hit.bias, hit.evalue, hit.raw, hit.n_domains,
        best and best.score, best and best.evalue, "", *order, hit.log_pvalue, hit.is_included,
    )  # fmt: skip


def _domain(
    row: tuple[Any, ...], own: Sequence[_Place], judge: Judge | None, n_reported: int, is_included: bool
) -> Domain:
    _, number, score, bias, evalue, *places, raw, states, model, match, target, log_pvalue = row[:_N_PART]
    fields: dict[str, Any] = {
        "envelope": (places[2], places[3]), "text": AlignmentText(model, match, target), "log_pvalue": log_pvalue
    }  # fmt: skip
    _read(own, row, fields)
    if judge is not None:
        judged = judge.judgment(score, _known(evalue), log_pvalue, n_reported, is_included)
        fields["conditional_evalue"], fields["is_reported"], fields["is_included"] = judged
    return Domain(
        number, score, bias, _known(evalue), (places[0], places[1]), (places[2], places[3]), raw=raw, states=states,
        **fields,
    )  # fmt: skip


def _known(value: float | None) -> float:
    """Return what SQLite keeps as NULL: not a number."""
    return math.nan if value is None else value
