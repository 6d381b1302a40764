"""The scores of all targets of a query beside those that chance would give."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats = npt.NDArray[np.float64]


class ScoresOfAll(Struct, frozen=True, eq=False):
    """The scores of all targets of a query, those of no hits included.

    Attributes
    ----------
    words : str
        Which scores they are.
    scores : float64[n]
        Rising.
    expected, observed : float64[n]
        How many targets would reach each score by chance, and how many do; falling.
    """

    words: str
    scores: Floats
    expected: Floats
    observed: Floats

    @classmethod
    def from_bins(cls, words: str, scores: Floats, chances: Floats, counts: npt.NDArray[np.int64]) -> ScoresOfAll:
        """Return it for bins of rising scores: the expected number from each on, and the targets in each."""
        return cls(words, scores, chances, np.cumsum(counts[::-1])[::-1].astype(np.float64))
