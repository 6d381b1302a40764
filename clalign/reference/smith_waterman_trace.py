"""The best alignment of two sequences, cell by cell with whole matrices: short, slow, obvious."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.reference.smith_waterman import NEVER
from clalign.values.pair_alignments import PairAlignment
from clalign.values.scoring import PairwiseQuery, Scoring

Cells = npt.NDArray[np.int64]


def pair_alignment(query: PairwiseQuery, target: npt.NDArray[np.uint8]) -> PairAlignment:
    """Return the best alignment of a query and a target.

    Of several with the same score: it ends in the cell nearest to the top left, which is the one on the first
    anti-diagonal, and of these the one with the fewest residues of the query; on the way back, two residues
    are preferred to a residue of the target alone, this to one of the query alone, and the opening of a gap
    to going on with it. A local alignment begins where its score is first 0 on the way back.

    Parameters
    ----------
    query : PairwiseQuery
    target : uint8[n]
        Letter codes.
    """
    scoring = query.scoring
    score, deleted, inserted = _matrices(query, target)
    i, j = end = _end(score, scoring)
    if scoring.is_local and score[end] <= 0:
        return PairAlignment(0, (0, 0), (0, 0), "")
    path: list[str] = []
    profile, gaps = query.profile.astype(np.int64), scoring.gaps
    state = "M"
    while _goes_on(i, j, score, scoring) or state != "M":
        if state == "M":
            if i and j and score[i, j] == score[i - 1, j - 1] + profile[i - 1, target[j - 1]]:
                path.append("M")
                i, j = i - 1, j - 1
            else:
                state = "D" if score[i, j] == deleted[i, j] else "I"
        elif state == "D":
            path.append("D")
            state = "M" if deleted[i, j] == score[i, j - 1] - gaps.first else "D"
            j -= 1
        else:
            path.append("I")
            state = "M" if inserted[i, j] == score[i - 1, j] - gaps.first else "I"
            i -= 1
    return PairAlignment(int(score[end]), (i, end[0]), (j, end[1]), "".join(reversed(path)))


def _matrices(query: PairwiseQuery, target: npt.NDArray[np.uint8]) -> tuple[Cells, Cells, Cells]:
    """Return the best scores that end in each cell, in a residue of the target alone, of the query alone."""
    scoring, m, n = query.scoring, query.length, len(target)
    gaps, profile = scoring.gaps, query.profile.astype(np.int64)
    score, deleted, inserted = (np.full((m + 1, n + 1), NEVER, np.int64) for _ in range(3))
    score[0, :] = score[:, 0] = 0
    if scoring.mode == "global":
        score[0, 1:] = deleted[0, 1:] = [-gaps.of(j) for j in range(1, n + 1)]
        score[1:, 0] = inserted[1:, 0] = [-gaps.of(i) for i in range(1, m + 1)]
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            best = score[i - 1, j - 1] + profile[i - 1, target[j - 1]]
            if scoring.mode != "ungapped":
                deleted[i, j] = max(deleted[i, j - 1] - gaps.next, score[i, j - 1] - gaps.first)
                inserted[i, j] = max(inserted[i - 1, j] - gaps.next, score[i - 1, j] - gaps.first)
                best = max(best, deleted[i, j], inserted[i, j])
            score[i, j] = max(best, 0) if scoring.is_local else best
    return score, deleted, inserted


def _end(score: Cells, scoring: Scoring) -> tuple[int, int]:
    """Return the cell where the alignment ends."""
    m, n = score.shape[0] - 1, score.shape[1] - 1
    if scoring.mode == "global":
        return m, n
    if m == 0 or n == 0:
        return 0, 0
    allowed = np.zeros(score.shape, bool)
    if scoring.is_local:
        allowed[1:, 1:] = True
    else:
        allowed[m, 1:] = allowed[1:, n] = True
    rows, columns = np.nonzero(allowed & (score == score[allowed].max()))
    first = np.lexsort((rows, rows + columns))[0]
    return int(rows[first]), int(columns[first])


def _goes_on(i: int, j: int, score: Cells, scoring: Scoring) -> bool:
    if scoring.mode == "global":
        return i > 0 or j > 0
    return i > 0 and j > 0 and (score[i, j] > 0 if scoring.is_local else True)
