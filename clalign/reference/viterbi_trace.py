"""The best path of Plan7 Viterbi, walked back through the whole matrices in HMMER2's order of ties."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from clalign.reference.viterbi import ViterbiRow, next_row, viterbi_rows
from clalign.values.alignments import DomainPath
from clalign.values.profiles import IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile

MAX_KEPT_CELLS = 4_000_000
"""Limit of the cells (24 bytes each) of matrices that are kept whole."""


class MatrixRows:
    """The rows of the matrices of one sequence, for walking backwards.

    Small matrices are kept whole. Of large ones every n-th row is kept, n about the square root of the
    length, and the rows between two of them are computed again when the walk comes there.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.uint8],
        profile: IntegerProfile,
        check: Callable[[], None] = lambda: None,
        kept_cells: int = MAX_KEPT_CELLS,
    ) -> None:
        self._codes, self._profile, self._check = codes, profile, check
        small = len(codes) * profile.length <= kept_cells
        self._step = len(codes) + 1 if small else math.isqrt(len(codes))
        rows = viterbi_rows(codes, profile, check)
        self._block = list(rows) if small else []
        self._kept = [] if small else [row for i, row in enumerate(rows) if i % self._step == 0]
        self._block_number = 0 if small else -1

    @property
    def n_kept(self) -> int:
        """Rows that are held for good."""
        return len(self._kept) or len(self._block)

    def __getitem__(self, i: int) -> ViterbiRow:
        number, place = divmod(i, self._step)
        if number != self._block_number:
            self._check()
            row = self._kept[number]
            self._block, self._block_number = [row], number
            for code in self._codes[number * self._step : (number + 1) * self._step - 1]:
                row = next_row(row, int(code), self._profile)
                self._block.append(row)
        return self._block[place]


def viterbi_trace(
    codes: npt.NDArray[np.uint8], profile: IntegerProfile, check: Callable[[], None] = lambda: None
) -> list[DomainPath] | None:
    """Return the domains of the best path, in the order of the sequence.

    Of equally good predecessors the first in HMMER2's order of tests is taken: C before E into C; J
    before E into J; the highest node into E; B, M, I, D into M; M before D into D; M before I into I;
    N before J into B. A way out of or into the model that is 1 bit dearer unfolded went through the
    delete wing, whose states are then part of the path.

    Returns
    -------
    list of DomainPath or None
        None if the path meets an impossible state; such a sequence is not reported.
    """
    rows = MatrixRows(codes, profile, check)
    special = profile.special
    domains: list[DomainPath] = []
    i, c = len(codes), rows[len(codes)].c
    if c <= IMPOSSIBLE:
        return None
    while i > 0 and rows[i].c == rows[i - 1].c + special.c_loop:
        i -= 1
    while True:
        found = _trace_domain(rows, i, codes, profile)
        if found is None:
            return None
        path, i = found
        domains.insert(0, path)
        b, n = rows[i].b, rows[i].n
        if b <= IMPOSSIBLE or n <= IMPOSSIBLE:
            return None
        if b == n + special.n_move:
            return domains
        if rows[i].j <= IMPOSSIBLE:
            return None
        while i > 0 and rows[i].j == rows[i - 1].j + special.j_loop:
            i -= 1


def _trace_domain(
    rows: MatrixRows, i: int, codes: npt.NDArray[np.uint8], profile: IntegerProfile
) -> tuple[DomainPath, int] | None:
    """Trace from E(i) back to B; return the path and the row of that B."""
    t = profile.transitions
    if rows[i].e <= IMPOSSIBLE:
        return None
    k = int(np.flatnonzero(rows[i].m[1:] + profile.end[1:] == rows[i].e)[-1]) + 1
    states = wing_out(profile, k)
    state = "M"
    while i > 0 and k > 0:
        row, before = rows[i], rows[i - 1]
        value = int({"M": row.m, "I": row.i, "D": row.d}[state][k])
        emission = {"M": profile.match, "I": profile.insert}.get(state)
        entered = value if emission is None else value - int(emission[codes[i - 1], k])
        if min(value, entered) <= IMPOSSIBLE:
            return None
        states.append(state)
        if state == "D":
            k -= 1
            state = "M" if value == row.m[k] + t[MD, k] else "D"
            continue
        i -= 1
        if state == "I":
            state = "M" if entered == before.m[k] + t[MI, k] else "I"
            continue
        if entered == before.b + profile.begin[k]:
            states += wing_in(profile, k)
            first = 1 if states[-1] == "D" else k
            return DomainPath("".join(reversed(states)), first - 1, i), i
        k -= 1
        state = "M" if entered == before.m[k] + t[MM, k] else "I" if entered == before.i[k] + t[IM, k] else "D"
    return None  # only what is impossible leads out of the matrices


def wing_out(profile: IntegerProfile, k: int) -> list[str]:
    """Return the deletes D_k+1 ... D_M if the way from M_k to E went through them."""
    folded = profile.end_unfolded[k] + 1000 <= profile.end[k]
    return ["D"] * (profile.length - k) if folded else []


def wing_in(profile: IntegerProfile, k: int) -> list[str]:
    """Return the deletes D_k-1 ... D_1 if the way from B to M_k went through them."""
    folded = profile.begin_unfolded[k] + 1000 <= profile.begin[k]
    return ["D"] * (k - 1) if folded else []
