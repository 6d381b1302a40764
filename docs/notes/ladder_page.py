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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clalign.labs import rung_columns
from clalign.labs.laboratory import number, seconds, text_of
from clalign.labs.register import LADDERS
from clalign.values.text_columns import Row, TextColumn, markdown

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parents[1] / "benchmarks" / "results"
PLACE = re.compile(r"(<!-- table (\w+) (\w+) -->\n).*?(<!-- end table -->)", re.DOTALL)

MEAN_COLUMNS = (
    TextColumn("Rung", "", text_of("name")),
    TextColumn("Families", "", text_of("families")),
    TextColumn("Mean kernel time", "", seconds("kernel_seconds")),
    rung_columns.GCUPS,
    rung_columns.SPEEDUP,
    TextColumn("Published (s)", "", lambda row: number("seconds", ".2f")(rung_columns.published(row))),
    rung_columns.PUBLISHED_SPEEDUP,
)

OF_PAIRS = {
    "pair_facts": ("sw", ""), "pairs": ("sw", "rows"),
    "hmm_facts": ("pairhmm", ""), "hmm": ("pairhmm", "rows"), "hmm_sizes": ("pairhmm", "sizes"),
}  # fmt: skip
"""Tables of ladders of pairs: of which, and which experiment; empty for what was measured on what."""


def table(results: dict[str, Any], what: str) -> str:
    """Return one table of a file of results."""
    if what == "means":
        return markdown(MEAN_COLUMNS, results["means"]) if results["means"] else "Not measured yet."
    name, key = OF_PAIRS.get(what, ("viterbi", "" if what == "facts" else what))
    document, ladder = results.get("detail", results), LADDERS[name]
    if not key:
        return ladder.described(document)
    found = {one.key: one for one in ladder.experiments}
    if key in found:
        rows = found[key].rows_of(document)
        return _with_reasons(found[key].columns, rows) if key == "rows" else markdown(found[key].columns, rows)
    rows = [row for row in document["rows"] if row["group"] == what]
    if not rows:
        raise SystemExit(f"There is no table {what}.")
    return _with_reasons(ladder.experiments[0].columns, rows)


def _with_reasons(columns: Sequence[TextColumn], rows: list[Row]) -> str:
    """Return a table of rungs, and below it why some have no time."""
    reasons = [f"- {row['name']}: {row['reason']}" for row in rows if row["reason"]]
    return "\n".join([markdown(columns, rows), *([""] if reasons else []), *reasons])


def rendered(text: str, folder: Path = RESULTS) -> str:
    """Return a page with its tables renewed."""

    def fill(found: re.Match[str]) -> str:
        ladder = LADDERS[OF_PAIRS[found[3]][0]].kind if found[3] in OF_PAIRS else "ladder"
        path = folder / f"{ladder}_{found[2]}.json"
        content = table(json.loads(path.read_text("utf-8")), found[3]) if path.exists() else "Not measured yet."
        return f"{found[1]}\n{content}\n\n{found[4]}"

    return PLACE.sub(fill, text)


if __name__ == "__main__":
    page = FOLDER / "ladder.md"
    page.write_text(rendered(page.read_text("utf-8")), "utf-8")
