"""Work-groups that wait for each other: whether every way holds, and what it costs beside the published tables.

Parts, each bounded in time but for building kernels; what a part leaves out for that is counted as bad:

    correct   every method on every program, from one group to as many as the device runs at once, by size of groups
    beyond    more groups than that, which are to give up and say so
    repeated  every method many times with all groups that run at once, each result compared
    table     the source's experiment (7 to 60 groups of 32 work-items): LBS and ILBS beside the published ratios, the
              fitted costs, the best number of sets, the levels of ULFS; as `clalign lab sync` measures them

Every result is compared with the reference before a time counts. Prints what it finds, and `BAD: n` in the end.

    python benchmarks/waiting_groups.py --device gpu --parts correct,table --json waiting_groups.json
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from clalign.compute.group_barriers import METHODS, GroupBarrier, max_concurrent_groups
from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.errors import Cancelled, ClalignError, GroupsNotConcurrent, OptionError
from clalign.jobs import QuietContext
from clalign.labs.meeting_programs import PROGRAMS, Work
from clalign.labs.synchronization import SynchronizationSpec, run_synchronization, wrong_cells
from clalign.labs.synchronization_results import below, row_text

PARTS = ("correct", "beyond", "repeated", "table")

WORK_SIZES = {"gpu": {"relay": 20, "sort": 1 << 16, "sw": 4096}, "cpu": {"relay": 10, "sort": 1 << 12, "sw": 600}}
"""What the programs work on where only the results matter."""

REPEATED_SIZES = {"gpu": {"relay": 20, "sort": 1 << 14}, "cpu": {"relay": 4, "sort": 1 << 12}}

SPREAD = (3, 5, 6, 7, 12, 24, 48, 66, 100, 132, 200, 264, 396, 528, 1000, 1056, 2000, 3000)
"""Numbers of groups besides powers of two: the multiprocessors of large cards, and others."""

METHODS_WAITING = tuple(name for name in METHODS if name != "launch")


class Clock:
    """Says when the time of a part is over."""

    def __init__(self, seconds: float) -> None:
        self._began = time.monotonic()
        self._ends = self._began + seconds

    def seconds(self) -> float:
        return time.monotonic() - self._began

    def is_over(self) -> bool:
        return time.monotonic() > self._ends


class Watched(QuietContext):
    """Ends a job when its time is over, and shows its rows as they come."""

    def __init__(self, clock: Clock, methods: tuple[str, ...]) -> None:
        self._clock, self._methods = clock, methods
        self.rows: list[dict[str, Any]] = []

    def check(self) -> None:
        if self._clock.is_over():
            raise Cancelled

    def partial(self, **facts: Any) -> None:
        if not self.rows:
            print(row_text(None, self._methods))
        self.rows.append(facts["row"])
        print(row_text(facts["row"], self._methods), flush=True)


def counts(most: int) -> list[int]:
    """Return numbers of groups up to the most: the small ones, powers of two, some others and the greatest two."""
    wanted = {*range(1, 9), *(1 << k for k in range(14)), *SPREAD, most - 1, most}
    return sorted(n for n in wanted if 1 <= n <= most)


def works(session: Any, sizes: dict[str, dict[str, int]], seed: int) -> dict[str, Work]:
    """Return the programs with what they work on."""
    chosen = sizes["cpu" if session.device.kind == "cpu" else "gpu"]
    return {name: PROGRAMS[name].work(size, seed, session.check) for name, size in chosen.items()}


def most_of(session: Any, work: Work, size: int, method: str) -> int:
    """Return how many groups of a program run at once; without waiting none need to."""
    rounds, _ = work.prepared(session, GroupBarrier(1, size, method))
    return max_concurrent_groups(session, GroupBarrier(1, size, method), rounds.kernel)


def outcome(session: Any, work: Work, how: GroupBarrier) -> str:
    """Run a program once; return ``right``, ``differs``, ``gave up``, or an error in words."""
    try:
        rounds, is_right = work.prepared(session, how)
        rounds.start()
        took_part = rounds.finish()
    except GroupsNotConcurrent:
        return "gave up"
    except ClalignError as error:
        return str(error)
    return "right" if took_part == how.n_groups and is_right(took_part) else "differs"


def sized(session: Any, options: argparse.Namespace) -> list[int]:
    return [size for size in options.sizes if size <= session.device.max_work_group]


def correct(session: Any, options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """Try every method, program, size and number of groups; the numbers go last, so that all are begun with."""
    programs = works(session, WORK_SIZES, options.seed)
    cases: list[tuple[str, int, str, list[int]]] = []
    most_by_case: dict[str, int] = {}
    for name, work in programs.items():
        for size in sized(session, options):
            for method in METHODS:
                most = most_of(session, work, size, method)
                most_by_case[f"{name} x {size} {method}"] = most
                numbers = counts(min(most, size) if method == "lfs" else most)
                cases.append((name, size, method, numbers))
    results: Counter[str] = Counter()
    bad: list[str] = []
    print(f"  counted how many groups run at once in {clock.seconds():.1f} s, building the kernels", flush=True)
    clock = Clock(options.seconds)
    # From both ends, so that the greatest numbers are among the first.
    for place in range(max(len(numbers) for *_, numbers in cases)):
        for name, size, method, numbers in cases:
            if place >= len(numbers):
                continue
            n = numbers[place // 2] if place % 2 == 0 else numbers[-1 - place // 2]
            if clock.is_over():
                results["left out"] += 1
                continue
            found = outcome(session, programs[name], GroupBarrier(n, size, method))
            results[found] += 1
            if found != "right":
                bad.append(f"{name}, {n:,} groups of {size}, {method}: {found}")
    n_bad = len(bad) + results["left out"]
    return {"results": results, "max_concurrent_groups": most_by_case, "bad": bad, "n_bad": n_bad}


def beyond(session: Any, options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """Ask for twice as many groups as run at once: each method must give up, and launches must not care."""
    work = works(session, WORK_SIZES, options.seed)["relay"]
    results, bad, seconds = Counter[str](), list[str](), dict[str, float]()
    for size in sized(session, options):
        for method in METHODS:
            n = 2 * most_of(session, work, size, method) + 1
            try:
                how = GroupBarrier(n, size, method)
            except OptionError:  # LFS of more groups than a group has work-items
                results["refused"] += 1
                continue
            if clock.is_over():
                results["left out"] += 1
                continue
            began = time.perf_counter()
            found = outcome(session, work, how)
            seconds[f"{n} groups of {size}, {method}"] = time.perf_counter() - began
            results[found] += 1
            if found != ("right" if method == "launch" else "gave up"):
                bad.append(f"{n:,} groups of {size}, {method}: {found}")
    return {"results": results, "seconds": seconds, "bad": bad, "n_bad": len(bad) + results["left out"]}


def repeated(session: Any, options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """Let all groups that run at once meet again and again; the longest time of one run shows a near hang."""
    programs = works(session, REPEATED_SIZES, options.seed)
    rows, bad = [], []
    size = max(sized(session, options))
    for name, work in programs.items():
        for method in METHODS:
            most = most_of(session, work, size, method)
            how = GroupBarrier(min(most, size) if method == "lfs" else most, size, method)
            results, longest, total = Counter[str](), 0.0, 0.0
            while sum(results.values()) < options.repetitions and not clock.is_over():
                began = time.perf_counter()
                results[outcome(session, work, how)] += 1
                spent = time.perf_counter() - began
                longest, total = max(longest, spent), total + spent
            rows.append({
                "program": name, "method": method, "n_groups": how.n_groups, "size": size, "results": dict(results),
                "longest": longest, "seconds": total,
            })  # fmt: skip
            if results["right"] < options.repetitions:
                bad.append(f"{name}, {how.n_groups:,} groups of {size}, {method}: {dict(results)}")
            print(f"  {name:6s} {method:7s} {how.n_groups:6,} groups of {size}: {dict(results)}, "
                  f"longest {1e3 * longest:.1f} ms, all {total:.1f} s", flush=True)  # fmt: skip
    return {"rows": rows, "bad": bad, "n_bad": len(bad)}


def table(session: Any, options: argparse.Namespace, clock: Clock) -> dict[str, Any]:
    """Measure as the laboratory does; what had no time to be measured is bad."""
    device, documents, bad = session.device.id, [], []
    for program in options.programs:
        spec = SynchronizationSpec(
            device=device, program=program, groups=options.groups, runs=options.runs, methods=tuple(METHODS),
            group_size=options.group_size,
        )  # fmt: skip
        context = Watched(clock, tuple(METHODS))
        print(f"\n{PROGRAMS[program].title}, groups of {options.group_size}")
        try:
            document = run_synchronization(spec, context)
        except Cancelled:
            bad.append(f"{program}: there was time for {len(context.rows)} numbers of groups alone")
            documents.append({"program": program, "rows": context.rows})
            continue
        print("\n" + below(document), flush=True)
        documents.append(document)
        bad += [f"{program}: {way} with {n:,} groups differs" for n, way in wrong_cells(document)]
        bad += [f"{program}: ILBS with {row['n_groups']:,} groups: {row['reason']}"
                for row in document["experiments"]["sets"] if not row["equal"]]  # fmt: skip
        cells = [(row["n_groups"], way, cell) for row in document["rows"] for way, cell in row["cells"].items()]
        bad += [f"{program}: {way} with {n:,} groups, all of which run at once: {cell['reason']}"
                for n, way, cell in cells if cell["status"] != "done" and (cell["found"] or 0) >= n]  # fmt: skip
    return {"documents": documents, "bad": bad, "n_bad": len(bad)}


def lines_of(parts: dict[str, Any]) -> Iterator[str]:
    for name, part in parts.items():
        found = ", ".join(f"{words} {n:,}" for words, n in sorted(part.get("results", {}).items()))
        yield f"{name} ({part['wall']:.1f} s): {found or ('well' if not part['n_bad'] else 'bad')}"
        yield from (f"  BAD {words}" for words in part["bad"][:20])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 128, 256], help="work-items of a group")
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--programs", nargs="+", default=["sw", "sort", "relay"], help="of the table")
    parser.add_argument("--groups", default="", help="of the table [7-60; on a processor 1 to twice its cores]")
    parser.add_argument("--group-size", type=int, default=32, help="of the table")
    parser.add_argument("--runs", type=int, default=5, help="timed ones of each cell of the table")
    parser.add_argument("--seconds", type=float, default=90.0, help="longest time of a part")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.parts.split(",")
    if set(names) - set(PARTS):
        parser.error(f"parts are {', '.join(PARTS)}")
    run: dict[str, Callable[..., dict[str, Any]]] = {
        "correct": correct, "beyond": beyond, "repeated": repeated, "table": table,
    }  # fmt: skip
    device = pick_device(options.device)
    print(f"{device.name} ({device.id}), {device.n_compute_units} compute units", flush=True)
    parts: dict[str, Any] = {}
    with open_session(device) as session:
        for name in names:
            began = time.perf_counter()
            parts[name] = run[name](session, options, Clock(options.seconds))
            parts[name]["wall"] = time.perf_counter() - began
            print(f"{name} is done after {parts[name]['wall']:.1f} s", flush=True)
    print("\n".join(["", *lines_of(parts)]))
    n_bad = sum(part["n_bad"] for part in parts.values())
    if options.json:
        result = {"device": device.to_dict(), "host": platform.machine(), "parts": parts, "bad": n_bad}
        options.json.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(f"BAD: {n_bad}")
    sys.exit(1 if n_bad else 0)


if __name__ == "__main__":
    main()
