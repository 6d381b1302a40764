"""One device, two, and a card with the processor beside it: the same searches, one after the other, equality first.

`sw` compares twenty random queries, and `hmmsearch` a hundred models, with random sequences of Swiss-Prot's lengths, of
which some hold a copy of a model. Each search is a job of its own as the command line starts it. What it takes is
counted from the first unit that is stored to the end: so much longer or shorter a job takes does not depend on how long
drivers take to start. Sets of devices take turns, and the median of each is compared with that of the first device
alone. Before anything is compared, the exports and the scores of every run are held against those of the first device.
Prints one JSON object; the exit code is 1 where results differ.

    python benchmarks/several_devices.py --device 0:0 --second 0:1 --processor cpu --output several_devices.json
    python benchmarks/several_devices.py --device 0:0 --second 0:1 --sequences 3000 --queries 3 --models 4 --repeats 1
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from hmmer3_search import write_random_models, write_sequences

from clalign.runs.run_file import open_run
from clalign.values.alphabets import decode
from clalign.values.synthetic import random_codes

WANTED = 1.8
"""Times one card with two of a kind, for the part after the start."""

SEED = 16
QUERY_LENGTHS = (144, 189, 222, 336, 464, 567, 657, 729, 850, 1000)

VARYING = re.compile(
    r"^(# )?(date|run|time|mc/sec|device|program|version|command|option|current dir|computed again).*$|search on .*$",
    re.IGNORECASE | re.MULTILINE,
)
"""Lines of exports about the hour, the place, the speed and the device."""


def write_queries(out: Path, n: int) -> None:
    """Write `n` random queries."""
    with out.open("w") as file:
        for number in range(n):
            length = QUERY_LENGTHS[number % len(QUERY_LENGTHS)]
            file.write(f">q{number}\n{decode(random_codes(np.random.default_rng([SEED, number]), length))}\n")


def searched(command: list[str], words: str, folder: Path) -> dict[str, Any]:
    """Run a search on some devices; return times, what each device did, and a digest of the results."""
    run, table = folder / "run.clalign", folder / "hits.tsv"
    for path in (run, table):
        path.unlink(missing_ok=True)
    outputs = ["--run", str(run), "--tsv", str(table), "-o", os.devnull, "--progress", "json"]
    began, first = time.perf_counter(), None
    words_of = [sys.executable, "-m", "clalign", command[0], "--device", words, *outputs, *command[1:]]
    with subprocess.Popen(words_of, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        last: dict[str, Any] = {}
        for line in process.stderr:
            if not line.startswith("{"):
                continue
            event, now = json.loads(line), time.perf_counter()
            first = now if first is None and event["kind"] == "partial" else first
            if event["kind"] in ("finished", "failed"):
                last, ended = event, now
    if not last or last["kind"] != "finished" or process.returncode:
        raise SystemExit(f"{' '.join(words_of)} has failed: {last}")
    value = last["value"]
    devices = value.get("devices") or [{"name": value["device"], "share": 1.0, "gcups": value["gcups"]}]
    return {
        "devices": words, "after_start_s": ended - (first or began), "whole_s": ended - began,
        "n_hits": value["n_hits"], "gcups": value["gcups"], "parts": devices, "digest": digest_of(run, table),
    }  # fmt: skip


def digest_of(run: Path, table: Path) -> str:
    """Return what distinguishes the results of a run from others: its table of hits, and all scores."""
    found = hashlib.sha256(VARYING.sub("", table.read_text()).encode())
    with open_run(run) as file:
        for number in range(file.n_queries()):
            for _, _, values in file.scores(number):  # whatever the units were
                found.update(np.ascontiguousarray(values, "<i4").tobytes())
    return found.hexdigest()


def write_inputs(folder: Path, n_queries: int, n_models: int, n_sequences: int, planted: int) -> None:
    """Write the files of both searches to a folder, which may have them already."""
    if (folder / "targets.fa").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    write_queries(folder / "queries.fa", n_queries)
    models = write_random_models(folder / "models.hmm", n_models)
    write_sequences(folder / "targets.part", models, n_sequences, planted)
    (folder / "targets.part").rename(folder / "targets.fa")


def compared(command: list[str], sets: list[str], repeats: int, folder: Path) -> dict[str, Any]:
    """Return the times of a search on each set of devices, in turn, beside those of the first one."""
    for words in sets:  # so that kernels are built and the database is packed
        searched(command, words, folder)
    rows = []
    for words in sets * repeats:
        rows.append(searched(command, words, folder))
        print(json.dumps({"command": command[0], **rows[-1]}), file=sys.stderr, flush=True)
    one = statistics.median(row["after_start_s"] for row in rows if row["devices"] == sets[0])
    found = {}
    for words in sets:
        times = [row["after_start_s"] for row in rows if row["devices"] == words]
        found[words] = {"median_s": statistics.median(times), "times_one": one / statistics.median(times)}
    return {"equal": len({row["digest"] for row in rows}) == 1, "sets": found, "rows": rows}


def main() -> int:
    """Compare the searches, and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="0:0", help="the device that is compared with")
    parser.add_argument("--second", help="a second one of its kind")
    parser.add_argument("--processor", help="the driver of the processor beside it")
    parser.add_argument("--sequences", type=int, default=530_000, help="of the database: 190 million residues")
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--planted", type=int, default=50, help="one in so many sequences holds a model's copy")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=("sw", "hmmsearch"))
    parser.add_argument("--inputs", type=Path, help="a folder that keeps the files of the searches, or has them")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    others = [f"{options.device},{other}" for other in (options.second, options.processor) if other]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = options.inputs or folder
        write_inputs(inputs, options.queries, options.models, options.sequences, options.planted)
        sets, targets = [options.device, *others], str(inputs / "targets.fa")
        commands = {
            "sw": ["sw", str(inputs / "queries.fa"), targets],
            "hmmsearch": ["hmmsearch", str(inputs / "models.hmm"), targets],
        }
        searches = {
            name: compared(command, sets, options.repeats, folder)
            for name, command in commands.items() if options.only in (None, name)
        }  # fmt: skip
    report = {
        "python": platform.python_version(), "cores": os.cpu_count(), "sequences": options.sequences,
        "queries": options.queries, "models": options.models, "wanted_of_two": WANTED, "searches": searches,
    }  # fmt: skip
    text = json.dumps(report, indent=1)
    if options.output:
        options.output.write_text(text + "\n")
    print(text)
    return 0 if all(found["equal"] for found in searches.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
