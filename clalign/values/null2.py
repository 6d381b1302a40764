"""Scores of residues under the composition of a domain (null2), and their sums, in HMMER's order of roundings.

Whether a printed digit is HMMER's may hang on the last bit: a score is added once for each residue that has it, so an
error of half a unit in the last place of one letter's score becomes one of several units in the bias of a domain.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from clalign.values.sums import compensated_sum

Floats = npt.NDArray[np.float32]

FEW = 12
"""Up to this many rows are summed one by one rather than side by side."""

_MIN_MANTISSA = np.uint32(0x3F330000)
"""Mantissas are taken from 0.69921875 (this number's bits) to twice that, in 16 parts."""

_POLYNOMIAL = (-0.25089342214237154, 0.333456765744066, -0.4999997485802103)


def _inverses() -> npt.NDArray[np.float64]:
    """Return of each part 1 by the number that its logarithms are taken from: the middle of all its numbers."""
    ends = (_MIN_MANTISSA + np.arange(17, dtype=np.uint32) * np.uint32(1 << 19)).view(np.float32)
    last = np.nextafter(ends[1:], np.float32(0))
    inverses: npt.NDArray[np.float64] = 2 / (ends[:-1].astype(np.float64) + last)
    inverses[9:11] = 1.0, 0.9492859795739057  # the logarithm of the one is exact, that of the other all but exact
    return inverses


_INVERSES = _inverses()
_LOGARITHMS = np.array([-math.log(inverse) for inverse in _INVERSES.tolist()])


def null2_scores(ratios: Floats) -> Floats:
    """Return natural logarithms of ratios, rounded as HMMER has them on Linux.

    HMMER takes the C library's ``logf``. That of GNU (since 2.27) and of musl is computed in double precision from a
    table and a polynomial of the third degree, and is not the nearest number for 1 of 140 arguments. It is computed
    here in the same way, so that every system and every device gives the same.

    Parameters
    ----------
    ratios : float32[...]
        How much likelier residues are in the composition of a domain than in the background.

    Returns
    -------
    float32[...]
        In nats.

    References
    ----------
    Arm Limited, Optimized Routines (2017): ``logf``.
    Tang, ACM Trans. Math. Softw. 16, 378-400 (1990): logarithms by a table.
    """
    bits = np.ascontiguousarray(ratios).view(np.uint32)
    beyond = bits - _MIN_MANTISSA
    part = (beyond >> np.uint32(19)) & np.uint32(15)
    exponent = beyond.view(np.int32) >> 23
    mantissa = (bits - (beyond & np.uint32(0xFF800000))).view(np.float32).astype(np.float64)
    cubic, square, linear = _POLYNOMIAL
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        r = mantissa * _INVERSES[part] - 1
        whole = (_LOGARITHMS[part] + exponent * math.log(2)) + r
        scores: Floats = ((cubic * (r * r) + (square * r + linear)) * (r * r) + whole).astype(np.float32)
        is_normal = (ratios >= np.finfo(np.float32).tiny) & np.isfinite(ratios)
        return scores if is_normal.all() else np.where(is_normal, scores, np.log(ratios))


def compensated_sums(values: Floats, bounds: npt.NDArray[np.int64]) -> Floats:
    """Return the sum of each row, one value after the other with the rounding errors added in again.

    Parameters
    ----------
    values : float32[bounds[-1]]
    bounds : int64[n + 1]
        Where each row begins, and the end of the last.

    Returns
    -------
    float32[n]

    References
    ----------
    Kahan, Commun. ACM 8, 40 (1965).
    """
    counts_too = values != 0  # two zeros on end leave sum and error as they are, so more need not be added
    counts_too[1:] |= values[:-1] != 0
    counts_too[2:] |= values[:-2] != 0
    places = np.flatnonzero(counts_too)
    begins = np.searchsorted(places, bounds)
    values, longest_first = values[places], np.argsort(begins[:-1] - begins[1:], kind="stable")
    lengths, begins = np.diff(begins)[longest_first], begins[:-1][longest_first]
    total, lost = np.zeros((2, len(lengths)), np.float32)
    n_rows = np.searchsorted(-lengths, -np.arange(int(lengths.max(initial=0)) + 1), side="left")  # longer than that
    n_steps = int(np.count_nonzero(n_rows > FEW))
    for step, n in enumerate(n_rows[:n_steps].tolist()):
        added = values[begins[:n] + step] - lost[:n]
        after = total[:n] + added
        lost[:n] = (after - total[:n]) - added
        total[:n] = after
    for row in range(int(n_rows[n_steps]) if n_steps < len(n_rows) else 0):
        first, last = int(begins[row]) + n_steps, int(begins[row] + lengths[row])
        total[row] = compensated_sum(values[first:last], total[row], lost[row])
    sums = np.empty_like(total)
    sums[longest_first] = total
    return sums
