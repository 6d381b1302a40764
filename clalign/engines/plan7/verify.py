"""Computing results again on another device, normally the reference, and comparing every number.

What is computed again is read from the sequence file itself: neither the prepared copy in the cache nor the device
that searched has a part in it. Since what was lost is not among the results, sequences that are no hits go through
everything, too: first those that nearly were hits, then some of every batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np

from clalign.compute.sessions import Session
from clalign.databases.loading import load_database
from clalign.databases.rereading import Reread, reread_rows, with_headers
from clalign.engines.plan7.hmmer3.contradictions import of_filters
from clalign.engines.plan7.hmmer3.funnel import survivors_of
from clalign.engines.plan7.inputs import load_queries, targets_of, with_later_rounds
from clalign.engines.plan7.profile_search import card_of_search, check_unchanged, prepare_search
from clalign.engines.plan7.search import AnyProfileSearch
from clalign.engines.plan7.spec import SearchSpec
from clalign.engines.recomputing import Check, Count, Pieces, recompute
from clalign.engines.verification import (
    MAX_CELLS,
    SAMPLE,
    Findings,
    Group,
    Item,
    Rows,
    drawn_rows,
    grouped,
    judge,
    other_copy,
    refuse_standard_input,
    sample_of_hits,
    spread,
)
from clalign.jobs import JobContext
from clalign.runs.contradictions import contradictions
from clalign.runs.derived import alike, unequal_cells, unequal_hits, unequal_query
from clalign.runs.inputs import at_hand
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.devices import REFERENCE, Device
from clalign.values.documents import Verification
from clalign.values.hits import Hit
from clalign.values.profiles import IMPOSSIBLE, Hmm
from clalign.values.sequences import SequenceDatabase

AT_ONCE = 64
"""Sequences that a device computes together."""


def verify_run(
    run: RunFile, hits: list[int] | None, sample: int | None, device: Device, context: JobContext
) -> Verification:
    """Compute hits, and as many sequences that are none, again on a device, from the file to the reported line.

    Parameters
    ----------
    run : RunFile
        Open for writing: the verdicts are kept in it.
    hits : list of int or None
        Ids of the hits; None takes the best `sample` / 2 and as many drawn at random (seed 42), as many other
        sequences of all profiles together (one of each at least), and compares the run's counters.
    sample : int or None
        Number of hits and of other sequences, if `hits` is None; None for `SAMPLE`, but no more than `MAX_CELLS`.
    device : Device
    context : JobContext

    Returns
    -------
    dict
        ``checked`` (``hits`` and ``others``), ``differing`` and ``details``, a sentence for each difference;
        ``complete`` is False if it was stopped on the way. Who checked nothing has proved nothing.

    Raises
    ------
    Cancelled
        If it was stopped before anything was checked.
    """
    inputs = _Inputs(run, context, device)
    database, profiles = inputs.database, inputs.profiles
    keys, most = HitQueries(run.connection), MAX_CELLS["plan7"] if sample is None and hits is None else None
    sample = SAMPLE if sample is None else sample
    share = -(-sample // len(profiles))
    items = spread(
        [_item(keys, profiles, key) for key in (sample_of_hits(keys, sample) if hits is None else hits)],
        [
            Item(number, row, None, float(hmm.length * database.length(row)))
            for number, hmm in enumerate(profiles if hits is None else ())
            for row in map(int, _drawn(run, number, share, context))
        ],
        most,
    )
    bests = [run.best_score(number)[1] for number in range(len(profiles) if hits is None else 0)]
    rows = np.unique(np.array([*(item.row for item in items), *bests], np.int64))
    again = _Again(run, inputs, rows, context)
    pieces = list(grouped(items, 1 if device.kind == "reference" else AT_ONCE))
    job = Pieces(
        pieces, [float(len(some)) for _, some in pieces], sum(item.cells for item in items), again.check,
        partial(_prepared, rows),
    )  # fmt: skip

    def compute(found: Findings, session: Session) -> None:
        if hits is None:
            found.details += _contradictions(run, database, again.reread, len(profiles), context)
            found.details += _derived_otherwise(run, again, context)
        recompute(run, "plan7", job, session, context, "sequences", found)

    return judge(run, device, context, compute)


class _Inputs:
    """The sequences and profiles of a run, which are those that it began with."""

    def __init__(self, run: RunFile, context: JobContext, device: Device | None = None) -> None:
        self.spec = spec = at_hand(run, run.spec(SearchSpec), context)
        refuse_standard_input(run, spec.targets, spec.profiles)
        self.database, self.report = load_database(
            spec.targets, alphabet=spec.alphabet, sequence_format=spec.sequence_format, context=context
        )
        # Files are read again. Profiles that are made are made again by a device; the reference takes seconds for each.
        device = None if device is None or device.kind == "reference" else device
        keep = spec.makes_first and device is None
        profiles, digest = load_queries(spec, lambda _: device or REFERENCE, context, keep)
        check_unchanged(run, spec, self.report, digest)
        self.profiles = with_later_rounds(run, spec, profiles, context, device)


class _Again:
    """The searches of a run, among the targets of some rows as the file holds them."""

    def __init__(self, run: RunFile, inputs: _Inputs, rows: Rows, context: JobContext) -> None:
        self.run, self.profiles = run, inputs.profiles
        hits = HitQueries(run.connection).all_rows()
        hits = hits[(hits >= 0) & (hits < len(inputs.database))]
        self.reread = reread_rows(inputs.spec.targets, inputs.database, inputs.report, rows, context, hits)
        known = targets_of(inputs.spec, inputs.database, inputs.profiles, inputs.report)
        self.targets = replace(known, database=with_headers(inputs.database, self.reread))
        reread = replace(known, database=self.reread.database)
        self.search: Callable[[int], AnyProfileSearch] = cache(
            lambda number: prepare_search(inputs.profiles[number], number, inputs.spec, reread)
        )

    def check(self, piece: Group, session: Session, found: Findings, count: Count) -> None:
        """Check hits of a profile, or other targets; see `clalign.engines.recomputing.Check`."""
        (number, is_hit), some = piece
        for key in [item.key for item in some if item.key is not None]:
            found.add_hit(key, _difference(self.run.hit(key), self.search(number), session))
            count(1)
        if not is_hit:
            rows = np.sort(np.array([item.row for item in some], np.int64))
            found.add_others(len(rows), _others_otherwise(self.run, number, self.search(number), rows, session))
            count(len(rows))


def _prepared(rows: Rows, run: RunFile, context: JobContext) -> Check:
    return _Again(run, _Inputs(run, context), rows, context).check


def _item(keys: HitQueries, profiles: list[Hmm], key: int) -> Item:
    number, row, length, _ = keys.place(key)
    return Item(number, row, key, float(profiles[number].length * length))


def _contradictions(
    run: RunFile, database: SequenceDatabase, reread: Reread, n_profiles: int, context: JobContext
) -> Iterator[str]:
    """Yield statements of the run that contradict each other, and whether its sequences are those of the file."""
    yield from other_copy(database, reread)
    for number in range(n_profiles):
        is_done = run.state == "done"
        yield from contradictions(
            run.connection, number, run.card(number), len(database), is_done, context.check, of_filters(run, number)
        )


def _derived_otherwise(run: RunFile, again: _Again, context: JobContext) -> Iterator[str]:
    """Yield the values kept of all hits and profiles that do not follow from the rest."""
    spec, targets, database = run.spec(SearchSpec), again.targets, again.targets.database

    def expected(number: int, hit: Hit) -> str | None:
        if database.header(hit.row) != (hit.name, hit.accession, hit.description):
            return "its name"
        if (int(database.order[hit.row]), database.length(hit.row)) != (hit.input_index, hit.length):
            return "its place or length"
        search = again.search(number)
        follows = search.calls_significant(hit) == hit.is_significant and all(
            alike(*pair) for pair in search.evalues_again(hit)
        )
        return None if follows else "its E-value, or that it is significant,"

    yield from unequal_hits(run.connection, context.check, expected)
    for number, hmm in enumerate(again.profiles):
        context.check()
        raw, row = run.best_score(number)
        described = again.search(number).described(raw, row) if raw > IMPOSSIBLE else None
        card = card_of_search(hmm, spec, targets)
        if spec.has_rounds:
            from clalign.engines.plan7.rounds import place_of

            card |= place_of(run, number, spec)
        yield from unequal_query(run.connection, number, card, described)
        yield from unequal_cells(run.connection, number, database, hmm.length)


def _drawn(run: RunFile, number: int, sample: int, context: JobContext) -> Rows:
    """Return the rows to compute again that are no hits of a profile."""
    rows, scores = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
    for first, last, values in run.scores(number):
        context.check()
        rows.append(np.arange(first, last))
        scores.append(values)
    every, values = np.concatenate(rows), np.concatenate(scores)
    every, values = every[values > IMPOSSIBLE], values[values > IMPOSSIBLE]
    near = every[np.argsort(-values.astype(np.int64), kind="stable")]
    if run.card(number).get("origin") == "hmmer3":
        passed = survivors_of(run, number)
        near = passed.rows[np.lexsort([-np.nan_to_num(passed.forward, nan=-np.inf), -passed.reached.astype(int)])]
    return drawn_rows(run, number, near, every, sample)


def _difference(hit: Hit, search: AnyProfileSearch, session: Session) -> str:
    """Return in words what differs, or nothing."""
    batch = search.database.select(np.array([hit.row], np.int64))
    scored = search.start_scoring(session, batch)()
    raw = int(scored.scores.values[0])
    if raw != hit.raw:
        return f"{hit.name}: score {hit.raw / 1000:.3f}, computed again {raw / 1000:.3f} bits."
    again = next(iter(search.start_hits(session, scored)()), None)
    if again is None:
        return f"{hit.name}: was a hit, but is not when recomputed."
    return "" if search.agrees(hit, again) else f"{hit.name}: the domains or their scores differ when computed again."


def _others_otherwise(run: RunFile, number: int, search: AnyProfileSearch, rows: Rows, session: Session) -> list[str]:
    """Compute targets that are no hits again, all the way; return the differences."""
    kept = run.scores_by_row(number, len(search.database))
    scored = search.start_scoring(session, search.database.select(rows))()
    names = [search.database.header(int(row))[0] for row in rows]
    texts = [
        f"{name}: score {kept[row] / 1000:.3f}, computed again {again / 1000:.3f} bits."
        for name, row, again in zip(names, rows.tolist(), scored.scores.values.tolist(), strict=True)
        if again != kept[row]
    ]
    texts += search.filter_differences(run, number, scored)
    texts += [
        f"{hit.name}: was not a hit, but is when recomputed (score {hit.score:.1f}, E-value {hit.evalue:.2g})."
        for hit in search.start_hits(session, scored)()
    ]
    return texts
