"""What a comparison of devices shows: the table of devices, two charts, verdicts; and all of it as text."""

from __future__ import annotations

from collections.abc import Hashable

from msgspec.structs import replace

from clalign.common.amounts import THIN, counted, seconds_text
from clalign.labs.comparison_documents import line_of, row_names
from clalign.labs.laboratory import (
    DONE,
    Document,
    Experiment,
    Laboratory,
    Verdict,
    number,
    paragraphs,
    percent,
    seconds,
    text_of,
)
from clalign.labs.rung_columns import check, check_state
from clalign.values.charts import Bar, BarChart, Chart, Line, LineChart, Mark, Point
from clalign.values.text_columns import Row, TextColumn, text_lines

REACH = 3.0
"""A crossing point is drawn if it lies at most this many times beyond the measured sizes."""


def shown_rows(document: Document) -> list[Row]:
    """Return the rows of devices with a distinct ``name``, and ``whole_seconds`` of what did a sample."""
    rows = document["devices"]
    total = (document.get("job") or {}).get("n_residues")
    return [_shown(row, name, total) for row, name in zip(rows, row_names(rows), strict=True)]


def _shown(row: Row, name: str, n_residues: int | None) -> Row:
    shown = {**row, "name": name, "reason": row.get("error")}
    if row.get("residues") and n_residues and row.get("kernel_seconds") is not None:
        shown["whole_seconds"] = row["kernel_seconds"] * n_residues / row["residues"]
    return shown


def _scores(row: Row) -> str:
    if row.get("error"):
        return "not run"
    return {True: "identical", False: "differs", None: "not compared"}[row.get("identical")]


def _state(row: Row) -> str:
    if row.get("error"):
        return "caution"
    return {True: "good", False: "stop", None: ""}[row.get("identical")]


def _kernel(row: Row) -> str:
    """Return the time of the kernels: of what did a sample only, what all would take at its rate."""
    if row.get("residues") and row.get("kernel_seconds") is not None:
        value = row.get("whole_seconds")
        return "a sample" if value is None else f"≈ {seconds_text(value, THIN)}"
    return seconds("kernel_seconds")(row)


def _speeds(_: Document, rows: list[Row]) -> Chart:
    """Return the speeds."""
    bars = tuple(
        Bar(row["name"], row.get("gcups"), text=number("gcups")(row), note=row.get("error") or "",
            tip=f"{row['name']}\n{percent('share_of_peak')(row) or '?'} of its measured peak")
        for row in rows
    )  # fmt: skip
    return BarChart("Speed", "GCUPS (10⁹ cells a second)", bars)


def _curves(document: Document, rows: list[Row]) -> Chart:
    """Return the time of a whole job against the size of the database, with the crossing points."""
    measured = {row["name"]: row for row in rows if row.get("curve")}
    points = {name: tuple((p["residues"], p["seconds"]) for p in row["curve"]) for name, row in measured.items()}
    lines = [Line(name, places) for name, places in points.items()]
    sizes = [x for places in points.values() for x, _ in places] or [0.0]
    for row in rows:
        if row.get("residues") and row.get("kernel_seconds") and max(sizes) > row["residues"]:
            lines += _predicted(row, max(sizes))
    marks = tuple(
        Mark(
            pair["residues"],
            height_of(measured[pair["slow"]], pair["residues"]),
            f"{_about(pair['residues'])} residues",
        )
        for pair in document.get("break_even") or []
        if pair["slow"] in measured
        and pair["residues"]
        and min(sizes) / REACH <= pair["residues"] <= max(sizes) * REACH
    )
    return LineChart(
        "Time of a whole job, start-up included", "residues in the database", "seconds", tuple(lines), marks
    )


def _predicted(row: Row, largest: float) -> list[Line]:
    """Return the measured point of what did a sample only, and the line that its rate foretells."""
    size, took = float(row["residues"]), float(row["kernel_seconds"])
    name, point = f"{row['name']}, from a sample", (size, took)
    return [Line(name, (point,)), Line(name, (point, (largest, took * largest / size)), is_fit=True)]


def height_of(row: Row, residues: float) -> float:
    """Return the seconds that a device takes for a database, by the straight line through its curve."""
    line = line_of(row)
    points: list[Point] = [(point["residues"], point["seconds"]) for point in row["curve"]]
    return line[0] + line[1] * residues if line is not None else points[0][1]


def _about(value: float) -> str:
    """Return a number with two digits that mean something."""
    return f"{float(f'{value:.1e}'):,.0f}"


COLUMNS = (
    TextColumn("Device", "As its driver calls it", text_of("name"), width=160, stretch=True),
    TextColumn("Scores", "Whether all devices have the same scores", _scores, width=112, mark=_state),
    TextColumn("GCUPS", "10⁹ cells a second, kernels alone", number("gcups"), True, 80),
    TextColumn("With copies", "10⁹ cells a second of the whole time", number("gcups_with_copies"), True, 90),
    TextColumn("Of peak", "Share of the integer rate that was measured on the device",
               percent("share_of_peak", ".1f"), True, 76),
    TextColumn("Start-up", "Opening the device and building the kernels", seconds("start_seconds"), True, 80),
    TextColumn("Kernel", "Time of the kernels alone; ≈ estimated from the rate of a sample", _kernel, True, 86),
    TextColumn("Copies", "Time of the copies to and from the device", seconds("copy_seconds"), True, 86),
    TextColumn("Peak (Gop/s)", "Integer operations a second, measured", number("peak_gops", ",.0f"), True, 100),
)  # fmt: skip


class DeviceExperiment(Experiment, frozen=True):
    """An experiment with a row for each device."""

    def row_key(self, row: Row) -> Hashable:
        """Return the id of the device, and the machine that it is in."""
        return row["device"]["id"], row.get("machine")

    def row_title(self, row: Row) -> str:
        """Return the name of the device."""
        return str(row["device"]["name"])

    def tip(self, row: Row) -> str:
        """Return name, driver, problem and sample of a device."""
        sample = f"Measured on a sample of {counted(row['residues'], 'residue')}" if row.get("residues") else ""
        lines = (row["name"], row["device"].get("driver"), row.get("error"), sample)
        return "\n".join(line for line in lines if line)


class Comparison(Laboratory, frozen=True, kw_only=True):
    """The same job on several devices."""

    def summary(self, document: Document) -> str:
        """Return the job."""
        job = document["job"]
        return (
            f"{counted(job['nodes'], 'node')} against {counted(job['n_sequences'], 'sequence')} of"
            f" {counted(job['n_residues'], 'residue')} (seed {job['seed']}): {job['cells'] / 1e9:.3g} billion cells"
        )

    def verdicts(self, document: Document) -> list[Verdict]:
        """Return what was not run, whether scores are the same, which device is the fastest, and from where on."""
        shown = shown_rows(document)
        rows = [row for row in shown if not row.get("error")]
        found = [("caution", f"{row['name']} was not run: {row['error']}") for row in shown if row.get("error")]
        if any(row.get("identical") is False for row in rows):
            found.append(("stop", "The devices do not have the same scores. Please report this."))
        elif len(rows) > 1 and all(row.get("identical") for row in rows):
            which = "Both" if len(rows) == 2 else f"All {len(rows):,}"
            found.append(("good", f"{which} devices have the same scores."))
        ranked = sorted((row for row in rows if row.get("gcups")), key=lambda row: row["gcups"], reverse=True)
        if len(ranked) > 1:
            factor = ranked[0]["gcups"] / ranked[-1]["gcups"]
            times = f"{factor:.1f}" if factor < 100 else f"{factor:,.0f}"
            words = f"{ranked[0]['name']} is {times} times as fast as {ranked[-1]['name']} for Viterbi."
            pairs = [pair for pair in document.get("break_even") or [] if len(ranked) == 2 or pair["residues"]]
            found.append(("note", " ".join([words, *map(_even, pairs)])))
        return found + [
            ("note", f"{row['name']} is slow and did a sample of {counted(row['residues'], 'residue')} only; its time"
                     " for all of them is estimated from it.")
            for row in rows if row.get("residues")
        ]  # fmt: skip


def _even(pair: Row) -> str:
    slow, fast, size = pair["slow"], pair["fast"], pair["residues"]
    if not size:
        return f"{fast} is done before {slow} at every size."
    return f"Below about {_about(size)} residues {slow} is done first, because {fast} takes longer to start."


def _engines(document: Document) -> list[Row]:
    """Return the rows of the kernels of each device."""
    rows = [row for row in shown_rows(document) if not row.get("error")]
    return [
        {**one, "device": row["name"], "kernel": one["name"], "name": f"{row['name']}: {one['name']}", "status": DONE,
         "reason": one.get("error"), **{key: shares.get(key) for key in ("memory",)},
         "limit": str(one.get("limit") or ""),
         "arithmetic": next((shares[key] for key in shares if key != "memory"), None)}
        for row in rows for one in row.get("engines") or () for shares in [one.get("shares") or {}]
    ]  # fmt: skip


def _engine_speeds(_: Document, rows: list[Row]) -> Chart:
    bars = (Bar(r["name"], r.get("gcups"), text=number("gcups")(r), note=r.get("error") or "") for r in rows)
    return BarChart("Kernels of all engines", "GCUPS (10⁹ cells a second, logarithmic)", tuple(bars), log=True)


ENGINES = Experiment("engines", "All engines", "rates of the kernels, and what limits them", (
    TextColumn("Device", "", text_of("device"), width=150),
    TextColumn("Kernel", "", text_of("kernel"), width=170),
    TextColumn("Check", "Whether a sample equals the reference", check, width=80, mark=check_state),
    TextColumn("GCUPS", "10⁹ cells a second, kernels alone", number("gcups"), True, 70),
    TextColumn("Operations", "Additions, maxima and products of a cell", number("operations", "d"), True, 84),
    TextColumn("Bytes", "Of global memory, at least, for each cell", number("bytes", ".2g"), True, 70),
    TextColumn("Arithmetic", "Share of the measured rate of operations", percent("arithmetic"), True, 84),
    TextColumn("Memory", "Share of the measured rate of memory", percent("memory", ".2g"), True, 76),
    TextColumn("Limit", "Of its speed", lambda row: str(row["limit"]).split(" ")[0], width=90, in_text=False),
    TextColumn("What limits it", "", text_of("limit"), width=700),
), _engine_speeds, _engines, is_checked=False)  # fmt: skip

TIMES = DeviceExperiment("devices", "Break-even", "", COLUMNS, _curves, shown_rows)

COMPARISON = Comparison(
    kind="comparison",
    job="bench",
    title="Device comparison",
    promise="The same job on each device: equal scores, speed, start-up, and where which one wins",
    noun="device",
    nouns="devices",
    needed=("job", "devices"),
    experiments=(TIMES, replace(TIMES, key="speed", title="Speed", chart=_speeds), ENGINES),
)


def comparison_text(document: Document) -> str:
    """Return a comparison for a terminal: the job, its devices, their times by database size, verdicts."""
    rows = shown_rows(document)
    drawn = [row for row in rows if row["curve"]]
    sizes = [point["residues"] for point in drawn[0]["curve"]] if drawn else []
    columns = [
        TextColumn("Residues", "", text_of("name")),
        *(_time_at(place, size) for place, size in enumerate(sizes)),
    ]
    times = ["Time of a whole search, start-up included", *text_lines(columns, drawn)] if drawn else []
    verdicts = [sentence for _, sentence in COMPARISON.verdicts(document)]
    if any(row["share_of_peak"] for row in rows):
        verdicts.append(
            f"Of peak: {document['job']['operations_per_cell']} additions and maxima a cell, against the rate of int32"
            " additions and maxima measured on the device."
        )
    engines = ENGINES.text(document)
    return paragraphs([[COMPARISON.summary(document)], text_lines(COLUMNS, rows), times, engines, verdicts])


def _time_at(place: int, size: float) -> TextColumn:
    return TextColumn(f"{size:,.0f}", "", lambda row: seconds_text(row["curve"][place]["seconds"]), True)
