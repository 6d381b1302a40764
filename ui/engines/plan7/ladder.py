"""The ladder of Plan7 Viterbi: its rungs and its experiments."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject

from ... import formatting
from ...models.figures import Bar, BarChart
from ...models.rung_view import RungView, check, memory, number, occupancy, published, seconds, state, times, why_no_bar
from ...models.text_table import Row, TextColumn, TextTable


def _optional_count(row: Row, key: str) -> str:
    return "all" if row.get(key) is None else formatting.count(row[key])


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2g}{formatting.THIN}%"


RUNGS = (
    TextColumn("Rung", "A tick: it is run next time", lambda r: r["name"], width=160),
    TextColumn("What it changes", "Against the basic rung", lambda r: r.get("text") or "", width=140, stretch=True),
    TextColumn("Check", "Whether every score equals the reference", check, width=84, mark=state),
    TextColumn("Kernel", "Time of the kernels alone, median of several runs", seconds("kernel_seconds"), True, 76),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: number(r, "gcups", ".3g"), True, 64),
    TextColumn("Speed-up", "Against the basic rung on this device", lambda r: times(r.get("speedup")), True, 74),
    TextColumn("Published", "The published speed-up over the basic rung there",
               lambda r: times(published(r).get("speedup")), True, 76),
    TextColumn("Published (s)", "The published time in seconds",
               lambda r: number(published(r), "seconds", ".2f"), True, 96),
    TextColumn("Registers", "Of a work-item, where the driver tells", lambda r: number(r, "registers", "d"), True, 76),
    TextColumn("Local memory", "Of a work-group, where the driver tells", memory("local_bytes"), True, 100),
    TextColumn("Private memory", "Of a work-item, where the driver tells", memory("private_bytes"), True, 108),
    TextColumn("Occupancy", "Share of the device's threads that can be busy", occupancy, True, 84),
    TextColumn("Copies", "Time of the copies to and from the device", seconds("copy_seconds"), True, 78),
)  # fmt: skip

GRANULARITY = (
    TextColumn("Granularity", "How much of the work a launch does", lambda r: r["name"], width=150, stretch=True),
    TextColumn("Rows a launch", "Rows of the matrix", lambda r: _optional_count(r, "rows_per_launch"), True, 110),
    TextColumn("Check", "Whether every score equals the reference", check, width=90, mark=state),
    TextColumn("Time", "Of the kernels and their launches", seconds("kernel_seconds"), True, 90),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: number(r, "gcups", ".3g"), True, 80),
    TextColumn(
        "Published", "The published speed-up over HMMER2", lambda r: times(r.get("published_speedup")), True, 80
    ),
)

DIVERGENCE = (
    TextColumn("Sequences", "Four synthetic sets of the same size", lambda r: r["name"], width=170),
    TextColumn("What they are", "", lambda r: r.get("text") or "", width=220, stretch=True),
    TextColumn("Check", "Whether every score equals the reference", check, width=90, mark=state),
    TextColumn("Kernel", "Time of the kernels alone", seconds("kernel_seconds"), True, 90),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: number(r, "gcups", ".3g"), True, 80),
    TextColumn("Relative", "Speed against the set before", lambda r: number(r, "relative", ".2f"), True, 80),
    TextColumn(
        "Published (s)", "The published time in seconds", lambda r: number(r, "published_seconds", ".2f"), True, 100
    ),
)

WORK_GROUP = (
    TextColumn("Work-group", "Work-items of a group", lambda r: formatting.count(r["group"]), True, 100),
    TextColumn("Check", "Whether every score equals the reference", check, width=90, mark=state),
    TextColumn("Kernel", "Time of the kernels alone", seconds("kernel_seconds"), True, 90),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: number(r, "gcups", ".3g"), True, 80),
    TextColumn("Occupancy", "Share of the device's threads that can be busy", occupancy, True, 100),
    TextColumn("Registers", "Of a work-item, where the driver tells", lambda r: number(r, "registers", "d"), True, 90),
    TextColumn(
        "No time because", "Why this size has no time", lambda r: r.get("reason") or "", width=200, stretch=True
    ),
)

COPIES = (
    TextColumn("Rung", "", lambda r: r["name"], width=170, stretch=True),
    TextColumn("Kernel", "Time of the kernels alone", seconds("kernel_seconds"), True, 90),
    TextColumn("Copies", "Time of the copies", seconds("copy_seconds"), True, 90),
    TextColumn("Share", "Of the copies in the time of both", lambda r: _share(r.get("share")), True, 80),
    TextColumn("Published", "The published share", lambda r: _share(r.get("published_share")), True, 90),
)

EXPERIMENTS = {
    "granularity": ("Granularity", GRANULARITY, "How much of the work one launch does"),
    "divergence": ("Divergence", DIVERGENCE, "What sequences of different length cost"),
    "work_group": ("Work-group size", WORK_GROUP, "Work-items of a group"),
    "copies": ("Copies", COPIES, "Share of the copies in the time of kernels and copies"),
}
"""Title, columns and chart title of each experiment."""


class LadderView(RungView):
    """What the laboratory page shows: the rungs, and the experiments beside them.

    Parameters
    ----------
    known : list of dict
        Rungs that can be run: ``name``, ``group``, ``text`` and ``published``.
    published_on : str
        The device of the published figures.
    """

    def __init__(self, known: list[Row], published_on: str = "", parent: QObject | None = None) -> None:
        super().__init__(RUNGS, known, "basic rung", published_on, parent)
        self.experiments = {name: TextTable(entry[1], self) for name, entry in EXPERIMENTS.items()}

    def take(self, document: dict[str, Any], kept: bool) -> None:
        """Show a whole document with its experiments."""
        for name, table in self.experiments.items():
            found = (document.get("experiments") or {}).get(name) or []
            table.set_rows([{**row, "tip": row.get("reason") or ""} for row in found])
        super().take(document, kept)

    def _show(self, rows: list[Row]) -> None:
        if not self.document:
            for table in self.experiments.values():
                table.set_rows([])
        super()._show(rows)

    def wrong(self) -> list[str]:
        """Return what computed other scores than the reference: rungs, and parts of experiments."""
        named = []
        for name, (title, columns, _) in EXPERIMENTS.items():
            if name != "copies":
                named += [(f"{title} {columns[0].text(row)}", row) for row in self.experiments[name].rows]
        return [*super().wrong(), *(name for name, row in named if state(row) == "stop")]

    def _promise(self) -> str:
        return "Every step of a published optimization of HMMER2's search, run and checked on your device"

    def _told(self) -> str:
        document = self.document
        device, model, database = document["device"], document["model"], document["database"]
        sequences = formatting.plural(database["n_sequences"], "sequence")
        wrong = len(self.wrong())
        differ = f"{formatting.plural(wrong, 'measurement')} with other scores than the reference"
        verdict = differ if wrong else "all scores equal the reference"
        return (
            f"{device['name']} · {model['name']}, {formatting.plural(model['length'], 'node')} · {sequences}, "
            f"{formatting.count(database['n_residues'])} residues · {verdict if self.n_done else 'nothing was run'}"
        )

    def experiment_chart(self, name: str) -> BarChart:
        """Return the speeds of an experiment."""
        _, _, title = EXPERIMENTS[name]
        rows = self.experiments[name].rows
        if name == "copies":
            shares = tuple(
                Bar(row["name"], 100 * row["share"], text=_share(row["share"])) for row in rows if "share" in row
            )
            return BarChart(title, "percent", shares)
        bars = tuple(
            Bar(_label(row), row.get("gcups"), text=number(row, "gcups", ".3g"), note=why_no_bar(row)) for row in rows
        )
        return BarChart(title, "GCUPS (10⁹ cells a second)", bars)


def _label(row: Row) -> str:
    return str(row["name"]) if "name" in row else f"groups of {formatting.count(row['group'])}"
