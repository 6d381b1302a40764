"""The ladder of Smith-Waterman: its rungs."""

from __future__ import annotations

from PySide6.QtCore import QObject

from ... import formatting
from ...models.rung_view import Cell, RungView, check, memory, number, occupancy, published, seconds, state, times
from ...models.text_table import Row, TextColumn


def _published_seconds(key: str) -> Cell:
    shown = seconds(key)
    return lambda row: shown(published(row))


PAIR_RUNGS = (
    TextColumn("Rung", "A tick: it is run next time", lambda r: r["name"], width=110),
    TextColumn("Check", "Whether every alignment equals those of the other rungs", check, width=84, mark=state),
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
    TextColumn("GCUPS", "10⁹ cells a second, in the kernel", lambda r: number(r, "gcups", ".3g"), True, 64),
    TextColumn("Registers", "Of a work-item, where the driver tells", lambda r: number(r, "registers", "d"), True, 76),
    TextColumn("Local memory", "Of a work-group, where the driver tells", memory("local_bytes"), True, 100),
    TextColumn("Occupancy", "Share of the device's threads that can be busy", occupancy, True, 84),
    TextColumn("Device", "What it ran on", lambda r: r.get("device") or "", width=150),
    TextColumn("What it is", "", lambda r: r.get("text") or "", width=380, stretch=True),
)  # fmt: skip


class PairLadderView(RungView):
    """What the laboratory page shows of the ladder of many pairs.

    Parameters
    ----------
    known : list of dict
        Rungs that can be run: ``name``, ``text`` and ``published``.
    published_on : str
        The device of the published figures.
    """

    def __init__(self, known: list[Row], published_on: str = "", parent: QObject | None = None) -> None:
        super().__init__(PAIR_RUNGS, known, "sequential rung", published_on, parent)

    def _promise(self) -> str:
        return "Many pairs of nucleotides, aligned on one core and in every published way on your device"

    def _told(self) -> str:
        document, wrong = self.document, len(self.wrong())
        if wrong:
            verdict = f"{formatting.plural(wrong, 'rung')} with other alignments"
        else:
            verdict = "all alignments are equal" if self.n_done else "nothing was run"
        pairs, length = formatting.plural(document["pairs"], "pair"), formatting.count(document["length"])
        return f"{document['device']['name']} · {pairs} of {length} × {length} nucleotides · {verdict}"
