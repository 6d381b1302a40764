"""The real planner and the real writer with a thousand executors that only wait: what each unit takes them.

Time is virtual: an executor takes units from the planner, and they are done when so much of the simulated time is over
as their cells take at its rate; then the writer stores them in a run file on this disk. What planner and writer take is
measured as the processor time of their calls, which other programs on the machine do not change much, and as wall time.
Executors differ in their rates by up to four times, a unit takes now and then ten times as long, and some executors
die with what they had. Three things are run:

* a whole job of many units, to its end; whether each row of each query was stored once, and each query concluded once,
  is checked in the run file, and how much later than it could it ended is told;
* a job of ten million units, as far as it comes in the processor time given (``--seconds``), in blocks: are the time
  per unit and the memory flat?
* the end of a long job: the run file is filled with the batches of so many units (``--filled``) before;
* what a unit takes the writer with more hits and more scores, from which the cost of each is fitted.

Prints one JSON object; the exit code is 1 if anything was stored twice or not at all.

    python benchmarks/scale_simulation.py --seconds 600 --output benchmarks/results/scale_simulation.json
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from simulated_units import CARD, CELLS, UNIT_ROWS, Cutter, Search, Stock

from clalign.engines.plan7.spec import SearchSpec
from clalign.execution.planner import LOOK_SECONDS, LOOKS, Planner
from clalign.execution.units import Plan, Scored, Unit
from clalign.execution.writer import Writer
from clalign.jobs import QuietContext
from clalign.runs.run_file import BatchResult, RunFile, create_run
from clalign.values.devices import REFERENCE, Device
from tests.run_facts import report_of

IN_FLIGHT = 2
TICK_SECONDS = 0.02
"""Units that are done within so much of the simulated time are seen together, and what they take is measured together:
to look at the processor's clock may take as long as a unit takes the planner."""


@dataclass(eq=False)
class Executor:
    """Waits for the end of units."""

    number: int
    rate: float
    dies_at: float
    cutter: Cutter = field(default_factory=Cutter)
    held: list[Unit[Any]] = field(default_factory=list)
    busy_until: float = 0.0


@dataclass
class Spent:
    """Calls, and the seconds that they took."""

    n: int = 0
    processor: float = 0.0
    wall: float = 0.0

    def call(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call a function and count what it takes."""
        wall, spent = time.perf_counter(), time.thread_time()
        try:
            return function(*given)
        finally:
            self.processor += time.thread_time() - spent
            self.wall += time.perf_counter() - wall
            self.n += 1

    def taken(self) -> tuple[float, float]:
        """Return processor and wall time so far, and begin anew."""
        found = self.processor, self.wall
        self.processor = self.wall = 0.0
        return found


_Done = tuple[Executor, Unit[Any], float]
_Result = tuple[Unit[Any], Cutter, BatchResult, Device]


class Simulation:
    """A job whose executors wait.

    Parameters
    ----------
    run : RunFile
        New.
    n_executors, n_queries, n_units : int
        Units of each query.
    stock : Stock
    dying : float
        Share of the executors that die at some time.
    first : int
        The queries before it are done.
    prepare : callable
        Fills the run with what is done, once it has the queries.
    """

    def __init__(
        self, run: RunFile, n_executors: int, n_queries: int, n_units: int, stock: Stock, dying: float = 0.0,
        first: int = 0, prepare: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.run, self.stock, self.now = run, stock, 0.0
        self.n_all, self.n_rows = n_queries * n_units, n_units * UNIT_ROWS
        run.set_profiles({"name": f"Family_{number:05d}", **CARD} for number in range(n_queries))
        database = report_of(self.n_rows, 350 * self.n_rows)
        run.set_facts(database=database, n_targets=self.n_rows, direction="search")
        prepare()
        search = Search()
        plan = Plan[Any](
            range(first, n_queries),
            self.n_rows,
            CELLS * self.n_all,
            lambda run, number: search,
            lambda device: Cutter(),
        )
        self.planner = Planner(plan, n_executors, lambda: self.now)
        self.writer = Writer(run, self.planner, QuietContext())
        chance = random.Random(16)
        self.chance = chance
        ideal = self.n_all / n_executors
        self.executors = [
            Executor(number, CELLS * 2 ** chance.uniform(-1, 1), chance.uniform(0, ideal) if chance.random() < dying
                     else float("inf")) for number in range(n_executors)
        ]  # fmt: skip
        self.devices = [self._device(executor.number) for executor in self.executors]
        for executor, device in zip(self.executors, self.devices, strict=True):
            self.planner.join(executor.cutter, False)
            self.writer.share_of(device)
        self.planning, self.writing, self.ending = Spent(), Spent(), Spent()
        self.n_stored = self.n_twice = self.n_polls = self.n_ends = self.n_dead = 0
        self._events: list[tuple[float, int, Executor, Unit[Any] | None, float]] = []
        self._order = self._n_told = 0

    @staticmethod
    def _device(number: int) -> Device:
        return replace(REFERENCE, id=f"w{number}", name="A device")

    def _at(self, moment: float, executor: Executor, unit: Unit[Any] | None, seconds: float) -> None:
        self._order += 1
        heapq.heappush(self._events, (moment, self._order, executor, unit, seconds))

    def _fill(self, executors: Iterable[Executor]) -> None:
        """Let executors take units; one that gets none looks again a little later, as real ones do."""
        given = self.planning.call(self._taken, executors)
        for executor, unit in given:
            if unit.is_end:
                self.n_ends += 1
                self.planning.call(self.planner.delivered, unit, executor.cutter, 0.0)
                self.ending.call(self.writer.conclude, unit, lambda run: None)
                continue
            executor.held.append(unit)
            slow = 10.0 if self.chance.random() < 1e-3 else self.chance.uniform(0.9, 1.1)
            seconds = slow * CELLS * (unit.last - unit.first) / UNIT_ROWS / executor.rate
            executor.busy_until = max(executor.busy_until, self.now) + seconds
            self._at(executor.busy_until, executor, unit, seconds)
        for executor in executors:
            if not executor.held:
                self.n_polls += 1
                self._at(self.now + max(LOOK_SECONDS, len(self.executors) / LOOKS), executor, None, 0.0)

    def _taken(self, executors: Iterable[Executor]) -> list[tuple[Executor, Unit[Any]]]:
        """Return what executors get from the planner."""
        take, run, found = self.planner.take, self.run, []
        for executor in executors:
            n = len(executor.held)
            while n < IN_FLIGHT and (unit := take(run, executor.cutter)) is not None:
                found.append((executor, unit))
                n += not unit.is_end
        return found

    def go(self, until: Callable[[], bool], block: int = 0, told: Callable[[dict[str, Any]], None] = print) -> None:
        """Simulate until all is stored, or so long; tell what each block of units took."""
        if not self._events:
            self._fill(self.executors)
        while self._events and self.n_ends < self.n_queries_open() and not until():
            events = self._next_events()
            done, executors = list[_Done](), dict[Executor, None]()
            for executor, unit, seconds in events:
                if self.now >= executor.dies_at:
                    self._die(executor)
                    continue
                executors[executor] = None
                if unit is not None:
                    done.append((executor, unit, seconds))
            n_before = self.n_stored
            self._deliver(done)
            self._fill(executors)
            if block and self.n_stored // block > n_before // block:
                told(self._block(self.n_stored - self._n_told))

    def _next_events(self) -> list[tuple[Executor, Unit[Any] | None, float]]:
        """Go on to the next event, and return it with all that come a moment later: they are seen together."""
        moment, events = self._events[0][0] + TICK_SECONDS, list[tuple[Executor, Unit[Any] | None, float]]()
        while self._events and self._events[0][0] <= moment:
            self.now, _, executor, unit, seconds = heapq.heappop(self._events)
            events.append((executor, unit, seconds))
        return events

    def _die(self, executor: Executor) -> None:
        if executor.rate:
            self.n_dead += 1
            self.planning.call(self.planner.give_back, executor.held, executor.cutter)
            executor.rate, executor.held = 0.0, []

    def n_queries_open(self) -> int:
        """Return how many queries are to be concluded."""
        return len(self.planner.plan.queries)

    def _deliver(self, done: Sequence[_Done]) -> None:
        results = []
        for executor, unit, seconds in done:
            executor.held.remove(unit)
            device = self.devices[executor.number]
            results.append((unit, executor.cutter, self.stock.result(unit, device.name, seconds), device))
        self.planning.call(self._tell_planner, results)
        wanted = {unit: self.planner.is_wanted(unit) for unit, *_ in results}
        self.n_twice += len(results) - sum(wanted.values())
        self.writing.call(self._store, results)
        self.n_stored += len(results)

    def _tell_planner(self, results: Sequence[_Result]) -> None:
        for unit, cutter, result, _ in results:
            self.planner.delivered(unit, cutter, result.cells)

    def _store(self, results: Sequence[_Result]) -> None:
        for unit, _, result, device in results:
            self.writer.store(unit, Scored(result.scores, None), result, device)

    def _block(self, n: int) -> dict[str, Any]:
        planning, writing = self.planning.taken(), self.writing.taken()
        size = sum(path.stat().st_size for path in self.run.path.parent.glob(f"{self.run.path.name}*"))
        self._n_told = self.n_stored
        return {
            "units": self.n_stored, "virtual_seconds": round(self.now, 1), "file_bytes": size,
            "memory_bytes": memory_bytes(),
            "planner_us": round(1e6 * planning[0] / n, 1), "writer_us": round(1e6 * writing[0] / n, 1),
            "planner_wall_us": round(1e6 * planning[1] / n, 1), "writer_wall_us": round(1e6 * writing[1] / n, 1),
        }  # fmt: skip


def memory_bytes() -> int | None:
    """Return the memory that this process has now; None where a system does not say it as Linux does."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def new_run(folder: Path, name: str) -> RunFile:
    """Return a new run file of a search."""
    spec = SearchSpec("Pfam-A.hmm", "uniref90.fasta")
    return create_run(folder / name, engine="plan7", spec=spec.to_dict(), state="running")


def whole_job(folder: Path, n_executors: int, n_queries: int, n_units: int, n_hits: float) -> dict[str, Any]:
    """Simulate a job to its end, and check what was stored."""
    with new_run(folder, "whole.clalign") as run:
        job = Simulation(run, n_executors, n_queries, n_units, Stock(n_hits), dying=0.02)
        ideal = job.n_all * CELLS / sum(executor.rate for executor in job.executors)
        began = time.thread_time()
        job.go(lambda: False)
        spent = time.thread_time() - began
        asked = run.connection.execute
        rows, n_batches = asked("SELECT sum(last - first) AS count, count(*) AS count FROM batches").fetchone()
        (concluded,) = asked("SELECT count(*) FROM queries WHERE best <> 'null'").fetchone()
        gaps = sum(run.finished(number) == [] for number in range(n_queries))  # finished() raises where rows overlap
        return {
            "executors": n_executors, "queries": n_queries, "units": n_batches, "died": job.n_dead,
            "rows_stored": rows, "rows": n_queries * job.n_rows, "queries_concluded": concluded,
            "is_right": rows == n_queries * job.n_rows and concluded == n_queries == job.n_ends and not gaps,
            "given_twice": job.n_twice, "idle_polls": job.n_polls, "virtual_seconds": round(job.now, 1),
            "ideal_seconds": round(ideal, 1), "longer_percent": round(100 * (job.now / ideal - 1), 2),
            "planner_us": round(1e6 * job.planning.processor / n_batches, 1),
            "writer_us": round(1e6 * job.writing.processor / n_batches, 1),
            "end_of_query_us": round(1e6 * job.ending.processor / n_queries, 1), "processor_seconds": round(spent, 1),
        }  # fmt: skip


def long_job(
    folder: Path, n_executors: int, n_queries: int, n_units: int, n_hits: float, seconds: float, block: int,
    until: float,
) -> dict[str, Any]:  # fmt: skip
    """Simulate as much of a long job as comes within some seconds of the processor, or until a moment."""
    blocks: list[dict[str, Any]] = []

    def told(found: dict[str, Any]) -> None:
        blocks.append(found)
        print(json.dumps(found), file=sys.stderr, flush=True)

    most = time.thread_time() + seconds
    with new_run(folder, f"long{n_executors}.clalign") as run:
        job = Simulation(run, n_executors, n_queries, n_units, Stock(n_hits))
        job.go(lambda: time.thread_time() > most or time.monotonic() > until, block, told)
    return {
        "executors": n_executors, "planned_units": job.n_all, "units": job.n_stored, "hits_a_unit": n_hits,
        "blocks": blocks,
    }  # fmt: skip


def end_of_long_job(folder: Path, n_executors: int, n_queries: int, n_units: int, n_left: int) -> dict[str, Any]:
    """Simulate the last queries of a long job, all batches of the others being in the file."""
    stock, done = Stock(0.0), n_queries - n_left
    kept, scores = stock.kept["plan7_batches"], stock.packed.blob
    began = time.thread_time()
    with new_run(folder, "end.clalign") as run:

        def fill() -> None:
            for number in range(done):
                places = [(number, first * UNIT_ROWS) for first in range(n_units)]
                run.connection.insert(
                    "batches", ((*key, key[1] + UNIT_ROWS, CELLS, 1.0, "A device", scores) for key in places)
                )
                run.connection.insert("plan7_batches", ((*key, *kept) for key in places))
                if number % 200 == 0:
                    run.connection.commit()
            run.connection.commit()

        run.make_temporary()
        job = Simulation(run, n_executors, n_queries, n_units, stock, first=done, prepare=fill)
        spent = time.thread_time() - began
        run.connection.execute("PRAGMA synchronous = NORMAL")
        job.go(lambda: False)
        size = run.path.stat().st_size
    n = job.n_stored
    return {
        "units_before": done * n_units, "units": n, "file_bytes": size, "filling_seconds": round(spent, 1),
        "planner_us": round(1e6 * job.planning.processor / n, 1),
        "writer_us": round(1e6 * job.writing.processor / n, 1),
        "planner_wall_us": round(1e6 * job.planning.wall / n, 1),
        "writer_wall_us": round(1e6 * job.writing.wall / n, 1),
    }  # fmt: skip


def costs(folder: Path, n: int) -> list[dict[str, Any]]:
    """Return what the writer takes for units with more hits, or more scores."""
    found = []
    for n_hits, n_scores in ((0, UNIT_ROWS), (10, UNIT_ROWS), (50, UNIT_ROWS), (0, 100_000), (0, 1_000_000)):
        with new_run(folder, f"costs-{n_hits}-{n_scores}.clalign") as run:
            stock = Stock(n_hits, n_scores)
            job = Simulation(run, 10, 10, 10 * n, stock)
            job.go(lambda job=job: job.n_stored >= n)  # type: ignore[misc]
            found.append({
                "hits": n_hits, "scores": n_scores, "blob_bytes": len(stock.packed.blob), "units": job.n_stored,
                "writer_us": round(1e6 * job.writing.processor / job.n_stored, 1),
                "writer_wall_us": round(1e6 * job.writing.wall / job.n_stored, 1),
            })  # fmt: skip
        (folder / f"costs-{n_hits}-{n_scores}.clalign").unlink()
    return found


def _wholes(folder: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    found = []
    for n in given.executors:
        found.append(whole_job(folder, n, given.whole, given.units, given.hits))
        (folder / "whole.clalign").unlink()
    return found


def _end(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    filled = min(given.queries, given.left + given.filled // given.units)
    found = end_of_long_job(folder, max(given.executors), filled, given.units, given.left)
    (folder / "end.clalign").unlink()
    return found


PARTS: dict[str, Callable[[Path, argparse.Namespace], Any]] = {
    "costs": lambda folder, given: costs(folder, given.costs),
    "whole": _wholes,
    "end": _end,
    "long": lambda folder, given: long_job(
        folder,
        max(given.executors),
        given.queries,
        given.units,
        given.hits,
        given.seconds,
        given.block,
        time.monotonic() + given.most_seconds,
    ),
}


def main() -> int:
    """Simulate, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--executors", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--units", type=int, default=500, help="of each query")
    parser.add_argument("--hits", type=float, default=1.0, help="of a unit, on average")
    parser.add_argument("--seconds", type=float, default=600.0, help="of the processor, for the long job")
    parser.add_argument("--most-seconds", type=float, default=86400.0, help="that the long job may take")
    parser.add_argument("--block", type=int, default=50_000, help="units that are told of together")
    parser.add_argument("--whole", type=int, default=200, help="queries of the jobs that are done to the end")
    parser.add_argument("--costs", type=int, default=300, help="units of which the cost of hits and scores is measured")
    parser.add_argument("--filled", type=int, default=10_000_000, help="units that are in the file before its end")
    parser.add_argument("--left", type=int, default=40, help="queries of the end of the long job")
    parser.add_argument("--folder", help="where run files are made [a temporary one]")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS), help="what is run")
    parser.add_argument("--output", help="where the JSON is written; parts that are not run stay as they are there")
    given = parser.parse_args()
    document = json.loads(Path(given.output).read_text("utf-8")) if given.output and Path(given.output).exists() else {}
    document |= {
        "kind": "scale simulation", "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
    }  # fmt: skip
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        for part in given.parts:
            document[part] = PARTS[part](Path(name), given)
            print(json.dumps(document[part]), file=sys.stderr, flush=True)
    text = json.dumps(document, indent=1)
    print(text)
    if given.output:
        Path(given.output).write_text(f"{text}\n", "utf-8")
    return 0 if all(one["is_right"] for one in document.get("whole", ())) else 1


if __name__ == "__main__":
    sys.exit(main())
