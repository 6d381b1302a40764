"""Chains of additions and maxima: the plain form of the kernel that measures a device's rate of them.

Each lane has several chains x(0..C-1). Chain c begins with start(c) + the lane's number, which is its place
in its work-item's vector plus the work-item's number modulo `PERIOD`. A round goes through the chains in
order: x(c) = max( x(c) + steps(c), x(c + 1) ), the last one with x(0). The result of a lane is the exclusive
or of its chains.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

PERIOD = 61
"""Work-items this far apart do the same."""

Ints = npt.NDArray[np.int32]


def peak_values(
    n_items: int, width: int, rounds: int, start: Ints, steps: Ints, check: Callable[[], None] = lambda: None
) -> Ints:
    """Return the result of every lane (int32[n_items * width]) for chains given as int32[C]."""
    lanes = np.arange(n_items * width)
    numbers, which = np.unique(lanes % width + lanes // width % PERIOD, return_inverse=True)
    chains = [numbers.astype(np.int32) + first for first in start]
    for _ in range(rounds):
        check()
        for c, step in enumerate(steps):
            chains[c] = np.maximum(chains[c] + step, chains[(c + 1) % len(chains)])
    results: Ints = np.bitwise_xor.reduce(chains)[which]
    return results
