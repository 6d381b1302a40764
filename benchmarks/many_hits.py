"""What each hit of one profile costs the host: mutated copies of a family's members are searched with its profile.

python benchmarks/many_hits.py --profile RRM_1.hmm --members RRM_1.sto --sequences 20000

Prints one JSON object: microseconds of the processor for each hit that is reported, of the thread that makes and stores
hits and of the whole process with its kernels, and of each output, the first of which reads the run and the others take
what it has read; and the most memory that each took. The run and the outputs go to a temporary folder. `--rounds` says
how often; the least is shown, since other work on the machine can only add.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clalign import api
from clalign.engines.export import export
from clalign.engines.export_source import KeptHits

OUTPUTS = ("tblout", "domtblout", "text", "stockholm")

LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)

SEED = 38


def members_of(path: Path) -> list[npt.NDArray[np.uint8]]:
    """Return the sequences of an alignment in Stockholm format."""
    texts: dict[str, str] = {}
    for line in path.read_text("utf-8").splitlines():
        if line and not line.startswith(("#", "//")):
            name, text = line.split()
            texts[name] = texts.get(name, "") + re.sub("[^A-Za-z]", "", text).upper()
    return [np.frombuffer(text.encode(), np.uint8) for text in texts.values()]


def write_copies(path: Path, members: list[npt.NDArray[np.uint8]], n: int) -> None:
    """Write sequences with one or two members each, of which 10 to 55 % of the residues are replaced."""
    rng = np.random.default_rng(SEED)
    with path.open("wb") as stream:
        for number in range(n):
            parts = [rng.choice(LETTERS, int(rng.integers(5, 100)))]
            for _ in range(int(rng.integers(1, 3))):
                copy = members[int(rng.integers(len(members)))].copy()
                changed = rng.random(len(copy)) < rng.uniform(0.1, 0.55)
                copy[changed] = rng.choice(LETTERS, int(changed.sum()))
                at, length = int(rng.integers(len(copy))), int(rng.integers(0, 4))
                parts += [np.delete(copy, slice(at, at + length)), rng.choice(LETTERS, int(rng.integers(5, 60)))]
            stream.write(b">copy%07d Mutated copy of a member\n%s\n" % (number, np.concatenate(parts).tobytes()))


def peak_megabytes() -> float | None:
    """Return the most memory that this process has had; None where that is not known."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10))


def measure(profile: Path, targets: Path, run: Path, device: str) -> dict[str, float | None]:
    """Search, write all outputs, and return what was measured."""
    began = time.thread_time(), time.process_time()
    n = len(api.hmmsearch(profile, targets, run=run, device=device))
    spent = time.thread_time() - began[0], time.process_time() - began[1]
    found: dict[str, float | None] = {"hits": n, "hits_us": spent[0] * 1e6 / n, "search_us": spent[1] * 1e6 / n}
    found["search_megabytes"], kept = peak_megabytes(), KeptHits()
    for name in OUTPUTS:
        start = time.thread_time()
        export(run, name, run.with_suffix(f".{name}"), kept=kept)
        found[f"{name}_us"] = (time.thread_time() - start) * 1e6 / n
    return {**found, "megabytes": peak_megabytes(), "run_bytes": run.stat().st_size / n}


def main() -> None:
    """Make the sequences, measure in a process of its own each time, and print the least of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--profile", type=Path, required=True)
    parser.add_argument("--members", type=Path, required=True, help="its alignment, in Stockholm format")
    parser.add_argument("--sequences", type=int, default=20_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        targets = Path(folder) / "copies.fasta"
        write_copies(targets, members_of(options.members), options.sequences)
        with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            rounds = [
                pool.apply(measure, (options.profile, targets, Path(folder) / f"{number}.clalign", options.device))
                for number in range(options.rounds)
            ]
    least = {name: min(one[name] or 0.0 for one in rounds) for name in rounds[0]}
    print(json.dumps({name: round(value, 1) for name, value in least.items()}, indent=1))


if __name__ == "__main__":
    main()
