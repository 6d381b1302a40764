"""A document of the laboratory of waiting groups as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clalign.labs.ladder_tables import percent, seconds, times
from clalign.labs.synchronization import wrong_cells

Row = dict[str, Any]

WIDTH = 16
"""Of a column."""


def cell_text(cell: Row) -> str:
    """Return the time of a way, or why there is none."""
    if cell["status"] == "done":
        return seconds(cell["seconds"]) if cell["equal"] else "DIFFERS"
    return "-" if cell["found"] is None else f"{cell['found']:,} at once"


def line(row: Row | None, methods: Sequence[str]) -> str:
    """Return a row as a line; without a row the heads."""
    cells = methods if row is None else [cell_text(row["cells"][way]) for way in methods]
    first = "groups" if row is None else f"{row['n_groups']:,}"
    return f"{first:>6s}" + "".join(f"{cell:>{WIDTH}s}" for cell in cells)


def below(document: Row) -> str:
    """Return what stands below the rows."""
    parts = [part(document) for part in (heading, reasons, _bands, set_lines, level_lines, cost_lines)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def heading(document: Row) -> list[str]:
    """Return where what was measured, and whether all results are right."""
    done = [cell for row in document["rows"] for cell in row["cells"].values() if cell["status"] == "done"]
    wrong = wrong_cells(document)
    verdict = f"{len(wrong):,} of {len(done):,} results DIFFER" if wrong else f"all {len(done):,} results are right"
    return [
        f"{document['device']['name']}: {document['size']:,} {document['unit']}, groups of {document['group_size']}"
        f" work-items; {verdict if done else 'nothing could be measured'}"
    ]


def reasons(document: Row) -> list[str]:
    """Return why ways were not measured, and for which numbers of groups: of each way the first reason."""
    left_out: dict[tuple[str, bool], list[tuple[int, Row]]] = {}
    for row in document["rows"]:
        for way, cell in row["cells"].items():
            if cell["status"] != "done":
                left_out.setdefault((way, cell["found"] is not None), []).append((row["n_groups"], cell))
    ways: dict[str, list[str]] = {}
    for (way, is_counted), cells in left_out.items():
        first, last = cells[0][0], cells[-1][0]
        groups = f"{first:,}" if first == last else f"{first:,} to {last:,}"
        most = max(cell["found"] or 0 for _, cell in cells)
        why = f"the device ran {most:,} of them at once, so they were not left to wait"
        told = f"of {groups} groups: {why if is_counted else cells[0][1]['reason'].rstrip('.')}."
        ways.setdefault(told, []).append(way)
    return [f"{', '.join(names)} {told}" for told, names in ways.items()]


def _bands(document: Row) -> list[str]:
    if not any(band["ratio"] for band in document["bands"]):
        return []
    device, sets = document["published"]["device"], document["published"]["sets"]
    lines = [
        f"LBS and ILBS ({document['sets']} sets); on the right as published, on a {device} with {sets} sets",
        "".join(f"{head:>12s}" for head in ("groups", "LBS", "ILBS", "ratio", "LBS", "ILBS", "ratio")),
    ]
    for band in document["bands"]:
        given = band["published"] or {}
        cells = [
            f"{band['first']}-{band['last']}", seconds(band["lbs"]), seconds(band["ilbs"]), times(band["ratio"]),
            seconds(given.get("lbs")), seconds(given.get("ilbs")), times(given.get("ratio")),
        ]  # fmt: skip
        lines.append("".join(f"{cell:>12s}" for cell in cells))
    return lines


def set_lines(document: Row) -> list[str]:
    """Return for each number of groups with how many sets ILBS was fastest."""
    return [
        f"{row['n_groups']:,} groups: ILBS is fastest with {row['best']:,} set{'s' * (row['best'] > 1)}"
        f" ({seconds(row['seconds'][row['best'] - 1])}); the root of their number is {row['root']:.1f}"
        f" ({seconds(row['seconds'][round(row['root']) - 1])})."
        for row in document["experiments"]["sets"]
        if row["best"] is not None
    ]


def level_lines(document: Row) -> list[str]:
    """Return what each further level of ULFS cost."""
    lines = []
    for row in document["levels"]:
        published = row["published"]
        told = "" if published is None else f" (published for 33 groups of 32: {percent(published, '+.1%')})"
        growth = percent(row["growth"], "+.1%")
        lines.append(
            f"{row['n_groups']:,} groups: ULFS has {row['levels']} levels, its time changes by {growth}{told}."
        )
    return lines


def cost_lines(document: Row) -> list[str]:
    """Return the fitted costs."""
    model = document["model"]
    if model is None:
        return []
    lines = [f"Fitted costs (mean deviation {percent(model['deviation'])})"]
    return lines + [
        f"  {name:<3s}{seconds(value):>10s}  {model['meanings'][name]}" for name, value in model["costs"].items()
    ]
