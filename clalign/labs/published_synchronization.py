"""What was published of work-groups that wait for each other: seconds by numbers of groups, the cost of a level.

Savadi, Salavatizadeh and Riahi: tables 4 and 5, groups of 32 work-items on a GTX 1070, six sets; means of several runs.
The ratio of one line, 34 to 42 groups of Smith-Waterman, is not that of its times, which are 2.02 apart.
"""

from __future__ import annotations

from msgspec import Struct

PUBLISHED_DEVICE = "GTX 1070"

GROUPS = (7, 60)
SIZE = 32
SETS = 6


class Band(Struct, frozen=True):
    """A line of a table.

    Attributes
    ----------
    first, last : int
        Numbers of groups.
    lbs, ilbs : float
        Seconds.
    ratio : float
        As it was printed.
    """

    first: int
    last: int
    lbs: float
    ilbs: float
    ratio: float


def _bands(*lines: tuple[float, float, float]) -> tuple[Band, ...]:
    return tuple(Band(7 + 9 * place, 15 + 9 * place, *line) for place, line in enumerate(lines))


BANDS = {
    "sw": _bands(
        (38.11, 29.66, 1.28), (61.0, 43.65, 1.39), (84.88, 50.67, 1.67), (102.72, 50.77, 1.84), (111.72, 66.43, 1.68),
        (137.37, 91.65, 1.49),
    ),
    "sort": _bands(
        (0.41, 0.245, 1.67), (0.66, 0.33, 2.0), (0.80, 0.46, 1.70), (1.30, 0.58, 2.24), (1.51, 0.70, 2.15),
        (1.83, 0.97, 1.90),
    ),
}  # fmt: skip
"""By program: Smith-Waterman, and the bitonic sort."""

LEVEL_COST = {"sw": 0.468, "sort": 0.34}
"""By how much the time grew at 33 groups, the first number that needs another level of ULFS."""
