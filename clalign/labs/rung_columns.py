"""What the tables and charts of all ladders share."""

from __future__ import annotations

from collections.abc import Callable

from clalign.labs.laboratory import DONE, INEXACT, NOT_YET, memory, number, percent, seconds, text_of, times
from clalign.values.charts import Bar, BarChart, Chart
from clalign.values.text_columns import Row, TextColumn


def published(row: Row) -> Row:
    """Return the published facts of a rung."""
    return row.get("published") or {}


def check_state(row: Row) -> str:
    """Return the severity of the check of a rung; empty before it ran."""
    return "" if row.get("status") != DONE else "good" if row.get("equal") else "stop"


def check(row: Row) -> str:
    """Return the outcome of the check of a rung."""
    status = row.get("status", NOT_YET)
    return str(status) if status != DONE else "equal" if row.get("equal") else "differs"


def check_column(tip: str) -> TextColumn:
    """Return the column of the checks."""
    return TextColumn("Check", tip, check, width=90, mark=check_state)


def rung_tip(row: Row) -> str:
    """Return the facts known of a rung in a few lines."""
    lines = [row["name"], row.get("text")]
    if row.get("reason"):
        lines.append(row["reason"] if row.get("status") in (DONE, INEXACT) else f"Not run: {row['reason']}")
    lines.append(", ".join(f"{axis}: {choice}" for axis, choice in (row.get("choices") or {}).items()))
    if published(row).get("speedup"):
        lines.append(f"Published: {times(published(row)['speedup'])}")
    return "\n".join(line for line in lines if line)


def why_no_bar(row: Row) -> str:
    """Return why a row has no speed; empty if it should have one."""
    if row.get("status") == DONE:
        return "" if row.get("equal") else "the results differ"
    return f"{row['status']}: {row['reason']}" if row.get("reason") else NOT_YET


def speedup_chart(first: str, published_on: str) -> Callable[[Row, list[Row]], Chart]:
    """Return the chart of the speed-ups over the first rung, beside those that were published for a device."""

    def bar(row: Row) -> Bar:
        value = row.get("speedup") if row.get("status") == DONE else None
        return Bar(row["name"], value, published(row).get("speedup"), times(value), why_no_bar(row), rung_tip(row))

    return lambda document, rows: BarChart(
        f"Speed-up over the {first}", f"times as fast as the {first} (logarithmic)", tuple(map(bar, rows)),
        "this device", f"published, on a {published_on}", log=True,
    )  # fmt: skip


RUNG = TextColumn("Rung", "A tick: it is run next time", text_of("name"), width=176)
SPEEDUP = TextColumn("Speed-up", "Over the first rung on this device", lambda r: times(r.get("speedup")), True, 74)
PUBLISHED_SPEEDUP = TextColumn(
    "Published",
    "The published speed-up over the first rung there",
    lambda r: times(published(r).get("speedup")),
    True,
    76,
)
GCUPS = TextColumn("GCUPS", "10⁹ cells a second", number("gcups"), True, 64)
KERNEL = TextColumn("Kernel", "Time of the kernels alone, median of several runs", seconds("kernel_seconds"), True, 76)
COPIES = TextColumn("Copies", "Time of the copies to and from the device", seconds("copy_seconds"), True, 78)
REGISTERS = TextColumn("Registers", "Of a work-item, where the driver reports it", number("registers", "d"), True, 76)
LOCAL_MEMORY = TextColumn(
    "Local memory", "Of a work-group, where the driver reports it", memory("local_bytes"), True, 100
)
OCCUPANCY = TextColumn("Occupancy", "Share of the device's threads that can be busy", percent("occupancy"), True, 84)
OF_RUNGS_OF_PAIRS = (
    REGISTERS,
    LOCAL_MEMORY,
    OCCUPANCY,
    TextColumn("Device", "What it ran on", text_of("device"), width=150, in_text=False),
    TextColumn("What it is", "", text_of("text"), width=380, stretch=True, in_text=False),
)


def published_seconds(key: str, title: str, width: int) -> TextColumn:
    """Return the column of a published time."""
    cell = seconds(key)
    return TextColumn(title, "The published time", lambda row: cell(published(row)), True, width)


def one_core_note(document: Row) -> str:
    """Return the note on the processor that the sequential rung ran on."""
    core = next((row["device"] for row in document["rows"] if row["name"] == "sequential"), None)
    return f"The sequential rung ran on one core of {core}." if core else ""
