"""HMMER3's Forward score in double precision: the plain form that every kernel must come near to.

Odds ratios and probabilities; insertions emit with odds of 1. For residue i = 1..L and node k = 1..M::

    M(i,k) = ( B(i-1) begin(k) + M(i-1,k-1) MM(k-1) + I(i-1,k-1) IM(k-1) + D(i-1,k-1) DM(k-1) ) match(x_i,k)
    I(i,k) = M(i-1,k) MI(k) + I(i-1,k) II(k)
    D(i,k) = M(i,k-1) MD(k-1) + D(i,k-1) DD(k-1)
    E(i) = sum_k M(i,k) + D(i,k)
    N(i) = N(i-1) LOOP
    C(i) = C(i-1) LOOP + E(i) / 2              J(i) likewise
    B(i) = ( N(i) + J(i) ) MOVE

The score is the logarithm of C(L) MOVE. A row whose E is large is divided by it.

References
----------
Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis (1998), 3.2 and 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.values.local_profiles import LocalProfile, odds
from clalign.values.local_scores import length_terms
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM
from clalign.values.sums import chain, chain_steps

MAX_SUM = 1e4
"""A row with a larger E is divided by it."""

ROWS_BETWEEN_CHECKS = 1000

Row = npt.NDArray[np.float64]


def _shifted(row: Row) -> Row:
    shifted = np.empty_like(row)
    shifted[0], shifted[1:] = 0.0, row[:-1]
    return shifted


def forward_score(
    codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Callable[[], None] = lambda: None
) -> float:
    """Return the Forward score of a sequence in nats.

    Parameters
    ----------
    codes : uint8[L]
        Letter codes.
    profile : LocalProfile
    check : callable
        Called now and then; it may end a long computation.

    Returns
    -------
    float
        Minus infinity if nothing can be matched, not a number without residues.
    """
    if len(codes) == 0:
        return math.nan
    ratios = odds(profile)
    match, t = ratios.match.astype(np.float64), ratios.transitions.astype(np.float64)
    begin = ratios.begin.astype(np.float64)
    steps = chain_steps(_shifted(t[DD]))
    single = length_terms(np.array([len(codes)])).move[0]
    # The complement is rounded, too, or long sequences would differ from HMMER's single precision.
    move, loop = float(single), float(np.float32(1) - single)
    m = i = d = np.zeros(profile.length + 1)
    n, b, c, total = 1.0, move, 0.0, 0.0
    for row, code in enumerate(codes):
        if row % ROWS_BETWEEN_CHECKS == 0:
            check()
        inserted = m * t[MI] + i * t[II]
        m = (b * begin + _shifted(m * t[MM] + i * t[IM] + d * t[DM])) * match[code]
        i = inserted
        d = chain(_shifted(m * t[MD]), steps)
        e = float(m.sum() + d.sum())
        n *= loop
        c = c * loop + e / 2  # J has the same value
        b = (n + c) * move
        if e > MAX_SUM:
            m, i, d = m / e, i / e, d / e
            n, b, c = n / e, b / e, c / e
            total += math.log(e)
    return total + math.log(c * move) if c > 0 else -math.inf
