"""Plan7 Viterbi with HMMER2's integer scores: the plain form that every kernel must equal.

For residue i = 1..L and node k = 1..M, all values clamped from below to `IMPOSSIBLE`::

    M(i,k) = max( M(i-1,k-1) + MM(k-1), I(i-1,k-1) + IM(k-1), D(i-1,k-1) + DM(k-1), B(i-1) + begin(k) )
             + match(x_i, k)
    I(i,k) = max( M(i-1,k) + MI(k), I(i-1,k) + II(k) ) + insert(x_i, k)
    D(i,k) = max( M(i,k-1) + MD(k-1), D(i,k-1) + DD(k-1) )
    N(i) = N(i-1) + N.LOOP
    E(i) = max_k M(i,k) + end(k)
    J(i) = max( J(i-1) + J.LOOP, E(i) + E.LOOP )
    B(i) = max( N(i) + N.MOVE, J(i) + J.MOVE )
    C(i) = max( C(i-1) + C.LOOP, E(i) + E.MOVE )

The score is C(L) + C.MOVE.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile

ROWS_BETWEEN_CHECKS = 1000

Row = npt.NDArray[np.int64]


class ViterbiRow(Struct, frozen=True):
    """One row of the matrices: M, I, D (int64[M + 1], column 0 impossible) and the special states."""

    m: Row
    i: Row
    d: Row
    n: int
    e: int
    j: int
    b: int
    c: int


def first_row(profile: IntegerProfile) -> ViterbiRow:
    """Return row 0: nothing is possible but N and B."""
    nothing = np.full(profile.length + 1, IMPOSSIBLE, np.int64)
    start = max(IMPOSSIBLE, profile.special.n_move)
    return ViterbiRow(nothing, nothing, nothing, 0, IMPOSSIBLE, IMPOSSIBLE, start, IMPOSSIBLE)


def _shifted(row: Row) -> Row:
    shifted = np.empty_like(row)
    shifted[0], shifted[1:] = IMPOSSIBLE, row[:-1]
    return shifted


def next_row(before: ViterbiRow, code: int, profile: IntegerProfile) -> ViterbiRow:
    """Return the row that follows `before` on a residue with this letter code."""
    t, special = profile.transitions.astype(np.int64), profile.special
    inner = np.maximum(np.maximum(before.m + t[MM], before.i + t[IM]), before.d + t[DM])
    begun = before.b + profile.begin.astype(np.int64)
    m = np.maximum(np.maximum(_shifted(inner), begun) + profile.match[code], IMPOSSIBLE)
    m[0] = IMPOSSIBLE
    i = np.maximum(before.m + t[MI], before.i + t[II]) + profile.insert[code]
    i = np.maximum(i, IMPOSSIBLE)
    # D(k) = S(k) + max over j < k of M(j) + MD(j) - S(j+1), with S the running sum of DD.
    sums = np.cumsum(t[DD])
    opened = m + t[MD] - sums
    d = np.maximum(_shifted(np.maximum.accumulate(opened)) + sums - t[DD], IMPOSSIBLE)
    n = max(IMPOSSIBLE, before.n + special.n_loop)
    e = max(IMPOSSIBLE, int((m + profile.end)[1:].max()))
    j = max(IMPOSSIBLE, before.j + special.j_loop, e + special.e_loop)
    b = max(IMPOSSIBLE, n + special.n_move, j + special.j_move)
    c = max(IMPOSSIBLE, before.c + special.c_loop, e + special.e_move)
    return ViterbiRow(m, i, d, n, e, j, b, c)


def viterbi_rows(
    codes: npt.NDArray[np.uint8], profile: IntegerProfile, check: Callable[[], None] = lambda: None
) -> Iterator[ViterbiRow]:
    """Yield rows 0 to L for a sequence's letter codes (uint8[length]); `check` may end a long computation."""
    row = first_row(profile)
    yield row
    for i, code in enumerate(codes):
        if i % ROWS_BETWEEN_CHECKS == 0:
            check()
        row = next_row(row, int(code), profile)
        yield row


def viterbi_score(
    codes: npt.NDArray[np.uint8], profile: IntegerProfile, check: Callable[[], None] = lambda: None
) -> int:
    """Return the integer score of a sequence (1/1000 bit)."""
    (last,) = deque(viterbi_rows(codes, profile, check), maxlen=1)
    return last.c + profile.special.c_move
