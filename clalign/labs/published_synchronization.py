"""What was published of work-groups that wait for each other: seconds by numbers of groups, the cost of a level.

Savadi, Salavatizadeh and Riahi: tables 4 and 5, groups of 32 work-items on a GTX 1070, six sets; means of several runs.
One ratio is printed otherwise than its times are apart, and some are rounded; here they are those of the times.
"""

from __future__ import annotations

from clalign.labs.publications import published_figures

PUBLISHED_DEVICE = "GTX 1070"

GROUPS = (7, 60)
SIZE = 32
SETS = 6


BANDS = {
    program: [
        dict(zip(("first", "last"), map(int, row.split(" to ")), strict=True)) | figures
        for row, figures in published_figures("002", name).items()
    ]
    for program, name in (("sw", "table 4"), ("sort", "table 5"))
}
"""By program, Smith-Waterman and the bitonic sort: numbers of groups, seconds by LBS and ILBS, their ratio."""

LEVEL_COST = {
    program: published_figures("002", name)["33"]["growth"]
    for program, name in (("sw", "figure 9"), ("sort", "figure 10"))
}
"""By how much the time grew at 33 groups, the first number that needs another level of ULFS."""
