"""How long a driver takes to build the programs that a library of profiles needs: by threads and by processes.

Every way builds programs that no cache knows (a macro that nothing reads makes them new), then takes them from the
cache of programs. Where threads take as long as one, the driver compiles one program at a time. Prints one JSON object.

    python benchmarks/kernel_builds.py family.hmm --device gpu --threads 1 4 8 --processes 4 8
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opencl.kernels import build
from clalign.compute.opencl.session import OpenCLSession
from clalign.compute.rehearsal import Rehearsal, probe_batch
from clalign.compute.sessions import ProgramChoice
from clalign.databases.profile_library import load_library
from clalign.engines.plan7.hmmer3.thresholds import filter_limits
from clalign.engines.plan7.spec import SearchSpec
from clalign.stages.hmmer3.filters import FILTERS, FilterModel
from clalign.values.devices import Device
from clalign.values.local_profiles import to_local_profile


def needed(device: Device, path: str) -> list[ProgramChoice]:
    """Return the programs that the filters of all models of a library need on a device."""
    rehearsal, limits = Rehearsal(device), filter_limits(SearchSpec(path, path))
    for hmm in load_library(path)[0]:
        FILTERS.start(rehearsal, probe_batch(1), [FilterModel(to_local_profile(hmm), limits)])
    return list(rehearsal.programs)


def seconds_of(session: OpenCLSession, choices: list[ProgramChoice], nonce: str, n_threads: int) -> dict[str, Any]:
    """Return how long some programs take that are called new by a nonce; the first and the sum of all apart."""

    def one(choice: ProgramChoice) -> float:
        began = time.perf_counter()
        build(session._context, session.device.name, choice.source, {**choice.defines, "FRESH": f"0x{nonce}"})
        return time.perf_counter() - began

    began, used = time.perf_counter(), time.process_time()
    with ThreadPoolExecutor(n_threads) as pool:
        each = list(pool.map(one, choices))
    return {
        "wall_seconds": round(time.perf_counter() - began, 3), "cpu_seconds": round(time.process_time() - used, 3),
        "sum_of_each": round(sum(each), 3), "longest": round(max(each), 3),
    }  # fmt: skip


def by_processes(options: argparse.Namespace, nonce: str, n: int) -> float:
    """Return how long so many processes take together, their start included."""
    words = [sys.executable, __file__, options.profiles, "--device", options.device, "--nonce", nonce]
    began = time.perf_counter()
    children = [subprocess.Popen([*words, "--share", f"{k}/{n}"]) for k in range(n)]
    if any(child.wait() for child in children):
        raise SystemExit("A process failed.")
    return round(time.perf_counter() - began, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profiles")
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--processes", type=int, nargs="*", default=[4, 8])
    parser.add_argument("--share", help=argparse.SUPPRESS)
    parser.add_argument("--nonce", help=argparse.SUPPRESS)
    options = parser.parse_args()
    device = pick_device(options.device)
    choices = needed(device, options.profiles)
    with OpenCLSession(device) as session:
        if options.share:
            number, of = map(int, options.share.split("/"))
            for _ in range(2):  # once more from the cache: a driver may keep what it makes of that, too
                seconds_of(session, choices[number::of], options.nonce, 1)
            return
        counts = collections.Counter(choice.source for choice in choices)
        found: dict[str, Any] = {"device": device.name, "cores": os.cpu_count(), "programs": dict(counts), "ways": []}
        for n in options.threads:
            nonce = secrets.token_hex(6)
            new = seconds_of(session, choices, nonce, n)
            kept = seconds_of(session, choices, nonce, n)
            found["ways"].append({"threads": n, "new": new, "kept": kept})
        for n in options.processes:
            nonce = secrets.token_hex(6)
            wall = by_processes(options, nonce, n)
            kept = seconds_of(session, choices, nonce, max(options.threads))
            found["ways"].append({"processes": n, "wall_seconds": wall, "kept": kept})
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
