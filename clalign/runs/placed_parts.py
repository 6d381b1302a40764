"""The parts of hits where they lie on their targets, read without their alignments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from clalign.errors import RunBusy
from clalign.runs.connection import Columns
from clalign.runs.hit_rows import HitRows, all_known, joined
from clalign.runs.queries import HitQueries

TARGETS_AT_ONCE = 512
"""Targets whose hits are read together."""

PLACES = {"env_start": "target_start", "env_end": "target_end", "strand": "1"}
"""SQL of what an engine may declare otherwise, see `clalign.runs.tables.Declaration.placed`."""


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
        Called now and then with the number of hits read; may raise.

    Raises
    ------
    RunBusy
        If a search has replaced hits meanwhile.
    """
    judges, targets, done = HitRows(hits.connection), hits.by_target(by_rank=True), 0
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
    statement = "SELECT states FROM parts WHERE hit = ? AND number = ?"
    found = hits.connection.execute(statement, (hit, number)).fetchone()
    return str(found[0] or "") if found else ""


def longest_of_name(hits: HitQueries) -> dict[str, int]:
    """Return the length of the longest of the targets that share a name, by that name."""
    statement = "SELECT name, max(length) FROM targets GROUP BY name HAVING count(*) > 1"
    return dict(hits.connection.execute(statement))


def _in(numbers: list[int]) -> str:
    return f"IN ({','.join(map(str, numbers))})"


def _targets(hits: HitQueries, rows: list[int]) -> dict[int, Target]:
    statement = f"SELECT row, name, accession, description, length FROM targets WHERE row {_in(rows)}"
    columns = hits.connection.columns(statement)
    found = dict(zip(columns["row"], map(Target, *columns.values()), strict=True))
    if len(found) < len(rows):
        raise RunBusy("The search has replaced hits while they were read.", "Try again when it is done.")
    return found


def _parts(
    hits: HitQueries, judges: HitRows, ids: list[int], reported: bool, needs_path: bool
) -> dict[int, list[PlacedPart]]:
    """Return the parts of some hits, by the ids of the hits."""
    declared = hits.connection.declared
    placed = {**PLACES, **declared.placed}
    columns = hits.connection.columns(
        "SELECT parts.hit, hits.query, hits.row, included, parts.number, parts.score, parts.evalue, parts.log_pvalue,"
        f" query_start, query_end, target_start, target_end, {', '.join(f'{sql} AS {n}' for n, sql in placed.items())}"
        f" FROM hits JOIN parts ON parts.hit = hits.id {joined(declared.of('parts'))}"
        f" WHERE hits.id {_in(ids)}{' AND length(states) > 0' * needs_path} ORDER BY hits.id, parts.number"
    )
    judged, included = judges.verdicts(columns), columns["included"]
    made = map(
        PlacedPart, columns["hit"], columns["query"], columns["number"], columns["score"], all_known(columns["evalue"]),
        _spans(columns, "query"), _spans(columns, "target"), _spans(columns, "env"), columns["strand"],
        (verdict.is_significant and bool(own) for verdict, own in zip(judged, included, strict=True)),
    )  # fmt: skip
    found: dict[int, list[PlacedPart]] = {}
    for part, verdict in zip(made, judged, strict=True):
        if verdict.is_reported or not reported:
            found.setdefault(part.hit, []).append(part)
    return found


def _spans(columns: Columns, name: str) -> Iterator[tuple[int, int]]:
    return zip(columns[f"{name}_start"], columns[f"{name}_end"], strict=True)
