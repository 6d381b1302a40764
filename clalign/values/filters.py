"""Limits of HMMER3's filters, and how many of them a target passed."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from clalign.values.evalues import MIN_NORMAL, exponential_survival, gumbel_survival
from clalign.values.local_scores import LN_2
from clalign.values.profiles import Calibration


class FilterLimits(Struct, frozen=True):
    """The P-values that let a target pass the filters, and whether the bias filter is used."""

    f1: float = 0.02
    f2: float = 1e-3
    f3: float = 1e-5
    bias: bool = True


class Passage(Struct, frozen=True):
    """The scores of a target in the filters, in nats; NaN where a filter was not run.

    `reached` counts the filters passed: MSV, bias, Viterbi (or left out), Forward.
    """

    msv: float
    bias: float
    viterbi: float
    forward: float
    reached: int


def pvalue(difference: np.float32, calibration: Calibration) -> float:
    """Return the P-value of a score above its null score, both in nats."""
    if math.isinf(difference):
        return 0.0 if difference > 0 else 1.0
    survival = gumbel_survival if calibration.kind == "gumbel" else exponential_survival
    return survival(float(np.float32(float(difference) / LN_2)), calibration.location, calibration.slope)


def least_difference(calibration: Calibration, limit: float) -> np.float32:
    """Return the least score above the null score, in nats, whose P-value does not exceed a limit.

    P-values fall with the score, so one comparison of floats stands for that of P-values.
    """
    if limit >= 1.0:
        return np.float32(-np.inf)
    if limit < MIN_NORMAL:  # where P-values are taken for 0
        depth = -math.log(MIN_NORMAL)
    else:
        depth = -math.log(-math.log1p(-limit)) if calibration.kind == "gumbel" else -math.log(limit)
    least = np.float32((calibration.location + depth / calibration.slope) * LN_2)
    while pvalue(least, calibration) > limit:
        least = np.nextafter(least, np.float32(np.inf))
    while pvalue(below := np.nextafter(least, np.float32(-np.inf)), calibration) <= limit:
        least = below
    return least
