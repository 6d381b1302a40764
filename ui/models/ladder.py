"""The ladder of Plan7 Viterbi: its document, which grows while the job runs, as tables and charts."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from .. import words
from .figures import Bar, BarChart
from .text_table import Row, TextColumn, TextTable

DONE = "done"

UNTESTED = "not run yet"


def _number(row: Row, key: str, form: str) -> str:
    value = row.get(key)
    return "" if value is None else format(value, form)


def _optional_count(row: Row, key: str) -> str:
    return "all" if row.get(key) is None else words.count(row[key])


def _milliseconds(row: Row) -> str:
    seconds = row.get("kernel_seconds")
    return "" if seconds is None else words.seconds(seconds)


def _copies(row: Row) -> str:
    return "" if row.get("copy_seconds") is None else words.seconds(row["copy_seconds"])


def _share(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2g}{words.THIN}%"


def _times(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.1f}×" if value < 100 else f"{value:.0f}×"


def _published(row: Row) -> str:
    entry = row.get("published") or {}
    return _times(entry.get("speedup"))


def _published_seconds(row: Row) -> str:
    return _number(row.get("published") or {}, "seconds", ".2f")


def _state(row: Row) -> str:
    """Return the severity of a rung's check; empty before it ran."""
    if row.get("status") != DONE:
        return ""
    return "good" if row.get("equal") else "stop"


def _equal(row: Row) -> str:
    if row.get("status") != DONE:
        return row.get("status") or UNTESTED
    return "equal" if row.get("equal") else "differs"


def _bytes(key: str) -> Any:
    return lambda row: "" if row.get(key) is None else words.size(row[key])


def _percent(row: Row) -> str:
    value = row.get("occupancy")
    return "" if value is None else words.percent(value)


RUNGS = (
    TextColumn("Rung", "A tick: it is run next time", lambda r: r["name"], width=160),
    TextColumn("What it changes", "Against the basic rung", lambda r: r.get("text") or "", width=140, stretch=True),
    TextColumn("Check", "Whether every score equals the reference", _equal, width=84, mark=_state),
    TextColumn("Kernel", "Time of the kernels alone, median of several runs", _milliseconds, True, 76),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: _number(r, "gcups", ".3g"), True, 64),
    TextColumn("Speed-up", "Against the basic rung on this device", lambda r: _times(r.get("speedup")), True, 74),
    TextColumn("Published", "The published speed-up over the basic rung there", _published, True, 76),
    TextColumn("Published (s)", "The published time in seconds", _published_seconds, True, 96),
    TextColumn("Registers", "Of a work-item, where the driver tells", lambda r: _number(r, "registers", "d"), True, 76),
    TextColumn("Local memory", "Of a work-group, where the driver tells", _bytes("local_bytes"), True, 100),
    TextColumn("Private memory", "Of a work-item, where the driver tells", _bytes("private_bytes"), True, 108),
    TextColumn("Occupancy", "Share of the device's threads that can be busy", _percent, True, 84),
    TextColumn("Copies", "Time of the copies to and from the device",
_copies, True, 78),
)  # fmt: skip

GRANULARITY = (
    TextColumn("Granularity", "How much of the work a launch does", lambda r: r["name"], width=150, stretch=True),
    TextColumn("Rows a launch", "Rows of the matrix", lambda r: _optional_count(r, "rows_per_launch"), True, 110),
    TextColumn("Check", "Whether every score equals the reference", _equal, width=90, mark=_state),
    TextColumn("Time", "Of the kernels and their launches", _milliseconds, True, 90),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: _number(r, "gcups", ".3g"), True, 80),
    TextColumn(
        "Published", "The published speed-up over HMMER2", lambda r: _times(r.get("published_speedup")), True, 80
    ),
)

DIVERGENCE = (
    TextColumn("Sequences", "Four synthetic sets of the same size", lambda r: r["name"], width=170),
    TextColumn("What they are", "", lambda r: r.get("text") or "", width=220, stretch=True),
    TextColumn("Check", "Whether every score equals the reference", _equal, width=90, mark=_state),
    TextColumn("Kernel", "Time of the kernels alone", _milliseconds, True, 90),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: _number(r, "gcups", ".3g"), True, 80),
    TextColumn("Relative", "Speed against the set before", lambda r: _number(r, "relative", ".2f"), True, 80),
    TextColumn(
        "Published (s)", "The published time in seconds", lambda r: _number(r, "published_seconds", ".2f"), True, 100
    ),
)

WORK_GROUP = (
    TextColumn("Work-group", "Work-items of a group", lambda r: words.count(r["group"]), True, 100),
    TextColumn("Check", "Whether every score equals the reference", _equal, width=90, mark=_state),
    TextColumn("Kernel", "Time of the kernels alone", _milliseconds, True, 90),
    TextColumn("GCUPS", "10⁹ cells a second", lambda r: _number(r, "gcups", ".3g"), True, 80),
    TextColumn("Occupancy", "Share of the device's threads that can be busy", _percent, True, 100),
    TextColumn("Registers", "Of a work-item, where the driver tells", lambda r: _number(r, "registers", "d"), True, 90),
    TextColumn(
        "No time because", "Why this size has no time", lambda r: r.get("reason") or "", width=200, stretch=True
    ),
)

COPIES = (
    TextColumn("Rung", "", lambda r: r["name"], width=170, stretch=True),
    TextColumn("Kernel", "Time of the kernels alone", _milliseconds, True, 90),
    TextColumn("Copies", "Time of the copies", _copies, True, 90),
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


class LadderView(QObject):
    """What the laboratory page shows: the known rungs, and what came of them.

    Parameters
    ----------
    known : list of dict
        Rungs that can be run: ``name``, ``group``, ``text`` and ``published``.
    published_on : str
        The device of the published figures.
    """

    changed = Signal()

    def __init__(self, known: list[Row], published_on: str = "", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.document: dict[str, Any] = {}
        self.is_live = False
        self.is_kept = True
        self.rungs = TextTable(RUNGS, self, lambda row: row.get("status") != DONE, tick="wanted")
        self.experiments = {name: TextTable(entry[1], self) for name, entry in EXPERIMENTS.items()}
        self._published_on = published_on
        self._known = [{**row, "wanted": True} for row in known]
        self._show([dict(row) for row in self._known])

    @property
    def rows(self) -> list[Row]:
        """The rungs, run or not."""
        return self.rungs.rows

    def wanted(self) -> list[str] | None:
        """Return the names of the ticked rungs; None if all are."""
        rows = self.rows
        return None if all(row["wanted"] for row in rows) else [row["name"] for row in rows if row["wanted"]]

    def want_all(self, wanted: bool) -> None:
        """Tick all rungs, or none."""
        self._show([{**row, "wanted": wanted} for row in self.rows])

    def begin(self) -> None:
        """Take away what an earlier job found, when another begins."""
        self.document, self.is_live, self.is_kept = {}, True, True
        ticks = {row["name"]: row["wanted"] for row in self.rows}
        self._show([{**row, "wanted": ticks.get(row["name"], True)} for row in self._known])

    def add_row(self, row: Row) -> None:
        """Take over a finished rung."""
        rows = [dict(known) for known in self.rows]
        place = next((i for i, known in enumerate(rows) if known["name"] == row["name"]), len(rows))
        wanted = rows[place]["wanted"] if place < len(rows) else True
        rows[place : place + 1] = [{**row, "wanted": wanted, "tip": _tip(row)}]
        self.is_kept = False
        self._show(rows)

    def take(self, document: dict[str, Any], kept: bool) -> None:
        """Show a whole document, fresh or from a file.

        Parameters
        ----------
        kept : bool
            Whether it is in a file of the user's choice already.
        """
        self.document, self.is_live, self.is_kept = document, False, kept
        ticks = {row["name"]: row["wanted"] for row in self.rows}
        rows = [{**row, "wanted": ticks.get(row["name"], True), "tip": _tip(row)} for row in document["rows"]]
        for name, table in self.experiments.items():
            found = (document.get("experiments") or {}).get(name) or []
            table.set_rows([{**row, "tip": row.get("reason") or ""} for row in found])
        self._show(rows)

    def end(self) -> None:
        """Keep what arrived of a job that ended before its time."""
        self.is_live = False
        self.changed.emit()

    def _show(self, rows: list[Row]) -> None:
        if not self.document:
            for table in self.experiments.values():
                table.set_rows([])
        self.rungs.set_rows(rows)
        self.changed.emit()

    @property
    def n_done(self) -> int:
        """Number of rungs that ran."""
        return sum(row.get("status") == DONE for row in self.rows)

    def wrong(self) -> list[str]:
        """Return what computed other scores than the reference: rungs, and parts of experiments."""
        named = [(row["name"], row) for row in self.rows]
        for name, (title, columns, _) in EXPERIMENTS.items():
            if name != "copies":
                named += [(f"{title} {columns[0].text(row)}", row) for row in self.experiments[name].rows]
        return [name for name, row in named if _state(row) == "stop"]

    def summary(self) -> str:
        """Return what was run where, in a line."""
        document = self.document
        if not document:
            if self.n_done:
                return f"{words.count(self.n_done)} of {words.plural(len(self.rows), 'rung')} so far"
            return "Every step of a published optimization of HMMER2's search, run and checked on your device"
        device, model, database = document["device"], document["model"], document["database"]
        sequences = words.plural(database["n_sequences"], "sequence")
        wrong = len(self.wrong())
        differ = f"{words.plural(wrong, 'measurement')} with other scores than the reference"
        verdict = differ if wrong else "all scores equal the reference"
        return (
            f"{device['name']} · {model['name']}, {words.plural(model['length'], 'node')} · {sequences}, "
            f"{words.count(database['n_residues'])} residues · {verdict if self.n_done else 'nothing was run'}"
        )

    def chart(self) -> BarChart:
        """Return the speed-ups beside the thesis's."""
        bars = tuple(_bar(row) for row in self.rows)
        return BarChart(
            "Speed-up over the basic rung", "times as fast as the basic rung (logarithmic)", bars, "this device",
            f"published, on a {self._published_on}" if self._published_on else "published", log=True,
        )  # fmt: skip

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
            Bar(_label(row), row.get("gcups"), text=_number(row, "gcups", ".3g"), note=_why_no_bar(row)) for row in rows
        )
        return BarChart(title, "GCUPS (10⁹ cells a second)", bars)


def _label(row: Row) -> str:
    return str(row["name"]) if "name" in row else f"groups of {words.count(row['group'])}"


def _bar(row: Row) -> Bar:
    published = (row.get("published") or {}).get("speedup")
    value = row.get("speedup") if row.get("status") == DONE else None
    return Bar(row["name"], value, published, _times(value), _why_no_bar(row), _tip(row))


def _why_no_bar(row: Row) -> str:
    """Return why a row has no speed; empty if it should have one."""
    if row.get("status") == DONE:
        return "" if row.get("equal") else "the scores differ"
    return f"not run: {row['reason']}" if row.get("reason") else UNTESTED


def _tip(row: Row) -> str:
    """Return all that is known about a rung in a few lines."""
    lines = [row["name"], row.get("text") or ""]
    if row.get("reason"):
        lines.append(row["reason"] if row.get("status") == DONE else f"Not run: {row['reason']}")
    choices = row.get("choices") or {}
    lines.append(", ".join(f"{axis}: {choice}" for axis, choice in choices.items()))
    published = row.get("published") or {}
    if published.get("speedup"):
        lines.append(f"Published: {_times(published['speedup'])} as fast as the basic rung there")
    return "\n".join(line for line in lines if line)


def rung_facts(row: Row) -> list[tuple[str, str]]:
    """Return what is known about a rung: names and values."""
    rows = [(column.title, column.text(row)) for column in RUNGS[1:]]
    rows += [(axis.replace("_", " ").capitalize(), str(choice)) for axis, choice in (row.get("choices") or {}).items()]
    why = "What differs" if row.get("status") == DONE else "Why it was not run"
    return [(why, str(row.get("reason")))] * bool(row.get("reason")) + [(n, v) for n, v in rows if v]
