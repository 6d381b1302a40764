"""What a person waits for: whole commands, their first use on a device and later ones, of this version and another.

Every command is timed by the wall clock from its start to its end. Its first use has empty caches of programs,
clalign's and those of NVIDIA's and PoCL's drivers; databases stay encoded. What another version (a folder with its
sources) writes is compared by a digest of the tables of hits, which must be equal. Prints a line of JSON for each run,
and in the end the medians.

    python benchmarks/whole_program.py --models pfam50.hmm --queries queries.fasta --targets proteins.fasta --device gpu
    python benchmarks/whole_program.py --models pfam50.hmm --targets proteins.fasta --genome f.fasta --other ../before
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
SMALL = "resources/examples/rrm_1_hmmer3.hmm", "resources/examples/swissprot_sample.fasta.gz"


def commands_of(options: argparse.Namespace) -> dict[str, list[str]]:
    """Return what is timed, by name."""
    device = ["--device", options.device]
    found = {"small search": ["hmmsearch", *device, *SMALL]}
    targets = str(options.targets.resolve())
    if options.models:
        found["models"] = ["hmmsearch", *device, "--noali", str(options.models.resolve()), targets]
    if options.models and options.genome:
        found["scan"] = ["hmmscan", *device, "--noali", str(options.models.resolve()), str(options.genome.resolve())]
    if options.queries:
        found["sw"] = ["sw", *device, "--top", "10", str(options.queries.resolve()), targets]
    return found


def environment(tree: Path, folder: Path) -> dict[str, str]:
    """Return the environment of a version, whose caches are its own."""
    place = folder / tree.resolve().name
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join([str(tree.resolve()), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **kept, "PYTHONPATH": path, "CLALIGN_CACHE_DIR": str(place / "cache"), "CUDA_CACHE_PATH": str(place / "nvidia"),
        "POCL_CACHE_DIR": str(place / "pocl"),
    }  # fmt: skip


def forget_programs(given: dict[str, str]) -> None:
    """Empty the caches of programs."""
    kept = list(Path(given["CLALIGN_CACHE_DIR"]).glob("**/kernels"))
    if not kept:
        raise SystemExit("There are no kept programs to forget: what should be a first use would not be one.")
    for folder in kept:
        shutil.rmtree(folder)
    for place in ("CUDA_CACHE_PATH", "POCL_CACHE_DIR"):
        shutil.rmtree(given[place], ignore_errors=True)


def timed(words: list[str], tree: Path, given: dict[str, str], folder: Path) -> dict[str, Any]:
    """Run a command; return its time, and a digest of its hits."""
    table = folder / "hits.tsv"
    command = [sys.executable, "-m", "clalign", *words, "-o", os.devnull, "--tsv", str(table), "-q"]
    began = time.perf_counter()
    subprocess.run(command, cwd=tree, env=given, check=True)
    seconds = time.perf_counter() - began
    lines = [line for line in table.read_bytes().splitlines() if not line.startswith(b"#")]
    return {"seconds": round(seconds, 3), "digest": hashlib.sha256(b"\n".join(lines)).hexdigest()}


def main() -> int:
    """Time the commands of one version or two, one after the other, and compare what they find."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=Path, required=True, help="FASTA file of the database")
    parser.add_argument("--models", type=Path, help="HMMER3 library")
    parser.add_argument("--genome", type=Path, help="FASTA file that is searched with hmmscan")
    parser.add_argument("--queries", type=Path, help="FASTA file of the queries of sw")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--other", type=Path, help="the sources of another version")
    parser.add_argument("--repeats", type=int, default=3, help="after the first use")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trees = [HERE, *filter(None, [options.other])]
        for what, words in commands_of(options).items():
            for tree in trees:
                given = environment(tree, folder)
                timed(words, tree, given, folder)  # encodes the database
                forget_programs(given)
                for number in range(options.repeats + 1):
                    version = "other" if tree is options.other else "this"
                    row = {"what": what, "version": version, "is_first": not number}
                    rows.append(row | timed(words, tree, given, folder))
                    print(json.dumps(rows[-1]), flush=True)
    medians = {
        f"{what}, {version}": statistics.median(
            row["seconds"] for row in rows if (row["what"], row["version"]) == (what, version) and not row["is_first"]
        )
        for what, version in {(row["what"], row["version"]): None for row in rows}
    }
    is_equal = all(
        len({row["digest"] for row in rows if row["what"] == what}) == 1 for what in {row["what"] for row in rows}
    )
    document = {"device": options.device, "equal": is_equal, "medians": medians, "rows": rows}
    print(json.dumps({"equal": is_equal, "medians": medians}, indent=1))
    if options.output:
        options.output.write_text(json.dumps(document, indent=1) + "\n")
    return 0 if is_equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
