"""When each group comes to a meeting and leaves it, by a clock of the device (002, figures 2 to 6)."""

from __future__ import annotations

from typing import cast

import numpy as np
import numpy.typing as npt

from clalign.compute.group_barriers import GroupBarrier, count_concurrent_groups, max_concurrent_groups
from clalign.compute.opening import open_session
from clalign.compute.sessions import KernelSession
from clalign.errors import GroupsNotConcurrent
from clalign.jobs import JobContext
from clalign.labs.ladder import measurable_device
from clalign.labs.measuring import not_run
from clalign.labs.repeating import Asked, Found, Table
from clalign.stages.sync.relay import RelayStage

GROUPS, SIZE = 8, 32
"""Groups of a timeline, fewer where a device runs fewer at once, and work-items of each."""

TREE_SIZE = 4
"""Work-items of a group where eight groups are to be a tree of three levels."""

METHODS = ("lbs", "lfs", "ilbs", "ulfs")
MEETINGS, SMALL_MEETINGS = 200, 8

NO_CLOCK = "This device has no clock in its kernels: OpenCL C has one from cl_khr_kernel_clock on."

Ticks = npt.NDArray[np.uint64]


def meeting_times(asked: Asked, context: JobContext) -> Found:
    """Return the timeline of a meeting in each way, the one of usual length."""
    device, tables, wrong = measurable_device(asked.device), dict[str, Table](), list[str]()
    n_meetings = SMALL_MEETINGS if asked.is_small else MEETINGS
    with open_session(device, context.check) as opened:
        session = cast("KernelSession", opened)
        usual = GroupBarrier(1, SIZE)
        kernel = RelayStage(usual).prepared(session, np.zeros((1, SIZE), np.uint32), 0, usual)[0].kernel
        n = min(GROUPS, max_concurrent_groups(session, usual, kernel))
        for place, method in enumerate(METHODS):
            context.progress("lab", place, len(METHODS), "ways", now=method)
            size = SIZE if method != "ulfs" else TREE_SIZE if n > TREE_SIZE else 2
            how = GroupBarrier(n, size, method, sets=min(3, n) if method == "ilbs" else 0)
            try:
                tables[method], is_right = _timeline(session, how, n_meetings, asked.seed)
                wrong += [] if is_right else [f"meeting by {method}"]
            except GroupsNotConcurrent as error:
                tables[method] = {"group 1": not_run(error.message)}
    text = f"{device.name}, {n} groups of {SIZE} work-items; ulfs {size}. A usual one of {n_meetings:,} meetings."
    return Found(tables, text, tuple(wrong))


def _timeline(session: KernelSession, how: GroupBarrier, n: int, seed: int) -> tuple[Table, bool]:
    """Return when groups come and leave in microseconds from the first one on, and whether all was right."""
    given = np.random.default_rng(seed).integers(0, 2**32, (how.n_groups, how.size), dtype=np.uint32)
    stage, times = RelayStage(how, TIMED=1), session.zeros(16 * n * how.n_groups)
    rounds, found = stage.prepared(session, given, n, how, times)
    if (at_once := count_concurrent_groups(session, how, rounds.kernel)) < how.n_groups:
        return {"group 1": not_run(f"This device ran {at_once} of {how.n_groups} groups at once.")}, True
    session.finish()
    before = session.kernel_seconds
    rounds.start()
    rounds.finish()
    seconds = session.kernel_seconds - before
    ticks: Ticks = session.download(times, (n, how.n_groups, 2), np.uint64)
    is_right = bool(np.array_equal(found(how.n_groups), stage.reference(given, n)))
    if not ticks.any():
        return {"group 1": not_run(NO_CLOCK)}, is_right
    meetings = (ticks[: n - 1] - ticks.min()).astype(np.float64)  # nobody waits after the last round
    come, leave = meetings[..., 0], meetings[..., 1]
    spans = leave.max(axis=1) - come.min(axis=1)
    usual = int(np.argsort(spans)[len(spans) // 2])
    microseconds = 1e6 * seconds / float(ticks.max() - ticks.min())
    begin = come[usual].min()
    table: Table = {
        f"group {group + 1}": {
            "comes": float(come[usual, group] - begin) * microseconds,
            "leaves": float(leave[usual, group] - begin) * microseconds,
        }
        for group in range(how.n_groups)
    }
    return table, is_right and bool((leave.min(axis=1) >= come.max(axis=1)).all())
