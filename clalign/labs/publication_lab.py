"""The laboratories of the published experiments: one a source, with a row for each of its tables and figures.

What several items need is measured once. A row is done when its figures stand beside the published ones.
"""

from __future__ import annotations

import math
import re
import statistics
import time
from collections.abc import Iterable

from clalign.errors import DeviceError, DeviceNotFound, ExitCode, OptionError
from clalign.jobs import JobContext
from clalign.labs.drawings import PICTURES
from clalign.labs.laboratory import (
    DONE,
    NOT_YET,
    Document,
    Experiment,
    Laboratory,
    Verdict,
    number,
    seconds,
    text_of,
    times,
)
from clalign.labs.ladder import FileField, LadderSpec, new_document
from clalign.labs.measuring import NOT_REACHED, OtherScores, PartOf
from clalign.labs.publications import Item, Publication, publications
from clalign.labs.repeating import Found, Request, values_of
from clalign.labs.repetitions import REPETITIONS, WITHOUT_DEVICE
from clalign.labs.rung_columns import check_column, why_no_bar
from clalign.labs.viterbi_ladder import LADDER as VITERBI
from clalign.values.charts import Bar, BarChart, Chart, Line, LineChart
from clalign.values.text_columns import Row, TextColumn, text_lines

NOT_MEASURED, DRAWN = "not measured", "drawn"
"""Status of a row that nothing repeats, and of one that needs no measuring."""

AT_ONCE = 0.1
"""Seconds of what takes none, which is repeated whatever time is left."""

DRAWN_HOW = "Drawn from what the program computes with, in the window and in reports."


class PublicationSpec(LadderSpec, frozen=True):
    """What to repeat: `variants` are the names of items.

    Attributes
    ----------
    source : str
        Number of the publication.
    is_small : bool
        Whether everything is as small as can be, to see that it works: figures then mean nothing.
    is_full : bool
        Whether whole runs are as large as published, however long they take.
    hmm, db : str or None
        Files for whole runs, in place of what is bundled or made up.
    minutes : float or None
        Of which each repetition has a share, and what the ones before it left of theirs; what would begin later is
        left out.
    later : tuple of str
        Other sources that are to be repeated in the same minutes afterwards.
    """

    source: str = ""
    is_small: bool = False
    is_full: bool = False
    hmm: str | None = None
    db: str | None = None
    minutes: float | None = None
    later: tuple[str, ...] = ()


def run_publication(spec: PublicationSpec, context: JobContext) -> Row:
    """Repeat items of a source and return the document; each is sent as a ``partial`` event when it is done.

    Where the device fails, the other items are repeated all the same; the document keeps the failure.

    Raises
    ------
    OptionError
        If an item is not known.
    DeviceNotFound
        If the device runs no OpenCL, and nothing that is asked for can do without.
    """
    from clalign.compute.opencl.choice import pick_device

    source = publications()[spec.source]
    items = source.items if spec.variants is None else tuple(source.item(name) for name in spec.variants)
    device = pick_device(spec.device)
    measured = {item.measured for item in items} - {""}
    if device.kind == "reference" and measured and not measured & set(WITHOUT_DEVICE):
        raise DeviceNotFound("These figures are measured on OpenCL devices.", "See: clalign devices")
    document = new_document(
        kind_of(source), spec, device, source=source.key, is_small=spec.is_small, measured={}, failed={}
    )
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.measured, []).append(item)
    usual = {name: _usual_seconds(name, spec.is_small, device.kind) for name in groups}
    before, total = 0.0, sum(usual.values())
    names = [name for key in spec.later for name in {item.measured for item in publications()[key].items}]
    of_all = total / (total + sum(_usual_seconds(name, spec.is_small, device.kind) for name in names))
    ends = _share_ends(of_all, time.monotonic() + 60 * (math.inf if spec.minutes is None else spec.minutes), 30.0)
    expected = ends - time.monotonic() if ends < math.inf else total if device.kind == "cpu" else None
    for place, (name, group) in enumerate(groups.items()):
        words = REPETITIONS[name].text if name else ""
        context.progress("lab", before, total, "parts", now=words, seconds=expected)
        began = time.perf_counter()
        share = usual[name] / sum(list(usual.values())[place:])
        given = spec.device, spec.runs, spec.seed, spec.is_small, spec.is_full, spec.hmm, spec.db, spec.reports
        request = Request(tuple(group), *given, _share_ends(share, ends, 10.0))
        found = _repeated(name, request, PartOf(context, words, before, usual[name], total))
        before += usual[name]
        took = time.perf_counter() - began
        if isinstance(found, Found):
            document["measured"][name] = {"seconds": took, "text": found.text, "wrong": list(found.wrong)}
        elif isinstance(found, DeviceError):
            document["failed"][name] = {"reason": found.message, "exit_code": int(found.exit_code)}
            context.warn(f"{words}: {found.message}")
            found = found.message
        for item in group:
            row = _row(source, item, found)
            document["rows"].append(row)
            context.partial(row=row)
    context.progress("lab", total, total, "parts")
    order = {item.name: place for place, item in enumerate(source.items)}
    document["rows"].sort(key=lambda row: order[row["name"]])
    return document


def _share_ends(share: float, ends: float, least: float) -> float:
    """Return when a share of the time until an end is over; it has some seconds at least, or half of that time."""
    left = ends - time.monotonic()
    return time.monotonic() + max(share * left, min(least, left / 2))


def _usual_seconds(name: str, is_small: bool, kind: str) -> float:
    """Return about how long a repetition takes on a kind of device; at the smallest size all are alike."""
    if not name or is_small:
        return AT_ONCE
    return REPETITIONS[name].seconds if kind == "cpu" else REPETITIONS[name].card_seconds or REPETITIONS[name].seconds


def _repeated(name: str, request: Request, context: JobContext) -> Found | DeviceError | str:
    """Return what a repetition found, how the device failed, or why there is nothing to find."""
    if not name:
        return ""
    of = REPETITIONS[name]
    if request.is_over and name not in WITHOUT_DEVICE and (of.seconds > AT_ONCE or of.card_seconds):
        return NOT_REACHED
    try:
        return of.run(request, context)
    except OtherScores as error:
        return Found({}, error.message, ("the program's own kernel",))
    except (OptionError, DeviceNotFound) as error:
        return error.message
    except DeviceError as error:
        return error


def _row(source: Publication, item: Item, found: Found | str) -> Row:
    known = known_row(source, item)
    if isinstance(found, str):
        return {**known, "status": "not run", "reason": found} if found else known
    table = found.tables.get(item.table, {})
    values = values_of(item, table)
    if not any(value["here"] is not None or value["text"] in ("equal", "differs") for value in values):
        texts = [value["text"] for value in values if value["text"]]
        if item.quantity != "text":
            reason = next(
                iter(texts), found.text if found.wrong else "This device or this size gives no figure for it."
            )
            return {**known, "status": "not run", "reason": reason}
    ratios = [value["ratio"] for value in values if value["ratio"]]
    rows = [table.get(name, {}) for name in (item.shown_rows or table)]
    return {
        **known,
        "about": found.text,
        "status": DONE,
        "reason": "",
        "equal": all(row.get("equal", not found.wrong) for row in rows if row.get("status", DONE) == DONE),
        "ratio": math.exp(statistics.fmean(map(math.log, ratios))) if ratios else None,
        "values": values,
    }


def known_row(source: Publication, item: Item) -> Row:
    """Return the row of an item before it was repeated."""
    return {
        "name": item.name,
        "text": item.title,
        "kind": "whole run" if item.kind == "run" else item.kind,
        "by": REPETITIONS[item.measured].text if item.measured else "",
        "takes": REPETITIONS[item.measured].seconds if item.measured else None,
        "machine": source.machine(item),
        "remark": item.remark,
        "about": "",
        "status": NOT_YET if item.measured else DRAWN if item.drawing else NOT_MEASURED,
        "reason": DRAWN_HOW if item.drawing and not item.measured else item.why,
        "drawing": item.drawing,
        "equal": False,
        "ratio": None,
        "values": [],
    }


def kind_of(source: Publication) -> str:
    """Return the kind of the documents of a source, which is the name of its job as well."""
    return f"publication_{source.key}"


def _of(value: Row) -> str:
    """Return the subject of a figure, in words."""
    return str(value["quantity"]).replace("_", " ")


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


ITEMS = (
    TextColumn("Item", "As the source calls it; a tick: it is repeated next time", text_of("name"), width=150),
    TextColumn("What it shows", "", text_of("text"), width=260, stretch=True),
    check_column("Whether all results equal the expected ones"),
    TextColumn("Ratio", "This device / published, where both are comparable: the geometric mean over its rows",
               number("ratio", ".3g"), True, 64),
    TextColumn("Kind", "What is measured there", text_of("kind"), width=80),
    TextColumn("Repeated by", "", text_of("by"), width=190, in_text=False),
    TextColumn("Takes", "About so long on two cores; items with the same entry before this one are measured together",
               seconds("takes"), True, 70, in_text=False),
    TextColumn("There", "The machine of the source", text_of("machine"), width=180, in_text=False),
)  # fmt: skip
GAIN = "Times over the first row of the item, or over the first figure of the row"

VALUES = (
    TextColumn("Item", "As the source calls it", text_of("item"), width=150),
    TextColumn("Row", "", text_of("row"), width=170),
    TextColumn("Of", "What the figure is of", _of, width=120),
    TextColumn("Here", "On this device", lambda row: _figure(row["here"]) or row["text"], True, 90),
    TextColumn("Published", "", lambda row: _figure(row["there"]), True, 90),
    TextColumn("Unit", "", text_of("unit"), width=70),
    TextColumn("Gain here", GAIN, lambda row: times(row["gain_here"]), True, 80),
    TextColumn("Gain there", GAIN, lambda row: times(row["gain_there"]), True, 80),
    TextColumn("Ratio", "Of the gains, or of the figures where these are alike", number("ratio", ".3g"), True, 70),
    TextColumn("", "", lambda row: "", width=20, stretch=True),
)


def _ratios(_: Document, rows: list[Row]) -> Chart:
    """Return the ratios of the items that were repeated; before that, which can be."""
    shown = [row for row in rows if row.get("status") == DONE] or [row for row in rows if row.get("by")]
    bars = (
        Bar(row["name"], row.get("ratio"), text=number("ratio", ".3g")(row), note=_why_none(row), tip=row["text"])
        for row in shown
    )
    return BarChart("This device / published, where both are comparable", "ratio (logarithmic)", tuple(bars), log=True)


def _why_none(row: Row) -> str:
    return why_no_bar(row) or ("" if row.get("ratio") else "figures are not alike, or have none beside them")


def _gains(_: Document, rows: list[Row]) -> Chart:
    """Return the gains, here as bars and there as marks."""
    bars = (
        Bar(f"{row['item']}: {row['row']}, {_of(row)}", row["gain_here"], row["gain_there"], times(row["gain_here"]))
        for row in rows
        if row["gain_here"] and row["ratio"]
    )
    return BarChart(
        "Gains over the first row, or the first figure of a row", "times as fast (logarithmic)", tuple(bars),
        "this device", "published", log=True,
    )  # fmt: skip


class ItemsExperiment(Experiment, frozen=True):
    """An experiment with a row for each item of a source."""

    def facts(self, row: Row) -> list[tuple[str, str]]:
        """Return the figures of an item, and what must be known of them."""
        figures = []
        for value in row.get("values") or ():
            there = f"published {_figure(value['there'])}" if value["there"] is not None else ""
            here = _figure(value["here"]) or value["text"]
            title = f"{value['row']}, {_of(value)}"
            figures.append((title, " · ".join(filter(None, (here, there)))))
        known = {
            "Why there is no figure": "reason", "Repeated by": "by", "Here": "about", "There": "machine",
            "Remark": "remark",
        }  # fmt: skip
        return [*((title, str(row[key])) for title, key in known.items() if row.get(key)), *figures]

    def tip(self, row: Row) -> str:
        """Return what an item shows, and why it has no figure or what must be known of it."""
        return "\n".join(filter(None, (row["text"], row.get("reason"), row.get("remark"))))


class PublicationLab(Laboratory, frozen=True, kw_only=True):
    """The tables and figures of a source."""

    source: Publication

    def is_measuring(self, row: Row, now: str) -> bool:
        """Return whether an item is among those that are measured together now."""
        return bool(row["by"]) and f"{now}:".startswith(f"{row['by']}:")

    def summary(self, document: Document) -> str:
        """Return the device, and how many items have figures now, in a line."""
        done = sum(row["status"] in (DONE, DRAWN) for row in document["rows"])
        small = ", at the smallest size: the figures mean nothing" * bool(document["is_small"])
        return f"{document['device']['name']} · {done:,} of {len(document['rows']):,} repeated{small}"

    def verdicts(self, document: Document) -> list[Verdict]:
        """Return which repetitions gave other results than expected."""
        measured = document.get("measured") or {}
        return [
            ("stop", f"{REPETITIONS[name].text}: {', '.join(found['wrong'])} gave other results. Please report this.")
            for name, found in measured.items()
            if found["wrong"]
        ]

    def wrong(self, document: Document) -> list[str]:
        """Return what computed other results than expected."""
        return [name for found in document["measured"].values() for name in found["wrong"]]

    def exit_code(self, document: Document) -> ExitCode:
        """Return the exit code: of other results than expected, else of the first failure of the device."""
        if self.wrong(document):
            return ExitCode.DIFFERENT
        codes = (ExitCode(failure["exit_code"]) for failure in document["failed"].values())
        return next(codes, ExitCode.DONE)

    def printed(self, row: Row | None) -> str:
        """Return an item for a terminal: its title, its figures, and what must be known of them; None: nothing."""
        if row is None:
            return ""
        title = f"{self.source.key}, {row['name']}: {row['text']}"
        rest = [f"  {line}" for line in (row["reason"], row["about"], row["remark"]) if line]
        shown = [column for column in VALUES[1:] if any(column.text(value) for value in row["values"])]
        return "\n".join([title, *(text_lines(shown, row["values"]) if row["values"] else ()), *rest, ""])


def _timeline(key: str, title: str, about: str, column: str, ends: tuple[str, str], axis: str, unit: str) -> Experiment:
    """Return what shows spans of time as bars, from one quantity to another: people read their names as well."""
    begin, end = ends

    def rows_of(document: Document) -> list[Row]:
        found: dict[str, Row] = {}
        for value in _values(document):
            if value["quantity"] in ends and value["here"] is not None:
                name = f"{value['item']}: {value['row']}"
                found.setdefault(name, {"name": name})[value["quantity"]] = value["here"]
        return list(found.values())

    def chart(_: Document, rows: list[Row]) -> Chart:
        bars = (
            Bar(row["name"], row[end], text=_figure(row[end]), begin=row[begin],
                tip=f"{row['name']}: {begin} {_figure(row[begin])}, {end} {_figure(row[end])}")
            for row in rows
        )  # fmt: skip
        return BarChart(title, axis, tuple(bars))

    columns = (
        TextColumn(column, "Of the figure", text_of("name"), width=200),
        *(TextColumn(f"{one.capitalize()} ({unit})", "Since the first", number(one, ".4g"), True, 110) for one in ends),
        TextColumn("", "", lambda row: "", width=20, stretch=True),
    )
    return Experiment(key, key.capitalize(), about, columns, chart, rows_of)


TIMELINES = {
    "comes": _timeline("timelines", "Groups at a meeting", "when groups come to a meeting and leave it", "Group",
                       ("comes", "leaves"), "microseconds since the first came", "µs"),
    "begins": _timeline("commands", "Commands of the device", "when it copies and computes, by its clock", "Command",
                        ("begins", "ends"), "milliseconds since the first began", "ms"),
}  # fmt: skip
"""By the quantity from which an item has one."""


def _curves(source: Publication, name: str) -> Experiment:
    """Return what shows the figures of items that share a chart, as lines."""
    of = source.curves[name]

    def chart(_: Document, rows: list[Row]) -> Chart:
        points: dict[str, dict[float, float]] = {}
        for row in rows:
            named = source.item(row["name"]).lines
            for value in row.get("values") or ():
                of_row = [line for line, members in named.items() if value["row"] in members] if named else [_of(value)]
                for line in of_row if value["here"] else ():
                    points.setdefault(line, {})[_place(value["row"])] = value["here"]
        lines = tuple(Line(line, tuple(sorted(found.items()))) for line, found in points.items())
        return LineChart(of.title, of.x, of.y, lines, unit=of.x)

    names = {item.name for item in source.items if item.curve == name}
    return Experiment(
        f"{name}-lines", of.name, of.title[:1].lower() + of.title[1:], (ITEMS[0], ITEMS[1]), chart,
        lambda document: [row for row in document["rows"] if row["name"] in names], is_checked=False,
    )  # fmt: skip


def _place(row: str) -> float:
    """Return the first number in the name of a row; 1 without one."""
    found = re.search(r"\d+", row.replace(",", ""))
    return float(found[0]) if found else 1.0


def _drawing(name: str) -> Experiment:
    """Return what shows a drawing, beside the items that have it."""
    picture = PICTURES[name]
    return Experiment(
        name, picture.title, picture.about, (ITEMS[0], ITEMS[1]), lambda document, rows: picture.chart(),
        lambda document: [row for row in document["rows"] if row.get("drawing") == name], is_checked=False,
    )  # fmt: skip


def _laboratory(source: Publication) -> PublicationLab:
    return PublicationLab(
        kind=kind_of(source),
        job=kind_of(source),
        title=source.title,
        promise=f"{source.about} Every table and figure, repeated on your device beside the published numbers",
        noun="table or figure",
        nouns="tables and figures",
        needed=("device", "source", "rows", "measured", "is_small"),
        known=tuple(known_row(source, item) for item in source.items),
        source=source,
        experiments=(
            ItemsExperiment("rows", "Items", "every table and figure", ITEMS, _ratios),
            Experiment("values", "Figures", "here and there", VALUES, _gains, _values),
            *(one for begin, one in TIMELINES.items() if any(begin in item.quantities for item in source.items)),
            *(_curves(source, name) for name in source.curves),
            *map(_drawing, dict.fromkeys(item.drawing for item in source.items if item.drawing)),
        ),
    )


def files_of(laboratory: Laboratory) -> list[FileField]:
    """Return the files that whole runs of a source may take."""
    measured = {row["by"] for row in laboratory.known}
    keys = {"families": ("hmm", "db"), "whole-alignment": ("db",)}
    taken = {key for name, needed in keys.items() if REPETITIONS[name].text in measured for key in needed}
    return [field for field in VITERBI.fields if isinstance(field, FileField) and field.key in taken]


def _values(document: Document) -> list[Row]:
    """Return the figures of all rows, also of a document that is not whole yet."""
    return [{"name": value["item"], **value} for row in document["rows"] for value in row.get("values") or ()]


def publication_labs() -> Iterable[PublicationLab]:
    """Return the laboratories of the four sources."""
    return map(_laboratory, publications().values())
