"""The order of keys: the plain form of the sort over many work-groups. Equal keys stay in order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def sorted_order(keys: npt.NDArray[np.generic]) -> npt.NDArray[np.uint32]:
    """Return the places of keys in rising order (uint32[n])."""
    return np.argsort(keys, kind="stable").astype(np.uint32)
