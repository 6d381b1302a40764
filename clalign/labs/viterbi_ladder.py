"""The ladder of Plan7 Viterbi, measured on a user's device, and its experiments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.compute.sessions import Session
from clalign.jobs import JobContext
from clalign.labs import ladder_data as data
from clalign.labs import rung_columns as of_rungs
from clalign.labs.engine_rates import memory_rate
from clalign.labs.laboratory import Experiment, memory, number, percent, seconds, text_of, times
from clalign.labs.ladder import (
    FileField,
    Ladder,
    LadderSpec,
    RungExperiment,
    climb,
    known_rows,
    measurable_device,
    new_document,
)
from clalign.labs.ladder_rungs import BEST, RUNGS, ViterbiRung
from clalign.labs.measuring import Bench, OtherScores, PartOf, Row, differs, not_run
from clalign.labs.published_ladder import (
    COPY_SHARE,
    DIVERGENCE_SECONDS,
    GRANULARITY_SPEEDUPS,
    PUBLISHED_DEVICE,
    published_row,
)
from clalign.reference.viterbi import viterbi_score
from clalign.stages.plan7.viterbi import VITERBI, ViterbiStage
from clalign.stages.plan7.viterbi_ladder import BASIC, ENTRY, SOURCE, LadderChoices, ViterbiLadderStage, global_bytes
from clalign.values.charts import Bar, BarChart, Chart
from clalign.values.devices import Device
from clalign.values.profiles import IntegerProfile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_codes
from clalign.values.text_columns import TextColumn

BASIC_SECONDS = 1.0

REFERENCE_SAMPLE = 8
PROBE_RESIDUES = 64
GPU_LAUNCHES, OTHER_LAUNCHES = 20_000, 4_000
"""About this many launches the finest granularity may take."""

FIRST_ROWS = {
    "": "argument", ", copied": "copied", ", counted by each work-item": "of-item",
    ", counted by each work-group": "of-group",
}  # fmt: skip
"""Where a launch of a row learns which it is, in words."""

KEPT = ("status", "reason", "equal", "kernel_seconds", "gcups")
"""What rows of experiments keep of what was measured."""

COPIED_WORDS = {"cpu": 1 << 24, "gpu": 1 << 26, "accelerator": 1 << 26}
"""Words of 32 bits of the copy that the bandwidth of rungs is held against."""

WORK_GROUPS = tuple(range(32, 513, 32))

Values = npt.NDArray[np.int32]


class ViterbiLadderSpec(LadderSpec, frozen=True):
    """What to measure.

    Attributes
    ----------
    hmm, db : str or None
        Files to measure on instead of synthetic data.
    sequences, nodes : int or None
        Size of the job; by default what suits the device, and the published family's length.
    seconds : float
        Where no size is given, the basic rung gets a job of about this time.
    launches : int or None
        About this many the finest granularity may take; by default what suits the kind of device.
    """

    hmm: str | None = None
    db: str | None = None
    sequences: int | None = None
    nodes: int | None = None
    seconds: float = BASIC_SECONDS
    launches: int | None = None


def run_ladder(spec: ViterbiLadderSpec, context: JobContext) -> Row:
    """Measure the ladder and return its document; see `clalign.labs.ladder.climb`.

    Raises
    ------
    DeviceNotFound
        If the device runs no OpenCL.
    OtherScores
        If the program's own kernel does not equal the reference on it.
    """
    rungs, experiments = LADDER.chosen(spec.variants)
    if spec.ends < math.inf:  # the fast ones first, so that they are there if time is short
        rungs = [rungs[0], *sorted(rungs[1:], key=lambda rung: rung.group == "alone")]
    model = data.ladder_model(spec.hmm, spec.nodes, spec.seed)
    device = measurable_device(spec.device)
    bench = Bench(device, context, ENTRY, spec.runs, spec.reports, spec.ends)
    try:
        rate = basic_rate(bench, model)
        step = BASIC.group * device.n_compute_units if device.kind == "cpu" else 1
        job = data.ladder_data(model, spec.db, spec.sequences, rate * spec.seconds, step, spec.seed, context)
        document = _document(spec, device, job)
        expected = expected_scores(bench, job)

        def row_of(rung: ViterbiRung, part: JobContext) -> Row:
            bench.part = part
            return _rung(bench, rung, job, expected)

        climb(document, rungs, row_of, _compared, context, len(experiments))
        for place, name in enumerate(experiments, len(rungs)):
            bench.part = PartOf(context, name, place, 1, len(rungs) + len(experiments))
            bench.part.progress("lab", 0, 1, "parts")
            document["experiments"] |= _experiment(name, bench, job, rate * spec.seconds, spec)
        document["experiments"]["copies"] = _copy_shares(document["rows"])
        document["experiments"]["bandwidth"] = _bandwidths(bench, document["rows"], rungs, model.length)
        return document
    finally:
        bench.close()


def _document(spec: LadderSpec, device: Device, job: data.LadderData) -> Row:
    lengths = np.diff(job.batch.offsets)
    database = {
        "source": job.source,
        "n_sequences": len(job.batch),
        "n_residues": int(job.batch.offsets[-1]),
        "longest": int(lengths.max()),
    }
    model = {"name": job.model.hmm.name, "length": job.model.length}
    return new_document(
        LADDER.kind, spec, device, engine="viterbi", model=model, database=database, experiments={},
        published={"device": PUBLISHED_DEVICE},
    )  # fmt: skip


def basic_rate(bench: Bench, model: IntegerProfile) -> float:
    """Return about how many cells a second the basic rung computes, from a small job."""
    n = BASIC.group * bench.device.n_compute_units
    lengths = np.full(n, PROBE_RESIDUES, np.int64)
    batch = SequenceBatch.of_lengths(random_codes(np.random.default_rng(0), int(lengths.sum())), lengths)
    stage = ViterbiLadderStage(BASIC.within(bench.device))
    bench.session.run(stage, batch, model)
    return n * PROBE_RESIDUES * model.length / max(bench.times(stage, batch, model, 1).kernel, 1e-6)


def expected_scores(bench: Bench, job: data.LadderData) -> Values:
    """Return the scores of the program's own kernel, once it equals the reference on a sample."""
    expected = bench.session.run(VITERBI, job.batch, job.model).values
    rows = np.random.default_rng(0).permutation(len(job.batch))[:REFERENCE_SAMPLE]
    for row in rows:
        if viterbi_score(job.batch.residues(row), job.model, bench.context.check) != expected[row]:
            raise OtherScores(
                f"{bench.device.name} computes other scores than the reference, so nothing is measured on it.",
                f"Look at it with: clalign selftest --device {bench.device.id}",
            )
    return expected


def _rung(bench: Bench, rung: ViterbiRung, job: data.LadderData, expected: Values) -> Row:
    """Check and time one rung; what cannot run says why."""
    choices = rung.choices and rung.choices.within(bench.device)
    if choices is None:
        stage = rung.program_stage(bench.session, job.batch, job.model)
        found = not_run(stage) if isinstance(stage, str) else _measured(bench, stage, job, expected)
    else:
        found = _measured(bench, ViterbiLadderStage(choices), job, expected)
    return {
        "name": rung.name,
        "group": rung.group,
        "text": rung.text,
        "choices": {"shape": rung.shape} if choices is None else choices.changed(),
        **found,
        "published": published_row(rung.name),
    }


def _measured(
    bench: Bench, stage: ViterbiLadderStage | ViterbiStage, job: data.LadderData, expected: Values,
    runs: int | None = None,
) -> Row:  # fmt: skip
    """Check and time a stage, and say why if that is not possible."""
    program = isinstance(stage, ViterbiStage)
    source = f"viterbi_{stage.shape}" if isinstance(stage, ViterbiStage) else SOURCE
    # The program's own kernels keep a batch on the device, so their copies show only with a batch that is new to it.
    batch = replace(job.batch) if program else job.batch

    def measure() -> Row:
        scores, known, copies = bench.first_run(stage, source, batch, job.model)
        n_differing = int((scores.values != expected).sum())
        if n_differing:
            return differs(f"The scores of {n_differing:,} of {len(expected):,} sequences differ.")
        times = bench.times(stage, batch, job.model, runs)
        if times.kernel <= 0:
            return not_run("The driver gave no time of the kernels.")
        return {
            "status": "done",
            "reason": None,
            "equal": True,
            "runs": times.runs,
            "kernel_seconds": times.kernel,
            "copy_seconds": copies if program else times.copies,
            "total_seconds": times.total,
            "spread": times.spread,
            "gcups": job.cells / times.kernel / 1e9,
            "speedup": None,
            **known,
        }

    return bench.attempt(measure)


def _compared(row: Row) -> str:
    """Return which times of a row are compared: overlapped copies shorten no kernel."""
    return "total_seconds" if row["choices"].get("copies") == "overlapped" else "kernel_seconds"


def _experiment(name: str, bench: Bench, job: data.LadderData, n_cells: float, spec: ViterbiLadderSpec) -> Row:
    if name == "granularity":
        return {"granularity": _granularity(bench, job, spec.launches)}
    if name == "divergence":
        return {"divergence": _divergence(bench, job, n_cells / job.model.length, spec.seed)}
    return {"work_group": _work_groups(bench, job)}


def _granularity(bench: Bench, job: data.LadderData, launches: int | None) -> list[Row]:
    """Time whole sequences, some rows, one row and one node a launch, on sequences cut short.

    Launches cost the host and the driver time between the kernels, so whole times count here.
    """
    launches = launches or (GPU_LAUNCHES if bench.device.kind == "gpu" else OTHER_LAUNCHES)
    length = max(4, launches // job.model.length)
    short = replace(job, batch=data.shortened(job.batch, length))
    expected = bench.session.run(VITERBI, short.batch, short.model).values
    lasting = replace(BEST, rows="padded", specials="global")
    kinds: list[tuple[str, int | None, LadderChoices]] = [
        ("coarse", None, BEST),
        ("coarse, rows in global memory", None, lasting),
        *((f"medium, {r} rows", r, replace(lasting, granularity="medium", rows_per_launch=r)) for r in (64, 16, 4)),
        *(
            (f"medium, 1 row{how}", 1, replace(lasting, granularity="medium", first_row=first))
            for how, first in FIRST_ROWS.items()
        ),
        ("fine, 1 node", 1, replace(lasting, granularity="fine")),
    ]
    rows = []
    for name, per_launch, choices in bench.parts(kinds):
        stage = ViterbiLadderStage(choices.within(bench.device))
        found = _measured(bench, stage, short, expected, 1 if choices.granularity == "fine" else None)
        published = {"coarse": "coarse", "medium, 1 row": "medium", "fine, 1 node": "fine"}.get(name)
        rows.append({
            "name": name,
            "rows_per_launch": per_launch,
            "residues": length,
            **{key: found[key] for key in KEPT[:3]},
            "kernel_seconds": found["total_seconds"],
            "busy_seconds": found["kernel_seconds"],
            "gcups": short.cells / found["total_seconds"] / 1e9 if found["total_seconds"] else None,
            "published_speedup": GRANULARITY_SPEEDUPS[published] if published else None,
        })  # fmt: skip
    return rows


def _divergence(bench: Bench, job: data.LadderData, n_residues: float, seed: int) -> list[Row]:
    """Time the basic rung on the four published sets; the speed of each second is compared with the one before."""
    sets = data.divergence_sets(np.random.default_rng(seed), n_residues)
    stage, rows = ViterbiLadderStage(BASIC.within(bench.device)), []
    for name, (text, batch) in bench.parts([*sets.items()]):
        part = replace(job, batch=batch)
        found = _measured(bench, stage, part, bench.session.run(VITERBI, batch, job.model).values)
        rows.append({
            "name": name,
            "text": text,
            **{key: found[key] for key in KEPT},
            "relative": 1.0,
            "published_seconds": DIVERGENCE_SECONDS[name],
        })  # fmt: skip
    for even, odd in ((rows[0], rows[1]), (rows[2], rows[3])):
        known = even["gcups"] and odd["gcups"]
        odd["relative"] = odd["gcups"] / even["gcups"] if known else None
    return rows


def _work_groups(bench: Bench, job: data.LadderData) -> list[Row]:
    """Time the published final combination with work-groups of many sizes."""
    expected = bench.session.run(VITERBI, job.batch, job.model).values
    rows = []
    for group in bench.parts(WORK_GROUPS):
        found = _measured(bench, ViterbiLadderStage(replace(BEST, group=group)), job, expected)
        rows.append({"group": group, **{key: found[key] for key in (*KEPT, "registers", "occupancy")}})
    return rows


def _copy_shares(rows: list[Row]) -> list[Row]:
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


def _bandwidths(bench: Bench, rows: list[Row], rungs: list[ViterbiRung], nodes: int) -> list[Row]:
    """Return the bytes a second of each rung, its reads and writes counted as it is written, beside those of a copy."""
    copy = memory_rate(cast("Session", bench.session), COPIED_WORDS[bench.device.kind], bench.context.check)
    found = []
    for row, rung in zip(rows, rungs, strict=True):
        if row["equal"] and rung.choices is not None:
            n_bytes = global_bytes(rung.choices, nodes)
            rate = 1e9 * row["gcups"] * n_bytes
            facts = {"cell_bytes": n_bytes, "gbs": rate / 1e9, "copy_gbs": copy / 1e9, "share": rate / copy}
            found.append({"name": row["name"], "kernel_seconds": row["kernel_seconds"], **facts})
    return found


EQUAL = of_rungs.check_column("Whether every score equals the reference")


def _speeds(title: str) -> Callable[[Row, list[Row]], Chart]:
    """Return the chart of the speeds of an experiment."""

    def bar(row: Row) -> Bar:
        name = row.get("name") or f"groups of {row['group']:,}"
        return Bar(name, row.get("gcups"), text=of_rungs.GCUPS.text(row), note=of_rungs.why_no_bar(row))

    return lambda document, rows: BarChart(title, "GCUPS (10⁹ cells a second)", tuple(map(bar, rows)))


def _shares(_: Row, rows: list[Row]) -> Chart:
    bars = (Bar(row["name"], 100 * row["share"], text=percent("share", ".2g")(row)) for row in rows)
    return BarChart("Share of the copies in the time of kernels and copies", "percent", tuple(bars))


def _bandwidth_chart(_: Row, rows: list[Row]) -> Chart:
    bars = (Bar(row["name"], row["gbs"], row["copy_gbs"], number("gbs", ".4g")(row)) for row in rows)
    return BarChart("Effective bandwidth", "GB/s", tuple(bars), "the rung", "a copy")


def _job_text(document: Row) -> str:
    model, database = document["model"], document["database"]
    return (
        f"{model['name']}, {model['length']:,} nodes, against {database['n_sequences']:,} sequences"
        f" ({database['n_residues']:,} residues, longest {database['longest']:,}; {database['source']})"
    )


LADDER = Ladder(
    name="viterbi",
    kind="ladder",
    job="ladder",
    title="Ladder of Plan7 Viterbi",
    promise="Every step of a published optimization of HMMER2's search, run and checked on your device",
    noun="rung",
    nouns="rungs",
    results="scores",
    rungs=RUNGS,
    known=known_rows(RUNGS, published_row),
    fields=(
        FileField("hmm", "Profile", "profiles", lambda cards: all(card["origin"] == "hmmer2" for card in cards)),
        FileField("db", "Sequences", "sequences"),
    ),
    options=("hmm", "db", "sequences", "nodes"),
    needed=("device", "model", "database", "rows"),
    spec=ViterbiLadderSpec,
    run=run_ladder,
    job_text=_job_text,
    experiments=(
        RungExperiment("rows", "Rungs", "what each choice brings", (
            of_rungs.RUNG,
            TextColumn("What it changes", "Against the basic rung", text_of("text"), width=140, stretch=True,
                       in_text=False),
            EQUAL,
            of_rungs.KERNEL,
            of_rungs.GCUPS,
            of_rungs.SPEEDUP,
            of_rungs.PUBLISHED_SPEEDUP,
            TextColumn("Published (s)", "The published time in seconds",
                       lambda r: number("seconds", ".2f")(of_rungs.published(r)), True, 96, in_text=False),
            of_rungs.REGISTERS,
            of_rungs.LOCAL_MEMORY,
            TextColumn("Private memory", "Of a work-item, if known", memory("private_bytes"), True, 108),
            of_rungs.OCCUPANCY,
            of_rungs.COPIES,
        ), of_rungs.speedup_chart("basic rung", PUBLISHED_DEVICE)),
        Experiment("granularity", "Granularity", "how much of the work a launch does; times include the launches", (
            TextColumn("Granularity", "How much of the work a launch does", text_of("name"), width=150, stretch=True),
            TextColumn("Rows a launch", "Rows of the matrix",
                       lambda r: "all" if r["rows_per_launch"] is None else f"{r['rows_per_launch']:,}", True, 110),
            EQUAL,
            TextColumn("Time", "Of the kernels and their launches", seconds("kernel_seconds"), True, 90),
            TextColumn("Kernels alone", "Time of the kernels without the launches", seconds("busy_seconds"), True, 110),
            of_rungs.GCUPS,
            TextColumn("Published", "The published speed-up over HMMER2",
                       lambda r: times(r.get("published_speedup")), True, 80),
        ), _speeds("How much of the work one launch does")),
        Experiment("divergence", "Divergence", "what sequences of different length cost, basic rung", (
            TextColumn("Sequences", "Four synthetic sets of the same size", text_of("name"), width=170),
            TextColumn("What they are", "", text_of("text"), width=220, stretch=True),
            EQUAL,
            of_rungs.KERNEL,
            of_rungs.GCUPS,
            TextColumn("Relative", "Speed against the set before", number("relative", ".2f"), True, 80),
            TextColumn("Published (s)", "The published time in seconds", number("published_seconds", ".2f"), True, 100),
        ), _speeds("What sequences of different length cost")),
        Experiment("work_group", "Work-group size", "work-items of a group, final combination", (
            TextColumn("Work-group", "Work-items of a group", lambda r: f"{r['group']:,}", True, 100),
            EQUAL,
            of_rungs.KERNEL,
            of_rungs.GCUPS,
            of_rungs.OCCUPANCY,
            of_rungs.REGISTERS,
            TextColumn("No time because", "Why this size has no time", text_of("reason"), width=200, stretch=True,
                       in_text=False),
        ), _speeds("Work-items of a group")),
        Experiment("copies", "Copies", "their share in the time of kernels and copies", (
            TextColumn("Rung", "", text_of("name"), width=170, stretch=True),
            of_rungs.KERNEL,
            of_rungs.COPIES,
            TextColumn("Share", "Of the copies in the time of both", percent("share", ".2g"), True, 80),
            TextColumn("Published", "The published share", percent("published_share", ".2g"), True, 90),
        ), _shares, is_checked=False),
        Experiment("bandwidth", "Bandwidth", "bytes that rungs read and write, as written, and those of a copy", (
            TextColumn("Rung", "", text_of("name"), width=170, stretch=True),
            of_rungs.KERNEL,
            TextColumn("Bytes a cell", "In global memory, caches or not", number("cell_bytes", ".3g"), True, 100),
            TextColumn("GB/s", "Effective: bytes over the time of the kernels", number("gbs", ".4g"), True, 80),
            TextColumn("Copy", "GB/s of a copy on this device", number("copy_gbs", ".4g"), True, 80),
            TextColumn("Share", "Of that; above 100 % by what caches keep", percent("share", ".3g"), True, 80),
        ), _bandwidth_chart, is_checked=False),
    ),
)  # fmt: skip
