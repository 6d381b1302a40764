"""Speed of the bitonic sort on a device, and numpy's sort and argsort beside it in the same run.

Keys are random and seeded; some are in the order that a database nearly has. Times are those of the whole call, from
keys on the host to places on the host, and of the kernels alone, the best of several rounds in which all take turns.
Every order is compared with numpy's. Then what the program itself sorts: the lengths of a database's volumes, and all
scores of a query for its best hits, as it does on the host and as the device would. Prints one JSON object.

    python benchmarks/device_sort.py --device gpu --most 26 --output device_sort.json
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.group_barriers import METHODS, GroupBarrier, max_concurrent_groups
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.databases.packed import VOLUME_RESIDUES, VOLUME_SEQUENCES
from clalign.engines.pairwise.query import best_of
from clalign.errors import ClalignError
from clalign.stages.sync.bitonic_sort import BITONIC_SORT, default_barrier, sortable
from clalign.values.sequences import longest_first
from clalign.values.synthetic import swissprot_lengths

GROUP = 256

MAX_HITS = 500
"""Hits that a search reports of a query unless asked otherwise."""

Keys = npt.NDArray[np.unsignedinteger[Any]]


def workloads(most: int) -> list[tuple[str, Keys]]:
    """Return keys by name, with numbers of them that grow by 4."""
    rng = np.random.default_rng(7)
    found: list[tuple[str, Keys]] = []
    for log in range(10, most + 1, 2):
        n = 1 << log
        lengths = np.clip(rng.gamma(2.0, 177.0, n), 10, 35_000).astype(np.int32)
        found += [
            ("random uint32", rng.integers(0, 2**32, n, dtype=np.uint32)),
            ("random uint64", rng.integers(0, 2**64, n, dtype=np.uint64)),
            ("lengths of sequences, longest first", sortable(lengths, falling=True)),
            ("the same in order already", sortable(np.sort(lengths)[::-1].copy(), falling=True)),
            ("scores (float32), best first", sortable(rng.normal(10, 40, n).astype(np.float32), falling=True)),
        ]
    return found


def timed(do: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = do()
    return time.perf_counter() - began, result


def ways(session: Any, keys: Keys) -> dict[str, GroupBarrier]:
    """Return how groups meet: a launch a round, and each method with as many groups as run at once with such keys."""
    device = session.device
    found = {"launch": default_barrier(device)}
    size = min(GROUP, device.max_work_group) if device.kind != "cpu" else 32
    for method in METHODS:
        if method in ("launch", "lfs"):
            continue
        how = GroupBarrier(1, size, method)
        rounds, _ = BITONIC_SORT.prepared(session, keys[:4], how)
        found[method] = GroupBarrier(max_concurrent_groups(session, how, rounds.kernel), size, method)
    return found


def measure(session: Any, name: str, keys: Keys, rounds: int) -> dict[str, Any]:
    """Return the times of everything on some keys."""
    hows = ways(session, keys)
    expected = np.argsort(keys, kind="stable").astype(np.uint32)
    best: dict[str, float] = {}
    wrong: list[str] = []

    def keep(what: str, seconds: float) -> None:
        best[what] = min(seconds, best.get(what, seconds))

    for turn in range(rounds + 1):
        for what, how in hows.items():
            before = session.kernel_seconds
            try:
                seconds, order = timed(lambda how=how: session.run(BITONIC_SORT, keys, how))
            except ClalignError as error:
                wrong.append(f"{what}: {error}")
                continue
            if not np.array_equal(order, expected):
                wrong.append(f"{what}: another order")
            session.finish()
            if turn:  # the first one compiles
                keep(what, seconds)
                keep(f"{what} kernels", session.kernel_seconds - before)
        keep("numpy sort", timed(lambda: np.sort(keys))[0])
        keep("numpy argsort", timed(lambda: np.argsort(keys))[0])
        keep("numpy argsort stable", timed(lambda: np.argsort(keys, kind="stable"))[0])
    rates = {what: len(keys) / seconds / 1e6 for what, seconds in best.items() if seconds > 0}
    return {
        "keys": name, "n": len(keys), "seconds": best, "million_keys_a_second": rates, "wrong": sorted(set(wrong)),
        "groups": {what: [how.n_groups, how.size] for what, how in hows.items()},
    }  # fmt: skip


def program_sorts(session: Any, n: int, rounds: int) -> list[dict[str, Any]]:
    """Return the seconds of what the program sorts for so many sequences, on the host and on the device, in turn."""
    rng = np.random.default_rng(8)
    lengths = swissprot_lengths(rng, n).astype(np.int32)
    most = min(VOLUME_SEQUENCES, int(VOLUME_RESIDUES / lengths.mean()))
    volumes = np.array_split(lengths, max(1, n // most))
    scores, order = rng.gumbel(40, 6, n).astype(np.int32), rng.permutation(n)

    def by_device(values: Any) -> Any:
        return session.run(BITONIC_SORT, sortable(values, falling=True), None)

    def best_on_host() -> Any:
        return np.sort(best_of(scores, order, MAX_HITS))

    def best_on_device() -> Any:
        return np.sort(by_device(scores * np.int64(n) - order)[:MAX_HITS])

    cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        f"lengths of {n:,} sequences in {len(volumes):,} volumes": (
            lambda: np.concatenate([longest_first(volume) for volume in volumes]),
            lambda: np.concatenate([by_device(volume) for volume in volumes]),
        ),
        f"lengths of {n:,} sequences at once": (lambda: longest_first(lengths), lambda: by_device(lengths)),
        f"the {MAX_HITS} best of {n:,} scores": (best_on_host, best_on_device),
    }
    rows = []
    for name, ways_of in cases.items():
        seconds: dict[str, list[float]] = {"host": [], "device": []}
        equal = True
        for turn in range(rounds + 1):
            found = {}
            for where, do in zip(seconds, ways_of, strict=True):
                spent, found[where] = timed(do)
                seconds[where] += [spent] if turn else []
            equal = equal and np.array_equal(found["host"], found["device"])
        best = {where: min(values) for where, values in seconds.items()}
        rows.append({"what": name, "seconds": best, "equal": equal, "host_by_device": best["host"] / best["device"]})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--most", type=int, default=22, help="binary logarithm of the most keys")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sequences", type=int, default=10_000_000, help="of the sorts of the program; 0 for none")
    parser.add_argument("--output", default="")
    options = parser.parse_args()
    device = pick_device(options.device)
    with open_session(device) as session:
        sorts = program_sorts(session, options.sequences, options.rounds) if options.sequences else []
        rows = [measure(session, name, keys, options.rounds) for name, keys in workloads(options.most)]
    result = {
        "device": device.to_dict(),
        "rows": rows,
        "program": sorts,
        "host": platform.processor() or platform.machine(),
        "numpy": np.__version__,
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.output:
        Path(options.output).write_text(text + "\n", encoding="utf-8")
    n_bad = sum(bool(row["wrong"]) for row in rows) + sum(not row["equal"] for row in sorts)
    print(f"BAD: {n_bad}")
    sys.exit(1 if n_bad else 0)


if __name__ == "__main__":
    main()
