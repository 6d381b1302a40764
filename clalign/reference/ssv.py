"""SSV, one diagonal at a time: HMMER3's first filter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.values.local_scores import MAX_COST, ByteScores

BEGIN = -128
"""Least score of every cell: that of beginning there."""


def ssv_extreme(codes: npt.NDArray[np.uint8], scores: ByteScores) -> int:
    """Return the best cell of all ungapped alignments, 256 added, in 8-bit units that never overflow.

    Parameters
    ----------
    codes : uint8[length]
        Letter codes.
    scores : ByteScores

    Returns
    -------
    int
        At least 128, the score of beginning; from 255 less the bias on HMMER's bytes overflow.

    References
    ----------
    Eddy, PLoS Comput. Biol. 7, e1002195 (2011): MSV, of which this is the form with one segment.
    """
    gains = scores.bias - scores.costs[:, 1:].astype(np.int64)
    gains = np.maximum(gains, -MAX_COST)
    row = np.full(scores.costs.shape[1], BEGIN, np.int64)
    best = BEGIN
    for code in codes:
        row[1:] = np.maximum(row[:-1] + gains[code], BEGIN)
        best = max(best, int(row.max()))
    return best + 256
