"""Linear recurrences along an axis, computed for all places at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]


def chain_steps(factors: Doubles) -> list[Doubles]:
    """Return for distances 1, 2, 4 ... the product of the factors on the way to each node from so far before it."""
    steps, distance = [factors], 1
    while 2 * distance < len(factors):
        last = steps[-1]
        steps.append(last * np.concatenate([np.zeros(distance), last[:-distance]]))
        distance *= 2
    return steps


def chain(opened: Doubles, steps: list[Doubles]) -> Doubles:
    """Return x(k) = opened(k) + factor(k) x(k-1) for all k, by sums over distances 1, 2, 4 ..."""
    x = opened
    for power, step in enumerate(steps):
        x = x + step * np.concatenate([np.zeros(1 << power), x[: -(1 << power)]])
    return x
