"""The same job on several devices: equal scores, speed, start-up, and from which size on which one wins."""

from __future__ import annotations

import datetime
import hashlib
import platform
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

import clalign
from clalign.compute.batching import batch_end, residue_limit
from clalign.compute.opening import open_session
from clalign.compute.sessions import Session
from clalign.errors import DeviceError, OptionError
from clalign.jobs import JobContext
from clalign.labs.comparison_documents import break_even, judged
from clalign.labs.engine_rates import KERNELS, kernel_row, memory_rate
from clalign.labs.measuring import Row
from clalign.stages.peak import FLOAT_PEAK, PEAK, PeakStage, peak_loads
from clalign.stages.plan7.viterbi import VITERBI
from clalign.values.alphabets import AMINO
from clalign.values.devices import REFERENCE, Device
from clalign.values.documents import JobRequest
from clalign.values.profiles import IntegerProfile
from clalign.values.sequences import SequenceBatch, SequenceDatabase
from clalign.values.synthetic import random_codes, random_profile, swissprot_lengths

OPERATIONS_PER_CELL = 17
"""Additions and maxima that the recurrences of M, I, D and E ask for in a cell: M has 4 ways in and an
emission (5 additions, 3 maxima), I two ways and an emission (3 and 1), D two ways (2 and 1), E one way
(1 and 1). Clamping and the special states, which no kernel need do in every cell, are not counted."""

STRIDES = (64, 16, 4, 2)
"""The smaller databases of the break-even chart hold every 64th sequence, every 16th and so on."""

REPEATS = 3
PEAK_REPEATS = 3

SAMPLE_CELLS, SAMPLE_RESIDUES = 4e6, 20_000
"""What the reference computes again at most: about two seconds."""

COPIED_WORDS = 1 << 25
"""Words of 32 bits that are copied to measure the rate of memory, where the job is not smaller."""

BATCH_SECONDS = 0.5
FIRST_RATE = {"gpu": 2e11, "accelerator": 2e9, "cpu": 1e9}

MAX_NODES = 5000
MAX_RESIDUES = 2_000_000_000
MEAN_LENGTH = 354

Ints = npt.NDArray[np.int32]


class BenchSpec(Struct, frozen=True):
    """The job of a comparison: a random model against random sequences.

    Attributes
    ----------
    nodes, residues, seed : int
    """

    nodes: int = 200
    residues: int = 20_000_000
    seed: int = 1

    def __post_init__(self) -> None:
        for name, value, most in (("nodes", self.nodes, MAX_NODES), ("residues", self.residues, MAX_RESIDUES)):
            if not 1 <= value <= most:
                raise OptionError(f"{value:,} {name} are asked for.", f"Ask for 1 to {most:,} of them.")
        if self.seed < 0:
            raise OptionError(f"The seed is {self.seed}, but must not be below 0.", "Give another number.")


class BenchJob(Struct, frozen=True):
    """The data of a comparison.

    Attributes
    ----------
    spec : BenchSpec
    model : IntegerProfile
    database : SequenceDatabase
    sample : int64[n]
        Rows that the reference computes again.
    expected : int32[n]
        Their scores.
    """

    spec: BenchSpec
    model: IntegerProfile
    database: SequenceDatabase
    sample: npt.NDArray[np.int64]
    expected: Ints

    @property
    def cells(self) -> float:
        """Cells of the whole job."""
        return float(self.database.n_residues) * self.model.length

    def facts(self) -> Row:
        """Return what makes this job the same on another machine, as plain data."""
        digest = hashlib.sha256(self.database.codes[:].data)
        for array in (self.database.offsets, self.model.match, self.model.insert, self.model.transitions):
            digest.update(np.ascontiguousarray(array).data)
        return {
            "nodes": self.model.length,
            "n_sequences": len(self.database),
            "n_residues": self.database.n_residues,
            "cells": self.cells,
            "seed": self.spec.seed,
            "operations_per_cell": OPERATIONS_PER_CELL,
            "data_digest": digest.hexdigest()[:16],
        }


def bench_job(spec: BenchSpec, context: JobContext) -> BenchJob:
    """Return the data of a job; they depend on the spec alone."""
    rng = np.random.default_rng(spec.seed)
    model = random_profile(rng, spec.nodes)
    database = random_database(rng, spec.residues)
    context.check()
    sample = _sample(database, spec.nodes)
    expected = VITERBI.reference(database.select(sample), model, context.check).values
    return BenchJob(spec, model, database, sample, expected)


def random_database(rng: np.random.Generator, n_residues: int) -> SequenceDatabase:
    """Return random proteins with Swiss-Prot's lengths, longest first, of this many residues in all."""
    lengths = swissprot_lengths(rng, n_residues // MEAN_LENGTH * 2 + 100)
    ends = np.cumsum(lengths)
    n = int(ends.searchsorted(n_residues)) + 1
    lengths = lengths[:n]
    lengths[-1] -= ends[n - 1] - n_residues
    lengths = np.sort(lengths)[::-1]
    step = 2**26
    codes = np.empty(n_residues, np.uint8)
    for first in range(0, n_residues, step):
        codes[first : first + step] = random_codes(rng, min(step, n_residues - first))
    return SequenceDatabase.without_names(AMINO, codes, lengths)


def _sample(database: SequenceDatabase, nodes: int) -> npt.NDArray[np.int64]:
    """Return rows spread over all lengths, as many as the reference can compute soon."""
    limit = min(SAMPLE_CELLS / nodes, SAMPLE_RESIDUES)
    n = int(np.clip(limit / MEAN_LENGTH, 1, len(database)))
    rows = np.linspace(len(database) - 1, 0, n).astype(np.int64)  # shortest first
    residues = np.cumsum(np.diff(database.offsets)[rows])
    kept: npt.NDArray[np.int64] = np.unique(rows[: max(1, int(residues.searchsorted(limit)))])
    return kept


def compare_devices(devices: list[Device], spec: BenchSpec, context: JobContext) -> Row:
    """Run a job on each device and return the comparison's document.

    Parameters
    ----------
    devices : list of Device
        The scores of each are compared with those of the first, and a sample with the reference.
    spec : BenchSpec
    context : JobContext
        Receives each device's row (``partial``: ``device``); stops the work.

    Raises
    ------
    OptionError
        If there is no device.
    """
    if not devices:
        raise OptionError("There is no device to compare.", "See: clalign devices")
    job = bench_job(spec, context)
    share = job.cells * (1 + REPEATS) * (1.0 + sum(1.0 / stride for stride in STRIDES))
    meter = _Meter(context, share * len(devices))
    rows: list[Row] = []
    for number, device in enumerate(devices):
        meter.begin(device.name, number * share)
        rows = judged([*rows, measured_row(device, job, meter)])
        context.partial(device=rows[-1])
    meter.begin("", meter.total)
    return {
        "kind": "comparison",
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {"clalign": clalign.__version__, "python": platform.python_version(), "numpy": np.__version__},
        "job": job.facts(),
        "devices": rows,
        "break_even": break_even(rows),
    }


class _Meter(Struct):
    """Reports the progress of a comparison, in cells, and what is measured."""

    context: JobContext
    total: float
    done: float = 0.0
    device: str = ""
    words: str = ""

    def begin(self, device: str, done: float) -> None:
        """Go on with a device, when so much is done."""
        self.device, self.done, self.words = device, max(self.done, done), ""
        self.add(0.0)

    def add(self, cells: float) -> None:
        """Report that more is done; here the comparison can be stopped."""
        self.done += cells
        done = min(self.done, self.total)
        self.context.progress("bench", done, self.total, "cells", device=self.device, now=self.words)
        self.context.check()

    def now(self, words: str) -> None:
        """Report what is measured."""
        self.words = words
        self.add(0.0)


def measured_row(device: Device, job: BenchJob, meter: _Meter) -> Row:
    """Measure a device; what its driver reports instead is in ``error``."""
    row: Row = {"device": device.to_dict(), **dict.fromkeys(ROW_KEYS), "curve": []}
    try:
        measure = _measure_reference if device.kind == "reference" else _measure
        return {**row, **measure(device, job, meter)}
    except DeviceError as error:
        return {**row, "error": str(error)}


ROW_KEYS = (
    "gcups", "gcups_with_copies", "kernel_seconds", "copy_seconds", "wall_seconds", "start_seconds", "peak_gops",
    "share_of_peak", "scores_digest", "sample_equal", "identical", "error",
)  # fmt: skip


def _measure_reference(device: Device, job: BenchJob, meter: _Meter) -> Row:
    """Measure the reference on the sample, which is all that it can do in time."""
    batch = job.database.select(job.sample)
    began = time.perf_counter()
    with open_session(REFERENCE, meter.context.check) as session:
        equal = np.array_equal(session.run(VITERBI, batch, job.model).values, job.expected)
    seconds = time.perf_counter() - began
    gcups = batch.n_cells(job.model.length) / seconds / 1e9
    return {"device": device.to_dict(), "gcups": gcups, "gcups_with_copies": gcups, "sample_equal": equal,
            "kernel_seconds": seconds, "wall_seconds": seconds, "copy_seconds": 0.0, "start_seconds": 0.0,
            "residues": int(batch.offsets[-1])}  # fmt: skip


def _measure(device: Device, job: BenchJob, meter: _Meter) -> Row:
    began = time.perf_counter()
    with open_session(device, meter.context.check) as session:
        open_seconds = time.perf_counter() - began
        runner = _Runner(session, job, meter)
        runner.run(job.database)
        cold_seconds = time.perf_counter() - began
        passes = [runner.run(job.database) for _ in range(REPEATS)]
        best = sorted(passes, key=lambda p: p.wall_seconds)[REPEATS // 2]
        # What the first job took longer than the next ones: opening, building kernels, first allocations.
        start_seconds = max(cold_seconds - best.wall_seconds, open_seconds)
        kernel_seconds = float(np.median([p.kernel_seconds for p in passes]))
        peaks = {
            "int32": peak_rate(session, meter.context.check, PEAK),
            "float": peak_rate(session, meter.context.check, FLOAT_PEAK),
            "memory": memory_rate(session, min(COPIED_WORDS, job.spec.residues), meter.context.check),
        }
        curve = [*(runner.point(stride, start_seconds) for stride in STRIDES),
                 {"residues": job.database.n_residues, "seconds": start_seconds + best.wall_seconds}]  # fmt: skip
        row: Row = {
            "gcups": job.cells / kernel_seconds / 1e9,
            "gcups_with_copies": job.cells / best.wall_seconds / 1e9,
            "kernel_seconds": kernel_seconds,
            "copy_seconds": best.copy_seconds,
            "wall_seconds": best.wall_seconds,
            "start_seconds": start_seconds,
            "peak_gops": peaks["int32"] / 1e9,
            "share_of_peak": OPERATIONS_PER_CELL * job.cells / kernel_seconds / peaks["int32"],
            "scores_digest": hashlib.sha256(best.scores.astype("<i4").data).hexdigest(),
            "sample_equal": bool(np.array_equal(best.scores[job.sample], job.expected)),
            "curve": curve,
            "peaks": peaks,
            "engines": [],
        }
        for kernel in KERNELS:
            meter.now(kernel.name)
            row["engines"].append(kernel_row(kernel, session, job.spec.nodes, peaks, meter.context.check))
            known = {"device": device.to_dict(), **dict.fromkeys(ROW_KEYS), **row, "engines": list(row["engines"])}
            meter.context.partial(device=known)
    return row


def peak_rate(session: Session, check: Callable[[], None], stage: PeakStage) -> float:
    """Return the highest rate of additions and maxima that a device reaches, in operations a second.

    Raises
    ------
    DeviceError
        If its results are wrong.
    """
    best = 0.0
    for load in peak_loads(session.device):
        expected = stage.reference(load, None, check)
        for _ in range(PEAK_REPEATS):
            before = session.kernel_seconds
            results = session.run(stage, load, None)
            best = max(best, load.operations / max(session.kernel_seconds - before, 1e-9))
        if not np.array_equal(results, expected):
            raise DeviceError(
                f"{session.device.name} computes additions and maxima other than the reference.",
                "Update its driver, or choose another device.",
            )
    return best


class _Pass(Struct, frozen=True):
    """One way through a database: its scores, and how long what took."""

    scores: Ints
    wall_seconds: float
    kernel_seconds: float
    copy_seconds: float


class _Runner(Struct, frozen=True):
    """Runs the job, whole or in part, on an open session."""

    session: Session
    job: BenchJob
    meter: _Meter
    measured: list[float] = field(default_factory=list)
    """Cells a second of the whole job's passes so far; batches are sized by the last, as in a search."""

    def run(self, database: SequenceDatabase) -> _Pass:
        """Score a database whose residues are not on the device yet."""
        session, model = self.session, self.job.model
        batches = list(self._batches(database))
        kernel, copies = session.kernel_seconds, session.copy_seconds
        began = time.perf_counter()
        parts, waiting = [], []
        for batch in batches:
            self.meter.context.check()
            waiting.append(session.start(VITERBI, batch, model))
            if len(waiting) == 2:
                parts.append(waiting.pop(0)().values)
        parts += [result().values for result in waiting]
        wall = time.perf_counter() - began
        self.meter.add(float(database.n_residues) * model.length)
        if database is self.job.database:
            self.measured.append(float(database.n_residues) * model.length / wall)
        scores = np.concatenate(parts)
        return _Pass(scores, wall, session.kernel_seconds - kernel, session.copy_seconds - copies)

    def _batches(self, database: SequenceDatabase) -> list[SequenceBatch]:
        device = self.session.device
        rate = max(device.gcups * 1e9, FIRST_RATE[device.kind], *self.measured[-1:])
        size = max(1, min(int(rate * BATCH_SECONDS / self.job.model.length), residue_limit(device)))
        found, first = [], 0
        while first < len(database):
            last = batch_end(database, first, len(database), size)
            found.append(database.batch(first, last))
            first = last
        return found

    def point(self, stride: int, start_seconds: float) -> Row:
        """Return the time that a smaller database takes, start-up included."""
        database = thinned(self.job.database, stride)
        self.run(database)  # another shape of kernel may have to be built
        seconds = float(np.median([self.run(database).wall_seconds for _ in range(REPEATS)]))
        return {"residues": database.n_residues, "seconds": start_seconds + seconds}


def thinned(database: SequenceDatabase, stride: int) -> SequenceDatabase:
    """Return every `stride`-th row as a database of its own."""
    batch = database.select(np.arange(0, len(database), stride, dtype=np.int64))
    return SequenceDatabase.without_names(database.alphabet, batch.codes, batch.lengths)


def run_bench(request: JobRequest, context: JobContext) -> Row:
    """Run the job ``bench``: ``devices`` (ids or words; none: every one that is ready), ``nodes``, ``residues``."""
    from clalign.compute.opencl.choice import all_devices
    from clalign.values.devices import choose_devices

    known = all_devices()
    wanted = request.get("devices") or [d.id for d in known if d.is_usable and d.kind != "reference"]
    chosen = list(dict.fromkeys(device for wish in wanted for device in choose_devices(wish, known)[0]))
    named = {key: request[key] for key in ("nodes", "residues", "seed") if request.get(key) is not None}
    return compare_devices(chosen, BenchSpec(**named), context)
