"""Computing results of a pairwise run again on another device, normally the reference, and comparing every number."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.databases.rereading import reread_rows, with_headers
from clalign.engines.pairwise.hits import aligned_alone, domain_of, scores_by
from clalign.engines.pairwise.inputs import PairwiseInputs, load_inputs
from clalign.engines.pairwise.lists import pairs_of
from clalign.engines.pairwise.query import QuerySearch, card_of_query, card_with, stored_search
from clalign.engines.pairwise.spec import PairwiseSpec
from clalign.engines.recomputing import Check, Count, Pieces, recompute
from clalign.engines.verification import (
    MAX_CELLS,
    SAMPLE,
    Findings,
    Group,
    Item,
    drawn_rows,
    grouped,
    judge,
    other_copy,
    refuse_standard_input,
    sample_of_hits,
    spread,
)
from clalign.errors import DamagedRun
from clalign.execution.units import ALL
from clalign.jobs import JobContext
from clalign.reference.long_pair import alignment_by_rows, cells_by_rows
from clalign.runs.contradictions import contradictions
from clalign.runs.derived import (
    LIKE_ROUNDING,
    alike,
    kept_cells,
    raw_scores,
    unequal_cells,
    unequal_hits,
    unequal_query,
)
from clalign.runs.inputs import at_hand
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN
from clalign.values.devices import Device
from clalign.values.documents import Verification
from clalign.values.hits import Domain, Hit
from clalign.values.karlin_altschul import Statistics
from clalign.values.profiles import IMPOSSIBLE
from clalign.values.scoring import PairwiseQuery

SAME = (
    "input_index",
    "name",
    "accession",
    "description",
    "length",
    "score",
    "bias",
    "evalue",
    "raw",
    "n_domains",
    "log_pvalue",
    "is_significant",
)
"""What a hit of a pair has of its sequence and its alignments."""

AT_ONCE = 64
"""Targets that a device computes together."""

Rows = npt.NDArray[np.int64]
Residues = npt.NDArray[np.uint8]


def verify_pairwise(
    run: RunFile, hits: list[int] | None, sample: int | None, device: Device, context: JobContext
) -> Verification:
    """Compute alignments, and scores of as many other pairs, again on a device; see `verify.verify_run`."""
    spec = at_hand(run, run.spec(PairwiseSpec), context)
    refuse_standard_input(run, spec.queries, spec.targets)
    prepared = load_inputs(run, spec, context)
    keys, most = HitQueries(run.connection), MAX_CELLS["pairwise"] if sample is None and hits is None else None
    sample = SAMPLE if sample is None else sample
    searched = range(len(prepared.query_rows)) if hits is None and not spec.is_pairs else range(0)
    chosen = _hit_items(run, prepared, sample_of_hits(keys, sample) if hits is None else hits, context)
    items = spread(
        chosen, list(_other_items(run, prepared, searched, -(-sample // max(1, len(searched))), context)), most
    )
    rows = np.unique(np.array([item.row for item in items], np.int64))
    reread = _Reread(run, prepared, spec, rows, context)
    pieces = list(grouped(items, 1 if device.kind == "reference" else AT_ONCE))
    work = [sum(item.cells for item in some) for _, some in pieces]
    job = Pieces(pieces, work, sum(work), partial(_check, run, reread.again), partial(_prepared, rows))

    def compute(found: Findings, session: Session) -> None:
        if hits is None:
            found.details += reread.damaged
            found.details += _hits_otherwise(run, reread.named, context)
            found.details += _pairs_otherwise(run, prepared, context) if spec.is_pairs else ()
        for number in searched:
            found.details += _contradictions(run, number, prepared, context)
        recompute(run, "pairwise", job, session, context, "cells", found)

    return judge(run, device, context, compute)


def _prepared(rows: Rows, run: RunFile, context: JobContext) -> Check:
    spec = at_hand(run, run.spec(PairwiseSpec), context)
    return partial(_check, run, _Reread(run, load_inputs(run, spec, context), spec, rows, context).again)


def _check(run: RunFile, inputs: PairwiseInputs, piece: Group, session: Session, found: Findings, count: Count) -> None:
    """Check hits of a query, or scores of other targets; see `clalign.engines.recomputing.Check`."""
    (number, is_hit), some = piece
    for key in [item.key for item in some if item.key is not None]:
        found.add_hit(key, _difference(run, number, run.hit(key), inputs, session, count))
    if not is_hit:
        rows = np.sort(np.array([item.row for item in some], np.int64))
        found.add_others(len(rows), _scores_otherwise(run, number, rows, inputs, session))
        count(sum(item.cells for item in some))


class _Reread:
    """The sequences of a run as its files hold them.

    Attributes
    ----------
    again : PairwiseInputs
        All queries and some targets, read again.
    named : PairwiseInputs
        The prepared copies, with no headers but those of hits and of these targets, which are the files' own.
    damaged : list of str
        What is wrong with the prepared copies.
    """

    def __init__(
        self, run: RunFile, prepared: PairwiseInputs, spec: PairwiseSpec, rows: Rows, context: JobContext
    ) -> None:
        hits = HitQueries(run.connection).all_rows()
        hits = hits[(hits >= 0) & (hits < len(prepared.targets))]
        queries = reread_rows(spec.queries, prepared.queries, prepared.query_report, prepared.query_rows, context)
        targets = reread_rows(spec.targets, prepared.targets, prepared.target_report, rows, context, hits)
        self.damaged = [*other_copy(prepared.queries, queries), *other_copy(prepared.targets, targets)]
        self.again = replace(prepared, queries=queries.database, targets=targets.database)
        self.named = replace(prepared, targets=with_headers(prepared.targets, targets))


def _contradictions(run: RunFile, number: int, inputs: PairwiseInputs, context: JobContext) -> Iterator[str]:
    """Yield statements of a run on a query that contradict each other, as hits that are none by their scores do."""
    card, database, is_done = run.card(number), inputs.targets, run.state == "done"
    yield from contradictions(run.connection, number, card, len(database), is_done, context.check)
    yield from _query_otherwise(run, number, inputs)
    if not is_done:
        return
    expected = stored_search(run, inputs, number).best_rows(run.scores_by_row(number, len(database)))
    found = HitQueries(run.connection).rows(number)
    for row in np.setxor1d(expected, found).tolist():
        words = "is a hit, but by its score it is none" if row in found else "is no hit, but by its score it is one"
        yield f"{card['name']} and {database.header(row)[0]}: it {words}."


def _hits_otherwise(run: RunFile, inputs: PairwiseInputs, context: JobContext) -> Iterator[str]:
    """Yield which of all hits are not what follows from their alignments, the sequences and the statistics."""
    known = cache(lambda number: stored_search(run, inputs, number))

    def expected(number: int, hit: Hit) -> str | None:
        search: QuerySearch = known(number)
        again = search.hit(hit.row, list(hit.domains))
        if search.spec.is_pairs:  # the place of a hit is that of the pair
            again = replace(again, input_index=hit.input_index)
        wrong = [name for name in SAME if not alike(getattr(hit, name), getattr(again, name))]
        if [one.number for one in hit.domains] != [one.number for one in again.domains]:
            wrong.append("numbers of alignments")
        (statistics,) = search.statistics_of(np.array([hit.row], np.int64))
        for one in hit.domains:
            score, evalue = scores_by(one.raw, statistics)
            wrong += (
                [] if alike(one.score, score) and alike(one.evalue, evalue) else ["score or E-value of an alignment"]
            )
        return ", ".join(dict.fromkeys(wrong)) or None

    yield from unequal_hits(run.connection, context.check, expected)


def _pairs_otherwise(run: RunFile, inputs: PairwiseInputs, context: JobContext) -> Iterator[str]:
    """Yield the values kept of given pairs that contradict them; each pair is a hit."""
    (pairs, _), is_done = pairs_of(run.spec(PairwiseSpec), inputs), run.state == "done"
    lengths = np.diff(inputs.queries.offsets)[inputs.query_rows], np.diff(inputs.targets.offsets)
    cells = lengths[0][pairs[:, 0]] * lengths[1][pairs[:, 1]] * len(inputs.strands)
    for number in range(len(inputs.query_rows)):
        yield from _query_otherwise(run, number, inputs)
    yield from contradictions(run.connection, ALL, {"name": "The pairs", "histogram_bin": 1}, len(pairs), is_done,
                              context.check)  # fmt: skip
    scores = run.scores_by_row(ALL, len(pairs))
    for first, last, kept in kept_cells(run.connection, ALL):
        if kept != float(cells[first:last].sum()):
            yield f"The pairs {first:,} to {last:,} count {kept:,.0f} cells, which they do not have."
    places = set(np.flatnonzero(scores > IMPOSSIBLE).tolist())
    for number, row, place, raw in raw_scores(run.connection):
        if place not in places or (number, row) != tuple(pairs[place].tolist()) or raw != scores[place]:
            yield f"The pair {place + 1:,} is another one, or has another score, than is kept."
        places.discard(place)
    if places:
        yield f"{len(places):,} pairs that were compared have no alignment."


def _query_otherwise(run: RunFile, number: int, inputs: PairwiseInputs) -> Iterator[str]:
    """Yield the values kept of a query that do not follow from the sequences, its statistics and its scores."""
    search, card, spec = stored_search(run, inputs, number), run.card(number), run.spec(PairwiseSpec)
    begun = card_of_query(inputs, number, spec)
    statistics, fitted = (
        Statistics.from_dict(card[name]) if card.get(name) else None for name in ("statistics", "fitted")
    )
    again = card_with(begun, inputs, search, statistics, fitted)
    if statistics is None or statistics.kind != "fitted":
        again["statistics"] = begun["statistics"]
    del again["statistics_words"]  # which also say when they come
    raw, row = run.best_score(number)
    described = search.described(raw, row) if raw > IMPOSSIBLE else None
    yield from unequal_query(run.connection, number, again, described)
    if not spec.is_pairs:
        yield from unequal_cells(run.connection, number, inputs.targets, card["cells_per_residue"])


def _hit_items(run: RunFile, inputs: PairwiseInputs, hits: list[int], context: JobContext) -> list[Item]:
    """Return hits with the cells of all of their alignments."""
    keys, found = HitQueries(run.connection), list[Item]()
    for key in hits:
        context.check()
        number, row, length, n_alignments = keys.place(key)
        if number >= len(inputs.query_rows):
            raise DamagedRun(run.path, "it has hits of queries that are not there")
        found.append(Item(number, row, key, float(n_alignments * cells_by_rows(_length(inputs, number), length))))
    return found


def _other_items(
    run: RunFile, inputs: PairwiseInputs, searched: range, share: int, context: JobContext
) -> Iterator[Item]:
    """Yield this many targets of each query that are no hits of it, with their cells on all strands."""
    lengths = np.diff(inputs.targets.offsets)
    for number in searched:
        context.check()
        of_residue = _length(inputs, number) * len(inputs.strands)
        for row in map(int, _drawn(run, number, share)):
            yield Item(number, row, None, float(of_residue * int(lengths[row])))


def _length(inputs: PairwiseInputs, number: int) -> int:
    return inputs.queries.length(int(inputs.query_rows[number]))


def _difference(run: RunFile, number: int, hit: Hit, inputs: PairwiseInputs, session: Session, count: Count) -> str:
    """Return in words what differs, or nothing."""
    search = stored_search(run, inputs, number)
    (statistics,) = search.statistics_of(np.array([hit.row], np.int64))
    queries = dict(zip(inputs.strands, inputs.stranded(number), strict=True))
    target = inputs.targets.residues(hit.row)
    for domain in hit.domains:
        assert domain.pair is not None
        strand = domain.pair.strand
        again = _again(session, queries[strand], target, strand, statistics, count)
        if again.raw != domain.raw:
            return f"{hit.name}: score {domain.raw}, computed again {again.raw}."
        if not _equal(domain, again):
            return f"{hit.name}: the alignment or its numbers differ when computed again."
    return ""


def _again(
    session: Session, query: PairwiseQuery, target: Residues, strand: int, statistics: Statistics | None, count: Count
) -> Domain:
    if session.device.kind == "reference":  # it takes long enough for one pair that its progress is reported
        alignment = alignment_by_rows(query, target, count)
    else:
        alignment = aligned_alone(session, query, target)
        count(cells_by_rows(query.length, len(target)))
    return domain_of(alignment, query, target, strand, statistics)


def _equal(domain: Domain, again: Domain) -> bool:
    same = ("query_range", "target_range", "states", "text", "pair", "bias", "log_pvalue")
    if any(getattr(domain, name) != getattr(again, name) for name in same):
        return False
    both = ((domain.score, again.score), (domain.evalue, again.evalue))
    return all(math.isclose(a, b, rel_tol=LIKE_ROUNDING) or (math.isnan(a) and math.isnan(b)) for a, b in both)


def _drawn(run: RunFile, number: int, sample: int) -> Rows:
    """Return some of the rows that a query was compared with and that are no hits (see `verify.drawn_rows`)."""
    every, scores = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for first, last, values in run.scores(number):
        every.append(np.arange(first, last))
        scores.append(values)
    known = np.concatenate(every)
    near = known[np.argsort(-np.concatenate(scores).astype(np.int64), kind="stable")]
    return drawn_rows(run, number, near, known, sample)


def _scores_otherwise(run: RunFile, number: int, rows: Rows, inputs: PairwiseInputs, session: Session) -> list[str]:
    """Compute the scores of some targets again; return the differences."""
    database, queries = inputs.targets, inputs.stranded(number)
    kept, name, batch = run.scores_by_row(number, len(database)), inputs.query(number).name, database.select(rows)
    again = np.stack([session.run(SMITH_WATERMAN, batch, query).scores.values for query in queries]).max(axis=0)
    return [
        f"{name} and {database.header(int(rows[w]))[0]}: score {kept[rows[w]]}, computed again {again[w]}."
        for w in np.flatnonzero(again != kept[rows])
    ]
