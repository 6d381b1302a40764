"""Speed of a whole HMMER3 search: this program, hmmsearch and pyhmmer side by side in one run.

Every program searches the same models in the same sequences on all cores: this one from its cache,
hmmsearch from the FASTA file, pyhmmer with the sequences in memory (reading them is not counted).
They take turns, so that a machine whose speed drifts treats them alike. What this program and
hmmsearch report is compared line by line. Without a file of sequences a synthetic one is made:
random sequences with the lengths of Swiss-Prot, one in fifty with a copy of a model's consensus.
Prints one JSON object.

    python benchmarks/hmmer3_search.py --profiles pfam.hmm --targets proteins.fasta --device cpu
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import platform
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from clalign.formats.profiles import load_profiles
from clalign.values.alphabets import decode, encode
from clalign.values.profiles import Hmm
from clalign.values.synthetic import swissprot_batch

LINE = 60

PLANTED = 50
"""One in so many synthetic sequences holds a copy of a model."""


def records(path: Path) -> list[str]:
    """Return the texts of the models of a library."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    return [record.lstrip("\n") + "//\n" for record in text.split("\n//\n") if record.strip()]


def write_models(path: Path, out: Path, n: int) -> list[Hmm]:
    """Write `n` models of evenly spread lengths as a library; return them (all of them for 0)."""
    texts, models = records(path), load_profiles(str(path))
    order = sorted(range(len(models)), key=lambda k: models[k].length)
    places = [round(k * (len(order) - 1) / max(1, n - 1)) for k in range(n)] if n else range(len(order))
    out.write_text("".join(texts[order[k]].removesuffix("//\n").rstrip("\n") + "\n//\n" for k in places))
    return [models[order[k]] for k in places]


def write_sequences(out: Path, models: list[Hmm], n: int) -> None:
    """Write `n` random sequences, some with a copy of a model's consensus."""
    rng = np.random.default_rng(11)
    batch = swissprot_batch(rng, n)
    shuffled = rng.permutation(n)
    with out.open("w") as file:
        for number, row in enumerate(shuffled.tolist()):
            codes = batch.residues(row)
            if number % PLANTED == 0:
                copy = encode(models[number // PLANTED % len(models)].consensus)
                changed = rng.random(len(copy)) < 0.4
                copy[changed] = batch.codes[rng.integers(0, len(batch.codes), int(changed.sum()))]
                codes = np.concatenate([codes[: len(codes) // 2], copy, codes[len(codes) // 2 :]])
            text = decode(codes)
            file.write(f">s{number}\n")
            file.writelines(text[k : k + LINE] + "\n" for k in range(0, len(text), LINE))


def hits_of(path: Path) -> list[str]:
    """Return the lines of a table of hits without those that tell of the program and its files."""
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


class Search:
    """One search, done by several programs in turn."""

    def __init__(self, models: Path, targets: Path, device: str, folder: Path) -> None:
        self.models, self.targets, self.device, self.folder = models, targets, device, folder
        self.environment = {**os.environ, "CLALIGN_CACHE_DIR": str(folder / "cache")}
        self.cores = str(os.cpu_count())

    def clalign(self) -> float:
        """Run this program; its results stay for `stages` and `compared`."""
        run = self.folder / "run.clalign"
        for left in self.folder.glob("run.clalign*"):
            left.unlink()
        command = [sys.executable, "-m", "clalign", "hmmsearch", "--progress", "none", "--device", self.device]
        tables = ["-o", os.devnull, "--tblout", str(self.folder / "ours.tbl"), "--run", str(run)]
        began = time.perf_counter()
        subprocess.run([*command, *tables, self.models, self.targets], env=self.environment, check=True)
        return time.perf_counter() - began

    def stages(self) -> dict[str, Any]:
        """Return the device's time in each kernel, as the last run noted it."""
        with contextlib.closing(sqlite3.connect(self.folder / "run.clalign")) as connection:
            found = connection.execute("SELECT value FROM facts WHERE name = 'finished'").fetchone()
        summary: dict[str, Any] = json.loads(found[0])
        del summary["run"]
        return summary

    def hmmsearch(self) -> float | None:
        """Run HMMER's program on all cores."""
        program = shutil.which("hmmsearch")
        if program is None:
            return None
        began = time.perf_counter()
        subprocess.run(
            [program, "--cpu", self.cores, "-o", os.devnull, "--tblout", self.folder / "theirs.tbl", self.models,
             self.targets], check=True,
        )  # fmt: skip
        return time.perf_counter() - began

    def pyhmmer(self) -> float | None:
        """Run pyhmmer on all cores; its own process reads the sequences first and counts what follows."""
        script = (
            "import sys, time, pyhmmer\n"
            "models = list(pyhmmer.plan7.HMMFile(sys.argv[1]))\n"
            "block = pyhmmer.easel.SequenceFile(sys.argv[2], digital=True, alphabet=models[0].alphabet).read_block()\n"
            "began = time.perf_counter()\n"
            "n = sum(len(hits) for hits in pyhmmer.hmmsearch(models, block, cpus=int(sys.argv[3])))\n"
            "print(time.perf_counter() - began)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, self.models, self.targets, self.cores], capture_output=True, text=True
        )
        return float(done.stdout) if done.returncode == 0 else None

    def compared(self) -> dict[str, int]:
        """Return how many lines of the two tables of hits are equal."""
        ours, theirs = hits_of(self.folder / "ours.tbl"), hits_of(self.folder / "theirs.tbl")
        same = sum(a == b for a, b in zip(ours, theirs, strict=False))
        return {"ours": len(ours), "theirs": len(theirs), "equal": same}


def measured(search: Search, repeats: int) -> dict[str, Any]:
    """Let the programs take turns; return their median times."""
    subprocess.run(
        [sys.executable, "-m", "clalign", "devices"], env=search.environment, check=True, capture_output=True
    )
    cold = search.clalign()
    turns: dict[str, list[float]] = {"clalign": [], "hmmsearch": [], "pyhmmer": []}
    for _ in range(repeats):
        for name, seconds in turns.items():
            spent = getattr(search, name)()
            if spent is not None:
                seconds.append(spent)
    medians = {name: statistics.median(seconds) for name, seconds in turns.items() if seconds}
    return {
        "cold_seconds": round(cold, 3),
        "seconds": {name: [round(value, 3) for value in seconds] for name, seconds in turns.items()},
        "ratio": {name: round(value / medians["clalign"], 2) for name, value in medians.items() if name != "clalign"},
        "finished": search.stages(),
        "lines": search.compared() if turns["hmmsearch"] else None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, required=True, help="HMMER3 library")
    parser.add_argument("--models", type=int, default=20, help="how many of them; 0 for all")
    parser.add_argument("--targets", type=Path, help="FASTA file, not compressed")
    parser.add_argument("--sequences", type=int, default=30_000, help="size of the synthetic database")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = write_models(options.profiles, folder / "models.hmm", options.models)
        targets = options.targets
        if targets is None:
            targets = folder / "synthetic.fasta"
            write_sequences(targets, models, options.sequences)
        found = measured(Search(folder / "models.hmm", targets, options.device, folder), options.repeats)
    cells = found["finished"]["n_residues"] * sum(hmm.length for hmm in models)
    found["gcups"] = round(cells / statistics.median(found["seconds"]["clalign"]) / 1e9, 2)
    head = {
        "kind": "hmmer3 search", "system": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count(),
        "targets": targets.name, "lengths": [hmm.length for hmm in models], "cells": cells,
    }  # fmt: skip
    text = json.dumps({**head, **found}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
