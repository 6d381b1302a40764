"""Smith-Waterman scores against two large databases, beside the rates measured for CUDASW++4.0 on an H200.

One database has a million subjects of 360 residues, the other one Swiss-Prot's lengths, the longest 35,000; both
are random and seeded, and so are the queries. For each query the scores of the whole database are first compared
with those of lanes in 32 bits, and a sample with the reference. `alone` is one search by itself, from its start to
the scores on the host, the database resident as one batch; `in turn` is what a search takes among others with two in
flight; the median of several each. Rates count cells: residues of the query times residues of
the subjects. CUDASW++4.0's rates on subjects of 360 are known for four queries; between these they are interpolated
by the logarithm of the length. How fast the device copies its own memory, and its clock while it computes, tell
what state it was in. Prints one JSON object.

    python benchmarks/smith_waterman_databases.py --device gpu --output smith_waterman_databases.json
    python benchmarks/smith_waterman_databases.py --device cpu --sequences 2000 --queries 144 464
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.formats.matrices import load_matrix
from clalign.reference.smith_waterman import pair_score
from clalign.stages.pairwise.smith_waterman import SMITH_WATERMAN, SmithWatermanStage
from clalign.values.scoring import GapCosts, PairwiseQuery, Scoring
from clalign.values.sequences import Sequence, SequenceBatch
from clalign.values.synthetic import random_codes, swissprot_batch

SEED = 5
SUBJECT_LENGTH = 360
QUERIES = (144, 189, 222, 336, 464, 567, 1000, 1500, 2504, 5478)

CUDASW = {144: 4.21e12, 464: 4.60e12, 1500: 4.77e12, 5478: 4.82e12}
"""Cells a second of CUDASW++4.0 on an H200, subjects of 360 residues, by the length of the query."""

WANTED = 1.15
"""Times CUDASW++4.0."""

SAMPLE_CELLS = 1_000_000
IN_FLIGHT = 2
COPY_BYTES = 2**30


def even_batch(n: int) -> SequenceBatch:
    """Return `n` random subjects of one length."""
    offsets = np.arange(n + 1, dtype=np.int64) * SUBJECT_LENGTH
    codes = random_codes(np.random.default_rng(SEED), n * SUBJECT_LENGTH)
    return SequenceBatch(codes, offsets.astype(np.int32), np.arange(n, dtype=np.int64))


def random_query(length: int) -> PairwiseQuery:
    """Return a random query, the same one for a length."""
    codes = random_codes(np.random.default_rng([SEED, length]), length)
    return PairwiseQuery(Sequence("query", "", codes), Scoring(load_matrix("BLOSUM62"), GapCosts(12, 1)))


def cudasw_rate(length: int) -> float:
    """Return the cells a second of CUDASW++4.0 with a query."""
    return float(np.interp(np.log(length), np.log(list(CUDASW)), list(CUDASW.values())))


def differing(session: Any, batch: SequenceBatch, query: PairwiseQuery) -> dict[str, int]:
    """Return how many scores differ from those in 32 bits, and in a sample from the reference's."""
    found = session.run(SMITH_WATERMAN, batch, query)
    stage = SmithWatermanStage() if session.device.kind == "cpu" else SmithWatermanStage("lanes", WIDE=1)
    other = session.run(stage, batch, query)
    n = max(3, SAMPLE_CELLS // (SUBJECT_LENGTH * query.length))
    rows = np.random.default_rng(SEED).choice(len(batch), min(n, len(batch)), replace=False)
    exact = [pair_score(query, batch.residues(row)) for row in rows]
    return {
        "compared": len(batch),
        "differing": int((found.scores.values != other.scores.values).sum()),
        "sampled": len(rows),
        "sample_differing": int((found.scores.values[rows] != exact).sum()),
        "in_32_bits": found.n_in_32_bits,
    }


def seconds_alone(session: Any, batch: SequenceBatch, query: PairwiseQuery, repeats: int) -> list[float]:
    """Return the time from the start of a search to the scores on the host."""
    spent = []
    for _ in range(repeats):
        began = time.perf_counter()
        session.run(SMITH_WATERMAN, batch, query)
        spent.append(time.perf_counter() - began)
    return spent


def seconds_in_turn(session: Any, batch: SequenceBatch, query: PairwiseQuery, repeats: int) -> list[float]:
    """Return the time from the end of one search to the end of the next, some being in flight."""
    under_way: list[Callable[[], Any]] = []
    ends = []
    for _ in range(repeats + IN_FLIGHT):
        under_way.append(session.start(SMITH_WATERMAN, batch, query))
        if len(under_way) == IN_FLIGHT:
            under_way.pop(0)()
            ends.append(time.perf_counter())
    for wait in under_way:
        wait()
    return [float(gap) for gap in np.diff(ends)]


def measure(session: Any, batch: SequenceBatch, length: int, repeats: int) -> dict[str, Any]:
    """Return the rates of a query on a resident database, after checking its scores."""
    query = random_query(length)
    row: dict[str, Any] = {"query": length, **differing(session, batch, query)}
    before = dict(session.seconds_by_kernel)
    alone = statistics.median(seconds_alone(session, batch, query, repeats))
    used = {name: seconds - before.get(name, 0.0) for name, seconds in session.seconds_by_kernel.items()}
    in_turn = statistics.median(seconds_in_turn(session, batch, query, 2 * repeats))
    cells, peer = batch.n_cells(length), cudasw_rate(length)
    row |= {"cells": cells, "milliseconds": round(1000 * alone, 3), "milliseconds_in_turn": round(1000 * in_turn, 3)}
    row["kernel_milliseconds"] = {name: round(1000 * value / repeats, 3) for name, value in used.items() if value}
    row |= {"gcups": round(cells / alone / 1e9, 1), "gcups_in_turn": round(cells / in_turn / 1e9, 1)}
    row |= {"cudasw_gcups": round(peer / 1e9), "times_cudasw": round(cells / in_turn / peer, 3)}
    return row


def copy_rate(session: Any) -> float:
    """Return bytes a second, read and written, of a copy within the device's memory; the best of some."""
    import pyopencl as cl

    source, target = (session.zeros(min(COPY_BYTES, session.device.memory_bytes // 16)) for _ in range(2))
    best = 0.0
    for _ in range(5):
        event = cl.enqueue_copy(session._queue.handle, target, source)
        event.wait()
        best = max(best, 2e9 * source.size / max(1, event.profile.end - event.profile.start))
    return best


class Clock:
    """The device's clock while something is measured, read twice a second where a tool of its maker reports it."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.is_over = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)

    def _read(self) -> None:
        command = ["nvidia-smi", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"]
        while not self.is_over.wait(0.5):
            try:
                text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            except (OSError, subprocess.CalledProcessError):
                return
            self.seen.append(int(text.split()[0]))

    def __enter__(self) -> Clock:
        self.reader.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.is_over.set()
        self.reader.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--queries", type=int, nargs="+", default=list(QUERIES), help="residues")
    parser.add_argument("--sequences", type=int, help="of each database (default: 1,000,000 and 530,000)")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    options = parser.parse_args()
    device = pick_device(options.device)
    document: dict[str, Any] = {
        "kind": "smith-waterman databases", "device": device.name, "driver": device.driver,
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "matrix": "BLOSUM62", "gaps": [12, 1], "wanted_times_cudasw": WANTED, "databases": [],
    }  # fmt: skip
    batches = {
        "subjects of 360": even_batch(options.sequences or 1_000_000),
        "Swiss-Prot's lengths": swissprot_batch(np.random.default_rng(SEED), options.sequences or 530_000),
    }
    with open_session(device) as session, Clock() as clock:
        document["copy_gigabytes_per_second"] = round(copy_rate(session) / 1e9, 1)
        for name, batch in batches.items():
            rows = []
            for length in options.queries:
                rows.append(measure(session, batch, length, options.repeats))
                print(name, rows[-1], file=sys.stderr, flush=True)
            facts = {"name": name, "sequences": len(batch), "residues": int(batch.offsets[-1])}
            document["databases"].append({**facts, "longest": int(batch.lengths.max()), "queries": rows})
    document["clock_mhz"] = {"least": min(clock.seen), "median": statistics.median(clock.seen)} if clock.seen else None
    text = json.dumps(document, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
