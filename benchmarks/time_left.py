"""Measure how far bars and times left can be believed while jobs run. Prints one JSON object.

python benchmarks/time_left.py [--only NAME] [--device auto]

Each job is a command of its own, on the bundled examples, with an empty cache of kernels and inputs if it is called
``cold``. Its events go through `clalign.jobs.course.Course` as they come, and the course is sampled every 0.2 s. Of
each job are told: its ``seconds``; ``goes_back``, whether the bar ever did; ``kernels``, the totals that were shown;
from a fifth of the bar on ``judged``, the samples with a time left, and ``within``, the share of them that is within a
factor of two of the true one (or within 1 s, at the end); ``told``, the share of all samples from there on with one.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from clalign.databases.examples import example_file, load_examples, load_pair_examples
from clalign.jobs import Event
from clalign.jobs.course import Course

SAMPLE_SECONDS = 0.2
"""Interval of the samples (s)."""

N_FAMILIES, N_QUERIES, N_ALIGNED, N_RANDOM = 120, 1500, 250, 1_000_000
"""Profiles, queries, sequences to be aligned, and those of a calibration: half a minute and more on two cores."""


def commands(folder: Path) -> dict[str, list[str]]:
    """Return the words of the command of each job, whose inputs are written into a folder."""
    examples = {example.id: example for example in load_examples()}
    models, targets = examples["rrm_1_hmmer3"].profiles.read_text(), example_file("swissprot_sample.fasta.gz")
    names = [f"NAME  copy_{number}" for number in range(N_FAMILIES)]
    copies = ["\n".join(name if line.startswith("NAME") else line for line in models.splitlines()) for name in names]
    (folder / "families.hmm").write_text("\n".join(copies) + "\n")
    queries = load_pair_examples()[0].queries.read_text().split(">")[1:]
    many = [f">q{number}_{queries[number % len(queries)]}" for number in range(N_QUERIES)]
    (folder / "queries.fasta").write_text("".join(many))
    (folder / "family.fasta").write_text("".join(many[:N_ALIGNED]))
    older = str(examples["thioesterase"].profiles)
    return {
        "hmmer2 cold": ["hmmsearch", older, targets],
        "hmmer3 cold": ["hmmsearch", str(folder / "families.hmm"), targets],
        "hmmer3 without filters": ["hmmsearch", "--max", str(folder / "families.hmm"), targets],
        "smith-waterman": ["sw", str(folder / "queries.fasta"), targets],
        "alignment": ["align", str(folder / "family.fasta")],
        "calibration": ["calibrate", "--num", str(N_RANDOM), "-o", str(folder / "calibrated.hmm"), older],
    }


def sampled(words: list[str], device: str, environment: dict[str, str]) -> dict[str, Any]:
    """Run a command, sample its course, and return its row."""
    course, samples, lock = Course(), list[tuple[float, float, float | None]](), threading.Lock()
    kernels, began, is_over = set[int](), time.monotonic(), threading.Event()

    def sample() -> None:
        while not is_over.wait(SAMPLE_SECONDS):
            with lock:
                samples.append((time.monotonic(), course.fraction, course.seconds_left))
                kernels.update([course.kernels[1]] if course.kernels is not None else [])

    line = [sys.executable, "-m", "clalign", words[0], "--progress", "json", "--device", device, *words[1:]]
    with subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stderr is not None
        threading.Thread(target=sample, daemon=True).start()
        for text in process.stderr:
            if text.startswith("{"):
                event = Event.from_json(text)
                if event.kind == "progress":
                    with lock:
                        course.take(event.value, time.monotonic())
    is_over.set()
    end = time.monotonic()
    late = [(end - when, left) for when, bar, left in samples if bar >= 0.2]
    judged = [(true, left) for true, left in late if left is not None]
    within = [true / 2 <= left <= 2 * true or abs(true - left) <= 1 for true, left in judged]
    bars = [bar for _, bar, _ in samples]
    return {
        "code": process.returncode, "seconds": round(end - began, 1), "goes_back": bars != sorted(bars),
        "kernels": sorted(kernels), "judged": len(judged), "within": round(sum(within) / max(1, len(within)), 3),
        "told": round(len(judged) / max(1, len(late)), 3),
    }  # fmt: skip


def main() -> int:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="one of the jobs")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    found: dict[str, Any] = {"machine": platform.processor() or platform.machine(), "cores": os.cpu_count(), "jobs": {}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for job, words in commands(folder).items():
            if options.only in (None, job):
                environment = dict(os.environ)
                if job.endswith("cold"):
                    environment["CLALIGN_CACHE_DIR"] = environment["POCL_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
                found["jobs"][job] = sampled(words, options.device, environment)
    print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
