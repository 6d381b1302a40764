"""Groups that wait for each other: the document as tables and charts, which grow while the job runs."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QObject, Signal

from clalign.labs.synchronization import USUAL_WAYS, WAYS, wrong_cells
from clalign.labs.synchronization_tables import cost_lines, heading, level_lines, reasons, set_lines

from .. import formatting
from .figures import Bar, BarChart, Line, LineChart, Mark
from .text_table import Row, TextColumn, TextTable

NAMES = {"launch": "Launch", "discovered": "Discovered"}
"""Of ways to wait; the others are written in capitals."""

TIPS = {
    "launch": "One launch a round: its end is the barrier",
    "lbs": "Everybody adds 1 to a counter and waits until it is complete",
    "ilbs": "Groups in sets, each with a counter; one of a complete set adds 1 to the main one",
    "lfs": "No counter: an observer watches a word for each group; only as many groups as a group has work-items",
    "ulfs": "The same in a tree, for any number of groups",
    "discovered": "LBS of those groups that are found to run at once",
}


def way_name(way: str) -> str:
    """Return what a way to wait is called."""
    return NAMES.get(way) or way.upper().replace("DISCOVERED-", "Discovered ")


def cell_words(row: Row, way: str) -> str:
    """Return the time of a way, or why there is none."""
    cell = row["cells"].get(way)
    if cell is None:
        return ""
    if cell["status"] == "done":
        return formatting.seconds(cell["seconds"]) if cell["equal"] else "differs"
    return "not possible" if cell["found"] is None else f"{formatting.count(cell['found'])} at once"


def _state(row: Row, way: str) -> str:
    cell = row["cells"].get(way)
    if cell is None or cell["status"] != "done":
        return ""
    return "" if cell["equal"] else "stop"


def _together(row: Row) -> str:
    found = [cell["found"] for cell in row["cells"].values() if cell["found"] is not None]
    return formatting.count(min(found)) if found else ""


def _way_column(way: str) -> TextColumn:
    return TextColumn(
        way_name(way), TIPS[way], lambda row: cell_words(row, way), True, 96, mark=lambda row: _state(row, way)
    )


def _seconds(*keys: str) -> Any:
    def shown(row: Row) -> str:
        value: Any = row
        for key in keys:
            value = (value or {}).get(key)
        return "" if value is None else formatting.seconds(value)

    return shown


def _best_seconds(row: Row) -> str:
    return "" if row["best"] is None else formatting.seconds(row["seconds"][row["best"] - 1])


def _ratio(row: Row | None) -> str:
    return "" if not row or not row["ratio"] else f"{row['ratio']:.2f}"


COLUMNS = (
    TextColumn("Groups", "How many wait for each other", lambda row: formatting.count(row["n_groups"]), True, 64),
    TextColumn("At once", "How many of them the device was found to run at once, before any was left to wait",
               _together, True, 70),
    *(_way_column(way) for way in USUAL_WAYS),
)  # fmt: skip

BANDS = (
    TextColumn("Groups", "Those of a line of the published tables", lambda r: f"{r['first']} to {r['last']}", width=84),
    TextColumn("LBS", "Mean over these numbers of groups", _seconds("lbs"), True),
    TextColumn("ILBS", "Mean over these numbers of groups", _seconds("ilbs"), True),
    TextColumn("Ratio", "How many times faster ILBS is", _ratio, True, 64),
    TextColumn("Published LBS", "On a GTX 1070", _seconds("published", "lbs"), True, 104),
    TextColumn("Published ILBS", "On a GTX 1070", _seconds("published", "ilbs"), True, 108),
    TextColumn("Published ratio", "On a GTX 1070", lambda row: _ratio(row["published"]), True, 108),
    TextColumn("", "", lambda row: "", width=20, stretch=True),
)

SETS = (
    TextColumn("Groups", "How many wait for each other", lambda row: formatting.count(row["n_groups"]), True, 64),
    TextColumn("Best number of sets", "With which ILBS was fastest",
               lambda row: "" if row["best"] is None else formatting.count(row["best"]), True, 140),
    TextColumn("Root of the groups", "The best by the cost model", lambda row: f"{row['root']:.2f}", True, 130),
    TextColumn("Time with the best", "Mean of several runs", _best_seconds, True, 130),
    TextColumn("", "", lambda row: "", width=20, stretch=True),
)  # fmt: skip


class SynchronizationView(QObject):
    """What the page of waiting groups shows."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.document: dict[str, Any] = {}
        self.is_live = False
        self.is_kept = True
        self.table = TextTable(COLUMNS, self)
        self.bands = TextTable(BANDS, self)
        self.sets = TextTable(SETS, self)

    @property
    def rows(self) -> list[Row]:
        """The numbers of groups that were measured."""
        return self.table.rows

    def begin(self) -> None:
        """Take away what an earlier job found."""
        self.document, self.is_live, self.is_kept = {}, True, True
        self._show([])

    def add_row(self, row: Row) -> None:
        """Take over a number of groups that was measured."""
        self.is_kept = False
        self._show([*self.rows, row])

    def take(self, document: dict[str, Any], kept: bool) -> None:
        """Show a whole document."""
        self.document, self.is_live, self.is_kept = document, False, kept
        self._show(document["rows"])

    def end(self) -> None:
        """Keep what arrived of a job that ended before its time."""
        self.is_live = False
        self.changed.emit()

    def _show(self, rows: list[Row]) -> None:
        self.table.set_rows(
            [{**row, "tip": "\n".join(f"{name}: {text}" for name, text in _facts(row))} for row in rows]
        )
        self.bands.set_rows(self.document.get("bands") or [])
        self.sets.set_rows((self.document.get("experiments") or {}).get("sets") or [])
        self.changed.emit()

    def summary(self) -> str:
        """Return what was measured, in a line."""
        if self.document:
            return heading(self.document)[0]
        if self.rows:
            return f"{formatting.plural(len(self.rows), 'number')} of groups so far"
        return "Every way in which work-groups can wait for each other, for each number of groups, on your device"

    def verdicts(self) -> list[tuple[str, str]]:
        """Return what the measurements mean: severities and sentences."""
        if not self.document:
            return []
        wrong = wrong_cells(self.document)
        found = []
        if wrong:
            n, way = wrong[0]
            text = f"{way_name(way)} of {formatting.plural(n, 'group')} gave another result. Please report this."
            found.append(("stop", text))
        found += [("note", text) for text in reasons(self.document)]
        found += [("good", text) for text in level_lines(self.document)]
        found += [("good", text) for text in set_lines(self.document)[-1:]]
        costs = cost_lines(self.document)
        return found + [("note", "; ".join(" ".join(text.split()) for text in costs))] * bool(costs)

    def facts(self, row: Row) -> list[tuple[str, str]]:
        """Return what is known of a number of groups: names and values."""
        return _facts(row)

    def times(self) -> LineChart:
        """Return the time against the number of groups, with the fitted curves."""
        ways = self.document.get("methods") or USUAL_WAYS
        curves = (self.document.get("model") or {}).get("curves") or {}
        lines = []
        for way in ways:
            points = tuple(
                (float(row["n_groups"]), float(cell["seconds"]))
                for row in self.rows
                if (cell := row["cells"].get(way)) and cell["seconds"]
            )
            if points:
                lines.append(Line(way_name(way), points))
                fit = tuple((float(n), float(seconds)) for n, seconds in curves.get(way) or ())
                lines += [Line(f"{way_name(way)} as fitted", fit, is_fit=True)] * bool(fit)
        return LineChart("Time, and the fitted costs as thin lines", "groups", "seconds", tuple(lines), unit="groups")

    def ratios(self) -> BarChart:
        """Return how many times faster ILBS is, beside the published tables."""
        bars = tuple(
            Bar(
                f"{band['first']} to {band['last']} groups", band["ratio"], (band["published"] or {}).get("ratio"),
                _ratio(band), "" if band["ratio"] else "not measured",
            )
            for band in self.bands.rows
        )  # fmt: skip
        title = "ILBS against LBS"
        return BarChart(title, "times as fast as LBS", bars, "this device", "published, on a GTX 1070")

    def sets_chart(self) -> LineChart:
        """Return the time of ILBS against the number of sets; the best is marked."""
        rows = [row for row in self.sets.rows if row["best"] is not None]
        lines = tuple(
            Line(
                f"{row['n_groups']} groups",
                tuple((float(sets), float(value)) for sets, value in enumerate(row["seconds"], 1) if value),
            )
            for row in rows
        )
        marks = tuple(
            Mark(row["best"], row["seconds"][row["best"] - 1], f"{row['best']} of root {row['root']:.1f}")
            for row in rows
        )
        return LineChart("ILBS by its sets", "sets", "seconds", lines, marks, unit="sets")


def _facts(row: Row) -> list[tuple[str, str]]:
    found = []
    for way in WAYS:
        cell = row["cells"].get(way)
        if cell is not None:
            found.append((way_name(way), cell["reason"] or cell_words(row, way)))
    return found
