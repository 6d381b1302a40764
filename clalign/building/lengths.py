"""How long the hits of a nucleic profile may be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM
from clalign.values.sums import chain, chain_steps

TAIL = 1e-7
"""Share of the sequences of a model that may be longer than its limit."""

MAX_TIMES, MAX_LENGTH = 20, 100_000
"""The limit is at most this many times the nodes, and no more than this many residues unless the model is longer."""


def longest_likely(transitions: npt.NDArray[np.float32], tail: float = TAIL) -> int:
    """Return the length that all but a small share of the sequences that a profile emits do not exceed.

    Parameters
    ----------
    transitions : float32[M + 1, 7]
    tail : float
        That share.

    Notes
    -----
    Residue after residue the probability of every state is taken on. Where this many have been emitted, what is in the
    last node has ended; the rest will be longer.
    """
    t = transitions.astype(np.float64)
    n = len(t) - 1
    if n == 1:
        return 1
    limit = max(n, min(MAX_TIMES * n, MAX_LENGTH))
    steps = chain_steps(np.append(0.0, t[1:n, DD]))
    stays = 1.0 - t[1:, [MD, DD]]
    stays[-1] = 1.0
    match, insert, delete, ended = np.zeros(n), np.zeros(n), np.zeros(n), 0.0
    match[0] = 1.0
    for length in range(1, limit + 1):
        if length > 1:
            entering = match[:-1] * t[1:n, MM] + delete[:-1] * t[1:n, DM] + insert[:-1] * t[1:n, IM]
            insert = match * t[1:, MI] + insert * t[1:, II]
            match = np.append(0.0, entering)
        delete = chain(np.append(0.0, match[:-1] * t[1:n, MD]), steps)
        ended += match[-1] + delete[-1]
        left = insert[:-1].sum() + match @ stays[:, 0] + delete @ stays[:, 1]
        if length > 2 and left / (left + ended) < tail:
            return length
    return limit
