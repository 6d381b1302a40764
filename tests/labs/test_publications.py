"""The published experiments by their numbers: that each is listed, is repeated, and is compared with like."""

from __future__ import annotations

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from clalign.compute.opencl.kernels import assemble
from clalign.engines.pictures.charts import chart_drawing
from clalign.errors import DeviceError, DeviceNotFound, ExitCode, OptionError, OutOfDeviceMemory
from clalign.jobs import JobContext, QuietContext
from clalign.labs import publication_lab, repeating
from clalign.labs.drawings import PICTURES
from clalign.labs.formulas import transactions
from clalign.labs.laboratory import DONE
from clalign.labs.measuring import NOT_REACHED, OtherScores
from clalign.labs.pair_hmm_rungs import PairHmmRung
from clalign.labs.publication_lab import DRAWN, NOT_MEASURED, PublicationSpec, run_publication
from clalign.labs.publication_report import write_report
from clalign.labs.publications import Item, found_item, publications
from clalign.labs.register import PUBLICATIONS
from clalign.labs.repeating import Found, Request, values_of
from clalign.labs.repetitions import REPETITIONS, Repetition
from clalign.stages.pairhmm.pair_hmm_ladder import PairHmmLadderChoices, cell_accesses
from clalign.values.charts import BarChart, LineChart
from clalign.values.devices import Device
from clalign.values.drawings import Line


def numbers(noun: str, **last: int) -> list[str]:
    """Return names by the last number of each chapter: ``c3=7`` are 3.1 to 3.7."""
    return [f"{noun} {chapter[1:]}.{n}" for chapter, most in last.items() for n in range(1, most + 1)]


NUMBERED = {
    "001": [],
    "002": [*(f"table {n}" for n in range(1, 6)), *(f"figure {n}" for n in range(1, 13))],
    "003": [
        *numbers("figure", c2=7, c3=5, c4=1, c5=1, c6=9, c7=1),
        *(f"figure 4.{part}" for part in ("2.1", "2.2", "3.1", "3.2")),
    ],
    "004": [
        *numbers("table", c3=7, c4=3, c5=1, c7=5, c8=7, c9=5, c10=6),
        *numbers("figure", c1=3, c2=13, c3=7, c4=6, c5=9, c6=10, c7=3, c8=6, c9=13, c10=1),
    ],
}
"""Every numbered table and figure of the sources."""


class Warned(QuietContext):
    """Keeps what it warns of."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


FORMULAS = ("memory", "memory-of-pairs", "transactions", "occupancy", "example", "waves", "cell-accesses")


@pytest.mark.parametrize("key", NUMBERED)
def test_every_table_and_figure_is_listed(key: str) -> None:
    source = publications()[key]
    assert len({item.name for item in source.items}) == len(source.items)
    for name in NUMBERED[key]:
        assert source.item(name)
    for item in source.items:
        assert [item.measured in REPETITIONS or item.drawing in PICTURES, bool(item.why)].count(True) == 1, item.name


@pytest.mark.parametrize(
    ("text", "noun", "name"),
    [("004:8.6", "table", "table 8.6"), ("003:6.1", "figure", "figure 6.1"), ("001:a", "", "a"),
     ("004:table 8.6", "", "table 8.6"), ("004:6.3", "figure", "figures 6.1-6.5")],
)  # fmt: skip
def test_an_item_is_found_by_its_number(text: str, noun: str, name: str) -> None:
    source, item = found_item(text, noun)
    assert (source.key, item.name) == (text[:3], name)


@pytest.mark.parametrize("text", ["005:1", "004:99.9", "004", ""])
def test_a_number_that_there_is_not(text: str) -> None:
    with pytest.raises(OptionError):
        found_item(text, "table")


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_give_the_published_figures(name: str) -> None:
    """To two in a thousand of the digits that are printed; cells of the worked example to the letter."""
    items = tuple(item for source in publications().values() for item in source.items if item.measured == name)
    found = REPETITIONS[name].run(Request(items, "", 1, 1), QuietContext())
    n = 0
    for item in items:
        for value in values_of(item, found.tables[item.table]):
            if value["there"] is None:
                continue
            n += 1
            printed = pytest.approx(value["there"], rel=2e-3, abs=0.006)
            assert value["here"] == (value["there"] if name == "example" else printed), (item.name, value["row"])
    assert n


def test_gains_across_are_of_one_row() -> None:
    item = Item(name="x", title="", kind="kernel", compare="across", published={"a": {"p": 10.0, "q": 5.0}})
    values = values_of(item, {"a": {"p": 9.0, "q": 3.0}})
    assert [(value["gain_here"], value["gain_there"], value["ratio"]) for value in values] == [
        (1, 1, None),
        (3, 2, 1.5),
    ]


WITHOUT_FIGURES = {
    "001": {"o"},
    "002": {"table 4", "table 5", "figure 9", "figure 10", "d"},
    "003": set(),
    "004": {"table 8.3", "q"},
}
"""Items that the smallest size, a single run, or a processor without registers to report, gives no figure for."""


GAINS = Item(name="x", title="", kind="kernel", quantity="s", compare="gain", published={"a": 10.0, "b": 5.0})


OF_A_MACHINE = {"s", "ms", "µs", "min", "GiB/s", "GB/s", "GCUPS"}
"""Units of what another machine does in another time."""


@pytest.mark.parametrize("key", NUMBERED)
def test_ratios_are_of_what_is_alike(key: str) -> None:
    """Times and rates of other machines are compared as gains over one of their own, what is counted as it is."""
    for item in publications()[key].items:
        quantities, units = item.shown_quantities, item.unit.split(", ")
        of_each = units if len(units) == len(quantities) else [item.unit] * len(quantities)
        compared = {
            unit
            for quantity, unit in zip(quantities, of_each, strict=True)
            if quantity == (item.quantity or quantity)
            and any(quantity in item.published_figures(row) for row in item.published)
        }
        if item.compare == "value":
            assert not compared & OF_A_MACHINE, item.name
        if item.compare in ("gain", "across"):
            assert set(of_each) <= OF_A_MACHINE, item.name
            assert len(set(of_each)) == 1, item.name
            assert len(item.published) > 1 or item.compare == "across", item.name


def test_gains_are_compared_with_gains() -> None:
    first, second = values_of(GAINS, {"a": {"s": 3.0}, "b": {"s": 1.0}, "other": {"s": 9.0}})
    assert (first["gain_here"], first["gain_there"], first["ratio"]) == (1, 1, None)
    assert (second["gain_here"], second["gain_there"], second["ratio"]) == (3, 2, 1.5)


def test_a_row_that_was_not_run_has_no_figure() -> None:
    rows = values_of(GAINS, {"a": {"s": 3.0}, "b": {"s": 1.0, "status": "not run", "reason": "Too long."}})
    assert [(row["here"], row["ratio"], row["text"]) for row in rows] == [(3.0, None, ""), (None, None, "Too long.")]


def test_without_the_first_row_there_are_no_gains_here() -> None:
    first, second = values_of(GAINS, {"a": {"status": "not run", "reason": "No core."}, "b": {"s": 1.0}})
    assert (first["here"], first["text"]) == (None, "No core.")
    assert (second["gain_here"], second["gain_there"], second["ratio"]) == (None, 2, None)


def test_figures_of_other_signs_have_no_ratio() -> None:
    item = Item(name="x", title="", kind="kernel", quantity="s", compare="value", published={"a": 0.5, "b": -2.0})
    assert [row["ratio"] for row in values_of(item, {"a": {"s": -0.5}, "b": {"s": -3.0}})] == [None, 1.5]


def test_only_the_named_quantity_is_compared() -> None:
    published = {"a": {"s": 2.0, "ratio": 4.0}}
    item = Item(name="x", title="", kind="kernel", quantity="ratio", compare="value", published=published)
    assert [row["ratio"] for row in values_of(item, {"a": {"s": 1.0, "ratio": 2.0}})] == [None, 0.5]


def test_probabilities_by_counts() -> None:
    """By 004's own alignments; for two of the three it takes another fraction than its figures have."""
    rows = REPETITIONS["counts"].run(Request((), "", 1, 1), QuietContext()).tables["rows"]
    assert [row["probability"] for row in rows.values()] == pytest.approx([16 / 125, 2 / 81, 1 / 18], rel=1e-6)


def test_words_of_a_cell() -> None:
    rows = REPETITIONS["accesses"].run(Request((), "", 1, 1), QuietContext()).tables["rows"]
    assert [rows["basic"][name] for name in ("scores", "transitions", "emissions")] == [12, 9, 2]
    assert [rows["1+2+3+4+6+7"][name] for name in ("scores", "transitions", "emissions")] == [0, 0, 2]


def test_accesses_to_a_cell_are_those_of_the_kernel() -> None:
    """Each number of a cell that is set, and each term that is added to it, in the text of the kernel."""
    text = assemble("pair_hmm_ladder_lanes")
    forward, backward = (
        text.partition(f"void {sweep}_state(")[2].partition("\n}")[0] for sweep in ("forward", "backward")
    )
    assert (forward.count("add(own"), forward.count("*own =")) == (7, 1)  # that is Start's
    # Of the three states two have a step to the right and two one down; each of these sets a number but M's second one.
    assert backward.count("if (state != INSERT) {") == backward.count("if (state != DELETE) {") == 1
    assert "if (state == MATCH) add(own, below" in backward
    assert (backward.count("add(own"), backward.count("*own =")) == (2, 3)  # and the last cell's
    cells = cell_accesses(PairHmmLadderChoices())
    assert cells == {"forward": 14, "backward": 11}
    assert cell_accesses(PairHmmLadderChoices(cell="local")) == {"forward": 6, "backward": 3}


def test_a_wrong_cell_of_the_worked_example_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    items = tuple(item for item in publications()["004"].items if item.measured == "example")
    assert REPETITIONS["example"].run(Request(items, "", 1, 1), QuietContext()).wrong == ()
    cells = dict(items[1].published)
    cells["M, 1 A"] = {**items[1].published_figures("M, 1 A"), "1": -6111.0}
    changed = (items[0], structs.replace(items[1], published=cells))
    assert REPETITIONS["example"].run(Request(changed, "", 1, 1), QuietContext()).wrong == ("M, 1 A, 1",)


def test_transactions_are_counted_from_addresses() -> None:
    assert transactions(range(0, 128, 4), 4) == (1, 0)
    assert transactions([0, 127, 128], 1) == (2, 253)


@pytest.mark.thorough(key=["001"])
@pytest.mark.parametrize("key", NUMBERED)
def test_every_item_runs_at_its_smallest_size(key: str, opencl_device: Device, tmp_path: Path) -> None:
    laboratory = PUBLICATIONS[key]
    spec = PublicationSpec(opencl_device.id, runs=1, reports=False, source=key, is_small=True)
    document = json.loads(json.dumps(run_publication(spec, QuietContext())))
    assert not laboratory.wrong(document)
    assert [row["name"] for row in document["rows"]] == [item.name for item in laboratory.source.items]
    for item, row in zip(laboratory.source.items, document["rows"], strict=True):
        expected = NOT_MEASURED if item.why else DRAWN if not item.measured else DONE if row["values"] else "not run"
        assert row["status"] == expected
        assert row["values"] or row["reason"]
    not_run = {row["name"] for row in document["rows"] if row["status"] == "not run"}
    assert not_run <= WITHOUT_FIGURES[key]
    for experiment in laboratory.experiments:
        assert experiment.chart(document, experiment.rows_of(document))
    names = {path.name for path in write_report(tmp_path, [(laboratory, document)])}
    assert {"report.md", "report.html"} <= names
    for name in ("report.md", "report.html"):
        text = (tmp_path / name).read_text("utf-8")
        assert f"Measured on {opencl_device.name}" in text
        assert document["created"] in text
    assert names & {f"{key}-values.svg", f"{key}-timelines.svg"}


def test_what_would_begin_too_late_is_left_out(opencl_device: Device) -> None:
    spec = PublicationSpec(opencl_device.id, source="003", variants=("figure 6.1", "figure 5.1"), minutes=0)
    rows = {row["name"]: row for row in run_publication(spec, QuietContext())["rows"]}
    assert (rows["figure 6.1"]["status"], rows["figure 6.1"]["reason"]) == ("not run", NOT_REACHED)
    assert rows["figure 5.1"]["status"] == DRAWN
    formulas = PublicationSpec(opencl_device.id, source="001", variants=("n",), minutes=0)
    assert run_publication(formulas, QuietContext())["rows"][0]["status"] == DONE


def test_time_is_shared(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time that repetitions usually take; what one leaves is the others'. The clock stands still."""
    clock = SimpleNamespace(monotonic=lambda: 1000.0, perf_counter=time.perf_counter)
    monkeypatch.setattr(publication_lab, "time", clock)
    monkeypatch.setattr(repeating, "time", clock)
    lengths = []

    def repeat(request: Request, context: JobContext) -> Found:
        lengths.append(request.ends - clock.monotonic())
        return Found({})

    names = {item.measured for item in publications()["001"].items}
    for name in names:
        monkeypatch.setitem(REPETITIONS, name, Repetition("", repeat, 2, 2))
    monkeypatch.setitem(REPETITIONS, "sw", Repetition("", repeat, 4, 4))
    spec = PublicationSpec(opencl_device.id, source="001", variants=("a", "e"), minutes=10)
    run_publication(spec, QuietContext())
    run_publication(structs.replace(spec, later=("001",)), QuietContext())
    of_both = 600 * 6 / (6 + 4 + 2 * (len(names) - 2) + 0.1)  # drawings are among the names
    assert lengths == pytest.approx([400, 600, of_both * 4 / 6, of_both])
    lengths.clear()
    run_publication(structs.replace(spec, minutes=0.3, later=("001", "002", "003", "004")), QuietContext())
    assert lengths == pytest.approx([6, 9])


def test_jobs_fit_the_time_that_is_left() -> None:
    request = Request((), "", 3, 1, ends=time.monotonic() + 120)
    assert request.job_seconds(1.0, 5) == 1.0
    assert request.job_seconds(1.0, 20) == pytest.approx(0.5, abs=0.01)
    assert request.part(1, 3) - time.monotonic() == pytest.approx(60, abs=1)
    assert Request((), "", 3, 1).job_seconds(1.0, 10**6) == 1.0


def test_figures_are_drawn_as_lines() -> None:
    laboratory, values = PUBLICATIONS["004"], {"basic": 9.0, "unroll-8": 5.0, "scheduling": 7.0, "unroll-2": None}
    item = laboratory.source.item("figure 8.2")
    table = {name: {"kernel_seconds": value} for name, value in values.items()}
    document = {"rows": [{"name": "figure 8.2", "values": values_of(item, table)}]}
    one = next(one for one in laboratory.experiments if one.key == "unrolling-lines")
    chart = one.chart(document, one.rows_of(document))
    assert isinstance(chart, LineChart)
    assert {line.name: line.points for line in chart.lines} == {
        "as written": ((1, 9.0), (8, 5.0)),
        "independent variables": ((1, 7.0),),
    }


def test_spans_of_time_begin_where_they_begin() -> None:
    laboratory, table = (
        PUBLICATIONS["004"],
        {"kernel 1": {"begins": 3.0, "ends": 4.0}, "kernel 2": {"begins": 0.0, "ends": 8.0}},
    )
    values = values_of(laboratory.source.item("figure 8.4"), table)
    document = {"rows": [{"name": "figure 8.4", "values": values}]}
    one = next(one for one in laboratory.experiments if one.key == "commands")
    chart = one.chart(document, one.rows_of(document))
    assert isinstance(chart, BarChart)
    assert [(bar.begin, bar.value) for bar in chart.bars] == [(3, 4), (0, 8)]
    drawing = chart_drawing(chart, 700.0, 0.0)
    boxes = [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.fill == "bar"]
    first, second = ([x for x, _ in shape.points] for shape in boxes)
    assert min(first) > min(second)
    assert (max(first) - min(first)) * 8 == pytest.approx(max(second) - min(second))


@pytest.mark.parametrize("error", [OutOfDeviceMemory("Full."), OtherScores("Full.")], ids=["memory", "scores"])
def test_a_device_that_fails_keeps_the_rest(
    opencl_device: Device, monkeypatch: pytest.MonkeyPatch, error: DeviceError
) -> None:
    def fail(request: Request, context: JobContext) -> Found:
        raise error

    monkeypatch.setitem(REPETITIONS, "sw", Repetition("Pairs", fail))
    context = Warned()
    document = run_publication(PublicationSpec(opencl_device.id, source="001", variants=("a", "n")), context)
    assert [(row["status"], row["reason"]) for row in document["rows"]] == [("not run", "Full."), (DONE, "")]
    is_wrong = isinstance(error, OtherScores)
    assert PUBLICATIONS["001"].wrong(document) == ["the program's own kernel"] * is_wrong
    assert context.warnings == ["Pairs: Full."] * (not is_wrong)
    failure = {"reason": "Full.", "exit_code": ExitCode.MEMORY}
    assert document["failed"] == ({} if is_wrong else {"sw": failure})
    assert PUBLICATIONS["001"].exit_code(document) == (ExitCode.DIFFERENT if is_wrong else ExitCode.MEMORY)


def test_a_device_that_cannot_is_no_failure(opencl_device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(request: Request, context: JobContext) -> Found:
        raise DeviceNotFound("No clock.")

    monkeypatch.setitem(REPETITIONS, "sw", Repetition("Pairs", refuse))
    document = run_publication(PublicationSpec(opencl_device.id, source="001", variants=("a",)), QuietContext())
    assert (document["rows"][0]["reason"], document["failed"]) == ("No clock.", {})
    assert PUBLICATIONS["001"].exit_code(document) == ExitCode.DONE


@pytest.mark.thorough
def test_an_option_of_the_compiler_that_makes_results_wrong(
    opencl_device: Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = PairHmmRung.stage

    def faulty(rung: PairHmmRung, *given: Any) -> Any:
        stage = usual(rung, *given)
        if rung.option is not None:
            stage.defines = {"SABOTAGE": 1}
        return stage

    monkeypatch.setattr(PairHmmRung, "stage", faulty)
    laboratory = PUBLICATIONS["004"]
    spec = PublicationSpec(opencl_device.id, runs=1, reports=False, source="004", variants=("l",), is_small=True)
    document = run_publication(spec, QuietContext())
    (row,) = document["rows"]
    texts = {value["row"]: value["text"] for value in row["values"]}
    assert texts["states"] == ""
    assert texts["states+relaxed"].startswith("With -cl-fast-relaxed-math on this device, a posterior or a count")
    assert (row["equal"], laboratory.exit_code(document)) == (True, ExitCode.DONE)
    write_report(tmp_path, [(laboratory, document)])
    assert "please report" not in (tmp_path / "report.md").read_text("utf-8")


def test_families_that_would_begin_too_late_say_so(opencl_device: Device) -> None:
    items = tuple(item for item in publications()["004"].items if item.measured == "viterbi-families")
    over = Request(items, opencl_device.id, 1, 1, is_small=True, ends=0.0)
    tables = REPETITIONS["viterbi-families"].run(over, QuietContext()).tables
    assert {row["reason"] for row in tables["rungs"].values()} == {NOT_REACHED}


def test_drawings_stand_by_their_first_item(opencl_device: Device, tmp_path: Path) -> None:
    spec = PublicationSpec(opencl_device.id, source="003", variants=("figures 2.6, 2.7", "figure 5.1"))
    document = run_publication(spec, QuietContext())
    speedups = {"baum_welch_speedup": 3.0, "forward_speedup": 2.0}
    item = publications()["003"].item("figure 6.9")
    values = values_of(item, dict.fromkeys(item.rows, speedups))
    document["rows"].append({**document["rows"][0], "name": item.name, "status": DONE, "drawing": "", "values": values})
    write_report(tmp_path, [(PUBLICATIONS["003"], document)])
    lines = (tmp_path / "report.md").read_text("utf-8").splitlines()
    places = {"figures 2.6, 2.7": "003-sweeps.svg", "figure 5.1": "003-sum.svg", "figure 6.9": "003-sizes-lines.svg"}
    for name, picture in places.items():
        heading = next(place for place, line in enumerate(lines) if line.startswith(f"### {name}:"))
        assert f"![{picture}]({picture})" in lines[heading : heading + 4]
        assert (tmp_path / picture).read_text("utf-8").startswith("<svg")
