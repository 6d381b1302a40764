"""Hits as columns of numbers, read without their alignments: a million of them are some seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.runs.connection import RunConnection
from clalign.runs.hit_rows import HitRows, joined
from clalign.runs.queries import HitQueries, read_numbers
from clalign.runs.tables import ORDER

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

NAMES_AT_ONCE = 500


class HitColumns(Struct, frozen=True, eq=False):
    """The hits of a query, or of all, best first within each query.

    Attributes
    ----------
    ids, queries, rows, lengths : int64[n]
        Ids, numbers of the queries, rows and lengths of the targets.
    scores, raws, evalues : float64[n]
        Bits, uncorrected scores, E-values (not a number where there are none).
    significant : bool[n]
    query_coverage, target_coverage : float64[n]
        Share of query and target that is aligned, in percent.
    identity : float64[n]
        Share of aligned columns with two equal residues, in percent; not a number where that is not known.
    part_hits, part_starts, part_ends : int64[m]
        The parts that are reported, or significant ones if only these are looked at: places of their hits in the
        columns above, first and end place on the query.
    """

    ids: Integers
    queries: Integers
    rows: Integers
    lengths: Integers
    scores: Floats
    raws: Floats
    evalues: Floats
    significant: npt.NDArray[np.bool_]
    query_coverage: Floats
    target_coverage: Floats
    identity: Floats
    part_hits: Integers
    part_starts: Integers
    part_ends: Integers

    def __len__(self) -> int:
        return len(self.ids)


def read_hit_columns(hits: HitQueries, number: int | None, check: Callable[[], None] = lambda: None) -> HitColumns:
    """Return the hits of a query, or of all, as columns.

    Parameters
    ----------
    hits : HitQueries
    number : int or None
        Of the query.
    check : callable
        Called now and then; may raise.
    """
    connection = hits.connection
    found = read_numbers(
        connection,
        "SELECT hits.id, hits.query, hits.row, length, score, hits.raw, evalue, included FROM hits"
        f" LEFT JOIN targets ON targets.row = hits.row WHERE {hits.condition(number)} ORDER BY query, {ORDER}",
        8,
        check,
    )
    ids, queries, rows, lengths = found[:4].astype(np.int64)
    parts = _parts(hits, number, check)
    of, there = _places(ids, parts[0].astype(np.int64))
    of, parts = of[there], parts[:, there]
    counted = np.ones(len(of), np.bool_)
    if connection.declared.best_part_only:
        counted = parts[1] == 1
    starts, ends, target_starts, target_ends = parts[2:6].astype(np.int64)
    inside = of[counted]
    with np.errstate(invalid="ignore", divide="ignore"):
        identity = 100.0 * _sums(inside, parts[7, counted], len(ids)) / _sums(inside, parts[6, counted], len(ids))
    identity[~np.isfinite(identity)] = np.nan  # of alignments without columns, as damaged runs have them
    return HitColumns(
        ids, queries, rows, lengths, found[4], found[5], found[6], found[7] > 0,
        _share(inside, starts[counted], ends[counted], _query_lengths(connection, queries)),
        _share(inside, target_starts[counted], target_ends[counted], lengths), identity, of, starts, ends,
    )  # fmt: skip


def _query_lengths(connection: RunConnection, numbers: Integers) -> Integers:
    """Return the lengths of queries, 0 for those that a damaged run does not have."""
    known: dict[int, int] = dict(connection.execute("SELECT id, length FROM queries").fetchall())
    distinct, places = np.unique(numbers, return_inverse=True)
    return np.array([known.get(number, 0) for number in distinct.tolist()], np.int64)[places]


def _places(ids: Integers, wanted: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Return where ids stand, and whether they do: a search may have replaced hits while they were read."""
    if not len(ids):
        return np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
    order = np.argsort(ids)
    of = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return of, ids[of] == wanted


class AlignedParts(Struct, frozen=True, eq=False):
    """The parts of the hits of all queries, those that count as in `HitColumns`, query by query.

    Attributes
    ----------
    queries, starts, ends : int64[m]
        Number of the query, first and end place on it.
    n_columns, n_equal : float64[m]
        Columns of the alignment, and those with two equal residues; not a number where that is not known.
    """

    queries: Integers
    starts: Integers
    ends: Integers
    n_columns: Floats
    n_equal: Floats


def read_aligned_parts(hits: HitQueries, check: Callable[[], None] = lambda: None) -> AlignedParts:
    """Return the parts of the hits of all queries."""
    found = _parts(hits, None, check)
    found = found[:, np.argsort(found[8], kind="stable")]
    starts, ends, queries = found[[2, 3, 8]].astype(np.int64)
    return AlignedParts(queries, starts, ends, found[6], found[7])


def _parts(hits: HitQueries, number: int | None, check: Callable[[], None]) -> Floats:
    """Return of each part that counts hit, number, four ends, columns and equal ones, and the query (float64[9, m]);
    the parts of a hit one after the other.
    """
    connection = hits.connection
    declared, judges = connection.declared, HitRows(connection)
    counting = attrgetter("is_significant" if hits.only_significant else "is_reported")
    blocks = [np.empty((9, 0))]
    for some in connection.blocks(
        "SELECT parts.hit, parts.number, query_start, query_end, target_start, target_end, length(states) AS n_columns,"
        f" {declared.identical or 'NULL'} AS n_equal, hits.query, hits.row, included, parts.score, parts.evalue,"
        " parts.log_pvalue"
        f" FROM parts JOIN hits ON hits.id = parts.hit {joined(declared.of('parts'))} WHERE {hits.condition(number)}"
        " ORDER BY parts.hit, parts.number"
    ):
        counts = np.array(list(map(counting, judges.verdicts(some))), np.bool_)
        blocks.append(np.array(list(some.values())[:9], np.float64)[:, counts])
        check()
    return np.concatenate(blocks, axis=1)


def _sums(of: Integers, values: Floats, n: int) -> Floats:
    return np.bincount(of, values, n).astype(np.float64)


def _share(of: Integers, starts: Integers, ends: Integers, lengths: Integers) -> Floats:
    """Return the share that parts cover together (float64[n], percent), given the hit that each is of."""
    order = np.lexsort((starts, of))
    of, starts, ends = of[order], starts[order], ends[order]
    far = int(ends.max(initial=0)) + 1
    reached = np.maximum.accumulate(ends + of * far) if len(of) else ends
    before = np.concatenate([[0], reached[:-1]])[: len(of)] - of * far
    covered = np.maximum(0, ends - np.maximum(starts, before))
    return np.asarray(100.0 * _sums(of, covered.astype(np.float64), len(lengths)) / np.maximum(1, lengths), np.float64)


def target_words(connection: RunConnection, rows: Sequence[int]) -> dict[int, tuple[str, str, str]]:
    """Return name, accession and description of targets by their rows."""
    found: dict[int, tuple[str, str, str]] = {}
    for start in range(0, len(rows), NAMES_AT_ONCE):
        some = [int(row) for row in rows[start : start + NAMES_AT_ONCE]]
        statement = f"SELECT row, name, accession, description FROM targets WHERE row IN ({','.join('?' * len(some))})"
        found |= {row: (name, accession, text) for row, name, accession, text in connection.execute(statement, some)}
    return found
