"""Puts measured tables into ladder.md, so that no figure in it is typed by hand.

Between ``<!-- table NAME WHAT -->`` and ``<!-- end table -->`` goes the table WHAT of
``benchmarks/results/ladder_NAME.json``: ``facts``, ``alone``, ``combined``, ``program``, ``means`` or an
experiment; or ``pair_facts`` or ``pairs`` of ``benchmarks/results/smith_waterman_ladder_NAME.json``, which is what
``clalign lab ladder sw --json`` wrote; or ``hmm_facts``, ``hmm`` or ``hmm_sizes`` of
``benchmarks/results/pair_hmm_ladder_NAME.json``, from ``clalign lab ladder pairhmm --json``.

    python docs/notes/ladder_page.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from clalign.labs.ladder_tables import (
    EXPERIMENT_COLUMNS,
    PAIR_COLUMNS,
    PAIR_HMM_COLUMNS,
    RUNG_COLUMNS,
    Column,
    Row,
    heading,
    markdown,
    pair_heading,
    pair_hmm_heading,
    plain,
    seconds,
    times,
)

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parents[1] / "benchmarks" / "results"
PLACE = re.compile(r"(<!-- table (\w+) (\w+) -->\n).*?(<!-- end table -->)", re.DOTALL)

MEAN_COLUMNS = (
    ("rung", lambda r: str(r["name"])),
    ("families", lambda r: str(r["families"])),
    ("mean kernel time", lambda r: seconds(r["kernel_seconds"])),
    ("GCUPS", lambda r: plain(r["gcups"])),
    ("speed-up", lambda r: times(r["speedup"])),
    ("published seconds", lambda r: plain((r["published"] or {}).get("seconds"), ".2f")),
    ("published speed-up", lambda r: times((r["published"] or {}).get("speedup"))),
)


OF_PAIRS: dict[str, tuple[str, Callable[[dict[str, Any]], str]]] = {
    "pair_facts": ("smith_waterman_ladder", pair_heading),
    "pairs": ("smith_waterman_ladder", lambda results: _with_reasons(PAIR_COLUMNS, results["rows"])),
    "hmm_facts": ("pair_hmm_ladder", pair_hmm_heading),
    "hmm": ("pair_hmm_ladder", lambda results: _with_reasons(PAIR_HMM_COLUMNS, results["rows"])),
    "hmm_sizes": (
        "pair_hmm_ladder", lambda results: markdown(EXPERIMENT_COLUMNS["sizes"][1], results["experiments"]["sizes"])
    ),
}  # fmt: skip
"""Tables of ladders of pairs: of which, and what they are."""


def table(results: dict[str, Any], what: str) -> str:
    """Return one table of a file of results."""
    if what in OF_PAIRS:
        return OF_PAIRS[what][1](results)
    document = results["detail"]
    if what == "facts":
        return heading(document)
    if what == "means":
        return markdown(MEAN_COLUMNS, results["means"]) if results["means"] else "Not measured yet."
    if what in EXPERIMENT_COLUMNS:
        return markdown(EXPERIMENT_COLUMNS[what][1], document["experiments"][what])
    rows = [row for row in document["rows"] if row["group"] == what]
    if not rows:
        raise SystemExit(f"There is no table {what}.")
    return _with_reasons(RUNG_COLUMNS, rows)


def _with_reasons(columns: Sequence[Column], rows: list[Row]) -> str:
    """Return a table of rungs, and below it why some have no time."""
    reasons = [f"- {row['name']}: {row['reason']}" for row in rows if row["reason"]]
    return "\n".join([markdown(columns, rows), *([""] if reasons else []), *reasons])


def rendered(text: str, folder: Path = RESULTS) -> str:
    """Return a page with its tables renewed."""

    def fill(found: re.Match[str]) -> str:
        ladder = OF_PAIRS[found[3]][0] if found[3] in OF_PAIRS else "ladder"
        path = folder / f"{ladder}_{found[2]}.json"
        content = table(json.loads(path.read_text("utf-8")), found[3]) if path.exists() else "Not measured yet."
        return f"{found[1]}\n{content}\n\n{found[4]}"

    return PLACE.sub(fill, text)


if __name__ == "__main__":
    page = FOLDER / "ladder.md"
    page.write_text(rendered(page.read_text("utf-8")), "utf-8")
