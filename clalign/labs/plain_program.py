"""001's sequential program in C++, with and without the compiler's optimization, on one core of the host."""

from __future__ import annotations

import shutil
from collections.abc import Container
from importlib.resources import as_file, files
from subprocess import TimeoutExpired

from clalign.formats.scratch import Scratch
from clalign.jobs import JobContext
from clalign.labs.laboratory import DONE
from clalign.labs.measuring import differs, not_run
from clalign.labs.smith_waterman_ladder import REFERENCE_CELLS, random_pairs
from clalign.labs.smith_waterman_rungs import SCORING
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.system.processes import ask
from clalign.values.pair_batches import PairBatch
from clalign.values.text_columns import Row

FLAGS = {"C++ -O0": "-O0", "C++ -O3": "-O3"}
"""Options of the compiler by the names of rows."""

COMPILERS = ("c++", "g++", "clang++")

MAX_SECONDS = 120.0
"""Of the compiler, and of the program."""


def plain_rows(names: Container[str], n_pairs: int, length: int, seed: int, context: JobContext) -> dict[str, Row]:
    """Return the seconds of the program on the pairs of the ladder, for each of `FLAGS` that is asked for.

    Its scores must be those of the reference for the first pairs.
    """
    asked = [name for name in FLAGS if name in names]
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None or not asked:
        return {name: not_run("No compiler of C++ is installed.") for name in asked}
    batch, n = random_pairs(n_pairs, length, seed), max(1, REFERENCE_CELLS // length**2)
    first = PairBatch(batch.queries, batch.targets, batch.query_rows[:n], batch.target_rows[:n])
    expected = [one.score for one in SMITH_WATERMAN_TRACE.reference(first, SCORING, context.check)]
    rows = dict[str, Row]()
    with Scratch() as folder, as_file(files("clalign.resources") / "publications" / "sequential.cpp") as source:
        given, program = folder / "pairs", folder / "sequential"
        residues = batch.queries.codes.tobytes() + batch.targets.codes.tobytes()
        given.write_bytes(b"%d %d\n%b" % (n_pairs, length, residues))
        for name in asked:
            context.check()
            try:
                built = ask([compiler, FLAGS[name], "-o", str(program), str(source)], MAX_SECONDS)
                found = ask([str(program), str(given)], MAX_SECONDS)
            except TimeoutExpired:
                rows[name] = not_run(f"It took longer than {MAX_SECONDS:.0f} seconds.")
                continue
            seconds, *scores = map(float, found.stdout.split()) if not built.returncode else (0.0,)
            if built.returncode:
                rows[name] = not_run(f"The compiler failed: {built.stderr.strip()[:200]}")
            elif scores[:n] != expected or len(scores) != n_pairs:
                rows[name] = differs("Its scores are not those of the reference.")
            else:
                rows[name] = {"status": DONE, "reason": None, "equal": True, "total_seconds": seconds}
    return rows
