"""Questions to the hits of a run: which, in what order, how many. All of them, or those that were chosen.

Hits stand in one order everywhere: by query, then as `ORDER` says.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from operator import itemgetter
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from clalign.errors import DamagedRun, OptionError, several_named
from clalign.runs.connection import RunConnection
from clalign.runs.facts import RunFacts
from clalign.runs.tables import ORDER, SqlRow
from clalign.values.hit_tables import HitTable
from clalign.values.hits import Hit

_NAMED = "hits LEFT JOIN targets ON targets.row = hits.row"

_NUMBERS = itertools.count()

_CELLS = "coalesce(json_extract(card, '$.cells_per_residue'), length)"


BestOf = Literal["query", "target", "both"]
"""Which hits one is the best of: those of its query, those of its target, or both, which is a reciprocal best hit."""

_RANKS = {"query": "query ORDER BY sort_key DESC", "target": "row ORDER BY evalue IS NULL, evalue, score DESC"}
"""SQL of how the hits of a query and those of a target stand; E-values compare queries, scores only the hits of one."""


class HitKey(NamedTuple):
    """What a hit is known by: its id, and the number of its query."""

    id: int
    query: int


def is_significant(hit: Hit) -> bool:
    """Return whether the search calls a hit significant."""
    return hit.is_significant


def significant_sql(number: int | None = None) -> tuple[str, list[float]]:
    """Return the condition of `is_significant` in SQL, and its values.

    Among the hits of one query, whose `number` is given, those that are significant are the best, so that an index
    counts them.
    """
    if number is None:
        return "included", []
    return "sort_key >= (SELECT sort_key FROM hits WHERE query = ? AND included ORDER BY sort_key LIMIT 1)", [number]


def best_sql(of: BestOf) -> str:
    """Return the condition of being the best hit of the whole run, or as good as the best, in SQL."""
    whose = ("query", "target") if of == "both" else (of,)
    ranks = ", ".join(f"rank() OVER (PARTITION BY {_RANKS[one]}) AS of_{one}" for one in whose)
    are_first = " AND ".join(f"of_{one} = 1" for one in whose)
    return f"hits.id IN (SELECT id FROM (SELECT id, {ranks} FROM hits) WHERE {are_first})"


class AllScores(NamedTuple):
    """The hits of all queries as columns: ids, queries and rows (int64[n]), scores and E-values (float64[n], not a
    number for none), and whether they are significant (bool[n]).
    """

    ids: npt.NDArray[np.int64]
    queries: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]
    evalues: npt.NDArray[np.float64]
    significant: npt.NDArray[np.bool_]


def read_numbers(
    connection: RunConnection, question: str, width: int, check: Callable[[], None] = lambda: None
) -> npt.NDArray[np.float64]:
    """Return an answer of numbers, column by column (float64[width, n]); what is missing becomes not a number.

    Parameters
    ----------
    connection : RunConnection
    question : str
        SQL.
    width : int
        Columns of the answer.
    check : callable
        Called now and then; may raise.
    """
    blocks = [np.empty((width, 0))]
    for some in connection.blocks(question):
        blocks.append(np.array(list(some.values()), np.float64))
        check()
    return np.concatenate(blocks, axis=1)


def named_hits(connection: RunConnection) -> Iterator[tuple[str, str, float, float]]:
    """Yield of each hit the names of query and target, score and E-value (NaN if unknown)."""
    question = "SELECT queries.name, targets.name, score, evalue"
    for query, target, score, evalue in connection.execute(
        f"{question} FROM {_NAMED} JOIN queries ON queries.id = hits.query ORDER BY hits.query, {ORDER}"
    ):
        yield str(query), str(target), float(score), math.nan if evalue is None else float(evalue)


class HitQueries:
    """Questions to the hits of an open run.

    Parameters
    ----------
    connection : RunConnection
    chosen : sequence of int, optional
        Ids of the hits that are looked at; all if None.
    only_significant : bool
        Whether only significant ones of them are.
    queries : sequence of int, optional
        Numbers of the queries whose hits are looked at; all if None.

    Attributes
    ----------
    are_chosen : bool
        Whether there may be other hits.
    only_significant : bool
    """

    def __init__(
        self, connection: RunConnection, chosen: Sequence[int] | None = None, only_significant: bool = False,
        queries: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self._connection = self.connection = connection
        self._is_chosen, self.are_chosen, self.only_significant = "1", chosen is not None, only_significant
        if chosen is not None:
            table = f"chosen_{next(_NUMBERS)}"  # there may be several on one connection
            self._is_chosen = f"hits.id IN (SELECT id FROM {table})"
            connection.execute(f"CREATE TEMP TABLE {table} (id INTEGER PRIMARY KEY)")
            connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES (?)", [(int(i),) for i in chosen])
        if queries is not None:
            self._is_chosen = f"{self._is_chosen} AND hits.query IN ({', '.join(str(int(one)) for one in queries)})"
        if only_significant:
            self._is_chosen = f"{self._is_chosen} AND hits.included"
        self._is_of_query, self._most_of_query = self._is_chosen, -1

    def first_of_each(self, most: int, by_target: bool = False, by_rank: bool = True) -> HitQueries:
        """Return questions to no more than the first `most` hits of each query, or `by_target` of each target.

        Names are as long as those of all hits, since tables with them are to begin as tables of all. `by_rank` is as of
        `by_target`.
        """
        name = "(SELECT name FROM queries WHERE queries.id = hits.query)"
        of_target = f"sort_key DESC, {name}, query" if by_rank else "evalue, score DESC, query"
        whose, order = ("row", of_target) if by_target else ("query", ORDER)
        found = copy(self)
        found.are_chosen = True
        found._is_chosen = (
            f"hits.id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY {whose} ORDER BY {order}) AS place"
            f" FROM hits WHERE {self._is_chosen}) WHERE place <= {int(most)})"
        )
        if by_target:
            found._is_of_query = found._is_chosen
        else:  # what comes first of a query needs no look at the others
            found._most_of_query = int(most)
        return found

    def condition(self, number: int | None) -> str:
        """Return the SQL of being one of the hits that are looked at, of a query or of all."""
        return f"{self._is_chosen} AND {'1' if number is None else f'query = {int(number)}'}"

    def _all(self, question: str, *values: object) -> list[SqlRow]:
        return self._connection.execute(question, values).fetchall()

    def _one(self, question: str, *values: object) -> SqlRow:
        found: SqlRow = self._connection.execute(question, values).fetchone()
        return found

    def of_query(self, number: int) -> list[HitKey]:
        """Return the hits of a query, best first."""
        statement = f"SELECT id FROM hits WHERE query = ? AND {self._is_of_query} ORDER BY {ORDER} LIMIT ?"
        return [HitKey(key, number) for (key,) in self._all(statement, number, self._most_of_query)]

    def with_hits(self, first: int, last: int) -> set[int]:
        """Return the numbers from `first` to before `last` of queries with hits."""
        statement = f"SELECT DISTINCT query FROM hits WHERE query >= ? AND query < ? AND {self._is_of_query}"
        return {number for (number,) in self._all(statement, first, last)}

    def by_input(self) -> list[HitKey]:
        """Return all hits in the order of the targets' file."""
        found = self._all(f"SELECT id, query FROM hits WHERE {self._is_chosen} ORDER BY input_index")
        return [HitKey(*row) for row in found]

    def by_target(self, by_rank: bool) -> Iterator[tuple[int, list[HitKey]]]:
        """Yield row and hits of each target that has any, in the order of the targets' file.

        Parameters
        ----------
        by_rank : bool
            Whether hits of a target stand as those of a query, equal ones by the query's name; else by E-value.
        """
        order = "sort_key DESC, queries.name, query" if by_rank else "evalue, score DESC, query"
        statement = (
            "SELECT hits.id AS id, query, row FROM hits JOIN queries ON queries.id = hits.query"
            f" WHERE {self._is_chosen} ORDER BY input_index, {order}"
        )
        blocks = list(self._connection.blocks(statement))  # a question that stays open would keep the log from the file
        entries = (entry for some in blocks for entry in zip(*some.values(), strict=True))
        for row, hits in itertools.groupby(entries, key=itemgetter(2)):
            yield row, [HitKey(key, number) for key, number, _ in hits]

    def share_done(self) -> float | None:
        """Return which share of its cells a run has computed; None where it is not known how many there are."""
        facts = self._connection.facts
        if self._chooses(facts):
            return None
        total = facts.searched.n_residues * self.cells_per_residue() if facts.searched else 0
        (cells,) = self._one("SELECT total(cells) AS cells FROM batches")
        return float(cells) / total if total else None

    def shares_searched(self, number: int | None = None) -> dict[int, float]:
        """Return which share of the targets each query, or that of a `number`, was compared with so far.

        It is not a number where they are some of it is not known how many.
        """
        which = "1" if number is None else f"id = {int(number)}"
        counts: dict[int, int] = dict(self._all(
            "SELECT id, (SELECT coalesce(sum(last - first), 0) FROM batches WHERE query = id) AS count FROM queries"
            f" WHERE {which} ORDER BY id"
        ))  # fmt: skip
        facts = self._connection.facts
        if facts.state == "done":
            return dict.fromkeys(counts, 1.0)
        total = 0 if self._chooses(facts) or facts.searched is None else facts.searched.n_sequences
        otherwise = {number: math.nan if count else 0.0 for number, count in counts.items()}
        return {number: min(1.0, count / total) for number, count in counts.items()} if total else otherwise

    def _chooses(self, facts: RunFacts) -> bool:
        """Return whether not every query is compared with every target."""
        return any((facts.spec or {}).get(name) for name in self._connection.declared.choosing)

    def parts_by_score(self, number: int) -> list[tuple[int, int]]:
        """Return hit id and number of each domain of a query, the highest score first."""
        found = self._all(
            "SELECT parts.hit, parts.number FROM parts JOIN hits ON hits.id = parts.hit"
            f" WHERE query = ? AND {self._is_chosen} ORDER BY parts.score DESC, input_index, parts.number",
            number,
        )
        return [(key, place) for key, place in found]

    def widths(self, number: int | None = None) -> tuple[int, int]:
        """Return the longest name and the longest accession among the targets of a query, or of all hits."""
        where = "1" if number is None else f"query = {int(number)} AND {self._is_of_query}"
        name, accession = self._one(
            f"SELECT coalesce(max(length(name)), 0), coalesce(max(length(accession)), 0) FROM {_NAMED} WHERE {where}"
        )
        return name, accession

    def targets(self) -> list[tuple[int, str, int]]:
        """Return row, name and length of each target that has a hit, in the order of their file."""
        return [(row, name, length) for row, name, length in self._all(
            f"SELECT hits.row AS row, name, length FROM {_NAMED} WHERE {self._is_chosen} GROUP BY hits.row"
            " ORDER BY min(input_index)"
        )]  # fmt: skip

    def best_of_each(self, n: int, most: int, by_target: bool) -> list[int]:
        """Return the ids of the n best hits of each query, or `by_target` of each target, no more than `most` in all:
        then those come first that stand before others with their own.
        """
        whose, order = ("row", "evalue, score DESC, query") if by_target else ("query", ORDER)
        return [int(key) for (key,) in self._all(
            f"SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY {whose} ORDER BY {order}) AS place FROM hits"
            f" WHERE {self._is_chosen}) WHERE place <= ? ORDER BY place LIMIT ?", n, most,
        )]  # fmt: skip

    def n_with_hits(self, by_target: bool) -> int:
        """Return how many queries, or `by_target` how many targets, have hits."""
        whose = "row" if by_target else "query"
        return int(self._one(f"SELECT count(DISTINCT {whose}) AS count FROM hits WHERE {self._is_chosen}")[0])

    def query_names(self) -> list[tuple[int, str]]:
        """Return number and name of each query."""
        return [(number, name) for number, name in self._all("SELECT id, name FROM queries ORDER BY id")]

    def queries_with_hits(self, least: int = 1) -> list[tuple[int, int]]:
        """Return number of each query with at least this many hits, and how many they are."""
        question = "SELECT query, count(*) FROM hits GROUP BY query HAVING count(*) >= ? ORDER BY query"
        return [(number, n) for number, n in self._all(question, least)]

    def within(
        self,
        evalue: float | None,
        score: float | None,
        is_raw: bool,
        query: int | None = None,
        rows: Sequence[int] | None = None,
        best: BestOf | None = None,
    ) -> list[int]:
        """Return the ids of hits with at most this E-value and at least this score (`is_raw`: uncorrected), perhaps
        only of a query, only of targets in some `rows`, and only of those that are the `best` of the run.

        Those of a query with further rounds are the hits of all its rounds.
        """
        limits = {"evalue <= ?": evalue, f"{'raw' if is_raw else 'score'} >= ?": score}
        given = {words: limit for words, limit in limits.items() if limit is not None}
        of_query = "1" if query is None else f"query IN ({','.join(map(str, self._rounds_of(query)))})"
        among = "1" if rows is None else f"row IN ({','.join(str(int(row)) for row in rows)})"
        ranked = "1" if best is None else best_sql(best)
        question = f"SELECT id FROM hits WHERE {' AND '.join([*given, of_query, among, ranked])}"
        return [key for (key,) in self._all(question, *given.values())]

    def _rounds_of(self, number: int) -> list[int]:
        """Return the numbers of all rounds that began with a query; its own where there are no others."""
        statement = "SELECT id FROM queries WHERE json_valid(card) AND json_extract(card, '$.first') = ? ORDER BY id"
        return [int(found) for (found,) in self._all(statement, number)] or [int(number)]

    def targets_named(self, words: str, noun: str = "target", more: str = "") -> list[int]:
        """Return the rows of the targets with hits that have this name or accession, or this place in their file (from
        1).

        Nothing is named by no words, though many have an empty accession.

        Parameters
        ----------
        words : str
        noun : str
            What a target is called.
        more : str
            Added to the hint.

        Raises
        ------
        OptionError
            If there are none.
        """
        named = "SELECT row FROM targets WHERE name = ? OR accession = ? ORDER BY row"
        found = [int(row) for (row,) in self._all(named, words, words)] if words else []
        if not found and words.isdecimal():
            placed = "SELECT DISTINCT row FROM hits WHERE input_index = ?"
            found = [int(row) for (row,) in self._all(placed, min(int(words), 2**62) - 1)]
        if not found:
            hint = f"Give name or accession of one that has hits, or its number in the file, counted from 1. {more}"
            raise OptionError(f'No hit of the run is of a {noun} "{words}".', hint.strip())
        return found

    def query_named(self, words: str, noun: str) -> int:
        """Return the number of the query of this name or accession, or of this place counted from 1.

        `noun` is what a query is called. Nothing is named by no words.

        Raises
        ------
        OptionError
            If there is none, or more than one.
        """
        found: list[int] = []
        for column in ("name", "accession"):
            statement = f"SELECT id FROM queries WHERE {column} = ? ORDER BY id"
            found = found or [int(number) for (number,) in self._all(statement, words) if words]
        n_queries = int(self._one("SELECT count(*) AS count FROM queries")[0])
        if len(found) != 1 and words.isdecimal() and 1 <= int(words) <= n_queries:
            return int(words) - 1
        if not found:
            hint = f"Give its name, its accession, or a number from 1 to {n_queries:,}."
            raise OptionError(f'The run has no {noun} "{words}".', hint)
        if len(found) > 1:
            raise several_named("The run", noun, words, found)
        return found[0]

    def ids_by_score(self) -> list[int]:
        """Return the ids of all hits, the highest score first."""
        return [int(key) for (key,) in self._all("SELECT id FROM hits ORDER BY score DESC, id")]

    def table(self, number: int | None) -> HitTable:
        """Return the hits of a query, or of all, as columns."""
        where = "1" if number is None else f"query = {int(number)}"
        return HitTable.from_rows(self._all(
            "SELECT queries.name AS name, targets.name, targets.accession, targets.description, targets.length, score,"
            f" bias, evalue, raw, n_parts, hits.row FROM {_NAMED} JOIN queries ON queries.id = query"
            f" WHERE {where} AND {self._is_chosen} ORDER BY query, {ORDER}"
        ))  # fmt: skip

    def scores_of_all(self) -> AllScores:
        """Return the scores of the hits of all queries, by query and target: runs are stored in any order."""
        statement = f"SELECT id, query, row, score, evalue, included FROM hits WHERE {self._is_chosen}"
        ids, queries, targets, scores, evalues, included = read_numbers(self._connection, statement, 6)
        order = np.lexsort((targets, queries))
        whole = [column[order].astype(np.int64) for column in (ids, queries, targets)]
        return AllScores(whole[0], whole[1], whole[2], scores[order], evalues[order], included[order] > 0)

    def significant_names(self, number: int) -> list[str]:
        """Return the names of the significant hits of a query, one for each hit, as the user has chosen them."""
        chosen = "IN (SELECT value FROM queries, json_each(card, '$.{}') WHERE queries.id = ? AND json_valid(card))"
        statement = (
            "SELECT name FROM hits JOIN targets USING (row) WHERE query = ? AND"
            f" (included OR row {chosen.format('taken')}) AND row NOT {chosen.format('dropped')} ORDER BY hits.id"
        )
        return [name for (name,) in self._all(statement, number, number, number)]

    def names_before(self, number: int) -> set[str]:
        """Return the names of the significant hits of the round before that of a profile; none before the first one."""
        statement = "SELECT json_extract(card, '$.before') AS before FROM queries WHERE id = ? AND json_valid(card)"
        found = {before for (before,) in self._all(statement, number)} - {None}
        return {name for before in found for name in self.significant_names(int(before))}

    def target_names(self) -> dict[int, str]:
        """Return the name of each target that was hit, by its row."""
        return {row: name for some in self._connection.blocks("SELECT row, name FROM targets")
                for row, name in zip(*some.values(), strict=True)}  # fmt: skip

    def rows(self, number: int) -> npt.NDArray[np.int64]:
        """Return the rows (int64[n]) of the targets that a query hit."""
        return np.array([row for (row,) in self._all("SELECT row FROM hits WHERE query = ?", number)], np.int64)

    def all_rows(self) -> npt.NDArray[np.int64]:
        """Return the rows (int64[n], ascending) of all targets that any query hit."""
        return np.array([row for (row,) in self._all("SELECT DISTINCT row FROM hits ORDER BY row")], np.int64)

    def in_rows(self, number: int, rows: npt.NDArray[np.int64]) -> list[int]:
        """Return the ids of the hits of a query in some rows, best first."""
        wanted = set(rows.tolist())
        found = self._all(f"SELECT id, row FROM hits WHERE query = ? ORDER BY {ORDER}", number)
        return [int(key) for key, row in found if row in wanted]

    def place(self, key: int) -> tuple[int, int, int, int]:
        """Return number of the query, row and length of the target, and number of domains of a hit."""
        number, row, length, n = self._one(f"SELECT query, hits.row, length, n_parts FROM {_NAMED} WHERE id = ?", key)
        if length is None:
            raise DamagedRun(self._connection.path, "it has hits of sequences that it does not name")
        return int(number), int(row), int(length), int(n)

    def origins(self) -> set[str]:
        """Return the programs whose formats the queries have; see their cards."""
        statement = "SELECT DISTINCT json_extract(card, '$.origin') AS line FROM queries WHERE json_valid(card)"
        return {origin for (origin,) in self._all(statement)}

    def cells_per_residue(self) -> float:
        """Return how many cells of all queries together are computed for each residue of the targets."""
        return float(self._one(f"SELECT total({_CELLS}) AS cells FROM queries")[0])
