"""What a measurement of waiting groups shows: tables, charts, verdicts; and all of it as text."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from clalign.common.amounts import THIN, seconds_text
from clalign.labs.laboratory import Cell, Document, Experiment, Laboratory, Verdict, number, paragraphs, seconds
from clalign.labs.synchronization import USUAL_WAYS, WAYS, wrong_cells
from clalign.values.charts import Bar, BarChart, Chart, Line, LineChart, Mark
from clalign.values.text_columns import Row, TextColumn, text_line

NAMES = {"launch": "Launch", "discovered": "Discovered"}
"""Names of ways to wait; the others are written in capitals."""

TIPS = {
    "launch": "One launch a round: its end is the barrier",
    "lbs": "Everybody adds 1 to a counter and waits until it is complete",
    "ilbs": "Groups in sets, each with a counter; one of a complete set adds 1 to the main one",
    "lfs": "No counter: an observer watches a word for each group; only as many groups as a group has work-items",
    "ulfs": "The same in a tree, for any number of groups",
    "discovered": "LBS of those groups that are found to run at once",
}


def way_name(way: str) -> str:
    """Return the name of a way to wait."""
    return NAMES.get(way) or way.upper().replace("DISCOVERED-", "Discovered ")


def cell_text(row: Row, way: str) -> str:
    """Return the time of a way, or why there is none."""
    cell = row["cells"].get(way)
    if cell is None:
        return ""
    if cell["status"] == "done":
        return seconds_text(cell["seconds"], THIN) if cell["equal"] else "differs"
    return "not possible" if cell["found"] is None else f"{cell['found']:,} at once"


def _state(row: Row, way: str) -> str:
    cell = row["cells"].get(way)
    return "stop" if cell is not None and cell["status"] == "done" and not cell["equal"] else ""


def _together(row: Row) -> str:
    found = [cell["found"] for cell in row["cells"].values() if cell["found"] is not None]
    return f"{min(found):,}" if found else ""


def _way_column(way: str) -> TextColumn:
    return TextColumn(
        way_name(way), TIPS.get(way, ""), lambda row: cell_text(row, way), True, 96, mark=lambda row: _state(row, way)
    )


GROUPS = TextColumn("Groups", "How many wait for each other", number("n_groups", ",d"), True, 64)


def columns_of(ways: Iterable[str]) -> tuple[TextColumn, ...]:
    """Return the columns of times by numbers of groups."""
    at_once = "How many of them the device was found to run at once, before any was left to wait"
    return GROUPS, TextColumn("At once", at_once, _together, True, 70), *map(_way_column, ways)


def _of_published(cell: Cell) -> Cell:
    return lambda row: cell(row["published"] or {})


_ratio = number("ratio", ".2f")

BANDS = (
    TextColumn("Groups", "Those of a line of the published tables", lambda r: f"{r['first']} to {r['last']}", width=84),
    TextColumn("LBS", "Mean over these numbers of groups", seconds("lbs"), True),
    TextColumn("ILBS", "Mean over these numbers of groups", seconds("ilbs"), True),
    TextColumn("Ratio", "How many times faster ILBS is", _ratio, True, 64),
    TextColumn("Published LBS", "On a GTX 1070", _of_published(seconds("lbs")), True, 104),
    TextColumn("Published ILBS", "On a GTX 1070", _of_published(seconds("ilbs")), True, 108),
    TextColumn("Published ratio", "On a GTX 1070", _of_published(_ratio), True, 108),
    TextColumn("", "", lambda row: "", width=20, stretch=True),
)


def _best_seconds(row: Row) -> str:
    return "" if row["best"] is None else seconds_text(row["seconds"][row["best"] - 1], THIN)


SETS = (
    GROUPS,
    TextColumn("Best number of sets", "With which ILBS was fastest", number("best", ",d"), True, 140),
    TextColumn("Root of the groups", "The best by the cost model", number("root", ".2f"), True, 130),
    TextColumn("Time with the best", "Mean of several runs", _best_seconds, True, 130),
    TextColumn("", "", lambda row: "", width=20, stretch=True),
)


def _times(document: Document, rows: list[Row]) -> Chart:
    """Return the time against the number of groups, with the fitted curves."""
    curves = (document.get("model") or {}).get("curves") or {}
    lines = []
    for way in document.get("methods") or USUAL_WAYS:
        points = tuple(
            (float(row["n_groups"]), float(cell["seconds"]))
            for row in rows
            if (cell := row["cells"].get(way)) and cell["seconds"]
        )
        if points:
            lines.append(Line(way_name(way), points))
            fit = tuple((float(n), float(value)) for n, value in curves.get(way) or ())
            lines += [Line(f"{way_name(way)} as fitted", fit, is_fit=True)] * bool(fit)
    return LineChart("Time, and the fitted costs as thin lines", "groups", "seconds", tuple(lines), unit="groups")


def _ratios(_: Document, rows: list[Row]) -> Chart:
    """Return how many times faster ILBS is, beside the published tables."""
    bars = tuple(
        Bar(
            f"{band['first']} to {band['last']} groups", band["ratio"], (band["published"] or {}).get("ratio"),
            _ratio(band), "" if band["ratio"] else "not measured",
        )
        for band in rows
    )  # fmt: skip
    return BarChart("ILBS against LBS", "times as fast as LBS", bars, "this device", "published, on a GTX 1070")


def _by_sets(_: Document, rows: list[Row]) -> Chart:
    """Return the time of ILBS against the number of sets; the best is marked."""
    found = [row for row in rows if row["best"] is not None]
    lines = tuple(
        Line(
            f"{row['n_groups']} groups",
            tuple((float(sets), float(value)) for sets, value in enumerate(row["seconds"], 1) if value),
        )
        for row in found
    )
    marks = tuple(
        Mark(row["best"], row["seconds"][row["best"] - 1], f"{row['best']} of root {row['root']:.1f}") for row in found
    )
    return LineChart("ILBS by its sets", "sets", "seconds", lines, marks, unit="sets")


class TimesExperiment(Experiment, frozen=True):
    """An experiment with a row for each number of groups."""

    def row_key(self, row: Row) -> Hashable:
        """Return the number of groups."""
        return int(row["n_groups"])

    def row_title(self, row: Row) -> str:
        """Return the number of groups with its noun."""
        return f"{row['n_groups']:,} group{'s' * (row['n_groups'] != 1)}"

    def facts(self, row: Row) -> list[tuple[str, str]]:
        """Return the time of each way, or why there is none."""
        cells = row["cells"]
        return [(way_name(way), cells[way]["reason"] or cell_text(row, way)) for way in WAYS if way in cells]

    def tip(self, row: Row) -> str:
        """Return the time of each way in a line."""
        return "\n".join(f"{name}: {value}" for name, value in self.facts(row))


class Synchronization(Laboratory, frozen=True, kw_only=True):
    """Groups that wait for each other."""

    def summary(self, document: Document) -> str:
        """Return where what was measured, and whether all results are right."""
        done = [cell for row in document["rows"] for cell in row["cells"].values() if cell["status"] == "done"]
        wrong = wrong_cells(document)
        verdict = f"{len(wrong):,} of {len(done):,} results differ" if wrong else f"all {len(done):,} results are right"
        return (
            f"{document['device']['name']} · {document['size']:,} {document['unit']}, groups of"
            f" {document['group_size']} work-items · {verdict if done else 'nothing could be measured'}"
        )

    def verdicts(self, document: Document) -> list[Verdict]:
        """Return a wrong result, why ways were not measured, and what the times mean; nothing before the end."""
        if "model" not in document:
            return []
        wrong = [f"{way_name(way)} of {n:,} groups gave another result. Please report this."
                 for n, way in wrong_cells(document)[:1]]  # fmt: skip
        return [
            *(("stop", words) for words in wrong),
            *(("note", words) for words in _reasons(document)),
            *(("good", words) for words in (*_levels(document), *_sets(document)[-1:])),
            *(("note", words) for words in _costs(document)),
        ]


def _reasons(document: Document) -> list[str]:
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
        words = f"of {groups} groups: {why if is_counted else cells[0][1]['reason'].rstrip('.')}."
        ways.setdefault(words, []).append(way_name(way))
    return [f"{', '.join(names)} {words}" for words, names in ways.items()]


def _sets(document: Document) -> list[str]:
    """Return for each number of groups with how many sets ILBS was fastest."""
    return [
        f"{row['n_groups']:,} groups: ILBS is fastest with {row['best']:,} set{'s' * (row['best'] > 1)}"
        f" ({seconds_text(row['seconds'][row['best'] - 1])}); the root of their number is {row['root']:.1f}"
        f" ({seconds_text(row['seconds'][round(row['root']) - 1])})."
        for row in document["experiments"]["sets"]
        if row["best"] is not None
    ]


def _levels(document: Document) -> list[str]:
    """Return the cost of each further level of ULFS."""
    lines = []
    for row in document["levels"]:
        there = row["published"]
        published = "" if there is None else f" (published for 33 groups of 32: {there:+.1%})"
        lines.append(
            f"{row['n_groups']:,} groups: ULFS has {row['levels']} levels, its time changes by"
            f" {row['growth']:+.1%}{published}."
        )
    return lines


def _costs(document: Document) -> list[str]:
    """Return the fitted costs in a line; nothing where none were fitted."""
    model = document["model"]
    if model is None:
        return []
    costs = "; ".join(
        f"{name} {seconds_text(value)} {model['meanings'][name]}" for name, value in model["costs"].items()
    )
    return [f"Fitted costs (mean deviation {model['deviation']:.0%}): {costs}."]


SYNCHRONIZATION = Synchronization(
    kind="synchronization",
    job="synchronization",
    title="Inter-group synchronization",
    promise="Every way in which work-groups can wait for each other, for each number of groups, on your device",
    noun="number of groups",
    nouns="numbers of groups",
    needed=("device", "program", "methods", "group_size", "rows", "bands", "levels", "experiments", "model"),
    experiments=(
        TimesExperiment("rows", "Times", "by numbers of groups", columns_of(USUAL_WAYS), _times),
        Experiment("bands", "Published tables", "LBS beside ILBS, published with six sets", BANDS, _ratios),
        Experiment("sets", "Sets of ILBS", "the best of all numbers of sets", SETS, _by_sets),
    ),
)


def row_text(row: Row | None, ways: Sequence[str]) -> str:
    """Return a number of groups as a line for a terminal; None: the titles."""
    return text_line(columns_of(ways), row)


def below(document: Document) -> str:
    """Return the lines below the rows."""
    _, bands, sets = SYNCHRONIZATION.experiments
    has_bands = any(band["ratio"] for band in document["bands"])
    verdicts = [words for _, words in SYNCHRONIZATION.verdicts(document)]
    tables = [bands.text(document) if has_bands else [], sets.text(document)]
    return paragraphs([[SYNCHRONIZATION.summary(document)], verdicts, *tables])
