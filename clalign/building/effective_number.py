"""How many independent sequences the rows of an alignment count as."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.building.counts import Counts
from clalign.building.priors import Prior, match_probabilities
from clalign.errors import OptionError

NUMBER_TOLERANCE, RELATIVE_TOLERANCE = 0.01, 1e-12
"""How near the bisection comes to the number of sequences: by this much, or by this share of it."""

EXPONENT_TOLERANCE = 0.001
"""How near the bisection comes to the power of the counts."""

MAX_STEPS = 100

TARGETS = {"amino": 0.59, "dna": 0.62, "rna": 0.62}
"""Mean relative entropy of the match states that is aimed at, at least (bits)."""


def relative_entropy(match: npt.NDArray[np.float32], background: npt.NDArray[np.float32]) -> float:
    """Return the mean relative entropy of match states, whose emissions are given (float32[n, K]), in bits."""
    per_node = np.zeros(len(match), np.float32)
    for residue in range(match.shape[1]):
        p = match[:, residue]
        odds = np.where(p > 0, p / background[residue], np.float32(1)).astype(np.float64)
        terms = p.astype(np.float64) * np.log2(odds)
        per_node = (per_node.astype(np.float64) + terms).astype(np.float32)
    return float(np.add.accumulate(per_node.astype(np.float64))[-1]) / len(per_node)


def target_entropy(n_nodes: int, least: float, sigma: float) -> float:
    """Return the mean relative entropy to aim at: more in short models, so that all have enough in total (bits)."""
    pairs = float(n_nodes) * float(n_nodes + 1)
    return max(least, (sigma - 1.44269504088896341 * math.log(2.0 / pairs)) / n_nodes)


def by_entropy(
    counts: Counts, n_rows: int, background: npt.NDArray[np.float32], prior: Prior | None, target: float
) -> float:
    """Return the number of sequences with which the mean relative entropy comes down to a target.

    Parameters
    ----------
    counts : Counts
        Of `n_rows` sequences.
    n_rows : int
    background : float32[K]
    prior : Prior or None
    target : float
        Bits.

    Raises
    ------
    OptionError
        If no number of sequences has so little.

    References
    ----------
    Johnson, Remote protein homology detection using hidden Markov models, thesis, Washington University (2006).
    """

    def excess(number: float) -> float:
        match = match_probabilities(counts.match[1:] * np.float32(number / n_rows), prior)
        return relative_entropy(match, background) - target

    return _where_zero(excess, float(n_rows), NUMBER_TOLERANCE)


def exponent_by_entropy(
    counts: Counts, background: npt.NDArray[np.float32], prior: Prior | None, target: float
) -> float:
    """Return the power of the counts of nodes with which the mean relative entropy comes down to a target.

    Arguments and errors are those of `by_entropy`.
    """

    def excess(exponent: float) -> float:
        match = match_probabilities(counts.powered(exponent).match[1:], prior)
        return relative_entropy(match, background) - target

    return _where_zero(excess, 1.0, EXPONENT_TOLERANCE)


def _where_zero(excess: Callable[[float], float], high: float, tolerance: float) -> float:
    """Return where a rising function is zero, from 0 to `high`, or `high` if it is below zero there."""
    low = 0.0
    if excess(high) <= 0.0:
        return high
    if excess(low) >= 0.0:
        raise OptionError(
            "The mean relative entropy that is asked for is less than this profile can have.",
            "Choose a larger one (--ere), or another effective number (--enone, --eset).",
        )
    for _ in range(MAX_STEPS):
        middle = (low + high) / 2.0
        found = excess(middle)
        if found == 0.0 or high - low < tolerance + RELATIVE_TOLERANCE * middle:
            break
        if found < 0.0:
            low = middle
        else:
            high = middle
    return middle
