"""A worker that speaks the protocol and writes real run files with made-up hits; no device is touched.

The environment variable ``CLALIGN_FAKE`` names the file of its manners, JSON: ``batches``, ``hits`` in each,
``pause`` (seconds for each batch), ``die_after`` (batches before it ends without a word), ``fail``, ``fault``
(of the program). What takes long to import is imported by those jobs that need it: most need nothing of it.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from clalign.cli import worker
from clalign.cli.profiling import worker_profiled
from clalign.cli.worker_commands import Orders
from clalign.errors import Cancelled, ClalignError
from clalign.jobs import Event, Job
from clalign.values.devices import REFERENCE, Device

if TYPE_CHECKING:
    import numpy as np

    from clalign.runs.run_file import RunFile
    from clalign.values.hits import Domain, Hit

MANNERS = {"batches": 10, "hits": 20, "pause": 0.01, "die_after": None, "fail": "", "devices": True, "fault": False}
BATCH_ROWS = 300
LENGTH = 60
MU, SLOPE = -10.0, 0.5

GPU = Device("0:0", "Made-up GPU", "gpu", vendor="Nobody", health="ready", gcups=50.0, n_compute_units=30)
CPU = Device("1:0", "Made-up CPU", "cpu", vendor="Nobody", health="ready", gcups=5.0, n_compute_units=8)
BROKEN = Device(
    "2:0", "Made-up card", "gpu", health="self-test failed", problem="3 of 512 tests gave a different score."
)


def manners() -> dict:
    file = Path(os.environ["CLALIGN_FAKE"])
    return {**MANNERS, **(json.loads(file.read_text()) if file.exists() else {})}


def card(name="Made-up", **more) -> dict:
    return {
        "name": name, "accession": "PF99999.1", "description": "A made-up family", "length": LENGTH,
        "alphabet": "amino", "origin": "hmmer2", "consensus": "MKVLAAGIVL" * 6, "reference": "", "structure": "",
        "cutoffs": {"ga": [12.0, 12.0], "tc": [13.0, 13.0], "nc": [11.0, 11.0]},
        "calibration": {"mu": MU, "lambda": SLOPE}, "facts": {"sequences": "45"},
        "report_score": -2.0, "include_score": 10.0, **more,
    }  # fmt: skip


def report(path: str, n_sequences: int, alphabet: str = "amino") -> dict:
    return {
        "path": path, "digest": "0" * 64, "format": "FASTA", "compression": "none", "line_ends": "LF",
        "alphabet": alphabet, "alphabet_reason": "made up", "n_sequences": n_sequences,
        "n_residues": 300 * n_sequences, "n_empty": 0, "shortest": 20, "mean": 300.0, "longest": 900,
        "length_histogram": [[20, 300, n_sequences // 2], [301, 900, n_sequences - n_sequences // 2]],
        "issues": [{"kind": "letters", "severity": "caution", "text": "J is no code.", "count": 3, "lines": [4, 9]}],
    }  # fmt: skip


def domain(number: int, score: float, start: int) -> Domain:
    from clalign.values.alignments import AlignmentText
    from clalign.values.hits import Domain

    model, target = "MKVLAAGIVL" * 2 + "..MKVLAAGI", "MKILA--IVLMKVLAAGIVLskMKVLAAGI"
    match = "".join(a if a == b else " " for a, b in zip(model, target, strict=True))
    states = "".join("I" if a == "." else "D" if b == "-" else "M" for a, b in zip(model, target, strict=True))
    text = AlignmentText(model, match, target)
    span = start, start + 28
    return Domain(number, score, 0.1, 10.0**-score, (0, 28), span, span, int(score * 1000), states, text)


def made_up_hit(row: int, score: float, rng: np.random.Generator) -> Hit:
    from clalign.values.hits import Hit

    length = int(rng.integers(100, 900))
    domains = tuple(domain(n + 1, score / (n + 1), 5 + 40 * n) for n in range(int(rng.integers(1, 3))))
    kind = ("kinase", "globin", "transport 50% protein")[row % 3]
    evalue = float(10.0 ** (-score / 3.3))
    return Hit(row, row, f"SEQ_{row:06d}", f"A{row:05d}", f"made-up {kind}", length, score, 0.2, evalue,
               int(score * 1000), domains, len(domains), is_significant=score >= 10.0)  # fmt: skip


def add_batch(run: RunFile, number: int, n_hits: int, profile: int = 0) -> None:
    """Store one made-up batch; the same numbers give the same batch."""
    import numpy as np

    from clalign.runs.batches import BatchResult
    from clalign.values.hits import Scores

    rng = np.random.default_rng((number, profile))
    rows = np.arange(number * BATCH_ROWS, (number + 1) * BATCH_ROWS, dtype=np.int64)
    values = (1000 * rng.gumbel(MU, 1 / SLOPE, BATCH_ROWS)).astype(np.int32)
    scores = np.sort(rng.uniform(-2.0, 120.0, n_hits))[::-1]
    values[:n_hits] = (1000 * scores).astype(np.int32)
    hits = tuple(made_up_hit(int(rows[i]), float(score), rng) for i, score in enumerate(scores))
    run.add_batch(
        BatchResult(profile, int(rows[0]), int(rows[-1]) + 1, Scores(rows, values), hits, 1e7, 0.01, GPU.name)
    )


def prepare(run: RunFile, spec: dict, n_batches: int, n_profiles: int = 1) -> None:
    run.set_cards([card(f"Made-up-{i + 1}") for i in range(n_profiles)])
    run.set_facts(
        spec=spec, direction=spec.get("direction", "search"),
        database=report(spec["targets"], n_batches * BATCH_ROWS), device=GPU.to_dict(),
        n_targets=n_batches * BATCH_ROWS, versions={"clalign": "0"}, state="running",
    )  # fmt: skip


def finish(run: RunFile, n_batches: int) -> dict:
    value = {
        "run": str(run.path), "n_hits": run.n_hits(), "n_sequences": n_batches * BATCH_ROWS, "cells": 1e7 * n_batches,
        "new_cells": 1e7 * n_batches, "seconds": 1.5, "device_seconds": 1.0, "gcups": 12.0, "device": GPU.name,
    }  # fmt: skip
    run.set_facts(state="done", finished=value)
    return value


def search(request: dict, job: Job) -> dict:
    from clalign.runs.run_file import create_run, open_run

    manner = manners()
    path = Path(request["run"])
    if request["job"] == "search":
        if manner["fail"]:
            raise ClalignError(manner["fail"], "Choose another device.")
        with create_run(path, engine="plan7", spec=request["spec"], state="new") as run:
            prepare(run, request["spec"], manner["batches"], 3 if request["spec"]["direction"] == "scan" else 1)
    with open_run(path, writable=True) as run:
        done = len(run.finished(0))
        for number in range(done, manner["batches"]):
            try:
                job.check()
            except Cancelled:
                run.set_facts(state="stopped")
                raise
            if manner["die_after"] is not None and number >= manner["die_after"] and request["job"] == "search":
                os._exit(11)
            for profile in range(len(run.cards())):
                add_batch(run, number, manner["hits"], profile)
            total = manner["batches"] * 1e7
            forecast = {"forecast": {"rate": manner["forecast"]}} if "forecast" in manner else {}
            job.progress("search", (number + 1) * 1e7, total, "cells", gcups=12.0, query=0, **forecast)
            job.partial(query=0, n_hits=run.n_hits(0), n_scored=(number + 1) * BATCH_ROWS)
            time.sleep(manners()["pause"])
        if request["job"] == "search":
            job.warn("A made-up warning: --skip_bad.")
        return finish(run, manner["batches"])


def inspect(request: dict, job: Job) -> dict:
    path, head = request["path"], Path(request["path"]).read_bytes()[:40]
    if head.startswith(b">slow"):
        time.sleep(manners()["pause"])
    if head.startswith(b"HMMER"):
        old = head.startswith(b"HMMER2")
        made = card(
            origin="hmmer2" if old else "hmmer3", calibration=None if b"bare" in head else card()["calibration"]
        )
        if not old:
            made["calibration"] = None
        if not old and b"bare" not in head:
            made["calibration3"] = {"msv": {"mu": -8.0, "lambda": 0.7}, "viterbi": {"mu": -9.0, "lambda": 0.7},
                                    "forward": {"tau": -4.0, "lambda": 0.7}}  # fmt: skip
        return {"kind": "profiles", "path": path, "profiles": [made]}
    if head.startswith((b">", b"\x1f\x8b")):
        wish = request["alphabet"]
        alphabet = wish if wish != "auto" else "dna" if b"ACGT" in head else "amino"
        return {"kind": "sequences", "path": path, "report": report(path, 3000, alphabet)}
    if head.startswith(b"# STOCKHOLM"):
        made = report(path, 45)
        return {"kind": "sequences", "path": path, "report": {**made, "format": "Stockholm"}}
    raise ClalignError(f"{path}: this is a picture.", "Choose a sequence file.")


def devices(request: dict, job: Job) -> dict:
    if text := manners().get("warns"):
        job.warn(text)
    found = [GPU, CPU, BROKEN] if manners()["devices"] else []
    return {"devices": [device.to_dict() for device in (*found, REFERENCE)]}


def self_test(request: dict, job: Job) -> dict:
    checks = [{"name": "rrm_1", "equal": True, "detail": "22 hits"}]
    return {"device": request["device"], "health": "ready", "problem": "", "checks": checks}


def verify(request: dict, job: Job) -> dict:
    from clalign.runs.run_file import open_run

    with open_run(Path(request["run"]), writable=True) as run:
        chosen = request["hits"] or [row[0] for row in run.connection.execute("SELECT id FROM hits LIMIT 50")]
        run.add_verification("Reference (NumPy)", dict.fromkeys(chosen, True), [])
    return {"checked": len(chosen), "differing": 0, "details": [], "device": "Reference (NumPy)"}


def export(request: dict, job: Job) -> dict:
    from clalign.runs.run_file import open_run

    with open_run(Path(request["run"])) as run:
        n_written = len(request["hits"]) if request["hits"] is not None else run.n_hits()
    text = ">a\nMKVL\n" if Path(request["path"]).parent.name == "pasted" else f"{request['what']} {n_written}\n"
    Path(request["path"]).write_text(text)
    return {"written": n_written, "path": request["path"], "counts": "hit"}


def rung(name, factor, published, **more):
    return {
        "name": name, "group": "made up", "text": f"changes {name}", "choices": {"rows": "global", "unroll": "1"},
        "status": "done", "reason": None, "equal": True, "kernel_seconds": 0.2 / factor, "copy_seconds": 0.004,
        "gcups": 2.0 * factor, "speedup": factor, "registers": 40, "local_bytes": 0, "private_bytes": 64,
        "occupancy": 0.5, "published": {"seconds": 144.13 / published, "speedup": published}, **more,
    }  # fmt: skip


def ladder_document() -> dict:
    rows = [
        rung("basic", 1.0, 1.0), rung("unroll 8", 0.9, 1.03), rung("private scores", 12.4, 21.5),
        rung("final", 31.0, 52.8, registers=None, occupancy=None),
        {**rung("local emissions", 1.0, 1.45), "status": "not run", "equal": False, "kernel_seconds": None,
         "copy_seconds": None, "gcups": None, "speedup": None, "reason": "270 nodes need 66 kB of local memory."},
    ]  # fmt: skip
    if manners().get("wrong_rung"):
        rows[1].update(equal=False, speedup=None, kernel_seconds=None, gcups=None, copy_seconds=None,
                       reason="The scores of 3 of 1,000 sequences differ.")  # fmt: skip
    speeds = {"kernel_seconds": 0.01, "gcups": 60.0, "status": "done", "reason": None, "equal": True}
    return {
        "kind": "ladder", "engine": "viterbi", "device": GPU.to_dict(), "model": {"name": "Made-up", "length": 270},
        "database": {"n_sequences": 1000, "n_residues": 350000, "longest": 1500, "source": "made up"},
        "rows": rows,
        "experiments": {
            "granularity": [
                {"name": "coarse", "rows_per_launch": None, "published_speedup": 52.77, **speeds},
                {"name": "medium", "rows_per_launch": 50, "published_speedup": 18.11, **speeds}],
            "divergence": [{"name": "equal", "text": "equal sequences", "relative": 1.0, **speeds}],
            "work_group": [{"group": 32, "occupancy": 0.5, **speeds},
                           {"group": 256, "occupancy": 0.5, **speeds, "equal": not manners().get("wrong_rung")}],
            "copies": [{"name": "basic", "kernel_seconds": 0.2, "copy_seconds": 0.004, "share": 0.0196}],
        },
        "published": {"device": "made up"}, "versions": {"clalign": "0"}, "created": "2026-01-01T00:00:00",
    }  # fmt: skip


def ladder(request: dict, job: Job) -> dict:
    document = ladder_document()
    wanted = request["variants"]
    for number, row in enumerate(document["rows"]):
        job.check()
        job.progress("lab", number, len(document["rows"]), "rungs", now=row["name"])
        time.sleep(manners()["pause"])
        if wanted is not None and row["name"] not in wanted:
            row.update(status="not run", reason="It was not asked for.", speedup=None, equal=False)
        job.partial(row=row)
        job.progress("lab", number + 1, len(document["rows"]), "rungs")
        time.sleep(manners()["pause"])
    return {"ladder": document}


def pair_rung(name, total, published, **more):
    return {
        "name": name, "text": f"what {name} is", "choices": {}, "device": GPU.name, "status": "done", "reason": None,
        "equal": True, "total_seconds": total, "kernel_seconds": total / 2, "copy_seconds": total / 4,
        "host_seconds": total / 4, "gcups": 0.5 / total, "speedup": 2.0 / total, "registers": 24, "local_bytes": 6156,
        "occupancy": 0.75, "published": published, **more,
    }  # fmt: skip


def pair_ladder_document(request: dict) -> dict:
    there = {"total_seconds": 1.27, "kernel_seconds": 0.2736, "copy_seconds": 0.5337, "speedup": 2.57}
    alone = {"total_seconds": 3.27, "kernel_seconds": None, "copy_seconds": None, "speedup": 1.0}
    rows = [pair_rung("sequential", 2.0, alone), pair_rung("global", 0.5, there), pair_rung("path", 0.01, None)]
    if manners().get("wrong_rung"):
        rows[1].update(equal=False, speedup=None, reason="The alignments of 3 of 1,000 pairs differ.")
    return {
        "kind": "smith_waterman_ladder", "device": GPU.to_dict(), "pairs": request["pairs"],
        "length": request["length"], "scoring": {"matrix": "+1/-1", "gap": 2}, "runs": 5, "seed": 1, "rows": rows,
        "published": {"device": "made up"}, "versions": {"clalign": "0"}, "created": "2026-01-01T00:00:00",
    }  # fmt: skip


def hmm_rung(name, forward, published, **more):
    return {
        "name": name, "text": f"what {name} is", "choices": {}, "device": GPU.name, "status": "done", "reason": None,
        "equal": True, "forward_seconds": forward, "backward_seconds": forward, "baum_welch_seconds": 2 * forward,
        "posteriors_seconds": 2 * forward, "counts_seconds": 3 * forward, "total_seconds": 14 * forward,
        "kernel_seconds": 7 * forward, "gcups": 0.02 / forward, "sweep_gcups": [0.02 / forward] * 3,
        "speedup": 0.5 / forward, "registers": 40, "local_bytes": 3840, "occupancy": 0.5, "published": published,
        **more,
    }  # fmt: skip


def pair_hmm_ladder_document(request: dict) -> dict:
    there, alone = (
        {"forward_seconds": f, "backward_seconds": b, "baum_welch_seconds": w, "run_minutes": r, "speedup": s}
        for f, b, w, r, s in ((0.395, 0.4, 0.326, 57.806, 2.227), (0.767, 0.636, 1.055, 128.756, 1.0))
    )
    all_at_once = dict.fromkeys(("forward_seconds", "backward_seconds", "baum_welch_seconds", "sweep_gcups"))
    rows = [
        hmm_rung("sequential", 0.5, alone),
        hmm_rung("states", 0.1, there),
        hmm_rung("lanes", 0.001, None, **all_at_once),
    ]
    if manners().get("wrong_rung"):
        rows[1].update(equal=False, speedup=None, reason="A posterior or a count differs by 0.01, more than 1e-05.")
    sizes = [
        {**rows[1], "name": "1,417 x 1,460", "speedups": [5.0, 5.0, 5.0], "published_speedups": [1.942, 1.59, 3.236]}
    ]
    return {
        "kind": "pair_hmm_ladder", "device": GPU.to_dict(), "x": request["x"], "y": request["y"],
        "pairs": request["pairs"], "runs": 5, "seed": 1, "rows": rows, "experiments": {"sizes": sizes},
        "published": {"device": "made up"}, "versions": {"clalign": "0"}, "created": "2026-01-01T00:00:00",
    }  # fmt: skip


def pair_ladder(request: dict, job: Job) -> dict:
    make = {"smith_waterman_ladder": pair_ladder_document, "pair_hmm_ladder": pair_hmm_ladder_document}
    document = make[request["job"]](request)
    for number, row in enumerate(document["rows"], 1):
        job.check()
        job.partial(row=row)
        job.progress("lab", number, len(document["rows"]), "rungs")
        time.sleep(manners()["pause"])
    return {request["job"]: document}


def synchronization_document(request: dict) -> dict:
    from clalign.compute.group_barriers import GroupBarrier
    from clalign.labs.meeting_costs import predicted
    from clalign.labs.synchronization import USUAL_WAYS, WAYS, conclusions, how_of, numbers_of_groups

    costs = {"ta": 3e-7, "tc": 5e-7, "ts": 2e-7, "tw": 6e-7, "tl": 4e-6, "w": 1e-4}
    document = {
        "kind": "synchronization", "device": GPU.to_dict(), "program": request["program"], "size": 131072,
        "unit": "keys", "groups": [], "group_size": request["group_size"], "sets": request["sets"],
        "methods": request["methods"] or list(USUAL_WAYS), "runs": 5, "seed": 1, "rows": [],
        "published": {"device": "made up", "group_size": 32, "sets": 6}, "versions": {"clalign": "0"},
        "created": "2026-01-01T00:00:00",
    }  # fmt: skip
    for n in numbers_of_groups(request["groups"] or "7-60"):
        cells = {}
        for way in document["methods"]:
            how = how_of(way, n, request["group_size"], request["sets"])
            found = None if WAYS[way][0] == "launch" else min(n, 48)
            cell = {"status": "not run", "reason": how, "found": None, "equal": False, "runs": 0, "rounds": 0,
                    "took_part": 0, "seconds": None, "each": []}  # fmt: skip
            if isinstance(how, GroupBarrier) and found is not None and found < n and not how.discovered:
                cell |= {"found": found, "reason": f"this device ran {found} of {n} groups at once"}
            elif isinstance(how, GroupBarrier):
                seconds = 100 * predicted(costs, how)
                cell |= {"status": "done", "reason": None, "found": found, "equal": True, "runs": 5, "rounds": 100,
                         "took_part": found or n, "seconds": seconds, "each": [seconds] * 5}  # fmt: skip
            cells[way] = cell
        document["rows"].append({"n_groups": n, "cells": cells})
    if manners().get("wrong_rung"):
        document["rows"][0]["cells"]["lbs"].update(equal=False, seconds=None, reason="its results differ")
    times = [100 * predicted(costs, GroupBarrier(36, 32, "ilbs", sets)) for sets in range(1, 37)]
    best = times.index(min(times)) + 1
    sets = {"n_groups": 36, "seconds": times, "reason": None, "equal": True, "best": best, "root": 6.0}
    document["experiments"] = {"sets": [sets]}
    return {**document, **conclusions(document)}


def synchronization(request: dict, job: Job) -> dict:
    document = synchronization_document(request)
    for number, row in enumerate(document["rows"], 1):
        job.check()
        job.partial(row=row)
        job.progress("lab", number, len(document["rows"]), "numbers of groups")
        time.sleep(manners()["pause"])
    return {"synchronization": document}


def compared(device: Device, speed: float, start: float, **more) -> dict:
    curve = [{"residues": r, "seconds": start + r * 200 / speed / 1e9} for r in (1e4, 1e5, 1e6, 1e7, 1e8)]
    return {
        "device": device.to_dict(), "gcups": speed, "kernel_seconds": 4 / speed, "copy_seconds": 0.01,
        "start_seconds": start, "peak_gops": 20 * speed, "share_of_peak": 0.4, "scores_digest": "ab12",
        "sample_equal": True, "identical": True, "curve": curve, "error": None, **more,
    }  # fmt: skip


def comparison_document(*devices: Device) -> dict:
    rows = [compared(d, d.gcups or 0.02, 0.5 if d.kind == "gpu" else 0.02) for d in devices]
    return {
        "kind": "comparison", "created": "2026-01-01T00:00:00", "versions": {"clalign": "0"},
        "job": {"nodes": 200, "n_sequences": 1000, "n_residues": 350000, "cells": 7e7, "seed": 1,
                "operations_per_cell": 20, "data_digest": "d" * 16}, "devices": rows,
        "break_even": [{"slow": CPU.name, "fast": GPU.name, "residues": 1.333e7}],
    }  # fmt: skip


def bench(request: dict, job: Job) -> dict:
    chosen = [d for d in (GPU, CPU, REFERENCE) if d.id in request["devices"]]
    document = comparison_document(*chosen)
    for row in document["devices"]:
        job.check()
        job.partial(device=row)
        time.sleep(manners()["pause"])
        job.progress("bench", 1, 2, "devices")
    return {"comparison": document}


def compare_searches(request: dict, job: Job) -> dict:
    from clalign.formats.scratch import Scratch
    from clalign.labs.search_comparison import compare_searches

    def compute(device: Device, path: Path, context: Job) -> dict:
        return {**search({"job": "search", "run": str(path), "spec": request["spec"]}, context), "cells": 1e8}

    chosen = [d for d in (GPU, CPU, REFERENCE) if d.id in request["devices"]]
    with Scratch() as folder:
        return {"search_comparison": compare_searches(chosen, request["command"], compute, folder, job)}


def calibrate(request: dict, job: Job) -> dict:
    import numpy as np

    if manners()["fail"]:
        raise ClalignError(manners()["fail"], "Choose another device.")
    for done in range(0, request["n"] + 1, request["n"] // 5):
        job.check()
        histogram = {"low": -12, "width": 1, "counts": [done // 4, done // 2, done // 4]}
        job.partial(profile="Made-up", done=done, n=request["n"], histogram=histogram)
        time.sleep(manners()["pause"])
    scores = np.random.default_rng(request["seed"]).gumbel(MU, 1 / SLOPE, request["n"])
    counts, edges = np.histogram(scores, 60)
    histogram = {"low": float(edges[0]), "width": float(edges[1] - edges[0]), "counts": counts.tolist()}
    Path(request["output"]).write_text("HMMER2.0\nNAME calibrated\n")
    fit = {"name": "Made-up", "length": LENGTH, "mu": MU, "lambda": SLOPE, "n": request["n"], "seed": 7,
           "histogram": histogram, "longest": 350}  # fmt: skip
    return {"output": request["output"], "fits": [fit]}


def tune(request: dict, job: Job) -> dict:
    before = {"strip_nodes": 12, "lanes_group": 128}
    if request["reset"]:
        return {"device": GPU.name, "tuning": before, "before": {**before, "strip_nodes": 16}, "rows": []}
    rows = [{"choice": "strip_nodes", "value": v, "shape": "item", "gcups": float(v), "problem": ""} for v in (8, 16)]
    rows.append({"choice": "strip_nodes", "value": 24, "shape": "item", "gcups": 0.0, "problem": "its scores differ"})
    for number, row in enumerate(rows, 1):
        job.check()
        job.progress("tune", number, len(rows), "trials")
        job.partial(row=row)
        time.sleep(manners()["pause"])
    return {"device": GPU.name, "tuning": {**before, "strip_nodes": 16}, "before": before, "rows": rows}


def hmmbuild(request: dict, job: Job) -> dict:
    if manners()["fail"]:
        raise ClalignError("no column has at least 50 % residues.", "Choose a smaller --symfrac.")
    Path(request["output"]).write_text("HMMER3/f\nNAME built\n")
    return {"output": request["output"], "name": "built", "length": LENGTH, "n_sequences": 45}


def hmmalign(request: dict, job: Job) -> dict:
    Path(request["output"]).write_text("# STOCKHOLM 1.0\na MKVL\nb M-VL\n//\n")
    return {"output": request["output"], "profile": "Made-3", "n_sequences": 2}


def explain(request: dict, job: Job) -> dict:
    if request.get("name") == "nobody":
        raise ClalignError('no sequence is named "nobody".', "The name is the first word of a header.")
    if manners().get("reads_files"):
        from clalign.runs.inputs import input_of
        from clalign.runs.run_file import open_run

        with open_run(Path(request["run"])) as run:
            input_of(run, "targets", job)
    target = request.get("name") or f"row {request['row']} of {Path(request['run']).stem}"
    step = {"stage": "msv", "label": "MSV filter", "score": 1.0, "threshold": 2.0, "pvalue": 0.1, "limit": 0.02,
            "passed": False, "ran": True, "text": "It scores 1.0 bits; 2.0 are needed."}  # fmt: skip
    after = {**step, "stage": "forward", "label": "Forward filter", "ran": False}
    verdict = f"{target} is missed, because it does not pass this step: MSV filter."
    return {"profile": "Made-3", "target": target, "length": 300, "steps": [step, after], "verdict": verdict}


JOBS = {"search": search, "resume": search, "inspect": inspect, "devices": devices, "selftest": self_test,
        "verify": verify, "export": export, "ladder": ladder, "smith_waterman_ladder": pair_ladder,
        "pair_hmm_ladder": pair_ladder, "synchronization": synchronization, "bench": bench, "calibrate": calibrate,
        "compare_searches": compare_searches,
        "tune": tune, "explain": explain, "hmmbuild": hmmbuild, "hmmalign": hmmalign, "locate": worker.JOBS["locate"],
        "dry_run": lambda request, job: time.sleep(manners().get("lingers", 0)) or {"build_seconds": 17.5, "devices": [
            {"id": name, "name": name, "seconds": 3.0, "later_seconds": 1.5, "build_seconds": 17.5,
             "programs": 12, "new": 7 * bool(request["spec"].get("without_filters"))}
            for name in request["spec"].get("device", "auto").split(",")]}}  # fmt: skip


def perform(request: dict, job: Job) -> int:
    if manners()["fault"]:
        worker.JOBS["fault"] = lambda request, job: {"n": 1 // 0}
        return worker.perform({"job": "fault"}, job)
    try:
        job.send("started", **request)
        with worker_profiled(request, job):
            found = JOBS[request["job"]](request, job)
        job.send("finished", **found)
    except Cancelled:
        job.send("cancelled", run=request.get("run"))
        return 9
    except ClalignError as error:
        job.send("failed", message=error.message, hint=error.hint, exit_code=int(error.exit_code), traceback=None)
        return 3
    return 0


def main() -> int:
    def send(event: Event) -> None:
        print(event.to_json(), flush=True)  # noqa: T201

    orders, code = Orders(send), 0
    while code == 0 and (order := orders.next()) is not None:
        if order.job is not None:
            code = perform(order.request, order.job)
            if "--stay" not in sys.argv:
                break
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
