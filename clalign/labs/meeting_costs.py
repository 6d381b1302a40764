"""The cost of a meeting of groups: a model with a time for each kind of step, fitted to what was measured.

A meeting of N groups takes, after the source of ILBS and ULFS:

    launch   tl
    LBS      N ta + tc + ts
    ILBS     (ceil(N / G) + G) ta + 2 tc + ts    for G sets
    ULFS     4 (m - 1) tw + (2 m - 3) ts         for m levels; LFS is that of two

and a round of the program itself, whose work is shared, w / N. All methods are fitted together: neither tc nor ts could
be distinguished from the other in one of them alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from clalign.common.plain_data import Json
from clalign.compute.group_barriers import GroupBarrier

COSTS = {
    "ta": "an addition to a counter that groups share",
    "tc": "looking until a counter is complete",
    "ts": "a barrier within a group",
    "tw": "writing a word, or seeing one that was written",
    "tl": "a launch",
    "w": "a round of the program for one group alone",
}
"""What each time is of."""

Floats = npt.NDArray[np.float64]


class Measured(Struct, frozen=True):
    """Seconds that a round took."""

    how: GroupBarrier
    seconds: float


def steps(how: GroupBarrier) -> Floats:
    """Return how often each of `COSTS` counts in a round."""
    n, sets, levels = how.n_groups, how.chosen_sets, how.levels
    found = {
        "launch": {"tl": 1},
        "lbs": {"ta": n, "tc": 1, "ts": 1},
        "ilbs": {"ta": -(-n // sets) + sets, "tc": 2, "ts": 1},
        "lfs": {"tw": 4 * (levels - 1), "ts": max(1, 2 * levels - 3)},
    }
    mine: dict[str, float] = {**found.get(how.method, found["lfs"]), "w": 1 / n}
    return np.array([mine.get(name, 0) for name in COSTS], float)


def fitted(measured: Iterable[Measured]) -> dict[str, float] | None:
    """Return seconds for those of `COSTS` that were met, none below 0, by least squares of relative deviations.

    Returns
    -------
    dict or None
        None if there are fewer measurements than times.
    """
    points = list(measured)
    if not points:
        return None
    seconds = np.array([point.seconds for point in points])
    table = np.array([steps(point.how) for point in points]) / seconds[:, None]
    kept = [place for place in range(len(COSTS)) if table[:, place].any()]
    if len(points) < len(kept):
        return None
    found = np.zeros(len(COSTS))
    left = kept
    while left:
        values = np.linalg.lstsq(table[:, left], np.ones(len(points)), rcond=None)[0]
        found[:] = 0
        found[left] = values
        if (values >= 0).all():
            break
        left = [
            place for place in left if place != left[int(np.argmin(values * np.linalg.norm(table[:, left], axis=0)))]
        ]
    names = list(COSTS)
    return {names[place]: float(max(0.0, found[place])) for place in kept}


def predicted(costs: Json, how: GroupBarrier) -> float:
    """Return the seconds of a round by fitted times."""
    return float(steps(how) @ np.array([costs.get(name, 0.0) for name in COSTS]))


def deviation(costs: Json, measured: Iterable[Measured]) -> float:
    """Return the root of the mean square of relative deviations of a fit."""
    ratios = np.array([predicted(costs, point.how) / point.seconds - 1 for point in measured])
    return float(np.sqrt(np.mean(ratios**2)))
