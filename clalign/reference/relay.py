"""Groups that pass numbers on: the plain form of the kernel that shows whether groups wait for each other.

Round r makes of the number x that the next group's work-item has the number 1664525 x + 1013904223 + r, modulo 2^32;
the last group is followed by the first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.uint32]


def relayed(numbers: Numbers, rounds: int, check: Callable[[], None] = lambda: None) -> Numbers:
    """Return the numbers of the groups (uint32[n_groups, size]) after some rounds."""
    found = numbers.copy()
    for number in range(rounds):
        check()
        found = np.roll(found, -1, axis=0) * np.uint32(1664525) + np.uint32((1013904223 + number) % 2**32)
    return found
