"""MSV, row by row: ungapped segments, as many as there are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.values.local_scores import BYTE_BASE, BYTE_E_MOVE, ByteScores

OVERFLOW = 255
"""Stands for a score that does not fit a byte."""


def msv_level(codes: npt.NDArray[np.uint8], scores: ByteScores, byte_move: int) -> int:
    """Return the score of state J (which is that of C) after the last residue, in 8-bit units.

    Parameters
    ----------
    codes : uint8[length]
        Letter codes.
    scores : ByteScores
    byte_move : int
        Cost of leaving N, C and J.

    Returns
    -------
    int
        From 0; `OVERFLOW` if the bytes of HMMER overflow.

    References
    ----------
    Eddy, PLoS Comput. Biol. 7, e1002195 (2011), "MSV".
    """
    costs = scores.costs[:, 1:].astype(np.int64)
    enter = (byte_move + scores.begin) % 256
    row = np.zeros(scores.costs.shape[1], np.int64)
    j, b = 0, max(BYTE_BASE - enter, 0)
    for code in codes:
        row[1:] = np.maximum(np.minimum(np.maximum(row[:-1], b) + scores.bias, 255) - costs[code], 0)
        e = int(row.max())
        if e + scores.bias >= 255:
            return OVERFLOW
        j = max(j, e - BYTE_E_MOVE)
        b = max(max(BYTE_BASE, j) - enter, 0)
    return j
