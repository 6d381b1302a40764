"""HMMER3's Viterbi filter with 16-bit scores: the plain form that every kernel must equal.

For residue i = 1..L and node k = 1..M, every sum saturated to 16 bits::

    M(i,k) = max( B(i-1) + begin(k), M(i-1,k-1) + MM(k-1), I(i-1,k-1) + IM(k-1), D(i-1,k-1) + DM(k-1) )
             + match(x_i, k)
    I(i,k) = max( M(i-1,k) + MI(k), I(i-1,k) + II(k) )
    D(i,k) = max( M(i,k-1) + MD(k-1), D(i,k-1) + DD(k-1) )
    E(i) = max_k M(i,k)
    C(i) = max( C(i-1), E(i) + E.MOVE )        J(i) likewise
    B(i) = max( N + MOVE, J(i) + MOVE )        N stays at the base

The score is C(L) + MOVE; it is infinite once an E is 32767.

References
----------
Eddy, PLoS Comput. Biol. 7, e1002195 (2011): the filters of HMMER3.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.values.local_profiles import LocalProfile, word_scores
from clalign.values.local_scores import (
    LOOP_COST,
    MAX_WORD,
    NEVER_WORD,
    WORD_BASE,
    WORD_E_MOVE,
    WORD_SCALE,
    length_terms,
)
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM

ROWS_BETWEEN_CHECKS = 1000

Row = npt.NDArray[np.int64]


def _sum(a: Row | int, b: Row) -> Row:
    return np.minimum(np.maximum(a + b, NEVER_WORD), MAX_WORD)  # much faster than clip for rows as short as these


def _shifted(row: Row) -> Row:
    shifted = np.empty_like(row)
    shifted[0], shifted[1:] = NEVER_WORD, row[:-1]
    return shifted


def viterbi_filter_score(
    codes: npt.NDArray[np.uint8], profile: LocalProfile, check: Callable[[], None] = lambda: None
) -> float:
    """Return the Viterbi filter's score of a sequence in nats.

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
        Infinite on overflow, minus infinity if nothing can be matched, not a number without residues.
    """
    if len(codes) == 0:
        return math.nan
    scores = word_scores(profile)
    match, t = scores.match.astype(np.int64), scores.transitions.astype(np.int64)
    begin = scores.begin.astype(np.int64)
    # D(k) = S(k) + max over j < k of M(j) + MD(j) - S(j+1), with S the running sum of DD, which is never positive.
    sums = np.cumsum(t[DD])
    entering, leaving = sums - t[DD], t[MD] - sums
    move = int(length_terms(np.array([len(codes)])).word_move[0])
    m = i = d = np.full(profile.length + 1, NEVER_WORD, np.int64)
    b, c = WORD_BASE + move, NEVER_WORD
    for row, code in enumerate(codes):
        if row % ROWS_BETWEEN_CHECKS == 0:
            check()
        from_left = np.maximum(_sum(m, t[MM]), np.maximum(_sum(i, t[IM]), _sum(d, t[DM])))
        inserted = np.maximum(_sum(m, t[MI]), _sum(i, t[II]))
        m = _sum(np.maximum(_sum(b, begin), _shifted(from_left)), match[code])
        i = inserted
        d = np.maximum(_shifted(np.maximum.accumulate(m + leaving)) + entering, NEVER_WORD)
        e = int(m.max())
        if e >= MAX_WORD:
            return math.inf
        c = max(c, e + WORD_E_MOVE)  # J has the same value
        b = max(WORD_BASE, c) + move
    return word_score(c, move)


def word_score(c: int, move: int) -> float:
    """Return the score in nats that the 16-bit values of C and of its MOVE stand for."""
    if c == NEVER_WORD:
        return -math.inf
    return float(np.float32(c + move - WORD_BASE) / WORD_SCALE - LOOP_COST)
