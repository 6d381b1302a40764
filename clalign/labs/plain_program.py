"""001's sequential program in C++, with and without the compiler's optimization, on one core of the host."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Container, Sequence
from importlib.resources import as_file, files
from subprocess import CompletedProcess, TimeoutExpired

from clalign.formats.scratch import Scratch
from clalign.jobs import JobContext
from clalign.labs.laboratory import DONE
from clalign.labs.measuring import NOT_REACHED, differs, not_run
from clalign.labs.smith_waterman_ladder import REFERENCE_CELLS, random_pairs
from clalign.labs.smith_waterman_rungs import SCORING
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.system.processes import ProcessNotStarted, ask
from clalign.values.pair_batches import PairBatch
from clalign.values.text_columns import Row

FLAGS = {"C++ -O0": "-O0", "C++ -O3": "-O3"}
"""Options of the compiler by the names of rows."""

COMPILERS = ("c++", "g++", "clang++")

MAX_SECONDS = 120.0
"""Timeout of the compiler, and of the program (s)."""


def plain_rows(
    names: Container[str], n_pairs: int, length: int, seed: int, context: JobContext, ends: float = math.inf
) -> dict[str, Row]:
    """Return the seconds of the program on the pairs of the ladder, for each of `FLAGS` that is asked for.

    Its scores must be those of the reference for the first pairs. What would take longer than until `ends`, on the
    clock `time.monotonic`, is left out.
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

        def done(command: Sequence[str]) -> CompletedProcess[str]:
            left = max(0.0, ends - time.monotonic())
            return ask([*command], min(MAX_SECONDS, left), "the compiler or its program", context.check)

        for name in asked:
            context.check()
            try:
                built = done([compiler, FLAGS[name], "-o", str(program), str(source)])
                if built.returncode:
                    rows[name] = not_run(f"The compiler failed: {built.stderr.strip()[:200]}")
                    continue
                found = done([str(program), str(given)])
            except TimeoutExpired as error:
                is_cut = error.timeout < MAX_SECONDS
                rows[name] = not_run(NOT_REACHED if is_cut else f"It took longer than {MAX_SECONDS:.0f} seconds.")
            except ProcessNotStarted as error:
                rows[name] = not_run(error.message)
            else:
                rows[name] = _row(found, n_pairs, expected)
    return rows


def _row(found: CompletedProcess[str], n_pairs: int, expected: Sequence[int]) -> Row:
    """Return what came of the program, given the scores that the first pairs must have."""
    if found.returncode:
        return not_run(f"The program failed ({found.returncode}): {found.stderr.strip()[:200]}")
    seconds, scores = found.stdout.split()[:1], [float(score) for score in found.stdout.split()[1:]]
    if scores[: len(expected)] != list(expected) or len(scores) != n_pairs:
        return differs("Its scores are not those of the reference.")
    return {"status": DONE, "reason": None, "equal": True, "total_seconds": float(seconds[0])}
