"""Memory and time that opening a large sequence file needs.

Writes a synthetic FASTA file, opens it in a fresh process with an empty cache and again with the
full one, and reports seconds, megabytes a second and the peak memory that the system counted for
that process, as one JSON object for each size.

    python benchmarks/database_memory.py --residues 1e7 1e9 --output database_memory.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SEED = 20120501
LETTERS = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWY", np.uint8)
MEAN_LENGTH = 350
LINE = 60
PIECE = 1 << 22


def write_fasta(path: Path, n_residues: int, seed: int = SEED) -> int:
    """Write a FASTA file with so many residues of random proteins; return the number of sequences."""
    random = np.random.default_rng(seed)
    written, n = 0, 0
    with path.open("wb", buffering=PIECE) as file:
        while written < n_residues:
            lengths = np.clip(random.gamma(2.0, MEAN_LENGTH / 2, 4096).astype(np.int64), 20, 20000)
            residues = LETTERS[random.integers(0, len(LETTERS), int(lengths.sum()), np.uint8)]
            start = 0
            for length in lengths.tolist():
                length = min(length, n_residues - written)
                if length == 0:
                    break
                n += 1
                file.write(b">synthetic_%09d random protein of %d residues\n" % (n, length))
                text = residues[start : start + length].tobytes()
                file.write(b"\n".join(text[i : i + LINE] for i in range(0, length, LINE)) + b"\n")
                start += length
                written += length
    return n


def peak_memory() -> dict[str, int]:
    """Return the peak memory of this process in bytes, as far as the system provides it.

    ``resident`` counts mapped files as well, whose pages the system may take back at any time;
    ``anonymous`` is what only this process can give back.
    """
    status = Path("/proc/self/status")
    if status.exists():
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        return {
            "resident_peak": int(fields["VmHWM"].split()[0]) * 1024,
            "anonymous_now": int(fields["RssAnon"].split()[0]) * 1024,
            "mapped_now": int(fields["RssFile"].split()[0]) * 1024,
        }
    import psutil

    memory = psutil.Process().memory_info()
    return {"resident_peak": int(getattr(memory, "peak_wset", memory.rss)), "resident_now": int(memory.rss)}


def measure(path: Path) -> dict[str, Any]:
    """Open a file in this process and return what that took; the residues are not looked at."""
    from clalign.databases.loading import load_database

    before = peak_memory()
    start = time.perf_counter()
    database, report = load_database(str(path))
    seconds = time.perf_counter() - start
    return {
        "seconds": round(seconds, 3),
        "megabytes_per_second": round(path.stat().st_size / 1e6 / seconds, 1),
        "n_sequences": len(database),
        "n_residues": database.n_residues,
        "longest": report.longest,
        "memory_before": before,
        "memory": peak_memory(),
    }


def run_child(path: Path, cache: Path) -> dict[str, Any]:
    """Measure in a fresh process with its own cache folder."""
    environment = {**os.environ, "CLALIGN_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--measure", str(path)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def benchmark(n_residues: int, folder: Path) -> dict[str, Any]:
    """Make a file of so many residues and open it twice."""
    path = folder / f"synthetic_{n_residues}.fasta"
    n_sequences = write_fasta(path, n_residues)
    cache = folder / "cache"
    first, again = run_child(path, cache), run_child(path, cache)
    size = path.stat().st_size
    path.unlink()
    for result in (first, again):
        if (result["n_residues"], result["n_sequences"]) != (n_residues, n_sequences):
            raise SystemExit(f"The database has other sequences than the file: {result}")
    return {"n_residues": n_residues, "n_sequences": n_sequences, "bytes": size, "first": first, "again": again}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--residues", type=float, nargs="+", default=[1e7, 1e9], help="sizes of the files")
    parser.add_argument("--folder", type=Path, help="where to put the files (default: the temporary folder)")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        sizes = [benchmark(int(n), Path(folder)) for n in options.residues]
    system = {"system": f"{platform.system()} {platform.machine()}", "python": platform.python_version()}
    text = json.dumps({**system, "sizes": sizes}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
