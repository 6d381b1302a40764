"""Hits in a chosen order, paged: which of them a filter lets through, and how they are sorted."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.errors import Cancelled
from clalign.jobs import JobContext
from clalign.runs.connection import RunConnection
from clalign.runs.hit_rows import HitRows, joined
from clalign.runs.notes import OF_HIT
from clalign.runs.queries import BestOf, HitQueries, best_sql, read_numbers, significant_sql
from clalign.runs.run_file import open_connection, open_run
from clalign.runs.tables import ORDER
from clalign.values.hits import Hit
from clalign.values.species import FROM_DESCRIPTIONS, SpeciesRule

ALL_QUERIES = -1
"""In place of the number of a query: the hits of all of them."""

Together = Literal["best", "target", "query"]
"""How the hits of all queries stand: the best first, whichever query found them; or all of a target, or of a query, one
after the other."""

ALL_ORDERS: dict[Together, str] = {
    # E-values compare queries, scores only the hits of one; SQLite sorts a million in less time than they take to read.
    "best": "evalue IS NULL, evalue, score DESC, input_index, query",
    "target": "input_index, sort_key DESC, query",
    "query": f"query, {ORDER}",
}

QUERY_NAME = "(SELECT queries.name FROM queries WHERE queries.id = hits.query)"
TEXTS = ("description", "name", "accession")
SPECIES = "species_of(targets.name, targets.accession, description)"

VALUES = {
    **{name: name for name in ("evalue", "score", "bias", "raw", "length", "best_score", "best_evalue", "verified")},
    "n_domains": "n_parts",
    **{name: f"{name} COLLATE NOCASE" for name in TEXTS},
    "name": "sort_name",
    "profile": f"{QUERY_NAME} COLLATE NOCASE",
    "start": "(SELECT min(target_start) FROM parts WHERE parts.hit = hits.id)",
    "model_start": "(SELECT min(query_start) FROM parts WHERE parts.hit = hits.id)",
    "note": f"{OF_HIT} IS NULL, {OF_HIT} COLLATE NOCASE",
    "species": f"{SPECIES} = '', {SPECIES} COLLATE NOCASE",
}
"""SQL of what hits of every engine are sorted and filtered by; those without a note, or without a species, stand last
in both orders."""

TAGGED = {"note": f"coalesce({OF_HIT}, '')", "species": SPECIES}
"""SQL of texts searched as `note:...` and `species:...`; an empty pattern finds every text that is not empty."""

NEARLY_UNIQUE = ("name", "accession")
"""Orders with so few ties that what decides them does not matter."""


class Condition(NamedTuple):
    """What a hit must fulfill.

    Attributes
    ----------
    key : str
        A value that the hit has, one of `TAGGED`, or ``text`` for name, accession and description; ``any text`` is in
        the name of the query, too. ``best`` is that the hit is the best one, see `clalign.runs.queries.BestOf`.
    operator : str
        ``has`` looks for a text within others, whatever its case; an empty one is in every note and species.
    is_negated : bool
    """

    key: str
    operator: Literal["<", "<=", "=", ">=", ">", "has"]
    value: float | str
    is_negated: bool = False


class PickedHits(Struct, frozen=True, eq=False):
    """Hits that were picked together, by their ids (int64[n]); equal to nothing but itself."""

    ids: npt.NDArray[np.int64]


class HitQuery(Struct, frozen=True):
    """What shall be listed.

    Attributes
    ----------
    number : int
        Number of the query, or `ALL_QUERIES`.
    conditions : tuple of Condition
        All must hold.
    least_score : float or None
        Only hits with at least this score.
    sort : str or None
        The key of a value; None is the original order, see `RunFile.hits`.
    score : str
        The score that thresholds are for: ``score``, or ``raw``.
    together : str
        The original order of the hits of all queries, a key of `ALL_ORDERS`.
    among : PickedHits or None
        Only some of these.
    species : SpeciesRule
        What finds species, by which rows are sorted and filtered.
    """

    path: Path
    number: int
    conditions: tuple[Condition, ...] = ()
    least_score: float | None = None
    sort: str | None = None
    descending: bool = False
    score: str = "score"
    together: Together = "best"
    among: PickedHits | None = None
    species: SpeciesRule = FROM_DESCRIPTIONS


class ListedHit(NamedTuple):
    """A hit with what stands beside it."""

    id: int
    query: int
    verified: str
    note: str
    hit: Hit


def condition_sql(condition: Condition, sql: Mapping[str, str]) -> tuple[str, list[object]]:
    """Return the SQL of a condition and its values; `sql` is that of what is compared, by its key."""
    key, operator, value, is_negated = condition
    if key == "best":
        return f"{'NOT ' * is_negated}{best_sql(cast(BestOf, value))}", []
    if operator != "has":
        return f"{sql[key]} {operator} ?", [value]
    escaped = re.sub(r"([\\%_])", r"\\\1", str(value))
    wanted = "_%" if key in TAGGED and not value else f"%{escaped}%"
    places = [TAGGED[key]] if key in TAGGED else [*TEXTS, *[QUERY_NAME] * (key == "any text")]
    anywhere = " OR ".join(rf"{place} LIKE ? ESCAPE '\'" for place in places)
    return f"{'NOT ' * is_negated}({anywhere})", [wanted] * len(places)


PLOTTED = {"score": "score", "raw": "raw", "uncorrected": "round(score + bias, 3)"}
"""SQL of what histograms are made of; uncorrected scores are those before the correction for biased composition."""


def hits_between(path: Path, number: int, value: str, low: float, high: float) -> list[int]:
    """Return the ids of the hits of a query with a value from `low` to below `high`, best first.

    Parameters
    ----------
    value : str
        A key of `PLOTTED`.
    """
    with open_run(path) as run:
        question = f"SELECT id FROM hits WHERE query = ? AND {PLOTTED[value]} >= ? AND {PLOTTED[value]} < ?"
        return [int(key) for (key,) in run.connection.execute(f"{question} ORDER BY {ORDER}", (number, low, high))]


def compared_hits(path: Path) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return of the hits of all queries their ids (int64[n]), E-values (float64[n], not a number for none) and scores
    (float64[n]).
    """
    with open_run(path) as run:
        ids, evalues, scores = read_numbers(run.connection, "SELECT id, evalue, score FROM hits", 3)
    return ids.astype(np.int64), evalues, scores


@contextmanager
def left_by(connection: RunConnection, context: JobContext | None) -> Iterator[None]:
    """Answer questions within only as long as somebody waits for them.

    Raises
    ------
    Cancelled
        If nobody does any more; the connection is closed.
    """
    if context is None:
        yield
        return
    left: list[Cancelled] = []

    def is_abandoned() -> bool:
        try:
            context.check()
        except Cancelled as error:
            left.append(error)
        return bool(left)

    connection.is_abandoned = is_abandoned
    try:
        yield
    except sqlite3.OperationalError:
        if not left:
            raise
        connection.close()
        raise left[0] from None
    finally:
        connection.is_abandoned = None


class HitPages:
    """The answer to a `HitQuery`: an ordered list of hit ids.

    Only the ids are kept; hits are read a page at a time, over a connection of its own. It may be made in one thread
    and then used by another one, never by both at once.
    """

    def __init__(self, query: HitQuery, context: JobContext | None = None) -> None:
        self.query = query
        self._connection = open_connection(query.path)
        self._connection.species = query.species
        with left_by(self._connection, context):
            self._list()

    def _list(self) -> None:
        """Put the ids in order."""
        query = self.query
        declared = self._connection.declared
        self._hits = HitRows(self._connection)
        values = {**VALUES, **declared.values}
        where = [condition_sql(condition, values) for condition in query.conditions]
        if query.among is not None:
            self._connection.execute("CREATE TEMP TABLE picked (id INTEGER PRIMARY KEY)")
            self._connection.executemany("INSERT INTO picked VALUES (?)", zip(np.unique(query.among.ids).tolist()))
            self._connection.commit()
            where.append(("hits.id IN (SELECT id FROM picked)", []))
        # The index holds the order and the score, and needs no more; for anything else it would fetch a million rows
        # out of their order.
        column = "query" if query.sort is None and not where else "+query"
        if query.least_score is not None:
            where.append((f"{VALUES[query.score]} >= ?", [query.least_score]))
        is_of_one = query.number != ALL_QUERIES
        if is_of_one:
            where.append((f"{column} = ?", [query.number]))
        order = ORDER if is_of_one else ALL_ORDERS[query.together]
        if query.sort is not None:
            ties = "hits.id" if query.sort in NEARLY_UNIQUE else order
            order = f"{values[query.sort]} {'DESC' if query.descending else 'ASC'}, {ties}"
        statement = " ".join((order, *(one for one, _ in where)))
        numbers = [query.number] if is_of_one else self._queries_with_hits() if "(" in statement else []
        if "is_reported(" in statement:
            self._hits.judge_in_sql(numbers)
        if "is_new(" in statement:
            before = {number: HitQueries(self._connection).names_before(number) for number in numbers}
            self._connection.create_function("is_new", 2, lambda number, name: name not in before.get(number, ()))
        tables = "hits"
        if column != "query":
            tables += f" LEFT JOIN targets ON targets.row = hits.row {joined(declared.of('hits'))}"
        chosen = " AND ".join(f"({one})" for one, _ in where) or 1
        # As one text: the window need not take turns with a million rows. SQLite keeps the order of what it joins so.
        (listed,) = self._connection.execute(
            f"SELECT group_concat(id) AS ids FROM (SELECT hits.id AS id FROM {tables} WHERE {chosen} ORDER BY {order})",
            [value for _, given in where for value in given],
        ).fetchone()
        self._ids = np.fromstring(listed, np.int64, sep=",") if listed else np.empty(0, np.int64)
        self.n_rows = len(self._ids)
        self.n_all = _count(self._connection, [("query = ?", [query.number])] if is_of_one else [])
        self._hits.count(query.number if is_of_one else None)

    def _queries_with_hits(self) -> list[int]:
        return [row[0] for row in self._connection.execute("SELECT DISTINCT query FROM hits")]

    def place_of(self, hit: int) -> int | None:
        """Return the row of a hit, from 0, or None if it is not shown."""
        found = np.flatnonzero(self._ids == hit)
        return int(found[0]) if len(found) else None

    def places_of(self, hits: Sequence[int] | npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return the rows (int64[k], from 0, rising) of those of some hits that are shown."""
        return np.flatnonzero(np.isin(self._ids, hits)).astype(np.int64)

    def ids(self, rows: Sequence[range] | None = None) -> list[int]:
        """Return the ids of all rows shown, or of some, given from the top; in order."""
        spans = [range(self.n_rows)] if rows is None else rows
        found: list[int] = np.concatenate(
            [self._ids[:0], *(self._ids[some.start : some.stop] for some in spans)]
        ).tolist()
        return found

    def listed(self, first: int, n_rows: int) -> list[ListedHit]:
        """Return some rows; those that the search has dropped meanwhile are left out."""
        ids = self._ids[first : first + n_rows].tolist()
        chosen = f"hits.id IN ({','.join('?' * len(ids))})"
        rows = self._connection.execute(
            f"SELECT hits.id, query, verified, {OF_HIT} AS note FROM hits WHERE {chosen}", ids
        )
        beside = {key: (query, verified, note or "") for key, query, verified, note in rows}
        hits = self._hits.found(ids)
        return [ListedHit(key, *beside[key], hits[key]) for key in ids if key in beside and key in hits]

    def close(self) -> None:
        """Let the file go."""
        self._connection.close()


def count_hits(query: HitQuery) -> tuple[int, int]:
    """Return how many hits have the least score of a question, and how many are significant, whatever its conditions.

    See `clalign.runs.queries.is_significant`.
    """
    number = None if query.number == ALL_QUERIES else query.number
    of_one = [("query = ?", [number])] if number is not None else []
    least = [(f"{VALUES[query.score]} >= ?", [query.least_score])] if query.least_score is not None else []
    with open_run(query.path) as run:
        n_shown = _count(run.connection, [*of_one, *least])
        return n_shown, _count(run.connection, [*of_one, significant_sql(number)])


class QueryFound(NamedTuple):
    """What one query has found: its number of hits, the E-value of the best, the scores of up to `BEST` of them, best
    first, and the share of the targets that it was compared with (see `HitQueries.shares_searched`).

    How many of its hits are significant says something only of engines that call hits so.

    Of a round besides: the names of significant hits that the round before did not have, those that only that one had,
    and whether no round follows since nothing is new.
    """

    n_hits: int
    best_evalue: float | None
    scores: tuple[float, ...]
    searched: float
    new: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    has_converged: bool = False
    n_significant: int = 0


BEST = 24
"""Scores of the best hits of each query."""


def found_by_query(path: Path) -> dict[int, QueryFound]:
    """Return the findings of each query so far, by its number; an index has all of it, however many hits there are."""
    of_one = "FROM hits WHERE query = counted.query"
    best = f"{of_one} ORDER BY {ORDER} LIMIT"
    least = f"SELECT sort_key {of_one} AND included ORDER BY sort_key LIMIT 1"  # see `significant_sql`
    question = (
        f"SELECT query, n, (SELECT evalue {best} 1) AS best_evalue,"
        f" (SELECT group_concat(score) FROM (SELECT score {best} {BEST})),"
        f" (SELECT count(*) {of_one} AND sort_key >= ({least}))"
        " FROM (SELECT query, count(*) AS n FROM hits GROUP BY query) AS counted"
    )
    with open_run(path) as run:
        hits = {query: found for query, *found in run.connection.execute(question)}
        searched = HitQueries(run.connection).shares_searched()
    made = {}
    for query in searched.keys() | hits.keys():
        n, evalue, scores, n_significant = hits.get(query, (0, None, None, 0))
        falling = tuple(map(float, scores.split(","))) if scores else ()
        made[query] = QueryFound(n, evalue, falling, searched.get(query, 0.0), n_significant=n_significant)
    return made


def first_query(connection: RunConnection) -> int | None:
    """Return the number of the first query that has hits; None if there is none."""
    found: int | None = connection.execute("SELECT min(query) FROM hits").fetchone()[0]
    return found


def best_query(connection: RunConnection) -> int | None:
    """Return the number of the query with the lowest E-value, of equal ones the highest score; None without hits."""
    best = f"SELECT id FROM hits WHERE query = queries.id ORDER BY {ORDER} LIMIT 1"  # by an index
    question = f"SELECT query FROM queries JOIN hits ON hits.id = ({best}) ORDER BY evalue IS NULL, evalue, score DESC"
    found = connection.execute(f"{question}, query LIMIT 1").fetchone()
    return None if found is None else int(found[0])


def _count(connection: RunConnection, conditions: Sequence[tuple[str, Sequence[object]]]) -> int:
    question = f"SELECT count(*) FROM hits WHERE {' AND '.join(one for one, _ in conditions) or 1}"
    return int(connection.execute(question, [value for _, given in conditions for value in given]).fetchone()[0])
