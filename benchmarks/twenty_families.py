"""Plan7 Viterbi over the twenty Pfam families of the published ladder, on a database like Swiss-Prot.

The models are random and seeded, with the families' numbers of nodes and HMMER2's default mode (ls);
so is the database: 530,000 sequences, mean length 354, the longest 35,000, or a part of it. Copies of
each model's consensus are planted in some sequences. For every family the scores of the whole
database are first compared with those of the `lanes` kernel in its plain form, and a sample with the
reference; then the stage runs on the resident database: the time is that from its start to the
scores on the host. At last the whole program runs on the same database from a warm cache, all
families in one file. Prints one JSON object.

    python benchmarks/twenty_families.py --device gpu --output twenty_families_gpu.json
    python benchmarks/twenty_families.py --device cpu --sequences 4000 --repeats 3
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from clalign.compute.opencl.choice import pick_device
from clalign.compute.opening import open_session
from clalign.labs.published_ladder import FAMILIES
from clalign.reference.viterbi import viterbi_score
from clalign.stages.plan7.viterbi import VITERBI, ViterbiStage
from clalign.values.alphabets import AMINO, decode, encode
from clalign.values.profiles import DD, DM, II, IM, MD, MI, MM, Hmm, to_integer_profile
from clalign.values.sequences import SequenceBatch
from clalign.values.synthetic import random_hmm, swissprot_batch

SEED = 20
PLANTED = 20
"""Sequences that hold a family's consensus."""

SAMPLE_CELLS = 2_000_000


def family_model(name: str, nodes: int, local: bool) -> Hmm:
    """Return the family's random model."""
    rng = np.random.default_rng([SEED, nodes])
    return replace(random_hmm(rng, nodes, local), name=name)


def planted(batch: SequenceBatch, models: list[Hmm]) -> SequenceBatch:
    """Return the batch with every model's consensus written over parts of some sequences."""
    rng = np.random.default_rng(SEED)
    codes, lengths = batch.codes.copy(), batch.lengths
    for hmm in models:
        wide = np.flatnonzero(lengths > hmm.length + 10)
        for row in rng.choice(wide, min(PLANTED, len(wide)), replace=False):
            at = int(batch.offsets[row]) + int(rng.integers(0, lengths[row] - hmm.length))
            codes[at : at + hmm.length] = encode(hmm.consensus)
    return SequenceBatch(codes, batch.offsets, batch.targets)


def save_text(hmm: Hmm) -> str:
    """Return a model as a HMMER2 save file."""

    def number(p: float, null: float = 1.0) -> str:
        return f"{math.floor(1000 * math.log2(p / null) + 0.5):d}" if p > 0 else "*"

    def line(values: Any, null: Any = None) -> str:
        nulls = np.ones(len(values)) if null is None else null
        return " ".join(number(float(p), float(n)) for p, n in zip(values, nulls, strict=True))

    s, k = hmm.settings, AMINO.size
    out = [
        "HMMER2.0", f"NAME  {hmm.name}", f"LENG  {hmm.length}", "ALPH  Amino", "RF    no", "CS    no", "MAP   no",
        f"XT    {line(s.special.ravel())}", f"NULT  {line(s.null_loop)}", f"NULE  {line(s.null, np.full(k, 1 / k))}",
        "HMM   " + " ".join(AMINO.canonical), "      m->m m->i m->d i->m i->i d->m d->d b->m m->e",
        f"      {number(1 - s.begin_to_delete)} * {number(s.begin_to_delete)}",
    ]  # fmt: skip
    for node in range(1, hmm.length + 1):
        inner, t = node < hmm.length, hmm.transitions[node]
        steps = line([t[kind] for kind in (MM, MI, MD, IM, II, DM, DD)]) if inner else "* * * * * * *"
        out += [
            f"{node} {line(hmm.match[node], s.null)}",
            f"- {line(hmm.insert[node], s.null) if inner else ' '.join('*' * k)}",
            f"- {steps} {number(s.begin[node])} {number(s.end[node])}",
        ]
    return "\n".join([*out, "//", ""])


def write_fasta(path: Path, batch: SequenceBatch) -> None:
    """Write the batch in a shuffled order, as a file from elsewhere would be."""
    order = np.random.default_rng(SEED).permutation(len(batch))
    with path.open("w") as out:
        for row in order:
            out.write(f">s{row}\n{decode(batch.codes[batch.offsets[row] : batch.offsets[row + 1]])}\n")


def differing(session: Any, batch: SequenceBatch, hmm: Hmm) -> dict[str, int]:
    """Return how many scores differ from the plain kernel's, and in a sample from the reference's."""
    profile = to_integer_profile(hmm)
    found = session.run(VITERBI, batch, profile).values
    plain = ViterbiStage("vector", PLAIN=1) if session.device.kind == "cpu" else ViterbiStage("lanes", PLAIN=1)
    other = session.run(plain, batch, profile).values
    n = max(3, SAMPLE_CELLS // (354 * hmm.length))
    rows = np.random.default_rng(SEED).choice(len(batch), min(n, len(batch)), replace=False)
    rows = np.union1d(rows[batch.lengths[rows] < 3000], np.argsort(-found, kind="stable")[:2])
    offsets = batch.offsets
    exact = [viterbi_score(batch.codes[offsets[row] : offsets[row + 1]], profile) for row in rows]
    return {
        "compared": len(batch),
        "differing": int((found != other).sum()),
        "sampled": len(rows),
        "sample_differing": int((found[rows] != exact).sum()),
    }


def measure(session: Any, batch: SequenceBatch, hmm: Hmm, repeats: int) -> dict[str, Any]:
    """Return the rate of one family on the resident database, after checking its scores."""
    profile = to_integer_profile(hmm)
    result: dict[str, Any] = {"family": hmm.name, "nodes": hmm.length, **differing(session, batch, hmm)}
    result["shape"] = VITERBI.shape_for(session, batch, profile)
    session.run(VITERBI, batch, profile)
    wall, cpu = [], []
    for _ in range(repeats):
        began, used = time.perf_counter(), time.process_time()
        session.run(VITERBI, batch, profile)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    cells = batch.n_cells(hmm.length)
    result |= {"cells": cells, "milliseconds": round(1000 * statistics.median(wall), 3)}
    result["gcups"] = round(cells / statistics.median(wall) / 1e9, 2)
    if session.device.kind == "cpu":
        result["gcups_per_core_second"] = round(cells / statistics.median(cpu) / 1e9, 3)
    return result


def whole_program(
    folder: Path, batch: SequenceBatch, models: list[Hmm], device: str, repeats: int, rounds: int
) -> dict[str, Any]:
    """Run the command line on all families, in so many copies, cold once and then from a warm cache."""
    profiles, database = folder / f"families{rounds}.hmm", folder / "database.fasta"
    profiles.write_text("".join(save_text(hmm) for hmm in models) * rounds, "utf-8")
    if not database.exists():
        write_fasta(database, batch)
    environment = {**os.environ, "CLALIGN_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, "-m", "clalign", "devices"], env=environment, check=True, capture_output=True)
    command = [sys.executable, "-m", "clalign", "hmmsearch", "--progress", "none", "--device", device, "-o", os.devnull]
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        subprocess.run([*command, str(profiles), str(database)], env=environment, check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    cells = sum(batch.n_cells(hmm.length) for hmm in models) * rounds
    warm = statistics.median(seconds[1:])
    return {
        "models": len(models) * rounds,
        "cells": cells,
        "cold_seconds": round(seconds[0], 3),
        "warm_seconds": round(warm, 3),
        "warm_all": [round(value, 3) for value in seconds[1:]],
        "warm_gcups": round(cells / warm / 1e9, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sequences", type=int, default=530_000)
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--local", action="store_true", help="models in HMMER2's local mode (fs) instead of ls")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--rounds", type=int, nargs="+", default=[1], help="copies of the families for the program")
    parser.add_argument("--without-program", action="store_true", help="leave the whole program out")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    options = parser.parse_args()
    models = [family_model(name, FAMILIES[name], options.local) for name in options.families]
    batch = planted(swissprot_batch(np.random.default_rng(SEED), options.sequences), models)
    device = pick_device(options.device)
    results = []
    with open_session(device) as session:
        for hmm in models:
            results.append(measure(session, batch, hmm, options.repeats))
            print(results[-1], file=sys.stderr, flush=True)
    rates = [result["gcups"] for result in results]
    document: dict[str, Any] = {
        "device": device.name,
        "driver": device.driver,
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "mode": "fs" if options.local else "ls",
        "sequences": len(batch),
        "residues": int(batch.offsets[-1]),
        "longest": int(batch.lengths.max()),
        "mean_gcups": round(statistics.mean(rates), 2),
        "least_gcups": min(rates),
        "differing": sum(result["differing"] + result["sample_differing"] for result in results),
        "families": results,
    }
    if not options.without_program:
        kernel_seconds = sum(result["milliseconds"] for result in results) / 1000
        document["program"] = []
        with tempfile.TemporaryDirectory() as name:
            for rounds in options.rounds:
                program = whole_program(Path(name), batch, models, options.device, options.repeats, rounds)
                program["share_of_kernel_rate"] = round(rounds * kernel_seconds / program["warm_seconds"], 3)
                document["program"].append(program)
    text = json.dumps(document, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
