"""The ladder of FSA's pair HMM, measured on a user's device: all that is found is compared, then each rung is timed.

Times are from the start of a sweep until it is over, launches included: one launch for each anti-diagonal is what the
published programs' barrier between all work-groups has become.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from clalign.common.amounts import THIN
from clalign.errors import OptionError
from clalign.jobs import JobContext
from clalign.labs import rung_columns as of_rungs
from clalign.labs.laboratory import Experiment, each, seconds, text_of, times
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
from clalign.labs.measuring import NOT_REACHED, Bench, PartOf, Row, differs, inexact, not_run
from clalign.labs.pair_hmm_rungs import (
    COUNTS_OF_PAIR,
    PAIR_HMM_RUNGS,
    PAIRS,
    PUBLISHED,
    PUBLISHED_DEVICE,
    SIZES,
    SWEEPS,
    PairHmmRung,
    X,
    Y,
)
from clalign.stages.pairhmm.pair_hmm_ladder import BothWays, SequentialStage
from clalign.values.alphabets import AMINO
from clalign.values.charts import Bar, BarChart, Chart
from clalign.values.devices import Device
from clalign.values.pair_batches import PairBatch
from clalign.values.pair_hmm import MIN_POSTERIOR, SEED_GAPS, ExpectedCounts, PairHmm, PairHmms, fixed_emissions
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_codes
from clalign.values.text_columns import TextColumn

TOLERANCE = 1e-5
"""Tolerance of a posterior, and of a count in the residues of its pair: single precision, along many residues."""

MAX_CELLS = 2**24
"""Most cells of a pair: for each the plain reference takes some 100 bytes of the host's memory."""

N_DIFFERENT = 2
"""Pairs that the plain reference computes; where there are more, they take turns."""

ENTRIES = ("forward", "pair_hmm")
"""How the names of the kernels begin that the driver is asked about."""

TIMES = (*SWEEPS, "posteriors", "counts")
"""Posteriors need Forward and Backward; counts Forward and Baum-Welch. All pairs at once have no other times."""

SIZED = ("sequential", "states")
"""The rungs that are compared on pairs of other sizes."""

Entries = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]
"""Places of posteriors, a number each, rising, and they."""

MODEL = PairHmm(SEED_GAPS[False, 1], fixed_emissions(AMINO))


class PairHmmLadderSpec(LadderSpec, frozen=True):
    """What to measure.

    Attributes
    ----------
    x, y : int
        Residues of both sequences of a pair.
    pairs : int
        How many the rungs compute that compute all at once.
    sizes : tuple
        Residues of both sequences of the pairs of the experiment with sizes.
    """

    x: int = X
    y: int = Y
    pairs: int = PAIRS
    sizes: tuple[tuple[int, int], ...] = SIZES


def random_pairs(n: int, x: int, y: int, seed: int) -> PairBatch:
    """Return pairs of random proteins; `N_DIFFERENT` of them take turns."""
    rng = np.random.default_rng(seed)
    queries, targets = (
        SequenceBatch.from_texts([random_codes(rng, length) for _ in range(N_DIFFERENT)]) for length in (x, y)
    )
    rows = np.arange(n, dtype=np.int32) % N_DIFFERENT
    return PairBatch(queries, targets, rows, rows)


def run_pair_hmm_ladder(spec: PairHmmLadderSpec, context: JobContext) -> Row:
    """Measure the ladder and return its document; see `clalign.labs.ladder.climb`.

    Raises
    ------
    DeviceNotFound
        If the device runs no OpenCL.
    OptionError
        If the sequences are too long to be compared with the plain reference.
    """
    if spec.x * spec.y > MAX_CELLS:
        raise OptionError(
            f"A pair of {spec.x:,} x {spec.y:,} residues is more than can be compared with the plain reference.",
            f"Give shorter sequences: {MAX_CELLS:,} pairs of residues at most.",
        )
    rungs, experiments = LADDER.chosen(spec.variants)
    device = measurable_device(spec.device)
    document = new_document(
        LADDER.kind, spec, device, x=spec.x, y=spec.y, pairs=spec.pairs, experiments={},
        published={"device": PUBLISHED_DEVICE, "sizes": [list(size) for size in SIZES], "pairs": PAIRS},
    )  # fmt: skip
    ladder = _Ladder(spec, context)
    climb(
        document, rungs, lambda rung, part: _row(rung, device_for(rung, device), ladder, part),
        lambda row: "total_seconds", context, len(experiments),
    )  # fmt: skip
    if experiments:
        part, n = PartOf(context, "sizes", len(rungs), 1, len(rungs) + 1), len(spec.sizes)
        document["experiments"]["sizes"] = [
            _size(spec, size, device, PartOf(part, _size_name(size), place, 1, n))
            for place, size in enumerate(spec.sizes)
        ]
    return document


class _Ladder:
    """The pairs, and what every rung must find of them."""

    def __init__(self, spec: PairHmmLadderSpec, context: JobContext) -> None:
        self.spec = spec
        self.batch = random_pairs(spec.pairs, spec.x, spec.y, spec.seed)
        different = self.of_first(min(spec.pairs, N_DIFFERENT))
        self._expected = SequentialStage().reference(*different, context.check)

    def of_first(self, n: int) -> tuple[PairBatch, PairHmms]:
        """Return the first pairs, and their models."""
        rows = self.batch.query_rows[:n]
        return replace(self.batch, query_rows=rows, target_rows=rows), PairHmms.same(MODEL, n)

    def difference(self, found: BothWays) -> float:
        """Return how far what was found is from what must be found."""
        parts = [_difference(found, row, self._expected, row % N_DIFFERENT) for row in range(len(found.posteriors))]
        return float(np.max(parts))


def difference_of(a: Entries, b: Entries) -> float:
    """Return the largest difference of posteriors; what only one side keeps counts from the limit on."""
    keys = np.union1d(a[0], b[0])
    dense = np.full((2, len(keys)), MIN_POSTERIOR)
    for values, (places, posteriors) in zip(dense, (a, b), strict=True):
        values[np.searchsorted(keys, places)] = posteriors
    return float(np.abs(dense[0] - dense[1]).max(initial=0))


def _difference(found: BothWays, row: int, expected: BothWays, other: int) -> float:
    """Return the largest difference of two pairs."""
    n_residues = sum(np.diff(offsets)[row] for offsets in (found.posteriors.x_offsets, found.posteriors.y_offsets))
    counts = (
        np.abs(getattr(found.counts, name)[row] - getattr(expected.counts, name)[other]).max(initial=0) / n_residues
        for name in ExpectedCounts.__struct_fields__
    )
    return float(np.max([difference_of(_entries(found, row), _entries(expected, other)), *counts]))


def _entries(of: BothWays, row: int) -> Entries:
    """Return the places of the posteriors of a pair as one number each, rising, and the posteriors."""
    p, span = of.posteriors, slice(of.posteriors.offsets[row], of.posteriors.offsets[row + 1])
    return p.x[span].astype(np.int64) << 32 | p.y[span], p.values[span]


class _Stopwatch:
    """How long the parts of a stage took by its names: seconds in all, and those of kernels alone."""

    def __init__(self, bench: Bench) -> None:
        self._session = bench.session
        self._last = self._now()
        self.laps: dict[str, list[tuple[float, ...]]] = defaultdict(list)

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), self._session.kernel_seconds

    def __call__(self, name: str) -> None:
        now = self._now()
        self.laps[name].append(tuple(a - b for a, b in zip(now, self._last, strict=True)))
        self._last = now

    def medians(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return the medians of both by name."""
        seconds, kernels = (
            {name: statistics.median(lap[which] for lap in laps) for name, laps in self.laps.items()}
            for which in range(2)
        )
        return seconds, kernels


def _row(rung: PairHmmRung, device: Device | None, ladder: _Ladder, context: JobContext) -> Row:
    """Check and time one rung; what cannot run says why."""
    row = measured_row(rung, device, ENTRIES, ladder.spec, context, lambda bench: _measured(bench, rung, ladder))
    unknown = dict.fromkeys((*(f"{name}_seconds" for name in TIMES), "sweep_gcups"))
    return {**unknown, **row, "published": PUBLISHED.get(rung.name)}


def _measured(bench: Bench, rung: PairHmmRung, ladder: _Ladder) -> Row:
    obstacle = rung.obstacle(bench.device)
    if obstacle is not None:
        return not_run(obstacle)
    watch, n = _Stopwatch(bench), ladder.spec.pairs if rung.is_for_all else 1
    stage, of_pairs = rung.stage(bench.device, watch), ladder.of_first(n)
    found, known, _ = bench.first_run(stage, None, *of_pairs)
    difference = ladder.difference(found)
    if not difference <= TOLERANCE:
        is_number = not math.isnan(difference)
        how = f"differs by {difference:.2g}, more than {TOLERANCE:g}" if is_number else "is not a number"
        if rung.option is None:
            return differs(f"A posterior or a count {how}.")
        return inexact(f"With {rung.option} on this device, a posterior or a count {how}.")
    watch.laps.clear()
    runs = bench.repeat(lambda: bench.session.run(stage, *of_pairs))
    seconds, kernels = (_of_pair(laps, n) for laps in watch.medians())
    if kernels["total"] <= 0:
        return not_run("The driver gave no time of the kernels.")
    cells = ladder.spec.x * ladder.spec.y / 1e9
    return {
        "status": "done",
        "reason": None,
        "equal": True,
        "runs": runs,
        **{f"{name}_seconds": seconds.get(name) for name in TIMES},
        "total_seconds": seconds["total"],
        "kernel_seconds": kernels["total"],
        "copy_seconds": None,
        "gcups": 2 * (1 + COUNTS_OF_PAIR) * cells / seconds["total"],
        "sweep_gcups": None if rung.is_for_all else [cells / seconds[name] for name in SWEEPS],
        "speedup": None,
        **known,
    }


def _of_pair(laps: dict[str, float], n: int) -> dict[str, float]:
    """Return the seconds of one of n pairs: of each part, and in all that a run needs of it."""
    of_one = {name: seconds / n for name, seconds in laps.items() if name in TIMES}
    if "forward" in laps:
        of_one["posteriors"] = of_one["forward"] + of_one["backward"]
        of_one["counts"] = of_one["forward"] + of_one["baum_welch"]
    return of_one | {"total": of_one["posteriors"] + COUNTS_OF_PAIR * of_one["counts"]}


def _size(spec: PairHmmLadderSpec, size: tuple[int, int], device: Device, context: JobContext) -> Row:
    """Return how much faster than one core the last published rung computes a pair of a size."""
    known = [f"{sweep}_seconds" for sweep in SWEEPS]
    if time.monotonic() > spec.ends:
        return {**dict.fromkeys((*known, "speedups")), **not_run(NOT_REACHED), "name": _size_name(size)}
    ladder = _Ladder(replace(spec, x=size[0], y=size[1], pairs=1, reports=False), context)
    core, row = (
        _row(rung, device_for(rung, device), ladder, PartOf(context, rung.name, place, 1, len(SIZED)))
        for place, rung in enumerate(rung for rung in PAIR_HMM_RUNGS if rung.name in SIZED)
    )
    both = core["equal"] and row["equal"]
    shown = next((one for one in (core, row) if one["status"] == "done" and not one["equal"]), row)
    there = (PUBLISHED["sequential"], PUBLISHED["states"]) if size == (X, Y) else None
    return {
        "name": _size_name(size),
        **{key: shown[key] for key in ("status", "reason", "equal")},
        **{key: row[key] for key in ("gcups", *known)},
        "speedup": core["total_seconds"] / row["total_seconds"] if both else None,
        "speedups": [core[key] / row[key] for key in known] if both else None,
        "published_speedups": [there[0][key] / there[1][key] for key in known] if there else None,
    }


def _size_name(size: tuple[int, int]) -> str:
    return f"{size[0]:,} x {size[1]:,}"


EQUAL = of_rungs.check_column("Whether all posteriors and expected counts equal the reference")
OF_SWEEPS = tuple(
    TextColumn(title, tip, seconds(f"{sweep}_seconds"), True, 90)
    for sweep, title, tip in (
        ("forward", "Forward", "Probabilities of all paths to each cell; launches included"),
        ("backward", "Backward", "Those of all paths from each cell; launches included"),
        ("baum_welch", "Baum-Welch", "Backward, and the sums that are the expected counts"),
    )
)


def _gains(_: Row, rows: list[Row]) -> Chart:
    bars = (Bar(r["name"], r.get("speedup"), text=times(r.get("speedup")), note=of_rungs.why_no_bar(r)) for r in rows)
    return BarChart("Speed-up over one core by the size of the pair", "times as fast", tuple(bars))


def _minutes(row: Row) -> str:
    found = of_rungs.published(row).get("run_minutes")
    return "" if found is None else f"{found:.1f}{THIN}min"


LADDER = Ladder(
    name="pairhmm",
    kind="pair_hmm_ladder",
    job="pair_hmm_ladder",
    title="Ladder of FSA's pair HMM",
    promise="Forward, Backward and Baum-Welch of a pair, on one core, in every published way and by the program",
    noun="rung",
    nouns="rungs",
    results="posteriors and counts",
    rungs=PAIR_HMM_RUNGS,
    known=known_rows(PAIR_HMM_RUNGS, PUBLISHED.get),
    fields=(
        NumberField("x", "Residues of x", X, 4096, "Of the first sequence of a pair"),
        NumberField("y", "Residues of y", Y, 4096, "Of the second sequence of a pair"),
        NumberField("pairs", "Pairs at once", PAIRS, 100_000, "For the rungs that compute all pairs at once"),
    ),
    options=("x", "y", "pairs"),
    needed=("device", "x", "y", "pairs", "seed", "rows"),
    spec=PairHmmLadderSpec,
    run=run_pair_hmm_ladder,
    job_text=lambda d: f"a pair of {d['x']:,} x {d['y']:,} random residues, seed {d['seed']}, three states",
    note=lambda d: (
        f"One of the {d['pairs']:,} pairs that lanes and vector compute at once has its share of the time. Posteriors"
        " are Forward and Backward, counts Forward and Baum-Welch; a pair takes posteriors once and counts four times,"
        f" as in a run. {of_rungs.one_core_note(d)}"
    ),
    experiments=(
        RungExperiment("rows", "Rungs", "times and speed-ups of a pair; launches included", (
            of_rungs.RUNG,
            EQUAL,
            *OF_SWEEPS,
            TextColumn("Pair", "What a run needs of a pair: counts four times, posteriors once",
                       seconds("total_seconds"), True, 76),
            of_rungs.SPEEDUP,
            TextColumn("Published", "The published speed-up of a whole run over the sequential program there",
                       of_rungs.PUBLISHED_SPEEDUP.text, True, 76),
            of_rungs.GCUPS,
            TextColumn("Of each sweep", "10⁹ cells a second in Forward, Backward and Baum-Welch",
                       each("sweep_gcups", "{:.3g}".format), True, 140),
            TextColumn("Posteriors", "Forward and Backward; of all pairs at once a pair's share",
                       seconds("posteriors_seconds"), True, 80),
            TextColumn("Counts", "Forward and Baum-Welch; of all pairs at once a pair's share",
                       seconds("counts_seconds"), True, 76),
            TextColumn("Kernels", "Of that, the kernels alone", seconds("kernel_seconds"), True, 76),
            of_rungs.published_seconds("forward_seconds", "Published Forward", 124),
            of_rungs.published_seconds("backward_seconds", "Published Backward", 130),
            of_rungs.published_seconds("baum_welch_seconds", "Published Baum-Welch", 146),
            TextColumn("Published run", "The published time of a whole run with 849 pairs", _minutes, True, 96),
            *of_rungs.OF_RUNGS_OF_PAIRS,
        ), of_rungs.speedup_chart("sequential rung", PUBLISHED_DEVICE)),
        Experiment("sizes", "Sizes", "pairs of the three published sizes, rung states", (
            TextColumn("Residues", "Of both sequences", text_of("name"), width=120),
            EQUAL,
            *OF_SWEEPS,
            TextColumn("Speed-ups", "Over one core: Forward, Backward and Baum-Welch", each("speedups", times), True,
                       150),
            TextColumn("Published", "The same there", each("published_speedups", times), True, 150),
            TextColumn("Speed-up", "Of a pair over one core", of_rungs.SPEEDUP.text, True, 80, stretch=True),
        ), _gains),
    ),
)  # fmt: skip
