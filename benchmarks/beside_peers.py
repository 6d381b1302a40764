"""Whole commands on a processor beside their peers: what a person waits for, by the clock and in processor seconds.

Five jobs, of which --only chooses some; all programs take turns, and what they report is compared.

proteome  many HMMER3 models in a small set of proteins, beside hmmsearch
models    a few HMMER3 models in many random sequences, beside hmmsearch
sw        one query after the other in a large and a small database, beside parasail: as many processes as cores, each
          with its part of the sequences, the fastest of its exact variants with a query profile. A process reads
          its file and aligns; Python's start is not counted, and what calls from Python cost by themselves (those
          with a query and targets of one residue) is taken off its time.
hmmer2    HMMER2 models in random sequences, all in one command and each by itself, beside hmm2search, which takes one
          model at a time: as many processes as cores, each with its part of the sequences (some builds of it hang
          with threads, others have none)
build     one profile, and many, of alignments of mutated copies, beside hmmbuild

Databases are synthetic and seeded, with Swiss-Prot's lengths, where no file is given; this program has encoded them
and built its kernels before (in an untimed first run). Without a library random models are made. Medians of the
turns; ratios say how many times as long as this program the others take. Ends with 1 if anything that is reported
differs. Prints one JSON object.

    python benchmarks/beside_peers.py --profiles pfam.hmm --proteome proteins.fasta --output beside_peers.json
    python benchmarks/beside_peers.py --only sw --residues 27e6 --queries 350 --repeats 1
    python benchmarks/beside_peers.py --only hmmer2 --hmmer2 a.hmm b.hmm c.hmm --hmmer2-residues 1e6
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
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from hmmer3_search import (
    Search,
    Spent,
    measured,
    run_command,
    write_models,
    write_random_models,
    write_sequences,
)
from smith_waterman import GAPS, PEERS, Peer

from clalign.values.alphabets import decode
from clalign.values.synthetic import random_codes, swissprot_lengths

JOBS = ("proteome", "models", "sw", "hmmer2", "build")
EXAMPLES = Path(__file__).parents[1] / "resources" / "examples"
HMMER2_MODELS = EXAMPLES / "rrm_1.hmm", EXAMPLES / "thioesterase.hmm"

MEAN_LENGTH = 354.5
"""Of Swiss-Prot's sequences."""

EXACT = [name for name in PEERS if "profile" in name and not name.endswith("_8")]
"""Variants of parasail that have a query profile, and whose scores do not end at those of a byte."""

TRIED = 2000
"""Sequences by which the fastest variant is found out."""

TOP = 10
SEED = 15


def n_sequences(n_residues: float) -> int:
    """Return how many sequences have about so many residues."""
    return max(1, round(n_residues / MEAN_LENGTH))


def write_parts(path: Path, n_residues: float, n_parts: int) -> tuple[list[Path], int, int]:
    """Write random sequences to a file, and in turn to as many others; return these, and how much was written."""
    rng = np.random.default_rng([SEED, int(n_residues)])
    lengths = swissprot_lengths(rng, n_sequences(n_residues))
    texts = decode(random_codes(rng, int(lengths.sum())))
    ends = np.cumsum(lengths).tolist()
    texts_of = zip(lengths, ends, strict=True)
    records = [f">s{k}\n{texts[end - length : end]}\n" for k, (length, end) in enumerate(texts_of)]
    path.write_text("".join(records))
    parts = [path.with_suffix(f".{number}.fasta") for number in range(n_parts)]
    for number, part in enumerate(parts):
        part.write_text("".join(records[number::n_parts]))
    return parts, len(records), ends[-1]


def ours(folder: Path, *words: Any) -> Spent:
    """Run a command of this program."""
    environment = {**os.environ, "CLALIGN_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, "-m", "clalign", *words]
    return run_command(command, env=environment, stderr=subprocess.DEVNULL)


def in_turns(repeats: int, programs: dict[str, Callable[[], Spent]]) -> dict[str, Any]:
    """Let programs take turns; return their times, the medians, and the ratios to the first one."""
    spent: dict[str, list[Spent]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, run in programs.items():
            spent[name].append(run())
    found: dict[str, Any] = {}
    own = next(iter(programs))
    for place, kind in enumerate(("seconds", "cpu_seconds")):
        medians = {name: statistics.median(one[place] or 0.0 for one in turns) for name, turns in spent.items()}
        found[kind] = {name: [round(one[place] or 0.0, 3) for one in turns] for name, turns in spent.items()}
        found[kind.replace("seconds", "ratio")] = {
            name: round(median / medians[own], 2) for name, median in medians.items() if name != own
        }
    return {"ratio": found.pop("ratio"), "cpu_ratio": found.pop("cpu_ratio"), **found}


# Profiles of HMMER3


def hmmer3(job: str, options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure a search with HMMER3 models beside hmmsearch."""
    if shutil.which("hmmsearch") is None:
        raise SystemExit("hmmsearch is not here: install HMMER 3, or choose other jobs with --only.")
    is_small = job == "proteome"
    library, n = folder / f"{job}.hmm", options.proteome_models if is_small else options.models
    models = write_models(options.profiles, library, n) if options.profiles else write_random_models(library, n)
    targets = options.proteome if is_small else options.targets
    if targets is None:
        targets = folder / f"{job}.fasta"
        residues = options.proteome_residues if is_small else options.models_residues
        write_sequences(targets, models, n_sequences(residues), options.planted)
    found = measured(
        Search(library, targets, options.device, folder, options.cores), options.repeats, ["clalign", "hmmsearch"]
    )
    facts, lines = found.pop("finished"), found["lines"]
    is_equal = all(one["ours"] == one["theirs"] == one["equal"] for one in lines.values())
    head = {"job": job, "models": len(models), "residues": facts["n_residues"], "hits": lines["tbl"]["ours"]}
    return [{**head, "equal": is_equal, **found}]


# Smith-Waterman


def peer_part(path: Path, query: str, name: str, out: Path) -> None:
    """Be a process of parasail: align a query with the sequences of a file once told to; print what that took."""
    peer = Peer([])
    score_of = peer.library.parasail_result_get_score
    free = peer.library.parasail_result_free
    print("ready", flush=True)
    sys.stdin.readline()
    began, used = time.perf_counter(), time.process_time()
    texts = [record.partition(b"\n")[2].replace(b"\n", b"") for record in path.read_bytes()[1:].split(b"\n>")]
    scores: list[int] = []
    spent = [(time.perf_counter() - began, time.process_time() - used)]
    for own, targets in ((query, texts), (query[:1], [text[:1] for text in texts])):
        align, found = peer.caller(name, own), []
        began, used = time.perf_counter(), time.process_time()
        for text in targets:
            result = align(text)
            found.append(score_of(result))
            free(result)
        spent.append((time.perf_counter() - began, time.process_time() - used))
        scores = scores or found
    np.save(out, np.array(scores, np.int32))
    print(json.dumps([spent[0][k] + spent[1][k] - spent[2][k] for k in (0, 1)]), flush=True)


def parasail(parts: Sequence[Path], query: str, name: str) -> Spent:
    """Run parasail's processes together; return the time of the slowest, and the processor's of all."""
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(
            [sys.executable, __file__, "--peer-part", part, query, name, part.with_suffix(".npy")],
            stdin=pipe, stdout=pipe, text=True,
        )
        for part in parts
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    times = [json.loads(process.communicate()[0]) for process in processes]
    return max(wall for wall, _ in times), sum(cpu for _, cpu in times)


def fastest_variant(part: Path, query: str) -> str:
    """Return the exact variant of parasail that aligns a few sequences the fastest."""
    with part.open("rb") as file:
        texts = [file.readline() and file.readline().rstrip() for _ in range(TRIED)]
    peer = Peer([text for text in texts if text])
    return min(EXACT, key=lambda name: min(peer.seconds(name, query) for _ in range(2)))


def pair_scores(path: Path, n: int) -> Any:
    """Return the scores of all sequences as this program wrote them (int32[n])."""
    scores = np.full(n, -1, np.int32)
    with path.open() as file:
        for line in file:
            words = line.rstrip("\n").split("\t")
            if len(words) > 2 and words[1].startswith("s") and words[1][1:].isdecimal():
                scores[int(words[1][1:])] = int(words[2])
    return scores


def best_scores(path: Path) -> list[int]:
    """Return the scores of the hits in a table of this program, the best first."""
    with path.open() as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return sorted((int(row[lines[0].index("score")]) for row in lines[1:]), reverse=True)


def compare(options: argparse.Namespace, folder: Path, targets: Path, parts: list[Path], n: int, length: int) -> Any:
    """Measure one query beside parasail."""
    query = decode(random_codes(np.random.default_rng([SEED, length]), length))
    file, hits, every = folder / f"query{length}.fasta", folder / "hits.tsv", folder / "scores.tsv"
    file.write_text(f">query{length}\n{query}\n")
    gaps = ["--gapopen", str(GAPS.first - GAPS.next), "--gapextend", str(GAPS.next)]
    command = ["sw", "-q", "--device", options.device, "--top", str(TOP), *gaps, "-o", os.devnull, "--tsv", hits]
    ours(folder, *command, "--scores", every, file, targets)
    name = fastest_variant(parts[0], query)
    found = in_turns(
        options.repeats,
        {"clalign": lambda: ours(folder, *command, file, targets), "parasail": lambda: parasail(parts, query, name)},
    )
    theirs = np.empty(n, np.int32)
    for number, part in enumerate(parts):
        theirs[number :: len(parts)] = np.load(part.with_suffix(".npy"))
    n_differing, best = int((pair_scores(every, n) != theirs).sum()), best_scores(hits)
    is_equal = n_differing == 0 and best == np.sort(theirs)[::-1][: len(best)].tolist()
    return {"query": length, "variant": name, "n_differing": n_differing, "best": best, "equal": is_equal, **found}


def smith_waterman(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure queries in databases of some sizes beside parasail."""
    rows = []
    for size in options.residues:
        targets = folder / "sw.fasta"
        parts, n, n_residues = write_parts(targets, size, options.cores)
        for length in options.queries:
            row = compare(options, folder, targets, parts, n, length)
            rows.append({"job": "sw", "residues": n_residues, "sequences": n, **row})
            print(row, file=sys.stderr, flush=True)
    return rows


# Profiles of HMMER2


def hits_of(text: str) -> list[tuple[str, ...]]:
    """Return what a text of HMMER2, or this program's of the same form, has in its tables, sorted."""
    rows: list[tuple[str, ...]] = []
    name, is_table = "", False
    for line in text.splitlines():
        words = line.split()
        if line.startswith("Query HMM"):
            name = words[2]
        is_begin = line.startswith(("Scores for complete sequences", "Parsed for domains"))
        is_table = is_begin or (is_table and bool(words))
        if is_table and not is_begin and words[0][0] == "s" and words[0][1:].isdecimal():  # as `write_parts` names them
            rows.append((name, *words))
    return sorted(rows)


def hmm2search(models: Sequence[Path], parts: Sequence[Path], n: int) -> tuple[Spent, list[tuple[str, ...]]]:
    """Run HMMER2's program for one model after the other, its processes together; return what that took and found."""
    rows: list[tuple[str, ...]] = []
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), 0.0
    for model in models:
        began = time.perf_counter()
        command = ["hmm2search", "--cpu", "0", "-Z", str(n), str(model)]
        with ExitStack() as stack:  # to files: one that waits for its pipe to be read would not compute
            texts = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in parts]
            processes = [
                subprocess.Popen([*command, part], stdout=text) for part, text in zip(parts, texts, strict=True)
            ]
            codes = [process.wait() for process in processes]
            wall += time.perf_counter() - began
            if any(codes):
                raise SystemExit(f"hmm2search failed with {model}.")
            for text in texts:
                text.seek(0)
                rows += hits_of(text.read())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), sorted(rows)


def hmmer2(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure HMMER2 models, together and one by one, beside hmm2search."""
    if shutil.which("hmm2search") is None:
        raise SystemExit("hmm2search is not here: install HMMER 2, or choose other jobs with --only.")
    targets, text = folder / "hmmer2.fasta", folder / "hmmer2.txt"
    parts, n, n_residues = write_parts(targets, options.hmmer2_residues, options.cores)
    together = folder / "together.hmm"
    together.write_text("".join(path.read_text() for path in options.hmmer2))
    rows = []
    for library, models in [(together, options.hmmer2), *((path, [path]) for path in options.hmmer2)]:
        command = ["hmmsearch", "-q", "--device", options.device, "-Z", str(n), "-o", text, library, targets]
        theirs: list[tuple[str, ...]] = []

        def peer(models: Sequence[Path] = models, kept: list[tuple[str, ...]] = theirs) -> Spent:
            spent, kept[:] = hmm2search(models, parts, n)
            return spent

        ours(folder, *command)
        own = lambda command=command: ours(folder, *command)  # noqa: E731
        found = in_turns(options.repeats, {"clalign": own, "hmm2search": peer})
        mine = hits_of(text.read_text())
        facts = {"job": "hmmer2", "models": [path.name for path in models], "residues": n_residues}
        rows.append({**facts, "hits": len(mine), "equal": mine == theirs, **found})
    return rows


# Profiles of alignments


def write_families(path: Path, n_families: int, n_rows: int = 40, n_columns: int = 250) -> None:
    """Write alignments of copies of a random protein, each with 40 % of its residues replaced and 5 % left out."""
    rng = np.random.default_rng([SEED, n_families])
    with path.open("w") as file:
        for number in range(n_families):
            base = random_codes(rng, n_columns)
            file.write(f"# STOCKHOLM 1.0\n#=GF ID family{number}\n")
            for row in range(n_rows):
                text = decode(np.where(rng.random(n_columns) < 0.4, random_codes(rng, n_columns), base))
                is_gap = rng.random(n_columns) < 0.05
                letters = "".join("-" if gap else letter for letter, gap in zip(text, is_gap, strict=True))
                file.write(f"s{row} {letters}\n")
            file.write("//\n")


def build(options: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Measure building profiles beside hmmbuild."""
    program = shutil.which("hmmbuild")
    if program is None:
        raise SystemExit("hmmbuild is not here: install HMMER 3, or choose other jobs with --only.")
    mine, theirs, rows = folder / "ours.hmm", folder / "theirs.hmm", []
    for n in (1, options.families):
        families = folder / f"families{n}.sto"
        write_families(families, n)
        own = ["hmmbuild", "-q", "--amino", "--device", options.device, "-o", os.devnull, mine, families]
        peer = [program, "--cpu", str(options.cores), "--amino", "-o", os.devnull, theirs, families]
        ours(folder, *own)
        turns = {"clalign": lambda own=own: ours(folder, *own), "hmmbuild": lambda peer=peer: run_command(peer)}
        found = in_turns(options.repeats, turns)
        texts = [[line for line in path.read_text().splitlines() if line[:4] != "DATE"] for path in (mine, theirs)]
        rows.append({"job": "build", "families": n, "equal": texts[0] == texts[1], **found})
    return rows


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="threads or processes of the others")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profiles", type=Path, help="HMMER3 library of proteome and models")
    parser.add_argument("--proteome", type=Path, help="FASTA file")
    parser.add_argument("--proteome-models", type=int, default=100, help="how many of the library; 0 for all")
    parser.add_argument("--proteome-residues", type=float, default=1.5e6, help="where no file is given")
    parser.add_argument("--targets", type=Path, help="FASTA file of models")
    parser.add_argument("--models", type=int, default=16, help="how many of the library; 0 for all")
    parser.add_argument("--models-residues", type=float, default=45e6, help="where no file is given")
    parser.add_argument("--planted", type=int, default=50, help="one in so many random sequences holds a model's copy")
    parser.add_argument("--residues", type=float, nargs="+", default=[136e6, 27e6], help="databases of sw")
    parser.add_argument("--queries", type=int, nargs="+", default=[150, 350, 1000], help="residues, of sw")
    parser.add_argument("--hmmer2", type=Path, nargs="+", default=list(HMMER2_MODELS), help="files of one model each")
    parser.add_argument("--hmmer2-residues", type=float, default=9e6)
    parser.add_argument("--families", type=int, default=40, help="alignments of build")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON (default: the screen)")
    parser.add_argument("--peer-part", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Measure what was chosen; return 1 if results differ."""
    options = parsed()
    if options.peer_part:
        path, query, name, out = options.peer_part
        peer_part(Path(path), query, name, Path(out))
        return 0
    # Where modules are compiled in every process, starts take twice as long.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for job in options.only:
            measure = {"sw": smith_waterman, "hmmer2": hmmer2, "build": build}.get(job)
            rows += measure(options, Path(folder)) if measure else hmmer3(job, options, Path(folder))
    is_equal = all(row["equal"] for row in rows)
    system = {"system": f"{platform.system()} {platform.machine()}", "cores": options.cores}
    text = json.dumps({"kind": "beside peers", **system, "equal": is_equal, "rows": rows}, indent=1)
    if options.output:
        options.output.write_text(text + "\n", "utf-8")
    print(text)
    return 0 if is_equal else 1


if __name__ == "__main__":
    raise SystemExit(main())
