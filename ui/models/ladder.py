"""The ladders of the laboratory: what one is, and its document, which grows while the job runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, Signal

from .. import formatting
from .figures import Bar, BarChart
from .text_table import Row, TextColumn, TextTable
from .workspace import Source, SourceKind

DONE = "done"

UNTESTED = "not run yet"

Cell = Callable[[Row], str]


def number(key: str, form: str) -> Cell:
    """Return what shows a number of a row, or nothing where there is none."""
    return lambda row: "" if row.get(key) is None else format(row[key], form)


def seconds(key: str) -> Cell:
    """Return what shows a time of a row."""
    return lambda row: "" if row.get(key) is None else formatting.seconds(row[key])


def memory(key: str) -> Cell:
    """Return what shows an amount of memory of a row."""
    return lambda row: "" if row.get(key) is None else formatting.size(row[key])


def times(value: float | None) -> str:
    """Return a speed-up."""
    if value is None:
        return ""
    return f"{value:.2f}×" if value < 0.95 else f"{value:.1f}×" if value < 100 else f"{value:.0f}×"


def published(row: Row) -> Row:
    """Return what was published of a rung."""
    return row.get("published") or {}


def occupancy(row: Row) -> str:
    """Return the share of the device's threads that can be busy."""
    value = row.get("occupancy")
    return "" if value is None else formatting.percent(value)


def state(row: Row) -> str:
    """Return the severity of a rung's check; empty before it ran."""
    if row.get("status") != DONE:
        return ""
    return "good" if row.get("equal") else "stop"


def check(row: Row) -> str:
    """Return what came of a rung's check."""
    if row.get("status") != DONE:
        return row.get("status") or UNTESTED
    return "equal" if row.get("equal") else "differs"


def why_no_bar(row: Row) -> str:
    """Return why a row has no speed; empty if it should have one."""
    if row.get("status") == DONE:
        return "" if row.get("equal") else "the results differ"
    return f"not run: {row['reason']}" if row.get("reason") else UNTESTED


def check_column(tip: str, width: int = 90) -> TextColumn:
    """Return the column of the checks."""
    return TextColumn("Check", tip, check, width=width, mark=state)


GCUPS = TextColumn("GCUPS", "10⁹ cells a second", number("gcups", ".3g"), True, 64)
REGISTERS = TextColumn("Registers", "Of a work-item, where the driver tells", number("registers", "d"), True, 76)
LOCAL_MEMORY = TextColumn("Local memory", "Of a work-group, where the driver tells", memory("local_bytes"), True, 100)
OCCUPANCY = TextColumn("Occupancy", "Share of the device's threads that can be busy", occupancy, True, 84)


@dataclass(frozen=True, slots=True)
class FileField:
    """An opened file that a ladder may run with; without one it makes its data up.

    Attributes
    ----------
    key, name : str
        For the job, and for people.
    is_usable : callable
        Whether a file, which is read, will do.
    """

    key: str
    name: str
    kind: SourceKind
    is_usable: Callable[[Source], bool] = lambda source: True


@dataclass(frozen=True, slots=True)
class NumberField:
    """A number that a ladder runs with.

    Attributes
    ----------
    key, name : str
        For the job, and for people.
    usual, most : int
    """

    key: str
    name: str
    usual: int
    most: int
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Experiment:
    """Measurements beside the rungs of a ladder.

    Attributes
    ----------
    title, chart : str
        What stands on its tab and above its chart.
    axis : str
    bar : callable
        Returns the bar of a row, or None.
    is_checked : bool
        Whether what it computed is compared with the reference.
    """

    title: str
    columns: tuple[TextColumn, ...]
    chart: str
    axis: str
    bar: Callable[[Row], Bar | None]
    is_checked: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """A ladder as data.

    Attributes
    ----------
    kind, name : str
        Of its job and its document, and for people.
    promise, told : str, callable
        What it is, in a line, and what a document holds.
    wrong_text : str
        What is wrong with rungs that do not pass their check.
    first : str
        The rung that the others are compared with, in words.
    known : tuple of dict
        Rungs that can be run: ``name``, ``text`` and ``published``.
    published_on : str
        The device of the published figures.
    needed : tuple of str
        What a document cannot be shown without.
    fields : tuple
        What it runs with.
    experiments : dict
        By their keys in the document.
    experiment_names : tuple of str
        By which they are asked for.
    """

    kind: str
    name: str
    promise: str
    told: Callable[[RungView], str]
    wrong_text: str
    first: str
    columns: tuple[TextColumn, ...]
    known: tuple[Row, ...]
    published_on: str
    needed: tuple[str, ...]
    fields: tuple[FileField | NumberField, ...]
    experiments: Mapping[str, Experiment] = field(default_factory=dict)
    experiment_names: tuple[str, ...] = ()
    experiments_tip: str = ""


class RungView(QObject):
    """What a page of the laboratory shows of a ladder: the known rungs, its experiments, and what came of them."""

    changed = Signal()

    def __init__(self, ladder: Ladder, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.of = ladder
        self.document: dict[str, Any] = {}
        self.is_live = False
        self.is_kept = True
        self.rungs = TextTable(ladder.columns, self, lambda row: row.get("status") != DONE, tick="wanted")
        self.experiments = {name: TextTable(entry.columns, self) for name, entry in ladder.experiments.items()}
        self._known = [{**row, "wanted": True} for row in ladder.known]
        self.rungs.set_rows([dict(row) for row in self._known])

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
        rows[place : place + 1] = [{**row, "wanted": wanted, "tip": self._tip(row)}]
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
        for name, table in self.experiments.items():
            found = (document.get("experiments") or {}).get(name) or []
            table.set_rows([{**row, "tip": row.get("reason") or ""} for row in found])
        ticks = {row["name"]: row["wanted"] for row in self.rows}
        self._show([{**row, "wanted": ticks.get(row["name"], True), "tip": self._tip(row)} for row in document["rows"]])

    def end(self) -> None:
        """Keep what arrived of a job that ended before its time."""
        self.is_live = False
        self.changed.emit()

    def _show(self, rows: list[Row]) -> None:
        for table in () if self.document else self.experiments.values():
            table.set_rows([])
        self.rungs.set_rows(rows)
        self.changed.emit()

    @property
    def n_done(self) -> int:
        """Number of rungs that ran."""
        return sum(row.get("status") == DONE for row in self.rows)

    def wrong(self) -> list[str]:
        """Return what computed something else than the reference: rungs, and parts of experiments."""
        named = [(row["name"], row) for row in self.rows]
        for name, entry in self.of.experiments.items():
            if entry.is_checked:
                rows = self.experiments[name].rows
                named += [(f"{entry.title} {entry.columns[0].text(row)}", row) for row in rows]
        return [name for name, row in named if state(row) == "stop"]

    def summary(self) -> str:
        """Return what was run where, in a line."""
        if self.document:
            return self.of.told(self)
        if self.n_done:
            return f"{formatting.count(self.n_done)} of {formatting.plural(len(self.rows), 'rung')} so far"
        return self.of.promise

    def chart(self) -> BarChart:
        """Return the speed-ups beside the published ones."""
        first, bars = self.of.first, tuple(self._bar(row) for row in self.rows)
        return BarChart(
            f"Speed-up over the {first}", f"times as fast as the {first} (logarithmic)", bars,
            "this device", f"published, on a {self.of.published_on}", log=True,
        )  # fmt: skip

    def experiment_chart(self, name: str) -> BarChart:
        """Return the speeds of an experiment."""
        entry = self.of.experiments[name]
        bars = tuple(bar for row in self.experiments[name].rows if (bar := entry.bar(row)) is not None)
        return BarChart(entry.chart, entry.axis, bars)

    def _bar(self, row: Row) -> Bar:
        value = row.get("speedup") if row.get("status") == DONE else None
        return Bar(row["name"], value, published(row).get("speedup"), times(value), why_no_bar(row), self._tip(row))

    def _tip(self, row: Row) -> str:
        """Return all that is known about a rung in a few lines."""
        lines = [row["name"], row.get("text") or ""]
        if row.get("reason"):
            lines.append(row["reason"] if row.get("status") == DONE else f"Not run: {row['reason']}")
        choices = row.get("choices") or {}
        lines.append(", ".join(f"{axis}: {choice}" for axis, choice in choices.items()))
        if published(row).get("speedup"):
            lines.append(f"Published: {times(published(row)['speedup'])} as fast as the {self.of.first} there")
        return "\n".join(line for line in lines if line)

    def facts(self, row: Row) -> list[tuple[str, str]]:
        """Return what is known about a rung beside its name and words: names and values."""
        rows = [(column.title, column.text(row)) for column in self.rungs.columns[1:] if not column.stretch]
        choices = row.get("choices") or {}
        rows += [(axis.replace("_", " ").capitalize(), str(choice)) for axis, choice in choices.items()]
        why = "What differs" if row.get("status") == DONE else "Why it was not run"
        return [(why, str(row.get("reason")))] * bool(row.get("reason")) + [(n, v) for n, v in rows if v]
