"""Number of rows of the matrix of a long pair for each lane."""

from __future__ import annotations

from clalign.stages.pairwise.long_pair_sequences import Sequences

SCHEDULERS = 4
"""Sub-groups of a compute unit that take a step at the same time."""

STEP_CYCLES = {4: (241, 132), 8: (368, 198), 12: (416, 226), 16: (467, 262)}
"""Cycles of a step by the rows of a lane, on an H200 with strips behind each other: where a scheduler has one
sub-group, and for each of two that it has."""

STEPS_BEHIND = 96
"""Steps by which a strip is behind the one above it: its lanes, the blocks of columns that it waits for, and what is
read ahead."""

RESIDENT = 2
"""Sub-groups of a scheduler at a time."""


def rows_of_lane(m: int, n: int, pair: Sequences, least: int, most: int) -> int:
    """Return how many rows of a region a lane has: the more, the fewer steps, and the longer the next strip waits.

    Parameters
    ----------
    m, n : int
        Rows and columns of the region.
    pair : Sequences
    least, most : int
        Rows of a lane, multiples of 4.
    """
    device = pair.session.device
    if device.kind == "cpu":
        return most // 2
    schedulers = SCHEDULERS * max(1, device.n_compute_units)

    def cycles(rows: int) -> float:
        n_strips = -(-m // (rows * pair.n_lanes))
        at_once = min(n_strips, RESIDENT * schedulers)
        alone, shared = STEP_CYCLES[rows]
        step = max(alone, shared * -(-at_once // schedulers))
        return step * (n * n_strips / at_once + at_once * STEPS_BEHIND)

    return min((rows for rows in STEP_CYCLES if least <= rows <= most), key=cycles)
