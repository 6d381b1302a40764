"""Rows of HMMER3's Forward and Backward matrices in single precision, every sum in HMMER's order.

The order matters: random tracebacks (`clalign.reference.sampling`) and ties of alignments
(`clalign.reference.envelope`) hang on the last bits. Nodes are striped over four lanes: node
``lane * Q + q + 1`` is at ``[q, lane]`` of arrays of shape ``[Q, 4]``, and so

* the sum over all nodes runs over q within each lane, first over M, then over D; then the lanes are
  added pairwise, (0 + 1) + (2 + 3);
* deletes go through each lane once; what leaves a lane enters the next and is added on its way
  through it, in three more rounds.

The recurrences are those of `clalign.reference.forward`; Backward is its mirror image, with each row
divided by what Forward divided it by.

References
----------
Farrar, Bioinformatics 23, 156-161 (2007): the striped layout.
Eddy, PLoS Comput. Biol. 7, e1002195 (2011): sparse rescaling of Forward and Backward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from clalign.values.local_profiles import LANES, StripedOdds

Floats = npt.NDArray[np.float32]

MAX_SUM = np.float32(1e4)
"""A row with a larger E is divided by it."""

MAX_BEGIN = np.float32(1e16)
"""Once B of a Backward row is larger, Backward divides its rows by terms of its own."""

MIN_NORMAL = np.finfo(np.float32).tiny
"""Smaller numbers count as 0 in searches; hmmalign keeps them."""

ROWS_BETWEEN_CHECKS = 200

ONE = np.float32(1)


def normal(values: Any, least: np.float32 = MIN_NORMAL) -> Any:
    """Return numbers that are not negative with 0 for those below the normal ones, as HMMER has its processor do.

    It matters: what is too small next to a great score may be what a later one begins with.
    """
    return values * (values >= least)


def times(a: Any, b: Any) -> Any:
    """Return products as `normal` has them; sums of such need no care."""
    return normal(a * b)


class Ends(Struct, frozen=True):
    """Probabilities outside the model: `move` and `loop` of N, C and J, and from E to C and to J.

    Numbers below `least` count as 0.
    """

    move: np.float32
    loop: np.float32
    e_to_c: np.float32
    e_to_j: np.float32
    least: np.float32 = MIN_NORMAL

    def normal(self, values: Any) -> Any:
        """Return numbers with 0 for those that are too small."""
        return normal(values, self.least)

    def times(self, a: Any, b: Any) -> Any:
        """Return products as `normal` has them: most of what is computed, so written out."""
        product = a * b
        return product * (product >= self.least)


def multi_hit(length: int) -> Ends:
    """Return the probabilities for targets of a length which may hold several domains."""
    move = np.float32(3) / (np.float32(length) + np.float32(3))
    return Ends(move, ONE - move, np.float32(0.5), np.float32(0.5))


def single_hit(length: int, least: np.float32 = MIN_NORMAL) -> Ends:
    """Return the probabilities for one domain in a target of a length."""
    move = np.float32(2) / (np.float32(length) + np.float32(2))
    return Ends(move, ONE - move, ONE, np.float32(0), least)


class Row(Struct, frozen=True):
    """One row: M, I, D (float32[Q, 4]), the special states, and what the row was divided by."""

    m: Floats
    i: Floats
    d: Floats
    n: np.float32
    e: np.float32
    j: np.float32
    b: np.float32
    c: np.float32
    scale: np.float32


def shift_up(vector: Floats) -> Floats:
    """Return the lanes of a vector moved up by one (float32[4]), 0 first."""
    shifted = np.zeros(LANES, np.float32)
    shifted[1:] = vector[:-1]
    return shifted


def shift_down(vector: Floats) -> Floats:
    """Return the lanes of a vector moved down by one (float32[4]), 0 last."""
    shifted = np.zeros(LANES, np.float32)
    shifted[:-1] = vector[1:]
    return shifted


def before(vectors: Floats) -> Floats:
    """Return for each node the value of the node before it."""
    return np.concatenate([shift_up(vectors[-1])[None], vectors[:-1]])


def after(vectors: Floats) -> Floats:
    """Return for each node the value of the node after it."""
    return np.concatenate([vectors[1:], shift_down(vectors[0])[None]])


def total(vectors: Floats) -> np.float32:
    """Return the sum of all values (float32[n, 4]) in HMMER's order."""
    lanes = np.add.accumulate(vectors, axis=0, dtype=np.float32)[-1]
    return np.float32((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]))


def _further_rounds(d: Floats, entering: Floats, factors: Floats, ends: Ends) -> None:
    """Add to D what enters each lane from the others, in place (from the second lane before it on)."""
    for _ in range(LANES - 1):
        walk = np.concatenate([shift_up(entering)[None], factors])
        chain = ends.normal(np.multiply.accumulate(walk, axis=0, dtype=np.float32))
        d += chain[:-1]
        entering = chain[-1]


def _further_rounds_back(d: Floats, entering: Floats, factors: Floats, ends: Ends) -> None:
    """Do the same against the direction of the nodes, where each step is paid before a node and not after it."""
    for _ in range(LANES - 1):
        walk = np.concatenate([shift_down(entering)[None], factors[::-1]])
        chain = ends.normal(np.multiply.accumulate(walk, axis=0, dtype=np.float32))
        d += chain[:0:-1]
        entering = chain[-1]


def forward_start(odds: StripedOdds, ends: Ends) -> Row:
    """Return row 0."""
    nothing, zero = np.zeros_like(odds.begin), np.float32(0)
    return Row(nothing, nothing, nothing, ONE, zero, zero, ends.move, zero, ONE)


def forward_next(row: Row, code: int, odds: StripedOdds, ends: Ends) -> Row:
    """Return the row that follows on a residue with this letter code."""
    m = ends.times(row.b, odds.begin) + ends.times(before(row.m), odds.mm)
    m = m + ends.times(before(row.i), odds.im) + ends.times(before(row.d), odds.dm)
    m = ends.times(m, odds.emissions[code])
    i = ends.times(row.m, odds.mi) + ends.times(row.i, odds.ii)
    d = before(ends.times(m, odds.md))
    leaving = d[0].copy()
    d[0] = 0
    for at_q, factor in zip(d, odds.dd, strict=True):
        at_q += leaving
        leaving = ends.times(at_q, factor)
    _further_rounds(d, leaving, odds.dd, ends)
    e = total(np.concatenate([m, d]))
    n = ends.times(row.n, ends.loop)
    c = ends.times(row.c, ends.loop) + ends.times(e, ends.e_to_c)
    j = ends.times(row.j, ends.loop) + ends.times(e, ends.e_to_j)
    b = ends.times(j, ends.move) + ends.times(n, ends.move)
    undivided = Row(m, i, d, n, e, j, b, c, ONE)
    return undivided if e <= MAX_SUM else replace(_scaled(undivided, e, ends), e=ONE)


def forward_rows(
    codes: npt.NDArray[np.uint8], odds: StripedOdds, ends: Ends, check: Callable[[], None] = lambda: None
) -> Iterator[Row]:
    """Yield rows 0 to L for letter codes (uint8[L]); `check` may end a long computation."""
    row = forward_start(odds, ends)
    yield row
    for x, code in enumerate(codes):
        if x % ROWS_BETWEEN_CHECKS == 0:
            check()
        row = forward_next(row, int(code), odds, ends)
        yield row


def forward_score(last: np.float32, scales: Floats, ends: Ends) -> float:
    """Return the score in nats from the last C and what the rows were divided by (float32[L + 1])."""
    logarithms = np.float32(0)
    for scale in scales[scales > 1]:
        logarithms = np.float32(float(logarithms) + math.log(float(scale)))
    ending = float(np.float32(last * ends.move))
    return float(np.float32(float(logarithms) + math.log(ending))) if ending > 0 else -math.inf


def _scaled(row: Row, scale: np.float32, ends: Ends) -> Row:
    if scale <= 1:
        return row
    r = ONE / scale
    n, e, j, b, c = (ends.normal(value / scale) for value in (row.n, row.e, row.j, row.b, row.c))
    return Row(ends.times(row.m, r), ends.times(row.i, r), ends.times(row.d, r), n, e, j, b, c, scale)


def _backward_end(odds: StripedOdds, ends: Ends) -> Row:
    """Return row L before it is divided."""
    zero = np.float32(0)
    e = ends.times(ends.move, ends.e_to_c)
    d = np.full_like(odds.dd, e)
    leaving = shift_down(d[0])
    for q in range(len(d) - 1, -1, -1):
        into_next = ends.times(leaving, odds.dd[q])
        d[q] = d[q] + into_next
        leaving = d[q]
    _further_rounds_back(d, into_next, odds.dd, ends)
    m = e + ends.times(after(d), odds.md)
    return Row(m, np.zeros_like(m), d, zero, e, zero, zero, ends.move, ONE)


def _backward_before(row: Row, code: int, odds: StripedOdds, ends: Ends) -> Row:
    """Return the row before one whose residue has this letter code, before it is divided."""
    emitted = ends.times(row.m, odds.emissions[code])
    following = after(emitted)
    i = ends.times(row.i, odds.ii) + ends.times(following, after(odds.im))
    d = ends.times(following, after(odds.dm))
    m = ends.times(row.i, odds.mi) + ends.times(following, after(odds.mm))
    b = total(ends.times(emitted, odds.begin)[::-1])
    c = ends.times(row.c, ends.loop)
    j = ends.times(b, ends.move) + ends.times(row.j, ends.loop)
    n = ends.times(b, ends.move) + ends.times(row.n, ends.loop)
    e = ends.times(c, ends.e_to_c) + ends.times(j, ends.e_to_j)
    leaving = shift_down(d[0] + e)
    for at_q, factor in zip(d[::-1], odds.dd[::-1], strict=True):
        into_next = ends.times(leaving, factor)
        at_q += into_next + e
        leaving = at_q
    m = m + e
    _further_rounds_back(d, into_next, odds.dd, ends)
    m = m + ends.times(after(d), odds.md)
    return Row(m, i, d, n, e, j, b, c, ONE)


def _backward_start(row: Row, code: int, odds: StripedOdds, ends: Ends) -> Row:
    """Return row 0, where only N and B are possible."""
    zero = np.float32(0)
    b = total(ends.times(ends.times(row.m, odds.emissions[code]), odds.begin))
    n = ends.times(b, ends.move) + ends.times(row.n, ends.loop)
    return Row(np.zeros_like(row.m), np.zeros_like(row.m), np.zeros_like(row.m), n, zero, zero, b, zero, ONE)


def backward_rows(
    codes: npt.NDArray[np.uint8],
    scales: Floats,
    odds: StripedOdds,
    ends: Ends,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """Yield rows L to 0 for letter codes (uint8[L]).

    Parameters
    ----------
    codes : uint8[L]
    scales : float32[L + 1]
        What Forward divided its rows by.
    odds : StripedOdds
    ends : Ends
    check : callable
        May end a long computation.
    """
    own = False
    row = _scaled(_backward_end(odds, ends), scales[-1], ends)
    yield row
    for x in range(len(codes) - 1, 0, -1):
        if x % ROWS_BETWEEN_CHECKS == 0:
            check()
        row = _backward_before(row, int(codes[x]), odds, ends)
        own = own or bool(row.b > MAX_BEGIN)
        row = _scaled(row, (row.b if row.b > MAX_SUM else ONE) if own else scales[x], ends)
        yield row
    yield _backward_start(row, int(codes[0]), odds, ends)
