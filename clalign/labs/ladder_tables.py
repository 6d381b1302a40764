"""A ladder's document as tables: plain text for a terminal, Markdown for a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Column = tuple[str, Callable[[Row], str]]

GROUPS = {
    "alone": "Each choice alone, against the basic rung",
    "combined": "Combinations",
    "program": "The program's own kernels",
}


def seconds(value: float | None) -> str:
    """Return a time in the unit that suits it."""
    if value is None:
        return ""
    for factor, unit in ((1, "s"), (1e3, "ms")):
        if value * factor >= 1:
            return f"{value * factor:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def plain(value: float | None, form: str = ".3g") -> str:
    """Return a number, or nothing where there is none."""
    return "" if value is None else format(value, form)


def times(value: float | None) -> str:
    """Return a speed-up."""
    return "" if value is None else f"{value:.2f}" if value < 10 else f"{value:.1f}"


def percent(value: float | None, form: str = ".0%") -> str:
    """Return a share."""
    return "" if value is None else format(value, form)


def each(values: Sequence[float] | None, text: Callable[[float], str]) -> str:
    """Return some numbers beside each other, or nothing where there are none."""
    return "" if values is None else " / ".join(text(value) for value in values)


def check(row: Row) -> str:
    """Return what came of the comparison with the reference."""
    if row["status"] != "done":
        return "not run"
    return "equal" if row["equal"] else "DIFFERS"


def _published(key: str) -> Callable[[Row], float | None]:
    return lambda row: (row["published"] or {}).get(key)


def published_times(row: Row) -> str:
    """Return what was published of a rung of pairs: its whole time, of that kernel and copies, and its speed-up."""
    total, kernel, copies, speedup = (
        _published(key)(row) for key in ("total_seconds", "kernel_seconds", "copy_seconds", "speedup")
    )
    named = [f"{name} {seconds(value)}" for name, value in (("kernel", kernel), ("copies", copies)) if value]
    parts = [seconds(total) + (f" ({', '.join(named)})" if named else ""), f"{times(speedup)} times"]
    return "; ".join(parts) if total else ""


def published_sweeps(row: Row) -> str:
    """Return what was published of a rung of the pair HMM: its sweeps, the whole run, and its speed-up."""
    found = row["published"]
    if not found:
        return ""
    sweeps = each([found[f"{name}_seconds"] for name in ("forward", "backward", "baum_welch")], seconds)
    return f"{sweeps}; {found['run_minutes']:.1f} min; {times(found['speedup'])} times"


RUNG_COLUMNS: tuple[Column, ...] = (
    ("rung", lambda r: str(r["name"])),
    ("scores", check),
    ("kernel", lambda r: seconds(r["kernel_seconds"])),
    ("copies", lambda r: seconds(r["copy_seconds"])),
    ("GCUPS", lambda r: plain(r["gcups"])),
    ("speed-up", lambda r: times(r["speedup"])),
    ("published", lambda r: times(_published("speedup")(r))),
    ("registers", lambda r: plain(r["registers"], "d")),
    ("local", lambda r: plain(r["local_bytes"], ",d")),
    ("private", lambda r: plain(r["private_bytes"], ",d")),
    ("occupancy", lambda r: percent(r["occupancy"])),
)

PAIR_COLUMNS: tuple[Column, ...] = (
    ("rung", lambda r: str(r["name"])),
    ("alignments", check),
    ("whole", lambda r: seconds(r["total_seconds"])),
    ("kernel", lambda r: seconds(r["kernel_seconds"])),
    ("copies", lambda r: seconds(r["copy_seconds"])),
    ("host", lambda r: seconds(r["host_seconds"])),
    ("GCUPS", lambda r: plain(r["gcups"])),
    ("speed-up", lambda r: times(r["speedup"])),
    ("registers", lambda r: plain(r["registers"], "d")),
    ("local", lambda r: plain(r["local_bytes"], ",d")),
    ("occupancy", lambda r: percent(r["occupancy"])),
    ("published", published_times),
)

PAIR_HMM_COLUMNS: tuple[Column, ...] = (
    ("rung", lambda r: str(r["name"])),
    ("results", check),
    ("Forward", lambda r: seconds(r["forward_seconds"])),
    ("Backward", lambda r: seconds(r["backward_seconds"])),
    ("Baum-Welch", lambda r: seconds(r["baum_welch_seconds"])),
    ("posteriors", lambda r: seconds(r["posteriors_seconds"])),
    ("counts", lambda r: seconds(r["counts_seconds"])),
    ("pair", lambda r: seconds(r["total_seconds"])),
    ("kernels", lambda r: seconds(r["kernel_seconds"])),
    ("GCUPS", lambda r: plain(r["gcups"])),
    ("of each sweep", lambda r: each(r["sweep_gcups"], plain)),
    ("speed-up", lambda r: times(r["speedup"])),
    ("registers", lambda r: plain(r["registers"], "d")),
    ("local", lambda r: plain(r["local_bytes"], ",d")),
    ("published", published_sweeps),
)

LEFT = {"rung": 22, "scores": 8, "alignments": 10, "results": 8}
"""Widths of the columns that begin at the left."""

EXPERIMENT_COLUMNS: dict[str, tuple[str, tuple[Column, ...]]] = {
    "granularity": (
        "Granularity: how much of the work a launch does; times include the launches",
        (
            ("granularity", lambda r: str(r["name"])),
            ("scores", check),
            ("time", lambda r: seconds(r["kernel_seconds"])),
            ("kernels alone", lambda r: seconds(r["busy_seconds"])),
            ("GCUPS", lambda r: plain(r["gcups"])),
            ("published, over HMMER2", lambda r: times(r["published_speedup"])),
        ),
    ),
    "divergence": (
        "Divergence: four synthetic sets, basic rung",
        (
            ("set", lambda r: str(r["text"])),
            ("scores", check),
            ("kernel", lambda r: seconds(r["kernel_seconds"])),
            ("GCUPS", lambda r: plain(r["gcups"])),
            ("speed against the set before", lambda r: times(r["relative"])),
            ("published seconds", lambda r: plain(r["published_seconds"], ".2f")),
        ),
    ),
    "work_group": (
        "Work-group size, final combination",
        (
            ("work-items", lambda r: str(r["group"])),
            ("scores", check),
            ("kernel", lambda r: seconds(r["kernel_seconds"])),
            ("GCUPS", lambda r: plain(r["gcups"])),
            ("registers", lambda r: plain(r["registers"], "d")),
            ("occupancy", lambda r: percent(r["occupancy"])),
        ),
    ),
    "sizes": (
        "Sizes of pairs, rung states: gains over one core in Forward, Backward and Baum-Welch",
        (
            ("residues", lambda r: str(r["name"])),
            ("results", check),
            ("Forward", lambda r: seconds(r["forward_seconds"])),
            ("Backward", lambda r: seconds(r["backward_seconds"])),
            ("Baum-Welch", lambda r: seconds(r["baum_welch_seconds"])),
            ("speed-ups", lambda r: each(r["speedups"], times)),
            ("published", lambda r: each(r["published_speedups"], times)),
        ),
    ),
    "copies": (
        "Share of copies in the time of kernels and copies",
        (
            ("rung", lambda r: str(r["name"])),
            ("kernel", lambda r: seconds(r["kernel_seconds"])),
            ("copies", lambda r: seconds(r["copy_seconds"])),
            ("share", lambda r: percent(r["share"], ".2%")),
            ("published", lambda r: percent(r["published_share"], ".2%")),
        ),
    ),
}
"""Title and columns of each experiment."""


def heading(document: Row) -> str:
    """Return in a sentence or two what was measured on what."""
    model, database = document["model"], document["database"]
    return (
        f"{document['device']['name']}: {model['name']}, {model['length']:,} nodes, against"
        f" {database['n_sequences']:,} sequences ({database['n_residues']:,} residues, longest {database['longest']:,};"
        f" {database['source']}). Times are medians of up to {document['runs']} runs."
    )


def _core(document: Row) -> str:
    """Return what the sequential rung ran on, as a sentence after others."""
    core = next((row["device"] for row in document["rows"] if row["name"] == "sequential"), None)
    return f" The sequential rung ran on one core of {core}." if core else ""


def pair_heading(document: Row) -> str:
    """Return in a sentence or two what was measured on what, for a ladder of pairs."""
    length, scoring = document["length"], document["scoring"]
    return (
        f"{document['device']['name']}: {document['pairs']:,} pairs of {length:,} x {length:,} random nucleotides, seed"
        f" {document['seed']}, {scoring['matrix']}, gap -{scoring['gap']}. Times are medians of up to"
        f" {document['runs']} runs; speed-ups compare whole times.{_core(document)}"
    )


def pair_hmm_heading(document: Row) -> str:
    """Return in some sentences what was measured on what, for the ladder of the pair HMM."""
    return (
        f"{document['device']['name']}: a pair of {document['x']:,} x {document['y']:,} random residues, seed"
        f" {document['seed']}, three states; one of the {document['pairs']:,} that lanes and vector compute at once"
        " has its share of the time. Posteriors are Forward and Backward, counts Forward and Baum-Welch; a pair takes"
        f" posteriors once and counts four times, as in a run. Times are medians of up to {document['runs']} runs, with"
        f" all launches; speed-ups compare those of a pair.{_core(document)}"
    )


def text_line(row: Row | None, columns: Sequence[Column] = RUNG_COLUMNS) -> str:
    """Return a rung as a line of a table for a terminal, and why it has no time below it; None: the names."""
    cells = []
    for name, cell in columns:
        text = name if row is None else cell(row)
        cells.append(f"{text:<{LEFT[name]}s}" if name in LEFT else f"{text:>{max(8, len(name))}s}")
    line = " ".join(cells).rstrip()
    return line if row is None or not row["reason"] else f"{line}\n    {row['reason']}"


def experiment_text(document: Row) -> str:
    """Return the experiments as tables for a terminal, and below each why some rows have no time."""
    parts = []
    for name, (title, columns) in EXPERIMENT_COLUMNS.items():
        rows = document["experiments"].get(name) if name != "copies" else None
        if rows:
            reasons = [f"    {columns[0][1](row)}: {row['reason']}" for row in rows if row.get("reason")]
            parts.append("\n".join([f"\n{title}", *_aligned(columns, rows), *reasons]))
    return "\n".join(parts)


def _aligned(columns: Sequence[Column], rows: Sequence[Row]) -> list[str]:
    table = [[name for name, _ in columns], *([cell(row) for _, cell in columns] for row in rows)]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    lines = []
    for line in table:
        first, *others = (text.rjust(width) for text, width in zip(line, widths, strict=True))
        lines.append("  ".join([first.strip().ljust(widths[0]), *others]).rstrip())
    return lines


def markdown(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Return a Markdown table."""
    lines = [[name for name, _ in columns], ["---"] * len(columns)]
    lines += [[cell(row).replace("|", "\\|") for _, cell in columns] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def markdown_tables(document: Row) -> str:
    """Return a whole document as Markdown: what it was measured on, the rungs, the experiments."""
    parts = [heading(document)]
    for group, title in GROUPS.items():
        rows = [row for row in document["rows"] if row["group"] == group]
        if rows:
            parts += [f"**{title}**", markdown(RUNG_COLUMNS, rows)]
            parts += [f"- {row['name']}: {row['reason']}" for row in rows if row["reason"]]
    for name, (title, columns) in EXPERIMENT_COLUMNS.items():
        if document["experiments"].get(name):
            parts += [f"**{title}**", markdown(columns, document["experiments"][name])]
    return "\n\n".join(parts)
