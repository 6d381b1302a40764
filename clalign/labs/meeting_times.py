"""When each group comes to a meeting and leaves it, and what its steps take, by a clock of the device (002)."""

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
from clalign.labs.repeating import Found, Request, Table
from clalign.stages.sync.relay import RelayStage

GROUPS, SIZE = 8, 32
"""Groups of a timeline, fewer where a device runs fewer at once, and work-items of each."""

TREE_SIZE = 4
"""Work-items of a group where eight groups are to be a tree of three levels."""

METHODS = ("lbs", "lfs", "ilbs", "ulfs")
MEETINGS, SMALL_MEETINGS = 200, 8

STAMPS = 16
"""Stamps of a meeting in ``relay_item.cl``: enough for the steps of three levels."""

NO_CLOCK = "This device has no clock in its kernels: OpenCL C has one from cl_khr_kernel_clock on."

Ticks = npt.NDArray[np.uint64]


def meeting_times(request: Request, context: JobContext) -> Found:
    """Return the timeline of a meeting in each way, the one of usual length."""
    device, tables, wrong = measurable_device(request.device), dict[str, Table](), list[str]()
    n_meetings = SMALL_MEETINGS if request.is_small else MEETINGS
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
                tables[method], is_right = _timeline(session, how, n_meetings, request.seed)
                wrong += [] if is_right else [f"meeting by {method}"]
                if method == "ulfs":
                    tables["steps"], is_right = _steps(session, how, n_meetings, request.seed)
                    wrong += [] if is_right else ["steps of a meeting"]
            except GroupsNotConcurrent as error:
                tables.setdefault(method, {"group 1": not_run(error.message)})
    text = f"{device.name}, {n} groups of {SIZE} work-items; ulfs {size}. A usual one of {n_meetings:,} meetings."
    return Found(tables, text, tuple(wrong))


def _timed(
    session: KernelSession, how: GroupBarrier, n: int, seed: int, timed: int, shape: tuple[int, ...]
) -> tuple[Ticks, float, bool] | str:
    """Return the ticks that a number of meetings noted, microseconds a tick, and whether all was right; else why not.

    The last round has no meeting.
    """
    given = np.random.default_rng(seed).integers(0, 2**32, (how.n_groups, how.size), dtype=np.uint32)
    stage, times = RelayStage(how, TIMED=timed), session.zeros(8 * n * int(np.prod(shape)))
    rounds, found = stage.prepared(session, given, n, how, times)
    if (at_once := count_concurrent_groups(session, how, rounds.kernel)) < how.n_groups:
        return f"This device ran {at_once} of {how.n_groups} groups at once."
    session.finish()
    before = session.kernel_seconds
    rounds.start()
    rounds.finish()
    seconds = session.kernel_seconds - before
    ticks: Ticks = session.download(times, (n, *shape), np.uint64)[: n - 1]
    if not ticks.any():
        return NO_CLOCK
    is_right = bool(np.array_equal(found(how.n_groups), stage.reference(given, n)))
    noted = ticks[ticks > 0]
    return ticks - noted.min(), 1e6 * seconds / float(noted.max() - noted.min()), is_right


def _timeline(session: KernelSession, how: GroupBarrier, n: int, seed: int) -> tuple[Table, bool]:
    """Return when groups come and leave in microseconds from the first one on, and whether all was right."""
    found = _timed(session, how, n, seed, 1, (how.n_groups, 2))
    if isinstance(found, str):
        return {"group 1": not_run(found)}, True
    ticks, microseconds, is_right = found
    come, leave = np.moveaxis(ticks.astype(np.float64), 2, 0)
    spans = leave.max(axis=1) - come.min(axis=1)
    usual = int(np.argsort(spans)[len(spans) // 2])
    begin = come[usual].min()
    table: Table = {
        f"group {group + 1}": {
            "comes": float(come[usual, group] - begin) * microseconds,
            "leaves": float(leave[usual, group] - begin) * microseconds,
        }
        for group in range(how.n_groups)
    }
    return table, is_right and bool((leave.min(axis=1) >= come.max(axis=1)).all())


def _steps(session: KernelSession, how: GroupBarrier, n: int, seed: int) -> tuple[Table, bool]:
    """Return what each step of a meeting by a tree takes the first group in microseconds, in the mean, and whether all
    was right."""
    names = step_names(how.levels)
    found = _timed(session, how, n, seed, 2, (STAMPS,))
    if isinstance(found, str):
        return {"ts": not_run(found)}, True
    ticks, microseconds, is_right = found
    stamps = ticks[:, : len(names) + 1].astype(np.int64)
    took = np.diff(stamps, axis=1).mean(axis=0) * microseconds
    table: Table = {
        name: {"microseconds": float(took[[one == name for one in names]].mean())} for name in names if name
    }
    return table, is_right and bool((np.diff(stamps, axis=1) >= 0).all())


def step_names(levels: int) -> list[str]:
    """Return the source's names of the steps of a group that watches on all levels; empty where the top has none.

    Upwards it writes that it has come, sees that those have come whom it watches, and the barrier within the group
    follows; downwards it sees that it may go, and releases those whom it watches.
    """
    last = levels - 1
    names = [f"tSI{last}"]
    for level in range(last, 0, -1):
        names += [f"tCI{level}", "ts", f"tSI{level - 1}" if level > 1 else ""]
    for level in range(last):
        names += [f"tCO{level}" if level else "", "ts" if level else "", f"tSO{level + 1}"]
    return [*names, f"tCO{last}"]
