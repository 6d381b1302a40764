"""The ladder of Plan7 Viterbi on a device: one family in full, and the means over the twenty published lengths.

First the laboratory runs whole, with its experiments, on a random model of the published family's length;
its number of sequences, or another, is then used for random models of the lengths of all twenty families. The results
are written after every family, and a file that is there already is continued, so a run can be cut into
pieces. `docs/notes/ladder_page.py` puts them into `docs/notes/ladder.md`.

    python benchmarks/ladder.py --device gpu --name h200
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from clalign.compute.opencl.choice import pick_device
from clalign.jobs import Event, Job
from clalign.labs.laboratory import row_text
from clalign.labs.ladder_rungs import RUNGS
from clalign.labs.published_ladder import FAMILIES, published_row
from clalign.labs.viterbi_ladder import LADDER, ViterbiLadderSpec, run_ladder

RESULTS = Path(__file__).parent / "results"
KEPT = ("status", "reason", "equal", "kernel_seconds", "copy_seconds", "gcups", "speedup")


def watched() -> Job:
    """Return a job whose rows are shown as they arrive."""

    def show(event: Event) -> None:
        if event.kind == "partial":
            print(row_text(LADDER.experiments[0].columns, event.value["row"]), file=sys.stderr, flush=True)

    return Job(show)


def family(name: str, n_sequences: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure all rungs on a random model of a family's length."""
    names = tuple(rung.name for rung in RUNGS)
    spec = ViterbiLadderSpec(
        options.device, variants=names, runs=options.runs, sequences=n_sequences, nodes=FAMILIES[name], reports=False
    )
    document = run_ladder(spec, watched())
    rows = {row["name"]: {key: row[key] for key in KEPT} for row in document["rows"]}
    return {"nodes": FAMILIES[name], "n_residues": document["database"]["n_residues"], "rows": rows}


def means(families: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the mean time of each rung over the families where it ran, and its speed-up over basic on the same."""
    found = []
    for rung in RUNGS:
        rows = [(f, f["rows"][rung.name]) for f in families.values() if f["rows"][rung.name]["equal"]]
        row: dict[str, Any] = {"name": rung.name, "group": rung.group, "families": len(rows)}
        seconds = sum(r["kernel_seconds"] for _, r in rows)
        cells = sum(f["nodes"] * f["n_residues"] for f, _ in rows)
        basic = sum(f["rows"]["basic"]["kernel_seconds"] for f, _ in rows)
        row["kernel_seconds"] = seconds / len(rows) if rows else None
        row["gcups"] = cells / seconds / 1e9 if rows else None
        row["speedup"] = basic / seconds if rows else None
        row["published"] = published_row(rung.name) if rung.group == "alone" else None
        found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--name", help="of the results: benchmarks/results/ladder_NAME.json (default: the kind of device)"
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="about how long the basic rung takes")
    parser.add_argument("--sequences", type=int, help="how many (default: as many as take so long, at most 70,000)")
    parser.add_argument("--family-sequences", type=int, help="how many for the twenty families (default: as many)")
    parser.add_argument("--families", help="only these, parted by commas (default: those not measured yet)")
    parser.add_argument("--output", type=Path, help="another file for the results")
    options = parser.parse_args()
    device = pick_device(options.device)
    path: Path = options.output or RESULTS / f"ladder_{options.name or device.kind}.json"
    results: dict[str, Any] = {"kind": "ladder benchmark", "detail": None, "families": {}, "means": []}
    if path.exists():
        results = json.loads(path.read_text("utf-8"))
        if results["detail"]["device"]["name"] != device.name:
            parser.error(f"{path} holds results of {results['detail']['device']['name']}; choose another --name")

    def keep() -> None:
        results["means"] = means(results["families"]) if results["families"] else []
        path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")

    if results["detail"] is None:
        spec = ViterbiLadderSpec(
            options.device, runs=options.runs, seconds=options.seconds, sequences=options.sequences
        )
        results["detail"] = run_ladder(spec, watched())
        keep()
    n_sequences = options.family_sequences or results["detail"]["database"]["n_sequences"]
    wanted = options.families.split(",") if options.families else [n for n in FAMILIES if n not in results["families"]]
    for name in wanted:
        print(f"{name}, {FAMILIES[name]} nodes", file=sys.stderr, flush=True)
        results["families"][name] = family(name, n_sequences, options)
        keep()


if __name__ == "__main__":
    main()
