"""What a run of 001's versions does with its device, call after call (its traces and summaries of calls)."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, cast

from msgspec import Struct

from clalign.compute.opening import open_session
from clalign.compute.sessions import AnyStage, KernelSession
from clalign.jobs import JobContext
from clalign.labs.ladder import measurable_device
from clalign.labs.repeating import Found, Request, Table
from clalign.labs.smith_waterman_ladder import random_pairs
from clalign.labs.smith_waterman_rungs import LENGTH, PAIR_RUNGS, PAIRS, SCORING

TRACED = ("global", "local")
"""The rungs of 001 whose calls the source lists: its first version, and its final one."""

KINDS = {
    "upload": "copy to device", "share": "copy to device", "download": "copy to host", "zeros": "clear",
    "allocate": "allocate", "results": "allocate", "launch": "launch",
}  # fmt: skip
"""What methods of a session do; a buffer that is cleared is allocated, too."""

COPIES = ("copy to device", "copy to host")
WAIT = "wait for device"


class Call(Struct, frozen=True):
    """A call of a session: what it did, with how many bytes, and the seconds of the host in it and in the kernel.

    A launch has its kernel, its work-groups and the work-items of each.
    """

    kind: str
    n_bytes: int
    seconds: float
    kernel_seconds: float = 0.0
    kernel: str = ""
    n_groups: int = 0
    group: int = 0


class WatchedSession:
    """A session whose calls are timed; the device is waited for after each, apart from it.

    Parameters
    ----------
    session : KernelSession

    Attributes
    ----------
    calls : list of Call
    """

    def __init__(self, session: KernelSession) -> None:
        self._session = session
        self.calls: list[Call] = []

    def run(self, stage: AnyStage, batch: Any, model: Any) -> Any:
        """Run a stage."""
        found = stage.start(self, batch, model)()
        self._session.finish()
        return found

    def __getattr__(self, name: str) -> Any:
        of_session = getattr(self._session, name)
        return self._timed(KINDS[name], of_session) if name in KINDS else of_session

    def _timed(self, kind: str, call: Callable[..., object]) -> Callable[..., object]:
        def timed(*arguments: Any, **options: object) -> object:
            kernel, began = self._session.kernel_seconds, time.perf_counter()
            found = call(*arguments, **options)
            called = time.perf_counter()
            self._session.finish()
            waited = time.perf_counter()
            n_bytes = int(getattr(arguments[0] if kind == "copy to device" else found, "nbytes", 0))
            n_bytes = n_bytes or (arguments[0] if kind in ("clear", "allocate") else 0)
            of_kernel = self._session.kernel_seconds - kernel
            if kind != "launch":
                self.calls.append(Call(kind, n_bytes, called - began, of_kernel))
                return found
            _, entry, _, n_items, group = arguments[:5]
            shape = n_items // (group or 1), group or 1
            self.calls += [Call(kind, 0, called - began, of_kernel, entry, *shape), Call(WAIT, 0, waited - called)]
            return found

        return timed


def calls_found(request: Request, context: JobContext) -> Found:
    """Return the calls of each traced version, one by one and summed up; a run before has built the kernels."""
    device = measurable_device(request.device)
    batch = random_pairs(*(3, 16) if request.is_small else (PAIRS, LENGTH), request.seed)
    tables: dict[str, Table] = {}
    alignments = []
    for place, rung in enumerate(rung for rung in PAIR_RUNGS if rung.name in TRACED):
        context.progress("lab", place, len(TRACED), "versions", now=rung.name)
        with open_session(device, context.check) as opened:
            watched = WatchedSession(cast("KernelSession", opened))
            alignments.append(watched.run(rung.stage(device), batch, SCORING))
            watched.calls.clear()
            watched.run(rung.stage(device), batch, SCORING)
        tables[f"{rung.name}, trace"] = _trace(watched.calls)
        tables[f"{rung.name}, calls"] = summary(watched.calls)
    wrong = () if alignments[0] == alignments[1] else (f"alignments of {' and '.join(TRACED)}",)
    return Found(tables, f"{device.name}, {len(batch):,} pairs; the second run.", wrong)


def _trace(calls: list[Call]) -> Table:
    """Return the copies, clearings and kernels, those of a kind from the largest on."""
    found: Table = {}
    for kind in (*COPIES, "clear", "launch"):
        some = sorted((call for call in calls if call.kind == kind), key=lambda call: -call.n_bytes)
        for number, call in enumerate(some, 1):
            seconds = call.kernel_seconds if kind == "launch" else call.seconds
            rate = {"GiB/s": call.n_bytes / 2**30 / seconds} if call.n_bytes and seconds else {}
            found[f"{'kernel' if kind == 'launch' else kind} {number}"] = {
                "ms": 1e3 * seconds, **({"MiB": call.n_bytes / 2**20} if call.n_bytes else {}), **rate
            }  # fmt: skip
    return found


def summary(calls: list[Call]) -> Table:
    """Return the eight columns of a profiler for each kind of call, in milliseconds."""
    kinds: dict[str, list[float]] = {}
    for call in calls:
        kinds.setdefault("copy" if call.kind in COPIES else call.kind, []).append(1e3 * call.seconds)
    total = sum(map(sum, kinds.values()))
    return {
        kind: {
            "share": sum(took) / total, "total": sum(took), "calls": len(took), "mean": statistics.fmean(took),
            "median": statistics.median(took), "least": min(took), "most": max(took),
            "deviation": statistics.stdev(took) if len(took) > 1 else 0.0,
        }
        for kind, took in kinds.items()
    }  # fmt: skip
