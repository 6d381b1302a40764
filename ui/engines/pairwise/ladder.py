"""The ladder of Smith-Waterman: many pairs, aligned on one core and in every published way on the user's device."""

from __future__ import annotations

from clalign.labs.smith_waterman_rungs import LENGTH, PAIR_RUNGS, PAIRS, PUBLISHED, PUBLISHED_DEVICE

from ... import formatting
from ...models.ladder import (
    LOCAL_MEMORY,
    OCCUPANCY,
    REGISTERS,
    Cell,
    Ladder,
    NumberField,
    RungView,
    check_column,
    number,
    published,
    seconds,
    times,
)
from ...models.text_table import TextColumn

EQUAL = "Whether every alignment equals those of the other rungs"


def _published_seconds(key: str) -> Cell:
    shown = seconds(key)
    return lambda row: shown(published(row))


RUNGS = (
    TextColumn("Rung", "A tick: it is run next time", lambda r: r["name"], width=110),
    check_column(EQUAL, 84),
    TextColumn("Whole", "From the sequences to the alignments, median of several runs", seconds("total_seconds"),
               True, 70),
    TextColumn("Kernel", "Time of the kernel", seconds("kernel_seconds"), True, 70),
    TextColumn("Copies", "Time of the copies to and from the device", seconds("copy_seconds"), True, 70),
    TextColumn("Host", "All the rest: memory, and what the host does with the matrices", seconds("host_seconds"),
               True, 70),
    TextColumn("Speed-up", "Of the whole time, over the sequential rung", lambda r: times(r.get("speedup")), True, 74),
    TextColumn("Published", "The published speed-up over the sequential program there",
               lambda r: times(published(r).get("speedup")), True, 76),
    TextColumn("Published whole", "The published whole time", _published_seconds("total_seconds"), True, 112),
    TextColumn("Published kernel", "The published time of the kernel", _published_seconds("kernel_seconds"), True, 116),
    TextColumn("Published copies", "The published time of the copies", _published_seconds("copy_seconds"), True, 116),
    TextColumn("GCUPS", "10⁹ cells a second, in the kernel", number("gcups", ".3g"), True, 64),
    REGISTERS,
    LOCAL_MEMORY,
    OCCUPANCY,
    TextColumn("Device", "What it ran on", lambda r: r.get("device") or "", width=150),
    TextColumn("What it is", "", lambda r: r.get("text") or "", width=380, stretch=True),
)  # fmt: skip


def _told(view: RungView) -> str:
    document, wrong = view.document, len(view.wrong())
    if wrong:
        verdict = f"{formatting.plural(wrong, 'rung')} with other alignments"
    else:
        verdict = "all alignments are equal" if view.n_done else "nothing was run"
    pairs, length = formatting.plural(document["pairs"], "pair"), formatting.count(document["length"])
    return f"{document['device']['name']} · {pairs} of {length} × {length} nucleotides · {verdict}"


LADDER = Ladder(
    kind="smith_waterman_ladder",
    name="Smith-Waterman",
    promise="Many pairs of nucleotides, aligned on one core and in every published way on your device",
    told=_told,
    wrong_text="not every alignment is that of the other rungs.",
    first="sequential rung",
    columns=RUNGS,
    known=tuple({"name": rung.name, "text": rung.text, "published": PUBLISHED.get(rung.name)} for rung in PAIR_RUNGS),
    published_on=PUBLISHED_DEVICE,
    needed=("device", "pairs", "length", "rows"),
    fields=(
        NumberField("pairs", "Pairs", PAIRS, 100_000),
        NumberField("length", "Nucleotides", LENGTH, 10_000, "Of each sequence"),
    ),
)
