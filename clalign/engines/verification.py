"""What every engine's verification shares: what it found, which rows are drawn, what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.databases.rereading import Reread
from clalign.errors import Cancelled, OptionError
from clalign.jobs import BuildReports, JobContext
from clalign.runs.queries import HitQueries
from clalign.runs.run_file import RunFile
from clalign.values.devices import Device
from clalign.values.documents import Verification
from clalign.values.sequences import SequenceDatabase

SEED = 42

SAMPLE = 50
"""Hits, and others, that are checked where nobody says how many."""

MAX_CELLS = {"plan7": 2e6, "pairwise": 1e8, "msa": 2e6}
"""Cells that are then computed at most, by the engine: half a minute or so of one core on the reference."""

CELLS_PER_SECOND = {"plan7": 8e4, "pairwise": 7e6, "msa": 7e4}
"""What one core computes of them on the reference, more or less."""

Rows = npt.NDArray[np.int64]


class Findings(Struct):
    """What a verification found so far.

    Attributes
    ----------
    verdicts : dict
        Hit id, and whether everything about the hit was equal.
    details : list of str
        A sentence for each difference.
    others : int
        Other sequences that were computed again.
    """

    verdicts: dict[int, bool] = field(default_factory=dict)
    details: list[str] = field(default_factory=list)
    others: int = 0

    def add_hit(self, key: int, difference: str) -> None:
        """Add a hit, and in words what differs, if anything does."""
        self.verdicts[key] = not difference
        self.details += [difference] if difference else []

    def add_others(self, checked: int, differences: list[str]) -> None:
        """Add scores of other sequences."""
        self.others += checked
        self.details += differences

    def add(self, more: Findings) -> None:
        """Add what was found apart."""
        self.verdicts |= more.verdicts
        self.add_others(more.others, more.details)


def judge(
    run: RunFile, device: Device, context: JobContext, compute: Callable[[Findings, Session], None],
    things: tuple[str, str] | None = None,
) -> Verification:  # fmt: skip
    """Let `compute` compute results again on a device, and keep what it finds, also if it is stopped on the way.

    `things` are what is computed where there are no hits: one, and several.
    """
    found, complete = Findings(), True
    try:
        with open_session(device, context.check, BuildReports(context).of_device()) as session:
            compute(found, session)
    except Cancelled:
        complete = False
    checked = len(found.verdicts) + found.others
    if not complete and not checked:
        raise Cancelled
    if checked or found.details:
        run.add_verification(device.name, found.verdicts, found.details, found.others)
    return {
        "checked": checked, "hits": len(found.verdicts), "others": found.others, "differing": len(found.details),
        "details": found.details, "device": device.name, "complete": complete,
        "things": things,
    }  # fmt: skip


def refuse_standard_input(run: RunFile, *paths: str) -> None:
    """Raise `OptionError` if a file of a run was standard input, which cannot be read again."""
    if "-" in paths:
        raise OptionError(
            f"{run.path} cannot be verified, because its input came from standard input.",
            "Search again with the input in a file.",
        )


def other_copy(database: SequenceDatabase, reread: Reread) -> Iterator[str]:
    """Yield a sentence if what was prepared of a file has sequences of other lengths than the file."""
    found = np.empty(len(database), np.int64)
    found[database.order] = np.diff(database.offsets)
    if not np.array_equal(found, reread.lengths):
        yield f"The copy of {database.source} that was prepared for searches holds other sequences than the file."


def drawn_rows(run: RunFile, number: int, near: Rows, known: Rows, sample: int) -> Rows:
    """Return rows that are no hits: half of them those that nearly were, the others at random from all batches alike.

    Parameters
    ----------
    run : RunFile
    number : int
        Of the profile or query.
    near : int64[n]
        Those that nearly were hits, the nearest first.
    known : int64[n]
        All that have a score.
    sample : int
        How many are drawn.
    """
    hits = HitQueries(run.connection).rows(number)
    first = near[~np.isin(near, hits)][: sample // 2]
    rest = known[~np.isin(known, np.concatenate([hits, first]))]
    rest = np.random.default_rng(SEED).permutation(rest)
    batch = np.searchsorted([begin for begin, _ in run.finished(number)], rest, side="right")
    turns = np.empty(len(rest), np.int64)
    order = np.argsort(batch, kind="stable")
    begins = np.searchsorted(batch[order], batch[order], side="left")
    turns[order] = np.arange(len(rest)) - begins
    rest = rest[np.argsort(turns, kind="stable")][: sample - len(first)]
    return np.sort(np.concatenate([first, rest])).astype(np.int64)


class ProgressReporter:
    """Reports how much of what is computed again is done, and raises if it is to stop.

    Parameters
    ----------
    total : float
    context : JobContext
    unit : str
        What is counted.
    """

    def __init__(self, total: float, context: JobContext, unit: str) -> None:
        self._total, self._context, self._done, self._unit = total, context, 0.0, unit

    def __call__(self, work: float) -> None:
        """Count some more."""
        self._context.check()
        self._done += work
        self._context.progress("verify", min(self._done, self._total), self._total, self._unit)


class Item(NamedTuple):
    """Something to compute again: a hit, by its id, or a target that is none; `cells` says how much work it is."""

    query: int
    row: int
    key: int | None
    cells: float


def spread(hits: Sequence[Item], others: Sequence[Item], most: float | None) -> list[Item]:
    """Return the items that are computed again, in an order in which each part is like the whole.

    Hits and others take turns, each drawn in turn from all queries; so neither what is left out, because there would
    be more than `most` cells, nor what is not reached, because somebody stops it, is all of one kind, and what the
    first took says what the rest will take.

    Parameters
    ----------
    hits, others : sequence of Item
    most : float or None
        Cells to compute; None for all. One hit and one other are computed in any case.
    """
    rng, shares = np.random.default_rng(SEED), list[tuple[float, int, Item]]()
    for kind, items in enumerate((hits, others)):
        of_query: dict[int, list[Item]] = {}
        for place in rng.permutation(len(items)).tolist():
            of_query.setdefault(items[place].query, []).append(items[place])
        rounds = zip_longest(*(of_query[number] for number in rng.permutation(sorted(of_query)).tolist()))
        turn = [item for found in rounds for item in found if item is not None]
        shares += [((place + 0.5) / len(turn), kind, item) for place, item in enumerate(turn)]
    chosen, cells, kinds = list[Item](), 0.0, set[int]()
    for _, kind, item in sorted(shares, key=itemgetter(0, 1)):
        if most is None or cells + item.cells <= most or kind not in kinds:
            chosen.append(item)
            cells += item.cells
            kinds.add(kind)
    return chosen


Group = tuple[tuple[int, bool], list[Item]]
"""Items of one query, all of them hits or none; the query, and whether they are."""


def grouped(items: Iterable[Item], most: int) -> Iterator[Group]:
    """Yield items of one query and kind that are computed together, no more than `most`.

    Their order stays, as far as each begins where its first one is.
    """
    waiting: dict[tuple[int, bool], list[Item]] = {}
    for item in items:
        kind = item.query, item.key is not None
        waiting.setdefault(kind, []).append(item)
        if len(waiting[kind]) == most:
            yield kind, waiting.pop(kind)
    yield from waiting.items()


def sample_of_hits(keys: HitQueries, sample: int) -> list[int]:
    """Return the ids of the best hits of a run, and of as many drawn at random."""
    ids = keys.ids_by_score()
    best, rest = ids[: sample // 2], np.array(ids[sample // 2 :], np.int64)
    drawn = np.random.default_rng(SEED).permutation(rest)[: sample - len(best)]
    return [*best, *(int(number) for number in drawn)]
