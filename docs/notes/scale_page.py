"""Puts the tables of the model and of the simulation into scale.md, and draws its figure: no figure is typed by hand.

The model takes its rates from ``benchmarks/results``; what it assumes is in `ASSUMED` and stands on the page. Between
``<!-- table NAME -->`` and ``<!-- end table -->`` goes a table: ``measured``, ``assumed``, ``pfam``, ``hundred``,
``whole``, ``costs`` or ``end``.

    python docs/notes/scale_page.py
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER.parents[1] / "benchmarks" / "results"
FIGURE = FOLDER / "images" / "scale.svg"
PLACE = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end table -->)", re.DOTALL)

WORKERS = (1, 10, 100, 1000)

ASSUMED = {
    "residues": 125e9,  # of 150 GB of FASTA, the rest headers
    "sequences": 3.6e8,
    "models": 20_000,
    "nodes": 184,  # as of the models that the measured search had
    "hits a sequence": 2.0,
    "bytes a pair": 2.15,  # of scores and survivors, packed: the bundled sample with two HMMER3 profiles
    "network": 1.25e9,  # bytes a second of what serves the database to all
    "unit residues": 2.0**28,
}


def results(name: str) -> Any:
    """Return a document of measured figures."""
    return json.loads((RESULTS / f"{name}.json").read_text("utf-8"))


@dataclass(frozen=True)
class Model:
    """What is measured: seconds, or cells and bytes a second.

    Attributes
    ----------
    rates : dict of str to float
        Cells a second of a worker, everything included.
    start, build, prepare : float
        Of a worker, of its programs the first time, and bytes a second of preparing a database.
    a_unit, a_hit, a_byte : float
        What the planner and the one writer take.
    """

    rates: dict[str, float]
    start: float
    build: float
    prepare: float
    a_unit: float
    a_hit: float
    a_byte: float

    @classmethod
    def measured(cls) -> Model:
        """Return the model with the figures of the benchmarks."""
        card, host, simulated = results("hmmer3_search_h200"), results("hmmer3_search_cpu"), results("scale_simulation")
        waited = results("whole_program_h200")["medians"]
        of_costs = {(one["hits"], one["scores"]): one for one in simulated["costs"]}
        none, hits = of_costs[0, 64], of_costs[50, 64]
        most = max((one for one in simulated["costs"] if not one["hits"]), key=lambda one: one["blob_bytes"])
        blocks = simulated["long"]["blocks"]
        planner = sum(one["planner_us"] for one in blocks) / len(blocks)
        return cls(
            {name: one["finished"]["cells"] / one["finished"]["seconds"]
             for name, one in (("H200", card), ("2 cores", host))},
            results("start_up_cpu")["search_seconds"],
            waited["models (50), first use"] - waited["models (50), this"],
            1e6 * results("database_memory")["sizes"][-1]["first"]["megabytes_per_second"],
            1e-6 * (none["writer_us"] + planner),
            1e-6 * (hits["writer_us"] - none["writer_us"]) / 50,
            1e-6 * (most["writer_us"] - none["writer_us"]) / (most["blob_bytes"] - none["blob_bytes"]),
        )  # fmt: skip

    def writing(self, models: float, worker: str) -> float:
        """Return the seconds that one planner and writer take for a search of UniRef90 with so many models."""
        residues = min(ASSUMED["unit residues"], self.rates[worker] * 0.1 / ASSUMED["nodes"])
        if worker == "H200":
            residues = ASSUMED["unit residues"]
        units = models * max(1.0, ASSUMED["residues"] / residues)
        hits = ASSUMED["sequences"] * ASSUMED["hits a sequence"] * models / ASSUMED["models"]
        return units * self.a_unit + hits * self.a_hit + self.stored(models) * self.a_byte

    def stored(self, models: float) -> float:
        """Return the bytes of packed scores and survivors."""
        return models * ASSUMED["sequences"] * ASSUMED["bytes a pair"]

    def computing(self, models: float, worker: str) -> float:
        """Return the seconds that one worker computes."""
        return models * ASSUMED["nodes"] * ASSUMED["residues"] / self.rates[worker]

    def carrying(self) -> float:
        """Return the seconds that it takes to bring each worker its part of the prepared database, all together."""
        return (ASSUMED["residues"] + 124 * ASSUMED["sequences"]) / ASSUMED["network"]

    def one_writer(self, models: float, worker: str, n: int) -> float:
        """Return the seconds of a search in which one process plans and stores for all workers."""
        most = max(self.computing(models, worker) / n, self.writing(models, worker), self.carrying())
        return self.start + self.build + most

    def array_job(self, models: float, worker: str, n: int) -> float:
        """Return the seconds of an array job and of merging its runs."""
        written = self.writing(models, worker)
        part = max((self.computing(models, worker)) / n, written / n, self.carrying())
        return self.start + self.build + part + written


def time_of(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def bytes_of(n: float) -> str:
    """Return a size."""
    return f"{n / 1e12:.3g} TB" if n >= 1e12 else f"{n / 1e9:.3g} GB"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join([*lines, ""])


def measured(model: Model) -> str:
    """Return the measured figures."""
    rows = [
        *((f"a worker with {name}, HMMER3 search, everything included", f"{rate / 1e9:.3g} GCUPS", f"hmmer3_search_{f}")
          for (name, rate), f in zip(model.rates.items(), ("h200", "cpu"), strict=True)),
        ("start of a worker", time_of(model.start), "start_up_cpu"),
        ("programs built the first time, on a card", time_of(model.build), "whole_program_h200"),
        ("a database prepared, once for a cache", f"{model.prepare / 1e6:.3g} MB/s", "database_memory"),
        ("planner and writer, a unit", f"{1e6 * model.a_unit:.3g} µs", "scale_simulation"),
        ("writer, a hit", f"{1e6 * model.a_hit:.3g} µs", "scale_simulation"),
        ("writer, packed scores", f"{1e-6 / model.a_byte:.3g} MB/s", "scale_simulation"),
    ]  # fmt: skip
    return table(("what", "measured", "`benchmarks/results/`"), rows)


def assumed(model: Model) -> str:
    """Return what is assumed."""
    prepared = 150e9 / model.prepare
    rows = [
        ("UniRef90, 150 GB of FASTA", f"{ASSUMED['residues']:.3g} residues, {ASSUMED['sequences']:.2g} sequences"),
        ("Pfam", f"{ASSUMED['models']:,} models of {ASSUMED['nodes']} nodes"),
        ("hits", f"{ASSUMED['hits a sequence']:g} for each sequence"),
        ("kept of each sequence and model", f"{ASSUMED['bytes a pair']} bytes (measured on the bundled sample)"),
        ("network of the file server", f"{ASSUMED['network'] / 1e9:g} GB/s for all workers together"),
        ("a unit on a card", f"{ASSUMED['unit residues']:.3g} residues, the most that there may be"),
        ("it follows: database prepared once", time_of(prepared)),
        ("it follows: database carried to the workers, a part each", time_of(model.carrying())),
    ]
    return table(("what", "assumed"), rows)


def scenario(model: Model, models: int) -> str:
    """Return what so many workers need for so many models."""
    rows = []
    for worker in model.rates:
        computing, writing = model.computing(models, worker), model.writing(models, worker)
        for n in WORKERS:
            ways = {"computing": computing / n, "the writer": writing, "the network": model.carrying()}
            limit = max(ways, key=lambda name: ways[name])
            rows.append((
                f"{n:,} x {worker}", time_of(computing / n), time_of(model.one_writer(models, worker, n)), limit,
                time_of(model.array_job(models, worker, n)),
            ))  # fmt: skip
        rows.append((f"*the writer alone, {worker}*", "", time_of(writing), bytes_of(model.stored(models)), ""))
    return table(("workers", "computing", "one writer", "limited by", "array job and merge"), rows)


def whole(model: Model) -> str:
    """Return the simulated jobs that were done to the end."""
    del model
    document = results("scale_simulation")
    rows = [
        (f"{one['executors']:,}", f"{one['units']:,}", f"{one['planner_us']:.0f} µs", f"{one['writer_us']:.0f} µs",
         f"{one['longer_percent']:.1f} %", f"{one['died']}", f"{one['given_twice']:,}")
        for one in document["whole"]
    ]  # fmt: skip
    head = ("executors", "units", "planner, a unit", "writer, a unit", "later than ideal", "died", "done twice")
    return table(head, rows)


def costs(model: Model) -> str:
    """Return what more hits and more scores cost the writer."""
    del model
    rows = [
        (f"{one['hits']}", f"{one['scores']:,}", f"{one['blob_bytes']:,}", f"{one['writer_us']:,.0f} µs")
        for one in results("scale_simulation")["costs"]
    ]
    return table(("hits of a unit", "scores of a unit", "packed bytes", "writer, processor time"), rows)


def end(model: Model) -> str:
    """Return the end of a long job, in a file that holds much already, beside the beginning of one."""
    del model
    document = results("scale_simulation")
    one, blocks = document["end"], document["long"]["blocks"]
    chosen = sorted({round(place * (len(blocks) - 1) / 4) for place in range(5)})
    rows = [
        (f"{block['units']:,}", "0", f"{block['planner_us']:.0f} µs", f"{block['writer_us']:.0f} µs",
         f"{block['memory_bytes'] / 1e6:.0f} MB")
        for block in (blocks[place] for place in chosen)
    ]  # fmt: skip
    rows.append((f"the last {one['units']:,}", f"{one['units_before']:,}", f"{one['planner_us']:.0f} µs",
                 f"{one['writer_us']:.0f} µs", ""))  # fmt: skip
    return table(("units up to", "batches in the file before", "planner, a unit", "writer, a unit", "memory"), rows)


TABLES: dict[str, Callable[[Model], str]] = {
    "measured": measured, "assumed": assumed, "pfam": lambda model: scenario(model, int(ASSUMED["models"])),
    "hundred": lambda model: scenario(model, 100), "whole": whole, "costs": costs, "end": end,
}  # fmt: skip

INK, PALE = "#334155", "#cbd5e1"
COLORS = ("#0f766e", "#b45309", "#7c3aed", "#64748b")


@dataclass(frozen=True)
class Panel:
    """One diagram: logarithmic to the right, and upward if `is_log`."""

    left: float
    title: str
    x: tuple[float, float]
    y: tuple[float, float]
    is_log: bool
    is_x_log: bool = True
    width: float = 330.0
    height: float = 250.0
    top: float = 40.0

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point is drawn."""

        def share(value: float, ends: tuple[float, float], is_log: bool) -> float:
            a, b, v = (math.log10(max(one, 1e-9)) for one in (*ends, value)) if is_log else (*ends, value)
            return (v - a) / (b - a)

        return (
            self.left + self.width * share(x, self.x, self.is_x_log),
            self.top + self.height * (1 - share(y, self.y, self.is_log)),
        )

    def frame(self, x_marks: dict[float, str], y_marks: dict[float, str], x_title: str) -> list[str]:
        """Return axes with their marks."""
        bottom = self.top + self.height
        parts = [f'<text x="{self.left}" y="24" font-weight="bold">{self.title}</text>']
        for value, text in x_marks.items():
            x, _ = self.at(value, self.y[0])
            parts.append(f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{text}</text>')
        for value, text in y_marks.items():
            _, y = self.at(self.x[0], value)
            parts.append(f'<path d="M{self.left} {y:.1f}h{self.width}" stroke="{PALE}"/>')
            parts.append(f'<text x="{self.left - 6}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
        middle = self.left + self.width / 2
        parts.append(f'<text x="{middle}" y="{bottom + 38:.1f}" text-anchor="middle">{x_title}</text>')
        return parts

    def line(self, points: Sequence[tuple[float, float]], color: str, dashed: bool = False) -> str:
        """Return a line through points."""
        path = " ".join(f"{'L' if i else 'M'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(self.at(*p) for p in points))
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>'


def figure(model: Model) -> str:
    """Return the figure as SVG: times against workers, and the time of a unit against units that are stored."""
    models, worker = ASSUMED["models"], "H200"
    left = Panel(70, "Pfam against UniRef90, H200 workers", (1, 1000), (600, 3e6), True)
    marks = {3600.0: "1 h", 36000.0: "10 h", 86400.0: "1 d", 864000.0: "10 d"}
    parts = left.frame({n: f"{n:,}" for n in WORKERS}, marks, "workers")
    many = [10 ** (i / 20) for i in range(61)]
    lines: tuple[tuple[str, Callable[[float], float], bool], ...] = (
        ("computing alone", lambda n: model.computing(models, worker) / n, False),
        ("with one writer", lambda n: model.one_writer(models, worker, n), False),  # type: ignore[arg-type]
        ("array job and merge", lambda n: model.array_job(models, worker, n), False),  # type: ignore[arg-type]
        ("the writer", lambda n: model.writing(models, worker), True),
    )
    for place, ((name, of, dashed), color) in enumerate(zip(lines, COLORS, strict=True)):
        parts.append(left.line([(n, max(of(n), left.y[0])) for n in many], color, dashed))
        parts.append(f'<text x="{left.left + 190}" y="{left.top + 20 + 18 * place}" fill="{color}">{name}</text>')
    long = results("scale_simulation")["long"]
    blocks = long["blocks"]
    most = max(one["planner_us"] + one["writer_us"] for one in blocks)
    top = 100 * math.ceil(1.5 * most / 100)
    right = Panel(480, "A unit, 1,000 executors", (0, blocks[-1]["units"]), (0, top), False, False)
    steps = {blocks[-1]["units"] * i / 4: f"{blocks[-1]['units'] * i / 4:,.0f}" for i in range(5)}
    parts += right.frame(steps, {top * i / 4: f"{top * i / 4:.0f} µs" for i in range(5)}, "units stored so far")
    for place, (name, key) in enumerate((("writer", "writer_us"), ("planner", "planner_us"))):
        parts.append(right.line([(one["units"], one[key]) for one in blocks], COLORS[place]))
        parts.append(
            f'<text x="{right.left + 240}" y="{right.top + 20 + 18 * place}" fill="{COLORS[place]}">{name}</text>'
        )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 350" font-family="sans-serif" font-size="12"'
        f' fill="{INK}">\n<rect width="840" height="350" fill="white"/>\n{body}\n</svg>\n'
    )


def renewed(page: str, model: Model) -> str:
    """Return the page with its tables made anew."""
    return PLACE.sub(lambda found: f"{found[1]}{TABLES[found[2]](model)}{found[3]}", page)


def main() -> None:
    """Renew the page and its figure."""
    model, page = Model.measured(), FOLDER / "scale.md"
    page.write_text(renewed(page.read_text("utf-8"), model), "utf-8")
    FIGURE.write_text(figure(model), "utf-8")


if __name__ == "__main__":
    main()
