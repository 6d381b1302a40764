"""The ladder of Plan7 Viterbi, measured on a user's device: each rung is checked first, then timed.

A run makes one document of plain data: a row for each rung, the experiments beside them, what was
published, and what it was measured on. Everything that shows or keeps a ladder reads that document.
"""

from __future__ import annotations

import datetime
import platform
import statistics
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

import clalign
from clalign.devices import Device
from clalign.errors import ClalignError, DeviceError, DeviceNotFound, OptionError, OutOfDeviceMemory
from clalign.jobs import JobContext
from clalign.labs import ladder_data as data
from clalign.labs.ladder_rungs import BEST, Rung, chosen
from clalign.labs.occupancy import occupancy
from clalign.labs.published_ladder import (
    COPY_SHARE,
    DIVERGENCE_SECONDS,
    GRANULARITY_SPEEDUPS,
    published_facts,
    published_row,
)
from clalign.opencl.choice import pick_device
from clalign.profiles import IntegerProfile
from clalign.reference.cases import random_codes
from clalign.reference.viterbi import viterbi_score
from clalign.sequences import SequenceBatch
from clalign.sessions import open_session
from clalign.stages.viterbi import VITERBI
from clalign.stages.viterbi_ladder import BASIC, LadderChoices, ViterbiLadderStage

BASIC_SECONDS = 1.0

RUNS = 5
RUNG_SECONDS = 10.0
"""A rung is not run again once its runs took this long together."""

REFERENCE_SAMPLE = 8
PROBE_RESIDUES = 64
GPU_LAUNCHES, OTHER_LAUNCHES = 20_000, 4_000
"""About so many launches the finest granularity may take."""

WORK_GROUPS = tuple(range(32, 513, 32))

Values = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LadderSpec:
    """What to measure.

    Attributes
    ----------
    device : str
        In a user's words.
    hmm, db : str or None
        Files to measure on instead of synthetic data.
    variants : tuple of str or None
        Names of rungs and experiments; None for all.
    runs : int
        How often each rung is timed.
    sequences, nodes : int or None
        Size of the job; by default what suits the device, and the published family's length.
    seed : int
        Of the synthetic data, and of the choice of sequences from a file.
    seconds : float
        Where no size is given, the basic rung gets a job of about this time.
    reports : bool
        Whether to ask the driver for registers and memory, which compiles every kernel twice.
    """

    device: str = "auto"
    hmm: str | None = None
    db: str | None = None
    variants: tuple[str, ...] | None = None
    runs: int = RUNS
    sequences: int | None = None
    nodes: int | None = None
    seed: int = 1
    seconds: float = BASIC_SECONDS
    reports: bool = True

    @classmethod
    def from_dict(cls, request: dict[str, Any]) -> LadderSpec:
        """Return the spec that a job's request describes; what it leaves out is as usual."""
        given = {name: request[name] for name in cls.__slots__ if request.get(name) is not None}
        if "variants" in given:
            given["variants"] = tuple(given["variants"])
        return cls(**given)


class Witness:
    """A session that remembers the kernel it launched last."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.launched: tuple[str, str, dict[str, Any], int | None] | None = None

    def launch(
        self, source: str, entry: str, defines: Any, n_items: int, group: int | None, *more: Any, **options: Any
    ) -> None:
        """Enqueue a kernel and remember it."""
        self.launched = (source, entry, dict(defines), group)
        self._session.launch(source, entry, defines, n_items, group, *more, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@dataclass(frozen=True, slots=True)
class Times:
    """Medians of several runs, in seconds: of the kernels, of the copies, and from start to end."""

    kernel: float
    copies: float
    total: float
    runs: int


class Bench:
    """A device to measure on, opened again after a driver's error."""

    def __init__(self, device: Device, context: JobContext, spec: LadderSpec) -> None:
        self.device = device
        self.context = context
        self.spec = spec
        self.session: Any = open_session(device, context.check)

    def reopen(self) -> None:
        """Leave a session that a driver's error may have spoiled."""
        self.close()
        self.session = open_session(self.device, self.context.check)

    def close(self) -> None:
        """Close the session."""
        self.session.__exit__(None, None, None)

    def scores(self, stage: Any, batch: SequenceBatch, model: IntegerProfile) -> Values:
        """Return the scores that a stage computes."""
        values: Values = self.session.run(stage, batch, model).values
        return values

    def times(self, stage: Any, batch: SequenceBatch, model: IntegerProfile, runs: int | None = None) -> Times:
        """Time a stage that has run before; every run copies the sequences anew."""
        session = self.session
        found: list[tuple[float, float, float]] = []
        began = time.perf_counter()
        while len(found) < (runs or self.spec.runs) and (not found or time.perf_counter() - began < RUNG_SECONDS):
            self.context.check()
            fresh = replace(batch) if stage.name != ViterbiLadderStage.name else batch
            kernel, copies, start = session.kernel_seconds, session.copy_seconds, time.perf_counter()
            session.run(stage, fresh, model)
            total = time.perf_counter() - start
            found.append((session.kernel_seconds - kernel, session.copy_seconds - copies, total))
        kernel, copies, total = (float(statistics.median(column)) for column in zip(*found, strict=True))
        return Times(kernel, copies, total, len(found))

    def first_run(self, stage: Any, batch: SequenceBatch, model: IntegerProfile) -> tuple[Values, dict[str, Any]]:
        """Return the scores of a stage, with what the driver tells of its kernel and the occupancy that follows."""
        witness = Witness(self.session)
        values: Values = stage.start(witness, batch, model)().values
        self.session.finish()
        if witness.launched is None or not self.spec.reports:
            return values, {"registers": None, "local_bytes": None, "private_bytes": None, "occupancy": None}
        source, entry, defines, group = witness.launched
        told = self.session.build_report(source, entry, defines)
        share = occupancy(self.device.compute_capability, group or 1, told["registers"], told["local_bytes"] or 0)
        return values, {
            "registers": told["registers"],
            "local_bytes": told["local_bytes"],
            # CPU drivers tell a number that has nothing to do with the kernel.
            "private_bytes": told["private_bytes"] if self.device.kind != "cpu" else None,
            "occupancy": share,
        }


def run_ladder(spec: LadderSpec, context: JobContext) -> dict[str, Any]:
    """Measure the ladder; every row is told as a ``partial`` event as soon as it is done.

    Returns
    -------
    dict
        The document.

    Raises
    ------
    DeviceNotFound
        If the device runs no OpenCL.
    DeviceError
        If the program's own kernel does not equal the reference on it.
    """
    rungs, experiments = chosen(spec.variants)
    model = data.ladder_model(spec.hmm, spec.nodes, spec.seed)
    device = pick_device(spec.device)
    if device.kind == "reference":
        raise DeviceNotFound("The ladder is measured on OpenCL devices.", "See: clalign devices")
    bench = Bench(device, context, spec)
    try:
        rate = basic_rate(bench, model)
        step = BASIC.group * device.n_compute_units if device.kind == "cpu" else 1
        job = data.ladder_data(model, spec.db, spec.sequences, rate * spec.seconds, step, spec.seed, context)
        document = _document(spec, device, job)
        total = len(rungs) + len(experiments)
        context.progress("ladder", 0, total, "rungs")
        expected = expected_scores(bench, job)
        for rung in rungs:
            row = _rung(bench, rung, job, expected)
            _compare(row, document["rows"])
            document["rows"].append(row)
            context.partial(row=row)
            context.progress("ladder", len(document["rows"]), total, "rungs")
        for number, name in enumerate(experiments, 1):
            document["experiments"] |= _experiment(name, bench, job, rate)
            context.progress("ladder", len(rungs) + number, total, "rungs")
        document["experiments"]["copies"] = _copy_shares(document["rows"])
        return document
    finally:
        bench.close()


def _document(spec: LadderSpec, device: Device, job: data.LadderData) -> dict[str, Any]:
    lengths = np.diff(job.batch.offsets)
    return {
        "kind": "ladder",
        "engine": "viterbi",
        "device": {**device.to_dict(), "extensions": list(device.extensions)},
        "model": {"name": job.model.hmm.name, "length": job.model.length},
        "database": {
            "source": job.source,
            "n_sequences": len(job.batch),
            "n_residues": int(job.batch.offsets[-1]),
            "longest": int(lengths.max()),
        },
        "runs": spec.runs,
        "seed": spec.seed,
        "rows": [],
        "experiments": {},
        "published": published_facts(),
        "versions": {"clalign": clalign.__version__, "python": platform.python_version(), "numpy": np.__version__},
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def basic_rate(bench: Bench, model: IntegerProfile) -> float:
    """Return about how many cells a second the basic rung computes, from a small job."""
    n = BASIC.group * bench.device.n_compute_units
    lengths = np.full(n, PROBE_RESIDUES, np.int64)
    batch = data.batch_of(random_codes(np.random.default_rng(0), int(lengths.sum())), lengths)
    stage = ViterbiLadderStage(_within(BASIC, bench.device))
    bench.scores(stage, batch, model)
    return n * PROBE_RESIDUES * model.length / max(bench.times(stage, batch, model, 1).kernel, 1e-6)


def _within(choices: LadderChoices, device: Device) -> LadderChoices:
    """Return the choices with a work-group that the device allows."""
    return replace(choices, group=min(choices.group, device.max_work_group))


def expected_scores(bench: Bench, job: data.LadderData) -> Values:
    """Return the scores of the program's own kernel, once it equals the reference on a sample."""
    expected = bench.scores(VITERBI, job.batch, job.model)
    rows = np.random.default_rng(0).permutation(len(job.batch))[:REFERENCE_SAMPLE]
    for row in rows:
        codes = job.batch.codes[job.batch.offsets[row] : job.batch.offsets[row + 1]]
        if viterbi_score(codes, job.model, bench.context.check) != expected[row]:
            raise DeviceError(
                f"{bench.device.name} computes other scores than the reference, so nothing is measured on it.",
                f"Look at it with: clalign selftest --device {bench.device.id}",
            )
    return expected


def _rung(bench: Bench, rung: Rung, job: data.LadderData, expected: Values) -> dict[str, Any]:
    """Check and time one rung; what cannot run says why."""
    choices = rung.choices and _within(rung.choices, bench.device)
    stage = rung.program_stage(bench.device) if choices is None else ViterbiLadderStage(choices)
    return {
        "name": rung.name,
        "group": rung.group,
        "text": rung.text,
        "choices": {"shape": rung.shape} if choices is None else choices.changed(),
        **_measured(bench, stage, job, expected),
        "published": published_row(rung.name),
    }


NOT_MEASURED: dict[str, Any] = dict.fromkeys(
    ("kernel_seconds", "copy_seconds", "total_seconds", "gcups", "speedup", "registers", "local_bytes",
     "private_bytes", "occupancy")
)  # fmt: skip


def _not_run(reason: str) -> dict[str, Any]:
    return {"status": "not run", "reason": reason, "equal": False, "runs": 0, **NOT_MEASURED}


def _measured(
    bench: Bench, stage: Any, job: data.LadderData, expected: Values, runs: int | None = None
) -> dict[str, Any]:
    if isinstance(stage, str):
        return _not_run(stage)
    try:
        values, report = bench.first_run(stage, job.batch, job.model)
        differing = int((values != expected).sum())
        if differing:
            return {**_not_run(f"The scores of {differing:,} of {len(values):,} sequences differ."), "status": "done"}
        times = bench.times(stage, job.batch, job.model, runs)
    except OptionError as error:
        return _not_run(error.message.removeprefix("These choices cannot run: "))
    except OutOfDeviceMemory as error:
        bench.reopen()
        return _not_run(error.message)
    except DeviceError as error:
        bench.reopen()
        return _not_run(_first_line(error))
    return {
        "status": "done",
        "reason": None,
        "equal": True,
        "runs": times.runs,
        "kernel_seconds": times.kernel,
        "copy_seconds": times.copies,
        "total_seconds": times.total,
        "gcups": job.cells / max(times.kernel, 1e-9) / 1e9,
        "speedup": None,
        **report,
    }


def _first_line(error: ClalignError) -> str:
    said = error.hint.partition("The compiler said: ")[2].strip().splitlines()
    return f"{error.message} {said[0][:200] if said else ''}".strip()


def _compare(row: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Fill in the speed-up over the basic rung, which is the first of the rows.

    Overlapped copies shorten no kernel, so there whole times are compared.
    """
    basic = rows[0] if rows else row
    if not (row["equal"] and basic["equal"]):
        return
    what = "total_seconds" if row["choices"].get("copies") == "overlapped" else "kernel_seconds"
    row["speedup"] = basic[what] / max(row[what], 1e-9)


def _experiment(name: str, bench: Bench, job: data.LadderData, rate: float) -> dict[str, Any]:
    if name == "granularity":
        return {"granularity": _granularity(bench, job)}
    if name == "divergence":
        return {"divergence": _divergence(bench, job, rate)}
    return {"work_group": _work_groups(bench, job)}


def _granularity(bench: Bench, job: data.LadderData) -> list[dict[str, Any]]:
    """Time whole sequences, some rows, one row and one node a launch, on sequences cut short.

    Launches cost the host and the driver time between the kernels, so whole times count here.
    """
    launches = GPU_LAUNCHES if bench.device.kind == "gpu" else OTHER_LAUNCHES
    length = max(4, launches // job.model.length)
    short = replace(job, batch=data.shortened(job.batch, length))
    expected = bench.scores(VITERBI, short.batch, short.model)
    lasting = replace(BEST, rows="padded", specials="global")
    kinds: list[tuple[str, int | None, LadderChoices]] = [
        ("coarse", None, BEST),
        ("coarse, rows in global memory", None, lasting),
        *((f"medium, {r} rows", r, replace(lasting, granularity="medium", rows_per_launch=r)) for r in (16, 4)),
        ("medium, 1 row", 1, replace(lasting, granularity="medium", rows_per_launch=1)),
        ("fine, 1 node", 1, replace(lasting, granularity="fine")),
    ]
    rows = []
    for name, per_launch, choices in kinds:
        stage = ViterbiLadderStage(_within(choices, bench.device))
        found = _measured(bench, stage, short, expected, 1 if choices.granularity == "fine" else None)
        published = {"coarse": "coarse", "medium, 1 row": "medium", "fine, 1 node": "fine"}.get(name)
        rows.append({
            "name": name,
            "rows_per_launch": per_launch,
            "residues": length,
            "status": found["status"],
            "reason": found["reason"],
            "equal": found["equal"],
            "kernel_seconds": found["total_seconds"],
            "busy_seconds": found["kernel_seconds"],
            "gcups": short.cells / found["total_seconds"] / 1e9 if found["total_seconds"] else None,
            "published_speedup": GRANULARITY_SPEEDUPS[published] if published else None,
        })  # fmt: skip
    return rows


def _divergence(bench: Bench, job: data.LadderData, rate: float) -> list[dict[str, Any]]:
    """Time the basic rung on the four published sets; the speed of each second is compared with the one before."""
    n_residues = rate * bench.spec.seconds / job.model.length
    sets = data.divergence_sets(np.random.default_rng(bench.spec.seed), n_residues)
    stage, rows = ViterbiLadderStage(_within(BASIC, bench.device)), []
    for name, (text, batch) in sets.items():
        part = replace(job, batch=batch)
        found = _measured(bench, stage, part, bench.scores(VITERBI, batch, job.model))
        rows.append({
            "name": name,
            "text": text,
            "status": found["status"],
            "reason": found["reason"],
            "equal": found["equal"],
            "kernel_seconds": found["kernel_seconds"],
            "gcups": found["gcups"],
            "relative": 1.0,
            "published_seconds": DIVERGENCE_SECONDS[name],
        })  # fmt: skip
    for even, odd in ((rows[0], rows[1]), (rows[2], rows[3])):
        known = even["gcups"] and odd["gcups"]
        odd["relative"] = odd["gcups"] / even["gcups"] if known else None
    return rows


def _work_groups(bench: Bench, job: data.LadderData) -> list[dict[str, Any]]:
    """Time the published final combination with work-groups of many sizes."""
    expected = bench.scores(VITERBI, job.batch, job.model)
    rows = []
    for group in WORK_GROUPS:
        found = _measured(bench, ViterbiLadderStage(replace(BEST, group=group)), job, expected)
        kept = ("status", "reason", "equal", "kernel_seconds", "gcups", "registers", "occupancy")
        rows.append({"group": group, **{name: found[name] for name in kept}})
    return rows


def _copy_shares(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the share of copies in the time of kernels and copies of each rung."""
    return [
        {
            "name": row["name"],
            "kernel_seconds": row["kernel_seconds"],
            "copy_seconds": row["copy_seconds"],
            "share": row["copy_seconds"] / (row["copy_seconds"] + row["kernel_seconds"]),
            "published_share": COPY_SHARE if row["name"] == "basic" else None,
        }
        for row in rows
        if row["equal"]
    ]
