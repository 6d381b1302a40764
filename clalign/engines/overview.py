"""All queries of a run at a glance: how many hits each has and how good, and a matrix of targets and queries."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TextIO

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.engines.columns import Column, file_column
from clalign.engines.engine import engine_of
from clalign.engines.export_lines import write_lines, write_table
from clalign.engines.export_source import Choice, ExportSource
from clalign.errors import DamagedRun
from clalign.formats.sources import PathLike, path_text
from clalign.formats.tables import PARTIAL, digits, plain
from clalign.jobs import JobContext, QuietContext
from clalign.runs.hit_columns import AlignedParts, read_aligned_parts
from clalign.runs.queries import AllScores, HitQueries
from clalign.runs.run_file import open_run
from clalign.values.documents import Card
from clalign.values.similarity_orders import order_alike

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

SPARK = 24
"""Scores of a query that its little curve has, best first."""


BITS, RAW = "bits", "raw"
"""What scores are in: bits, or units of the matrix where there are no statistics."""


class QueryLine(Struct, frozen=True):
    """What a query has found.

    Attributes
    ----------
    number : int
    name, accession, description : str
    length : int
    n_hits, n_significant : int
    best_evalue : float
        Not a number where there are no statistics, or no hits.
    best_score : float
        Bits, or where there are no statistics in units of the matrix; not a number without hits.
    coverage : float
        Share of the query that the domains, or alignments, of its hits cover together, in percent: those that are
        reported, or the significant ones if only these are looked at.
    identity : float
        Share of their columns with two equal residues, in percent; not a number where that is not known.
    scores : tuple of float
        Of its hits, falling; at most `SPARK`, evenly chosen.
    searched : float
        Share of the targets that it was compared with so far; not a number where that is not known.
    """

    number: int
    name: str
    accession: str
    description: str
    length: int
    n_hits: int
    n_significant: int
    best_evalue: float
    best_score: float
    coverage: float
    identity: float
    scores: tuple[float, ...]
    searched: float = 1.0

    @property
    def scale(self) -> str:
        """What its scores are in: ``bits``, or ``raw`` where there are no statistics; empty without hits."""
        return "" if not self.n_hits else RAW if math.isnan(self.best_evalue) else BITS


class HitMatrix(Struct, frozen=True, eq=False):
    """Scores of targets with queries, as a sparse table whose rows and columns stand so that alike ones are neighbors.

    Attributes
    ----------
    queries : int64[n_columns]
        Numbers of the queries with hits, in their order.
    targets : int64[n_rows]
        Rows of the targets in the database, in their order.
    names : list of str
        Of the targets, in that order.
    places : int64[n, 2]
        Row and column of each hit.
    scores, evalues : float64[n]
    hits : int64[n]
        Ids in the run file.
    """

    queries: Integers
    targets: Integers
    names: list[str]
    places: Integers
    scores: Floats
    evalues: Floats
    hits: Integers

    @property
    def shape(self) -> tuple[int, int]:
        """Targets and queries."""
        return len(self.targets), len(self.queries)

    @property
    def scale(self) -> str:
        """What its scores are in: ``bits``, ``raw``, or both where only some queries have statistics."""
        are_raw = np.isnan(self.evalues)
        if not are_raw.any():
            return BITS
        return RAW if are_raw.all() else f"{BITS} and {RAW}"

    def dense(self) -> npt.NDArray[np.float32]:
        """Return the best score of each target with each query (float32[n_rows, n_columns]); -inf: none."""
        made = np.full(self.shape, -np.inf, np.float32)
        np.maximum.at(made, (self.places[:, 0], self.places[:, 1]), self.scores.astype(np.float32))
        return made


class Overview(Struct, frozen=True, eq=False):
    """The queries of a run, and the matrix of their hits."""

    lines: list[QueryLine]
    matrix: HitMatrix


def read_overview(path: PathLike, context: JobContext | None = None) -> Overview:
    """Return the queries of a run with what they found, and the matrix of their hits.

    Parameters
    ----------
    path : path
    context : JobContext, optional
        Asked whether to go on.
    """
    with open_run(Path(path_text(path, "path"))) as run:
        source = engine_of(run).source(run, Choice(), context or QuietContext())
        return overview(run.cards_without_curves(), source.keys, source.context)


def overview(cards: list[Card], hits: HitQueries, context: JobContext) -> Overview:
    """Return the overview of some hits, given the cards of the queries; of a search in rounds
    each query has its last round, or the last one with some of the hits."""
    found = hits.scores_of_all()
    context.check()
    order = np.lexsort((-found.scores, found.queries))
    starts = np.searchsorted(found.queries[order], np.arange(len(cards) + 1))
    parts = read_aligned_parts(hits, context.check)
    shares = zip(_coverages(cards, parts), _identities(len(cards), parts), strict=True)
    context.check()
    searched = hits.shares_searched()
    shown = {card.get("first", number): number for number, card in enumerate(cards)}
    shown |= {cards[number].get("first", number): number for number in np.unique(found.queries).tolist()}
    lines = []
    for (number, card), both in zip(enumerate(cards), shares, strict=True):
        first = card.get("first", number)
        if shown[first] != number:
            continue
        card = {**card, "name": cards[first]["name"]}
        own = order[starts[number] : starts[number + 1]]
        line = _line(number, card, found.scores[own], found.evalues[own], found.significant[own], both)
        lines.append(replace(line, searched=searched.get(number, 0.0)))
    return Overview(lines, _matrix(found, hits, context))


def _line(
    number: int,
    card: Card,
    scores: Floats,
    evalues: Floats,
    significant: npt.NDArray[np.bool_],
    shares: tuple[float, float],
) -> QueryLine:
    known = evalues[~np.isnan(evalues)]
    n = len(scores)
    some: Integers = np.linspace(0, max(0, n - 1), min(SPARK, n)).astype(np.int64)
    return QueryLine(
        number, card["name"], card["accession"] or "", card["description"] or "", card["length"], len(scores),
        int(significant.sum()), float(known.min()) if len(known) else math.nan,
        float(scores[0]) if len(scores) else math.nan, *shares, tuple(scores[some].tolist()),
    )  # fmt: skip


def _identities(n_queries: int, parts: AlignedParts) -> list[float]:
    """Return the share of equal residues in the alignments of each query, in percent."""
    equal, columns = (np.bincount(parts.queries, n, n_queries) for n in (parts.n_equal, parts.n_columns))
    with np.errstate(invalid="ignore", divide="ignore"):
        return [float(share) for share in 100.0 * equal / columns]


def _coverages(cards: list[Card], parts: AlignedParts) -> list[float]:
    """Return the share of each query that is aligned to any of its hits, in percent."""
    found = np.zeros(len(cards))
    queries, starts, ends = parts.queries, parts.starts, parts.ends
    cuts = np.searchsorted(queries, np.arange(len(cards) + 1))
    for number, card in enumerate(cards):
        own = slice(cuts[number], cuts[number + 1])
        if cuts[number] < cuts[number + 1] and card["length"]:
            depth = np.zeros(card["length"] + 1, np.int64)
            np.add.at(depth, np.minimum(starts[own], card["length"]), 1)
            np.add.at(depth, np.minimum(ends[own], card["length"]), -1)
            found[number] = 100.0 * np.count_nonzero(np.cumsum(depth)[:-1]) / card["length"]
    return [float(share) for share in found]


def _matrix(found: AllScores, hits: HitQueries, context: JobContext) -> HitMatrix:
    queries, columns = np.unique(found.queries, return_inverse=True)
    targets, rows = np.unique(found.rows, return_inverse=True)
    by_column, by_row = order_alike(
        rows, columns, np.maximum(found.scores, 0.0), (len(targets), len(queries)), context.check
    )
    place_of_row, place_of_column = np.argsort(by_row), np.argsort(by_column)
    places = (
        np.stack([place_of_row[rows], place_of_column[columns]], axis=1) if len(rows) else np.empty((0, 2), np.int64)
    )
    names = hits.target_names()
    ordered = targets[by_row]
    if not names.keys() >= set(ordered.tolist()):
        raise DamagedRun(hits.connection.path, "it has hits of sequences that it does not name")
    return HitMatrix(
        queries[by_column], ordered, [names[row] for row in ordered.tolist()], places, found.scores, found.evalues,
        found.ids,
    )  # fmt: skip


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


TABLE: tuple[Column, ...] = (
    file_column("query", "text", "", "name of the query", lambda r: r.name),
    file_column("query_accession", "text", "", "accession of the query", lambda r: r.accession),
    file_column("query_length", "whole number", "nodes, residues", "length of the query", lambda r: r.length),
    file_column("description", "text", "", "description of the query", lambda r: r.description),
    file_column("n_hits", "whole number", "", "targets that it hit", lambda r: r.n_hits if r.searched else None),
    file_column(
        "n_significant",
        "whole number",
        "",
        "those of them that are significant",
        lambda r: r.n_significant if r.searched else None,
    ),
    file_column("best_evalue", "number", "", "lowest E-value", lambda r: _known(r.best_evalue)),
    file_column("best_score", "number", "", "highest score", lambda r: _known(r.best_score)),
    file_column(
        "score_unit",
        "text",
        "",
        "what that score is in: bits, or raw, which is in units of the matrix where there are no statistics",
        lambda r: r.scale,
    ),
    file_column(
        "coverage",
        "percent",
        "%",
        "share of the query that its hits cover together",
        lambda r: r.coverage if r.searched else None,
    ),
    file_column(
        "identity",
        "percent",
        "%",
        "share of the columns of their alignments with two equal residues",
        lambda r: _known(r.identity),
    ),
)
"""The table of queries."""


def _chosen(source: ExportSource) -> Overview:
    return overview(list(source.cards), source.keys, source.context)


def write_queries(source: ExportSource, stream: TextIO) -> int:
    """Write the table of queries: all of them, also those without hits."""
    table = [column for column in TABLE if source.calls_significant or column.file != "n_significant"]
    if source.is_scan:  # whose queries, in all other tables, are the sequences
        table = [replace(column, file=column.file.replace("query", "profile")) for column in table]
    count = write_table(stream, table, _chosen(source).lines, partial=False)
    write_lines(stream, [f"# {line}" for line in source.provenance.lines()])
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return count


def write_matrix(source: ExportSource, stream: TextIO) -> int:
    """Write the scores of targets (lines) with queries (columns) that have hits, alike ones beside each other."""
    matrix = _chosen(source).matrix
    names = [plain(source.cards[number]["name"]) for number in matrix.queries.tolist()]
    write_lines(stream, ["\t".join(["sequence" if source.is_scan else "target", *names])])
    order = np.argsort(matrix.places[:, 0], kind="stable")
    cuts = np.searchsorted(matrix.places[order, 0], np.arange(len(matrix.targets) + 1))
    for row, name in enumerate(matrix.names):
        cells = [""] * len(names)
        for hit in order[cuts[row] : cuts[row + 1]].tolist():
            cells[int(matrix.places[hit, 1])] = digits(float(matrix.scores[hit]))
        write_lines(stream, ["\t".join([plain(name), *cells])])
    write_lines(stream, [f"# scores: {matrix.scale}"])
    write_lines(stream, [f"# {line}" for line in source.provenance.lines()])
    write_lines(stream, [PARTIAL] if source.provenance.partial else [])
    return len(matrix.names)
