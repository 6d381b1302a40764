"""Sums of which every bit counts, because a digit that is written hangs on it, and linear recurrences."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", np.float32, np.float64)


def compensated_sum(
    values: npt.NDArray[Number],
    total: npt.NDArray[Number] | Number | None = None,
    lost: npt.NDArray[Number] | Number | None = None,
) -> npt.NDArray[Number]:
    """Return sums over the last axis, one value after the other with the rounding errors added in again.

    Parameters
    ----------
    values : float[..., n]
    total, lost : float[...], optional
        What was summed before, and its rounding errors.

    References
    ----------
    Kahan, Commun. ACM 8, 40 (1965).
    """
    zeros = np.zeros(values.shape[:-1], values.dtype)
    total, lost = zeros if total is None else total, zeros if lost is None else lost
    for value in np.moveaxis(values, -1, 0):
        corrected = value - lost
        after = total + corrected
        lost = (after - total) - corrected
        total = after
    return np.asarray(total)


def normalized(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return values divided by their sum over the last axis, all alike where that is 0."""
    total = compensated_sum(values)[..., None]
    alike = np.full_like(values, values.dtype.type(1) / values.dtype.type(values.shape[-1]))
    return np.divide(values, total, out=alike, where=total != 0)


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
    x = opened.copy()
    for power, step in enumerate(steps):
        distance = 1 << power
        x[distance:] += step[distance:] * x[:-distance]
    return x
