"""Devices compared on one job: the document as a table and two charts."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from clalign.labs.comparison_documents import line_of, row_names

from .. import formatting
from .figures import Bar, BarChart, Line, LineChart, Mark, Point
from .ladder import number, seconds
from .text_table import Row, TextColumn, TextTable


def device_name(row: Row) -> str:
    """Return the name of a device, told apart from the others."""
    return str(row.get("shown_name") or row["device"]["name"])


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


def _share(row: Row) -> str:
    return "" if row.get("share_of_peak") is None else formatting.percent(row["share_of_peak"])


def _peak(row: Row) -> str:
    return "" if row.get("peak_gops") is None else formatting.count(row["peak_gops"])


def _kernel(row: Row) -> str:
    """Return the time of the kernels: of what did a sample only, what all would take at its rate."""
    value = row.get("whole_seconds")
    if row.get("residues") and row.get("kernel_seconds") is not None:
        return "a sample" if value is None else f"≈ {formatting.seconds(value)}"
    return seconds("kernel_seconds")(row)


REACH = 3.0
"""A crossing point is drawn if it lies at most so many times beyond the measured sizes."""

COLUMNS = (
    TextColumn("Device", "As its driver calls it", device_name, width=160, stretch=True),
    TextColumn("Scores", "Whether all devices have the same scores", _identical, width=112, mark=_verdict),
    TextColumn("GCUPS", "10⁹ cells a second, kernels alone", number("gcups", ".3g"), True, 80),
    TextColumn("Of peak", "Share of the integer rate that was measured on the device", _share, True, 76),
    TextColumn("Start-up", "Opening the device and building the kernels", seconds("start_seconds"), True, 80),
    TextColumn("Kernel", "Time of the kernels alone; ≈ foretold by the rate of a sample", _kernel, True, 86),
    TextColumn("Copies", "Time of the copies to and from the device", seconds("copy_seconds"), True, 86),
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
        self._show([*others, row])

    def take(self, document: dict[str, Any], kept: bool) -> None:
        """Show a whole document."""
        self.document, self.is_live, self.is_kept = document, False, kept
        self._show(document["devices"])

    def end(self) -> None:
        """Keep what arrived of a job that ended before its time."""
        self.is_live = False
        self.changed.emit()

    def _show(self, rows: list[Row]) -> None:
        names = row_names(rows)
        total = (self.document.get("job") or {}).get("n_residues")
        self.table.set_rows([_told_apart(row, name, total) for row, name in zip(rows, names, strict=True)])
        self.changed.emit()

    def summary(self) -> str:
        """Return what was compared, in a line."""
        job = self.document.get("job")
        if not job:
            return "The same job on each device: equal scores, speed, start-up, and where which one wins"
        return (
            f"{formatting.plural(job['nodes'], 'node')} against {formatting.plural(job['n_sequences'], 'sequence')}, "
            f"{formatting.count(job['n_residues'])} residues · {job['cells'] / 1e9:.3g} billion cells"
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
            which = "Both" if len(rows) == 2 else f"All {formatting.count(len(rows))}"
            found.append(("good", f"{which} devices have the same scores."))
        ranked = sorted((row for row in rows if row.get("gcups")), key=lambda row: row["gcups"], reverse=True)
        if len(ranked) > 1:
            times = ranked[0]["gcups"] / ranked[-1]["gcups"]
            factor = f"{times:.1f}" if times < 100 else formatting.count(times)
            names = device_name(ranked[0]), device_name(ranked[-1])
            found.append(("note", f"{names[0]} is {factor} times as fast as {names[1]} for Viterbi. {self._even()}"))
        for row in rows:
            if row.get("residues"):
                sample = formatting.plural(row["residues"], "residue")
                found.append(("note", f"{device_name(row)} is slow and did a sample of {sample} only; its time for all "
                                      "of them and its line in the chart are foretold by that."))  # fmt: skip
        return found

    def _even(self) -> str:
        """Return where the break-even lies, in words."""
        parts = []
        for entry in self.document.get("break_even") or []:
            if entry["residues"]:
                size = formatting.count(_rounded(entry["residues"]))
                slow, fast = entry["slow"], entry["fast"]
                parts.append(f"Below about {size} residues {slow} is done first, because {fast} takes longer to start.")
        return " ".join(parts)

    def speeds(self) -> BarChart:
        """Return the speeds."""
        bars = tuple(
            Bar(device_name(row), row.get("gcups"), text=number("gcups", ".3g")(row), note=row.get("error") or "",
                tip=f"{device_name(row)}\n{_share(row)} of its measured peak".strip())
            for row in self.rows
        )  # fmt: skip
        return BarChart("Speed", "GCUPS (10⁹ cells a second)", bars)

    def curves(self) -> LineChart:
        """Return the time of a whole job against the size of the database, with the crossing points."""
        rows = [row for row in self.rows if row.get("curve")]
        lines = tuple(Line(device_name(row), _points(row)) for row in rows)
        largest = max((x for line in lines for x, _ in line.points), default=0.0)
        for told in self.rows:
            if told.get("residues") and told.get("kernel_seconds") and largest > told["residues"]:
                lines = (*lines, *_foretold(told, largest))
        marks = []
        by_name = {device_name(row): row for row in rows}
        sizes = [x for row in rows for x, _ in _points(row)] or [0.0]
        for entry in self.document.get("break_even") or []:
            row, size = by_name.get(str(entry["slow"])), entry["residues"]
            if row is not None and size and min(sizes) / REACH <= size <= max(sizes) * REACH:
                marks.append(Mark(size, height_of(row, size), f"{formatting.count(_rounded(size))} residues"))
        return LineChart(
            "Time of a whole job, start-up included", "residues in the database", "seconds", lines, tuple(marks)
        )


def _points(row: Row) -> tuple[Point, ...]:
    return tuple((point["residues"], point["seconds"]) for point in row["curve"])


def height_of(row: Row, residues: float) -> float:
    """Return the seconds that a device takes for a database, by the straight line through its curve."""
    line = line_of(row)
    points: list[Point] = [(point["residues"], point["seconds"]) for point in row["curve"]]
    return line[0] + line[1] * residues if line is not None else points[0][1]


def _rounded(value: float) -> float:
    """Return a number with two digits that mean something."""
    return float(f"{value:.1e}")


def _told_apart(row: Row, name: str, n_residues: int | None) -> Row:
    """Return a row with the name that tells it from others, and what all residues would take if it did a sample."""
    sample = row.get("residues")
    lines = [name, str(row["device"].get("driver") or ""), str(row.get("error") or "")]
    lines += [f"Measured on a sample of {formatting.plural(sample, 'residue')}"] if sample else []
    told = {**row, "shown_name": name, "tip": "\n".join(line for line in lines if line)}
    if sample and n_residues and row.get("kernel_seconds") is not None:
        told["whole_seconds"] = row["kernel_seconds"] * n_residues / sample
    return told


def _foretold(row: Row, largest: float) -> tuple[Line, ...]:
    """Return the measured point of what did a sample only, and the line that its rate foretells."""
    size, took = float(row["residues"]), float(row["kernel_seconds"])
    name = f"{device_name(row)}, from a sample"
    return Line(name, ((size, took),)), Line(name, ((size, took), (largest, took * largest / size)), is_fit=True)
