"""Speed of a HMMER2 search: the kernel, the whole program, and HMMER 2.3.2 beside it in the same run.

The database is synthetic and seeded. For each profile the scoring kernel runs alone on the device
(cells a second of wall time and of processor time), then the whole program runs with an empty and
with a full cache, then HMMER's hmmsearch (one core) on a part of the same file, and the scores it
prints are compared. Prints one JSON object.

    python benchmarks/search_speed.py --residues 2e7 --output search_speed.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from database_memory import write_fasta

PEER_RESIDUES = 2_000_000
"""HMMER 2.3.2 gets at most so many residues: it is slow, and its rate does not depend on the size."""


def kernel_rates(profile_path: Path, database_path: Path, device_words: str, repeats: int) -> dict[str, Any]:
    """Return the rates of the scoring kernel over the whole database, copies to the device included."""
    from clalign.compute.batching import batch_end, residue_limit
    from clalign.compute.opencl.choice import pick_device
    from clalign.compute.opening import open_session
    from clalign.databases.loading import load_database
    from clalign.formats.profiles import load_profiles
    from clalign.stages.plan7.viterbi import VITERBI
    from clalign.values.profiles import to_integer_profile

    database, _ = load_database(str(database_path))
    profile = to_integer_profile(load_profiles(str(profile_path))[0])
    device = pick_device(device_words)
    cells = database.n_residues * profile.length
    wall, cpu = [], []
    with open_session(device) as session:
        session.run(VITERBI, database.batch(0, min(64, len(database))), profile)
        for _ in range(repeats):
            began, used = time.perf_counter(), time.process_time()
            first = 0
            while first < len(database):
                last = batch_end(database, first, len(database), min(residue_limit(device), 2**26))
                session.run(VITERBI, database.batch(first, last), profile)
                first = last
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - used)
    return {
        "device": device.name,
        "kind": device.kind,
        "gcups": round(cells / statistics.median(wall) / 1e9, 3),
        "gcups_per_core_second": round(cells / statistics.median(cpu) / 1e9, 3),
        "wall_seconds": [round(value, 3) for value in wall],
    }


def whole_program(profile: Path, database: Path, device: str, cache: Path, repeats: int) -> dict[str, Any]:
    """Run the command line with an empty cache once, then with a full one."""
    environment = {**os.environ, "CLALIGN_CACHE_DIR": str(cache)}
    command = [sys.executable, "-m", "clalign", "hmmsearch", "--progress", "none", "--device", device, "-o", os.devnull]
    subprocess.run([sys.executable, "-m", "clalign", "devices"], env=environment, check=True, capture_output=True)
    seconds = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        subprocess.run([*command, str(profile), str(database)], env=environment, check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    warm = statistics.median(seconds[1:])
    return {
        "cold_seconds": round(seconds[0], 3),
        "warm_seconds": round(warm, 3),
        "peak_resident_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
    }


def peer(profile: Path, database: Path, folder: Path) -> dict[str, Any] | None:
    """Run HMMER 2.3.2 on the first part of the database, one core, and time it."""
    program = shutil.which("hmm2search")
    if program is None:
        return None
    part, residues = folder / "part.fasta", 0
    with database.open() as source, part.open("w") as out:
        for line in source:
            if line.startswith(">") and residues >= PEER_RESIDUES:
                break
            residues += 0 if line.startswith(">") else len(line) - 1
            out.write(line)
    began, used = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, "--cpu", "0", str(profile), str(part)], check=True, capture_output=True, text=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - used
    return {
        "residues": residues,
        "processor_seconds": round(seconds, 3),
        "wall_seconds": round(time.perf_counter() - began, 3),
        "printed_lines": done.stdout.count("\n"),
    }


def benchmark(profile: Path, database: Path, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure one profile."""
    from clalign.formats.profiles import load_profiles

    length = load_profiles(str(profile))[0].length
    cells = options.residues * length
    result: dict[str, Any] = {"profile": profile.name, "nodes": length, "cells": cells}
    # The program first: a child's peak memory never reads lower than that of the process that starts it.
    result["program"] = whole_program(profile, database, options.device, folder / "cache", options.repeats)
    result["kernel"] = kernel_rates(profile, database, options.device, options.repeats)
    result["program"]["warm_gcups"] = round(cells / result["program"]["warm_seconds"] / 1e9, 3)
    result["hmmer2"] = other = peer(profile, database, folder)
    if other:
        other["gcups"] = round(other["residues"] * length / other["processor_seconds"] / 1e9, 3)
        result["kernel_ratio_per_core"] = round(result["kernel"]["gcups_per_core_second"] / other["gcups"], 1)
        result["program_ratio"] = round(result["program"]["warm_gcups"] / other["gcups"], 1)
    return result


def main() -> None:
    examples = Path(__file__).parent.parent / "resources" / "examples"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--residues", type=float, default=2e7, help="size of the database")
    parser.add_argument(
        "--profiles", type=Path, nargs="+", default=[examples / "rrm_1.hmm", examples / "thioesterase.hmm"]
    )
    parser.add_argument("--device", default="auto")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["CLALIGN_CACHE_DIR"] = str(folder / "kernel-cache")
        database = folder / "synthetic.fasta"
        write_fasta(database, int(options.residues))
        results = [benchmark(profile, database, options, folder) for profile in options.profiles]
    system = {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    text = json.dumps({**system, "residues": options.residues, "results": results}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)


if __name__ == "__main__":
    main()
