"""What was published of work-groups that wait for each other: seconds by numbers of groups, the cost of a level.

Savadi, Salavatizadeh and Riahi: tables 4 and 5, groups of 32 work-items on a GTX 1070, six sets; means of several runs.
One ratio is printed otherwise than its times are apart, and some are rounded; here they are those of the times.
"""

from __future__ import annotations

from msgspec import Struct

from clalign.labs.publications import published_figures

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
        Of the times.
    """

    first: int
    last: int
    lbs: float
    ilbs: float
    ratio: float


def _bands(name: str) -> tuple[Band, ...]:
    rows = published_figures("002", name)
    ends = (row.split(" to ") for row in rows)
    return tuple(
        Band(int(first), int(last), figures["lbs"], figures["ilbs"], figures["ratio"])
        for (first, last), figures in zip(ends, rows.values(), strict=True)
    )


BANDS = {"sw": _bands("table 4"), "sort": _bands("table 5")}
"""By program: Smith-Waterman, and the bitonic sort."""

LEVEL_COST = {
    program: published_figures("002", name)["33"]["growth"]
    for program, name in (("sw", "figure 9"), ("sort", "figure 10"))
}
"""By how much the time grew at 33 groups, the first number that needs another level of ULFS."""
