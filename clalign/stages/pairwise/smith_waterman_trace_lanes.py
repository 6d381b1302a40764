"""Launches of the tracing kernel for GPUs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import lane_backend, lanes_group
from clalign.compute.sessions import Argument, Buffer, KernelSession
from clalign.stages.pairwise.smith_waterman_trace_plan import (
    N_RESULTS,
    Pairs,
    Rows,
    Traces,
    ends_of,
    joined,
    padded_matrix,
    possible_traces,
    scores_fit,
)
from clalign.values.scoring import Scoring

LANE_ROWS = (4, 8, 12, 16)
"""Residues of a query that a lane may take."""

COLUMNS = 1024
"""Most columns of a block."""

GROUP = 128
"""Work-items that share the matrix in local memory."""

WALK_GROUP = 64
"""Work-items of a group in which each has a pair of its own."""

FOLLOW = -1
"""In place of a wave: the blocks where the paths are."""

MAX_SCRATCH = 2**31
"""Bytes of edges and directions that one launch may take, where the device gives as many."""

MEMORY_SHARE = 0.25
"""Share of the device's largest buffer that edges and directions of one launch may take."""

MAX_SCORE_BITS = 25
"""Scores share 31 bits with the row that they are in."""

SCRATCH, ITEM_BYTES = ("above", "left", "ends", "cells"), (8, 8, 16, 4)
"""The scratch buffers of a launch, and the bytes of what they are made of."""

Choices = Mapping[str, int]


def start_lanes(session: KernelSession, pairs: Pairs, scoring: Scoring, choices: Choices) -> Callable[[], Traces]:
    """Start the shape for GPUs; return a callable that waits for the alignments.

    Pairs are taken in portions whose edges and directions fit the memory; a portion is begun before the
    paths of the one before it are fetched.
    """
    scores_fit(pairs, scoring, MAX_SCORE_BITS)
    plan = _plan(session, pairs, scoring, choices)
    portions = plan.portions(pairs)
    first = plan.start(pairs.select(portions[0]))

    def collect() -> Traces:
        found, waiting = [], first
        for number, rows in enumerate(portions):
            session.check()
            after = plan.start(pairs.select(portions[number + 1])) if number + 1 < len(portions) else None
            found.append((rows, waiting()))
            waiting = after or waiting
        return joined(found, len(pairs))

    return collect


class _Plan(Struct, frozen=True):
    """What all launches of a batch have in common."""

    session: KernelSession
    scoring: Scoring
    defines: dict[str, int]
    sequences: tuple[Buffer, Buffer]
    matrix: Buffer
    score_params: Buffer

    @property
    def strip(self) -> int:
        """Rows of a block."""
        return self.defines["ROWS"] * self.defines["LANES"]

    def blocks(self, pairs: Pairs) -> tuple[Rows, Rows]:
        """Return in how many rows and columns of blocks the matrices of each pair are cut."""
        m, n = pairs.lengths
        return -(-m // self.strip), -(-n // self.defines["COLUMNS"])

    def sizes(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        """Return the room of each pair in scratch buffers: edges above and left, ends, directions (int64[4, n])."""
        (_, n), (rows, columns) = pairs.lengths, self.blocks(pairs)
        lanes = self.defines["LANES"]
        steps = np.minimum(n, self.defines["COLUMNS"]) + lanes - 1
        words = steps * -(-self.defines["ROWS"] // 8) * lanes
        return np.stack([(rows - 1) * n, (columns - 1) * rows * self.strip, rows * columns, words])

    def portions(self, pairs: Pairs) -> list[Rows]:
        """Return the rows of pairs that are done together: those of one block first, like sizes together."""
        rows, columns = self.blocks(pairs)
        order = np.lexsort((-(rows * columns), rows * columns > 1))
        needed = (np.array(ITEM_BYTES) @ self.sizes(pairs))[order]
        limit = min(MAX_SCRATCH, int(self.session.device.max_buffer_bytes * MEMORY_SHARE) or MAX_SCRATCH)
        is_first = np.concatenate([[True], np.diff((rows * columns > 1)[order])])
        cuts, room = [], limit
        for place, (size, is_new) in enumerate(zip(needed.tolist(), is_first.tolist(), strict=True)):
            if is_new or size > room:
                cuts.append(place)
                room = limit
            room -= size
        return [np.sort(part) for part in np.split(order, cuts[1:])]

    def start(self, pairs: Pairs) -> Callable[[], Traces]:
        """Start tracing the pairs of one portion."""
        session, n = self.session, len(pairs)
        sizes, (rows, columns) = self.sizes(pairs), self.blocks(pairs)
        m, of_targets = pairs.lengths
        ends = np.cumsum(m + of_targets)
        bases = np.concatenate([np.cumsum(sizes, axis=1) - sizes, ends[None, :]]).T
        scratch = [
            session.scratch(name, max(1, size * n_each))
            for name, size, n_each in zip(SCRATCH, ITEM_BYTES, sizes.sum(axis=1).tolist(), strict=True)
        ]
        results, gaps = session.results(4 * N_RESULTS * n), session.allocate(4 * n)
        paths = session.results(int(ends[-1]))
        spans, bases_there = session.upload(pairs.spans), session.upload(bases)

        def fill(tasks: npt.NDArray[np.int32], wave: int, is_traced: bool) -> None:
            group = self.defines["GROUP"]
            n_items = -(-len(tasks) * self.defines["LANES"] // group) * group
            self._launch(
                "blocks", is_traced, n_items, group, *self.sequences, spans, bases_there, session.upload(tasks),
                np.uint32(len(tasks)), np.int32(wave), self.matrix, self.score_params, *scratch, results, gaps,
            )  # fmt: skip

        def each(entry: str, *arguments: Argument) -> None:
            self._launch(entry, True, -(-n // WALK_GROUP) * WALK_GROUP, WALK_GROUP, *arguments)

        def begin() -> None:
            each("begin", spans, bases_there, np.uint32(n), scratch[2], results, gaps)

        def traceback() -> None:
            each("traceback", bases_there, np.uint32(n), scratch[3], results, gaps, paths)

        whole = np.stack([np.arange(n), np.zeros(n)], axis=1).astype(np.int32)
        n_waves = int((rows + columns).max()) - 1
        if n_waves == 1:
            fill(whole, 0, True)
            begin()
            traceback()
        else:
            every = np.repeat(np.arange(n), rows)
            strips = np.arange(len(every)) - np.repeat(np.cumsum(rows) - rows, rows)
            tasks = np.stack([every, strips], axis=1).astype(np.int32)
            for wave in range(n_waves):
                fill(tasks, wave, False)
            begin()
            for _ in range(n_waves):
                fill(whole, FOLLOW, True)
                traceback()
        fetch_results = session.fetch(results, (n, N_RESULTS), np.int32)
        fetch_paths = session.fetch(paths, int(ends[-1]), np.uint8)
        return lambda: possible_traces(session, pairs, Traces(fetch_results(), ends, fetch_paths()))

    def _launch(self, entry: str, is_traced: bool, n_items: int, group: int, *arguments: Argument) -> None:
        defines = {**self.defines, "TRACED": int(is_traced)}
        self.session.launch("smith_waterman_trace_lanes", entry, defines, n_items, group, *arguments)


def _plan(session: KernelSession, pairs: Pairs, scoring: Scoring, choices: Choices) -> _Plan:
    device = session.device
    backend = {**lane_backend(device), **choices}
    lanes = backend["LANES"]
    ends = ends_of(scoring)
    defines = {
        "ROWS": _lane_rows(pairs, lanes), "COLUMNS": COLUMNS, "GROUP": lanes_group(device, backend, GROUP),
        "ENDS": ends, **backend,
    }  # fmt: skip
    gaps = scoring.gaps
    # Dearer than all that can be gained, gaps are never made.
    first, next_ = (2**27, 2**27) if scoring.mode == "ungapped" else (gaps.first, gaps.next)
    borders = (-first, -next_) if ends == 2 else (0, 0)
    batch = pairs.batch
    return _Plan(
        session, scoring, defines, (session.share(batch.queries.codes), session.share(batch.targets.codes)),
        session.upload(padded_matrix(scoring.matrix)), session.upload(np.array([-first, -next_, *borders], np.int32)),
    )  # fmt: skip


def _lane_rows(pairs: Pairs, lanes: int) -> int:
    """Return how many rows a lane should take so that the least is computed in vain."""
    m, n = pairs.lengths
    steps = n + lanes - 1
    costs = [int((-(-m // (rows * lanes)) * (rows + 1) * steps).sum()) for rows in LANE_ROWS]
    return LANE_ROWS[int(np.argmin(costs))]
