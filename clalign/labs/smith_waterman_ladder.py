"""The ladder of Smith-Waterman, measured on a user's device: every alignment is compared, then each rung is timed."""

from __future__ import annotations

import numpy as np

from clalign.jobs import JobContext
from clalign.labs import rung_columns as of_rungs
from clalign.labs.laboratory import seconds
from clalign.labs.ladder import (
    Ladder,
    LadderSpec,
    NumberField,
    RungExperiment,
    climb,
    device_for,
    known_rows,
    measurable_device,
    measured_row,
    new_document,
)
from clalign.labs.measuring import Bench, Row, differs, not_run
from clalign.labs.smith_waterman_rungs import (
    LENGTH,
    PAIR_RUNGS,
    PAIRS,
    PUBLISHED,
    PUBLISHED_DEVICE,
    SCORING,
    PairRung,
)
from clalign.stages.pairwise.smith_waterman_trace import SMITH_WATERMAN_TRACE
from clalign.values.alphabets import encode
from clalign.values.devices import Device
from clalign.values.pair_alignments import PairAlignment
from clalign.values.pair_batches import PairBatch
from clalign.values.sequences import SequenceBatch
from clalign.values.text_columns import TextColumn

REFERENCE_CELLS = 2**19
"""About this many cells the plain reference computes; it takes a second for them."""

ENTRIES = ("smith_waterman", "blocks")
"""How the names of the kernels begin that fill matrices."""

Alignments = list[PairAlignment]


class PairLadderSpec(LadderSpec, frozen=True):
    """What to measure.

    Attributes
    ----------
    pairs, length : int
        How many pairs, and the residues of each sequence.
    """

    pairs: int = PAIRS
    length: int = LENGTH


def random_pairs(n: int, length: int, seed: int) -> PairBatch:
    """Return pairs of random nucleotides."""
    letters, rng = encode("ACGT"), np.random.default_rng(seed)
    queries, targets = (
        SequenceBatch.of_lengths(letters[rng.integers(0, len(letters), n * length)], np.full(n, length))
        for _ in range(2)
    )
    return PairBatch.in_step(queries, targets)


def run_pair_ladder(spec: PairLadderSpec, context: JobContext) -> Row:
    """Measure the ladder and return its document; see `clalign.labs.ladder.climb`.

    Raises
    ------
    DeviceNotFound
        If the device runs no OpenCL.
    """
    rungs, _ = LADDER.chosen(spec.variants)
    device = measurable_device(spec.device)
    ladder = _Ladder(random_pairs(spec.pairs, spec.length, spec.seed), context)
    document = new_document(
        LADDER.kind, spec, device, pairs=spec.pairs, length=spec.length,
        scoring={"matrix": SCORING.matrix.name, "gap": SCORING.gaps.first},
        published={"device": PUBLISHED_DEVICE, "pairs": PAIRS, "length": LENGTH},
    )  # fmt: skip
    climb(
        document, rungs, lambda rung, part: _row(rung, device_for(rung, device), ladder, spec, part),
        lambda row: "total_seconds", context,
    )  # fmt: skip
    return document


class _Ladder:
    """The pairs, and the alignments that every rung must find.

    The plain reference aligns the first pairs. The first rung that agrees with it has the others compared
    with all of its alignments.
    """

    def __init__(self, batch: PairBatch, context: JobContext) -> None:
        self.batch = batch
        n = max(1, REFERENCE_CELLS * len(batch) // batch.n_cells)
        first = PairBatch(batch.queries, batch.targets, batch.query_rows[:n], batch.target_rows[:n])
        self._expected = SMITH_WATERMAN_TRACE.reference(first, SCORING, context.check)

    def n_differing(self, found: Alignments) -> int:
        """Return how many alignments are not those expected; the first that are become those expected."""
        n_known = len(self._expected)
        n_differing = sum(one != other for one, other in zip(found, self._expected, strict=False))
        if not n_differing and n_known < len(found):
            self._expected = found
        return n_differing


def _row(rung: PairRung, device: Device | None, ladder: _Ladder, spec: PairLadderSpec, context: JobContext) -> Row:
    """Check and time one rung; what cannot run says why."""
    row = measured_row(rung, device, ENTRIES, spec, context, lambda bench: _measured(bench, rung, ladder))
    return {"host_seconds": None, **row, "published": PUBLISHED.get(rung.name)}


def _measured(bench: Bench, rung: PairRung, ladder: _Ladder) -> Row:
    stage, batch = rung.stage(bench.device), ladder.batch
    alignments, known, _ = bench.first_run(stage, None, batch, SCORING)
    n_differing = ladder.n_differing(alignments)
    if n_differing:
        return differs(f"The alignments of {n_differing:,} of {len(batch):,} pairs differ.")
    times = bench.times(stage, batch, SCORING)
    if times.kernel <= 0:
        return not_run("The driver gave no time of the kernels.")
    return {
        "status": "done",
        "reason": None,
        "equal": True,
        "runs": times.runs,
        "kernel_seconds": times.kernel,
        "copy_seconds": times.copies,
        "host_seconds": max(0.0, times.total - times.kernel - times.copies),
        "total_seconds": times.total,
        "spread": times.spread,
        "gcups": batch.n_cells / times.kernel / 1e9,
        "speedup": None,
        **known,
    }


def _job_text(document: Row) -> str:
    length, scoring = document["length"], document["scoring"]
    return (
        f"{document['pairs']:,} pairs of {length:,} x {length:,} random nucleotides, seed {document['seed']},"
        f" {scoring['matrix']}, gap -{scoring['gap']}"
    )


LADDER = Ladder(
    name="sw",
    kind="smith_waterman_ladder",
    job="smith_waterman_ladder",
    title="Ladder of Smith-Waterman",
    promise="Many pairs of nucleotides, aligned on one core and in every published way on your device",
    noun="rung",
    nouns="rungs",
    results="alignments",
    rungs=PAIR_RUNGS,
    known=known_rows(PAIR_RUNGS, PUBLISHED.get),
    fields=(
        NumberField("pairs", "Pairs", PAIRS, 100_000),
        NumberField("length", "Nucleotides", LENGTH, 10_000, "Of each sequence"),
    ),
    options=("pairs", "length"),
    needed=("device", "pairs", "length", "scoring", "seed", "rows"),
    spec=PairLadderSpec,
    run=run_pair_ladder,
    job_text=_job_text,
    note=of_rungs.one_core_note,
    experiments=(
        RungExperiment("rows", "Rungs", "times and speed-ups; those are of whole times", (
            of_rungs.RUNG,
            of_rungs.check_column("Whether every alignment equals those of the other rungs"),
            TextColumn("Whole", "From the sequences to the alignments, median of several runs",
                       seconds("total_seconds"), True, 70),
            of_rungs.KERNEL,
            of_rungs.COPIES,
            TextColumn("Host", "All the rest: memory, and what the host does with the matrices",
                       seconds("host_seconds"), True, 70),
            of_rungs.SPEEDUP,
            of_rungs.PUBLISHED_SPEEDUP,
            of_rungs.published_seconds("total_seconds", "Published whole", 112),
            of_rungs.published_seconds("kernel_seconds", "Published kernel", 116),
            of_rungs.published_seconds("copy_seconds", "Published copies", 116),
            of_rungs.GCUPS,
            *of_rungs.OF_RUNGS_OF_PAIRS,
        ), of_rungs.speedup_chart("sequential rung", PUBLISHED_DEVICE)),
    ),
)  # fmt: skip
