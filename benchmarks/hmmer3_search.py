"""Speed of a whole HMMER3 search: this program, hmmsearch and pyhmmer side by side in one run.

Every program searches the same models in the same sequences on all cores: this one from its cache,
hmmsearch from the FASTA file, pyhmmer with the sequences in memory (reading them is not counted).
They take turns, so that a machine whose speed drifts treats them alike; wall clock and, for the
programs that are processes of their own, processor seconds (user and system, all their processes).
What this program and hmmsearch report is compared line by line, and a digest of both tables of this
program shows whether two versions of it report the same. Without a library random models with the
lengths of Pfam's are made, and without a file of sequences random ones with the lengths of
Swiss-Prot, some with a copy of a model's consensus. Prints one JSON object.

    python benchmarks/hmmer3_search.py --profiles pfam.hmm --targets proteins.fasta --device cpu
    python benchmarks/hmmer3_search.py --profiles pfam.hmm --models 0 --targets proteome.fasta --device cpu --cpu 0
    python benchmarks/hmmer3_search.py --profiles pfam.hmm --models 0 --targets proteome.fasta --cpu 0 --scan
    python benchmarks/hmmer3_search.py --models 100 --sequences 300000 --planted 5 --device gpu --peers
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gzip
import hashlib
import json
import math
import os
import platform
import re
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from msgspec.structs import replace

from clalign.formats.profiles import load_profiles
from clalign.values.alphabets import decode, encode
from clalign.values.profiles import Hmm, Hmmer3Settings
from clalign.values.synthetic import random_local_hmm, swissprot_batch

LINE = 60

LENGTHS = (47, 60, 75, 79, 94, 99, 102, 105, 108, 115, 117, 125, 142, 145, 158, 166, 175, 210, 220, 293, 329, 335, 355,
           392, 441)  # fmt: skip
"""Of synthetic models: some of Pfam's."""


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


def save_text(hmm: Hmm) -> str:
    """Return a model as a HMMER3 save file, in HMMER's columns: of others numbers are read one by one."""

    def line(values: Any, first: str = "") -> str:
        numbers = ("        *" if p <= 0 else f"{-math.log(p):9.5f}" for p in values.tolist())
        return f"{first:>7s} {''.join(numbers)}"

    settings = hmm.settings
    assert isinstance(settings, Hmmer3Settings)
    assert settings.composition is not None
    named = (("MSV", settings.msv), ("VITERBI", settings.viterbi), ("FORWARD", settings.forward))
    statistics = [f"STATS LOCAL {name} {one.location} {one.slope}" for name, one in named if one is not None]
    out = [
        "HMMER3/f", f"NAME  {hmm.name}", f"LENG  {hmm.length}", "ALPH  amino", "RF    no", "MM    no", "CONS  yes",
        "CS    no", "MAP   no", *statistics, f"HMM   {' '.join(hmm.alphabet.canonical)}",
        "      m->m m->i m->d i->m i->i d->m d->d", line(settings.composition, "COMPO"),
        line(hmm.insert[0]), line(hmm.transitions[0]),
    ]  # fmt: skip
    for node in range(1, hmm.length + 1):
        out += [
            f"{line(hmm.match[node], str(node))} - {hmm.consensus[node - 1]} - - -",
            line(hmm.insert[node]), line(hmm.transitions[node]),
        ]  # fmt: skip
    return "\n".join([*out, "//", ""])


def write_random_models(out: Path, n: int) -> list[Hmm]:
    """Write `n` random models as a library; return them."""
    with out.open("w") as file:
        for number in range(n):
            hmm = random_local_hmm(np.random.default_rng([3, number]), LENGTHS[number % len(LENGTHS)])
            file.write(save_text(replace(hmm, name=f"random{number}")))
    return load_profiles(str(out))


def write_sequences(out: Path, models: list[Hmm], n: int, planted: int) -> None:
    """Write `n` random sequences, one in `planted` with a copy of a model's consensus."""
    rng = np.random.default_rng(11)
    batch = swissprot_batch(rng, n)
    shuffled = rng.permutation(n)
    with out.open("w") as file:
        for number, row in enumerate(shuffled.tolist()):
            codes = batch.residues(row)
            if number % planted == 0:
                copy = encode(models[number // planted % len(models)].consensus)
                changed = rng.random(len(copy)) < 0.4
                copy[changed] = batch.codes[rng.integers(0, len(batch.codes), int(changed.sum()))]
                codes = np.concatenate([codes[: len(codes) // 2], copy, codes[len(codes) // 2 :]])
            text = decode(codes)
            file.write(f">s{number}\n")
            file.writelines(text[k : k + LINE] + "\n" for k in range(0, len(text), LINE))


def hits_of(path: Path) -> list[str]:
    """Return the lines of a table of hits without those about the program and its files."""
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


Spent = tuple[float, float | None]
"""Seconds by the clock, and of the processor where they are known."""


ADOPT = 36
"""Linux's word by which a process becomes the parent of what its children leave."""


def children(process: int | str = "self") -> set[int]:
    """Return the processes that have one as their parent (Linux)."""
    found = set[int]()
    with contextlib.suppress(OSError):  # it may end meanwhile
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            found |= {int(word) for word in path.read_text().split()}
    return found


def run_command(command: list[Any], **options: Any) -> tuple[float, float]:
    """Run a program; return what it took, its children's processor seconds included.

    A worker may end a moment after its command has, whose time would count nowhere if nobody waited for it.
    """
    ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
    others, before, began = children(), resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, **options)
    wall = time.perf_counter() - began
    for left in children() - others:
        os.waitpid(left, 0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class Memory:
    """Looks, while it is entered, at how much memory the processes that are begun meanwhile have in use (Linux).

    What the system reports of ended children would not do: it counts this program's own memory, which they share until
    they become another program.
    """

    def __enter__(self) -> Self:
        self._most: dict[int, float] = {}
        self._is_over = threading.Event()
        self._looking = threading.Thread(target=self._look, args=[children()])
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._looking.join()

    @property
    def megabytes(self) -> float:
        """The most that each of them had in use, files that are mapped included, summed up."""
        return round(sum(self._most.values()), 1)

    def _look(self, others: set[int]) -> None:
        while not self._is_over.wait(0.05):
            found = children() - others
            while found:
                process = found.pop()
                found |= children(process)
                with contextlib.suppress(OSError):
                    peak = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
                    if peak:  # it only grows, but for the moment in which another program begins in it
                        self._most[process] = int(peak[1]) / 1024


class Search:
    """One search, done by several programs in turn."""

    def __init__(
        self, models: Path, targets: Path, device: str, folder: Path, cores: int, program: str = "hmmsearch"
    ) -> None:
        self.program = program
        self.models, self.targets, self.device, self.folder = models, targets, device, folder
        self.environment = {**os.environ, "CLALIGN_CACHE_DIR": str(folder / "cache")}
        self.cores = str(cores)

    def clalign(self) -> Spent:
        """Run this program; its results stay for `stages` and `compared`."""
        run = self.folder / "run.clalign"
        for left in self.folder.glob("run.clalign*"):
            left.unlink()
        command = [sys.executable, "-m", "clalign", self.program, "--progress", "none", "--device", self.device]
        tables = ["--tblout", str(self.folder / "ours.tbl"), "--domtblout", str(self.folder / "ours.dom")]
        return run_command(
            [*command, "-o", os.devnull, *tables, "--run", str(run), self.models, self.targets],
            env=self.environment, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def stages(self) -> dict[str, Any]:
        """Return the device's time in each kernel, as the last run noted it."""
        with contextlib.closing(sqlite3.connect(self.folder / "run.clalign")) as connection:
            found = connection.execute("SELECT value FROM facts WHERE name = 'finished'").fetchone()
        summary: dict[str, Any] = json.loads(found[0])
        del summary["run"]
        return summary

    def hmmsearch(self) -> Spent | None:
        """Run HMMER's program, which for a scan is hmmscan; its library is pressed first, and that is not counted."""
        program = shutil.which(self.program)
        if program is None:
            return None
        if self.program == "hmmscan" and not self.models.with_name(f"{self.models.name}.h3m").exists():
            subprocess.run(["hmmpress", self.models], check=True, stdout=subprocess.DEVNULL)
        return run_command(
            [program, "--cpu", self.cores, "-o", os.devnull, "--tblout", self.folder / "theirs.tbl",
             "--domtblout", self.folder / "theirs.dom", self.models, self.targets]
        )  # fmt: skip

    def pyhmmer(self) -> Spent | None:
        """Run pyhmmer; its own process reads the sequences first and counts what follows."""
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
        return (float(done.stdout), None) if done.returncode == 0 else None

    def compared(self) -> dict[str, dict[str, int]]:
        """Return how many lines of the tables of hits and of domains are equal."""
        found = {}
        for kind in ("tbl", "dom"):
            ours, theirs = hits_of(self.folder / f"ours.{kind}"), hits_of(self.folder / f"theirs.{kind}")
            same = sum(a == b for a, b in zip(ours, theirs, strict=False))
            found[kind] = {"ours": len(ours), "theirs": len(theirs), "equal": same}
        return found

    def digest(self) -> str:
        """Return a checksum of this program's tables, the lines about the program and its files left out."""
        lines = [line for kind in ("tbl", "dom") for line in hits_of(self.folder / f"ours.{kind}")]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def measured(search: Search, repeats: int, peers: list[str]) -> dict[str, Any]:
    """Let the programs take turns; return their median times."""
    subprocess.run(
        [sys.executable, "-m", "clalign", "devices"], env=search.environment, check=True, capture_output=True
    )
    with Memory() as cold_memory:
        cold, _ = search.clalign()
    turns: dict[str, list[Spent]] = {name: [] for name in peers}
    megabytes: dict[str, list[float]] = {name: [] for name in peers}
    for _ in range(repeats):
        for name, spent in turns.items():
            with Memory() as memory:
                found = getattr(search, name)()
            megabytes[name].append(memory.megabytes)
            if found is not None:
                spent.append(found)
    wall = {name: [seconds for seconds, _ in spent] for name, spent in turns.items()}
    processor = {name: [cpu for _, cpu in spent if cpu is not None] for name, spent in turns.items()}
    return {
        "cold_seconds": round(cold, 3),
        "cold_megabytes": cold_memory.megabytes,
        "seconds": {name: [round(value, 3) for value in seconds] for name, seconds in wall.items()},
        "ratio": _ratios(wall),
        "cpu_seconds": {name: [round(value, 3) for value in seconds] for name, seconds in processor.items()},
        "cpu_ratio": _ratios(processor),
        "megabytes": megabytes,
        "finished": search.stages(),
        "lines": search.compared() if turns.get("hmmsearch") else None,
        "digest": search.digest(),
    }


def _ratios(seconds: dict[str, list[float]]) -> dict[str, float]:
    """Return how many times as long as this program the others take, by their medians."""
    medians = {name: statistics.median(values) for name, values in seconds.items() if values}
    return {name: round(value / medians["clalign"], 2) for name, value in medians.items() if name != "clalign"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profiles", type=Path, help="HMMER3 library")
    parser.add_argument("--models", type=int, default=20, help="how many of them; 0 for all")
    parser.add_argument("--targets", type=Path, help="FASTA file, not compressed")
    parser.add_argument("--sequences", type=int, default=30_000, help="size of the synthetic database")
    parser.add_argument("--planted", type=int, default=50, help="one in so many of its sequences holds a model's copy")
    parser.add_argument("--scan", action="store_true", help="hmmscan in place of hmmsearch")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--cpu", type=int, default=os.cpu_count(), help="threads of the other programs")
    parser.add_argument("--peers", nargs="*", choices=("hmmsearch", "pyhmmer"), default=["hmmsearch", "pyhmmer"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.profiles is None:
            models = write_random_models(folder / "models.hmm", options.models)
        else:
            models = write_models(options.profiles, folder / "models.hmm", options.models)
        targets = options.targets
        if targets is None:
            targets = folder / "synthetic.fasta"
            write_sequences(targets, models, options.sequences, options.planted)
        program = "hmmscan" if options.scan else "hmmsearch"
        search = Search(folder / "models.hmm", targets, options.device, folder, options.cpu, program)
        peers = [name for name in options.peers if not (options.scan and name == "pyhmmer")]
        found = measured(search, options.repeats, ["clalign", *peers])
    lengths = [hmm.length for hmm in models]
    cells = found["finished"]["n_residues"] * sum(lengths)
    found["gcups"] = round(cells / statistics.median(found["seconds"]["clalign"]) / 1e9, 2)
    head = {
        "kind": f"hmmer3 {'scan' if options.scan else 'search'}",
        "system": f"{platform.system()} {platform.machine()}", "cores": os.cpu_count(),
        "targets": targets.name, "models": len(models), "cells": cells,
        "lengths": [min(lengths), statistics.median(lengths), max(lengths)],
    }  # fmt: skip
    text = json.dumps({**head, **found}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
