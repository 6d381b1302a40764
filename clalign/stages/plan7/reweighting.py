"""A model's scores with a potential added to every state, so that fewer of them are left to add.

The rank of paths does not change if every state has a potential, and every step from u to v costs
what it did plus the potential of u less that of v (Johnson's reweighting of shortest paths). Here
the potentials are chosen so that three of nine kinds of steps cost nothing:

* M to the end: the best M of a row *is* the best way out of the model;
* M to I, and D to D: an insert opens for nothing, and a chain of deletes is a plain maximum.

Steps that cannot be taken get a finite penalty beyond anything that a path can gain, so sums need no
clamping. All this is exact for the models that HMMER2 writes; `reweighted` returns None for others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.values.profiles import DD, DM, II, IM, IMPOSSIBLE, MD, MI, MM, IntegerProfile

Row = npt.NDArray[np.int64]

NEVER = -(2**28)
"""Below every score that matters; a sum with one or two of them still fits 32 bits."""

LOST = IMPOSSIBLE // 2
"""Scores below this stand for impossible steps."""

MAX_SCORE = 2**26
"""Scores of a model that is reweighted are smaller than this."""

LOCAL_BEGIN = -20_000
"""A model of which every node begins with a better score than this is one for local alignments."""

MAX_INSERTS = 2**17
"""Limit of the inserts that the penalties outweigh, if a long insert gains anything."""

UNLIMITED = 2**31 - 1


class ReweightedScores(Struct, frozen=True):
    """The scores of a model of M nodes, reweighted; node k is at [k - 1].

    Attributes
    ----------
    begin : int64[M]
        B to M, from a B of 0.
    match_to_match, insert_to_match, delete_to_match, match_to_delete : int64[M]
        Steps to the next node; `NEVER` at the last one.
    insert_to_insert : int64[M]
    match, insert : int64[N_CODES, M]
        Emissions, as they were.
    longest : int
        Sequences up to this length are scored exactly.
    is_local : bool
        Whether every node can begin for little.
    start : int
        N to B: the value of B as long as J plays no part.
    again : int
        From the end of one copy of the model to the begin of the next, through J.
    leave : int
        From the end to the score of the sequence.
    """

    begin: Row
    match_to_match: Row
    insert_to_match: Row
    delete_to_match: Row
    insert_to_insert: Row
    match_to_delete: Row
    match: npt.NDArray[np.int64]
    insert: npt.NDArray[np.int64]
    longest: int
    is_local: bool
    start: int
    again: int
    leave: int

    @property
    def single(self) -> int:
        """The best way out of the model up to which J plays no part (plan7 specification, 4.2)."""
        return self.start - self.again

    @property
    def fits_16_bits(self) -> bool:
        """Whether the emissions, not the sums, fit 16 bits."""
        return bool(max(np.abs(self.match).max(), np.abs(self.insert).max()) < 2**15)


def reweighted(profile: IntegerProfile) -> ReweightedScores | None:
    """Return the reweighted scores of a model, or None if it is not one of those for which that is exact.

    What is asked: loops of N and C (and of J, if it can be reached) cost nothing, and every node can
    begin and emit everything.
    """
    m, special = profile.length, profile.special
    can_repeat = special.e_loop > LOST and special.j_move > LOST
    begin = profile.begin[1:].astype(np.int64)
    match, insert = profile.match[:, 1:].astype(np.int64), profile.insert[:, 1:].astype(np.int64)
    insert[:, m - 1] = 0
    if special.n_loop or special.c_loop or (can_repeat and special.j_loop):
        return None
    if min(special.n_move, special.e_move, special.c_move, begin.min(), match.min(), insert.min()) < -MAX_SCORE:
        return None
    leaving = {kind: profile.transitions[kind, 1:].astype(np.int64) for kind in (MM, MI, MD, IM, II, DM, DD)}
    penalty = _penalty(leaving, match, insert, begin)
    for scores in leaving.values():
        scores[scores < LOST] = -penalty
        scores[m - 1] = -penalty
    leaving[MI][m - 1] = leaving[DD][m - 1] = leaving[II][m - 1] = 0
    of_match = -np.where(profile.end[1:] < LOST, -penalty, profile.end[1:].astype(np.int64))
    of_insert = of_match + leaving[MI]
    of_delete = np.cumsum(leaving[DD]) - leaving[DD]
    next_match, next_delete = np.append(of_match[1:], 0), of_delete + leaving[DD]
    steps = {
        "begin": begin - of_match,
        "match_to_match": leaving[MM] + of_match - next_match,
        "insert_to_match": leaving[IM] + of_insert - next_match,
        "delete_to_match": leaving[DM] + of_delete - next_match,
        "insert_to_insert": leaving[II],
        "match_to_delete": leaving[MD] + of_match - next_delete,
    }
    for name in ("match_to_match", "insert_to_match", "delete_to_match", "match_to_delete"):
        steps[name][m - 1] = NEVER
    if max(int(np.abs(values).max()) for values in steps.values()) > -NEVER:
        return None
    again = special.e_loop + special.j_move if can_repeat else 4 * NEVER
    longest = MAX_INSERTS if _insert_gain(profile.transitions[II, 1:], insert) else UNLIMITED
    return ReweightedScores(
        **steps, match=match, insert=insert, longest=longest, is_local=bool(begin.min() > LOCAL_BEGIN),
        start=special.n_move, again=again, leave=special.e_move + special.c_move,
    )  # fmt: skip


def _insert_gain(insert_to_insert: npt.NDArray[np.integer], insert: npt.NDArray[np.int64]) -> int:
    """Return the most that an insert gains with each residue after the first."""
    return max(0, int((insert_to_insert + insert.max(axis=0))[:-1].max(initial=0)))


def _penalty(leaving: dict[int, Row], match: npt.NDArray[np.int64], insert: npt.NDArray[np.int64], begin: Row) -> int:
    """Return more than any path can gain between two steps, begins included."""
    inner = {kind: np.append(scores[:-1], -1) for kind, scores in leaving.items()}
    matches = int(np.maximum(match.max(axis=0), 0).sum())
    inserts = int(np.maximum(insert.max(axis=0), 0).sum()) + _insert_gain(leaving[II], insert) * MAX_INSERTS
    steps = sum(max(0, int(scores.max())) for scores in inner.values()) * len(begin)
    return matches + inserts + steps - min(0, int(begin.min())) + 1_000_000
