"""What was repeated of the published experiments as one report, in Markdown and HTML, with pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from clalign.common.amounts import size_text
from clalign.engines.pictures.charts import chart_drawing
from clalign.engines.report import STYLE, table_lines
from clalign.formats.drawing_svg import drawing_svg
from clalign.formats.writers import whole_file
from clalign.labs.laboratory import DONE, Document
from clalign.labs.publication_lab import VALUES, PublicationLab
from clalign.values.charts import BarChart, CellChart, Chart, LineChart
from clalign.values.text_columns import Row, TextColumn, in_text, markdown

CHART_WIDTH = 900.0
"""Pixels."""


def write_report(folder: Path, measured: Sequence[tuple[PublicationLab, Document]]) -> list[Path]:
    """Write ``report.md``, ``report.html`` and the pictures to a folder; return the files.

    Raises
    ------
    OutputError
        If one cannot be written.
    """
    charts = {
        name: picture for laboratory, document in measured for name, picture in _charts(laboratory, document).items()
    }
    pages = {"report.md": "\n".join(_markdown(measured)), "report.html": html_report(measured), **charts}
    for name, text in pages.items():
        with whole_file(str(folder / name)) as stream:
            stream.write(text)
    return [folder / name for name in pages]


def html_report(measured: Sequence[tuple[PublicationLab, Document]]) -> str:
    """Return the report as one HTML page, its pictures within it."""
    return "\n".join(_html(measured))


def _charts(laboratory: PublicationLab, document: Document) -> dict[str, str]:
    """Return the charts and drawings of a source as SVG, by the names of their files."""
    found = {}
    for one in laboratory.experiments[1:]:
        chart = one.chart(document, one.rows_of(document))
        if _has_something(chart):
            found[f"{laboratory.source.key}-{one.key}.svg"] = drawing_svg(chart_drawing(chart, CHART_WIDTH, 0.0))
    return found


def _has_something(chart: Chart) -> bool:
    if isinstance(chart, LineChart):
        return any(len(line.points) > 1 for line in chart.lines)
    return isinstance(chart, CellChart) or (isinstance(chart, BarChart) and bool(chart.bars))


def _machine(document: Document) -> str:
    device = document["device"]
    units = f"{device['n_compute_units']:,} compute units, {size_text(device['memory_bytes'])}"
    of_driver = f"{device['platform']} {device['driver']}"
    return "; ".join([f"{device['name']}: {units}, {of_driver}", document.get("host", ""), document["created"]])


def _head(measured: Iterable[tuple[PublicationLab, Document]]) -> Iterator[str]:
    for laboratory, document in measured:
        title = f"{laboratory.source.key}, {laboratory.source.title}"
        yield f"{title}: {laboratory.summary(document)}."


HOW = (
    "A gain is how many times faster a row is than the first of its table, or a figure than the first of its row."
    " Ratios are here over there: of gains, or of figures that count the same thing. Times of other machines and sizes"
    " have none."
)


def _table_of(row: Row) -> tuple[list[TextColumn], list[Row]]:
    """Return the columns that say something of an item, and its figures of what was measured here."""
    names = {value["row"] for value in row["values"] if value["here"] is not None or value["text"]}
    values = [value for value in row["values"] if value["row"] in names]
    return [column for column in in_text(VALUES[1:]) if any(column.text(value) for value in values)], values


def _markdown(measured: Sequence[tuple[PublicationLab, Document]]) -> Iterator[str]:
    yield "# Published experiments, repeated\n"
    yield from (f"- {line}" for line in _head(measured))
    yield f"\n{HOW}"
    for laboratory, document in measured:
        yield f"\n## {laboratory.source.key}: {laboratory.source.title}\n\n{laboratory.source.about}\n"
        yield f"Measured on {_machine(document)}.\n"
        pictures = {name: f"![{name}]({name})" for name in _charts(laboratory, document)}
        drawn = _drawn(laboratory, document, pictures)
        yield from pictures.values()
        seen: set[str] = set()
        for row in document["rows"]:
            yield f"\n### {row['name']}: {row['text']}\n"
            yield drawn.get(row["name"], "")
            if row["status"] == DONE:
                yield markdown(*_table_of(row))
            yield from (f"\n{text}" for text in _remarks(row, seen))


def _drawn(laboratory: PublicationLab, document: Document, pictures: dict[str, str]) -> dict[str, str]:
    """Take those out of the pictures of a source that are of some items, and return them by the first of these."""
    found: dict[str, str] = {}
    for one in laboratory.experiments[2:]:
        picture = pictures.pop(f"{laboratory.source.key}-{one.key}.svg", "")
        name = next((row["name"].partition(":")[0] for row in one.rows_of(document)), "")
        found[name] = "\n".join(filter(None, (found.get(name), picture)))
    return found


def _remarks(row: Row, seen: set[str]) -> Iterator[str]:
    """Yield what must be known of an item; what several share stands with the first of them."""
    if row["status"] != DONE:
        yield row["reason"]
    elif not row["equal"]:
        yield "**Other results than expected: please report this.**"
    if row["about"] and row["about"] not in seen:
        seen.add(row["about"])
        yield f"Here: {row['about']}"
    if row["machine"] and row["status"] == DONE:
        yield f"There: {row['machine']}."
    if row["remark"]:
        yield row["remark"]


def _html(measured: Sequence[tuple[PublicationLab, Document]]) -> Iterator[str]:
    title = "Published experiments, repeated"
    yield f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{STYLE}</style></head><body>\n<h1>{title}</h1>"
    yield from (f'<p class="muted">{escape(line)}</p>' for line in (*_head(measured), HOW))
    for laboratory, document in measured:
        yield f"<h2>{laboratory.source.key}: {escape(laboratory.source.title)}</h2>"
        pictures = _charts(laboratory, document)
        drawn = _drawn(laboratory, document, pictures)
        yield f"<p>{escape(laboratory.source.about)}</p><p>Measured on {escape(_machine(document))}.</p>"
        yield from pictures.values()
        seen: set[str] = set()
        for row in document["rows"]:
            yield f"<h3>{escape(row['name'])}: {escape(row['text'])}</h3>{drawn.get(row['name'], '')}"
            if row["status"] == DONE:
                yield from _table(row)
            yield from (f'<p class="muted">{escape(text.strip("*"))}</p>' for text in _remarks(row, seen))
    yield "</body></html>\n"


def _table(row: Row) -> Iterator[str]:
    columns, values = _table_of(row)
    heads = [(column.title, column.right) for column in columns]
    return table_lines(heads, ([(c.printed(value), c.right) for c in columns] for value in values))
