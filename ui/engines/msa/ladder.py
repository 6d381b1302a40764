"""The ladder of FSA's pair HMM: a pair on one core, in every published way on a device, and all pairs at once."""

from __future__ import annotations

from clalign.labs.pair_hmm_rungs import (
    EXPERIMENTS as EXPERIMENT_NAMES,
)
from clalign.labs.pair_hmm_rungs import PAIR_HMM_RUNGS, PAIRS, PUBLISHED, PUBLISHED_DEVICE, X, Y

from ... import formatting
from ...models.figures import Bar
from ...models.ladder import (
    LOCAL_MEMORY,
    OCCUPANCY,
    REGISTERS,
    Cell,
    Experiment,
    Ladder,
    NumberField,
    RungView,
    check_column,
    number,
    published,
    seconds,
    times,
    why_no_bar,
)
from ...models.text_table import Row, TextColumn

EQUAL = "Whether all posteriors and expected counts equal the reference"

MOST_RESIDUES, MOST_PAIRS = 4096, 100_000


def _there(key: str) -> Cell:
    shown = seconds(key)
    return lambda row: shown(published(row))


def _speedups(key: str) -> Cell:
    return lambda row: " · ".join(times(value) for value in row.get(key) or ())


def _sweep_speeds(row: Row) -> str:
    return " · ".join(f"{value:.3g}" for value in row.get("sweep_gcups") or ())


def _minutes(row: Row) -> str:
    found = published(row).get("run_minutes")
    return "" if found is None else f"{found:.1f}{formatting.THIN}min"


FORWARD, BACKWARD, BAUM_WELCH = (
    TextColumn(title, tip, seconds(key), True, width)
    for title, tip, key, width in (
        ("Forward", "Probabilities of all paths to each cell; launches included", "forward_seconds", 76),
        ("Backward", "Those of all paths from each cell; launches included", "backward_seconds", 76),
        ("Baum-Welch", "Backward, and the sums that are the expected counts", "baum_welch_seconds", 90),
    )
)

RUNGS = (
    TextColumn("Rung", "A tick: it is run next time", lambda r: r["name"], width=110),
    check_column(EQUAL, 84),
    FORWARD,
    BACKWARD,
    BAUM_WELCH,
    TextColumn("Pair", "What a run needs of a pair: counts four times, posteriors once", seconds("total_seconds"),
               True, 76),
    TextColumn("Speed-up", "Of a pair, over the sequential rung", lambda r: times(r.get("speedup")), True, 74),
    TextColumn("Published", "The published speed-up of a whole run over the sequential program there",
               lambda r: times(published(r).get("speedup")), True, 76),
    TextColumn("GCUPS", "10⁹ cells a second, over all sweeps", number("gcups", ".3g"), True, 64),
    TextColumn("Of each sweep", "10⁹ cells a second in Forward, Backward and Baum-Welch", _sweep_speeds, True, 140),
    TextColumn("Posteriors", "Forward and Backward; of all pairs at once a pair's share", seconds("posteriors_seconds"),
               True, 80),
    TextColumn("Counts", "Forward and Baum-Welch; of all pairs at once a pair's share", seconds("counts_seconds"),
               True, 76),
    TextColumn("Kernels", "Of that, the kernels alone", seconds("kernel_seconds"), True, 76),
    TextColumn("Published Forward", "The published time", _there("forward_seconds"), True, 124),
    TextColumn("Published Backward", "The published time", _there("backward_seconds"), True, 130),
    TextColumn("Published Baum-Welch", "The published time", _there("baum_welch_seconds"), True, 146),
    TextColumn("Published run", "The published time of a whole run with 849 pairs", _minutes, True, 96),
    REGISTERS,
    LOCAL_MEMORY,
    OCCUPANCY,
    TextColumn("Device", "What it ran on", lambda r: r.get("device") or "", width=150),
    TextColumn("What it is", "", lambda r: r.get("text") or "", width=380, stretch=True),
)  # fmt: skip

SIZES = (
    TextColumn("Residues", "Of both sequences", lambda r: r["name"], width=120),
    check_column(EQUAL),
    FORWARD,
    BACKWARD,
    BAUM_WELCH,
    TextColumn("Speed-ups", "Over one core: Forward, Backward and Baum-Welch", _speedups("speedups"), True, 150),
    TextColumn("Published", "The same there", _speedups("published_speedups"), True, 150),
    TextColumn("Speed-up", "Of a pair over one core", lambda r: times(r.get("speedup")), True, 80, stretch=True),
)


def _gain(row: Row) -> Bar:
    return Bar(row["name"], row.get("speedup"), text=times(row.get("speedup")), note=why_no_bar(row))


def _told(view: RungView) -> str:
    document, wrong = view.document, len(view.wrong())
    if wrong:
        verdict = f"{formatting.plural(wrong, 'measurement')} with other results than the reference"
    else:
        verdict = "all posteriors and counts equal the reference" if view.n_done else "nothing was run"
    x, y = (formatting.count(document[key]) for key in ("x", "y"))
    return f"{document['device']['name']} · a pair of {x} × {y} residues · {verdict}"


LADDER = Ladder(
    kind="pair_hmm_ladder",
    name="FSA's pair HMM",
    promise="Forward, Backward and Baum-Welch of a pair, on one core, in every published way and by the program",
    told=_told,
    wrong_text="not every posterior and count equals the reference.",
    first="sequential rung",
    columns=RUNGS,
    known=tuple(
        {"name": rung.name, "text": rung.text, "published": PUBLISHED.get(rung.name)} for rung in PAIR_HMM_RUNGS
    ),
    published_on=PUBLISHED_DEVICE,
    needed=("device", "x", "y", "pairs", "rows"),
    fields=(
        NumberField("x", "Residues of x", X, MOST_RESIDUES, "Of the first sequence of a pair"),
        NumberField("y", "Residues of y", Y, MOST_RESIDUES, "Of the second sequence of a pair"),
        NumberField("pairs", "Pairs at once", PAIRS, MOST_PAIRS, "For the rungs that compute all pairs at once"),
    ),
    experiments={
        "sizes": Experiment("Sizes", SIZES, "Speed-up over one core by the size of the pair", "times as fast", _gain)
    },
    experiment_names=EXPERIMENT_NAMES,
    experiments_tip="Run the rung of states on pairs of the three published sizes, too",
)
