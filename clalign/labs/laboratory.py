"""What a laboratory is: the tables and charts of its document, declared once for the terminal, files and the window."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence

from msgspec import Struct

from clalign.common.amounts import THIN, seconds_text
from clalign.common.plain_data import Json
from clalign.values.charts import Chart
from clalign.values.text_columns import Row, TextColumn, text_line, text_lines

Document = Json
Cell = Callable[[Row], str]
Verdict = tuple[str, str]
"""Severity (``stop``, ``caution``, ``note`` or ``good``) and sentence."""

DONE = "done"
"""Status of a row that was measured."""

INEXACT = "inexact"
"""Status of a row whose other results come of an option of the compiler: to see that is what the row is for."""

NOT_YET, MEASURING = "not run yet", "measuring"
"""Status of a row that is only known, and of the one that is measured just now."""


def number(key: str, form: str = ".3g") -> Cell:
    """Return a cell with a number of a row; empty where there is none."""
    return lambda row: "" if row.get(key) is None else format(row[key], form)


def seconds(key: str) -> Cell:
    """Return a cell with a time of a row."""
    return lambda row: "" if row.get(key) is None else seconds_text(row[key], THIN)


def memory(key: str) -> Cell:
    """Return a cell with the exact number of bytes of a row."""
    return lambda row: "" if row.get(key) is None else f"{row[key]:,}{THIN}B"


def percent(key: str, form: str = ".0f") -> Cell:
    """Return a cell with a share of a row as percents."""
    return lambda row: "" if row.get(key) is None else f"{100 * row[key]:{form}}{THIN}%"


def text_of(key: str) -> Cell:
    """Return a cell with a text of a row."""
    return lambda row: str(row.get(key) or "")


def times(value: float | None) -> str:
    """Return a speed-up, as in ``2.57×``."""
    return "" if value is None else f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}×"


def each(key: str, shown: Callable[[float], str]) -> Cell:
    """Return a cell with several numbers of a row."""
    return lambda row: " · ".join(map(shown, row.get(key) or ()))


class Experiment(Struct, frozen=True):
    """A table of a document, and the chart of it.

    Attributes
    ----------
    key : str
        Of its rows among the ``experiments`` of the document, or in the document itself.
    title, about : str
        What it is called, and what is measured, in some words.
    columns : tuple of TextColumn
    chart : callable
        Returns the chart of a document and the rows of this experiment.
    rows : callable or None
        Returns the rows of a document where they are not those of `key` as they stand.
    is_checked : bool
        Whether its rows are results of their own, which were compared, and may be asked for by name.
    """

    key: str
    title: str
    about: str
    columns: tuple[TextColumn, ...]
    chart: Callable[[Document, list[Row]], Chart]
    rows: Callable[[Document], list[Row]] | None = None
    is_checked: bool = True

    def rows_of(self, document: Document) -> list[Row]:
        """Return its rows."""
        if self.rows is not None:
            return self.rows(document)
        experiments = document.get("experiments") or {}
        return list(experiments[self.key] if self.key in experiments else document.get(self.key) or [])

    def text(self, document: Document) -> list[str]:
        """Return its table for a terminal, and below it why some rows have no time; nothing without rows."""
        rows, first = self.rows_of(document), self.columns[0]
        reasons = [f"    {first.printed(row)}: {row['reason']}" for row in rows if row.get("reason")]
        return [f"{self.title}: {self.about}", *text_lines(self.columns, rows), *reasons] if rows else []

    def row_key(self, row: Row) -> Hashable:
        """Return what stays the same of a row while it is measured."""
        return str(row["name"])

    def row_title(self, row: Row) -> str:
        """Return the title of a row."""
        return str(row["name"])

    def facts(self, row: Row) -> list[tuple[str, str]]:
        """Return names and values of a row."""
        return [(c.title, c.text(row)) for c in self.columns[1:] if c.text(row) and not c.stretch]

    def tip(self, row: Row) -> str:
        """Return the tooltip of a row: why it has no time."""
        return str(row.get("reason") or "")


class Laboratory(Struct, frozen=True, kw_only=True):
    """Measurements of a kind, and all that is said of their documents.

    Attributes
    ----------
    kind, job : str
        What its documents and its job are called.
    title, promise : str
        What people call it, and what it does, in a line.
    noun, nouns : str
        What a row of the first experiment is.
    experiments : tuple of Experiment
        The rows of the first arrive one after the other while the job runs.
    needed : tuple of str
        What a document cannot be shown without.
    known : tuple of dict
        Rows that are known before anything is measured, of which a user may choose.
    """

    kind: str
    job: str
    title: str
    promise: str
    noun: str
    nouns: str
    experiments: tuple[Experiment, ...]
    needed: tuple[str, ...]
    known: tuple[Row, ...] = ()

    def is_measuring(self, row: Row, now: str) -> bool:
        """Return whether a known row is measured while the progress of the job names `now`."""
        return bool(row.get("name") == now)

    def summary(self, document: Document) -> str:
        """Return what was measured on what, and whether it was right, in a line."""
        raise NotImplementedError

    def verdicts(self, document: Document) -> list[Verdict]:
        """Return what the measurements mean, also of a document that is not whole yet."""
        raise NotImplementedError


def row_text(columns: Sequence[TextColumn], row: Row | None) -> str:
    """Return a row as a line for a terminal, and below it why it has no time; None: the titles."""
    line = text_line(columns, row)
    return line if row is None or not row.get("reason") else f"{line}\n    {row['reason']}"


def paragraphs(parts: Iterable[list[str]]) -> str:
    """Return lines as paragraphs with an empty line between them."""
    return "\n\n".join("\n".join(part) for part in parts if part)
