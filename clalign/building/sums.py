"""Sums of which every bit counts, because a digit that is written hangs on it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", np.float32, np.float64)


def compensated_sum(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return sums over the last axis, one value after the other with the rounding errors added in again.

    References
    ----------
    Kahan, Commun. ACM 8, 40 (1965).
    """
    total = np.zeros(values.shape[:-1], values.dtype)
    lost = np.zeros_like(total)
    for place in range(values.shape[-1]):
        corrected = values[..., place] - lost
        after = total + corrected
        lost = (after - total) - corrected
        total = after
    return total


def normalized(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return values divided by their sum over the last axis, all alike where that is 0."""
    total = compensated_sum(values)[..., None]
    alike = np.full_like(values, values.dtype.type(1) / values.dtype.type(values.shape[-1]))
    return np.divide(values, total, out=alike, where=total != 0)
