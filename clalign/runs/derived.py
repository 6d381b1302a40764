"""What a run keeps although it follows from something else that it keeps: both must agree, in every row."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator

from clalign.runs.connection import RunConnection
from clalign.runs.facts import best_of
from clalign.runs.hit_rows import HITS_AT_ONCE, HitRows, row_of
from clalign.runs.tables import TABLES
from clalign.values.documents import Card, TargetFacts
from clalign.values.hits import Hit
from clalign.values.sequences import SequenceDatabase

LIKE_ROUNDING = 1e-9
"""Logarithms and powers differ in their last digits from one computer to another by no larger share."""

_LOOSE = {
    "parts of hits that are not there": "SELECT count(*) AS count FROM parts WHERE hit NOT IN (SELECT id FROM hits)",
    "hits of unknown sequences": "SELECT count(*) AS count FROM hits WHERE row NOT IN (SELECT row FROM targets)",
}


def alike(stored: object, again: object) -> bool:
    """Return whether two values, perhaps of nested plain data, are the same but for rounding; NULL is not a number."""
    if isinstance(stored, dict) and isinstance(again, dict):
        return all(alike(stored[key], again[key]) for key in stored.keys() & again.keys())
    if isinstance(stored, list | tuple) and isinstance(again, list | tuple):
        return len(stored) == len(again) and all(map(alike, stored, again))
    one, other = (math.nan if value is None else value for value in (stored, again))
    if isinstance(one, float | int) and isinstance(other, float | int):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(one, other, rel_tol=LIKE_ROUNDING)
    return bool(stored == again)


def unequal_hits(
    connection: RunConnection, check: Callable[[], None], expected: Callable[[int, Hit], str | None]
) -> Iterator[str]:
    """Yield which hits hold what does not follow from their parts, their scores, or the order of hits.

    Parameters
    ----------
    connection : RunConnection
        Of the run file.
    check : callable
        Called now and then; raises `Cancelled` if the job was asked to stop.
    expected : callable
        Takes the number of a query and a hit; returns in words what is not as the engine derives it, None if all is.
    """
    hits = HitRows(connection)
    names = list(TABLES["hits"][0])
    ids = [number for (number,) in connection.execute("SELECT id FROM hits ORDER BY id").fetchall()]
    for start in range(0, len(ids), HITS_AT_ONCE):
        check()
        some = ids[start : start + HITS_AT_ONCE]
        found = hits.found(some)
        for row in connection.execute(
            f"SELECT {', '.join(names)} FROM hits WHERE id IN ({','.join('?' * len(some))})", some
        ):
            stored = dict(zip(names, row, strict=True))
            hit = found[stored["id"]]
            again = dict(
                zip(names, row_of(stored["id"], stored["query"], hit, hits.order(stored["query"], hit)), strict=True)
            )
            wrong = [name for name in names if name != "verified" and not alike(stored[name], again[name])]
            if text := ", ".join(wrong) or expected(stored["query"], hit):
                yield f"{hit.name}: {text} is not what follows from the rest of the hit."
    for what, question in _LOOSE.items():
        if n := connection.execute(question).fetchone()[0]:
            yield f"There are {n:,} {what}."


def unequal_query(connection: RunConnection, number: int, again: Card, best: TargetFacts | None) -> Iterator[str]:
    """Yield the values kept of a query that are otherwise now.

    Parameters
    ----------
    connection : RunConnection
        Of the run file.
    number : int
        Of the query.
    again : dict
        Its card, made again.
    best : dict or None
        Its best target; None where it is not known, and not compared.
    """
    names = ("name", "accession", "description", "length", "card", "best")
    stored = connection.execute(f"SELECT {', '.join(names)} FROM queries WHERE id = ?", (number,)).fetchone()
    found = dict(zip(names, stored, strict=True))
    card, again = json.loads(found["card"]), json.loads(json.dumps(again))
    wrong = [name for name in names[:4] if found[name] != again[name]]
    wrong += [f"{name} of its card" for name in card.keys() & again.keys() if not alike(card[name], again[name])]
    stored_best = best_of(found["best"], connection.declared.best, connection.path)
    if best is not None and stored_best is not None and not alike(stored_best, best):
        wrong.append("its best target")
    if wrong:
        yield f"{again['name']}: {', '.join(sorted(wrong))}: kept otherwise than it is now."


def unequal_cells(connection: RunConnection, number: int, targets: SequenceDatabase, length: int) -> Iterator[str]:
    """Yield which batches of a query, of which each residue is this many cells, count other cells than they have."""
    for first, last, cells in kept_cells(connection, number):
        if last <= len(targets) and cells != float(targets.offsets[last] - targets.offsets[first]) * length:
            yield f"Query {number + 1:,}: rows {first:,} to {last:,} count {cells:,.0f} cells, which they do not have."


def kept_cells(connection: RunConnection, number: int) -> list[tuple[int, int, float]]:
    """Return the first and the last row of each batch of a query, and the cells that it counts."""
    return connection.execute("SELECT first, last, cells FROM batches WHERE query = ?", (number,)).fetchall()


def raw_scores(connection: RunConnection) -> list[tuple[int, int, int, int]]:
    """Return query, row, place in the input and raw score of every hit."""
    return connection.execute("SELECT query, row, input_index, raw FROM hits").fetchall()
