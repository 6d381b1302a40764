"""Devices compared on one job: the document as a table and two charts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from PySide6.QtCore import QObject, Signal

from .. import words
from .figures import Bar, BarChart, Line, LineChart, Mark
from .text_table import Row, TextColumn, TextTable


def device_name(row: Row) -> str:
    """Return the name of a device, with its machine if it came from another one."""
    name = str(row["device"]["name"])
    return f"{name} ({row['machine']})" if row.get("machine") else name


def _identical(row: Row) -> str:
    if row.get("error"):
        return "not run"
    if row.get("identical") is None:
        return "not compared"
    return "identical" if row["identical"] else "differs"


def _verdict(row: Row) -> str:
    if row.get("error"):
        return "caution"
    if row.get("identical") is None:
        return ""
    return "good" if row["identical"] else "stop"


def _seconds(key: str) -> Any:
    return lambda row: "" if row.get(key) is None else words.seconds(row[key])


def _share(row: Row) -> str:
    return "" if row.get("share_of_peak") is None else words.percent(row["share_of_peak"])


def _peak(row: Row) -> str:
    return "" if row.get("peak_gops") is None else words.count(row["peak_gops"])


def _number(key: str, form: str) -> Any:
    return lambda row: "" if row.get(key) is None else format(row[key], form)


COLUMNS = (
    TextColumn("Device", "As its driver calls it", device_name, width=160, stretch=True),
    TextColumn("Scores", "Whether all devices have the same scores", _identical, width=112, mark=_verdict),
    TextColumn("GCUPS", "10⁹ cells a second, kernels alone", _number("gcups", ".3g"), True, 80),
    TextColumn("Of peak", "Share of the integer rate that was measured on the device", _share, True, 76),
    TextColumn("Start-up", "Opening the device and building the kernels", _seconds("start_seconds"), True, 80),
    TextColumn("Kernel", "Time of the kernels alone", _seconds("kernel_seconds"), True, 86),
    TextColumn("Copies", "Time of the copies to and from the device", _seconds("copy_seconds"), True, 86),
    TextColumn("Peak (Gop/s)", "Integer operations a second, measured", _peak, True, 100),
)


class ComparisonView(QObject):
    """What the comparison page shows."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.document: dict[str, Any] = {}
        self.is_live = False
        self.is_kept = True
        self.table = TextTable(COLUMNS, self, lambda row: bool(row.get("error")))

    @property
    def rows(self) -> list[Row]:
        """The devices, measured or not."""
        return self.table.rows

    def begin(self) -> None:
        """Take away what an earlier job found."""
        self.document, self.is_live, self.is_kept = {}, True, True
        self._show([])

    def add_row(self, row: Row) -> None:
        """Take over a device that was measured."""
        self.is_kept = False
        others = [known for known in self.rows if known["device"]["id"] != row["device"]["id"]]
        self._show([*others, _with_tip(row)])

    def take(self, document: dict[str, Any], kept: bool) -> None:
        """Show a whole document."""
        self.document, self.is_live, self.is_kept = document, False, kept
        self._show([_with_tip(row) for row in document["devices"]])

    def end(self) -> None:
        """Keep what arrived of a job that ended before its time."""
        self.is_live = False
        self.changed.emit()

    def _show(self, rows: list[Row]) -> None:
        self.table.set_rows(rows)
        self.changed.emit()

    def summary(self) -> str:
        """Return what was compared, in a line."""
        job = self.document.get("job")
        if not job:
            return "The same job on each device: equal scores, speed, start-up, and where which one wins"
        return (
            f"{words.plural(job['nodes'], 'node')} against {words.plural(job['n_sequences'], 'sequence')}, "
            f"{words.count(job['n_residues'])} residues · {job['cells'] / 1e9:.3g} billion cells"
        )

    def verdicts(self) -> list[tuple[str, str]]:
        """Return what the measurements mean: severities and sentences."""
        rows = [row for row in self.rows if not row.get("error")]
        found = [
            ("caution", f"{device_name(row)} was not run: {row['error']}") for row in self.rows if row.get("error")
        ]
        if any(row.get("identical") is False for row in rows):
            found.append(("stop", "The devices do not have the same scores. Please report this."))
        elif len(rows) > 1 and all(row.get("identical") for row in rows):
            found.append(("good", f"All {words.count(len(rows))} devices have the same scores."))
        ranked = sorted((row for row in rows if row.get("gcups")), key=lambda row: row["gcups"], reverse=True)
        if len(ranked) > 1:
            times = ranked[0]["gcups"] / ranked[-1]["gcups"]
            names = device_name(ranked[0]), device_name(ranked[-1])
            found.append(("note", f"{names[0]} is {times:.1f} times as fast as {names[1]} for Viterbi. {self._even()}"))
        return found

    def _even(self) -> str:
        """Return where the break-even lies, in words."""
        parts = []
        for entry in self.document.get("break_even") or []:
            if entry["residues"]:
                size = words.count(_rounded(entry["residues"]))
                slow, fast = entry["slow"], entry["fast"]
                parts.append(f"Below about {size} residues {slow} is done first, because {fast} takes longer to start.")
        return " ".join(parts)

    def speeds(self) -> BarChart:
        """Return the speeds."""
        bars = tuple(
            Bar(device_name(row), row.get("gcups"), text=_number("gcups", ".3g")(row), note=row.get("error") or "",
                tip=f"{device_name(row)}\n{_share(row)} of its measured peak".strip())
            for row in self.rows
        )  # fmt: skip
        return BarChart("Speed", "GCUPS (10⁹ cells a second)", bars)

    def curves(self) -> LineChart:
        """Return the time of a whole job against the size of the database, with the crossing points."""
        rows = [row for row in self.rows if row.get("curve")]
        lines = tuple(
            Line(device_name(row), tuple((p["residues"], p["seconds"]) for p in row["curve"])) for row in rows
        )
        marks = []
        by_name = {str(row["device"]["name"]): line for row, line in zip(rows, lines, strict=True)}
        for entry in self.document.get("break_even") or []:
            line = by_name.get(str(entry["slow"])) or next((ln for ln in lines if ln.name == entry["slow"]), None)
            if entry["residues"] and line is not None:
                text = f"{words.count(_rounded(entry['residues']))} residues"
                marks.append(Mark(entry["residues"], height_at(line, entry["residues"]), text))
        return LineChart(
            "Time of a whole job, start-up included", "residues in the database", "seconds", lines, tuple(marks)
        )


def height_at(line: Line, x: float) -> float:
    """Return where a line is at a place between its points, on logarithmic axes."""
    points = line.points
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= x <= x1:
            share = (x - x0) / (x1 - x0)
            return float(y0 + share * (y1 - y0))
    return float(points[0][1] if x < points[0][0] else points[-1][1])


def _rounded(value: float) -> float:
    """Return a number with two digits that mean something."""
    return float(f"{value:.1e}")


def _with_tip(row: Row) -> Row:
    device = row["device"]
    lines = [device_name(row), str(device.get("driver") or ""), str(row.get("error") or "")]
    return {**row, "tip": "\n".join(line for line in lines if line)}


def merged(document: dict[str, Any], other: dict[str, Any], machine: str) -> dict[str, Any]:
    """Return a comparison with the devices of another machine added.

    Scores are compared by their digests, which both documents have if the job was the same.
    """
    digests = {row.get("scores_digest") for row in document["devices"] if row.get("scores_digest")}
    same_job = document["job"] == other["job"]
    added = [_judged({**row, "machine": row.get("machine") or machine}, digests, same_job) for row in other["devices"]]
    here = [_judged(row, {r.get("scores_digest") for r in other["devices"]} | digests, same_job)
            if row.get("identical") is None else row for row in document["devices"]]  # fmt: skip
    even = [*(document.get("break_even") or []), *(other.get("break_even") or [])]
    return {**document, "devices": [*here, *added], "break_even": even}


def _judged(row: Row, digests: set[Any], same_job: bool) -> Row:
    own = row.get("scores_digest")
    if not own or not same_job:
        return row
    return {**row, "identical": (digests - {None}) <= {own}}
