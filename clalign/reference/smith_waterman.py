"""The best score of two sequences, one residue of the target at a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.values.scoring import PairwiseQuery

NEVER = -(2**40)


def pair_score(query: PairwiseQuery, target: npt.NDArray[np.uint8]) -> int:
    """Return the score of the best alignment of a query and a target.

    Parameters
    ----------
    query : PairwiseQuery
        At least one residue long, like the target, or the score is that of gaps alone.
    target : uint8[n]
        Letter codes.

    Returns
    -------
    int
        For ``local`` and ``ungapped`` at least 0.

    References
    ----------
    Smith and Waterman, J. Mol. Biol. 147, 195 (1981); Gotoh, J. Mol. Biol. 162, 705 (1982).
    """
    scoring, m, n = query.scoring, query.length, len(target)
    gaps, floor = scoring.gaps, 0 if scoring.is_local else NEVER
    is_global = scoring.mode == "global"
    if m == 0 or n == 0:
        return -gaps.of(m + n) if is_global else 0
    letters = query.profile.T.astype(np.int64)
    slope = gaps.next * np.arange(m + 1)
    closing = gaps.next - gaps.first - slope[1:]
    # Row -1 of every array is the border before the first residue of the query.
    score = np.array([-gaps.of(i) if is_global else 0 for i in range(m + 1)], np.int64)
    gap_in_query = np.full(m + 1, NEVER, np.int64)  # target residues without partner
    best = np.full(m + 1, floor, np.int64)
    for j, code in enumerate(target):
        before, score = score, np.empty(m + 1, np.int64)
        score[0] = -gaps.of(j + 1) if is_global else 0
        inner = score[1:]
        np.maximum(before[:-1] + letters[code], floor, out=inner)
        if scoring.mode != "ungapped":
            gap_in_query = np.maximum(gap_in_query - gaps.next, before - gaps.first)
            np.maximum(inner, gap_in_query[1:], out=inner)
            # The gap that ends at i began at the k < i where score[k] + slope[k] is highest.
            np.maximum(inner, np.maximum.accumulate(score + slope)[:-1] + closing, out=inner)
        np.maximum(best, score, out=best)
    if is_global:
        return int(score[m])
    return int(best.max() if scoring.is_local else max(best[m], score[1:].max()))
