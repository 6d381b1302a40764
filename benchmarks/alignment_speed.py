"""Speed of whole alignments: this program beside fsa on the same sequences with the same options, in one run.

Programs are run by their command lines, each in a new process: this one first with empty cache folders, as on the day
it was installed, then as often as wanted; fsa once, where it is installed. Wall-clock time is what a user waits;
CPU seconds (user and system of a process and its children) say how much was computed where other work goes on beside.
The most memory that a process took stands beside what was expected before the start.
Rows are compared, and sweeps over the matrices are measured by themselves: all pairs once, for expected counts and
for posteriors, under the model before learning; a cell is a pair of residues, whatever is computed of it.

`--also` runs another device, too, and compares what both have stored: learned parameters, posteriors, merges and rows.
Of the merges that only one of them has made it shows what the first was worth: if that is the same for both, and both
alignments are expected to be as accurate, the choice between them was that of last digits.
Prints one JSON object.

    python benchmarks/alignment_speed.py family.fasta --fast --noindel2 --refinement 0 --device gpu
    python benchmarks/alignment_speed.py --synthetic 500 300 --fast --without-fsa --device gpu --also cpu
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.databases.sequence_rows import read_alignment
from clalign.engines.msa.estimate import estimate
from clalign.engines.msa.inputs import read_input
from clalign.engines.msa.parameters import pairs_of, seed_of
from clalign.engines.msa.phases import batch_of, cells_of
from clalign.engines.msa.reading import alignment_of, annealing_of, given_of, posteriors_of, rounds_of
from clalign.engines.msa.reliability import expected_accuracy
from clalign.engines.msa.spec import AlignmentSpec
from clalign.engines.msa.splitting import selected
from clalign.engines.msa.training import batch_rows
from clalign.runs.run_file import RunFile, open_run
from clalign.stages.pairhmm.expected_counts import EXPECTED_COUNTS
from clalign.stages.pairhmm.posteriors import POSTERIORS
from clalign.values.alphabets import decode
from clalign.values.multiple_alignments import ColumnMerges, MultipleAlignment, creation_numbers
from clalign.values.pair_hmm import PairHmms
from clalign.values.sparse_posteriors import SparsePosteriors
from clalign.values.synthetic import random_codes

SEED = 13

LOSS, GAIN, CHANGE = 0.01, 0.01, 0.2
"""Of a member of a synthetic family against the one that it comes from: share of residues before which a gap begins,
one way and the other, and of those replaced."""

LONGEST_GAP = 9

RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in which the system counts the memory of a process."""

CACHES = ("CLALIGN_CACHE_DIR", "POCL_CACHE_DIR", "CUDA_CACHE_PATH", "XDG_CACHE_HOME")


def write_family(path: Path, n: int, length: int) -> None:
    """Write n related proteins, each of which comes from one before it."""
    rng = np.random.default_rng([SEED, n, length])
    family = [random_codes(rng, length)]
    while len(family) < n:
        parent = family[int(rng.integers(len(family)))]
        child = np.where(rng.random(len(parent)) < CHANGE, random_codes(rng, len(parent)), parent)
        begins = np.flatnonzero(rng.random(len(child)) < LOSS)
        lost = [
            np.arange(place, min(place + int(rng.integers(1, LONGEST_GAP)), len(child))) for place in begins.tolist()
        ]
        child = np.delete(child, np.concatenate([np.empty(0, np.int64), *lost]))
        begins = np.flatnonzero(rng.random(len(child)) < GAIN)
        places = np.repeat(begins, rng.integers(1, LONGEST_GAP, len(begins)))
        family.append(np.insert(child, places, random_codes(rng, len(places))))
    with path.open("w") as file:
        file.writelines(f">s{number}\n{decode(codes)}\n" for number, codes in enumerate(family))


def spent(command: list[str], output: Path, environment: dict[str, str]) -> dict[str, float]:
    """Run a program; return its wall-clock and CPU seconds."""
    with output.open("wb") as file:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.PIPE, env=environment)
        assert process.stderr is not None
        stderr = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: {stderr.decode(errors='replace').strip()}")
    cpu_seconds = round(used.ru_utime + used.ru_stime, 3)
    return {"seconds": round(seconds, 3), "cpu_seconds": cpu_seconds, "peak_bytes": used.ru_maxrss * RSS_UNIT}


class Alignments:
    """The alignments of some sequences by several programs."""

    def __init__(self, sequences: list[str], chosen: list[str], folder: Path) -> None:
        self.sequences, self.chosen, self.folder = sequences, chosen, folder
        self.environment = {**os.environ, **{name: str(folder / name) for name in CACHES}}
        for name in CACHES:
            (folder / name).mkdir()

    def rows(self, name: str) -> Path:
        """Return where the rows of a program are."""
        return self.folder / f"{name}.afa"

    def run(self, device: str) -> Path:
        """Return where the run on a device is."""
        return self.folder / f"{device.replace(':', '_')}.clalign"

    def clalign(self, device: str) -> dict[str, float]:
        """Align with this program."""
        run = self.run(device)
        for left in self.folder.glob(f"{run.name}*"):
            left.unlink()
        how = ["--progress", "none", "--device", device, "--run", str(run)]
        command = [sys.executable, "-m", "clalign", "align", *how, *self.chosen, *self.sequences]
        return spent(command, self.rows(device), self.environment)

    def fsa(self) -> dict[str, float] | None:
        """Align with fsa, if it is there."""
        program = shutil.which("fsa")
        if program is None:
            return None
        return spent([program, *self.chosen, *self.sequences], self.rows("fsa"), dict(os.environ))

    def measured(self, device: str, repeats: int) -> dict[str, Any]:
        """Return how long this program takes on a device: at its first use, and later."""
        first = self.clalign(device)
        later = [self.clalign(device) for _ in range(repeats)]
        with contextlib.closing(sqlite3.connect(self.run(device))) as connection:
            found = connection.execute("SELECT value FROM facts WHERE name = 'finished'").fetchone()
            phases = connection.execute(
                "SELECT card, SUM(cells), SUM(seconds) FROM batches JOIN queries ON id = query GROUP BY query"
            ).fetchall()
        names = [json.loads(card)["name"] if card else "" for card, _, _ in phases]
        finished = json.loads(found[0])
        return {
            "first_use": first,
            "seconds": [one["seconds"] for one in later],
            "cpu_seconds": [one["cpu_seconds"] for one in later],
            "peak_bytes": max(one["peak_bytes"] for one in later),
            "median": {name: statistics.median(one[name] for one in later) for name in later[0]},
            "phases": [
                {"name": name, "cells": cells, "seconds": round(seconds, 3), "gcups": rate(cells, seconds)}
                for name, (_, cells, seconds) in zip(names, phases, strict=True)
            ],
            "kernel_seconds": finished["kernel_seconds"],
            "accuracy": finished["accuracy"],
        }


def rate(cells: float, seconds: float) -> float:
    """Return billions of cells a second."""
    return round(cells / seconds / 1e9, 4) if seconds else 0.0


def sweeps(spec: AlignmentSpec, device: str) -> dict[str, Any]:
    """Return how fast the device computes all pairs once, by the kernel's own time and by the clock."""
    given = read_input(list(spec.sequences), spec.alphabet, spec.seed)
    batch, seed = batch_of(given, pairs_of(given, spec)), seed_of(given, spec)
    cells, found = int(cells_of(batch).sum()), {}
    with open_session(pick_device(device)) as session:
        for name, stage in (("expected counts", EXPECTED_COUNTS), ("posteriors", POSTERIORS)):
            parts = list(batch_rows(batch, session.device, np.arange(len(batch))))
            stages: Any = stage
            for rows in (parts[0], *parts):  # the first one is not counted: it waits for the compiler
                if rows is parts[0]:
                    before, began = sum(session.seconds_by_kernel.values()), time.perf_counter()
                session.run(stages, selected(batch, rows), PairHmms.same(seed, len(rows)))
            seconds, kernel = time.perf_counter() - began, sum(session.seconds_by_kernel.values()) - before
            found[name] = {
                "cells": cells, "seconds": round(seconds, 4), "kernel_seconds": round(kernel, 4),
                "gcups": rate(cells, kernel), "gcups_by_the_clock": rate(cells, seconds),
            }  # fmt: skip
    return {"pairs": len(batch), "sets_of_gaps": seed.gaps.n_sets, **found}


def columns_of(alignment: MultipleAlignment) -> set[bytes]:
    """Return the columns as what stands in them, whatever their order."""
    lengths = np.diff(alignment.offsets)
    table = np.full((alignment.n_columns, len(lengths)), -1, np.int32)
    sequences = np.repeat(np.arange(len(lengths)), lengths)
    table[alignment.columns, sequences] = np.arange(len(alignment.columns)) - alignment.offsets[sequences]
    return {column.tobytes() for column in table}


def compared_rows(first: Path, second: Path) -> dict[str, int]:
    """Return how many rows and columns two files of alignments have in common."""
    ours, theirs = ([row.text for row in read_alignment(str(path))] for path in (first, second))
    columns, others = (columns_of(MultipleAlignment.from_rows(rows)) for rows in (ours, theirs))
    return {
        "rows": len(ours),
        "rows_equal": sum(a == b for a, b in zip(ours, theirs, strict=True)),
        "columns": len(columns),
        "columns_of_the_other": len(others),
        "columns_in_both": len(columns & others),
    }


def keyed(posteriors: SparsePosteriors) -> npt.NDArray[np.int64]:
    """Return a number for each kept posterior that says which residues it is of."""
    rows = np.repeat(np.arange(len(posteriors.starts) - 1), np.diff(posteriors.starts))
    keys: npt.NDArray[np.int64] = rows * (int(posteriors.lengths.max()) + 1) + posteriors.columns
    return keys


def compared_posteriors(ours: SparsePosteriors, theirs: SparsePosteriors) -> dict[str, Any]:
    """Return how far the posteriors of two devices differ."""
    keys, others = keyed(ours), keyed(theirs)
    _, here, there = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    a, b = ours.probabilities[here], theirs.probabilities[there]
    apart = np.abs(a.astype(np.float64) - b)
    return {
        "kept": len(keys), "kept_by_the_other": len(others), "kept_by_both": len(here),
        "different": int((a != b).sum()), "largest_difference": float(apart.max(initial=0)),
        "beyond_1e-6": int((apart > 1e-6).sum()), "beyond_1e-5": int((apart > 1e-5).sum()),
    }  # fmt: skip


def largest(a: Any, b: Any) -> float:
    """Return the largest difference of numbers."""
    return float(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64)).max(initial=0))


def apart_from(merges: ColumnMerges, others: ColumnMerges) -> dict[str, Any]:
    """Return how many merges join residues that others keep apart, and where and of what worth the first one is."""
    columns = np.empty(int(merges.lengths.sum()), np.int32)
    columns[creation_numbers(merges.lengths)] = others.alignment_after().columns
    apart = np.flatnonzero(columns[merges.survivors] != columns[merges.victims])
    first = {"first": int(apart[0]), "worth_of_the_first": float(merges.weights[apart[0]])} if len(apart) else {}
    return {"all": len(merges), "not_of_the_other": len(apart), **first}


def compared_runs(session: Session, ours: RunFile, theirs: RunFile) -> dict[str, Any]:
    """Return where the runs of two devices part."""
    given = given_of(ours)
    rounds = [
        {
            "log_likelihoods": largest(a.log_likelihood, b.log_likelihood),
            "gaps": max(largest(a.model.gaps.opens, b.model.gaps.opens),
                        largest(a.model.gaps.extends, b.model.gaps.extends)),
            "emissions": max(largest(a.model.emissions.singles, b.model.emissions.singles),
                             largest(a.model.emissions.pairs, b.model.emissions.pairs)),
        }
        for a, b in zip(rounds_of(ours, given), rounds_of(theirs, given), strict=True)
    ]  # fmt: skip
    posteriors = posteriors_of(ours, given)
    alignments = [alignment_of(run, given) for run in (ours, theirs)]
    # Of both alignments by the same posteriors: where they differ and this does not, either was as good.
    accuracies = [float(expected_accuracy(posteriors, one, session.check)[1]) for one in alignments]
    first, second = (annealing_of(run, given).merges for run in (ours, theirs))
    return {
        "rounds": rounds,
        "posteriors": compared_posteriors(posteriors, posteriors_of(theirs, given)),
        "expected_accuracies": accuracies,
        "merges": [apart_from(first, second), apart_from(second, first)],
    }


def measured(options: argparse.Namespace, alignments: Alignments, spec: AlignmentSpec) -> dict[str, Any]:
    """Return all that was asked for."""
    found: dict[str, Any] = {"clalign": alignments.measured(options.device, options.repeats)}
    if not options.without_fsa and (theirs := alignments.fsa()) is not None:
        found["fsa"] = theirs
        median, first = found["clalign"]["median"], found["clalign"]["first_use"]
        found["ratio"] = {name: round(theirs[name] / median[name], 2) for name in theirs}
        found["ratio_at_first_use"] = {name: round(theirs[name] / first[name], 2) for name in theirs}
        found["compared_with_fsa"] = compared_rows(alignments.rows(options.device), alignments.rows("fsa"))
    if options.rows:
        found["compared_with_file"] = compared_rows(alignments.rows(options.device), options.rows)
    if options.also:
        found["also"] = {"device": pick_device(options.also).name, **alignments.measured(options.also, 1)}
        rows = compared_rows(alignments.rows(options.device), alignments.rows(options.also))
        with open_run(alignments.run(options.device)) as ours, open_run(alignments.run(options.also)) as theirs_run, \
             open_session(pick_device("reference")) as session:  # fmt: skip
            found["both_devices"] = rows | compared_runs(session, ours, theirs_run)
    found["sweeps"] = sweeps(spec, options.device)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sequences", nargs="*", help="FASTA files, which are joined")
    parser.add_argument("--synthetic", type=int, nargs=2, metavar=("N", "L"), help="N related proteins of L residues")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--noindel2", action="store_true")
    parser.add_argument("--nolearn", action="store_true")
    parser.add_argument("--refinement", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--also", metavar="DEVICE", help="another device, whose results are compared")
    parser.add_argument("--without-fsa", action="store_true")
    parser.add_argument(
        "--rows", type=Path, metavar="F", help="an alignment of another machine or program to compare with"
    )
    parser.add_argument("--repeats", type=int, default=2, help="after the first use")
    parser.add_argument("--json", type=Path, metavar="F", help="write the results to F, too")
    options = parser.parse_args()
    if bool(options.sequences) == bool(options.synthetic):
        parser.error("give either files or --synthetic")
    flags = [f"--{name}" for name in ("fast", "noindel2", "nolearn") if getattr(options, name)]
    if options.refinement is not None:
        flags += ["--refinement", str(options.refinement)]
    with tempfile.TemporaryDirectory() as name:
        folder, sequences = Path(name), [str(Path(path).resolve()) for path in options.sequences]
        if options.synthetic:
            sequences = [str(folder / "family.fasta")]
            write_family(folder / "family.fasta", *options.synthetic)
        spec = AlignmentSpec(
            tuple(sequences), is_fast=options.fast, has_one_gap_set=options.noindel2, without_learning=options.nolearn
        )
        found = measured(options, Alignments(sequences, flags, folder), spec)
        lengths = read_input(sequences, spec.alphabet, spec.seed).lengths
    device = pick_device(options.device)
    expected = estimate(lengths, spec, device)
    document = {
        "kind": "alignment speed", "device": device.name, "driver": device.driver,
        "system": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count(),
        "load": [round(one, 2) for one in os.getloadavg()], "options": flags,
        "sequences": [Path(path).name for path in sequences], "n_sequences": len(lengths),
        "expected": {"seconds": round(expected.seconds, 1), "memory_bytes": int(expected.memory_bytes)},
        "lengths": {"shortest": int(lengths.min()), "mean": float(lengths.mean()), "longest": int(lengths.max())},
        **found,
    }  # fmt: skip
    text = json.dumps(document, indent=1)
    if options.json:
        options.json.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
