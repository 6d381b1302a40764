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
    profile = query.profile.astype(np.int64)
    slope = gaps.next * np.arange(m + 1)
    # Row -1 of every array is the border before the first residue of the query.
    score = np.array([-gaps.of(i) if is_global else 0 for i in range(m + 1)], np.int64)
    gap_in_query = np.full(m + 1, NEVER, np.int64)  # target residues without partner
    best = 0 if scoring.is_local else NEVER
    for j, code in enumerate(target):
        diagonal = score[:-1] + profile[:, code]
        border = -gaps.of(j + 1) if is_global else 0
        if scoring.mode == "ungapped":
            score = np.append(border, np.maximum(diagonal, floor))
        else:
            gap_in_query = np.maximum(gap_in_query - gaps.next, score - gaps.first)
            score = np.append(border, np.maximum(np.maximum(diagonal, gap_in_query[1:]), floor))
            # The gap that ends at i began at the k < i where score[k] + slope[k] is highest.
            opened = np.maximum.accumulate(score + slope)[:-1] - gaps.first + gaps.next - slope[1:]
            score[1:] = np.maximum(score[1:], opened)
        if scoring.is_local:
            best = max(best, int(score[1:].max()))
        elif scoring.mode == "semiglobal":
            best = max(best, int(score[m]), int(score[1:].max()) if j == n - 1 else NEVER)
    return int(score[m]) if is_global else best
