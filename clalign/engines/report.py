"""A run as one HTML file: what was done in a paragraph, pictures, tables; nothing is loaded from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TextIO

import numpy as np
from msgspec.structs import replace

from clalign.common.amounts import counted
from clalign.engines.architectures import architectures, rule_of
from clalign.engines.columns import Column, written_cell
from clalign.engines.engine import engine_of
from clalign.engines.export_source import ExportSource
from clalign.engines.overview import QueryLine, overview
from clalign.formats.tables import digits
from clalign.values.architectures import Architecture, grouped
from clalign.values.charts import Bar, BarChart, FitChart

MAX_QUERIES = 1000
"""Queries that the table of them has: those with most hits."""

HITS_OF_QUERY, USUAL_HITS = 200, 5000
"""Hits of each query that are listed, the best, and of all queries together, unless the user says how many."""

MAX_HITS = 50_000
"""No report lists more."""

MAX_BARS = 30
"""Queries, and architectures, that a picture has."""

MAX_BINS = 4096
"""Bars of the histogram, whose picture is far less wide."""

PICTURES = ("coverage", "score-coverage", "score-length", "identity", "qq", "species")
PICTURE_SIZE = 960.0, 420.0

LEFT_OUT = ("cigar",)
"""Columns that are too wide for a page."""

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #1A1E23; background: #fff; max-width: 1100px; margin: 2em auto;
  padding: 0 1.2em; }
h1 { font-size: 1.7em; margin-bottom: 0; } h2 { font-size: 1.2em; margin-top: 2em; }
.muted { color: #5A6470; } .note { border-left: 3px solid #E69F00; padding-left: .8em; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid #E4E8EC;
  vertical-align: top; }
th { color: #5A6470; font-weight: 600; } td.n, th.n { text-align: right; }
td { max-width: 340px; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; } code { overflow-wrap: anywhere; }
"""


def write_html(source: ExportSource, stream: TextIO) -> int:
    """Write the report of a run."""
    title = f"{_name(source.provenance.query)} × {_name(source.provenance.target)}"
    stream.write(f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n')
    stream.write(f"<style>{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n")
    seen = overview(list(source.cards), source.keys, source.context)
    n_hits = sum(line.n_hits for line in seen.lines)
    origin = f"clalign {source.provenance.program} · {source.provenance.date} · {source.provenance.device}"
    stream.write(f'<p class="muted">{escape(origin)}</p>\n')
    if source.provenance.partial:
        stream.write('<p class="note">This run is not complete: its results are partial.</p>\n')
    stream.write(f"<h2>Methods</h2>\n<p>{escape(methods(source))}</p>\n")
    stream.write(f"<p>{escape(_found(seen.lines, source))}</p>\n")
    for part in (_pictures(source, seen.lines), _domains(source, len(seen.lines))):
        stream.writelines(part)
    stream.writelines(_queries(source, seen.lines))
    stream.writelines(_hits(source, n_hits))
    stream.writelines(_provenance(source))
    stream.write("</body></html>\n")
    return n_hits


def _name(path: str) -> str:
    return path.replace("\\", "/").rsplit("/", 1)[-1]


def methods(source: ExportSource) -> str:
    """Return the description of a run as it may stand in a paper."""
    run, origin, engine = source.run, source.provenance, engine_of(source.run)
    database = run.facts.database
    n_sequences, n_residues = (database.n_sequences, database.n_residues) if database else (0, 0)
    sequences = f"{n_sequences:,} sequences ({n_residues:,} residues)"
    n_queries = len(source.cards)
    noun = engine.query if n_queries == 1 else engine.queries
    words = [
        f"{n_queries:,} {noun} ({_name(origin.query)}) and {sequences} of {_name(origin.target)} were compared with"
        f" clalign {origin.version} (command {origin.program}) on {origin.device}.",
        _procedure(source),
    ]
    if origin.partial:
        words.append("When this was written not all of the sequences had been searched.")
    words.append(f"The command was: {origin.command}.")
    return " ".join(word for word in words if word)


def _procedure(source: ExportSource) -> str:
    engine = engine_of(source.run)
    return "" if engine.parts.methods is None else engine.parts.methods.get()(source.run)


def _found(lines: Sequence[QueryLine], source: ExportSource) -> str:
    n_hits, n_with = sum(line.n_hits for line in lines), sum(line.n_hits > 0 for line in lines)
    engine = engine_of(source.run)
    words = f"{counted(n_hits, 'hit')} of {counted(n_with, engine.query, engine.queries)}"
    if source.provenance.chosen:
        words = f"Shown are {words}, chosen from those that were reported ({source.provenance.chosen})"
    else:
        words += f" {'was' if n_hits == 1 else 'were'} reported"
    if source.calls_significant:
        words += f", of which {sum(line.n_significant for line in lines):,} are significant"
    return f"{words}."


def _figure(picture: str, words: str) -> Iterator[str]:
    yield f'<figure>{picture}<figcaption class="muted">{escape(words)}</figcaption></figure>\n'


def _pictures(source: ExportSource, lines: Sequence[QueryLine]) -> Iterator[str]:
    # Here, since a report is a writer of every search, which would wait for what few of them need.
    from clalign.engines.pictures import KINDS, PictureRequest, picture_of
    from clalign.engines.pictures.charts import chart_drawing
    from clalign.engines.pictures.numbers import read_numbers
    from clalign.engines.pictures.species import SpeciesSummary
    from clalign.formats.drawing_svg import drawing_svg

    yield "<h2>Pictures</h2>\n"
    has_hits, query = any(line.n_hits for line in lines), 0 if len(lines) == 1 else None
    numbers = read_numbers(source.run, source.keys, query, source.context) if has_hits else None
    for name in PICTURES if has_hits else ():
        if query is not None or not KINDS[name].of_one:
            picture = picture_of(source.run, PictureRequest(name, query), numbers, source.context)
            if name != "species" or (isinstance(picture, SpeciesSummary) and picture.has_species):
                yield from _figure(drawing_svg(picture.draw(*PICTURE_SIZE)), picture.sentence)
    if len(lines) == 1:
        edges, counts = source.run.histogram(0)
        if len(edges):
            width = float(np.diff(edges).min() if len(edges) > 1 else 1.0)
            width = max(width, float(np.ptp(edges)) / MAX_BINS)  # a few odd scores may lie far from all others
            unit = (
                "Score in the units of the matrix"
                if not source.calls_significant
                else "Score of the first stage, in bits"
            )
            found = "sequences" if source.is_scan else "targets"
            bins = np.bincount(np.rint((edges - edges.min()) / width).astype(np.int64), counts).astype(np.int64)
            chart = FitChart("Scores", unit, float(edges.min()), width, tuple(bins.tolist()), y_axis=found, log=True)
            drawing = drawing_svg(chart_drawing(chart, PICTURE_SIZE[0], 280.0), tips=True)
            yield from _figure(drawing, f"Scores of all {found}; the axis of counts is logarithmic.")
        return
    best = sorted((line for line in lines if line.n_hits), key=lambda line: -line.n_hits)[:MAX_BARS]
    if best:
        hits = BarChart("Hits", "hits", tuple(Bar(line.name, line.n_hits, text=f"{line.n_hits:,}") for line in best))
        bars = drawing_svg(chart_drawing(hits, PICTURE_SIZE[0], 0.0), tips=True)
        nouns = engine_of(source.run).queries
        yield from _figure(bars, f"Hits of the {len(best)} {nouns} with most of them.")


def _domains(source: ExportSource, n_queries: int) -> Iterator[str]:
    """Yield the architectures, where there are several families."""
    if n_queries < 2:
        return
    clans = rule_of(source)
    found = list(architectures(source, source.choice.overlaps, clans, significant=True))
    groups = grouped(found)
    if not groups:
        return
    examples = [
        (len(group.members), _typical([found[place] for place in group.members])) for group in groups[:MAX_BARS]
    ]
    from clalign.engines.pictures.domains import architecture_drawing
    from clalign.formats.drawing_svg import drawing_svg

    yield "<h2>Domain architectures</h2>\n"
    yield from _figure(
        drawing_svg(architecture_drawing(examples, PICTURE_SIZE[0]), tips=True),
        f"The {len(examples)} most frequent of {len(groups):,} architectures of {len(found):,} sequences, each drawn on"
        f" its sequence of middle length. Overlaps: {source.provenance.overlaps}.",
    )


def _typical(found: list[Architecture]) -> Architecture:
    return sorted(found, key=lambda one: (one.length, one.row))[len(found) // 2]


def _cells(values: Iterable[tuple[str, bool]], tag: str) -> str:
    return "".join(f"<{tag}{' class=n' * right}>{escape(text)}</{tag}>" for text, right in values)


def table_lines(heads: Sequence[tuple[str, bool]], rows: Iterable[Sequence[tuple[str, bool]]]) -> Iterator[str]:
    """Yield a table in HTML; each head and cell has its text, and whether it is a number."""
    yield f'<div class="wide"><table><thead><tr>{_cells(heads, "th")}</tr></thead><tbody>\n'
    for row in rows:
        yield f"<tr>{_cells(row, 'td')}</tr>\n"
    yield "</tbody></table></div>\n"


QUERY_HEADS: tuple[tuple[str, bool, Callable[[QueryLine], str]], ...] = (
    ("Query", False, lambda r: r.name),
    ("Accession", False, lambda r: r.accession),
    ("Description", False, lambda r: r.description),
    ("Hits", True, lambda r: f"{r.n_hits:,}"),
    ("Significant", True, lambda r: f"{r.n_significant:,}"),
    ("Best E-value", True, lambda r: "" if math.isnan(r.best_evalue) else f"{r.best_evalue:.2g}"),
    ("Best score", True, lambda r: "" if math.isnan(r.best_score) else f"{r.best_score:.1f} {r.scale}"),
    ("Coverage %", True, lambda r: f"{r.coverage:.0f}"),
    ("Identity %", True, lambda r: "" if math.isnan(r.identity) else f"{r.identity:.0f}"),
)


def _queries(source: ExportSource, lines: Sequence[QueryLine]) -> Iterator[str]:
    engine = engine_of(source.run)
    yield f"<h2>{engine.queries.capitalize()}</h2>\n"
    shown = sorted(lines, key=lambda line: -line.n_hits)[:MAX_QUERIES]
    if len(shown) < len(lines):
        yield f'<p class="muted">The {len(shown)} of {len(lines):,} with most hits.</p>\n'
    columns = [column for column in QUERY_HEADS if source.calls_significant or column[0] != "Significant"]
    heads = [(engine.query.capitalize() if head == "Query" else head, right) for head, right, _ in columns]
    yield from table_lines(heads, ([(text_of(line), right) for _, right, text_of in columns] for line in shown))


def _hits(source: ExportSource, n_hits: int) -> Iterator[str]:
    columns: list[Column] = [column for column in engine_of(source.run).tables["hits"] if column.file not in LEFT_OUT]
    yield "<h2>Hits</h2>\n"
    best, words = _best(source, n_hits)
    if words:
        yield f'<p class="muted">{escape(words)}</p>\n'
    heads = [(column.file.replace("_", " "), column.kind != "text") for column in columns]
    rows = best.table_rows("hits")
    yield from table_lines(
        heads, ([(_short(column, row), column.kind != "text") for column in columns] for row in rows)
    )


def _best(source: ExportSource, n_hits: int) -> tuple[ExportSource, str]:
    """Return a source of the hits that are listed, and in words which they are, if these are not all."""
    engine, n_each = engine_of(source.run), source.choice.listed
    n_with = source.keys.n_with_hits(by_target=source.is_scan)
    if n_each is None:
        n_each = max(1, min(HITS_OF_QUERY, USUAL_HITS // max(1, n_with)))
    most = USUAL_HITS if source.choice.listed is None else MAX_HITS
    ids = source.keys.best_of_each(n_each or n_hits, most, by_target=source.is_scan)
    if len(ids) == n_hits:
        return source, ""
    whose = "sequence" if source.is_scan else engine.query
    limits = [f"of each {whose} the best {n_each:,}"] if n_each else []
    limits += [f"no more than {most:,} in all"] if len(ids) == most else []
    words = (
        f"Listed are {len(ids):,} of {n_hits:,} hits, {', '.join(limits)}. More, up to {MAX_HITS:,}: clalign export"
        " --html F --html-hits N RUN; all of them: clalign export --tsv F RUN."
    )
    return engine.source(source.run, replace(source.choice, hits=ids), source.context), words


def _short(column: Column, row: object) -> str:
    if column.kind == "number":
        value = column.value(row)
        return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
    return written_cell(column, row)


def _provenance(source: ExportSource) -> Iterator[str]:
    run = source.run
    yield "<h2>Where this comes from</h2>\n"
    rows = [tuple(line.split(": ", 1)) for line in source.provenance.lines()]
    if finished := run.facts.finished:
        rows.append(("work", f"{digits(finished['cells'])} cells in {digits(finished['seconds'])} s"))
    rows += sorted(run.facts.versions.items())
    yield from table_lines([("", False), ("", False)], ([(name, False), (value, False)] for name, value in rows))
    for _, _, text in run.messages():
        yield f'<p class="note">{escape(text)}</p>\n'
