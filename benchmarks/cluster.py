"""A search on 1, 2 and 4 workers of this machine beside one process; rounds in which workers or schedulers are killed.

    python benchmarks/cluster.py speed --profiles P.hmm --targets T.fa --output cluster.json
    python benchmarks/cluster.py kills --profiles P.hmm --targets T.fa --rounds 20 --schedulers 5 --output kills.json

`speed` gives processor seconds (user and system, of the command and all that it starts), which a machine that others
use as well changes less than the time on the wall, which it gives, too; the overhead is what workers take beyond one
process, in per cent of it. `kills` starts a scheduler and workers as separate processes, kills one of them with signal
9 at a random moment (after so many stored units), continues the run where its scheduler was killed, and compares all
scores, hits and exports with those of one device; then it looks for processes and temporary files that were left.
Prints one JSON object; the exit code is 1 where results differ or something is left.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hmmer3_search import run_command
from several_devices import VARYING

from clalign.runs.run_file import open_run

CLALIGN = [sys.executable, "-m", "clalign"]


def digest_of(run: Path, table: Path) -> str:
    """Return a digest of the scores, hits and table of a run."""
    found = hashlib.sha256(VARYING.sub("", table.read_text()).encode())
    with open_run(run) as file:
        for number in range(file.n_queries()):
            for _, _, values in file.scores(number):
                found.update(values.astype("<i4").tobytes())
            found.update(repr(list(file.hits(number))).encode())
    return found.hexdigest()


def searched(given: argparse.Namespace, folder: Path, *words: str) -> dict[str, Any]:
    """Search, and return times and the digest."""
    folder.mkdir()
    run, table = folder / "run.clalign", folder / "hits.tsv"
    wall, processor = run_command(
        [*CLALIGN, "hmmsearch", "-q", *words, "--run", str(run), "--tsv", str(table), given.profiles, given.targets],
        stdout=subprocess.DEVNULL,
    )
    with open_run(run) as file:
        summary = file.facts.finished
    return {
        "wall_seconds": wall,
        "cpu_seconds": processor,
        "searching_seconds": summary["seconds"],
        "device_seconds": summary["device_seconds"],
        "digest": digest_of(run, table),
    }


def speed(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Compare numbers of workers with one process, in turn."""
    sets = {"one process": ["--device", given.device]}
    sets |= {f"{n} workers": ["--device", given.device, "--cluster", f"local:{n}"] for n in given.workers}
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in sets}
    for turn in range(given.repeats + 1):  # the first one builds kernels and packs the database
        for number, (name, words) in enumerate(sets.items()):
            one = searched(given, folder / f"{turn} {number}", *words)
            if turn:
                found[name].append(one)
    base = statistics.median(one["cpu_seconds"] for one in found["one process"])
    rows = {
        name: {
            "cpu_seconds": statistics.median(one["cpu_seconds"] for one in ones),
            "wall_seconds": statistics.median(one["wall_seconds"] for one in ones),
            "device_seconds": statistics.median(one["device_seconds"] for one in ones),
            "overhead_percent": 100 * (statistics.median(one["cpu_seconds"] for one in ones) / base - 1),
        }
        for name, ones in found.items()
    }
    digests = {one["digest"] for ones in found.values() for one in ones}
    return {"sets": rows, "cores": os.cpu_count(), "load": os.getloadavg()[0], "is_equal": len(digests) == 1}


@contextlib.contextmanager
def cluster(folder: Path, n: int) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """Start a scheduler and workers; give the scheduler's file, and the processes, the scheduler first."""
    file = folder / "scheduler.json"
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    worker = ["worker", *common, "--nthreads", "1", "--memory-limit", "0", "--no-nanny"]
    # What a program of Dask leaves in its folder when it is killed, the next one removes.
    variables = os.environ | {"DASK_TEMPORARY_DIRECTORY": str(folder / "dask")}
    processes = [
        subprocess.Popen([sys.executable, "-m", "dask", *words], stderr=subprocess.DEVNULL, env=variables)
        for words in [["scheduler", *common, "--port", "0"]] + [worker] * n
    ]
    try:
        until = time.monotonic() + 120
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.1)
        yield file, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def killed(given: argparse.Namespace, folder: Path, is_scheduler: bool, chance: random.Random) -> dict[str, Any]:
    """Search on a cluster of which a process is killed; return what came of it."""
    folder.mkdir()
    run, table, moment = folder / "run.clalign", folder / "hits.tsv", chance.randint(1, given.units)
    with cluster(folder, 4) as (file, processes):
        command = [*CLALIGN, "hmmsearch", "--progress", "json", "--device", given.device, "--cluster", str(file)]
        command += ["--run", str(run), "--tsv", str(table), given.profiles, given.targets]
        victim = 0 if is_scheduler else chance.randrange(1, len(processes))
        n_seen = 0
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as job:
            assert job.stderr is not None
            for line in job.stderr:
                n_seen += '"partial"' in line
                if n_seen == moment and processes[victim].poll() is None:
                    processes[victim].send_signal(signal.SIGKILL)
        code = job.returncode
        is_continued = code != 0
    if is_continued:
        words = ["--device", given.device, "--tsv", str(table), str(run)]
        subprocess.run([*CLALIGN, "resume", "-q", *words], stdout=subprocess.DEVNULL, check=True)
    return {
        "killed": "scheduler" if is_scheduler else f"worker {victim}", "moment": moment, "units_seen": n_seen,
        "was_killed": n_seen >= moment, "exit_code": code, "digest": digest_of(run, table),
    }  # fmt: skip


def leftovers(marks: list[str]) -> list[str]:
    """Return command lines of processes that still run and name one of the marks."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if int(place.name) != os.getpid() and any(mark in words for mark in marks):
                found.append(words.strip())
    return found


def temporary_files() -> set[str]:
    """Return what this program and Dask keep among temporary files."""
    return {path.name for path in Path(tempfile.gettempdir()).iterdir() if re.match("clalign-|dask-", path.name)}


def kills(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Kill a worker in some rounds, the scheduler in others."""
    chance = random.Random(given.seed)
    expected = searched(given, folder / "one", "--device", given.device)["digest"]
    before, rounds = temporary_files(), []
    for number in range(given.rounds + given.schedulers):
        one = killed(given, folder / f"round {number}", number >= given.rounds, chance)
        one["is_equal"] = one.pop("digest") == expected
        print(json.dumps(one), file=sys.stderr, flush=True)
        rounds.append(one)
    return {
        "rounds": rounds,
        "is_equal": all(one["is_equal"] for one in rounds),
        "left_processes": leftovers([str(folder)]),
        "left_files": sorted(temporary_files() - before),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "kills"])
    parser.add_argument("--profiles", required=True)
    parser.add_argument("--targets", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--schedulers", type=int, default=5)
    parser.add_argument("--units", type=int, default=4, help="a process is killed after at most so many stored units")
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--output")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder, tempfile.TemporaryDirectory(prefix="b-") as own:
        os.environ["TMPDIR"] = tempfile.tempdir = own  # what others keep among temporary files is not looked at
        found = {"speed": speed, "kills": kills}[given.what](given, Path(folder))
    text = json.dumps(found, indent=1)
    print(text)
    if given.output:
        Path(given.output).write_text(text + "\n")
    return int(not found["is_equal"] or bool(found.get("left_processes") or found.get("left_files")))


if __name__ == "__main__":
    sys.exit(main())
