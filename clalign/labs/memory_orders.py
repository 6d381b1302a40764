"""What the order costs in which work-items read memory (004, chapter 6), and what a pair of 003 takes of it."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from clalign.compute.opening import open_session
from clalign.compute.sessions import AnyStage, KernelSession
from clalign.jobs import JobContext
from clalign.labs.driver_calls import WatchedSession, summary
from clalign.labs.ladder import NO_PROCESSOR, device_for, measurable_device
from clalign.labs.measuring import Bench, not_run
from clalign.labs.pair_hmm_ladder import MODEL, random_pairs
from clalign.labs.pair_hmm_rungs import PAIR_HMM_RUNGS, X, Y
from clalign.labs.repeating import Found, Request, Table
from clalign.stages.memories import GROUP, LOCAL_WORDS, ProductStage, Reading, ReadingStage
from clalign.stages.pairhmm.pair_hmm_ladder import CELL_BYTES, nobody_counts
from clalign.values.pair_hmm import PairHmms

STRIDES, LOCAL_STRIDES = (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 31, 32, 33)
"""Words from one work-item to the next: 32 are a segment of 128 bytes, and a word in each bank of local memory."""

ITEMS, COLUMNS = {"cpu": 1 << 16, "gpu": 1 << 20, "accelerator": 1 << 18}, {"cpu": 256, "gpu": 1024, "accelerator": 512}
"""Work-items that read, and columns of the matrices, by the kind of device."""

ROUNDS, LOCAL_ROUNDS = 32, 1024
"""Words that a work-item reads."""


def orders_found(request: Request, context: JobContext) -> Found:
    """Read words in each order, and multiply matrices with and without local memory."""
    device = measurable_device(request.device)
    bench = Bench(device, context, "", request.runs, reports=False)
    group = 32 if request.is_small else min(GROUP, device.max_work_group)
    n_items, n = (2 * group, 8) if request.is_small else (ITEMS[device.kind], COLUMNS[device.kind])
    rng = np.random.default_rng(request.seed)
    a, b = rng.integers(0, 2**32, (2, n, n), dtype=np.uint32)
    given = rng.integers(0, 2**32, max(LOCAL_WORDS, n_items * ROUNDS), dtype=np.uint32)
    words = Reading("read_global", given[: n_items * ROUNDS], n_items, 1, ROUNDS)
    of_group = Reading("read_local", given[:LOCAL_WORDS], n_items, 1, LOCAL_ROUNDS)
    jobs: dict[str, dict[str, tuple[AnyStage, Any, float]]] = {
        "global": {
            _apart(stride): (ReadingStage(), replace(words, stride=stride), 4.0 * n_items * ROUNDS)
            for stride in STRIDES
        },
        "local": {
            _apart(stride): (ReadingStage(), replace(of_group, stride=stride), 4.0 * n_items * LOCAL_ROUNDS)
            for stride in LOCAL_STRIDES
        },
        "product": {
            f"row in {where} memory": (ProductStage(LOCAL_ROW=int(where == "local")), (a, b), 8.0 * n**3)
            for where in ("global", "local")
        },
    }  # fmt: skip
    tables: dict[str, Table] = {name: {} for name in jobs}
    wrong: list[str] = []
    total = sum(map(len, jobs.values()))
    try:
        for name, orders in jobs.items():
            for order, (stage, batch, n_bytes) in orders.items():
                context.progress("lab", sum(map(len, tables.values())), total, "orders", now=f"{name}, {order}")
                found = bench.session.run(stage, batch, group)
                equal = bool(np.array_equal(found, stage.reference(batch, group, context.check)))
                seconds = bench.times(stage, batch, group).kernel
                tables[name][order] = {"seconds": seconds, "GB/s": n_bytes / max(seconds, 1e-9) / 1e9, "equal": equal}
                wrong += [] if equal else [f"{name} memory, {order}"]
    finally:
        bench.close()
    text = f"{device.name}, {n_items:,} work-items; matrices of {n:,} x {n:,}."
    return Found(tables, text, tuple(wrong))


def _apart(stride: int) -> str:
    return f"{stride} word{'s' * (stride > 1)} apart"


def pair_memory_found(request: Request, context: JobContext) -> Found:
    """Return the MiB that each rung of 003 allocates for a pair, beside those of its tables, as computed; the largest
    launches of each, and the calls of all of it."""
    device, rows, shapes, calls = measurable_device(request.device), Table(), Table(), dict[str, Table]()
    x, y = (9, 8) if request.is_small else (X, Y)
    tables = 2 * CELL_BYTES * (x + 1) * (y + 1) + 4 * x * y
    wanted = {item.table for item in request.items}
    names = {row for item in request.items if item.table in ("rows", "launches") for row in item.shown_rows}
    names |= {table.removesuffix(", calls") for table in wanted}
    for rung in (rung for rung in PAIR_HMM_RUNGS if rung.name in names):
        used = device_for(rung, device)
        if used is None:
            rows[rung.name] = not_run(NO_PROCESSOR)
            continue
        context.progress("lab", len(rows), len(names), "rungs", now=rung.name)
        with open_session(used, context.check) as opened:
            session = WatchedSession(cast("KernelSession", opened))
            given = rung.stage(used, nobody_counts), random_pairs(1, x, y, request.seed), PairHmms.same(MODEL, 1)
            session.run(*given)
            first = session.calls.copy()
            session.calls.clear()
            if f"{rung.name}, calls" in wanted:
                session.run(*given)
                calls[f"{rung.name}, calls"] = summary(session.calls)
        allocated = sum(call.n_bytes for call in first if call.kind in ("allocate", "clear", "copy to device"))
        rows[rung.name] = {"tables": tables / 2**20, "allocated": allocated / 2**20, "share": tables / allocated}
        sweep, sums = (
            max((call for call in first if call.kernel == entry), key=lambda call: call.n_groups)
            for entry in ("forward", "expected_steps")
        )
        shapes[rung.name] = {"groups": sweep.n_groups, "work_items": sweep.group, "groups_of_sums": sums.n_groups}
    return Found({"rows": rows, "launches": shapes, **calls}, f"{device.name}, a pair of {x:,} x {y:,} residues.")
