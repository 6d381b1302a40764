"""Launches of the tracing kernel for CPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.sessions import Buffer, KernelSession
from clalign.stages.pairwise.long_pair import LONG_PAIR, LongPairChoice
from clalign.stages.pairwise.smith_waterman_trace_plan import (
    N_RESULTS,
    Kinds,
    Pairs,
    Rows,
    Traces,
    ends_of,
    greatest_scores,
    joined,
    kinds_of,
    least_scores,
    possible_traces,
    scores_fit,
)
from clalign.values.pair_batches import PairBatch
from clalign.values.scoring import Scoring
from clalign.values.sequences import SequenceBatch

VECTOR_BYTES = 32

BLOCK = 32
"""Rows and columns of a block whose edges are kept."""

MAX_GROUP_BYTES = 2**26
"""Pairs whose edges would take more in a group are long: they are computed one by one."""

LIKENESS = 1.3
"""Limit of the ratio of the lengths of queries in a group."""

CHANCE_MATCHES = 40
"""Equal residues in a good local alignment of unrelated sequences."""

MAX_SCORE_BITS = 29
"""Sums of two numbers of this many bits fit an int."""

Choices = Mapping[str, int]
Whole = TypeVar("Whole", int, Rows)


def start_vector(session: KernelSession, pairs: Pairs, scoring: Scoring, choices: Choices) -> Callable[[], Traces]:
    """Start the shape for CPUs; return a callable that waits for the alignments.

    Scores have 8, 16 or 32 bits. Local ones are tried in few and computed again in more where they are too
    high; for the others 16 bits are taken where they are known to do. Each long pair is aligned with all of the device,
    when the alignments are asked for.
    """
    scores_fit(pairs, scoring, MAX_SCORE_BITS)
    plan = _Plan(session, scoring, kinds_of(scoring.matrix), choices)
    is_long = plan.are_long(pairs)
    short, long_ones = np.flatnonzero(~is_long), np.flatnonzero(is_long)
    in_groups = pairs.select(short)
    traced = _trace(plan, in_groups, plan.widths(in_groups)) if len(short) else Traces.none

    def collect() -> Traces:
        found = [(short, traced())]
        for row in long_ones:
            session.check()
            found.append((np.array([row]), plan.long_pair(pairs, int(row))))
        return joined(found, len(pairs))

    return collect


def _trace(plan: _Plan, pairs: Pairs, widths: Rows) -> Callable[[], Traces]:
    """Start tracing pairs, each with scores of this many bits."""
    parts: list[tuple[Rows, Callable[[], Traces]]] = []
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        parts.append((rows, plan.start_groups(pairs.select(rows), width)))

    def collect() -> Traces:
        traces = joined([(rows, part()) for rows, part in parts], len(pairs))
        is_high = np.zeros(len(pairs), bool)
        for width in np.unique(widths).tolist():
            is_high |= (widths == width) & (traces.results[:, 0] > plan.most(width))
        if not is_high.any():
            return traces
        exact, again = np.flatnonzero(~is_high), np.flatnonzero(is_high)
        wider = _trace(plan, pairs.select(again), 2 * widths[again])()
        kept = Traces(traces.results[exact], traces.ends[exact], traces.paths)
        return joined([(exact, kept), (again, wider)], len(pairs))

    return collect


class _Plan(Struct, frozen=True):
    """What all launches of a batch have in common."""

    session: KernelSession
    scoring: Scoring
    kinds: Kinds
    choices: Choices

    @property
    def ends(self) -> int:
        """Where alignments end (ENDS of the kernel)."""
        return ends_of(self.scoring)

    def costs(self, width: int) -> tuple[int, int]:
        """Return the costs of gaps; where there are none, more than any score of this many bits."""
        if self.scoring.mode == "ungapped":
            return self.dearest(width), self.dearest(width)
        gaps = self.scoring.gaps
        return min(gaps.first, self.dearest(width)), min(gaps.next, self.dearest(width))

    def dearest(self, width: int) -> int:
        """Return the highest cost that this many bits hold."""
        return 2**30 if width == 32 else int(2 ** (width - 1) - 1)

    def most(self, width: int) -> int:
        """Return the highest score that is exact with this many bits."""
        if width == 32 or self.ends:
            return 2**31 - 1
        is_dear = self.scoring.mode == "ungapped" or self.scoring.gaps.first > self.dearest(width)
        return self.dearest(width) if is_dear else int(2**width - 2)

    def widths(self, pairs: Pairs) -> Rows:
        """Return the bits to begin with for each pair (int64[n])."""
        if "WIDTH" in self.choices:
            return np.full(len(pairs), self.choices["WIDTH"])
        greatest = greatest_scores(pairs, self.scoring)
        if self.ends:
            least, longest = least_scores(pairs, self.scoring), np.maximum(*pairs.lengths)
            return np.where((greatest < 2**15) & (least > -(2**15)) & (longest < 2**15), 16, 32)
        is_low = self.scoring.matrix.greatest * CHANCE_MATCHES <= self.most(8)
        return np.where(is_low | (greatest <= self.most(8)), 8, 16)

    def are_long(self, pairs: Pairs) -> npt.NDArray[np.bool_]:
        """Return which pairs are too long for a group (bool[n])."""
        rows, columns = (-(-lengths // BLOCK) for lengths in pairs.lengths)
        return np.asarray(_room(rows, columns, BLOCK) * VECTOR_BYTES > MAX_GROUP_BYTES)

    def defines(self, width: int) -> dict[str, int]:
        """Return the compile-time choices for scores of this many bits."""
        first, next_ = self.costs(width)
        return {
            "WIDTH": width, "LANES": VECTOR_BYTES * 8 // width, "LINEAR": int(first == next_),
            "EQUAL": int(self.kinds.equal is not None), "ENDS": self.ends, "BLOCK": BLOCK, **self.choices,
        }  # fmt: skip

    def score_params(self, width: int) -> Buffer:
        """Return the number that the kernel adds to scores."""
        first, next_ = self.costs(width)
        borders = (-first, -next_) if self.ends == 2 else (0, 0)
        return self.session.upload(np.array([-first, -next_, *(self.kinds.equal or (0, 0)), *borders], np.int32))

    def sequences(self, pairs: Pairs) -> tuple[Buffer, Buffer]:
        """Return the letter codes of all queries and all targets."""
        return self.session.share(pairs.batch.queries.codes), self.session.share(pairs.batch.targets.codes)

    def matrix(self) -> Buffer:
        """Return the scores of letters, target by query."""
        return self.session.upload(np.ascontiguousarray(self.kinds.matrix.T))

    def start_groups(self, pairs: Pairs, width: int) -> Callable[[], Traces]:
        """Start tracing pairs, as many at once as there are lanes."""
        session, defines = self.session, self.defines(width)
        lanes, block = defines["LANES"], defines["BLOCK"]
        places, sizes = _groups(pairs, lanes, block)
        n = len(places)
        spans = np.where(places[:, None] >= 0, pairs.spans[places], 0).astype(np.int32)
        ends = np.cumsum(spans[:, 1].astype(np.int64) + spans[:, 3])
        n_items = max(1, min(session.device.n_compute_units, len(sizes)))
        # The slots of one block come after those of the pairs (see `lay_out_slots` of the kernel).
        room = int(_room(sizes[:, 0], sizes[:, 1], block).max()) + 8 * block + 2 * block * block
        results, paths = session.results(4 * N_RESULTS * n), session.results(int(ends[-1]))
        session.launch(
            "smith_waterman_trace_vector", "smith_waterman_trace", defines, n_items, 1,
            *self.sequences(pairs), session.upload(spans), session.upload(ends), np.uint32(n),
            session.upload(sizes.astype(np.int32)), session.zeros(4), session.upload(self.kinds.codes), self.matrix(),
            self.score_params(width), np.int32(self.most(width)),
            session.scratch("groups", n_items * room * lanes * width // 8), np.uint64(room), results, paths,
        )  # fmt: skip
        fetch_results = session.fetch(results, (n, N_RESULTS), np.int32)
        fetch_paths = session.fetch(paths, int(ends[-1]), np.uint8)
        place_of = np.empty(len(pairs), np.int64)
        place_of[places[places >= 0]] = np.flatnonzero(places >= 0)

        def collect() -> Traces:
            found = Traces(fetch_results()[place_of], ends[place_of], fetch_paths())
            return possible_traces(session, pairs, found, self.most(width))

        return collect

    def long_pair(self, pairs: Pairs, row: int) -> Traces:
        """Align one of some pairs with all of the device."""
        first, m, begin, n = pairs.spans[row].tolist()
        query, target = pairs.batch.queries.codes[first : first + m], pairs.batch.targets.codes[begin : begin + n]
        batch = PairBatch.of_query(query, SequenceBatch.from_texts([target]))
        found = LONG_PAIR.start(self.session, batch, LongPairChoice(self.scoring))()
        length = len(found.path)
        results = np.array([[found.score, *found.query_range, *found.target_range, length]], np.int32)
        return Traces(results, np.array([length]), np.frombuffer(found.path.encode("ascii"), np.uint8))


def _groups(pairs: Pairs, lanes: int, block: int) -> tuple[Rows, npt.NDArray[np.int64]]:
    """Return groups of this many pairs, neighbors of which are alike, those with long queries first.

    Returns
    -------
    places : int64[n_groups * lanes]
        Row of each pair, or -1 for none.
    sizes : int64[n_groups, 2]
        Blocks that the longest query and target take.
    """
    blocks = np.stack([-(-lengths // block) for lengths in pairs.lengths], axis=1)
    likeness = np.floor(np.log(blocks[:, 0]) / np.log(LIKENESS))
    order = np.lexsort((-blocks[:, 1], -likeness))
    is_new = np.concatenate([[True], np.diff(likeness[order]) != 0])
    starts = np.flatnonzero(is_new)
    counts = np.diff(np.append(starts, len(order)))
    rooms = -(-counts // lanes) * lanes
    firsts = np.cumsum(rooms) - rooms
    places = np.full(int(rooms.sum()), -1)
    places[np.arange(len(order)) + np.repeat(firsts - starts, counts)] = order
    needed = np.where(places[:, None] >= 0, blocks[places], 0)
    return places, needed.reshape(-1, lanes, 2).max(axis=1)


def _room(rows: Whole, columns: Whole, block: int) -> Whole:
    """Return the room, in scores of a pair, for this many blocks (see `lay_out_group` of the kernel)."""
    n, m = columns * block, rows * block
    room: Whole = m + n + 2 * (rows + 1) * (n + 1) + 2 * (columns + 1) * m + rows * columns
    return room
