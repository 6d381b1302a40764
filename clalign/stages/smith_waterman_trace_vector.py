"""How the tracing kernel for CPUs is launched."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.scoring import Scoring
from clalign.stages.smith_waterman_trace_plan import (
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
    scores_fit,
)

VECTOR_BYTES = 32

BLOCK = 32
"""Rows and columns of a block whose edges are kept."""

LIKENESS = 1.3
"""Queries in a group differ in length by no more than about this factor."""

CHANCE_MATCHES = 40
"""So many equal residues are a good local alignment of sequences that have nothing to do with each other."""

MOST_SCORE_BITS = 29
"""Sums of two numbers of so many bits fit an int."""

Choices = Mapping[str, int]


def start_vector(session: Any, pairs: Pairs, scoring: Scoring, choices: Choices) -> Callable[[], Traces]:
    """Start the shape for CPUs; return what waits for the alignments.

    Scores have 8, 16 or 32 bits. Local ones are tried in few and computed again in more where they are too
    high; for the others 16 bits are taken where they are known to do.
    """
    scores_fit(pairs, scoring, MOST_SCORE_BITS)
    plan = _Plan(session, scoring, kinds_of(scoring.matrix), choices)
    widths = plan.widths(pairs)
    return _traced(plan, pairs, widths)


def _traced(plan: _Plan, pairs: Pairs, widths: npt.NDArray[np.int64]) -> Callable[[], Traces]:
    """Start tracing pairs, each with scores of so many bits."""
    rows_of = {int(width): np.flatnonzero(widths == width) for width in np.unique(widths)}
    parts = {width: plan.start(pairs.select(rows), width) for width, rows in rows_of.items()}

    def collect() -> Traces:
        found = joined([(rows_of[width], part()) for width, part in parts.items()], len(pairs))
        most = np.array([plan.most(width) for width in rows_of])[np.searchsorted(list(rows_of), widths)]
        again = np.flatnonzero(found.results[:, 0] > most)
        if not len(again):
            return found
        wider = _traced(plan, pairs.select(again), 2 * widths[again])()
        right = np.setdiff1d(np.arange(len(pairs)), again)
        kept = Traces(found.results[right], found.ends[right], found.paths)
        return joined([(right, kept), (again, wider)], len(pairs))

    return collect


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all launches of a batch have in common."""

    session: Any
    scoring: Scoring
    kinds: Kinds
    choices: Choices

    @property
    def ends(self) -> int:
        """Where alignments end (ENDS of the kernel)."""
        return ends_of(self.scoring)

    def costs(self, width: int) -> tuple[int, int]:
        """Return what gaps cost; where there are none, more than any score of so many bits."""
        if self.scoring.mode == "ungapped":
            return self.dearest(width), self.dearest(width)
        gaps = self.scoring.gaps
        return min(gaps.first, self.dearest(width)), min(gaps.next, self.dearest(width))

    def dearest(self, width: int) -> int:
        """Return the highest cost that so many bits hold."""
        return 2**30 if width == 32 else int(2 ** (width - 1) - 1)

    def most(self, width: int) -> int:
        """Return the highest score that is exact with so many bits."""
        if width == 32 or self.ends:
            return 2**31 - 1
        dear = self.scoring.mode == "ungapped" or self.scoring.gaps.first > self.dearest(width)
        return self.dearest(width) if dear else int(2**width - 2)

    def widths(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        """Return the bits to begin with for each pair."""
        if "WIDTH" in self.choices:
            return np.full(len(pairs), self.choices["WIDTH"])
        greatest = greatest_scores(pairs, self.scoring)
        if self.ends:
            fits = (
                (greatest < 2**15)
                & (least_scores(pairs, self.scoring) > -(2**15))
                & (np.maximum(*pairs.lengths) < 2**15)
            )
            return np.where(fits, 16, 32)
        few = self.scoring.matrix.greatest * CHANCE_MATCHES <= self.most(8)
        return np.where(few | (greatest <= self.most(8)), 8, 16)

    def start(self, pairs: Pairs, width: int) -> Callable[[], Traces]:
        """Start tracing pairs with scores of so many bits."""
        lanes = self.choices.get("LANES", VECTOR_BYTES * 8 // width)
        block = self.choices.get("BLOCK", BLOCK)
        order, sizes = _groups(pairs, lanes, block)
        ordered = pairs.select(order)
        m, n = ordered.lengths
        ends = np.cumsum(m + n)
        first, next_ = self.costs(width)
        match, mismatch = self.kinds.equal or (0, 0)
        borders = (-first, -next_) if self.ends == 2 else (0, 0)
        defines = {
            "WIDTH": width, "LANES": lanes, "BLOCK": block, "LINEAR": int(first == next_),
            "EQUAL": int(self.kinds.equal is not None), "ENDS": self.ends, **self.choices,
        }  # fmt: skip
        session = self.session
        n_items = max(1, min(session.device.n_compute_units, len(sizes)))
        room = max(_room(int(rows), int(columns), block) for rows, columns in sizes)
        results, paths = session.allocate(4 * N_RESULTS * len(pairs)), session.allocate(int(ends[-1]))
        session.launch(
            "smith_waterman_trace_vector", "smith_waterman_trace", defines, n_items, 1,
            session.share(pairs.batch.queries.codes), session.share(pairs.batch.targets.codes),
            session.upload(ordered.spans), session.upload(ends), np.uint32(len(pairs)), session.upload(sizes),
            session.zeros(4), session.upload(self.kinds.codes), session.upload(self.kinds.matrix),
            session.upload(np.array([-first, -next_, match, mismatch, *borders], np.int32)),
            np.int32(self.most(width)), session.allocate(n_items * room * lanes * width // 8), np.uint64(room),
            results, paths,
        )  # fmt: skip
        fetch_results = session.fetch(results, (len(pairs), N_RESULTS), np.int32)
        fetch_paths = session.fetch(paths, int(ends[-1]), np.uint8)
        back = np.empty(len(pairs), np.int64)
        back[order] = np.arange(len(pairs))
        return lambda: Traces(fetch_results()[back], ends[back], fetch_paths())


def _groups(pairs: Pairs, lanes: int, block: int) -> tuple[Rows, npt.NDArray[np.int32]]:
    """Return an order in which neighbors are alike, long ones first, and the blocks of each group of so many pairs."""
    rows, columns = (-(-lengths // block) for lengths in pairs.lengths)
    likeness = np.floor(np.log(rows) / np.log(LIKENESS))
    order = np.lexsort((-columns, -likeness))
    starts = np.arange(0, len(order), lanes)
    sizes = [np.maximum.reduceat(blocks[order], starts) for blocks in (rows, columns)]
    return order, np.stack(sizes, axis=1).astype(np.int32)


def _room(rows: int, columns: int, block: int) -> int:
    """Return the vectors of scratch memory for a group of so many blocks (see `lay_out` of the kernel)."""
    n, m = columns * block, rows * block
    edges = 2 * (rows + 1) * (n + 1) + 2 * (columns + 1) * m
    return m + n + edges + rows * columns + 6 * block + 2 * block * block
