"""The ladder of Plan7 Viterbi, every published rung of it, and its experiments."""

from __future__ import annotations

from dataclasses import replace

from clalign.labs.ladder_rungs import EXPERIMENTS as EXPERIMENT_NAMES
from clalign.labs.ladder_rungs import RUNGS as KNOWN_RUNGS
from clalign.labs.published_ladder import published_facts, published_row

from ... import formatting
from ...models.figures import Bar
from ...models.ladder import (
    GCUPS,
    LOCAL_MEMORY,
    OCCUPANCY,
    REGISTERS,
    Experiment,
    FileField,
    Ladder,
    RungView,
    check_column,
    memory,
    number,
    published,
    seconds,
    times,
    why_no_bar,
)
from ...models.text_table import Row, TextColumn
from ...models.workspace import Source

EQUAL = "Whether every score equals the reference"
WIDE_GCUPS = replace(GCUPS, width=80)
KERNEL = TextColumn("Kernel", "Time of the kernels alone", seconds("kernel_seconds"), True, 90)


def _optional_count(row: Row, key: str) -> str:
    return "all" if row.get(key) is None else formatting.count(row[key])


def _published_seconds(row: Row) -> str:
    return number("seconds", ".2f")(published(row))


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2g}{formatting.THIN}%"


RUNGS = (
    TextColumn("Rung", "A tick: it is run next time", lambda r: r["name"], width=160),
    TextColumn("What it changes", "Against the basic rung", lambda r: r.get("text") or "", width=140, stretch=True),
    check_column(EQUAL, 84),
    TextColumn("Kernel", "Time of the kernels alone, median of several runs", seconds("kernel_seconds"), True, 76),
    GCUPS,
    TextColumn("Speed-up", "Against the basic rung on this device", lambda r: times(r.get("speedup")), True, 74),
    TextColumn("Published", "The published speed-up over the basic rung there",
               lambda r: times(published(r).get("speedup")), True, 76),
    TextColumn("Published (s)", "The published time in seconds",
               _published_seconds, True, 96),
    REGISTERS,
    LOCAL_MEMORY,
    TextColumn("Private memory", "Of a work-item, where the driver tells", memory("private_bytes"), True, 108),
    OCCUPANCY,
    TextColumn("Copies", "Time of the copies to and from the device", seconds("copy_seconds"), True, 78),
)  # fmt: skip

GRANULARITY = (
    TextColumn("Granularity", "How much of the work a launch does", lambda r: r["name"], width=150, stretch=True),
    TextColumn("Rows a launch", "Rows of the matrix", lambda r: _optional_count(r, "rows_per_launch"), True, 110),
    check_column(EQUAL),
    TextColumn("Time", "Of the kernels and their launches", seconds("kernel_seconds"), True, 90),
    WIDE_GCUPS,
    TextColumn(
        "Published",
        "The published speed-up over HMMER2",
        lambda r: times(r.get("published_speedup")),
        True,
        80,
    ),
)

DIVERGENCE = (
    TextColumn("Sequences", "Four synthetic sets of the same size", lambda r: r["name"], width=170),
    TextColumn("What they are", "", lambda r: r.get("text") or "", width=220, stretch=True),
    check_column(EQUAL),
    KERNEL,
    WIDE_GCUPS,
    TextColumn("Relative", "Speed against the set before", number("relative", ".2f"), True, 80),
    TextColumn("Published (s)", "The published time in seconds", number("published_seconds", ".2f"), True, 100),
)

WORK_GROUP = (
    TextColumn("Work-group", "Work-items of a group", lambda r: formatting.count(r["group"]), True, 100),
    check_column(EQUAL),
    KERNEL,
    WIDE_GCUPS,
    replace(OCCUPANCY, width=100),
    replace(REGISTERS, width=90),
    TextColumn(
        "No time because", "Why this size has no time", lambda r: r.get("reason") or "", width=200, stretch=True
    ),
)

COPIES = (
    TextColumn("Rung", "", lambda r: r["name"], width=170, stretch=True),
    KERNEL,
    TextColumn("Copies", "Time of the copies", seconds("copy_seconds"), True, 90),
    TextColumn("Share", "Of the copies in the time of both", lambda r: _share(r.get("share")), True, 80),
    TextColumn("Published", "The published share", lambda r: _share(r.get("published_share")), True, 90),
)


_gcups = number("gcups", ".3g")


def _speed(row: Row) -> Bar:
    name = str(row["name"]) if "name" in row else f"groups of {formatting.count(row['group'])}"
    return Bar(name, row.get("gcups"), text=_gcups(row), note=why_no_bar(row))


def _copied(row: Row) -> Bar | None:
    return Bar(row["name"], 100 * row["share"], text=_share(row["share"])) if "share" in row else None


_SPEEDS = "GCUPS (10⁹ cells a second)"

EXPERIMENTS = {
    "granularity": Experiment("Granularity", GRANULARITY, "How much of the work one launch does", _SPEEDS, _speed),
    "divergence": Experiment("Divergence", DIVERGENCE, "What sequences of different length cost", _SPEEDS, _speed),
    "work_group": Experiment("Work-group size", WORK_GROUP, "Work-items of a group", _SPEEDS, _speed),
    "copies": Experiment("Copies", COPIES, "Share of the copies in the time of kernels and copies", "percent", _copied,
                         is_checked=False),
}  # fmt: skip


def _told(view: RungView) -> str:
    document = view.document
    device, model, database = document["device"], document["model"], document["database"]
    sequences = formatting.plural(database["n_sequences"], "sequence")
    wrong = len(view.wrong())
    differ = f"{formatting.plural(wrong, 'measurement')} with other scores than the reference"
    verdict = differ if wrong else "all scores equal the reference"
    return (
        f"{device['name']} · {verdict if view.n_done else 'nothing was run'} · {model['name']}, "
        f"{formatting.plural(model['length'], 'node')} · {sequences}, "
        f"{formatting.count(database['n_residues'])} residues"
    )


def _is_hmmer2(source: Source) -> bool:
    return all(card["origin"] == "hmmer2" for card in source.cards)


LADDER = Ladder(
    kind="ladder",
    name="Plan7 Viterbi",
    promise="Every step of a published optimization of HMMER2's search, run and checked on your device",
    told=_told,
    wrong_text="not every score equals the reference.",
    first="basic rung",
    columns=RUNGS,
    known=tuple(
        {"name": rung.name, "group": rung.group, "text": rung.text, "published": published_row(rung.name)}
        for rung in KNOWN_RUNGS
    ),
    published_on=str(published_facts()["device"]),
    needed=("device", "model", "database", "rows"),
    fields=(
        FileField("hmm", "Profile", "profiles", _is_hmmer2),
        FileField("db", "Sequences", "sequences"),
    ),
    experiments=EXPERIMENTS,
    experiment_names=tuple(EXPERIMENT_NAMES),
    experiments_tip="Run granularity, divergence and work-group size too",
)
