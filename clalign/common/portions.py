"""Cutting of many things into portions that are done together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt


def portions_of(sizes: npt.ArrayLike, most: float, count: int | None = None) -> Iterator[slice]:
    """Yield which things are done together: as many as have no more than `most` in sum, or a single larger one.

    Parameters
    ----------
    sizes : int[n]
        Of all things, in their order.
    most : float
    count : int, optional
        Things of a portion at most.
    """
    ends = np.cumsum(sizes, dtype=np.int64)
    first = done = 0
    while first < len(ends):
        last = max(first + 1, int(np.searchsorted(ends, int(done + most), side="right")))
        last = last if count is None else min(last, first + count)
        yield slice(first, last)
        first, done = last, int(ends[last - 1])
