"""The parts of hits where they lie on their targets, read without their alignments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from clalign.errors import RunBusy
from clalign.runs.hit_rows import HitRows, joined
from clalign.runs.queries import HitQueries

TARGETS_AT_ONCE = 512
"""Targets whose hits are read together."""

PLACES = {"env_start": "target_start", "env_end": "target_end", "strand": "1"}
"""SQL of what an engine may declare otherwise, see `clalign.runs.declarations.Declaration.placed`."""


class PlacedPart(NamedTuple):
    """A part of a hit; places are 0-based and half open, the E-value is not a number where there is none."""

    hit: int
    query: int
    number: int
    score: float
    evalue: float
    query_range: tuple[int, int]
    target_range: tuple[int, int]
    envelope: tuple[int, int]
    strand: int
    is_significant: bool


class Target(NamedTuple):
    """A target that was hit."""

    row: int
    name: str
    accession: str
    description: str
    length: int


def parts_by_target(
    hits: HitQueries, reported: bool, needs_path: bool, check: Callable[[int], None]
) -> Iterator[tuple[Target, list[PlacedPart]]]:
    """Yield each target that was hit, in the order of their file, with the parts of its hits.

    Parameters
    ----------
    hits : HitQueries
    reported : bool
        Only parts that are reported.
    needs_path : bool
        Only parts that have a path.
    check : callable
        Told now and then how many hits were read; may raise.

    Raises
    ------
    RunBusy
        If a search has replaced hits meanwhile.
    """
    judges, targets, done = HitRows(hits.connection), hits.by_target(by_rank=True), 0
    judges.begin()
    while some := list(islice(targets, TARGETS_AT_ONCE)):
        keys = [key for _, of in some for key in of]
        found = _parts(hits, judges, [key.id for key in keys], reported, needs_path)
        known = _targets(hits, [row for row, _ in some])
        for row, of in some:
            yield known[row], list(chain.from_iterable(found.get(key.id, ()) for key in of))
        done += len(keys)
        check(done)


def path_of(hits: HitQueries, hit: int, number: int) -> str:
    """Return the path of a part of a hit; empty if there is none."""
    asked = "SELECT states FROM parts WHERE hit = ? AND number = ?"
    found = hits.connection.execute(asked, (hit, number)).fetchone()
    return str(found[0] or "") if found else ""


def _in(numbers: list[int]) -> str:
    return f"IN ({','.join(map(str, numbers))})"


def _targets(hits: HitQueries, rows: list[int]) -> dict[int, Target]:
    asked = f"SELECT row, name, accession, description, length FROM targets WHERE row {_in(rows)}"
    found = {row[0]: Target(*row) for row in hits.connection.execute(asked)}
    if len(found) < len(rows):
        raise RunBusy("The search has replaced hits while they were read.", "Try again when it is done.")
    return found


def _parts(
    hits: HitQueries, judges: HitRows, ids: list[int], reported: bool, needs_path: bool
) -> dict[int, list[PlacedPart]]:
    """Return the parts of some hits, by the ids of the hits."""
    declared = hits.connection.declared
    placed = {**PLACES, **declared.placed}
    rows = hits.connection.execute(
        "SELECT parts.hit, hits.query, hits.row, included, parts.number, parts.score, parts.evalue, parts.log_pvalue,"
        f" query_start, query_end, target_start, target_end, {', '.join(f'{sql} AS {n}' for n, sql in placed.items())}"
        f" FROM hits JOIN parts ON parts.hit = hits.id {joined(declared.of('parts'))}"
        f" WHERE hits.id {_in(ids)}{' AND length(states) > 0' * needs_path} ORDER BY hits.id, parts.number"
    )
    found: dict[int, list[PlacedPart]] = {}
    for key, of in groupby(rows, itemgetter(0)):
        found[key] = made = []
        for part in of:
            is_reported, is_significant = judges.judged(part[1], part[2], bool(part[3]), *part[5:8])
            if is_reported or not reported:
                made.append(_placed(part, is_significant and bool(part[3])))
    return found


def _placed(row: tuple[Any, ...], is_significant: bool) -> PlacedPart:
    evalue = math.nan if row[6] is None else row[6]
    return PlacedPart(
        row[0], row[1], row[4], row[5], evalue, row[8:10], row[10:12], row[12:14], row[14], is_significant
    )
