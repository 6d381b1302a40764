"""Shared parts of the stages that compute pairs of sequences under pair hidden Markov models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.compute.geometry import lane_backend, one_a_core
from clalign.compute.sessions import Argument, KernelSession, Stage
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import Numbers, PairHmms, transitions_of

Rows = npt.NDArray[np.int64]

TILE_ROWS, TILE_COLUMNS = 4, 8
"""Size of a tile in the shape for CPUs (`common/pair_hmm_tiles.h`)."""

ROWS = 4
"""Rows of a lane in the shape for GPUs."""

GROUPS_PER_UNIT = 16
"""Work-groups that a compute unit of a GPU is given, as far as there is memory."""

SCRATCH_SHARE = 0.3
"""Share of the device's memory that work-groups may compute in."""

STRIP_BYTES = 2**20
"""Numbers of a strip of rows that the cache next to a core holds; a pair has no more strips than a strip has rows."""

N_RESULTS = 12
MANTISSA, EXPONENT, BACKWARDS, END_MATCH, EXTENDS, CLOSES, ENDS, STARTS = 0, 1, 2, 3, 4, 6, 8, 10
"""Columns of the results of the kernels."""

MIN_SINGLE = 1e-6
"""Residues that gaps hardly ever emit are taken for as rare as this, as matches are divided by it."""

BACKWARDS_ERROR = 1e-2
"""Limit of the difference between Backward's and Forward's sums over all paths."""


class Pairs(Struct, frozen=True, eq=False):
    """The pairs of a batch in which neither sequence is empty, those with most cells first.

    Attributes
    ----------
    rows : int64[n]
        Their rows in the batch.
    x, y : int64[n]
        Residues of each sequence.
    x_starts, y_starts : int64[n]
        Their first residues in the codes of the batch.
    """

    batch: PairBatch
    models: PairHmms
    rows: Rows
    x: Rows
    y: Rows
    x_starts: Rows
    y_starts: Rows

    @classmethod
    def of(cls, batch: PairBatch, models: PairHmms) -> Pairs:
        """Return the pairs of a batch that there is anything to compute of."""
        queries, targets = batch.queries, batch.targets
        x, y = queries.lengths[batch.query_rows].astype(np.int64), targets.lengths[batch.target_rows].astype(np.int64)
        order = np.argsort(-x * y, kind="stable")
        rows = order[(x * y)[order] > 0]
        starts = queries.offsets[batch.query_rows[rows]], targets.offsets[batch.target_rows[rows]]
        return cls(batch, models, rows, x[rows], y[rows], *(start.astype(np.int64) for start in starts))

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, places: Rows) -> Pairs:
        """Return some of the pairs."""
        parts = (self.rows, self.x, self.y, self.x_starts, self.y_starts)
        return Pairs(self.batch, self.models, *(part[places] for part in parts))

    @property
    def emission_rows(self) -> npt.NDArray[np.int32]:
        """Which emissions each pair has."""
        return self.models.emission_rows[self.rows]

    def odds(self) -> npt.NDArray[np.float32]:
        """Return the probabilities of pairs of residues over those of both alone (float32[n_emissions, A, A])."""
        singles = [np.maximum(emissions.singles, MIN_SINGLE) for emissions in self.models.emissions]
        odds = [e.pairs / np.outer(q, q) for e, q in zip(self.models.emissions, singles, strict=True)]
        return np.array(odds, np.float32)

    def steps(self) -> npt.NDArray[np.float32]:
        """Return the probabilities of the steps as the kernels read them (float32[n, 8])."""
        steps = transitions_of(self.models.select(self.rows).gaps)
        table = np.zeros((len(self), 8), np.float32)
        table[:, 0], table[:, 1] = steps.match_match, steps.start_match - steps.match_match
        for place, numbers in enumerate((steps.opens, steps.extends, steps.closes)):
            table[:, 2 + place : 2 + place + 3 * numbers.shape[1] : 3] = numbers
        return table

    def compositions(self) -> tuple[Numbers, Numbers]:
        """Return how often each residue is in x and in y (float64[n, A] each)."""
        emissions, batch = self.models.emissions[0], self.batch
        n_letters = len(emissions.letters)
        return (
            _compositions(batch.queries.codes, batch.queries.offsets, emissions.indices, n_letters)[
                batch.query_rows[self.rows]
            ],
            _compositions(batch.targets.codes, batch.targets.offsets, emissions.indices, n_letters)[
                batch.target_rows[self.rows]
            ],
        )

    def log_likelihoods(self, results: npt.NDArray[np.float32]) -> Numbers:
        """Return the logarithm of the probability of each pair, given that of its odds."""
        singles = np.array([np.maximum(emissions.singles, MIN_SINGLE) for emissions in self.models.emissions])
        alone = (sum(self.compositions()) * np.log(singles)[self.emission_rows]).sum(axis=1)
        with np.errstate(divide="ignore"):
            mantissas = np.log(results[:, MANTISSA].astype(np.float64))
        return np.asarray(mantissas + results[:, EXPONENT] * np.log(2.0) + alone)


def _compositions(
    codes: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], indices: npt.NDArray[np.uint8], n_letters: int
) -> Numbers:
    """Return how often each residue is in each sequence (float64[n, n_letters])."""
    n = len(offsets) - 1
    rows = np.repeat(np.arange(n), np.diff(offsets))
    counts = np.bincount(rows * n_letters + indices[codes], minlength=n * n_letters)
    return counts.reshape(n, n_letters).astype(np.float64)


def strip_rows(pairs: Pairs, n_states: int) -> Rows:
    """Return of how many rows of each pair all numbers are kept at a time."""
    row_bytes = 4 * n_states * TILE_COLUMNS * _blocks(pairs)
    rows = np.maximum(STRIP_BYTES // row_bytes, np.ceil(np.sqrt(pairs.x)).astype(np.int64))
    return -(-np.minimum(rows, pairs.x + 1) // TILE_ROWS) * TILE_ROWS


def _blocks(pairs: Pairs) -> Rows:
    return pairs.y // TILE_COLUMNS + 1


def _room(pairs: Pairs, strips: Rows, n_letters: int, n_sets: int, most: Rows) -> int:
    """Return the vectors of scratch memory that the largest pair takes (see `lay_out` of the kernel)."""
    blocks, groups, strip_groups = _blocks(pairs), pairs.x // TILE_ROWS + 1, strips // TILE_ROWS
    n_strips = -(-groups // strip_groups)
    kept = (1 + n_sets) * blocks
    vectors = 2 * (n_letters + 2) * blocks + kept * (2 + n_strips) + strips * (1 + 2 * n_sets) * blocks
    integers = blocks * (2 + n_strips + strip_groups) + pairs.x + 1 + 3 * most
    return int((vectors + -(-integers // TILE_COLUMNS)).max())


def _lanes_room(pairs: Pairs, defines: Mapping[str, int], n_sets: int, most: Rows) -> int:
    """Return the words of scratch memory that the largest pair takes (see `lay_team_out` of the kernel)."""
    lanes, rows, width = defines["LANES"], defines["ROWS"], pairs.y + 1
    n_strips, n_edges = pairs.x // (lanes * rows) + 1, 2 + n_sets
    edges = (n_strips + 1) * n_edges * (width + 1)
    states = (width + lanes) * lanes * (rows * (1 + 2 * n_sets) + 1)
    return int((edges + states + width + pairs.x + 1 + 4 * most).max())


def start_kernel(
    stage: Stage[PairBatch, PairHmms, object], session: KernelSession, pairs: Pairs, is_counts: bool, most: Rows,
    *output: Argument,
) -> None:  # fmt: skip
    """Enqueue the kernel for some pairs, with room for this many entries each; `output` are its last arguments."""
    device, models = session.device, pairs.models
    n_sets, n_letters = models.gaps.n_sets, len(models.emissions[0].letters)
    defines = {"SETS": n_sets, "COUNTS": int(is_counts), **stage.defines}
    shape = stage.shape_on(device)
    if shape == "vector":
        strips = strip_rows(pairs, 1 + 2 * n_sets)
        room, word_bytes, group = _room(pairs, strips, n_letters, n_sets, most), 4 * TILE_COLUMNS, 1
        n_groups = one_a_core(device)[0]
    else:
        strips = np.zeros(len(pairs), np.int64)
        defines = {"ROWS": ROWS, **lane_backend(device), **defines}
        room, word_bytes, group = _lanes_room(pairs, defines, n_sets, most), 4, defines["LANES"]
        memory = min(int(device.memory_bytes * SCRATCH_SHARE), device.max_buffer_bytes or 2**62)
        n_groups = max(1, min(device.n_compute_units * GROUPS_PER_UNIT, memory // (4 * room)))
    n_groups = min(n_groups, len(pairs))
    gaps = np.cumsum(pairs.x + pairs.y) - pairs.x - pairs.y
    spans: list[npt.NDArray[np.generic]] = [
        pairs.x_starts, pairs.x, pairs.y_starts, pairs.y, strips, pairs.emission_rows, most, gaps
    ]  # fmt: skip
    session.launch(
        f"pair_hmm_{shape}", "pair_hmm", defines, n_groups * group, group,
        session.share(pairs.batch.queries.codes), session.share(pairs.batch.targets.codes),
        session.upload(np.stack(spans, axis=1).astype(np.int32)), np.uint32(len(pairs)),
        session.upload(models.emissions[0].indices), np.int32(n_letters), session.upload(pairs.odds()),
        session.upload(pairs.steps()), session.zeros(8),
        session.scratch(f"pair_hmm_{shape}", n_groups * room * word_bytes), np.uint64(room), *output,
    )  # fmt: skip


def held_by_floats(session: KernelSession, pairs: Pairs, results: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Return of which pairs Backward has found what Forward did (bool[n]).

    Where some residues never match the only paths may have numbers so far apart that floats do not hold both, or none,
    as if the pair were impossible; such a pair is one for the plain reference, and so is one that is impossible. Of all
    others these agree, or DeviceError is raised.
    """
    is_held: npt.NDArray[np.bool_] = (results[:, MANTISSA] > 0) & (np.abs(results[:, BACKWARDS] - 1) < BACKWARDS_ERROR)
    never_match = (pairs.odds() < np.finfo(np.float32).tiny).any()
    session.demand(bool(is_held.all() or never_match), "Forward and Backward of a pair do not agree")
    return is_held
