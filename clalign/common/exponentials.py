"""Exponentials in single precision, as the C library of Linux rounds them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_POLYNOMIAL = tuple(float.fromhex(c) for c in ("0x1.c6af84b912394p-5", "0x1.ebfce50fac4f3p-3", "0x1.62e42ff0c52d6p-1"))


def exponential(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
    """Return e to the power of each number, 0 for minus infinity, with the last bit that HMMER's C library gives.

    On another last bit HMMER's random tracebacks would take other paths.

    References
    ----------
    Tang, ACM Trans. Math. Softw. 15, 144-157 (1989): tables of powers and a short polynomial; here
    with the 32 steps and the coefficients of Arm's optimized routines.
    """
    x = np.maximum(logs, -200.0).astype(np.float32).astype(np.float64) * (32 / np.log(2.0))
    steps = np.rint(x)
    r = (x - steps) / 32
    c0, c1, c2 = _POLYNOMIAL
    values = ((c0 * r + c1) * (r * r) + (c2 * r + 1.0)) * np.exp2(steps / 32)
    return np.where(np.isneginf(logs), 0.0, values).astype(np.float32)
